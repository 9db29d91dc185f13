"""Access to the attributes of one frame in enhanced and plain objects. Runs in a worker process.

Enhanced objects keep them in per-frame or shared functional groups (PS3.3 C.7.6.16), other objects
at the top level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.paths import shipped_table

_MACROS: dict[str, str] = shipped_table("dicom", "macros")
"""Keyword -> sequence of the functional group macro that holds it, or that it is itself."""


@dataclass(frozen=True, slots=True)
class FrameAttributes:
    """Looks up the attributes of one frame, number `index` (from 0), of a DICOM file."""

    header: Header
    index: int

    def value(self, keyword: str) -> Any:
        """Return the value for this frame, else for all frames, else at top level, else None."""
        macro = _MACROS.get(keyword)
        if macro is not None:
            for group, position in (
                ("PerFrameFunctionalGroupsSequence", self.index),
                ("SharedFunctionalGroupsSequence", 0),
            ):
                item = _item(self.header.dataset, group, position)
                if macro != keyword:
                    item = _item(item, macro, 0)
                value = value_of(item, keyword) if item is not None else None
                if value is not None:
                    return value
        return self.header.value(keyword)

    def numbers(self, keyword: str) -> tuple[float, ...]:
        """Return the values of `keyword` as floats in file order; NaN for each non-number."""
        return numbers(self.value(keyword))

    def number(self, keyword: str) -> float | None:
        """Return the first value of `keyword` if it is a finite number, else None."""
        values = self.numbers(keyword)
        return values[0] if values and math.isfinite(values[0]) else None

    def text(self, keyword: str) -> str:
        """Return the value of `keyword` as text; "" if it is absent."""
        return value_text(self.value(keyword))


def numbers(value: Any) -> tuple[float, ...]:
    """Return one or several values as floats, with NaN for each that is not a number."""
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
    """Return an item of a sequence, or None."""
    if dataset is None:
        return None
    sequence: Any = value_of(dataset, keyword)
    try:
        return sequence[position]
    except (TypeError, IndexError, KeyError):
        return None
