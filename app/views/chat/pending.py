"""The questions that wait, each with a way to take it back."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.views.agent_thread import Question
from app.views.chat.widgets import Elided, icon_label, label, tool_button
from app.views.theme import SPACE, THEME

_SHOWN = 3


class PendingList(QWidget):
    """One line a question; hidden while none waits.

    Attributes:
        removed: Number of the question that the user took back.
    """

    removed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.setAccessibleName("Queued questions")
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(SPACE.xs)
        self._numbers: list[int] = []
        self._rows: list[QWidget] = []
        self.hide()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The questions that wait, the next one first."""
        return tuple(self._numbers)

    def show_questions(self, questions: Sequence[Question]) -> None:
        """Show these."""
        numbers = [item.number for item in questions]
        if numbers == self._numbers:
            return
        self._numbers = numbers
        for part in self._rows:
            self._layout.removeWidget(part)
            part.hide()
            part.deleteLater()
        self._rows = [self._row(item) for item in questions[:_SHOWN]]
        if len(questions) > _SHOWN:
            self._rows.append(label(f"and {len(questions) - _SHOWN} more queued", "faint"))
        for part in self._rows:
            self._layout.addWidget(part)
        self.setVisible(bool(questions))

    def _row(self, question: Question) -> QWidget:
        frame = QFrame()
        frame.setObjectName("chatPending")
        layout = QHBoxLayout(frame)
        layout.setContentsMargins(SPACE.s, 2, 2, 2)
        layout.setSpacing(SPACE.s)
        layout.addWidget(icon_label("clock", THEME.text_faint, 14))
        layout.addWidget(label("Queued", "caption"))
        layout.addWidget(Elided(question.text, "label"), 1)
        remove = tool_button("x", "Remove this question from the queue")
        number = question.number
        remove.clicked.connect(lambda _checked=False: self.removed.emit(number))
        layout.addWidget(remove)
        return frame
