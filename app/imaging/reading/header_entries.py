"""What a scan asks of the worker processes: headers of files, and which files are copies."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import IndexFile, be_quiet
from app.imaging.files import sources
from app.imaging.processes.records import pack
from app.imaging.reading.image_entries import read_instances

Message = dict[str, Any]
_BLOCK = 2**20


def headers_entry(payload: Message) -> Message:
    """Headers of `payload["paths"]`, unless a file is as `payload["known"]` says.

    Returns:
        "answers": for each path {"same": True}; or "instances", "problem" or "index" (a DICOMDIR
        within a folder), with the "stamp" (`FileStatus.stamp`) of the file that was read where
        the answer will hold as long as the file does not change.
        "seconds": how long it took.
    """
    be_quiet()
    started = time.monotonic()
    pairs = zip(payload["paths"], payload["known"], strict=True)
    answers = [_answer(Path(text), known) for text, known in pairs]
    return {"answers": answers, "seconds": time.monotonic() - started}


def _answer(path: Path, known: list[int] | None) -> Message:
    stamp: list[int] | None = None
    try:
        status = sources.status(path)
        stamp = status.stamp
        if stamp == known:
            return {"same": True}
        return {"instances": pack(read_instances(path)), "stamp": stamp}
    except IndexFile:
        return {"index": True, "stamp": stamp}
    except FileProblem as error:
        passing = isinstance(error, guards.Unreadable) or error.detail == "MemoryError"
        answer = {"problem": {"reason": error.reason, "remedy": error.remedy}}
        return answer if passing or stamp is None else {**answer, "stamp": stamp}


def digests_entry(payload: Message) -> Message:
    """A digest of the whole content of each of `payload["paths"]`; "" where it cannot be read."""
    return {"digests": [_digest(Path(text)) for text in payload["paths"]]}


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with sources.open_file(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except (FileProblem, OSError):
        return ""
    return digest.hexdigest()
