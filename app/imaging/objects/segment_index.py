"""Index of a segmentation's frames: the segment, the image and the position of each.

PS3.3 A.51, C.8.20. The index is built once per file and kept, so that scrolling does not parse the
header again. Runs in a worker process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import (
    first_item,
    items_of,
    number_of,
    numbered_items,
    text_of,
    whole_number,
)
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.dicom.pixel_layout import Layout, layout_of
from app.imaging.files import sources
from app.imaging.objects.layer_targets import (
    FrameName,
    Matrix,
    PixelGrid,
    matrix_grid,
    pixel_grid,
    referenced_frames,
    tile_positions,
    total_matrix,
)

LABEL_MAP = "LABELMAP"
FRACTIONAL = "FRACTIONAL"
_LABEL_MAP_CLASS = "1.2.840.10008.5.1.4.1.1.66.7"


@dataclass(frozen=True, slots=True, eq=False)
class SegmentIndex:
    """The segments, source images and positions of a segmentation's frames.

    Attributes:
        kind: BINARY, FRACTIONAL or LABELMAP.
        segments: [frames] segment number of each frame; 0 in a label map; -1 if unknown.
        sources: For each frame, the image frames that it references.
        frames_by_source: Maps each referenced image frame to the segmentation frames that reference
            it.
        images: SOP Instance UIDs of all images that the file references as sources.
        grids: Position of each frame, or None if unknown.
        origins: [frames, 3] position of each frame in mm; NaN if unknown.
        matrix: Size of the total pixel matrix if the frames are tiles, else None.
        matrix_grid: Position of that matrix on the slide, or None if unknown.
        tiles: [frames, 2] (x, y) of each tile in the matrix, from 0; -1 if unknown.
        half_slab: A frame applies to planes at most this far (mm) from its own, on either side.
        warnings: Messages about parts of the file that cannot be drawn.
    """

    header: Header
    layout: Layout
    kind: str
    segments: NDArray[np.int64]
    sources: tuple[tuple[FrameName, ...], ...]
    frames_by_source: dict[FrameName, list[int]]
    images: frozenset[str]
    grids: tuple[PixelGrid | None, ...]
    origins: NDArray[np.float64]
    matrix: Matrix | None
    matrix_grid: PixelGrid | None
    tiles: NDArray[np.int64]
    half_slab: float
    warnings: tuple[str, ...]

    @property
    def frame_of_reference(self) -> str:
        """Frame of Reference UID, or "" if unknown."""
        return self.header.text("FrameOfReferenceUID")


def segment_index(path: Path) -> SegmentIndex:
    """Return the index of a SEG file: which frames show which segment on which image.

    Raises:
        FileProblem: The file has no usable pixels.
    """
    return _build_index(path, sources.status(path))


@lru_cache(maxsize=4)
def _build_index(path: Path, status: sources.FileStatus) -> SegmentIndex:
    header = cached_header(path, status)
    layout = layout_of(header)
    kind = _segmentation_kind(header)
    described = items_of(header.dataset, "PerFrameFunctionalGroupsSequence")[: layout.frames]
    groups = [*described, *[None] * (layout.frames - len(described))]
    shared = first_item(header.dataset, "SharedFunctionalGroupsSequence")
    matrix = total_matrix(header)
    on_slide = matrix_grid(header) if matrix is not None else None
    segments = _segments(header, kind, groups, shared, matrix)
    named_sources = tuple(tuple(_source_frames(group, shared)) for group in groups)
    frames_by_source: dict[FrameName, list[int]] = {}
    for index, names in enumerate(named_sources):
        for name in dict.fromkeys(names):
            frames_by_source.setdefault(name, []).append(index)
    grids = _pixel_grids(header, groups, shared)
    nowhere = np.full(3, np.nan)
    origins = np.array([nowhere if grid is None else grid.origin for grid in grids])
    tiles = np.full((layout.frames, 2), -1, np.int64)
    if matrix is not None:
        tiles = tile_positions(header, matrix, layout.frames, (layout.rows, layout.columns))
    return SegmentIndex(
        header=header,
        layout=layout,
        kind=kind,
        segments=segments,
        sources=named_sources,
        frames_by_source=frames_by_source,
        images=_images(header, frames_by_source),
        grids=grids,
        origins=origins,
        matrix=matrix,
        matrix_grid=on_slide,
        tiles=tiles,
        half_slab=_half_slab(grids, origins),
        warnings=(
            *_warnings(len(described), segments, grids, named_sources, tiles),
            *_tile_warnings(layout, described, tiles, on_slide),
        ),
    )


def _segmentation_kind(header: Header) -> str:
    """Return the Segmentation Type; if it is missing, deduce it from SOP Class and pixels."""
    kind = header.text("SegmentationType").upper()
    if header.text("SOPClassUID") == _LABEL_MAP_CLASS or kind == LABEL_MAP:
        return LABEL_MAP
    if kind in ("BINARY", FRACTIONAL):
        return kind
    return "BINARY" if header.value("BitsAllocated") == 1 else FRACTIONAL


def _segments(
    header: Header,
    kind: str,
    groups: Sequence[Dataset | None],
    shared: Dataset | None,
    matrix: Matrix | None,
) -> NDArray[np.int64]:
    """Return the segment of each frame; TILED_FULL frames follow each other by segment."""
    if kind == LABEL_MAP:
        return np.zeros(len(groups), np.int64)
    described = [number for number, _ in described_segments(header)]
    everywhere = _segment_number(shared)
    # Files with a single segment often leave its number out of the frames.
    if everywhere < 0 and len(described) == 1:
        everywhere = described[0]
    own = np.array([_segment_number(group) for group in groups], np.int64)
    segments = np.where(own < 0, everywhere, own)
    full = header.text("DimensionOrganizationType").upper() == "TILED_FULL"
    if matrix is not None and full and described and len(groups) % len(described) == 0:
        # TILED_FULL has no functional groups per frame: frames are grouped by segment.
        in_turn = np.repeat(np.array(described, np.int64), len(groups) // len(described))
        segments = np.where(segments < 0, in_turn, segments)
    return segments


def described_segments(header: Header) -> list[tuple[int, Dataset]]:
    """Return (Segment Number, item) for each item of the Segment Sequence.

    An item without a number gets its position, from 1. If a number occurs twice, the first is kept.
    """
    return numbered_items(header.dataset, "SegmentSequence", "SegmentNumber")


def _segment_number(group: Dataset | None) -> int:
    """Return the segment of a functional group; -1 if it names none."""
    place = first_item(group, "SegmentIdentificationSequence")
    number = whole_number(place, "ReferencedSegmentNumber")
    return -1 if number is None else max(number, -1)


def _source_frames(group: Dataset | None, shared: Dataset | None) -> Iterator[FrameName]:
    """Yield the image frames from which a frame was made (C.7.6.16.2.6)."""
    own = items_of(group, "DerivationImageSequence")
    for derivation in own or items_of(shared, "DerivationImageSequence"):
        yield from referenced_frames(items_of(derivation, "SourceImageSequence"))


def _images(header: Header, named: dict[FrameName, list[int]]) -> frozenset[str]:
    items = items_of(header.dataset, "SourceImageSequence")
    for series in items_of(header.dataset, "ReferencedSeriesSequence"):
        items += items_of(series, "ReferencedInstanceSequence")
    uids = {text_of(item, "ReferencedSOPInstanceUID") for item in items}
    return frozenset(uids.union(uid for uid, _ in named) - {""})


def _pixel_grids(
    header: Header, groups: Sequence[Dataset | None], shared: Dataset | None
) -> tuple[PixelGrid | None, ...]:
    common = {key: _plane_values(shared, *key) for key in _PLANE}
    for key, values in common.items():
        # A position outside the functional groups is that of the first frame alone.
        if not values and (key[1] != "ImagePositionPatient" or len(groups) == 1):
            common[key] = numbers(header.value(key[1]))
    grids: list[PixelGrid | None] = []
    for group in groups:
        own = {key: _plane_values(group, *key) or common[key] for key in _PLANE}
        position, cosines, spacing, thickness, distance = own.values()
        slab = min((abs(v[0]) for v in (thickness, distance) if v and v[0]), default=0.0)
        grids.append(pixel_grid(position, cosines, spacing, slab))
    return tuple(grids)


_PLANE = (
    ("PlanePositionSequence", "ImagePositionPatient"),
    ("PlaneOrientationSequence", "ImageOrientationPatient"),
    ("PixelMeasuresSequence", "PixelSpacing"),
    ("PixelMeasuresSequence", "SliceThickness"),
    ("PixelMeasuresSequence", "SpacingBetweenSlices"),
)


def _plane_values(group: Dataset | None, macro: str, keyword: str) -> tuple[float, ...]:
    place = first_item(group, macro)
    return numbers(value_of(place, keyword)) if place is not None else ()


def _half_slab(grids: tuple[PixelGrid | None, ...], origins: NDArray[np.float64]) -> float:
    """Return half a voxel's extent across its plane; if not stated, half the frames' distance."""
    first = next((grid for grid in grids if grid is not None), None)
    if first is None:
        return 0.0
    if first.thickness > 0:
        return first.thickness / 2
    # Rounded to 0.01 mm, so that noise in positions makes no extra planes.
    depths = np.unique(np.round((origins - first.origin) @ first.normal, 2))
    steps = np.diff(depths[np.isfinite(depths)])
    return float(steps.min()) / 2 if steps.size else 0.0


def _warnings(
    described: int,
    segments: NDArray[np.int64],
    grids: tuple[PixelGrid | None, ...],
    named: tuple[tuple[FrameName, ...], ...],
    tiles: NDArray[np.int64],
) -> list[str]:
    found: list[str] = []
    if 0 < described < len(grids):
        found.append(f"it describes only {described} of its {len(grids)} frames")
    nameless = int(np.count_nonzero(segments < 0))
    if nameless:
        found.append(f"{_frame_count_text(nameless)} without a segment number: not drawn")
    lost = sum(
        grid is None and not names and tile[0] < 0
        for grid, names, tile in zip(grids, named, tiles, strict=True)
    )
    if lost:
        found.append(
            f"{_frame_count_text(lost)} with neither a source image nor a position: not drawn"
        )
    return found


def _tile_warnings(
    layout: Layout, groups: list[Dataset], tiles: NDArray[np.int64], grid: PixelGrid | None
) -> tuple[str, ...]:
    """Return a warning if tiles lie half a tile off (C.8.12.14); many writers are 1 px off."""
    if grid is None:
        return ()
    astray = 0
    for group, tile in zip(groups, tiles.tolist(), strict=False):
        place = first_item(group, "PlanePositionSlideSequence")
        x, y = (number_of(place, f"{axis}OffsetInSlideCoordinateSystem") for axis in "XY")
        if x is None or y is None or tile[0] < 0:
            continue
        at, _ = grid.project(np.array([[x, y, grid.origin[2]]]))
        off = np.abs(at[0] - tile) >= (layout.columns / 2, layout.rows / 2)
        astray += bool(off.any())
    if not astray:
        return ()
    return (f"the places of {astray} tiles in pixels and in mm disagree: drawn by their pixels",)


def _frame_count_text(count: int) -> str:
    return "1 frame" if count == 1 else f"{count} frames"
