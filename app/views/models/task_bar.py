"""The line at the foot of the models' window: what is under way, how far, and how it ended."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QProgressBar, QVBoxLayout, QWidget

from app.views import icons
from app.views.chat.widgets import row
from app.views.models.table import TONES
from app.views.settings.fields import wrapped
from app.views.theme import SPACE
from app.views.widgets import label, push_button

_STEPS = 1000


class TaskBar(QWidget):
    """What is under way and how far, or how the last thing ended.

    Args:
        cancel: Stops what is under way.
    """

    def __init__(self, cancel: Callable[[], object]) -> None:
        super().__init__()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress")
        self.icon = label()
        self.text = wrapped("", "")
        self.cancel = push_button("Cancel", cancel)
        self.cancel.setAutoDefault(False)
        line = row(self.icon, spacing=SPACE.s)
        line.addWidget(self.text, 1)
        line.addWidget(self.cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE.xs)
        column.addWidget(self.bar)
        column.addLayout(line)
        self.rest()

    def rest(self) -> None:
        """Nothing is under way."""
        self.bar.hide()
        self.cancel.hide()

    def work(self, text: str) -> None:
        """Something begins."""
        self.bar.setRange(0, 0)
        self.bar.show()
        self.cancel.setEnabled(True)
        self.cancel.show()
        self.say(text, "busy", "loader-circle")

    def progress(self, fraction: float, text: str) -> None:
        """How far it is."""
        if fraction >= 0:
            self.bar.setRange(0, _STEPS)
            self.bar.setValue(round(min(fraction, 1.0) * _STEPS))
        self.text.setText(text)

    def say(self, text: str, tone: str, icon: str) -> None:
        """How something ended."""
        self.text.setText(text)
        self.text.setAccessibleName(text)
        self.text.setStyleSheet("" if tone == "busy" else f"color: {TONES[tone]};")
        self.icon.setPixmap(icons.icon(icon, TONES[tone]).pixmap(QSize(SPACE.icon, SPACE.icon)))
