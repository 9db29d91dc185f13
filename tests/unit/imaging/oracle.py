"""An independent witness of what an image must look like: PS3.3 C.11, in plain float64.

Written from the standard and sharing no code with `app.imaging`. Pixels are read by pydicom, or by
GDCM (through SimpleITK) where pydicom has no decoder.
"""

from __future__ import annotations

import contextlib
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray
from pydicom.encaps import get_frame
from pydicom.multival import MultiValue
from pydicom.pixels.processing import apply_color_lut
from pydicom.pixels.utils import pixel_array
from pydicom.uid import ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian

Array = NDArray[Any]

GDCM_ONLY = frozenset(
    {"1.2.840.10008.1.2.4.51", "1.2.840.10008.1.2.4.57", "1.2.840.10008.1.2.4.70"}
)
DEFLATED_FRAMES = "1.2.840.10008.1.2.8.1"


def read(path: Path) -> pydicom.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ds = pydicom.dcmread(path, force=True)
    if "TransferSyntaxUID" not in ds.file_meta:
        # A bare data set: pydicom found out how it is encoded.
        implicit, little = ds.original_encoding
        explicit = ExplicitVRLittleEndian if little else ExplicitVRBigEndian
        ds.file_meta.TransferSyntaxUID = ImplicitVRLittleEndian if implicit else explicit
    with contextlib.suppress(ValueError):
        int(ds.get("NumberOfFrames") or 1)
        return ds
    # Its number of frames is no number; its pixels tell it.
    del ds[0x00280008]
    ds.NumberOfFrames = len(ds.PixelData) * 8 // (ds.Rows * ds.Columns * ds.BitsAllocated)
    return ds


def whole(ds: pydicom.Dataset, keyword: str, default: int) -> int:
    """A whole number of the header, or the default where it is missing or no number."""
    try:
        return int(ds.get(keyword) or default)
    except (TypeError, ValueError):
        return default


def syntax(ds: pydicom.Dataset) -> str:
    return str(ds.file_meta.get("TransferSyntaxUID", ""))


def is_tiled(ds: pydicom.Dataset) -> bool:
    """A whole-slide image, not a segmentation of one."""
    return "TotalPixelMatrixColumns" in ds and ds.Modality != "SEG"


def stored_pixels(path: Path, ds: pydicom.Dataset, index: int) -> Array:
    """Stored values of a frame; colour already as RGB; a slide's tiles as one image."""
    if syntax(ds) in GDCM_ONLY:
        return _by_gdcm(path, ds, index)
    if is_tiled(ds):
        return _slide(path).astype(f"u{ds.BitsAllocated // 8}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if ds.BitsAllocated == 1 and syntax(ds) in PACKED_BITS:
            return PACKED_BITS[syntax(ds)](ds, index)
        return _value_bits(ds, pixel_array(ds, index=index))


def _by_gdcm(path: Path, ds: pydicom.Dataset, index: int) -> Array:
    import SimpleITK

    assert float(ds.get("RescaleSlope", 1)) == 1
    values: Array = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(str(path)))
    values = values.reshape(-1, *values.shape[-2:]) if ds.SamplesPerPixel == 1 else values
    return values[index] - int(ds.get("RescaleIntercept", 0))


def _slide(path: Path) -> Array:
    import highdicom

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        image = highdicom.imread(path)
        assert image.number_of_frames > 1
        return np.asarray(
            image.get_total_pixel_matrix(
                apply_icc_profile=False,
                apply_real_world_transform=False,
                apply_modality_transform=False,
                apply_voi_transform=False,
                apply_palette_color_lut=False,
            )
        )


def _fragment(ds: pydicom.Dataset, index: int) -> bytes:
    return get_frame(ds.PixelData, index, number_of_frames=int(ds.NumberOfFrames))


def _bits(ds: pydicom.Dataset, data: bytes) -> Array:
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    return bits[: ds.Rows * ds.Columns].reshape(ds.Rows, -1)


def _inflated(ds: pydicom.Dataset, index: int) -> Array:
    """PS3.5 A.4.13."""
    return _bits(ds, zlib.decompress(_fragment(ds, index), -zlib.MAX_WBITS))


def _unrolled(ds: pydicom.Dataset, index: int) -> Array:
    """PS3.5 G.3.2, one segment."""
    data = _fragment(ds, index)[64:]
    plain = bytearray()
    position = 0
    while position < len(data) and len(plain) * 8 < ds.Rows * ds.Columns:
        count = data[position]
        if count < 128:
            plain += data[position + 1 : position + 2 + count]
            position += 2 + count
        elif count > 128:
            plain += data[position + 1 : position + 2] * (257 - count)
            position += 2
        else:
            position += 1
    return _bits(ds, bytes(plain))


PACKED_BITS = {DEFLATED_FRAMES: _inflated, "1.2.840.10008.1.2.5": _unrolled}
"""Syntaxes in which pydicom does not decode two-valued frames."""


def _value_bits(ds: pydicom.Dataset, array: Array) -> Array:
    """PS3.5 8.1.1: the value ends at High Bit, which pydicom takes for BitsStored - 1."""
    stored = whole(ds, "BitsStored", 0)
    shift = whole(ds, "HighBit", stored - 1) - (stored - 1)
    return array >> shift if shift > 0 and array.dtype.kind in "iu" else array


def of_frame(ds: pydicom.Dataset, index: int, macro: str, keyword: str) -> Any:
    """C.7.6.16: the frame's own functional group, else the shared one, else the top level."""
    for sequence, number in (
        ("PerFrameFunctionalGroupsSequence", index),
        ("SharedFunctionalGroupsSequence", 0),
    ):
        if sequence not in ds or len(ds[sequence].value) <= number:
            continue
        group = ds[sequence].value[number]
        if macro in group and keyword in group[macro].value[0]:
            return group[macro].value[0][keyword].value
    try:
        return ds.get(keyword)
    except ValueError:
        return None


def own_window(ds: pydicom.Dataset, index: int = 0) -> tuple[float, float] | None:
    """The first window of a frame."""
    center = of_frame(ds, index, "FrameVOILUTSequence", "WindowCenter")
    width = of_frame(ds, index, "FrameVOILUTSequence", "WindowWidth")
    if center is None or width is None:
        return None
    if isinstance(center, MultiValue):
        center, width = center[0], width[0]
    return float(center), float(width)


def function_of(ds: pydicom.Dataset, index: int, width: float) -> str:
    """VOI LUT Function; a linear window narrower than 1 can only be meant as exact."""
    named = of_frame(ds, index, "FrameVOILUTSequence", "VOILUTFunction") or "LINEAR"
    return "LINEAR_EXACT" if named == "LINEAR" and width < 1 else str(named)


def table_of(item: pydicom.Dataset) -> tuple[Array, int, int]:
    """C.11.1.1.1: entries, the first input that they map, and bits; as the file's VRs say."""
    count, first, bits = (int(part) for part in item.LUTDescriptor)
    data = item.LUTData
    table = np.frombuffer(data, "<u2") if isinstance(data, bytes) else np.asarray(data)
    count = count or 65536
    if bits == 8 and len(table) == -(-count // 2):
        table = table.astype("<u2").view(np.uint8)  # two entries to a word
    return table[:count].astype(np.float64), first, bits


def looked_up(item: pydicom.Dataset, x: Array) -> Array:
    table, first, _ = table_of(item)
    return table[np.clip(np.round(x.astype(np.float64) - first), 0, len(table) - 1).astype(int)]


def modality(ds: pydicom.Dataset, stored: Array, index: int = 0) -> Array:
    """C.11.1.1: LUT, else rescale."""
    if "ModalityLUTSequence" in ds:
        return looked_up(ds.ModalityLUTSequence[0], stored)
    macro = "PixelValueTransformationSequence"
    slope = of_frame(ds, index, macro, "RescaleSlope")
    slope = float(ds.get("DoseGridScaling", 1) if slope is None else slope)
    intercept = of_frame(ds, index, macro, "RescaleIntercept")
    return stored.astype(np.float64) * slope + float(intercept or 0)


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


FORMULAS = {"LINEAR": linear, "LINEAR_EXACT": linear_exact, "SIGMOID": sigmoid}


def voi_lut(ds: pydicom.Dataset, x: Array) -> Array:
    """C.11.2.1.1, scaled to 0 to 1 by the declared output bits."""
    item = ds.VOILUTSequence[0]
    return looked_up(item, x) / (2 ** table_of(item)[2] - 1)


def presentation_lut(ds: pydicom.Dataset, y: Array) -> Array:
    """C.11.4: the input spans the entries, the output is P-values of so many bits."""
    table, _, bits = table_of(ds.PresentationLUTSequence[0])
    return table[np.round(y * (len(table) - 1)).astype(int)] / (2**bits - 1)


def grey(ds: pydicom.Dataset, y: Array) -> Array:
    """0..1 after the VOI -> 8 bits, MONOCHROME1 and INVERSE shown dark for high values."""
    if "PresentationLUTSequence" in ds:
        y = presentation_lut(ds, y)
    inverse = ds.PhotometricInterpretation == "MONOCHROME1"
    inverse = inverse or ds.get("PresentationLUTShape") == "INVERSE"
    return np.round((1 - y if inverse else y) * 255)


def coloured(ds: pydicom.Dataset, stored: Array) -> Array:
    """C.7.6.3.1.5, to 8 bits; segmented palettes by pydicom."""
    if "SegmentedRedPaletteColorLookupTableData" in ds:
        found: Array = apply_color_lut(stored, ds)
        return found // 256 if found.dtype == np.uint16 else found
    order = ">" if syntax(ds) == "1.2.840.10008.1.2.2" else "<"
    entries, first, bits = (int(part) for part in ds.RedPaletteColorLookupTableDescriptor)
    index = np.clip(stored.astype(int) - first, 0, (entries or 65536) - 1)
    channels: list[Array] = []
    for name in ("Red", "Green", "Blue"):
        data = ds[f"{name}PaletteColorLookupTableData"].value
        table = np.frombuffer(data, f"{order}u2" if len(data) >= 2 * entries else "u1")
        channels.append(table[index])
    rgb = np.stack(channels, axis=-1)
    return rgb // 256 if bits == 16 else rgb


def expected(path: Path, index: int, window: tuple[float, float] | None) -> Array:
    """The picture of a frame in 0..255; `window` where the file has none."""
    ds = read(path)
    stored = stored_pixels(path, ds, index)
    if ds.PhotometricInterpretation == "PALETTE COLOR":
        return coloured(ds, stored)
    if stored.ndim == 3:
        return stored / (2.0 ** (8 * stored.dtype.itemsize) - 1) * 255
    x = modality(ds, stored, index)
    own = own_window(ds, index)
    if "VOILUTSequence" in ds and own is None:
        return grey(ds, voi_lut(ds, x))
    center, width = own or window or (0.0, 1.0)
    picture = grey(ds, FORMULAS[function_of(ds, index, width)](x, center, width))
    if ds.get("PixelPresentation") == "COLOR" and "RedPaletteColorLookupTableDescriptor" in ds:
        return supplemented(ds, stored, picture)
    return picture


def supplemented(ds: pydicom.Dataset, stored: Array, picture: Array) -> Array:
    """C.7.6.19: values from the palette's first one on are coloured, the others stay grey."""
    first = int(ds.RedPaletteColorLookupTableDescriptor[1])
    rgb = np.repeat(picture[..., None], 3, axis=2)
    chosen = stored >= first
    rgb[chosen] = coloured(ds, stored)[chosen]
    return rgb
