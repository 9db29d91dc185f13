"""What a DICOM object holds, and the instances of those that are no images. In a worker process."""

from __future__ import annotations

from collections.abc import Iterator

from pydicom.dataset import Dataset

from app.imaging.dicom_file import Header, value_of
from app.imaging.instance_attributes import attribute_texts
from app.imaging.pictures import content_uid
from app.imaging.sources import FileStatus
from app.imaging.types import Content, Instance

MAX_REFERENCES = 20_000
_MAX_DEPTH = 12

_CONTENTS = {
    "1.2.840.10008.5.1.4.1.1.66.4": Content.SEGMENTATION,
    "1.2.840.10008.5.1.4.1.1.66.7": Content.SEGMENTATION,  # label map
    "1.2.840.10008.5.1.4.1.1.481.3": Content.STRUCTURES,
    "1.2.840.10008.5.1.4.1.1.91.1": Content.STRUCTURES,  # microscopy annotations
    "1.2.840.10008.5.1.4.1.1.88.59": Content.KEY_OBJECTS,
    "1.2.840.10008.5.1.4.1.1.104.1": Content.DOCUMENT,  # encapsulated PDF
}
_FAMILIES = {
    "1.2.840.10008.5.1.4.1.1.11.": Content.PRESENTATION,
    "1.2.840.10008.5.1.4.1.1.88.": Content.REPORT,
    "1.2.840.10008.5.1.4.1.1.9.": Content.WAVEFORM,
}


def content_of(header: Header) -> Content:
    """What the object holds, by its SOP Class and whether it has pixels."""
    uid = header.text("SOPClassUID")
    content = _CONTENTS.get(uid)
    if content is None:
        family = (kind for prefix, kind in _FAMILIES.items() if uid.startswith(prefix))
        content = next(family, None)
    if content is not None:
        return content
    has_pixels = header.pixels is not None or "Rows" in header.dataset
    return Content.IMAGE if has_pixels else Content.OTHER


def object_instance(header: Header, status: FileStatus, content: Content) -> Instance:
    """The instance of an object that is no image."""
    name = str(getattr(header.value("SOPClassUID"), "name", ""))
    attributes = attribute_texts(header)
    attributes.setdefault("SeriesDescription", name.removesuffix(" Storage"))
    note = f"{name or 'a DICOM object of an unknown class'}: not displayable"
    path = header.path
    uid = header.text("SOPInstanceUID") or content_uid(str(path).encode("utf-8", "replace"))
    return Instance(
        path=path,
        sop_instance_uid=uid,
        kind="dicom",
        rows=0,
        columns=0,
        number=_number(header),
        attributes=attributes,
        size_bytes=status.size,
        mtime_ns=status.mtime_ns,
        content=content,
        references=references_of(header),
        note=note if content is Content.OTHER else "",
    )


def references_of(header: Header) -> tuple[str, ...]:
    """SOP Instance UIDs that the object names anywhere, each once, in the file's order."""
    found: dict[str, None] = {}
    for uid in _referenced(header.dataset, 0):
        found[uid] = None
        if len(found) >= MAX_REFERENCES:
            break
    return tuple(found)


def _referenced(dataset: Dataset, depth: int) -> Iterator[str]:
    uid = value_of(dataset, "ReferencedSOPInstanceUID")
    if uid:
        yield str(uid)
    if depth >= _MAX_DEPTH:
        return
    for tag in sorted(dataset.keys()):
        raw = dataset.get_item(tag)
        if raw.VR not in ("SQ", "UN", None):
            continue
        try:
            element = dataset[tag]
        except Exception:
            continue  # a damaged element must not hide the others
        if element.VR == "SQ":
            for item in element.value or ():
                yield from _referenced(item, depth + 1)


def _number(header: Header) -> int:
    text = header.text("InstanceNumber")
    return int(text) if text.lstrip("-").isdecimal() else 0
