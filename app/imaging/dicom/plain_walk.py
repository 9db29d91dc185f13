"""A walk over the elements of a data set as they lie in a file: tags and lengths, no values.

PS3.5 7.1 and 7.5. Little endian. Whatever is out of the ordinary raises `NotPlainError`: the walk
is for ordinary files, and the others have a parser that knows what to make of them.
"""

from __future__ import annotations

import struct

from pydicom.datadict import dictionary_VR

from app.imaging.dicom.dicom_file import UNDEFINED_LENGTH

MAX_ELEMENTS = 4096
"""Elements of a data set, those in its sequences of undefined length included."""
PIXELS = 0x7FE00008
"""The first tag of pixel data; what follows the pixels is not looked at."""
SHORT_VRS = frozenset(b"AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split())
"""VRs whose length has two bytes, at the fifth byte of the element (PS3.5 7.1.2)."""
LONG_VRS = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())
"""VRs whose length has four bytes, after two that are zero."""

_MAX_DEPTH = 8
_FIRST = 0x00080000
_CHARSET = 0x00080005
_ITEM, _SEQUENCE_END = 0xFFFEE000, 0xFFFEE0DD
_ITEM_END = b"\xfe\xff\x0d\xe0\0\0\0\0"

_long = struct.Struct("<L")
_explicit_head = struct.Struct("<HH2sH")
_implicit_head = struct.Struct("<HHL")


class NotPlainError(Exception):
    """The file is for the other parser."""


_Known = dict[bytes, tuple[int, int]]
_MAX_KNOWN = 8192
_explicit_heads: _Known = {}
_implicit_heads: _Known = {}
"""First eight bytes of an element -> its tag, and its length with them, or -1 where these do not
tell it. The slices of a series have nearly all of them in common, and so have the files of one
scanner; looking them up takes a third of the time of taking them apart."""


def _learn_explicit(head: bytes) -> tuple[int, int]:
    group, element, vr, length = _explicit_head.unpack(head)
    tag = group << 16 | element
    if vr in SHORT_VRS and tag < PIXELS:
        known = tag, 8 + length
    elif vr in LONG_VRS and length == 0:
        known = tag, -1
    else:
        raise NotPlainError
    return _keep(_explicit_heads, head, known)


def _learn_implicit(head: bytes) -> tuple[int, int]:
    group, element, length = _implicit_head.unpack(head)
    tag = group << 16 | element
    known = tag, (-1 if length == UNDEFINED_LENGTH or tag >= PIXELS else 8 + length)
    return _keep(_implicit_heads, head, known)


def _keep(heads: _Known, head: bytes, known: tuple[int, int]) -> tuple[int, int]:
    if len(heads) >= _MAX_KNOWN:
        heads.clear()
    heads[head] = known
    return known


def value_span(data: bytes, at: int, *, implicit: bool) -> tuple[int, int]:
    """Where the value of the element at `at` begins and, by its length, ends."""
    if implicit:
        return at + 8, at + 8 + _long.unpack_from(data, at + 4)[0]
    if data[at + 4 : at + 6] in LONG_VRS:
        return at + 12, at + 12 + _long.unpack_from(data, at + 8)[0]
    return at + 8, at + 8 + _explicit_head.unpack_from(data, at)[3]


class Walk:
    """A walk over the elements of a data set, which goes on when more of the file is there.

    Attributes:
        elements: Tag -> all bytes of each element that was passed, in order.
        at: Where the next element begins.
        needed: How many bytes of the file must be there for that one, as far as it is known.
    """

    def __init__(self, begin: int, *, implicit: bool) -> None:
        self.elements: dict[int, bytes] = {}
        self.at = begin
        self.needed = begin
        self._implicit = implicit
        self._last = _FIRST - 1
        self._nested = 0

    def step(self, data: bytes) -> bool:
        """Walk as far as `data` goes; True once the pixel data element is reached.

        Raises:
            NotPlainError: Elements are out of order, too many, or of no known VR.
        """
        known = _implicit_heads if self._implicit else _explicit_heads
        learn = _learn_implicit if self._implicit else _learn_explicit
        start, last, elements, get = self.at, self._last, self.elements, known.get
        size = len(data)
        while (at := start + 12) <= size:
            head = data[start : start + 8]
            tag, length = get(head) or learn(head)
            if tag <= last:
                raise NotPlainError
            if length >= 0:
                at = start + length
            elif tag < PIXELS:
                at = self._long_end(data, start, tag)
            else:
                self.at = start
                return True
            if at > size:
                break
            elements[tag] = data[start:at]
            start, last = at, tag
        if len(elements) + self._nested > MAX_ELEMENTS:
            raise NotPlainError
        self.at, self._last, self.needed = start, last, at
        return False

    def _long_end(self, data: bytes, at: int, tag: int) -> int:
        """Where an element ends whose first eight bytes do not tell it; at least that far."""
        begin, end = value_span(data, at, implicit=self._implicit)
        if end - begin != UNDEFINED_LENGTH:
            return end
        if not _is_sequence(data, at, tag, implicit=self._implicit):
            raise NotPlainError
        nested = self._nested
        try:
            return self._items_end(data, begin, 1)
        except struct.error:
            self._nested = nested
            return len(data) + 1

    def _items_end(self, data: bytes, at: int, depth: int) -> int:
        """Where a sequence of undefined length ends; struct.error where `data` ends before."""
        if depth > _MAX_DEPTH:
            raise NotPlainError
        while True:
            group, element, length = _implicit_head.unpack_from(data, at)
            tag = group << 16 | element
            at += 8
            if tag == _SEQUENCE_END and length == 0:
                return at
            if tag != _ITEM:
                raise NotPlainError
            self._count()
            at = self._item_end(data, at, length, depth)

    def _item_end(self, data: bytes, at: int, length: int, depth: int) -> int:
        """Where an item ends, whose elements begin at `at`."""
        delimited = length == UNDEFINED_LENGTH
        stop = at + length
        while delimited or at < stop:
            self._count()
            head = data[at : at + 8]
            if len(head) < 8:
                raise struct.error
            if head == _ITEM_END and delimited:
                return at + 8
            tag, size = _learn_implicit(head) if self._implicit else _learn_explicit(head)
            if tag >= PIXELS or tag < _FIRST or tag == _CHARSET:
                raise NotPlainError
            if size >= 0:
                at += size
                continue
            begin, end = value_span(data, at, implicit=self._implicit)
            if end - begin != UNDEFINED_LENGTH:
                at = end
            elif _is_sequence(data, at, tag, implicit=self._implicit):
                at = self._items_end(data, begin, depth + 1)
            else:
                raise NotPlainError
        if at != stop:
            raise NotPlainError
        return at

    def _count(self) -> None:
        self._nested += 1
        if self._nested > MAX_ELEMENTS:
            raise NotPlainError


def _is_sequence(data: bytes, at: int, tag: int, *, implicit: bool) -> bool:
    """Whether the element of undefined length at `at` consists of items."""
    if not implicit:
        return data[at + 4 : at + 6] == b"SQ"
    try:
        return dictionary_VR(tag) == "SQ"
    except KeyError:
        return data[at + 8 : at + 12] == b"\xfe\xff\x00\xe0"
