"""What the catalogue knows of a plain single image, without a parser. Runs in a worker process.

What most of thousands of headers have in common is made a text once: values, and what follows from
the figures of the pixels, are looked up by the bytes that stand in the file. What is not in the
memory yet is read by the same code that reads every other file, from the few elements concerned.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydicom.charset import convert_encodings, default_encoding, python_encoding
from pydicom.dataelem import RawDataElement, empty_value_for_VR
from pydicom.dataset import Dataset
from pydicom.filereader import read_dataset
from pydicom.tag import BaseTag
from pydicom.uid import UID

from app.errors import FileProblem
from app.imaging.dicom.charsets import TEXTS, mend_encoding
from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.frame_places import B_VALUES, private_b_value
from app.imaging.dicom.instance_attributes import MAX_TEXT, READ, plain_text
from app.imaging.dicom.pixel_layout import complete_frames, layout_of, may_have_frames
from app.imaging.dicom.plain_header import PlainHeader, plain_header
from app.imaging.dicom.plain_walk import NotPlainError
from app.imaging.dicom.sop_classes import content_of_class
from app.imaging.dicom.view_codes import view_code
from app.imaging.space import projections
from app.imaging.types import Content, Instance

_CHARSET = 0x00080005
_SOP_CLASS_UID = 0x00080016
_SOP_INSTANCE_UID = 0x00080018
_MODALITY = 0x00080060
_MR_DIFFUSION_SEQUENCE = 0x00189117
_NUMBER_OF_FRAMES = 0x00280008
_VIEW_CODE_SEQUENCE = 0x00540220
_OTHER_KINDS = frozenset({0x00480006, 0x00480007, 0x52009229, 0x52009230})
"""Total Pixel Matrix Columns and Rows, Shared and Per-frame Functional Groups Sequence: the image
says of itself what the elements of its top level do not."""
_FIGURES = (
    _SOP_CLASS_UID,
    0x00280002,  # Samples per Pixel
    0x00280004,  # Photometric Interpretation
    0x00280006,  # Planar Configuration
    _NUMBER_OF_FRAMES,
    0x00280010,  # Rows
    0x00280011,  # Columns
    0x00280100,  # Bits Allocated
    0x00280101,  # Bits Stored
    0x00280102,  # High Bit
    0x00280103,  # Pixel Representation
)
"""What tells whether the pixels are those of one image, and of which size."""
_NUMBERS = frozenset({"FD", "FL", "SL", "SS", "UL", "US"})

_MAX_KEPT, _MAX_KEY = 4096, 2048
_WANTED = tuple((keyword, int(tag), vr) for keyword, tag, vr in READ)
_SEPARATOR = b"\0"
"""A file may have nothing by which its encoding is told: its texts are not everybody's."""
_explicit_texts: dict[bytes, str] = {}
_implicit_texts: dict[bytes, str] = {}
"""All bytes of an element, and `_encoding_signs` where it is not ASCII -> its value as text."""
_sizes: dict[tuple[object, ...], tuple[int, int]] = {}
"""Syntax, length of the pixels and `_FIGURES` -> rows and columns."""
_b_values: dict[tuple[object, ...], str] = {}
"""The elements that `private_b_value` looks at, and `_encoding_signs` -> what it gives."""
_view_codes: dict[tuple[bool, bytes], str] = {}
"""Whether it is implicit, and all bytes of a View Code Sequence -> what `view_code` gives."""

_uid = re.compile(rb"([0-9A-Za-z.-]{1,64})[\0 ]?")
_whole_number = re.compile(r"[+-]?\d{1,9}")


def plain_instance(path: Path) -> Instance | None:
    """The instance of a plain file that holds one image of one frame.

    Returns:
        What `dicom_image.read_instances` makes of the same file; None for every other file, also
        for those that are damaged.
    """
    header = plain_header(path)
    if header is None:
        return None
    try:
        return _instance(header)
    except Exception:
        # pydicom converts what is new, and a damaged value raises almost anything.
        return None


def _instance(header: PlainHeader) -> Instance:
    elements = header.elements
    if not elements.keys().isdisjoint(_OTHER_KINDS):
        raise NotPlainError
    uid = _uid.fullmatch(elements.get(_SOP_INSTANCE_UID, b""), 8)
    if uid is None or not (header.implicit or header.vr(_SOP_INSTANCE_UID) == "UI"):
        raise NotPlainError
    texts = _texts(header)
    rows, columns = _size(header)
    number = texts.get("InstanceNumber", "0")
    if not _whole_number.fullmatch(number):
        raise NotPlainError
    if "DiffusionBValue" not in texts and texts.get("Modality") == "MR":
        b_value = _b_value(header)
        if b_value:
            texts["DiffusionBValue"] = b_value
    code = _view_code(header)
    if code:
        texts[projections.KEYWORD] = code
    texts["TransferSyntaxUID"] = header.syntax
    return Instance(
        path=header.path,
        sop_instance_uid=uid[1].decode("ascii"),
        kind="dicom",
        rows=rows,
        columns=columns,
        number=int(number),
        attributes=texts,
        size_bytes=header.status.size,
        mtime_ns=header.status.mtime_ns,
        changed_ns=header.status.changed_ns,
    )


def _texts(header: PlainHeader) -> dict[str, str]:
    kept = _implicit_texts if header.implicit else _explicit_texts
    elements = header.elements
    texts: dict[str, str] = {}
    for keyword, tag, vr in _WANTED:
        element = elements.get(tag)
        if element is None:
            continue
        text = kept.get(element)
        if text is None:
            text = _new_text(header, keyword, tag, vr)
        if text:
            texts[keyword] = text
    return texts


def _new_text(header: PlainHeader, keyword: str, tag: int, vr: str) -> str:
    """The value of an element that is not in the memory, as text."""
    raw = header.raw(tag) or b""
    if not raw:
        return ""
    if not header.implicit and header.vr(tag) != vr:
        raise NotPlainError
    kept = _implicit_texts if header.implicit else _explicit_texts
    key = header.elements[tag]
    text = plain_text(vr, raw)
    if tag == _CHARSET and not (
        text and raw.rstrip(b" \0") == text.encode() and _is_standard(text)
    ):
        raise NotPlainError  # before anything is decoded by it
    if text is None and vr not in _NUMBERS and not (raw.isascii() and b"\x1b" not in raw):
        key += _SEPARATOR + _encoding_signs(header)
        text = kept.get(key)
    if text is None:
        text = _parsed(header, (tag,)).text(keyword)
    text = text[:MAX_TEXT]
    if len(key) <= _MAX_KEY:
        _keep(kept, key, text)
    return text


def _is_standard(charset: str) -> bool:
    """Whether a Specific Character Set is one that agrees with all others on what is ASCII."""
    return all(term in python_encoding for term in charset.split("\\"))


def _encoding_signs(header: PlainHeader) -> bytes:
    """All by which the encoding of a file's texts is told."""
    return b"".join(header.elements.get(tag, b"") for tag in (_CHARSET, *TEXTS))


def _keep(memory: dict[Any, Any], key: object, value: object) -> None:
    if len(memory) >= _MAX_KEPT:
        memory.clear()
    memory[key] = value


def _size(header: PlainHeader) -> tuple[int, int]:
    """Rows and columns of the only frame."""
    key = (header.syntax, header.pixels.declared, *map(header.elements.get, _FIGURES))
    size = _sizes.get(key)
    if size is None:
        size = _checked_size(header)
        _keep(_sizes, key, size)
    return size


def _checked_size(header: PlainHeader) -> tuple[int, int]:
    _check_lengths(header, _FIGURES)
    parsed = _parsed(header, _FIGURES)
    sop_class, frames = parsed.text("SOPClassUID"), parsed.text("NumberOfFrames")
    # How many frames compressed pixels hold may have to be asked of the pixels.
    asked = header.encapsulated and may_have_frames(parsed)
    told = frames.isdecimal() or not (frames or asked)
    content = content_of_class(sop_class, has_pixels=True, has_rows=True)
    if not sop_class or not told or content is not Content.IMAGE:
        raise NotPlainError
    try:
        layout = layout_of(parsed)
    except FileProblem:
        raise NotPlainError from None
    if layout.frames != 1 or complete_frames(parsed, layout) == 0:
        raise NotPlainError
    return layout.rows, layout.columns


def _b_value(header: PlainHeader) -> str:
    """`private_b_value`, for which the other parser is asked only where a maker's name stands."""
    if _MR_DIFFUSION_SEQUENCE in header.elements:
        raise NotPlainError
    elements = header.elements
    wanted = [_MODALITY]
    for creator, group, element in B_VALUES:
        own = [tag for tag in elements if tag >> 16 == group]
        creators = [tag for tag in own if tag & 0xFFFF < 0x100]
        if any(creator.encode() in elements[tag] for tag in creators):
            wanted += [*creators, *(tag for tag in own if tag & 0xFF == element)]
    if len(wanted) == 1:
        return ""
    key = (header.implicit, _encoding_signs(header), *(elements[tag] for tag in wanted))
    value = _b_values.get(key)
    if value is None:
        _check_lengths(header, (_CHARSET, *TEXTS, *wanted))
        value = private_b_value(_parsed(header, tuple(wanted)))
        _keep(_b_values, key, value)
    return value


def _view_code(header: PlainHeader) -> str:
    """`view_code`, of the one sequence that is looked into: most digital radiographs have it."""
    element = header.elements.get(_VIEW_CODE_SEQUENCE)
    if element is None:
        return ""
    key = (header.implicit, element)
    code = _view_codes.get(key)
    if code is None:
        _check_lengths(header, (_VIEW_CODE_SEQUENCE,))
        code = view_code(read_dataset(io.BytesIO(element), header.implicit, True))
        _keep(_view_codes, key, code)
    return code


def _check_lengths(header: PlainHeader, tags: Iterable[int]) -> None:
    """Refuse elements that are too long to be remembered."""
    if sum(len(header.elements.get(tag, b"")) for tag in tags) > _MAX_KEY:
        raise NotPlainError


def _parsed(header: PlainHeader, tags: tuple[int, ...]) -> Header:
    """A header of some elements, for the code that reads every other file.

    It has the elements too by which encodings are told.
    """
    found: dict[BaseTag, Any] = {
        BaseTag(tag): _raw_element(header, tag)
        for tag in (_CHARSET, *TEXTS, *tags)
        if tag in header.elements
    }
    dataset = Dataset(found)
    charset = value_of(dataset, "SpecificCharacterSet")
    encodings = convert_encodings(charset) if _CHARSET in found else default_encoding
    dataset.set_original_encoding(header.implicit, True, encodings)
    mend_encoding(dataset)
    return Header(header.path, dataset, UID(header.syntax), header.pixels)


def _raw_element(header: PlainHeader, tag: int) -> RawDataElement:
    """An element as the parser leaves it before its value is asked for."""
    raw = header.raw(tag) or b""
    vr = header.vr(tag) or None
    length = header.elements[tag][4:8] if header.implicit else header.elements[tag][8:12]
    if vr == "SQ" or (vr in ("UN", None) and length == b"\xff\xff\xff\xff"):
        raise NotPlainError
    value: Any = raw or empty_value_for_VR(vr, raw=True)
    return RawDataElement(BaseTag(tag), vr, len(raw), value, 0, header.implicit, True)
