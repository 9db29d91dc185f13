"""The field for the key of an endpoint.

A typed key belongs to the host that was in the address when it was typed: when the host changes,
the field is emptied, so that the key cannot be sent there.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.secrets import Secrets
from app.tools.api import CancelToken
from app.views.daemon_tasks import DaemonTasks
from app.views.layouts import row
from app.views.settings.fields import wrapped_label
from app.views.theme import SPACE

KEYRING_DELAY_MS = 250
"""Delay before the keyring is asked, so that it is not asked for each letter of an address."""


class KeyField(QWidget):
    """A password field, a button to forget the stored key, and a note that says where it is.

    Args:
        keys: The store of the endpoints' keys.
        tasks: Runs slow work on threads.
        hint: Placeholder of the empty field.

    Attributes:
        edited: Emitted when the typed text changes.
    """

    edited = Signal()

    def __init__(self, keys: Secrets, tasks: DaemonTasks, hint: str = "") -> None:
        super().__init__()
        self._keys = keys
        self._hint = hint
        self._tasks = tasks
        self._name = ""
        self._host = ""
        self._cleared_note = ""  # why the field was emptied
        self._search: CancelToken | None = None
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
        self.note = wrapped_label("", "caption")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.xs)
        column.addLayout(row(self.edit, self.forget_button))
        column.addWidget(self.note)
        self.setFocusProxy(self.edit)
        self._timer = QTimer(self, singleShot=True, interval=KEYRING_DELAY_MS)
        self._timer.timeout.connect(self._find_key)
        self.edit.textEdited.connect(self._on_typed)
        self.forget_button.clicked.connect(lambda _checked=False: self._forget())

    @property
    def typed(self) -> str:
        """The typed key, or ""."""
        return self.edit.text().strip()

    def problem(self) -> str:
        """Return why the typed text cannot be a key, or ""."""
        typed = self.typed
        fine = typed.isascii() and typed.isprintable() and " " not in typed
        return "" if fine else "The key holds signs that no key has: copy it again."

    def set_endpoint(self, name: str, host: str) -> None:
        """Switch to the key of another endpoint.

        Args:
            name: The key's name, from `app.secrets.key_name`; "" while there is no host.
            host: The endpoint's host.
        """
        if name == self._name:
            return
        typed_for, self._name, self._host = self._host, name, host
        self.forget_button.hide()
        if self.typed:
            self.edit.clear()
            origin = f"typed for {typed_for}" if typed_for else "typed before there was a host"
            self._cleared_note = (
                f"The key was {origin} and is taken out: type it again for this address. "
            )
        self._show_text("Looking for a stored key…" if name else "")
        self._cancel_search()
        if name:
            self._timer.start()

    def _on_typed(self, _text: str) -> None:
        self._cleared_note = ""
        self.edited.emit()

    def _cancel_search(self) -> None:
        self._timer.stop()
        if self._search is not None:
            self._search.cancel()

    def _find_key(self) -> None:
        name, keys = self._name, self._keys
        self._search = self._tasks.run(
            lambda _cancel: (keys.where(name), keys.variable_of(name), keys.would_keep_in()),
            self._show_place,
            lambda _reason: self._show_text(""),
        )

    def _show_place(self, answer: tuple[str, str, str]) -> None:
        where, variable, new_place = answer
        stored = bool(where) and not where.startswith("the environment")
        self.forget_button.setVisible(stored)
        self.edit.setPlaceholderText("kept; type another to replace it" if stored else self._hint)
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
                f"A key will be kept in {new_place}, for {self._host} only; Sightline never writes "
                "it to a file."
            )
        self._show_text(text)

    def _forget(self) -> None:
        name, keys = self._name, self._keys
        self.forget_button.setEnabled(False)
        self._tasks.run(
            lambda _cancel: keys.forget(name), self._show_forgotten, self._show_not_forgotten
        )

    def _show_forgotten(self, gone: bool) -> None:
        self.forget_button.setEnabled(True)
        if gone:
            self.edit.setFocus()
            self._find_key()
        else:
            self._show_not_forgotten("")

    def _show_not_forgotten(self, _reason: str) -> None:
        self.forget_button.setEnabled(True)
        self._show_text("The system keyring did not let go of the key: delete it there.")

    def _show_text(self, text: str) -> None:
        text = self._cleared_note + text
        self.note.setText(text)
        self.note.setVisible(bool(text))
        self.edit.setAccessibleDescription(text)
