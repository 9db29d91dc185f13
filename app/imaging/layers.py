"""Layers: shapes that other objects (SEG, RTSTRUCT, GSPS, overlays) draw over images.

A layer shows what a file states, and that file is its provenance; results of tools are
`findings`. Coordinates are (x, y) = (column, row) in pixels of the frame that is drawn on;
pixel centres are integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.imaging.findings import XY, Geometry, Polygon, Polyline
from app.imaging.processes.records import pack, unpack
from app.imaging.types import Content, Instance

RGB = tuple[int, int, int]

NOT_LABELS = "a picture, not labels"
"""End of the reason why a volume cannot be laid over an image although it can be shown itself."""


@dataclass(frozen=True, slots=True)
class LayerItem:
    """A part of a layer that can be switched on and off: a segment, ROI, label or graphic layer.

    Attributes:
        number: Number that is unique in its layer: Segment Number, ROI Number, or a count from 1.
        label: Segment Label, ROI Name, Graphic Layer, or the name of a label volume's label.
        color: The colour recommended by the file, else one that a fixed palette assigns to the
            number.
        detail: Further text, e.g. "Organ: Liver. Made by TotalSegmentator (automatic)".
        volume_ml: Volume in ml of a label in a label volume; None for other items.
        at: Point (mm, LPS) inside such a label, on its largest slice; None for other items.
    """

    number: int
    label: str
    color: RGB
    detail: str = ""
    volume_ml: float | None = None
    at: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """What one object, such as a segmentation, draws over images: named, coloured items."""

    instance: Instance
    title: str
    items: tuple[LayerItem, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Label:
    """A text of one or more lines that a presentation state places on the image.

    Attributes:
        at: (x, y) of the anchor point, or of the top left corner of the box.
        box: Box that contains the text as (x0, y0, x1, y1), or None.
    """

    text: str
    at: XY
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What one item (a segment, say) draws on one frame: a geometry or a text label.

    Attributes:
        item: `LayerItem.number` of the item.
        geometry: The geometry to draw; a Mask or Heatmap has as many rows and columns as the frame.
        filled: Whether a polygon is filled.
        by_reference: True if the object refers to this very frame; False if it only lies in the
            same plane of the same frame of reference.
    """

    item: int
    geometry: Geometry | Label
    filled: bool = False
    by_reference: bool = True


@dataclass(frozen=True, slots=True)
class LayerFrame:
    """The shapes that a layer draws on one frame of an image, in drawing order; may be empty.

    Attributes:
        warnings: Warnings for the user, e.g. "resampled from another pixel grid".
    """

    shapes: tuple[Shape, ...] = ()
    warnings: tuple[str, ...] = ()


_DRAWN_OVER = frozenset({Content.SEGMENTATION, Content.STRUCTURES})


def layers_for(instance: Instance, objects: Iterable[Instance]) -> list[Instance]:
    """Return the segmentations, structure sets and annotations that may be drawn over an image.

    Objects that refer to the image come first, then those that share its frame of reference and its
    study or patient. `Decoder.layer_frame` tells whether they draw anything on a given frame.
    """
    named: list[Instance] = []
    near: list[Instance] = []
    for one in objects:
        if one.content not in _DRAWN_OVER or one.sop_instance_uid == instance.sop_instance_uid:
            continue
        if not may_be_same_patient(one, instance):
            continue
        if instance.sop_instance_uid in one.references:
            named.append(one)
        elif same_space(one, instance):
            near.append(one)
    return named + near


def may_be_same_patient(one: Instance, other: Instance) -> bool:
    """Return False if both files have a Patient ID and the two differ, else True."""
    mine, its = one.get("PatientID"), other.get("PatientID")
    return not mine or not its or mine == its


def same_space(one: Instance, other: Instance) -> bool:
    """Return whether two instances share a frame of reference, and study or patient."""
    space = one.get("FrameOfReferenceUID")
    if not space or space != other.get("FrameOfReferenceUID"):
        return False
    if not may_be_same_patient(one, other):
        return False
    keys = ("StudyInstanceUID", "PatientID")
    return any(one.get(key) and one.get(key) == other.get(key) for key in keys)


_KINDS: tuple[type[Polygon] | type[Polyline], ...] = (Polygon, Polyline)
_FILLED, _BY_REFERENCE = 1, 2


def pack_frame(frame: LayerFrame) -> dict[str, Any]:
    """Convert a `LayerFrame` to a message of JSON values and arrays.

    "points" is an [n, 2] array (x, y) of the points of all polygons and polylines, in order.
    "outlines" is an [m, 5] array with a row for each of these: position in `frame.shapes`, number
    of the layer's item (a segment, say), 0 for a polygon or 1 for a polyline, number of points,
    flags (1 filled, 2 by reference). "others" are (position, shape) of all other shapes. Parsing
    20,000 outlines as JSON would block all threads for 0.8 s.
    """
    rows: list[tuple[int, int, int, int, int]] = []
    points: list[tuple[float, float]] = []
    others: list[tuple[int, Any]] = []
    for place, shape in enumerate(frame.shapes):
        geometry = shape.geometry
        if isinstance(geometry, Polygon | Polyline):
            marks = _FILLED * shape.filled | _BY_REFERENCE * shape.by_reference
            kind = _KINDS.index(type(geometry))
            rows.append((place, shape.item, kind, len(geometry.points), marks))
            points.extend(geometry.points)
        else:
            others.append((place, pack(shape)))
    return {
        "points": np.array(points, np.float64).reshape(-1, 2),
        "outlines": np.array(rows, np.int64).reshape(-1, 5),
        "others": [list(one) for one in others],
        "warnings": list(frame.warnings),
    }


def unpack_frame(message: dict[str, Any]) -> LayerFrame:
    """Convert a message from `pack_frame` back to a `LayerFrame`."""
    shapes: dict[int, Shape] = {place: unpack(Shape, one) for place, one in message["others"]}
    at = 0
    for place, item, kind, count, marks in message["outlines"].tolist():
        # A few points at a time: one call for all of them would hold up other threads again.
        geometry = _KINDS[kind](tuple(map(tuple, message["points"][at : at + count].tolist())))
        at += count
        shapes[place] = Shape(item, geometry, bool(marks & _FILLED), bool(marks & _BY_REFERENCE))
    return LayerFrame(
        tuple(shapes[place] for place in range(len(shapes))), tuple(message["warnings"])
    )
