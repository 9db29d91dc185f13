"""The conversations under one folder, each in its own subfolder, and copies that branch off."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from app.agent.context.model_messages import complete
from app.agent.loop.emitter import utc_now
from app.agent.messages import has_subject
from app.agent.sessions.content import close_runs, read
from app.agent.sessions.session_file import (
    FILE,
    FORMAT,
    VERSION,
    Entry,
    encode,
    entries,
    parse_line,
)
from app.agent.sessions.thread import Thread, folder_error, short_title
from app.agent.sessions.writer import LineWriter, ThreadLock, in_use
from app.errors import FileProblem
from app.settings import open_regular, read_regular, write_atomic
from app.tools import picture_sources

_PARTIAL = ".partial"
_TITLE = "title.txt"  # in a thread's folder, if the user has given it a name
_STALE_S = 3600.0


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread's entry in the list of threads.

    Its title is the name given by the user, else the first question that is more than a greeting.

    Attributes:
        created: When the thread was started, as ISO 8601 in UTC.
        updated: When the thread's file was last written, as ISO 8601 in UTC.
    """

    thread_id: str
    title: str
    created: str
    updated: str


class SessionStore:
    """Creates, lists and opens the threads (conversations) in a folder. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._live: WeakValueDictionary[str, Thread] = WeakValueDictionary()
        self._guard = threading.Lock()

    def new_thread(self) -> Thread:
        """Start a thread in a folder of its own, whose name contains no patient data."""
        thread_id = new_id()
        folder = self._root / thread_id
        try:
            folder.mkdir(parents=True, mode=0o700)
            _write_header(folder)
        except OSError as error:
            raise folder_error(folder, error) from error
        thread = Thread(thread_id, folder, read(folder / FILE), ThreadLock(folder))
        with self._guard:
            self._live[thread_id] = thread
        return thread

    def threads(self, words: str = "") -> tuple[ThreadInfo, ...]:
        """Return every readable thread in which something was asked, the newest first.

        If there are `words`, only threads with all of them in their name or in what was said.
        """
        found = [_info(folder) for folder in self._root.glob("[!.]*")]
        wanted = words.casefold().split()
        listed = [
            info for info in found if info is not None and info.title and self._has(info, wanted)
        ]
        return tuple(sorted(listed, key=lambda info: info.updated, reverse=True))

    def rename(self, thread_id: str, title: str) -> None:
        """Set a thread's title; if it is empty, the thread is listed by its first question again.

        Raises:
            FileProblem: There is no such thread, or its name cannot be written.
        """
        folder = self._folder(thread_id)
        try:
            write_atomic(folder / _TITLE, short_title(title).encode())
        except OSError as error:
            raise folder_error(folder, error) from error

    def delete(self, thread_id: str) -> None:
        """Delete a thread with everything on disk that belongs to it.

        Raises:
            ThreadInUse: Another program has the thread open.
            FileProblem: There is no such thread, or some of it could not be deleted.
        """
        folder = self._folder(thread_id)
        with self._guard:
            live = self._live.pop(thread_id, None)
            if live is not None:
                live.close()
            ThreadLock(folder).release()
        # No list shows it from now on; what a crash leaves of it is swept away like a branch.
        doomed = folder.with_name(f".{folder.name}{_PARTIAL}")
        try:
            folder.rename(doomed)
            shutil.rmtree(doomed)
        except OSError as error:
            raise FileProblem(
                f"some of the conversation could not be deleted ({error.strerror})",
                subject=str(doomed if doomed.exists() else folder),
                remedy="Delete that folder by hand.",
            ) from error

    def open(self, thread_id: str) -> Thread:
        """Open a thread with its history so that it can be continued.

        While a thread is open, the same object is returned. After a crash, every unfinished call
        gets a result and every unfinished run an end. A broken last line is dropped; other
        unreadable lines are listed in `Thread.problems`.

        Raises:
            ThreadInUse: Another program has the thread open; `read` and `branch` still work.
            FileProblem: There is no such thread, or a newer version of the program wrote it.
        """
        with self._guard:
            live = self._live.get(thread_id)
            if live is not None and not live.closed:
                return live
            folder = self._folder(thread_id)
            lock = ThreadLock(folder)
            content = read(folder / FILE)
            repairs = close_runs(content, utc_now())
            content.messages = complete(content.messages)
            thread = Thread(thread_id, folder, content, lock)
            thread.repair(repairs)
            self._live[thread_id] = thread
            return thread

    def read(self, thread_id: str) -> Thread:
        """Return a thread for reading only; it may even be open for writing in another program."""
        folder = self._folder(thread_id)
        self._flush(thread_id)
        content = read(folder / FILE)
        busy = in_use(folder)
        if not busy:
            close_runs(content, utc_now())
        content.messages = complete(content.messages)
        return Thread(thread_id, folder, content, in_use=busy)

    def branch(self, thread_id: str, question_index: int) -> Thread:
        """Return a new thread that copies a thread up to, but not including, one of its questions.

        `question_index` is an index in `Thread.runs()`; the index after the last copies everything.

        Raises:
            FileProblem: There is no such thread or question, or the branch cannot be written.
        """
        source = self._folder(thread_id)
        self._flush(thread_id)
        target = self._root / new_id()
        _copy_until(source, question_index, target)
        return self.open(target.name)

    def _has(self, info: ThreadInfo, words: Sequence[str]) -> bool:
        """Return whether a thread's name and messages together have all words."""
        said = info.title.casefold()
        if not all(word in said for word in words):
            with suppress(FileProblem):
                lines = entries(self._root / info.thread_id / FILE, [])
                told = (entry.get("message") for entry in lines)
                said += "\n".join(
                    str(item.get("text", "")).casefold() for item in told if isinstance(item, dict)
                )
        return all(word in said for word in words)

    def _flush(self, thread_id: str) -> None:
        with self._guard:
            live = self._live.get(thread_id)
        if live is not None:
            live.flush()

    def _folder(self, thread_id: str) -> Path:
        folder = self._root / thread_id
        try:
            whole = Path(thread_id).name == thread_id and not thread_id.startswith(".")
            known = whole and (folder / FILE).is_file()
        except OSError:  # no file can have such a name
            known = False
        if not known:
            raise FileProblem("there is no such conversation", subject=thread_id[:80])
        return folder


def new_id() -> str:
    """Return a new thread id, which contains no private data."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex}"


def _write_header(folder: Path) -> None:
    """Begin a thread's file with its header; raise OSError if it cannot be written."""
    writer = LineWriter(folder / FILE)
    writer.put(_header(folder), sync=True)
    writer.close()
    if writer.error is not None:
        raise writer.error


def _header(folder: Path, **more: Any) -> bytes:
    head = {"type": "header", "format": FORMAT, "version": VERSION, "thread_id": folder.name}
    return encode({**head, "created": utc_now(), **more})


_UNREADABLE = "(a conversation whose first question is damaged)"


def _info(folder: Path) -> ThreadInfo | None:
    path = folder / FILE
    title = created = ""
    asked = False
    try:
        with open_regular(path) as file:
            updated = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC).isoformat()
            for number, line in enumerate(file):
                # Damage may hide the question, but not that there was one.
                asked = asked or (number > 0 and line.endswith(b"\n"))
                entry = parse_line(line) or {}
                message = entry.get("message")
                if entry.get("type") == "header":
                    created = str(entry.get("created", ""))
                elif isinstance(message, dict) and message.get("role") == "user":
                    question = str(message.get("text", ""))
                    title = title or short_title(question)
                    if has_subject(question):
                        title = short_title(question)
                        break
    except OSError:
        return None
    with suppress(OSError):
        named = short_title(read_regular(folder / _TITLE).decode(errors="replace"))
        title = title and (named or title)
    title = title or (_UNREADABLE if asked else "")
    return ThreadInfo(folder.name, title, created or updated, updated)


# -- branching --------------------------------------------------------------------------------


def _copy_until(source: Path, question_index: int, target: Path) -> None:
    """Make `target` a thread with everything that `source` held before a question; see `branch`.

    The files that it refers to are copied and named by their new paths, so that either thread can
    be deleted without harm to the other. The target is there as a whole or not at all.
    """
    runs = read(source / FILE).runs
    if not 0 <= question_index <= len(runs):
        raise FileProblem(
            f"there is no question {question_index + 1} to branch from", subject=source.name
        )
    lines = [item for item in entries(source / FILE, []) if item.get("type") != "header"]
    origin: Entry = {"thread_id": source.name, "question": question_index}
    if question_index < len(runs):
        start = runs[question_index].start
        lines, origin["run_id"] = lines[:start], runs[question_index].run_id
    old, new = str(source), str(target)
    names = {json.dumps(old)[1:-1]: json.dumps(new)[1:-1], old: new}  # also inside JSON text
    _sweep(target.parent)
    partial = target.with_name(f".{target.name}{_PARTIAL}")
    try:
        partial.mkdir(parents=True, mode=0o700)
        moved = [encode(_replaced(entry, names)) for entry in lines]
        text = b"".join((_header(target, branched_from=origin), *moved))
        _copy_named(source / "files", partial / "files", text)
        (partial / FILE).write_bytes(text)
        (partial / FILE).chmod(0o600)
        partial.rename(target)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise FileProblem(
            f"the branch cannot be written ({error.strerror or type(error).__name__})",
            subject=str(target),
            remedy="Free space on the disk or set SIGHTLINE_HOME to a folder you may write to.",
        ) from error


def _sweep(root: Path) -> None:
    """Remove unfinished branches, which hold patients' data that no list shows, after an hour."""
    for folder in root.glob(f".*{_PARTIAL}"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


def _replaced(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            for old, new in names.items():
                value = value.replace(old, new)
            return value
        case dict():
            return {key: _replaced(item, names) for key, item in value.items()}
        case list():
            return [_replaced(item, names) for item in value]
        case _:
            return value


def _copy_named(source: Path, target: Path, text: bytes) -> None:
    """Copy the files whose names are in `text`, and the notes of what each picture shows."""
    if not source.is_dir():
        return
    for path in source.rglob("*"):
        known = (
            path.name.encode("utf-8", "surrogatepass") in text or path.name == picture_sources.FILE
        )
        if known and path.is_file():
            copy = target / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            shutil.copy2(path, copy)
