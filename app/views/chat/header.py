"""The head of the dock: what it is, which model answers, and the threads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QWidget

from app.agent.sessions import ThreadInfo
from app.views.chat.names import model_title
from app.views.chat.text import menu_text, one_line, tooltip
from app.views.chat.widgets import label, tool_button
from app.views.icons import icon
from app.views.theme import SPACE, THEME

_LISTED = 20
_TITLE_CHARS = 46


class Header(QWidget):
    """Title, model badge, "New thread" and the history.

    Attributes:
        new_wanted: Start a new thread.
        history_wanted: The list of threads is needed; answer with `show_threads`.
        thread_chosen: thread_id of the thread to open.
        model_wanted: Open the language model's settings.
    """

    new_wanted = Signal()
    history_wanted = Signal()
    thread_chosen = Signal(str)
    model_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chatHeader")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._model = ""
        self.badge = QPushButton()
        self.badge.setObjectName("chatBadge")
        self.badge.setIconSize(QSize(13, 13))
        self.badge.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.badge.setMinimumWidth(56)
        self.badge.setCursor(Qt.CursorShape.PointingHandCursor)
        self.badge.clicked.connect(lambda _checked=False: self.model_wanted.emit())
        self.new = tool_button("message-square-plus", "New thread", self.new_wanted.emit)
        self.history = tool_button("history", "Earlier threads", self.history_wanted.emit)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(SPACE.m, 7, SPACE.s, 7)
        layout.setSpacing(SPACE.xs)
        self.title = label("Assistant", "title")
        self.title.setContentsMargins(0, 0, SPACE.xs, 0)
        layout.addWidget(self.title)
        layout.addWidget(self.badge)
        layout.addStretch(1)
        layout.addWidget(self.new)
        layout.addWidget(self.history)
        self.menu = QMenu(self)
        self.menu.setToolTipsVisible(True)

    def set_model(self, name: str, remote_host: str) -> None:
        """Say which model answers, and what that means for the data."""
        self._model = one_line(model_title(name), 80)
        if remote_host:
            text = (
                f"{self._model}\nA language model at {one_line(remote_host, 80)}. Before anything "
                "is sent there, you are asked. Click to change."
            )
        elif name == "offline":
            text = (
                "Offline planner: fixed rules choose the tools and put their results into words. "
                "It is not a language model. Nothing leaves this computer. Click to change."
            )
        else:
            text = f"{self._model}\nRuns on this computer; nothing leaves it. Click to change."
        self.badge.setIcon(icon("cloud" if remote_host else "cpu", THEME.text_muted))
        self.badge.setToolTip(tooltip(text))
        self.badge.setAccessibleName(f"Language model: {self._model}")
        self.badge.setAccessibleDescription(text)
        self._fit_badge()

    def set_titled(self, titled: bool) -> None:
        """Whether the title is shown."""
        self.title.setVisible(titled)
        self._fit_badge()

    def show_threads(self, threads: Sequence[ThreadInfo], current: str) -> None:
        """Open the menu of threads, the newest first."""
        self.menu.clear()
        for info in threads[:_LISTED]:
            title = menu_text(one_line(info.title, _TITLE_CHARS))
            action = self.menu.addAction(f"{title}\t{when(info.updated)}")
            action.setCheckable(True)
            action.setChecked(info.thread_id == current)
            action.setToolTip(tooltip(info.title))
            action.triggered.connect(
                lambda _checked=False, key=info.thread_id: self.thread_chosen.emit(key)
            )
        if not threads:
            self.menu.addAction("No earlier threads yet").setEnabled(False)
        below = self.history.mapToGlobal(self.history.rect().bottomRight())
        below.setX(below.x() - self.menu.sizeHint().width())
        self.menu.popup(below)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_badge()

    def _fit_badge(self) -> None:
        """Cut the model's name in the middle where the dock is narrow."""
        room = max(40, self.width() - (160 if self.title.isHidden() else 250))
        metrics = QFontMetrics(self.badge.font())
        text = metrics.elidedText(self._model, Qt.TextElideMode.ElideMiddle, room)
        self.badge.setText(" " + text.replace("&", "&&"))


def when(stamp: str) -> str:
    """A time as a list shows it: "14:03" today, else the date."""
    try:
        then = datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return ""
    today = datetime.now(UTC).astimezone().date()
    return f"{then:%H:%M}" if then.date() == today else f"{then:%Y-%m-%d}"
