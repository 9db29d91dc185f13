"""The tool `medgemma_qa`: MedGemma answers a question, with or without images, and draws boxes."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.tools.api import (
    ImageSnapshot,
    Need,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.chest import image_suitability
from app.tools.chest.grounding import COORDINATES, Prediction, located_phrases
from app.tools.chest.grounding import NOTE as BOX_NOTE
from app.tools.chest.model_pictures import ModelInput
from app.tools.chest.model_results import (
    call_model,
    check_text,
    labelled_findings,
    model_metadata,
    needs_of,
    numbered_warnings,
    required_model,
    with_warnings,
)
from app.tools.chest.question_answering import (
    LONGEST_QUESTION,
    MOST_TOKENS,
    TIMEOUT_S,
    answer_question,
    model_picture,
    multi_image_warnings,
)
from app.tools.files import plain
from app.tools.models.cards import card
from app.tools.models.store import ModelStore

MODEL = "medgemma-4b-it"
NEWER = "medgemma-1.5-4b-it"
"""The card of MedGemma 1.5, which is used if it is installed; boxes need it."""
MOST_IMAGES = 8
_FEATURE = "MedGemma"
_PACKAGES = ("torch", "torchvision", "transformers")
_BOX_TOKENS = 1000  # as in the published example: it reasons before it writes the boxes
_ENTRY = "app.tools.chest.medgemma_net:entry"


class MedGemmaInput(ToolInput):
    """Arguments of `medgemma_qa`."""

    question: str = Field(min_length=1, max_length=LONGEST_QUESTION, description="The question.")
    image_paths: list[str] | None = takes(
        Resource.IMAGES,
        "The images that it is about, each by the app's image id or its path; the "
        "model is shown them as Image 1, Image 2, ... Leave it out for a question of general "
        "medical knowledge.",
        default=None,
        max_length=MOST_IMAGES,
    )
    locate: bool = Field(
        default=False,
        description="Whether to mark by boxes the place of the structure that the question names. "
        "One frontal chest radiograph, with MedGemma 1.5.",
    )
    max_new_tokens: int = Field(
        default=512, ge=1, le=MOST_TOKENS, description="Length of the answer at most, in tokens."
    )


class MedGemmaOutput(BaseModel):
    """The answer of `medgemma_qa` in the model's words, and its boxes if they were asked for."""

    answer: str
    predictions: list[Prediction] | None = None


SPEC = ToolSpec(
    name="medgemma_qa",
    title="Ask MedGemma",
    icon="message-square",
    description=(
        "MedGemma (4B, Google) answers a question about one or several medical images, or a "
        "general medical question without one. Version 1.5, where it is installed, also compares a "
        "chest radiograph with an earlier one and marks structures by boxes. Not for CT or MR "
        "volumes, nor for longer conversations. A second opinion, not a finding. Needs installed "
        "weights and Google's terms accepted."
    ),
    Input=MedGemmaInput,
    Output=MedGemmaOutput,
    needs=(*needs_of(MODEL, _PACKAGES), Need("weights", NEWER, optional=True)),
    timeout_s=TIMEOUT_S,
    pack="chest",
    phrases=("medgemma", "med gemma"),
)


class MedGemma:
    """The tool `medgemma_qa`: answers a question with MedGemma."""

    spec = SPEC

    def run(self, args: MedGemmaInput, context: ToolContext) -> ToolResult:
        """Answer the question in `args` about its images, if any; see `app.tools.api.Tool.run`."""
        names = args.image_paths or []
        if names:
            context.progress(0.02, "Reading the images")
        snapshots = [context.images.resolve(name) for name in names]
        if args.locate:
            return _locate(args, snapshots, context)
        images = [model_picture(snapshot, _FEATURE) for snapshot in snapshots]
        model = required_model(_version(context), _FEATURE, _PACKAGES, context)
        warnings = numbered_warnings([image.warnings for image in images])
        warnings += multi_image_warnings(snapshots)
        if len(images) > 1 and model.card.name == MODEL:
            warnings.append("MedGemma's authors measured it on single images only")
        pixels = {"images": [image.pixels for image in images]}
        return answer_question(_ENTRY, model, args.model_dump(), pixels, warnings, context)


def _version(context: ToolContext) -> str:
    """Return the card of the newest installed version, with accepted terms if there is one."""
    store = ModelStore(context.models_dir)
    there = [model for name in (NEWER, MODEL) if (model := store.find(card(name)))]
    there.sort(key=lambda model: not model.accepted)
    return there[0].card.name if there else MODEL


def _locate(
    args: MedGemmaInput, snapshots: list[ImageSnapshot], context: ToolContext
) -> ToolResult:
    """Mark what a question asks for by boxes on a frontal chest radiograph."""
    if len(snapshots) != 1:
        raise ToolRetry("boxes are drawn on one image", remedy="Name one image in image_paths.")
    (snapshot,) = snapshots
    suitability = image_suitability.check(snapshot, context, needs=(NEWER,))
    model = required_model(NEWER, _FEATURE, _PACKAGES, context)
    shown = ModelInput.of(snapshot)
    most = max(args.max_new_tokens, _BOX_TOKENS)
    given = {"question": args.question, "images": [shown.pixels], "locate": True, "most": most}
    answer = call_model(_ENTRY, model, given, context, TIMEOUT_S - 10)
    predictions, boxes, doubts = located_phrases(answer, shown, args.question)
    written = check_text(answer)
    about = [*suitability.warnings, *shown.hanging.warnings, *model.warnings, *doubts]
    if written.text:
        about += written.faults
    marked = f"{len(boxes)} {'box' if len(boxes) == 1 else 'boxes'} on the image."
    metadata = {
        **args.model_dump(),
        **model_metadata(model, answer),
        "coordinates": COORDINATES,
        "note": BOX_NOTE,
        "warnings": about,
        "status": "completed" if boxes else "completed_no_finding",
    }
    title = model.card.title
    findings = labelled_findings(
        boxes,
        snapshot.ref,
        context.provenance(SPEC, title, model.sha256),
        f"{title} marked this. A model's box, not for diagnosis.",
        f"medgemma-{context.call_id}",
    )
    summary = with_warnings(f"{title} answers: {written.text} {marked} {BOX_NOTE}", about)
    output = {"answer": written.text or marked, "predictions": predictions}
    return ToolResult(summary, plain(output), plain(metadata), findings)
