"""The texts of a conversation: the user's bubble, the answer, and how a run ended."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.views import wording
from app.views.chat.text import clean
from app.views.chat.textview import TextView
from app.views.chat.widgets import Elided, Flow, HoverButton, icon_label, link_button, row
from app.views.chat.writer import MarkdownWriter
from app.views.icons import icon
from app.views.theme import SPACE, THEME

_SHARE = 0.86  # of the width, that a bubble takes at most


@dataclass(frozen=True, slots=True)
class QuestionMenu:
    """What can be done with a question that was asked.

    Attributes:
        ask_again: Ask it once more.
        branch: Go on from before it in a new thread.
    """

    ask_again: Callable[[], object]
    branch: Callable[[], object]

    def fill(self, menu: QMenu, text: str) -> None:
        """Add the actions to a menu."""
        menu.addAction(icon("rotate-ccw"), "Ask again", self.ask_again)
        menu.addAction(icon("git-branch"), "Branch from here…", self.branch)
        menu.addAction(icon("copy"), "Copy", lambda: copy_text(text))


def copy_text(text: str) -> None:
    """Put plain text on the clipboard."""
    QGuiApplication.clipboard().setText(clean(text))


class UserBubble(QWidget):
    """The user's question, literally, at the right; a button beside it opens its menu."""

    def __init__(self, text: str, menu: QuestionMenu) -> None:
        super().__init__()
        self.text = text
        self._menu = menu
        self.setAccessibleName("You asked")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(2)
        outer.addStretch(1)
        self.more = HoverButton("ellipsis", "What can be done with this question", self)
        self.more.clicked.connect(lambda _checked=False: self._open(self._below()))
        outer.addWidget(self.more, 0, Qt.AlignmentFlag.AlignVCenter)
        self._frame = QFrame()
        self._frame.setObjectName("chatBubble")
        inner = QVBoxLayout(self._frame)
        inner.setContentsMargins(SPACE.m, 9, SPACE.m, 9)
        self.view = TextView()
        self.view.set_plain(text)
        self.view.setAccessibleName("Your question")
        self.view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.view.more_actions = self._fill
        inner.addWidget(self.view)
        outer.addWidget(self._frame)
        self._natural = self._natural_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        room = min(int(self.width() * _SHARE), self.width() - self.more.sizeHint().width() - 2)
        self._frame.setFixedWidth(min(self._natural, max(40, room)))
        super().resizeEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """The same menu, where the pointer is."""
        self._open(event.globalPos())

    def _open(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill(menu)
        menu.popup(at)

    def _fill(self, menu: QMenu) -> None:
        self._menu.fill(menu, self.text)

    def _below(self) -> QPoint:
        return self.more.mapToGlobal(self.more.rect().bottomLeft())

    def _natural_width(self) -> int:
        """The width at which no line of the text breaks."""
        self.view.ensurePolished()
        metrics = self.view.fontMetrics()
        lines = clean(self.text).split("\n")[:200]
        widest = max(metrics.horizontalAdvance(line[:400]) for line in lines)
        return math.ceil(widest) + 2 * SPACE.m + 6


class AnswerView(QWidget):
    """Streamed text of the assistant, and under it who said so.

    Args:
        selected: Is told the id of a finding whose name was clicked.
        cited: Is told the number of a result whose citation was.
    """

    def __init__(self, selected: Callable[[str], object], cited: Callable[[int], object]) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(2, 0, 2, 0)
        self._layout.setSpacing(SPACE.s)
        self.view = TextView()
        self.view.setAccessibleName("Assistant's answer")
        self.view.finding_clicked.connect(selected)
        self.view.result_clicked.connect(cited)
        self.writer = MarkdownWriter(self.view.document())
        self._layout.addWidget(self.view)
        self.note: Elided | None = None
        self.usage: Elided | None = None

    @property
    def text(self) -> str:
        """The text as the model wrote it."""
        return self.writer.text

    def finish(self, model: str, usage: str = "") -> None:
        """The run ended: say who wrote this and what it took, and offer to copy it."""
        if self.note is not None:
            return
        # What must be read stands first: a narrow dock cuts the model's name.
        self.note = Elided(f"{wording.NOT_FOR_DIAGNOSIS} · {model}", "faint")
        copy = link_button("Copy", "copy", lambda: copy_text(self.text))
        copy.setAccessibleName("Copy the answer")
        foot = QGridLayout()
        foot.setContentsMargins(0, 0, 0, 0)
        foot.setHorizontalSpacing(SPACE.s)
        foot.setVerticalSpacing(0)
        foot.setColumnStretch(0, 1)
        foot.addWidget(self.note, 0, 0)
        foot.addWidget(copy, 0, 1)
        if usage:
            self.usage = Elided(usage, "faint")
            foot.addWidget(self.usage, 1, 0, 1, 2)
        self._layout.addLayout(foot)


_TONES = {
    "done": ("circle-check", THEME.ok, 14),
    "muted": ("ban", THEME.text_faint, 14),
    "warning": ("triangle-alert", THEME.warning, 18),
    "error": ("circle-alert", THEME.error, 18),
}


class Notice(QFrame):
    """How a run ended, when it did not end with an answer, or what else must be known.

    Args:
        text: What happened.
        remedy: What can be done.
        tone: "muted", "done", "warning" or "error".
    """

    def __init__(self, text: str, remedy: str = "", *, tone: str = "muted") -> None:
        super().__init__()
        self.setObjectName("chatNotice")
        self.setProperty("tone", tone)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._body = QVBoxLayout(self)
        self._actions: Flow | None = None
        self.view = TextView()
        self.view.set_plain(f"{text}\n{remedy}" if remedy else text)
        if tone in ("muted", "done"):
            self.view.setProperty("tone", "muted")
            self._body.setContentsMargins(2, 0, 2, 0)
        else:
            self._body.setContentsMargins(SPACE.m, 10, SPACE.m, 10)
        name, tint, size = _TONES[tone]
        mark = icon_label(name, tint, size)
        line = row(mark, spacing=10)
        line.addWidget(self.view, 1)
        line.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
        self._body.addLayout(line)
        self.setAccessibleName(self.view.plain())

    def add_action(self, text: str, name: str, action: Callable[[], object]) -> None:
        """Offer a way on."""
        button = link_button(text, name, action)
        button.setIconSize(QSize(12, 12))
        if self._actions is None:
            self._actions = Flow(SPACE.m)
            self._body.addLayout(self._actions)
        self._actions.addWidget(button)
