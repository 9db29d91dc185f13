"""Generated microscopy images with known objects, and an independent matcher of objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.optimize import linear_sum_assignment


def discs(
    centres: list[tuple[float, float]], radius: float, shape: tuple[int, int] = (200, 240)
) -> NDArray[np.int32]:
    """Discs at (row, column), numbered from 1; where two overlap, a pixel is the nearer one's."""
    rows, columns = np.indices(shape)
    nearest = np.full(shape, np.inf)
    labels = np.zeros(shape, np.int32)
    for number, (row, column) in enumerate(centres, 1):
        distance = np.hypot(rows - row, columns - column)
        inside = (distance <= radius) & (distance < nearest)
        labels[inside] = number
        nearest = np.where(inside, distance, nearest)
    return labels


def grid(count: int, step: float, shape: tuple[int, int], seed: int) -> list[tuple[float, float]]:
    """Up to `count` centres on a jittered grid."""
    random = np.random.default_rng(seed)
    places = [
        (
            float(row + random.uniform(-0.15, 0.15) * step),
            float(column + random.uniform(-0.15, 0.15) * step),
        )
        for row in np.arange(step, shape[0] - step, step)
        for column in np.arange(step, shape[1] - step, step)
    ]
    random.shuffle(places)
    return places[:count]


def fluorescence(
    truth: NDArray[Any],
    seed: int = 0,
    *,
    bits: int = 16,
    noise: float = 0.03,
    light: float = 0.0,
    contrast: float = 0.5,
) -> NDArray[Any]:
    """Bright objects of uneven brightness on a dark background.

    `noise` is its deviation as a share of the full range, `light` how much the background rises
    from left to right, `contrast` the mean height of an object.
    """
    random = np.random.default_rng(seed)
    heights = random.uniform(0.7, 1.3, int(truth.max()) + 1) * contrast
    heights[0] = 0
    image = gaussian_filter(heights[truth], 1.2) + 0.08
    image = image + light * np.linspace(0, 1, truth.shape[1])
    image += random.normal(0, noise, truth.shape)
    most = 2**bits - 1
    return np.clip(image * most, 0, most).astype(np.uint8 if bits == 8 else np.uint16)


def phase(truth: NDArray[Any], seed: int = 0, noise: float = 2.0) -> NDArray[np.uint8]:
    """Dark objects on grey with bright halos, uint8."""
    random = np.random.default_rng(seed)
    inside = (truth > 0).astype(float)
    edges = np.zeros(truth.shape)
    edges[:, 1:] += (truth[:, 1:] != truth[:, :-1]) & (truth[:, 1:] > 0) & (truth[:, :-1] > 0)
    edges[1:] += (truth[1:] != truth[:-1]) & (truth[1:] > 0) & (truth[:-1] > 0)
    image = 110 - 60 * gaussian_filter(inside, 1.0) + 40 * gaussian_filter(inside, 6.0)
    image += 45 * gaussian_filter(np.minimum(edges, 1), 0.8)
    image += random.normal(0, noise, truth.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def write_tiff(path: Path, pixels: NDArray[Any], um: float | None = None) -> Path:
    """Write a TIFF; `um` is the size of a pixel, which ImageJ's metadata then gives."""
    if um is None:
        tifffile.imwrite(path, pixels)
    else:
        tifffile.imwrite(
            path, pixels, imagej=True, resolution=(1 / um, 1 / um), metadata={"unit": "um"}
        )
    return path


def ious(truth: NDArray[Any], found: NDArray[Any]) -> NDArray[np.float64]:
    """Intersection over union of each true object with each found one."""
    true_numbers, rows = np.unique(truth, return_inverse=True)
    numbers, columns = np.unique(found, return_inverse=True)
    shared = np.zeros((len(true_numbers), len(numbers)))
    np.add.at(shared, (rows.ravel(), columns.ravel()), 1)
    union = shared.sum(1)[:, None] + shared.sum(0)[None] - shared
    return (shared / union)[true_numbers > 0][:, numbers > 0]


def f1(truth: NDArray[Any], found: NDArray[Any], least: float = 0.5) -> float:
    """F1 score of objects matched one to one at an IoU of at least `least`."""
    table = ious(truth, found)
    if 0 in table.shape:
        return float(table.shape == (0, 0))
    rows, columns = linear_sum_assignment(-table)
    hits = int((table[rows, columns] >= least).sum())
    return 2 * hits / sum(table.shape)
