"""Headers that hold nothing, a million times: refused while they are read, before they fill memory.

The parser makes an object of every item and element, of some hundred bytes and ten microseconds, so
that a file of a few megabytes of empty items costs gigabytes and minutes. What real objects hold in
great number (contours, frames' functional groups, content items) has content, and there is an end
to it: items are counted as they stand in the file, ahead of the parser.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

import pydicom.values
from pydicom.datadict import dictionary_has_tag, dictionary_VR
from pydicom.hooks import hooks, raw_element_value

from app.errors import FileProblem
from app.imaging import guards

MAX_EMPTY_ITEMS = 20_000
MAX_ITEMS = 60_000
"""Of any kind, with content: 10,000 contours have 20,000, one for the image that each was drawn on.
"""
MAX_ITEMS_OF_FRAMES = 150_000
"""Of the functional groups of frames: some ten for each of 10,000 frames."""
MAX_ITEMS_OF_FEW = 10_000
"""Of what there are hundreds of at most, and six items or so for each: channels of waveforms,
graphics of presentation states, groups of annotations, regions of structure sets."""
MAX_ELEMENTS_AN_ITEM = 15_000
MAX_READS = 4_000_000
_FIRST_LOOK = 10_000
_AHEAD = 2**20
_SMALLEST_ITEM = 12
"""Bytes that items with content take on average, at the very least: eight are their headers."""

_LITTLE = (b"\xfe\xff\x00\xe0", b"\xfe\xff\x0d\xe0")
_BIG = (b"\xff\xfe\xe0\x00", b"\xff\xfe\xe0\x0d")
_PIXELS = (b"\xe0\x7f\x10\0", b"\x7f\xe0\0\x10")
_MOST = {
    0x52009230: MAX_ITEMS_OF_FRAMES,
    0x54000100: MAX_ITEMS_OF_FEW,
    0x00700001: MAX_ITEMS_OF_FEW,
    0x006A0002: MAX_ITEMS_OF_FEW,
    0x30060020: MAX_ITEMS_OF_FEW,
}
_SIGNS = {
    struct.pack("<HH", tag >> 16, tag & 0xFFFF) + b"SQ": _MOST[tag]
    for tag in (0x52009230, 0x54000100, 0x00700001, 0x006A0002)
}
"""The same where the file was not taken apart yet; the general bound holds where it names no VR."""

_LOOKED_AT = 2**26
_FROM_BYTES = 2**18


class CountedFile:
    """A file that raises once far more is read from it than any object needs.

    Reads are counted, since the parser reads each element by itself; and none is longer than the
    file, whatever length an element declares.

    Args:
        path: For the error.
        file: What is read, from its beginning.
        size: Its bytes.

    Attributes:
        refusal: What was raised; the parser makes an error of its own of it, here and there.

    Raises:
        FileProblem: By `read`.
    """

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self._path = path
        self._file = file
        self._size = size
        self._read = file.read
        self._reads = 0
        self._next = _FIRST_LOOK
        self.seek = file.seek
        self.tell = file.tell
        self.close = file.close
        self.name = str(path)
        self.refusal: FileProblem | None = None

    def read(self, size: int = -1, /) -> bytes:
        """As a file's; see the class."""
        self._reads += 1
        if self._reads >= self._next:
            try:
                self._look()
            except FileProblem as error:
                self.refusal = error
                raise
        if size > 2**16:
            size = min(size, max(self._size - self._file.tell(), 0))
        return self._read(size)

    def _look(self) -> None:
        first = self._next == _FIRST_LOOK
        self._next = self._reads * 2
        place = self._file.tell()
        behind = min(place, _LOOKED_AT)
        self._file.seek(place - behind)
        # Once far ahead, so that what holds too much is not parsed half way before it is refused.
        data = self._read(behind + (_LOOKED_AT if first else _AHEAD))
        self._file.seek(place)
        ends = (data.find(pixels, behind) for pixels in _PIXELS)
        # Fragments of compressed pixels are items too.
        data = data[: min((end for end in ends if end >= 0), default=len(data))]
        items = _items(data)
        check_items(self._path, data)
        if self._reads > MAX_READS or self._reads > 2 * MAX_ELEMENTS_AN_ITEM * (items + 1):
            raise _absurd(self._path, f"over {self._reads // 2:,} elements")


def check_items(path: Path, data: bytes, tag: int | None = None) -> None:
    """Refuse a sequence of very many items, or of many without content, still unparsed.

    Args:
        path: For the error.
        data: As it stands in the file.
        tag: Of the sequence; None for a part of a file with any sequences.

    Raises:
        FileProblem: It holds too many.
    """
    if len(data) < 8 * MAX_EMPTY_ITEMS:
        return
    items = _items(data)
    if items > MAX_EMPTY_ITEMS and (
        len(data) < _SMALLEST_ITEM * items or _empty_items(data) > MAX_EMPTY_ITEMS
    ):
        raise _absurd(path, f"{items:,} items without content")
    if items > min(_MOST.values()) and items > _most_items(data, tag):
        reason = f"it holds {items:,} items: more than can be read safely"
        raise guards.problem(path, reason, "Ask its source for it in several files")


def _most_items(data: bytes, tag: int | None) -> int:
    if tag is not None:
        return _MOST.get(tag, MAX_ITEMS)
    return next((most for sign, most in _SIGNS.items() if sign in data), MAX_ITEMS)


def check_unparsed(path: Path, dataset: Any, read: int) -> None:
    """Refuse a data set whose sequences or values, which are parsed on access, are absurd.

    Args:
        path: For the error.
        dataset: What was parsed.
        read: Bytes of the file that were read for it: small ones cannot hold so many.

    Raises:
        FileProblem: See `check_items`; or an element has very many values.
    """
    if read < _FROM_BYTES:
        return
    for tag in list(dataset.keys()):
        element = dataset.get_item(tag)
        value = getattr(element, "value", None)
        if isinstance(value, bytes) and element.VR in (None, "SQ", "UN"):
            check_items(path, value, int(tag))
        if holds_too_many(getattr(element, "VR", None), value, tag):
            raise _absurd(path, "an element of very many values or letters")


def _items(data: bytes) -> int:
    return max(data.count(item) for item, _ in (_LITTLE, _BIG))


def _empty_items(data: bytes) -> int:
    """Items of no length, and those of undefined length that end at once."""
    return max(
        data.count(item + bytes(4)) + data.count(item + b"\xff\xff\xff\xff" + end)
        for item, end in (_LITTLE, _BIG)
    )


def _absurd(path: Path, what: str) -> Exception:
    return guards.problem(path, f"its header is damaged: it holds {what}", guards.COPY_AGAIN)


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
