"""Finds dark objects on grey, as phase contrast and brightfield show cells (model process only).

Steps: the objects' width, from the scale at which dark ridges answer most; each pixel's level
between the darkest and the brightest near it; cores where the image is a dark ridge of that width
(T. Lindeberg, Int J Comput Vis 30, 1998) and dark for its surroundings, which a halo's outer slope
is not; a watershed of the level; pieces joined where the line between them is as dark as they are
(`touching_objects`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress
from app.tools.microscopy.bright_objects import pixel_noise
from app.tools.microscopy.touching_objects import Labels, Pieces, quantile
from app.tools.microscopy.untyped import feature, measure, morphology, ndimage, segmentation

Image = NDArray[np.float32]

WIDTH_OF_SCALE = 4.7
"""Width of a bar with halos, divided by the scale at which its ridge answers most."""
DIAMETER_OF_SCALE = 3.4
"""Diameter of a disc with halos, divided by the scale at which its middle answers most."""
_ROUND = 0.5
"""Least curvature, as a share of the greatest, from which objects are round; it is 0.3 in rods."""
LEVEL = 0.5
"""Level between the darkest and the brightest nearby from which a pixel may be a core's."""
RIDGE = 0.4
"""Curvature of a core's pixels, as a share of the most nearby."""
SEED_DEPTH = 0.02
LIMIT = 0.12
"""Difference in level between two pieces and the line between them that leaves them apart."""
THIN = 0.21
"""Half width, as a share of the objects' width, up to which a piece is only part of an object."""
CONTRAST = 0.4
"""Least curvature of an object, as a share of that of the upper quarter of objects."""
_GROWTH = 0.2
_GROWTH_LEVEL = 0.4
_SMALLEST_WIDTH = 4.0
_NOISE = 2.0 * 0.244
"""Deviations of noise's curvature that an object must have; at scale 1 it is 0.244 of the noise's
own, the root of 3 / (16 pi), which is the integral of the square of a Gaussian's second derivative.
"""


def dark_objects(
    values: NDArray[Any], diameter: float | None, progress: Progress
) -> tuple[Labels, float]:
    """Return the objects, numbered from 1, and their width in pixels; 0 if there are none.

    Args:
        values: [rows, columns], dark objects on grey, in any unit.
        diameter: Typical width of an object (of a rod, not its length) in pixels; None to take it
            from the image.
        progress: Told of each step.
    """
    progress(0.1, "Measuring the width of the objects")
    raised = -values.astype(np.float32)
    width = diameter or _width(raised)
    progress(0.3, "Finding objects")
    level = _level(raised, width)
    ridge = _ridge(raised, width)
    near = ndimage.gaussian_filter(_disk_maximum(ridge, 0.6 * width), 0.4 * width)
    near = np.maximum(near, 0.1 * np.percentile(near, 98))
    core = (ridge > np.maximum(RIDGE * near, np.median(ridge))) & (level > LEVEL)
    core = morphology.remove_small_objects(core, max_size=int(0.1 * width**2))
    if not core.any():
        return np.zeros(values.shape, np.int32), 0.0
    progress(0.5, "Separating objects that touch")
    detail = level - ndimage.gaussian_filter(level, 0.25 * width)
    noise = 1.4826 * float(np.median(np.abs(detail[~core]))) if not core.all() else 0.0
    found = _joined(_pieces(level, core), level, core, width, LIMIT + noise)
    progress(0.8, "Outlining")
    least = _NOISE * pixel_noise(raised) * max(width / 10, 0.8) ** -1.5
    return _kept(found, ridge, level, width, least), width


def _width(raised: Image) -> float:
    """Return the width of the objects, by the scale at which their curvature answers most.

    A rod is curved across only, a round object in every direction: where the least curvature is
    at some scale nearly the greatest, the objects are round and that scale is theirs.
    """
    ridges: list[float] = []
    domes: list[float] = []
    scales = [
        float(scale) for scale in 1.2 * 1.25 ** np.arange(14) if scale <= min(raised.shape) / 8
    ]
    for scale in scales:
        hessian = feature.hessian_matrix(raised, sigma=scale, use_gaussian_derivatives=False)
        least, most = -feature.hessian_matrix_eigvals(hessian)
        ridges.append(float(np.percentile(np.maximum(most, 0), 98)) * scale**1.5)
        domes.append(float(np.percentile(np.maximum(least, 0), 98)) * scale**2)
    if not scales:
        return _SMALLEST_WIDTH
    dome = int(np.argmax(domes))
    if domes[dome] > _ROUND * ridges[dome] * scales[dome] ** 0.5:
        return max(DIAMETER_OF_SCALE * scales[dome], _SMALLEST_WIDTH)
    return max(WIDTH_OF_SCALE * scales[int(np.argmax(ridges))], _SMALLEST_WIDTH)


def _ridge_at(raised: Image, scale: float) -> Image:
    hessian = feature.hessian_matrix(raised, sigma=scale, use_gaussian_derivatives=False)
    return np.maximum(-feature.hessian_matrix_eigvals(hessian)[1], 0) * scale**1.5


def _ridge(raised: Image, width: float) -> Image:
    """Return how much each pixel is a ridge of the width or, for the narrow ones, of half of it."""
    wide = _ridge_at(raised, max(width / 6, 0.8))
    return np.maximum(wide, _ridge_at(raised, max(width / 10, 0.8)))


def _disk_maximum(values: Image, radius: float) -> Image:
    return ndimage.grey_dilation(values, footprint=morphology.disk(max(1, round(radius))))


def _level(raised: Image, width: float) -> Image:
    """Return each pixel's level between the lowest (0) and the highest (1) near it."""
    smooth = ndimage.gaussian_filter(raised, max(0.04 * width, 0.5))
    radius, blur = 0.7 * width, 0.5 * width
    highest = ndimage.gaussian_filter(_disk_maximum(smooth, radius), blur)
    lowest = -ndimage.gaussian_filter(_disk_maximum(-smooth, radius), blur)
    extent = highest - lowest
    least = max(0.25 * float(np.percentile(extent, 95)), 1e-6)
    return (smooth - lowest) / np.maximum(extent, least)


def _pieces(level: Image, core: NDArray[np.bool_]) -> Labels:
    seeds = measure.label(morphology.h_maxima(np.round(level, 3), SEED_DEPTH).astype(bool) & core)
    parts = measure.label(core, connectivity=1)
    seeded = np.zeros(int(parts.max()) + 1, bool)
    seeded[parts[seeds > 0]] = True
    seeded[0] = True
    seeds = np.where(seeded[parts], seeds, parts + int(seeds.max()))
    return segmentation.watershed(-level, seeds, mask=core).astype(np.int32)


def _joined(
    labels: Labels, level: Image, core: NDArray[np.bool_], width: float, limit: float
) -> Labels:
    pieces = Pieces(labels)
    flat = level.ravel()
    thickness = ndimage.distance_transform_edt(core).ravel() / width
    known: dict[int, tuple[int, float, float]] = {}

    def form(piece: int) -> tuple[int, float, float]:
        """Return a piece's number of pixels, its upper level and its greatest half width."""
        pixels = pieces.pixels[piece]
        if piece not in known or known[piece][0] != len(pixels):
            upper = quantile(flat[pixels], 0.75)
            known[piece] = len(pixels), upper, float(thickness[pixels].max())
        return known[piece]

    def cost(one: int, other: int) -> float:
        line = pieces.line(one, other)
        (area, upper, half), (other_area, other_upper, other_half) = form(one), form(other)
        # The lower third of the line: two cells may touch at a few pixels as dark as they are.
        lower = quantile(np.minimum(flat[line[:, 0]], flat[line[:, 1]]), 0.3)
        price = min(upper, other_upper) - lower
        price -= 0.3 * max(0.0, 0.6 - min(area, other_area) / width**2)
        if min(half, other_half) < THIN:
            price -= 0.5
        return price

    return pieces.join(cost, limit)


def _kept(found: Labels, ridge: Image, level: Image, width: float, least: float) -> Labels:
    """Drop what is small or below the curvature `least`, and grow the rest to its outline."""
    areas = np.bincount(found.ravel())
    kept = areas >= 0.35 * width**2
    kept[0] = False
    strength = np.zeros(len(areas))
    np.add.at(strength, found.ravel(), ridge.ravel())
    strength /= np.maximum(areas, 1)
    kept &= strength > least
    if kept.any():
        kept &= strength > CONTRAST * np.percentile(strength[kept], 75)
    found = np.where(kept[found], found, 0)
    grown = segmentation.expand_labels(found, _GROWTH * width)
    return np.where((found > 0) | (level > _GROWTH_LEVEL), grown, 0).astype(np.int32)
