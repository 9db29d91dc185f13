"""Presentation states: how somebody wanted an image to be seen (PS3.3 A.33, C.11; types only)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from app.imaging.layers import Layer, Shape
from app.imaging.records import pack, unpack
from app.imaging.types import Lut, OverlayPlane, Rescale, Shutter, Voi


@dataclass(frozen=True, slots=True)
class ImagePresentation:
    """What a state says about one frame of one image; None or empty where it says nothing.

    Attributes:
        rescale: Modality rescale that replaces the image's own (C.11.6).
        modality_lut: Modality LUT that replaces it.
        voi: Windows and LUTs that replace the image's own (C.11.8).
        inverse: Presentation LUT Shape INVERSE; None when the state does not say.
        presentation_lut: P-LUT, or None.
        shutter: Display shutter.
        overlays: Bitmaps that the state itself brings.
        flip_h: Left and right are exchanged before the rotation (C.10.6).
        quarter_turns: Clockwise quarter turns, after the flip.
        displayed_area: (x0, y0, x1, y1) of pixels to be shown, edges of pixels, or None for all.
        pixel_spacing: (row, column) mm that the state gives for display, or None.
        shapes: Graphic and text annotations, in pixels of the image.
    """

    rescale: Rescale | None = None
    modality_lut: Lut | None = None
    voi: Voi | None = None
    inverse: bool | None = None
    presentation_lut: Lut | None = None
    shutter: Shutter | None = None
    overlays: tuple[OverlayPlane, ...] = ()
    flip_h: bool = False
    quarter_turns: int = 0
    displayed_area: tuple[float, float, float, float] | None = None
    pixel_spacing: tuple[float, float] | None = None
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True)
class PresentationState:
    """A presentation state.

    Attributes:
        layer: Its graphics as a layer (graphic layers are the items), with its file and title.
        description: ContentDescription, and who made it.
        images: (SOP Instance UID, frame from 0) -> what it says of that frame. Frame -1 stands for
            all frames of the image that have no entry of their own.
        warnings: What of it is not understood.
    """

    layer: Layer
    description: str = ""
    images: dict[tuple[str, int], ImagePresentation] = field(
        default_factory=dict[tuple[str, int], ImagePresentation]
    )
    warnings: tuple[str, ...] = ()

    def of(self, sop_instance_uid: str, frame: int) -> ImagePresentation | None:
        """What it says of a frame; None when it is not about it."""
        own = self.images.get((sop_instance_uid, frame))
        return own if own is not None else self.images.get((sop_instance_uid, -1))


def presentation_message(state: PresentationState) -> dict[str, Any]:
    """The state as a message for `wire`, whose keys can only be text."""
    entries = [[uid, frame, pack(image)] for (uid, frame), image in state.images.items()]
    plain = pack(PresentationState(state.layer, state.description, {}, state.warnings))
    return plain | {"images": entries}


def presentation_from(message: dict[str, Any]) -> PresentationState:
    """The inverse of `presentation_message`."""
    images = {(uid, frame): unpack(ImagePresentation, one) for uid, frame, one in message["images"]}
    plain = unpack(PresentationState, message | {"images": {}})
    return PresentationState(plain.layer, plain.description, images, plain.warnings)
