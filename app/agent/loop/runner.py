"""The runner: answers questions one after another on a thread with its own asyncio loop. No Qt."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from app.agent.events import TERMINAL, ApprovalRequested, RunCancelled, RunEvent, RunFailed
from app.agent.loop.agent_loop import AgentLoop
from app.agent.loop.emitter import utc_now
from app.agent.loop.tool_execution import log_unexpected
from app.agent.request import Decision, PlanEdit, PlanEdits, Question
from app.errors import unexpected
from app.tools.api import CancelToken

_log = logging.getLogger(__name__)
CLOSE_TIMEOUT_S = 3.0


@dataclass(slots=True)
class _Job:
    run_id: str
    question: Question
    loop: AgentLoop
    cancel: CancelToken = field(default_factory=CancelToken)
    stop_after_tool: CancelToken = field(default_factory=CancelToken)
    edits: PlanEdits = field(default_factory=PlanEdits)


class AgentRunner:
    """A queue of questions and the worker thread that answers them.

    All methods may be called from any thread. `on_event` is called on the worker thread. An
    exception that `on_event` raises is logged and does not stop the run.
    """

    def __init__(self, loop: AgentLoop, on_event: Callable[[RunEvent], None]) -> None:
        self._agent = loop
        self._on_event = on_event
        self._lock = threading.Lock()
        self._queue: deque[_Job] = deque()
        self._current: _Job | None = None
        self._approvals: dict[str, asyncio.Future[Decision]] = {}
        self._thread: threading.Thread | None = None
        self._asyncio: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.Event | None = None
        self._ready = threading.Event()
        self._closing = False

    def start(self) -> None:
        """Start the worker thread; a second call does nothing."""
        with self._lock:
            if self._thread is not None:
                return
            self._thread = threading.Thread(target=self._main, name="agent", daemon=True)
            self._thread.start()
        self._ready.wait()

    def use(self, loop: AgentLoop) -> None:
        """Use another loop (another model) for questions asked from now on."""
        self._agent = loop

    def ask(self, question: Question, run_id: str = "") -> str:
        """Queue a question and return its run id. It runs after the questions queued before it.

        Raises:
            RuntimeError: The runner has not been started or is closed.
        """
        job = _Job(run_id or uuid4().hex, question, self._agent)
        with self._lock:
            if self._thread is None or self._closing:
                raise RuntimeError("the agent runner is not running")
            self._queue.append(job)
        self._nudge()
        return job.run_id

    def cancel(self, run_id: str, *, after_tool: bool = False) -> bool:
        """Stop a run, or remove it from the queue; a removed run has only one event, run_cancelled.

        With `after_tool`, tool calls that are running may end first; a later `cancel` without
        `after_tool` stops the run at once.

        Returns:
            True if the run was in progress or queued.
        """
        with self._lock:
            job = self._current
            if job is None or job.run_id != run_id:
                job = next((item for item in self._queue if item.run_id == run_id), None)
        if job is None:
            return False
        (job.stop_after_tool if after_tool and job is self._current else job.cancel).cancel()
        self._nudge()
        return True

    def resolve(self, approval_id: str, decision: Decision | bool) -> None:
        """Answer an approval request; does nothing if it is unknown or already answered."""
        answered = decision if isinstance(decision, Decision) else Decision(granted=decision)

        def answer() -> None:
            future = self._approvals.pop(approval_id, None)
            if future is not None and not future.done():
                future.set_result(answered)

        self._on_loop(answer)

    def edit_plan(self, run_id: str, edit: PlanEdit) -> None:
        """Edit the plan of the run in progress; does nothing if that is another or none."""

        def take() -> None:
            job = self._current
            if job is not None and job.run_id == run_id:
                job.edits.take(edit)

        self._on_loop(take)

    @property
    def running(self) -> str:
        """Return the id of the run in progress, or "" if there is none."""
        job = self._current
        return job.run_id if job is not None else ""

    def close(self) -> None:
        """Cancel all runs and end the thread, waiting for it a few seconds at most."""
        with self._lock:
            thread, self._closing = self._thread, True
            jobs = [*self._queue, *([self._current] if self._current else [])]
        for job in jobs:
            job.cancel.cancel()
        self._nudge()
        if thread is not None and thread is not threading.current_thread():
            thread.join(CLOSE_TIMEOUT_S)
            if thread.is_alive():
                _log.warning("The agent's thread did not end in time")

    def _main(self) -> None:
        try:
            asyncio.run(self._work())
        finally:
            self._asyncio = None
            self._ready.set()

    async def _work(self) -> None:
        self._wake = asyncio.Event()
        self._asyncio = asyncio.get_running_loop()
        self._ready.set()
        while True:
            self._drop_cancelled()
            with self._lock:
                job = self._current = self._queue.popleft() if self._queue else None
                if job is None and self._closing:
                    return
            if job is None:
                await self._wake.wait()
                self._wake.clear()
                continue
            try:
                await self._answer(job)
            finally:
                with self._lock:
                    self._current = None

    async def _answer(self, job: _Job) -> None:
        watcher = asyncio.create_task(self._watch_queue())
        seq, ended = 0, False
        stops = (job.cancel, job.stop_after_tool)
        request = job.question.request(job.run_id, self._approve, *stops, job.edits)
        try:
            async for event in job.loop.run(request):
                seq, ended = event.seq + 1, event.kind in TERMINAL
                self._tell(event)
        except Exception as error:
            log_unexpected("The agent loop broke its promise", error)
            if not ended:
                # Whoever asked waits for the end of the run.
                told = unexpected(error)
                reason, run_id, now = f"{told.reason}.", job.run_id, utc_now()
                end = RunFailed(run_id=run_id, seq=seq, time=now, error=reason, remedy=told.remedy)
                self._tell(end)
        finally:
            watcher.cancel()
            self._approvals.clear()

    async def _watch_queue(self) -> None:
        """Report questions that are cancelled in the queue, without waiting for the current one."""
        assert self._wake is not None
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._drop_cancelled()

    def _drop_cancelled(self) -> None:
        with self._lock:
            dropped = [job for job in self._queue if job.cancel.cancelled]
            self._queue = deque(job for job in self._queue if not job.cancel.cancelled)
        for job in dropped:
            self._tell(RunCancelled(run_id=job.run_id, seq=0, time=utc_now()))

    async def _approve(self, event: ApprovalRequested) -> Decision:
        future: asyncio.Future[Decision] = asyncio.get_running_loop().create_future()
        self._approvals[event.approval_id] = future
        try:
            return await future
        finally:
            self._approvals.pop(event.approval_id, None)

    def _tell(self, event: RunEvent) -> None:
        try:
            self._on_event(event)
        except Exception as error:
            log_unexpected("An event could not be delivered", error)

    def _nudge(self) -> None:
        wake = self._wake
        if wake is not None:
            self._on_loop(wake.set)

    def _on_loop(self, work: Callable[[], None]) -> None:
        loop = self._asyncio
        if loop is None:
            return
        try:
            loop.call_soon_threadsafe(work)
        except RuntimeError:
            _log.debug("The agent's loop has ended")
