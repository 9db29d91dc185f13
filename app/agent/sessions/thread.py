"""A conversation: its messages in memory and, if it has a folder, everything on disk."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from app.agent import events
from app.agent.context.model_messages import to_text
from app.agent.events import RunEvent
from app.agent.loop.emitter import utc_now
from app.agent.messages import Message, has_subject
from app.agent.sessions.content import Content, PastRun, close_runs, read
from app.agent.sessions.session_file import FILE, RESULT_KEYS, Entry, encode
from app.agent.sessions.writer import LineWriter, ThreadLock
from app.errors import FileProblem

_TITLE_CHARS = 80
_BUFFER_S = 0.2  # how long streamed text waits for more of it before it is written
_SYNCED = ("tool_finished", "approval_requested", "approval_resolved", *events.TERMINAL)


class Thread:
    """A conversation. Every method may be called from any program thread; writing never raises.

    Made by `SessionStore`. Every event is written before it is shown, except that streamed text and
    progress are collected for a fifth of a second. Questions, results, approvals and the ends of
    runs are also synced to the disk at once, other lines at most every 50 ms.

    Attributes:
        folder: The conversation's folder; None if it is kept in memory only.
        read_only: Whether it was opened only for reading, so that nothing is written.
        closed: Whether it has been closed, so that nothing more is written.
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
        self._in_use = in_use  # another program may be writing it
        self._lock = lock
        self._writer = LineWriter(folder / FILE) if folder is not None and lock else None
        self._guard = threading.RLock()
        self._run_id = ""
        self._logged: set[str] = set()  # ids of this run's calls whose result is in the file
        self._buffered: list[RunEvent] = []  # deltas that are written as one event
        self._buffered_since = 0.0
        self._notice_taken = False

    @classmethod
    def in_memory(cls) -> Thread:
        """Return a thread that leaves nothing on disk."""
        from app.agent.sessions.store import new_id

        return cls(new_id())

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages so far; every call of a finished run has a result."""
        return tuple(self._history)

    @property
    def title(self) -> str:
        """The first question that is more than a greeting, shortened; "" if there is none."""
        asked = [item.text for item in self._history if item.role == "user"]
        return short_title(next(filter(has_subject, asked), asked[0] if asked else ""))

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences for the user about parts of the file that could not be read."""
        return tuple(self._content.problems)

    @property
    def unsaved(self) -> str:
        """Why some of the conversation is not on disk, for the user; "" if all of it is."""
        return self._writer.problem if self._writer is not None else ""

    def take_notice(self) -> str:
        """Return `unsaved` the first time that it is not "", and "" from then on."""
        if self._notice_taken or not self.unsaved:
            return ""
        self._notice_taken = True
        return self.unsaved

    def append(self, message: Message) -> None:
        """Add a message, in memory and on disk."""
        with self._guard:
            self._history.append(message)
            self._write_buffered()
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
        """Log a tool call with its complete result, in the form that `Thread.result` returns.

        Times are ISO 8601 in UTC. If `images`, the `RunImages` of the run, has read further images,
        these are recorded with the run.
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
            **_result_sources(result),
        }
        with self._guard:
            self._results[call_id] = result
            self._write_buffered()
            self._put(encode(entry))
            self._logged.add(call_id)
            used = _listed(images, "used")
            if used and used != self._content.run_facts.get(self._run_id, {}).get("used"):
                self.note_run(self._run_id, {"used": used})

    def record(self, event: RunEvent) -> None:
        """Write an event of a run to disk, before it is shown."""
        if self._writer is None:
            return
        with self._guard:
            if isinstance(event, events.TextDelta | events.ReasoningDelta | events.ToolProgress):
                self._buffer(event)
                return
            self._write_buffered()
            if isinstance(event, events.RunStarted):
                self._run_id = event.run_id
            sync = event.kind in _SYNCED or self._writer.due
            self._put(_event_line(event, event.seq, 1, self._logged), sync=sync)
            if event.kind in events.TERMINAL:
                self._run_id = ""
                self._logged.clear()

    def note_run(self, run_id: str, facts: Mapping[str, Any], images: object = None) -> None:
        """Write facts about a run (model, images, output folder); they update earlier facts.

        `facts` must be JSON-ready; the study UIDs of `images`, a `RunImages`, are added to them.
        """
        studies = _listed(images, "studies")
        known = {**facts, "studies": studies} if studies else facts
        with self._guard:
            entry = {"type": "run", "time": utc_now(), "run_id": run_id, **known}
            self._content.run_facts.setdefault(run_id, {}).update(entry)
            self._write_buffered()
            self._put(encode(entry))

    def result(self, call_id: str) -> dict[str, Any] | None:
        """Return the complete result of a call, or None if there is none.

        Keys are status, summary, output, metadata, error, findings and artifacts. For a call that
        did not run, only those in its message (`Message.data`).
        """
        found = self._results.get(call_id)
        if found is not None:
            return found
        message = next((item for item in self._history if item.call_id == call_id), None)
        return message.data if message is not None else None

    def runs(self) -> list[PastRun]:
        """Return the questions with their events, the oldest first; [] for a thread in memory."""
        return self.content.runs

    @property
    def run_ids(self) -> frozenset[str]:
        """The ids of its runs; an id of a call is unique among those of one conversation only."""
        with self._guard:
            return frozenset(self._content.run_facts)

    @property
    def content(self) -> Content:
        """The content of the file, read anew; for a thread in memory, only its messages.

        Runs and calls that a crash left open are closed; a run in progress is left as it is.
        """
        if self.folder is None:
            return Content(messages=list(self._history))
        with self._guard:
            self._write_buffered()
            content = read(self.folder / FILE)
            if not self._run_id and not self._in_use:
                close_runs(content, utc_now())
        return content

    def files_dir(self) -> Path:
        """Return the output folder for this thread's runs, created when first needed.

        All runs share it, since a later question ("show that overlay") must reach what an earlier
        one made, and a run may read only its output folder.
        """
        if self.folder is None or (self.closed and not self.folder.is_dir()):
            raise FileProblem("this thread keeps nothing on disk", subject=self.thread_id)
        path = self.folder / "files"
        try:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise folder_error(path, error) from error
        return path

    def flush(self) -> None:
        """Write the streamed pieces (text and progress) that are still held back in memory."""
        with self._guard:
            self._write_buffered()

    def close(self) -> None:
        """Write the streamed pieces that are held back, and close the file."""
        with self._guard:
            self.closed = True
            self._write_buffered()
            if self._writer is not None:
                self._writer.close()
            self._writer = None
            if self._lock is not None:
                self._lock.release()

    def repair(self, entries: list[Entry]) -> None:
        """Append the entries that `close_runs` made for what a crash left open."""
        with self._guard:
            for entry in entries:
                if "message" in entry:
                    head = {key: value for key, value in entry.items() if key != "message"}
                    line = self._message_line(head, entry["message"])
                else:
                    event: RunEvent = entry["event"]
                    line = _event_line(event, event.seq, 1, self._results, entry)
                self._put(line, sync=entry is entries[-1])

    def _message_line(self, head: Entry, message: Message) -> bytes:
        raw = dict(message)
        if message.role == "tool":
            if message.text == to_text(message.data):
                del raw["text"]
            if message.call_id in self._logged:
                raw["data"] = {
                    key: None if key in RESULT_KEYS else value
                    for key, value in message.data.items()
                }
        return encode({**head, "message": raw})

    def _buffer(
        self, event: events.TextDelta | events.ReasoningDelta | events.ToolProgress
    ) -> None:
        if self._buffered and not _can_join(self._buffered[-1], event):
            self._write_buffered()
        if not self._buffered:
            self._buffered_since = time.monotonic()
        self._buffered.append(event)
        if time.monotonic() - self._buffered_since >= _BUFFER_S:
            self._write_buffered()

    def _write_buffered(self) -> None:
        if not self._buffered:
            return
        held, self._buffered = self._buffered, []
        first, last = held[0], held[-1]
        whole = last
        if isinstance(first, events.TextDelta | events.ReasoningDelta):
            text = "".join(item.text for item in held if isinstance(item, type(first)))
            whole = first.model_copy(update={"text": text})
        self._put(_event_line(whole, first.seq, len(held), ()))

    def _put(self, line: bytes, *, sync: bool = False) -> None:
        if self._writer is not None:
            self._writer.put(line, sync=sync)


def _can_join(before: RunEvent, event: RunEvent) -> bool:
    if isinstance(event, events.ToolProgress) and isinstance(before, events.ToolProgress):
        return before.call_id == event.call_id and before.run_id == event.run_id
    return before.kind == event.kind and before.run_id == event.run_id


def _event_line(
    event: RunEvent, seq: int, count: int, logged: Any, head: Mapping[str, Any] | None = None
) -> bytes:
    """Return an event as a line, without a result that the file already has."""
    raw = {**dict(event), "seq": seq}
    if isinstance(event, events.ToolFinished):
        raw["findings"] = []
        if event.call_id in logged:
            del raw["output"], raw["metadata"]
        del raw["artifacts"]
    counted = {"count": count} if count > 1 else {}
    return encode({"type": "event", **counted, **(head or {}), "event": raw})


def _result_sources(result: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the weights and images that a call's findings name."""
    findings: list[Any] = [item for item in result.get("findings") or () if isinstance(item, dict)]
    weights = {str((item.get("provenance") or {}).get("weights_sha256", "")) for item in findings}
    images = {str((item.get("image") or {}).get("sop_instance_uid", "")) for item in findings}
    return {"weights": sorted(weights - {""}), "sop_instance_uids": sorted(images - {""})}


def _listed(images: object, name: str) -> list[Any]:
    """Return what `RunImages` lists by a method, [] for images that do not have it."""
    method: Any = getattr(images, name, None)
    return [] if method is None else list(method())


def short_title(text: str) -> str:
    """Return a question shortened to a title."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_CHARS else f"{line[: _TITLE_CHARS - 1].rstrip()}…"


def folder_error(path: Path, error: OSError) -> FileProblem:
    """Return the error for a folder that cannot be created."""
    return FileProblem(
        f"the folder cannot be made ({error.strerror or type(error).__name__})",
        subject=str(path),
        remedy="Free space on the disk or set SIGHTLINE_HOME to a folder you may write to.",
    )
