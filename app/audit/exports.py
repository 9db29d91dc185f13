"""Recording of exports: each is in the audit log before its file is written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

from app.audit.log import AuditFailed, AuditLog
from app.errors import FileProblem, SightlineError

AT_ONCE = 80
"""Images named in one line of the log."""


@contextlib.contextmanager
def record_export(
    log: AuditLog | None,
    what: str,
    path: Path,
    *,
    images: Iterable[str] = (),
    opened: Iterable[Path] = (),
    replace: bool = False,
    **facts: Any,
) -> Generator[None]:
    """Record that the body of the `with` statement writes a file, and afterwards whether it did.

    The file's name and folder are not recorded, since they may name the patient; its content is
    recorded as a keyed hash.

    Args:
        log: The audit log; None to record nothing.
        what: "conversation", "picture", "screenshot" or "audit log".
        path: The file.
        images: SOP Instance UIDs of the images that it shows; recorded as keyed hashes.
        opened: Paths of the opened files, which are never replaced; see `check_target`.
        replace: Whether the user has asked to replace an existing file.
        **facts: Further facts about the export.

    Raises:
        FileProblem: The log cannot be written, or `check_target` forbids the file; the body of the
            `with` statement is then not run.
    """
    check_target(path, opened, replace=replace)
    if log is None:
        yield
        return
    facts = {"what": what, "form": path.suffix.lstrip(".").lower()[:8], **facts}
    try:
        names = [log.name("image", uid) for uid in dict.fromkeys(images) if uid]
        log.record("export_started", facts | {"images": names[:AT_ONCE]}, sync=True)
    except SightlineError as error:
        reason = f"nothing was saved, since {error.reason}"
        raise FileProblem(reason, remedy=error.remedy) from error
    try:
        yield
    except BaseException:
        log.note("exported", facts | {"status": "failed", "images": names[:AT_ONCE]})
        raise
    facts["status"] = "ok"
    with contextlib.suppress(OSError, SightlineError):
        facts["file"] = content_name(log, path)
    for start in range(0, max(len(names), 1), AT_ONCE):
        log.note("exported", facts | {"images": names[start : start + AT_ONCE]})


@contextlib.contextmanager
def record_deletion(log: AuditLog | None, *thread_ids: str) -> Generator[None]:
    """Record that the body of the `with` statement deletes conversations, and any failure of it.

    Raises:
        FileProblem: The log cannot be written; the body of the `with` statement is then not run.
    """
    try:
        for thread_id in thread_ids:
            if log is not None:
                log.record("conversation_deleted", {"thread": thread_id}, sync=True)
    except AuditFailed as error:
        reason = f"nothing was deleted, since {error.reason}"
        raise FileProblem(reason, remedy=error.remedy) from error
    try:
        yield
    except BaseException:
        for thread_id in thread_ids:
            if log is not None:
                log.note("conversation_deleted", {"thread": thread_id, "status": "failed"})
        raise


def check_target(path: Path, opened: Iterable[Path] = (), *, replace: bool = False) -> None:
    """Check that a file may be written.

    Args:
        path: The file.
        opened: Paths of the opened files, which are never replaced; a member of an archive has the
            archive's path before its own.
        replace: Whether the user has asked to replace an existing file.

    Raises:
        FileProblem: The path is that of an opened file, of a link, of anything else that is not a
            regular file, or of an existing file that is not to be replaced.
    """
    try:
        there = path.lstat()
    except OSError:
        return  # a new file; a folder that cannot be used is told by the attempt to write
    reason, remedy = "", "Choose another name."
    if not stat.S_ISREG(there.st_mode):
        kinds = {stat.S_IFLNK: "link", stat.S_IFDIR: "folder"}
        kind = kinds.get(stat.S_IFMT(there.st_mode), "device or pipe")
        reason = f"it is a {kind}, which is never overwritten"
    elif any(_is_same(there, one) for one in opened):
        reason = "it is open here and is not overwritten"
    elif not replace:
        reason, remedy = "it exists already", "Choose another name, or replace it with --force."
    if reason:
        raise FileProblem(reason, subject=str(path), remedy=remedy)


def _is_same(there: os.stat_result, opened: Path) -> bool:
    """Return whether an opened file, or the archive that contains it, is the file `there`."""
    for path in (opened, *opened.parents):
        try:
            return os.path.samestat(there, path.stat())
        except NotADirectoryError:
            continue  # a member of an archive
        except OSError:
            return False
    return False


def content_name(log: AuditLog, path: Path) -> str:
    """Return the keyed hash that names a file's content in the log."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    return log.name("file", digest)
