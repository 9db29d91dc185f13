"""What a DICOM object holds, and the instances of those that are no images. In a worker process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydicom.dataset import Dataset

from app.errors import FileProblem
from app.imaging.dicom.dicom_file import Header, value_of, value_text
from app.imaging.dicom.dicom_items import items_of
from app.imaging.dicom.instance_attributes import attribute_texts
from app.imaging.dicom.sop_classes import (
    content_of_class,
    is_image_class,
    not_displayable,
    standard_name,
)
from app.imaging.files.identity import content_uid
from app.imaging.files.sources import FileStatus
from app.imaging.types import Content, Instance

MAX_REFERENCES = 20_000
_MAX_DEPTH = 24

_NO_IMAGES = frozenset(
    {
        0x00081110,  # Referenced Study Sequence
        0x00081111,  # Referenced Performed Procedure Step Sequence
        0x00081120,  # Referenced Patient Sequence
        0x00081125,  # Referenced Visit Sequence
        0x30060012,  # RT Referenced Study Sequence: its items' own UID is a study's
    }
)
"""Sequences whose items themselves name things that are no images."""

_REFERENCED = (b"\x08\0\x55\x11", b"\0\x08\x11\x55")
"""Referenced SOP Instance UID as it stands in a file, in either byte order."""
_PER_FRAME = 0x52009230
_ROI_CONTOURS = 0x30060039
_SUMMARIES = {
    _PER_FRAME: ("ReferencedSeriesSequence", "SourceImageSequence"),
    _ROI_CONTOURS: ("ReferencedFrameOfReferenceSequence",),
}
"""Sequences with thousands of items, and those that sum up which images they name (PS3.3 C.12.2,
C.8.8.5). They are walked only where the summary names none."""


def _document_extent(header: Header) -> tuple[int, int, int]:
    from app.imaging.objects import documents

    return documents.extent(header)


def _waveform_extent(header: Header) -> tuple[int, int, int]:
    from app.imaging.objects import waveforms

    return waveforms.extent(header)


_FRAMES_BY_CONTENT = {
    Content.DOCUMENT: _document_extent,
    Content.WAVEFORM: _waveform_extent,
}
"""Objects whose frames are drawn here -> (frames, rows, columns); imported when one comes."""


def content_of(header: Header) -> Content:
    """What the object holds, by its SOP Class and whether it has pixels."""
    has_rows = "Rows" in header.dataset
    content = content_of_class(
        header.sop_class, has_pixels=header.pixels is not None, has_rows=has_rows
    )
    if content is Content.IMAGE and not (has_rows or "SOPClassUID" in header.dataset):
        return Content.OTHER  # a fragment of a header: an image by its meta information at most
    return content


def object_instance(header: Header, status: FileStatus, content: Content) -> Instance:
    """The instance of an object that is no image."""
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
    if content in _FRAMES_BY_CONTENT:
        try:
            frames, rows, columns = _FRAMES_BY_CONTENT[content](header)
        except FileProblem as error:
            content, note = Content.OTHER, f"{error.reason}: not displayable"
    elif content is Content.KEY_OBJECTS:
        from app.imaging.objects.report_reading import rejection_warnings

        note = "; ".join(rejection_warnings(header.dataset))
    elif content is Content.OTHER:
        note = not_displayable(sop_class)
        if is_image_class(sop_class):
            note = f"{standard_name(sop_class)} whose header is not complete: not displayable"
    path = header.path
    uid = header.text("SOPInstanceUID") or content_uid(str(path).encode("utf-8", "replace"))
    return Instance(
        path=path,
        sop_instance_uid=uid,
        kind="dicom",
        rows=rows,
        columns=columns,
        frames=frames,
        number=_number(header),
        attributes=attributes,
        size_bytes=status.size,
        mtime_ns=status.mtime_ns,
        changed_ns=status.changed_ns,
        content=content,
        references=references_of(header),
        note=note,
    )


def references_of(header: Header) -> tuple[str, ...]:
    """SOP Instance UIDs that the object names anywhere, each once, in the file's order."""
    found: dict[str, None] = {}
    for uid in _referenced(header.dataset, 0):
        found[uid] = None
        if len(found) >= MAX_REFERENCES:
            break
    return tuple(found)


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
    """Whether a sequence that is not parsed yet can be left so: it may have 100,000 items."""
    return isinstance(value, bytes) and not any(tag in value for tag in _REFERENCED)


def _is_summed_up(dataset: Dataset, tag: int) -> bool:
    """Whether what a long sequence names stands elsewhere too."""
    for keyword in _SUMMARIES.get(int(tag), ()):
        for item in items_of(dataset, keyword):
            if next(_referenced(item, 1), None) is not None:
                return True
    return False


def _frame_of_reference(header: Header) -> str:
    """That of an RT structure set, which has none at the top level, if it has but one."""
    uids = {
        value_text(value_of(item, "FrameOfReferenceUID"))
        for item in items_of(header.dataset, "ReferencedFrameOfReferenceSequence")
    } - {""}
    return uids.pop() if len(uids) == 1 else ""


def _number(header: Header) -> int:
    text = header.text("InstanceNumber")
    return int(text) if text.lstrip("-").isdecimal() else 0
