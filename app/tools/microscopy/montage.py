"""Arranges cells of each cluster in one picture (model process only)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from skimage.transform import resize

from app.tools.microscopy.cell_pictures import CellPictures, grey_limits, read_cells

_TILE = 72
_GAP = 4
_BACKGROUND = 24


def entry(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a montage of cells with a row for each cluster; called in the model process.

    `payload` has what `cell_pictures.read_cells` needs for the cells to show, and "rows": the row
    of each, from 0.

    Returns:
        "picture": uint8 [rows, columns, 3]; all cells have the same scale and the same greys.
    """
    cells = read_cells(payload)
    rows: list[int] = [int(row) for row in payload["rows"]]
    columns = max(np.bincount(rows))
    step = _TILE + _GAP
    picture = np.full(
        (step * (max(rows) + 1) + _GAP, step * int(columns) + _GAP, 3), _BACKGROUND, np.uint8
    )
    limits = grey_limits(cells)
    longest = max(max(one.shape[:2]) for one in cells.pixels)
    filled: dict[int, int] = {}
    for number, row in enumerate(rows):
        column = filled.setdefault(row, 0)
        filled[row] += 1
        tile = _tile(cells, number, limits, _TILE / longest)
        top = _GAP + row * step + (_TILE - tile.shape[0]) // 2
        left = _GAP + column * step + (_TILE - tile.shape[1]) // 2
        picture[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return {"picture": picture}


def _tile(
    cells: CellPictures, number: int, limits: list[tuple[float, float]], scale: float
) -> NDArray[np.uint8]:
    """Return a cell as RGB: grey of one channel; of several the first three as colours."""
    pixels = cells.pixels[number].astype(np.float64)
    shown = [
        np.clip((pixels[..., c] - low) / (high - low), 0, 1) for c, (low, high) in enumerate(limits)
    ]
    if len(shown) == 1:
        shown = shown * 3
    shown += [np.zeros_like(shown[0])] * (3 - len(shown))
    size = [max(1, round(extent * scale)) for extent in pixels.shape[:2]]
    stacked = np.stack(shown[:3], axis=-1)
    colours: Any = resize(stacked, (*size, 3), order=1, anti_aliasing=scale < 1)
    return np.rint(colours * 255).astype(np.uint8)
