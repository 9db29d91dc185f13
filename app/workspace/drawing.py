"""What the user draws on an image: lengths, angles, regions, texts, and marks that guide a tool.

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
    Ellipse,
    Finding,
    Geometry,
    Heatmap,
    Instances,
    Mask,
    Measurement,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
    new_id,
)
from app.imaging.pixels import pipeline
from app.imaging.space import geometry
from app.imaging.types import Frame, SpacingSource
from app.workspace import mark_measures, region_statistics
from app.workspace.mark_measures import MICRO, Measured, figure

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

SET_BY_COMMAND = frozenset(("viewer_mark", "viewer_measure", "viewer_place"))
"""The assistant's tools that draw where the user says: each mark is a thing of its own."""

POINTS = {
    RULER: 2,
    ANGLE: 3,
    BOX: 2,
    POINT: 1,
    OUTSIDE: 1,
    COBB: 4,
    BIDIRECTIONAL: 2,
    ELLIPSE: 2,
    PROBE: 1,
    ARROW: 2,
    TEXT: 1,
    CTR: 4,
    POLYLINE: 0,
    POLYGON: 0,
    FREEHAND: 0,
}
"""Number of points that the user sets with each tool; 0: as many as wanted."""

LEAST_POINTS = {POLYLINE: 2, POLYGON: 3, FREEHAND: 3}
"""Number of points without which a drawing of any number of points is nothing."""

BRUSH = "brush"
"""Tool that paints on the mask of a tool's finding, or erases parts of it."""

FILL = "threshold_fill"
"""Tool that makes a mask of the pixels around one whose values lie in a range."""

WINDOW_REGION = "window_region"
"""Tool that draws a rectangle whose values become the intensity window; it leaves no finding."""

MOST_POINTS = 64
"""Number of points of a line or outline above which a stretch of them is pulled."""

_HANDLES = 32
OUTDATED = "Outdated since the outline was edited: "
"""Stands before the figures of an outline that was changed since."""

DRAGGED = (RULER, BOX, ELLIPSE, BIDIRECTIONAL, ARROW)
"""Tools used with a single drag; a click without a drag selects a finding instead."""

LABELS = {
    RULER: "Length",
    ANGLE: "Angle",
    BOX: "Box",
    POINT: "Point",
    OUTSIDE: "Point outside",
    POLYLINE: "Polyline",
    COBB: "Cobb angle",
    BIDIRECTIONAL: "Bidirectional",
    ELLIPSE: "Ellipse",
    POLYGON: "Polygon",
    FREEHAND: "Freehand region",
    PROBE: "Probe",
    ARROW: "Arrow",
    TEXT: "Text",
    CTR: "Cardiothoracic ratio",
    BRUSH: "Mask",
}
_RENAMED = {RULER: ("Length", "Difference")}
_MARKS = (BOX, POINT, OUTSIDE)
TEXTS = (ARROW, TEXT)
"""Tools whose mark is a text that the user types: its label."""

REGIONS = (BOX, ELLIPSE, POLYGON, FREEHAND)
"""Tools that draw regions, with area, perimeter and statistics."""

_TENTHS = 10  # from this value on, statistics have tenths
_SHORT = 0.5  # of the long axis: how long the short one is at first
_EXTRA = ("Pixels left out",)
COPIED = "copied from a finding of "
"""Stands in the description of a mark that was pasted from a tool's finding, before its maker."""

KNOWN_LENGTH = "Known length"
"""Name of the measurement of a line by which its image is calibrated: its true length in mm."""

SERIES_LENGTH = "Known length, for the series"
"""The same for a line by which all images of its series are calibrated."""


MEASURED_AGAIN = "being measured again"
"""Description of a mark whose figures are not told until its image has been read."""

UNREADABLE = "not measured: its image cannot be read"
"""The same where the image cannot be read."""


def by_hand(finding: Finding) -> bool:
    """Return whether the user drew a finding; unlike a tool's finding, a drawing has no run id."""
    made = finding.provenance.tool in POINTS or finding.provenance.tool == BRUSH
    return made and not finding.provenance.run_id


def is_mark(finding: Finding) -> bool:
    """Return whether a finding is a box or point that the user drew to guide a tool."""
    return by_hand(finding) and finding.provenance.tool in _MARKS


def is_measurement(finding: Finding) -> bool:
    """Return whether the user drew a finding to measure something; boxes count as marks."""
    return by_hand(finding) and not is_mark(finding) and finding.provenance.tool not in TEXTS


def is_arrow(finding: Finding) -> bool:
    """Return whether a finding is an arrow, drawn by the user or by the assistant's commands."""
    by_command = finding.provenance.tool in ("viewer_mark", "viewer_place")
    by_user = by_hand(finding) and finding.provenance.tool == ARROW
    return isinstance(finding.geometry, Polyline) and (by_user or by_command)


def is_region(finding: Finding) -> bool:
    """Return whether the user drew a finding as a region."""
    return by_hand(finding) and finding.provenance.tool in REGIONS


def has_statistics(finding: Finding) -> bool:
    """Return whether a finding has statistics of its pixels: the user's regions, and all masks."""
    return is_region(finding) or isinstance(finding.geometry, Mask)


def headline(finding: Finding) -> str:
    """Return the figures of a drawing that has several, for its text on the image; else ""."""
    several = (BOX, ELLIPSE, POLYGON, FREEHAND, BRUSH, BIDIRECTIONAL, PROBE, CTR)
    if by_hand(finding) and finding.provenance.tool in several:
        return finding.description.partition(";")[0]
    return ""


def holds_measurement(finding: Finding) -> bool:
    """Return True for the user's own lengths, angles and boxes, and for corrected findings."""
    made = by_hand(finding) and finding.provenance.tool not in (POINT, OUTSIDE)
    return made or finding.corrected


def verb(tool: str) -> str:
    """Return how the label of an undo step begins for a drawing tool: "Mark" or "Measure"."""
    return "Mark" if tool in (*_MARKS, *TEXTS) else "Measure"


def points_of(finding: Finding) -> tuple[XY, ...]:
    """Return the points (x, y) in image pixels that the user can move; () for arrays of pixels.

    The four points of a box, or of the box around an ellipse, are its corners, clockwise from the
    top left.
    """
    match finding.geometry:
        case Polyline(points) | Polygon(points) | Segments(points):
            return points
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1):
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
            an angle is its vertex; a box and an ellipse have two opposite corners, which may be
            equal. Two points make both axes of a bidirectional measurement, four give them; an
            arrow points at its first.
        finding_id: Id of the finding to replace; "" for a new one.

    Returns:
        The finding, without statistics (see `with_statistics`). The value of a measurement is None
        until all points are set; the sides of a box lie on pixel edges, and a box covers at least
        one pixel.
    """
    made = Finding(
        id=finding_id or new_id(),
        image=frame.ref,
        geometry=_shape(tool, frame, points),
        label=LABELS[tool],
        score=None,
        units="",
        provenance=Provenance(tool, "", "", "", "", ""),
        state=State.ACCEPTED,
    )
    return _probed(remeasured(made, frame), frame)


def _shape(tool: str, frame: Frame, points: Sequence[XY]) -> Geometry:
    kept = tuple(_inside(frame, point) for point in points)
    match tool:
        case "mark_box":
            return _box(frame, points[0], points[-1])
        case "ellipse":
            xs, ys = sorted((kept[0][0], kept[-1][0])), sorted((kept[0][1], kept[-1][1]))
            return Ellipse(xs[0], ys[0], xs[1], ys[1])
        case "mark_point" | "mark_outside" | "probe" | "text":
            return Point(*kept[-1])
        case "polygon" | "freehand":
            return Polygon(kept)
        case "bidirectional":
            return Segments(_axes(frame, kept) if len(kept) == 2 else kept)
        case "cobb" | "cardiothoracic":
            return Segments(kept)
        case _:
            return Polyline(kept)


def _aspect(frame: Frame, points: Sequence[XY]) -> float:
    found = geometry.pixel_shape(frame, points)
    return found[0] if found is not None else 1.0


def _axes(frame: Frame, points: Sequence[XY]) -> tuple[XY, ...]:
    """Return the long axis with a short one half as long, across its middle."""
    (ax, ay), (bx, by) = points
    tall = _aspect(frame, points)
    # Across in mm: (dx, dy * tall) turned by a quarter, back in pixels.
    x, y = -(by - ay) * tall * _SHORT / 2, (bx - ax) / tall * _SHORT / 2
    middle = (ax + bx) / 2, (ay + by) / 2
    return (ax, ay), (bx, by), (middle[0] + x, middle[1] + y), (middle[0] - x, middle[1] - y)


def _moved_axes(frame: Frame, points: Sequence[XY], place: int, to: XY) -> tuple[XY, ...]:
    """Return the axes of a bidirectional measurement after one end was moved, still perpendicular.

    With an end of the long axis the short one goes along, as far along and as long as before; an
    end of the short axis takes it along the long one, while its other end keeps its distance.
    """
    tall = _aspect(frame, points)
    flat = [np.array((x, y * tall)) for x, y in points]
    moved = np.array((to[0], to[1] * tall))

    def along(
        start: NDArray[np.float64], end: NDArray[np.float64], at: NDArray[np.float64]
    ) -> tuple[float, float]:
        """Return how far along a line (0 to 1) a point is, and how far from it (signed)."""
        way = end - start
        size = float(np.hypot(*way)) or 1.0
        off = at - start
        return float(off @ way) / size**2, float(way[0] * off[1] - way[1] * off[0]) / size

    share, first = along(flat[0], flat[1], flat[2])
    second = along(flat[0], flat[1], flat[3])[1]
    if place < 2:
        flat[place] = moved
    else:
        share, new = along(flat[0], flat[1], moved)
        first, second = (new, second) if place == 2 else (first, new)
    way = flat[1] - flat[0]
    across = np.array((-way[1], way[0])) / (float(np.hypot(*way)) or 1.0)
    foot = flat[0] + min(max(share, 0.0), 1.0) * way
    ends = flat[0], flat[1], foot + across * first, foot + across * second
    return tuple((float(x), float(y) / tall) for x, y in ends)


def remeasured(finding: Finding, frame: Frame) -> Finding:
    """Return a drawing measured anew with the scale of `frame`.

    What rests on pixel values is kept: `frame` need not be the drawing's own image, if it has its
    size and scale. The user's name for the drawing, and what it is a copy of, stay.
    """
    return _still_copied(_remeasured(finding, frame), finding)


def rests_on_hand(finding: Finding) -> bool:
    """Return whether a drawing says that it was measured by a calibration by hand."""
    by = SpacingSource.MANUAL.value
    parts = (finding.units, finding.description, *(one.rests_on for one in finding.measurements))
    return any(by in part for part in parts)


def unmeasured(finding: Finding, why: str) -> Finding:
    """Return a drawing without the figures that rest on the scale; its description says why.

    Figures that rest on pixels alone stay, and so does the known length of a line.
    """
    if finding.provenance.tool in (*TEXTS, POINT, OUTSIDE, PROBE):
        return finding
    kept = tuple(one for one in finding.measurements if one.name in _KEPT)
    bare = replace(finding, value=None, units="", description=why, measurements=kept)
    return _still_copied(bare, finding)


def is_unmeasured(finding: Finding) -> bool:
    """Return whether a drawing has no figures at present; see `unmeasured`."""
    return finding.description.partition(";")[0] in (MEASURED_AGAIN, UNREADABLE)


def _still_copied(made: Finding, before: Finding) -> Finding:
    """Return a mark that was measured anew, which says of which tool's finding it is a copy."""
    _, copy, maker = before.description.partition(COPIED)
    if not copy or COPIED in made.description:
        return made
    parts = (made.description, f"{COPIED}{maker}")
    return replace(made, description="; ".join(part for part in parts if part))


def _remeasured(finding: Finding, frame: Frame) -> Finding:
    tool, shape = finding.provenance.tool, finding.geometry
    unknown = isinstance(shape, Segments) and tool not in _SEGMENTS
    if tool in TEXTS or unknown or isinstance(shape, Heatmap | Instances):
        return finding
    measured = _measured(tool, frame, shape)
    kept = tuple(one for one in finding.measurements if one.name in _KEPT)
    values = (*measured.measurements, *kept)
    own = _RENAMED.get(tool, ())
    label = measured.label if finding.label in own and measured.label else finding.label
    value, units = measured.value, measured.units
    if tool == PROBE:
        value, units, text = finding.value, finding.units, finding.description
    else:
        text = _description(tool, frame, shape, measured, values)
    return replace(
        finding,
        label=label,
        value=value,
        units=units,
        description=text,
        measurements=values if tool != PROBE else finding.measurements,
    )


_KEPT = (*region_statistics.STATISTICS, *_EXTRA, KNOWN_LENGTH, SERIES_LENGTH)


def _measured(tool: str, frame: Frame, shape: Geometry) -> Measured:
    match shape:
        case Mask():
            return mark_measures.mask(frame, shape)
        case Box() | Ellipse() | Polygon():
            found = mark_measures.region(frame, shape)
            return replace(found, value=None, units="") if tool == BOX else found
        case Segments(points):
            return _SEGMENTS[tool](frame, points)
        case Polyline(points) if tool == POLYLINE:
            return mark_measures.polyline(frame, points)
        case Polyline(points) if tool in (RULER, ANGLE) and len(points) == POINTS[tool]:
            measure = _length if tool == RULER else _angle
            label, value, units, note = measure(frame, points)
            base, _, source = units.partition(" (")
            values = ()
            if value is not None:
                values = (Measurement(label, value, base, source.removesuffix(")")),)
            return Measured(value, units, note, values, label)
        case _:
            return Measured()


_SEGMENTS = {
    COBB: mark_measures.cobb,
    BIDIRECTIONAL: mark_measures.bidirectional,
    CTR: mark_measures.cardiothoracic,
}


def _description(
    tool: str,
    frame: Frame,
    shape: Geometry,
    measured: Measured,
    values: Sequence[Measurement],
) -> str:
    """Return the sentence on a drawing: first what stands beside it, after ";" the rest."""
    named = {one.name: one for one in values}
    note = measured.note
    if KNOWN_LENGTH in named or SERIES_LENGTH in named:
        whose = "this image" if KNOWN_LENGTH in named else "the series"
        note = f"known length, by which {whose} is calibrated by hand"
    if isinstance(shape, Point) and tool in _MARKS:
        return f"x {shape.x:.1f}, y {shape.y:.1f} px"
    if tool in REGIONS or isinstance(shape, Mask):
        if isinstance(shape, Box):
            size, _, rest = size_text(frame, shape).partition("; ")
        else:
            size = _text_of(named.get("Area")) or ("no area" if note else "")
            rest = "the pixels of the mask"
            rest = rest if isinstance(shape, Mask) else "pixels whose centre lies inside"
        perimeter = _text_of(named.get("Perimeter"))
        perimeter = f"perimeter {perimeter}" if perimeter else ""
        head, spread = _statistics_text(named)
        head = " · ".join(part for part in (size, head) if part)
        return "; ".join(part for part in (head, spread, rest, perimeter, note) if part)
    if tool == BIDIRECTIONAL and "Long axis" in named:
        long, short = named["Long axis"], named["Short axis"]
        units = mark_measures.with_source(long)
        text = f"{figure(long.value)} × {figure(short.value)} {units}"
        return f"{text}; {note}" if note else text
    if tool == CTR and "Heart width" in named:
        heart, thorax = named["Heart width"], named["Thorax width"]
        units = mark_measures.with_source(heart)
        text = f"{measured.value:.2f} · heart {figure(heart.value)}, thorax {figure(thorax.value)}"
        return f"{text} {units}; {note}" if note else f"{text} {units}"
    return note[:1].upper() + note[1:]


def _text_of(one: Measurement | None) -> str:
    return f"{figure(one.value)} {mark_measures.with_source(one)}" if one is not None else ""


def _statistics_text(named: dict[str, Measurement]) -> tuple[str, str]:
    """Return "mean .., SD .." and the range as texts; both "" without statistics."""
    if "Mean" not in named:
        return "", ""
    low, high = named["Minimum"].value, named["Maximum"].value
    form = ".1f" if max(abs(low), abs(high)) >= _TENTHS else ".3g"
    units = f" {named['Mean'].units}" if named["Mean"].units else ""
    left_out = ", without padding or shutter" if "Pixels left out" in named else ""
    mean, deviation = named["Mean"].value, named["Standard deviation"].value
    return (
        f"mean {mean:{form}}, SD {deviation:{form}}{units}",
        f"{low:{form}} to {high:{form}}{units}{left_out}",
    )


def _probed(finding: Finding, frame: Frame) -> Finding:
    """Return a probe with the value of the pixel that it is on; other drawings as they are."""
    shape = finding.geometry
    if finding.provenance.tool != PROBE or not isinstance(shape, Point):
        return finding
    grey = pipeline.grey_at(frame, min(shape.x, frame.columns - 1), min(shape.y, frame.rows - 1))
    place = f"x {math.floor(shape.x + 0.5)}, y {math.floor(shape.y + 0.5)} px"
    if grey is None:
        bare = replace(finding, value=None, units="", description=place, measurements=())
        return _still_copied(bare, finding)
    value, units = grey.value, grey.units or region_statistics.value_units(frame)
    if grey.real is not None and grey.real_units:
        value, units = grey.real, pipeline.shown_units(grey.real_units)
    text = grey.text if grey.value is None or grey.units or grey.real_units else ""
    text = text or f"{grey.text} ({units})"
    values = () if value is None else (Measurement("Value", value, units),)
    made = replace(
        finding,
        value=value,
        units=units if value is not None else "",
        description=f"{text}; {place}",
        measurements=values,
    )
    return _still_copied(made, finding)


def statistics_text(finding: Finding) -> str:
    """Return the statistics of a tool's mask; "" for none, or if its description has them."""
    if by_hand(finding):
        return ""
    named = {one.name: one for one in finding.measurements}
    return "; ".join(part for part in _statistics_text(named) if part)


def pixels_around(finding: Finding) -> float:
    """Return how many pixels are looked at for a region's statistics: how long they take."""
    if isinstance(finding.geometry, Mask):
        return float(finding.geometry.pixels.size)
    points = np.array(points_of(finding)).reshape(-1, 2)
    if not is_region(finding) or not len(points):
        return 0.0
    return float(np.prod(np.ptp(points, axis=0) + 1))


def with_statistics(finding: Finding, frame: Frame) -> Finding:
    """Return `finding`, with the statistics of its pixels if it has any and the image is grey.

    These are the mean, standard deviation (n - 1) and range of the image's own values (e.g. HU),
    whatever window is shown, of the pixels whose centre lies inside; see `region_statistics`.
    Padding and pixels hidden by a shutter are left out, and the description says so; that of a
    tool's mask stays.
    """
    region = region_statistics.region_of(finding)
    if region is None or not has_statistics(finding):
        return finding
    read = region_statistics.region_values(frame, region)
    kept = tuple(one for one in finding.measurements if one.name not in _STATISTICS)
    found = region_statistics.statistics(*read) if read is not None else None
    if found is not None:
        kept = (*kept, *found.measurements())
        if found.left_out:
            kept = (*kept, Measurement("Pixels left out", float(found.left_out), "px"))
    counted = replace(finding, measurements=kept)
    return remeasured(counted, frame) if by_hand(finding) else counted


_STATISTICS = (*region_statistics.STATISTICS, *_EXTRA)


def size_text(frame: Frame, box: Box) -> str:
    """Return a box's size, in mm where the spacing is known, and where it lies in pixels."""
    columns, rows = box.x1 - box.x0, box.y1 - box.y0
    pixels = f"{columns:.0f} × {rows:.0f} px"
    place = f"from x {box.x0 + 0.5:.0f}, y {box.y0 + 0.5:.0f}"
    found = geometry.pixel_mm(frame, box)
    if found is None:
        return f"{pixels}; {place}"
    width, height = columns * found[0], rows * found[1]
    units, factor = ("µm", 1000) if min(width, height) < MICRO else ("mm", 1)
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
    if finding.provenance.tool == BIDIRECTIONAL and by_hand(finding):
        points = list(_moved_axes(frame, points, place, _inside(frame, to)))
    elif isinstance(finding.geometry, Box | Ellipse):
        points = [points[(place + 2) % 4], to]
    elif len(points) > MOST_POINTS:
        points = _pulled(points, place, to, closed=isinstance(finding.geometry, Polygon))
    else:
        points[place] = to
    if by_hand(finding):
        shape = _shape(finding.provenance.tool, frame, points)
        kept = tuple(one for one in finding.measurements if one.name not in _STATISTICS)
        moved = replace(finding, image=frame.ref, geometry=shape, measurements=kept)
        return _probed(remeasured(moved, frame), frame)
    value, units = None, ""
    kept = tuple(_inside(frame, point) for point in points)
    match finding.geometry:
        case Box():
            shape = _box(frame, *points)
        case Ellipse():
            shape = _shape(ELLIPSE, frame, points)
        case Segments():
            shape = Segments(kept)
        case Point():
            shape = Point(*kept[0])
        case Polygon():
            shape = Polygon(kept)
        case _:
            shape = Polyline(kept)
            if finding.value is not None and len(kept) == POINTS[RULER]:
                _label, value, units, _note = _length(frame, kept)
    return _corrected(finding, frame, shape, value, units)


def with_shape(finding: Finding, frame: Frame, shape: Geometry) -> Finding:
    """Return a finding with another geometry on `frame`, measured anew, without statistics.

    A tool's finding becomes edited, as by `move_point`.
    """
    if by_hand(finding):
        kept = tuple(one for one in finding.measurements if one.name not in _STATISTICS)
        changed = replace(finding, image=frame.ref, geometry=shape, measurements=kept)
        return _probed(remeasured(changed, frame), frame)
    value, units = None, ""
    if isinstance(shape, Polyline) and finding.value is not None and len(shape.points) == 2:
        _label, value, units, _note = _length(frame, shape.points)
    return _corrected(finding, frame, shape, value, units)


def new_mask(frame: Frame) -> Finding:
    """Return an empty mask drawn by hand, to be painted on."""
    shape = Mask(np.zeros((frame.rows, frame.columns), dtype=np.bool_))
    made = Provenance(BRUSH, "", "", "", "", "")
    return Finding(new_id(), frame.ref, shape, LABELS[BRUSH], None, "", made, state=State.ACCEPTED)


def filled_mask(frame: Frame, mask: Mask, finding_id: str) -> Finding:
    """Return a mask drawn by hand, measured, with its statistics; `finding_id` is its id."""
    made = replace(new_mask(frame), id=finding_id, geometry=mask)
    return with_statistics(remeasured(made, frame), frame)


def repainted(finding: Finding, frame: Frame, mask: Mask) -> Finding:
    """Return a finding corrected to the painted `mask`; its description gives the mask's area."""
    if by_hand(finding):
        return with_shape(finding, frame, mask)
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
    figures = area_text(frame, shape) if isinstance(shape, Mask | Polygon) else ""
    # What the tool measured, where it can be measured anew: old figures would be wrong.
    line = isinstance(shape, Polyline) and len(shape.points) == POINTS[RULER]
    measured = not isinstance(shape, Segments | Heatmap | Instances)
    anew = _measured(RULER if line else POLYLINE, frame, shape) if measured else Measured()
    source = finding.original or finding
    known = {one.name for one in source.measurements}
    earlier: tuple[Measurement, ...] = ()
    if isinstance(shape, Segments) and source.units == "ratio":
        anew = mark_measures.cardiothoracic(frame, shape.points)
        value, units = anew.value, anew.units
        earlier = tuple(one for one in source.measurements if one.date)
    return replace(
        outdated(finding, "Corrected by hand", figures),
        geometry=shape,
        measurements=(*(one for one in anew.measurements if one.name in known), *earlier),
        value=value,
        units=units,
        score=None,
        approximate=bool(earlier),  # what a tool measured on the earlier study
        state=State.EDITED,
        original=finding.original or finding,
    )


def area_text(frame: Frame, shape: Mask | Polygon) -> str:
    """Return the area of an outline as text, in cm² where the spacing is known."""
    if isinstance(shape, Mask):
        rows, columns = region_statistics.extent(shape)
        pixels = float(np.count_nonzero(shape.pixels))
        low, high = (columns.start, rows.start), (columns.stop - 1, rows.stop - 1)
    else:
        if mark_measures.crosses_itself(shape):
            return "no area: the outline crosses itself"
        x, y = np.array(shape.points).T
        pixels = abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2
        low, high = (x.min(), y.min()), (x.max(), y.max())
    text = f"{pixels:,.0f} px"
    if not pixels:
        return f"area {text}"
    low, high = (low[0] - 0.5, low[1] - 0.5), (high[0] + 0.5, high[1] + 0.5)
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
    if found.units == "mm" and found.value < MICRO:
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
