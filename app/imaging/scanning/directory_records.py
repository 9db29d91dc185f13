"""The records of a DICOMDIR as they lie in the file, without a parser. Runs in a worker process.

PS3.3 F.3.2.2, PS3.10 8.6: explicit VR, little endian, one flat sequence. A disc of 10,000 images is
walked through in a twentieth of a second; the parser takes one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.imaging.files import sources

MAX_RECORDS = 100_000
"""A full disc has some ten thousand."""

MAX_BYTES = 2**27
_SEQUENCE = b"\x04\0\x20\x12SQ\0\0"
_ITEM, _ITEM_END, _SEQUENCE_END = 0xFFFEE000, 0xFFFEE00D, 0xFFFEE0DD
_ITEM_SIGN = b"\xfe\xff\0\xe0"
_LONG_VRS = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())
_UNDEFINED = 0xFFFFFFFF
_NEXT, _IN_USE, _LOWER, _FILE = 0x00041400, 0x00041410, 0x00041420, 0x00041500
_NAMED = {_NEXT: "<L", _IN_USE: "<H", _LOWER: "<L"}
_head = struct.Struct("<HH2sH")
_long = struct.Struct("<L")


class NotPlainError(Exception):
    """It is out of the ordinary: the parser may know what to make of it."""


class TooManyError(Exception):
    """It holds more records than `MAX_RECORDS`."""


@dataclass(frozen=True, slots=True)
class Record:
    """What is needed of a directory record.

    Attributes:
        place: Where its item begins in the file, where that is known.
        following: Offset of the next record of the same level, 0 for none.
        lower: Offset of the first record below it, 0 for none.
        in_use: Record In-use Flag; None when absent.
        components: Referenced File ID; empty for none.
    """

    place: int | None
    following: int
    lower: int
    in_use: int | None
    components: tuple[str, ...]


def read_records(path: Path) -> list[Record]:
    """All records of a DICOMDIR, in the order of the file.

    Raises:
        FileProblem: It cannot be read.
        TooManyError: See there; nothing was parsed yet.
        NotPlainError: It is not as the standard says.
    """
    with sources.open_file(path) as file:
        data = file.read(MAX_BYTES + 1)
    if data.count(_ITEM_SIGN) > MAX_RECORDS:
        raise TooManyError
    if len(data) > MAX_BYTES or data[128:132] != b"DICM":
        raise NotPlainError
    begin = data.find(_SEQUENCE)
    if begin < 0:
        raise NotPlainError
    try:
        return _records(data, begin)
    except struct.error:
        raise NotPlainError from None


def _records(data: bytes, begin: int) -> list[Record]:
    (length,) = _long.unpack_from(data, begin + 8)
    at = begin + 12
    end = len(data) if length == _UNDEFINED else at + length
    if end > len(data):
        raise NotPlainError
    records: list[Record] = []
    while at < end:
        tag, length = _item(data, at)
        if tag == _SEQUENCE_END:
            return records
        if tag != _ITEM:
            raise NotPlainError
        record, at = _record(data, at, length)
        records.append(record)
    if at != end:
        raise NotPlainError
    return records


def _item(data: bytes, at: int) -> tuple[int, int]:
    group, element = struct.unpack_from("<HH", data, at)
    return group << 16 | element, _long.unpack_from(data, at + 4)[0]


def _record(data: bytes, place: int, length: int) -> tuple[Record, int]:
    """The record whose item begins at `place`, and where the next item begins."""
    at = place + 8
    end = len(data) if length == _UNDEFINED else at + length
    numbers: dict[int, int] = {}
    components: tuple[str, ...] = ()
    while at < end:
        group, element, vr, size = _head.unpack_from(data, at)
        tag = group << 16 | element
        if tag == _ITEM_END and length == _UNDEFINED:
            end = at = at + 8
            break
        if vr in _LONG_VRS:
            (size,) = _long.unpack_from(data, at + 8)
            at += 4
        elif not vr.isalpha():
            raise NotPlainError
        at += 8
        if tag in _NAMED and size == struct.calcsize(_NAMED[tag]):
            (numbers[tag],) = struct.unpack_from(_NAMED[tag], data, at)
        elif tag == _FILE:
            text = data[at : at + size].decode("latin-1").rstrip("\0 ")
            components = tuple(part.strip() for part in text.split("\\")) if text else ()
        at += size
    if at != end or end > len(data):
        raise NotPlainError
    following, lower = numbers.get(_NEXT, 0), numbers.get(_LOWER, 0)
    return Record(place, following, lower, numbers.get(_IN_USE), components), end


def inactive(records: Sequence[Record]) -> set[int]:
    """Numbers of the records not in use, and of all below (PS3.3 F.5, Record In-use Flag)."""
    places = {record.place: number for number, record in enumerate(records)}
    unused = {number for number, record in enumerate(records) if record.in_use == 0}
    waiting = [places.get(records[number].lower) for number in unused]
    seen: set[int] = set()
    while waiting:
        number = waiting.pop()
        if number is None or number in seen:
            continue
        seen.add(number)
        waiting += [places.get(records[number].following), places.get(records[number].lower)]
    return unused | seen
