"""Interpretation of stored values: rescale, VOI, LUTs, padding and real world values of a frame."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

import numpy as np
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence
from pydicom.uid import JPEGBaseline8Bit, JPEGExtended12Bit, JPEGLSNearLossless

from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.dicom.palette import lut_of_item
from app.imaging.pixels.lut_ranges import ANY, Range, stored_range
from app.imaging.pixels.windows import valid_window
from app.imaging.types import Lut, RealWorldMap, Rescale, Voi, VoiFunction, Window
from app.paths import shipped_table

SUV_UNITS = "{SUVbw}g/ml"
_LONGEST_S = 86_400.0  # from injection to scan


def suv_map(attributes: FrameAttributes, rescale: Rescale) -> RealWorldMap | None:
    """Return the map from stored values to SUVbw (g/ml), or None if it cannot be computed.

    `rescale` leads from stored values to those in the Units (0054,1001) of the image.
    """
    if attributes.text("Modality") != "PT":
        return None
    units = attributes.text("Units").upper()
    if units == "GML" and attributes.text("SUVType").upper() in ("", "BW"):
        return _scaled(rescale, 1.0)
    corrected = attributes.text("CorrectedImage").upper().split("\\")
    if units != "BQML" or not {"ATTN", "DECY"} <= set(corrected):
        return None
    kilograms = attributes.number("PatientWeight")
    dose = _dose_at_reference(attributes)
    if not kilograms or kilograms <= 0 or dose is None:
        return None
    return _scaled(rescale, kilograms * 1000 / dose)


def _scaled(rescale: Rescale, factor: float) -> RealWorldMap | None:
    slope, intercept = rescale.slope * factor, rescale.intercept * factor
    if not slope or not math.isfinite(slope + intercept):
        return None
    return RealWorldMap(-math.inf, math.inf, slope, intercept, units=SUV_UNITS, label="")


def _dose_at_reference(attributes: FrameAttributes) -> float | None:
    """Return the injected dose (Bq), decayed to the time that the image is corrected to."""
    items: Any = attributes.value("RadiopharmaceuticalInformationSequence")
    if not isinstance(items, Sequence) or not len(items):
        return None
    item = items[0]

    def number(keyword: str) -> float | None:
        found = numbers(value_of(item, keyword))[:1]
        return found[0] if found and math.isfinite(found[0]) and found[0] > 0 else None

    dose, half_life = number("RadionuclideTotalDose"), number("RadionuclideHalfLife")
    correction = attributes.text("DecayCorrection").upper()
    if dose is None:
        return None
    if correction == "ADMIN":
        return dose
    if correction != "START" or half_life is None:
        return None
    start = _moment(attributes.text("SeriesDate"), attributes.text("SeriesTime"))
    acquired = _moment(attributes.text("AcquisitionDate"), attributes.text("AcquisitionTime"))
    # A later series is a derived one, whose time is not the scan's.
    if start is None or (acquired is not None and start > acquired):
        return None
    stated = value_text(value_of(item, "RadiopharmaceuticalStartDateTime"))
    time = value_text(value_of(item, "RadiopharmaceuticalStartTime"))
    injected = _moment(stated[:8], stated[8:]) or _moment(attributes.text("SeriesDate"), time)
    if injected is None:
        return None
    seconds = (start - injected).total_seconds()
    return dose * 2 ** (-seconds / half_life) if 0 <= seconds <= _LONGEST_S else None


def _moment(date: str, time: str) -> datetime | None:
    digits = time.replace(":", "").partition("+")[0].partition("-")[0]
    whole, _, fraction = digits.partition(".")
    try:
        return datetime.strptime(  # noqa: DTZ007
            f"{date}{whole:0<6}.{fraction or '0'}", "%Y%m%d%H%M%S.%f"
        )
    except ValueError:
        return None


_UNITS: dict[str, str] = shipped_table("dicom", "rescale_types")
"""Rescale Type (C.11.1.1.2) and PET Units (C.8.9.1.1.3) whose text is not the unit itself."""
_STORED_VALUES_SHOWN = frozenset(f"1.2.840.10008.5.1.4.1.1.12.{number}" for number in (1, 2, 3))
"""SOP Classes of X-ray angiography, radiofluoroscopy and (retired) biplane images. Their modality
transformation makes values proportional to X-ray intensity, for measuring; their windows apply to
the stored values (C.8.7.1.1.2)."""
_LARGEST_FACTOR = 1e12
_METHODS: dict[str, str] = shipped_table("dicom", "compressions")
_LOSSY_SYNTAXES = {
    JPEGBaseline8Bit: "JPEG",
    JPEGExtended12Bit: "JPEG",
    JPEGLSNearLossless: "JPEG-LS",
}


def rescale_of(attributes: FrameAttributes) -> Rescale:
    """Return slope (in dose grids: Dose Grid Scaling), intercept and units (PS3.3 C.11.1)."""
    slope = _possible(attributes.number("RescaleSlope"))
    intercept = _possible(attributes.number("RescaleIntercept"))
    modality = attributes.text("Modality")
    units = attributes.text("RescaleType") or attributes.text("Units")
    units = _UNITS.get(units.upper(), units)
    dose = _possible(attributes.number("DoseGridScaling"))
    if slope is None and dose:
        units = {"GY": "Gy"}.get(attributes.text("DoseUnits"), attributes.text("DoseUnits"))
        return Rescale(dose, 0.0, "" if units == "RELATIVE" else units)
    if slope is None and intercept is None:
        return Rescale(units="" if modality == "CT" else units)
    # A slope of zero would make all pixels equal, so it must be an error.
    return Rescale(slope or 1.0, intercept or 0.0, units or ("HU" if modality == "CT" else ""))


def _possible(factor: float | None) -> float | None:
    """Return whether a slope or intercept is plausible; damaged files hold absurd ones."""
    return factor if factor is not None and abs(factor) <= _LARGEST_FACTOR else None


def modality_of(attributes: FrameAttributes) -> tuple[Rescale, Lut | None]:
    """Return the rescale, and the Modality LUT or None (PS3.3 C.11.1).

    X-ray angiography and fluoroscopy images get an identity rescale and no LUT, since their windows
    apply to the stored values.
    """
    if attributes.header.text("SOPClassUID") in _STORED_VALUES_SHOWN:
        return Rescale(), None
    luts = luts_of(attributes, "ModalityLUTSequence")
    if not luts:
        return rescale_of(attributes), None
    items: Any = attributes.value("ModalityLUTSequence")
    kind = value_text(value_of(items[0], "ModalityLUTType")).upper()
    return Rescale(units=_UNITS.get(kind, kind)), luts[0]


def voi_of(attributes: FrameAttributes) -> Voi:
    """Return the windows and VOI LUTs (PS3.3 C.11.2), without those that `valid_window` refuses."""
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
    """Return the undamaged tables in `keyword`, a Modality, VOI or Presentation LUT Sequence."""
    sequence: Any = attributes.value(keyword)
    if not isinstance(sequence, Sequence):
        return ()
    inputs = _modality_output(attributes) if keyword == "VOILUTSequence" else _stored(attributes)
    little = attributes.header.little_endian
    luts = (lut_of_item(item, inputs, little=little) for item in sequence)
    return tuple(lut for lut in luts if lut is not None)


def _stored(attributes: FrameAttributes) -> Range:
    """Return the range of possible stored values."""
    bits = numbers(attributes.header.value("BitsStored"))[:1]
    if not bits or not 0 < bits[0] <= 64:
        return ANY
    return stored_range(int(bits[0]), signed=attributes.header.value("PixelRepresentation") == 1)


def _modality_output(attributes: FrameAttributes) -> Range:
    """Return the range of values after the modality transformation."""
    inputs = _stored(attributes)
    if inputs == ANY:
        return ANY
    rescale, lut = modality_of(attributes)
    if lut is not None:
        return 0.0, 2.0**lut.bits - 1
    ends = sorted(value * rescale.slope + rescale.intercept for value in inputs)
    return ends[0], ends[1]


def padding_of(header: Header) -> tuple[float, float] | None:
    """Return the (lowest, highest) stored value that marks padding; None if none is stated."""
    kind = {"FloatPixelData": "Float", "DoubleFloatPixelData": "DoubleFloat"}
    floating = kind.get(header.pixels.keyword if header.pixels else "", "")
    first = numbers(header.value(f"{floating}PixelPaddingValue"))[:1]
    last = numbers(header.value(f"{floating}PixelPaddingRangeLimit"))[:1] or first
    if not first or not all(math.isfinite(part) for part in first + last):
        return None
    low, high = sorted((first[0], last[0]))
    if floating:
        return low, high
    # The VR should match the pixels' sign but often does not, so only the 16 bits count.
    if header.value("PixelRepresentation") == 1:
        low, high = (part - 65536 if part > 32767 else part for part in (low, high))
    else:
        low, high = (part + 65536 if part < 0 else part for part in (low, high))
    return min(low, high), max(low, high)


def lossy_text(header: Header) -> str:
    """Return text such as "Lossy JPEG 10:1" if pixels were ever compressed with loss, else ""."""
    method = _LOSSY_SYNTAXES.get(header.syntax, "")
    if header.text("LossyImageCompression") != "01" and not method:
        return ""
    named = header.text("LossyImageCompressionMethod").split("\\")[0]
    parts = ["Lossy", _METHODS.get(named, method)]
    ratios = numbers(header.value("LossyImageCompressionRatio"))
    if ratios and math.isfinite(ratios[0]) and ratios[0] > 1:
        parts.append(f"{ratios[0]:.3g}:1")
    return " ".join(part for part in parts if part)


_MAX_ITEMS = 64
_DIMENSIONLESS = ("1", "{no units}", "NO UNITS", "UNITLESS", "{ratio}")


def real_world_of(attributes: FrameAttributes) -> tuple[RealWorldMap, ...]:
    """Return a frame's real world value maps, without incomplete or contradictory ones.

    The frame's own maps are used if it has any, else those shared by all frames, else those at the
    top level. Real World Value Mapping objects in other files are not searched. For PET, SUVbw is
    added where the header suffices for it.
    """
    sequence: Any = attributes.value("RealWorldValueMappingSequence")
    maps: tuple[RealWorldMap, ...] = ()
    if isinstance(sequence, Sequence):
        signed = attributes.header.value("PixelRepresentation") == 1
        read = (_map(item, signed) for item in sequence[:_MAX_ITEMS])
        maps = tuple(found for found in read if found is not None)
    if any("SUV" in one.units for one in maps):
        return maps
    computed = suv_map(attributes, rescale_of(attributes))
    return maps if computed is None else (*maps, computed)


def _map(item: Dataset, signed: bool) -> RealWorldMap | None:
    ends = _ends(item, signed)
    if ends is None:
        return None
    first, last = ends
    units = value_of(item, "MeasurementUnitsCodeSequence")
    code = value_text(value_of(units[0], "CodeValue")) if isinstance(units, Sequence) else ""
    units_text = "" if code in _DIMENSIONLESS else code
    label = value_text(value_of(item, "LUTLabel")) or value_text(value_of(item, "LUTExplanation"))
    data = numbers(value_of(item, "RealWorldValueLUTData"))
    if data:
        if len(data) != int(last - first) + 1:
            return None
        return RealWorldMap(first, last, lut=np.asarray(data), units=units_text, label=label)
    slope = numbers(value_of(item, "RealWorldValueSlope"))[:1]
    intercept = numbers(value_of(item, "RealWorldValueIntercept"))[:1]
    if not slope or not intercept or not math.isfinite(slope[0] + intercept[0]) or not slope[0]:
        return None
    return RealWorldMap(first, last, slope[0], intercept[0], units=units_text, label=label)


def _ends(item: Dataset, signed: bool) -> tuple[float, float] | None:
    """Return the lowest and highest stored value that an item maps."""
    ends: list[float] = []
    for which in ("First", "Last"):
        whole = numbers(value_of(item, f"RealWorldValue{which}ValueMapped"))[:1]
        wide = numbers(value_of(item, f"DoubleFloatRealWorldValue{which}ValueMapped"))[:1]
        value = whole or wide
        if not value or not math.isfinite(value[0]):
            return None
        ends.append(value[0] - 65536 if whole and signed and value[0] > 32767 else value[0])
    return (ends[0], ends[1]) if ends[0] <= ends[1] else None
