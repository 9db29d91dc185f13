"""Earlier questions of a thread, shown like they were when they ran, a little at a time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.agent.events import ApprovalRequested, RunCancelled, RunEvent, ToolFinished
from app.agent.sessions import PastRun, Thread
from app.imaging.findings import Finding
from app.tools.api import Artifact
from app.views.chat.run_view import RunView

SLICE_S = 0.008  # GUI time a turn of the event loop; a card takes a few ms

FindingsOf = Callable[[str], list[Finding]]
Show = Callable[[RunView], object]


@dataclass(slots=True)
class _Job:
    """A view to fill; it is made and put on screen when its turn comes."""

    make: Callable[[], RunView]
    show: Show
    thread: Thread
    first_fill: bool
    view: RunView | None = None
    events: Iterator[RunEvent] | None = None
    shown: bool = False

    def put_on_screen(self) -> None:
        if self.view is not None and not self.shown:
            self.shown = True
            self.show(self.view)


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

    def add(
        self, make: Callable[[], RunView], thread: Thread, show: Show, *, first_fill: bool = False
    ) -> None:
        """Make a view when its turn comes, put it on screen and fill it with its `past`.

        Args:
            make: Makes the empty view.
            thread: What it belongs to.
            show: Puts it on screen.
            first_fill: Show it whole, so that what is below moves once.
        """
        self._waiting.append(_Job(make, show, thread, first_fill))
        self._timer.start()

    def clear(self) -> None:
        """Show nothing more."""
        for job in self._waiting:
            if job.view is not None and not job.shown:  # it has no parent yet
                job.view.deleteLater()
        self._waiting.clear()
        self._timer.stop()

    def _work(self) -> None:
        until = time.perf_counter() + SLICE_S
        while self._waiting and time.perf_counter() < until:
            if self._step(self._waiting[0]):
                self._waiting.popleft()
        if self._waiting:
            self._timer.start()

    def _step(self, job: _Job) -> bool:
        """A little of a job; True when it is done."""
        if job.view is None or job.events is None:
            job.view = job.make()
            job.events = self._events(job.view, job.thread.folder)
            if not job.first_fill:
                job.put_on_screen()
            return False
        event = next(job.events, None)
        if event is not None:
            job.view.handle(event)
            return False
        job.put_on_screen()
        return True

    def _events(self, view: RunView, folder: Path | None) -> Iterator[RunEvent]:
        run = view.past or PastRun("", view.question)
        for event in run.events:
            if isinstance(event, ToolFinished):
                found = self._findings_of(event.call_id) if event.status == "ok" else []
                pictures = [item for item in _pictures(event) if _inside(item.path, folder)]
                changed = {"findings": found, "artifacts": pictures}
                yield event.model_copy(update=changed)
            elif isinstance(event, ApprovalRequested):
                shown = [
                    item for item in event.pictures if _inside(Path(item.get("path", "")), folder)
                ]
                yield event.model_copy(update={"pictures": shown})
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
