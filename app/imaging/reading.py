"""Reading image files: which reader a file needs, and the worker processes' entry points.

A reader is a module with `read_instances(path)` and `read_frame(path, part, index)`; it is named in
`_READERS` by the kind that `sniff` tells from a file's first bytes.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from app.errors import FileProblem
from app.imaging import guards, sources
from app.imaging.attribute_reading import read_attributes
from app.imaging.dicom_file import be_quiet, looks_like_dicom
from app.imaging.pictures import other_format, picture_format
from app.imaging.pipeline import render
from app.imaging.reading_types import IndexFile
from app.imaging.records import pack, unpack
from app.imaging.thumbnails import shrink
from app.imaging.types import Frame, Instance

Message = dict[str, Any]

_READERS = {
    "dicom": "app.imaging.dicom_image",
    "picture": "app.imaging.picture_file",
}
"""Kind of a file -> its reader, imported when the first such file comes."""


def read_instances(path: Path) -> tuple[Instance, ...]:
    """What the catalogue knows of a file; pixels are not decoded.

    Raises:
        FileProblem: It is unreadable, damaged, or of a kind that is not read.
        IndexFile: It is a DICOMDIR.
    """
    return _reader(path).read_instances(path)


def read_instance(path: Path) -> Instance:
    """The first instance of a file; raises as `read_instances` does."""
    return read_instances(path)[0]


def read_frame(path: Path, index: int, part: int = 0) -> Frame:
    """Decode one frame.

    Raises:
        FileProblem: It cannot be decoded.
    """
    return _reader(path).read_frame(path, part, index)


def _reader(path: Path) -> ModuleType:
    return importlib.import_module(_READERS[sniff(path)])


def sniff(path: Path) -> str:
    """Which reader a file needs, by its content.

    Raises:
        FileProblem: None can read it; says what it is, as far as that can be told.
    """
    start = sources.read_start(path)
    if picture_format(start):
        return "picture"
    if looks_like_dicom(start):
        return "dicom"
    other = other_format(start)
    remedy = "Unpack it first" if "zip" in other else "Open DICOM, PNG or JPEG files"
    reason = f"it is {other}, not an image that can be shown" if other else "it is no image"
    raise guards.problem(path, reason, remedy)


def instances_entry(payload: Message) -> Message:
    """Headers of `payload["paths"]`: per path instances, a problem, or "index" for a DICOMDIR."""
    be_quiet()
    answers: list[Message] = []
    for text in payload["paths"]:
        try:
            answers.append({"instances": pack(read_instances(Path(text)))})
        except IndexFile:
            answers.append({"index": True})
        except FileProblem as error:
            answers.append({"problem": {"reason": error.reason, "remedy": error.remedy}})
    return {"answers": answers}


def frame_entry(payload: Message) -> Message:
    """Frame `payload["index"]` of `payload["instance"]`."""
    be_quiet()
    instance = unpack(Instance, payload["instance"])
    check_unchanged(instance)
    return {"frame": pack(read_frame(instance.path, payload["index"], instance.part))}


def attributes_entry(payload: Message) -> Message:
    """All attributes of `payload["path"]`."""
    be_quiet()
    return {"rows": pack(read_attributes(Path(payload["path"])))}


def thumbnail_entry(payload: Message) -> Message:
    """A small picture of `payload["instance"]`, its longer side `payload["size"]` pixels."""
    be_quiet()
    instance = unpack(Instance, payload["instance"])
    frame = read_frame(instance.path, instance.frames // 2, instance.part)
    return {"pixels": shrink(render(frame), payload["size"], frame.spacing.aspect)}


def check_unchanged(instance: Instance) -> None:
    """Refuse a file that is not the one that was scanned.

    Raises:
        FileProblem: It has changed, or is gone.
    """
    status = sources.status(instance.path)
    known = (instance.mtime_ns, instance.size_bytes)
    if instance.size_bytes and known != (status.mtime_ns, status.size):
        raise guards.problem(
            instance.path, "the file has changed since it was opened", "Open it again"
        )
