"""Correction of a data set's text encoding where the declared character set is missing or wrong.

PS3.3 C.12.1.1.2. pydicom follows the declared Specific Character Set. Some files declare none, a
name that the standard does not know, or another set than the one they use.
"""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from pydicom.charset import CODES_TO_ENCODINGS, python_encoding
from pydicom.dataelem import RawDataElement
from pydicom.dataset import Dataset

from app.imaging.dicom.header_walk import raw_elements, shared_tag

_DECLARATION = 0x00080005
_TEXTS = tuple(
    shared_tag(number)
    for number in (
        0x00080080,  # Institution Name
        0x00080090,  # Referring Physician's Name
        0x00081030,  # Study Description
        0x0008103E,  # Series Description
        0x00081050,  # Performing Physician's Name
        0x00081070,  # Operators' Name
        0x00100010,  # Patient's Name
        0x00104000,  # Patient Comments
        0x00181030,  # Protocol Name
        0x00204000,  # Image Comments
    )
)
"""Text elements whose bytes are inspected to guess the encoding."""
_LATIN = ("iso8859", "latin_1")
_LATER = {"ISO_IR 203": "iso8859_15", "ISO 2022 IR 203": "iso8859_15"}
"""Defined Terms of recent editions of the standard that pydicom does not know yet."""
_ESCAPE = b"\x1b"


def mend_encoding(dataset: Dataset) -> None:
    """Replace the character sets that a freshly read data set declares by those it really uses."""
    sample = _sample(dataset)
    if all(byte < 0x80 for byte in sample) and _ESCAPE not in sample:
        return
    found = _encodings(_declared(dataset), sample)
    if found is not None:
        implicit, little = dataset.original_encoding
        dataset.set_original_encoding(implicit, little, found)


def _encodings(declared: list[str], sample: bytes) -> MutableSequence[str] | None:
    """Return Python's names of the encodings, or None where pydicom's own choice is right."""
    if any(term in _LATER for term in declared):
        return [_LATER.get(term) or python_encoding.get(term, "iso8859") for term in declared]
    named = [python_encoding[term] for term in declared if term in python_encoding]
    if not any(term and term in python_encoding for term in declared) and _ESCAPE in sample:
        codes = [name for code, name in CODES_TO_ENCODINGS.items() if code in sample]
        return ["iso8859", *dict.fromkeys(codes)] if codes else None
    single = len(named) == len(declared) == 1
    if not named or (single and named[0] in _LATIN):
        # Latin letters that happen to be valid UTF-8 make no sense in any language.
        return ["utf8"] if _is_utf8(sample) else None
    if single and named[0] == "UTF8" and not _is_utf8(sample):
        return ["latin_1"]
    return None


def _declared(dataset: Dataset) -> list[str]:
    try:
        value: Any = dataset[_DECLARATION].value
    except Exception:
        return []  # absent, or damaged
    terms = [value] if isinstance(value, str) else list(value or ())
    return [str(term).strip() for term in terms] if any(terms) else []


def _sample(dataset: Dataset) -> bytes:
    parts: list[bytes] = []
    elements = raw_elements(dataset)
    for tag in _TEXTS:
        raw = elements.get(tag)
        if isinstance(raw, RawDataElement) and isinstance(raw.value, bytes):
            parts.append(raw.value)
    return b"\n".join(parts)


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
