"""Measures numbered objects: area, position, form and intensity (model process only)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.microscopy.touching_objects import hull_area
from app.tools.microscopy.untyped import measure

_FORM = (
    "label",
    "area",
    "bbox",
    "centroid",
    "eccentricity",
    "axis_major_length",
    "axis_minor_length",
    "perimeter",
)


def measured(labels: NDArray[Any], pixels: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return columns with a value for each object, in the order of their numbers.

    Args:
        labels: [rows, columns]; objects are numbered from 1.
        pixels: [rows, columns] or [rows, columns, 3], the stored values that are averaged.

    Returns:
        label, area_px, centroid_x, centroid_y (pixel centres are integers), major_axis_px,
        minor_axis_px, eccentricity, perimeter_px, solidity (area / area of the convex hull of the
        pixels), mean_intensity or mean_red, mean_green and mean_blue, and touches_border.
    """
    form = measure.regionprops_table(labels, properties=_FORM)
    areas = form["area"].astype(np.int64)
    flat = labels.ravel()
    rows, columns = labels.shape
    order = np.argsort(flat, kind="stable")[flat.size - int(areas.sum()) :]
    parts = np.split(order, np.cumsum(areas)[:-1]) if len(areas) else []
    hulls = np.array([hull_area(part, columns) for part in parts])
    values = pixels.reshape(rows * columns, -1)
    names = ("mean_intensity",) if values.shape[1] == 1 else ("mean_red", "mean_green", "mean_blue")
    most = int(form["label"].max()) + 1 if len(areas) else 1
    means = {
        name: np.round(
            np.bincount(flat, weights=values[:, number], minlength=most)[form["label"]] / areas, 3
        )
        for number, name in enumerate(names)
    }
    border = (
        (form["bbox-0"] == 0)
        | (form["bbox-1"] == 0)
        | (form["bbox-2"] == rows)
        | (form["bbox-3"] == columns)
    )
    return {
        "label": form["label"].astype(np.int64),
        "area_px": areas,
        "centroid_x": np.round(form["centroid-1"], 2),
        "centroid_y": np.round(form["centroid-0"], 2),
        "major_axis_px": np.round(form["axis_major_length"], 2),
        "minor_axis_px": np.round(form["axis_minor_length"], 2),
        "eccentricity": np.round(form["eccentricity"], 4),
        "perimeter_px": np.round(form["perimeter"], 2),
        "solidity": np.round(areas / hulls, 4) if len(areas) else np.zeros(0),
        **means,
        "touches_border": border,
    }
