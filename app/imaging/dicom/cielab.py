"""Conversion of CIELab display colours in DICOM files to sRGB."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from app.imaging.layers import RGB

_D50 = np.array([0.96422, 1.0, 0.82521])
"""Reference white of the ICC profile connection space (ICC.1, 7.2.16)."""

_XYZ_D50_TO_LINEAR_SRGB = np.array(
    [
        [3.1338561, -1.6168667, -0.4906146],
        [-0.9787684, 1.9161415, 0.0334540],
        [0.0719453, -0.2289914, 1.4052427],
    ]
)
"""IEC 61966-2-1 primaries, adapted from D65 to D50 by the Bradford transform (B. Lindbloom)."""


def color_from_cielab(values: Sequence[float]) -> RGB | None:
    """Convert a Recommended Display CIELab Value to sRGB (PS3.3 C.10.7.1.1).

    Args:
        values: L*, a* and b* as 16-bit numbers: 0 to 65535 stands for 0 to 100 in L*, and for -128
            to 127 in a* and b* (0x8080 is 0). The white point is taken to be D50, as in ICC
            profiles. Some writers use D65, which differs by a few levels.

    Returns:
        Red, green and blue, 0 to 255, clipped to the gamut of sRGB; None if the value is invalid.
    """
    if len(values) != 3 or not all(math.isfinite(v) and 0 <= v <= 65535 for v in values):
        return None
    lightness = values[0] * 100 / 65535
    a, b = (value * 255 / 65535 - 128 for value in values[1:])
    middle = (lightness + 16) / 116
    ratios = np.array([middle + a / 500, middle, middle - b / 200])
    linear_part = 3 * (6 / 29) ** 2 * (ratios - 4 / 29)
    xyz = _D50 * np.where(ratios > 6 / 29, ratios**3, linear_part)
    linear = np.clip(_XYZ_D50_TO_LINEAR_SRGB @ xyz, 0.0, 1.0)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    red, green, blue = (int(part) for part in np.rint(np.clip(encoded, 0, 1) * 255))
    return red, green, blue
