"""The conversation thread that is shown: opens it, shows its earlier runs, and exports it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.agent.events import ApprovalRequested, RunCancelled, RunEvent, ToolFinished, ToolStarted
from app.agent.sessions import PastRun, SessionStore, Thread
from app.agent.sessions.export import Form, export, shown_images
from app.audit import AuditLog
from app.audit.exports import record_export
from app.errors import SightlineError
from app.views.background import Background
from app.views.chat.conversation import Conversation
from app.views.chat.message import Notice
from app.views.chat.run_view import RunView
from app.views.chat.tool_card import ChatServices
from app.views.translation import tr, tr_report, translatable
from app.views.widgets import confirm

BATCH = 20  # earlier runs shown at once
CARDS = 60  # and cards of their calls: each costs time with every change of the layout
SLICE_S = 0.008  # GUI time a turn of the event loop; a card takes a few ms

_FILTERS: dict[str, Form] = {
    translatable("Markdown (*.md)"): "md",
    translatable("Web page (*.html)"): "html",
    translatable("JSON (*.json)"): "json",
}
_SUFFIXES: dict[str, Form] = {".md": "md", ".html": "html", ".htm": "html", ".json": "json"}
_WARNING = translatable(
    "The document contains this conversation as it is: your questions, the answers, what the tools "
    "were given and what they found. It may name the patient. Save it only where patient data "
    "may be kept."
)


@dataclass(frozen=True, slots=True)
class OpenedThread:
    """An opened thread, its recorded runs, a `draft` question, and whether it is a new branch."""

    thread: Thread
    runs: list[PastRun] = field(default_factory=list[PastRun])
    draft: str = ""  # for the question field
    branched: bool = False  # a new branch, shown in place of its origin
    ask: str = ""  # to be asked at once
    run_id: str = ""  # the run to scroll to


class Threads(QObject):
    """Makes, opens and branches conversation threads in the background; the last request wins."""

    opened = Signal(object)  # an OpenedThread, whose thread has become `current`
    failed = Signal(object, str)  # SightlineError, thread id; "" if no new thread could be made

    def __init__(
        self, store: SessionStore, background: Background, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.current: Thread | None = None
        self.busy = False
        self._store = store
        self._background = background
        self._turn = 0  # answers to earlier requests are dropped

    def leave(self) -> None:
        """Show no thread, and ignore the result of a request in progress."""
        self._turn += 1
        self.busy = False
        self.current = None

    def make(self) -> None:
        if not self.busy:
            self._submit(lambda: OpenedThread(self._store.new_thread()), "")

    def open(self, thread_id: str, run_id: str = "") -> None:
        """Open a thread, and scroll to one of its runs if `run_id` is not ""."""

        def work() -> OpenedThread:
            thread = self._store.open(thread_id)
            return OpenedThread(thread, thread.runs(), run_id=run_id)

        self.leave()
        self._submit(work, thread_id)

    def branch(
        self,
        thread_id: str,
        find: Callable[[list[PastRun]], int],
        draft: str = "",
        ask: str = "",
    ) -> None:
        """Open a copy of a thread up to run `find(runs)`, with `draft` in the question field.

        With `ask`, the copy is a newer version of the thread, in which that is asked at once.
        """

        def work() -> OpenedThread:
            runs = self._store.read(thread_id).runs()
            branched = self._store.branch(thread_id, find(runs), replaces=bool(ask))
            return OpenedThread(branched, branched.runs(), draft, branched=True, ask=ask)

        self._submit(work, thread_id)

    def _submit(self, work: Callable[[], OpenedThread], thread_id: str) -> None:
        self._turn += 1
        turn = self._turn
        self.busy = True

        def take(result: Any) -> None:
            if turn != self._turn:
                return
            self.busy = False
            if isinstance(result, OpenedThread):
                self.current = result.thread
                self.opened.emit(result)
            else:
                self.failed.emit(result, thread_id)

        self._background.submit(work, take, take)


class EarlierRuns(QObject):
    """Shows the earlier runs of a thread, a few in each turn of the event loop."""

    def __init__(
        self,
        conversation: Conversation,
        services: ChatServices,
        current: Callable[[], Thread | None],
        tell: Callable[[Notice], object],
    ) -> None:
        super().__init__(conversation)
        self._conversation = conversation
        self._services = services
        self._current = current
        self._tell = tell
        self._hidden = 0  # earlier runs of the thread that are not shown
        self._reading = False
        self._jobs: deque[Generator[None]] = deque()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._work)
        conversation.older_wanted.connect(lambda: self.show_more())
        conversation.trimmed.connect(self._on_trimmed)

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    def clear(self) -> None:
        self._hidden = 0
        self._timer.stop()
        while self._jobs:
            self._jobs.popleft().close()

    def show(self, runs: Sequence[PastRun], thread: Thread, reveal: str = "") -> None:
        """Show the last few of `runs`, the recorded runs of a thread that was just opened.

        If `reveal` is the id of one of them, it is among those shown, and is scrolled to.
        """
        self._hidden = _first_shown(runs)
        place = next((at for at, run in enumerate(runs) if run.run_id == reveal), -1)
        self._hidden = min(self._hidden, place) if place >= 0 else self._hidden
        for place, run in list(enumerate(runs))[self._hidden :]:
            self._add(run, place, thread, at_end=True)
        if place >= 0:
            self._jobs.append(self._scroll_to(reveal))
        self._conversation.set_older(self._hidden > 0)

    def show_until(self, there: Callable[[], bool], then: Callable[[], object]) -> None:
        """Show earlier runs until `there` returns True, and call `then`; never if none makes it."""

        def look() -> Generator[None]:
            if there():
                then()
            else:
                self.show_more(look)
            yield

        self.show_more(look)

    def show_more(self, behind: Callable[[], Generator[None]] | None = None) -> None:
        """Show some more earlier runs; `behind` is a job for when they are shown."""
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
                self._add(run, place, thread, at_end=False)
            if behind is not None:
                self._jobs.append(behind())
            self._conversation.set_older(self._hidden > 0)

        def failed(error: SightlineError) -> None:
            self._reading = False
            self._tell(Notice(tr_report(error.reason), tr_report(error.remedy), tone="error"))

        self._services.background.submit(thread.runs, show, failed)

    def _on_trimmed(self, run: RunView) -> None:
        if run.run_id or run.past is not None:  # a run that never started is in no file
            self._hidden += 1
        self._conversation.set_older(self._hidden > 0)

    def _add(self, run: PastRun, place: int, thread: Thread, *, at_end: bool) -> None:
        self._jobs.append(self._show_run(run, place, thread, at_end=at_end))
        self._timer.start()

    def _work(self) -> None:
        until = time.perf_counter() + SLICE_S
        while self._jobs and time.perf_counter() < until:
            try:
                next(self._jobs[0])
            except StopIteration:
                self._jobs.popleft()
        if self._jobs:
            self._timer.start()

    def _scroll_to(self, run_id: str) -> Generator[None]:
        for run in self._conversation.runs:
            if run.run_id == run_id:
                self._conversation.hold(run)
        yield

    def _show_run(
        self, run: PastRun, place: int, thread: Thread, *, at_end: bool
    ) -> Generator[None]:
        """Show a run by one event a step; one above those being read appears whole."""
        view = RunView(run.question, self._services, run, place)
        shown = False
        try:
            if at_end:
                self._conversation.add_past(view)
                shown = True
            yield
            for event in self._events(run, thread.folder):
                view.handle(event)
                yield
            if not shown:
                self._conversation.prepend(view)
                shown = True
        finally:
            if not shown:  # it has no parent that would delete it
                view.deleteLater()

    def _events(self, run: PastRun, folder: Path | None) -> Iterator[RunEvent]:
        for event in run.events:
            if isinstance(event, ToolFinished):
                call = (event.run_id, event.call_id)
                found = self._services.links.of_call(*call) if event.status == "ok" else []
                pictures = [item for item in event.artifacts if _is_inside(item.path, folder)]
                yield event.model_copy(update={"findings": found, "artifacts": pictures})
            elif isinstance(event, ApprovalRequested):
                sent = [
                    item
                    for item in event.pictures
                    if _is_inside(Path(item.get("path", "")), folder)
                ]
                yield event.model_copy(update={"pictures": sent})
            else:
                yield event
        if run.state == "running":  # its end is not recorded yet
            yield RunCancelled(run_id=run.run_id, seq=run.next_seq, time="")


def _first_shown(runs: Sequence[PastRun]) -> int:
    """Return the index of the first run that is shown when a thread opens."""
    room, place = CARDS, len(runs)
    for run in reversed(runs[-BATCH:]):
        room -= sum(isinstance(event, ToolStarted) for event in run.events)
        if room < 0 and place < len(runs):
            break
        place -= 1
    return place


def _is_inside(path: Path, folder: Path | None) -> bool:
    """Return whether a picture lies in the thread's folder: a session file may name any path."""
    return (
        folder is not None
        and path.is_absolute()
        and ".." not in path.parts
        and path.is_relative_to(folder)
    )


class ThreadExporter(QObject):
    """Saves a conversation as a document, after a warning that it may hold patient data."""

    def __init__(
        self, window: QWidget, background: Background, tell: Callable[[Notice], object]
    ) -> None:
        super().__init__(window)
        self.audit: AuditLog | None = None  # without it nothing is saved
        self.opened: Callable[[], Sequence[Path]] = tuple  # the files that are open
        # State, reviewer and time of each finding that the user has decided on, by id.
        self.decisions: Callable[[], dict[str, dict[str, str]]] = dict
        self._window = window
        self._background = background
        self._tell = tell
        self._warned = False

    def export(self, thread: Thread) -> None:
        """Ask the user for a file and save `thread` there; warn before the first export."""
        if thread.folder is None:
            text = tr("This conversation is kept in memory only and cannot be exported.")
            self._tell(Notice(text, tr("Copy what you need."), tone="warning"))
            return
        if self._warned:
            self._choose(thread)
            return
        title, text = tr("Export the conversation"), tr("The document may contain patient data.")
        confirm(
            self._window,
            title,
            text,
            tr(_WARNING),
            tr("Choose a file…"),
            lambda: self._choose(thread),
        )

    def _choose(self, thread: Thread) -> None:
        self._warned = True
        dialog = QFileDialog(self._window, tr("Export the conversation"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        filters: dict[str, Form] = {tr(name): form for name, form in _FILTERS.items()}
        dialog.setNameFilters(list(filters))
        # The question may name the patient, so the file's name does not repeat it.
        day = datetime.now(UTC).astimezone()
        dialog.selectFile(tr("Sightline conversation {day:%Y-%m-%d %H%M}").format(day=day))
        dialog.setDefaultSuffix("md")
        dialog.filterSelected.connect(lambda name: dialog.setDefaultSuffix(filters[name]))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)

        def accepted() -> None:
            path = Path(dialog.selectedFiles()[0])
            form = _SUFFIXES.get(path.suffix.lower(), filters[dialog.selectedNameFilter()])
            self._save(thread, path, form)

        dialog.accepted.connect(accepted)
        dialog.open()

    def _save(self, thread: Thread, path: Path, form: Form) -> None:
        def done(_none: None) -> None:
            self._tell(Notice(tr("Exported to {path}").format(path=path), tone="done"))

        def failed(error: SightlineError) -> None:
            self._tell(Notice(tr_report(error.reason), tr_report(error.remedy), tone="error"))

        opened, decisions = self.opened(), self.decisions()

        def work() -> None:
            # The dialogue has asked whether to replace a file that exists.
            with record_export(
                self.audit,
                "conversation",
                path,
                images=shown_images(thread.content),
                opened=opened,
                replace=True,
                thread=thread.thread_id,
            ):
                export(thread.content, form, path, decisions)

        self._background.submit(work, done, failed)
