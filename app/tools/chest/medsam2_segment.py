"""`medsam2_segment`: outlines what the user has marked with a box or points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from app.imaging.findings import Finding, Mask, new_id
from app.tools.api import (
    Approval,
    ImageSnapshot,
    ToolContext,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.chest import marks
from app.tools.chest.asking import ask, needs_of, required
from app.tools.chest.gate import grey
from app.tools.chest.marks import Marks
from app.tools.chest.metrics import area_note, organ_metrics, spacing_mm
from app.tools.chest.results import made_by, with_warnings
from app.tools.files import plain
from app.tools.models.store import InstalledModel

CARD = "medsam2"
LOW_SCORE = 0.7
"""The network's own estimate of its overlap with the truth below which the outline is doubted."""
_PACKAGES = ("torch", "transformers")
_ENTRY = "app.tools.chest.medsam2:entry"
_TIMEOUT_S = 170.0


class MedSam2Input(BaseModel):
    """Arguments of `medsam2_segment`."""

    model_config = ConfigDict(extra="forbid")

    image_path: str = Field(description="The image: the app's image id or its path.")
    box: list[float] | None = Field(
        default=None,
        min_length=4,
        max_length=4,
        description="[x0, y0, x1, y1] around it, in pixels of the image. Leave box and points out "
        "to use what the user has drawn.",
    )
    points: list[list[float]] | None = Field(
        default=None,
        max_length=marks.MOST_POINTS,
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
    """Output of `medsam2_segment`; all in pixels of the image."""

    found: bool
    area_pixels: int
    area_cm2: float | None = Field(description="None unless the real pixel spacing is known.")
    bbox: tuple[int, int, int, int] | None = Field(description="(min_y, min_x, max_y, max_x).")
    centroid: tuple[float, float] | None = Field(description="(y, x) in pixels.")
    mean_intensity: float | None = Field(description="0..255 as displayed.")
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
    approval=Approval.COMPUTE,
    timeout_s=180.0,
    pack="chest",
)


class MedSam2Segment:
    """The tool."""

    @property
    def spec(self) -> ToolSpec:
        """What it is."""
        return SPEC

    def run(self, args: MedSam2Input, context: ToolContext) -> ToolResult:
        """Outline; see `app.tools.api.Tool.run`."""
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path, args.frame)
        if snapshot.derived and snapshot.display.ndim == 3 and not snapshot.frame.is_color:
            raise ToolRetry(
                "a tool has drawn into this picture: its lines would be outlined; name the "
                "original image instead"
            )
        marked = _marked(args, snapshot)
        model = required(CARD, "Segmenting what is marked", _PACKAGES, context)
        payload = {"pixels": snapshot.display, **_prompt(marked)}
        answer = ask(_ENTRY, model, payload, context, _TIMEOUT_S)
        context.cancel.check()
        mask: NDArray[np.bool_] = answer["mask"].astype(bool)
        return _result(args, context, snapshot, marked, model, answer, mask)


def _marked(args: MedSam2Input, snapshot: ImageSnapshot) -> Marks:
    """What is to be outlined.

    Raises:
        ToolRetry: Nothing is marked, or not on this image.
    """
    if args.box is None and not args.points:
        marked = marks.drawn(snapshot.drawn)
    else:
        rows, columns = snapshot.display.shape[:2]
        marked = marks.given(args.box, args.points, args.labels, (rows, columns))
    if not marked:
        raise ToolRetry(
            "nothing is marked on this image",
            remedy="Draw a box around what is meant, or a point in it (menu Tools: Mark a box, "
            "Mark a point), and ask again; or say where, by box or points.",
        )
    return marked


def _prompt(marked: Marks) -> dict[str, Any]:
    """For the network: a box by the centres of its first and last pixels, as it was trained."""
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
    warnings = [*_doubts(marked, mask, answer, score), *model.warnings, *answer.get("notes", ())]
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
        **made_by(model, answer),
        "note": "A model's outline of what was marked, not for diagnosis. The score is the model's "
        "own estimate of its overlap with the truth.",
        "warnings": warnings,
        "status": "completed" if figures["found"] else "completed_no_finding",
    }
    found = (_finding(name, mask, figures, snapshot, model, context),) if figures["found"] else ()
    return ToolResult(
        _summary(name, figures, warnings), plain(figures), plain(metadata), findings=found
    )


def _doubts(
    marked: Marks, mask: NDArray[np.bool_], answer: dict[str, Any], score: float
) -> list[str]:
    if not mask.any():
        return ["the model found nothing where it was marked"]
    said = marks.doubts(marked, mask)
    if score < LOW_SCORE:
        said.append(f"the model itself expects a poor outline (score {score:.2f})")
    if float(answer["object"]) < 0.5:
        said.append("the model does not take what is marked for an object")
    return said


def _figures(mask: NDArray[np.bool_], snapshot: ImageSnapshot, score: float) -> dict[str, Any]:
    if not mask.any():
        none = dict.fromkeys(("area_cm2", "bbox", "centroid", "mean_intensity"))
        return {"found": False, "area_pixels": 0, **none, "score": score}
    figures = organ_metrics(mask, grey(snapshot.display), snapshot.frame.spacing, score)
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
        description=f"{name}: {_area(figures)}; the model's own score {figures['score']:.2f}. "
        "Outline of what was marked, by a model, not for diagnosis.",
        group=f"medsam2-{context.call_id}",
    )


def _area(figures: dict[str, Any]) -> str:
    pixels = f"{figures['area_pixels']:,} px"
    return pixels if figures["area_cm2"] is None else f"{figures['area_cm2']:.2f} cm² ({pixels})"


def _summary(name: str, figures: dict[str, Any], warnings: list[str]) -> str:
    text = (
        f"Outlined {name}: {_area(figures)}, the model's own score {figures['score']:.2f}."
        if figures["found"]
        else "No outline."
    )
    return with_warnings(text, warnings)
