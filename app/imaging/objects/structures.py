"""RT structure sets as layers: regions with names and colours, their contours on an image frame.

PS3.3 C.8.8.5 and C.8.8.6. A contour is drawn where it lies: on the frame in whose plane all of its
points are, by the frame's own position, cosines and spacing. In a worker process.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import XY, Point, Polygon, Polyline
from app.imaging.layers import Layer, LayerFrame, Shape
from app.imaging.objects.layer_targets import SAME_PLANE_MM, Target, refusal
from app.imaging.objects.structure_index import ALL_FRAMES, CLOSED, StructureIndex, structure_index
from app.imaging.types import Instance

Floats = NDArray[np.float64]

FLAT_MM = 0.2
FLAT_SHARE = 0.01
"""A contour is parallel to a frame if its points differ in depth by no more than FLAT_MM and this
share of its extent (0.6 degrees)."""


def read_structures(instance: Instance) -> Layer:
    """Its regions.

    Raises:
        FileProblem: It cannot be read.
    """
    index = structure_index(instance.path)
    return Layer(instance, index.title, index.items, index.warnings)


def read_structures_frame(instance: Instance, target: Target) -> LayerFrame:
    """The contours of a structure set that lie in a frame's plane.

    Raises:
        FileProblem: It cannot be read.
    """
    index = structure_index(instance.path)
    if not index.contours:
        return LayerFrame()
    named = target.uid in index.images
    if target.grid is None:
        text = "it names this image, which has no position in the patient: not drawn"
        return LayerFrame((), (text,) if named else ())
    chosen, warnings = _on_target(instance, index, target)
    shapes: list[Shape] = []
    by_roi: dict[int, list[int]] = {}
    for number in chosen:
        by_roi.setdefault(index.contours[number].roi, []).append(number)
    for own in by_roi.values():
        shapes += _shapes(index, own, target)
    return LayerFrame(tuple(shapes), warnings)


def _on_target(
    instance: Instance, index: StructureIndex, target: Target
) -> tuple[list[int], tuple[str, ...]]:
    """Contours that are drawn on a frame, in the file's order, and what is not."""
    assert target.grid is not None
    depths = (index.points - target.grid.origin) @ target.grid.normal
    low = np.minimum.reduceat(depths, index.starts)
    high = np.maximum.reduceat(depths, index.starts)
    extent = np.maximum.reduceat(index.points, index.starts) - np.minimum.reduceat(
        index.points, index.starts
    )
    flat = high - low <= FLAT_MM + FLAT_SHARE * np.linalg.norm(extent, axis=1)
    middle = (low + high) / 2
    chosen: list[int] = []
    warnings: dict[str, None] = {}
    crossing = astray = 0
    rois = np.array([contour.roi for contour in index.contours])
    for roi in dict.fromkeys(rois.tolist()):
        mine = np.flatnonzero(rois == roi)
        refused = refusal(instance, index.spaces.get(roi, ""), target)
        if refused:
            if target.uid in index.images:
                warnings[refused] = None
            continue
        half = _half_slab(target, middle[mine][flat[mine]])
        # Only those that come close at all are looked at one by one.
        close = mine[(low[mine] <= half) & (high[mine] >= -half)]
        crossing += int(np.count_nonzero(~flat[close]))
        near = [
            number
            for number in close[flat[close]].tolist()
            if abs(middle[number]) <= _reach(index, number, target, half)
        ]
        astray += _count_astray(index, mine[flat[mine]], near, target)
        least = float(np.abs(middle[near]).min()) if near else 0.0
        chosen += [n for n in near if abs(middle[n]) <= least + SAME_PLANE_MM]
    if crossing:
        text = f"{_contours(crossing)} in a plane across this one: not drawn"
        warnings[text] = None
    if astray:
        text = f"{_contours(astray)} named for this image but elsewhere: not drawn on it"
        warnings[text] = None
    return sorted(chosen), tuple(warnings)


def _half_slab(target: Target, depths: Floats) -> float:
    """Half of what a contour stands for across its plane, in mm.

    The smaller of the image's slice thickness and the least distance of the region's planes.
    """
    assert target.grid is not None
    steps = np.diff(np.unique(np.round(depths, 2)))
    steps = steps[steps > SAME_PLANE_MM]
    known = [float(steps.min())] if steps.size else []
    if target.grid.thickness > 0:
        known.append(target.grid.thickness)
    return max(min(known, default=0.0) / 2, SAME_PLANE_MM)


def _reach(index: StructureIndex, number: int, target: Target, half: float) -> float:
    """How far a contour may lie from the frame: 0 or less where it may not be drawn at all.

    One that names another image, in a file that names this one too, must lie in its very plane.
    Without frames of reference to compare, only a reference tells that the space is the same.
    """
    contour = index.contours[number]
    if _names(index, number, target):
        return half
    space = index.spaces.get(contour.roi, "")
    if not space or space != target.frame_of_reference:
        return -1.0
    return SAME_PLANE_MM if contour.images and target.uid in index.images else half


def _names(index: StructureIndex, number: int, target: Target) -> bool:
    images = index.contours[number].images
    return (target.uid, target.index) in images or (target.uid, ALL_FRAMES) in images


def _count_astray(
    index: StructureIndex, mine: NDArray[np.int64], near: list[int], target: Target
) -> int:
    """Contours that name this very frame and no other, but lie elsewhere."""
    if target.uid not in index.images:
        return 0
    drawn = frozenset(near)
    sure = ((target.uid, target.index),)
    whole = ((target.uid, ALL_FRAMES),) if target.instance.frames == 1 else sure
    return sum(
        index.contours[number].images in (sure, whole) and number not in drawn
        for number in mine.tolist()
    )


def _shapes(index: StructureIndex, chosen: list[int], target: Target) -> list[Shape]:
    """One region's contours on a frame, where the file has them, to a part of a pixel.

    Closed ones are filled by the even-odd rule, all of a region together: one within another is a
    hole, and one within that an island (PS3.3 C.8.8.6.3).
    """
    assert target.grid is not None
    roi = index.contours[chosen[0]].roi
    shapes: list[Shape] = []
    for number in chosen:
        contour = index.contours[number]
        xy, _ = target.grid.project(contour.points)
        named = _names(index, number, target)
        if contour.kind in CLOSED and len(xy) > 2:
            shapes.append(Shape(roi, Polygon(_pairs(xy)), filled=True, by_reference=named))
        elif contour.kind == "POINT":
            shapes += [Shape(roi, Point(x, y), by_reference=named) for x, y in xy.tolist()]
        elif len(xy) == 1:
            shapes.append(Shape(roi, Point(*xy[0].tolist()), by_reference=named))
        else:
            shapes.append(Shape(roi, Polyline(_pairs(xy)), by_reference=named))
    return shapes


def _pairs(xy: Floats) -> tuple[XY, ...]:
    return tuple((x, y) for x, y in xy.tolist())


def _contours(count: int) -> str:
    return "1 contour" if count == 1 else f"{count} contours"
