"""The tool `cardiothoracic_ratio`: heart width over thorax width, with both lines drawn."""

from __future__ import annotations

from pydantic import BaseModel, Field

from app.imaging.findings import XY, Finding, Polyline, new_id
from app.imaging.reports.checks import UNDECIDED
from app.imaging.types import Spacing
from app.tools.api import (
    Need,
    Resource,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolSpec,
    takes,
)
from app.tools.chest import ctr_geometry, image_suitability, organs
from app.tools.chest.mask_figures import unknown_spacing
from app.tools.chest.model_pictures import Hanging
from app.tools.chest.model_results import with_warnings
from app.tools.chest.segmenter import Segmenter
from app.tools.files import plain

CUTOFF = 0.5
WIDE_RATIO = 0.05
"""A ratio that varies more than this over the network's passes gets a warning."""
MARGIN = 0.02
"""Distance from the cutoff within which no judgement is given: two readers differ by more."""
CUTOFF_TEXT = (
    "Above 0.5 on an upright PA film in inspiration an adult's heart is commonly read as enlarged "
    "(Danzer 1919); on AP, supine or expiratory films the limit does not hold."
)


class CardiothoracicInput(ToolInput):
    """Arguments of `cardiothoracic_ratio`."""

    image_path: str = takes(Resource.IMAGE, "The image id or path.")


class CardiothoracicOutput(BaseModel):
    """Output of the tool: the ratio, both widths, and whether the heart seems enlarged."""

    ratio: float
    ratio_spread: float | None = Field(
        default=None,
        description="How far the ratio varies when the image is cropped or rotated slightly.",
    )
    heart_width_px: float
    thorax_width_px: float
    heart_width_mm: float | None = None
    thorax_width_mm: float | None = None
    approximate: bool = True
    reliable: bool
    view: str
    judgement: str = Field(description="Above, below or too near the cutoff to decide.")
    warnings: list[str]
    cutoff: str


SPEC = ToolSpec(
    name="cardiothoracic_ratio",
    title="Measure heart size",
    icon="scan-search",
    description=(
        "Measures the cardiothoracic ratio on a frontal chest radiograph: greatest width of the "
        "heart's silhouette over greatest inner width of the thorax, from a model's outlines, and "
        "draws both lines. Approximate. Use it to answer whether the heart is enlarged; it says "
        "where the view or the picture makes the ratio unreliable, and refuses laterals."
    ),
    Input=CardiothoracicInput,
    Output=CardiothoracicOutput,
    needs=(Need("package", "torch"),),
    pack="chest",
)


class CardiothoracicRatio:
    """The tool `cardiothoracic_ratio`: measures the heart's width divided by the thorax's."""

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter

    spec = SPEC

    def run(self, args: CardiothoracicInput, context: ToolContext) -> ToolResult:
        """Measure the ratio in the image that `args` names; see `app.tools.api.Tool.run`."""
        context.progress(0.02, "Reading the image")
        snapshot = context.images.resolve(args.image_path)
        suitability = image_suitability.check(snapshot, context)
        model = self._segmenter.choose(context)
        found = self._segmenter.segment(snapshot, model, organs.EMBEDDED, context)
        context.cancel.check()
        context.progress(0.95, "Measuring")
        hanging = Hanging.of(snapshot.frame.orientation)
        frame = snapshot.frame
        measured = ctr_geometry.measure(
            {name: hanging.turned(mask) for name, mask in found.masks.items()},
            confidence=found.confidence,
            position=suitability.position,
            column_spacing_mm=frame.spacing.column_mm,
        )
        ratio, heart, thorax = measured.ratio, measured.heart, measured.thorax
        if ratio is None or heart is None or thorax is None:
            raise ToolFailed(
                f"no cardiothoracic ratio: {measured.refused}",
                remedy="Measure by hand with the line tool, if the borders can be seen.",
            )
        doubts = [*measured.warnings, *found.warnings, *_unstable(found.ratio_spread)]
        warnings = list(dict.fromkeys([*doubts, *suitability.warnings]))
        judgement = _judgement(ratio, found.ratio_spread)
        output = {
            "ratio": round(ratio, 3),
            "ratio_spread": None if found.ratio_spread is None else round(found.ratio_spread, 3),
            "heart_width_px": round(heart.length, 1),
            "thorax_width_px": round(thorax.length, 1),
            "heart_width_mm": _rounded(measured.heart_mm),
            "thorax_width_mm": _rounded(measured.thorax_mm),
            "approximate": True,
            "judgement": judgement,
            "reliable": not doubts and not suitability.overridden,
            "view": suitability.position,
            "warnings": warnings,
            "cutoff": CUTOFF_TEXT,
        }
        metadata = {
            "image_path": args.image_path,
            "spacing_source": str(frame.spacing.source),
            "width_note": _width_note(frame.spacing),
            "model": model.card.title,
            "weights_sha256": found.weights_sha256,
            "spread_of_looks": found.ratio_spread,
            "doubts": list(measured.warnings),
            "note": "Approximate: measured on a model's outlines.",
            "status": "completed",
        }

        def finding(label: str, line: ctr_geometry.Line) -> Finding:
            value, units = _width(line, frame.spacing)
            return Finding(
                id=new_id(),
                image=snapshot.ref,
                geometry=Polyline(own_points(line, hanging, frame.rows, frame.columns)),
                label=label,
                score=None,
                value=value,
                units=units,
                provenance=context.provenance(SPEC, found.model, found.weights_sha256),
                description=f"{label}; cardiothoracic ratio about {ratio:.2f}, {judgement} "
                "(not for diagnosis).",
                approximate=True,
                group=f"ctr-{context.call_id}",
                ratio="Cardiothoracic ratio" if line is heart else "",
                rests_on=organs.EMBEDDED,
            )

        return ToolResult(
            _summary(ratio, judgement, suitability.position, warnings),
            plain(output),
            plain(metadata),
            (finding("Heart width", heart), finding("Thorax width", thorax)),
        )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def _width(line: ctr_geometry.Line, spacing: Spacing) -> tuple[float, str]:
    """Return a horizontal line's length and its unit, which for mm names the spacing's source."""
    if spacing.column_mm is None:
        return round(line.length, 1), "px"
    return round(line.length * spacing.column_mm, 1), f"mm ({spacing.source})"


def _width_note(spacing: Spacing) -> str:
    return "" if spacing.column_mm is not None else unknown_spacing(spacing)


def own_points(line: ctr_geometry.Line, hanging: Hanging, rows: int, columns: int) -> tuple[XY, XY]:
    """Return a line's ends in pixels of the original image, the viewer's left end first."""

    def back(point: XY) -> XY:
        x = columns - 1 - point[0] if hanging.mirror else point[0]
        y = rows - 1 - point[1] if hanging.upside_down else point[1]
        return x, y

    start, end = sorted((back(line.start), back(line.end)))
    return start, end


def _unstable(spread: float | None) -> list[str]:
    if spread is None or spread <= WIDE_RATIO:
        return []
    text = f"unstable: the cardiothoracic ratio varies by {spread:.2f} when the image is cropped"
    return [f"{text} or rotated slightly"]


def _judgement(ratio: float, spread: float | None = None) -> str:
    """Judge a ratio; none within the method's error or the `spread` of the network's passes."""
    if abs(ratio - CUTOFF) < max(MARGIN, spread or 0.0):
        return f"{UNDECIDED} whether the heart is enlarged"
    return f"{'above' if ratio > CUTOFF else 'below'} {CUTOFF}"


def _summary(ratio: float, judgement: str, position: str, warnings: list[str]) -> str:
    view = "view unknown" if position == "unknown" else f"{position} view"
    text = f"Cardiothoracic ratio about {ratio:.2f} ({view}), {judgement}. {CUTOFF_TEXT}"
    return with_warnings(text, warnings)
