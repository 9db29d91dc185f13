"""The tool `chest_xray_expert`: questions about chest radiographs, answered by CheXagent-2."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.imaging.findings import Box
from app.imaging.studies.catalogue import are_different_patients
from app.imaging.types import ImageRef
from app.paths import resources_dir
from app.tools.api import (
    ImageSnapshot,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.chest import image_suitability
from app.tools.chest.boxes import (
    ParsedText,
    finding_box,
    read_chexagent,
    rounded_corners,
    whole_image,
)
from app.tools.chest.model_pictures import ModelInput
from app.tools.chest.model_results import (
    NOTE,
    call_model,
    labelled_findings,
    model_metadata,
    needs_of,
    numbered_warnings,
    required_model,
    usable_text,
    with_warnings,
)
from app.tools.chest.question_answering import multi_image_warnings
from app.tools.files import plain, save_png
from app.tools.models.store import InstalledModel
from app.tools.prior_pair import is_newer

MODEL = "chexagent-2-3b"
MOST_IMAGES = 2
"""Largest number of images in a question.

Its authors ask about two at most. Each image takes 1,026 of the 2,048 tokens of the model's
context, so a third would lie wholly outside it.
"""
_FEATURE = "The chest X-ray expert"
_PACKAGES = ("torch", "transformers")
_ENTRY = "app.tools.chest.chexagent:entry"
_TIMEOUT_S = 890.0
_MARKS = re.compile(r"<\|")


class ExpertInput(ToolInput):
    """Arguments of `chest_xray_expert`."""

    image_paths: list[str] = takes(
        Resource.IMAGES,
        "One or two chest radiographs: the app's image ids or their paths, in the "
        "order in which the question speaks of them; for a change the earlier one first.",
        min_length=1,
        json_schema_extra={"maxItems": MOST_IMAGES},
    )
    prompt: str = Field(
        min_length=1,
        max_length=4000,
        description="The question or instruction; with a task only what that is about.",
    )
    max_new_tokens: int = Field(
        default=512, ge=1, le=2048, description="Tokens that the model may write at most."
    )
    task: Literal["locate", "present", "identify", "view", "findings", "progression"] | None = (
        Field(
            default=None,
            description="What the model was trained for, asked in its own words: locate a phrase "
            "(boxes); is a finding present; identify which of a list of findings, split by commas; "
            "view (PA, AP, lateral); findings for an indication, as a section of a report; "
            "progression of a finding on two images.",
        )
    )


class PlacedBox(BaseModel):
    """A box [x0, y0, x1, y1]: in fractions of the model's input, and in pixels of the image."""

    number: int
    label: str
    image_path: str
    model_coordinates: list[float]
    image_coordinates: list[float]


class ExpertOutput(BaseModel):
    """The model's answer; "[box 1]" in `response` refers to the first of `boxes`."""

    response: str
    boxes: list[PlacedBox]


SPEC = ToolSpec(
    name="chest_xray_expert",
    title="Ask the chest expert",
    icon="stethoscope",
    description=(
        "Answers a question on one or two chest radiographs with CheXagent-2 (3b): descriptions, "
        "yes or no, comparison, views; with boxes where the question asks for a place on a single "
        "image. Choose a task where one fits: it was trained for these. Text by a model that "
        "answers with confidence also where it is wrong; check it against other tools. Needs "
        "installed weights."
    ),
    Input=ExpertInput,
    Output=ExpertOutput,
    needs=needs_of(MODEL, _PACKAGES),
    timeout_s=900.0,
    pack="chest",
    phrases=("chest expert", "chexagent"),
)


class ChestXRayExpert:
    """The tool `chest_xray_expert`: answers questions on chest radiographs with CheXagent-2."""

    spec = SPEC

    def run(self, args: ExpertInput, context: ToolContext) -> ToolResult:
        """Answer the question in `args` about its images; see `app.tools.api.Tool.run`."""
        if not args.prompt.strip() or _MARKS.search(args.prompt):
            # The model's program would open the file named by "<|img|>path<|/img|>" in a question.
            raise ToolRetry('the question must be plain words, without "<|"')
        _check_number(args)
        context.progress(0.02, "Reading the images")
        snapshots = [context.images.resolve(name) for name in args.image_paths]
        _check_order(args, snapshots)
        suitable = [
            image_suitability.check(snapshot, context, needs=(MODEL,)) for snapshot in snapshots
        ]
        model = required_model(MODEL, _FEATURE, _PACKAGES, context)
        shown = [ModelInput.of(snapshot) for snapshot in snapshots]
        remarks = numbered_warnings(
            [
                (*known.warnings, *image.hanging.warnings)
                for known, image in zip(suitable, shown, strict=True)
            ]
        )
        remarks += multi_image_warnings(snapshots)
        answer = _ask(args, shown, model, context)
        reading = read_chexagent(str(answer["text"]))
        written = usable_text(
            {"text": reading.text, "finished": not answer["cut"], "most": args.max_new_tokens},
            model.card.title,
        )
        boxes: list[tuple[PlacedBox, Box]] = []
        warnings = [
            *dict.fromkeys(remarks),
            *model.warnings,
            *(str(note) for note in answer.get("notes", ())),
            *written.faults,
            *reading.refused,
        ]
        if len(shown) == 1:
            boxes = _boxes(reading, shown[0], args)
        elif reading.groups:
            warnings.append(
                "the answer has boxes, but does not say on which of the images: they were not drawn"
            )
        if answer["too_long"]:
            warnings.append(_too_long(len(snapshots), answer["context"]))
        image = snapshots[0].ref
        return _result(args, image, model, answer, written.text, boxes, context, warnings)


@cache
def tasks() -> dict[str, dict[str, Any]]:
    """Return the prompts that CheXagent-2 was trained on, by task.

    Each is {"text": prompt, "images": list of the possible numbers of images}.
    """
    path = resources_dir() / "prompts" / "chexagent_tasks.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _prompt(args: ExpertInput) -> str:
    """Return what the model is asked: a task's own words about the prompt, else the prompt."""
    asked = args.prompt.strip()
    return tasks()[args.task]["text"].format(asked.rstrip("?")) if args.task else asked


def _check_number(args: ExpertInput) -> None:
    """Refuse more images than the model takes, or a task takes, before it is loaded."""
    count = len(args.image_paths)
    if count > MOST_IMAGES:
        raise ToolRetry(
            f"CheXagent-2 can be asked about one or two images, not {count}: each takes half "
            "of what it reads at once",
            remedy="Ask about two of them at a time. medgemma_qa looks at up to eight images, and "
            "chest_xray_compare compares two films of one patient.",
        )
    if args.task and count not in tasks()[args.task]["images"]:
        wanted = "one image" if count > 1 else "two images, the earlier one first"
        raise ToolRetry(f"the task {args.task} is asked about {wanted}")


def _check_order(args: ExpertInput, snapshots: Sequence[ImageSnapshot]) -> None:
    """Refuse a progression of two patients, or backwards: worse would be called better."""
    if args.task != "progression":
        return
    if are_different_patients(*(one.instance for one in snapshots)):
        raise ToolFailed(
            "the files name different patients: there is no progression between them",
            remedy="If they are of one patient, have the patient data of the files corrected.",
        )
    if is_newer(*(one.instance for one in snapshots)):
        raise ToolRetry(
            "the first image is newer than the second, but progression takes the earlier one first",
            remedy=f"Name them the other way round: {', '.join(reversed(args.image_paths))}.",
        )


def _too_long(images: int, context: int) -> str:
    longer = f"longer than the {context} tokens that the model was made for"
    if images < MOST_IMAGES:
        return f"question and answer are {longer}: its answer is doubtful. Ask a shorter question"
    return (
        f"two images are {longer}. Its authors ask it about two all the same (for a change: the "
        "earlier one first); how right it is then is not known here"
    )


@contextmanager
def _files(shown: Sequence[ModelInput], context: ToolContext) -> Generator[list[Path]]:
    """Write the images to PNG files for the model's interface, and delete them afterwards."""
    paths: list[Path] = []
    try:
        # Note each file before the next is written: a failure then still removes the earlier ones.
        paths.extend(save_png(image.pixels, context.out_dir, "expert-input") for image in shown)
        yield paths
    finally:
        for path in paths:
            path.unlink(missing_ok=True)


def _ask(
    args: ExpertInput, shown: Sequence[ModelInput], model: InstalledModel, context: ToolContext
) -> dict[str, Any]:
    with _files(shown, context) as paths:
        payload = {
            "paths": [str(path) for path in paths],
            "prompt": _prompt(args),
            "max_new_tokens": args.max_new_tokens,
        }
        return call_model(_ENTRY, model, payload, context, _TIMEOUT_S)


def _boxes(
    reading: ParsedText, shown: ModelInput, args: ExpertInput
) -> list[tuple[PlacedBox, Box]]:
    """Convert boxes to the original image's pixels; the model's input is that image made square."""
    seen = whole_image(*shown.pixels.shape)
    found: list[tuple[PlacedBox, Box]] = []
    for number, group in enumerate(reading.groups, 1):
        corners = group.boxes[0]
        box = finding_box(shown.original(seen.original(corners)))
        placed = PlacedBox(
            number=number,
            label=group.phrase or (args.prompt if args.task == "locate" else f"box {number}"),
            image_path=args.image_paths[0],
            model_coordinates=list(corners),
            image_coordinates=rounded_corners(box),
        )
        found.append((placed, box))
    return found


def _result(
    args: ExpertInput,
    image: ImageRef,
    model: InstalledModel,
    answer: Mapping[str, Any],
    text: str,
    boxes: Sequence[tuple[PlacedBox, Box]],
    context: ToolContext,
    warnings: list[str],
) -> ToolResult:
    title = model.card.title
    findings = labelled_findings(
        ((placed.label, box) for placed, box in boxes),
        image,
        context.provenance(SPEC, title, model.sha256),
        f"{title} marked this in its answer. A model's box, not for diagnosis.",
        f"expert-{context.call_id}",
    )
    metadata = {
        "image_paths": args.image_paths,
        "prompt": args.prompt,
        "task": args.task,
        "asked": _prompt(args),
        "max_new_tokens": args.max_new_tokens,
        "cut_off": bool(answer["cut"]),
        "note": NOTE,
        **model_metadata(model, answer),
        "warnings": warnings,
        "status": "completed",
    }
    output = {"response": text, "boxes": [placed.model_dump() for placed, _ in boxes]}
    summary = with_warnings(f"{title} answers: {text}\n{NOTE}", warnings)
    return ToolResult(summary, plain(output), plain(metadata), findings)
