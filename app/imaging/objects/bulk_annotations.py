"""Microscopy Bulk Simple Annotations as layers (PS3.3 A.87, C.37). Runs in a worker process.

2-D coordinates are (column, row) with (0, 0) at the corner of the first pixel, of the total
pixel matrix or of one frame (Pixel Origin Interpretation); 3-D ones are mm on the slide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.dicom.cielab import color_from_cielab
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
from app.imaging.dicom.pixel_layout import layout_of
from app.imaging.dicom.whole_slide import slide_of
from app.imaging.files import sources
from app.imaging.findings import Geometry, Point, Polygon, Polyline
from app.imaging.layers import Layer, LayerFrame, LayerItem, Shape
from app.imaging.objects.graphics import ellipse_corners, point_tuples
from app.imaging.objects.layer_colors import palette_color
from app.imaging.objects.layer_targets import Target, image_references, refusal
from app.imaging.types import Instance

Floats = NDArray[np.float64]

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
    """Yield the points of each shape of a group: [n, 2] pixels or [n, 3] mm, as in the file.

    Raises:
        _DamagedGroupError: The shapes cannot be separated.
    """
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
