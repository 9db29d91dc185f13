"""Segmentations as layers: segments with names and colours, and masks on an image frame.

PS3.3 A.51 and C.8.20. BINARY segments and those of a LABELMAP become masks; FRACTIONAL ones
become heat maps of stored value / Maximum Fractional Value. Tiles are placed by the total pixel
matrix. Other frames are placed by their reference to the image frame, else by position; if the two
contradict each other, position decides, with a warning. Runs in a worker process.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.errors import FileProblem
from app.imaging.dicom.codecs import decode_words, stored_values
from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import (
    maker_text,
    number_of,
    property_text,
    text_of,
    whole_number,
)
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.palette import color_from_cielab, palette_of
from app.imaging.dicom.pixel_layout import cut_short_note
from app.imaging.findings import Heatmap, Mask
from app.imaging.layers import RGB, Layer, LayerFrame, LayerItem, Shape
from app.imaging.objects.layer_colors import palette_color
from app.imaging.objects.layer_targets import (
    ALL_FRAMES,
    SAME_PLANE_MM,
    Matrix,
    PixelGrid,
    Target,
    refusal,
)
from app.imaging.objects.segment_index import (
    FRACTIONAL,
    LABEL_MAP,
    SegmentIndex,
    described_segments,
    segment_index,
)
from app.imaging.types import Instance

Floats = NDArray[np.float64]

SAME_GRID_PIXELS = 0.1
"""Grids whose corners are this close are the same: nothing is resampled."""

IDENTITY = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
RESAMPLED = "resampled from another pixel grid (nearest neighbour)"
CONTRADICTION = "its reference and its position disagree: drawn by position"
UNPLACED = "it names this image, but neither pixel grid nor position say where: not drawn"
WHICH_FRAME = "it names this image, but not which of its frames: not drawn"


@dataclass(frozen=True, slots=True, eq=False)
class PlacedFrame:
    """A segmentation frame, and its position on an image frame.

    Attributes:
        frame: Frame number in the segmentation, from 0.
        affine: [2, 3] matrix from (x, y, 1) in the image to (x, y) in the segmentation frame.
        by_reference: Whether a reference to the image, and not only a position, places the frame.
    """

    frame: int
    affine: Floats
    by_reference: bool


Placing = tuple[list[PlacedFrame], list[str]]
"""Segmentation frames to be drawn on an image frame, and warnings."""


def place_frames(instance: Instance, index: SegmentIndex, target: Target) -> Placing:
    """Return (frames of `index` to draw on `target`, warnings); no frames after a `refusal`."""
    refused = refusal(instance, index.frame_of_reference, target)
    if refused:
        return [], [refused] if target.uid in index.images else []
    if index.matrix is not None:
        return _place_tiles(index, target, index.matrix)
    placed, warnings = _frames_by_reference(index, target)
    done = {int(index.segments[one.frame]) for one in placed}
    near = _frames_by_position(index, target)
    placed += [one for one in near if int(index.segments[one.frame]) not in done]
    if any(not is_pixel_shift(one.affine) for one in placed):
        warnings.append(RESAMPLED)
    return placed, warnings


def is_pixel_shift(affine: Floats) -> bool:
    """Return whether an affine only shifts by whole pixels, without scaling or turning."""
    linear = np.abs(affine[:, :2] - np.eye(2)).max() < 1e-9
    return bool(linear and np.abs(affine[:, 2] - np.rint(affine[:, 2])).max() < 1e-9)


def _frames_by_reference(index: SegmentIndex, target: Target) -> Placing:
    """Return the frames that name the target and lie on it, and warnings."""
    placed: list[PlacedFrame] = []
    warnings: list[str] = []
    for frame in _referring_frames(index, target):
        affine, warning = _reference_affine(index, target, frame)
        if warning:
            warnings.append(warning)
        if affine is not None:
            placed.append(PlacedFrame(frame, affine, by_reference=not warning))
    return placed, warnings


def _referring_frames(index: SegmentIndex, target: Target) -> list[int]:
    """Return frames that name the target, by their own references or else the file's."""
    frames = list(index.frames_by_source.get((target.uid, target.index), ()))
    frames += index.frames_by_source.get((target.uid, ALL_FRAMES), ())
    if not frames and index.images == frozenset({target.uid}) and target.instance.frames == 1:
        frames = [
            frame
            for frame, (names, grid) in enumerate(zip(index.sources, index.grids, strict=True))
            if not names and grid is None
        ]
    return list(dict.fromkeys(frames))


def _reference_affine(index: SegmentIndex, target: Target, frame: int) -> tuple[Floats | None, str]:
    """Return where a frame that names the target lies on it (None: nowhere), and a warning."""
    grid = index.grids[frame]
    same_shape = (index.layout.rows, index.layout.columns) == target.shape
    vague = (target.uid, target.index) not in index.sources[frame] and target.instance.frames > 1
    if grid is not None and target.grid is not None:
        affine = _in_plane(grid, target, max(index.half_slab, SAME_PLANE_MM))
        if affine is None:
            # A frame made from several images names them all, and lies in the plane of one.
            sure = len(index.sources[frame]) == 1 and not vague
            return None, CONTRADICTION if sure else ""
        moved = same_shape and not np.array_equal(affine, IDENTITY)
        return affine, CONTRADICTION if moved else ""
    if not same_shape:
        return None, UNPLACED
    # Drawn on every frame of the image, several of them would pile up.
    if vague and np.count_nonzero(index.segments == index.segments[frame]) > 1:
        return None, WHICH_FRAME
    return IDENTITY, ""


def _frames_by_position(index: SegmentIndex, target: Target) -> list[PlacedFrame]:
    """Return for each segment the nearest frame whose slab contains the target's plane.

    A frame that names another image, in a file that names this one too, must lie in the very plane:
    its maker meant the other image.
    """
    if target.grid is None or not index.frame_of_reference:
        return []
    if index.frame_of_reference != target.frame_of_reference:
        return []
    distances = np.abs((index.origins - target.grid.origin) @ target.grid.normal)
    reach = max(index.half_slab, SAME_PLANE_MM)
    near = np.flatnonzero(distances <= reach)
    best: dict[int, PlacedFrame] = {}
    # The nearest frame of each segment comes first and wins.
    for frame in near[np.argsort(distances[near], kind="stable")].tolist():
        grid, segment = index.grids[frame], int(index.segments[frame])
        if grid is None or segment in best:
            continue
        chose_another = target.uid in index.images and bool(index.sources[frame])
        affine = _in_plane(grid, target, SAME_PLANE_MM if chose_another else reach)
        if affine is not None:
            best[segment] = PlacedFrame(frame, affine, by_reference=False)
    return list(best.values())


def _in_plane(grid: PixelGrid, target: Target, reach: float) -> Floats | None:
    """Return [2, 3] target -> grid pixels, if all of the target is within `reach` mm of it."""
    if target.grid is None or not grid.is_parallel(target.grid):
        return None
    corners = target.corners
    at, distances = grid.project(target.grid.points(corners))
    if np.abs(distances).max() > reach + 1e-6:
        return None
    # A crop of the image's own grid is shifted by whole pixels, not resampled.
    shift = np.rint(at[0] - corners[0])
    if np.abs(at - corners - shift).max() <= SAME_GRID_PIXELS:
        return IDENTITY + np.array([[0, 0, shift[0]], [0, 0, shift[1]]])
    return target.grid.affine_to(grid)


def _place_tiles(index: SegmentIndex, target: Target, mine: Matrix) -> Placing:
    """Place tiles by their position in the total pixel matrix.

    If the file names the image and both matrices have the same size, they are the same matrix:
    positions in mm are not compared, since many writers are off by the depth or a pixel. Another
    level of the same slide is reached through the slide's coordinates, without depth.
    """
    its = target.matrix or Matrix(*target.shape)
    if target.uid in index.images and mine.size == its.size:
        whole = IDENTITY + np.array([[0, 0, its.x], [0, 0, its.y]])
        return _overlapping_tiles(index, target, whole, by_reference=True), []
    same_space = index.frame_of_reference and (
        index.frame_of_reference == target.frame_of_reference
    )
    grid = index.matrix_grid
    if not same_space or grid is None or target.grid is None or not grid.is_parallel(target.grid):
        return [], [UNPLACED] if target.uid in index.images else []
    affine = target.grid.affine_to(grid)
    placed = _overlapping_tiles(index, target, affine, by_reference=False)
    return placed, [RESAMPLED] if placed else []


def _overlapping_tiles(
    index: SegmentIndex, target: Target, affine: Floats, *, by_reference: bool
) -> list[PlacedFrame]:
    """Return the tiles that overlap the target, which `affine` maps to the tiles' matrix."""
    corners = target.corners @ affine[:, :2].T + affine[:, 2]
    low, high = corners.min(axis=0) - 0.5, corners.max(axis=0) + 0.5
    size = np.array([index.layout.columns, index.layout.rows])
    starts = index.tiles
    known = (starts >= 0).all(axis=1)
    overlaps = known & (starts <= high).all(axis=1) & (starts + size - 1 >= low).all(axis=1)
    placed: list[PlacedFrame] = []
    for frame in np.flatnonzero(overlaps).tolist():
        own = affine.copy()
        # From the matrix to the tile's own pixels.
        own[:, 2] -= starts[frame]
        placed.append(PlacedFrame(frame, own, by_reference))
    return placed


Array = NDArray[Any]

MAX_CANVAS_BYTES = 2**30
"""Bytes of all masks of one frame together: a slide may have any number of segments."""

_ROWS_AT_ONCE = 512


def read_segmentation(instance: Instance) -> Layer:
    """Return a segmentation's segments as a `Layer`; raise FileProblem if it cannot be read."""
    index = segment_index(instance.path)
    header = index.header
    palette = palette_of(header) if index.kind == LABEL_MAP else None
    background = _background(header)
    # Some writers describe the background of a label map as a segment.
    items = [
        _layer_item(number, description, palette, header)
        for number, description in described_segments(header)
        if index.kind != LABEL_MAP or number != background
    ]
    cut_short = cut_short_note(header, index.layout)
    warnings = [*([cut_short] if cut_short else []), *index.warnings]
    known = {item.number for item in items}
    nameless = sorted({int(n) for n in index.segments} - known - {-1})
    # A segment without description is still drawn: hiding it could hide a finding.
    if nameless and index.kind != LABEL_MAP:
        items += [LayerItem(n, f"Segment {n}", palette_color(n)) for n in nameless]
        warnings.append(f"{_segment_list(nameless)}: no description in the file")
    if header.text("SegmentsOverlap").upper() == "YES":
        warnings.append("its segments overlap")
    names = ("SeriesDescription", "ContentDescription", "ContentLabel")
    title = next((text for text in map(header.text, names) if text), "Segmentation")
    return Layer(instance, title, tuple(items), tuple(warnings))


def read_segmentation_frame(instance: Instance, target: Target) -> LayerFrame:
    """Return the shapes and warnings that a segmentation draws on one image frame.

    Raises:
        FileProblem: The file cannot be read at all. (A frame that cannot be decoded only causes a
            warning.)
    """
    index = segment_index(instance.path)
    placed, warnings = place_frames(instance, index, target)
    if not placed:
        return LayerFrame((), tuple(dict.fromkeys(warnings)))
    canvas = _Canvas(index, target)
    for one in placed:
        if index.kind != LABEL_MAP and index.segments[one.frame] < 0:
            continue
        try:
            words, _ = decode_words(index.header, index.layout, one.frame)
        except FileProblem as error:
            warnings.append(f"a part is not drawn: {error.reason}")
            continue
        canvas.add(one, stored_values(index.layout, words))
    shapes = canvas.shapes()
    return LayerFrame(shapes, tuple(dict.fromkeys(warnings + canvas.warnings)))


class _Canvas:
    """Masks of segments, one plane of the target's size for each."""

    def __init__(self, index: SegmentIndex, target: Target) -> None:
        self.warnings: list[str] = []
        self._index = index
        self._target = target
        self._planes: dict[int, Array] = {}
        self._named: dict[int, bool] = {}
        self._nameless: set[int] = set()
        self._fractional = index.kind == FRACTIONAL
        full = number_of(index.header.dataset, "MaximumFractionalValue")
        self._full = full if full and full > 0 else float(2**index.layout.stored - 1)
        rows, columns = target.shape
        self._limit = MAX_CANVAS_BYTES // (rows * columns * (4 if self._fractional else 1))

    def add(self, one: PlacedFrame, values: Array) -> None:
        """Paint a decoded frame on its segments; where frames overlap, the higher value stays."""
        if self._index.kind == LABEL_MAP:
            background = _background(self._index.header)
            described = {number for number, _ in described_segments(self._index.header)}
            here = {int(number) for number in np.unique(values)} - {background}
            for number in sorted(here & described):
                self._paint(number, values == number, one)
            self._nameless |= here - described
        elif self._fractional:
            share = np.clip(values.astype(np.float32) / np.float32(self._full), 0, 1)
            self._paint(int(self._index.segments[one.frame]), share, one)
        else:
            self._paint(int(self._index.segments[one.frame]), values != 0, one)

    def _paint(self, segment: int, source: Array, one: PlacedFrame) -> None:
        plane = self._planes.get(segment)
        if plane is None:
            if len(self._planes) >= max(self._limit, 1):
                self.warnings.append("not all segments are drawn: they need too much memory")
                return
            plane = np.zeros(self._target.shape, np.float32 if self._fractional else np.bool_)
            self._planes[segment] = plane
        _paint(plane, source, one.affine)
        self._named[segment] = self._named.get(segment, True) and one.by_reference

    def shapes(self) -> tuple[Shape, ...]:
        """Return one shape for each segment that has any pixel here; warn of those unnamed."""
        if self._nameless:
            names = _segment_list(sorted(self._nameless))
            self.warnings.append(f"{names}: no description in the file, not drawn")
        made: list[Shape] = []
        for segment, plane in sorted(self._planes.items()):
            if plane.any():
                geometry = Heatmap(plane) if self._fractional else Mask(plane)
                made.append(Shape(segment, geometry, True, self._named[segment]))
        return tuple(made)


def _paint(plane: Array, source: Array, affine: NDArray[np.float64]) -> None:
    """Paint a frame in place, nearest, highest value; `affine` [2, 3] plane -> source."""
    x0, x1, y0, y1 = _covered_box(plane.shape, source.shape, affine)
    if x0 >= x1 or y0 >= y1:
        return
    if is_pixel_shift(affine):
        dx, dy = (int(part) for part in np.rint(affine[:, 2]))
        part = source[y0 + dy : y1 + dy, x0 + dx : x1 + dx]
        np.maximum(plane[y0:y1, x0:x1], part, out=plane[y0:y1, x0:x1])
        return
    x = np.arange(x0, x1, dtype=np.float64)[None, :]
    for start in range(y0, y1, _ROWS_AT_ONCE):
        end = min(start + _ROWS_AT_ONCE, y1)
        y = np.arange(start, end, dtype=np.float64)[:, None]
        # Nearest neighbour: labels must not be interpolated.
        column, row = (
            np.floor(a * x + b * y + c + 0.5).astype(np.int64) for a, b, c in affine.tolist()
        )
        inside = (column >= 0) & (column < source.shape[1]) & (row >= 0) & (row < source.shape[0])
        np.clip(column, 0, source.shape[1] - 1, out=column)
        np.clip(row, 0, source.shape[0] - 1, out=row)
        part = np.where(inside, source[row, column], np.zeros((), source.dtype))
        np.maximum(plane[start:end, x0:x1], part, out=plane[start:end, x0:x1])


def _covered_box(
    plane: tuple[int, ...], source: tuple[int, ...], affine: NDArray[np.float64]
) -> tuple[int, int, int, int]:
    """Return the box a source may cover: x0, x1, y0, y1, ends exclusive."""
    linear = affine[:, :2]
    # A degenerate affine maps the plane to a line.
    if abs(np.linalg.det(linear)) < 1e-12:
        return 0, 0, 0, 0
    right, bottom = source[1] - 0.5, source[0] - 0.5
    edges = np.array([[-0.5, -0.5], [right, -0.5], [-0.5, bottom], [right, bottom]])
    found = (edges - affine[:, 2]) @ np.linalg.inv(linear).T
    low, high = np.ceil(found.min(axis=0) - 1e-6), np.floor(found.max(axis=0) + 1e-6)
    if is_pixel_shift(affine):
        low, high = np.rint(found.min(axis=0) + 0.5), np.rint(found.max(axis=0) - 0.5)
    x0, y0 = (int(max(part, 0)) for part in low)
    x1, y1 = int(min(high[0], plane[1] - 1)), int(min(high[1], plane[0] - 1))
    return x0, x1 + 1, y0, y1 + 1


def _background(header: Header) -> int:
    """Return the pixel value of no segment (C.8.20.2): Pixel Padding Value, else 0."""
    return whole_number(header.dataset, "PixelPaddingValue") or 0


def _layer_item(
    number: int,
    description: Dataset,
    palette: tuple[NDArray[np.uint8], int] | None,
    header: Header,
) -> LayerItem:
    color = color_from_cielab(numbers(value_of(description, "RecommendedDisplayCIELabValue")))
    if color is None and palette is not None:
        color = _palette_entry(palette, number)
    label = text_of(description, "SegmentLabel") or f"Segment {number}"
    maker = text_of(description, "SegmentAlgorithmName")
    how = text_of(description, "SegmentAlgorithmType").lower()
    kind = header.text("SegmentationFractionalType").lower()
    details = (
        property_text(description, "Segmented"),
        maker_text(maker, how),
        f"Values are of {kind}" if kind else "",
    )
    detail = ". ".join(part for part in details if part)
    return LayerItem(number, label, color or palette_color(number), detail)


def _palette_entry(palette: tuple[NDArray[np.uint8], int], number: int) -> RGB | None:
    """Return the colour of a segment in the file's palette, or None."""
    colors, first = palette
    if not 0 <= number - first < len(colors):
        return None
    red, green, blue = (int(part) for part in colors[number - first])
    return red, green, blue


def _segment_list(segments: list[int]) -> str:
    names = ", ".join(str(number) for number in segments[:10])
    more = "" if len(segments) <= 10 else f" and {len(segments) - 10} more"
    return f"{'segment' if len(segments) == 1 else 'segments'} {names}{more}"
