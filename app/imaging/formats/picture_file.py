"""PNG, JPEG, BMP, GIF and WebP as instances and frames. Runs in a worker process."""

from __future__ import annotations

from pathlib import Path

from app.imaging import guards
from app.imaging.attributes import AttributeRow
from app.imaging.files import sources, synthetic
from app.imaging.files.identity import content_uid, pixel_sha256
from app.imaging.formats.pictures import (
    decode_picture,
    lossy_format,
    picture_format,
    picture_frames,
    picture_size,
    read_bytes,
)
from app.imaging.types import Frame, ImageRef, Instance, Spacing


def read_instances(path: Path) -> tuple[Instance, ...]:
    """A picture is one instance; raises FileProblem when it is damaged."""
    mtime_ns = sources.status(path).mtime_ns
    data = read_bytes(path)
    rows, columns = picture_size(path, data)
    frames, frame_time_ms = picture_frames(path, data)
    instance = Instance(
        path=path,
        sop_instance_uid=content_uid(data),
        kind="picture",
        rows=rows,
        columns=columns,
        frames=frames,
        frame_time_ms=frame_time_ms,
        attributes={"Format": picture_format(data[:18]), **_made_by(data)},
        size_bytes=len(data),
        mtime_ns=mtime_ns,
    )
    return (instance,)


def read_frame(path: Path, part: int, index: int) -> Frame:
    """A frame; raises FileProblem when it is not there or cannot be decoded."""
    data = read_bytes(path)
    frames, _ = picture_frames(path, data)
    if not 0 <= index < frames:
        raise guards.problem(path, f"the picture has {frames} frames, not {index + 1}")
    stored, bits = decode_picture(path, data, index)
    return Frame(
        stored=stored,
        ref=ImageRef(content_uid(data), index, pixel_sha256(stored)),
        photometric="MONOCHROME2" if stored.ndim == 2 else "RGB",
        spacing=Spacing(note="a picture has no patient scale"),
        bits=bits,
        lossy=lossy_format(data),
    )


def read_rows(path: Path) -> list[AttributeRow]:
    """What its header says, for the side panel; raises FileProblem when it is damaged."""
    data = read_bytes(path)
    rows, columns = picture_size(path, data)
    return [
        AttributeRow("", "Format", "", picture_format(data[:18])),
        AttributeRow("", "Rows", "", str(rows)),
        AttributeRow("", "Columns", "", str(columns)),
        AttributeRow("", "FileSize", "", f"{len(data):,} bytes"),
        *(AttributeRow("", key, "", text) for key, text in _made_by(data).items()),
    ]


def _made_by(data: bytes) -> dict[str, str]:
    """Which generative model made it, where it says so."""
    model = synthetic.made_by(data)
    return {synthetic.ATTRIBUTE: model} if model else {}
