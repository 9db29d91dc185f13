"""Marks drawn on sections of volumes, shown on images that lie in the same plane of the patient."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from app.imaging.findings import (
    XY,
    Box,
    Ellipse,
    Finding,
    Geometry,
    Point,
    Polygon,
    Polyline,
    Segments,
)
from app.imaging.space.planes import FramePlane
from app.imaging.space.stacks import stack_geometry
from app.imaging.types import Frame, ImageRef, Instance, Series
from app.workspace import drawing
from app.workspace.annotations import Annotation

_PARALLEL = 1e-4  # 1 - cosine: 0.8 degrees
_ALIGNED = 1e-6  # mm by which sides of a box may be askew and still be a box
_TURN = 128  # corners of an ellipse that lies askew


def slice_step(source: Series | Instance, plane: FramePlane) -> float:
    """Return the mm from one slice or section of a volume to the next across `plane`; 0 if unknown.

    `source` is the series, or the instance of a volume in one file, that the plane is cut from.
    """
    stack = stack_geometry(source)
    if stack is None:
        return 0.0
    steps = np.abs(np.asarray(plane.normal) @ stack.affine[:3, :3])
    return float(steps.max())


def coincides(one: FramePlane, other: FramePlane, step: float) -> bool:
    """Return whether two planes are the same within half of `step` (mm) and parallel.

    They never are without the same, known frame of reference.
    """
    if not one.frame_of_reference or one.frame_of_reference != other.frame_of_reference:
        return False
    if abs(float(np.dot(one.normal, other.normal))) < 1 - _PARALLEL:
        return False
    return abs(other.pixel(one.origin)[2]) < max(step / 2, _ALIGNED)


def on_plane(finding: Finding, ref: ImageRef, plane: FramePlane, step: float) -> Finding | None:
    """Return a mark in the pixels of another image that lies in its plane, or None if none does.

    The result belongs to `ref`; changed there, the mark is that image's from then on.
    """
    own = finding.plane
    if own is None or not coincides(own, plane, step):
        return None

    def moved(points: Sequence[XY]) -> tuple[XY, ...]:
        return tuple(plane.pixel(own.point(x, y))[:2] for x, y in points)

    shape: Geometry
    match finding.geometry:
        case Point(x, y):
            shape = Point(*moved([(x, y)])[0])
        case Polyline(points):
            shape = Polyline(moved(points))
        case Segments(points):
            shape = Segments(moved(points))
        case Polygon(points):
            shape = Polygon(moved(points))
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1) as kind:
            corners = moved([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
            if _is_upright(corners):
                xs, ys = zip(*corners, strict=True)
                shape = type(kind)(min(xs), min(ys), max(xs), max(ys))
            elif isinstance(kind, Box):
                shape = Polygon(corners)
            else:
                turn = np.linspace(0, 2 * np.pi, _TURN, endpoint=False)
                x = (x0 + x1) / 2 + (x1 - x0) / 2 * np.cos(turn)
                y = (y0 + y1) / 2 + (y1 - y0) / 2 * np.sin(turn)
                shape = Polygon(moved(list(zip(x.tolist(), y.tolist(), strict=True))))
        case _:
            return None
    made = finding.provenance
    if type(shape) is not type(finding.geometry) and drawing.by_hand(finding):
        made = replace(made, tool=drawing.POLYGON)  # whose points move as those of a polygon
    return replace(finding, image=ref, geometry=shape, plane=plane, provenance=made)


def measured_on(there: Finding, frame: Frame, most: float = math.inf) -> Finding:
    """Return a section's mark, as `on_plane` returns it, with the figures of the image there.

    The mean of the section's values would be wrong beside those of a PET or of a thicker slice.
    Regions of more than `most` pixels have no statistics there.
    """
    if not drawing.by_hand(there):
        return there
    here = drawing.with_shape(there, frame, there.geometry)
    return drawing.with_statistics(here, frame) if drawing.pixels_around(here) <= most else here


def shown_on(
    annotations: Iterable[Annotation], frame: Frame, plane: FramePlane | None, step: float
) -> tuple[Annotation, ...]:
    """Return the annotations on a frame, and those of sections in its plane, measured there.

    `plane` is the frame's, None without a frame of reference; for `step` see `coincides`.
    """
    found: list[Annotation] = []
    for one in annotations:
        if frame.shows(one.finding.image):
            found.append(one)
        elif plane is not None and one.finding.plane is not None:
            there = on_plane(one.finding, frame.ref, plane, step)
            if there is not None:
                found.append(replace(one, finding=measured_on(there, frame)))
    return tuple(found)


def _is_upright(corners: Sequence[XY]) -> bool:
    """Return whether the sides of a rectangle run along rows and columns."""
    (ax, ay), (bx, by) = corners[0], corners[1]
    return min(abs(ax - bx), abs(ay - by)) < _ALIGNED
