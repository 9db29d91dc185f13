"""Settings of the language model: which one answers, where it is, and how it is reached."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QFormLayout,
    QLineEdit,
    QPushButton,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from app.errors import SightlineError
from app.log import get_logger
from app.views.chat.style import sheet
from app.views.chat.textview import TextView
from app.views.chat.widgets import label, row
from app.views.style import restyle
from app.views.theme import SPACE

KEY_NAME = "openai"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """What the user chose.

    Attributes:
        kind: "offline" or "openai".
        base_url: Of the endpoint.
        model: Its name there.
    """

    kind: str = "offline"
    base_url: str = "https://api.openai.com/v1"
    model: str = ""


class KeyStore(Protocol):
    """Keeps keys: `app.secrets.Secrets`. May take seconds, so it is asked on another thread."""

    def get(self, name: str) -> str:
        """The key, or ""."""
        ...

    def set(self, name: str, value: str) -> None:
        """Keep a key."""
        ...

    def where(self, name: str) -> str:
        """Where the key is now, in the user's words; "" when there is none."""
        ...

    def would_keep_in(self) -> str:
        """Where `set` would put it, in the user's words."""
        ...


Check = Callable[[ModelChoice, str], str]
"""`check(choice, key)`: asks the endpoint for a word and says how it went, in one sentence. Called
on a thread of its own; raises SightlineError with the diagnosis."""


class _Aside(QObject):
    """Runs slow things on daemon threads; answers come back on the GUI thread, late ones not."""

    answered = Signal(object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.answered.connect(lambda call: call(), Qt.ConnectionType.QueuedConnection)

    def run(
        self,
        work: Callable[[], Any],
        done: Callable[[Any], object],
        failed: Callable[[str], object],
    ) -> None:
        """Run `work`, then `done(result)` or `failed(reason)`."""

        def body() -> None:
            try:
                result = work()
                call = lambda: done(result)  # noqa: E731 - bound to this result
            except SightlineError as error:
                text = error.text
                call = lambda: failed(text)  # noqa: E731
            except Exception as error:
                _log.warning("a settings task failed (%s)", type(error).__name__)
                text = f"Something unexpected went wrong ({type(error).__name__})."
                call = lambda: failed(text)  # noqa: E731
            try:
                self.answered.emit(call)
            except RuntimeError:
                return  # the dialog was closed meanwhile

        threading.Thread(target=body, name="sightline-settings", daemon=True).start()


class ModelDialog(QDialog):
    """Choose and test the language model.

    Args:
        choice: What is in use.
        keys: Where the key is kept.
        check: Tests a connection.
        on_apply: Called with the new choice once its key is kept.
        parent: Qt parent.
    """

    def __init__(
        self,
        choice: ModelChoice,
        keys: KeyStore,
        check: Check,
        on_apply: Callable[[ModelChoice], object],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setObjectName("modelDialog")
        self.setWindowTitle("Language model")
        self.setStyleSheet(sheet())
        self.setFixedWidth(500)
        self._keys = keys
        self._check = check
        self._on_apply = on_apply
        self._aside = _Aside(self)
        self._tests = 0  # number of the latest test; answers to older ones are dropped
        self._build()
        self._fill(choice)
        self._connect()
        self._update()
        self._aside.run(lambda: (keys.where(KEY_NAME), keys.would_keep_in()), self._tell_key, _no)

    @property
    def choice(self) -> ModelChoice:
        """What is chosen in the dialog now."""
        kind = "openai" if self.openai.isChecked() else "offline"
        return ModelChoice(kind, self.url.text().strip(), self.model.text().strip())

    def problem(self) -> str:
        """Why this cannot be applied, or ""."""
        choice = self.choice
        if choice.kind == "offline":
            return ""
        parts = _split(choice.base_url)
        if parts is None:
            return "The address must begin with http:// or https:// and name a host."
        return "" if choice.model else "Enter the model's name as the endpoint knows it."

    def test(self) -> None:
        """Test the connection with what is entered."""
        if self.problem() or self.choice.kind == "offline":
            return
        self._tests += 1
        number, choice, typed = self._tests, self.choice, self.key.text().strip()
        self._say("Asking the endpoint…", "")
        self.test_button.setEnabled(False)
        self._aside.run(
            lambda: self._check(choice, typed or self._keys.get(KEY_NAME)),
            lambda text: self._tested(number, text, "ok"),
            lambda text: self._tested(number, text, "error"),
        )

    def apply(self) -> None:
        """Keep the key, tell the choice, close."""
        if self.problem():
            return
        choice, typed = self.choice, self.key.text().strip()
        self.save.setEnabled(False)
        if choice.kind == "openai" and typed:
            self._aside.run(
                lambda: self._keys.set(KEY_NAME, typed),
                lambda _none: self._finish(choice),
                lambda text: self._not_kept(text),
            )
        else:
            self._finish(choice)

    def _finish(self, choice: ModelChoice) -> None:
        if isValid(self):
            self.accept()
        self._on_apply(choice)

    def _not_kept(self, text: str) -> None:
        self.save.setEnabled(True)
        self._say(f"The key could not be kept. {text}", "error")

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
        column.setSpacing(SPACE.s)
        column.addWidget(label("Which model answers in the assistant?", "title"))
        column.addSpacing(SPACE.xs)
        self.offline = QRadioButton("Offline planner")
        self.openai = QRadioButton("OpenAI-compatible endpoint")
        group = QButtonGroup(self)
        group.addButton(self.offline)
        group.addButton(self.openai)
        column.addWidget(self.offline)
        column.addWidget(_hint("Fixed rules choose the tools. Not a language model; always works."))
        column.addSpacing(SPACE.xs)
        column.addWidget(self.openai)
        column.addWidget(_hint("OpenAI, Azure, vLLM, Ollama, LM Studio, llama.cpp and others."))
        self._fields = self._make_fields()
        column.addWidget(self._fields)
        self.privacy = TextView()
        self.privacy.setProperty("tone", "muted")
        column.addWidget(self.privacy)
        self.outcome = TextView()
        self.outcome.setAccessibleName("Result of the test")
        column.addWidget(self.outcome)
        column.addSpacing(SPACE.s)
        self.test_button = QPushButton("Test connection")
        self.cancel = QPushButton("Cancel")
        self.save = QPushButton("Use this model")
        self.save.setProperty("primary", True)
        self.save.setDefault(True)
        column.addLayout(row(self.test_button, 1, self.cancel, self.save))

    def _make_fields(self) -> QWidget:
        box = QWidget()
        form = QFormLayout(box)
        form.setContentsMargins(SPACE.xl, SPACE.s, 0, SPACE.xs)
        form.setHorizontalSpacing(SPACE.m)
        form.setVerticalSpacing(SPACE.s)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        self.url = QLineEdit()
        self.url.setPlaceholderText("http://127.0.0.1:11434/v1")
        self.model = QLineEdit()
        self.model.setPlaceholderText("name as the endpoint knows it")
        self.key = QLineEdit()
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setPlaceholderText("not needed by most local servers")
        self.key.setInputMethodHints(Qt.InputMethodHint.ImhSensitiveData)
        for title, field in (("Address", self.url), ("Model", self.model), ("Key", self.key)):
            field.setAccessibleName(title)
            form.addRow(label(title, "muted"), field)
        self.key_note = label("Looking for a stored key…", "caption", wrap=True)
        form.addRow("", self.key_note)
        return box

    def _fill(self, choice: ModelChoice) -> None:
        self.openai.setChecked(choice.kind == "openai")
        self.offline.setChecked(choice.kind != "openai")
        self.url.setText(choice.base_url)
        self.model.setText(choice.model)

    def _connect(self) -> None:
        self.openai.toggled.connect(self._update)
        for field in (self.url, self.model, self.key):
            field.textEdited.connect(self._update)
        self.test_button.clicked.connect(lambda _checked=False: self.test())
        self.cancel.clicked.connect(lambda _checked=False: self.reject())
        self.save.clicked.connect(lambda _checked=False: self.apply())

    def _update(self) -> None:
        remote, problem = self.choice.kind == "openai", self.problem()
        self._tests += 1  # what was tested is no longer what is entered
        self._fields.setVisible(remote)
        self.test_button.setVisible(remote)
        self.test_button.setEnabled(not problem)
        self.save.setEnabled(not problem)
        self.privacy.set_plain(_privacy(self.choice))
        self._say(problem if remote and (self.url.text() and self.model.text()) else "", "")
        self.adjustSize()

    def _tested(self, number: int, text: str, tone: str) -> None:
        if number == self._tests:
            self.test_button.setEnabled(True)
            self._say(text, tone)

    def _say(self, text: str, tone: str) -> None:
        self.outcome.setProperty("tone", tone)
        restyle(self.outcome)
        mark = {"ok": "✓ ", "error": "✕ "}.get(tone, "")
        self.outcome.set_plain(mark + text if text else "")
        self.outcome.setVisible(bool(text))
        self.adjustSize()

    def _tell_key(self, answer: tuple[str, str]) -> None:
        where, would = answer
        if where:
            text = f"A key is kept in {where}. Leave the field empty to go on using it."
        else:
            text = f"A key will be kept in {would}; it is never written to a file by Sightline."
        self.key_note.setText(text)
        self.adjustSize()


def _hint(text: str) -> QWidget:
    hint = label(text, "caption", wrap=True)
    hint.setContentsMargins(SPACE.xl, 0, 0, 0)
    return hint


def _split(url: str) -> tuple[str, str] | None:
    """Scheme and host of an address, or None when it is none."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return None
    return (parts.scheme, host) if parts.scheme in ("http", "https") and host else None


def _privacy(choice: ModelChoice) -> str:
    parts = _split(choice.base_url)
    if choice.kind == "offline" or parts is None:
        return "Nothing leaves this computer."
    scheme, host = parts
    if host in _LOCAL:
        return "The endpoint is on this computer; nothing leaves it."
    text = (
        f"Questions and tool results, without identifying attributes, will be sent to {host}. "
        "You are asked once in each thread before anything is sent. No pixels are sent."
    )
    open_text = " http:// is not encrypted: use https:// if you can."
    return text if scheme == "https" else text + open_text


def _no(_reason: str) -> None:
    """The note about the key is a help only: without it the dialog works all the same."""
