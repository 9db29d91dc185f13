"""What the chat shows before the first question."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.views.chat.widgets import icon_label, label
from app.views.theme import SPACE, THEME

GENERAL_SUGGESTION = "What can you do?"


class EmptyState(QWidget):
    """An invitation with questions that one click asks.

    Args:
        suggestions: Questions of the installed packs.

    Attributes:
        chosen: The text of a suggestion.
    """

    chosen = Signal(str)

    def __init__(self, suggestions: Sequence[str] = ()) -> None:
        super().__init__()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE.s, SPACE.xl, SPACE.s, SPACE.l)
        layout.setSpacing(SPACE.s)
        layout.addStretch(2)
        layout.addWidget(icon_label("sparkles", THEME.accent, 30), 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(SPACE.xs)
        head = label("Ask about this image", "title")
        head.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text = label("", "muted", wrap=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        layout.addWidget(head)
        layout.addWidget(self._text)
        layout.addSpacing(SPACE.m)
        self.buttons: list[QPushButton] = []
        for suggestion in (*suggestions, GENERAL_SUGGESTION):
            button = _Suggestion(suggestion)
            button.clicked.connect(lambda _checked=False, text=suggestion: self.chosen.emit(text))
            layout.addWidget(button)
            self.buttons.append(button)
        layout.addStretch(3)
        self._head = head
        self.set_open(False)

    def set_open(self, is_open: bool) -> None:
        """Whether an image is open."""
        if is_open:
            self._head.setText("Ask about this image")
            self._text.setText(
                "The assistant runs imaging tools on it. What they find is drawn on the image."
            )
        else:
            self._head.setText("Open an image, then ask")
            self._text.setText(
                "With an image open, the assistant runs imaging tools on it and draws what they "
                "find. General questions work without one."
            )


class _Suggestion(QPushButton):
    """A button whose text breaks where the dock is narrow; Qt's own would cut it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.setObjectName("chatSuggestion")
        self.setAccessibleName(f"Ask: {text}")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._text = label(text, wrap=True)
        self._text.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._row = layout = QHBoxLayout(self)
        layout.setContentsMargins(SPACE.m, 10, SPACE.m, 10)
        layout.setSpacing(SPACE.s)
        layout.addWidget(self._text, 1)
        layout.addWidget(icon_label("arrow-up", THEME.text_faint, 14))
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._row.heightForWidth(width)

    def sizeHint(self) -> QSize:
        return self._row.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self._row.minimumSize()
