"""Worker entry points for images of every format: frames, thumbnails and attributes.

`sniffing` chooses a file's reader. Payloads give "path", "size_bytes", "mtime_ns" and "uid" of a
file as it was scanned, so that a file that has changed since is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from pydicom.dataelem import DataElement
from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.attributes import MAX_TEXT, AttributeRow, shortened
from app.imaging.dicom.dicom_file import read_header, silence_pydicom, value_text
from app.imaging.dicom.instance_attributes import cached_header, uid_of
from app.imaging.files import sources
from app.imaging.files.sources import FileStatus
from app.imaging.pixels import composite
from app.imaging.pixels.composite import Tint, can_compose
from app.imaging.pixels.pipeline import render
from app.imaging.pixels.regions import PixelRegion, clipped, cropped
from app.imaging.pixels.thumbnails import shrink
from app.imaging.processes.records import pack
from app.imaging.reading.sniffing import reader_of, sniff
from app.imaging.types import Frame, Instance

Message = dict[str, Any]


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return the instances (images or other objects) in a file; pixels are not decoded.

    Raises:
        FileProblem: The file is unreadable, damaged, or of a kind that is not supported.
        IndexFile: The file is a DICOMDIR.
    """
    return reader_of(path).read_instances(path)


def read_instance(path: Path) -> Instance:
    """Return the first instance in a file, or raise FileProblem or IndexFile (a DICOMDIR)."""
    return read_instances(path)[0]


def read_frame(path: Path, index: int, part: int = 0) -> Frame:
    """Decode frame `index` of instance `part` of a file, both from 0, or raise FileProblem."""
    return reader_of(path).read_frame(path, part, index)


def frame_entry(payload: Message) -> Message:
    """Return as "frame" frame "index" (from 0) of a payload's file, or raise FileProblem."""
    silence_pydicom()
    return {"frame": pack(_frame_of(payload))}


def region_entry(payload: Message) -> Message:
    """Return as "region" a part of a frame: "box" at "level"; see `pixels.regions.PixelRegion`."""
    silence_pydicom()
    path = _unchanged(payload)
    left, top, right, bottom = payload["box"]
    box, level = (left, top, right, bottom), payload["level"]
    reader, part, index = reader_of(path), payload["part"], payload["index"]
    if hasattr(reader, "read_region"):
        region = reader.read_region(path, part, index, level, box)
    else:
        frame = reader.read_frame(path, part, index)
        sizes = ((frame.columns, frame.rows),)
        box = clipped(path, box, level or 0, sizes)
        region = PixelRegion(cropped(frame, box), box[0], box[1], 0, sizes)
    check_uid(path, payload["uid"], region.frame.ref.sop_instance_uid)
    return {"region": pack(region)}


def attributes_entry(payload: Message) -> Message:
    """Return as "rows" all attributes of a payload's file, or raise FileProblem."""
    silence_pydicom()
    path = _unchanged(payload)
    if payload["kind"] == "dicom":
        check_uid(path, payload["uid"], uid_of(cached_header(path, sources.status(path))))
    return {"rows": pack(read_attributes(path))}


def thumbnail_entry(payload: Message) -> Message:
    """Return as "pixels" frame "index" of a payload's file, shrunk to at most "size" pixels.

    "channels" are, if given, the frame and the colour of each channel to show together.
    """
    silence_pydicom()
    tints = [
        Tint(_frame_of({**payload, "index": index}), None, (red, green, blue))
        for index, (red, green, blue) in payload.get("channels", ())
    ]
    together = can_compose([one.frame for one in tints])
    frame = tints[0].frame if together else _frame_of(payload)
    pixels = composite.render(tints) if together else render(frame)
    return {"pixels": shrink(pixels, payload["size"], frame.spacing.aspect)}


def _frame_of(payload: Message) -> Frame:
    path = _unchanged(payload)
    frame = read_frame(path, payload["index"], payload["part"])
    check_uid(path, payload["uid"], frame.ref.sop_instance_uid)
    return frame


def _unchanged(payload: Message) -> Path:
    path = Path(payload["path"])
    check_unchanged(path, payload["size_bytes"], payload["mtime_ns"])
    return path


def check_unchanged(path: Path, size_bytes: int, mtime_ns: int) -> FileStatus:
    """Return a file's status; raise FileProblem if the file has changed since it was scanned."""
    status = sources.status(path)
    if size_bytes and (mtime_ns, size_bytes) != (status.mtime_ns, status.size):
        raise guards.changed_file(path)
    return status


def check_uid(path: Path, known: str, found: str) -> None:
    """Raise FileProblem if the UID `found` in a file differs from `known` (if that is not "").

    A file may have been replaced by one of the same size and modification time.
    """
    if known and found != known:
        raise guards.changed_file(path)


MAX_ROWS = 10_000
"""Rows of the attributes' panel; reading so many takes half a second."""

_MORE = f"(the first {MAX_ROWS:,} attributes: there are more, which are not listed)"
MAX_DEPTH = 16
_BINARY = frozenset({"OB", "OD", "OF", "OL", "OV", "OW", "UN"})


def read_attributes(path: Path) -> list[AttributeRow]:
    """Return all attributes of a file, or raise FileProblem; pixels are not read."""
    kind = sniff(path)
    return _dicom_rows(path) if kind == "dicom" else reader_of(path).read_rows(path)


def _dicom_rows(path: Path) -> list[AttributeRow]:
    """Return the attributes of a DICOM file; the file meta information comes first."""
    header = read_header(path)
    parts = (getattr(header.dataset, "file_meta", None), header.dataset)
    rows = (row for part in parts if part is not None for row in _rows(part, 0))
    found = list(islice(rows, MAX_ROWS))
    if len(found) == MAX_ROWS:
        return [*found, AttributeRow("", "", "", _MORE)]
    if header.pixels is not None:
        length = f"{header.pixels.length:,} bytes"
        found.append(AttributeRow("(7fe0,0010)", header.pixels.keyword, header.pixels.vr, length))
    return found


def _rows(dataset: Dataset, depth: int) -> Iterator[AttributeRow]:
    for tag in sorted(dataset.keys()):
        text = f"({tag.group:04x},{tag.element:04x})"
        try:
            element = dataset[tag]
            row, items = _row(text, element, depth)
        except Exception:
            # pydicom converts on access; one damaged value must not hide the others.
            yield AttributeRow(text, "", "", "(cannot be read)", depth)
            continue
        yield row
        for number, item in enumerate(items if depth + 1 < MAX_DEPTH else (), start=1):
            yield AttributeRow("", f"Item {number}", "", "", depth + 1)
            yield from _rows(item, depth + 2)


def _row(tag: str, element: DataElement, depth: int) -> tuple[AttributeRow, list[Dataset]]:
    keyword = element.keyword or f"[{element.name.strip('[]')}]"
    vr = str(element.VR)
    if vr == "SQ":
        items = list(element.value or [])
        count = "1 item" if len(items) == 1 else f"{len(items)} items"
        return AttributeRow(tag, keyword, vr, count, depth), items
    return AttributeRow(tag, keyword, vr, _text(vr, element.value), depth), []


def _text(vr: str, value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        if vr in _BINARY or len(value) > MAX_TEXT:
            return f"{len(value):,} bytes"
        return value.decode("latin-1")
    return shortened(value_text(value))
