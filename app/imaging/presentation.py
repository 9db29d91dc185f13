"""Types of presentation states: how an image is meant to be displayed (PS3.3 A.33, C.11)."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from app.imaging.layers import Layer, Shape
from app.imaging.processes.records import pack, unpack
from app.imaging.types import Lut, OverlayPlane, Rescale, Shutter, Voi


@dataclass(frozen=True, slots=True)
class ImagePresentation:
    """The display settings that a presentation state contains for one frame.

    Attributes:
        rescale: Modality rescale that replaces the image's own (C.11.6), or None.
        modality_lut: Modality LUT that replaces the image's rescale, or None. If there is one,
            `rescale` only holds the units.
        voi: Windows and LUTs that replace the image's own (C.11.8). An empty `Voi` shows the full
            range of values; None keeps the image's own.
        inverse: Whether Presentation LUT Shape is INVERSE; None if the state does not set it.
        presentation_lut: Presentation LUT that replaces the image's own, or None.
        shutter: Display shutter that replaces the image's own; None removes the image's own.
        overlays: Bitmaps stored in the presentation state itself that are to be shown.
        flip_h: Whether left and right are exchanged, before the rotation (C.10.6).
        quarter_turns: Number of clockwise quarter turns, after the flip.
        displayed_area: Outer edges (x0, y0, x1, y1) of the area to be shown, in pixels with integer
            centres; None for the whole image.
        pixel_spacing: Pixel spacing for display as (row, column) in mm, or None.
        shapes: Graphic and text annotations, in pixels of the image.
        image_overlays: Groups (0x6000, ...) of the image's own overlays that are to be shown
            (C.11.7); None if the state does not set this.
        aspect: Height of a pixel divided by its width, for display (C.10.4), or None.
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
    image_overlays: tuple[int, ...] | None = None
    aspect: float | None = None


@dataclass(frozen=True, slots=True)
class PresentationState:
    """A presentation state: settings that say how certain images are to be displayed.

    Attributes:
        layer: The state's graphics as a layer, whose items are the graphic layers; it also holds
            the state's file and title.
        description: ContentDescription and the creator's name.
        images: Maps (SOP Instance UID, frame from 0) to the settings for that frame. Frame -1
            stands for all frames of the image that do not have an entry of their own.
        warnings: Parts of the state that are not supported.
    """

    layer: Layer
    description: str = ""
    images: dict[tuple[str, int], ImagePresentation] = field(
        default_factory=dict[tuple[str, int], ImagePresentation]
    )
    warnings: tuple[str, ...] = ()

    def of(self, sop_instance_uid: str, frame: int) -> ImagePresentation | None:
        """Return the settings for a frame (from 0); None if the state does not refer to it."""
        own = self.images.get((sop_instance_uid, frame))
        return own if own is not None else self.images.get((sop_instance_uid, -1))


def presentation_message(state: PresentationState) -> dict[str, Any]:
    """Convert a state to a message for `wire`, in which all keys must be strings.

    Settings shared by many images, such as a table of 65,536 greys, are sent only once.
    """
    said = list({id(image): image for image in state.images.values()}.values())
    numbers = {id(image): number for number, image in enumerate(said)}
    names = [one.name for one in fields(ImagePresentation)]
    common = [
        name
        for name in names
        if all(getattr(image, name) is getattr(said[0], name) for image in said)
    ]
    own = [name for name in names if name not in common]
    images = [[uid, frame, numbers[id(image)]] for (uid, frame), image in state.images.items()]
    return pack(replace(state, images={})) | {
        "images": images,
        "common": {name: pack(getattr(said[0], name)) for name in common} if said else {},
        "said": [{name: pack(getattr(image, name)) for name in own} for image in said],
    }


def presentation_from(message: dict[str, Any]) -> PresentationState:
    """Rebuild a presentation state from a message made by `presentation_message`."""
    rest = dict(message)
    common, said, images = (rest.pop(name) for name in ("common", "said", "images"))
    made = [unpack(ImagePresentation, common | one) for one in said]
    plain = unpack(PresentationState, rest | {"images": {}})
    return replace(plain, images={(uid, frame): made[number] for uid, frame, number in images})
