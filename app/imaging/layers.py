"""Types for layers, which other objects draw over images: SEG, RTSTRUCT, GSPS graphics, overlays.

A layer shows what a file states, and that file is its provenance; results of tools are
`findings`. Coordinates are (x, y) = (column, row) in pixels of the frame that is drawn on;
pixel centres are integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.imaging.findings import XY, Geometry
from app.imaging.types import Instance

RGB = tuple[int, int, int]

NOT_LABELS = "a picture, not labels"
"""End of the reason why a volume cannot be laid over an image although it can be shown itself."""


@dataclass(frozen=True, slots=True)
class LayerItem:
    """A part of a layer that can be switched on and off: a segment, an ROI or a graphic layer.

    Attributes:
        number: Number that is unique in its layer: Segment Number, ROI Number, or a count from 1.
        label: Segment Label, ROI Name or Graphic Layer.
        color: The colour recommended by the file, else one that a fixed palette assigns to the
            number.
        detail: Further text, e.g. "Organ: Liver. Made by TotalSegmentator (automatic)".
        volume_ml: Volume of a label in ml; None for other items.
        at: Patient coordinates (mm, LPS) of a voxel of a label, on the slice with most of it.
    """

    number: int
    label: str
    color: RGB
    detail: str = ""
    volume_ml: float | None = None
    at: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """The items that an object such as a segmentation draws over images, in file order."""

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
    """The shape that one item draws on one frame.

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
