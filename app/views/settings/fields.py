"""Fields, forms and pages of the settings window. All labels show plain text, never HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QDoubleSpinBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSpacerItem,
    QTreeWidget,
    QWidget,
)

from app.errors import CancelToken
from app.secrets import Secrets
from app.views.background import DaemonTasks
from app.views.layouts import column, row
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import label, push_button

LABEL_WIDTH = 118
FIELD_HEIGHT = 32
KEYRING_DELAY_MS = 250
"""Delay before the keyring is asked, so that it is not asked for each letter of an address."""


def wrapped_label(text: str, role: str = "") -> QLabel:
    """Return a label that wraps its text; a long word does not widen the page."""
    made = label(text, role, wrap=True)
    made.setMinimumWidth(1)
    return made


def tab_fields(box: QWidget) -> list[QWidget]:
    """Return the widgets in `box` that the Tab key reaches, in the order of their creation."""
    return [
        field
        for field in box.findChildren(QWidget)
        if field.focusPolicy() & Qt.FocusPolicy.TabFocus
        and field.focusProxy() is None
        and field.window() is box.window()  # the list of a combo box is a window of its own
    ]


class SettingsPage(QScrollArea):
    """A page of the settings: a column of widgets that scrolls if it is taller than the window."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside = QWidget()
        inside.setObjectName("settingsPage")
        margins = (SPACE.xl, SPACE.xl, SPACE.xl, SPACE.l)
        self.column = column(margins=margins, parent=inside)
        self.setWidget(inside)

    def add_heading(self, text: str, hint: str = "") -> None:
        self.column.addWidget(label(text, "title"))
        if hint:
            self.column.addWidget(wrapped_label(hint, "muted"))
        self.column.addSpacing(SPACE.xs)

    def tab_fields(self) -> list[QWidget]:
        return tab_fields(self)

    def add_section(self, text: str) -> None:
        self.column.addSpacing(SPACE.m)
        self.column.addWidget(label(text, "section"))


class Form(QGridLayout):
    """A form with names at the left and fields at the right; screen readers read the names."""

    def __init__(self) -> None:
        super().__init__()
        self.setContentsMargins(0, 0, 0, 0)
        self.setHorizontalSpacing(SPACE.m)
        self.setVerticalSpacing(SPACE.xs)
        self.setColumnMinimumWidth(0, LABEL_WIDTH)
        self.setColumnStretch(1, 1)

    def add_row(
        self, name: str, field: QWidget, container: QWidget | None = None, *, note: str = ""
    ) -> None:
        """Add a row: name, field (or the `container` that it is in), and below it a note."""
        field.setAccessibleName(name)
        title = label(name, "muted")
        title.setBuddy(field)
        # As high as a field, so that name and field align where the row is higher.
        title.setMinimumHeight(FIELD_HEIGHT)
        self.addItem(QSpacerItem(0, 2), self.rowCount(), 0)
        at = self.rowCount()
        self.addWidget(title, at, 0, Qt.AlignmentFlag.AlignTop)
        if container is None and field.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Fixed:
            container = QWidget()  # else the names would take the room that the field leaves
            row(field, 1, parent=container)
        self.addWidget(container or field, at, 1)
        if note:
            self.add_note(note)
            field.setAccessibleDescription(note)

    def add_note(self, text: str = "") -> QLabel:
        made = wrapped_label(text, "caption")
        self.addWidget(made, self.rowCount(), 1)
        return made


class _IgnoreWheel:
    """Leaves the wheel to the page, so that scrolling changes no field."""

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()


class Choice(_IgnoreWheel, QComboBox):
    """A list of items with values and `translatable` texts; the wheel scrolls the page."""

    def __init__(self, items: tuple[tuple[str, str], ...]) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for value, text in items:
            self.addItem(tr(text), value)

    @property
    def value(self) -> str:
        return str(self.currentData())

    def choose(self, value: str) -> None:
        """Select the item that has this value; the first item if none has it."""
        self.setCurrentIndex(max(0, self.findData(value)))


class NameField(_IgnoreWheel, QComboBox):
    """A field for a name that is typed, or selected from those that an endpoint lists.

    Attributes:
        edited: Emitted when the text changes, by typing or selecting.
    """

    edited = Signal()

    def __init__(self, placeholder: str) -> None:
        super().__init__()
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumContentsLength(12)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        # Not inline: that would enter a longer name with the same beginning, unnoticed.
        finder = self.completer() or QCompleter(self)
        finder.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        finder.setFilterMode(Qt.MatchFlag.MatchContains)
        self.setCompleter(finder)
        edit = self.lineEdit()
        assert edit is not None
        edit.setPlaceholderText(placeholder)
        edit.setMaxLength(300)
        self.editTextChanged.connect(lambda _text: self.edited.emit())

    @property
    def text(self) -> str:
        """The name, without spaces around it."""
        return self.currentText().strip()

    def set_suggestions(self, names: tuple[str, ...]) -> None:
        typed = self.currentText()
        self.blockSignals(True)
        self.clear()
        self.addItems(list(names))
        self.setEditText(typed)
        self.blockSignals(False)


class Amount(_IgnoreWheel, QDoubleSpinBox):
    """A number field with a unit; a minimum of 0 is "no limit"; 0 `decimals`: whole."""

    def __init__(
        self,
        least: float,
        greatest: float,
        *,
        prefix: str = "",
        suffix: str = "",
        step: float = 1,
        decimals: int = 2,
    ) -> None:
        super().__init__()
        self.setDecimals(decimals)
        self.setRange(least, greatest)
        self.setSingleStep(step)
        self.setPrefix(prefix)
        self.setSuffix(suffix)
        self.setGroupSeparatorShown(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(170, FIELD_HEIGHT)
        # The style sheet's padding does not reach the text of a spin box.
        self.lineEdit().setTextMargins(SPACE.s, 0, 0, 0)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        if least == 0:
            self.setSpecialValueText(tr("no limit"))

    def textFromValue(self, value: float) -> str:
        text, point = super().textFromValue(value), self.locale().decimalPoint()
        return text if self.prefix() or point not in text else text.rstrip("0").removesuffix(point)


class RowTree(QTreeWidget):
    """A list of rows, which keeps the Enter key to itself; `heads` are titles and widths (px)."""

    def __init__(self, object_name: str, name: str, *heads: tuple[str, int]) -> None:
        super().__init__()
        self.setObjectName(object_name)
        self.setAccessibleName(name)
        self.setHeaderLabels([title for title, _ in heads])
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setAllColumnsShowFocus(True)
        self.setTabKeyNavigation(False)
        self.header().setSectionsMovable(False)
        for place, (_, width) in enumerate(heads[:-1]):  # the last one has what is left
            self.setColumnWidth(place, width)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Accept Enter: else the dialog would click its default button, Save, and close."""
        super().keyPressEvent(event)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            event.accept()


class GrantList(QWidget):
    """Rows of what was allowed, each with a `buttons` entry to undo it; `none` if empty."""

    def __init__(self, none: str) -> None:
        super().__init__()
        self.buttons: dict[Any, QPushButton] = {}
        self._lines: dict[Any, QWidget] = {}
        self._none = wrapped_label(none, "muted")
        self.column = column(self._none, parent=self)

    def add(
        self, key: Any, name: QWidget, what: str, action: str, undo: Callable[[], object]
    ) -> QPushButton:
        def undo_and_remove() -> None:
            undo()
            self.remove(key)

        button = self.buttons[key] = push_button(action, undo_and_remove)
        line = self._lines[key] = QWidget()
        row((name, 1), label(what, "muted"), button, parent=line)
        self.column.insertWidget(len(self.buttons), line)
        self.update_none()
        return button

    def remove(self, key: Any) -> None:
        at = list(self.buttons).index(key)
        button, line = self.buttons.pop(key), self._lines.pop(key)
        if button.hasFocus() and self.buttons:
            left = list(self.buttons.values())
            left[min(at, len(left) - 1)].setFocus()
        line.hide()
        line.deleteLater()
        self.update_none()

    def update_none(self) -> None:
        self._none.setVisible(not self.buttons)


class PriceField(QLineEdit):
    """A field for a price in US dollars per million tokens; empty if the price is unknown."""

    def __init__(self, greatest: float) -> None:
        super().__init__()
        self._greatest = greatest
        self.setPlaceholderText(tr("not known"))
        self.setMaxLength(20)

    @property
    def price(self) -> float | None:
        """The price in US dollars; None if the field is empty, or its text is no price."""
        text = self.text().strip().removeprefix("$").replace(",", ".")
        try:
            return value if 0 <= (value := float(text)) <= self._greatest else None
        except ValueError:
            return None

    @property
    def valid(self) -> bool:
        """Whether the field is empty or holds a price."""
        return not self.text().strip() or self.price is not None

    def show_price(self, price: float | None) -> None:
        self.setText("" if price is None else f"{price:g}")


class KeyField(QWidget):
    """A password field, a button to forget the stored key, and a note that says where it is stored.

    A typed key belongs to the host that was in the address when it was typed. When the host
    changes, the field is emptied, so that the key cannot be sent to the new host.

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
        self.edit.setAccessibleName(tr("Key"))
        self.edit.setPlaceholderText(hint)
        self.edit.setInputMethodHints(
            Qt.InputMethodHint.ImhSensitiveData | Qt.InputMethodHint.ImhNoPredictiveText
        )
        self.forget_button = push_button(tr("Forget key"), self._forget)
        self.forget_button.setToolTip(tr("Delete the key that Sightline keeps for this host"))
        self.forget_button.hide()
        self.note = wrapped_label("", "caption")
        column(row(self.edit, self.forget_button), self.note, spacing=SPACE.xs, parent=self)
        self.setFocusProxy(self.edit)
        self._timer = QTimer(self, singleShot=True, interval=KEYRING_DELAY_MS)
        self._timer.timeout.connect(self._find_key)
        self.edit.textEdited.connect(self._on_typed)

    @property
    def typed(self) -> str:
        """The typed key; "" if none was typed."""
        return self.edit.text().strip()

    def problem(self) -> str:
        """Return why the typed text cannot be a key; "" if it can."""
        typed = self.typed
        fine = typed.isascii() and typed.isprintable() and " " not in typed
        return "" if fine else tr("The key contains characters that no key has: copy it again.")

    def set_endpoint(self, name: str, host: str) -> None:
        """Switch to another host's key, called `name` (`app.secrets.key_name`), "" for no host."""
        if name == self._name:
            return
        typed_for, self._name, self._host = self._host, name, host
        self.forget_button.hide()
        if self.typed:
            self.edit.clear()
            self._cleared_note = (
                tr("The key was typed for {host} and was removed: type it again for this address.")
                if typed_for
                else tr(
                    "The key was typed before there was a host and was removed: type it again "
                    "for this address."
                )
            ).format(host=typed_for)
        self._show_text(tr("Looking for a stored key…") if name else "")
        self._timer.stop()
        if self._search is not None:
            self._search.cancel()
        if name:
            self._timer.start()

    def _on_typed(self, _text: str) -> None:
        self._cleared_note = ""
        self.edited.emit()

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
        self.edit.setPlaceholderText(
            tr("stored; type another to replace it") if stored else self._hint
        )
        if where:
            text = tr(
                "The key for {host} is found in {where}, and sent to no other host. "
                "Leave the field empty to go on using it."
            ).format(host=self._host, where=where)
        elif variable:
            text = tr(
                "The environment variable {variable} holds a key: it will be sent to "
                "{host} when you test or save this address."
            ).format(variable=variable, host=self._host)
        else:
            text = tr(
                "A key will be kept in {new_place}, for {host} only; Sightline never "
                "writes it to a file."
            ).format(new_place=new_place, host=self._host)
        self._show_text(text)

    def _forget(self) -> None:
        name, keys = self._name, self._keys
        self.forget_button.setEnabled(False)
        self._tasks.run(
            lambda _cancel: keys.forget(name),
            self._show_forgotten,
            lambda _reason: self._show_forgotten(False),
        )

    def _show_forgotten(self, gone: bool) -> None:
        self.forget_button.setEnabled(True)
        if gone:
            self.edit.setFocus()
            self._find_key()
        else:
            self._show_text(tr("The system keyring did not delete the key: delete it there."))

    def _show_text(self, text: str) -> None:
        text = self._cleared_note + text
        self.note.setText(text)
        self.note.setVisible(bool(text))
        self.edit.setAccessibleDescription(text)
