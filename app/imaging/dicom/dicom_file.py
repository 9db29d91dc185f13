"""Read DICOM headers with their character sets, and locate the pixels. Runs in a worker process.

PS3.10 7.1 (file format). Files without preamble or file meta information are read too if the rest
parses as DICOM.
"""

from __future__ import annotations

import io
import logging
import re
import struct
import warnings
import zlib
from collections.abc import MutableSequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from pydicom import config
from pydicom.charset import CODES_TO_ENCODINGS, python_encoding
from pydicom.datadict import dictionary_has_tag, dictionary_VR, tag_for_keyword
from pydicom.dataelem import RawDataElement, convert_raw_data_element
from pydicom.dataset import Dataset
from pydicom.errors import InvalidDicomError
from pydicom.filereader import read_partial
from pydicom.multival import MultiValue
from pydicom.tag import BaseTag
from pydicom.uid import (
    UID,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
)

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.header_walk import raw_elements, read_ordinary, shared_tag
from app.imaging.files import sources
from app.imaging.openable import REMEDY

UNDEFINED_LENGTH = 0xFFFFFFFF
_PIXEL_TAGS = {
    0x7FE00008: "FloatPixelData",
    0x7FE00009: "DoubleFloatPixelData",
    0x7FE00010: "PixelData",
}
_VRS = frozenset(
    b"AE AS AT CS DA DS DT FD FL IS LO LT OB OD OF OL OV OW PN SH SL SQ SS ST SV TM UC UI UL UN UR"
    b" US UT UV".split()
)
_PIXEL_VRS = frozenset({b"OB", b"OW", b"OF", b"OD", b"UN"})
_NATIVE = (
    ImplicitVRLittleEndian,
    ExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    DeflatedExplicitVRLittleEndian,
)
_SHARED_VRS = frozenset({"DS", "FD", "FL", "IS", "SL", "SS", "UI", "UL", "US"})
_MAX_SHARED = 1024
_PLAIN = dict.fromkeys(("AS", "CS", "DA", "LO", "SH", "TM", "UI"), re.compile(r"[^\0]*")) | {
    "DS": re.compile(r"[+-]?\d{1,20}(\.\d{0,20})?([eE][+-]?\d{1,2})?"),
    "IS": re.compile(r"[+-]?\d{1,9}"),
    "PN": re.compile(r"[^\0=]*"),
}
"""VR -> pattern of a value whose display text is exactly its text in the file."""
_ITEMS = (b"\xfe\xff\x00\xe0", b"\xff\xfe\xe0\x00")
_PIXELS = (b"\xe0\x7f\x10\0", b"\x7f\xe0\0\x10")
_FRAME_GROUPS = (b"\x00\x52\x30\x92", b"\x52\x00\x92\x30")
MAX_ITEMS = 60_000
"""Limit of sequence items before the pixels: 10,000 contours have 20,000 with their images."""
MAX_ITEMS_OF_FRAMES = 150_000
"""Limit in functional groups: about ten items for each of 10,000 frames."""
MAX_READS = 2_000_000
MAX_READS_AN_ITEM = 30_000
"""Limits of reads by pydicom, which needs about two for an element."""
_MAX_VALUE_BYTES = 2**20
_CHARSET = 0x00080005
_BULK = frozenset({None, "OB", "OD", "OF", "OL", "OV", "OW", "SQ", "UN", "UR", "UC", "UT"})
"""VRs of values that are not taken apart, or only when they are shown."""
_NOT_DICOM = "it is not a DICOM file"


class IndexFile(Exception):
    """Raised for a DICOMDIR, an index file that refers to images but contains none."""


@dataclass(frozen=True, slots=True)
class PixelSpan:
    """The position of the pixel data element's value in the file.

    Attributes:
        keyword: PixelData, FloatPixelData or DoubleFloatPixelData.
        vr: VR of the element; "" in a file with implicit VRs.
        offset: Position of the value's first byte in the file; for a deflated file, in
            `Header.inflated`.
        length: Number of bytes that exist: the declared length, cut at the end of the file.
        declared: Declared length; `UNDEFINED_LENGTH` for encapsulated pixels.
    """

    keyword: str
    vr: str
    offset: int
    length: int
    declared: int


@dataclass(frozen=True, slots=True)
class Header:
    """The parsed header of a DICOM file, and the position of its pixels.

    Attributes:
        dataset: All elements before the pixel data.
        syntax: Transfer syntax; guessed from the encoding if the file does not declare one.
        pixels: Position of the pixels; None for an object without pixels.
        inflated: For a deflated file, all its bytes after inflation; otherwise None.
        note: Note for the user if a damaged header was repaired on reading; else "".
    """

    path: Path
    dataset: Dataset
    syntax: UID
    pixels: PixelSpan | None
    inflated: bytes | None = None
    note: str = ""

    @property
    def little_endian(self) -> bool:
        """True if the data set is little endian, False if big endian."""
        return self.syntax != ExplicitVRBigEndian

    @property
    def encapsulated(self) -> bool:
        """True if the pixels are stored in fragments, mostly compressed (PS3.5 A.4)."""
        return self.syntax not in _NATIVE

    @property
    def sop_class(self) -> str:
        """SOP Class UID, or Media Storage SOP Class UID of the file meta information, or ""."""
        return self.text("SOPClassUID") or value_text(
            value_of(getattr(self.dataset, "file_meta", Dataset()), "MediaStorageSOPClassUID")
        )

    def text(self, keyword: str) -> str:
        """Return an element's value as text, several values joined by backslashes; "" if absent."""
        tag = _tag_of(keyword)
        element = None if tag is None else raw_elements(self.dataset).get(tag)
        if tag is not None and element is None:
            return ""
        if isinstance(element, RawDataElement):
            if not element.value:
                return ""
            text = _raw_text(element.VR or _vr(keyword), element.value)
            if text is not None:
                return text
        return value_text(self.value(keyword))

    def value(self, keyword: str) -> Any:
        """Return an element's value; None if it is absent, empty or cannot be parsed."""
        return value_of(self.dataset, keyword)

    def count(self, keyword: str, default: int) -> int:
        """Return an element's value as a whole number; `default` if it is absent or empty.

        Raises:
            FileProblem: The value is not a whole number.
        """
        raw = self.value(keyword)
        if raw is None:
            return default
        try:
            return int(str(raw).strip())
        except ValueError:
            raise guards.problem(
                self.path, f"its header is damaged: {keyword} is not a number", guards.COPY_AGAIN
            ) from None


def value_of(dataset: Dataset, keyword: str) -> Any:
    """Return the value of element `keyword`; None if it is absent, empty or cannot be parsed."""
    tag = _tag_of(keyword)
    try:
        if tag is None:
            value = dataset.get(keyword)
        else:
            element = raw_elements(dataset).get(tag)
            if element is None:
                return None
            if isinstance(element, RawDataElement) and element.VR in _SHARED_VRS:
                value = _shared_value(element)
            else:
                value = dataset[tag].value
    except Exception:
        # pydicom converts on access, and a damaged value raises almost anything.
        return None
    if isinstance(value, str | bytes | list) and not value:
        return None
    return value


@lru_cache(maxsize=4096)
def _shared_value(element: RawDataElement) -> Any:
    """Convert a value that depends on no other element; cached, since slices share it."""
    return convert_raw_data_element(element).value


@cache
def _tag_of(keyword: str) -> BaseTag | None:
    """Return the tag of a keyword that stands in our code, or None for a repeating group."""
    tag = tag_for_keyword(keyword)
    return None if tag is None else shared_tag(tag)


@cache
def _vr(keyword: str) -> str:
    """Return the VR of the data dictionary, for elements of implicit VR."""
    return dictionary_VR(keyword)


@lru_cache(maxsize=4096)
def _raw_text(vr: str, raw: bytes) -> str | None:
    """Return a value's text as in the file, if ASCII (PS3.5 6.1.2); else None for pydicom."""
    plain = _PLAIN.get(vr)
    if plain is None or len(raw) > _MAX_SHARED or not raw.isascii() or b"\x1b" in raw:
        return None
    parts = [part.strip() for part in raw.decode("ascii").rstrip(" \0").split("\\")]
    return "\\".join(parts) if all(map(plain.fullmatch, parts)) else None


def value_text(value: Any) -> str:
    """Return a value as text for display, several values joined by backslashes as in the file."""
    if value is None:
        return ""
    if isinstance(value, MultiValue | list | tuple):
        items: Any = value
        return "\\".join(str(item).strip() for item in items)
    return str(value).strip()


def silence_pydicom() -> None:
    """Silence pydicom's warnings, which quote values that may identify a patient.

    Validation of values is turned off too, since it takes longer than reading the values.
    """
    warnings.simplefilter("ignore")
    config.settings.reading_validation_mode = config.IGNORE
    logging.getLogger("pydicom").setLevel(logging.CRITICAL + 1)


def looks_like_dicom(start: bytes) -> bool:
    """Return whether a file's first bytes have the DICM prefix or a plausible first element."""
    if start[128:132] == b"DICM":
        return True
    if len(start) < 8:
        return False
    for order in "<>":
        group, element, length = struct.unpack(f"{order}HHL", start[:8])
        if group not in (0x0002, 0x0008):
            continue
        if start[4:6] in _VRS or (element <= 0x0100 and length <= 256):
            return True
    return False


def read_header(path: Path) -> Header:
    """Return the header of a DICOM file, which is read up to the pixels.

    Raises:
        FileProblem: The file is unreadable, empty, not DICOM, or damaged.
    """
    size = sources.status(path).size
    try:
        with sources.open_file(path) as file:
            start = file.read(4096)
            if not looks_like_dicom(start):
                raise guards.problem(path, _NOT_DICOM, REMEDY)
            mended = _mended_meta(start)
            if mended != start and size <= MAX_BYTES:
                # As long as the file, so that what is found in it lies there in the file too.
                whole = io.BytesIO(mended + file.read())
                deflated = is_deflated(mended)
                header = _parse_deflated(path, whole) if deflated else _parse(path, whole, size)
                return replace(header, note=_MENDED)
            if is_deflated(start):
                return _parse_deflated(path, file)
            file.seek(0)
            return _parse(path, file, size)
    except FileProblem:
        raise
    except (InvalidDicomError, EOFError):
        raise guards.problem(path, _NOT_DICOM, REMEDY) from None
    except Exception as error:
        # The parser raises almost anything: OSError without a number, MemoryError for a length.
        if isinstance(error, OSError) and error.errno is not None:
            raise guards.unreadable_file(path, error) from None
        raise guards.problem(
            path, "its header is damaged", guards.COPY_AGAIN, type(error).__name__
        ) from None


def _parse(path: Path, file: BinaryIO, size: int) -> Header:
    dataset = read_ordinary(file)
    if dataset is None:
        dataset = _parse_any(path, file, size)
    _mend_encoding(dataset)
    syntax = _syntax(dataset)
    if not _is_object(dataset):
        raise guards.problem(path, _NOT_DICOM, REMEDY)
    if syntax == DeflatedExplicitVRLittleEndian:
        # `is_deflated` did not find the syntax, so the file meta information is malformed.
        raise guards.problem(path, "its header is damaged", guards.COPY_AGAIN)
    pixels = _find_pixels(file, size, little=syntax != ExplicitVRBigEndian)
    return Header(path, dataset, syntax, pixels)


def _parse_any(path: Path, file: BinaryIO, size: int) -> Dataset:
    """Parse any header with pydicom, unless it would take pydicom minutes or gigabytes."""
    _check_items(path, file)
    file.seek(0)

    def stop(tag: BaseTag, vr: str | None, length: int) -> bool:
        del vr
        if tag == _CHARSET and length > _MAX_SHARED:
            reason = "its header is damaged: it lists very many character sets"
            raise guards.problem(path, reason, guards.COPY_AGAIN)
        return tag in _PIXEL_TAGS

    counted: Any = _CountedFile(path, file, size)
    try:
        dataset = read_partial(counted, stop_when=stop, force=True)
    except Exception:
        if counted.refusal is not None:
            raise counted.refusal from None
        raise
    for element in raw_elements(dataset).values():
        value = element.value if isinstance(element, RawDataElement) else None
        vr = element.VR or (dictionary_VR(element.tag) if dictionary_has_tag(element.tag) else None)
        packed = value if isinstance(value, bytes) and vr in (None, "SQ", "UN") else b""
        if max(packed.count(item) for item in _ITEMS) > MAX_ITEMS_OF_FRAMES:
            raise _too_many_items(path, MAX_ITEMS_OF_FRAMES)
        if value is not None and len(value) > _MAX_VALUE_BYTES and vr not in _BULK:
            reason = (
                "its header is damaged: it contains an element with very many values or letters"
            )
            raise guards.problem(path, reason, guards.COPY_AGAIN)
    return dataset


class _CountedFile:
    """A file that pydicom may read only in as many pieces as sound headers have.

    `_check_items` sees nothing behind the pixels of an icon. pydicom hides errors in `read`, so
    they are kept in `refusal`.
    """

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self._path = path
        self._file = file
        self._size = size
        self._items = self._reads = 0
        self.refusal: FileProblem | None = None
        self.name = str(path)
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, size: int = -1, /) -> bytes:
        if size > _CHUNK:  # room for all of it is taken at once, and a damaged length has no limit
            size = min(size, max(self._size - self._file.tell(), 0))
        data = self._file.read(size)
        self._reads += 1
        self._items += len(data) == 8 and data[:4] in _ITEMS
        if self._items > MAX_ITEMS_OF_FRAMES:
            self.refusal = _too_many_items(self._path, MAX_ITEMS_OF_FRAMES)
        elif self._reads > min(MAX_READS_AN_ITEM * (self._items + 1), MAX_READS):
            reason = "its header is damaged: it contains more elements than can be read safely"
            self.refusal = guards.problem(self._path, reason, guards.COPY_AGAIN)
        if self.refusal is not None:
            raise self.refusal
        return data


def _too_many_items(path: Path, limit: int) -> FileProblem:
    reason = f"it contains over {limit:,} items: more than can be read safely"
    return guards.problem(path, reason, "Ask its source for it in several files")


def _check_items(path: Path, file: BinaryIO) -> None:
    """Refuse more items before the pixels than pydicom can parse in a reasonable time."""
    file.seek(0)
    items, limit = 0, MAX_ITEMS
    while data := file.read(_CHUNK):
        ends = [end for sign in _PIXELS if (end := data.find(sign)) >= 0]
        items += max(data.count(item, 0, min(ends, default=len(data))) for item in _ITEMS)
        if any(sign in data for sign in _FRAME_GROUPS):
            limit = MAX_ITEMS_OF_FRAMES
        if items > limit:
            raise _too_many_items(path, limit)
        if ends:
            break


def _is_object(dataset: Dataset) -> bool:
    """Return whether a parse is DICOM: after "DICM" any known element is enough."""
    if any(tag in dataset for tag in ("SOPClassUID", "Rows", "DirectoryRecordSequence")):
        return True
    if getattr(dataset, "preamble", None) is None:
        return False
    meta = getattr(dataset, "file_meta", None)
    if meta is not None and "MediaStorageSOPClassUID" in meta:
        return True
    return any(dictionary_has_tag(tag) for tag in dataset.keys())  # noqa: SIM118 - not parsed


def _parse_deflated(path: Path, file: BinaryIO) -> Header:
    """Inflate a deflated data set into memory and parse it (PS3.5 A.5)."""
    file.seek(0)
    packed = file.read()
    end = _end_of_meta(packed)
    inflater = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = inflater.decompress(packed[end:], MAX_BYTES)
    except zlib.error:
        reason = "its compressed data set is damaged"
        raise guards.problem(path, reason, guards.COPY_AGAIN) from None
    if inflater.unconsumed_tail:
        reason = "it inflates to more than an image needs, and is too large to be opened safely"
        raise guards.problem(path, reason, "Ask for an export without compression")
    data = packed[:end].replace(_ELEMENT + _SYNTAX, _ELEMENT + _EXPLICIT, 1) + data
    header = _parse(path, io.BytesIO(data), len(data))
    header.dataset.file_meta.TransferSyntaxUID = DeflatedExplicitVRLittleEndian
    return replace(header, syntax=DeflatedExplicitVRLittleEndian, inflated=data)


def _syntax(dataset: Dataset) -> UID:
    meta = getattr(dataset, "file_meta", None)
    named = value_of(meta, "TransferSyntaxUID") if meta is not None else None
    if named:
        return UID(str(named))
    implicit, little = dataset.original_encoding
    if implicit:
        return ImplicitVRLittleEndian
    return ExplicitVRLittleEndian if little else ExplicitVRBigEndian


def _find_pixels(file: BinaryIO, size: int, *, little: bool) -> PixelSpan | None:
    """Read the head of the pixel data element, at which the parser stopped."""
    start = file.read(12)
    order = "<" if little else ">"
    if len(start) < 8:
        return None
    group, element = struct.unpack(f"{order}HH", start[:4])
    keyword = _PIXEL_TAGS.get((group << 16) | element)
    if keyword is None:
        return None
    position = file.tell() - len(start)
    # Not what the transfer syntax says: some files are implicit in spite of it, as the parser
    # notices. These letters cannot begin an implicit length, since they would make it odd.
    if start[4:6] in _PIXEL_VRS and len(start) == 12:
        vr, offset, length_bytes = start[4:6].decode("latin-1"), position + 12, start[8:12]
    else:
        vr, offset, length_bytes = "", position + 8, start[4:8]
    (declared,) = struct.unpack(f"{order}L", length_bytes)
    rest = max(size - offset, 0)
    length = rest if declared == UNDEFINED_LENGTH else min(declared, rest)
    return PixelSpan(keyword, vr, offset, length, declared)


MAX_BYTES = 3 * 2**27
"""Limit of an inflated data set, about 400 million bytes: a volume of 700 slices of 512 x 512."""

_SYNTAX = b"1.2.840.10008.1.2.1.99"
_EXPLICIT = b"1.2.840.10008.1.2.1\0\0\0"
_ELEMENT = b"\x02\0\x10\0UI\x16\0"
_LONG_FORMS = (b"OB", b"OW", b"SQ", b"UN", b"UT", b"OF", b"OD", b"OL", b"UC", b"UR")
_CHUNK = 2**20


def is_deflated(start: bytes) -> bool:
    """Return whether a file's first bytes name the deflated transfer syntax."""
    return _ELEMENT + _SYNTAX in start


_MENDED = "the file meta information is damaged: its elements are read by their tags"


def _mended_meta(start: bytes) -> bytes:
    """Return a file's first bytes with the VRs of group 2 put right that no element can have."""
    data = bytearray(start)
    at = 132 if start[128:132] == b"DICM" else 0
    while at and data.startswith(b"\x02\0", at) and at + 12 <= len(data):
        vr, tag = bytes(data[at + 4 : at + 6]), 0x00020000 | data[at + 2] | data[at + 3] << 8
        long_form = vr in _LONG_FORMS
        damaged = vr not in _VRS or (long_form and any(data[at + 6 : at + 8]))
        if damaged and dictionary_has_tag(tag):
            vr = dictionary_VR(tag).encode()
            data[at + 4 : at + 6] = vr
            long_form = vr in _LONG_FORMS
        if long_form:
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "little")
        else:
            at += 8 + int.from_bytes(data[at + 6 : at + 8], "little")
    return bytes(data)


def _end_of_meta(data: bytes) -> int:
    """Return where the file meta information (group 2) ends."""
    at = 132 if data[128:132] == b"DICM" else 0
    while data[at : at + 2] == b"\x02\0" and at + 8 <= len(data):
        if data[at + 4 : at + 6] in _LONG_FORMS:
            at += 12 + int.from_bytes(data[at + 8 : at + 12], "little")
        else:
            at += 8 + int.from_bytes(data[at + 6 : at + 8], "little")
    return min(at, len(data))


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


def _mend_encoding(dataset: Dataset) -> None:
    """Replace the character sets that a freshly read data set declares by those it really uses.

    PS3.3 C.12.1.1.2. Some files declare none, a name that the standard does not know, or another
    set than the one they use.
    """
    raws = [raw_elements(dataset).get(tag) for tag in _TEXTS]
    values = [raw.value for raw in raws if isinstance(raw, RawDataElement)]
    sample = b"\n".join(value for value in values if isinstance(value, bytes))
    if sample.isascii() and _ESCAPE not in sample:
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
    value = value_of(dataset, "SpecificCharacterSet") or ()
    terms = [value] if isinstance(value, str) else list(value)
    return [str(term).strip() for term in terms] if any(terms) else []


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
