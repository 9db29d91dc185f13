"""PNG and JPEG as instances and frames. Runs in a worker process."""

from __future__ import annotations

from pathlib import Path

from app.imaging import guards, sources
from app.imaging.attributes import AttributeRow
from app.imaging.pictures import (
    content_uid,
    decode_picture,
    picture_format,
    picture_size,
    read_bytes,
)
from app.imaging.reading_types import pixel_sha256
from app.imaging.types import Frame, ImageRef, Instance, Spacing


def read_instances(path: Path) -> tuple[Instance, ...]:
    """A picture is one instance; raises FileProblem when it is damaged."""
    mtime_ns = sources.status(path).mtime_ns
    data = read_bytes(path)
    rows, columns = picture_size(path, data)
    instance = Instance(
        path=path,
        sop_instance_uid=content_uid(data),
        kind="picture",
        rows=rows,
        columns=columns,
        attributes={"Format": picture_format(data[:16])},
        size_bytes=len(data),
        mtime_ns=mtime_ns,
    )
    return (instance,)


def read_frame(path: Path, part: int, index: int) -> Frame:
    """Its only frame; raises FileProblem when it cannot be decoded."""
    if index != 0:
        raise guards.problem(path, "a picture has one frame only")
    data = read_bytes(path)
    stored, bits = decode_picture(path, data)
    return Frame(
        stored=stored,
        ref=ImageRef(content_uid(data), 0, pixel_sha256(stored)),
        photometric="MONOCHROME2" if stored.ndim == 2 else "RGB",
        spacing=Spacing(note="a picture has no patient scale"),
        bits=bits,
        lossy="Lossy JPEG" if picture_format(data[:16]) == "JPEG" else "",
    )


def read_rows(path: Path) -> list[AttributeRow]:
    """What its header says, for the side panel; raises FileProblem when it is damaged."""
    data = read_bytes(path)
    rows, columns = picture_size(path, data)
    return [
        AttributeRow("", "Format", "", picture_format(data[:16])),
        AttributeRow("", "Rows", "", str(rows)),
        AttributeRow("", "Columns", "", str(columns)),
        AttributeRow("", "FileSize", "", f"{len(data):,} bytes"),
    ]
