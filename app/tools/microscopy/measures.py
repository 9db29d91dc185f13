"""Measures numbered objects: area, position, form and intensity (model process only)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.microscopy.touching_objects import hull_area


def measured(labels: NDArray[Any], pixels: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return columns with a value for each object, in the order of their numbers.

    All objects at once, since scikit-image's `regionprops` takes 3 ms for each. Axes and
    eccentricity are those of the ellipse with the same second moments, as there.

    Args:
        labels: [rows, columns]; objects are numbered from 1 without a gap.
        pixels: [rows, columns] or [rows, columns, 3], the stored values that are averaged.

    Returns:
        label, area_px, centroid_x, centroid_y (pixel centres are integers), major_axis_px,
        minor_axis_px, eccentricity, solidity (area / area of the convex hull of the pixels),
        mean_intensity or mean_red, mean_green and mean_blue, and touches_border.
    """
    rows, columns = labels.shape
    inside = np.flatnonzero(labels)
    owners = labels.ravel()[inside].astype(np.int64) - 1
    count = int(owners.max()) + 1 if len(owners) else 0
    y, x = np.divmod(inside, columns)

    def mean(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(owners, weights=values, minlength=count) / areas

    areas = np.bincount(owners, minlength=count)
    centre_x, centre_y = mean(x), mean(y)
    across, down = x - centre_x[owners], y - centre_y[owners]
    xx, yy, xy = mean(across**2), mean(down**2), mean(across * down)
    middle, reach = (xx + yy) / 2, np.hypot((xx - yy) / 2, xy)
    long, short = middle + reach, np.maximum(middle - reach, 0)
    order = np.argsort(owners, kind="stable")
    parts = np.split(inside[order], np.cumsum(areas)[:-1]) if count else []
    hulls = np.array([hull_area(part, columns) for part in parts])
    values = pixels.reshape(rows * columns, -1)[inside]
    names = ("mean_intensity",) if values.shape[1] == 1 else ("mean_red", "mean_green", "mean_blue")
    edge = (y == 0) | (x == 0) | (y == rows - 1) | (x == columns - 1)
    return {
        "label": np.arange(1, count + 1),
        "area_px": areas,
        "centroid_x": np.round(centre_x, 2),
        "centroid_y": np.round(centre_y, 2),
        "major_axis_px": np.round(4 * np.sqrt(long), 2),
        "minor_axis_px": np.round(4 * np.sqrt(short), 2),
        "eccentricity": np.round(np.sqrt((long - short) / np.maximum(long, 1e-12)), 4),
        "solidity": np.round(areas / hulls, 4) if count else np.zeros(0),
        **{name: np.round(mean(values[:, place]), 3) for place, name in enumerate(names)},
        "touches_border": np.bincount(owners, weights=edge, minlength=count) > 0,
    }
