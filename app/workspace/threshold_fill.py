"""Threshold fill: the pixels around one whose values lie in a range become a mask.

A pixel belongs to it if it can be reached from the first one by steps to the four neighbours
without leaving the range (both ends belong to it), the region, or the pixels that have a value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import Mask
from app.imaging.types import Frame
from app.workspace import region_statistics
from app.workspace.region_statistics import Region

_SHARE = 0.1  # of the image's usual values: how far from the first pixel's the range reaches
_USUAL = (1, 99)  # percentiles
_SAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Filled:
    """What a threshold fill gives.

    Attributes:
        value: The value of the first pixel, in `units`.
        low: Lower end of the range, which `value` lies in.
        whole: Whether all values of the image are whole numbers.
    """

    mask: Mask
    value: float
    low: float
    high: float
    units: str
    whole: bool


class Filler:
    """Fills masks on one image by threshold; for a thread, as 8 million pixels take 0.1 s."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self._values: tuple[NDArray[np.float64], str] | None = None
        self._usual = (1.0, True)

    @property
    def units(self) -> str:
        """Units of the image's values; "" for a colour image. The first time takes long."""
        if self._values is None:
            self._read()
        return self._values[1] if self._values is not None else ""

    def fill(
        self,
        seed: tuple[int, int],
        region: Region | None = None,
        *,
        span: tuple[float, float] | None = None,
        factor: float = 1.0,
        reach: float | None = None,
    ) -> Filled | None:
        """Return the mask around a pixel, None if it has no value or lies outside `region`.

        Args:
            seed: Column and row of the pixel.
            region: Where the mask must stay; None for the whole image.
            span: The range of values; used only if the pixel's value lies in it.
            factor: Scales `reach`.
            reach: How far from the pixel's value the range reaches, else; None for a share of the
                usual values of the image.
        """
        units = self.units
        if self._values is None:
            return None
        values = self._values[0]
        x, y = seed
        if not (0 <= y < values.shape[0] and 0 <= x < values.shape[1]):
            return None
        value, (usual, whole) = float(values[y, x]), self._usual
        if np.isnan(value):
            return None
        by = (reach if reach is not None else usual) * factor
        low, high = value - by, value + by
        if span is not None and span[0] <= value <= span[1]:
            low, high = span
        rows, columns = range(values.shape[0]), range(values.shape[1])
        chosen: NDArray[np.bool_] | None = None
        if region is not None:
            rows, columns, chosen = region_statistics.inside(region, self.frame)
        if y not in rows or x not in columns:
            return None
        part = values[rows.start : rows.stop, columns.start : columns.stop]
        within = (part >= low) & (part <= high)  # not where there is no value: nan
        if chosen is not None:
            within &= chosen
        place = y - rows.start, x - columns.start
        if not within[place]:
            return None
        from scipy import ndimage  # 0.4 s

        numbers, _count = ndimage.label(within)  # pyright: ignore[reportGeneralTypeIssues]
        mask = np.zeros(values.shape, np.bool_)
        mask[rows.start : rows.stop, columns.start : columns.stop] = numbers == numbers[place]
        return Filled(Mask(mask), value, low, high, units, whole)

    def _read(self) -> None:
        self._values = region_statistics.frame_values(self.frame)
        if self._values is None:
            return
        values = self._values[0].ravel()
        some = values[:: max(1, values.size // _SAMPLES)]
        some = some[np.isfinite(some)]
        if some.size:
            low, high = np.percentile(some, _USUAL)
            whole = bool(np.array_equal(some, np.round(some)))
            by = _SHARE * float(high - low) or 1.0
            self._usual = (max(round(by), 1) if whole else by), whole
