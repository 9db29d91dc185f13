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
_ROOM_FOR_TITLE = 360  # px


class Header(QWidget):
    """Title, model badge, "New conversation" and the history.

    Attributes:
        new_wanted: Start a new thread.
        history_wanted: The list of threads is needed; answer with `show_threads`.
        thread_chosen: thread_id of the thread to open.
        model_wanted: Open the language model's settings.
        export_wanted: Save the thread that is shown as a document.
    """

    new_wanted = Signal()
    history_wanted = Signal()
    thread_chosen = Signal(str)
    model_wanted = Signal()
    export_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chatHeader")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._model = ""
        self._titled = True
        self.badge = QPushButton()
        self.badge.setObjectName("chatBadge")
        self.badge.setIconSize(QSize(13, 13))
        self.badge.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.badge.setMinimumWidth(56)
        self.badge.setCursor(Qt.CursorShape.PointingHandCursor)
        self.badge.clicked.connect(lambda _checked=False: self.model_wanted.emit())
        self.new = tool_button("message-square-plus", "New thread", self.new_wanted.emit)
        self.history = tool_button("history", "Earlier conversations", self.history_wanted.emit)
        self.more = tool_button(
            "ellipsis", "What can be done with this conversation", self._open_more
        )
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
        layout.addWidget(self.more)
        self.menu = QMenu(self)
        self.menu.setToolTipsVisible(True)
        self.more_menu = QMenu(self)
        self.export = self.more_menu.addAction(icon("download"), "Export…", self.export_wanted.emit)

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
        self._titled = titled
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
            self.menu.addAction("No earlier conversations yet").setEnabled(False)
        _popup(self.menu, self.history)

    def set_has_thread(self, has: bool) -> None:
        """Whether a thread is shown in which something was asked."""
        self.more.setEnabled(has)
        self.export.setEnabled(has)

    def _open_more(self) -> None:
        _popup(self.more_menu, self.more)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_badge()

    def _fit_badge(self) -> None:
        """Where the dock is narrow, the title goes first, then the middle of the model's name."""
        self.title.setVisible(self._titled and self.width() >= _ROOM_FOR_TITLE)
        room = max(40, self.width() - (192 if self.title.isHidden() else 282))
        metrics = QFontMetrics(self.badge.font())
        text = metrics.elidedText(self._model, Qt.TextElideMode.ElideMiddle, room)
        self.badge.setText(" " + text.replace("&", "&&"))


def _popup(menu: QMenu, button: QWidget) -> None:
    """Open below a button, right edges in line."""
    below = button.mapToGlobal(button.rect().bottomRight())
    below.setX(below.x() - menu.sizeHint().width())
    menu.popup(below)


def when(stamp: str) -> str:
    """A time as a list shows it: "14:03" today, else the date."""
    try:
        then = datetime.fromisoformat(stamp).astimezone()
    except ValueError:
        return ""
    today = datetime.now(UTC).astimezone().date()
    return f"{then:%H:%M}" if then.date() == today else f"{then:%Y-%m-%d}"
