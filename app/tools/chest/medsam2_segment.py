"""The tool `medsam2_segment`: outlines a structure that the user marked with a box or points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from app.imaging.findings import Box, Finding, Mask, Point, new_id
from app.tools.api import (
    ImageSnapshot,
    Resource,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
    takes,
)
from app.tools.chest.mask_figures import area_note, area_text, organ_metrics, spacing_mm
from app.tools.chest.model_results import (
    call_model,
    model_metadata,
    needs_of,
    required_model,
    with_warnings,
)
from app.tools.files import plain
from app.tools.models.store import InstalledModel

OUTSIDE_MARK = "mark_outside"
"""`Provenance.tool` of a point that the user placed outside the structure."""
MOST_POINTS = 50

XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Marks:
    """A box and points that mark a structure, in image pixels (pixel centres are integers).

    Attributes:
        box: Left, top, right and bottom edge (x0, y0, x1, y1), or None.
        points: (x, y) of each point.
        labels: One label per point: 1 if it lies inside the structure, 0 if outside.
    """

    box: tuple[float, float, float, float] | None = None
    points: tuple[XY, ...] = ()
    labels: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        """Return True if there is a box or a point inside the structure.

        Points outside the structure do not locate it by themselves.
        """
        return self.box is not None or 1 in self.labels


def marks_of_arguments(
    box: Sequence[float] | None,
    points: Sequence[Sequence[float]] | None,
    labels: Sequence[int] | None,
    shape: tuple[int, int],
) -> Marks:
    """Return the marks given in a tool call's arguments.

    Raises:
        ToolRetry: A box, point or label is malformed or lies outside the image.
    """
    return Marks(
        None if box is None else _box(box, shape),
        tuple(_point(point, shape) for point in points or ()),
        _labels(points or (), labels),
    )


def drawn_marks(findings: Sequence[Finding]) -> Marks:
    """Return the last box that the user has drawn and the points drawn after it.

    Points drawn before that box belong to a structure that was marked earlier. If there is no box,
    all points are used. In either case, only the last `MOST_POINTS` points are returned.
    """
    box: tuple[float, float, float, float] | None = None
    points: list[XY] = []
    labels: list[int] = []
    for finding in findings:
        shape = finding.geometry
        if isinstance(shape, Box):
            box = (shape.x0, shape.y0, shape.x1, shape.y1)
            points, labels = [], []
        elif isinstance(shape, Point):
            points.append((shape.x, shape.y))
            labels.append(int(finding.provenance.tool != OUTSIDE_MARK))
    return Marks(box, tuple(points[-MOST_POINTS:]), tuple(labels[-MOST_POINTS:]))


def mask_warnings(marks: Marks, mask: NDArray[np.bool_]) -> list[str]:
    """Return reasons to doubt a mask, found by comparing it with the user's marks; empty if none.

    Args:
        marks: The marks that the mask was made from.
        mask: [rows, columns], not empty.
    """
    texts: list[str] = []
    y, x = np.nonzero(mask)
    if marks.box is not None:
        x0, y0, x1, y1 = marks.box
        sides = {
            "left": x.min() - 0.5 <= x0,
            "top": y.min() - 0.5 <= y0,
            "right": x.max() + 0.5 >= x1,
            "bottom": y.max() + 0.5 >= y1,
        }
        touched = [side for side, reached in sides.items() if reached]
        if touched:
            texts.append(
                f"the outline reaches the box's edge ({', '.join(touched)}): the structure may "
                "extend beyond it"
            )
        beyond = float(((x < x0) | (x > x1) | (y < y0) | (y > y1)).mean())
        if beyond > 0.05:
            texts.append(f"{beyond:.0%} of the outline lies outside the box")
    missed = [
        point
        for point, label in zip(marks.points, marks.labels, strict=True)
        if bool(mask[_index(point, mask.shape)]) != bool(label)
    ]
    if missed:
        texts.append(f"the outline disagrees with {len(missed)} of {len(marks.points)} points")
    rows, columns = mask.shape
    if x.min() == 0 or y.min() == 0 or x.max() == columns - 1 or y.max() == rows - 1:
        texts.append("the outline reaches the image's border: the structure may be cut off")
    return texts


def _index(point: XY, shape: tuple[int, ...]) -> tuple[int, int]:
    row = min(max(round(point[1]), 0), shape[0] - 1)
    return row, min(max(round(point[0]), 0), shape[1] - 1)


def _box(box: Sequence[float], shape: tuple[int, int]) -> tuple[float, float, float, float]:
    rows, columns = shape
    if len(box) != 4 or not all(math.isfinite(value) for value in box):
        raise ToolRetry("a box is four numbers: x0, y0, x1, y1")
    x0, y0, x1, y1 = box
    inside = (max(x0, -0.5), max(y0, -0.5), min(x1, columns - 0.5), min(y1, rows - 0.5))
    if inside[2] - inside[0] < 1 or inside[3] - inside[1] < 1:
        raise ToolRetry(
            "the box lies outside the image or contains no whole pixel",
            remedy=f"x0 < x1 within 0 to {columns - 1}, y0 < y1 within 0 to {rows - 1}, in pixels "
            "of the image.",
        )
    return inside


def _point(point: Sequence[float], shape: tuple[int, int]) -> XY:
    rows, columns = shape
    if len(point) != 2 or not all(math.isfinite(value) for value in point):
        raise ToolRetry("a point is two numbers: x, y")
    x, y = point
    if not (-0.5 <= x <= columns - 0.5 and -0.5 <= y <= rows - 0.5):
        raise ToolRetry(
            "a point lies outside the image",
            remedy=f"x within 0 to {columns - 1}, y within 0 to {rows - 1}.",
        )
    return x, y


def _labels(points: Sequence[object], labels: Sequence[int] | None) -> tuple[int, ...]:
    if labels is None:
        return (1,) * len(points)
    if len(labels) != len(points) or any(label not in (0, 1) for label in labels):
        raise ToolRetry("labels has a 1 (in it) or 0 (beside it) for each point")
    return tuple(labels)


CARD = "medsam2"
LOW_SCORE = 0.7
"""Overlap with the truth, as the network estimates it, below which the outline is doubted."""
_PACKAGES = ("torch", "transformers")
_ENTRY = "app.tools.chest.medsam2:entry"
_TIMEOUT_S = 170.0


class MedSam2Input(ToolInput):
    """Arguments of `medsam2_segment`."""

    image_path: str = takes(Resource.IMAGE, "The image id or path.")
    box: list[float] | None = Field(
        default=None,
        min_length=4,
        max_length=4,
        description="[x0, y0, x1, y1] around it, in pixels of the image. Leave box and points out "
        "to use what the user has drawn.",
    )
    points: list[list[float]] | None = Field(
        default=None,
        max_length=MOST_POINTS,
        description="[[x, y], ...] in it or beside it, in pixels of the image.",
    )
    labels: list[int] | None = Field(
        default=None, description="For each point 1: in it, 0: beside it. All 1 when left out."
    )
    label: str | None = Field(
        default=None, max_length=80, description="What it is, for the list of findings."
    )
    frame: int | None = Field(
        default=None, ge=0, description="Which frame, from 0; the one that is shown if left out."
    )


class MedSam2Output(BaseModel):
    """Output of `medsam2_segment`: measurements of the mask; positions are in image pixels."""

    found: bool
    area_pixels: int
    area_cm2: float | None = Field(description="None unless the real pixel spacing is known.")
    bbox: tuple[int, int, int, int] | None = Field(description="(min_y, min_x, max_y, max_x).")
    centroid: tuple[float, float] | None = Field(description="(y, x) in pixels.")
    mean_intensity: float | None = Field(description="Of the file's values, after rescale.")
    score: float = Field(description="The model's own estimate of its overlap with the truth.")


SPEC = ToolSpec(
    name="medsam2_segment",
    title="Segment what is marked",
    icon="shapes",
    description=(
        "Outlines a structure that is marked on an image by a box around it or points in it "
        "(MedSAM2). Without box and points it takes what the user has drawn last. Any image: "
        "radiograph, CT, MR, ultrasound, one slice at a time. It finds the edges of what is "
        "marked, not what it is, and answers whatever is marked. Needs installed weights."
    ),
    Input=MedSam2Input,
    Output=MedSam2Output,
    needs=needs_of(CARD, _PACKAGES),
    timeout_s=180.0,
    pack="chest",
)


class MedSam2Segment:
    """The tool `medsam2_segment`: outlines a structure that is marked by a box or points."""

    spec = SPEC

    def run(self, args: MedSam2Input, context: ToolContext) -> ToolResult:
        """Outline the structure marked in `args` or by the user; see `app.tools.api.Tool.run`."""
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path, args.frame)
        if snapshot.derived and snapshot.display.ndim == 3 and not snapshot.frame.is_color:
            raise ToolRetry(
                "a tool has drawn into this picture: its lines would be outlined; name the "
                "original image instead"
            )
        marked = _requested_marks(args, snapshot)
        model = required_model(CARD, "Segmenting what is marked", _PACKAGES, context)
        payload = {"pixels": snapshot.display, **_prompt(marked)}
        answer = call_model(_ENTRY, model, payload, context, _TIMEOUT_S)
        context.cancel.check()
        mask: NDArray[np.bool_] = answer["mask"].astype(bool)
        return _result(args, context, snapshot, marked, model, answer, mask)


def _requested_marks(args: MedSam2Input, snapshot: ImageSnapshot) -> Marks:
    """Return the marks of the arguments or, without any, those that the user has drawn."""
    if args.box is None and not args.points:
        marked = drawn_marks(snapshot.drawn)
    else:
        rows, columns = snapshot.display.shape[:2]
        marked = marks_of_arguments(args.box, args.points, args.labels, (rows, columns))
    if not marked:
        raise ToolRetry(
            "nothing is marked on this image",
            remedy="Draw a box around the structure, or a point in it (menu Tools: Mark a box, "
            "Mark a point), and ask again; or say where, by box or points.",
        )
    return marked


def _prompt(marked: Marks) -> dict[str, Any]:
    """Return the network's input; boxes by their corner pixels' centres, as in training."""
    box = marked.box
    return {
        "box": None if box is None else [box[0] + 0.5, box[1] + 0.5, box[2] - 0.5, box[3] - 0.5],
        "points": [list(point) for point in marked.points] or None,
        "labels": list(marked.labels) or None,
    }


def _result(
    args: MedSam2Input,
    context: ToolContext,
    snapshot: ImageSnapshot,
    marked: Marks,
    model: InstalledModel,
    answer: dict[str, Any],
    mask: NDArray[np.bool_],
) -> ToolResult:
    score = round(float(answer["scores"][answer["chosen"]]), 4)
    name = (args.label or "").strip() or "Marked structure"
    figures = _figures(mask, snapshot, score)
    warnings = [*_warnings(marked, mask, answer, score), *model.warnings, *answer.get("notes", ())]
    metadata = {
        "image_path": args.image_path,
        "frame": snapshot.ref.frame,
        "box": None if marked.box is None else list(marked.box),
        "points": [list(point) for point in marked.points],
        "labels": list(marked.labels),
        "scores": [round(float(value), 4) for value in answer["scores"]],
        "chosen": int(answer["chosen"]),
        "object_score": round(float(answer["object"]), 4),
        "original_size": list(mask.shape),
        "model_size": list(answer.get("model_size", ())),
        "pixel_spacing_mm": spacing_mm(snapshot.frame.spacing),
        "area_note": area_note(snapshot.frame.spacing),
        **model_metadata(model, answer),
        "note": "A model's outline of what was marked, not for diagnosis. The score is the model's "
        "own estimate of its overlap with the truth.",
        "warnings": warnings,
        "status": "completed" if figures["found"] else "completed_no_finding",
    }
    found = (_finding(name, mask, figures, snapshot, model, context),) if figures["found"] else ()
    return ToolResult(
        _summary(name, figures, warnings), plain(figures), plain(metadata), findings=found
    )


def _warnings(
    marked: Marks, mask: NDArray[np.bool_], answer: dict[str, Any], score: float
) -> list[str]:
    if not mask.any():
        return ["the model found nothing where it was marked"]
    texts = mask_warnings(marked, mask)
    if score < LOW_SCORE:
        texts.append(f"the model itself expects a poor outline (score {score:.2f})")
    if float(answer["object"]) < 0.5:
        texts.append("the model does not recognise what is marked as an object")
    return texts


def _figures(mask: NDArray[np.bool_], snapshot: ImageSnapshot, score: float) -> dict[str, Any]:
    if not mask.any():
        none = dict.fromkeys(("area_cm2", "bbox", "centroid", "mean_intensity"))
        return {"found": False, "area_pixels": 0, **none, "score": score}
    figures = organ_metrics(mask, snapshot.frame, score)
    kept = ("area_pixels", "area_cm2", "bbox", "centroid", "mean_intensity")
    return {"found": True, **{key: figures[key] for key in kept}, "score": score}


def _finding(
    name: str,
    mask: NDArray[np.bool_],
    figures: dict[str, Any],
    snapshot: ImageSnapshot,
    model: InstalledModel,
    context: ToolContext,
) -> Finding:
    return Finding(
        id=new_id(),
        image=snapshot.ref,
        geometry=Mask(mask),
        label=name,
        score=figures["score"],
        units="",
        provenance=context.provenance(SPEC, model.card.title, model.sha256),
        description=f"{name}: {area_text(figures, 2)}; the model's own score "
        f"{figures['score']:.2f}. Outline of what was marked, by a model, not for diagnosis; its "
        "name is the assistant's.",
        group=f"medsam2-{context.call_id}",
    )


def _summary(name: str, figures: dict[str, Any], warnings: list[str]) -> str:
    text = (
        f"Outlined {name}: {area_text(figures, 2)}, the model's own score {figures['score']:.2f}."
        if figures["found"]
        else "No outline."
    )
    return with_warnings(text, warnings)
