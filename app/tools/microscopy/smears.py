"""Finds red cells and the nuclei of white cells in stained blood smears (model process only)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress
from app.tools.microscopy.touching_objects import Labels, Pieces
from app.tools.microscopy.untyped import filters, measure, morphology, ndimage, segmentation

_PURPLE = 0.22


def red_cells(
    pixels: NDArray[Any], diameter: float | None, progress: Progress
) -> tuple[Labels, float]:
    """Return the red cells of a smear, uint8 RGB [rows, columns, 3], and their diameter in pixels.

    Red cells absorb green; the pale centre of a cell is filled. White cells, whose nuclei absorb
    red, are left out. Overlapping cells are parted where the outline of the heap has necks.
    """
    progress(0.1, "Finding cells")
    density = _density(pixels)
    white = _white_cells(density, diameter)
    threshold = 0.6 * float(filters.threshold_otsu(density[..., 1]))
    mask = (density[..., 1] > threshold) & ~white
    if diameter is None:
        diameter = _cell_diameter(morphology.remove_small_holes(mask, max_size=2000))
    if not diameter:
        return np.zeros(mask.shape, np.int32), 0.0
    mask = morphology.remove_small_holes(mask, max_size=int(0.25 * diameter**2))
    mask = ndimage.binary_opening(mask, morphology.disk(max(1, round(diameter / 20))))
    mask = morphology.remove_small_objects(mask, max_size=int(0.08 * diameter**2))
    progress(0.4, "Separating cells that overlap")
    distance = ndimage.gaussian_filter(
        ndimage.distance_transform_edt(np.pad(mask, 1, mode="edge"))[1:-1, 1:-1], diameter / 40
    )
    seeds = measure.label(
        morphology.h_maxima(np.round(distance, 2), 0.02 * diameter).astype(bool) & mask
    )
    pieces = Pieces(segmentation.watershed(-distance, seeds, mask=mask).astype(np.int32))

    def cost(one: int, other: int) -> float:
        area = len(pieces.pixels[one]) + len(pieces.pixels[other])
        return 1 - area / pieces.hull(one, other)

    return pieces.join(cost, 0.05), diameter


def white_cell_nuclei(
    pixels: NDArray[Any], diameter: float | None, progress: Progress
) -> tuple[Labels, float]:
    """Return the nuclei of white cells, whose lobes are joined, and their diameter in pixels."""
    progress(0.1, "Finding nuclei")
    white = measure.label(_white_cells(_density(pixels), diameter))
    if not white.any():
        return np.zeros(white.shape, np.int32), 0.0
    areas = np.bincount(white.ravel())[1:]
    return white.astype(np.int32), diameter or float(np.sqrt(4 * np.median(areas) / np.pi))


def _density(pixels: NDArray[Any]) -> NDArray[np.float32]:
    """Return the optical density of red, green and blue, 0 for the background."""
    smooth = ndimage.gaussian_filter(pixels.astype(np.float32), (1, 1, 0))
    green = smooth[..., 1]
    background = np.median(smooth[green > filters.threshold_otsu(green)], axis=0)
    return -np.log(np.clip(smooth / np.maximum(background, 1), 0.02, 1)).astype(np.float32)


def _white_cells(density: NDArray[np.float32], diameter: float | None) -> NDArray[np.bool_]:
    """Return where white cells are: patches that absorb red, closed over the lobes of a nucleus."""
    size = diameter or min(density.shape[:2]) / 5
    purple = ndimage.binary_opening(
        density[..., 0] > _PURPLE, morphology.disk(max(1, round(size / 30)))
    )
    purple = morphology.remove_small_objects(purple, max_size=int(0.08 * size**2))
    gap = max(1, round(size / 5))
    closed = ndimage.binary_closing(np.pad(purple, gap), morphology.disk(gap))[gap:-gap, gap:-gap]
    return np.asarray(closed, bool)


def _cell_diameter(mask: NDArray[np.bool_]) -> float:
    distance = ndimage.distance_transform_edt(mask)
    peaks = measure.label(morphology.h_maxima(np.round(distance, 1), 2.0))
    if not peaks.any():
        return 0.0
    heights = ndimage.maximum(distance, peaks, np.arange(1, int(peaks.max()) + 1))
    return 2.0 * float(np.average(heights, weights=heights**2))
