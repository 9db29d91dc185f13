"""Read any object that draws over images as a layer. Runs in a worker process.

An object describes acquired slices. On a section through a volume, the object is first drawn on
each slice by the rules for slices (references, planes, frames of reference). The section then takes
the line of pixels that it shares with each slice: nothing is interpolated between slices. Masks
whose pixel grid is not that of the slices are not drawn.

Microscopy Bulk Simple Annotations (PS3.3 A.87, C.37) are in mm or in pixels, of one frame or of the
total pixel matrix (Pixel Origin Interpretation). Pixels begin at the top left corner, (0, 0).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import (
    first_item,
    items_of,
    maker_text,
    number_of,
    numbered_items,
    property_text,
    text_of,
)
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.dicom.palette import color_from_cielab
from app.imaging.dicom.pixel_layout import layout_of
from app.imaging.dicom.whole_slide import slide_of
from app.imaging.files import sources
from app.imaging.findings import Geometry, Heatmap, Mask, Point, Polygon, Polyline
from app.imaging.layers import Layer, LayerFrame, LayerItem, Shape
from app.imaging.objects.graphics import ellipse_corners, point_tuples
from app.imaging.objects.label_volumes import read_labels_frame
from app.imaging.objects.layer_colors import palette_color
from app.imaging.objects.layer_targets import Target, frame_target, image_references, refusal
from app.imaging.objects.segmentation import RESAMPLED, read_segmentation, read_segmentation_frame
from app.imaging.objects.structures import read_structures, read_structures_frame
from app.imaging.space.reformat import SectionCut
from app.imaging.types import Content, Instance

MAX_SHAPES = 50_000
MAX_POINTS = 2_000_000
"""Points drawn of one file on one frame: a slide may have millions of nuclei."""

_ELLIPSE_CORNERS = 48
_GRAPHICS = frozenset({"POINT", "POLYLINE", "POLYGON", "ELLIPSE", "RECTANGLE"})


class _DamagedGroupError(Exception):
    """A group cannot be drawn; the text says why."""


def read_annotations(instance: Instance, header: Header) -> Layer:
    """Return a microscopy annotation object's groups as a `Layer`, without their coordinates."""
    items: list[LayerItem] = []
    warnings: list[str] = []
    for number, group in _groups(header):
        color = color_from_cielab(numbers(value_of(group, "RecommendedDisplayCIELabValue")))
        label = text_of(group, "AnnotationGroupLabel") or f"Group {number}"
        items.append(LayerItem(number, label, color or palette_color(number), _detail(group)))
        graphic = text_of(group, "GraphicType").upper()
        if graphic not in _GRAPHICS:
            warnings.append(f"{label}: its kind of shape is unknown; not drawn")
    names = ("SeriesDescription", "ContentDescription", "ContentLabel")
    title = next((text for text in map(header.text, names) if text), "Annotations")
    return Layer(instance, title, tuple(items), tuple(warnings))


def read_annotations_frame(instance: Instance, header: Header, target: Target) -> LayerFrame:
    """Return the shapes that a microscopy annotation draws on the frame `target`, and warnings."""
    named = _referenced_images(header)
    space = header.text("FrameOfReferenceUID")
    refused = refusal(instance, space, target)
    if refused:
        return LayerFrame((), (refused,) if target.uid in named else ())
    place, warning = _pixel_mapping(header, target, named, space)
    if place is None:
        return LayerFrame((), (warning,) if warning else ())
    return _draw_groups(header, target, place, target.uid in named)


def _draw_groups(
    header: Header, target: Target, place: Callable[[Floats], Floats], by_reference: bool
) -> LayerFrame:
    """Return the shapes of all groups, and warnings."""
    shapes: list[Shape] = []
    warnings: list[str] = []
    outside = points = 0
    for number, group in _groups(header):
        try:
            parts = _shape_points(header, group)
            for part in parts:
                xy = place(part)
                if not _is_inside(xy, target):
                    outside += 1
                    continue
                points += len(xy)
                if len(shapes) >= MAX_SHAPES or points > MAX_POINTS:
                    warnings.append(f"only the first {len(shapes):,} shapes are drawn")
                    return LayerFrame(tuple(shapes), tuple(warnings))
                geometry = _geometry(text_of(group, "GraphicType").upper(), xy)
                shapes.append(Shape(number, geometry, by_reference=by_reference))
        except _DamagedGroupError as error:
            label = text_of(group, "AnnotationGroupLabel") or f"group {number}"
            warnings.append(f"{label}: {error}")
    if outside and (target.matrix is None or target.matrix.size == target.shape):
        warnings.append(f"{outside:,} shapes lie outside the image: not drawn")
    return LayerFrame(tuple(shapes), tuple(warnings))


def _groups(header: Header) -> list[tuple[int, Dataset]]:
    """Return (Annotation Group Number, group), each once."""
    return numbered_items(header.dataset, "AnnotationGroupSequence", "AnnotationGroupNumber")


def _detail(group: Dataset) -> str:
    """Return category and type, description and maker of a group."""
    maker = first_item(group, "AnnotationGroupAlgorithmIdentificationSequence")
    how = text_of(group, "AnnotationGroupGenerationType").lower()
    made = maker_text(text_of(maker, "AlgorithmName"), how)
    text = text_of(group, "AnnotationGroupDescription")
    return ". ".join(filter(None, (property_text(group, "Annotation"), text, made)))


def _referenced_images(header: Header) -> dict[str, int | None]:
    """Return SOP Instance UID of each image annotated -> the frame from 0 that it names, if any."""
    references = image_references(items_of(header.dataset, "ReferencedImageSequence"))
    return {uid: frames[0] if frames else None for uid, frames in reversed([*references])}


def _pixel_mapping(
    header: Header, target: Target, named: dict[str, int | None], space: str
) -> tuple[Callable[[Floats], Floats] | None, str]:
    """Return the function from the file's coordinates to target pixels (None: none), a warning."""
    if header.text("AnnotationCoordinateType").upper() == "3D":
        grid = target.grid
        if grid is None:
            return None, "its coordinates are in mm, and this image has no position: not drawn"
        if target.uid not in named and (not space or space != target.frame_of_reference):
            return None, ""
        return (lambda points: grid.project(points)[0]), ""
    if target.uid not in named:
        return None, ""
    # Pixels of different images cannot be told apart by the coordinates.
    if len(named) > 1:
        return (
            None,
            "it is about several images, and does not say which one its coordinates refer to",
        )
    origin = _origin(header, target, named[target.uid])
    if origin is None:
        return None, ""
    # (0, 0) is the corner of the first pixel in the file, and its centre here.
    return (lambda points: points - 0.5 + origin), ""


def _origin(header: Header, target: Target, frame: int | None) -> Floats | None:
    """Return the [2] target pixel at which the file's count begins; None on another frame."""
    matrix = target.matrix
    if matrix is not None and header.text("PixelOriginInterpretation").upper() != "FRAME":
        return -np.array([matrix.x, matrix.y], float)
    if matrix is None or matrix.size != target.shape:
        same = frame == target.index or (frame is None and target.instance.frames == 1)
        return np.zeros(2) if same else None
    header = cached_header(target.instance.path, sources.status(target.instance.path))
    slide = slide_of(header, layout_of(header))
    if slide is None or not slide.stitched or target.index >= len(slide.sections):
        return None
    tiles = slide.sections[target.index].tiles
    return next((np.array([t.x, t.y], float) for t in tiles if t.index == frame), None)


def _shape_points(header: Header, group: Dataset) -> Iterator[Floats]:
    """Yield points [n, 2] px or [n, 3] mm as in the file; raise _DamagedGroupError."""
    points = _coordinates(header, group)
    graphic = text_of(group, "GraphicType").upper()
    if graphic not in _GRAPHICS:
        raise _DamagedGroupError("its kind of shape is unknown; not drawn")
    if graphic in ("POLYLINE", "POLYGON"):
        yield from _split_by_index(header, group, points)
        return
    each = 1 if graphic == "POINT" else 4
    if len(points) % each:
        raise _DamagedGroupError("its coordinates are damaged; not drawn")
    yield from points.reshape(-1, each, points.shape[1])


def _split_by_index(header: Header, group: Dataset, points: Floats) -> Iterator[Floats]:
    """Yield shapes of several lengths, by the index of each one's first number (from 1)."""
    plane = number_of(group, "CommonZCoordinateValue") is not None
    stored = 2 if plane else points.shape[1]
    starts = _packed_numbers(header, group, "LongPrimitivePointIndexList", "u4")
    firsts, odd = np.divmod(starts.astype(np.int64) - 1, stored)
    ordered = starts.size > 0 and firsts[0] == 0 and bool((np.diff(firsts) > 0).all())
    if odd.any() or not ordered or firsts[-1] >= len(points):
        raise _DamagedGroupError("where its shapes begin is damaged; not drawn")
    yield from np.split(points, firsts[1:])


def _coordinates(header: Header, group: Dataset) -> Floats:
    """Return [n, 2] or [n, 3] coordinates; a common z is added to each point."""
    values = _packed_numbers(header, group, "DoublePointCoordinatesData", "f8")
    if values.size == 0:
        values = _packed_numbers(header, group, "PointCoordinatesData", "f4").astype(np.float64)
    deep = header.text("AnnotationCoordinateType").upper() == "3D"
    depth = number_of(group, "CommonZCoordinateValue")
    width = 3 if deep and depth is None else 2
    if values.size == 0 or values.size % width or not np.isfinite(values).all():
        raise _DamagedGroupError("its coordinates are damaged; not drawn")
    points = values.reshape(-1, width)
    if deep and depth is not None:
        points = np.column_stack([points, np.full(len(points), depth)])
    return points


def _packed_numbers(header: Header, group: Dataset, keyword: str, kind: str) -> NDArray[Any]:
    """Return the numbers of an OD, OF or OL element; empty if it is absent."""
    value = value_of(group, keyword)
    if not isinstance(value, bytes):
        return np.array(numbers(value), np.float64)
    dtype = np.dtype(kind).newbyteorder("<" if header.little_endian else ">")
    if len(value) % dtype.itemsize:
        raise _DamagedGroupError("its coordinates are cut short; not drawn")
    return np.frombuffer(value, dtype)


def _is_inside(xy: Floats, target: Target) -> bool:
    """Return whether a shape's bounding box overlaps the frame."""
    rows, columns = target.shape
    low, high = xy.min(axis=0), xy.max(axis=0)
    return bool(
        low[0] <= columns - 0.5 and low[1] <= rows - 0.5 and high[0] >= -0.5 and high[1] >= -0.5
    )


def _geometry(graphic: str, xy: Floats) -> Geometry:
    if graphic == "POINT" or len(xy) == 1:
        x, y = xy[0].tolist()
        return Point(x, y)
    if graphic == "ELLIPSE":
        xy = ellipse_corners(xy, _ELLIPSE_CORNERS)
    points = point_tuples(xy)
    return Polyline(points) if graphic == "POLYLINE" or len(xy) == 2 else Polygon(points)


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
