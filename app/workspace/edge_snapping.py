"""The strongest edge near a point of an image, to a fraction of a pixel.

An edge is where the smoothed image changes most along its gradient, as in Canny's method (A
computational approach to edge detection, IEEE PAMI 8, 1986), between pixels by a parabola.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import XY
from app.imaging.types import Frame

_REACH = 3  # px of a Gaussian of 1 px
_SMOOTH = [math.exp(-0.5 * away**2) for away in range(-_REACH, _REACH + 1)]
_PAD = 5  # px around the search that smoothing and neighbours need
_AROUND = 12  # px at least, in which an edge must stand out
_MOST = 48  # px: further, at a tiny zoom, nothing is searched
_STANDS_OUT = 3.0  # times the median change around: more than noise reaches by chance
_ASIDE = 0.75  # px of the image by which an edge's pixel may lie beside the point

Floats = NDArray[np.float64]


def nearest_edge(frame: Frame, at: XY, scale: tuple[float, float], reach: float) -> XY | None:
    """Return the place on the strongest edge within `reach` of a point, nearest to it; or None.

    Args:
        frame: The image, grey or in colours.
        at: The point (x, y) in image pixels.
        scale: Screen px for each image px along x and y.
        reach: How far the edge may be, in screen px.
    """
    if min(scale) <= 0:
        return None
    x, y = at
    half = [max(min(math.ceil(reach / one), _MOST), _AROUND) + _PAD for one in scale]
    left, top = max(round(x) - half[0], 0), max(round(y) - half[1], 0)
    right = min(round(x) + half[0] + 1, frame.columns)
    bottom = min(round(y) + half[1] + 1, frame.rows)
    if right - left <= 2 * _PAD or bottom - top <= 2 * _PAD:
        return None
    values = frame.stored[top:bottom, left:right].astype(np.float64)
    if values.ndim == 3:
        values = values.mean(axis=2)
    values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
    down, across = (np.asarray(one) for one in np.gradient(_smoothed(values)))
    # In px of the screen, where pixels that are taller than wide are so too.
    u, v = across / scale[0], down / scale[1]
    strength: Floats = np.hypot(u, v)
    usual = float(np.median(strength))
    step_x: Floats = u / scale[0]
    step_y: Floats = v / scale[1]
    length: Floats = np.hypot(step_x, step_y)
    inner = slice(1, -1)
    rows, columns = np.nonzero(
        (strength > max(_STANDS_OUT * usual, 1e-9))[inner, inner] & (length > 0)[inner, inner]
    )
    rows, columns = rows + 1, columns + 1
    if not rows.size:
        return None
    way_x, way_y = (one[rows, columns] / length[rows, columns] for one in (step_x, step_y))
    here = strength[rows, columns]
    ahead = _between(strength, columns + way_x, rows + way_y)
    behind = _between(strength, columns - way_x, rows - way_y)
    bend = behind - 2 * here + ahead
    peak = (here >= ahead) & (here >= behind) & (bend < 0)
    shift = np.where(peak, 0.5 * (behind - ahead) / np.where(peak, bend, -1.0), 0.0)
    edge_x, edge_y = left + columns + shift * way_x, top + rows + shift * way_y
    normal_x, normal_y = u[rows, columns] / here, v[rows, columns] / here
    off_x, off_y = (edge_x - x) * scale[0], (edge_y - y) * scale[1]
    along = off_x * normal_x + off_y * normal_y
    aside = np.abs(off_x * normal_y - off_y * normal_x)
    near = peak & (np.abs(along) <= reach) & (aside <= _ASIDE * max(scale))
    if not near.any():
        return None
    # Of pixels on one edge, whose strength hardly differs, the one that lies least beside.
    strong = near & (here >= 0.9 * here[near].max())
    best = np.flatnonzero(strong)[np.argmin((aside / max(scale) + np.abs(along) / reach)[strong])]
    snapped_x = x + along[best] * normal_x[best] / scale[0]
    snapped_y = y + along[best] * normal_y[best] / scale[1]
    return float(snapped_x), float(snapped_y)


def _smoothed(values: Floats) -> Floats:
    """Return values smoothed by a Gaussian, times a constant."""
    for axis in (0, 1):
        reach = [(_REACH, _REACH) if axis == one else (0, 0) for one in (0, 1)]
        padded = np.pad(values, reach, "edge")
        size = values.shape[axis]
        parts = (np.take(padded, range(n, n + size), axis) * w for n, w in enumerate(_SMOOTH))
        values = np.sum(list(parts), axis=0)
    return values


def _between(values: Floats, x: Floats, y: Floats) -> Floats:
    """Return values between pixels, linearly."""
    column = np.clip(np.floor(x).astype(int), 0, values.shape[1] - 2)
    row = np.clip(np.floor(y).astype(int), 0, values.shape[0] - 2)
    a, b = x - column, y - row
    above = values[row, column] * (1 - a) + values[row, column + 1] * a
    below = values[row + 1, column] * (1 - a) + values[row + 1, column + 1] * a
    return above * (1 - b) + below * b
