"""Read any object that draws over images as a layer. Runs in a worker process.

An object describes acquired slices. So on a section through a volume it is drawn on each slice by
the rules that hold there (references, planes, frames of reference), and the section takes the line
of pixels that it shares with each slice: nothing is interpolated between slices. Masks on another
pixel grid than the slices are not drawn.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.files import sources
from app.imaging.findings import Heatmap, Mask, Polygon
from app.imaging.layers import Layer, LayerFrame, Shape
from app.imaging.objects.bulk_annotations import read_annotations, read_annotations_frame
from app.imaging.objects.label_volumes import read_labels_frame
from app.imaging.objects.layer_targets import frame_target
from app.imaging.objects.segment_placement import RESAMPLED
from app.imaging.objects.segmentation import read_segmentation, read_segmentation_frame
from app.imaging.objects.structures import read_structures, read_structures_frame
from app.imaging.space.reformat import SectionCut
from app.imaging.types import Content, Instance

Array = NDArray[Any]
Floats = NDArray[np.float64]
Slice = tuple[Instance, int]

OTHER_GRID = "it lies on another pixel grid than the slices: not drawn on sections through them"
LINES = "its points and lines are not drawn on sections, only on acquired images"
TOO_MUCH = "not drawn on sections: its masks need too much memory"

_MOST_WARNINGS = 4  # hundreds of slices may each say something else
_MOST_DRAWINGS = 8
MAX_BYTES = 2**29
"""Bytes of the masks of all objects that a worker process keeps."""

_MADE_HERE = "reformat"
_BULK_ANNOTATIONS = "1.2.840.10008.5.1.4.1.1.91.1"


def read_layer(instance: Instance) -> Layer:
    """Return a segmentation, RT structure set or microscopy annotation as a layer.

    Raises:
        FileProblem: The object cannot be read, or is not of a kind that draws over images.
    """
    if instance.content is Content.SEGMENTATION:
        return read_segmentation(instance)
    annotations = _annotations_header(instance)
    return read_annotations(instance, annotations) if annotations else read_structures(instance)


def read_layer_frame(instance: Instance, target: Instance, index: int) -> LayerFrame:
    """Return the shapes that `instance` draws on frame `index` of the image `target`, and warnings.

    Raises:
        FileProblem: The object or the image cannot be read, or the frame does not exist.
    """
    if target.kind == _MADE_HERE:
        return LayerFrame((), ("not drawn on sections through a volume, only on acquired images",))
    frame = frame_target(target, index)
    if instance.kind == "volume":
        return read_labels_frame(instance, frame.grid, frame.shape)
    if instance.content is Content.SEGMENTATION:
        return read_segmentation_frame(instance, frame)
    annotations = _annotations_header(instance)
    if annotations:
        return read_annotations_frame(instance, annotations, frame)
    return read_structures_frame(instance, frame)


def _annotations_header(instance: Instance) -> Header | None:
    """Return the header of a microscopy annotation; None for an RT structure set."""
    if instance.content is not Content.STRUCTURES:
        raise guards.problem(instance.path, "it draws nothing over images")
    header = cached_header(instance.path, sources.status(instance.path))
    return header if header.text("SOPClassUID") == _BULK_ANNOTATIONS else None


@dataclass(frozen=True, slots=True, eq=False)
class _ItemPixels:
    """Box of the pixels of one item on one slice; a mask's rows are packed into bits."""

    item: int
    top: int
    left: int
    columns: int
    values: Array
    by_reference: bool

    @property
    def is_mask(self) -> bool:
        return self.values.dtype == np.uint8

    def line(self, across: int, at: int) -> tuple[int, Array] | None:
        """Return the values along column (`across` 0) or row (1) `at`, and where they begin."""
        if across == 1:
            row = at - self.top
            if not 0 <= row < len(self.values):
                return None
            return self.left, self.pixels(self.values[row : row + 1])[0]
        column = at - self.left
        if not 0 <= column < self.columns:
            return None
        if not self.is_mask:
            return self.top, self.values[:, column]
        return self.top, (self.values[:, column // 8] >> (7 - column % 8) & 1).astype(np.bool_)

    def pixels(self, rows: Array) -> Array:
        """Return rows of `values` as they are drawn."""
        if not self.is_mask:
            return rows
        return np.unpackbits(rows, axis=1, count=self.columns).astype(np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class _Drawing:
    """Pixels of an object on every slice of a volume."""

    slices: list[list[_ItemPixels]]
    warnings: tuple[str, ...]
    size: int


_drawings: OrderedDict[object, _Drawing] = OrderedDict()


def read_section_frame(instance: Instance, slices: Sequence[Slice], cut: SectionCut) -> LayerFrame:
    """Return the shapes that `instance` draws on the section `cut` of a volume, and warnings.

    `slices` has (image, frame number from 0) for each slice, in order of voxel index k.

    Raises:
        FileProblem: The object or an image cannot be read.
    """
    if cut.across == 2:
        parts, warnings = _draw_slice(instance, slices[cut.position])
        drawn = _Drawing([parts], tuple(warnings), 0)
    else:
        drawn = _draw_all_slices(instance, slices)
    planes: dict[int, Array] = {}
    named: dict[int, bool] = {}
    extent = (len(slices), slices[0][0].rows, slices[0][0].columns)
    size = tuple(extent[2 - axis] for axis in (2, 1, 0) if axis != cut.across)
    for k, parts in enumerate(drawn.slices):
        for part in parts:
            plane = planes.get(part.item)
            if plane is None:
                kind = np.bool_ if part.is_mask else np.float32
                plane = planes.setdefault(part.item, np.zeros(size, kind))
            _add_pixels(plane, part, cut, k)
            named[part.item] = named.get(part.item, True) and part.by_reference
    shapes: list[Shape] = []
    for item, plane in sorted(planes.items()):
        if plane.any():
            pixels = cut.orient(plane)
            geometry = Mask(pixels) if pixels.dtype == np.bool_ else Heatmap(pixels)
            shapes.append(Shape(item, geometry, True, named[item]))
    return LayerFrame(tuple(shapes), drawn.warnings)


def _add_pixels(plane: Array, part: _ItemPixels, cut: SectionCut, k: int) -> None:
    """Add an item's pixels on slice `k` to a section; where values overlap, the higher stays."""
    if cut.across == 2:
        pixels = part.pixels(part.values)
        target = plane[part.top : part.top + len(pixels), part.left : part.left + part.columns]
        np.maximum(target, pixels, out=target)
        return
    found = part.line(cut.across, cut.position)
    if found is not None:
        start, line = found
        target = plane[k, start : start + len(line)]
        np.maximum(target, line, out=target)


def _draw_all_slices(instance: Instance, slices: Sequence[Slice]) -> _Drawing:
    """Draw an object on every slice; the result is kept while sections are asked for one by one."""
    own = (str(instance.path), instance.mtime_ns, instance.size_bytes, instance.part)
    images = ((str(one.path), one.mtime_ns, one.part, index) for one, index in slices)
    # An object is not drawn over another patient, so the patient is part of the key.
    key = (own, instance.get("PatientID"), tuple(images))
    known = _drawings.get(key)
    if known is not None:
        _drawings.move_to_end(key)
        return known
    every: list[list[_ItemPixels]] = []
    warnings: dict[str, None] = {}
    size = 0
    for one in slices:
        parts, found = _draw_slice(instance, one)
        warnings |= dict.fromkeys(found)
        size += sum(part.values.nbytes for part in parts)
        every.append(parts)
        # Drawing only some slices would suggest that the object ends there.
        if OTHER_GRID in warnings or size > MAX_BYTES:
            last = OTHER_GRID if OTHER_GRID in warnings else TOO_MUCH
            every, size, warnings = [], 0, {last: None}
            break
    drawn = _drawings[key] = _Drawing(every, tuple(warnings)[:_MOST_WARNINGS], size)
    while (
        sum(one.size for one in _drawings.values()) > MAX_BYTES or len(_drawings) > _MOST_DRAWINGS
    ):
        _drawings.popitem(last=False)
    return drawn


def _draw_slice(instance: Instance, one: Slice) -> tuple[list[_ItemPixels], list[str]]:
    """Return the pixels of all items on one slice, and warnings."""
    image, index = one
    frame = read_layer_frame(instance, image, index)
    if RESAMPLED in frame.warnings:
        return [], [OTHER_GRID]
    warnings = list(frame.warnings)
    parts: list[_ItemPixels | None] = []
    regions: dict[int, list[tuple[Shape, Array]]] = {}
    for shape in frame.shapes:
        geometry = shape.geometry
        if isinstance(geometry, Mask):
            parts.append(_pack_pixels(shape, geometry.pixels))
        elif isinstance(geometry, Heatmap):
            parts.append(_pack_pixels(shape, geometry.values))
        elif isinstance(geometry, Polygon):
            points = np.array(geometry.points, np.float64)
            regions.setdefault(shape.item, []).append((shape, points))
        else:
            warnings.append(LINES)
    for outlines in regions.values():
        # All outlines of a region are filled together, or its holes would be filled too.
        mask = fill_outlines([points for _, points in outlines], image.rows, image.columns)
        named = all(one.by_reference for one, _ in outlines)
        parts.append(_pack_pixels(replace(outlines[0][0], by_reference=named), mask))
    return [part for part in parts if part is not None], warnings


def _pack_pixels(shape: Shape, pixels: Array) -> _ItemPixels | None:
    """Return an item's pixels within their bounding box, or None if there are none."""
    rows, columns = (np.flatnonzero(pixels.any(axis=axis)) for axis in (1, 0))
    if not rows.size:
        return None
    box = pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    # A bit per pixel: the masks of all slices are kept.
    values = np.packbits(box, axis=1) if box.dtype == np.bool_ else box.astype(np.float32)
    corner = int(rows[0]), int(columns[0])
    return _ItemPixels(shape.item, *corner, box.shape[1], values, shape.by_reference)


def _fill_outline(outline: Floats, rows: int, columns: int) -> tuple[NDArray[np.bool_], int, int]:
    """Return the pixels whose centres lie inside an outline of [n, 2] corners (x, y).

    The outline may cross itself. The result is a mask of its bounding box, and the row and column
    at which the box starts.
    """
    low, high = np.floor(outline.min(axis=0)), np.ceil(outline.max(axis=0)) + 1
    left, right = (int(part) for part in np.clip([low[0], high[0]], 0, columns))
    top, bottom = (int(part) for part in np.clip([low[1], high[1]], 0, rows))
    shape = (bottom - top, right - left)
    if len(outline) < 3 or min(shape) == 0:
        return np.zeros((0, 0), np.bool_), 0, 0
    toggles = np.zeros((shape[0], shape[1] + 1), np.int64)
    start = outline - (left, top)
    end = np.roll(start, -1, axis=0)
    downward = (start[:, 1] <= end[:, 1])[:, None]
    upper, lower = np.where(downward, start, end), np.where(downward, end, start)
    # Half open, so that a corner on a row's centre belongs to one of its two edges.
    first = np.clip(np.ceil(upper[:, 1]), 0, shape[0]).astype(np.int64)
    last = np.clip(np.ceil(lower[:, 1]), 0, shape[0]).astype(np.int64)
    count = np.maximum(last - first, 0)
    edge = np.repeat(np.arange(len(outline)), count)
    row = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    share = (row - upper[edge, 1]) / (lower[edge, 1] - upper[edge, 1])
    x = upper[edge, 0] + share * (lower[edge, 0] - upper[edge, 0])
    # The pixel to the right of each crossing is on the other side than the one to its left.
    column = np.clip(np.ceil(x), 0, shape[1]).astype(np.int64)
    np.add.at(toggles, (row, column), 1)
    return (np.cumsum(toggles, axis=1) % 2 == 1)[:, :-1], top, left


def fill_outlines(outlines: Sequence[Floats], rows: int, columns: int) -> NDArray[np.bool_]:
    """Return the [rows, columns] mask of a region that may have several outlines.

    An outline inside another is a hole, and one inside a hole is filled again (even-odd rule, PS3.3
    C.8.8.6.3). Outlines are [n, 2] corners (x, y) in pixels with integer centres.
    """
    mask = np.zeros((rows, columns), np.bool_)
    for outline in outlines:
        own, top, left = _fill_outline(outline, rows, columns)
        mask[top : top + own.shape[0], left : left + own.shape[1]] ^= own
    return mask
