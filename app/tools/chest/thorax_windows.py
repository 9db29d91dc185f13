"""Windows of an image, and enlargement of masks from a coarse grid to the image's pixels.

Numpy only. Arrays are (row, column).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.tools.chest.thorax_masks import BoolImage, FloatImage

_EDGE = 2  # least margin around masks in coarse pixels, for their smooth edges
_ONE_GREY = 0.03  # largest range of values in a border's row or column, due to JPEG noise
_LEAST_FILM = 0.2  # least side of the part to keep, as a fraction of the image's long side
_COARSE = 384  # pixels of the working grid's long side


@dataclass(frozen=True)
class Window:
    """A rectangle in pixels; `bottom` and `right` are the first row and column outside it."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        """The window's size as (rows, columns)."""
        return self.bottom - self.top, self.right - self.left

    def on_grid(self, shape: tuple[int, int], grid: tuple[int, int]) -> Window:
        """Return the window in cells of another grid that covers the same image.

        `shape` is the (rows, columns) of the image, `grid` that of the grid.
        """
        rows, columns = grid[0] / shape[0], grid[1] / shape[1]
        return Window(
            round(self.top * rows),
            round(self.bottom * rows),
            round(self.left * columns),
            round(self.right * columns),
        )


def film_window(pixels: FloatImage) -> Window:
    """Return the part of an image inside uniform borders, such as padding or a collimator's shadow.

    Args:
        pixels: [rows, columns] in 0..1.

    Returns:
        The part's window, or the whole image if the part would be very small.
    """
    rows, columns = (np.nonzero(np.ptp(pixels, axis=axis) > _ONE_GREY)[0] for axis in (1, 0))
    whole = Window(0, pixels.shape[0], 0, pixels.shape[1])
    if len(rows) == 0 or len(columns) == 0:
        return whole
    part = Window(int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1)
    return part if min(part.shape) >= _LEAST_FILM * max(pixels.shape) else whole


def coarse_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Return the size (rows, columns) of the working grid for an image.

    The grid has the image's aspect ratio and at most 384 pixels a side.
    """
    scale = min(1.0, _COARSE / max(shape))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def window_around(
    masks: Sequence[BoolImage], shape: tuple[int, int], margin: float
) -> Window | None:
    """Return a window around the union of masks, in pixels of the image; None if all are empty.

    Args:
        masks: Masks on a common grid, which may be coarser than the image.
        shape: (rows, columns) of the image.
        margin: Margin on each side, as a fraction of the longer side of the union.
    """
    rows, columns = np.nonzero(np.logical_or.reduce(masks))
    if len(rows) == 0:
        return None
    scale = np.array(shape) / np.array(masks[0].shape)
    low = np.array([rows.min() - _EDGE, columns.min() - _EDGE]) * scale
    high = np.array([rows.max() + 1 + _EDGE, columns.max() + 1 + _EDGE]) * scale
    margin *= float((high - low).max())
    low, high = np.maximum(low - margin, 0), np.minimum(high + margin, shape)
    return Window(int(low[0]), int(high[0]), int(low[1]), int(high[1]))


def enlarge_masks(margins: FloatImage, shape: tuple[int, int]) -> list[BoolImage]:
    """Return disjoint masks at `shape` from margins [n, h, w], enlarged and then cut at 0.

    Cutting after enlarging gives smooth edges. Only the part around each structure is enlarged,
    which saves most of the time on a large film.
    """
    taken = np.zeros(shape, np.bool_)
    masks: list[BoolImage] = []
    for margin in margins:
        mask = np.zeros(shape, np.bool_)
        window = window_around([margin > 0], shape, 0.0)
        if window is not None:
            rows, columns = slice(window.top, window.bottom), slice(window.left, window.right)
            mask[rows, columns] = (_sample(margin, shape, window) > 0) & ~taken[rows, columns]
            taken |= mask
        masks.append(mask)
    return masks


def _sample(margin: FloatImage, shape: tuple[int, int], window: Window) -> NDArray[np.float32]:
    """Return `margin`, a coarse map of an image of `shape`, at the window's pixels (bilinear)."""
    grown = margin
    for axis, (low, high) in enumerate(((window.top, window.bottom), (window.left, window.right))):
        scale = margin.shape[axis] / shape[axis]
        at = np.clip((np.arange(low, high) + 0.5) * scale - 0.5, 0, margin.shape[axis] - 1)
        first = np.minimum(at.astype(np.intp), max(margin.shape[axis] - 2, 0))
        share = (at - first).astype(np.float32)
        share = share[:, None] if axis == 0 else share[None, :]
        after = np.minimum(first + 1, margin.shape[axis] - 1)
        grown = grown.take(first, axis) * (1 - share) + grown.take(after, axis) * share
    return grown
