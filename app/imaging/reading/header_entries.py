"""Worker entry points for scans: read the headers of files, and digests to find copies."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Any, cast

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom.dicom_file import IndexFile, silence_pydicom
from app.imaging.files import sources
from app.imaging.files.identity import MODULUS, file_hash
from app.imaging.files.sources import FileStatus
from app.imaging.reading.image_entries import read_instances
from app.imaging.reading.sniffing import depends_on_other_file
from app.imaging.studies.instance_lists import DIRECTORY, PROBLEM, instance_table
from app.imaging.types import Instance

Message = dict[str, Any]


def headers_entry(payload: Message) -> Message:
    """Read the headers of the files in `payload["paths"]`.

    Returns:
        "counts": for each file, the number of its instances, or `DIRECTORY` (a DICOMDIR) or
        `PROBLEM`. "problems": maps the position of a file (from 0, as text) to a reason and a
        remedy. "table": `instance_table` of all instances in order. "mark": sum of the files'
        `file_hash` at the time of reading, in hexadecimal, without members of archives; "" if a
        file could not be read, changed meanwhile, or depends on a second file. "archives":
        [time, size, time of change] of each archive that holds some of the files. "newest_ns":
        latest modification time. "seconds": duration of the call.
    """
    silence_pydicom()
    started = time.monotonic()
    batch = _Batch()
    for text in payload["paths"]:
        batch.read(text)
    return {
        "counts": batch.counts,
        "problems": batch.problems,
        "table": instance_table(batch.instances),
        "mark": "" if batch.unsure else f"{batch.mark % MODULUS:x}",
        "archives": [list(one) for one in batch.archives],
        "newest_ns": batch.newest_ns,
        "seconds": time.monotonic() - started,
    }


class _Batch:
    """What is known of the files so far."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.instances: list[Instance] = []
        self.problems: dict[str, list[str]] = {}
        self.mark = 0
        self.archives: dict[tuple[int, int, int], None] = {}
        self.newest_ns = 0
        self.unsure = False

    def read(self, text: str) -> None:
        """Take in the next file."""
        count, status = self._count(Path(text))
        self.counts.append(count)
        if status is None:
            self.unsure = True
            return
        self.newest_ns = max(self.newest_ns, status.mtime_ns)
        if status.archive_size:
            self.archives[status.mtime_ns, status.archive_size, status.changed_ns] = None
        else:
            self.mark += file_hash(text, status.stamp)

    def _count(self, path: Path) -> tuple[int, FileStatus | None]:
        """Return a file's count, and its status; None where the answer may not hold."""
        status: FileStatus | None = None
        try:
            status = sources.status(path)
            found = read_instances(path)
            self.instances += found
            # A file that was modified while it was read does not match its stamp.
            sure = all([one.size_bytes, one.mtime_ns] == status.stamp[:2] for one in found)
            return len(found), status if sure and not depends_on_other_file(path, found) else None
        except IndexFile:
            return DIRECTORY, status
        except FileProblem as error:
            self.problems[str(len(self.counts))] = [error.reason, error.remedy]
            if isinstance(error, guards.Unreadable) or error.detail == "MemoryError":
                return PROBLEM, None
            if status is not None and depends_on_other_file(path, ()):
                return PROBLEM, None
            return PROBLEM, status or _status_of_no_file(path)


def _status_of_no_file(path: Path) -> FileStatus | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return FileStatus(status.st_size, status.st_mtime_ns, changed_ns=status.st_ctime_ns)


def digests_entry(payload: Message) -> Message:
    """Return as "digests" the SHA-256 of each file in `payload["paths"]`; "" if unreadable."""
    return {"digests": [_digest(Path(text)) for text in payload["paths"]]}


def _digest(path: Path) -> str:
    try:
        with sources.open_file(path) as file:
            return hashlib.file_digest(cast(Any, file), "sha256").hexdigest()
    except (FileProblem, OSError):
        return ""
