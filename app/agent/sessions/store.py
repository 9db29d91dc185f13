"""The threads under one folder: each in a folder of its own, written by one program at a time."""

from __future__ import annotations

import os
import threading
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from app.agent.context.model_messages import complete
from app.agent.loop.emitter import utc_now
from app.agent.sessions.branching import branch
from app.agent.sessions.lines import FILE, FORMAT, VERSION, encode, parsed
from app.agent.sessions.reading import close_runs, read
from app.agent.sessions.thread import Thread, shortened, unwritable
from app.agent.sessions.writer import LineWriter, ThreadLock, in_use
from app.errors import FileProblem


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """A thread as a list shows it.

    Attributes:
        thread_id: For `SessionStore.open`.
        title: The first question, shortened; "" when nothing was asked yet.
        created: ISO 8601, UTC.
        updated: ISO 8601, UTC, when its file was last written.
    """

    thread_id: str
    title: str
    created: str
    updated: str


class SessionStore:
    """The threads under one folder. Its methods may be called from any thread.

    Args:
        root: Usually `paths.sessions_dir()`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._live: WeakValueDictionary[str, Thread] = WeakValueDictionary()
        self._guard = threading.Lock()

    def new_thread(self) -> Thread:
        """Start a thread in a folder of its own; names never collide and say nothing private.

        Raises:
            FileProblem: The folder cannot be made.
        """
        thread_id = new_id()
        folder = self._root / thread_id
        try:
            folder.mkdir(parents=True, mode=0o700)
            start_file(folder, {})
        except OSError as error:
            raise unwritable(folder, error) from error
        return self._keep(Thread(thread_id, folder, read(folder / FILE), ThreadLock(folder)))

    def threads(self) -> tuple[ThreadInfo, ...]:
        """Every thread in which something was asked, the newest first.

        Unreadable ones are left out here; `open` says what is wrong with them.
        """
        found = [_info(folder) for folder in self._folders()]
        listed = [info for info in found if info is not None and info.title]
        return tuple(sorted(listed, key=lambda info: info.updated, reverse=True))

    def open(self, thread_id: str) -> Thread:
        """A thread with its history, to go on with; the same object while it is open here.

        What a crash left unfinished is closed: every call has a result and every run an end. A
        broken last line is dropped; others that cannot be read are left out and listed in
        `Thread.problems`.

        Raises:
            ThreadInUse: Another program has it open; `read` and `branch` still work.
            FileProblem: There is no such thread, or a newer Sightline wrote it.
        """
        with self._guard:
            live = self._live.get(thread_id)
            if live is not None and not live.closed:
                return live
            folder = self._folder(thread_id)
            thread = _opened(thread_id, folder, ThreadLock(folder))
            self._live[thread_id] = thread
            return thread

    def read(self, thread_id: str) -> Thread:
        """A thread to look at, also while another program writes it.

        Raises:
            FileProblem: There is no such thread, or a newer Sightline wrote it.
        """
        folder = self._folder(thread_id)
        self._flush(thread_id)
        content = read(folder / FILE)
        busy = in_use(folder)
        if not busy:
            close_runs(content, utc_now())
        content.messages = complete(content.messages)
        return Thread(thread_id, folder, content, in_use=busy)

    def branch(self, thread_id: str, question_index: int) -> Thread:
        """A new thread with all that another held before one of its questions.

        Args:
            thread_id: The other; it may be open here or in another program.
            question_index: Of `Thread.runs()`, from 0; their number for a copy of everything.

        Raises:
            FileProblem: There is no such thread or question, or the branch cannot be written.
        """
        source = self._folder(thread_id)
        self._flush(thread_id)
        target = self._root / new_id()
        branch(source, question_index, target)
        return self.open(target.name)

    def _flush(self, thread_id: str) -> None:
        with self._guard:
            live = self._live.get(thread_id)
        if live is not None:
            live.flush()

    def _keep(self, thread: Thread) -> Thread:
        with self._guard:
            self._live[thread.thread_id] = thread
        return thread

    def _folder(self, thread_id: str) -> Path:
        folder = self._root / thread_id
        try:
            known = Path(thread_id).name == thread_id and (folder / FILE).is_file()
        except OSError:  # no file can have such a name
            known = False
        if not known:
            raise FileProblem("there is no such conversation", subject=thread_id[:80])
        return folder

    def _folders(self) -> list[Path]:
        try:
            with os.scandir(self._root) as found:
                return [Path(item.path) for item in found if not item.name.startswith(".")]
        except OSError:
            return []


def new_id() -> str:
    """A fresh thread id; says nothing private."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex}"


def start_file(folder: Path, branched_from: dict[str, Any]) -> None:
    """Begin a thread's file with its header.

    Raises:
        OSError: It cannot be written.
    """
    header = {"type": "header", "format": FORMAT, "version": VERSION, "thread_id": folder.name}
    origin = {"branched_from": branched_from} if branched_from else {}
    writer = LineWriter(folder / FILE)
    writer.put(encode({**header, "created": utc_now(), **origin}), sync=True)
    writer.close()
    if writer.error is not None:
        raise writer.error


def _opened(thread_id: str, folder: Path, lock: ThreadLock) -> Thread:
    content = read(folder / FILE)
    repairs = close_runs(content, utc_now())
    content.messages = complete(content.messages)
    thread = Thread(thread_id, folder, content, lock)
    thread.repair(repairs)
    return thread


def _info(folder: Path) -> ThreadInfo | None:
    path = folder / FILE
    title = created = ""
    try:
        with path.open("rb") as file:
            updated = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC).isoformat()
            for line in file:
                entry = parsed(line) or {}
                message = entry.get("message")
                if entry.get("type") == "header":
                    created = str(entry.get("created", ""))
                elif isinstance(message, dict) and message.get("role") == "user":
                    title = shortened(str(message.get("text", "")))
                    break
    except OSError:
        return None
    return ThreadInfo(folder.name, title, created or updated, updated)
