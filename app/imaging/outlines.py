"""Closed outlines as pixels, by the even-odd rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def crossings(outline: Floats, rows: int, columns: int) -> NDArray[np.bool_]:
    """Where a closed outline is crossed when each row is walked from the left.

    Args:
        outline: [n, 2] corners (x, y); pixel centres are integers.
        rows: Of the mask.
        columns: Of the mask.

    Returns:
        [rows, columns + 1]: True where a pixel lies on the other side than the one to its left.
        The exclusive or of several outlines' crossings is that of their even-odd combination.
    """
    toggles = np.zeros((rows, columns + 1), np.int64)
    if len(outline) < 3:
        return toggles.astype(np.bool_)
    start, end = outline, np.roll(outline, -1, axis=0)
    downward = start[:, 1] <= end[:, 1]
    top = np.where(downward[:, None], start, end)
    bottom = np.where(downward[:, None], end, start)
    # Half open, so that a corner on a row's centre belongs to one of its two edges.
    first = np.clip(np.ceil(top[:, 1]), 0, rows).astype(np.int64)
    last = np.clip(np.ceil(bottom[:, 1]), 0, rows).astype(np.int64)
    count = np.maximum(last - first, 0)
    edge = np.repeat(np.arange(len(outline)), count)
    row = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    share = (row - top[edge, 1]) / (bottom[edge, 1] - top[edge, 1])
    x = top[edge, 0] + share * (bottom[edge, 0] - top[edge, 0])
    column = np.clip(np.ceil(x), 0, columns).astype(np.int64)
    np.add.at(toggles, (row, column), 1)
    return toggles % 2 == 1


def filled(toggles: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """[rows, columns] mask of `crossings`: True inside."""
    return np.logical_xor.accumulate(toggles, axis=1)[:, :-1]


def combined(outlines: Sequence[Floats], rows: int, columns: int) -> NDArray[np.bool_] | None:
    """The even-odd combination of outlines; None where no two of them share a pixel.

    Holes and islands are outlines within outlines (PS3.3 C.8.8.6.3); without them each outline can
    be drawn by itself.
    """
    toggles = np.zeros((rows, columns + 1), np.bool_)
    covered = np.zeros((rows, columns), np.bool_)
    shared = False
    for outline in outlines:
        own = crossings(outline, rows, columns)
        inside = filled(own)
        shared = shared or bool((covered & inside).any())
        covered |= inside
        toggles ^= own
    return filled(toggles) if shared else None
