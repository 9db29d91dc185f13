"""Colour maps for grey images, as lookup tables [256, 3]."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.uint8]

PLAIN = ("rgb", "gray", "grey")
"""Names that mean: as the image is."""

# Evenly spaced anchors, read off matplotlib's published maps (CC0); between them it is linear.
_ANCHORS: dict[str, tuple[int, ...]] = {
    "viridis": (
        0x440154, 0x472C7A, 0x3B518B, 0x2C718E, 0x21908D, 0x27AD81, 0x5CC863, 0xAADC32, 0xFDE725,
    ),
    "plasma": (
        0x0D0887, 0x4B03A1, 0x7D03A8, 0xA82296, 0xCB4679, 0xE56B5D, 0xF89441, 0xFDC328, 0xF0F921,
    ),
    "inferno": (
        0x000004, 0x1F0C48, 0x550F6D, 0x88226A, 0xBA3655, 0xE35933, 0xF98C0A, 0xF9C932, 0xFCFFA4,
    ),
    "magma": (
        0x000004, 0x1C1044, 0x4F127B, 0x812581, 0xB5367A, 0xE55064, 0xFB8761, 0xFEC287, 0xFCFDBF,
    ),
    "jet": (
        0x000080, 0x0000FF, 0x0080FF, 0x00FFFF, 0x80FF80, 0xFFFF00, 0xFF8000, 0xFF0000, 0x800000,
    ),
    "hot": (
        0x0B0000, 0x600000, 0xB60000, 0xFF0C00, 0xFF6100, 0xFFB700, 0xFFFF12, 0xFFFF92, 0xFFFFFF,
    ),
    "bone": (
        0x000000, 0x1C1C27, 0x38384E, 0x555575, 0x707C8F, 0x8CA0A8, 0xA7C3C3, 0xD3E1E1, 0xFFFFFF,
    ),
}  # fmt: skip

NAMES = ("rgb", "gray", *_ANCHORS)
"""What can be asked for; each but "rgb" also reversed, with "_r" behind it."""


@lru_cache(maxsize=16)
def table(name: str) -> Table | None:
    """The map of that name, None when the image stays as it is.

    Raises:
        KeyError: There is no such map.
    """
    key = name.strip().lower()
    if key in PLAIN or not key:
        return None
    base = key.removesuffix("_r")
    if base in PLAIN[1:]:
        grey = np.arange(256, dtype=np.uint8)
        made = np.stack([grey, grey, grey], axis=1)
    else:
        made = _spread(_ANCHORS[base])
    made = made[::-1].copy() if key.endswith("_r") else made
    made.setflags(write=False)
    return made


def _spread(anchors: tuple[int, ...]) -> Table:
    points = np.linspace(0, 255, len(anchors))
    levels = np.arange(256)
    channels = [
        np.interp(levels, points, [(anchor >> shift) & 0xFF for anchor in anchors])
        for shift in (16, 8, 0)
    ]
    return np.rint(np.stack(channels, axis=1)).astype(np.uint8)
