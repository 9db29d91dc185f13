"""Connects the window to the agent: sends questions and delivers events on the GUI thread.

The runner's events arrive on another thread and are queued. The GUI thread takes a few at a time
and joins streamed text, so that many events at once do not stall the window.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice
from typing import Any, Protocol

from PySide6.QtCore import QObject, Qt, QTimer, Signal

from app.agent.events import (
    TERMINAL,
    ReasoningDelta,
    RunEvent,
    RunFailed,
    TextDelta,
    ToolFinished,
    ToolProgress,
)
from app.agent.request import Decision, PlanEdit
from app.errors import SightlineError
from app.log import get_logger
from app.views.translation import tr
from app.workspace.workspace import Workspace

BATCH_MS = 30  # the longest that events wait: not noticeable, yet several tokens arrive in it
SLICE_S = 0.008  # GUI time of a batch before other GUI events get their turn
JOINED_CHARS = 4_000  # of streamed text in one event: bounds the work of one slot call
LOOKED_AHEAD = 64  # events searched for a newer progress report of the same call

_log = get_logger(__name__)


class Runner(Protocol):
    """What `AgentThread` needs of the object that runs questions, i.e. of `AgentRunner`."""

    def start(self) -> None: ...
    def ask(self, question: Any) -> str: ...
    def cancel(self, run_id: str, *, after_tool: bool = False) -> object: ...
    def resolve(self, approval_id: str, decision: Decision | bool) -> None: ...
    def edit_plan(self, run_id: str, edit: PlanEdit) -> None: ...
    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the user, with the runner's request for it or the error from building that."""

    number: int
    text: str
    thread: Any
    request: Any  # for the runner, or the SightlineError that building it raised
    about: str = ""  # SOP Instance UID of the image that was shown when it was asked


class AgentThread(QObject):
    """Sends questions to a runner one after another and delivers its events on the GUI thread.

    Args:
        make_runner: Creates the runner without starting it. Its argument is the callback that
            receives the runner's events.
        make_request: `make_request(text, thread)` builds the request for the runner. It is called
            as soon as the user asks a question, even while another question runs, so that a queued
            question refers to the images that were open when it was asked.
        results: The workspace to which an event's findings and pictures are added, before
            `run_event` is emitted; None to add them nowhere.

    Attributes:
        run_event: Emitted with each RunEvent in order. Adjacent pieces of text are joined and
            outdated progress reports are left out, so the events' `seq` may skip numbers.
    """

    run_event = Signal(object)
    asked = Signal(object)  # the Question handed to the runner, before its events
    changed = Signal()  # `busy`, `stopping` or `pending`
    run_ended = Signal(str, str)  # run id, kind of the last event; after `run_event`
    _arrived = Signal()

    def __init__(
        self,
        make_runner: Callable[[Callable[[RunEvent], None]], Runner],
        make_request: Callable[[str, Any], Any],
        results: Workspace | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._make_request = make_request
        self._results = results
        self._inbox: deque[RunEvent] = deque()
        self._lock = threading.Lock()
        self._notified = False  # the GUI thread knows that the inbox is not empty
        self._closed = False
        self._numbers = count(1)
        self._pending: list[Question] = []
        self._current: Question | None = None
        self._run_id = ""
        self._stopping = ""
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._drain)
        self._arrived.connect(self._on_arrived, Qt.ConnectionType.QueuedConnection)
        self._runner = make_runner(self.receive)

    @property
    def busy(self) -> bool:
        return self._current is not None

    @property
    def stopping(self) -> str:
        """How the run stops: "now", "after_tool" (after its running calls), "" (not at all)."""
        return self._stopping

    @property
    def pending(self) -> tuple[Question, ...]:
        return tuple(self._pending)

    def is_idle(self) -> bool:
        """Return whether no question is running or queued, and all events have been delivered."""
        return self._current is None and not self._pending and not self._inbox

    @property
    def caught_up(self) -> bool:
        """Whether all events that have arrived so far have been delivered."""
        return not self._inbox

    def ask(self, text: str, thread: Any) -> Question:
        """Send a question in conversation `thread`, or queue it if another runs; return it."""
        try:
            request = self._make_request(text, thread)
        except SightlineError as error:
            request = error
        shown = self._results.acquired if self._results is not None else None
        about = shown.sop_instance_uid if shown is not None else ""
        question = Question(next(self._numbers), text, thread, request, about)
        self._pending.append(question)
        self._next()
        self.changed.emit()
        return question

    def remove(self, number: int) -> None:
        """Remove the queued question with this `number`; do nothing if it is already running."""
        self._pending = [item for item in self._pending if item.number != number]
        self.changed.emit()

    def clear_pending(self) -> None:
        self._pending.clear()
        self.changed.emit()

    def stop(self, *, after_tool: bool = False) -> None:
        """Stop the run now or after its calls, which a second call cuts short; the next starts."""
        if self._current is None or self._stopping == "now" or (after_tool and self._stopping):
            return
        self._stopping = "after_tool" if after_tool else "now"
        self._runner.cancel(self._run_id, after_tool=after_tool)
        self.changed.emit()

    def resolve(self, approval_id: str, decision: Decision | bool) -> None:
        if not self._closed:
            self._runner.resolve(approval_id, decision)

    def edit_plan(self, edit: PlanEdit) -> None:
        """Change the plan of the run that goes on."""
        if self._run_id and not self._closed:
            self._runner.edit_plan(self._run_id, edit)

    def close(self) -> None:
        """Stop the run, clear the queue and end the runner; no event is delivered afterwards."""
        if self._closed:
            return
        with self._lock:
            self._closed = True
            self._inbox.clear()
        self._timer.stop()
        self._pending.clear()
        self._runner.close()

    def receive(self, event: RunEvent) -> None:
        """Queue an event of the runner for delivery; may be called on any thread."""
        with self._lock:
            if self._closed:
                return
            self._inbox.append(event)
            notify, self._notified = not self._notified, True
        if notify:
            try:
                self._arrived.emit()
            except RuntimeError:  # Qt deleted this object while the runner still sent events
                self._closed = True

    def _on_arrived(self) -> None:
        if not self._closed and not self._timer.isActive():
            self._timer.start(BATCH_MS)

    def _drain(self) -> None:
        until = time.perf_counter() + SLICE_S
        while not self._closed:
            event = self._take()
            if event is None:
                return
            self._deliver(event)
            if time.perf_counter() >= until:
                self._timer.start(0)
                return

    def _take(self) -> RunEvent | None:
        """Return the next event, joined with text that follows it; None if there is none."""
        with self._lock:
            if not self._inbox:
                self._notified = False
                return None
            event = self._inbox.popleft()
            if isinstance(event, (TextDelta, ReasoningDelta)):
                return _joined(event, self._inbox)
            while isinstance(event, ToolProgress) and _is_outdated(event, self._inbox):
                event = self._inbox.popleft()
            return event

    def _deliver(self, event: RunEvent) -> None:
        if isinstance(event, ToolFinished) and self._results is not None:
            try:
                about = self._current.about if self._current is not None else ""
                with self._results.commands.of_run(event.run_id):
                    self._results.take_results(
                        event.tool, event.findings, event.artifacts, about, event.output
                    )
            except Exception:  # a result that cannot be shown must not end the run
                _log.exception("the results of a tool call could not be shown")
        self.run_event.emit(event)
        if event.kind in TERMINAL and event.run_id == self._run_id:
            self._end(event)

    def _end(self, event: RunEvent) -> None:
        self._current = None
        self._run_id = ""
        self._stopping = ""
        self.run_ended.emit(event.run_id, event.kind)
        self._next()
        self.changed.emit()

    def _next(self) -> None:
        if self._current is not None or not self._pending or self._closed:
            return
        question = self._pending.pop(0)
        self._current = question
        self.asked.emit(question)
        if isinstance(question.request, SightlineError):
            self._fail(question, question.request.reason, question.request.remedy)
            return
        self._runner.start()
        try:
            self._run_id = self._runner.ask(question.request)
        except (SightlineError, RuntimeError) as error:
            _log.warning("a question could not be handed over (%s)", type(error).__name__)
            remedy = tr("Close Sightline and start it again.")
            self._fail(question, tr("The assistant is not running."), remedy)

    def _fail(self, question: Question, reason: str, remedy: str) -> None:
        """End a question that never reached the runner like a run that failed."""
        run_id = self._run_id = f"not-run-{question.number}"
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.receive(RunFailed(run_id=run_id, seq=0, time=now, error=reason, remedy=remedy))


def _joined(event: TextDelta | ReasoningDelta, inbox: deque[RunEvent]) -> RunEvent:
    """Return `event` joined with the pieces of the same kind that follow it directly.

    An event of another kind ends it: a `ModelRetry` withdraws the text since the last event, which
    must therefore not be joined with older text.
    """
    pieces, size, last = [event.text], len(event.text), event
    while inbox and size < JOINED_CHARS:
        following = inbox[0]
        if not isinstance(following, type(event)) or following.run_id != event.run_id:
            break
        inbox.popleft()
        pieces.append(following.text)
        size += len(following.text)
        last = following
    return last.model_copy(update={"text": "".join(pieces)}) if len(pieces) > 1 else event


def _is_outdated(event: ToolProgress, inbox: Iterable[RunEvent]) -> bool:
    """Return whether a newer report of the call follows, with only progress reports between."""
    for following in islice(inbox, LOOKED_AHEAD):
        if not isinstance(following, ToolProgress):
            return False
        if following.call_id == event.call_id:
            return True
    return False
