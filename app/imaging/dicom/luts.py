"""Items of Modality, VOI and Presentation LUT Sequences (PS3.3 C.11.1.1, C.11.2.1.1, C.11.4).

Many files write descriptors and data in ways that the standard does not allow; they are accepted
where only one meaning is possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import value_of, value_text
from app.imaging.layers import RGB
from app.imaging.pixels.lut_ranges import ANY, Range, signed_first
from app.imaging.types import Lut


def lut_of_item(item: Dataset, inputs: Range = ANY, *, little: bool = True) -> Lut | None:
    """Return the table in a LUT Sequence item, or None if it cannot be used.

    Args:
        item: Sequence item with LUT Descriptor and LUT Data.
        inputs: Lowest and highest possible input; they tell whether the first input is signed.
        little: Whether the file is little endian.
    """
    descriptor = _descriptor(item)
    if descriptor is None:
        return None
    entries, first, bits = descriptor
    data = lut_data(value_of(item, "LUTData"), entries, bits, little=little)
    if data is None:
        return None
    used = max(int(data.max()).bit_length(), 1)
    bits = max(bits, used) if 0 < bits <= 16 else used
    explanation = value_text(value_of(item, "LUTExplanation"))
    return Lut(signed_first(first, inputs), bits, data, explanation)


def _descriptor(item: Dataset) -> tuple[int, int, int] | None:
    try:
        entries, first, bits = (int(part) for part in item["LUTDescriptor"].value)
    except Exception:
        return None  # absent, too short or not numbers
    return entries % 65536 or 65536, first, bits


def lut_data(
    value: Any, entries: int, bits: int, *, little: bool = True
) -> NDArray[np.uint16] | None:
    """Return at most `entries` 16-bit numbers of LUT data; None if half or more are missing.

    `entries` and `bits` are those of the descriptor. `value` is bytes (OW, OB) or numbers (US, SS);
    two 8-bit entries may be packed into one word.
    """
    if value is None:
        return None
    if isinstance(value, bytes):
        words = np.frombuffer(value[: len(value) & ~1], "<u2" if little else ">u2")
        words = words.astype(np.uint16)
        tail = value[len(value) & ~1 :]
    else:
        try:
            words = (np.atleast_1d(np.asarray(value)).astype(np.int64) & 0xFFFF).astype(np.uint16)
        except (TypeError, ValueError):
            return None
        tail = b""
    if words.size >= entries:
        return words[:entries]
    # Packed: the first entry in a word's low byte.
    packed = np.concatenate((words.astype("<u2").view(np.uint8), np.frombuffer(tail, np.uint8)))
    if entries <= packed.size <= entries + 1 or (bits <= 8 and packed.size >= entries):
        return packed[:entries].astype(np.uint16)
    # A truncated table continues with its last entry, as inputs beyond its end do.
    return words if 2 * words.size > entries else None


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
