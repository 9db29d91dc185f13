"""The texts of a conversation: the user's bubble, the answer, and how a run ended."""

from __future__ import annotations

import math
from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.views import wording
from app.views.chat.text import clean
from app.views.chat.textview import TextView
from app.views.chat.widgets import Elided, icon_label, link_button, row
from app.views.chat.writer import MarkdownWriter
from app.views.theme import SPACE, THEME

_SHARE = 0.86  # of the width, that a bubble takes at most


class UserBubble(QWidget):
    """The user's question, literally, at the right."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.setAccessibleName("You asked")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        outer = QHBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addStretch(1)
        self._frame = QFrame()
        self._frame.setObjectName("chatBubble")
        inner = QVBoxLayout(self._frame)
        inner.setContentsMargins(SPACE.m, 9, SPACE.m, 9)
        self.view = TextView()
        self.view.set_plain(text)
        self.view.setAccessibleName("Your question")
        self.view.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        inner.addWidget(self.view)
        outer.addWidget(self._frame)
        self._natural = self._natural_width()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._frame.setFixedWidth(min(self._natural, int(self.width() * _SHARE)))
        super().resizeEvent(event)

    def _natural_width(self) -> int:
        """The width at which no line of the text breaks."""
        self.view.ensurePolished()
        metrics = self.view.fontMetrics()
        lines = clean(self.text).split("\n")[:200]
        widest = max(metrics.horizontalAdvance(line[:400]) for line in lines)
        return math.ceil(widest) + 2 * SPACE.m + 6


class AnswerView(QWidget):
    """Streamed text of the assistant, and under it who said so."""

    def __init__(self, selected: Callable[[str], object]) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(2, 0, 2, 0)
        self._layout.setSpacing(SPACE.s)
        self.view = TextView()
        self.view.setAccessibleName("Assistant's answer")
        self.view.finding_clicked.connect(selected)
        self.writer = MarkdownWriter(self.view.document())
        self._layout.addWidget(self.view)
        self.note: Elided | None = None

    @property
    def text(self) -> str:
        """The text as the model wrote it."""
        return self.writer.text

    def finish(self, model: str) -> None:
        """The run ended: say who wrote this, and offer to copy it."""
        if self.note is not None:
            return
        self.note = Elided(f"{model} · {wording.NOT_FOR_DIAGNOSIS}", "faint")
        copy = link_button("Copy", "copy", self._copy)
        copy.setAccessibleName("Copy the answer")
        foot = row(spacing=SPACE.s)
        foot.addWidget(self.note, 1)
        foot.addWidget(copy)
        self._layout.addLayout(foot)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(clean(self.text))


class Notice(QFrame):
    """How a run ended, when it did not end with an answer."""

    def __init__(self, text: str, remedy: str = "", *, error: bool = False) -> None:
        super().__init__()
        self.setObjectName("chatNotice")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._body = QVBoxLayout(self)
        self.view = TextView()
        if not error:
            self.setProperty("tone", "muted")
            self.view.setProperty("tone", "muted")
            self._body.setContentsMargins(2, 0, 2, 0)
            self.view.set_plain(text)
            mark = icon_label("ban", THEME.text_faint, 14)
        else:
            self._body.setContentsMargins(SPACE.m, 10, SPACE.m, 10)
            self.view.set_plain(f"{text}\n{remedy}" if remedy else text)
            mark = icon_label("circle-alert", THEME.error, 18)
        line = row(mark, spacing=10)
        line.addWidget(self.view, 1)
        line.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
        self._body.addLayout(line)
        self.setAccessibleName(self.view.plain())

    def add_action(self, text: str, name: str, action: Callable[[], object]) -> None:
        """Offer a way on."""
        button = link_button(text, name, action)
        button.setIconSize(QSize(12, 12))
        self._body.addLayout(row(button, 1))
