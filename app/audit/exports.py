"""Recording of exports: each is in the audit log before its file is written."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

from app.audit.log import AuditFailed, AuditLog
from app.errors import FileProblem, SightlineError


@contextlib.contextmanager
def record_export(log: AuditLog | None, what: str, path: Path, **facts: Any) -> Generator[None]:
    """Record that the body of the `with` statement writes a file, and afterwards whether it did.

    The file's name and folder are not recorded, since they may name the patient; its content is
    recorded as a keyed hash.

    Args:
        log: The audit log; None to record nothing.
        what: "conversation", "picture", "screenshot" or "audit log".
        path: The file.
        **facts: Further facts about the export.

    Raises:
        FileProblem: The log cannot be written; the body of the `with` statement is then not run.
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
        log.note("exported", facts | {"status": "failed"})
        raise
    facts["status"] = "ok"
    with contextlib.suppress(OSError, SightlineError):
        facts["file"] = content_name(log, path)
    log.note("exported", facts)


def content_name(log: AuditLog, path: Path) -> str:
    """Return the keyed hash that names a file's content in the log."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return log.name("file", digest)
