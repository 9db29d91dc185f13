"""Which thread is shown: made, opened or branched off the GUI thread, the last wish winning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.agent.sessions import PastRun, SessionStore, Thread
from app.errors import SightlineError
from app.views.background import Background


@dataclass(frozen=True, slots=True)
class Opened:
    """A thread with what was asked in it.

    Attributes:
        thread: For the questions that come.
        runs: Its questions, the oldest first.
        draft: A question that is to be asked again there, changed perhaps.
        branched: Whether it is a new one that takes the place of the one that is shown.
    """

    thread: Thread
    runs: list[PastRun] = field(default_factory=list[PastRun])
    draft: str = ""
    branched: bool = False


class Threads(QObject):
    """The thread that is shown, and the way to another one.

    Args:
        store: The threads on disk.
        background: Reads and writes files.
        parent: Qt parent.

    Attributes:
        opened: An `Opened`; its thread is `current` now.
        failed: The SightlineError for which no thread was opened, and the thread's id; "" where a
            new one was to be made.
    """

    opened = Signal(object)
    failed = Signal(object, str)

    def __init__(
        self, store: SessionStore, background: Background, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.current: Thread | None = None
        self._store = store
        self._background = background
        self._turn = 0  # answers to earlier wishes are dropped
        self._busy = False

    @property
    def busy(self) -> bool:
        """Whether a thread is being made or read."""
        return self._busy

    def leave(self) -> None:
        """Show none; what is under way is dropped."""
        self._turn += 1
        self._busy = False
        self.current = None

    def make(self) -> None:
        """Start a new thread, unless one is on its way."""
        if not self._busy:
            self._submit(lambda: Opened(self._store.new_thread()), "")

    def open(self, thread_id: str) -> None:
        """Open an earlier one."""

        def work() -> Opened:
            thread = self._store.open(thread_id)
            return Opened(thread, thread.runs())

        self.leave()
        self._submit(work, thread_id)

    def branch(self, thread_id: str, find: Callable[[list[PastRun]], int], draft: str) -> None:
        """Open a new thread with all that one held before a question; until then nothing changes.

        Args:
            thread_id: The thread to branch from.
            find: Given its questions, says before which of them to branch.
            draft: What is to be asked in the new one.
        """

        def work() -> Opened:
            runs = self._store.read(thread_id).runs()
            branched = self._store.branch(thread_id, find(runs))
            return Opened(branched, branched.runs(), draft, branched=True)

        self._submit(work, thread_id)

    def _submit(self, work: Callable[[], Opened], thread_id: str) -> None:
        self._turn += 1
        turn = self._turn
        self._busy = True

        def answer(take: Callable[[Any], object], result: Any) -> None:
            if turn == self._turn:
                self._busy = False
                take(result)

        def failed(error: SightlineError) -> None:
            answer(lambda error: self.failed.emit(error, thread_id), error)

        self._background.submit(work, lambda result: answer(self._take, result), failed)

    def _take(self, opened: Opened) -> None:
        self.current = opened.thread
        self.opened.emit(opened)
