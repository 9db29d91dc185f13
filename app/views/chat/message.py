"""The user's question as a bubble, and notices about a run."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QVBoxLayout, QWidget

from app.views.chat.composer import QuestionEdit
from app.views.chat.widgets import link_button
from app.views.icons import icon
from app.views.layouts import Flow, column, icon_row, row
from app.views.plain_text import clean
from app.views.text_view import literal_view
from app.views.theme import SPACE, THEME
from app.views.translation import tr
from app.views.widgets import IconLabel, label, push_button, tool_button

_SHARE = 0.86  # of the width that a bubble takes at most


def copy_text(text: str) -> None:
    """Put plain text on the clipboard."""
    QGuiApplication.clipboard().setText(clean(text))


class UserBubble(QWidget):
    """A bubble at the right with the user's question as it was written, and a menu button.

    Args:
        ask_again: Asks the question once more, at the end of the conversation.
        branch: Goes on from before the question in a conversation of its own.
        edit: Asks the text that it is given in place of the question.
        step: Shows another version of the question: the one before for -1, after for 1.
    """

    def __init__(
        self,
        text: str,
        ask_again: Callable[[], object],
        branch: Callable[[], object],
        edit: Callable[[str], object],
        step: Callable[[int], object],
    ) -> None:
        super().__init__()
        self.text = text
        self._ask_again = ask_again
        self._branch = branch
        self._edit = edit
        self.editor: QuestionEditor | None = None
        self.versions: VersionSwitch | None = None
        self._step = step
        self.setAccessibleName(tr("You asked"))
        self.more = tool_button(
            "ellipsis", tr("What can be done with this question"), self._open, 14
        )
        self.more.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._frame = QFrame()
        self._frame.setObjectName("chatBubble")
        self.view = literal_view(text, name=tr("Your question"))
        self.view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.view.more_actions = self._fill
        column(self.view, margins=(SPACE.m, 9, SPACE.m, 9), parent=self._frame)
        self._shown = QWidget()
        row(1, self.more, self._frame, spacing=2, parent=self._shown)
        self._layout: QVBoxLayout = column(self._shown, spacing=2, parent=self)
        self._natural = self._natural_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        room = min(int(self.width() * _SHARE), self.width() - self.more.sizeHint().width() - 2)
        self._frame.setFixedWidth(min(self._natural, max(40, room)))
        super().resizeEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._open(event.globalPos())

    def show_versions(self, number: int, count: int) -> None:
        """Say which of `count` versions of the question this is, from 1; nothing for a single."""
        if self.versions is None and count > 1:
            self.versions = VersionSwitch(self._step)
            self._layout.addWidget(self.versions)
        if self.versions is not None:
            self.versions.show_place(number, count)

    def edit(self) -> None:
        """Put a field with the question in place of it; Enter asks the changed question."""
        if self.editor is not None:
            return
        self.editor = QuestionEditor(self.text, self._end_edit)
        self._layout.insertWidget(0, self.editor)
        self._shown.hide()
        self.editor.edit.setFocus()

    def _end_edit(self, text: str) -> None:
        """Put the question back; ask the changed one unless `text` is empty."""
        editor, self.editor = self.editor, None
        if editor is not None:
            self._shown.show()
            self.more.setFocus()
            self._layout.removeWidget(editor)
            editor.hide()
            editor.deleteLater()
        if text:
            self._edit(text)

    def _open(self, at: QPoint | None = None) -> None:
        """Open the menu at a place on the screen, or below the button."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill(menu)
        menu.popup(at or self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _fill(self, menu: QMenu) -> None:
        menu.addAction(icon("pen-line"), tr("Edit and ask again…"), self.edit)
        menu.addAction(icon("rotate-ccw"), tr("Ask again"), self._ask_again)
        menu.addAction(icon("git-branch"), tr("Branch from here…"), self._branch)
        menu.addAction(icon("copy"), tr("Copy"), lambda: copy_text(self.text))

    def _natural_width(self) -> int:
        """Return the width in px at which no line of the text wraps."""
        self.view.ensurePolished()
        metrics = self.view.fontMetrics()
        lines = clean(self.text).split("\n")[:200]
        widest = max(metrics.horizontalAdvance(line[:400]) for line in lines)
        return math.ceil(widest) + 2 * SPACE.m + 6


class QuestionEditor(QFrame):
    """A field with an asked question; `end` is called with the new text, or with "" to give up."""

    def __init__(self, text: str, end: Callable[[str], object]) -> None:
        super().__init__()
        self.setObjectName("chatComposer")
        self._end = end
        self.edit = QuestionEdit()
        self.edit.setAccessibleName(tr("Changed question"))
        self.edit.setPlainText(text)
        self.edit.selectAll()
        hint = label(tr("What was answered stays, as an earlier version."), "faint", wrap=True)
        self.cancel = push_button(tr("Cancel"), lambda: end(""))
        self.ask = push_button(tr("Ask"), self._ask, primary=True)
        foot = row((hint, 1), self.cancel, self.ask)
        column(self.edit, foot, margins=(SPACE.m, 10, SPACE.m, 10), parent=self)
        self.edit.sent.connect(self._ask)
        self.edit.escaped.connect(lambda _gently: end(""))
        self.edit.textChanged.connect(
            lambda: self.ask.setEnabled(bool(self.edit.toPlainText().strip()))
        )

    def _ask(self) -> None:
        if text := self.edit.toPlainText().strip():
            self._end(text)


class VersionSwitch(QWidget):
    """Says which version of a question is shown, and leads to those before and after it."""

    def __init__(self, step: Callable[[int], object]) -> None:
        super().__init__()
        self.before = link_button("‹", action=lambda: step(-1))
        self.after = link_button("›", action=lambda: step(1))
        for button, name in (
            (self.before, tr("Version before this one")),
            (self.after, tr("Version after this one")),
        ):
            button.setAccessibleName(name)
            button.setToolTip(name)
        self.place = label("", "faint")
        row(1, self.before, self.place, self.after, spacing=2, parent=self)

    def show_place(self, number: int, count: int) -> None:
        self.place.setText(tr("{number} of {count}").format(number=number, count=count))
        self.place.setAccessibleName(
            tr("Version {number} of {count}").format(number=number, count=count)
        )
        self.before.setEnabled(number > 1)
        self.after.setEnabled(number < count)
        self.setVisible(count > 1)


_TONES = {
    "done": ("circle-check", 14, THEME.ok),
    "muted": ("ban", 14, THEME.text_faint),
    "warning": ("triangle-alert", 18, THEME.warning),
    "error": ("circle-alert", 18, THEME.error),
}


class Notice(QFrame):
    """A notice, e.g. why a run gave no answer; `tone`: "done", "muted", "warning" or "error"."""

    def __init__(self, text: str, remedy: str = "", *, tone: str = "muted") -> None:
        super().__init__()
        self.setObjectName("chatNotice")
        self.setProperty("tone", tone)
        self._actions: Flow | None = None
        quiet = tone in ("muted", "done")
        self.view = literal_view(f"{text}\n{remedy}" if remedy else text, "muted" if quiet else "")
        line = icon_row(IconLabel(*_TONES[tone]), self.view)
        margins = (2, 0, 2, 0) if quiet else (SPACE.m, 10, SPACE.m, 10)
        self._body = column(line, margins=margins, parent=self)
        self.setAccessibleName(self.view.plain())

    def add_action(self, text: str, name: str, action: Callable[[], object]) -> None:
        """Add a button below the notice's text; `name` is the name of its icon."""
        if self._actions is None:
            self._actions = Flow(SPACE.m)
            self._body.addLayout(self._actions)
        self._actions.addWidget(link_button(text, name, action))
