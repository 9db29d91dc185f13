"""Recognises how a microscopy image was made from its pixels: fluorescence, phase contrast, ...

Needs numpy only, so that planners and tools can ask without starting a process.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MOST_PIXELS = 500_000
_GREY_CHROMA = 0.04
"""Spread of R, G and B, as a share of the range, up to which a colour picture counts as grey."""


class ImageKind(StrEnum):
    """How an image was made, which decides how objects are found in it."""

    FLUORESCENCE = "fluorescence"  # bright objects on a dark background
    PHASE = "phase"  # phase contrast or brightfield: dark objects on grey, with bright halos
    TISSUE = "tissue"  # stained section (H&E): blue to purple nuclei in pink
    BLOOD = "blood"  # stained smear: red cells, white cells with purple nuclei, light background
    BLANK = "blank"  # one value everywhere


WORDS = {
    ImageKind.FLUORESCENCE: "fluorescence (bright on dark)",
    ImageKind.PHASE: "phase contrast or brightfield (dark on grey)",
    ImageKind.TISSUE: "stained tissue",
    ImageKind.BLOOD: "a stained blood smear",
    ImageKind.BLANK: "blank",
}
"""What each kind is called in messages."""


@dataclass(frozen=True, slots=True)
class KindGuess:
    """A guess at an image's kind; `sure` is False where its pixels would fit another kind too."""

    kind: ImageKind
    sure: bool


def guess_kind(pixels: NDArray[Any]) -> KindGuess:
    """Guess how an image was made from its stored values: [rows, columns] or [rows, columns, 3]."""
    small = _thinned(finite(pixels))
    low, high = (float(value) for value in np.percentile(small, (0.1, 99.9)))
    if high <= low:
        low, high = float(small.min()), float(small.max())
    if high <= low:
        return KindGuess(ImageKind.BLANK, True)
    if small.ndim == 3 and not np.ptp(small, axis=(0, 1)).any():
        return KindGuess(ImageKind.BLANK, True)
    if small.ndim == 3:
        scaled = small.astype(np.float32) / (255.0 if pixels.dtype == np.uint8 else high)
        chroma = scaled.max(axis=2) - scaled.min(axis=2)
        if float(np.percentile(chroma, 95)) > _GREY_CHROMA:
            return _of_colour(scaled, chroma)
        small = small.mean(axis=2)
    return _of_grey(small, low, high)


def suggested_target(kind: ImageKind) -> str:
    """Return what is most likely counted in such an image: "nuclei", "cells", or "" to ask."""
    return {
        ImageKind.FLUORESCENCE: "nuclei",
        ImageKind.TISSUE: "nuclei",
        ImageKind.PHASE: "cells",
        ImageKind.BLOOD: "cells",
    }.get(kind, "")


def finite(pixels: NDArray[Any]) -> NDArray[Any]:
    """Return pixels with the lowest value in place of what is no number (NaN, infinity)."""
    if pixels.dtype.kind != "f":
        return pixels
    known = np.isfinite(pixels)
    if known.all():
        return pixels
    return np.where(known, pixels, pixels[known].min() if known.any() else 0)


def _thinned(pixels: NDArray[Any]) -> NDArray[Any]:
    step = max(1, int(np.sqrt(pixels.shape[0] * pixels.shape[1] / _MOST_PIXELS)))
    return pixels[::step, ::step]


def _of_grey(values: NDArray[Any], low: float, high: float) -> KindGuess:
    """Tell bright objects on dark from dark ones on grey, by where the background's grey lies."""
    place = (float(np.median(values)) - low) / (high - low)
    if place < 0.27:
        return KindGuess(ImageKind.FLUORESCENCE, place < 0.22)
    # Crowded fluorescence has no one grey of the background, as phase contrast has: its values
    # spread widely, most of them low.
    lowest, lower, upper = (float(part) for part in np.percentile(values, (10, 25, 75)))
    spread, tail = (upper - lower) / (high - low), (lowest - low) / (high - low)
    if place < 0.45 and spread > 0.18 and tail < 0.2:
        return KindGuess(ImageKind.FLUORESCENCE, False)
    return KindGuess(ImageKind.PHASE, place > 0.33)


def _of_colour(scaled: NDArray[np.float32], chroma: NDArray[np.float32]) -> KindGuess:
    """Tell fluorescence in colour, tissue and blood smears apart, by background and hues."""
    light = scaled.max(axis=2)
    if float(np.median(light)) < 0.3:
        return KindGuess(ImageKind.FLUORESCENCE, True)
    background = (chroma < 0.12) & (light > 0.6)
    share = float(background.mean())
    coloured = scaled[~background & (chroma > 0.08)]
    if not len(coloured):
        return KindGuess(ImageKind.PHASE, False)
    # Red cells are tan to pink: their blue is not far above their green. Eosin's and
    # haematoxylin's is.
    blue_over_green = float(np.median(coloured[:, 2] - coloured[:, 1]))
    tan = blue_over_green < 0.06
    if tan and share > 0.1:
        return KindGuess(ImageKind.BLOOD, True)
    if share > 0.45:
        return KindGuess(ImageKind.BLOOD, False)
    return KindGuess(ImageKind.TISSUE, not tan)
