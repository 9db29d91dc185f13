"""Access to sequences and values of objects that may be damaged; no function here raises."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import value_of, value_text
from app.imaging.dicom.frame_attributes import numbers

MAX_TEXT = 64 * 1024
MAX_FRAME = 10**6


def items_of(dataset: Dataset | None, keyword: str) -> list[Dataset]:
    """Return the items of a sequence; empty if it is absent, empty or not a sequence."""
    value: Any = value_of(dataset, keyword) if dataset is not None else None
    if value is None or isinstance(value, str | bytes) or not isinstance(value, Iterable):
        return []
    return [item for item in value if isinstance(item, Dataset)]


def first_item(dataset: Dataset | None, keyword: str) -> Dataset | None:
    """Return the first item of a sequence, or None if there is none."""
    items = items_of(dataset, keyword)
    return items[0] if items else None


def text_of(dataset: Dataset | None, keyword: str) -> str:
    """Return an element's value as text without control characters; "" if absent or damaged."""
    if dataset is None:
        return ""
    value = value_of(dataset, keyword)
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return clean_text(value_text(value))


def clean_text(text: str) -> str:
    """Return text in a form fit for display.

    The result has no control characters except tabs and line feeds (which replace CR LF, CR and FF,
    PS3.5 6.1.2.4, 6.1.3), and is cut after `MAX_TEXT` characters.
    """
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}… (cut: it has {len(text):,} characters)"
    text = text.replace("\r\n", "\n").replace("\n\r", "\n").replace("\r", "\n").replace("\f", "\n")
    kept = (letter for letter in text if letter in "\n\t" or ord(letter) >= 32)
    return "".join(letter for letter in kept if not 0x7F <= ord(letter) <= 0x9F).strip()


def finite_numbers(dataset: Dataset | None, keyword: str, count: int) -> tuple[float, ...] | None:
    """Return the values of `keyword`; None unless they are exactly `count` finite numbers."""
    values = numbers(value_of(dataset, keyword)) if dataset is not None else ()
    if len(values) != count or not all(math.isfinite(value) for value in values):
        return None
    return values


def number_of(dataset: Dataset | None, keyword: str) -> float | None:
    """Return the value of `keyword` if it is a single finite number, else None."""
    values = finite_numbers(dataset, keyword, 1)
    return values[0] if values is not None else None


def whole_number(dataset: Dataset | None, keyword: str) -> int | None:
    """Return the first value of `keyword` truncated to an integer; None if it is no number."""
    values = numbers(value_of(dataset, keyword)) if dataset is not None else ()
    return int(values[0]) if values and abs(values[0]) < 2**53 else None


def numbered_items(dataset: Dataset, sequence: str, keyword: str) -> list[tuple[int, Dataset]]:
    """Return a pair (value of `keyword`, item) for each item of `sequence`.

    An item without a number gets its position, from 1. If a number occurs twice, the first is kept.
    """
    found: dict[int, Dataset] = {}
    for position, item in enumerate(items_of(dataset, sequence), start=1):
        number = whole_number(item, keyword)
        found.setdefault(position if number is None else number, item)
    return list(found.items())


def frames_of(reference: Dataset) -> tuple[int, ...]:
    """Return the frame numbers (from 0) in an item that refers to an image; () means all frames."""
    values = numbers(value_of(reference, "ReferencedFrameNumber"))
    kept = {int(value) - 1: None for value in values if 1 <= value <= MAX_FRAME}
    return tuple(kept)


def property_text(item: Dataset, prefix: str) -> str:
    """Return an item's property category and type as text, e.g. "Organ: Liver", or "".

    `prefix` begins the keywords of the two code sequences: "Segmented" or "Annotation".
    """
    codes = [f"{prefix}PropertyCategoryCodeSequence", f"{prefix}PropertyTypeCodeSequence"]
    texts = (text_of(first_item(item, code), "CodeMeaning") for code in codes)
    return ": ".join(dict.fromkeys(text for text in texts if text))


def maker_text(name: str, how: str) -> str:
    """Return the text that names an object's maker, e.g. "Made by TotalSegmentator (automatic)".

    `how` says how the object was made. Either argument may be ""; the result is "" if both are.
    """
    if name:
        return f"Made by {name} ({how})" if how else f"Made by {name}"
    return f"Made: {how}" if how else ""
