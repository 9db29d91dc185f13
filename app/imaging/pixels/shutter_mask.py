"""Mask of the pixels that a display shutter hides (PS3.3 C.7.6.11, C.7.6.15). Pure numpy.

Coordinates are those of `Shutter`: (x, y) in pixels from 0, and pixel centres are integers. A
pixel is visible if its centre lies within every shape, edges included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Shutter

Mask = NDArray[np.bool_]

_ROUNDING = 1e-6
"""Distance in pixels up to which a centre lies on an edge."""


def hidden_pixels(shutter: Shutter, rows: range, columns: int, aspect: float = 1.0) -> Mask:
    """Return a mask [len(rows), columns] of the pixels that the shutter hides in the given rows.

    Args:
        shutter: The shutter.
        rows: Consecutive row numbers in the image, from 0.
        columns: Number of columns in the image.
        aspect: Height of a pixel divided by its width, so that a circle is round on the screen. The
            circle's radius is in pixels along a row.
    """
    hidden = np.zeros((len(rows), columns), np.bool_)
    x = np.arange(columns)
    y = np.asarray(rows)[:, None]
    if shutter.rectangle is not None:
        left, right, top, bottom = shutter.rectangle
        hidden |= (x < left) | (x > right) | (y < top) | (y > bottom)
    if shutter.circle is not None:
        cx, cy, radius = shutter.circle
        # Rows are scaled to the width of a pixel, or a circle would become an ellipse.
        hidden |= (x - cx) ** 2 + ((y - cy) * aspect) ** 2 > radius**2
    if shutter.polygon:
        hidden |= ~_inside_polygon(shutter.polygon, rows, columns)
    if shutter.bitmap is not None:
        part = shutter.bitmap[rows.start : rows.stop, :columns]
        hidden[: part.shape[0], : part.shape[1]] |= part
    return hidden


def _inside_polygon(corners: Sequence[tuple[float, float]], rows: range, columns: int) -> Mask:
    """Fill a polygon row by row by the even-odd rule; corners and edges count as inside."""
    inside = np.zeros((len(rows), columns), np.bool_)
    edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    for number, y in enumerate(rows):
        crossings = sorted(
            x0 + (y - y0) * (x1 - x0) / (y1 - y0)
            for (x0, y0), (x1, y1) in edges
            if (y0 <= y) != (y1 <= y)
        )
        spans = list(zip(crossings[::2], crossings[1::2], strict=False))
        for (x0, y0), (x1, y1) in edges:
            if y0 == y == y1:
                spans.append((min(x0, x1), max(x0, x1)))
            # Even-odd filling alone leaves out corners that only touch the row.
            elif y in (y0, y1):
                corner = x0 if y == y0 else x1
                spans.append((corner, corner))
        for start, end in spans:
            first = max(int(np.ceil(start - _ROUNDING)), 0)
            after = min(int(np.floor(end + _ROUNDING)) + 1, columns)
            inside[number, first : max(after, first)] = True
    return inside
