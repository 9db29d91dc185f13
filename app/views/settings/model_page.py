"""The page of the language model: which one answers, how it is reached, and whether it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.agent.llm.probe import Report
from app.agent.llm.providers import Wanted, check, url_of
from app.errors import SightlineError
from app.secrets import key_name
from app.settings import Kind, ModelSettings
from app.tools.api import CancelToken
from app.views.chat.textview import TextView
from app.views.chat.widgets import row
from app.views.daemon_tasks import DaemonTasks
from app.views.settings.key_field import LOOK_AFTER_MS, KeyField, KeyStore
from app.views.settings.parts import Choice, Column, Form, tab_fields
from app.views.settings.provider_form import ProviderForm
from app.views.settings.words import ABOUT, PROVIDERS, host_of, where_it_runs
from app.views.style import restyle
from app.views.theme import SPACE


class Probe(Protocol):
    """Asks endpoints and files: `app.agent.llm.probe`. Blocks, so it is called on another thread.

    A cancelled question ends soon; its answer is not looked at.
    """

    def diagnose(self, wanted: Wanted, cancel: CancelToken) -> Report:
        """Ask for one word, and say step by step how it went."""
        ...

    def models(self, wanted: Wanted, cancel: CancelToken) -> tuple[str, ...]:
        """The names of an endpoint's models."""
        ...

    def about_file(self, path: str) -> Report:
        """What there is to say about a model file before it is started."""
        ...


@dataclass(frozen=True, slots=True)
class TypedKey:
    """A key to be kept: `name` as `app.secrets.key_name` makes it."""

    name: str
    value: str


class ModelPage(Column):
    """Choose, describe and test the language model.

    Args:
        settings: What is in use.
        keys: Where keys are kept.
        probe: Tests it.
        tasks: Runs slow work on threads.

    Attributes:
        edited: Something changed; `problem` may have.
        provider_shown: Another provider's fields are shown.
    """

    edited = Signal()
    provider_shown = Signal()

    def __init__(
        self, settings: ModelSettings, keys: KeyStore, probe: Probe, tasks: DaemonTasks
    ) -> None:
        super().__init__()
        self._settings = settings
        self._keys = keys
        self._probe = probe
        self._tasks = tasks
        self._asked: CancelToken | None = None  # the test or list that goes on
        self._tested = ("", "")  # what was tested last: kind and address
        self.forms: dict[str, ProviderForm] = {}
        self._build()
        self.provider.choose(settings.kind)
        self._facts = QTimer(self, singleShot=True, interval=LOOK_AFTER_MS)
        self._facts.timeout.connect(self._look_at_file)
        # Its own: a pending QTimer.singleShot keeps the page alive for good.
        self._placed = QTimer(self, singleShot=True, interval=0)
        self._placed.timeout.connect(lambda: self.ensureWidgetVisible(self.outcome))
        self._connect()
        self._show_provider()

    @property
    def kind(self) -> Kind:
        """Who is chosen."""
        return next(kind for kind, _title in PROVIDERS if kind == self.provider.value)

    @property
    def form(self) -> ProviderForm | None:
        """The fields of the chosen provider; the offline planner has none."""
        return self.forms.get(self.kind)

    def tab_fields(self) -> list[QWidget]:
        """What the Tab key goes through: in the order on the screen, not that of making."""
        form = self.form
        upper, lower = (tab_fields(form), tab_fields(form.more)) if form else ([], [])
        tested = (self.privacy, self.test_button, self.steps, self.outcome)
        return [self.provider, *upper, *tested, *lower]

    def wanted(self) -> Wanted:
        """What is chosen now, with the key that was typed, if any."""
        form = self.form
        fields = form.fields() if form is not None else self._settings.of(self.kind)
        typed = form.key.typed if form is not None and form.key is not None else ""
        return Wanted(self.kind, fields, typed)

    def settings(self) -> ModelSettings:
        """All that is entered, the other providers' fields too."""
        result = self._settings
        for kind, _title in PROVIDERS:
            if kind in self.forms:
                result = result.with_provider(kind, self.forms[kind].fields())
        return result.with_provider(self.kind)

    def typed_key(self) -> TypedKey | None:
        """The key that was typed for the chosen provider, None when none was."""
        wanted = self.wanted()
        return TypedKey(_key_name(wanted), wanted.key) if wanted.key else None

    def problem(self) -> str:
        """Why this cannot be used, or ""."""
        wanted, form = self.wanted(), self.form
        if form is None:
            return ""
        if form.missing():
            return form.missing()
        try:
            check(wanted.kind, wanted.fields)
        except SightlineError as error:
            return error.text[:1].upper() + error.text[1:]
        return form.problem()

    def test(self) -> None:
        """Try the model with what is entered."""
        if self.problem() or self.kind == "offline":
            return
        wanted = self.wanted()
        starting = "Starting the model. This can take half a minute…"
        self._say(starting if wanted.kind == "local" else "Asking the endpoint…", "")
        self._ask(lambda cancel: self._probe.diagnose(self._with_key(wanted), cancel), self._report)

    def list_models(self) -> None:
        """Ask the endpoint for its models, and offer their names."""
        wanted = self.wanted()
        self._say("Asking the endpoint for its models…", "")
        self._ask(lambda cancel: self._probe.models(self._with_key(wanted), cancel), self._offer)

    def _with_key(self, wanted: Wanted) -> Wanted:
        """The same with its kept key; asks the keyring, so not on the GUI thread."""
        key = wanted.key or self._keys.get(_key_name(wanted), chosen=True)
        return Wanted(wanted.kind, wanted.fields, key)

    def _build(self) -> None:
        self.heading("Which model answers in the assistant?")
        form = Form()
        self.provider = Choice(tuple(PROVIDERS))
        form.put("Provider", self.provider)
        self.about = form.note("")
        self.column.addLayout(form)
        self.column.addSpacing(SPACE.xs)
        self._upper = QVBoxLayout()
        self.column.addLayout(self._upper)
        self.privacy = TextView()
        self.privacy.setAccessibleName("Where the model runs")
        self.privacy.setProperty("tone", "muted")
        self.column.addSpacing(SPACE.s)
        self.column.addWidget(self.privacy)
        self.test_button = QPushButton("Test connection")
        self.column.addLayout(row(self.test_button, 1))
        self.steps, self.outcome = TextView(), TextView()
        self.steps.setAccessibleName("Steps of the test")
        self.outcome.setAccessibleName("Result of the test")
        for view in (self.steps, self.outcome):
            view.hide()
            self.column.addWidget(view)
        self.column.addSpacing(SPACE.m)
        self._lower = QVBoxLayout()
        self.column.addLayout(self._lower)
        self.column.addStretch(1)

    def _connect(self) -> None:
        self.provider.currentIndexChanged.connect(lambda _index: self._show_provider())
        self.test_button.clicked.connect(lambda _checked=False: self.test())

    def _make_form(self, kind: Kind) -> None:
        """The fields of a provider, made when it is first looked at: each takes a few ms."""
        hint = "not needed by most local servers" if kind == "openai" else ""
        key = KeyField(self._keys, self._tasks, hint) if kind != "local" else None
        form = self.forms[kind] = ProviderForm(kind, self._settings.of(kind), key)
        self._upper.addWidget(form)
        self._lower.addWidget(form.more)
        form.edited.connect(self._update)
        if kind != "local":
            form.list_button.clicked.connect(lambda _checked=False: self.list_models())

    def _show_provider(self) -> None:
        if self.kind != "offline" and self.kind not in self.forms:
            self._make_form(self.kind)
        for kind, form in self.forms.items():
            form.setVisible(kind == self.kind)
            form.more.setVisible(kind == self.kind)
        self.about.setText(ABOUT[self.kind])
        self.provider.setAccessibleDescription(ABOUT[self.kind])
        self.test_button.setVisible(self.kind != "offline")
        self.test_button.setText("Test model" if self.kind == "local" else "Test connection")
        self._update()
        self.provider_shown.emit()

    def _update(self) -> None:
        """Something is entered: what was tested is no longer what is entered."""
        if self._asked is not None:
            self._asked.cancel()
            self._asked = None
        wanted, problem = self.wanted(), self.problem()
        form = self.form
        if form is not None and form.key is not None:
            form.key.set_endpoint(_key_name(wanted), host_of(wanted.kind, wanted.fields))
            form.list_button.setEnabled(bool(_key_name(wanted)))
        if self.kind == "local":
            self._facts.start()
        self.test_button.setEnabled(not problem)
        self.privacy.set_plain(where_it_runs(wanted.kind, wanted.fields))
        self._say("", "")
        self.edited.emit()

    def _ask(self, work: Callable[[CancelToken], object], done: Callable[[object], None]) -> None:
        if self._asked is not None:
            self._asked.cancel()
        pressed = self.test_button.hasFocus()
        if pressed:
            self.setFocus()  # else Qt gives it to some other field for good
        self.test_button.setEnabled(False)

        def ended(then: Callable[[], None]) -> None:
            self._asked = None
            self.test_button.setEnabled(not self.problem())
            if pressed and self.hasFocus():
                self.test_button.setFocus()
            then()

        self._asked = self._tasks.run(
            work,
            lambda result: ended(lambda: done(result)),
            lambda reason: ended(lambda: self._say(reason, "error")),
        )

    def _report(self, report: object) -> None:
        assert isinstance(report, Report)
        steps = report.lines if report.ok else report.lines[:-1]
        if report.ok:
            self._say("This model can be used.", "ok")
        else:
            self._say(report.lines[-1], "error")
        self.steps.set_plain("\n".join(steps))
        self.steps.setVisible(bool(steps))

    def _offer(self, names: object) -> None:
        assert isinstance(names, tuple)
        form = self.form
        if form is None:
            return
        form.model.offer(names)
        if not names:
            self._say("The endpoint lists no models: type the name.", "error")
            return
        known = "One model" if len(names) == 1 else f"{len(names)} models"
        self._say(f"{known} found: choose one in the list.", "ok")
        form.model.setFocus()
        form.model.showPopup()

    def _look_at_file(self) -> None:
        path = self.wanted().fields.path
        self._tasks.run(
            lambda _cancel: self._probe.about_file(path),
            lambda report: self._tell_file(path, report),
            lambda _reason: None,
        )

    def _tell_file(self, path: str, report: Report) -> None:
        local = self.forms["local"]
        if path == local.fields().path:
            local.file_note.setText("\n".join(report.lines))
            local.file_note.setProperty("role", "caption" if report.ok else "warning")
            restyle(local.file_note)

    def _say(self, text: str, tone: str) -> None:
        self.steps.hide()
        self.outcome.setProperty("tone", tone or "muted")
        restyle(self.outcome)
        self.outcome.set_plain(text)
        self.outcome.setVisible(bool(text))
        if text:
            # Once the layout has given it its place: the answer must not come below the edge.
            self._placed.start()


def _key_name(wanted: Wanted) -> str:
    return key_name(wanted.kind, url_of(wanted.kind, wanted.fields))
