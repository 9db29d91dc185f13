"""A walk over the elements of a data set as they lie in a file: tags and lengths, no values.

PS3.5 7.1 and 7.5. Little endian. Whatever is out of the ordinary raises `NotPlainError`: the walk
is for ordinary files, and the others have a parser that knows what to make of them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

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
_MAX_HEADS = 8192
_MAX_RUN_BYTES = 2**19
_SHORTEST_RUN = 3
_WORTH_IT, _PAUSE = 32, 3
"""Headers are compared when so many elements had to be walked over one by one, every so many
headers: where files of two kinds take turns, comparing would cost more than it saves."""
_NO_LENGTH = b"\xff\xff\xff\xff"
_FIRST = 0x00080000
_CHARSET = 0x00080005
_ITEM, _SEQUENCE_END = 0xFFFEE000, 0xFFFEE0DD
_ITEM_END = b"\xfe\xff\x0d\xe0\0\0\0\0"

_long = struct.Struct("<L")
_explicit_head = struct.Struct("<HH2sH")
_implicit_head = struct.Struct("<HHL")


class NotPlainError(Exception):
    """The file is for the other parser."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Elements that followed each other, the same in two files: likely also in the next.

    Attributes:
        data: All their bytes.
        elements: As in `Walk`.
        last: The last one's tag.
    """

    data: bytes
    elements: dict[int, bytes]
    last: int


_Head = tuple[int, int]


class Memory:
    """What the headers walked before have in common, in one of the two encodings.

    Attributes:
        heads: First eight bytes of an element -> its tag, and its length with them, or -1 where
            these do not tell it. Looking it up takes a third of the time of taking it apart.
        runs: The same of the first element -> what followed it. The slices of a series differ in
            some twenty elements; what lies between is compared at once.
    """

    def __init__(self, learn: Callable[[bytes], _Head]) -> None:
        self.heads: dict[bytes, _Head] = {}
        self.runs: dict[bytes, _Run] = {}
        self._learn = learn
        self._previous: dict[int, bytes] = {}
        self._room = 0
        self._files = 0

    def learn(self, head: bytes) -> _Head:
        """Take a head apart, and remember it; NotPlainError for one that is out of the ordinary."""
        found = self._learn(head)
        if len(self.heads) >= _MAX_HEADS:
            self.heads.clear()
        self.heads[head] = found
        return found

    def compare(self, elements: dict[int, bytes], steps: int) -> None:
        """Note what a header has in common with the one before.

        Args:
            elements: The header's.
            steps: How many of them were walked over one by one.
        """
        previous, self._previous = self._previous, elements
        self._files += 1
        if steps < _WORTH_IT or self._files < _PAUSE:
            return
        self._files = 0
        run: dict[int, bytes] = {}
        for tag, element in elements.items():
            if previous.get(tag) == element and _NO_LENGTH not in element[4:12]:
                run[tag] = element
            else:
                self._keep(run)
                run = {}
        self._keep(run)

    def _keep(self, run: dict[int, bytes]) -> None:
        if len(run) < _SHORTEST_RUN:
            return
        data = b"".join(run.values())
        self._room -= len(data)
        if self._room < 0:
            self.runs.clear()
            self._room = _MAX_RUN_BYTES - len(data)
        self.runs[data[:8]] = _Run(data, run, next(reversed(run)))


def _explicit(head: bytes) -> _Head:
    group, element, vr, length = _explicit_head.unpack(head)
    tag = group << 16 | element
    if vr in SHORT_VRS and tag < PIXELS:
        return tag, 8 + length
    if vr in LONG_VRS and length == 0:
        return tag, -1
    raise NotPlainError


def _implicit(head: bytes) -> _Head:
    group, element, length = _implicit_head.unpack(head)
    tag = group << 16 | element
    return tag, (-1 if length == UNDEFINED_LENGTH or tag >= PIXELS else 8 + length)


def new_memory(*, implicit: bool) -> Memory:
    """A memory of headers whose elements name their VR or do not; nothing is in it yet."""
    return Memory(_implicit if implicit else _explicit)


_memories = {implicit: new_memory(implicit=implicit) for implicit in (False, True)}
"""By whether the VR is implicit."""


def names_vr(data: bytes, at: int) -> bool:
    """Whether the element at `at` looks as if it names its VR."""
    return all(0x40 < byte < 0x5B for byte in data[at + 4 : at + 6])


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
        self._memory = _memories[implicit]
        self._last = _FIRST - 1
        self._steps = 0
        self._nested = 0

    def step(self, data: bytes) -> bool:
        """Walk as far as `data` goes; True once the pixel data element is reached.

        Raises:
            NotPlainError: Elements are out of order, too many, or of no known VR.
        """
        memory, elements = self._memory, self.elements
        get, run_of = memory.heads.get, memory.runs.get
        start, last, size = self.at, self._last, len(data)
        while (at := start + 12) <= size:
            head = data[start : start + 8]
            tag, length = get(head) or memory.learn(head)
            if tag <= last:
                raise NotPlainError
            run = run_of(head)
            if run is not None and data.startswith(run.data, start):
                elements.update(run.elements)
                start, last = start + len(run.data), run.last
                continue
            self._steps += 1
            if length >= 0:
                at = start + length
            elif tag < PIXELS:
                at = self._long_end(data, start, tag)
            else:
                self.at = start
                self._check_count()
                memory.compare(elements, self._steps)
                return True
            if at > size:
                break
            elements[tag] = data[start:at]
            start, last = at, tag
        self._check_count()
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
            return self._items_end(data, begin, 1, implicit=self._implicit)
        except struct.error:
            self._nested = nested
            return len(data) + 1

    def _items_end(self, data: bytes, at: int, depth: int, *, implicit: bool) -> int:
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
            at = self._item_end(data, at, length, depth, implicit=implicit)

    def _item_end(self, data: bytes, at: int, length: int, depth: int, *, implicit: bool) -> int:
        """Where an item ends, whose elements begin at `at`.

        Its elements may name no VR though those around it do (PS3.5 6.2.2, note 2: VR UN).
        """
        implicit = implicit or not names_vr(data, at)
        delimited = length == UNDEFINED_LENGTH
        stop = at + length
        while delimited or at < stop:
            self._count()
            head = data[at : at + 8]
            if len(head) < 8:
                raise struct.error
            if head == _ITEM_END and delimited:
                return at + 8
            tag, size = _implicit(head) if implicit else _explicit(head)
            if tag >= PIXELS or tag < _FIRST or tag == _CHARSET:
                raise NotPlainError
            if size >= 0:
                at += size
                continue
            begin, end = value_span(data, at, implicit=implicit)
            if end - begin != UNDEFINED_LENGTH:
                at = end
            elif _is_sequence(data, at, tag, implicit=implicit):
                at = self._items_end(data, begin, depth + 1, implicit=implicit)
            else:
                raise NotPlainError
        if at != stop:
            raise NotPlainError
        return at

    def _count(self) -> None:
        self._nested += 1
        self._check_count()

    def _check_count(self) -> None:
        if len(self.elements) + self._nested > MAX_ELEMENTS:
            raise NotPlainError


def _is_sequence(data: bytes, at: int, tag: int, *, implicit: bool) -> bool:
    """Whether the element of undefined length at `at` consists of items."""
    if not implicit:
        return data[at + 4 : at + 6] in (b"SQ", b"UN")
    try:
        return dictionary_VR(tag) == "SQ"
    except KeyError:
        return data[at + 8 : at + 12] == b"\xfe\xff\x00\xe0"
