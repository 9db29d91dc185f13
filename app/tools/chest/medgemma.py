"""The tool `medgemma_qa`: MedGemma 4B answers a question, with or without images."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.tools.api import ToolContext, ToolInput, ToolResult, ToolSpec
from app.tools.chest.model_results import needs_of, numbered_warnings, required_model
from app.tools.chest.question_answering import (
    LONGEST_QUESTION,
    MOST_TOKENS,
    TIMEOUT_S,
    answer_question,
    model_picture,
    multi_image_warnings,
)

MODEL = "medgemma-4b-it"
MOST_IMAGES = 8
_FEATURE = "MedGemma"
_PACKAGES = ("torch", "torchvision", "transformers")
_ENTRY = "app.tools.chest.medgemma_net:entry"


class MedGemmaInput(ToolInput):
    """Arguments of `medgemma_qa`."""

    question: str = Field(min_length=1, max_length=LONGEST_QUESTION, description="The question.")
    image_paths: list[str] | None = Field(
        default=None,
        max_length=MOST_IMAGES,
        description="The images that it is about, each by the app's image id or its path; the "
        "model is shown them as Image 1, Image 2, ... Leave it out for a question of general "
        "medical knowledge.",
    )
    max_new_tokens: int = Field(
        default=512, ge=1, le=MOST_TOKENS, description="Length of the answer at most, in tokens."
    )


class MedGemmaOutput(BaseModel):
    """Output of `medgemma_qa`: the answer in the model's words."""

    answer: str


SPEC = ToolSpec(
    name="medgemma_qa",
    title="Ask MedGemma",
    icon="message-square",
    description=(
        "MedGemma (4B, Google) answers a question about one or several medical images, or a "
        "general medical question without one. It was trained on chest radiographs, skin, eye and "
        "tissue images besides text; it was not made for comparing films, for CT or MR volumes, "
        "nor for longer conversations. A second opinion, not a finding. Needs installed weights "
        "and Google's terms accepted."
    ),
    Input=MedGemmaInput,
    Output=MedGemmaOutput,
    needs=needs_of(MODEL, _PACKAGES),
    timeout_s=TIMEOUT_S,
    pack="chest",
    phrases=("medgemma", "med gemma"),
)


class MedGemma:
    """The tool `medgemma_qa`: answers a question with MedGemma."""

    spec = SPEC

    def run(self, args: MedGemmaInput, context: ToolContext) -> ToolResult:
        """Answer the question; see `app.tools.api.Tool.run`."""
        names = args.image_paths or []
        if names:
            context.progress(0.02, "Reading the images")
        snapshots = [context.images.resolve(name) for name in names]
        images = [model_picture(snapshot, _FEATURE) for snapshot in snapshots]
        model = required_model(MODEL, _FEATURE, _PACKAGES, context)
        warnings = numbered_warnings([image.warnings for image in images])
        warnings += multi_image_warnings(snapshots)
        if len(images) > 1:
            warnings.append("MedGemma's authors measured it on single images only")
        pixels = {"images": [image.pixels for image in images]}
        return answer_question(_ENTRY, model, args.model_dump(), pixels, warnings, context)
