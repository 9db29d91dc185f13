"""Small painted parts of the chat. Texts are plain: nothing here guesses rich text."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QLayout,
    QLayoutItem,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.views.chat.plain_text import breakable, menu_text, one_line, tooltip
from app.views.icons import icon, pixmap
from app.views.theme import SPACE, THEME


def icon_label(name: str, tint: str = THEME.text_muted, size: int = 16) -> QLabel:
    """An icon as a label; decoration only, so it has no accessible name."""
    result = QLabel()
    result.setPixmap(pixmap(name, size, tint, 2.0))
    result.setFixedSize(size, size)
    return result


class HoverButton(QToolButton):
    """An icon button that is seen while the pointer is over `area` or the focus is on it.

    It keeps its place and can be reached by the keyboard all the time.
    """

    def __init__(self, name: str, tip: str, area: QWidget) -> None:
        super().__init__()
        self.setIcon(icon(name))
        self.setIconSize(QSize(14, 14))
        self.setToolTip(tip)
        self.setAccessibleName(tip)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._area = area
        area.setAttribute(Qt.WidgetAttribute.WA_Hover)
        area.installEventFilter(self)

    @property
    def seen(self) -> bool:
        """Whether it is painted now."""
        return self._area.underMouse() or self.hasFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self.update()
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.seen:
            super().paintEvent(event)


class _LinkButton(QPushButton):
    """Enter presses it as Space does; only for what changes nothing but the view, or asks anew."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if not enter:
            super().keyPressEvent(event)
        elif not event.isAutoRepeat():
            self.click()


def link_button(
    text: str, name: str = "", action: Callable[[], object] | None = None
) -> QPushButton:
    """A quiet text button, with an icon if `name` is given."""
    button = _LinkButton(menu_text(text))
    button.setObjectName("chatLink")
    button.setAccessibleName(text)
    button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
    button.setCursor(Qt.CursorShape.PointingHandCursor)
    if name:
        button.setIcon(icon(name))
        button.setIconSize(QSize(12, 12))
    if action is not None:
        button.clicked.connect(lambda _checked=False: action())
    return button


def row(*parts: QWidget | int, spacing: int = SPACE.s) -> QHBoxLayout:
    """Widgets side by side; a number is a stretch."""
    layout = QHBoxLayout()
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(spacing)
    for part in parts:
        if isinstance(part, int):
            layout.addStretch(part)
        else:
            layout.addWidget(part)
    return layout


class Elided(QLabel):
    """One line of somebody else's text, cut with "…" where it does not fit."""

    def __init__(self, text: str = "", role: str = "", *, middle: bool = False) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._mode = Qt.TextElideMode.ElideMiddle if middle else Qt.TextElideMode.ElideRight
        if role:
            self.setProperty("role", role)
        self._full = ""
        self.set_full(text)

    def set_full(self, text: str) -> None:
        """Show `text`; the whole of it is the tooltip and the accessible name."""
        text = one_line(text)
        if text != self._full:
            self._full = text
            self.setText(text)
            self.setToolTip(tooltip(text))
            self.setAccessibleName(text)

    @property
    def full(self) -> str:
        """The whole text."""
        return self._full

    def minimumSizeHint(self) -> QSize:
        return QSize(20, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        metrics = self.fontMetrics()
        cut = metrics.elidedText(self._full, self._mode, self.width())
        painter.setPen(self.palette().color(self.foregroundRole()))
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.rect(), left, cut)
        painter.end()


class Wrapped(QLabel):
    """Somebody else's text on as many lines as it takes."""

    def __init__(self, role: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self._full = ""
        self.setWordWrap(True)
        self.setMinimumWidth(40)
        if role:
            self.setProperty("role", role)

    def set_full(self, text: str, limit: int = 600) -> None:
        """Show `text`."""
        self._full = one_line(text, limit)
        self.setText(breakable(self._full))
        self.setAccessibleName(self._full)

    @property
    def full(self) -> str:
        """What is shown."""
        return self._full


class ThinProgress(QWidget):
    """A thin bar: how far a call is, or a moving piece while that is unknown."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(3)
        self.setAccessibleName("Progress")
        self._fraction: float | None = None
        self._phase = 0.0

    @property
    def fraction(self) -> float | None:
        """0..1, or None while unknown."""
        return self._fraction

    def set_fraction(self, fraction: float | None) -> None:
        """Show a fraction of 0..1."""
        self._fraction = None if fraction is None else max(0.0, min(1.0, fraction))
        self.update()

    def tick(self) -> None:
        """Move on while the fraction is unknown."""
        if self._fraction is None:
            self._phase = (self._phase + 0.03) % 1.0
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(self.rect())
        painter.setBrush(QColor(THEME.border))
        painter.drawRoundedRect(whole, 1.5, 1.5)
        if self._fraction is None:
            width = whole.width() * 0.28
            part = QRectF((whole.width() + width) * self._phase - width, 0, width, whole.height())
            part = part.intersected(whole)
        else:
            part = QRectF(0, 0, whole.width() * self._fraction, whole.height())
        painter.setBrush(QColor(THEME.accent))
        painter.drawRoundedRect(part, 1.5, 1.5)
        painter.end()


class Flow(QLayout):
    """Widgets in rows that break where the width ends."""

    def __init__(self, spacing: int = 6) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self.setSpacing(spacing)
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        size = QSize()
        for item in self._items:
            size = size.expandedTo(item.minimumSize())
        return size

    def _arrange(self, rect: QRect, *, move: bool) -> int:
        x, y, line = rect.x(), rect.y(), 0
        for item in self._items:
            if item.isEmpty():
                continue
            hint = item.sizeHint()
            width = min(hint.width(), rect.width())
            if x > rect.x() and x + width > rect.right() + 1:
                x, y, line = rect.x(), y + line + self.spacing(), 0
            if move:
                item.setGeometry(QRect(QPoint(x, y), QSize(width, hint.height())))
            x += width + self.spacing()
            line = max(line, hint.height())
        return y + line - rect.y()
