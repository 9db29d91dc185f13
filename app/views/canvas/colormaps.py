"""Colour maps: those of DICOM (PS3.6 Annex B), and some under their matplotlib names."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.paths import shipped_table
from app.views.translation import translatable

_STOPS: dict[str, list[list[float]]] = shipped_table("colors", "pyqtgraph_maps")
"""Maps that pyqtgraph offers only with matplotlib: (position 0..1, red, green, blue)."""

_DICOM: dict[str, list[list[float]]] = shipped_table("colors", "dicom_palettes")
"""Well-known colour palettes of DICOM: (index 0..255, red, green, blue), linear in between."""

TITLES = {
    "": translatable("Grey"),
    "hot iron": translatable("Hot iron"),
    "pet": translatable("PET"),
    "hot metal blue": translatable("Hot metal blue"),
    "pet 20 step": translatable("PET 20 step"),
    "turbo": translatable("Rainbow"),
    "viridis": translatable("Viridis"),
}
"""Colour maps that are offered for grey images, with their names in the menu."""

_GRAY = {"", "gray", "grey", "rgb", "none", "greys_r", "binary_r"}
_PYQTGRAPH = {"viridis", "plasma", "inferno", "magma", "cividis", "turbo"}


def _base(name: str) -> str:
    return name.strip().lower().removesuffix("_r")


def is_gray(name: str) -> bool:
    """Return whether the colour map `name` leaves a grey image grey."""
    return name.strip().lower() in _GRAY


def is_known(name: str) -> bool:
    """Return whether there is a colour map with this name; the suffix "_r" reverses any map."""
    return is_gray(name) or _base(name) in {*_STOPS, *_PYQTGRAPH, *_GRAY, *_DICOM}


@lru_cache(maxsize=32)
def screen_table(name: str) -> NDArray[np.uint32] | None:
    """Return the screen pixels 0xFFRRGGBB [256] of a colour map for greys; None for none ("")."""
    if not name:
        return None
    red, green, blue = table(name).astype(np.uint32).T
    return 0xFF000000 | red << 16 | green << 8 | blue


@lru_cache(maxsize=32)
def table(name: str) -> NDArray[np.uint8]:
    """Return the colour map `name` as [256, 3] uint8 RGB; a grey map for an unknown name."""
    import pyqtgraph as pg  # after the first window

    base = _base(name)
    if base in _DICOM:
        stops = np.array(_DICOM[base])
        found = np.stack(
            [np.interp(np.arange(256), stops[:, 0], stops[:, part]) for part in (1, 2, 3)], axis=1
        )
        return np.floor(found + 0.5).astype(np.uint8)
    if base in _PYQTGRAPH:
        colormap = pg.colormap.get(base)
    else:
        stops = np.array(_STOPS.get(base, ((0.0, 0, 0, 0), (1.0, 255, 255, 255))))
        colormap = pg.ColorMap(stops[:, 0], stops[:, 1:].astype(np.uint8))
    assert colormap is not None  # the names in _PYQTGRAPH are shipped with it
    colors = np.asarray(colormap.getLookupTable(nPts=256))[:, :3].astype(np.uint8)
    return colors[::-1].copy() if name.strip().lower().endswith("_r") else colors
