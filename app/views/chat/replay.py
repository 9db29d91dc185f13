"""Earlier questions of a thread, shown like they were when they ran, a little at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.agent.events import RunCancelled, RunEvent, ToolFinished
from app.agent.sessions import PastRun, Thread
from app.imaging.findings import Finding
from app.tools.api import Artifact
from app.views.chat.run_view import RunView

SLICE_S = 0.008  # GUI time a turn of the event loop; a card takes a few ms

FindingsOf = Callable[[str], list[Finding]]
Show = Callable[[RunView], object]


@dataclass(slots=True)
class _Job:
    view: RunView
    events: Iterator[RunEvent]
    show: Show | None
    first_fill: bool

    def put_on_screen(self) -> None:
        if self.show is not None:
            show, self.show = self.show, None
            show(self.view)


class Replayer(QObject):
    """Feeds views with the events of earlier runs without stalling the window.

    Args:
        findings_of: Findings of a call that are still open, by call_id.
        parent: Qt parent.
    """

    def __init__(self, findings_of: FindingsOf, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._findings_of = findings_of
        self._waiting: deque[_Job] = deque()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._work)

    @property
    def busy(self) -> bool:
        """Whether something is still to be shown."""
        return bool(self._waiting)

    def add(self, view: RunView, thread: Thread, show: Show, *, first_fill: bool = False) -> None:
        """Fill `view` with its `past`, and put it on screen with `show(view)` when its turn comes.

        Args:
            view: An empty view.
            thread: What it belongs to.
            show: Puts it on screen.
            first_fill: Show it whole, so that what is below moves once.
        """
        self._waiting.append(_Job(view, self._events(view, thread.folder), show, first_fill))
        self._timer.start()

    def show_all(self) -> None:
        """Put every view on screen: what comes next stands below them. They fill up later."""
        for job in self._waiting:
            job.put_on_screen()

    def clear(self) -> None:
        """Show nothing more."""
        for job in self._waiting:
            if job.show is not None:  # it has no parent yet
                job.view.deleteLater()
        self._waiting.clear()
        self._timer.stop()

    def _work(self) -> None:
        until = time.perf_counter() + SLICE_S
        while self._waiting and time.perf_counter() < until:
            job = self._waiting[0]
            if not job.first_fill:
                job.put_on_screen()
            event = next(job.events, None)
            if event is not None:
                job.view.handle(event)
                continue
            job.put_on_screen()
            self._waiting.popleft()
        if self._waiting:
            self._timer.start()

    def _events(self, view: RunView, folder: Path | None) -> Iterator[RunEvent]:
        run = view.past or PastRun("", view.question)
        for event in run.events:
            if isinstance(event, ToolFinished):
                found = self._findings_of(event.call_id) if event.status == "ok" else []
                pictures = [item for item in _pictures(event) if _inside(item.path, folder)]
                changed = {"findings": found, "artifacts": pictures}
                yield event.model_copy(update=changed)
            else:
                yield event
        if run.state == "running":  # its end is still to be written, and shown elsewhere
            yield RunCancelled(run_id=run.run_id, seq=run.next_seq, time="")


def _pictures(event: ToolFinished) -> list[Artifact]:
    """What a call made; a file of the first version names its pictures in the output only."""
    if event.artifacts or event.run_id or event.status != "ok":
        return event.artifacts
    named = [value for key, value in event.output.items() if str(key).endswith("image_path")]
    return [Artifact(Path(value)) for value in named if isinstance(value, str)]


def _inside(path: Path, folder: Path | None) -> bool:
    """Whether a picture lies in the thread's folder: a session file may name anything."""
    return (
        folder is not None
        and path.is_absolute()
        and ".." not in path.parts
        and path.is_relative_to(folder)
    )
