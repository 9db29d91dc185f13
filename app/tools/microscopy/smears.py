"""Finds red cells and the nuclei of white cells in stained blood smears (model process only).

Red cells overlap, and a heap's outline does not say how many it holds; but the edges of the cells
on top are seen inside it. So each edge votes for the centre of the circle that it may belong to
(G. Loy and A. Zelinsky, IEEE Trans Pattern Anal Mach Intell 25, 2003), and centres with enough
votes are cells, which share the heap among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress
from app.tools.microscopy.touching_objects import Labels
from app.tools.microscopy.untyped import (
    feature,
    filters,
    measure,
    morphology,
    ndimage,
    segmentation,
    transform,
)

VOTES = 0.55
"""Votes for a cell, as a share of a whole circle whose edge is one pixel thick."""
APART = 1.0
"""Least distance of two centres, in radii."""
WHITE_RIM = 0.75
"""So near a white cell's nucleus, in radii, lies its own cytoplasm and no red cell's centre."""
_PURPLE = 0.22
_ROWS = 240
"""Rows and columns of the picture in which edges vote; a cell's radius is then some 20 pixels."""
_RADII = (0.75, 0.87, 1.0, 1.15, 1.3)


def red_cells(
    pixels: NDArray[Any], diameter: float | None, progress: Progress
) -> tuple[Labels, float]:
    """Return the red cells of a smear, RGB [rows, columns, 3], and their diameter in pixels.

    White cells and platelets, which absorb red, are left out. The pale centre of a cell is filled.
    """
    progress(0.1, "Finding cells")
    scale = max(1.0, min(pixels.shape[:2]) / _ROWS)
    if diameter is not None:
        scale = max(1.0, diameter / 40)
    shape = [max(8, round(side / scale)) for side in pixels.shape[:2]]
    small = transform.resize(
        pixels.astype(np.float32), (*shape, 3), order=1, preserve_range=True, anti_aliasing=True
    )
    density = _density(small)
    white = _white_cells(density, None if diameter is None else diameter / scale)
    threshold = 0.35 * float(filters.threshold_otsu(density[..., 1]))
    mask = (density[..., 1] > threshold) & ~white
    green = np.minimum(density[..., 1], 0.5)
    radius = _radius(green, white) if diameter is None else diameter / scale / 2
    progress(0.4, "Separating cells that overlap")
    votes = np.max([_votes(green, radius * part) for part in _RADII], axis=0)
    votes[ndimage.binary_dilation(white, iterations=max(1, round(WHITE_RIM * radius)))] = 0
    centres = feature.peak_local_max(
        votes,
        min_distance=max(1, round(APART * radius)),
        threshold_abs=VOTES,
        exclude_border=False,
    )
    if not len(centres):
        return np.zeros(pixels.shape[:2], np.int32), 0.0
    mask = morphology.remove_small_holes(mask, max_size=int(radius**2))
    seeds = np.zeros(mask.shape, np.int32)
    seeds[tuple(centres.T)] = np.arange(1, len(centres) + 1)
    distance = ndimage.distance_transform_edt(seeds == 0)
    mask = (mask | (seeds > 0)) & (distance < 1.2 * radius)
    found = segmentation.watershed(distance, seeds, mask=mask)
    whole = transform.resize(
        found, pixels.shape[:2], order=0, preserve_range=True, anti_aliasing=False
    )
    return np.rint(whole).astype(np.int32), diameter or 2 * radius * scale


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
    background = np.median(smooth[green >= filters.threshold_otsu(green)], axis=0)
    return -np.log(np.clip(smooth / np.maximum(background, 1), 0.02, 1)).astype(np.float32)


def _white_cells(density: NDArray[np.float32], diameter: float | None) -> NDArray[np.bool_]:
    """Return where white cells are: patches that absorb red, closed over the lobes of a nucleus."""
    size = diameter or min(density.shape[:2]) / 5
    purple = ndimage.binary_opening(
        density[..., 0] > _PURPLE, morphology.disk(max(1, round(size / 30)))
    )
    purple = morphology.remove_small_objects(purple, max_size=int(0.08 * size**2))
    gap = max(1, round(size / 5))
    closed = ndimage.binary_closing(np.pad(purple, gap), morphology.disk(gap))
    return np.asarray(closed[gap:-gap, gap:-gap], bool)


def _radius(green: NDArray[np.float32], white: NDArray[np.bool_]) -> float:
    """Return the radius in pixels for which the clearest centres get most votes."""
    best, radius = 0.0, 10.0
    most = min(green.shape) / 4
    for wanted in 6.0 * 1.2 ** np.arange(20):
        if wanted > most:
            break
        votes = np.where(white, 0, _votes(green, float(wanted)))
        peaks = feature.peak_local_max(votes, min_distance=round(wanted), exclude_border=False)
        clearest = np.sort(votes[tuple(peaks.T)])[-6:]
        score = float(clearest.mean()) if len(clearest) else 0.0
        if score > best:
            best, radius = score, float(wanted)
    return radius


def _votes(green: NDArray[np.float32], radius: float) -> NDArray[np.float32]:
    """Return the votes for each pixel to be the centre of a dark disc, in shares of a circle."""
    down = ndimage.gaussian_filter(green, 1.0, order=(1, 0))
    right = ndimage.gaussian_filter(green, 1.0, order=(0, 1))
    steep = np.hypot(down, right)
    rows, columns = np.nonzero(steep > np.percentile(steep, 60))
    slopes = steep[rows, columns]
    weights = np.minimum(slopes / max(float(np.percentile(steep, 90)), 1e-9), 1)
    pad = int(np.ceil(radius)) + 1
    counted = np.zeros((green.shape[0] + 2 * pad, green.shape[1] + 2 * pad), np.float32)
    y = np.rint(rows + down[rows, columns] / slopes * radius).astype(int) + pad
    x = np.rint(columns + right[rows, columns] / slopes * radius).astype(int) + pad
    np.add.at(counted, (y, x), weights)
    blur = 0.12 * radius
    around = ndimage.gaussian_filter(counted, blur)[pad:-pad, pad:-pad]
    return around * (2 * np.pi * blur**2) / (2 * np.pi * radius)
