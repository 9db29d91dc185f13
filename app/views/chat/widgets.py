"""Small widgets and layouts of the chat. They show all text as plain text, never as rich text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QSizePolicy

from app.views.icons import icon
from app.views.plain_text import breakable, menu_text, one_line
from app.views.translation import tr
from app.views.widgets import ElidedLabel


class _LinkButton(QPushButton):
    """A button that Enter presses as well as Space; only for harmless actions."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not enter:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():
            self.click()


def link_button(
    text: str, name: str = "", action: Callable[[], object] | None = None
) -> QPushButton:
    """Return a text button without a frame; `name` is the name of its icon, "" for none."""
    button = _LinkButton(menu_text(text))
    button.setObjectName("chatLink")
    button.setAccessibleName(text)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    button.setCursor(Qt.CursorShape.PointingHandCursor)
    button.setIconSize(QSize(12, 12))
    if name:
        button.setIcon(icon(name))
    if action is not None:
        button.clicked.connect(lambda _checked=False: action())
    return button


def show_open(button: QPushButton, opened: bool) -> None:
    """Set the button's arrow and its text for screen readers to "open" or "closed"."""
    button.setIcon(icon("chevron-down" if opened else "chevron-right"))
    button.setAccessibleDescription("open" if opened else "closed")


class ElidedText(ElidedLabel):
    """Shows untrusted text on one line, cut with an ellipsis; the tooltip has the whole text."""

    def __init__(self, text: str = "", role: str = "", *, middle: bool = False) -> None:
        super().__init__("", role)
        if middle:
            self._mode = Qt.TextElideMode.ElideMiddle
        self.set_full(text)

    @property
    def full(self) -> str:
        return self.text()

    def set_full(self, text: str) -> None:
        text = one_line(text)
        if text != self.text():
            self.setText(text)


class WrappedText(QLabel):
    """Shows untrusted text, wrapped onto as many lines as it needs."""

    def __init__(self, role: str = "") -> None:
        super().__init__()
        self.full = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setMinimumWidth(40)
        if role:
            self.setProperty("role", role)

    def set_full(self, text: str, limit: int = 600) -> None:
        """Show `text`, cut to `limit` characters."""
        self.full = one_line(text, limit)
        self.setText(breakable(self.full))
        self.setAccessibleName(self.full)


class ThinProgress(QProgressBar):
    """A thin progress bar; a short segment moves along it while the progress is unknown."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("chatProgress")
        self.setTextVisible(False)
        self.setFixedHeight(3)
        self.setAccessibleName(tr("Progress"))
        self.set_fraction(None)

    def set_fraction(self, fraction: float | None) -> None:
        """Show a fraction from 0 to 1; None shows that the progress is unknown."""
        self.fraction = None if fraction is None else max(0.0, min(1.0, fraction))
        self.setRange(0, 0 if self.fraction is None else 1000)
        self.setValue(round(1000 * (self.fraction or 0)))
