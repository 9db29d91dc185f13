"""Alignment of a prior radiograph with the current one, by registration in the model process."""

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
_WIDTH_MM = 400.0  # assumed width of a radiograph whose spacing is unknown


@dataclass(frozen=True, slots=True)
class ComparedImage:
    """One of the two images, with its masks, scores and suitability."""

    name: str
    snapshot: ImageSnapshot
    admission: image_suitability.Admission
    found: Segmentation
    hanging: Hanging
    pixels: NDArray[np.uint8]
    scores: dict[str, float]
    scores_missing: str

    @property
    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """The masks by structure name, upright."""
        return {name: self.hanging.turned(mask) for name, mask in self.found.masks.items()}

    @property
    def side(self) -> Side:
        """The image's data for the comparison table."""
        return Side(
            self.admission.position,
            self.masks,
            self.found.confidence,
            self.hanging.turned(self.pixels),
            self.snapshot.frame.spacing,
            self.scores,
        )


@dataclass(frozen=True, slots=True)
class Alignment:
    """The prior image registered to the current one.

    Attributes:
        figures: The registration's figures as a JSON object.
        degrees: Rotation of the prior image against the current one, in degrees.
        scale: Size of the chest on the prior image divided by its size on the current one,
            calculated with the spacing of each; None if one spacing is unknown.
        problem: The reason that the registration cannot be trusted, or "".
        to_prior: [3, 3], from pixels of the current image to pixels of the prior.
        registered: The prior image resampled to the current image's pixels.
    """

    figures: dict[str, Any]
    degrees: float
    scale: float | None
    problem: str
    to_prior: NDArray[np.float64]
    registered: NDArray[np.uint8]


def align(current: ComparedImage, prior: ComparedImage, context: ToolContext) -> Alignment:
    """Register the prior image to the current one in the model process."""
    answer = context.host.call(
        "app.tools.chest.registration:entry",
        {**_payload(current, prior), "device": context.device},
        cancel=context.cancel,
        timeout_s=TIMEOUT_S,
        progress=context.progress,
    )
    degrees, scale = round(float(answer["degrees"]), 2), round(float(answer["scale"]), 4)
    overlap = round(float(answer["overlap"]), 3)
    problem = comparison.registration_problem(degrees, scale, overlap)
    figures: dict[str, Any] = {
        "dice_before": round(float(answer["before"]), 3),
        "dice_after": overlap,
        "degrees": degrees,
        "scale": scale,
        "by": str(answer["by"]),
        "accepted": not problem,
        "why": problem,
    }
    upright = np.array(answer["matrix"], float)
    to_prior = _flip(prior) @ upright @ _flip(current)
    registered: NDArray[np.uint8] = current.hanging.turned(answer["registered"])
    known = all(image.snapshot.frame.spacing.known for image in (current, prior))
    return Alignment(figures, degrees, scale if known else None, problem, to_prior, registered)


def _payload(current: ComparedImage, prior: ComparedImage) -> dict[str, Any]:
    """Return both images upright, with lung masks and spacings in a shared unit."""
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


def _spacing(image: ComparedImage, known: bool) -> list[float]:
    """Return the spacing (between columns, between rows) in mm.

    If one of the spacings is unknown, both images are taken to be equally wide.
    """
    spacing = image.snapshot.frame.spacing
    if known and spacing.column_mm is not None and spacing.row_mm is not None:
        return [spacing.column_mm, spacing.row_mm]
    across = _WIDTH_MM / image.pixels.shape[1]
    return [across, across * spacing.aspect]


def _flip(image: ComparedImage) -> NDArray[np.float64]:
    """Return the [3, 3] matrix from stored to upright pixels, which is its own inverse."""
    rows, columns = image.pixels.shape
    flip = np.eye(3)
    if image.hanging.mirror:
        flip[0] = [-1, 0, columns - 1]
    if image.hanging.upside_down:
        flip[1] = [0, -1, rows - 1]
    return flip
