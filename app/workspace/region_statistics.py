"""Which pixels lie in a region that the user drew, and the statistics of their values.

A pixel belongs to a region if its centre lies inside the outline. A centre exactly on the outline
belongs to it on the left, and at the top of a polygon, but not on the right nor at the bottom: two
regions that share an edge share no pixel. A polygon that crosses itself is filled by the even-odd
rule. A mask holds its own pixels. Values are the image's own (Modality LUT or real world map),
never those of the screen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import XY, Box, Ellipse, Finding, Mask, Measurement, Polygon
from app.imaging.pixels import pipeline
from app.imaging.pixels.greys import modality_values
from app.imaging.types import Frame

Region = Box | Ellipse | Polygon | Mask

STORED_UNITS = "stored value"
"""Units of a value that the file neither rescales nor names."""

RESCALED_UNITS = "rescaled value"
"""Units of a value that the file rescales without saying to what."""

BINS = 128
_EDGE = 1e-9  # px: a centre so close to an edge lies on it, whatever floats make of it


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of the values in a region.

    Attributes:
        count: Number of pixels that have a value.
        left_out: Number of pixels inside that have none: padding, colours, or behind a shutter.
        deviation: Standard deviation of a sample (divided by count - 1), as in SimpleITK; 0 for one
            pixel.
        units: Units of all values, e.g. "HU", "SUVbw".
    """

    count: int
    left_out: int
    mean: float
    deviation: float
    minimum: float
    maximum: float
    units: str

    def measurements(self) -> tuple[Measurement, ...]:
        """Return the statistics as measurements; the count is in "px"."""
        units = self.units
        return (
            Measurement("Mean", self.mean, units),
            Measurement("Standard deviation", self.deviation, units),
            Measurement("Minimum", self.minimum, units),
            Measurement("Maximum", self.maximum, units),
            Measurement("Pixels", float(self.count), "px"),
        )


STATISTICS = ("Mean", "Standard deviation", "Minimum", "Maximum", "Pixels")
"""Names of the measurements that rest on pixel values, not on the scale."""


def inside(region: Region, frame: Frame) -> tuple[range, range, NDArray[np.bool_]]:
    """Return the rows and columns around a region, and a bool array of them, True inside."""
    if isinstance(region, Mask):
        rows, columns = extent(region)
        return rows, columns, region.pixels[rows.start : rows.stop, columns.start : columns.stop]
    if isinstance(region, Polygon):
        x, y = np.array(region.points, dtype=np.float64).reshape(-1, 2).T
        edges = float(x.min()), float(y.min()), float(x.max()), float(y.max())
    else:
        edges = region.x0, region.y0, region.x1, region.y1
    rows, columns = _span(edges[1], edges[3], frame.rows), _span(edges[0], edges[2], frame.columns)
    if isinstance(region, Polygon):
        return rows, columns, _filled(region.points, rows, columns)
    if isinstance(region, Box):
        return rows, columns, np.ones((len(rows), len(columns)), np.bool_)
    half_width, half_height = (region.x1 - region.x0) / 2, (region.y1 - region.y0) / 2
    center, middle = (region.x1 + region.x0) / 2, (region.y1 + region.y0) / 2
    down = np.clip(1 - ((np.asarray(rows) - middle) / (half_height or 1)) ** 2, 0, None)
    reach = half_width * np.sqrt(down)[:, None]
    x = np.asarray(columns)[None, :]
    return rows, columns, (x >= center - reach - _EDGE) & (x < center + reach - _EDGE)


def extent(mask: Mask) -> tuple[range, range]:
    """Return the rows and columns around the pixels of a mask; both empty if it has none."""
    down = np.flatnonzero(mask.pixels.any(axis=1))
    if not down.size:
        return range(0), range(0)
    rows = range(int(down[0]), int(down[-1]) + 1)
    across = np.flatnonzero(mask.pixels[rows.start : rows.stop].any(axis=0))
    return rows, range(int(across[0]), int(across[-1]) + 1)


def _span(low: float, high: float, size: int) -> range:
    """Return the pixels whose centres lie between two edges; the upper edge itself is outside."""
    return range(max(math.ceil(low - _EDGE), 0), min(max(math.ceil(high - _EDGE), 0), size))


def _filled(points: tuple[XY, ...], rows: range, columns: range) -> NDArray[np.bool_]:
    """Fill a polygon by the even-odd rule; each edge toggles all columns right of where it cuts."""
    toggles = np.zeros((len(rows), len(columns) + 1), np.int32)
    if not len(rows) or not len(columns):
        return toggles[:, :-1] > 0
    start = np.array(points, dtype=np.float64)
    end = np.roll(start, -1, axis=0)
    lower = np.where((start[:, 1] <= end[:, 1])[:, None], start, end)
    upper = np.where((start[:, 1] <= end[:, 1])[:, None], end, start)
    first = np.clip(np.ceil(lower[:, 1] - _EDGE).astype(int), rows.start, rows.stop)
    after = np.clip(np.ceil(upper[:, 1] - _EDGE).astype(int), rows.start, rows.stop)
    count = np.maximum(after - first, 0)
    edge = np.repeat(np.arange(len(start)), count)
    if not edge.size:
        return toggles[:, :-1] > 0
    y = np.arange(edge.size) - np.repeat(np.cumsum(count) - count, count) + first[edge]
    slope = (upper - lower)[edge]
    x = lower[edge, 0] + (y - lower[edge, 1]) * slope[:, 0] / slope[:, 1]
    at = np.clip(np.ceil(x - _EDGE).astype(int) - columns.start, 0, len(columns))
    np.add.at(toggles, (y - rows.start, at), 1)
    return np.cumsum(toggles[:, :-1], axis=1) % 2 == 1


def region_values(frame: Frame, region: Region) -> tuple[NDArray[np.float64], str, int] | None:
    """Return the values inside a region of a grey image, their units, and how many have no value.

    Values are in the units of a real world map where one covers all pixels and names its units
    (SUVbw, mm²/s), else in modality units (HU), else as stored. None for a colour image.
    """
    if frame.is_color:
        return None
    rows, columns, mask = inside(region, frame)
    stored = pipeline.stored_in(frame, rows, columns, mask)
    left_out = int(np.count_nonzero(mask)) - stored.size
    found = pipeline.real_values(tuple(one for one in frame.real_world if one.units), stored)
    if found is not None:
        return found[0], pipeline.shown_units(found[1].units), left_out
    return modality_values(frame, stored), value_units(frame), left_out


def frame_values(frame: Frame) -> tuple[NDArray[np.float64], str] | None:
    """Return all values of a grey image, [rows, columns], and their units as `region_values` does.

    A pixel without a value is nan. None for a colour image, or if no pixel has a value.
    """
    read = region_values(frame, Box(-0.5, -0.5, frame.columns - 0.5, frame.rows - 0.5))
    if read is None or not read[0].size:
        return None
    if not read[2]:
        return read[0].reshape(frame.rows, frame.columns), read[1]
    values = np.full((frame.rows, frame.columns), np.nan)
    values[pipeline.have_values(frame, range(frame.rows), range(frame.columns))] = read[0]
    return values, read[1]


def value_units(frame: Frame) -> str:
    """Return the units of a grey image's modality values."""
    if frame.rescale.units:
        return frame.rescale.units
    plain = frame.rescale.slope == 1 and not frame.rescale.intercept and frame.modality_lut is None
    return STORED_UNITS if plain else RESCALED_UNITS


def statistics(values: NDArray[np.float64], units: str, left_out: int = 0) -> Statistics | None:
    """Return the statistics of a flat array of values, or None if there are none."""
    if not values.size:
        return None
    deviation = float(values.std(ddof=1)) if values.size > 1 else 0.0
    low, high = float(values.min()), float(values.max())
    return Statistics(values.size, left_out, float(values.mean()), deviation, low, high, units)


def region_of(finding: Finding) -> Region | None:
    """Return the region of a finding, or None if it has another geometry or too few corners."""
    shape = finding.geometry
    if isinstance(shape, Polygon) and len(shape.points) < 3:
        return None
    return shape if isinstance(shape, Box | Ellipse | Polygon | Mask) else None


def histogram(values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the counts and edges of a histogram; whole numbers get bins of whole width."""
    low, high = float(values.min()), float(values.max())
    if np.array_equal(values, np.round(values)):
        width = max(1, math.ceil((high - low + 1) / BINS))
        bins = math.ceil((high - low + 1) / width)
        edges = low - 0.5 + width * np.arange(bins + 1)
        return np.histogram(values, edges)
    return np.histogram(values, BINS, (low, high if high > low else low + 1))
