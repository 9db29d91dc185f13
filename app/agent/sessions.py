"""Chat threads on disk: one folder a thread, with an append-only, versioned JSONL file.

Line 1 is a header; then one line a message and one a tool call. Each line is flushed and synced, so
that a crash loses at most the line being written. Logging never breaks a run.
"""

from __future__ import annotations

import json
import logging
import os
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.agent.context import complete
from app.agent.emitter import utc_now
from app.agent.events import RunEvent
from app.agent.messages import Message
from app.errors import FileProblem

FORMAT = "sightline-session"
VERSION = 1
_FILE = "thread.jsonl"
_TITLE_CHARS = 80
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)

_log = logging.getLogger(__name__)


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


class Thread:
    """A conversation: its messages in memory and, unless it has no folder, on disk."""

    def __init__(
        self,
        thread_id: str,
        folder: Path | None = None,
        history: Sequence[Message] = (),
        problems: Sequence[str] = (),
    ) -> None:
        self.thread_id = thread_id
        self.folder = folder
        self.problems = tuple(problems)
        self._history = list(history)
        self._warned = False

    @classmethod
    def in_memory(cls) -> Thread:
        """A thread that leaves nothing on disk."""
        return cls(_new_id())

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages so far; every call of a finished run has a result."""
        return tuple(self._history)

    @property
    def title(self) -> str:
        """The first question, shortened."""
        first = next((item.text for item in self._history if item.role == "user"), "")
        return _shortened(first)

    def append(self, message: Message) -> None:
        """Add a message, in memory and on disk."""
        self._history.append(message)
        self.write({"type": "message", "time": utc_now(), "message": message.model_dump()})

    def log_call(
        self,
        call_id: str,
        name: str,
        arguments: dict[str, Any],
        result: dict[str, Any],
        started: str,
        ended: str,
    ) -> None:
        """Log a tool call: what was asked, what came back, and when (ISO 8601, UTC)."""
        entry = {"id": call_id, "name": name, "arguments": arguments, "result": result}
        self.write({"type": "tool_call", **entry, "started": started, "ended": ended})

    def record(self, event: RunEvent) -> None:
        """Keep an event of a run on disk, before it is shown. Never raises."""

    def note_run(self, run_id: str, facts: dict[str, Any]) -> None:
        """Keep what a run rests on: model, images, studies, weights."""
        self.write({"type": "run", "time": utc_now(), "run_id": run_id, **facts})

    def result(self, call_id: str) -> dict[str, Any] | None:
        """The whole result of a call of this thread, or None when there is none."""
        message = next((item for item in self._history if item.call_id == call_id), None)
        return message.data if message is not None else None

    def files_dir(self) -> Path:
        """The output folder of this thread's runs; made on demand.

        One for all of them: a run may read what lies in its output folder, and so a later question
        ("show that overlay") what an earlier one made.

        Raises:
            FileProblem: The thread has no folder, or it cannot be made.
        """
        if self.folder is None:
            raise FileProblem("this thread keeps nothing on disk", subject=self.thread_id)
        path = self.folder / "files"
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise _unwritable(path, error) from error
        return path

    def write(self, entry: dict[str, Any]) -> None:
        """Append one line. A failure is reported once in the log and never raised."""
        if self.folder is None:
            return
        try:
            _append(self.folder / _FILE, entry)
        except (OSError, ValueError, TypeError) as error:
            if not self._warned:
                self._warned = True
                _log.warning("The session file cannot be written (%s)", type(error).__name__)


class SessionStore:
    """The threads under one folder.

    Args:
        root: Usually `paths.sessions_dir()`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def new_thread(self) -> Thread:
        """Start a thread in a folder of its own; names never collide and say nothing private.

        Raises:
            FileProblem: The folder cannot be made.
        """
        thread_id = _new_id()
        folder = self._root / thread_id
        header = {"type": "header", "format": FORMAT, "version": VERSION, "thread_id": thread_id}
        try:
            folder.mkdir(parents=True, mode=0o700)
            _append(folder / _FILE, {**header, "created": utc_now()})
        except OSError as error:
            raise _unwritable(folder, error) from error
        return Thread(thread_id, folder)

    def threads(self) -> tuple[ThreadInfo, ...]:
        """Every thread in which something was asked, the newest first.

        Unreadable ones are left out here; `open` says what is wrong with them.
        """
        found = [_info(path.parent) for path in self._root.glob(f"*/{_FILE}")]
        listed = [info for info in found if info is not None and info.title]
        return tuple(sorted(listed, key=lambda info: info.updated, reverse=True))

    def open(self, thread_id: str) -> Thread:
        """A thread with its history, to go on with.

        A broken last line (a crash) is dropped; other lines that cannot be read are left out and
        listed in `Thread.problems`.

        Raises:
            FileProblem: There is no such thread, or a newer Sightline wrote it.
        """
        folder = self._root / thread_id
        if Path(thread_id).name != thread_id or not (folder / _FILE).is_file():
            raise FileProblem("there is no such conversation", subject=thread_id)
        history: list[Message] = []
        problems: list[str] = []
        for number, entry in _read(folder / _FILE, problems):
            if number == 1:
                _check_header(folder, entry)
            elif entry.get("type") == "message":
                try:
                    history.append(Message.model_validate(entry.get("message")))
                except ValidationError:
                    problems.append(f"line {number}: not a message")
        return Thread(thread_id, folder, complete(history), problems)


def _new_id() -> str:
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex}"


def _append(path: Path, entry: dict[str, Any]) -> None:
    line = json.dumps(entry, ensure_ascii=False, allow_nan=False, default=str) + "\n"
    handle = os.open(path, _FLAGS, 0o600)
    try:
        size = os.fstat(handle).st_size
        if size and _byte_before(handle, size) != b"\n":
            # A crash left half a line: the new one must not be glued to it.
            line = "\n" + line
        data = memoryview(line.encode("utf-8", "surrogatepass"))
        while data:
            data = data[os.write(handle, data) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _byte_before(handle: int, offset: int) -> bytes:
    os.lseek(handle, offset - 1, os.SEEK_SET)
    return os.read(handle, 1)


def _read(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        reason = f"it cannot be read ({error.strerror or type(error).__name__})"
        raise FileProblem(reason, subject=str(path)) from error
    for number, line in enumerate(lines, start=1):
        entry = _parsed(line)
        if entry is not None:
            yield number, entry
        elif line.strip() and number < len(lines):
            # The piece after the last newline is what a crash cut off: nothing to report.
            problems.append(f"line {number}: not readable")


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _check_header(folder: Path, entry: dict[str, Any]) -> None:
    version = entry.get("version")
    if entry.get("format") != FORMAT or not isinstance(version, int):
        return  # a damaged header; the messages below it are still worth having
    if version > VERSION:
        raise FileProblem(
            f"a newer version of Sightline wrote this conversation (format {version})",
            subject=folder.name,
            remedy="Update Sightline to open it.",
        )


def _info(folder: Path) -> ThreadInfo | None:
    path = folder / _FILE
    title = created = ""
    try:
        updated = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat()
        with path.open("rb") as file:
            for line in file:
                entry = _parsed(line) or {}
                message = entry.get("message")
                if entry.get("type") == "header":
                    created = str(entry.get("created", ""))
                elif isinstance(message, dict) and message.get("role") == "user":
                    title = _shortened(str(message.get("text", "")))
                    break
    except OSError:
        return None
    return ThreadInfo(folder.name, title, created or updated, updated)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1].rstrip()}…"


def _unwritable(path: Path, error: OSError) -> FileProblem:
    return FileProblem(
        f"the folder cannot be made ({error.strerror or type(error).__name__})",
        subject=str(path),
        remedy="Free space on the disk or set SIGHTLINE_HOME to a folder you may write to.",
    )
