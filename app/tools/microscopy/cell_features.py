"""Measures cells: form, intensity and texture (scikit-image; model process only).

Texture is Haralick's, from grey-level co-occurrence matrices (IEEE Trans SMC 1973), averaged over
four directions so that it does not depend on how a cell lies, and uniform local binary patterns
(Ojala et al., IEEE PAMI 2002).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from skimage.feature import graycomatrix, graycoprops, local_binary_pattern
from skimage.measure import regionprops

from app.tools.microscopy.cell_pictures import CellPictures, grey_limits

Floats = NDArray[np.float32]

_LEVELS = 16  # grey levels of the co-occurrence matrices; level 0 is the background
_TEXTURE = ("contrast", "homogeneity", "energy", "correlation")
_ANGLES = (0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4)
_PATTERNS = 10  # uniform patterns of 8 neighbours

SHOWN = ("area", "eccentricity", "solidity", "form_factor")
"""Features that are written into the analysis' table, with the mean intensities."""


def feature_names(channels: int) -> list[str]:
    """Return the names of the columns of `measure`, in order."""
    names = ["area", "eccentricity", "solidity", "extent", "form_factor", "axis_ratio", "diameter"]
    for c in range(1, channels + 1):
        end = f"_{c}" if channels > 1 else ""
        names += [f"{part}{end}" for part in ("mean_intensity", "std_intensity", "edge_to_centre")]
        names += [f"{part}{end}" for part in _TEXTURE]
        names += [f"pattern_{number}{end}" for number in range(_PATTERNS)]
    return names


def measure(cells: CellPictures, tell: Callable[[float], None]) -> Floats:
    """Return the features of all cells: float32 [cells, features], named by `feature_names`.

    Areas are in pixels, intensities in stored values, all others without units. `tell` is called
    with the fraction done, 0..1, and may raise to stop.
    """
    limits = grey_limits(cells)
    rows: list[list[float]] = []
    for number, (pixels, mask) in enumerate(zip(cells.pixels, cells.masks, strict=True)):
        if number % 16 == 0:
            tell(number / len(cells))
        found = regionprops(mask.astype(np.uint8))[0]
        form = _form(found)
        for c, (low, high) in enumerate(limits):
            grey = pixels[..., c].astype(np.float64)
            level = np.clip((grey - low) / (high - low), 0, 1)
            form += [float(grey[mask].mean()), float(grey[mask].std())]
            form += [_edge_to_centre(level, mask), *_texture(level, mask)]
        rows.append(form)
    return np.nan_to_num(np.array(rows, np.float32))


def _form(found: object) -> list[float]:
    area, perimeter = float(found.area), float(found.perimeter)  # pyright: ignore
    major, minor = float(found.axis_major_length), float(found.axis_minor_length)  # pyright: ignore
    return [
        area,
        float(found.eccentricity),  # pyright: ignore
        float(found.solidity) if area > 2 else 1.0,  # pyright: ignore
        float(found.extent),  # pyright: ignore
        min(4 * np.pi * area / perimeter**2, 1.5) if perimeter else 1.0,
        minor / major if major else 1.0,
        float(found.equivalent_diameter_area),  # pyright: ignore
    ]


def _edge_to_centre(level: NDArray[np.float64], mask: NDArray[np.bool_]) -> float:
    """Return the mean intensity of the cell's outer half by its mean intensity; 1 if it is even."""
    rows, columns = np.nonzero(mask)
    distance = np.hypot(rows - rows.mean(), columns - columns.mean())
    values = level[rows, columns]
    outer = values[distance >= np.median(distance)]
    return float((outer.mean() + 0.01) / (values.mean() + 0.01))


def _texture(level: NDArray[np.float64], mask: NDArray[np.bool_]) -> list[float]:
    steps = np.where(mask, 1 + np.minimum((level * (_LEVELS - 1)).astype(np.uint8), _LEVELS - 2), 0)
    # Pairs with the background are taken out: they would measure the outline, not the texture.
    counts = graycomatrix(steps.astype(np.uint8), [1, 2], _ANGLES, levels=_LEVELS, symmetric=True)[
        1:, 1:
    ].astype(np.float64)
    counts /= np.maximum(counts.sum((0, 1), keepdims=True), 1)
    found = [float(np.nanmean(graycoprops(counts, name))) for name in _TEXTURE]
    coded = local_binary_pattern((level * 255).astype(np.uint8), 8, 1, "uniform")[mask]
    share = np.bincount(coded.astype(int), minlength=_PATTERNS)[:_PATTERNS] / max(len(coded), 1)
    return [*found, *map(float, share)]
