"""Elements of millions of values or letters: refused before they become objects.

In implicit VR an element's length has 32 bits: 24 megabytes of ones and backslashes for a window
centre cost four gigabytes and half a minute, at every look at it.
"""

from __future__ import annotations

from typing import Any

import pydicom.values
from pydicom.datadict import dictionary_has_tag, dictionary_VR
from pydicom.hooks import hooks, raw_element_value

MAX_TEXTS = 2**16
"""Values divided by backslashes; an element of an explicit VR has room for half as many."""
MAX_NUMBERS = 2**18
"""Binary values; the largest tables have 65,536."""

_TEXTS = frozenset(("AE", "AS", "CS", "DA", "DS", "DT", "IS", "LO", "PN", "SH", "TM", "UC", "UI"))
_MOST_BYTES = dict.fromkeys(_TEXTS, 2**18) | {
    "DS": 2**20, "IS": 2**20, "LT": 2**18, "ST": 2**18, "UC": 2**22, "UR": 2**22, "UT": 2**22,
}  # fmt: skip
"""Of a text: an explicit VR has room for 64 kB in all but the last three. To decode the escapes of
many character sets takes a second for each megabyte."""
_BYTES_EACH = {
    "US": 2, "SS": 2, "UL": 4, "SL": 4, "FL": 4, "AT": 4, "FD": 8, "SV": 8, "UV": 8,
}  # fmt: skip


def count_values() -> None:
    """Have pydicom refuse elements of absurdly many values when they are converted.

    That of the character set is converted while a data set is parsed, past its hooks.
    """
    hooks.register_callback("raw_element_value", _converted)
    pydicom.values.convert_string = _converted_string


_convert_string = pydicom.values.convert_string


def _converted_string(value: bytes, *options: Any) -> Any:
    if holds_too_many("CS", value):
        raise ValueError("too many values")
    return _convert_string(value, *options)


def _converted(raw: Any, data: dict[str, Any], **options: Any) -> None:
    """As pydicom converts a value.

    Raises:
        ValueError: It is one of too many.
    """
    if holds_too_many(data["VR"], raw.value):
        raise ValueError("too many values")
    raw_element_value(raw, data, **options)


def holds_too_many(vr: str | None, value: Any, tag: int = 0) -> bool:
    """Whether a value, as it stands in the file, is one of too many.

    Args:
        vr: Its VR; None for that of the dictionary.
        value: Its bytes.
        tag: For the dictionary.
    """
    if not isinstance(value, bytes) or len(value) <= MAX_TEXTS:
        return False
    if vr is None:
        vr = dictionary_VR(tag) if dictionary_has_tag(tag) else "UN"
    if len(value) > _MOST_BYTES.get(vr, len(value)):
        return True
    if vr in _TEXTS:
        return value.count(b"\\") >= MAX_TEXTS
    each = 2 if vr == "US or SS" else _BYTES_EACH.get(vr, len(value))
    return len(value) > MAX_NUMBERS * each
