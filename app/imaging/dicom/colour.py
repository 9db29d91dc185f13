"""Conversion of colour models to RGB (PS3.3 C.7.6.3.1.2) and notes on ICC profiles."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import first_item
from app.imaging.dicom.pixel_layout import Layout

Array = NDArray[Any]

_MAX_BITS = 16
_AS_RGB = frozenset({"RGB", "YBR_RCT", "YBR_ICT"})
"""Photometric interpretations that need no conversion; the JPEG 2000 library undoes its own
transforms."""
_FULL = frozenset({"YBR_FULL", "YBR_FULL_422"})
_PARTIAL = frozenset({"YBR_PARTIAL_422", "YBR_PARTIAL_420"})
_RETIRED = frozenset({"ARGB", "CMYK", "HSV"})
_TO_PARTIAL = np.array(
    [[0.2568, 0.5041, 0.0979], [-0.1482, -0.2910, 0.4392], [0.4392, -0.3678, -0.0714]]
)
"""Matrix from RGB to YBR_PARTIAL of the standard; 16, 128 and 128 are added to the result."""


def to_rgb(header: Header, layout: Layout, stored: Array, photometric: str) -> Array:
    """Convert unsigned colour pixels [rows, columns, samples] to RGB with at most 16 bits a sample.

    Raises:
        FileProblem: The colour model is not supported.
    """
    if photometric in _RETIRED or layout.samples != 3:
        raise guards.problem(
            header.path,
            f"its colour model ({photometric[:20]} with {layout.samples} samples a pixel) "
            "cannot be shown",
            "Ask for an export in RGB",
        )
    bits = layout.stored
    if stored.dtype.itemsize > 2:
        down = max(bits - _MAX_BITS, 0)
        stored, bits = (stored >> down).astype(np.uint16), min(bits, _MAX_BITS)
    if photometric in _AS_RGB:
        return stored
    if photometric in _FULL:
        return _full_to_rgb(stored, bits)
    if photometric in _PARTIAL:
        return _partial_to_rgb(stored, bits)
    raise guards.problem(
        header.path,
        f"its colour model ({photometric[:20]}) cannot be shown",
        "Ask for an export in RGB",
    )


def _full_to_rgb(ybr: Array, bits: int) -> Array:
    """Convert YBR_FULL to RGB; float32 is exact enough for 16 bits."""
    full, middle = float(2**bits - 1), float(2 ** (bits - 1))
    y, cb, cr = (ybr[..., channel].astype(np.float32) for channel in range(3))
    cb -= middle
    cr -= middle
    rgb = np.empty(ybr.shape, np.float32)
    rgb[..., 0] = y + np.float32(1.402) * cr
    rgb[..., 1] = y - np.float32(0.344136) * cb - np.float32(0.714136) * cr
    rgb[..., 2] = y + np.float32(1.772) * cb
    np.rint(rgb, out=rgb)
    np.clip(rgb, 0, full, out=rgb)
    return rgb.astype(ybr.dtype)


def _partial_to_rgb(ybr: Array, bits: int) -> Array:
    """Convert YBR_PARTIAL to RGB; luminance spans 16 to 235 of 255, chrominance 16 to 240."""
    scale = 2.0 ** (bits - 8)
    offset = np.array([16.0, 128.0, 128.0]) * scale
    rgb = (ybr.astype(np.float64) - offset) @ np.linalg.inv(_TO_PARTIAL).T
    return np.clip(np.rint(rgb), 0, 2**bits - 1).astype(ybr.dtype)


def icc_note(header: Header) -> str:
    """Return a note on an ICC profile other than sRGB, which is not applied; "" if none."""
    profile: Any = header.value("ICCProfile")
    path = first_item(header.dataset, "OpticalPathSequence")
    if profile is None and path is not None:
        profile = value_of(path, "ICCProfile")
    if not isinstance(profile, bytes) or len(profile) < 132:
        return ""
    name = _description(profile)
    if "srgb" in name.lower():
        return ""
    return f"colours shown without the file's ICC profile{f' ({name})' if name else ''}"


def _description(profile: bytes) -> str:
    """Return an ICC profile's own name (ICC.1:2010, 7.3 tag table and desc)."""
    try:
        (count,) = struct.unpack_from(">L", profile, 128)
        for number in range(min(count, 100)):
            tag, offset, size = struct.unpack_from(">4sLL", profile, 132 + 12 * number)
            if tag != b"desc":
                continue
            data = profile[offset : offset + size]
            if data[:4] == b"desc":
                (length,) = struct.unpack_from(">L", data, 8)
                return data[12 : 12 + length].decode("latin-1").rstrip("\0")[:80]
            if data[:4] == b"mluc":
                length, start = struct.unpack_from(">LL", data, 20)
                return data[start : start + length].decode("utf-16-be", "replace")[:80]
    except struct.error:
        pass
    return ""
