"""Exports: what leaves the program as a file is in the log before it does."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from app.audit.log import AuditFailed, AuditLog
from app.errors import FileProblem, SightlineError

_READ_BYTES = 1 << 20


@contextlib.contextmanager
def exporting(log: AuditLog | None, what: str, path: Path, **facts: Any) -> Generator[None]:
    """Tell the log that a file is about to be written, and whether it was.

    Its name and place are not told, since they may name the patient; its content by a keyed hash.

    Args:
        log: None where none is kept.
        what: "conversation", "picture", "screenshot", "audit log".
        path: The file.
        **facts: More about it.

    Raises:
        FileProblem: The log cannot be written; then nothing is exported.
    """
    if log is None:
        yield
        return
    facts = {"what": what, "form": path.suffix.lstrip(".").lower()[:8], **facts}
    try:
        log.record("export_started", facts, sync=True)
    except AuditFailed as error:
        reason = f"nothing was saved, since {error.reason}"
        raise FileProblem(reason, remedy=error.remedy) from error
    try:
        yield
    except BaseException:
        _end(log, facts | {"status": "failed"})
        raise
    _end(log, facts | {"status": "ok"} | _content(log, path))


def file_name(log: AuditLog, path: Path) -> str:
    """The keyed hash that stands for a file's content.

    Raises:
        OSError: It cannot be read.
        SightlineError: The key cannot be had.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_READ_BYTES):
            digest.update(part)
    return log.name("file", digest.digest())


def _content(log: AuditLog, path: Path) -> dict[str, str]:
    with contextlib.suppress(OSError, SightlineError):
        return {"file": file_name(log, path)}
    return {}


def _end(log: AuditLog, facts: dict[str, Any]) -> None:
    with contextlib.suppress(AuditFailed):  # it is kept, and `problem` says it
        log.record("exported", facts)
