"""Segments microscopy images without weights, by a pipeline for each kind (model process only)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress
from app.tools.microscopy.bright_objects import bright_objects
from app.tools.microscopy.dark_objects import dark_objects
from app.tools.microscopy.image_kind import ImageKind, finite
from app.tools.microscopy.measures import measured
from app.tools.microscopy.smears import red_cells, white_cell_nuclei
from app.tools.microscopy.touching_objects import Labels, Pieces
from app.tools.microscopy.untyped import (
    color,
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


MIN_AREA = 0.06
"""Least area of an object, as a share of the square of the diameter, unless it is given."""
STAINED_GROWTH = 1.4
"""By how much nuclei in tissue are wider than the darkest part of their chromatin."""
CELL_BORDER = 0.25
"""Width of the rim around a nucleus that is taken as its cell, in diameters, in stained tissue."""

_LEAST_SIDE = 8
"""Rows or columns below which an image holds no object that could be told from noise."""


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Segment one image and measure its objects.

    `payload` has "pixels" [rows, columns] or [rows, columns, 3]; "kind", an `ImageKind`; "target",
    "nuclei", "cells" or "organoids"; "diameter" in pixels and "min_area" in pixels, or None.

    Returns:
        "labels" uint16 or uint32 [rows, columns]; "method", in words; "diameter" and "min_area" in
        pixels as used; and "columns" of `measures.measured`.
    """
    pixels = finite(payload["pixels"])
    kind, target = ImageKind(payload["kind"]), str(payload["target"])
    find, method = _pipeline(kind, target)
    if min(pixels.shape[:2]) < _LEAST_SIDE:
        labels, diameter = np.zeros(pixels.shape[:2], np.int32), 0.0
    else:
        labels, diameter = find(pixels, payload["diameter"], progress)
    least = payload["min_area"]
    if least is None:
        least = max(4.0, round(MIN_AREA * diameter**2))
    numbers = numbered(labels, float(least))
    progress(0.85, "Measuring")
    return {
        "labels": numbers,
        "method": method,
        "diameter": diameter,
        "min_area": float(least),
        "columns": measured(numbers, pixels),
    }


_Find = Callable[[NDArray[Any], float | None, Progress], tuple[Labels, float]]


def _pipeline(kind: ImageKind, target: str) -> tuple[_Find, str]:
    """Return the function that finds such objects in such an image, and its name in words."""
    if target == "organoids":
        return large_objects, "large objects by contrast and texture, split at their necks"
    if kind is ImageKind.BLOOD:
        if target == "nuclei":
            return white_cell_nuclei, "nuclei of white cells by their purple stain"
        return red_cells, "red cells by their absorption of green, split by form"
    if kind is ImageKind.TISSUE:
        if target == "nuclei":
            return _stained_nuclei, "haematoxylin by colour deconvolution, then watershed"
        return _stained_cells, (
            "nuclei by colour deconvolution, each with the border of a quarter of the diameter"
        )
    if kind is ImageKind.PHASE:
        return _of_grey(dark_objects), "dark ridges, watershed, pieces joined"
    return _of_grey(bright_objects), "local half height, watershed, convex pieces joined"


def numbered(labels: Labels, least: float) -> NDArray[np.uint16] | NDArray[np.uint32]:
    """Return the objects of at least `least` pixels, numbered from 1 in reading order."""
    areas = np.bincount(labels.ravel())
    kept = areas >= least
    kept[0] = False
    numbers = np.zeros(len(areas), np.uint32)
    numbers[kept] = np.arange(1, int(kept.sum()) + 1)
    found = numbers[labels]
    return found if int(kept.sum()) >= 2**16 else found.astype(np.uint16)


def _of_grey(find: _Find) -> _Find:
    def found(
        pixels: NDArray[Any], diameter: float | None, progress: Progress
    ) -> tuple[Labels, float]:
        return find(pixels.max(axis=2) if pixels.ndim == 3 else pixels, diameter, progress)

    return found


def _stained_nuclei(
    pixels: NDArray[Any], diameter: float | None, progress: Progress
) -> tuple[Labels, float]:
    scale = 1.0 if pixels.dtype == np.uint8 else 255.0 / max(float(pixels.max()), 1.0)
    rgb = np.clip(pixels.astype(np.float32) * scale, 0, 255) / 255
    haematoxylin = np.maximum(color.rgb2hed(rgb)[..., 0], 0).astype(np.float32)
    # The square that undoes the root in `bright_objects`: absorption is even in noise as it is.
    haematoxylin = ndimage.gaussian_filter(haematoxylin, 1.0)
    return bright_objects(haematoxylin**2, diameter, progress, STAINED_GROWTH)


def _stained_cells(
    pixels: NDArray[Any], diameter: float | None, progress: Progress
) -> tuple[Labels, float]:
    nuclei, size = _stained_nuclei(pixels, diameter, progress)
    return segmentation.expand_labels(nuclei, CELL_BORDER * size).astype(np.int32), size
