"""Softcopy presentation states: what each says of its images. Runs in a worker process.

PS3.3 A.33, C.10.4 to C.10.7, C.11.4 to C.11.12; PS3.4 N.2 for the order of the transformations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydicom.dataset import Dataset

from app.imaging.dicom.describe import luts_of, modality_of, rescale_of, voi_of
from app.imaging.dicom.dicom_file import Header, read_header, value_of
from app.imaging.dicom.dicom_items import finite, items_of, text_of, whole
from app.imaging.dicom.frame_attributes import FrameAttributes
from app.imaging.dicom.shutters import has_shutter, shutter_of
from app.imaging.layers import Layer, Shape
from app.imaging.objects.presentation_graphics import GraphicLayers, Placement, drawn
from app.imaging.objects.presentation_planes import (
    active_layers,
    state_overlays,
)
from app.imaging.objects.presentation_references import Key, Parts, listed_images, target_keys
from app.imaging.objects.report_values import class_name, date_text, person_text
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.types import Instance, Lut, OverlayPlane, Rescale, Shutter, Voi

_FAMILY = "1.2.840.10008.5.1.4.1.1.11."
_COLOR = f"{_FAMILY}2"
_BLENDING = frozenset({f"{_FAMILY}4", f"{_FAMILY}8"})
_GREY = frozenset(f"{_FAMILY}{end}" for end in (1, 3, 5, 12))
_SIZES = {"TRUE SIZE": "its true size on the screen", "MAGNIFY": "a magnification of its own"}
_MAX_SHAPES = 200_000


def read_presentation(instance: Instance) -> PresentationState:
    """The state; what of it cannot be applied here is a warning.

    Raises:
        FileProblem: The file cannot be read.
    """
    header = read_header(instance.path)
    return _Reader(header).state(instance)


@dataclass(frozen=True, slots=True)
class _Area:
    """An item of the Displayed Area Selection Sequence (C.10.4)."""

    box: tuple[float, float, float, float] | None = None
    spacing: tuple[float, float] | None = None
    aspect: float | None = None
    mode: str = "SCALE TO FIT"
    magnification: float | None = None


class _Reader:
    """Reads one state."""

    def __init__(self, header: Header) -> None:
        self._header = header
        self._dataset = header.dataset
        self._class = header.text("SOPClassUID")
        self._warnings: list[str] = []
        self._layers = GraphicLayers(self._dataset)
        self._drawn: dict[tuple[int, int, Placement], list[Shape]] = {}
        self._shapes = 0
        self._modality_known: dict[int, tuple[Rescale | None, Lut | None]] = {}
        self._active = active_layers(self._dataset)
        for name in self._active.values():
            self._layers.number(name)
        listed = listed_images(self._dataset)
        if not listed:
            self._warn("it names no image, so it is applied to none")
        self._vois = self._parts("SoftcopyVOILUTSequence", len(listed))
        self._areas = self._parts("DisplayedAreaSelectionSequence", len(listed))
        self._graphics = self._parts("GraphicAnnotationSequence", len(listed))
        self._modalities = self._parts("VariableModalityLUTSequence", len(listed))
        self._keys = target_keys(
            listed,
            (
                key
                for parts in (self._vois, self._areas, self._graphics, self._modalities)
                for key in parts.named()
            ),
        )

    def state(self, instance: Instance) -> PresentationState:
        """The whole state."""
        self._warn_about_class()
        planes = state_overlays(self._header, self._warnings)
        shutter = shutter_of(self._dataset, planes)
        if shutter is None and has_shutter(self._dataset):
            self._warn("its shutter is damaged and not applied")
        images = self._images(planes, shutter)
        text = self._header.text
        title = text("ContentLabel") or text("SeriesDescription") or "Presentation state"
        warnings = tuple(self._warnings)
        layer = Layer(instance, title, self._layers.items, warnings)
        return PresentationState(layer, self._description(), images, warnings)

    def _images(
        self, planes: dict[int, OverlayPlane], shutter: Shutter | None
    ) -> dict[Key, ImagePresentation]:
        """What is said of each image; of which the same is said, they share the object."""
        flip, turns = self._turned()
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
        for key in self._keys:
            single = [parts.one(key) for parts in (self._areas, self._vois, self._modalities)]
            graphics = self._graphics.of(key)
            same = tuple(id(item) for item in (*single, *graphics))
            if same not in known:
                known[same] = self._image(common, single, graphics)
            images[key] = known[same]
        return images

    def _image(
        self,
        common: ImagePresentation,
        single: Sequence[Dataset | None],
        graphics: Sequence[Dataset],
    ) -> ImagePresentation:
        """What the parts for one image say; `single` are its area, VOI and modality items."""
        area = self._area(single[0])
        item = single[2] if single[2] is not None else self._dataset
        if id(item) not in self._modality_known:
            self._modality_known[id(item)] = self._modality(item)
        rescale, modality_lut = self._modality_known[id(item)]
        return replace(
            common,
            rescale=rescale,
            modality_lut=modality_lut,
            voi=self._voi(single[1]),
            displayed_area=area.box,
            pixel_spacing=area.spacing,
            shapes=self._shapes_of(
                graphics, Placement(area.box, common.flip_h, common.quarter_turns)
            ),
            aspect=area.aspect,
            size_mode=area.mode,
            magnification=area.magnification,
        )

    def _modality(self, item: Dataset) -> tuple[Rescale | None, Lut | None]:
        """What a state lacks is an identity: the image's own is not used (PS3.4 N.2)."""
        if self._class not in _GREY:
            return None, None
        attributes = self._attributes(item)
        units, lut = modality_of(attributes)
        if lut is not None:
            return units, lut
        if value_of(item, "ModalityLUTSequence") is not None:
            self._warn("its modality lookup table is damaged and not applied")
        known = any(finite(item, f"Rescale{part}", 1) for part in ("Slope", "Intercept"))
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
            self._warn("a grey window of it is damaged; the image's own is shown")
            return None
        return Voi(voi.windows, luts)

    def _presentation_lut(self) -> tuple[bool | None, Lut | None]:
        """Shape or LUT (C.11.6); they also override MONOCHROME1 and 2 (PS3.4 N.2.1.4)."""
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

    def _turned(self) -> tuple[bool, int]:
        """C.10.6 turns clockwise and then flips; here the flip comes first."""
        degrees = whole(self._dataset, "ImageRotation")
        if degrees is None:
            degrees = whole(self._dataset, "ImageRotationRetired") or 0
        if degrees % 90:
            self._warn("its rotation is not by quarter turns and not applied")
            degrees = 0
        flip = text_of(self._dataset, "ImageHorizontalFlip").upper() == "Y"
        turns = degrees // 90 % 4
        return flip, -turns % 4 if flip else turns

    def _area(self, item: Dataset | None) -> _Area:
        if item is None:
            return _Area()
        first = finite(item, "DisplayedAreaTopLeftHandCorner", 2)
        last = finite(item, "DisplayedAreaBottomRightHandCorner", 2)
        box = None
        if first is not None and last is not None and max(map(abs, first + last)) < 1e7:
            # Pixels from 1; which is the top left once it is turned, is told in unturned pixels.
            xs, ys = sorted((first[0], last[0])), sorted((first[1], last[1]))
            box = (xs[0] - 1.5, ys[0] - 1.5, xs[1] - 0.5, ys[1] - 0.5)
        spacing = finite(item, "PresentationPixelSpacing", 2)
        ratio = finite(item, "PresentationPixelAspectRatio", 2)
        magnification = finite(item, "PresentationPixelMagnificationRatio", 1)
        known = _positive(spacing)
        pair = known or _positive(ratio)
        mode = text_of(item, "PresentationSizeMode").upper()
        if mode in ("TRUE SIZE", "MAGNIFY"):
            self._warn(f"it asks for {_SIZES[mode]}: the image is fitted to the window instead")
        return _Area(
            box,
            known,
            pair[0] / pair[1] if pair else None,
            mode if mode in ("TRUE SIZE", "MAGNIFY") else "SCALE TO FIT",
            magnification[0] if magnification and 0 < magnification[0] < 1e4 else None,
        )

    def _shapes_of(self, graphics: Sequence[Dataset], placement: Placement) -> tuple[Shape, ...]:
        shapes: list[Shape] = []
        for item in graphics if self._shapes < _MAX_SHAPES else ():
            number = self._layers.number(text_of(item, "GraphicLayer"))
            known = (id(item), number, placement)
            if known not in self._drawn:
                self._drawn[known], lost = drawn(item, number, placement)
                if lost:
                    self._warn("some of its graphics or texts are damaged or of an unknown kind")
            shapes += self._drawn[known]
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

    def _description(self) -> str:
        text = self._header.text
        made = " ".join(
            part
            for part in (
                person_text(text("ContentCreatorName")),
                date_text(text("PresentationCreationDate")),
            )
            if part
        )
        return ". ".join(part for part in (text("ContentDescription"), made) if part)

    def _parts(self, keyword: str, targets: int) -> Parts:
        return Parts(items_of(self._dataset, keyword), targets)

    def _attributes(self, item: Dataset) -> FrameAttributes:
        return FrameAttributes(Header(self._header.path, item, self._header.syntax, None), 0)

    def _warn(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.append(text)


def _positive(pair: tuple[float, ...] | None) -> tuple[float, float] | None:
    """(vertical, horizontal) when both can be a pixel's size."""
    if pair is None or not all(1e-6 < part < 1e6 for part in pair):
        return None
    return pair[0], pair[1]
