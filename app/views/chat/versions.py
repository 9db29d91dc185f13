"""Versions of the shown conversation's questions, and which of its answers are pinned."""

from __future__ import annotations

from collections.abc import Callable

from app.agent.sessions import SessionStore, Thread, Version
from app.errors import SightlineError
from app.views.background import Background
from app.views.chat.conversation import Conversation
from app.views.chat.run_view import RunView


class VersionsAndPins:
    """Reads both from disk in the background, and shows them at the runs.

    Attributes:
        pinned: Called with whether the whole conversation is pinned.
    """

    def __init__(
        self,
        conversation: Conversation,
        background: Background,
        store: SessionStore,
        current: Callable[[], Thread | None],
        open_run: Callable[[str, str], object],
    ) -> None:
        self.pinned: Callable[[bool], object] = lambda _pinned: None
        self._conversation = conversation
        self._background = background
        self._store = store
        self._current = current
        self._open_run = open_run
        self._versions: dict[str, tuple[Version, ...]] = {}
        self._pins: frozenset[str] = frozenset()

    def refresh(self, thread: Thread) -> None:
        """Read both anew for `thread`, which has become the shown one, or has a new run."""

        def work() -> tuple[dict[str, tuple[Version, ...]], frozenset[str]]:
            if thread.folder is None:
                return {}, frozenset()
            return self._store.versions(thread.thread_id), self._store.pins(thread.thread_id)

        def show(found: tuple[dict[str, tuple[Version, ...]], frozenset[str]]) -> None:
            if thread is self._current():
                self._versions, self._pins = found
                self.pinned("" in self._pins)
                for run in self._conversation.runs:
                    self._show_at(run)

        def failed(_error: SightlineError) -> None:
            show(({}, frozenset()))

        self._background.submit(work, show, failed)

    def dress(self, run: RunView) -> None:
        """Show both at a run; a run that has just begun may be a new version of another."""
        self._show_at(run)
        thread = self._current()
        if run.running and thread is not None:
            self.refresh(thread)

    def step(self, run: RunView, step: int) -> None:
        """Show the version of a run's question before it (-1) or after it (1)."""
        versions = self._versions.get(run.run_id, ())
        place = next((at for at, one in enumerate(versions) if one.run_id == run.run_id), -1)
        if place >= 0 and 0 <= place + step < len(versions):
            chosen = versions[place + step]
            self._open_run(chosen.thread_id, chosen.run_id)

    def pin(self, run_id: str, pinned: bool) -> None:
        """Pin or unpin the answer of a run of the shown conversation; "" for all of it."""
        thread = self._current()
        if thread is None or thread.folder is None:
            return
        self._pins = self._pins | {run_id} if pinned else self._pins - {run_id}

        def work() -> None:
            self._store.pin(thread.thread_id, run_id, pinned=pinned)

        # What could not be written is shown as it is on disk.
        self._background.submit(work, lambda _none: None, lambda _error: self.refresh(thread))

    def _show_at(self, run: RunView) -> None:
        versions = self._versions.get(run.run_id, ())
        place = next((at for at, one in enumerate(versions) if one.run_id == run.run_id), 0)
        run.bubble.show_versions(place + 1, len(versions))
        if run.more is not None:
            run.more.set_pinned(run.run_id in self._pins)
