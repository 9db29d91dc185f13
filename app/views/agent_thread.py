"""The agent as the window sees it: questions go in, events come out on the GUI thread, in order.

The runner calls back on its own thread. Here its events are put into an inbox, taken out in small
batches on the GUI thread, and streamed text is joined: a flood of events costs no stall.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
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
from app.agent.request import Decision
from app.errors import SightlineError
from app.imaging.findings import Finding
from app.log import get_logger
from app.tools.api import Artifact

BATCH_MS = 30  # events wait this long at most; faster than the eye, slower than tokens come
SLICE_S = 0.008  # GUI time a batch may take before other GUI events get their turn
JOINED_CHARS = 4_000  # streamed text joined into one event; bounds the work of one slot call
LOOKED_AHEAD = 64  # progress reports that are looked through for a newer one of the same call

_log = get_logger(__name__)


class Runner(Protocol):
    """What runs the questions: `app.agent.loop.runner.AgentRunner`. Called on the GUI thread."""

    def start(self) -> None:
        """Start its thread."""
        ...

    def ask(self, question: Any) -> str:
        """Start a run; returns its run_id at once."""
        ...

    def cancel(self, run_id: str, *, after_tool: bool = False) -> object:
        """Stop that run, at once or after the calls that run now."""
        ...

    def resolve(self, approval_id: str, decision: Decision | bool) -> None:
        """The user's answer to an approval request."""
        ...

    def close(self) -> None:
        """Stop everything and join the thread."""
        ...


class Results(Protocol):
    """Takes what tools brought: the workspace."""

    def take_results(
        self, tool: str, findings: Sequence[Finding], artifacts: Sequence[Artifact]
    ) -> None:
        """Show the findings and artifacts of one call."""
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the request that was frozen when it was asked.

    Attributes:
        number: Unique, rising.
        text: The user's text.
        thread: The conversation it belongs to.
        request: For the runner, or the error that came of making it.
    """

    number: int
    text: str
    thread: Any
    request: Any


OnEvent = Callable[[RunEvent], None]
MakeRunner = Callable[[OnEvent], Runner]
MakeRequest = Callable[[str, Any], Any]


class AgentThread(QObject):
    """Sends questions to a runner one after another and brings its events to the GUI thread.

    Args:
        make_runner: Given the callback for events, returns the runner (not started).
        make_request: `make_request(question, thread)`: freezes what is open now for the runner.
            Called on the GUI thread when the question is asked, also while another one runs: a
            waiting question is about what was on screen when it was asked.
        results: Takes findings and artifacts, on the GUI thread, before `run_event` tells of them.
        parent: Qt parent.

    Attributes:
        run_event: Each RunEvent in order. Adjacent pieces of text are joined and overtaken progress
            reports are left out, so `seq` may jump here (never backwards).
        asked: A Question was handed to the runner; its events follow.
        changed: Busy, stopping or the queue changed.
        run_ended: run_id and the kind of the terminal event, after `run_event` told of it.
    """

    run_event = Signal(object)
    asked = Signal(object)
    changed = Signal()
    run_ended = Signal(str, str)
    _arrived = Signal()

    def __init__(
        self,
        make_runner: MakeRunner,
        make_request: MakeRequest,
        results: Results | None = None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._make_request = make_request
        self._results = results
        self._inbox: deque[RunEvent] = deque()
        self._lock = threading.Lock()
        self._told = False  # the GUI thread knows that the inbox is not empty
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
        self._started = False

    @property
    def busy(self) -> bool:
        """Whether a question was sent and its run has not ended."""
        return self._current is not None

    @property
    def stopping(self) -> str:
        """How the run was told to stop that has not ended: "", "now" or "after_tool"."""
        return self._stopping

    @property
    def pending(self) -> tuple[Question, ...]:
        """Questions that wait, the next one first."""
        return tuple(self._pending)

    @property
    def current(self) -> Question | None:
        """The question that runs, or None."""
        return self._current

    def is_idle(self) -> bool:
        """Whether nothing runs, waits or is still to be shown."""
        return self._current is None and not self._pending and not self._inbox

    def start(self) -> None:
        """Start the runner's thread; called by itself with the first question."""
        if not self._started and not self._closed:
            self._started = True
            self._runner.start()

    def ask(self, text: str, thread: Any) -> Question:
        """Send a question, or queue it behind the one that runs."""
        try:
            request = self._make_request(text, thread)
        except SightlineError as error:
            request = error
        question = Question(next(self._numbers), text, thread, request)
        self._pending.append(question)
        self._next()
        self.changed.emit()
        return question

    def remove(self, number: int) -> None:
        """Take a waiting question back; nothing happens when it runs already."""
        self._pending = [item for item in self._pending if item.number != number]
        self.changed.emit()

    def clear_pending(self) -> None:
        """Take all waiting questions back."""
        self._pending.clear()
        self.changed.emit()

    def stop(self, *, after_tool: bool = False) -> None:
        """Stop the run, at once or after the calls that run now; waiting questions start after it.

        Whoever waits for a call to end may still stop at once.
        """
        if self._current is None or self._stopping == "now" or (after_tool and self._stopping):
            return
        self._stopping = "after_tool" if after_tool else "now"
        self._runner.cancel(self._run_id, after_tool=after_tool)
        self.changed.emit()

    def resolve(self, approval_id: str, decision: Decision | bool) -> None:
        """Hand the user's answer to the runner."""
        if not self._closed:
            self._runner.resolve(approval_id, decision)

    def close(self) -> None:
        """Stop everything and join the thread; no event comes out after this."""
        if self._closed:
            return
        with self._lock:
            self._closed = True
            self._inbox.clear()
        self._timer.stop()
        self._pending.clear()
        if self._started:
            self._runner.close()

    def receive(self, event: RunEvent) -> None:
        """Take an event from the runner; from any thread."""
        with self._lock:
            if self._closed:
                return
            self._inbox.append(event)
            tell, self._told = not self._told, True
        if tell:
            try:
                self._arrived.emit()
            except RuntimeError:  # Qt deleted this object while the runner was still speaking
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
        """The next event, with those after it that it can be joined with."""
        with self._lock:
            if not self._inbox:
                self._told = False
                return None
            event = self._inbox.popleft()
            if isinstance(event, (TextDelta, ReasoningDelta)):
                return _joined(event, self._inbox)
            while isinstance(event, ToolProgress) and _overtaken(event, self._inbox):
                event = self._inbox.popleft()
            return event

    def _deliver(self, event: RunEvent) -> None:
        if isinstance(event, ToolFinished) and self._results is not None:
            try:
                self._results.take_results(event.tool, event.findings, event.artifacts)
            except Exception:  # a result that cannot be shown must not end the conversation
                _log.exception("the results of a tool call could not be shown")
        self.run_event.emit(event)
        if event.kind in TERMINAL and event.run_id == self._run_id:
            self._ended(event)

    def _ended(self, event: RunEvent) -> None:
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
        self.start()
        try:
            self._run_id = self._runner.ask(question.request)
        except (SightlineError, RuntimeError) as error:
            _log.warning("a question could not be handed over (%s)", type(error).__name__)
            remedy = "Close Sightline and start it again."
            self._fail(question, "The assistant is not running.", remedy)

    def _fail(self, question: Question, reason: str, remedy: str) -> None:
        """End a question that the runner never got, the way that runs end."""
        run_id = self._run_id = f"not-run-{question.number}"
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.receive(RunFailed(run_id=run_id, seq=0, time=now, error=reason, remedy=remedy))


def _joined(event: TextDelta | ReasoningDelta, inbox: deque[RunEvent]) -> RunEvent:
    """`event` with the pieces of the same kind that follow it at once.

    Never across an event of another kind: a `ModelRetry` takes back what was streamed since the
    last one, so nobody may find older and newer text in one piece.
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


def _overtaken(event: ToolProgress, inbox: Iterable[RunEvent]) -> bool:
    """Whether a newer report of the same call waits, with only reports of other calls between."""
    for following in islice(inbox, LOOKED_AHEAD):
        if not isinstance(following, ToolProgress):
            return False
        if following.call_id == event.call_id:
            return True
    return False
