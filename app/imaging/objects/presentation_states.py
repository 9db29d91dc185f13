"""Softcopy presentation states: how each image is to be shown. Runs in a worker process.

PS3.3 A.33, C.9.2, C.10.3 to C.10.7, C.11.4 to C.11.12; PS3.4 N.2 for the order of the
transformations.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from pydicom.dataset import Dataset

from app.imaging.dicom.describe import luts_of, modality_of, rescale_of, voi_of
from app.imaging.dicom.dicom_file import Header, read_header, value_of
from app.imaging.dicom.dicom_items import (
    clean_text,
    finite_numbers,
    items_of,
    text_of,
    whole_number,
)
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.dicom.overlays import GROUPS, has_shutter, overlays_of, shutter_of
from app.imaging.dicom.palette import color_from_cielab
from app.imaging.findings import XY, Geometry, Polygon, Polyline
from app.imaging.layers import RGB, Label, Layer, LayerItem, Shape
from app.imaging.objects.graphics import coordinate_pairs, ellipse, graphic_geometries, pixel_point
from app.imaging.objects.layer_colors import palette_color
from app.imaging.objects.layer_targets import ALL_FRAMES, referenced_frames
from app.imaging.objects.report_values import class_name, date_text, person_text
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.types import Instance, Lut, OverlayPlane, Rescale, Shutter, Voi

_FAMILY = "1.2.840.10008.5.1.4.1.1.11."
_COLOR = f"{_FAMILY}2"
_BLENDING = frozenset({f"{_FAMILY}4", f"{_FAMILY}8"})
_GREY = frozenset(f"{_FAMILY}{end}" for end in (1, 3, 5, 12))
_SIZES = {"TRUE SIZE": "its true size on the screen", "MAGNIFY": "a magnification of its own"}
_MAX_SHAPES = 200_000

MAX_TARGETS = 50_000
MAX_WORK = 1_000_000

Key = tuple[str, int]


def read_presentation(instance: Instance) -> PresentationState:
    """Return a presentation state's settings; parts that cannot be applied become warnings.

    Raises:
        FileProblem: The file cannot be read.
    """
    header = read_header(instance.path)
    return _StateReader(header).state(instance)


class _StateReader:
    """Reader of one presentation state."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._dataset = header.dataset
        self._class = header.text("SOPClassUID")
        self._warnings: list[str] = []
        self._layers = _GraphicLayers(self._dataset)
        self._shape_cache: dict[tuple[int, int, Placement], list[Shape]] = {}
        self._shapes = 0
        self._modality_known: dict[int, tuple[Rescale | None, Lut | None]] = {}
        # The overlay groups that are shown, with the names of their graphic layers.
        named = {group: _overlay_text(self._dataset, group, 0x1001) for group in GROUPS}
        self._active = {group: name for group, name in named.items() if name}
        for name in self._active.values():
            self._layers.number(name)

    def state(self, instance: Instance) -> PresentationState:
        """Return the whole state."""
        listed = _state_images(self._dataset)
        if not listed:
            self._warn("it names no image, so it is applied to none")
        self._warn_about_class()
        planes = self._overlays()
        shutter = shutter_of(self._dataset, planes)
        if shutter is None and has_shutter(self._dataset):
            self._warn("its shutter is damaged and not applied")
        images = self._images(listed, planes, shutter)
        text = self._header.text
        title = text("ContentLabel") or text("SeriesDescription") or "Presentation state"
        made = (
            person_text(text("ContentCreatorName")),
            date_text(text("PresentationCreationDate")),
        )
        description = (text("ContentDescription"), " ".join(filter(None, made)))
        warnings = tuple(self._warnings)
        layer = Layer(instance, title, tuple(self._layers.items), warnings)
        return PresentationState(layer, ". ".join(filter(None, description)), images, warnings)

    def _overlays(self) -> dict[int, OverlayPlane]:
        """Return the state's overlay bitmaps by group number; warn of the damaged ones."""
        planes = overlays_of(self._header, 0, np.zeros(0, np.uint8))
        found = {plane.group: plane for plane in planes}
        for group in GROUPS:
            if group << 16 | 0x3000 not in self._dataset:
                continue
            if group not in found:
                self._warn(f"its overlay {group:04X} is damaged and not shown")
            elif (numbers(_overlay_value(self._dataset, group, 0x0015)) or (1,))[0] > 1:
                self._warn(f"of its overlay {group:04X} only the first frame is shown")
        return found

    def _images(
        self,
        listed: dict[str, set[int]],
        planes: dict[int, OverlayPlane],
        shutter: Shutter | None,
    ) -> dict[Key, ImagePresentation]:
        """Return the presentation of each image; equal presentations share one object."""
        areas, vois, modalities, graphics = (
            _ReferencedItems(items_of(self._dataset, keyword), len(listed))
            for keyword in (
                "DisplayedAreaSelectionSequence",
                "SoftcopyVOILUTSequence",
                "VariableModalityLUTSequence",
                "GraphicAnnotationSequence",
            )
        )
        flip, turns = self._rotation()
        inverse, presentation_lut = self._presentation_lut()
        common = ImagePresentation(
            inverse=inverse,
            presentation_lut=presentation_lut,
            shutter=shutter,
            overlays=tuple(plane for group, plane in planes.items() if group in self._active),
            flip_h=flip,
            quarter_turns=turns,
            image_overlays=tuple(group for group in self._active if group not in planes),
        )
        images: dict[Key, ImagePresentation] = {}
        known: dict[tuple[int, ...], ImagePresentation] = {}
        named = itertools.chain(*(one.named for one in (vois, areas, graphics, modalities)))
        for key in _target_keys(listed, named):
            area, voi, modality = (items.first_for(key) for items in (areas, vois, modalities))
            drawn = graphics.all_for(key)
            # The items live as long as the reader, so their ids identify them.
            same = tuple(id(item) for item in (area, voi, modality, *drawn))
            if same not in known:
                known[same] = self._image(common, area, voi, modality, drawn)
            images[key] = known[same]
        return images

    def _image(
        self,
        common: ImagePresentation,
        area: Dataset | None,
        voi: Dataset | None,
        modality: Dataset | None,
        graphics: Sequence[Dataset],
    ) -> ImagePresentation:
        """Return the presentation of the image to which these items apply."""
        modality = self._dataset if modality is None else modality
        if id(modality) not in self._modality_known:
            self._modality_known[id(modality)] = self._modality(modality)
        rescale, modality_lut = self._modality_known[id(modality)]
        placed = self._with_area(common, area)
        return replace(
            placed,
            rescale=rescale,
            modality_lut=modality_lut,
            voi=self._voi(voi),
            shapes=self._graphic_shapes(
                graphics, Placement(placed.displayed_area, placed.flip_h, placed.quarter_turns)
            ),
        )

    def _modality(self, item: Dataset) -> tuple[Rescale | None, Lut | None]:
        """Return rescale and LUT; by default the identity, not the image's own (PS3.4 N.2)."""
        if self._class not in _GREY:
            return None, None
        attributes = self._attributes(item)
        units, lut = modality_of(attributes)
        if lut is not None:
            return units, lut
        if value_of(item, "ModalityLUTSequence") is not None:
            self._warn("its modality lookup table is damaged and not applied")
        known = any(finite_numbers(item, f"Rescale{part}", 1) for part in ("Slope", "Intercept"))
        return (rescale_of(attributes) if known else Rescale()), None

    def _voi(self, item: Dataset | None) -> Voi | None:
        if self._class not in _GREY:
            return None
        if item is None:
            self._warn("it gives no grey window for some images: their full range is shown")
            return Voi()
        voi = voi_of(self._attributes(item))
        luts = luts_of(self._attributes(item), "VOILUTSequence")
        if not voi.windows and not luts:
            self._warn("one of its grey windows is damaged; the image's own is shown")
            return None
        return Voi(voi.windows, luts)

    def _presentation_lut(self) -> tuple[bool | None, Lut | None]:
        """Return polarity and LUT (C.11.6), which override MONOCHROME1 and 2 (PS3.4 N.2.1.4)."""
        if self._class not in _GREY:
            return None, None
        luts = luts_of(self._attributes(self._dataset), "PresentationLUTSequence")
        if luts:
            return False, luts[0]
        if value_of(self._dataset, "PresentationLUTSequence") is not None:
            self._warn("its presentation lookup table is damaged and not applied")
        shape = text_of(self._dataset, "PresentationLUTShape").upper()
        if shape not in ("INVERSE", "IDENTITY"):
            self._warn("it does not say which end is white: the image's own polarity is kept")
            return None, None
        return shape == "INVERSE", None

    def _rotation(self) -> tuple[bool, int]:
        """Return flip and clockwise quarter turns, in this order (C.10.6 turns before it flips)."""
        degrees = whole_number(self._dataset, "ImageRotation")
        if degrees is None:
            degrees = whole_number(self._dataset, "ImageRotationRetired") or 0
        if degrees % 90:
            self._warn("its rotation is not by quarter turns and not applied")
            degrees = 0
        flip = text_of(self._dataset, "ImageHorizontalFlip").upper() == "Y"
        # A flip after the turns equals a flip before the opposite turns.
        turns = degrees // 90 % 4
        return flip, -turns % 4 if flip else turns

    def _with_area(self, common: ImagePresentation, item: Dataset | None) -> ImagePresentation:
        """Add what an item of the Displayed Area Selection Sequence says (C.10.4)."""
        if item is None:
            return common
        first = finite_numbers(item, "DisplayedAreaTopLeftHandCorner", 2)
        last = finite_numbers(item, "DisplayedAreaBottomRightHandCorner", 2)
        box = None
        if first is not None and last is not None and max(map(abs, first + last)) < 1e7:
            # Pixels count from 1; the corners are those of the rotated display in unrotated pixels.
            xs, ys = sorted((first[0], last[0])), sorted((first[1], last[1]))
            box = (xs[0] - 1.5, ys[0] - 1.5, xs[1] - 0.5, ys[1] - 0.5)
        spacing = _pixel_size(item, "PresentationPixelSpacing")
        ratio = spacing or _pixel_size(item, "PresentationPixelAspectRatio")
        mode = text_of(item, "PresentationSizeMode").upper()
        if mode in _SIZES:
            self._warn(f"it asks for {_SIZES[mode]}: the image is fitted to the window instead")
        aspect = ratio[0] / ratio[1] if ratio else None
        return replace(common, displayed_area=box, pixel_spacing=spacing, aspect=aspect)

    def _graphic_shapes(
        self, graphics: Sequence[Dataset], placement: Placement
    ) -> tuple[Shape, ...]:
        shapes: list[Shape] = []
        for item in graphics if self._shapes < _MAX_SHAPES else ():
            number = self._layers.number(text_of(item, "GraphicLayer"))
            known = (id(item), number, placement)
            if known not in self._shape_cache:
                self._shape_cache[known], lost = _annotation_shapes(item, number, placement)
                if lost:
                    self._warn("some of its graphics or texts are damaged or of an unknown kind")
            shapes += self._shape_cache[known]
        self._shapes += len(shapes)
        if self._shapes >= _MAX_SHAPES:
            self._warn(f"of its graphics only about {_MAX_SHAPES:,} are drawn")
        return tuple(sorted(shapes, key=lambda shape: shape.item))

    def _warn_about_class(self) -> None:
        if self._class == _COLOR or self._class in _GREY:
            for keyword, part in (
                ("RedPaletteColorLookupTableDescriptor", "its colour palette"),
                ("MaskSubtractionSequence", "the subtraction of its mask"),
            ):
                if keyword in self._dataset:
                    self._warn(f"only partly understood: {part} is not applied")
        elif self._class in _BLENDING:
            self._warn("only partly understood: its blending of images is not applied")
        else:
            self._warn(f"only partly understood: {class_name(self._class)}")

    def _attributes(self, item: Dataset) -> FrameAttributes:
        return FrameAttributes(Header(self._header.path, item, self._header.syntax, None), 0)

    def _warn(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.append(text)


def _pixel_size(item: Dataset, keyword: str) -> tuple[float, float] | None:
    """Return (vertical, horizontal) if both are a possible size of a pixel."""
    pair = finite_numbers(item, keyword, 2)
    if pair is None or not all(1e-6 < part < 1e6 for part in pair):
        return None
    return pair[0], pair[1]


def _overlay_value(dataset: Dataset, group: int, element: int) -> Any:
    try:
        return dataset[group << 16 | element].value
    except Exception:
        return None  # missing, or a value that pydicom cannot convert


def _overlay_text(dataset: Dataset, group: int, element: int) -> str:
    value = _overlay_value(dataset, group, element)
    return clean_text(value) if isinstance(value, str) else ""


class _ReferencedItems:
    """Sequence items that apply to the images they reference, or to all if they reference none.

    `targets` is the number of images that may have to be matched with them; it limits the work.
    """

    def __init__(self, items: Sequence[Dataset], targets: int) -> None:
        self._general: list[tuple[int, Dataset]] = []
        self.named: dict[Key, list[tuple[int, Dataset]]] = {}
        most = MAX_WORK // max(targets, 1)
        for position, item in enumerate(items):
            references = items_of(item, "ReferencedImageSequence")
            if not references and len(self._general) < most:
                self._general.append((position, item))
            for key in referenced_frames(references):
                self.named.setdefault(key, []).append((position, item))

    def all_for(self, key: Key) -> list[Dataset]:
        """Return all items that apply to an image frame, each once, in file order."""
        found = dict(self._items_naming(key) + self._general)
        return [item for _, item in sorted(found.items(), key=itemgetter(0))]

    def first_for(self, key: Key) -> Dataset | None:
        """Return the most specific item: for the frame, else the image, else for all; or None."""
        found = (*self._items_naming(key), *self._general[:1])
        return found[0][1] if found else None

    def _items_naming(self, key: Key) -> list[tuple[int, Dataset]]:
        of_all = self.named.get((key[0], ALL_FRAMES), []) if key[1] != ALL_FRAMES else []
        return self.named.get(key, []) + of_all


def _state_images(dataset: Dataset) -> dict[str, set[int]]:
    """Map the UID of each image that a state applies to, to its frames (or `ALL_FRAMES`)."""
    found: dict[str, set[int]] = {}
    sources = [dataset]
    for keyword in ("BlendingSequence", "AdvancedBlendingSequence"):
        sources += items_of(dataset, keyword)
    for source in sources:
        for series in items_of(source, "ReferencedSeriesSequence"):
            for uid, frame in referenced_frames(items_of(series, "ReferencedImageSequence")):
                found.setdefault(uid, set()).add(frame)
    return found


def _target_keys(listed: dict[str, set[int]], named: Iterable[Key]) -> list[Key]:
    """Return the images in `listed`, and their frames in `named`, at most `MAX_TARGETS`."""
    whole = ((uid, frame) for uid, frames in listed.items() for frame in sorted(frames))
    own = (key for key in named if ALL_FRAMES in listed.get(key[0], ()))
    return list(dict.fromkeys(itertools.islice(itertools.chain(whole, own), MAX_TARGETS)))


@dataclass(frozen=True, slots=True)
class Placement:
    """Displayed area, flip and turns of an image, as in `ImagePresentation` (C.10.4, C.10.6)."""

    area: tuple[float, float, float, float] | None
    flip_h: bool
    quarter_turns: int

    def pixel(self, point: XY, units: str) -> XY | None:
        """Convert (x, y) in `units` to pixels with integer centres; None if that is impossible.

        PIXEL units count from the corner of the top left pixel, before any rotation. DISPLAY units
        are fractions of the displayed area, after flip and rotation. MATRIX (pixels of a whole
        slide) is not supported.
        """
        if units == "PIXEL":
            return pixel_point(point)
        if units != "DISPLAY" or self.area is None:
            return None
        u, v = point
        # Undo the turns, then the flip, in the reverse of their order.
        for _ in range(self.quarter_turns):
            u, v = v, 1 - u
        if self.flip_h:
            u = 1 - u
        x0, y0, x1, y1 = self.area
        return x0 + u * (x1 - x0), y0 + v * (y1 - y0)


class _GraphicLayers:
    """The graphic layers in a state, in drawing order: names, colours and numbers (from 1)."""

    def __init__(self, dataset: Dataset) -> None:
        self._numbers: dict[str, int] = {}
        self.items: list[LayerItem] = []
        layers = items_of(dataset, "GraphicLayerSequence")
        for layer in sorted(layers, key=lambda one: whole_number(one, "GraphicLayerOrder") or 0):
            color = _recommended_color(layer)
            detail = text_of(layer, "GraphicLayerDescription")
            self._add(text_of(layer, "GraphicLayer"), color, detail)

    def number(self, name: str) -> int:
        """Return a layer's number; a layer that the state uses but does not define is added."""
        if name not in self._numbers:
            self._add(name, None, "")
        return self._numbers[name]

    def _add(self, name: str, color: RGB | None, detail: str) -> None:
        number = len(self.items) + 1
        self._numbers.setdefault(name, number)
        shown = color or palette_color(number)
        self.items.append(LayerItem(number, name or f"Layer {number}", shown, detail))


def _recommended_color(layer: Dataset) -> RGB | None:
    """Return the colour that the state recommends: CIELab, else RGB, else a grey (P-Values)."""
    lab = color_from_cielab(numbers(value_of(layer, "GraphicLayerRecommendedDisplayCIELabValue")))
    if lab is not None:
        return lab
    rgb = finite_numbers(layer, "GraphicLayerRecommendedDisplayRGBValue", 3)
    grey = finite_numbers(layer, "GraphicLayerRecommendedDisplayGrayscaleValue", 1)
    values = rgb or (grey * 3 if grey else None)
    if values is None or not all(0 <= value <= 65535 for value in values):
        return None
    red, green, blue = (round(value / 257) for value in values)
    return red, green, blue


def _annotation_shapes(
    annotation: Dataset, layer: int, placement: Placement
) -> tuple[list[Shape], bool]:
    """Return shapes of a Graphic Annotation item (C.10.5), and if any was not understood."""
    shapes: list[Shape] = []
    lost = False
    plain = items_of(annotation, "GraphicObjectSequence")
    texts = items_of(annotation, "TextObjectSequence")
    shown = {whole_number(item, "CompoundGraphicInstanceID") for item in plain + texts} - {None}
    compounds = [
        item
        for item in items_of(annotation, "CompoundGraphicSequence")
        if whole_number(item, "CompoundGraphicInstanceID") not in shown
    ]
    kinds = ((plain, _graphic_geometries), (compounds, _compound_geometries), (texts, _text_shapes))
    for items, make in kinds:
        for item in items:
            parts = make(item, placement)
            lost = lost or not parts
            filled = text_of(item, "GraphicFilled").upper() == "Y"
            shapes += [Shape(layer, part, filled and isinstance(part, Polygon)) for part in parts]
    return shapes, lost


def _graphic_points(item: Dataset, units: str, placement: Placement) -> list[XY]:
    given = coordinate_pairs(numbers(value_of(item, "GraphicData")))
    if given is None or (whole_number(item, "GraphicDimensions") or 2) != 2:
        return []
    # Some writers pad Graphic Data.
    count = whole_number(item, "NumberOfGraphicPoints")
    if count is not None and 0 < count < len(given):
        given = given[:count]
    placed = [placement.pixel(point, units) for point in given]
    return [point for point in placed if point is not None]


def _graphic_geometries(item: Dataset, placement: Placement) -> Sequence[Geometry]:
    units = text_of(item, "GraphicAnnotationUnits").upper()
    points = _graphic_points(item, units, placement)
    return graphic_geometries(text_of(item, "GraphicType").upper(), points) if points else ()


def _compound_geometries(item: Dataset, placement: Placement) -> Sequence[Geometry]:
    """Return a compound graphic that has no plain equivalent in the state (C.10.5.1.3)."""
    units = text_of(item, "CompoundGraphicUnits").upper()
    kind = text_of(item, "CompoundGraphicType").upper()
    points = _graphic_points(item, units, placement)
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


def _text_shapes(item: Dataset, placement: Placement) -> Sequence[Geometry | Label]:
    """Return a text, and the line to its anchor if that is visible (C.10.5.1.1)."""
    text = text_of(item, "UnformattedTextValue")
    anchor = _pixel_corner(item, "AnchorPoint", "AnchorPointAnnotationUnits", placement)
    units = "BoundingBoxAnnotationUnits"
    first = _pixel_corner(item, "BoundingBoxTopLeftHandCorner", units, placement)
    last = _pixel_corner(item, "BoundingBoxBottomRightHandCorner", units, placement)
    box = None
    if first is not None and last is not None:
        # The first corner is at the top left as shown, which differs in a rotated image.
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


def _pixel_corner(item: Dataset, keyword: str, units: str, placement: Placement) -> XY | None:
    values = finite_numbers(item, keyword, 2)
    if values is None or max(abs(values[0]), abs(values[1])) > 1e7:
        return None
    return placement.pixel((values[0], values[1]), text_of(item, units).upper())
