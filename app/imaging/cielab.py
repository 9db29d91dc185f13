"""Recommended display colours: CIELab as DICOM stores it, to sRGB (PS3.3 C.10.7.1.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence

RGB = tuple[int, int, int]

_D50 = (0.9642, 1.0, 0.8249)
"""The white of the ICC profile connection space, which PCS values refer to."""
_TO_LINEAR = (
    (3.1338561, -1.6168667, -0.4906146),
    (-0.9787684, 1.9161415, 0.0334540),
    (0.0719453, -0.2289914, 1.4052427),
)
"""XYZ (D50) to linear sRGB with Bradford's adaptation to D65; Lindbloom's published matrix."""


def rgb_of_lab(values: Sequence[float]) -> RGB | None:
    """A CIELab value of three 16-bit numbers as 8-bit sRGB; None when it is no such value.

    L* 0..100 is stored as 0..65535, a* and b* from -128 to 127 as 0..65535.
    """
    if len(values) != 3 or not all(0 <= value <= 65535 for value in values):
        return None
    lightness = values[0] * 100 / 65535
    a, b = (value * 255 / 65535 - 128 for value in values[1:])
    y = (lightness + 16) / 116
    xyz = [
        white * _inverse_f(part)
        for white, part in zip(_D50, (y + a / 500, y, y - b / 200), strict=True)
    ]
    linear = [sum(m * part for m, part in zip(row, xyz, strict=True)) for row in _TO_LINEAR]
    red, green, blue = (_encoded(part) for part in linear)
    return red, green, blue


def _inverse_f(value: float) -> float:
    return value**3 if value > 6 / 29 else 3 * (6 / 29) ** 2 * (value - 4 / 29)


def _encoded(linear: float) -> int:
    """The transfer function of sRGB (IEC 61966-2-1), to 0..255."""
    part = min(max(linear, 0.0), 1.0)
    value = 12.92 * part if part <= 0.0031308 else 1.055 * math.pow(part, 1 / 2.4) - 0.055
    return round(value * 255)
