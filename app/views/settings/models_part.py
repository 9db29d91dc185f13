"""Where AI models run, how long they stay in memory, and the way to the models themselves."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.settings import Settings, bounds
from app.views.chat.widgets import row
from app.views.settings.parts import Amount, Choice, Form, wrapped

_DEVICES = (
    ("auto", "The graphics card where there is one"),
    ("cpu", "The processor"),
    ("cuda", "The graphics card (CUDA)"),
    ("mps", "The graphics unit (Apple)"),
)


class ModelsPart(QWidget):
    """Part of the tools' page.

    Args:
        settings: What is in use.
        show_models: Opens the models; None leaves the button out.
    """

    def __init__(self, settings: Settings, show_models: Callable[[], object] | None) -> None:
        super().__init__()
        form = Form()
        self.device = Choice(_DEVICES)
        self.device.choose(settings.device)
        form.put("They run on", self.device)
        form.note("One that this computer does not have is not used.", self.device)
        self.idle = Amount(*bounds(Settings, "idle_minutes"), behind=" minutes")
        self.idle.setValue(settings.idle_minutes)
        form.put("In memory", self.idle)
        form.note("So long without work; then they make room for other programs.", self.idle)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(form)
        self.button = QPushButton("Models…")
        self.button.setAutoDefault(False)
        if show_models is not None:
            self.button.clicked.connect(lambda _checked=False: show_models())
        said = "Which are installed and loaded, their licences and limits; install, verify, remove."
        line = row(wrapped(said, "muted"), self.button)
        line.setStretch(0, 1)
        column.addLayout(line)
        self.button.setVisible(show_models is not None)

    def chosen(self) -> dict[str, str | float]:
        """What is entered, by the settings' names."""
        return {"device": self.device.value, "idle_minutes": self.idle.value()}
