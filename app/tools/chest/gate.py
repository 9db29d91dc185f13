"""What a chest model may be given: frontal chest radiographs. Anything else is refused, and why.

CT slices, ultrasound and laterals must never reach these models: they answer with confidence on
whatever they are shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Instance
from app.tools.api import ImageSnapshot, ToolFailed, ToolRetry

Position = Literal["PA", "AP", "lateral", "unknown"]

RADIOGRAPHY = frozenset({"CR", "DX", "RG", "XR"})
"""Modality (0008,0060) of projection radiographs: computed, digital, film; XR is seen too."""

_LATERAL = re.compile(r"^(LL|RL|LLO|RLO|LAT|LATERAL|LEFT LATERAL|RIGHT LATERAL)$")
_DECUBITUS = re.compile(r"^(LLD|RLD)$")
_OTHER_PARTS = re.compile(
    r"ABDOMEN|ANKLE|ARM|BRAIN|BREAST|CALCANEUS|CSPINE|C-?SPINE|CERVICAL|COCCYX|ELBOW|EXTREMITY|"
    r"FACE|FEMUR|FINGER|FOOT|FOREARM|HAND|HEAD|HIP|HUMERUS|JAW|KNEE|LEG|LUMBAR|LSPINE|L-?SPINE|"
    r"MANDIBLE|NECK|ORBIT|PELVIS|SACRUM|SHOULDER|SINUS|SKULL|TEETH|TIBIA|TOE|WRIST|ZYGOMA"
)
_CHEST = re.compile(r"CHEST|THORAX|TORAX|LUNG")
_REMEDY = "Open a frontal chest radiograph (PA or AP) and ask again."
_LATERAL_TEXT = "a lateral view; only frontal chest radiographs (PA or AP) can be used"

COLOUR_SPREAD = 24
"""Difference of a pixel's red, green and blue above which it is coloured."""
COLOUR_LIMIT = 0.2
"""Share of coloured pixels from which a picture is no radiograph."""
COLOUR_DOUBT = 0.002


@dataclass(frozen=True, slots=True)
class Admission:
    """An image that may be used.

    Attributes:
        position: The view that the file's attributes state.
        warnings: What makes results doubtful, in plain words.
    """

    position: Position
    warnings: tuple[str, ...]


def admit(snapshot: ImageSnapshot) -> Admission:
    """Check an image's attributes and colours.

    Raises:
        ToolFailed: It is no frontal chest radiograph.
        ToolRetry: It is a picture this run made with colours drawn into it.
    """
    instance = snapshot.instance
    warnings = [*_check_modality(instance), *_check_body_part(instance)]
    position, doubts = _check_view(snapshot)
    warnings += doubts
    warnings += _check_colours(snapshot)
    return Admission(position, tuple(warnings))


def grey(display: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[rows, columns] of a displayed image; colour by its luma (ITU-R BT.601)."""
    if display.ndim == 2:
        return display
    red, green, blue = (display[..., i].astype(np.float32) for i in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    return np.clip(np.rint(luma), 0, 255).astype(np.uint8)


def _check_modality(instance: Instance) -> list[str]:
    if instance.kind != "dicom":
        return [
            "a picture without DICOM attributes: that it is a chest radiograph is taken as said"
        ]
    modality = instance.get("Modality").strip().upper()
    if not modality:
        return ["the file does not say its modality"]
    if modality not in RADIOGRAPHY:
        raise ToolFailed(
            f"this image is {modality}, not a chest radiograph (CR, DX)", remedy=_REMEDY
        )
    return []


def _check_body_part(instance: Instance) -> list[str]:
    part = instance.get("BodyPartExamined").strip().upper()
    if part and not _CHEST.search(part) and _OTHER_PARTS.search(part):
        raise ToolFailed(
            f"the file says that this image shows the {part.lower()}, not the chest", remedy=_REMEDY
        )
    return []


def _check_view(snapshot: ImageSnapshot) -> tuple[Position, list[str]]:
    view = snapshot.instance.get("ViewPosition").strip().upper()
    # PatientOrientation of a lateral: rows run to the patient's front or back.
    if _LATERAL.match(view) or snapshot.frame.orientation.row[:1] in ("A", "P"):
        raise ToolFailed(f"the file says that this is {_LATERAL_TEXT}", remedy=_REMEDY)
    if _DECUBITUS.match(view):
        return "unknown", ["a decubitus view: free fluid and air lie elsewhere than upright"]
    if view == "PA":
        return "PA", []
    if view.startswith("AP"):
        return "AP", []
    return "unknown", []


def _check_colours(snapshot: ImageSnapshot) -> list[str]:
    display = snapshot.display
    if display.ndim == 2:
        return []
    spread = display.max(axis=2).astype(np.int16) - display.min(axis=2)
    share = float((spread > COLOUR_SPREAD).mean())
    if share <= COLOUR_DOUBT:
        return []
    if snapshot.derived:
        raise ToolRetry(
            "this picture has colours drawn into it by a tool; name the original image instead"
        )
    if share >= COLOUR_LIMIT:
        raise ToolFailed("this is a colour picture, not a radiograph", remedy=_REMEDY)
    return ["the picture has coloured marks, which may mislead the model"]
