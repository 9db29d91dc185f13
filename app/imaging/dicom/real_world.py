"""Real World Value Mapping (PS3.3 C.7.6.16.2.11). Runs in a worker process."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from app.imaging.dicom.dicom_file import value_of, value_text
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.types import RealWorldMap

_MAX_ITEMS = 64
_DIMENSIONLESS = ("1", "{no units}", "NO UNITS", "UNITLESS", "{ratio}")


def real_world_of(attributes: FrameAttributes) -> tuple[RealWorldMap, ...]:
    """The usable maps that hold for a frame: its own, else the shared ones, else the top level's.

    Maps of other images (a Real World Value Mapping object) are not looked for.
    """
    sequence: Any = attributes.value("RealWorldValueMappingSequence")
    if not isinstance(sequence, Sequence):
        return ()
    signed = attributes.header.value("PixelRepresentation") == 1
    maps = (_map(item, signed) for item in sequence[:_MAX_ITEMS])
    return tuple(found for found in maps if found is not None)


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
    """Lowest and highest stored value that it maps."""
    ends: list[float] = []
    for which in ("First", "Last"):
        whole = numbers(value_of(item, f"RealWorldValue{which}ValueMapped"))[:1]
        wide = numbers(value_of(item, f"DoubleFloatRealWorldValue{which}ValueMapped"))[:1]
        value = whole or wide
        if not value or not math.isfinite(value[0]):
            return None
        ends.append(value[0] - 65536 if whole and signed and value[0] > 32767 else value[0])
    return (ends[0], ends[1]) if ends[0] <= ends[1] else None
