"""What the user draws on an image: lengths, angles, and boxes and points that guide a tool.

Drawings are findings made by hand, and never labelled as AI results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import (
    XY,
    Box,
    Finding,
    Geometry,
    Mask,
    Point,
    Polygon,
    Polyline,
    Provenance,
    State,
    new_id,
)
from app.imaging.pixels import pipeline
from app.imaging.space import geometry
from app.imaging.types import Frame, SpacingSource

RULER = "ruler"
ANGLE = "angle"
BOX = "mark_box"
POINT = "mark_point"
OUTSIDE = "mark_outside"
"""Tool that marks a point as not belonging to the object."""

POLYLINE = "polyline"
COBB = "cobb"
BIDIRECTIONAL = "bidirectional"
ELLIPSE = "ellipse"
POLYGON = "polygon"
FREEHAND = "freehand"
PROBE = "probe"
ARROW = "arrow"
TEXT = "text"
CTR = "cardiothoracic"
"""Cardiothoracic ratio by hand: the heart's width, then the thorax's."""

POINTS = {RULER: 2, ANGLE: 3, BOX: 2, POINT: 1, OUTSIDE: 1}
"""Number of points that each tool needs."""

BRUSH = "brush"
"""Tool that paints on the mask of a tool's finding, or erases parts of it."""

WINDOW_REGION = "window_region"
"""Tool that draws a rectangle whose values become the intensity window; it leaves no finding."""

MOST_POINTS = 64
"""Number of points of a line or outline above which a stretch of them is pulled."""

_HANDLES = 32
OUTDATED = "Outdated since the outline was edited: "
"""Stands before the figures of an outline that was changed since."""

DRAGGED = (RULER, BOX)
"""Tools used with a single drag; a click without a drag selects a finding instead."""

LABELS = {
    RULER: "Length",
    ANGLE: "Angle",
    BOX: "Box",
    POINT: "Point",
    OUTSIDE: "Point outside",
}
_MARKS = (BOX, POINT, OUTSIDE)
_MICRO = 0.1  # mm below which a length is given in micrometres
_TENTHS = 10  # from this value on, statistics have tenths


def by_hand(finding: Finding) -> bool:
    """Return whether the user drew a finding; unlike a tool's finding, a drawing has no run id."""
    return finding.provenance.tool in POINTS and not finding.provenance.run_id


def is_mark(finding: Finding) -> bool:
    """Return whether a finding is a box or point that the user drew to guide a tool."""
    return by_hand(finding) and finding.provenance.tool in _MARKS


def is_measurement(finding: Finding) -> bool:
    """Return whether the user drew a finding as a length or an angle."""
    return by_hand(finding) and not is_mark(finding)


def holds_measurement(finding: Finding) -> bool:
    """Return True for the user's own lengths, angles and boxes, and for corrected findings."""
    made = by_hand(finding) and finding.provenance.tool in (RULER, ANGLE, BOX)
    return made or finding.corrected


def verb(tool: str) -> str:
    """Return how the label of an undo step begins for a drawing tool: "Mark" or "Measure"."""
    return "Mark" if tool in _MARKS else "Measure"


def points_of(finding: Finding) -> tuple[XY, ...]:
    """Return the points (x, y) in image pixels that the user can move; () for a mask or a heatmap.

    The four points of a box are its corners, clockwise from the top left.
    """
    match finding.geometry:
        case Polyline(points) | Polygon(points):
            return points
        case Box(x0, y0, x1, y1):
            return (x0, y0), (x1, y0), (x1, y1), (x0, y1)
        case Point(x, y):
            return ((x, y),)
        case _:
            return ()


def handles_of(finding: Finding) -> tuple[XY, ...]:
    """Return the points (x, y) at which to draw handles; only every nth of an outline with many."""
    points = points_of(finding)
    return points if len(points) <= MOST_POINTS else points[:: len(points) // _HANDLES]


def draw(tool: str, frame: Frame, points: Sequence[XY], finding_id: str = "") -> Finding:
    """Return the finding that a drawing tool makes from the points set so far.

    Args:
        tool: A key of `POINTS`.
        frame: The image.
        points: (x, y) in image pixels; points outside are moved to the border. The second point of
            an angle is its vertex; a box has two opposite corners, which may be equal.
        finding_id: Id of the finding to replace; "" for a new one.

    Returns:
        The finding. The value of a measurement is None until all points are set; the sides of a box
        lie on pixel edges, and a box covers at least one pixel.
    """
    kept = tuple(_inside(frame, point) for point in points)
    label, value, units, note = LABELS[tool], None, "", ""
    if tool == BOX:
        shape = _box(frame, points[0], points[-1])
        note = _size(frame, shape)
    elif tool in _MARKS:
        shape = Point(*kept[-1])
        note = f"x {shape.x:.1f}, y {shape.y:.1f} px"
    else:
        shape = Polyline(kept)
        if len(kept) == POINTS[tool]:
            measure = _length if tool == RULER else _angle
            label, value, units, note = measure(frame, kept)
            note = note[:1].upper() + note[1:]
    return Finding(
        id=finding_id or new_id(),
        image=frame.ref,
        geometry=shape,
        label=label,
        score=None,
        units=units,
        provenance=Provenance(tool, "", "", "", "", ""),
        value=value,
        description=note,
    )


def with_statistics(finding: Finding, frame: Frame) -> Finding:
    """Return `finding`, with pixel statistics in its description if it is a box on a grey image.

    These are the mean, standard deviation and range of modality values (e.g. HU), whatever window
    is shown. Padding and pixels hidden by a shutter are left out, and the description says so.
    """
    box = finding.geometry
    if finding.provenance.tool != BOX or not isinstance(box, Box) or frame.is_color:
        return finding
    x0, y0, x1, y1 = (round(edge + 0.5) for edge in (box.x0, box.y0, box.x1, box.y1))
    values = pipeline.values_in(frame, range(y0, y1), range(x0, x1))
    if not values.size:
        return finding
    low, high = float(values.min()), float(values.max())
    form = ".1f" if max(abs(low), abs(high)) >= _TENTHS else ".3g"
    units = f" {frame.rescale.units}" if frame.rescale.units else ""
    mean, deviation = float(values.mean()), float(values.std())
    size, _, rest = finding.description.partition("; ")
    left_out = "" if values.size == (x1 - x0) * (y1 - y0) else ", without padding or shutter"
    return replace(
        finding,
        description=f"{size} · mean {mean:{form}}, SD {deviation:{form}}{units}; "
        f"{low:{form}} to {high:{form}}{units}{left_out}; {rest}",
    )


def _size(frame: Frame, box: Box) -> str:
    """Return a box's size, in mm where the spacing is known, and where it lies in pixels."""
    columns, rows = box.x1 - box.x0, box.y1 - box.y0
    pixels = f"{columns:.0f} × {rows:.0f} px"
    place = f"from x {box.x0 + 0.5:.0f}, y {box.y0 + 0.5:.0f}"
    found = geometry.pixel_mm(frame, box)
    if found is None:
        return f"{pixels}; {place}"
    width, height = columns * found[0], rows * found[1]
    units, factor = ("µm", 1000) if min(width, height) < _MICRO else ("mm", 1)
    width, height = width * factor, height * factor
    size = f"{width:.1f} × {height:.1f} {units} ({found[2].value})"
    return f"{size}; area {width * height:.1f} {units}²; {pixels} {place}"


def move_point(finding: Finding, frame: Frame, place: int, to: XY) -> Finding:
    """Return a finding with point `place` (from 0) of `points_of` moved to `to`, in image pixels.

    The opposite corner of a box stays; on a line with many points, nearby points are moved too. A
    tool's finding keeps its id, label and maker, becomes edited, and has the tool's as its
    `original`. A length is measured anew; the old score is dropped, and other old figures are
    marked as outdated.
    """
    points = list(points_of(finding))
    if isinstance(finding.geometry, Box):
        points = [points[(place + 2) % 4], to]
    elif len(points) > MOST_POINTS:
        points = _pulled(points, place, to, closed=isinstance(finding.geometry, Polygon))
    else:
        points[place] = to
    if by_hand(finding):
        return draw(finding.provenance.tool, frame, points, finding.id)
    value, units = None, ""
    kept = tuple(_inside(frame, point) for point in points)
    match finding.geometry:
        case Box():
            shape = _box(frame, *points)
        case Point():
            shape = Point(*kept[0])
        case Polygon():
            shape = Polygon(kept)
        case _:
            shape = Polyline(kept)
            if finding.value is not None and len(kept) == POINTS[RULER]:
                _label, value, units, _note = _length(frame, kept)
    return _corrected(finding, frame, shape, value, units)


def repainted(finding: Finding, frame: Frame, mask: Mask) -> Finding:
    """Return a finding corrected to the painted `mask`; its description gives the mask's area."""
    return _corrected(finding, frame, mask)


def paint(
    mask: NDArray[np.bool_], start: XY, end: XY, radius: float, aspect: float, inside: bool
) -> None:
    """Set the pixels of `mask` under a round brush to `inside`, in place.

    The brush moves from `start` to `end`, (x, y) in pixels. `radius` is in columns; a row is
    `aspect` times as high as a column is wide.
    """
    size = np.array([radius, radius / aspect])
    low = np.maximum(np.floor(np.minimum(start, end) - size), 0).astype(int)
    high = np.maximum(np.ceil(np.maximum(start, end) + size) + 1, 0).astype(int)
    rows, columns = np.ogrid[low[1] : min(high[1], len(mask)), low[0] : min(high[0], mask.shape[1])]
    x, y = columns - start[0], (rows - start[1]) * aspect
    a, b = end[0] - start[0], (end[1] - start[1]) * aspect
    along = np.clip((x * a + y * b) / ((a * a + b * b) or 1.0), 0, 1)
    under = np.hypot(x - along * a, y - along * b) <= radius
    mask[low[1] : high[1], low[0] : high[0]][under] = inside


def _pulled(points: Sequence[XY], place: int, to: XY, *, closed: bool) -> list[XY]:
    """Return a line whose stretch around a point is pulled along with it, ever less far away."""
    line = np.array(points)
    steps = np.linalg.norm(np.diff(line, axis=0, append=line[:1]), axis=1)
    path = np.concatenate([[0.0], np.cumsum(steps)])
    away = np.abs(path[:-1] - path[place])
    if closed:
        away = np.minimum(away, path[-1] - away)
    pull = np.array(to) - line[place]
    # Long enough that no spike arises, and short enough that the rest of the line stays.
    reach = min(max(path[-1] / 16, 2 * float(np.linalg.norm(pull))), path[-1] / 4)
    weight = np.cos(np.minimum(away / reach, 1) * np.pi / 2) ** 2
    return [(float(x), float(y)) for x, y in line + weight[:, None] * pull]


def _corrected(
    finding: Finding, frame: Frame, shape: Geometry, value: float | None = None, units: str = ""
) -> Finding:
    figures = _area(frame, shape) if isinstance(shape, Mask | Polygon) else ""
    return replace(
        outdated(finding, "Corrected by hand", figures),
        geometry=shape,
        value=value,
        units=units,
        score=None,
        approximate=False,
        state=State.EDITED,
        original=finding.original or finding,
    )


def _area(frame: Frame, shape: Mask | Polygon) -> str:
    """Return the area of an outline as text, in cm² where the spacing is known."""
    if isinstance(shape, Mask):
        y, x = np.nonzero(shape.pixels)
        pixels = float(len(x))
    else:
        x, y = np.array(shape.points).T
        pixels = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
    text = f"{pixels:,.0f} px"
    if not pixels:
        return f"area {text}"
    low, high = (x.min() - 0.5, y.min() - 0.5), (x.max() + 0.5, y.max() + 0.5)
    found = geometry.pixel_mm(frame, Box(*low, *high))
    if found is None:
        return f"area {text}"
    return f"area {pixels * found[0] * found[1] / 100:.1f} cm² ({found[2].value}), {text}"


def outdated(finding: Finding, happened: str, figures: str = "") -> Finding:
    """Return a finding whose description begins with the text `happened` and the new `figures`.

    The previous description follows, marked as outdated.
    """
    own, marked = finding.description, OUTDATED in finding.description
    before = own.partition(OUTDATED)[2] if marked or finding.corrected else own
    head = f"{happened}: {figures}." if figures else f"{happened}."
    return replace(finding, description=f"{head} {OUTDATED}{before}" if before else head)


def after_correction(changed: Finding, others: Sequence[Finding]) -> list[Finding]:
    """Return the corrected finding `changed` and those `others` whose figures depend on it.

    `others` are the other findings on the image. Old figures are marked as outdated; the ratio of
    two lines is computed anew.
    """
    group = [one for one in others if changed.group and one.group == changed.group]
    if not isinstance(changed.geometry, Polyline):
        resting = [one for one in others if changed.label in one.rests_on and not one.corrected]
        happened = f"{changed.label} was corrected by hand"
        return [changed, *(outdated(one, happened) for one in resting)]
    lines, ratio = [changed, *group], ""
    for line in lines:
        values = [one.value for one in lines if one is not line and one.units == line.units]
        if line.ratio and line.value is not None and len(values) == 1 and values[0]:
            ratio = f"{line.ratio[0].lower()}{line.ratio[1:]} now {line.value / values[0]:.2f}"
    beside = "A related line was corrected by hand"
    return [outdated(one, "Corrected by hand" if one.corrected else beside, ratio) for one in lines]


def _inside(frame: Frame, point: XY) -> XY:
    x = min(max(point[0], -0.5), frame.columns - 0.5)
    y = min(max(point[1], -0.5), frame.rows - 0.5)
    return x, y


def _length(frame: Frame, points: Sequence[XY]) -> tuple[str, float | None, str, str]:
    found = geometry.length(frame, points[0], points[1])
    note = "" if frame.regions else frame.spacing.note
    if found.source is SpacingSource.NONE:
        return "Length", found.value, found.units, note
    source = f"({found.source.value})"
    across, _, down = found.text.removesuffix(source).strip().partition(", ")
    if down:  # axes of different units, as time and speed: no length, but two differences
        return "Difference", found.value, f"{found.units}, {across} {source}", note
    if found.units == "mm" and found.value < _MICRO:
        return "Length", found.value * 1000, f"µm {source}", note
    label = "Length" if found.units == "mm" else "Difference"
    return label, found.value, f"{found.units} {source}", note


def _angle(frame: Frame, points: Sequence[XY]) -> tuple[str, float | None, str, str]:
    found = geometry.angle(frame, *points)
    if found is None:
        return "Angle", None, "", "no angle: the axes have different units"
    square = found.source is SpacingSource.NONE and frame.spacing.aspect == 1
    return "Angle", found.value, found.units, "assuming square pixels" if square else ""


def _box(frame: Frame, one: XY, other: XY) -> Box:
    x0, x1 = _span(one[0], other[0], frame.columns)
    y0, y1 = _span(one[1], other[1], frame.rows)
    return Box(x0, y0, x1, y1)


def _span(fixed: float, free: float, size: int) -> tuple[float, float]:
    """Return an interval between pixel edges, at least one pixel wide."""
    low, high = sorted((_edge(fixed, size), _edge(free, size)))
    if low == high:  # it grows to the side that it was drawn to
        grows_up = (free >= fixed and high < size - 0.5) or low <= -0.5
        low, high = (low, high + 1) if grows_up else (low - 1, high)
    return low, high


def _edge(value: float, size: int) -> float:
    return min(max(math.floor(value) + 0.5, -0.5), size - 0.5)
