"""A read-only text that is as high as its content and loads nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QMimeData, QPoint, QRect, QSizeF, Qt, QUrl, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QPainter,
    QPaintEvent,
    QPen,
    QTextCursor,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QMenu, QSizePolicy, QTextBrowser, QWidget

from app.views.chat.text import clean
from app.views.chat.writer import LINK_SCHEME, RESULT_SCHEME
from app.views.theme import THEME

BULLET = "•  "


class TextView(QTextBrowser):
    """Selectable text without scroll bars of its own.

    `QTextBrowser` brings links and selection; everything by which it would reach beyond its text
    (resources, navigation, rich clipboard content) is taken away.

    Attributes:
        finding_clicked: Id of the finding whose link was activated.
        result_clicked: Number of the result whose citation was activated.
        more_actions: Adds what else the context menu offers.
    """

    finding_clicked = Signal(str)
    result_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None, *, max_height: int = 0) -> None:
        super().__init__(parent)
        self._max_height = max_height
        self.more_actions: Callable[[QMenu], object] | None = None
        self.setObjectName("chatText")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
            | Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if not max_height:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(40)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.anchorClicked.connect(self._on_anchor)
        self._fit(self.document().size())

    def set_plain(self, text: str) -> None:
        """Show `text` literally; lines that begin with `BULLET` are items whose rest hangs."""
        self.setPlainText(clean(text))
        if BULLET in text:
            self._hang()

    def plain(self) -> str:
        """All text, as it is shown."""
        return self.toPlainText()

    def caret_to_start(self) -> None:
        """The caret goes along with text that is put in where it stands, and the view with it."""
        cursor = self.textCursor()
        if not cursor.hasSelection() and not self.hasFocus():
            cursor.movePosition(cursor.MoveOperation.Start)
            value = self.verticalScrollBar().value()
            self.setTextCursor(cursor)
            self.verticalScrollBar().setValue(value)

    def focused_link(self) -> QRect:
        """Where the link stands that the keys have reached; empty where they have reached none."""
        cursor = self.textCursor()
        if not (self.hasFocus() and cursor.hasSelection() and cursor.charFormat().isAnchor()):
            return QRect()
        first, last = QTextCursor(cursor), QTextCursor(cursor)
        first.setPosition(cursor.selectionStart())
        last.setPosition(cursor.selectionEnd())
        begin, end = self.cursorRect(first), self.cursorRect(last)
        if begin.top() != end.top():  # broken over lines: its beginning is shown
            end = QRect(self.viewport().width(), begin.top(), 1, begin.height())
        return QRect(begin.topLeft(), QPoint(end.left(), begin.bottom())).adjusted(-1, 0, 1, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """With a frame around the link that Enter would follow: the style sheet takes Qt's away."""
        super().paintEvent(event)
        link = self.focused_link()
        if link.isEmpty():
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(THEME.accent), 1.5))
        painter.drawRoundedRect(link, 4, 4)
        painter.end()

    def loadResource(self, kind: int, name: QUrl) -> Any:
        """Nothing is loaded, whatever asks."""
        return None

    def doSetSource(self, name: QUrl, kind: Any = None) -> None:
        """There is nowhere to go."""

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is copied is plain text."""
        # Qt's own object, emptied: the clipboard may keep it until after Python has ended, and
        # there one made in Python crashes the process.
        data = super().createMimeDataFromSelection()
        data.data("text/plain")  # has Qt put in what it would copy, so that nothing comes later
        data.clear()
        data.setText(self.textCursor().selection().toPlainText())
        return data

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the conversation, unless this text scrolls by itself."""
        if self.verticalScrollBar().maximum() > 0 and self._max_height:
            super().wheelEvent(event)
        else:
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Copy and select; no links to follow, nothing to open."""
        menu = QMenu(self)
        copy = menu.addAction("Copy", self.copy)
        copy.setEnabled(self.textCursor().hasSelection())
        menu.addAction("Copy all", lambda: QGuiApplication.clipboard().setText(self.plain()))
        menu.addSeparator()
        menu.addAction("Select all", self.selectAll)
        if self.more_actions is not None:
            menu.addSeparator()
            self.more_actions(menu)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def _on_anchor(self, url: QUrl) -> None:
        target = url.toString()
        if target.startswith(LINK_SCHEME):
            self.finding_clicked.emit(target.removeprefix(LINK_SCHEME))
        elif target.startswith(RESULT_SCHEME):
            self.result_clicked.emit(int(target.removeprefix(RESULT_SCHEME)))

    def _hang(self) -> None:
        room = self.fontMetrics().horizontalAdvance(BULLET)
        block = self.document().begin()
        while block.isValid():
            if block.text().startswith(BULLET):
                shape = block.blockFormat()
                shape.setLeftMargin(room)
                shape.setTextIndent(-room)
                QTextCursor(block).setBlockFormat(shape)
            block = block.next()

    def _fit(self, size: QSizeF) -> None:
        margins = self.contentsMargins()
        height = math.ceil(size.height()) + margins.top() + margins.bottom()
        if self._max_height:
            height = min(height, self._max_height)
        if height != self.height() or self.minimumHeight() != height:
            self.setFixedHeight(height)
