"""What is done with models, one thing after the other in a thread, with progress and cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QWidget

from app.errors import Cancelled, SightlineError, UsageError
from app.tools.api import CancelToken, ModelHost
from app.tools.hosting.states import ModelState
from app.tools.models.downloads import host_of
from app.tools.models.install_plan import InstallPlan
from app.tools.models.status import ModelStatus
from app.tools.models.store import ModelStore
from app.views.content_names import counted
from app.views.daemon_tasks import DaemonTasks
from app.views.models import asking, words
from app.views.models.agree import Asked, Yes
from app.views.models.task_bar import TaskBar

_LOOK_MS = 100  # how often progress is shown

Progress = Callable[[float, str], None]
Note = Callable[..., object]
"""`note(action, **facts)`: tells the audit log."""


class Host(ModelHost, Protocol):
    """The model host, as far as this window uses it."""

    def states(self) -> Mapping[str, ModelState]:
        """What models do, by card name."""
        ...

    def subscribe(self, listener: Callable[[ModelState], object]) -> Callable[[], None]:
        """Call back with each change, on any thread; returns what ends that."""
        ...

    def unload(self, model: str | None = None) -> None:
        """Take a model out of memory."""
        ...

    def forget(self, model: str) -> None:
        """Its files were changed."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """How something ended.

    Attributes:
        statuses: Of the models that it was about, as they are now.
        chosen: The model to show; "" leaves the chosen one.
        look_again: Whether the folder is to be looked into again.
    """

    statuses: tuple[ModelStatus, ...] = ()
    chosen: str = ""
    look_again: bool = False


@dataclass(slots=True)
class _Latest:
    """The latest progress; written in the thread that works, read by the window."""

    fraction: float = -1.0
    text: str = ""

    def tell(self, fraction: float, text: str) -> None:
        """Take it."""
        self.fraction, self.text = fraction, text


class Tasks(QObject):
    """Does things with models; one at a time, since the folder is one.

    Args:
        store: The models folder.
        host: What runs models.
        note: Tells the audit log; from any thread.
        parent: Qt parent.

    Attributes:
        ended: How the last thing ended, an Outcome; also after an error or a cancel.
        busy_changed: Something begins or has ended.
        path: What was looked at last.
    """

    ended = Signal(object)
    busy_changed = Signal()

    def __init__(self, store: ModelStore, host: Host, note: Note, parent: QWidget) -> None:
        super().__init__(parent)
        self._store = store
        self._host = host
        self._note = note
        self._tasks = DaemonTasks(self)
        self._cancel: CancelToken | None = None
        self._latest = _Latest()
        self._verb = ""
        self.path = Path()
        self.bar = TaskBar(self.cancel)
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self._look)

    @property
    def busy(self) -> bool:
        """Whether something is under way."""
        return self._cancel is not None

    def cancel(self) -> None:
        """Stop what is under way; what was there before stays."""
        if self._cancel is not None:
            self._cancel.cancel()
            self.bar.cancel.setEnabled(False)
            self._verb = "Stopping"

    def close(self) -> None:
        """Stop what is under way; nothing is told any more."""
        self.cancel()
        self._timer.stop()
        self._tasks.close()

    # What can be done

    def look(
        self,
        path: Path,
        name: str | None,
        done: Callable[[InstallPlan | Asked], object],
        chosen: str,
    ) -> None:
        """See what would be installed.

        Args:
            path: A file or folder.
            name: Which model it is; None to tell by what is there.
            done: Told the plan, or a question whether it is the chosen model.
            chosen: The chosen model.
        """
        self.path = path
        store = self._store

        def work(_progress: Progress, _cancel: CancelToken) -> InstallPlan | Asked:
            try:
                plan = store.plan_install(path, name)
            except UsageError as error:
                if name is not None or not chosen or store.card(chosen).embedded:
                    raise
                return asking.of_unknown(store.status(store.card(chosen)), error.text)
            if plan.problems:
                raise SightlineError("; ".join(plan.problems), subject=path.name)
            return plan

        def then(plan: InstallPlan | Asked) -> Outcome:
            self.bar.say("", "busy", "cpu")
            self.bar.icon.clear()
            done(plan)
            return Outcome()

        self._run("Looking at it", work, then)

    def install(self, plan: InstallPlan, yes: Yes) -> None:
        """Do what was planned, as far as was agreed to."""
        names = [model.card.name for model in plan.models]

        def work(progress: Progress, cancel: CancelToken) -> tuple[ModelStatus, ...]:
            self._unload(*names)
            statuses = self._store.install(
                plan,
                accepted=yes.terms,
                code_allowed=yes.code,
                other=yes.other,
                host=self._host,
                progress=progress,
                cancel=cancel,
            )
            agreed = {model.card.name: bool(model.terms) for model in plan.models}
            for status in statuses:
                self._note_installed(status, terms=agreed[status.card.name])
            return statuses

        def then(statuses: tuple[ModelStatus, ...]) -> Outcome:
            for name in names:
                self._host.forget(name)
            titles = " and ".join(status.card.title for status in statuses)
            self.bar.say(f"{titles}: installed.", "ok", "circle-check")
            return Outcome(statuses, names[0])

        self._run("Copying", work, then)

    def download(self, name: str, yes: Yes) -> None:
        """Fetch a model."""

        def work(progress: Progress, cancel: CancelToken) -> ModelStatus:
            self._unload(name)
            status = self._store.get(
                name,
                accepted=yes.terms,
                code_allowed=yes.code,
                progress=progress,
                cancel=cancel,
            )
            self._note_installed(status, terms=yes.terms)
            return status

        def then(status: ModelStatus) -> Outcome:
            self._host.forget(name)
            told = words.told(status)
            said = f"{status.card.title}: {told.text.lower()}. {told.more}".strip()
            self.bar.say(said, told.tone, told.icon)
            return Outcome((status,), name)

        self._note("weights_asked", weights=name, host=host_of(self._store.card(name)))
        self._run("Downloading", work, then)

    def verify(self, name: str) -> None:
        """Read every file of a model, of all with ""."""

        def work(progress: Progress, cancel: CancelToken) -> tuple[ModelStatus, ...]:
            return self._store.verify(name, progress=progress, cancel=cancel, host=self._host)

        def then(statuses: tuple[ModelStatus, ...]) -> Outcome:
            self.bar.say(*_verified(statuses))
            return Outcome(statuses)

        self._run("Reading", work, then)

    def accept(self, name: str, yes: Yes) -> None:
        """Note what was agreed to."""

        def work(_progress: Progress, _cancel: CancelToken) -> ModelStatus:
            status = self._store.accept(name, code=yes.code)
            self._note("model_accepted", model=name, code=yes.code)
            return status

        def then(status: ModelStatus) -> Outcome:
            self._host.forget(name)
            self.bar.say(f"{status.card.title} can be used.", "ok", "circle-check")
            return Outcome((status,), name)

        self._run("Noting it", work, then)

    def remove(self, name: str) -> None:
        """Delete a model's files."""

        def work(_progress: Progress, _cancel: CancelToken) -> ModelStatus:
            self._unload(name)
            status = self._store.remove(name)
            self._note("model_removed", model=name)
            return status

        def then(status: ModelStatus) -> Outcome:
            self._host.forget(name)
            self.bar.say(f"{status.card.title}: removed.", "ok", "circle-check")
            return Outcome((status,), name)

        self._run("Removing", work, then)

    def unload(self, name: str) -> None:
        """Take a model out of memory."""
        host = self._host

        def work(_progress: Progress, _cancel: CancelToken) -> None:
            host.unload(name)

        def then(_none: None) -> Outcome:
            title = self._store.card(name).title
            self.bar.say(f"{title} is out of memory.", "ok", "circle-check")
            return Outcome()

        self._run("Waiting for what runs, then unloading", work, then)

    # How it goes

    def _unload(self, *names: str) -> None:
        """A file that a process has open cannot be replaced everywhere."""
        loaded = self._host.states()
        for name in names:
            if asking.loaded(loaded.get(name)):
                self._host.unload(name)

    # What was done is noted in the thread that did it: the window may be closing.

    def _note_installed(self, status: ModelStatus, *, terms: bool) -> None:
        name, allowed = status.card.name, status.code == "allowed"
        self._note(
            "model_installed", model=name, revision=status.revision, terms=terms, code=allowed
        )

    def _run(
        self,
        verb: str,
        work: Callable[[Progress, CancelToken], Any],
        then: Callable[[Any], Outcome],
    ) -> None:
        if self.busy:
            return
        cancel = self._cancel = CancelToken()
        latest = self._latest = _Latest()
        self._verb = verb

        def body(_closing: CancelToken) -> Any:
            try:
                return work(latest.tell, cancel)
            except Cancelled as stopped:
                return stopped
            except SightlineError as error:
                return error

        self.bar.work(f"{verb}…")
        self._timer.start()
        self._tasks.run(body, lambda result: self._end(result, then), self._failed)
        self.busy_changed.emit()

    def _look(self) -> None:
        text = f"{self._verb}: {self._latest.text}" if self._latest.text else f"{self._verb}…"
        self.bar.progress(self._latest.fraction, text)

    def _end(self, result: Any, then: Callable[[Any], Outcome]) -> None:
        self._rest()
        if isinstance(result, Cancelled):
            self.bar.say("Stopped; what was there before is as it was.", "faint", "ban")
            self.ended.emit(Outcome(look_again=True))
        elif isinstance(result, SightlineError):
            self.bar.say(result.text, "error", "circle-alert")
            self.ended.emit(Outcome(look_again=True))
        else:
            self.ended.emit(then(result))

    def _failed(self, reason: str) -> None:
        self._rest()
        self.bar.say(reason, "error", "circle-alert")
        self.ended.emit(Outcome(look_again=True))

    def _rest(self) -> None:
        self._cancel = None
        self._timer.stop()
        self.bar.rest()
        self.busy_changed.emit()


def _verified(statuses: tuple[ModelStatus, ...]) -> tuple[str, str, str]:
    """What a look into all files has shown: text, tone and icon."""
    bad = [one for one in statuses if one.state in ("broken", "other", "partly")]
    if bad:
        said = [f"{one.card.title}: {words.told(one).text}, {one.note}." for one in bad]
        return " ".join(said), "warning", "triangle-alert"
    there = [one for one in statuses if one.there]
    if not there:
        return "Nothing is there to be verified.", "faint", "info"
    known = [one for one in there if not one.note]
    said = [f"{one.card.title}: {one.note}." for one in there if one.note]
    if known:
        said.insert(0, f"{counted(len(known), 'model')} read: all files are what they should be.")
    if any(one.state == "installed" for one in there):  # read, and nothing says what it should be
        return " ".join(said), "warning", "triangle-alert"
    return " ".join(said), "ok", "circle-check"
