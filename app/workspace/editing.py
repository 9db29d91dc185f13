"""Moving, copying and pasting marks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from app.imaging.findings import (
    XY,
    Box,
    Ellipse,
    Finding,
    Geometry,
    Heatmap,
    Instances,
    Mask,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
    new_id,
)
from app.imaging.space.planes import FramePlane
from app.imaging.types import Frame, Spacing
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.plane_marks import coincides, on_plane

_SAME_MM = 1e-3
_SAME_DIRECTION = 1e-3  # of a direction cosine


def bounds_of(finding: Finding) -> tuple[float, float, float, float] | None:
    """Return (x0, y0, x1, y1) in pixels around a finding; None if it cannot be moved."""
    shape = finding.geometry
    if isinstance(shape, Mask):
        rows = np.flatnonzero(shape.pixels.any(axis=1))
        columns = np.flatnonzero(shape.pixels.any(axis=0))
        if not rows.size:
            return None
        return columns[0] - 0.5, rows[0] - 0.5, columns[-1] + 0.5, rows[-1] + 0.5
    points = drawing.points_of(finding)
    if not points or isinstance(shape, Heatmap):
        return None
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)


def moved(finding: Finding, frame: Frame, dx: float, dy: float) -> Finding:
    """Return a finding moved as a whole by (dx, dy) pixels, but not out of the image.

    Boxes and masks, which lie on the grid of pixels, move by whole pixels. The values are measured
    anew. The finding itself is returned if it stays where it is.
    """
    bounds = bounds_of(finding)
    if bounds is None:
        return finding
    x0, y0, x1, y1 = bounds
    dx = min(max(dx, -0.5 - x0), frame.columns - 0.5 - x1)
    dy = min(max(dy, -0.5 - y0), frame.rows - 0.5 - y1)
    if isinstance(finding.geometry, Mask | Box):
        dx, dy = float(round(dx)), float(round(dy))
    if dx == 0 and dy == 0:
        return finding
    return drawing.with_shape(finding, frame, _shifted(finding.geometry, dx, dy))


def _shifted(shape: Geometry, dx: float, dy: float) -> Geometry:
    match shape:
        case Point(x, y):
            return Point(x + dx, y + dy)
        case Polyline(points) | Segments(points) | Polygon(points):
            return type(shape)(tuple((x + dx, y + dy) for x, y in points))
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1):
            return type(shape)(x0 + dx, y0 + dy, x1 + dx, y1 + dy)
        case Mask(pixels):
            # Nothing wraps around: `moved` keeps what is inside within the image.
            return Mask(np.roll(pixels, (int(dy), int(dx)), axis=(0, 1)))
        case _:
            return shape


@dataclass(frozen=True, slots=True)
class Copied:
    """Marks that were copied, and the image that they were on.

    Attributes:
        size: Rows and columns of the image.
        spacing: Its scale.
    """

    items: tuple[Annotation, ...]
    size: tuple[int, int]
    plane: FramePlane | None
    spacing: Spacing = field(default_factory=Spacing)


def copied(items: Sequence[Annotation], frame: Frame, plane: FramePlane | None) -> Copied:
    """Return marks of one image, `frame` in `plane`, as they can be pasted."""
    return Copied(tuple(items), (frame.rows, frame.columns), plane, frame.spacing)


def pasted_on_slice(
    kept: Copied, frame: Frame, plane: FramePlane | None, *, section: bool = False
) -> tuple[list[Annotation], str]:
    """Return copies of marks on another slice of a stack, and why it refuses some, as `pasted`.

    Marks that are on that slice already are passed over. Unlike `pasted`, it refuses all where the
    slice has other pixels, another direction or another scale than the image of the marks.
    """
    if reason := _other_geometry(kept, frame, plane):
        return [], reason
    here = replace(kept, items=tuple(one for one in kept.items if not _is_on(one, frame, plane)))
    return pasted(here, frame, plane, section=section)


def _is_on(item: Annotation, frame: Frame, plane: FramePlane | None) -> bool:
    own = item.finding.plane
    same = own is not None and plane is not None and coincides(own, plane, 0.0)
    return same or frame.shows(item.finding.image)


def _other_geometry(kept: Copied, frame: Frame, plane: FramePlane | None) -> str:
    """Return how a slice differs from the image of the marks; "" if it is one of the same stack."""
    if kept.size != (frame.rows, frame.columns):
        return "it has another size"
    own = kept.plane
    if (own is None) != (plane is None):
        return "its place in the patient is not known, unlike that of the marks, or the reverse"
    if own is None or plane is None:
        one, other = kept.spacing, frame.spacing
        same = (one.row_mm, one.column_mm) == (other.row_mm, other.column_mm)
        return "" if same else "it has another scale"
    if own.frame_of_reference != plane.frame_of_reference:
        return "it belongs to another frame of reference"
    turned = max(
        float(np.abs(np.subtract(own.row, plane.row)).max()),
        float(np.abs(np.subtract(own.column, plane.column)).max()),
    )
    if turned > _SAME_DIRECTION:
        return "it lies in another plane, or is turned"
    if not np.allclose(own.spacing, plane.spacing, rtol=1e-4):
        return "it has another scale"
    return ""


def pasted(
    kept: Copied,
    frame: Frame,
    plane: FramePlane | None,
    aside: float = 0.0,
    *,
    section: bool = False,
) -> tuple[list[Annotation], str]:
    """Return copies of marks on another image, and why some could not be pasted ("" if all were).

    They keep their place in the patient where both images are parallel in one frame of reference,
    else their pixels where the images have the same size. Values are measured anew. A tool's
    finding becomes a mark by hand, whose description says where it comes from. The copies are
    `aside` pixels to the right and down, so that they do not hide what they are copies of. On a
    `section` of a volume they belong to its plane, else to the image alone, as what is drawn there.
    """
    result: list[Annotation] = []
    reason = ""
    for item in kept.items:
        shape, why = _placed(item.finding, kept, frame, plane)
        reason = reason or why
        if shape is None:
            continue
        made = _by_hand(item.finding, frame, shape, plane if section else None)
        if aside:
            made = moved(made, frame, aside, aside)
        result.append(replace(item, finding=drawing.with_statistics(made, frame), locked=False))
    return result, reason


def _placed(
    finding: Finding, kept: Copied, frame: Frame, plane: FramePlane | None
) -> tuple[Geometry | None, str]:
    same_size = kept.size == (frame.rows, frame.columns)
    shape = finding.geometry
    if isinstance(shape, Heatmap):
        return None, "a heatmap belongs to its image"
    if isinstance(shape, Instances):
        return None, "numbered objects belong to their image"
    own = kept.plane
    in_space = own is not None and plane is not None and _parallel(own, plane)
    if in_space and own is not None and plane is not None:
        if isinstance(shape, Mask):
            x, y, _away = plane.pixel(own.origin)
            grid = own.row == plane.row and own.column == plane.column
            if not (same_size and grid and own.spacing == plane.spacing):
                return None, "the images have other pixels, and a mask is made of pixels"
            if math.hypot(x, y) > _SAME_MM:
                return None, "the images are shifted, and a mask is made of pixels"
            return shape, ""
        there = on_plane(replace(finding, plane=own), frame.ref, plane, math.inf)
        if there is None:
            return None, "the images do not lie in parallel planes"
        if not all(_is_inside(frame, point) for point in drawing.points_of(there)):
            return None, "its place in the patient is outside this image"
        return there.geometry, ""
    if same_size:
        return shape, ""
    return None, "the images differ in size and are not parallel in one frame of reference"


def _parallel(one: FramePlane, other: FramePlane) -> bool:
    known = one.frame_of_reference and one.frame_of_reference == other.frame_of_reference
    return bool(known) and abs(float(np.dot(one.normal, other.normal))) > 1 - 1e-4


def _is_inside(frame: Frame, point: XY) -> bool:
    x, y = point
    return -0.5 - 1e-6 <= x <= frame.columns - 0.5 + 1e-6 and (
        -0.5 - 1e-6 <= y <= frame.rows - 0.5 + 1e-6
    )


def _tool_of(shape: Geometry) -> str:
    match shape:
        case Point():
            return drawing.POINT
        case Box():
            return drawing.BOX
        case Ellipse():
            return drawing.ELLIPSE
        case Polygon():
            return drawing.POLYGON
        case Mask():
            return drawing.BRUSH
        case Segments():
            return drawing.BIDIRECTIONAL if len(shape.points) == 4 else drawing.COBB
        case _:
            return drawing.RULER if len(shape.points) == 2 else drawing.POLYLINE  # pyright: ignore


def _by_hand(finding: Finding, frame: Frame, shape: Geometry, plane: FramePlane | None) -> Finding:
    """Return a finding as a new mark by hand with a geometry on an image."""
    note, tool = "", finding.provenance.tool
    if not drawing.by_hand(finding):
        note, tool = f"{drawing.COPIED}{finding.provenance.tool}", _tool_of(shape)
    elif type(shape) is not type(finding.geometry):
        tool = _tool_of(shape)
    made = replace(
        finding,
        id=new_id(),
        image=frame.ref,
        geometry=shape,
        provenance=Provenance(tool, "", "", "", "", ""),
        score=None,
        value=None,
        units="",
        description="",
        measurements=(),
        state=State.ACCEPTED,
        reviewer="",
        reviewed="",
        original=None,
        approximate=False,
        group="",
        ratio="",
        rests_on=(),
        compared=(),
        partners=(),
        plane=plane,
    )
    made = drawing.with_shape(made, frame, shape)
    if note:
        text = f"{made.description}; {note}" if made.description else note
        made = replace(made, description=text)
    return made
