"""Reading image files of every format: the worker processes' entry points.

`formats` tells which reader a file needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.imaging import guards
from app.imaging.dicom.dicom_file import be_quiet
from app.imaging.files import sources
from app.imaging.pixels.pipeline import render
from app.imaging.pixels.thumbnails import shrink
from app.imaging.processes.records import pack
from app.imaging.reading.attribute_reading import read_attributes
from app.imaging.reading.sniffing import reader_of
from app.imaging.types import Frame, Instance

Message = dict[str, Any]


def read_instances(path: Path) -> tuple[Instance, ...]:
    """What the catalogue knows of a file; pixels are not decoded.

    Raises:
        FileProblem: It is unreadable, damaged, or of a kind that is not read.
        IndexFile: It is a DICOMDIR.
    """
    return reader_of(path).read_instances(path)


def read_instance(path: Path) -> Instance:
    """The first instance of a file; raises as `read_instances` does."""
    return read_instances(path)[0]


def read_frame(path: Path, index: int, part: int = 0) -> Frame:
    """Decode one frame.

    Raises:
        FileProblem: It cannot be decoded.
    """
    return reader_of(path).read_frame(path, part, index)


def frame_entry(payload: Message) -> Message:
    """Frame `payload["index"]` of the file that `decode` describes, unless it has changed."""
    be_quiet()
    return {"frame": pack(_frame_of(payload))}


def attributes_entry(payload: Message) -> Message:
    """All attributes of the file that `decode` describes, unless it has changed."""
    be_quiet()
    path = _unchanged(payload)
    rows = read_attributes(path)
    for row in rows:
        if payload["kind"] == "dicom" and row.keyword == "SOPInstanceUID" and row.depth == 0:
            check_uid(path, payload["uid"], row.value)
    return {"rows": pack(rows)}


def thumbnail_entry(payload: Message) -> Message:
    """A small picture of the frame that `frame_entry` gives, its longer side `size` pixels."""
    be_quiet()
    frame = _frame_of(payload)
    return {"pixels": shrink(render(frame), payload["size"], frame.spacing.aspect)}


def _frame_of(payload: Message) -> Frame:
    path = _unchanged(payload)
    frame = read_frame(path, payload["index"], payload["part"])
    check_uid(path, payload["uid"], frame.ref.sop_instance_uid)
    return frame


def _unchanged(payload: Message) -> Path:
    path = Path(payload["path"])
    _check_unchanged(path, payload["size_bytes"], payload["mtime_ns"])
    return path


def check_unchanged(instance: Instance) -> None:
    """Refuse a file that is not the one that was scanned.

    Raises:
        FileProblem: It has changed, or is gone.
    """
    _check_unchanged(instance.path, instance.size_bytes, instance.mtime_ns)


def _check_unchanged(path: Path, size_bytes: int, mtime_ns: int) -> None:
    status = sources.status(path)
    if size_bytes and (mtime_ns, size_bytes) != (status.mtime_ns, status.size):
        raise guards.changed(path)


def check_uid(path: Path, known: str, found: str) -> None:
    """Refuse another image in a file's place: copying may leave it the size and time of the first.

    Args:
        path: The file.
        known: SOP Instance UID under which it is listed; "" for a file that was not scanned.
        found: What stands in the file.

    Raises:
        FileProblem: It is another one's.
    """
    if known and found != known:
        raise guards.changed(path)
