"""A conversation: its messages in memory and, unless it has no folder, all of it on disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.agent.context.model_messages import to_text
from app.agent.events import (
    TERMINAL,
    ReasoningDelta,
    RunEvent,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolProgress,
)
from app.agent.loop.emitter import utc_now
from app.agent.messages import Message
from app.agent.sessions import beside
from app.agent.sessions.lines import FILE, Entry, encode
from app.agent.sessions.reading import Content, PastRun, close_runs, read
from app.agent.sessions.writer import LineWriter, ThreadLock
from app.errors import FileProblem

_TITLE_CHARS = 80
_HELD_BACK_S = 0.2  # streamed text waits so long for more of it before it is written
_SYNCED = ("tool_finished", "approval_requested", "approval_resolved", *TERMINAL)
_LARGE = beside.LIMIT


class Thread:
    """A conversation. Every method may be called from any thread; writing never raises.

    Made by `SessionStore`. Every event is safe from a crash of the program before it is shown, but
    for streamed text and progress, which are written together, a fifth of a second at a time. What
    matters (questions, results, approvals, how a run ended) is then safe from a power cut too, and
    the rest if 50 ms have passed since the last time that was made sure of.

    Attributes:
        thread_id: Its id.
        folder: Where it lies, None when it is kept in memory only.
        read_only: It is only looked at: nothing is written.
        closed: It was closed: nothing is written any more.
    """

    def __init__(
        self,
        thread_id: str,
        folder: Path | None = None,
        content: Content | None = None,
        lock: ThreadLock | None = None,
        *,
        in_use: bool = False,
    ) -> None:
        content = content or Content()
        self.thread_id = thread_id
        self.folder = folder
        self.read_only = folder is not None and lock is None
        self.closed = False
        self._content = content
        self._history = content.messages
        self._results = {key: call["result"] for key, call in content.calls.items()}
        self._in_use = in_use  # by a program that may be writing it
        self._lock = lock
        self._writer = LineWriter(folder / FILE) if folder is not None and lock else None
        self._guard = threading.RLock()
        self._run_id = ""
        self._logged: set[str] = set()  # calls of this run whose result is in the file
        self._held: list[RunEvent] = []  # deltas that are one when they are written
        self._held_since = 0.0
        self._told = False

    @classmethod
    def in_memory(cls) -> Thread:
        """A thread that leaves nothing on disk."""
        from app.agent.sessions.store import new_id

        return cls(new_id())

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages so far; every call of a finished run has a result."""
        return tuple(self._history)

    @property
    def title(self) -> str:
        """The first question, shortened."""
        first = next((item.text for item in self._history if item.role == "user"), "")
        return shortened(first)

    @property
    def problems(self) -> tuple[str, ...]:
        """What of the file could not be read."""
        return tuple(self._content.problems)

    @property
    def unsaved(self) -> str:
        """Why some of it is not on disk, for the user; "" when all is."""
        return self._writer.problem if self._writer is not None else ""

    def take_notice(self) -> str:
        """`unsaved`, once: for the one notice that the user is shown."""
        if self._told or not self.unsaved:
            return ""
        self._told = True
        return self.unsaved

    def append(self, message: Message) -> None:
        """Add a message, in memory and on disk."""
        with self._guard:
            self._history.append(message)
            self._write_held()
            entry: Entry = {"type": "message", "time": utc_now(), "run_id": self._run_id}
            self._put(self._message_line(entry, message), sync=message.role == "user")

    def log_call(
        self,
        call_id: str,
        name: str,
        arguments: dict[str, Any],
        result: dict[str, Any],
        started: str,
        ended: str,
        images: object = None,
    ) -> None:
        """Log a tool call: what was asked, what came back, and when (ISO 8601, UTC).

        `images` is what the run may read; what it did read so far is noted with the run.
        """
        entry: Entry = {
            "type": "tool_call",
            "run_id": self._run_id,
            "id": call_id,
            "name": name,
            "arguments": arguments,
            "result": result,
            "started": started,
            "ended": ended,
            **_rests_on(result),
        }
        with self._guard:
            self._results[call_id] = result
            line = encode(entry)
            if len(line) > _LARGE and self.folder is not None:
                small, files = beside.put(self.folder, result)
                line = encode({**entry, "result": small, "beside": files}) if files else line
            self._write_held()
            self._put(line)
            self._logged.add(call_id)
            used = _used_images(images)
            if used and used != self._content.run_facts.get(self._run_id, {}).get("used"):
                self.note_run(self._run_id, {"used": used})

    def record(self, event: RunEvent) -> None:
        """Keep an event of a run on disk, before it is shown.

        Streamed text, reasoning and progress are held back for a moment and written as one.
        """
        if self._writer is None:
            return
        with self._guard:
            if isinstance(event, TextDelta | ReasoningDelta | ToolProgress):
                self._hold(event)
                return
            self._write_held()
            if isinstance(event, RunStarted):
                self._run_id = event.run_id
            sync = event.kind in _SYNCED or self._writer.due
            self._put(_event_line(event, event.seq, 1, self._logged), sync=sync)
            if event.kind in TERMINAL:
                self._run_id = ""
                self._logged.clear()

    def note_run(self, run_id: str, facts: Mapping[str, Any], images: object = None) -> None:
        """Keep what a run rests on: model, images, output folder. Later facts replace earlier ones.

        Args:
            run_id: The run.
            facts: JSON-able.
            images: What it may read; the studies are noted, where it tells them.
        """
        studies = _studies_of(images)
        known = {**facts, "studies": studies} if studies else facts
        with self._guard:
            entry = {"type": "run", "time": utc_now(), "run_id": run_id, **known}
            self._content.run_facts.setdefault(run_id, {}).update(entry)
            self._write_held()
            self._put(encode(entry))

    def result(self, call_id: str) -> dict[str, Any] | None:
        """The whole result of a call of this thread, or None when there is none.

        Keys are status, summary, output, metadata, error, findings and artifacts; of a version 1
        file perhaps only those that the model was told.
        """
        found = self._results.get(call_id)
        if found is not None:
            return found
        message = next((item for item in self._history if item.call_id == call_id), None)
        return message.data if message is not None else None

    def runs(self) -> list[PastRun]:
        """The questions as they were shown, the oldest first; [] when nothing is on disk."""
        if self.folder is None:
            return []
        return self.content.runs

    @property
    def content(self) -> Content:
        """All that its file says now; closed where a crash left it open, but for a run under way.

        Raises:
            FileProblem: The file cannot be read.
        """
        if self.folder is None:
            return Content(messages=list(self._history))
        with self._guard:
            self._write_held()
            content = read(self.folder / FILE)
            if not self._run_id and not self._in_use:
                close_runs(content, utc_now())
        return content

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
            raise unwritable(path, error) from error
        return path

    def flush(self) -> None:
        """Write what was held back."""
        with self._guard:
            self._write_held()

    def close(self) -> None:
        """Write what was held back and let others have the file."""
        with self._guard:
            self.closed = True
            self._write_held()
            if self._writer is not None:
                self._writer.close()
            self._writer = None
            if self._lock is not None:
                self._lock.release()

    def repair(self, entries: list[Entry]) -> None:
        """Write how what a crash left open was closed (`close_runs`)."""
        with self._guard:
            for entry in entries:
                self._put(self._line(entry), sync=entry is entries[-1])

    def _line(self, entry: Entry) -> bytes:
        match entry:
            case {"type": "message", "message": Message() as message}:
                head = {key: value for key, value in entry.items() if key != "message"}
                return self._message_line(head, message)
            case {"type": "event", "event": event}:
                return _event_line(event, event.seq, 1, self._results, entry)
            case _:
                return encode(entry)

    def _message_line(self, head: Entry, message: Message) -> bytes:
        raw: Any = message
        if message.role == "tool" and self.folder is not None:
            raw = dict(message)
            if message.text == to_text(message.data):
                del raw["text"]
            line = encode({**head, "message": raw})
            if len(line) <= _LARGE:
                return line
            raw["data"], files = beside.put(self.folder, message.data)
            head = {**head, "beside": files} if files else head
        return encode({**head, "message": raw})

    def _hold(self, event: TextDelta | ReasoningDelta | ToolProgress) -> None:
        if self._held and not _joins(self._held[-1], event):
            self._write_held()
        if not self._held:
            self._held_since = time.monotonic()
        self._held.append(event)
        if time.monotonic() - self._held_since >= _HELD_BACK_S:
            self._write_held()

    def _write_held(self) -> None:
        if not self._held:
            return
        held, self._held = self._held, []
        first, last = held[0], held[-1]
        whole = last
        if isinstance(first, TextDelta | ReasoningDelta):
            text = "".join(item.text for item in held if isinstance(item, type(first)))
            whole = first.model_copy(update={"text": text})
        self._put(_event_line(whole, first.seq, len(held), ()))

    def _put(self, line: bytes, *, sync: bool = False) -> None:
        if self._writer is not None:
            self._writer.put(line, sync=sync)


def _joins(before: RunEvent, event: RunEvent) -> bool:
    if isinstance(event, ToolProgress) and isinstance(before, ToolProgress):
        return before.call_id == event.call_id and before.run_id == event.run_id
    return before.kind == event.kind and before.run_id == event.run_id


def _event_line(
    event: RunEvent, seq: int, count: int, logged: Any, head: Mapping[str, Any] | None = None
) -> bytes:
    """An event as a line; the result of a call that is in the file is not written again."""
    raw = {**dict(event), "seq": seq}
    if isinstance(event, ToolFinished):
        raw["findings"] = []
        if event.call_id in logged:
            del raw["output"], raw["metadata"]
        del raw["artifacts"]
    counted = {"count": count} if count > 1 else {}
    return encode({"type": "event", **counted, **(head or {}), "event": raw})


def _rests_on(result: Mapping[str, Any]) -> dict[str, list[str]]:
    """The weights and images that a call's findings name."""
    findings: list[Any] = [item for item in result.get("findings") or () if isinstance(item, dict)]
    weights = {str((item.get("provenance") or {}).get("weights_sha256", "")) for item in findings}
    images = {str((item.get("image") or {}).get("sop_instance_uid", "")) for item in findings}
    return {"weights": sorted(weights - {""}), "sop_instance_uids": sorted(images - {""})}


def _used_images(images: object) -> list[Any]:
    """Which pixels of which files a run has read, where its images tell (`RunImages.used`)."""
    used: Any = getattr(images, "used", None)
    return [] if used is None else list(used())


def _studies_of(images: object) -> list[str]:
    """StudyInstanceUID of what a run may read, where its images tell (`RunImages.studies`)."""
    studies: Any = getattr(images, "studies", None)
    return [] if studies is None else list(studies())


def shortened(text: str) -> str:
    """A question as a title."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1].rstrip()}…"


def unwritable(path: Path, error: OSError) -> FileProblem:
    """A folder that cannot be made."""
    return FileProblem(
        f"the folder cannot be made ({error.strerror or type(error).__name__})",
        subject=str(path),
        remedy="Free space on the disk or set SIGHTLINE_HOME to a folder you may write to.",
    )
