"""Finds organoids and other large objects, bright or dark, plain or textured (model process only).

The image is shrunk so that its shorter side has about 500 pixels. An object differs from the
background in brightness, or has texture and edges where the background has none; both are taken in
units of the background's spread, and the larger counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress
from app.tools.microscopy.touching_objects import Labels, Pieces
from app.tools.microscopy.untyped import (
    filters,
    measure,
    morphology,
    ndimage,
    segmentation,
    transform,
)

_SIDE = 500
_LEAST_CONTRAST = 5.0
_CONVEX_UNION = 0.1


def large_objects(
    pixels: NDArray[Any], diameter: float | None, progress: Progress
) -> tuple[Labels, float]:
    """Return the objects, numbered from 1, and their typical diameter in pixels; 0 if none."""
    progress(0.1, "Finding large objects")
    grey = (pixels.mean(axis=2) if pixels.ndim == 3 else pixels).astype(np.float32)
    scale = max(1.0, min(grey.shape) / _SIDE)
    if diameter is not None:
        scale = max(1.0, min(scale, diameter / 24))
    shape = (max(1, round(grey.shape[0] / scale)), max(1, round(grey.shape[1] / scale)))
    small = transform.resize(grey, shape, order=1, preserve_range=True, anti_aliasing=scale > 1)
    small = ndimage.gaussian_filter(small.astype(np.float32), 1.0)
    contrast = np.maximum(_in_spreads(_flattened(small)), _in_spreads(_texture(small)))
    threshold = max(float(filters.threshold_otsu(np.minimum(contrast, 40))) * 0.7, _LEAST_CONTRAST)
    mask = ndimage.binary_closing(np.pad(contrast > threshold, 4), morphology.disk(3))[4:-4, 4:-4]
    mask = ndimage.binary_opening(ndimage.binary_fill_holes(mask), morphology.disk(3))
    mask = morphology.remove_small_objects(mask, max_size=120)
    if not mask.any():
        return np.zeros(grey.shape, np.int32), 0.0
    progress(0.5, "Separating objects that touch")
    distance = ndimage.gaussian_filter(ndimage.distance_transform_edt(mask), 1.0)
    seeds = measure.label(morphology.h_maxima(np.round(distance, 2), 0.75).astype(bool) & mask)
    pieces = Pieces(segmentation.watershed(-distance, seeds, mask=mask).astype(np.int32))

    def cost(one: int, other: int) -> float:
        area = len(pieces.pixels[one]) + len(pieces.pixels[other])
        return 1 - area / pieces.hull(one, other)

    found = pieces.join(cost, _CONVEX_UNION)
    whole = transform.resize(found, grey.shape, order=0, preserve_range=True, anti_aliasing=False)
    labels = np.rint(whole).astype(np.int32)
    areas = np.bincount(labels.ravel())[1:]
    return labels, diameter or float(np.sqrt(4 * np.median(areas) / np.pi))


def _flattened(small: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return how far each pixel is from a plane of light fitted to the middle of the values."""
    rows, columns = small.shape
    y, x = np.mgrid[:rows, :columns].reshape(2, -1) / max(rows, columns)
    terms = np.stack([np.ones_like(x), x, y, x * y, x * x, y * y], axis=1)
    values = small.ravel().astype(np.float64)
    kept = np.ones(len(values), bool)
    rest = values
    for _ in range(4):
        weights, *_unused = np.linalg.lstsq(terms[kept][::7], values[kept][::7], rcond=None)
        rest = values - terms @ weights
        spread = 1.4826 * np.median(np.abs(rest[kept] - np.median(rest[kept])))
        kept = np.abs(rest - np.median(rest[kept])) <= 2.5 * spread + 1e-9
    return np.abs(rest).reshape(small.shape).astype(np.float32)


def _texture(small: NDArray[np.float32]) -> NDArray[np.float32]:
    edges = ndimage.gaussian_gradient_magnitude(small, 1.5)
    return ndimage.gaussian_filter(edges, 2.0)


def _in_spreads(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return values in units of the spread of their lower half, which is background."""
    low = values[values <= np.percentile(values, 50)]
    spread = 1.4826 * float(np.median(np.abs(low - np.median(low)))) + 1e-6
    return (values - float(np.median(low))) / (spread * 2)
