"""Alignment of a prior radiograph with the current one, by a registration in the model process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import ImageSnapshot, ToolContext
from app.tools.chest import comparison, image_suitability
from app.tools.chest.comparison import Side
from app.tools.chest.ctr_geometry import LEFT_LUNG, RIGHT_LUNG
from app.tools.chest.model_pictures import Hanging
from app.tools.chest.segmenter import Segmentation

TIMEOUT_S = 240.0
_WIDTH_MM = 400.0  # taken for a radiograph's width where the spacing is unknown


@dataclass(frozen=True, slots=True)
class Looked:
    """One of the two, as far as it is known."""

    name: str
    snapshot: ImageSnapshot
    admission: image_suitability.Admission
    found: Segmentation
    hanging: Hanging
    pixels: NDArray[np.uint8]
    scores: dict[str, float]
    unscored: str

    @property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """Upright."""
        return {name: self.hanging.turned(mask) for name, mask in self.found.masks.items()}

    @property
    def side(self) -> Side:
        """For the table."""
        return Side(
            self.admission.position,
            self.masks,
            self.found.confidence,
            self.hanging.turned(self.pixels),
            self.snapshot.frame.spacing,
            self.scores,
        )


@dataclass(frozen=True, slots=True)
class Laid:
    """The prior laid on the current image.

    Attributes:
        told: What the registration says of itself; JSON.
        degrees: By how much the prior is turned against the current image.
        scale: Size of the chest on the prior over that on the current image, by their spacings;
            None where one is unknown.
        doubt: Why it is not to be trusted, or "".
        to_prior: [3, 3]: own pixels of the current image to own pixels of the prior.
        registered: The prior in the current image's own pixels.
    """

    told: dict[str, Any]
    degrees: float
    scale: float | None
    doubt: str
    to_prior: NDArray[np.float64]
    registered: NDArray[np.uint8]


def lay(current: Looked, prior: Looked, context: ToolContext) -> Laid:
    """Register the two, in the model process."""
    answer = context.host.call(
        "app.tools.chest.registration:entry",
        {**_payload(current, prior), "device": context.device},
        cancel=context.cancel,
        timeout_s=TIMEOUT_S,
        progress=context.progress,
    )
    degrees, scale = round(float(answer["degrees"]), 2), round(float(answer["scale"]), 4)
    overlap = round(float(answer["overlap"]), 3)
    doubt = comparison.is_sound(degrees, scale, overlap)
    told: dict[str, Any] = {
        "dice_before": round(float(answer["before"]), 3),
        "dice_after": overlap,
        "degrees": degrees,
        "scale": scale,
        "by": str(answer["by"]),
        "accepted": not doubt,
        "why": doubt,
    }
    upright = np.array(answer["matrix"], float)
    to_prior = _flip(prior) @ upright @ _flip(current)
    registered: NDArray[np.uint8] = current.hanging.turned(answer["registered"])
    known = all(image.snapshot.frame.spacing.known for image in (current, prior))
    return Laid(told, degrees, scale if known else None, doubt, to_prior, registered)


def _payload(current: Looked, prior: Looked) -> dict[str, Any]:
    """Both images upright, in a unit that both share."""
    images = (current, prior)
    known = all(image.snapshot.frame.spacing.known for image in images)
    return {
        name: {
            "pixels": image.hanging.turned(image.pixels),
            "lungs": (image.masks[RIGHT_LUNG] | image.masks[LEFT_LUNG]).astype(np.uint8),
            "spacing": _spacing(image, known),
        }
        for name, image in zip(("current", "prior"), images, strict=True)
    }


def _spacing(image: Looked, known: bool) -> list[float]:
    """(between columns, between rows): in mm, or as if every radiograph were equally wide."""
    spacing = image.snapshot.frame.spacing
    if known and spacing.column_mm is not None and spacing.row_mm is not None:
        return [spacing.column_mm, spacing.row_mm]
    across = _WIDTH_MM / image.pixels.shape[1]
    return [across, across * spacing.aspect]


def _flip(image: Looked) -> NDArray[np.float64]:
    """[3, 3]: own pixels to upright ones, and back."""
    rows, columns = image.pixels.shape
    flip = np.eye(3)
    if image.hanging.mirror:
        flip[0] = [-1, 0, columns - 1]
    if image.hanging.upside_down:
        flip[1] = [0, -1, rows - 1]
    return flip
