"""The tool `xray_phrase_grounding`: MAIRA-2 locates a phrase on a chest radiograph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from app.imaging.findings import Box
from app.tools.api import (
    Artifact,
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
from app.tools.chest import image_suitability, overlay
from app.tools.chest.boxes import Corners, InputRectangle, finding_box, rounded_corners
from app.tools.chest.model_pictures import ModelInput, grey
from app.tools.chest.model_results import (
    call_model,
    labelled_findings,
    model_metadata,
    needs_of,
    required_model,
    with_warnings,
)
from app.tools.files import plain, save_png

MODEL = "maira-2"
NOTE = (
    "Boxes by a model. It tends to mark whatever it is asked for: a box does not prove a finding, "
    "and no box does not exclude one."
)
COORDINATES = (
    "image_coordinates are x0, y0, x1, y1 in pixels of the original image (x to the right, y down, "
    "pixel centres are whole numbers); model_coordinates are fractions of the square that the "
    "model saw"
)
_FEATURE = "Phrase grounding"
_PACKAGES = ("torch", "transformers")
_ENTRY = "app.tools.chest.maira:entry"
_TIMEOUT_S = 590.0
_MARKS = re.compile(r"</?[A-Za-z]+\d*>|<\|")


class GroundingInput(ToolInput):
    """Arguments of `xray_phrase_grounding`."""

    image_path: str = takes(Resource.IMAGE, "The image id or path.")
    phrase: str = Field(
        min_length=1,
        max_length=500,
        description="The finding to locate, in the words of a report, with its side if known.",
    )
    max_new_tokens: int = Field(
        default=300, ge=1, le=1024, description="Tokens that the model may write at most."
    )


class BoundingBoxes(BaseModel):
    """Boxes (x0, y0, x1, y1) of a phrase, as fractions of the model's input and in image pixels."""

    model_coordinates: list[list[float]]
    image_coordinates: list[list[float]]


class Prediction(BaseModel):
    """A phrase and the boxes where MAIRA-2 finds it on the image."""

    phrase: str
    bounding_boxes: BoundingBoxes


class GroundingOutput(BaseModel):
    """The phrases and boxes that MAIRA-2 found, and the path of a picture with the boxes drawn in.

    If the model gave no box, `predictions` is empty and no picture is made.
    """

    predictions: list[Prediction]
    visualization_path: str | None


SPEC = ToolSpec(
    name="xray_phrase_grounding",
    title="Find a phrase in the image",
    icon="scan-search",
    description=(
        "Locates a finding that is named in a phrase on a frontal chest radiograph with MAIRA-2: "
        "boxes in the original image's pixels, or the statement that it sees none. It looks at the "
        "central square. It tends to give a box for what it is asked. Needs installed weights."
    ),
    Input=GroundingInput,
    Output=GroundingOutput,
    needs=needs_of(MODEL, _PACKAGES),
    timeout_s=600.0,
    pack="chest",
    phrases=("phrase grounding", "ground the phrase"),
)


class XRayPhraseGrounding:
    """The tool `xray_phrase_grounding`: locates a phrase on a chest radiograph with MAIRA-2."""

    spec = SPEC

    def run(self, args: GroundingInput, context: ToolContext) -> ToolResult:
        """Locate the phrase in `args` on its image; for errors see `app.tools.api.Tool.run`."""
        phrase = " ".join(args.phrase.split())
        if not phrase or _MARKS.search(phrase):
            raise ToolRetry("the phrase must be plain words, as a report has them")
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path)
        suitability = image_suitability.check(snapshot, context, needs=(MODEL,))
        model = required_model(MODEL, _FEATURE, _PACKAGES, context)
        shown = ModelInput.of(snapshot)
        if shown.blank:
            raise ToolFailed(
                "all pixels of this image have the same value",
                remedy="Open a frontal chest radiograph (PA or AP) and ask again.",
            )
        payload = {
            "grey": shown.pixels,
            "phrase": _sentence(phrase),
            "max_new_tokens": args.max_new_tokens,
        }
        answer = call_model(_ENTRY, model, payload, context, _TIMEOUT_S)
        context.cancel.check()
        predictions, boxes, doubts = located_phrases(answer, shown, phrase)
        warnings = [*suitability.warnings, *shown.hanging.warnings, *model.warnings, *doubts]
        title = model.card.title
        picture = _picture(snapshot, boxes, title, context)
        metadata = {
            "image_path": args.image_path,
            "phrase": phrase,
            "max_new_tokens": args.max_new_tokens,
            "original_size": [snapshot.frame.rows, snapshot.frame.columns],
            "model_input_size": answer["input_size"],
            "model_text": str(answer["text"]),
            "coordinates": COORDINATES,
            "note": NOTE,
            **model_metadata(model, answer),
            "warnings": warnings,
            "status": "completed" if boxes else "completed_no_finding",
        }
        output = {
            "predictions": predictions,
            "visualization_path": str(picture) if picture else None,
        }
        findings = labelled_findings(
            boxes,
            snapshot.ref,
            context.provenance(SPEC, title, model.sha256),
            f'{title} marked this for "{phrase}". A model\'s box, not for diagnosis.',
            f"grounding-{context.call_id}",
        )
        sought = f"Looked for: “{phrase}”"
        shown_picture = (
            (Artifact(picture, "image", "Phrase grounding", sought, snapshot.ref),)
            if picture
            else ()
        )
        return ToolResult(
            _summary(phrase, boxes, warnings),
            plain(output),
            plain(metadata),
            findings,
            shown_picture,
        )


def _sentence(phrase: str) -> str:
    """Return the phrase with a full stop: the model was trained on sentences and needs it."""
    return phrase if phrase.endswith((".", "!", "?")) else f"{phrase}."


def located_phrases(
    answer: Mapping[str, Any], shown: ModelInput, phrase: str
) -> tuple[list[dict[str, Any]], list[tuple[str, Box]], list[str]]:
    """Return (predictions, boxes, warnings) from `answer`, the result of `maira.entry`.

    Predictions are those of `GroundingOutput`, as JSON. Boxes are pairs (label, box in pixels of
    the original image); a box without words gets the label `phrase`. Warnings name unusable boxes
    and what the model did not see of `shown`, the image sent to it.
    """
    rectangle = InputRectangle(*(float(edge) for edge in answer["seen"]))
    warnings = [str(note) for note in (*answer.get("notes", ()), *answer["refused"])]
    if answer["cut"]:
        warnings.append("the answer was cut off at max_new_tokens")
    hidden = rectangle.hidden(*shown.pixels.shape)
    if hidden:
        warnings.append(
            f"the model saw the central square only, not what lies outside it ({', '.join(hidden)})"
        )
    predictions: list[dict[str, Any]] = []
    found: list[tuple[str, Box]] = []
    for words, written in answer["groups"]:
        usable = [corners for box in written if (corners := _usable(box))]
        if len(usable) < len(written):
            warnings.append("boxes that cannot be on the image were not drawn")
        if not usable:
            continue
        boxes = [finding_box(shown.original(rectangle.original(corners))) for corners in usable]
        found += [(words or phrase, box) for box in boxes]
        predictions.append(
            {
                "phrase": words or phrase,
                "bounding_boxes": {
                    "model_coordinates": [list(corners) for corners in usable],
                    "image_coordinates": [rounded_corners(box) for box in boxes],
                },
            }
        )
    return predictions, found, warnings


def _usable(box: list[float]) -> Corners | None:
    if len(box) != 4 or not all(0.0 <= value <= 1.0 for value in box):
        return None
    x0, y0, x1, y1 = box
    return (x0, y0, x1, y1) if x0 < x1 and y0 < y1 else None


def _picture(
    snapshot: ImageSnapshot, boxes: Sequence[tuple[str, Box]], title: str, context: ToolContext
) -> Path | None:
    if not boxes:
        return None
    context.progress(0.98, "Drawing")
    marks = [(words, (box.x0, box.y0, box.x1, box.y1)) for words, box in boxes]
    drawn = overlay.draw_boxes(grey(snapshot.display), marks, overlay.footer(SPEC.name, title))
    path = save_png(drawn, context.out_dir, "grounding")
    context.images.add_derived(path, snapshot)
    return path


def _summary(phrase: str, boxes: Sequence[tuple[str, Box]], warnings: list[str]) -> str:
    if boxes:
        corners = "; ".join(
            f"x {box.x0:.0f} to {box.x1:.0f}, y {box.y0:.0f} to {box.y1:.0f}" for _, box in boxes
        )
        text = (
            f'"{phrase}": {len(boxes)} {"box" if len(boxes) == 1 else "boxes"} in pixels of the '
            f"original image ({corners}). {NOTE}"
        )
    else:
        text = f'No finding: the model marked no place for "{phrase}". {NOTE}'
    return with_warnings(text, warnings)
