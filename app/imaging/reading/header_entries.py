"""What a scan asks of the worker processes: headers of files, and which files are copies."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import IndexFile, be_quiet
from app.imaging.files import sources
from app.imaging.files.file_marks import MODULUS, file_mark
from app.imaging.files.sources import FileStatus
from app.imaging.reading.image_entries import read_instances
from app.imaging.reading.sniffing import rests_on_another
from app.imaging.studies import answers
from app.imaging.studies.tables import to_bytes
from app.imaging.types import Instance

Message = dict[str, Any]
_BLOCK = 2**20


def headers_entry(payload: Message) -> Message:
    """Headers of `payload["paths"]`, unless a file is as `payload["known"]` says.

    Returns:
        "answers": bytes of `studies.answers.Answers`, one for each path.
        "stamps": [paths, 3] `FileStatus.stamp` of each file that was read, where the answer will
        hold as long as the file does not change; -1 where it may not.
        "mark": sum of the `file_mark` of files as they were read, hexadecimal, or "" where it
        cannot be told of one; without members of archives, whose own [time, size, time of change]
        are in "archives".
        "seconds": how long it took.
    """
    be_quiet()
    started = time.monotonic()
    batch = _Batch()
    known = payload["known"].tolist()
    for text, one in zip(payload["paths"], known, strict=True):
        batch.read(text, one)
    made = answers.to_message(batch.kinds, batch.instances, batch.problems)
    return {
        "answers": np.frombuffer(to_bytes(made), np.uint8),
        "stamps": np.array(batch.stamps, np.int64).reshape(-1, 3),
        "mark": "" if batch.unsure else f"{batch.mark % MODULUS:x}",
        "archives": [list(one) for one in batch.archives],
        "seconds": time.monotonic() - started,
    }


class _Batch:
    """What is known of the files so far."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.instances: list[Instance] = []
        self.problems: dict[str, list[str]] = {}
        self.stamps: list[list[int]] = []
        self.mark = 0
        self.archives: dict[tuple[int, int, int], None] = {}
        self.unsure = False

    def read(self, text: str, known: list[int]) -> None:
        """Take in the next file."""
        kind, status = self._answer(Path(text), known)
        self.kinds.append(kind)
        stamp = status.stamp if status is not None else [-1]
        if status is None or not all(-(2**63) <= part < 2**63 for part in stamp):
            self.unsure = True
            self.stamps.append([-1, -1, -1])
            return
        self.stamps.append(stamp)
        if status.archive_size:
            self.archives[status.mtime_ns, status.archive_size, status.changed_ns] = None
        else:
            self.mark += file_mark(text, stamp)

    def _answer(self, path: Path, known: list[int]) -> tuple[int, FileStatus | None]:
        status: FileStatus | None = None
        try:
            status = sources.status(path)
            if status.stamp == known:
                return answers.SAME, status
            found = read_instances(path)
            self.instances += found
            # A file that was written while it was read is not what its stamp says.
            sure = all([one.size_bytes, one.mtime_ns] == status.stamp[:2] for one in found)
            return len(found), status if sure and not rests_on_another(path, found) else None
        except IndexFile:
            return answers.DIRECTORY, status
        except FileProblem as error:
            self.problems[str(len(self.kinds))] = [error.reason, error.remedy]
            if isinstance(error, guards.Unreadable) or error.detail == "MemoryError":
                return answers.PROBLEM, None
            if status is not None and rests_on_another(path, ()):
                return answers.PROBLEM, None
            return answers.PROBLEM, status or _status_of_no_file(path)


def _status_of_no_file(path: Path) -> FileStatus | None:
    """Of what is empty, or a pipe: it is refused before it is read, until it is another."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return FileStatus(status.st_size, status.st_mtime_ns, changed_ns=status.st_ctime_ns)


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
