"""Emission of a run's events, numbered without gaps, whatever the emitting code does.

Every started call is finished, and exactly one terminal event comes last.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from app.agent.events import (
    TERMINAL,
    ApprovalRequested,
    Noted,
    RunCancelled,
    RunEvent,
    RunFailed,
    ToolFinished,
    ToolProgress,
    ToolStarted,
)

PROGRESS_INTERVAL_S = 0.05
_SHOWN: dict[Callable[..., RunEvent], tuple[str, ...]] = {
    ApprovalRequested: ("title", "detail"),
    Noted: ("text",),
    RunFailed: ("error", "remedy"),
    ToolFinished: ("error", "refused"),
}
"""The texts of events that tools and rules write for models, too, and users are shown."""


def utc_now() -> str:
    """Return the current time as ISO 8601 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Emitter:
    """Numbers, records and queues the events of a run. Call its methods only on the loop's thread.

    `record` is called with each event before the event is queued. It must not raise; it returns why
    the audit log is incomplete, or "" or None if the log is complete. `for_people` returns a text
    as users are told it.
    """

    def __init__(
        self,
        run_id: str,
        record: Callable[[RunEvent], str | None] | None = None,
        for_people: Callable[[str], str] = str,
    ) -> None:
        self._run_id = run_id
        self._record = record
        self._for_people = for_people
        self.unaudited = ""
        """Why the audit log does not hold all that was emitted; nothing that acts may go on."""
        self._warned = False
        self._seq = 0
        self._open: dict[str, str] = {}
        self.closed = False
        """True once the terminal event was emitted."""
        self._queue: asyncio.Queue[RunEvent] = asyncio.Queue()

    async def next(self) -> RunEvent:
        """Wait for the next event and return it; `taken` says when its consumer has it."""
        return await self._queue.get()

    def taken(self) -> None:
        """Count an event of `next` as delivered."""
        self._queue.task_done()

    async def delivered(self) -> None:
        """Wait until the consumer has all events that were emitted so far."""
        await self._queue.join()

    def emit(self, kind: Callable[..., RunEvent], **fields: Any) -> None:
        """Queue an event of class `kind` with these fields; do nothing after the terminal event."""
        if self.closed:
            return
        for name in _SHOWN.get(kind, ()):
            if name in fields:
                fields[name] = self._for_people(fields[name])
        event = kind(run_id=self._run_id, seq=self._seq, time=utc_now(), **fields)
        if event.kind in TERMINAL:
            if self._open:
                self._close_calls("failed", "The run ended before this call did.")
                self.emit(kind, **fields)
                return
            self.closed = True
        elif isinstance(event, ToolStarted):
            self._open[event.call_id] = event.tool
        elif isinstance(event, ToolFinished):
            self._open.pop(event.call_id, None)
        self._seq += 1
        if self._record is not None:
            self.unaudited = self._record(event) or ""
        self._queue.put_nowait(event)
        if self.unaudited and not self._warned:
            self._warned = True
            self.emit(Noted, text=f"{self.unaudited} Nothing is sent or changed meanwhile.")

    def fail(self, error: str, remedy: str = "") -> None:
        """Emit run_failed, preceded by a tool_finished for each call that is still running."""
        self.emit(RunFailed, error=error, remedy=remedy)

    def cancel(self) -> None:
        """Emit run_cancelled, preceded by a tool_finished for each call that is still running."""
        self._close_calls("cancelled", "Stopped.")
        self.emit(RunCancelled)

    def _close_calls(self, status: str, text: str) -> None:
        for call_id, tool in list(self._open.items()):
            self.emit(
                ToolFinished, call_id=call_id, tool=tool, status=status, summary=text, error=text
            )


class ProgressGate:
    """Passes progress reports from a tool's thread to the loop, at most about 20 per second.

    Tools may report progress for each row of pixels. To spare the user interface, only the latest
    report in each interval is emitted; the last report is always emitted.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, emitter: Emitter, call_id: str, tool: str
    ) -> None:
        self._loop = loop
        self._emitter = emitter
        self._call_id = call_id
        self._tool = tool
        self._lock = threading.Lock()
        self._latest: tuple[float, str] | None = None
        self._scheduled = False
        self._closed = False
        self._last_emit = float("-inf")

    def __call__(self, fraction: float, text: str) -> None:
        """Report progress; may be called from any thread."""
        with self._lock:
            self._latest = (float(fraction), str(text))
            if self._scheduled or self._closed:
                return
            self._scheduled = True
        try:
            self._loop.call_soon_threadsafe(self._arm)
        except RuntimeError:  # the loop is closed: the run is over and nobody listens
            self._closed = True

    def close(self) -> None:
        """Emit the pending report, if any, and ignore later ones.

        Call this on the loop's thread when the tool call ends.
        """
        self._flush()
        with self._lock:
            self._closed = True

    def _arm(self) -> None:
        wait_s = self._last_emit + PROGRESS_INTERVAL_S - self._loop.time()
        if wait_s <= 0:
            self._flush()
        else:
            self._loop.call_later(wait_s, self._flush)

    def _flush(self) -> None:
        with self._lock:
            latest, self._latest = self._latest, None
            self._scheduled = False
            if latest is None or self._closed:
                return
        self._last_emit = self._loop.time()
        fraction, text = latest
        bounded = min(1.0, max(0.0, fraction)) if math.isfinite(fraction) else 0.0
        self._emitter.emit(
            ToolProgress, call_id=self._call_id, tool=self._tool, fraction=bounded, text=text
        )
