"""Colour maps by the names that people know from matplotlib, without matplotlib."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray

_STOPS: dict[str, tuple[tuple[float, int, int, int], ...]] = {
    "hot": ((0.0, 11, 0, 0), (0.365, 255, 0, 0), (0.746, 255, 255, 0), (1.0, 255, 255, 255)),
    "bone": ((0.0, 0, 0, 0), (0.375, 84, 84, 116), (0.75, 168, 200, 200), (1.0, 255, 255, 255)),
    "jet": (
        (0.0, 0, 0, 128),
        (0.125, 0, 0, 255),
        (0.375, 0, 255, 255),
        (0.625, 255, 255, 0),
        (0.875, 255, 0, 0),
        (1.0, 128, 0, 0),
    ),
}
_GRAY = {"", "gray", "grey", "rgb", "none", "greys_r", "binary_r"}
_PYQTGRAPH = {"viridis", "plasma", "inferno", "magma", "cividis", "turbo"}


def is_gray(name: str) -> bool:
    """Whether the name asks for the image as it is."""
    return name.strip().lower() in _GRAY


def known(name: str) -> bool:
    """Whether there is such a map ("_r" at the end turns any of them round)."""
    base = re.sub(r"_r$", "", name.strip().lower())
    return is_gray(name) or base in _STOPS or base in _PYQTGRAPH or base in _GRAY


def _colormap(name: str) -> pg.ColorMap:
    colormap = pg.colormap.get(name)
    assert colormap is not None  # the names in _PYQTGRAPH are shipped with it
    return colormap


@lru_cache(maxsize=32)
def table(name: str) -> NDArray[np.uint8]:
    """The map as [256, 3] uint8; grey for an unknown name."""
    lowered = name.strip().lower()
    reverse = lowered.endswith("_r")
    base = lowered.removesuffix("_r")
    positions = np.linspace(0.0, 1.0, 256)
    if base in _STOPS:
        stops = np.array(_STOPS[base], dtype=np.float64)
        channels = [np.interp(positions, stops[:, 0], stops[:, i]) for i in (1, 2, 3)]
        colors = np.stack(channels, axis=1)
    elif base in _PYQTGRAPH:
        colors = np.asarray(_colormap(base).getLookupTable(nPts=256))[:, :3]
    else:
        colors = np.repeat(positions[:, None] * 255, 3, axis=1)
    result = np.round(colors).astype(np.uint8)
    return result[::-1].copy() if reverse else result
