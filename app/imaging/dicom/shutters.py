"""Display shutters of an image (PS3.3 C.7.6.11, C.7.6.15). Runs in a worker process."""

from __future__ import annotations

from typing import Any

from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from app.imaging.dicom.describe import FrameAttributes
from app.imaging.objects import presentation_planes
from app.imaging.types import OverlayPlane, Shutter


def shutter_of(attributes: FrameAttributes, planes: tuple[OverlayPlane, ...]) -> Shutter | None:
    """What of a frame is to be seen; None for all.

    Args:
        attributes: The frame; an enhanced one has its own shutter (C.7.6.16.2.5).
        planes: Its overlays, of which one may be the shutter's bitmap.
    """
    own: Any = attributes.value("FrameDisplayShutterSequence")
    if isinstance(own, Sequence) and len(own):
        dataset: Dataset = own[0]
    else:
        dataset = attributes.header.dataset
    if not presentation_planes.has_shutter(dataset):
        return None
    return presentation_planes.shutter_of(dataset, {plane.group: plane for plane in planes})
