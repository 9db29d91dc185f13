"""An independent witness of what an image must look like: PS3.3 C.11, in plain float64.

Written from the standard and sharing no code with `app.imaging`. Pixels are read by pydicom, or by
GDCM (through SimpleITK) where pydicom has no decoder.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom.multival import MultiValue
from pydicom.pixels.processing import apply_color_lut

Array = NDArray[Any]

GDCM_ONLY = frozenset(
    {"1.2.840.10008.1.2.4.51", "1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70"}
)


def read(path: Path) -> pydicom.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pydicom.dcmread(path, force=True)


def stored_pixels(path: Path, ds: pydicom.Dataset, index: int) -> Array:
    """Stored values of a frame; colour already as RGB."""
    if str(ds.file_meta.TransferSyntaxUID) in GDCM_ONLY:
        import SimpleITK

        assert float(ds.get("RescaleSlope", 1)) == 1
        values: Array = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path)))
        values = values.reshape(-1, *values.shape[-2:]) if ds.SamplesPerPixel == 1 else values
        return values[index] - int(ds.get("RescaleIntercept", 0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array: Array = ds.pixel_array
    return array[index] if int(ds.get("NumberOfFrames", 1) or 1) > 1 else array


def own_window(ds: pydicom.Dataset) -> tuple[float, float] | None:
    """The file's first window."""
    try:
        center, width = ds.WindowCenter, ds.WindowWidth
    except AttributeError:
        return None
    if isinstance(center, MultiValue):
        center, width = center[0], width[0]
    return float(center), float(width)


def modality(ds: pydicom.Dataset, stored: Array) -> Array:
    """C.11.1.1: LUT, else rescale."""
    if "ModalityLUTSequence" in ds:
        item = ds.ModalityLUTSequence[0]
        count, first, _ = item.LUTDescriptor
        table = np.asarray(item.LUTData, dtype=np.float64)
        assert len(table) == (count or 65536)
        return table[np.clip(stored.astype(int) - first, 0, len(table) - 1)]
    slope = float(ds.get("RescaleSlope", ds.get("DoseGridScaling", 1)))
    return stored.astype(np.float64) * slope + float(ds.get("RescaleIntercept", 0))


def linear(x: Array, c: float, w: float) -> Array:
    """C.11.2.1.2.1, word by word, with y from 0 to 1."""
    y = np.empty(x.shape)
    low = x <= c - 0.5 - (w - 1) / 2
    high = x > c - 0.5 + (w - 1) / 2
    between = ~low & ~high
    y[low], y[high] = 0, 1
    y[between] = (x[between] - (c - 0.5)) / (w - 1) + 0.5
    return y


def linear_exact(x: Array, c: float, w: float) -> Array:
    """C.11.2.1.3.2."""
    y = np.empty(x.shape)
    low, high = x <= c - w / 2, x > c + w / 2
    between = ~low & ~high
    y[low], y[high] = 0, 1
    y[between] = (x[between] - c) / w + 0.5
    return y


def sigmoid(x: Array, c: float, w: float) -> Array:
    """C.11.2.1.3.1."""
    return 1 / (1 + np.exp(-4 * (x - c) / w))


def voi_lut(ds: pydicom.Dataset, x: Array) -> Array:
    """C.11.2.1.1, scaled to 0 to 1 by the declared output bits."""
    item = ds.VOILUTSequence[0]
    count, first, bits = item.LUTDescriptor
    data = item.LUTData
    table = np.frombuffer(data, "<u2") if isinstance(data, bytes) else np.asarray(data)
    assert len(table) == (count or 65536)
    return table[np.clip(x.astype(int) - first, 0, len(table) - 1)] / (2**bits - 1)


def grey(ds: pydicom.Dataset, y: Array) -> Array:
    """0..1 after the VOI -> 8 bits, MONOCHROME1 and INVERSE shown dark for high values."""
    inverse = ds.PhotometricInterpretation == "MONOCHROME1"
    inverse = inverse or ds.get("PresentationLUTShape") == "INVERSE"
    return np.round((1 - y if inverse else y) * 255)


def expected(path: Path, index: int, window: tuple[float, float] | None) -> Array:
    """The picture of a frame in 0..255; `window` where the file has none."""
    ds = read(path)
    stored = stored_pixels(path, ds, index)
    if ds.PhotometricInterpretation == "PALETTE COLOR":
        coloured = apply_color_lut(stored, ds)
        return coloured // 256 if coloured.dtype == np.uint16 else coloured
    if ds.SamplesPerPixel == 3:
        return stored / (2.0 ** (8 * stored.dtype.itemsize) - 1) * 255
    x = modality(ds, stored)
    if "VOILUTSequence" in ds and own_window(ds) is None:
        return grey(ds, voi_lut(ds, x))
    center, width = own_window(ds) or window or (0.0, 1.0)
    function = {"SIGMOID": sigmoid, "LINEAR_EXACT": linear_exact}
    return grey(ds, function.get(ds.get("VOILUTFunction", "LINEAR"), linear)(x, center, width))
