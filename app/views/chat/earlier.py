"""Which earlier questions of a conversation are shown: the last ones, more when they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.agent.events import ToolStarted
from app.agent.sessions import PastRun, Thread
from app.errors import SightlineError
from app.views.background import Background
from app.views.chat.conversation import Conversation
from app.views.chat.message import Notice
from app.views.chat.replay import Replayer
from app.views.chat.run_view import RunActions, RunView

BATCH = 20  # earlier questions shown at once
CARDS = 60  # and cards of their calls: each costs time with every change of the layout


class Earlier:
    """Brings back what was asked before.

    Args:
        conversation: Where it is shown.
        replayer: Fills the views.
        background: Reads the file.
        actions: What buttons do.
        current: The conversation that is shown now.
        tell: Takes what went wrong.
    """

    def __init__(
        self,
        conversation: Conversation,
        replayer: Replayer,
        background: Background,
        actions: RunActions,
        current: Callable[[], Thread | None],
        tell: Callable[[Notice], object],
    ) -> None:
        self._conversation = conversation
        self._replayer = replayer
        self._background = background
        self._actions = actions
        self._current = current
        self._tell = tell
        self._hidden = 0  # earlier questions of the thread that are not shown
        self._reading = False
        conversation.older_wanted.connect(self.more)
        conversation.trimmed.connect(self._on_trimmed)

    def forget(self) -> None:
        """Another conversation will be shown."""
        self._hidden = 0

    def show(self, runs: Sequence[PastRun], thread: Thread) -> None:
        """The last questions of a conversation that was opened."""
        self._hidden = first_shown(runs)
        for place, run in list(enumerate(runs))[self._hidden :]:
            self._replayer.add(self._view(run, place), thread, self._conversation.add_past)
        self._conversation.set_older(self._hidden > 0)

    def more(self) -> None:
        """A few that came before those that are shown."""
        thread = self._current()
        if thread is None or not self._hidden or self._reading:
            return
        self._reading = True

        def show(runs: list[PastRun]) -> None:
            self._reading = False
            if thread is not self._current():
                return
            chosen = list(enumerate(runs[: self._hidden]))[-BATCH // 4 :]
            self._hidden = chosen[0][0] if chosen else 0
            for place, run in reversed(chosen):
                make = self._view(run, place)
                self._replayer.add(make, thread, self._conversation.prepend, first_fill=True)
            self._conversation.set_older(self._hidden > 0)

        def failed(error: SightlineError) -> None:
            self._reading = False
            self._tell(Notice(error.reason, error.remedy, tone="error"))

        self._background.submit(thread.runs, show, failed)

    def _view(self, run: PastRun, place: int) -> Callable[[], RunView]:
        return lambda: RunView(run.question, self._actions, run, place)

    def _on_trimmed(self, run: RunView) -> None:
        if run.run_id or run.past is not None:  # what the runner never got is in no file
            self._hidden += 1
        self._conversation.set_older(self._hidden > 0)


def first_shown(runs: Sequence[PastRun]) -> int:
    """Place of the first of the last questions that are shown when a thread opens."""
    room, place = CARDS, len(runs)
    for run in reversed(runs[-BATCH:]):
        room -= sum(isinstance(event, ToolStarted) for event in run.events)
        if room < 0 and place < len(runs):
            break
        place -= 1
    return place
