"""Quantities that can be compared between two radiographs of one patient, and their change."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Spacing
from app.tools.chest import ctr_geometry
from app.tools.chest.ctr_geometry import HEART, LEFT_LUNG, RIGHT_LUNG
from app.tools.chest.mask_figures import area_cm2

Mask: TypeAlias = NDArray[np.bool_]
Corners: TypeAlias = tuple[float, float, float, float]
"""(x0, y0, x1, y1) of a box."""

MOST_DEGREES = 5.0
"""Angle between the two images, in degrees, above which widths are not compared."""
MOST_SCALE_CHANGE = 0.08
"""Relative difference in the size of the chest above which areas are not compared.

An adult's chest does not change so much between two films, but the magnification does.
"""
CTR_ERROR = 0.03
"""Difference of two cardiothoracic ratios that the outlines' own error may cause."""
AREA_ERROR = 0.05
"""Relative difference of two areas that the outlines' own error may cause."""
MARK_ERROR, MARK_ERROR_MM = 0.2, 5.0
"""Change of a region's longer side from which it counts as larger or smaller.

The limits for a target lesion's growth in RECIST 1.1 (Eisenhauer 2009): 20 %, and at least 5 mm.
"""
OPERATING_POINT = 0.5
_LEAST_OVERLAP = 0.1  # intersection over union of two boxes that are a pair


@dataclass(frozen=True, slots=True)
class XRay:
    """The data of one of the two images that are compared.

    Attributes:
        position: The view stated in the file: "PA", "AP" or "unknown".
        masks: Name -> mask of a lung or the heart, upright (see `Hanging`); only those found.
        confidence: Name -> mean probability, 0..1, of that structure inside its mask.
        pixels: uint8 [rows, columns], upright.
        spacing: The image's own pixel spacing.
        scores: The classifier's scores by label, 0..1; empty if it is not installed.
        ratio_spread: How far the cardiothoracic ratio varies over the network's passes, or None.
    """

    position: ctr_geometry.Position
    masks: Mapping[str, Mask]
    confidence: Mapping[str, float]
    pixels: NDArray[np.uint8]
    spacing: Spacing
    scores: Mapping[str, float]
    ratio_spread: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table of changes.

    Attributes:
        what: The quantity: "Cardiothoracic ratio", "Right Lung, area", "Effusion, score", ...
        unit: "cm²", "px", "mm", "score", or "" for a ratio.
        current: The value on the current image, or None if it was not measured.
        prior: The value on the prior image, or None if it was not measured.
        change: current - prior, or None if the two values cannot be compared.
        comparable: Whether the two values can be compared.
        beyond_error: Whether the change is larger than the method's own error (for a score: whether
            it crosses 0.5); None if there is no change or the error is unknown.
        why: Why the values cannot be compared, or what the comparison is based on.
        error: Difference that the method's own error may cause, in `unit`; None if unknown.
        state: "larger", "smaller", "unchanged" (within the error), "new" (a region on the current
            image only), "gone" (one on the prior image only), or "" where nothing can be said.
        basis: What mm and cm² rest on, e.g. "detector plane"; "" for other units.
    """

    what: str
    unit: str
    current: float | None
    prior: float | None
    change: float | None
    comparable: bool
    beyond_error: bool | None
    why: str
    error: float | None = None
    state: str = ""
    basis: str = ""


def change_table(
    current: XRay,
    prior: XRay,
    degrees: float | None,
    scale: float | None = None,
    against: Sequence[str] = (),
) -> list[Row]:
    """Return the table rows that compare the cardiothoracic ratio, the areas and the scores.

    `degrees` is the rotation between the images. `scale` is the size of the chest on the prior
    image divided by its size on the current one, in mm. Each is None if unknown. `against`
    are reasons why the two films cannot be laid on each other, and their areas not compared.
    """
    sizes = [*_view_reasons(current, prior, strict=True), *_turn_reasons(degrees)]
    rows = [_ratio_row(current, prior, sizes)]
    areas = [*sizes, *_scale_reasons(scale), *against]
    # What a chest that is larger as a whole explains is no change of a part.
    error = max(AREA_ERROR, abs((scale or 1.0) ** 2 - 1))
    names = (RIGHT_LUNG, LEFT_LUNG, HEART)
    rows += [_area_row(name, current, prior, areas, error) for name in names]
    rows.append(_share_row(current, prior, against))
    return [*rows, *_score_rows(current, prior)]


def length_reasons(current: XRay, prior: XRay, degrees: float, scale: float | None) -> list[str]:
    """Return the reasons why lengths cannot be compared between two images; empty if they can be.

    `degrees` and `scale` are as for `change_table`. Known views must be equal (PA or AP).
    """
    return [
        *_view_reasons(current, prior, strict=False),
        *_turn_reasons(degrees),
        *_scale_reasons(scale),
    ]


def _view_reasons(current: XRay, prior: XRay, *, strict: bool) -> list[str]:
    views = (current.position, prior.position)
    if "unknown" in views:
        which = "both views are" if views[0] == views[1] else "one of the views is"
        return [f"{which} unknown (PA or AP)"] if strict else []
    if views[0] != views[1]:
        return [f"the views differ ({views[1]} before, {views[0]} now)"]
    return []


def _turn_reasons(degrees: float | None) -> list[str]:
    if degrees is None or abs(degrees) <= MOST_DEGREES:
        return []
    return [f"the images are rotated against each other by {abs(degrees):.0f} degrees"]


def _scale_reasons(scale: float | None) -> list[str]:
    if scale is None or abs(scale - 1) <= MOST_SCALE_CHANGE:
        return []
    larger = "larger" if scale > 1 else "smaller"
    return [
        f"the whole chest is {abs(scale - 1):.0%} {larger} on the prior film: its spacing or "
        "magnification differs"
    ]


def _row(
    what: str,
    unit: str,
    values: tuple[float | None, float | None],
    reasons: Sequence[str],
    error: float | None,
    rests_on: str = "",
) -> Row:
    """Return a row, which has no change where a value is missing or a reason speaks against it.

    `values` are (current, prior), `error` is the method's own, `rests_on` the comparison's basis.
    """
    now, then = values
    if now is None or then is None:
        which = "either image" if now is None and then is None else "one of the images"
        reasons = [f"not measured on {which}", *reasons]
    if now is None or then is None or reasons:
        return Row(what, unit, _round(now), _round(then), None, False, None, "; ".join(reasons))
    change = now - then
    values_ = (_round(now), _round(then), _round(change))
    if error is None:
        return Row(what, unit, *values_, True, None, rests_on)
    beyond = bool(abs(change) > error)
    state = ("larger" if change > 0 else "smaller") if beyond else "unchanged"
    return Row(what, unit, *values_, True, beyond, rests_on, _round(error), state)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _ratio_row(current: XRay, prior: XRay, reasons: Sequence[str]) -> Row:
    measured = [
        ctr_geometry.measure(side.masks, confidence=side.confidence, position=side.position)
        for side in (current, prior)
    ]
    why = list(reasons)
    for name, found in zip(("current", "prior"), measured, strict=True):
        if found.refused:
            why.append(f"{name}: {found.refused}")
        elif any("rotated" in text for text in found.warnings):
            why.append(f"on the {name} image the patient may be rotated")
    error = max(CTR_ERROR, *(round(side.ratio_spread or 0.0, 3) for side in (current, prior)))
    rests = f"differences below {error} are within the measurement error"
    values = (measured[0].ratio, measured[1].ratio)
    return _row("Cardiothoracic ratio", "", values, why, error, rests)


def _area_row(
    name: str, current: XRay, prior: XRay, reasons: Sequence[str], relative: float
) -> Row:
    """Return the row of a structure's area; `relative` is the error as a share of the area."""
    what, spacing = f"{name}, area", (current.spacing, prior.spacing)
    found = [side.masks.get(name) for side in (current, prior)]
    pixels = [None if mask is None else float(mask.sum()) for mask in found]
    if not all(item.known for item in spacing):
        why = "the pixel spacing is unknown"
        return _row(what, "px", (pixels[0], pixels[1]), [why, *reasons], None)
    values = [
        None if count is None else area_cm2(count, item)
        for count, item in zip(pixels, spacing, strict=True)
    ]
    if spacing[0].source != spacing[1].source:
        why = (
            f"the pixel spacings have different origins ({spacing[1].source}, {spacing[0].source})"
        )
        return _row(what, "cm²", (values[0], values[1]), [why], None)
    error = relative * max((value for value in values if value is not None), default=0.0)
    limit = f"differences below {relative:.0%} are within the measurement error"
    rests = f"in the {spacing[0].source}; {limit}"
    row = _row(what, "cm²", (values[0], values[1]), reasons, error, rests)
    return replace(row, basis=str(spacing[0].source))


def _share_row(current: XRay, prior: XRay, reasons: Sequence[str]) -> Row:
    """Return the right lung's share of both, independent of spacing, view and turn."""

    def share(side: XRay) -> float | None:
        if RIGHT_LUNG not in side.masks or LEFT_LUNG not in side.masks:
            return None
        right, left = (float(side.masks[name].sum()) for name in (RIGHT_LUNG, LEFT_LUNG))
        return right / (right + left) if right + left else None

    what = "Right lung's share of both lungs' area"
    rests = f"differences below {AREA_ERROR / 2:.1%} are within the measurement error"
    return _row(what, "", (share(current), share(prior)), reasons, AREA_ERROR / 2, rests)


def _score_rows(current: XRay, prior: XRay) -> list[Row]:
    """Return the rows of the scores; only crossing the operating point counts as a change."""
    reasons = _view_reasons(current, prior, strict=False)
    rests = "a change is reported where the score crosses 0.5"
    rows: list[Row] = []
    for label, now in current.scores.items():
        then = prior.scores.get(label)
        row = _row(f"{label.replace('_', ' ')}, score", "score", (now, then), reasons, None, rests)
        if row.comparable and then is not None:
            crossed = (now > OPERATING_POINT) != (then > OPERATING_POINT)
            row = replace(row, beyond_error=crossed)
        rows.append(row)
    return rows


def match_boxes(
    current: Sequence[Corners],
    prior: Sequence[Corners],
    margin: float = 0.0,
    apart: Collection[tuple[int, int]] = (),
) -> list[tuple[int | None, int | None]]:
    """Pair overlapping boxes of two images; all boxes are in pixels of the current image.

    Args:
        current: Boxes on the current image.
        prior: Boxes on the prior image.
        margin: Pixels by which each box is widened on every side, for the registration's error.
        apart: Pairs of indices (current, prior) of boxes that are never paired.

    Returns:
        Pairs of indices (current, prior) of boxes with an intersection over union above 0.1, or of
        which one holds at least half of the other; those that overlap most first. Then each box
        without a partner, paired with None.
    """
    current, prior = ([_widened(box, margin) for box in boxes] for boxes in (current, prior))
    overlaps = sorted(
        ((_overlap(a, b), i, j) for i, a in enumerate(current) for j, b in enumerate(prior)),
        reverse=True,
    )
    pairs: list[tuple[int | None, int | None]] = []
    left, right = set(range(len(current))), set(range(len(prior)))
    for overlap, i, j in overlaps:
        held = _held(current[i], prior[j]) >= 0.5
        if (overlap > _LEAST_OVERLAP or held) and i in left and j in right and (i, j) not in apart:
            pairs.append((i, j))
            left.remove(i)
            right.remove(j)
    return [*pairs, *((i, None) for i in sorted(left)), *((None, j) for j in sorted(right))]


def same_place(one: Corners, other: Corners, margin: float = 0.0) -> bool:
    """Return whether two boxes (pixels of one image), widened by `margin`, overlap enough to pair.

    One that merely lies in a much larger one is not in the same place.
    """
    return _overlap(_widened(one, margin), _widened(other, margin)) > _LEAST_OVERLAP


def _widened(box: Corners, margin: float) -> Corners:
    return box[0] - margin, box[1] - margin, box[2] + margin, box[3] + margin


def _areas(a: Corners, b: Corners) -> tuple[float, float, float]:
    """Return the areas of two boxes and of their intersection."""
    across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    one, other = ((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return one, other, max(across, 0.0) * max(down, 0.0)


def _overlap(a: Corners, b: Corners) -> float:
    """Return the intersection over union of two boxes."""
    one, other, both = _areas(a, b)
    return both / (one + other - both) if both else 0.0


def _held(a: Corners, b: Corners) -> float:
    """Return the share of the smaller of two boxes that lies in the other."""
    one, other, both = _areas(a, b)
    return both / min(one, other) if both else 0.0


def moved_box(box: Corners, matrix: NDArray[np.float64]) -> tuple[tuple[float, float], ...]:
    """Return the four corners (x, y) of a box after applying an affine matrix [3, 3], in pixels."""
    x0, y0, x1, y1 = box
    corners = np.array([[x0, y0, 1], [x1, y0, 1], [x1, y1, 1], [x0, y1, 1]])
    moved = corners @ matrix.T
    return tuple((float(x), float(y)) for x, y, _ in moved)


def bounds(corners: Sequence[tuple[float, float]]) -> Corners:
    """Return the smallest upright box (x0, y0, x1, y1) around points (x, y), in the same unit."""
    x, y = [p[0] for p in corners], [p[1] for p in corners]
    return min(x), min(y), max(x), max(y)


def longest_side(box: Corners, spacing: Spacing) -> tuple[float, str]:
    """Return (length, unit) of a box's longer side: in mm if the spacing is known, otherwise in px.

    The box is (x0, y0, x1, y1) in pixels.
    """
    across, down = box[2] - box[0], box[3] - box[1]
    if spacing.column_mm is None or spacing.row_mm is None:
        return max(across, down), "px"
    return max(across * spacing.column_mm, down * spacing.row_mm), "mm"


def box_row(
    number: int,
    boxes: tuple[Corners | None, Corners | None],
    spacings: tuple[Spacing, Spacing],
    against: Sequence[str] = (),
    name: str = "Marked box",
    made: str = "as drawn by hand",
) -> Row:
    """Return the table row that compares the longer sides of two boxes around a region.

    `boxes` and `spacings` are (current, prior). Each box is in pixels of its own image, or None if
    it was marked on the other image only. `number` is the pair's number in the row's text;
    `against` are reasons not to compare, from `length_reasons`; `name` is what the region is
    called, `made` how it came to be.
    """
    sizes = [
        longest_side(box, spacing) if box is not None else None
        for box, spacing in zip(boxes, spacings, strict=True)
    ]
    units = {size[1] for size in sizes if size is not None}
    values = [size[0] if size is not None else None for size in sizes]
    reasons: list[str] = []
    if boxes[0] is None or boxes[1] is None:
        where = "the prior" if boxes[0] is None else "the current"
        reasons.append(f"marked on {where} image only")
    elif len(units) > 1 or units == {"px"}:
        reasons.append("the pixel spacing is unknown")
    elif spacings[0].source != spacings[1].source:
        reasons.append("the pixel spacings have different origins")
    else:
        reasons += against
    unit = units.pop() if len(units) == 1 else ""
    known = [value for value in values if value is not None]
    error = None if reasons else max(MARK_ERROR * max(known), MARK_ERROR_MM)
    row = _row(f"{name} {number}, longer side", unit, (values[0], values[1]), [], error)
    told = unit == "mm" and (None in boxes or spacings[0].source == spacings[1].source)
    alone = "gone" if boxes[0] is None else "new" if boxes[1] is None else ""
    return replace(
        row,
        change=None if reasons else row.change,
        comparable=not reasons,
        why="; ".join(reasons) or f"{made}, in the {spacings[0].source}",
        state=alone or row.state,
        basis=str(spacings[0 if boxes[0] is not None else 1].source) if told else "",
    )


def registration_problem(degrees: float, scale: float, overlap: float) -> str:
    """Return the reason why a registration cannot be trusted, or "" if there is none.

    The arguments have the same names and meanings as in `registration.Fit`.
    """
    if overlap < 0.8:
        return f"the lungs overlap by {overlap:.2f} only once registered (Dice)"
    if not 0.7 <= scale <= 1.4:
        return f"the images differ in scale by {scale:.2f}"
    if not math.isfinite(degrees) or abs(degrees) > 25:
        return f"the images seem to be rotated against each other by {abs(degrees):.0f} degrees"
    return ""
