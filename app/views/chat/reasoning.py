"""What the model thinks before it answers: folded, no part of the answer."""

from __future__ import annotations

import time

from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.views.chat.longtext import LongText
from app.views.chat.widgets import label, link_button, row
from app.views.icons import icon

_MAX_HEIGHT = 240


class ReasoningView(QWidget):
    """A button "Thinking" that opens the text. Closed, a piece of text costs next to nothing."""

    def __init__(self, *, live: bool = True) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._pieces: list[str] = []
        self._size = 0
        self._began = time.monotonic() if live else None
        self.button = link_button("Thinking", "chevron-right", self.toggle)
        self.button.setAccessibleName("The model's thinking")
        self.button.setAccessibleDescription("closed")
        self.button.setToolTip("What the model thinks before it answers; no part of the answer")
        self._time = label("", "faint")
        self.view: LongText | None = None
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(2, 0, 2, 0)
        self._layout.setSpacing(4)
        self._layout.addLayout(row(self.button, self._time, 1, spacing=2))

    @property
    def text(self) -> str:
        """All of it, as it came."""
        return "".join(self._pieces)

    @property
    def size(self) -> int:
        """Length of `text`."""
        return self._size

    @property
    def opened(self) -> bool:
        """Whether the text is shown."""
        return self.view is not None and not self.view.isHidden()

    @property
    def time_text(self) -> str:
        """How long it took, as it is shown."""
        return self._time.text()

    def append(self, text: str) -> None:
        """Add a piece."""
        self._pieces.append(text)
        self._size += len(text)
        if self.view is not None:
            self.view.append_plain(text)

    def cut(self, size: int) -> None:
        """Take back all but the first `size` characters."""
        if size < self._size:
            self._pieces = [self.text[:size]]
            self._size = size
            if self.view is not None:
                self.view.restart(self.text)

    def tick(self) -> None:
        """Show how long it has been going on."""
        passed = time.monotonic() - self._began if self._began is not None else 0.0
        if passed >= 1:
            self._time.setText(f"{passed:.0f} s")

    def finish(self) -> None:
        """The model has gone on to its answer."""
        if self._began is not None:
            self.tick()
            self._began = None

    def toggle(self) -> None:
        """Open or close the text."""
        if self.view is None:
            self.view = LongText(_MAX_HEIGHT, tone="thinking")
            self.view.setAccessibleName("The model's thinking")
            self._layout.addWidget(self.view)
            self.view.show()
            self.view.append_plain(self.text)
            opened = True
        else:
            opened = self.view.isHidden()
            self.view.setVisible(opened)
        self.button.setIcon(icon("chevron-down" if opened else "chevron-right"))
        self.button.setAccessibleDescription("open" if opened else "closed")
