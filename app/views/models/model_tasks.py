"""Runs the tasks of the models window, one at a time on a thread, with progress and cancelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from app.errors import Cancelled, CancelToken, SightlineError, UsageError
from app.tools.api import ModelHost, Progress
from app.tools.hosting.states import ModelState
from app.tools.models.downloads import host_of
from app.tools.models.install_plan import Consent, InstallPlan
from app.tools.models.status import ModelStatus
from app.tools.models.store import ModelStore
from app.views.background import DaemonTasks
from app.views.layouts import column, row
from app.views.models import model_wording
from app.views.models.consent_dialog import Question, is_loaded, unknown_question
from app.views.models.models_table import TONES
from app.views.settings.fields import wrapped_label
from app.views.theme import SPACE, current
from app.views.translation import tr, tr_n
from app.views.widgets import IconLabel, push_button

_PROGRESS_MS = 100
_STEPS = 1000

AuditNote = Callable[..., object]
"""`note(action, **facts)` writes to the audit log."""


class Host(ModelHost, Protocol):
    """What the models window needs of the object that runs the models, `ProcessHost`."""

    def states(self) -> Mapping[str, ModelState]: ...

    def subscribe(self, listener: Callable[[ModelState], object]) -> Callable[[], None]: ...

    def unload(self, model: str | None = None) -> None: ...

    def forget(self, model: str) -> None: ...


Statuses = tuple[ModelStatus, ...]
ColouredText = tuple[str, str, str]
"""A text, the name of its colour in `TONES`, and the name of its icon."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Changed statuses of models, model to select or "", whether to reread the folder."""

    statuses: Statuses = ()
    chosen: str = ""
    refresh: bool = False


class TaskBar(QWidget):
    """The line at the foot of the window: a task's progress, or how the last one ended."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("Progress"))
        self.icon = IconLabel("cpu")
        self.icon.hide()
        self.text = wrapped_label("", "")
        self.cancel = push_button(tr("Cancel"), cancel)
        self.cancel.setAutoDefault(False)
        line = row(self.icon, (self.text, 1), self.cancel)
        column(self.bar, line, spacing=SPACE.xs, parent=self)
        self.stop()

    def start(self, text: str) -> None:
        self.bar.setRange(0, 0)
        self.bar.show()
        self.cancel.setEnabled(True)
        self.cancel.show()
        self.say(text, "busy", "loader-circle")

    def stop(self) -> None:
        self.bar.hide()
        self.cancel.hide()

    def progress(self, fraction: float, text: str) -> None:
        """Show a text and the progress from 0 to 1; a negative `fraction` means unknown."""
        if fraction >= 0:
            self.bar.setRange(0, _STEPS)
            self.bar.setValue(round(min(fraction, 1.0) * _STEPS))
        self.text.setText(text)

    def say(self, text: str, tone: str, icon: str) -> None:
        self.text.setText(text)
        self.text.setAccessibleName(text)
        self.text.setStyleSheet("" if tone == "busy" else f"color: {current(TONES[tone])};")
        self.icon.set_icon(icon, TONES[tone])
        self.icon.setVisible(bool(text))

    def clear(self) -> None:
        self.say("", "busy", "cpu")


class ModelTasks(QObject):
    """Runs tasks on the models folder (install, verify, remove, ...), one at a time.

    `note` writes to the audit log; it is called on any thread, so that a task is logged even if the
    window is closed meanwhile.

    Attributes:
        busy_changed: Emitted when a task begins or ends.
        path: The path that was inspected last.
    """

    finished = Signal(object)
    busy_changed = Signal()

    def __init__(self, store: ModelStore, host: Host, note: AuditNote, parent: QWidget) -> None:
        super().__init__(parent)
        self._store = store
        self._host = host
        self._note = note
        self._tasks = DaemonTasks(self)
        self._cancel: CancelToken | None = None
        self._latest = (-1.0, "")  # progress, set in the task's thread
        self._verb = ""
        self.path = Path()
        self.bar = TaskBar(self.cancel)
        self._timer = QTimer(self, interval=_PROGRESS_MS)
        self._timer.timeout.connect(self._show_progress)

    @property
    def busy(self) -> bool:
        return self._cancel is not None

    def cancel(self) -> None:
        """Stop the running task; installed models stay as they were."""
        if self._cancel is not None:
            self._cancel.cancel()
            self.bar.cancel.setEnabled(False)
            self._verb = tr("Stopping")

    def close(self) -> None:
        """Stop the running task; after this call nothing is shown or emitted."""
        self.cancel()
        self._timer.stop()
        self._tasks.close()

    def inspect(
        self,
        path: Path,
        name: str | None,
        done: Callable[[InstallPlan | Question], object],
        chosen: str,
    ) -> None:
        """Find out what would be installed from a path.

        `name` is the model that the files are for; None to recognize it. `done` is called with the
        plan. If the files are of no known model, it is called with the question to the user whether
        they are those of the model `chosen` ("": none).
        """
        self.path = path
        store = self._store

        def work(_progress: Progress, _cancel: CancelToken) -> InstallPlan | Question:
            try:
                plan = store.plan_install(path, name)
            except UsageError as error:
                if name is not None or not chosen or store.card(chosen).embedded:
                    raise
                return unknown_question(store.status(store.card(chosen)), error.text)
            if plan.problems:
                raise SightlineError("; ".join(plan.problems), subject=path.name)
            return plan

        def then(plan: InstallPlan | Question) -> Outcome:
            self.bar.clear()
            done(plan)
            return Outcome()

        self._run(tr("Examining it"), work, then)

    def install(self, plan: InstallPlan, consent: Consent) -> None:
        """Install the models in a plan."""
        terms = {model.card.name: bool(model.terms) for model in plan.models}

        def work(progress: Progress, cancel: CancelToken) -> Statuses:
            self._unload(*terms)
            statuses = self._store.install(
                plan, consent, host=self._host, progress=progress, cancel=cancel
            )
            for status in statuses:
                self._note_installed(status, terms=terms[status.card.name])
            return statuses

        self._change(tr("Copying"), work, tr(": installed."))

    def download(self, name: str, consent: Consent) -> None:
        def work(progress: Progress, cancel: CancelToken) -> Statuses:
            self._unload(name)
            status = self._store.get(
                name, consent, host=self._host, progress=progress, cancel=cancel
            )
            self._note_installed(status, terms=consent.terms)
            return (status,)

        self._note("weights_asked", weights=name, host=host_of(self._store.card(name)))
        self._change(tr("Downloading"), work)

    def verify(self, name: str) -> None:
        """Verify a model by reading all its files; "" verifies all models."""

        def work(progress: Progress, cancel: CancelToken) -> Statuses:
            return self._store.verify(name, progress=progress, cancel=cancel, host=self._host)

        def then(statuses: Statuses) -> Outcome:
            self.bar.say(*_verified_text(statuses))
            return Outcome(statuses)

        self._run(tr("Reading"), work, then)

    def accept(self, name: str, consent: Consent) -> None:
        """Record that the user accepts a model's terms, and whether code in its files may run."""

        def work(_progress: Progress, _cancel: CancelToken) -> Statuses:
            status = self._store.accept(name, code=consent.code)
            self._note("model_accepted", model=name, code=consent.code)
            return (status,)

        self._change(tr("Noting it"), work, tr(" can be used."))

    def remove(self, name: str) -> None:
        """Delete a model's files."""

        def work(_progress: Progress, _cancel: CancelToken) -> Statuses:
            self._unload(name)
            status = self._store.remove(name)
            self._note("model_removed", model=name)
            return (status,)

        self._change(tr("Removing"), work, tr(": removed."))

    def unload(self, name: str) -> None:
        def then(_none: None) -> Outcome:
            title = self._store.card(name).title
            self.bar.say(tr("{title} is out of memory.").format(title=title), "ok", "circle-check")
            return Outcome()

        verb = tr("Waiting for running tools, then unloading")
        self._run(verb, lambda _progress, _cancel: self._host.unload(name), then)

    def _unload(self, *names: str) -> None:
        """Unload models before their files change: Windows keeps open files from being replaced."""
        states = self._host.states()
        for name in names:
            if is_loaded(states.get(name)):
                self._host.unload(name)

    def _note_installed(self, status: ModelStatus, *, terms: bool) -> None:
        name, allowed = status.card.name, status.code == "allowed"
        self._note(
            "model_installed", model=name, revision=status.revision, terms=terms, code=allowed
        )

    def _change(
        self, verb: str, work: Callable[[Progress, CancelToken], Statuses], end: str = ""
    ) -> None:
        """Run work that changes models' files; then say `end` of them, or else their state."""

        def then(statuses: Statuses) -> Outcome:
            for status in statuses:
                self._host.forget(status.card.name)
            titles = tr(" and ").join(status.card.title for status in statuses)
            state = model_wording.state_text(statuses[0])
            if end:
                self.bar.say(f"{titles}{end}", "ok", "circle-check")
            else:
                text = f"{titles}: {state.text.lower()}. {state.more}".strip()
                self.bar.say(text, state.tone, state.icon)
            return Outcome(statuses, statuses[0].card.name)

        self._run(verb, work, then)

    def _run(
        self,
        verb: str,
        work: Callable[[Progress, CancelToken], Any],
        then: Callable[[Any], Outcome],
    ) -> None:
        """Call `work` in a thread and `then`, with its result, on the GUI thread."""
        if self.busy:  # the buttons are disabled then; a key may still be pressed
            return
        cancel = self._cancel = CancelToken()
        self._latest = (-1.0, "")
        self._verb = verb

        def progress(fraction: float, text: str) -> None:
            self._latest = (fraction, text)

        def body(_closing: CancelToken) -> Any:
            try:
                return work(progress, cancel)
            except Cancelled as error:
                return error

        self.bar.start(f"{verb}…")
        self._timer.start()
        self._tasks.run(body, lambda result: self._finish(result, then), self._fail)
        self.busy_changed.emit()

    def _show_progress(self) -> None:
        fraction, text = self._latest
        self.bar.progress(fraction, f"{self._verb}: {text}" if text else f"{self._verb}…")

    def _finish(self, result: Any, then: Callable[[Any], Outcome]) -> None:
        if isinstance(result, Cancelled):
            self._fail(tr("Stopped; nothing was changed."), "faint", "ban")
        else:
            self._end_task()
            self.finished.emit(then(result))

    def _fail(self, reason: str, tone: str = "error", icon: str = "circle-alert") -> None:
        self._end_task()
        self.bar.say(reason, tone, icon)
        self.finished.emit(Outcome(refresh=True))

    def _end_task(self) -> None:
        self._cancel = None
        self._timer.stop()
        self.bar.stop()
        self.busy_changed.emit()


def _verified_text(statuses: Statuses) -> ColouredText:
    bad = [one for one in statuses if one.state in ("broken", "other", "partly")]
    failed = [one for one in statuses if one.self_check.startswith("failed")]
    if failed:
        texts = [
            tr("{title}: self-check {self_check}.").format(
                title=one.card.title, self_check=one.self_check
            )
            for one in failed
        ]
        return " ".join(texts), "error", "circle-alert"
    if bad:
        texts = [
            f"{one.card.title}: {model_wording.state_text(one).text}, {one.note}." for one in bad
        ]
        return " ".join(texts), "warning", "triangle-alert"
    there = [one for one in statuses if one.usable]
    if not there:
        return tr("There is nothing to verify."), "faint", "info"
    known = [one for one in there if not one.note]
    texts = [f"{one.card.title}: {one.note}." for one in there if one.note]
    if known:
        texts.insert(
            0,
            tr_n(
                "%n model read: all files are what they should be.",
                "%n models read: all files are what they should be.",
                len(known),
            ),
        )
    if any(one.state == "installed" for one in there):  # read, but there is nothing to compare with
        return " ".join(texts), "warning", "triangle-alert"
    return " ".join(texts), "ok", "circle-check"
