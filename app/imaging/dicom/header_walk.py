"""A quick reader for ordinary DICOM headers; every other header is left to pydicom.

pydicom takes half a millisecond for the header of a CT slice, most of it in one call per element.
This reader cuts the header of an ordinary image into the same raw elements several times as fast,
and pydicom converts their values when they are asked for. A header is ordinary when it is little
endian, has preamble and file meta information, and its elements stand in ascending order up to the
pixel data (PS3.5 7.1, PS3.10 7.1). Runs in a worker process.
"""

from __future__ import annotations

import io
import struct
from collections.abc import MutableSequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, BinaryIO

from pydicom.charset import convert_encodings, default_encoding
from pydicom.datadict import dictionary_VR
from pydicom.dataelem import DataElement, RawDataElement, empty_value_for_VR
from pydicom.dataset import Dataset
from pydicom.filereader import read_sequence
from pydicom.tag import BaseTag
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ImplicitVRLittleEndian,
    PrivateTransferSyntaxes,
)
from pydicom.values import convert_string

MAX_HEADER = 2**17
"""Bytes before the pixels; in a longer header, items are counted before they are parsed."""

_FIRST_READ = 2**14
_MOST_GROUPS = 256
_LARGEST_GROUP = 2**14
_META = 132
_DATA_SET = 0x00080000
_PIXELS = (0x7FE00008, 0x7FE00009, 0x7FE00010)
"""Float Pixel Data, Double Float Pixel Data and Pixel Data; what follows them is not read."""
_ITEM = b"\xfe\xff\x00\xe0"
_MOST_ITEMS = 2000
_CHARSET = 0x00080005
_TRANSFER_SYNTAX = BaseTag(0x00020010)
_UNKNOWN_VR = ""
_UNDEFINED_LENGTH = 0xFFFFFFFF
_SHORT_VRS = frozenset(b"AE AS AT CS DA DS DT FD FL IS LO LT PN SH SL SS ST TM UI UL US".split())
"""VRs whose length has two bytes, at the seventh byte of the element (PS3.5 7.1.2)."""
_LONG_VRS = frozenset(b"OB OD OF OL OV OW SQ SV UC UN UR UT UV".split())
"""VRs whose length has four bytes, after two that are zero."""

_long = struct.Struct("<L")
_new = tuple.__new__
"""Makes an element in a third of the time of its own constructor."""

Element = RawDataElement | DataElement
Elements = dict[BaseTag, Element]
Encoding = str | MutableSequence[str]


class _NotOrdinaryError(Exception):
    """The header must be read by pydicom."""


class _TooShortError(Exception):
    """More of the file is needed."""


def read_ordinary(file: BinaryIO) -> Dataset | None:
    """Read a DICOM header of a common kind, fast, and leave `file` positioned at the pixels.

    Returns:
        A data set equal to the result of `pydicom.dcmread(file, stop_before_pixels=True)`; None for
        an unusual or damaged header. Never raises an error because of the file's contents.
    """
    # Most headers fit into the first read; reading more of every file would cost time.
    for size in (_FIRST_READ, MAX_HEADER):
        file.seek(0)
        data = file.read(size)
        try:
            dataset, end = _dataset(data)
        except _TooShortError:
            if len(data) < size:
                return None
            continue
        except Exception:
            # pydicom parses sequences here, and damaged ones raise almost anything.
            return None
        file.seek(end)
        return dataset
    return None


def _dataset(data: bytes) -> tuple[Dataset, int]:
    if data[128:_META] != b"DICM":
        raise _NotOrdinaryError
    meta, start, _ = _elements(data, _META, 0x00020000, _DATA_SET, implicit=False)
    syntax = meta.get(_TRANSFER_SYNTAX)
    if not isinstance(syntax, RawDataElement) or not isinstance(syntax.value, bytes):
        raise _NotOrdinaryError
    uid = syntax.value.decode("ascii").rstrip("\0 ")
    implicit = uid == ImplicitVRLittleEndian
    unusual = (ExplicitVRBigEndian, DeflatedExplicitVRLittleEndian, *PrivateTransferSyntaxes)
    # pydicom believes the first element rather than the file meta information.
    if uid in unusual or _names_vr(data, start) == implicit:
        raise _NotOrdinaryError
    elements, end, encoding = _elements(data, start, _DATA_SET, _PIXELS[0], implicit=implicit)
    if _head(data[end : end + 8], implicit)[0] not in _PIXELS:
        raise _NotOrdinaryError
    dataset = Dataset(elements)
    # A `FileMetaDataset` would be checked, which takes as long as to read it.
    dataset.file_meta = Dataset(meta)  # type: ignore[reportAttributeAccessIssue]
    dataset.set_original_encoding(implicit, True, encoding)
    return dataset, end


def _elements(
    data: bytes, at: int, first: int, stop: int, *, implicit: bool
) -> tuple[Elements, int, Encoding]:
    """Read the elements at `at`, whose tags are from `first` on.

    Returns:
        The elements up to the first tag from `stop` on, its position, and the encoding of texts.
    """
    elements: Elements = {}
    group: Elements = {}
    group_start, last, size = at, first - 1, len(data)
    encoding: Encoding = default_encoding
    while (start := at + 12) <= size:
        head = data[at : at + 8]
        number, tag, vr, length = _head(head, implicit)
        if number >= stop:
            _remember(data[group_start:at], group, implicit)
            return elements | group, at, encoding
        if number <= last or vr == _UNKNOWN_VR:
            raise _NotOrdinaryError
        # Elements of one group follow each other, so here a group ends and another begins.
        if number >> 16 != last >> 16:
            _remember(data[group_start:at], group, implicit)
            elements |= group
            group, group_start = {}, at
            known = _groups.get((head, implicit))
            if known is not None and data.startswith(known.data, at):
                elements |= known.elements
                at = group_start = at + len(known.data)
                last = known.last
                continue
        last = number
        if length < 0:
            (length,) = _long.unpack_from(data, at + 8)
        else:
            start = at + 8
        if length == _UNDEFINED_LENGTH:
            group[tag], at = _sequence(data, start, tag, vr, encoding)
            continue
        at = start + length
        if at > size:
            break
        value: Any = data[start:at] if length else empty_value_for_VR(vr, raw=True)
        if number == _CHARSET:
            encoding = _encodings(value or b"")
        group[tag] = _new(RawDataElement, (tag, vr, length, value, 0, implicit, True, True, False))
    raise _TooShortError


@lru_cache(maxsize=64)
def _encodings(charset: bytes) -> Encoding:
    """Return Python's names for a Specific Character Set."""
    return convert_encodings(convert_string(charset, True))


@dataclass(frozen=True, slots=True)
class _Group:
    """All bytes of a group in an earlier file, its elements, and the last one's tag."""

    data: bytes
    elements: Elements
    last: int


_groups: dict[tuple[bytes, bool], _Group] = {}
"""First eight bytes of a group, and whether it is implicit -> the group as it was met last. The
slices of a series share most groups, and these are compared at once."""


def _remember(data: bytes, elements: Elements, implicit: bool) -> None:
    shared = len(elements) > 1 and len(data) <= _LARGEST_GROUP and _CHARSET not in elements
    # A parsed sequence depends on the encoding of its file, and is not immutable.
    if not shared or any(isinstance(one, DataElement) for one in elements.values()):
        return
    if len(_groups) >= _MOST_GROUPS:
        _groups.clear()
    _groups[data[:8], implicit] = _Group(data, elements, int(next(reversed(elements))))


@lru_cache(maxsize=8192)
def shared_tag(number: int) -> BaseTag:
    """Return pydicom's tag object for a tag number (0xggggeeee), the same one on each call.

    Dictionaries compare identical objects fast, while pydicom compares two tags in Python code.
    """
    return BaseTag(number)


@lru_cache(maxsize=8192)
def _head(head: bytes, implicit: bool) -> tuple[int, BaseTag, str | None, int]:
    """Take the first eight bytes of an element apart.

    Returns:
        Its tag as a number and as pydicom has it, its VR, and the length of its value; -1 when the
        length stands in the next four bytes.
    """
    if implicit:
        group, element, length = struct.unpack("<HHL", head)
        number = group << 16 | element
        return number, shared_tag(number), None, length
    group, element, vr, length = struct.unpack("<HH2sH", head)
    if vr in _LONG_VRS and length == 0:
        length = -1
    text = vr.decode("ascii") if vr in _SHORT_VRS or length < 0 else _UNKNOWN_VR
    number = group << 16 | element
    return number, shared_tag(number), text, length


def _sequence(
    data: bytes, start: int, tag: BaseTag, vr: str | None, encoding: Encoding
) -> tuple[DataElement, int]:
    """Parse a sequence of undefined length, and return it and the position after it."""
    # A great many items take long to parse; pydicom's own reading of the file is bounded.
    if (vr or dictionary_VR(tag)) != "SQ" or data.count(_ITEM, start) > _MOST_ITEMS:
        raise _NotOrdinaryError
    file = io.BytesIO(data)
    file.seek(start)
    try:
        items = read_sequence(file, vr is None, True, _UNDEFINED_LENGTH, encoding)
    except OSError:  # pydicom's word for an item that is not there
        raise _TooShortError from None
    if file.tell() + 12 > len(data):
        raise _TooShortError
    return DataElement(tag, "SQ", items, is_undefined_length=True), file.tell()


def raw_elements(dataset: Dataset) -> Elements:
    """Return pydicom's own dictionary of a data set's elements, by tag.

    Elements not accessed before are still raw. Look-ups are four times as fast as in the data set.
    """
    return dataset._dict  # type: ignore[reportPrivateUsage]


def _names_vr(data: bytes, at: int) -> bool:
    """Return whether the element at `at` seems to name its VR."""
    return all(0x40 < byte < 0x5B for byte in data[at + 4 : at + 6])
