"""The header of a plain file, read in one go: what a scan and a volume ask of thousands of files.

A plain file is a regular file with preamble and meta information, little endian, whose elements
stand in order, none twice, in lengths that add up, as far as the pixel data (PS3.5 7.1, PS3.10
7.1). Nearly all images are. Whatever is not gets None here, never an error, and is left to
`dicom_file`, whose parser knows what to make of it; so a file means the same whichever of the two
has read it.

Runs in a worker process. Nothing is parsed but tags and lengths, and no more of the file is read
than its header; work and memory are bounded by `MAX_HEADER` and `plain_walk.MAX_ELEMENTS`.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

from app.imaging.dicom.dicom_file import UNDEFINED_LENGTH, PixelSpan
from app.imaging.dicom.plain_walk import (
    LONG_VRS,
    SHORT_VRS,
    NotPlainError,
    Walk,
    names_vr,
    value_span,
)
from app.imaging.files.sources import FileStatus

MAX_HEADER = 2**18
"""Bytes before the pixels; a longer header is not plain, for its sequences are to be looked into
(`item_counts`)."""
IMPLICIT = "1.2.840.10008.1.2"
EXPLICIT = "1.2.840.10008.1.2.1"

_FIRST_READ = 2**14
_ENCAPSULATED = re.compile(
    r"1\.2\.840\.10008\.1\.2\.(5|4\.(5\d|6[0-6]|70|8[01]|9[0-3]|10[0-8]|11[0-2]|20[1-3]))"
)
"""RLE and JPEG to HTJ2K (PS3.6 A); not those that name pixels elsewhere, nor deflated ones."""
_PREFIX_END = 132
_META_START = b"\x02\0\0\0UL\x04\0"
_META_END = 0x00030000
_PIXEL_DATA = b"\xe0\x7f\x10\0"
_TRANSFER_SYNTAX = 0x00020010

_length_4 = struct.Struct("<L")
_head = struct.Struct("<HH2sH")


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
        elements: Tag of each element of the data set before the pixels, in order -> all bytes of
            the element as they stand in the file: tag, VR, length, value with its padding. So
            `a.elements.items() ^ b.elements.items()` has what differs between two headers.
    """

    path: Path
    status: FileStatus
    syntax: str
    pixels: PixelSpan
    elements: dict[int, bytes]

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
        element = self.elements.get(tag)
        return "" if element is None or self.implicit else element[4:6].decode("ascii")

    def raw(self, tag: int) -> bytes | None:
        """An element's value as it stands in the file, padding included; None when absent.

        That of a sequence of undefined length ends with its delimiter.
        """
        element = self.elements.get(tag)
        if element is None:
            return None
        return element[value_span(element, 0, implicit=self.implicit)[0] :]


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
    except (OSError, NotPlainError, struct.error):
        return None
    finally:
        os.close(descriptor)


def _read(path: Path, descriptor: int, status: FileStatus) -> PlainHeader:
    data = os.read(descriptor, _FIRST_READ)
    begin, syntax = _meta(data)
    walk = Walk(begin, implicit=syntax == IMPLICIT)
    while not walk.step(data):
        if walk.needed > min(status.size, MAX_HEADER):
            raise NotPlainError
        more = os.read(descriptor, max(walk.needed - len(data), 0) + len(data))
        if not more:
            raise NotPlainError
        data += more
    if walk.at >= MAX_HEADER:
        raise NotPlainError
    return PlainHeader(path, status, syntax, _pixels(data, walk.at, status, syntax), walk.elements)


def _meta(data: bytes) -> tuple[int, str]:
    """Where the data set begins, and its transfer syntax."""
    if data[128 : _PREFIX_END + 8] != b"DICM" + _META_START:
        raise NotPlainError
    at, last, syntax = _PREFIX_END, 0, b""
    while True:
        group, element, vr, length = _head.unpack_from(data, at)
        tag = group << 16 | element
        if tag >= _META_END:
            break
        if tag <= last:
            raise NotPlainError
        last = tag
        if vr in SHORT_VRS:
            begin = at + 8
        elif vr in LONG_VRS and length == 0:
            begin, length = at + 12, _length_4.unpack_from(data, at + 8)[0]
        else:
            raise NotPlainError
        at = begin + length
        if tag == _TRANSFER_SYNTAX and vr == b"UI":
            syntax = data[begin:at]
    text = syntax.rstrip(b"\0").decode("latin-1")
    if text not in (IMPLICIT, EXPLICIT) and not _ENCAPSULATED.fullmatch(text):
        raise NotPlainError
    # The other parser believes the first element rather than the meta information.
    if names_vr(data, at) == (text == IMPLICIT):
        raise NotPlainError
    return at, text


def _pixels(data: bytes, at: int, status: FileStatus, syntax: str) -> PixelSpan:
    """The pixel data element at `at`, of which there must be as much as it says."""
    vr = data[at + 4 : at + 6]
    implicit = syntax == IMPLICIT
    if data[at : at + 4] != _PIXEL_DATA or (vr not in (b"OB", b"OW")) != implicit:
        raise NotPlainError
    begin, end = value_span(data, at, implicit=implicit)
    declared = end - begin
    if (declared == UNDEFINED_LENGTH) == (syntax in (IMPLICIT, EXPLICIT)):
        raise NotPlainError
    length = status.size - begin if declared == UNDEFINED_LENGTH else declared
    if length <= 0 or begin + length > status.size:
        raise NotPlainError
    return PixelSpan("PixelData", "" if implicit else vr.decode("ascii"), begin, length, declared)
