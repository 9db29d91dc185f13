"""Worker entry points for volumes: find uncompressed pixels in their files, or decode pixels.

`space.volume_store` writes the requests and reads the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header, silence_pydicom
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.dicom.pixel_layout import Layout, complete_frames, layout_of, truncation_problem
from app.imaging.dicom.whole_slide import slide_of
from app.imaging.files import sources
from app.imaging.processes.records import pack
from app.imaging.reading.dicom_image import decode_stored, frame_without_pixels
from app.imaging.reading.dicom_objects import content_of
from app.imaging.reading.image_entries import read_frame
from app.imaging.space.plain_slices import PlainLayout
from app.imaging.types import Content, Frame

Message = dict[str, Any]
Array = NDArray[Any]

_WHOLE_BYTES = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True)
class _Slice:
    """The header of one slice and its checked figures."""

    header: Header
    layout: Layout
    in_archive: bool


def plain_entry(payload: Message) -> Message:
    """Locate the uncompressed pixels of slices in their files, without reading them.

    Args:
        payload: "slices": [path, size, time (ns), part, frame, kind] of each; all DICOM files.

    Returns:
        "slices": "frame" (a `Frame` without pixels), "layout" (`PlainLayout`) and "offset" (bytes)
        of each; an empty entry for a slice that must be decoded.
    """
    silence_pydicom()
    answers: list[Message] = []
    for text, size, time_ns, _part, index, _kind in payload["slices"]:
        one = _open(Path(text), (size, time_ns))
        layout = _plain_layout(one.header, one.layout) if one is not None else None
        # The members of an archive lie packed in it.
        if one is None or layout is None or one.in_archive:
            answers.append({})
            continue
        if index >= complete_frames(one.header, one.layout):
            raise truncation_problem(one.header, one.layout)
        dtype = np.dtype(layout.dtype)
        frame = frame_without_pixels(one.header, one.layout, index, one.layout.photometric, dtype)
        span = one.header.pixels
        assert span is not None
        offset = span.offset + index * one.layout.frame_bits // 8
        answers.append({"frame": pack(frame), "layout": pack(layout), "offset": offset})
    return {"slices": answers}


def frames_entry(payload: Message) -> Message:
    """Decode the pixels of slices.

    Args:
        payload: As for `plain_entry`, of files of any kind.

    Returns:
        "slices": "frame" (a `Frame` without pixels) and "pixels" (its stored values) of each.
    """
    silence_pydicom()
    answers: list[Message] = []
    for text, size, time_ns, part, index, kind in payload["slices"]:
        path = Path(text)
        one = _open(path, (size, time_ns)) if kind == "dicom" else None
        if one is None:
            _check_known(path, (size, time_ns), sources.status(path))
            frame = read_frame(path, index, part)
            frame, stored = _without_stored(frame), frame.stored
        else:
            stored, photometric = decode_stored(one.header, one.layout, index)
            frame = frame_without_pixels(one.header, one.layout, index, photometric, stored.dtype)
        answers.append({"frame": pack(frame), "pixels": stored})
    return {"slices": answers}


def _open(path: Path, known: tuple[int, int]) -> _Slice | None:
    """Read the header of a slice.

    Args:
        path: A DICOM file.
        known: Its size and time (ns) when it was scanned.

    Returns:
        None where the frames are not the file's own images: a document, a stitched slide.

    Raises:
        FileProblem: The file has changed, or is unreadable or damaged.
    """
    status = sources.status(path)
    _check_known(path, known, status)
    header = cached_header(path, status)
    if content_of(header) not in (Content.IMAGE, Content.SEGMENTATION):
        return None
    layout = layout_of(header)
    if slide_of(header, layout) is not None:
        return None
    return _Slice(header, layout, status.archive_size != 0)


def _check_known(path: Path, known: tuple[int, int], status: sources.FileStatus) -> None:
    if known[0] and known != (status.size, status.mtime_ns):
        raise guards.changed_file(path)


def _without_stored(frame: Frame) -> Frame:
    """Return a frame without pixels, overlays and shutter, which a volume does not have."""
    return replace(frame, stored=np.empty((0, 0), frame.stored.dtype), overlays=(), shutter=None)


def _plain_layout(header: Header, layout: Layout) -> PlainLayout | None:
    """Return how a frame's pixels lie in the file, or None when they must be decoded."""
    span, bits = header.pixels, layout.allocated
    if span is None or header.encapsulated or header.inflated is not None:
        return None
    if layout.samples != 1 or bits not in _WHOLE_BYTES:
        return None
    swapped = not header.little_endian and bits > 8
    if not header.little_endian and not layout.floating:
        # Bytes are exchanged in words of 16 bits, whose order in 32 is anyone's guess.
        plain = bits == 16 or (bits == 8 and span.vr == "OB")
        if not plain:
            return None
    kind = "f" if layout.floating else ("i" if layout.signed else "u")
    up, down = (0, 0) if layout.floating else (bits - 1 - layout.high, bits - layout.stored)
    return PlainLayout(layout.rows, layout.columns, f"{kind}{bits // 8}", swapped, up, down)
