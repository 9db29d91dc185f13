"""From a DICOM header to what is needed to interpret one frame. Runs in a worker process.

Enhanced objects keep these attributes in functional groups, per frame or shared (PS3.3 C.7.6.16);
others at the top level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.uid import JPEGBaseline8Bit, JPEGExtended12Bit, JPEGLSNearLossless

from app.imaging.dicom_file import Header, value_of, value_text
from app.imaging.pipeline import valid_window
from app.imaging.placement import frame_regions, orientation_of, spacing_and_calibration
from app.imaging.types import Lut, Rescale, Voi, VoiFunction, Window

__all__ = [
    "FrameAttributes",
    "frame_regions",
    "lossy_text",
    "luts_of",
    "numbers",
    "orientation_of",
    "padding_of",
    "rescale_of",
    "spacing_and_calibration",
    "voi_of",
]

_MACROS = {
    "PixelSpacing": "PixelMeasuresSequence",
    "ImageOrientationPatient": "PlaneOrientationSequence",
    "ImagePositionPatient": "PlanePositionSequence",
    "ObjectPixelSpacingInCenterOfBeam": "ProjectionPixelCalibrationSequence",
    "WindowCenter": "FrameVOILUTSequence",
    "WindowWidth": "FrameVOILUTSequence",
    "WindowCenterWidthExplanation": "FrameVOILUTSequence",
    "VOILUTFunction": "FrameVOILUTSequence",
    "RescaleSlope": "PixelValueTransformationSequence",
    "RescaleIntercept": "PixelValueTransformationSequence",
    "RescaleType": "PixelValueTransformationSequence",
}
_METHODS = {
    "ISO_10918_1": "JPEG",
    "ISO_14495_1": "JPEG-LS",
    "ISO_15444_1": "JPEG 2000",
    "ISO_15444_15": "HTJ2K",
}
_LOSSY_SYNTAXES = {
    JPEGBaseline8Bit: "JPEG",
    JPEGExtended12Bit: "JPEG",
    JPEGLSNearLossless: "JPEG-LS",
}


@dataclass(frozen=True, slots=True)
class FrameAttributes:
    """An enhanced or plain object's attributes as they hold for one frame."""

    header: Header
    index: int

    def value(self, keyword: str) -> Any:
        """The frame's own value, else the shared one, else the top level's; None when unknown."""
        macro = _MACROS.get(keyword)
        if macro is not None:
            for group, position in (
                ("PerFrameFunctionalGroupsSequence", self.index),
                ("SharedFunctionalGroupsSequence", 0),
            ):
                item = _item(_item(self.header.dataset, group, position), macro, 0)
                value = value_of(item, keyword) if item is not None else None
                if value is not None:
                    return value
        return self.header.value(keyword)

    def numbers(self, keyword: str) -> tuple[float, ...]:
        """Numeric values in file order; those that are none or not finite become NaN."""
        return numbers(self.value(keyword))

    def number(self, keyword: str) -> float | None:
        """The first value if it is a finite number."""
        values = self.numbers(keyword)
        return values[0] if values and math.isfinite(values[0]) else None

    def text(self, keyword: str) -> str:
        """The value as text."""
        return value_text(self.value(keyword))


def numbers(value: Any) -> tuple[float, ...]:
    """One or several values as numbers, NaN for what is none."""
    if value is None:
        return ()
    items: Any = [value] if isinstance(value, str | bytes | int | float) else value
    try:
        return tuple(_float(item) for item in items)
    except TypeError:
        return (_float(value),)


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _item(dataset: Dataset | None, keyword: str, position: int) -> Dataset | None:
    """An item of a sequence, or None."""
    if dataset is None:
        return None
    sequence: Any = value_of(dataset, keyword)
    try:
        return sequence[position]
    except (TypeError, IndexError, KeyError):
        return None


def rescale_of(attributes: FrameAttributes) -> Rescale:
    """Rescale slope and intercept (PS3.3 C.11.1); dose grids scale by DoseGridScaling."""
    slope = attributes.number("RescaleSlope")
    intercept = attributes.number("RescaleIntercept")
    modality = attributes.text("Modality")
    units = attributes.text("RescaleType") or attributes.text("Units")
    dose = attributes.number("DoseGridScaling")
    if slope is None and dose:
        units = {"GY": "Gy"}.get(attributes.text("DoseUnits"), attributes.text("DoseUnits"))
        return Rescale(dose, 0.0, units)
    if slope is None and intercept is None:
        return Rescale(units="" if modality == "CT" else units)
    # A slope of zero would make every pixel equal: it is a mistake, never meant.
    return Rescale(slope or 1.0, intercept or 0.0, units or ("HU" if modality == "CT" else ""))


def voi_of(attributes: FrameAttributes) -> Voi:
    """Windows and VOI LUTs (PS3.3 C.11.2); impossible windows are left out."""
    text = attributes.text("VOILUTFunction").upper()
    function = VoiFunction(text) if text in VoiFunction.__members__ else VoiFunction.LINEAR
    explanations = attributes.text("WindowCenterWidthExplanation").split("\\")
    windows: list[Window] = []
    pairs = zip(attributes.numbers("WindowCenter"), attributes.numbers("WindowWidth"), strict=False)
    for position, (center, width) in enumerate(pairs):
        explanation = explanations[position] if position < len(explanations) else ""
        window = valid_window(Window(center, width, function, explanation))
        if window is not None:
            windows.append(window)
    return Voi(tuple(windows), luts_of(attributes, "VOILUTSequence"))


def luts_of(attributes: FrameAttributes, keyword: str) -> tuple[Lut, ...]:
    """The usable items of a Modality or VOI LUT Sequence (PS3.3 C.11.1.1, C.11.2.1.1)."""
    sequence: Any = attributes.value(keyword) or ()
    signed = attributes.header.value("PixelRepresentation") == 1
    luts: list[Lut] = []
    for item in sequence:
        lut = _lut(item, signed)
        if lut is not None:
            luts.append(lut)
    return tuple(luts)


def _lut(item: Dataset, signed: bool) -> Lut | None:
    descriptor = numbers(value_of(item, "LUTDescriptor"))
    if len(descriptor) != 3 or not all(math.isfinite(part) for part in descriptor):
        return None
    entries, first, bits = (int(part) for part in descriptor)
    entries = entries % 65536 or 65536
    data = _lut_data(value_of(item, "LUTData"), entries)
    if data is None or not 0 < bits <= 16:
        return None
    if signed and first > 32767:
        first -= 65536
    return Lut(first, bits, data, value_text(value_of(item, "LUTExplanation")))


def _lut_data(value: Any, entries: int) -> NDArray[np.uint16] | None:
    """LUT data as 16-bit numbers, from words, packed bytes or a list; None when too short."""
    if isinstance(value, bytes):
        packed = len(value) < 2 * entries
        data = np.frombuffer(value, np.uint8 if packed else np.dtype("<u2"))
    elif value is None:
        return None
    else:
        data = np.atleast_1d(np.asarray(value)).astype(np.int64) & 0xFFFF
    if data.size < entries:
        return None
    return data[:entries].astype(np.uint16)


def padding_of(header: Header) -> tuple[int, int] | None:
    """Stored values that mean "no image here", inclusive (PS3.3 C.7.5.1.1.2)."""
    first = numbers(header.value("PixelPaddingValue"))[:1]
    last = numbers(header.value("PixelPaddingRangeLimit"))[:1] or first
    if not first or not all(math.isfinite(part) for part in first + last):
        return None
    low, high = sorted((int(first[0]), int(last[0])))
    if header.value("PixelRepresentation") == 1 and high > 32767:
        low, high = sorted((low - 65536 if low > 32767 else low, high - 65536))
    return low, high


def lossy_text(header: Header) -> str:
    """E.g. "Lossy JPEG 10:1" when the pixels were ever compressed with loss, else ""."""
    method = _LOSSY_SYNTAXES.get(header.syntax, "")
    if header.text("LossyImageCompression") != "01" and not method:
        return ""
    named = header.text("LossyImageCompressionMethod").split("\\")[0]
    parts = ["Lossy", _METHODS.get(named, method)]
    ratios = numbers(header.value("LossyImageCompressionRatio"))
    if ratios and math.isfinite(ratios[0]) and ratios[0] > 1:
        parts.append(f"{ratios[0]:.3g}:1")
    return " ".join(part for part in parts if part)
