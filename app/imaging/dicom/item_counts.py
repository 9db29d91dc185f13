"""Limits on items and values of a header, checked before the parser turns them into objects.

pydicom needs some hundred bytes and ten microseconds for each item and element, so a few megabytes
of empty items would cost gigabytes and minutes. Real objects have many items only with content in
them (contours, functional groups, content items). So the items in the file's bytes are counted
first.
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
"""Limit of items of any kind: 10,000 contours have 20,000, one for the image of each contour."""
MAX_ITEMS_OF_FRAMES = 150_000
"""Limit in functional groups: about ten items for each of 10,000 frames."""
MAX_ITEMS_OF_FEW = 10_000
"""Limit for sequences of at most hundreds of entries with six items each: waveform channels,
graphics of presentation states, annotation groups, regions of structure sets."""
MAX_ELEMENTS_AN_ITEM = 15_000
MAX_READS = 4_000_000
_FIRST_LOOK = 10_000
_AHEAD = 2**20
_SMALLEST_ITEM = 12
"""Minimum average bytes of items with content; eight of them are the item's head."""

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
"""`_MOST` by the first bytes of an explicit VR sequence, for files that are not parsed yet."""

_LOOKED_AT = 2**26
_FROM_BYTES = 2**18


class CountedFile:
    """A file that raises an error once far more is read from it than any real object needs.

    The parser reads each element separately, so the reads are counted. No read is longer than the
    file, whatever length an element declares.

    Args:
        path: Path of the file, for the error message.
        file: The open file, at its beginning.
        size: Size of the file in bytes.

    Attributes:
        refusal: The error that `read` raised, or None. It is kept because the parser sometimes
            replaces it by an error of its own.

    Raises:
        FileProblem: Raised by `read` when a limit is exceeded.
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
        """Read as an ordinary file does, within the limits that the class describes."""
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
        # Look far ahead once, so that an excessive file is refused before half of it is parsed.
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
    """Refuse an unparsed sequence that has very many items, or many items without content.

    Args:
        path: Path of the file, for the error message.
        data: Bytes of the sequence as in the file.
        tag: Tag of the sequence; None for a part of a file that may contain any sequences.

    Raises:
        FileProblem: The sequence has too many items.
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
    """Refuse a data set that has absurdly long sequences or values, before they are converted.

    Args:
        path: Path of the file, for the error message.
        dataset: The parsed data set.
        read: Number of bytes read from the file; a small file cannot exceed the limits.

    Raises:
        FileProblem: A sequence has too many items (`check_items`), or an element very many values.
    """
    if read < _FROM_BYTES:
        return
    for tag in list(dataset.keys()):
        element = dataset.get_item(tag)
        value = getattr(element, "value", None)
        if isinstance(value, bytes) and element.VR in (None, "SQ", "UN"):
            check_items(path, value, int(tag))
        if exceeds_value_limit(getattr(element, "VR", None), value, tag):
            raise _absurd(path, "an element of very many values or letters")


def _items(data: bytes) -> int:
    return max(data.count(item) for item, _ in (_LITTLE, _BIG))


def _empty_items(data: bytes) -> int:
    """Return the number of items of zero length, and of undefined length that end at once."""
    return max(
        data.count(item + bytes(4)) + data.count(item + b"\xff\xff\xff\xff" + end)
        for item, end in (_LITTLE, _BIG)
    )


def _absurd(path: Path, what: str) -> Exception:
    return guards.problem(path, f"its header is damaged: it holds {what}", guards.COPY_AGAIN)


MAX_TEXTS = 2**16
"""Limit of values separated by backslashes; an explicit VR has room for half as many."""
MAX_NUMBERS = 2**18
"""Limit of binary values; the largest LUTs have 65,536."""

_TEXTS = frozenset(("AE", "AS", "CS", "DA", "DS", "DT", "IS", "LO", "PN", "SH", "TM", "UC", "UI"))
_MOST_BYTES = dict.fromkeys(_TEXTS, 2**18) | {
    "DS": 2**20, "IS": 2**20, "LT": 2**18, "ST": 2**18, "UC": 2**22, "UR": 2**22, "UT": 2**22,
}  # fmt: skip
"""Limit of a text's bytes. An explicit VR has room for 64 kB in all but the last three; decoding
escape sequences takes a second per megabyte."""
_BYTES_EACH = {
    "US": 2, "SS": 2, "UL": 4, "SL": 4, "FL": 4, "AT": 4, "FD": 8, "SV": 8, "UV": 8,
}  # fmt: skip


def count_values() -> None:
    """Make pydicom refuse elements that have absurdly many values when it converts them.

    pydicom converts the character set during parsing without calling its hooks, so the function
    that does so is patched too.
    """
    hooks.register_callback("raw_element_value", _converted)
    pydicom.values.convert_string = _converted_string


_convert_string = pydicom.values.convert_string


def _converted_string(value: bytes, *options: Any) -> Any:
    if exceeds_value_limit("CS", value):
        raise ValueError("too many values")
    return _convert_string(value, *options)


def _converted(raw: Any, data: dict[str, Any], **options: Any) -> None:
    """Convert a value as pydicom does.

    Raises:
        ValueError: There are too many values.
    """
    if exceeds_value_limit(data["VR"], raw.value):
        raise ValueError("too many values")
    raw_element_value(raw, data, **options)


def exceeds_value_limit(vr: str | None, value: Any, tag: int = 0) -> bool:
    """Return whether a value that is not converted yet exceeds the limits.

    Args:
        vr: VR of the element; None to look it up in the dictionary.
        value: Unconverted bytes of the element.
        tag: Tag of the element, to look up its VR.
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
