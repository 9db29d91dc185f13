"""The settings page of the notes that the assistant keeps for all conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHeaderView, QLineEdit, QTreeWidget, QTreeWidgetItem

from app.tools.memory import KINDS, LONGEST, MOST, Note, as_note, told
from app.views.layouts import row
from app.views.plain_text import one_line
from app.views.settings.fields import Choice, Form, SettingsPage, wrapped_label
from app.views.theme import SPACE
from app.views.translation import tr, translatable
from app.views.widgets import push_button

_KINDS = (
    ("preference", translatable("Preference")),
    ("site convention", translatable("Site convention")),
    ("report style", translatable("Report style")),
)
_ROWS_HEIGHT = 220


class MemoryPage(SettingsPage):
    """The user's notes, which are saved with the settings, and the administrator's, read only."""

    def __init__(self, notes: Sequence[Note], site: Sequence[Note] = ()) -> None:
        super().__init__()
        self.before = tuple(notes)
        self._notes = list(notes)
        self._site = tuple(site)
        self.add_heading(
            tr("What is remembered for all conversations?"),
            tr(
                "How you like answers and reports, and what holds at your site. Language models "
                "are told the notes that are ticked, also those on other machines; the rules that "
                "answer offline do not use them. Notes change no rule for tools. Nothing about a "
                "patient is kept."
            ),
        )
        self.list = _Notes(self.delete)
        self.list.setAccessibleName(tr("Notes"))
        self.list.setHeaderLabels([tr("Notes"), tr("Kind")])
        self.list.setMinimumHeight(_ROWS_HEIGHT)
        self.list.currentItemChanged.connect(lambda _now, _before: self._show())
        self.list.itemChanged.connect(self._switch)
        self.column.addWidget(self.list, 1)
        self.room = wrapped_label("", "caption")
        self.column.addWidget(self.room)
        form = Form()
        self.text = _Line(self._enter)
        self.text.setMaxLength(LONGEST)
        self.text.setPlaceholderText(tr("Short sentences; measurements in millimetres"))
        self.text.textEdited.connect(lambda _text: self._offer())
        form.add_row(tr("Text"), self.text)
        self.kind = Choice(_KINDS)
        self.kind.currentIndexChanged.connect(lambda _index: self._offer())
        form.add_row(tr("Kind"), self.kind)
        self.column.addSpacing(SPACE.s)
        self.column.addLayout(form)
        self.add_button = push_button(tr("Add"), self.add)
        self.change_button = push_button(tr("Replace"), self.change)
        self.delete_button = push_button(tr("Delete"), self.delete)
        buttons = (self.add_button, self.change_button, self.delete_button)
        for button in buttons:
            button.setAutoDefault(False)
        self.column.addLayout(row(*buttons, 1))
        self._fill(-1)

    def notes(self) -> tuple[Note, ...]:
        """Return the notes as they are entered; one that was typed but not added counts."""
        typed, at = self._typed(), self._number()
        if not typed or typed.text in {note.text for note in self._notes}:
            return tuple(self._notes)
        if at < 0:
            return (*self._notes, typed)
        return (*self._notes[:at], replace(typed, on=self._notes[at].on), *self._notes[at + 1 :])

    def add(self) -> None:
        """Add what is typed."""
        if (typed := self._typed()) and self.add_button.isEnabled():
            self._notes.append(typed)
            self._fill(-1)
            self.text.setFocus()

    def change(self) -> None:
        """Replace the selected note by what is typed."""
        typed, at = self._typed(), self._number()
        if typed and at >= 0:
            self._notes[at] = replace(typed, on=self._notes[at].on)
            self._fill(at)

    def delete(self) -> None:
        """Delete the selected note."""
        at = self._number()
        if at >= 0:
            del self._notes[at]
            self._fill(min(at, len(self._notes) - 1))

    def _enter(self) -> None:
        """Change the selected note, or add one if none is selected."""
        (self.change if self._number() >= 0 else self.add)()

    def _typed(self) -> Note | None:
        text = as_note(self.text.text())
        return Note(text, KINDS[self.kind.currentIndex()]) if text else None

    def _number(self) -> int:
        """Return the number of the selected note among the user's own; -1 for none."""
        item = self.list.currentItem()
        at = self.list.indexOfTopLevelItem(item) - len(self._site) if item is not None else -1
        return max(-1, at)

    def _fill(self, current: int) -> None:
        with QSignalBlocker(self.list):
            self.list.clear()
            for number, note in enumerate((*self._site, *self._notes)):
                kind = tr(dict(_KINDS)[note.kind])
                own = number >= len(self._site)
                text = kind if own else tr("{kind}, by your administrator").format(kind=kind)
                item = QTreeWidgetItem([one_line(note.text, LONGEST), text])
                item.setToolTip(0, one_line(note.text, LONGEST))
                flags = Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled
                item.setFlags(flags | Qt.ItemFlag.ItemIsUserCheckable if own else flags)
                on = Qt.CheckState.Checked if note.on else Qt.CheckState.Unchecked
                item.setCheckState(0, on)
                self.list.addTopLevelItem(item)
            chosen = self.list.topLevelItem(current + len(self._site)) if current >= 0 else None
            self.list.setCurrentItem(chosen)  # pyright: ignore[reportArgumentType]
        self._show()
        self._count()

    def _show(self) -> None:
        at = self._number()
        self.text.setText(self._notes[at].text if at >= 0 else "")
        if at >= 0:
            self.kind.choose(self._notes[at].kind)
        self._offer()

    def _offer(self) -> None:
        typed, at = self._typed(), self._number()
        texts = {note.text for note in self._notes}
        self.add_button.setEnabled(typed is not None and typed.text not in texts)
        same = at >= 0 and typed == replace(self._notes[at], on=True)
        self.change_button.setEnabled(typed is not None and at >= 0 and not same)
        self.delete_button.setEnabled(at >= 0)

    def _switch(self, item: QTreeWidgetItem, _column: int) -> None:
        at = self.list.indexOfTopLevelItem(item) - len(self._site)
        if at >= 0:
            on = item.checkState(0) is Qt.CheckState.Checked
            self._notes[at] = replace(self._notes[at], on=on)
            self._count()

    def _count(self) -> None:
        on = [note for note in (*self._site, *self._notes) if note.on]
        lines = told(on)
        used = len("\n".join(lines))
        text = tr("{used} of {most} characters").format(used=used, most=MOST)
        if len(lines) < len(on):
            text += ". " + tr("Not all fit: a language model is told the first ones only.")
        self.room.setText(text)


class _Notes(QTreeWidget):
    """The list of notes; Delete deletes the selected one."""

    def __init__(self, delete: Callable[[], object]) -> None:
        super().__init__()
        self._delete = delete
        self.setObjectName("memoryNotes")
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setColumnCount(2)
        self.header().setStretchLastSection(False)
        self.header().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.header().setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self._delete()
        else:
            super().keyPressEvent(event)


class _Line(QLineEdit):
    """A line in which Enter does what belongs to it, rather than save and close the window."""

    def __init__(self, enter: Callable[[], object]) -> None:
        super().__init__()
        self._enter = enter

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._enter()
        else:
            super().keyPressEvent(event)
