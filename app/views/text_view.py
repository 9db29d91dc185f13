"""Read-only text views that are as high as their content and load no resources."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QEvent, QMimeData, QPoint, QRect, QSizeF, Qt, QTimer, QUrl, Signal
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

from app.views.plain_text import clean
from app.views.theme import THEME
from app.views.translation import tr

BULLET = "•  "
LINK_SCHEME = "finding:"
RESULT_SCHEME = "result:"  # its number, or the id of its item
ENTRY_SCHEME = "entry:"
PIECE = 4_000  # characters inserted per turn of the event loop: a few ms of layout
BLOCK = 8_000  # characters after which a paragraph is split, since Qt lays it out as a whole
NEAR_END = 24  # px from the end within which the view follows new text


class PlainTextBrowser(QTextBrowser):
    """A text browser that loads no resources and opens no links.

    `QTextBrowser` provides links and selection; its loading of resources, navigation and rich text
    on the clipboard are switched off.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.more_actions: Callable[[QMenu], object] | None = None
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

    def loadResource(self, kind: int, name: QUrl) -> Any:
        """Return None, so that nothing is loaded whatever the document requests."""
        return None

    def doSetSource(self, name: QUrl, kind: Any = None) -> None:
        """Do nothing, so that the view never navigates."""

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return the selection as plain text only."""
        # Qt's own object, emptied: the clipboard may outlive the Python interpreter, and an object
        # made in Python would then crash the process.
        data = super().createMimeDataFromSelection()
        data.data("text/plain")  # makes Qt fill the object now instead of later
        data.clear()
        data.setText(self.textCursor().selection().toPlainText())
        return data

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open a context menu that offers copying and selecting, but no opening of links."""
        menu = QMenu(self)
        copy = menu.addAction(tr("Copy"), self.copy)
        copy.setEnabled(self.textCursor().hasSelection())
        menu.addAction(tr("Copy all"), self.copy_all)
        menu.addSeparator()
        menu.addAction(tr("Select all"), self.selectAll)
        if self.more_actions is not None:
            menu.addSeparator()
            self.more_actions(menu)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def copy_all(self) -> None:
        QGuiApplication.clipboard().setText(self.plain())

    def plain(self) -> str:
        return self.toPlainText()


class TextView(PlainTextBrowser):
    """Selectable text that grows to `max_height` px before it scrolls; 0 for no limit."""

    link_clicked = Signal(str)  # one of the schemes with an id: "finding:…", "result:3.2"
    link_hovered = Signal(str)  # the same; "" when the pointer leaves the link

    def __init__(self, parent: QWidget | None = None, *, max_height: int = 0) -> None:
        super().__init__(parent)
        self._max_height = max_height
        self.setObjectName("chatText")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        if not max_height:
            self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(40)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.document().setDocumentMargin(0)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self.anchorClicked.connect(self._on_anchor)
        self.highlighted.connect(lambda url: self.link_hovered.emit(url.toString()))
        self._fit(self.document().size())

    def set_plain(self, text: str) -> None:
        """Show `text` literally; lines that start with `BULLET` get a hanging indent."""
        self.setPlainText(clean(text))
        if BULLET in text:
            self._hang()

    def caret_to_start(self) -> None:
        """Move the caret to the start, as new text would move it, unless it is in use."""
        cursor = self.textCursor()
        if not cursor.hasSelection() and not self.hasFocus():
            cursor.movePosition(cursor.MoveOperation.Start)
            value = self.verticalScrollBar().value()
            self.setTextCursor(cursor)
            self.verticalScrollBar().setValue(value)

    def focused_link(self) -> QRect:
        """Return the rectangle of the link with the keyboard focus, empty if there is none."""
        cursor = self.textCursor()
        if not (self.hasFocus() and cursor.hasSelection() and cursor.charFormat().isAnchor()):
            return QRect()
        first, last = QTextCursor(cursor), QTextCursor(cursor)
        first.setPosition(cursor.selectionStart())
        last.setPosition(cursor.selectionEnd())
        begin, end = self.cursorRect(first), self.cursorRect(last)
        if begin.top() != end.top():  # broken over lines: only its first line is framed
            end = QRect(self.viewport().width(), begin.top(), 1, begin.height())
        return QRect(begin.topLeft(), QPoint(end.left(), begin.bottom())).adjusted(-1, 0, 1, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint a frame around the focused link, since the style sheet removes Qt's own."""
        super().paintEvent(event)
        link = self.focused_link()
        if link.isEmpty():
            return
        painter = QPainter(self.viewport())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(THEME.accent), 1.5))
        painter.drawRoundedRect(link, 4, 4)
        painter.end()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll this view if it scrolls its own text; otherwise leave the event to its parent."""
        if self.verticalScrollBar().maximum() > 0 and self._max_height:
            super().wheelEvent(event)
        else:
            event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        """Tell that no link is hovered any more, which Qt does not when the pointer leaves."""
        super().leaveEvent(event)
        self.link_hovered.emit("")

    def _on_anchor(self, url: QUrl) -> None:
        target = url.toString()
        if target.startswith((LINK_SCHEME, RESULT_SCHEME, ENTRY_SCHEME)):
            self.link_clicked.emit(target)

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


def literal_view(text: str, tone: str = "", name: str = "", *, max_height: int = 0) -> TextView:
    """Return a view of outside text, literal; `tone` of the style sheet, `name` for readers."""
    view = TextView(max_height=max_height)
    view.setProperty("tone", tone)
    view.setAccessibleName(name)
    view.set_plain(text)
    return view


class LongText(TextView):
    """Plain text inserted in pieces, which never stall; it scrolls while its end is seen."""

    def __init__(self, max_height: int, tone: str) -> None:
        super().__init__(max_height=max_height)
        self.setProperty("tone", tone)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._waiting: deque[str] = deque()
        self._timer = QTimer(self, singleShot=True, interval=0)
        self._timer.timeout.connect(self._fill)

    @property
    def complete(self) -> bool:
        return not self._waiting

    def append_plain(self, text: str) -> None:
        """Append `text`; long text appears piece by piece."""
        text = clean(text)
        self._waiting.extend(text[at : at + PIECE] for at in range(0, len(text), PIECE))
        if not self._timer.isActive():
            self._fill()

    def restart(self, text: str) -> None:
        self._waiting.clear()
        self._timer.stop()
        self.clear()
        self.append_plain(text)

    def _fill(self) -> None:
        if self._waiting:
            bar = self.verticalScrollBar()
            follow = bar.value() >= bar.maximum() - NEAR_END and bar.maximum() > 0
            self._insert(self._waiting.popleft())
            if follow:
                bar.setValue(bar.maximum())
        if self._waiting:
            self._timer.start()

    def _insert(self, piece: str) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if cursor.positionInBlock() + len(piece.split("\n", 1)[0]) > BLOCK:
            cursor.insertBlock()
        cursor.insertText(piece)
        self.caret_to_start()
