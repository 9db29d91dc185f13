"""The user's question as a bubble, and notices about a run."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QWidget

from app.views.chat.widgets import link_button
from app.views.icons import icon
from app.views.layouts import Flow, column, icon_row, row
from app.views.plain_text import clean
from app.views.text_view import literal_view
from app.views.theme import SPACE, THEME
from app.views.translation import tr
from app.views.widgets import IconLabel, tool_button

_SHARE = 0.86  # of the width that a bubble takes at most


def copy_text(text: str) -> None:
    """Put plain text on the clipboard."""
    QGuiApplication.clipboard().setText(clean(text))


class UserBubble(QWidget):
    """A bubble at the right with the user's question as it was written, and a menu button."""

    def __init__(
        self, text: str, ask_again: Callable[[], object], branch: Callable[[], object]
    ) -> None:
        super().__init__()
        self.text = text
        self._ask_again = ask_again
        self._branch = branch
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
        row(1, self.more, self._frame, spacing=2, parent=self)
        self._natural = self._natural_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        room = min(int(self.width() * _SHARE), self.width() - self.more.sizeHint().width() - 2)
        self._frame.setFixedWidth(min(self._natural, max(40, room)))
        super().resizeEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._open(event.globalPos())

    def _open(self, at: QPoint | None = None) -> None:
        """Open the menu at a place on the screen, or below the button."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill(menu)
        menu.popup(at or self.more.mapToGlobal(self.more.rect().bottomLeft()))

    def _fill(self, menu: QMenu) -> None:
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
