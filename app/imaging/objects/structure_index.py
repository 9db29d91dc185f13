"""What an RT structure set holds (PS3.3 A.19, C.8.8.5, C.8.8.6). In a worker process.

Made once a file and kept, so that scrolling through an image does not parse thousands of contours
again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import finite, items_of, text_of
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.files import sources
from app.imaging.layers import RGB, LayerItem
from app.imaging.objects.layer_colors import palette_color

Floats = NDArray[np.float64]

ALL_FRAMES = -1
CLOSED = frozenset({"CLOSED_PLANAR", "CLOSEDPLANAR_XOR"})
OPEN = frozenset({"OPEN_PLANAR", "OPEN_NONPLANAR"})
_KINDS = CLOSED | OPEN | {"POINT"}

MAX_POINTS = 20_000_000
MAX_MM = 1e5
"""No patient is 100 m long: such coordinates are damage."""


@dataclass(frozen=True, slots=True, eq=False)
class Contour:
    """One contour.

    Attributes:
        roi: ROI Number.
        kind: Contour Geometric Type.
        points: [n, 3] mm.
        images: (SOP Instance UID, frame from 0 or `ALL_FRAMES`) that it names.
    """

    roi: int
    kind: str
    points: Floats
    images: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class StructureIndex:
    """All contours of a structure set.

    Attributes:
        items: ROIs in the file's order.
        spaces: ROI Number -> Frame of Reference UID, "" when unknown.
        contours: In the file's order.
        points: [all points, 3] mm of all contours, one after another.
        starts: [contours] where each one's points begin.
        images: Every SOP Instance UID that the file names as an image.
        title: Structure Set Label or Name.
        warnings: What of it cannot be drawn.
    """

    items: tuple[LayerItem, ...]
    spaces: dict[int, str]
    contours: tuple[Contour, ...]
    points: Floats
    starts: NDArray[np.int64]
    images: frozenset[str]
    title: str
    warnings: tuple[str, ...]


def structure_index(path: Path) -> StructureIndex:
    """The index of a structure set.

    Raises:
        FileProblem: It cannot be read.
    """
    return _cached(path, sources.status(path))


@lru_cache(maxsize=4)
def _cached(path: Path, status: sources.FileStatus) -> StructureIndex:
    header = cached_header(path, status)
    contours, damage = _contours(header)
    items, nameless = _items(header, contours)
    warnings = list(damage)
    if nameless:
        warnings.append(f"{_count(nameless, 'region')} without a name in the file")
    counts = np.array([len(contour.points) for contour in contours], np.int64)
    points = [contour.points for contour in contours]
    named = {uid for contour in contours for uid, _ in contour.images}
    titles = ("StructureSetLabel", "StructureSetName", "SeriesDescription")
    return StructureIndex(
        items=items,
        spaces=_spaces(header),
        contours=contours,
        points=np.concatenate(points) if points else np.zeros((0, 3)),
        starts=np.cumsum(counts) - counts,
        images=frozenset(named | _named_images(header)),
        title=next((text for text in map(header.text, titles) if text), "RT structures"),
        warnings=tuple(warnings),
    )


def _contours(header: Header) -> tuple[tuple[Contour, ...], list[str]]:
    found: list[Contour] = []
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
            stated = finite(item, "NumberOfContourPoints", 1)
            uneven += bool(stated and stated[0] != len(points))
            found.append(Contour(number, kind, points, _images(item)))
    warnings: list[str] = []
    if damaged:
        warnings.append(f"{_count(damaged, 'contour')} with damaged coordinates: not drawn")
    if unknown:
        warnings.append(f"{_count(unknown, 'contour')} of an unknown kind: not drawn")
    if uneven:
        warnings.append(f"{_count(uneven, 'contour')} with more or fewer points than stated")
    return tuple(found), warnings


def _points(item: Dataset) -> Floats | None:
    """[n, 3] mm of Contour Data; None when it is damaged: half a contour is a wrong one."""
    values = _decimals(item)
    # A NaN is not within the limits either.
    if values.size == 0 or values.size % 3 or not (np.abs(values) <= MAX_MM).all():
        return None
    return values.reshape(-1, 3)


def _decimals(item: Dataset) -> Floats:
    """Contour Data as numbers, NaN for what is none; pydicom's own take ten times longer."""
    try:
        raw = item.get_item("ContourData").value
        if isinstance(raw, bytes):
            return np.array(raw.strip(b" \0").split(b"\\")).astype(np.float64)
    except (AttributeError, ValueError):
        pass
    return np.array(numbers(value_of(item, "ContourData")), np.float64)


def _images(item: Dataset) -> tuple[tuple[str, int], ...]:
    found: list[tuple[str, int]] = []
    for image in items_of(item, "ContourImageSequence"):
        uid = text_of(image, "ReferencedSOPInstanceUID")
        named = numbers(value_of(image, "ReferencedFrameNumber"))
        frames = [int(number) - 1 for number in named if 1 <= number < 2**31]
        if uid:
            found += [(uid, frame) for frame in frames or [ALL_FRAMES]]
    return tuple(found)


def _items(header: Header, contours: tuple[Contour, ...]) -> tuple[tuple[LayerItem, ...], int]:
    """The ROIs, and how many of them have contours but no description."""
    colors: dict[int, RGB] = {}
    for position, roi in enumerate(items_of(header.dataset, "ROIContourSequence"), start=1):
        color = _color(roi)
        if color is not None:
            colors.setdefault(_number(roi, "ReferencedROINumber", position), color)
    kinds = {
        _number(item, "ReferencedROINumber", 0): text_of(item, "RTROIInterpretedType")
        for item in items_of(header.dataset, "RTROIObservationsSequence")
    }
    items: dict[int, LayerItem] = {}
    for position, roi in enumerate(items_of(header.dataset, "StructureSetROISequence"), start=1):
        number = _number(roi, "ROINumber", position)
        label = text_of(roi, "ROIName") or f"Region {number}"
        made = text_of(roi, "ROIGenerationAlgorithm").lower()
        parts = (
            kinds.get(number, "").replace("_", " ").capitalize(),
            text_of(roi, "ROIDescription"),
            f"Made: {made}" if made else "",
        )
        detail = ". ".join(part for part in parts if part)
        color = colors.get(number) or palette_color(number)
        items.setdefault(number, LayerItem(number, label, color, detail))
    nameless = sorted({contour.roi for contour in contours} - items.keys())
    for number in nameless:
        color = colors.get(number) or palette_color(number)
        items[number] = LayerItem(number, f"Region {number}", color)
    return tuple(items.values()), len(nameless)


def _color(roi: Dataset) -> RGB | None:
    values = finite(roi, "ROIDisplayColor", 3)
    if values is None or not all(0 <= value <= 255 for value in values):
        return None
    red, green, blue = (int(value) for value in values)
    return red, green, blue


def _spaces(header: Header) -> dict[int, str]:
    """ROI Number -> Frame of Reference; the file's only one where an ROI names none."""
    uids = {
        text_of(item, "FrameOfReferenceUID")
        for item in items_of(header.dataset, "ReferencedFrameOfReferenceSequence")
    } - {""}
    common = header.text("FrameOfReferenceUID") or (uids.pop() if len(uids) == 1 else "")
    spaces: dict[int, str] = {}
    for position, roi in enumerate(items_of(header.dataset, "StructureSetROISequence"), start=1):
        own = text_of(roi, "ReferencedFrameOfReferenceUID")
        spaces.setdefault(_number(roi, "ROINumber", position), own or common)
    for position, roi in enumerate(items_of(header.dataset, "ROIContourSequence"), start=1):
        spaces.setdefault(_number(roi, "ReferencedROINumber", position), common)
    return spaces


def _named_images(header: Header) -> set[str]:
    """The images of the Referenced Frame of Reference Sequence."""
    found: set[str] = set()
    for frame in items_of(header.dataset, "ReferencedFrameOfReferenceSequence"):
        for study in items_of(frame, "RTReferencedStudySequence"):
            for series in items_of(study, "RTReferencedSeriesSequence"):
                for image in items_of(series, "ContourImageSequence"):
                    found.add(text_of(image, "ReferencedSOPInstanceUID"))
    return found - {""}


def _number(item: Dataset, keyword: str, default: int) -> int:
    value = finite(item, keyword, 1)
    return int(value[0]) if value and math.fabs(value[0]) < 2**31 else default


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"
