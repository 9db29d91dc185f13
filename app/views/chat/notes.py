"""Quiet lines about what goes on while the model works: a notice, and an endpoint asked again."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.agent.events import ModelRetry, Noted
from app.views.chat.text import one_line
from app.views.chat.widgets import ThinProgress, icon_label, label, row
from app.views.theme import SPACE, THEME
from app.views.wording import sentence

_CHARS = 400


class NoteLine(QWidget):
    """A quiet, wrapped line with a mark; plain text.

    Attributes:
        passing: Whether it tells of something that goes on ("The model is being loaded"): then it
            is written anew in place, and gone afterwards.
    """

    passing = False

    def __init__(self, name: str = "info", tint: str = THEME.text_faint) -> None:
        super().__init__()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self._label = label("", "caption", wrap=True)
        mark = icon_label(name, tint, 14)
        line = row(mark, spacing=8)
        line.addWidget(self._label, 1)
        line.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(2, 0, 2, 0)
        layout.addLayout(line)

    @property
    def text(self) -> str:
        """What it says."""
        return self._label.text()

    def say(self, event: Noted) -> None:
        """Say something else."""
        self.passing = event.passing
        self._show(one_line(event.text, _CHARS))

    def _show(self, text: str) -> None:
        if text != self.text:
            self._label.setText(text)
            self.setAccessibleName(text)

    def tick(self) -> None:
        """Nothing moves here."""


class RetryLine(NoteLine):
    """Why the endpoint is asked again, and when: counts down; gone as soon as it answers."""

    passing = True

    def __init__(self, event: ModelRetry) -> None:
        super().__init__("clock", THEME.warning)
        self.show_retry(event)

    def show_retry(self, event: ModelRetry) -> None:
        """Count down to that attempt."""
        self._reason = sentence(event.reason)[:_CHARS].rstrip(".:; ") or "The endpoint failed"
        self._count = f"({event.attempt}\u00a0of\u00a0{event.attempts})"
        self._until = time.monotonic() + max(0.0, event.wait_s)
        self.tick()

    def tick(self) -> None:
        """Show the seconds that are left."""
        left = math.ceil(self._until - time.monotonic())
        when = f"asking again in {left}\u00a0s" if left > 0 else "asking again now"
        self._show(f"{self._reason}: {when} {self._count}")


class Thinking(QWidget):
    """The sign that a run goes on and has nothing new to show."""

    def __init__(self) -> None:
        super().__init__()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 0, 2, 0)
        layout.setSpacing(SPACE.s)
        self.bar = ThinProgress()
        self.bar.setFixedWidth(36)
        self.text = label("Thinking…", "caption")
        layout.addWidget(self.bar, 0, Qt.AlignmentFlag.AlignVCenter)
        layout.addWidget(self.text, 1)
