"""Creates layouts in one call: rows, columns, and rows that wrap."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QLayoutItem, QVBoxLayout, QWidget

from app.views.theme import SPACE

LayoutPart = QWidget | QLayout | int | tuple[QWidget | QLayout, int]
"""A part of a row or column: a widget or layout, a pair (widget or layout, stretch factor), or the
stretch factor of an empty gap."""

Margins = tuple[int, int, int, int] | int
"""Left, top, right and bottom margins in px, or one for all sides."""


def row(
    *parts: LayoutPart,
    spacing: int = SPACE.s,
    margins: Margins = 0,
    parent: QWidget | None = None,
) -> QHBoxLayout:
    """Return a layout of parts side by side, `spacing` px apart; `parent` None: nested."""
    layout = QHBoxLayout(parent) if parent is not None else QHBoxLayout()
    _fill(layout, *parts, spacing=spacing, margins=margins)
    return layout


def column(
    *parts: LayoutPart,
    spacing: int = SPACE.s,
    margins: Margins = 0,
    parent: QWidget | None = None,
) -> QVBoxLayout:
    """Return a layout with the parts one below the other; the arguments are those of `row`."""
    layout = QVBoxLayout(parent) if parent is not None else QVBoxLayout()
    _fill(layout, *parts, spacing=spacing, margins=margins)
    return layout


def _fill(layout: QBoxLayout, *parts: LayoutPart, spacing: int, margins: Margins) -> None:
    layout.setContentsMargins(*((margins,) * 4 if isinstance(margins, int) else margins))
    layout.setSpacing(spacing)
    for part in parts:
        if isinstance(part, int):
            layout.addStretch(part)
            continue
        item, stretch = part if isinstance(part, tuple) else (part, 0)
        if isinstance(item, QWidget):
            layout.addWidget(item, stretch)
        else:
            layout.addLayout(item, stretch)


def icon_row(mark: QWidget, content: QWidget | QLayout, spacing: int = 10) -> QHBoxLayout:
    """Return a layout with the icon `mark` to the left of the content, aligned at the top."""
    layout = row(mark, (content, 1), spacing=spacing)
    layout.setAlignment(mark, Qt.AlignmentFlag.AlignTop)
    return layout


class Flow(QLayout):
    """A layout that wraps its widgets into rows."""

    def __init__(self, spacing: int = 6, *widgets: QWidget) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self.setSpacing(spacing)
        self.setContentsMargins(0, 0, 0, 0)
        for widget in widgets:
            self.addWidget(widget)

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
