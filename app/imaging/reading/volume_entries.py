"""Worker entry points for volumes: find uncompressed pixels in their files, or decode pixels.

`space.volume_store` sends the requests and reads the replies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.datadict import tag_for_keyword

from app.imaging.dicom.dicom_file import Header, silence_pydicom
from app.imaging.dicom.frame_attributes import FrameAttributes
from app.imaging.dicom.header_walk import raw_elements
from app.imaging.dicom.instance_attributes import cached_header, uid_of
from app.imaging.dicom.pixel_layout import Layout, complete_frames, layout_of, truncation_problem
from app.imaging.dicom.whole_slide import slide_of
from app.imaging.processes.records import pack
from app.imaging.reading.dicom_image import decode_stored, frame_without_pixels
from app.imaging.reading.dicom_objects import content_of
from app.imaging.reading.image_entries import check_unchanged, read_frame
from app.imaging.space.planes import is_position
from app.imaging.space.volumes import PlainLayout
from app.imaging.types import Content, Frame

Message = dict[str, Any]
Array = NDArray[Any]

_WHOLE_BYTES = (8, 16, 32, 64)
_PER_SLICE = frozenset(
    tag_for_keyword(keyword)
    for keyword in (
        "SOPInstanceUID", "InstanceNumber", "InstanceCreationDate", "InstanceCreationTime",
        "AcquisitionDate", "AcquisitionTime", "AcquisitionDateTime", "AcquisitionNumber",
        "ContentDate", "ContentTime", "ImagePositionPatient", "SliceLocation",
        "SmallestImagePixelValue", "LargestImagePixelValue", "XRayTubeCurrent", "Exposure",
        "ExposureTime", "ExposureInuAs", "TriggerTime",
    )
)  # fmt: skip
"""Elements in which the slices of a volume differ, though their descriptions do not. Private
elements are ignored as well."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """The header of one slice, its checked figures, and `_key_of` it."""

    header: Header
    layout: Layout
    key: tuple[Any, ...]
    in_archive: bool


class _Answer:
    """The slices of one request; slices that differ only in position share a description."""

    def __init__(self) -> None:
        self._described: tuple[Any, ...] | None = None
        self._frames: list[Frame] = []
        self.slices: list[Message] = []

    def message(self) -> Message:
        return {"frames": [pack(frame) for frame in self._frames], "slices": self.slices}

    def add(
        self, one: _Slice, index: int, photometric: str, dtype: np.dtype[Any], **where: Any
    ) -> None:
        key = (one.key, one.layout, index, photometric, dtype)
        position = _position_of(one.header)
        if self._described == key and position is not None:
            self._append({"uid": uid_of(one.header), "position": position} | where)
            return
        frame = frame_without_pixels(one.header, one.layout, index, photometric, dtype)
        self.add_frame(frame, **where)
        # Dose grids and NM volumes compute positions, which cannot be read off another header.
        if one.layout.frames == 1 and frame.orientation.position == position:
            self._described = key

    def add_frame(self, frame: Frame, **where: Any) -> None:
        """Add a slice with a description of its own."""
        self._described = None
        self._frames.append(frame)
        self._append({"uid": frame.ref.sop_instance_uid, "position": None} | where)

    def _append(self, answer: Message) -> None:
        self.slices.append({"frame": len(self._frames) - 1} | answer)


def _position_of(header: Header) -> tuple[float, ...] | None:
    found = FrameAttributes(header, 0).numbers("ImagePositionPatient")
    return found if len(found) == 3 and is_position(found) else None


def plain_entry(payload: Message) -> Message:
    """Locate the uncompressed pixels of slices in their files, without reading the pixels.

    Args:
        payload: "slices": for each slice, in a DICOM file: [path, size, time (ns), part, frame,
            `Instance.kind`]; part and frame are counted from 0.

    Returns:
        "frames": list of `Frame`s without pixels. "slices": a mapping for each slice, empty if the
        slice must be decoded. Its keys are "frame" (index into "frames", where several may share
        one), "uid", "position" (mm; None: as in the frame) and "layout" (`PlainLayout`).
    """
    silence_pydicom()
    answer = _Answer()
    for text, size, time_ns, _part, index, _kind in payload["slices"]:
        one = _open(Path(text), size, time_ns)
        layout = _plain_layout(one.header, one.layout, index) if one is not None else None
        # The members of an archive lie packed in it.
        if one is None or layout is None or one.in_archive:
            answer.slices.append({})
            continue
        if index >= complete_frames(one.header, one.layout):
            raise truncation_problem(one.header, one.layout)
        dtype = np.dtype(layout.dtype)
        answer.add(one, index, one.layout.photometric, dtype, layout=pack(layout))
    return answer.message()


def frames_entry(payload: Message) -> Message:
    """Decode slices and return their pixels.

    Args:
        payload: "slices": as for `plain_entry`, in files of any kind.

    Returns:
        "frames": list of `Frame`s without pixels. "slices": a mapping for each slice with "frame"
        (index into "frames"), "uid", "position" (mm; None: as in the frame) and "pixels" (stored
        values).
    """
    silence_pydicom()
    answer = _Answer()
    for text, size, time_ns, part, index, kind in payload["slices"]:
        path = Path(text)
        one = _open(path, size, time_ns) if kind == "dicom" else None
        if one is None:
            check_unchanged(path, size, time_ns)
            frame = read_frame(path, index, part)
            stored = frame.stored
            bare = np.empty((0, 0), stored.dtype)
            # A volume has no overlays and shutter.
            frame = replace(frame, stored=bare, overlays=(), shutter=None)
            answer.add_frame(frame, pixels=stored)
        else:
            stored, photometric = decode_stored(one.header, one.layout, index)
            answer.add(one, index, photometric, stored.dtype, pixels=stored)
    return answer.message()


def _open(path: Path, size: int, time_ns: int) -> _Slice | None:
    """Read the header of a slice whose DICOM file had this size and time (ns) when scanned.

    Returns:
        None where the frames are not the file's own images: a document, a stitched slide.

    Raises:
        FileProblem: The file has changed, or is unreadable or damaged.
    """
    status = check_unchanged(path, size, time_ns)
    header = cached_header(path, status)
    key = _key_of(header)
    if content_of(header) not in (Content.IMAGE, Content.SEGMENTATION):
        return None
    layout = layout_of(header)
    if slide_of(header, layout) is not None:
        return None
    return _Slice(header, layout, key, status.archive_size != 0)


def _key_of(header: Header) -> tuple[Any, ...]:
    """Return what a slice's description rests on but position; raw elements compare by byte."""
    elements = raw_elements(header.dataset).items()
    kept = {tag: one for tag, one in elements if tag not in _PER_SLICE and not tag >> 16 & 1}
    span = header.pixels
    pixels = (span.keyword, span.vr) if span is not None else ()
    return (header.syntax, header.sop_class, pixels, kept)


def _plain_layout(header: Header, layout: Layout, index: int) -> PlainLayout | None:
    span, bits = header.pixels, layout.allocated
    if span is None or header.encapsulated or header.inflated is not None:
        return None
    if layout.samples != 1 or bits not in _WHOLE_BYTES:
        return None
    swapped = not header.little_endian and bits > 8
    if not header.little_endian and not layout.floating:
        # Bytes are swapped in words of 16 bits, whose order within 32 bits varies between writers.
        plain = bits == 16 or (bits == 8 and span.vr == "OB")
        if not plain:
            return None
    kind = "f" if layout.floating else ("i" if layout.signed else "u")
    up, down = (0, 0) if layout.floating else (bits - 1 - layout.high, bits - layout.stored)
    offset = span.offset + index * layout.frame_bits // 8
    dtype = f"{kind}{bits // 8}"
    return PlainLayout(layout.rows, layout.columns, dtype, offset, swapped, up, down)
