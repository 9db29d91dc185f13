"""The mark in the status bar that says where the language model runs, and when something leaves."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QKeyEvent
from PySide6.QtWidgets import QPushButton, QSizePolicy

from app.agent.events import DataSent, Noted, PlanUpdated, RunEvent
from app.views.icons import icon
from app.views.style import restyle
from app.views.theme import THEME
from app.views.widgets import plain_tip

LEAST_MS = 900  # that sending is shown: an eye must be able to catch it
_ROOM = 300  # px for a host's name
_GOES_ON = (Noted, PlanUpdated)  # events that say nothing of whether the endpoint has answered


class WhereMark(QPushButton):
    """Says "Local", or the host that questions go to; a click leads to the privacy settings.

    It follows the chosen model at once. While a request is on its way it names the host of that
    request, which is another one where the model was changed meanwhile.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("whereMark")
        self.setIconSize(QSize(13, 13))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._model = ""
        self._host = ""
        self._sending = ""  # the host that a request is on its way to
        self._answered = False
        self._least = QTimer(self, singleShot=True, interval=LEAST_MS)
        self._least.timeout.connect(self._settle)
        self._show()

    @property
    def says(self) -> str:
        """What it shows."""
        return self.text().strip().replace("&&", "&")

    @property
    def sending(self) -> bool:
        """Whether a request is on its way."""
        return bool(self._sending)

    def set_model(self, name: str, remote_host: str) -> None:
        """Say which model answers the next question, and where: "" for this machine."""
        self._model, self._host = name, remote_host
        self._show()

    def follow(self, event: RunEvent) -> None:
        """Show what an event of a run tells of what leaves."""
        if isinstance(event, DataSent):
            self._sending, self._answered = event.host, False
            self._least.start()
            self._show()
        elif self._sending and not isinstance(event, _GOES_ON):
            self._answered = True
            if not self._least.isActive():
                self._settle()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses it as Space does."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def _settle(self) -> None:
        if self._answered:
            self._sending = ""
            self._show()

    def _show(self) -> None:
        host = self._sending or self._host
        state = "sending" if self._sending else "remote" if host else "local"
        says = {"local": "Local", "remote": host, "sending": f"Sending to {host}…"}[state]
        model = self._model.rpartition(" at ")[0] or self._model  # which names its host as well
        tells = {
            "local": "The language model runs on this computer: nothing leaves it. A tool that "
            "would send something asks you first.",
            "remote": f"Questions go to {model} at {host}. You are asked in each "
            "conversation before anything is sent.",
            "sending": f"A request is on its way to {host}, as you allowed.",
        }[state]
        elide = Qt.TextElideMode.ElideMiddle
        shown = QFontMetrics(self.font()).elidedText(says, elide, _ROOM)
        self.setText(f" {shown}".replace("&", "&&"))  # Qt sets the icon too close to the text
        tint = {"local": THEME.ok, "remote": THEME.warning, "sending": THEME.accent_text}[state]
        self.setIcon(icon("cpu" if state == "local" else "cloud", tint))
        self.setToolTip(plain_tip(f"{tells}\nClick to see what leaves and what never does."))
        self.setAccessibleName(f"Where the language model runs: {says}")
        self.setAccessibleDescription(f"{tells} Opens the privacy settings.")
        if self.property("state") != state:
            self.setProperty("state", state)
            restyle(self)
