"""The header of a plain file, read in one go: what a scan and a volume ask of thousands of files.

A plain file is a regular file with preamble and meta information, little endian, whose elements
stand in order, none twice, in lengths that add up, as far as the pixel data (PS3.5 7.1, PS3.10
7.1). Nearly all images are. Whatever is not gets None here, never an error, and is left to
`dicom_file`, whose parser knows what to make of it; so a file means the same whichever of the two
has read it.

Runs in a worker process. Nothing is parsed but tags and lengths, and no more of the file is read
than its header; work and memory are bounded by `MAX_HEADER` and `MAX_ELEMENTS`.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from pydicom.charset import python_encoding
from pydicom.datadict import dictionary_VR

from app.imaging.dicom.dicom_file import UNDEFINED_LENGTH, PixelSpan
from app.imaging.files.sources import FileStatus

MAX_HEADER = 2**20
"""Bytes before the pixels; a longer header is not plain."""
MAX_ELEMENTS = 4096
"""Elements of the header, those in sequences of undefined length included."""
_MAX_DEPTH = 8
_FIRST_READ = 2**14

IMPLICIT = "1.2.840.10008.1.2"
EXPLICIT = "1.2.840.10008.1.2.1"
_ENCAPSULATED = re.compile(
    r"1\.2\.840\.10008\.1\.2\.(4\.(5\d|6[0-6]|70|8[01]|9[0-3]|10[0-8]"
    r"|11[0-2]|20[1-3])|5)"
)
"""JPEG to HTJ2K and RLE; not those that name pixels elsewhere, nor deflated ones."""

_PREFIX = 132
_META_END = 0x00030000
_FIRST = 0x00080000
_PIXEL_DATA = 0x7FE00010
_PIXELS = 0x7FE00008
_CHARSET = 0x00080005
_TRANSFER_SYNTAX = 0x00020010
_ITEM, _ITEM_END, _SEQUENCE_END = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD
_SHORT_VRS = frozenset(b"AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split())
_LONG_VRS = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())

_long = struct.Struct("<L")
_short_head = struct.Struct("<HH2sH")
_plain_head = struct.Struct("<HHL")


@dataclass(frozen=True, slots=True)
class PlainHeader:
    """A plain file's header as it stands in the file.

    Attributes:
        path: The file.
        status: Its size and time, of the same open file as all else.
        syntax: Transfer Syntax UID: `IMPLICIT`, `EXPLICIT` or one of compressed pixels.
        pixels: Where the pixel data element's value lies in the file: for an uncompressed file all
            of it is there (`offset`, `length`); for a compressed one `declared` is
            `UNDEFINED_LENGTH` and `length` the rest of the file.
        data: The file's bytes from its start to the pixel data element, at least.
        places: Tag of each element of the data set before the pixels, in order -> where in `data`
            the element begins. The elements follow each other without a gap.
        end: Where in `data` the last of them ends and the pixel data element begins.
        undefined: Tags of the sequences of undefined length -> where in `data` they end.
    """

    path: Path
    status: FileStatus
    syntax: str
    pixels: PixelSpan
    data: bytes
    places: dict[int, int]
    end: int
    undefined: dict[int, int]

    @property
    def implicit(self) -> bool:
        """Whether the elements name no VR."""
        return self.syntax == IMPLICIT

    @property
    def encapsulated(self) -> bool:
        """Whether the pixels are compressed."""
        return self.syntax not in (IMPLICIT, EXPLICIT)

    def vr(self, tag: int) -> str:
        """The VR that the file gives an element; "" in an implicit file and where it is absent."""
        at = self.places.get(tag)
        return "" if at is None or self.implicit else self.data[at + 4 : at + 6].decode("ascii")

    def raw(self, tag: int) -> bytes | None:
        """An element's value as it stands in the file, padding included; None when absent."""
        at = self.places.get(tag)
        if at is None:
            return None
        begin, end = _value(self.data, at, implicit=self.implicit)
        return self.data[begin : self.undefined.get(tag, end)]

    def elements(self) -> dict[int, bytes]:
        """Tag -> all bytes of the element (tag, VR, length, value), for comparing two headers.

        `a.elements().items() ^ b.elements().items()` has what differs, and nothing else.
        """
        ends = [*self.places.values(), self.end][1:]
        data = self.data
        pairs = zip(self.places.items(), ends, strict=True)
        return {tag: data[begin:end] for (tag, begin), end in pairs}


def plain_header(path: Path) -> PlainHeader | None:
    """Read the header of a plain file that has uncompressed or compressed pixels.

    Returns:
        None for every other file, also for one that is damaged, missing or unreadable.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        # What was a file may be a pipe by now, which must not make us wait for a writer.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        status = FileStatus(found.st_size, found.st_mtime_ns, changed_ns=found.st_ctime_ns)
        return _read(path, descriptor, status)
    except OSError:
        return None
    finally:
        os.close(descriptor)


class _NotPlainError(Exception):
    """The file is for the other parser."""


def _read(path: Path, descriptor: int, status: FileStatus) -> PlainHeader | None:
    data = os.read(descriptor, _FIRST_READ)
    if data[128:_PREFIX] != b"DICM":
        return None
    try:
        begin, syntax = _meta(data)
        walk = _Walk(begin, implicit=syntax == IMPLICIT)
        while not walk.step(data):
            if walk.at >= status.size or walk.at > MAX_HEADER:
                return None
            more = os.read(descriptor, max(walk.at - len(data), 0) + len(data))
            if not more:
                return None
            data += more
        pixels = _pixels(data, walk.at, status.size, syntax)
    except (_NotPlainError, struct.error):
        return None
    return PlainHeader(path, status, syntax, pixels, data, walk.places, walk.at, walk.undefined)


def _meta(data: bytes) -> tuple[int, str]:
    """Where the data set begins, and its transfer syntax."""
    at, last, syntax = _PREFIX, 0, b""
    if data[at : at + 8] != b"\x02\0\0\0UL\x04\0":
        raise _NotPlainError
    while True:
        group, element, vr, length = _short_head.unpack_from(data, at)
        tag = group << 16 | element
        if tag >= _META_END:
            break
        if tag <= last:
            raise _NotPlainError
        last = tag
        if vr in _SHORT_VRS:
            begin = at + 8
        elif vr in _LONG_VRS and length == 0:
            begin, length = at + 12, _long.unpack_from(data, at + 8)[0]
        else:
            raise _NotPlainError
        at = begin + length
        if tag == _TRANSFER_SYNTAX and vr == b"UI":
            syntax = data[begin:at]
    text = syntax.rstrip(b"\0").decode("latin-1")
    if text not in (IMPLICIT, EXPLICIT) and not _ENCAPSULATED.fullmatch(text):
        raise _NotPlainError
    # The other parser believes the first element rather than the meta information.
    if _is_letters(data[at + 4 : at + 6]) == (text == IMPLICIT):
        raise _NotPlainError
    return at, text


def _is_letters(vr: bytes) -> bool:
    return len(vr) == 2 and 0x40 < vr[0] < 0x5B and 0x40 < vr[1] < 0x5B


_Known = dict[bytes, tuple[int, int]]
_MAX_KNOWN = 8192
_explicit_heads: _Known = {}
_implicit_heads: _Known = {}
"""First eight bytes of an element -> its tag, and its length with them, or -1 where these do not
tell it. The slices of a series have nearly all of them in common, and so have the files of one
scanner; looking them up takes a third of the time of taking them apart."""


def _learn_explicit(head: bytes) -> tuple[int, int]:
    group, element, vr, length = _short_head.unpack(head)
    tag = group << 16 | element
    if vr in _SHORT_VRS and tag < _PIXELS:
        known = tag, 8 + length
    elif vr in _LONG_VRS and length == 0:
        known = tag, -1
    else:
        raise _NotPlainError
    return _keep(_explicit_heads, head, known)


def _learn_implicit(head: bytes) -> tuple[int, int]:
    group, element, length = _plain_head.unpack(head)
    tag = group << 16 | element
    known = tag, (-1 if length == UNDEFINED_LENGTH or tag >= _PIXELS else 8 + length)
    return _keep(_implicit_heads, head, known)


def _keep(heads: _Known, head: bytes, known: tuple[int, int]) -> tuple[int, int]:
    if len(heads) >= _MAX_KNOWN:
        heads.clear()
    heads[head] = known
    return known


def _value(data: bytes, at: int, *, implicit: bool) -> tuple[int, int]:
    """Where the value of the element at `at` begins and, by its length, ends."""
    if implicit:
        return at + 8, at + 8 + _long.unpack_from(data, at + 4)[0]
    if data[at + 4 : at + 6] in _LONG_VRS:
        return at + 12, at + 12 + _long.unpack_from(data, at + 8)[0]
    return at + 8, at + 8 + _short_head.unpack_from(data, at)[3]


class _Walk:
    """A walk over the elements of a data set, which goes on when more of the file is there.

    Attributes:
        at: Where the next element begins.
        places: See `PlainHeader`.
        undefined: See `PlainHeader`.
    """

    def __init__(self, begin: int, *, implicit: bool) -> None:
        self.at = begin
        self.places: dict[int, int] = {}
        self.undefined: dict[int, int] = {}
        self._implicit = implicit
        self._last = _FIRST - 1
        self._nested = 0

    def step(self, data: bytes) -> bool:
        """Walk as far as `data` goes; True once the pixel data element is reached."""
        known = _implicit_heads if self._implicit else _explicit_heads
        learn = _learn_implicit if self._implicit else _learn_explicit
        at, last, places, get = self.at, self._last, self.places, known.get
        end = len(data)
        while at + 12 <= end:
            head = data[at : at + 8]
            tag, size = get(head) or learn(head)
            if tag <= last:
                raise _NotPlainError
            if size < 0:
                if tag >= _PIXELS:
                    self.at = at
                    return True
                ended = self._long_end(data, at, tag)
                if ended is None:
                    break  # a sequence that does not end in what is there
                places[tag] = at
                at = ended
            else:
                places[tag] = at
                at += size
            last = tag
        if len(places) + self._nested > MAX_ELEMENTS:
            raise _NotPlainError
        self.at, self._last = at, last
        return False

    def _long_end(self, data: bytes, at: int, tag: int) -> int | None:
        """Where an element ends whose first eight bytes do not tell it."""
        begin, end = _value(data, at, implicit=self._implicit)
        if end - begin != UNDEFINED_LENGTH:
            return end
        if not _is_sequence(data, at, tag, implicit=self._implicit):
            raise _NotPlainError
        nested = self._nested
        try:
            ended = self._items_end(data, begin, 1)
        except struct.error:
            self._nested = nested
            return None
        self.undefined[tag] = ended
        return ended

    def _items_end(self, data: bytes, at: int, depth: int) -> int:
        """Where a sequence of undefined length ends; struct.error where `data` ends before."""
        if depth > _MAX_DEPTH:
            raise _NotPlainError
        while True:
            group, element, length = _plain_head.unpack_from(data, at)
            tag = group << 16 | element
            at += 8
            if tag == _SEQUENCE_END and length == 0:
                return at
            if tag != _ITEM:
                raise _NotPlainError
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
            if head == b"\xfe\xff\x0d\xe0\0\0\0\0" and delimited:
                return at + 8
            tag, size = _learn_implicit(head) if self._implicit else _learn_explicit(head)
            if tag >= _PIXELS or tag < _FIRST or tag == _CHARSET:
                raise _NotPlainError
            if size >= 0:
                at += size
                continue
            begin, end = _value(data, at, implicit=self._implicit)
            if end - begin != UNDEFINED_LENGTH:
                at = end
            elif _is_sequence(data, at, tag, implicit=self._implicit):
                at = self._items_end(data, begin, depth + 1)
            else:
                raise _NotPlainError
        if at != stop:
            raise _NotPlainError
        return at

    def _count(self) -> None:
        self._nested += 1
        if self._nested > MAX_ELEMENTS:
            raise _NotPlainError


def _is_sequence(data: bytes, at: int, tag: int, *, implicit: bool) -> bool:
    """Whether the element of undefined length at `at` consists of items."""
    if not implicit:
        return data[at + 4 : at + 6] == b"SQ"
    try:
        return dictionary_VR(tag) == "SQ"
    except KeyError:
        return data[at + 8 : at + 12] == b"\xfe\xff\x00\xe0"


def _pixels(data: bytes, at: int, size: int, syntax: str) -> PixelSpan:
    """The pixel data element at `at`, of which there must be as much as it says."""
    group, element = struct.unpack_from("<HH", data, at)
    vr = data[at + 4 : at + 6]
    implicit = syntax == IMPLICIT
    if (group << 16 | element) != _PIXEL_DATA or (vr not in (b"OB", b"OW")) != implicit:
        raise _NotPlainError
    begin, end = _value(data, at, implicit=implicit)
    declared = end - begin
    if (declared == UNDEFINED_LENGTH) == (syntax in (IMPLICIT, EXPLICIT)):
        raise _NotPlainError
    length = size - begin if declared == UNDEFINED_LENGTH else declared
    if length <= 0 or begin + length > size:
        raise _NotPlainError
    return PixelSpan("PixelData", "" if implicit else vr.decode("ascii"), begin, length, declared)


def is_known_charset(raw: bytes) -> bool:
    """Whether a Specific Character Set is one of the standard's (PS3.3 C.12.1.1.2)."""
    terms = raw.decode("latin-1").rstrip(" \0").split("\\")
    return all(term.strip() in python_encoding for term in terms)
