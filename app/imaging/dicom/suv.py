"""Standardised uptake values by body weight (SUVbw) of PET images, where the header suffices.

By the vendor-neutral rules of the Quantitative Imaging Biomarkers Alliance (QIBA, "SUV vendor
neutral pseudocode"): only values in Bq/ml that are corrected for attenuation and decay, and only
where weight, dose, half-life and times are stated by standard attributes. Otherwise there is none.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Any

from pydicom.sequence import Sequence

from app.imaging.dicom.dicom_file import value_of, value_text
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.types import RealWorldMap, Rescale

SUV_UNITS = "{SUVbw}g/ml"
_LONGEST_S = 86_400.0  # from injection to scan


def suv_map(attributes: FrameAttributes, rescale: Rescale) -> RealWorldMap | None:
    """Return the map to SUVbw (g/ml) or None; `rescale` leads to the Units (0054,1001)."""
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
    """Return a date and time (DA, TM) without its zone, or None."""
    digits = time.replace(":", "").partition("+")[0].partition("-")[0]
    whole, _, fraction = digits.partition(".")
    try:
        return datetime.strptime(  # noqa: DTZ007
            f"{date}{whole:0<6}.{fraction or '0'}", "%Y%m%d%H%M%S.%f"
        )
    except ValueError:
        return None
