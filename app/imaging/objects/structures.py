"""RT structure sets as layers: regions with names and colours, and contours on an image frame.

PS3.3 A.19, C.8.8.5 and C.8.8.6. A contour is drawn on a frame if all of its points lie in the plane
given by the frame's position, cosines and spacing. Contours are parsed once per file and kept,
since there may be thousands. Runs in a worker process.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import (
    finite_numbers,
    items_of,
    number_of,
    numbered_items,
    text_of,
    whole_number,
)
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.files import sources
from app.imaging.findings import Geometry, Point, Polygon, Polyline
from app.imaging.layers import RGB, Layer, LayerFrame, LayerItem, Shape
from app.imaging.objects.graphics import point_tuples
from app.imaging.objects.layer_colors import palette_color
from app.imaging.objects.layer_targets import (
    ALL_FRAMES,
    SAME_PLANE_MM,
    FrameName,
    PixelGrid,
    Target,
    referenced_frames,
    refusal,
)
from app.imaging.types import Instance

Floats = NDArray[np.float64]

FLAT_MM = 0.2
FLAT_SHARE = 0.01
"""A contour is parallel to a frame if the depths of its points differ by no more than FLAT_MM and
this share of its extent (0.6 degrees)."""

CLOSED = frozenset({"CLOSED_PLANAR", "CLOSEDPLANAR_XOR"})
OPEN = frozenset({"OPEN_PLANAR", "OPEN_NONPLANAR"})
_KINDS = CLOSED | OPEN | {"POINT"}

MAX_POINTS = 20_000_000
MAX_MM = 1e5
"""Coordinates beyond this are damaged: no patient is 100 m long."""


def read_structures(instance: Instance) -> Layer:
    """Return a structure set's regions as a layer; raise FileProblem if it cannot be read."""
    index = _structure_index(instance.path, sources.status(instance.path))
    return Layer(instance, index.title, index.items, index.warnings)


def read_structures_frame(instance: Instance, target: Target) -> LayerFrame:
    """Return a structure set's contours in the plane of an image frame, or raise FileProblem."""
    index = _structure_index(instance.path, sources.status(instance.path))
    if not index.contours:
        return LayerFrame()
    if target.grid is None:
        text = "it names this image, which has no position in the patient: not drawn"
        return LayerFrame((), (text,) if target.uid in index.images else ())
    chosen, warnings = _contours_on_frame(instance, index, target, target.grid)
    # Region by region, in the order of each one's first contour.
    rois = list(dict.fromkeys(index.contours[number].roi for number in chosen))
    chosen.sort(key=lambda number: rois.index(index.contours[number].roi))
    shapes = [shape for number in chosen for shape in _shapes(index, number, target, target.grid)]
    return LayerFrame(tuple(shapes), warnings)


def _contours_on_frame(
    instance: Instance, index: _StructureIndex, target: Target, grid: PixelGrid
) -> tuple[list[int], tuple[str, ...]]:
    """Return the numbers of the contours drawn on a frame, in file order, and the warnings."""
    depths = (index.points - grid.origin) @ grid.normal
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
        refused = refusal(instance, index.spaces[roi], target)
        if refused:
            if target.uid in index.images:
                warnings[refused] = None
            continue
        half = _half_slab(grid, middle[mine][flat[mine]])
        # Only contours near the plane are checked one by one, since a file may have thousands.
        close = mine[(low[mine] <= half) & (high[mine] >= -half)]
        crossing += int(np.count_nonzero(~flat[close]))
        near = [
            number
            for number in close[flat[close]].tolist()
            if abs(middle[number]) <= _reach_mm(index, number, target, half)
        ]
        astray += _count_misplaced(index, mine[flat[mine]], near, target)
        # Of contours on both sides of the frame only the nearest plane's are drawn.
        least = float(np.abs(middle[near]).min()) if near else 0.0
        chosen += [n for n in near if abs(middle[n]) <= least + SAME_PLANE_MM]
    counted = {
        "contour in a plane across this one: not drawn": crossing,
        "contour named for this image but elsewhere: not drawn on it": astray,
    }
    return sorted(chosen), (*warnings, *_counted(counted))


def _half_slab(grid: PixelGrid, depths: Floats) -> float:
    """Return half a contour's thickness in mm: the smaller of slice and planes' distance."""
    # Rounded to 0.01 mm, so that noise in positions makes no extra planes.
    steps = np.diff(np.unique(np.round(depths, 2)))
    known = [*steps[steps > SAME_PLANE_MM].tolist(), *([grid.thickness] if grid.thickness else [])]
    return max(min(known, default=0.0) / 2, SAME_PLANE_MM)


def _reach_mm(index: _StructureIndex, number: int, target: Target, half: float) -> float:
    """Return how far a contour may lie from the frame; negative if it must not be drawn at all.

    A contour that names another image, in a file that names this one too, must lie in this very
    plane. If frames of reference cannot be compared, only a reference shows that the space is the
    same.
    """
    contour = index.contours[number]
    if _names_frame(index, number, target):
        return half
    space = index.spaces[contour.roi]
    if not space or space != target.frame_of_reference:
        return -1.0
    return SAME_PLANE_MM if contour.images and target.uid in index.images else half


def _names_frame(index: _StructureIndex, number: int, target: Target) -> bool:
    """Return whether a contour names this frame of the image."""
    images = index.contours[number].images
    return (target.uid, target.index) in images or (target.uid, ALL_FRAMES) in images


def _count_misplaced(
    index: _StructureIndex, mine: NDArray[np.int64], near: list[int], target: Target
) -> int:
    """Count the contours that name this very frame and no other, but lie elsewhere."""
    if target.uid not in index.images:
        return 0
    drawn = frozenset(near)
    sure = ((target.uid, target.index),)
    whole = ((target.uid, ALL_FRAMES),) if target.instance.frames == 1 else sure
    return sum(
        index.contours[number].images in (sure, whole) and number not in drawn
        for number in mine.tolist()
    )


def _shapes(index: _StructureIndex, number: int, target: Target, grid: PixelGrid) -> list[Shape]:
    """Return a contour on a frame, with subpixel positions.

    Closed contours are filled by the even-odd rule, all of a region together: one within another is
    a hole, and one within that an island (PS3.3 C.8.8.6.3).
    """
    contour = index.contours[number]
    xy, _ = grid.project(contour.points)
    closed = contour.kind in CLOSED and len(xy) > 2
    points = point_tuples(xy)
    if closed:
        geometries: list[Geometry] = [Polygon(points)]
    elif contour.kind == "POINT" or len(xy) == 1:
        geometries = [Point(x, y) for x, y in points]
    else:
        geometries = [Polyline(points)]
    named = _names_frame(index, number, target)
    return [Shape(contour.roi, geometry, closed, named) for geometry in geometries]


@dataclass(frozen=True, slots=True, eq=False)
class _Contour:
    """Contour of a region (ROI Number): its kind, [n, 3] points in mm, and the images it names."""

    roi: int
    kind: str
    points: Floats
    images: tuple[FrameName, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _StructureIndex:
    """All contours in a structure set.

    Attributes:
        spaces: Maps each ROI Number to its Frame of Reference UID; "" if unknown.
        points: [all points, 3] points of all contours joined together, in mm.
        starts: [contours] index in `points` of each contour's first point.
    """

    items: tuple[LayerItem, ...]
    spaces: dict[int, str]
    contours: list[_Contour]
    points: Floats
    starts: NDArray[np.int64]
    images: frozenset[str]
    title: str
    warnings: tuple[str, ...]


@lru_cache(maxsize=4)
def _structure_index(path: Path, status: sources.FileStatus) -> _StructureIndex:
    """Return the index of a structure set; raise FileProblem if it cannot be read."""
    header = cached_header(path, status)
    regions = numbered_items(header.dataset, "StructureSetROISequence", "ROINumber")
    contours, warnings = _read_contours(header)
    items, nameless = _layer_items(header, dict(regions), contours)
    counts = np.array([len(contour.points) for contour in contours], np.int64)
    named = {uid for contour in contours for uid, _ in contour.images}
    titles = ("StructureSetLabel", "StructureSetName", "SeriesDescription")
    warnings += _counted({"region without a name in the file": nameless})
    return _StructureIndex(
        items=items,
        spaces=_frames_of_reference(header, dict(regions)),
        contours=contours,
        points=np.concatenate([np.zeros((0, 3)), *(contour.points for contour in contours)]),
        starts=np.cumsum(counts) - counts,
        images=frozenset(named | _file_images(header)),
        title=next((text for text in map(header.text, titles) if text), "RT structures"),
        warnings=tuple(warnings),
    )


def _read_contours(header: Header) -> tuple[list[_Contour], list[str]]:
    """Return all contours that can be drawn, and warnings about the others."""
    found: list[_Contour] = []
    damaged = unknown = uneven = total = 0
    for position, roi in enumerate(items_of(header.dataset, "ROIContourSequence"), start=1):
        number = _number(roi, "ReferencedROINumber", position)
        for item in items_of(roi, "ContourSequence"):
            kind = text_of(item, "ContourGeometricType").upper()
            if kind not in _KINDS:
                unknown += 1
                continue
            points = _points(item)
            if points is None or total > MAX_POINTS:
                damaged += 1
                continue
            total += len(points)
            uneven += number_of(item, "NumberOfContourPoints") not in (None, len(points))
            images = tuple(referenced_frames(items_of(item, "ContourImageSequence")))
            found.append(_Contour(number, kind, points, images))
    counted = {
        "contour with damaged coordinates: not drawn": damaged,
        "contour of an unknown kind: not drawn": unknown,
        "contour with more or fewer points than stated": uneven,
    }
    return found, _counted(counted)


def _points(item: Dataset) -> Floats | None:
    """Return [n, 3] mm of Contour Data, or None if it is damaged: half a contour would mislead."""
    values = _decimals(item)
    # The comparison is False for NaN too.
    if values.size == 0 or values.size % 3 or not (np.abs(values) <= MAX_MM).all():
        return None
    return values.reshape(-1, 3)


def _decimals(item: Dataset) -> Floats:
    """Return Contour Data as numbers, ten times as fast as pydicom; NaN for what is no number."""
    with suppress(AttributeError, ValueError):
        raw = item.get_item("ContourData").value
        if isinstance(raw, bytes):
            return np.array(raw.strip(b" \0").split(b"\\")).astype(np.float64)
    return np.array(numbers(value_of(item, "ContourData")), np.float64)


def _layer_items(
    header: Header, regions: dict[int, Dataset], contours: list[_Contour]
) -> tuple[tuple[LayerItem, ...], int]:
    """Return the ROIs, and how many have contours but no description."""
    colors: dict[int, RGB] = {}
    for position, roi in enumerate(items_of(header.dataset, "ROIContourSequence"), start=1):
        color = _color(roi)
        if color is not None:
            colors.setdefault(_number(roi, "ReferencedROINumber", position), color)
    kinds = {
        _number(item, "ReferencedROINumber", 0): text_of(item, "RTROIInterpretedType")
        for item in items_of(header.dataset, "RTROIObservationsSequence")
    }
    # A region without description is still drawn: hiding it could hide a finding.
    nameless = dict.fromkeys(sorted({contour.roi for contour in contours} - regions.keys()))
    items: list[LayerItem] = []
    for number, roi in (regions | nameless).items():
        made = text_of(roi, "ROIGenerationAlgorithm").lower()
        parts = (
            kinds.get(number, "").replace("_", " ").capitalize() if roi else "",
            text_of(roi, "ROIDescription"),
            f"Made: {made}" if made else "",
        )
        label = text_of(roi, "ROIName") or f"Region {number}"
        color = colors.get(number) or palette_color(number)
        items.append(LayerItem(number, label, color, ". ".join(filter(None, parts))))
    return tuple(items), len(nameless)


def _color(roi: Dataset) -> RGB | None:
    values = finite_numbers(roi, "ROIDisplayColor", 3)
    if values is None or not all(0 <= value <= 255 for value in values):
        return None
    red, green, blue = (int(value) for value in values)
    return red, green, blue


def _frames_of_reference(header: Header, regions: dict[int, Dataset]) -> dict[int, str]:
    """Return the Frame of Reference UID of each ROI; the file's only one if an ROI names none."""
    uids = {
        text_of(item, "FrameOfReferenceUID")
        for item in items_of(header.dataset, "ReferencedFrameOfReferenceSequence")
    } - {""}
    common = header.text("FrameOfReferenceUID") or (uids.pop() if len(uids) == 1 else "")
    return defaultdict(
        lambda: common,
        {
            number: text_of(roi, "ReferencedFrameOfReferenceUID") or common
            for number, roi in regions.items()
        },
    )


def _file_images(header: Header) -> set[str]:
    """Return the images of the Referenced Frame of Reference Sequence."""
    found: set[str] = set()
    for frame in items_of(header.dataset, "ReferencedFrameOfReferenceSequence"):
        for study in items_of(frame, "RTReferencedStudySequence"):
            for series in items_of(study, "RTReferencedSeriesSequence"):
                for image in items_of(series, "ContourImageSequence"):
                    found.add(text_of(image, "ReferencedSOPInstanceUID"))
    return found - {""}


def _number(item: Dataset, keyword: str, default: int) -> int:
    value = whole_number(item, keyword)
    return default if value is None else value


def _counted(counts: dict[str, int]) -> list[str]:
    """Return e.g. "2 regions without a name" for {"region without a name": 2}; nothing for 0."""
    found: list[str] = []
    for text, count in counts.items():
        noun, rest = text.split(" ", 1)
        if count:
            found.append(f"{count} {noun}{'' if count == 1 else 's'} {rest}")
    return found
