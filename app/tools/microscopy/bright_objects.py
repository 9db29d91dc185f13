"""Finds bright objects on a dark background, such as stained nuclei (model process only).

Steps: square root of the values, so that noise is even and dim objects count as much as bright
ones; background subtracted; pixels above half the height of the brightest near them; seeds where
the logarithm of the image is curved downwards in every direction, which a gap between two objects
is not; a watershed of the brightness; pieces joined while their union is convex
(`touching_objects`); each object cut off at its own half height.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import Progress
from app.tools.microscopy.touching_objects import Labels, Pieces, quantile
from app.tools.microscopy.untyped import (
    feature,
    filters,
    measure,
    morphology,
    ndimage,
    segmentation,
)

Image = NDArray[np.float32]

HALF_HEIGHT = 0.55
"""Share of the brightest value nearby (after the square root) above which a pixel is an object."""
OUTLINE_HEIGHT = 0.7
"""Share of an object's own upper values at which it is cut off in the end."""
SEED_SCALE = 0.15
"""Scale at which curvature is taken for seeds, as a share of the diameter."""
CONCAVE = 0.03
"""Concavity of a union (1 - area / area of its hull) that costs nothing: pixels alone make it."""
LIMIT = 0.04
"""Cost up to which two pieces are joined."""
_STEP = 0.15
_NOISE = 4.0
_CROWDED = 2.0
_SMOOTHED = 0.282  # what a Gaussian of scale 1 leaves of the noise: 1 / (2 sqrt(pi))
_LEAST_BLOCK = 100
"""Least side in pixels of a part of the image whose darkest tenth is taken for background."""
_SMALLEST_DIAMETER = 6.0


def bright_objects(
    values: NDArray[Any], diameter: float | None, progress: Progress, grown: float = 1.0
) -> tuple[Labels, float]:
    """Return the objects, numbered from 1, and the diameter in pixels that was used.

    Args:
        values: [rows, columns], bright objects on a dark background, in any unit.
        diameter: Typical diameter of an object in pixels; None to take it from the image.
        progress: Told of each step.
        grown: By how much a diameter taken from the image is multiplied, for objects of uneven
            stain, of which only the darkest part is found at first.
    """
    progress(0.1, "Flattening the background")
    heights, noise = _heights(values)
    raised = ndimage.gaussian_filter(heights, 1.0)
    threshold = max(float(filters.threshold_otsu(raised)), _NOISE * noise, 0.01 * raised.max())
    if threshold <= 0:
        return np.zeros(values.shape, np.int32), 0.0
    if diameter is None:
        width = _diameter(ndimage.binary_fill_holes(raised > threshold))
        if width is None:
            return np.zeros(values.shape, np.int32), 0.0
        diameter = grown * width
    progress(0.25, "Finding objects")
    near = _brightest_near(raised, diameter)
    mask = (raised > HALF_HEIGHT * near) & (raised > max(0.3 * threshold, _NOISE * noise))
    mask = ndimage.binary_opening(
        ndimage.binary_fill_holes(mask), morphology.disk(max(1, round(diameter / 16)))
    )
    mask = morphology.remove_small_objects(mask, max_size=int(0.02 * diameter**2))
    floor = max(0.6 * threshold, _NOISE * noise)
    seeds = _seeds(raised, mask, raised > floor, threshold, diameter)
    mask |= seeds > 0
    smooth = ndimage.gaussian_filter(raised, diameter / 16) / np.maximum(near, 1e-6)
    pieces = Pieces(segmentation.watershed(-smooth, seeds, mask=mask).astype(np.int32))
    progress(0.5, "Separating objects that touch")
    found = _joined(pieces, raised)
    progress(0.75, "Outlining")
    return _outlined(found, raised, raised > floor, diameter), diameter


def _heights(values: NDArray[Any]) -> tuple[Image, float]:
    """Return the square root of the values above the background, and the noise's deviation.

    The background is taken in blocks, as the mode of the darker values of each, so that uneven
    light is subtracted and large objects are not.
    """
    rooted = np.sqrt(np.maximum(values.astype(np.float32) - float(values.min()), 0))
    smooth = ndimage.gaussian_filter(rooted, 1.0)
    ground = _background(smooth)
    heights = rooted - ground
    rest = (smooth - ground)[smooth - ground <= np.percentile(smooth - ground, 60)]
    middle = float(np.median(rest))
    spread = 1.4826 * float(np.median(np.abs(rest - middle)))
    # In a crowded image even the lower values are objects'; the noise of single pixels is not.
    return heights - middle, min(spread, _CROWDED * _SMOOTHED * pixel_noise(rooted))


def pixel_noise(values: Image) -> float:
    """Return the noise's deviation (J. Immerkær, Comput Vis Image Underst 64, 1996), by median."""
    kernel = np.array([[1, -2, 1], [-2, 4, -2], [1, -2, 1]], np.float32)
    return 1.4826 * float(np.median(np.abs(ndimage.convolve(values, kernel)))) / 6


def _background(smooth: Image) -> Image:
    """Return the background as a smooth surface through low values of up to 4 x 4 parts."""
    rows, columns = smooth.shape
    blocks = min(4, max(1, min(rows, columns) // _LEAST_BLOCK))
    lows = np.empty((blocks, blocks), np.float32)
    for row in range(blocks):
        for column in range(blocks):
            part = smooth[
                row * rows // blocks : max((row + 1) * rows // blocks, row * rows // blocks + 1),
                column * columns // blocks : max(
                    (column + 1) * columns // blocks, column * columns // blocks + 1
                ),
            ]
            lows[row, column] = np.percentile(part, 10)
    # A block that is full of objects has no low values of its own.
    lows = np.minimum(lows, np.median(lows) * 1.5 + 1e-6)
    at_row = (np.arange(rows) + 0.5) / rows * blocks - 0.5
    at_column = (np.arange(columns) + 0.5) / columns * blocks - 0.5
    grid = np.meshgrid(at_row, at_column, indexing="ij")
    surface = ndimage.map_coordinates(lows, grid, order=1, mode="nearest")
    return surface.astype(np.float32)


def _diameter(mask: NDArray[np.bool_]) -> float | None:
    """Return the typical width of the objects in a mask, in pixels; None if there are none."""
    distance = ndimage.gaussian_filter(ndimage.distance_transform_edt(mask).astype(np.float32), 1.0)
    peaks = feature.peak_local_max(distance, min_distance=3, exclude_border=False)
    radii = distance[tuple(peaks.T)]
    radii = radii[radii > 2]
    if not len(radii):
        return None
    return max(_SMALLEST_DIAMETER, 2.0 * float(np.average(radii, weights=radii**2)))


def _brightest_near(raised: Image, diameter: float) -> Image:
    """Return a smooth map of the highest value within a radius of each pixel."""
    highest = ndimage.maximum_filter(
        ndimage.gaussian_filter(raised, 1.0), size=2 * round(diameter / 2) + 1
    )
    return ndimage.gaussian_filter(highest, diameter / 4)


def _seeds(
    raised: Image,
    mask: NDArray[np.bool_],
    certain: NDArray[np.bool_],
    threshold: float,
    diameter: float,
) -> Labels:
    logarithm = np.log(np.maximum(raised, 0) + 0.5 * threshold)
    hessian = feature.hessian_matrix(
        logarithm, sigma=SEED_SCALE * diameter, use_gaussian_derivatives=False
    )
    domes = (feature.hessian_matrix_eigvals(hessian)[0] < 0) & certain
    seeds = measure.label(domes, connectivity=1)
    seeds[np.bincount(seeds.ravel())[seeds] <= 0.01 * diameter**2] = 0
    parts = measure.label(mask, connectivity=1)
    seeded = np.zeros(int(parts.max()) + 1, bool)
    seeded[parts[seeds > 0]] = True
    seeded[0] = True
    return np.where(seeded[parts], seeds, parts + int(seeds.max())).astype(np.int32)


def _joined(pieces: Pieces, raised: Image) -> Labels:
    flat = raised.ravel()
    levels: dict[int, tuple[int, float]] = {}

    def level(piece: int) -> float:
        pixels = pieces.pixels[piece]
        if levels.get(piece, (0, 0.0))[0] != len(pixels):
            levels[piece] = len(pixels), quantile(flat[pixels], 0.75)
        return levels[piece][1]

    def cost(one: int, other: int) -> float:
        dim, bright = sorted((level(one), level(other)))
        step = 0.2 * max(0.0, 1 - dim / max(bright, 1e-6) - _STEP)
        if step > LIMIT:
            return step
        area = len(pieces.pixels[one]) + len(pieces.pixels[other])
        return step + 2 * max(0.0, 1 - area / pieces.hull(one, other) - CONCAVE)

    return pieces.join(cost, LIMIT)


def _outlined(found: Labels, raised: Image, certain: NDArray[np.bool_], diameter: float) -> Labels:
    """Grow each object into what is nearest to it, and cut it off at its own half height."""
    grown = segmentation.watershed(
        -ndimage.gaussian_filter(raised, 1.5), found, mask=certain | (found > 0)
    )
    order = np.argsort(found, axis=None, kind="stable")
    ends = np.cumsum(np.bincount(found.ravel()))
    heights = np.zeros(len(ends), np.float32)
    for number in range(1, len(ends)):
        pixels = order[ends[number - 1] : ends[number]]
        heights[number] = quantile(raised.ravel()[pixels], 0.7)
    cut = np.where(raised > OUTLINE_HEIGHT * heights[grown], grown, 0)
    whole = _largest_parts(cut)
    opened = ndimage.grey_opening(whole, footprint=morphology.disk(max(1, round(diameter / 16))))
    return np.where(opened == whole, whole, 0).astype(np.int32)


def _largest_parts(labels: NDArray[Any]) -> NDArray[Any]:
    """Keep of each object its largest connected part."""
    parts = measure.label(labels, connectivity=1)
    sizes = np.bincount(parts.ravel())
    owners = np.zeros(len(sizes), np.int64)
    owners[parts.ravel()] = labels.ravel()
    largest = np.zeros(int(labels.max()) + 1, np.int64)
    np.maximum.at(largest, owners[1:], sizes[1:])
    kept = sizes == largest[owners]
    kept[0] = False
    return np.where(kept[parts], labels, 0)
