"""Whole-slide images: the tiles of one level as one image (PS3.3 C.8.12.4, C.7.6.17.3).

A tiled object's frames are tiles of its Total Pixel Matrix. They are stitched to one frame per
optical path and focal plane if the result is small enough to be opened; otherwise each tile stays a
frame with a note on its position.

Coordinates: pixel (x, y) = (0, 0) of the stitched frame is column 1, row 1 of the Total Pixel
Matrix, so a tile at (ColumnPosition, RowPosition) begins at (ColumnPosition - 1, RowPosition - 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.dicom_items import finite_numbers, first_item, items_of, text_of
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.palette import color_from_cielab
from app.imaging.dicom.pixel_layout import Layout
from app.imaging.pixels.regions import Box

Array = NDArray[Any]

_SEGMENTATIONS = ("1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7")
_SLIDES_Z = 1e-6
"""Focal planes closer than this, in mm, count as one."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile: frame `index` (from 0), and its top left pixel (x, y) in the stitched image."""

    index: int
    x: int
    y: int


@dataclass(frozen=True, slots=True)
class Section:
    """The tiles for one optical path and one focal plane, shown as one stitched frame.

    Where tiles overlap, the one later in `tiles` is shown. `name` is e.g. "focal plane 2"; "" if it
    is the only section.
    """

    tiles: tuple[Tile, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Slide:
    """A tiled image: the size of its matrix, and its tiles grouped into frames to show.

    Attributes:
        rows: Rows of the Total Pixel Matrix.
        columns: Columns of the Total Pixel Matrix.
        sections: The sections, each shown as one frame; () if the tiles are not stitched.
        stitched: False if the matrix is too large; each tile is then shown as a frame.
    """

    rows: int
    columns: int
    sections: tuple[Section, ...]
    stitched: bool = True


def slide_of(header: Header, layout: Layout) -> Slide | None:
    """Return a tiled image's `Slide`; None if it is not tiled or has tiles at unknown positions."""
    size = [
        finite_numbers(header.dataset, f"TotalPixelMatrix{axis}", 1) for axis in ("Rows", "Columns")
    ]
    if header.text("SOPClassUID") in _SEGMENTATIONS or not all(size):
        return None
    rows, columns = (int(part[0]) for part in size if part)
    tiled = rows > layout.rows or columns > layout.columns or layout.frames > 1
    if not (0 < rows < 2**31 and 0 < columns < 2**31 and tiled):
        return None
    if rows * columns * layout.samples > guards.MAX_SAMPLES:
        return Slide(rows, columns, (), stitched=False)
    sections = _sections(header, layout, rows, columns)
    return Slide(rows, columns, sections) if sections else None


def region_of(slide: Slide, section: Section, box: Box, layout: Layout) -> tuple[Slide, Section]:
    """Return the part of a section within a box of the matrix, as a slide of its own to stitch."""
    left, top, right, bottom = box
    tiles = tuple(
        Tile(tile.index, tile.x - left, tile.y - top)
        for tile in section.tiles
        if tile.x < right
        and tile.x + layout.columns > left
        and tile.y < bottom
        and tile.y + layout.rows > top
    )
    # Where there is no tile, any other tells what kind of pixels there would be.
    first = section.tiles[0]
    outside = (Tile(first.index, right, bottom),)
    part = replace(section, tiles=tiles or outside)
    return Slide(bottom - top, right - left, (part,)), part


def sections_of(slide: Slide, header: Header, layout: Layout) -> tuple[Section, ...]:
    """Return a slide's sections, even if it is too large to be stitched."""
    return slide.sections or _sections(header, layout, slide.rows, slide.columns)


def _sections(header: Header, layout: Layout, rows: int, columns: int) -> tuple[Section, ...]:
    groups = items_of(header.dataset, "PerFrameFunctionalGroupsSequence")
    placed = [_placed(group, index) for index, group in enumerate(groups[: layout.frames])]
    if header.text("DimensionOrganizationType").upper() == "TILED_FULL" or not any(placed):
        return _full(header, layout, rows, columns)
    return _sparse([one for one in placed if one is not None])


def _full(header: Header, layout: Layout, rows: int, columns: int) -> tuple[Section, ...]:
    """Return tile positions of TILED_FULL: by row, column, focal plane, then optical path."""
    along, down = math.ceil(columns / layout.columns), math.ceil(rows / layout.rows)
    count = along * down
    # A part of a concatenation holds some of the tiles, and need not begin with a whole section.
    if layout.frames % count or "ConcatenationUID" in header.dataset:
        return ()
    planes = max(int((numbers(header.value("TotalPixelMatrixFocalPlanes")) or (1.0,))[0]), 1)
    paths = items_of(header.dataset, "OpticalPathSequence")
    sections: list[Section] = []
    for number in range(layout.frames // count):
        tiles = tuple(
            Tile(number * count + k, k % along * layout.columns, k // along * layout.rows)
            for k in range(count)
        )
        path, plane = divmod(number, planes)
        names = (
            _path_name(paths[path]) if path < len(paths) and len(paths) > 1 else "",
            f"focal plane {plane + 1}" if planes > 1 else "",
        )
        sections.append(Section(tiles, ", ".join(name for name in names if name)))
    return tuple(sections)


def _path_name(path: Dataset) -> str:
    described = text_of(path, "OpticalPathDescription")
    return described or f"optical path {text_of(path, 'OpticalPathIdentifier')}"


_Placed = tuple[Tile, str, float]


def _placed(group: Dataset, index: int) -> _Placed | None:
    """Return a frame's tile, optical path and depth from its functional groups."""
    place = first_item(group, "PlanePositionSlideSequence")
    x = finite_numbers(place, "ColumnPositionInTotalImagePixelMatrix", 1)
    y = finite_numbers(place, "RowPositionInTotalImagePixelMatrix", 1)
    if x is None or y is None:
        return None
    z = finite_numbers(place, "ZOffsetInSlideCoordinateSystem", 1)
    path = text_of(first_item(group, "OpticalPathIdentificationSequence"), "OpticalPathIdentifier")
    tile = Tile(index, int(x[0]) - 1, int(y[0]) - 1)
    return tile, path, round(z[0] / _SLIDES_Z) * _SLIDES_Z if z else 0.0


def _sparse(placed: list[_Placed]) -> tuple[Section, ...]:
    """Return one section per optical path and depth, with paths in the file's order."""
    paths = list(dict.fromkeys(path for _, path, _ in placed))
    depths = sorted({z for _, _, z in placed})
    found: dict[tuple[int, float], list[Tile]] = {}
    for tile, path, z in placed:
        found.setdefault((paths.index(path), z), []).append(tile)
    sections: list[Section] = []
    for path, z in sorted(found):
        names = (
            f"optical path {paths[path]}" if len(paths) > 1 else "",
            f"focal plane {depths.index(z) + 1}" if len(depths) > 1 else "",
        )
        sections.append(Section(tuple(found[path, z]), ", ".join(name for name in names if name)))
    return tuple(sections)


def stitch(
    slide: Slide, section: Section, header: Header, tile_of: Callable[[int], Array | None]
) -> Array | None:
    """Stitch the tiles in a section into one image; parts beyond the matrix are cut off.

    Args:
        slide: The slide, for its size.
        section: The section to stitch.
        header: Header of the file, for the value of pixels that no tile covers.
        tile_of: Takes a frame number (from 0), returns its stored values; None if damaged.

    Returns:
        [rows, columns] or [rows, columns, 3]; None if all tiles are damaged.
    """
    image: Array | None = None
    for tile in section.tiles:
        pixels = tile_of(tile.index)
        if pixels is None:
            continue
        if image is None:
            image = np.empty((slide.rows, slide.columns, *pixels.shape[2:]), pixels.dtype)
            image[...] = _ground(header, pixels)
        top, left = max(tile.y, 0), max(tile.x, 0)
        place = image[top:, left:]
        pixels = pixels[top - tile.y :, left - tile.x :][: place.shape[0], : place.shape[1]]
        place[: pixels.shape[0], : pixels.shape[1]] = pixels
    return image


def covers_matrix(slide: Slide, section: Section, layout: Layout) -> bool:
    """Return whether a section has enough tiles, each at its own position, to fill the matrix."""
    along = math.ceil(slide.columns / layout.columns)
    down = math.ceil(slide.rows / layout.rows)
    return len({(tile.x, tile.y) for tile in section.tiles}) >= along * down


def _ground(header: Header, like: Array) -> Array:
    """Return the value of pixels without a tile: recommended (C.8.12.4), else white or 0."""
    if like.ndim == 2:
        return np.zeros((), like.dtype)
    colour = (
        color_from_cielab(numbers(header.value("RecommendedAbsentPixelCIELabValue"))) or (255,) * 3
    )
    top = np.iinfo(like.dtype).max
    return np.asarray([part * top // 255 for part in colour], like.dtype)


def tile_note(slide: Slide, header: Header, index: int) -> str:
    """Return a note on the position of a single tile, frame `index` (from 0), in its slide."""
    groups = items_of(header.dataset, "PerFrameFunctionalGroupsSequence")
    placed = _placed(groups[index], index) if index < len(groups) else None
    size = f"a slide of {slide.columns:,} x {slide.rows:,} pixels, too large to be shown at once"
    if placed is None:
        return f"one tile of {size}"
    return f"the tile at column {placed[0].x + 1}, row {placed[0].y + 1} of {size}"
