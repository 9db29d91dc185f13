"""Closed outlines as pixels, by the even-odd rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def inside(outline: Floats, rows: int, columns: int) -> tuple[NDArray[np.bool_], int, int]:
    """Which pixel centres lie inside a closed outline, which may cross itself.

    Args:
        outline: [n, 2] corners (x, y); pixel centres are integers.
        rows: Of the image.
        columns: Of the image.

    Returns:
        A mask of the part of the image that the outline's box covers, and the row and column at
        which that part begins.
    """
    low, high = np.floor(outline.min(axis=0)), np.ceil(outline.max(axis=0)) + 1
    left, right = (int(part) for part in np.clip([low[0], high[0]], 0, columns))
    top, bottom = (int(part) for part in np.clip([low[1], high[1]], 0, rows))
    shape = (bottom - top, right - left)
    if len(outline) < 3 or min(shape) == 0:
        return np.zeros((0, 0), np.bool_), 0, 0
    toggles = np.zeros((shape[0], shape[1] + 1), np.int64)
    start = outline - (left, top)
    end = np.roll(start, -1, axis=0)
    downward = (start[:, 1] <= end[:, 1])[:, None]
    upper, lower = np.where(downward, start, end), np.where(downward, end, start)
    # Half open, so that a corner on a row's centre belongs to one of its two edges.
    first = np.clip(np.ceil(upper[:, 1]), 0, shape[0]).astype(np.int64)
    last = np.clip(np.ceil(lower[:, 1]), 0, shape[0]).astype(np.int64)
    count = np.maximum(last - first, 0)
    edge = np.repeat(np.arange(len(outline)), count)
    row = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    share = (row - upper[edge, 1]) / (lower[edge, 1] - upper[edge, 1])
    x = upper[edge, 0] + share * (lower[edge, 0] - upper[edge, 0])
    # The pixel to the right of each crossing is on the other side than the one to its left.
    column = np.clip(np.ceil(x), 0, shape[1]).astype(np.int64)
    np.add.at(toggles, (row, column), 1)
    return (np.cumsum(toggles, axis=1) % 2 == 1)[:, :-1], top, left


def filled(outlines: Sequence[Floats], rows: int, columns: int) -> NDArray[np.bool_]:
    """All outlines of one region together: holes and islands are outlines within outlines.

    PS3.3 C.8.8.6.3. Pixel centres are integers; the mask is [rows, columns].
    """
    mask = np.zeros((rows, columns), np.bool_)
    for outline in outlines:
        own, top, left = inside(outline, rows, columns)
        mask[top : top + own.shape[0], left : left + own.shape[1]] ^= own
    return mask
