"""The key of an endpoint: where it lies, typing a new one, forgetting it.

A typed key belongs to the host that stood in the address when it was typed: with another host it
is taken out of the field, so that it cannot be sent there.
"""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.tools.api import CancelToken
from app.views.chat.widgets import row
from app.views.daemon_tasks import DaemonTasks
from app.views.settings.parts import wrapped
from app.views.theme import SPACE

LOOK_AFTER_MS = 250  # a keyring is not asked for each letter of an address


class KeyStore(Protocol):
    """Keeps keys: `app.secrets.Secrets`. May take seconds, so it is asked on another thread."""

    def get(self, name: str, *, chosen: bool = False) -> str:
        """The key, or ""; `chosen` as if the settings named this endpoint already."""
        ...

    def set(self, name: str, value: str) -> None:
        """Keep a key."""
        ...

    def forget(self, name: str) -> bool:
        """Forget a key; whether it is gone."""
        ...

    def where(self, name: str) -> str:
        """Where the key is now, in the user's words; "" when there is none."""
        ...

    def would_keep_in(self) -> str:
        """Where `set` would put it, in the user's words."""
        ...

    def variable_of(self, name: str) -> str:
        """The environment variable that serves once this endpoint is the chosen one, or ""."""
        ...


class KeyField(QWidget):
    """A password field, a button to forget the kept key, and a line that says where it lies.

    Args:
        keys: Where keys are kept.
        tasks: Runs slow work on threads.
        hint: What stands in the empty field.

    Attributes:
        edited: What is typed changed.
    """

    edited = Signal()

    def __init__(self, keys: KeyStore, tasks: DaemonTasks, hint: str = "") -> None:
        super().__init__()
        self._keys = keys
        self._hint = hint
        self._tasks = tasks
        self._name = ""
        self._host = ""
        self._taken = ""  # why the field is empty
        self._looking: CancelToken | None = None
        self.edit = QLineEdit()
        self.edit.setEchoMode(QLineEdit.EchoMode.Password)
        self.edit.setMaxLength(2_000)
        self.edit.setAccessibleName("Key")
        self.edit.setPlaceholderText(hint)
        self.edit.setInputMethodHints(
            Qt.InputMethodHint.ImhSensitiveData | Qt.InputMethodHint.ImhNoPredictiveText
        )
        self.forget_button = QPushButton("Forget key")
        self.forget_button.setToolTip("Delete the key that Sightline keeps for this host")
        self.forget_button.hide()
        self.note = wrapped("", "caption")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.xs)
        column.addLayout(row(self.edit, self.forget_button))
        column.addWidget(self.note)
        self.setFocusProxy(self.edit)
        self._timer = QTimer(self, singleShot=True, interval=LOOK_AFTER_MS)
        self._timer.timeout.connect(self._look)
        self.edit.textEdited.connect(self._on_typed)
        self.forget_button.clicked.connect(lambda _checked=False: self._forget())

    @property
    def typed(self) -> str:
        """The key that was typed, "" when none was."""
        return self.edit.text().strip()

    def problem(self) -> str:
        """Why what is typed can be no key, or ""."""
        typed = self.typed
        fine = typed.isascii() and typed.isprintable() and " " not in typed
        return "" if fine else "The key holds signs that no key has: copy it again."

    def set_endpoint(self, name: str, host: str) -> None:
        """Show the key of another endpoint.

        Args:
            name: The key's name, as `app.secrets.key_name` makes it; "" while there is no host.
            host: The endpoint's host.
        """
        if name == self._name:
            return
        typed_for, self._name, self._host = self._host, name, host
        self.forget_button.hide()
        if self.typed:
            self.edit.clear()
            whose = f"typed for {typed_for}" if typed_for else "typed before there was a host"
            self._taken = f"The key was {whose} and is taken out: type it again for this address. "
        self._say("Looking for a stored key…" if name else "")
        self._stop_looking()
        if name:
            self._timer.start()

    def _on_typed(self, _text: str) -> None:
        self._taken = ""
        self.edited.emit()

    def _stop_looking(self) -> None:
        self._timer.stop()
        if self._looking is not None:
            self._looking.cancel()

    def _look(self) -> None:
        name, keys = self._name, self._keys
        self._looking = self._tasks.run(
            lambda _cancel: (keys.where(name), keys.variable_of(name), keys.would_keep_in()),
            self._tell,
            lambda _reason: self._say(""),
        )

    def _tell(self, answer: tuple[str, str, str]) -> None:
        where, variable, would = answer
        kept = bool(where) and not where.startswith("the environment")
        self.forget_button.setVisible(kept)
        self.edit.setPlaceholderText("kept; type another to replace it" if kept else self._hint)
        if where:
            text = (
                f"The key for {self._host} is found in {where}, and sent to no other host. "
                "Leave the field empty to go on using it."
            )
        elif variable:
            text = (
                f"The environment variable {variable} holds a key: it will be sent to "
                f"{self._host} when you test or save this address."
            )
        else:
            text = (
                f"A key will be kept in {would}, for {self._host} only; Sightline never writes "
                "it to a file."
            )
        self._say(text)

    def _forget(self) -> None:
        name, keys = self._name, self._keys
        self.forget_button.setEnabled(False)
        self._tasks.run(lambda _cancel: keys.forget(name), self._forgotten, self._not_forgotten)

    def _forgotten(self, gone: bool) -> None:
        self.forget_button.setEnabled(True)
        if gone:
            self.edit.setFocus()
            self._look()
        else:
            self._not_forgotten("")

    def _not_forgotten(self, _reason: str) -> None:
        self.forget_button.setEnabled(True)
        self._say("The system keyring did not let go of the key: delete it there.")

    def _say(self, text: str) -> None:
        text = self._taken + text
        self.note.setText(text)
        self.note.setVisible(bool(text))
        self.edit.setAccessibleDescription(text)
