"""The kind of content of DICOM objects by SOP Class, and catalogue entries for non-images."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from pydicom.config import IGNORE
from pydicom.dataset import Dataset
from pydicom.uid import UID

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.dicom_items import items_of, whole_number
from app.imaging.dicom.instance_attributes import attribute_texts, uid_of
from app.imaging.files.sources import FileStatus
from app.imaging.formats.pdf_file import pdf_extent, pdf_frame
from app.imaging.types import Content, Frame, Instance
from app.paths import shipped_table

_S = "1.2.840.10008.5.1.4.1.1."

_CONTENTS = {
    f"{_S}66.4": Content.SEGMENTATION,
    f"{_S}66.7": Content.SEGMENTATION,  # label map
    f"{_S}481.3": Content.STRUCTURES,
    f"{_S}91.1": Content.STRUCTURES,  # microscopy annotations
    f"{_S}88.59": Content.KEY_OBJECTS,
    f"{_S}79.1": Content.REPORT,  # macular grid thickness: a structured report by its IOD
    f"{_S}104.1": Content.DOCUMENT,
}
_FAMILIES = {
    f"{_S}11.": Content.PRESENTATION,
    f"{_S}88.": Content.REPORT,
    f"{_S}9.": Content.WAVEFORM,
}
_IMAGES_BY_ANOTHER_NAME = frozenset(
    f"{_S}{end}" for end in ("6.2", "30", "81.1", "82.1", "77.1.5.8", "501.4", "501.5")
)
"""SOP Classes of images whose name does not end in "Image Storage"."""

_PLAIN_WORDS: dict[str, str] = shipped_table("dicom", "plain_words")
"""Plain words for objects whose SOP Class name tells a user too little."""

_NEW_NAMES = {
    f"{_S}66.7": "Label Map Segmentation Storage",
    f"{_S}66.8": "Height Map Segmentation Storage",
}
"""Names of SOP Classes that pydicom does not know yet."""


def standard_name(uid: str) -> str:
    """Return the name of a SOP Class without "Storage", e.g. "RT Plan"; "" if it is unknown."""
    name = _NEW_NAMES.get(uid) or UID(uid, IGNORE).name
    if not name or name == uid:
        return ""
    return name.removesuffix(" SOP Class").replace(" Storage - ", " - ").removesuffix(" Storage")


def content_of_class(uid: str, *, has_pixels: bool, has_rows: bool) -> Content:
    """Return the kind of content of an object with SOP Class `uid` ("" if the file states none).

    `has_rows` says whether the object declares the size of an image. For the SOP Class of an image
    the content is IMAGE even if the pixels are missing, since the object is then a damaged image.
    """
    if uid in _CONTENTS:
        return _CONTENTS[uid]
    for prefix, content in _FAMILIES.items():
        if uid.startswith(prefix):
            return content
    if has_pixels or is_image_class(uid):
        return Content.IMAGE
    known_otherwise = uid in _PLAIN_WORDS or bool(standard_name(uid))
    return Content.IMAGE if has_rows and not known_otherwise else Content.OTHER


def is_image_class(uid: str) -> bool:
    """Return whether objects of this SOP Class always have pixels."""
    return uid in _IMAGES_BY_ANOTHER_NAME or "Image Storage" in UID(uid, IGNORE).name


def object_words(uid: str) -> str:
    """Return the text for users on an object that cannot be shown: "RT Plan: not displayable"."""
    words = _PLAIN_WORDS.get(uid) or standard_name(uid)
    if words:
        return f"{words}: not displayable"
    if not uid:
        return "A DICOM object that does not say what it is: not displayable"
    return f"A DICOM object of an unknown kind (SOP Class {uid[:64]}): not displayable"


MAX_REFERENCES = 20_000
_MAX_DEPTH = 24

_NO_IMAGES = frozenset[int](shipped_table("dicom", "not_images")["tags"])
"""Sequences whose referenced UIDs are not those of images."""

_REFERENCED = (b"\x08\0\x55\x11", b"\0\x08\x11\x55")
"""Head of a Referenced SOP Instance UID element, in either byte order."""
_SUMMARIES = {
    0x52009230: ("ReferencedSeriesSequence", "SourceImageSequence"),  # functional groups
    0x30060039: ("ReferencedFrameOfReferenceSequence",),  # ROI contours
}
"""Sequences with thousands of items -> the sequences that list the same images in short (PS3.3
C.12.2, C.8.8.5). The long ones are walked only where the short ones are empty."""


FRAME_READERS = {
    Content.DOCUMENT: "app.imaging.reading.dicom_objects",
    Content.WAVEFORM: "app.imaging.objects.waveforms",
}
"""Modules that draw an object's frames, with `extent(header)` and `read_frame(header, index)`."""


def content_of(header: Header) -> Content:
    """Return the kind of content of an object, according to its SOP Class and its pixels."""
    has_rows = "Rows" in header.dataset
    content = content_of_class(
        header.sop_class, has_pixels=header.pixels is not None, has_rows=has_rows
    )
    if content is Content.IMAGE and not (has_rows or "SOPClassUID" in header.dataset):
        return Content.OTHER  # a fragment of a header: an image by its meta information at most
    return content


def object_instance(header: Header, status: FileStatus, content: Content) -> Instance:
    """Return the `Instance` that describes a DICOM object that is not an image."""
    sop_class = header.sop_class
    attributes = attribute_texts(header)
    title = header.text("DocumentTitle")[:200]
    if title:
        attributes["DocumentTitle"] = title
    attributes.setdefault("SeriesDescription", title or standard_name(sop_class) or "DICOM object")
    frame_of_reference = _frame_of_reference(header)
    if frame_of_reference:
        attributes.setdefault("FrameOfReferenceUID", frame_of_reference)
    frames, rows, columns, note = 1, 0, 0, ""
    if content in FRAME_READERS:
        try:
            frames, rows, columns = importlib.import_module(FRAME_READERS[content]).extent(header)
        except FileProblem as error:
            content, note = Content.OTHER, f"{error.reason}: not displayable"
    elif content is Content.KEY_OBJECTS:
        from app.imaging.objects.report_reading import rejection_warnings

        note = "; ".join(rejection_warnings(header.dataset))
    elif content is Content.OTHER:
        note = object_words(sop_class)
        if is_image_class(sop_class):
            note = f"{standard_name(sop_class)} whose header is not complete: not displayable"
    return Instance(
        path=header.path,
        sop_instance_uid=uid_of(header),
        kind="dicom",
        rows=rows,
        columns=columns,
        frames=frames,
        number=whole_number(header.dataset, "InstanceNumber") or 0,
        attributes=attributes,
        size_bytes=status.size,
        mtime_ns=status.mtime_ns,
        changed_ns=status.changed_ns,
        content=content,
        references=references_of(header),
        note=note,
    )


def references_of(header: Header) -> dict[str, None]:
    """Return all SOP Instance UIDs that the object refers to, as dictionary keys, in file order."""
    found: dict[str, None] = {}
    for uid in _referenced(header.dataset, 0):
        found[uid] = None
        if len(found) >= MAX_REFERENCES:
            break
    return found


def _referenced(dataset: Dataset, depth: int, own: bool = True) -> Iterator[str]:
    uid = value_text(value_of(dataset, "ReferencedSOPInstanceUID")) if own else ""
    if uid:
        yield uid
    if depth >= _MAX_DEPTH:
        return
    for tag in sorted(dataset.keys()):
        try:
            raw: Any = dataset.get_item(tag)
            if raw.VR not in ("SQ", "UN", None) or _names_nothing(raw.value):
                continue
            if _is_summed_up(dataset, tag):
                continue
            element = dataset[tag]
        except Exception:
            continue  # a damaged element must not hide the others
        if element.VR == "SQ":
            for item in element.value or ():
                yield from _referenced(item, depth + 1, own=int(tag) not in _NO_IMAGES)


def _names_nothing(value: Any) -> bool:
    """Return whether an unparsed sequence, perhaps of 100,000 items, refers to nothing."""
    return isinstance(value, bytes) and not any(tag in value for tag in _REFERENCED)


def _is_summed_up(dataset: Dataset, tag: int) -> bool:
    """Return whether the references of a long sequence also stand in a shorter one."""
    keywords = _SUMMARIES.get(int(tag), ())
    items = (item for keyword in keywords for item in items_of(dataset, keyword))
    return any(next(_referenced(item, 1), "") for item in items)


def _frame_of_reference(header: Header) -> str:
    """Return the only frame of reference of an RT structure set, else ""."""
    uids = {
        value_text(value_of(item, "FrameOfReferenceUID"))
        for item in items_of(header.dataset, "ReferencedFrameOfReferenceSequence")
    } - {""}
    return uids.pop() if len(uids) == 1 else ""


def extent(header: Header) -> tuple[int, int, int]:
    """Return (pages, rows, columns) of an embedded PDF; rows and columns are of its first page."""
    return pdf_extent(header.path, _document_bytes(header))


def read_frame(header: Header, index: int) -> Frame:
    """Draw page `index` (from 0) of an embedded PDF as a frame, or raise FileProblem."""
    return pdf_frame(header.path, _document_bytes(header), index, uid_of(header))


def _document_bytes(header: Header) -> bytes:
    """Return the embedded PDF, without the byte that pads it to an even length."""
    data = header.value("EncapsulatedDocument")
    # PDF readers accept up to 1 KB of other bytes before the signature.
    if not isinstance(data, bytes) or b"%PDF-" not in data[:1024]:
        kind = header.text("MIMETypeOfEncapsulatedDocument")[:40]
        reason = "it contains no PDF document" + (f" (it declares {kind})" if kind else "")
        raise guards.problem(header.path, reason, guards.COPY_AGAIN)
    length = header.value("EncapsulatedDocumentLength")
    if isinstance(length, int) and 0 < length <= len(data):
        return data[:length]
    return data
