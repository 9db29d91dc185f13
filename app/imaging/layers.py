"""Types of layers, which other objects draw over images: SEG, RTSTRUCT, GSPS graphics, overlays.

A layer is the statement of a file, which is its provenance; results of tools are `findings`.
Coordinates are (x, y) = (column, row) in pixels of the frame that is drawn on; pixel centres are
integers.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.imaging.findings import XY, Geometry
from app.imaging.types import Instance

RGB = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class LayerItem:
    """One part of a layer that can be switched on and off: a segment, an ROI, a graphic layer.

    Attributes:
        number: Unique in its layer: Segment Number, ROI Number, or a count from 1.
        label: Segment Label, ROI Name or Graphic Layer.
        color: The file's recommendation, else a colour of a fixed palette by number.
        detail: E.g. "Organ: Liver. Made by TotalSegmentator (automatic)".
    """

    number: int
    label: str
    color: RGB
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Layer:
    """An object that draws over images.

    Attributes:
        instance: The object itself.
        title: Title in lists, e.g. SeriesDescription or Content Label.
        items: Its parts in the file's order.
        warnings: Warnings for the reader, e.g. "overlapping segments".
    """

    instance: Instance
    title: str
    items: tuple[LayerItem, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Label:
    """Text of a presentation state at a position in the image.

    Attributes:
        text: Plain text, may have several lines.
        at: (x, y) of its anchor or its box's top left corner.
        box: (x0, y0, x1, y1) of the box for the text, or None.
    """

    text: str
    at: XY
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The shape that one item draws on one frame.

    Attributes:
        item: `LayerItem.number`.
        geometry: Mask and Heatmap have the frame's own rows and columns.
        filled: Whether a polygon is filled.
        by_reference: True when the object names this very frame; False when it only lies in the
            same plane of the same frame of reference.
    """

    item: int
    geometry: Geometry | Label
    filled: bool = False
    by_reference: bool = True


@dataclass(frozen=True, slots=True)
class LayerFrame:
    """The drawing of a layer on one frame of an image, possibly empty.

    Attributes:
        shapes: Shapes in drawing order.
        warnings: Warnings, e.g. "resampled from another pixel grid".
    """

    shapes: tuple[Shape, ...] = ()
    warnings: tuple[str, ...] = ()
