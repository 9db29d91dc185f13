"""Graphic and text annotations of a presentation state (PS3.3 C.10.5, C.10.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydicom.dataset import Dataset

from app.imaging.dicom.cielab import color_from_cielab
from app.imaging.dicom.dicom_file import value_of
from app.imaging.dicom.dicom_items import finite, items_of, text_of, whole
from app.imaging.dicom.frame_attributes import numbers
from app.imaging.findings import XY, Geometry, Polygon, Polyline
from app.imaging.layers import RGB, Label, LayerItem, Shape
from app.imaging.objects.graphics import ellipse, geometries_of, pixel_point, points_of
from app.imaging.objects.layer_colors import palette_color


@dataclass(frozen=True, slots=True)
class Placement:
    """How the displayed area lies in the image (C.10.4, C.10.6).

    Attributes:
        area: (x0, y0, x1, y1) of the displayed area, edges in our pixels, or None when unknown.
        flip_h: Exchange of left and right, before the turns.
        quarter_turns: Clockwise quarter turns.
    """

    area: tuple[float, float, float, float] | None = None
    flip_h: bool = False
    quarter_turns: int = 0

    def pixel(self, point: XY, units: str) -> XY | None:
        """A point in the units of the state in our pixels of the image; None when it has none.

        PIXEL counts from the top left pixel's corner, before any rotation. DISPLAY is a fraction
        of the displayed area as it is shown, after rotation and flip. MATRIX counts in the pixels
        of a whole slide.
        """
        if units == "PIXEL":
            return pixel_point(point)
        if units != "DISPLAY" or self.area is None:
            return None
        u, v = point
        for _ in range(self.quarter_turns):
            u, v = v, 1 - u
        if self.flip_h:
            u = 1 - u
        x0, y0, x1, y1 = self.area
        return x0 + u * (x1 - x0), y0 + v * (y1 - y0)


class GraphicLayers:
    """The layers of a state: their order, names and colours, and their numbers here from 1."""

    def __init__(self, dataset: Dataset) -> None:
        self._numbers: dict[str, int] = {}
        self._items: list[LayerItem] = []
        layers = items_of(dataset, "GraphicLayerSequence")
        for layer in sorted(layers, key=lambda one: whole(one, "GraphicLayerOrder") or 0):
            color = _recommended(layer)
            detail = text_of(layer, "GraphicLayerDescription")
            self._add(text_of(layer, "GraphicLayer"), color, detail)

    def number(self, name: str) -> int:
        """The number of a layer; one that the state uses but does not define gets its own."""
        if name not in self._numbers:
            self._add(name, None, "")
        return self._numbers[name]

    @property
    def items(self) -> tuple[LayerItem, ...]:
        """In drawing order."""
        return tuple(self._items)

    def _add(self, name: str, color: RGB | None, detail: str) -> None:
        number = len(self._items) + 1
        self._numbers.setdefault(name, number)
        shown = color or palette_color(number)
        self._items.append(LayerItem(number, name or f"Layer {number}", shown, detail))


def _recommended(layer: Dataset) -> RGB | None:
    """The colour that the state recommends: CIELab, else RGB, else a grey (P-Values)."""
    lab = color_from_cielab(numbers(value_of(layer, "GraphicLayerRecommendedDisplayCIELabValue")))
    if lab is not None:
        return lab
    rgb = finite(layer, "GraphicLayerRecommendedDisplayRGBValue", 3)
    grey = finite(layer, "GraphicLayerRecommendedDisplayGrayscaleValue", 1)
    values = rgb or (grey * 3 if grey else None)
    if values is None or not all(0 <= value <= 65535 for value in values):
        return None
    red, green, blue = (round(value / 257) for value in values)
    return red, green, blue


def drawn(annotation: Dataset, layer: int, placement: Placement) -> tuple[list[Shape], int]:
    """What one item of the Graphic Annotation Sequence draws.

    Returns:
        Its shapes, and how many of its objects could not be understood.
    """
    shapes: list[Shape] = []
    lost = 0
    plain = items_of(annotation, "GraphicObjectSequence")
    texts = items_of(annotation, "TextObjectSequence")
    shown = {whole(item, "CompoundGraphicInstanceID") for item in plain + texts} - {None}
    compounds = [
        item
        for item in items_of(annotation, "CompoundGraphicSequence")
        if whole(item, "CompoundGraphicInstanceID") not in shown
    ]
    for items, make in ((plain, _graphic), (compounds, _compound)):
        for item in items:
            geometries = make(item, placement)
            lost += not geometries
            filled = text_of(item, "GraphicFilled").upper() == "Y"
            shapes += [
                Shape(layer, geometry, filled and isinstance(geometry, Polygon))
                for geometry in geometries
            ]
    for item in texts:
        parts = _text(item, placement)
        lost += not parts
        shapes += [Shape(layer, part) for part in parts]
    return shapes, lost


def _points(item: Dataset, units: str, placement: Placement) -> list[XY]:
    """Graphic Data in our pixels; empty when it cannot be placed."""
    given = points_of(numbers(value_of(item, "GraphicData")))
    if given is None or (whole(item, "GraphicDimensions") or 2) != 2:
        return []
    count = whole(item, "NumberOfGraphicPoints")
    if count is not None and 0 < count < len(given):
        given = given[:count]
    placed = [placement.pixel(point, units) for point in given]
    return [point for point in placed if point is not None]


def _graphic(item: Dataset, placement: Placement) -> Sequence[Geometry]:
    units = text_of(item, "GraphicAnnotationUnits").upper()
    points = _points(item, units, placement)
    return geometries_of(text_of(item, "GraphicType").upper(), points) if points else ()


def _compound(item: Dataset, placement: Placement) -> Sequence[Geometry]:
    """A compound graphic that has no plain equivalent in the state (C.10.5.1.3)."""
    units = text_of(item, "CompoundGraphicUnits").upper()
    kind = text_of(item, "CompoundGraphicType").upper()
    points = _points(item, units, placement)
    turned = any(numbers(value_of(item, "RotationAngle"))[:1])
    if len(points) < 2 or turned:
        return ()
    if kind == "MULTILINE":
        return [Polyline(tuple(pair)) for pair in zip(points[0::2], points[1::2], strict=False)]
    if kind in ("RECTANGLE", "ELLIPSE") and len(points) == 2:
        (x0, y0), (x1, y1) = points
        if kind == "RECTANGLE":
            return [Polygon(((x0, y0), (x1, y0), (x1, y1), (x0, y1)))]
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        return [ellipse(((x0, y), (x1, y), (x, y0), (x, y1)))]
    if kind in ("INFINITELINE", "CUTLINE", "RANGELINE", "RULER", "AXIS", "ARROW", "POLYLINE"):
        return [Polyline(tuple(points))]
    return ()


def _text(item: Dataset, placement: Placement) -> Sequence[Geometry | Label]:
    """A text, and the line to its anchor where that is to be seen (C.10.5.1.1)."""
    text = text_of(item, "UnformattedTextValue")
    anchor = _corner(item, "AnchorPoint", "AnchorPointAnnotationUnits", placement)
    units = "BoundingBoxAnnotationUnits"
    first = _corner(item, "BoundingBoxTopLeftHandCorner", units, placement)
    last = _corner(item, "BoundingBoxBottomRightHandCorner", units, placement)
    box = None
    if first is not None and last is not None:
        # As it is shown the first is at the top left, which a turned image has elsewhere.
        xs, ys = sorted((first[0], last[0])), sorted((first[1], last[1]))
        box = (xs[0], ys[0], xs[1], ys[1])
    at = first if box is not None else anchor
    if not text or at is None:
        return ()
    parts: list[Geometry | Label] = [Label(text, at, box)]
    visible = text_of(item, "AnchorPointVisibility").upper() == "Y"
    if visible and anchor is not None and box is not None:
        x = min(max(anchor[0], box[0]), box[2])
        y = min(max(anchor[1], box[1]), box[3])
        if (x, y) != anchor:
            parts.append(Polyline(((x, y), anchor)))
    return parts


def _corner(item: Dataset, keyword: str, units: str, placement: Placement) -> XY | None:
    values = finite(item, keyword, 2)
    if values is None or max(abs(values[0]), abs(values[1])) > 1e7:
        return None
    return placement.pixel((values[0], values[1]), text_of(item, units).upper())
