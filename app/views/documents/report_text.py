"""A report as text to read: links to images, search, copy; nothing is ever loaded by it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from PySide6.QtCore import QMimeData, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QImage,
    QResizeEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
)
from PySide6.QtWidgets import QFrame, QMenu, QTextBrowser, QTextEdit
from shiboken6 import isValid

from app.imaging.report import ImageLink, Report
from app.views.documents.writing import PICTURE, PICTURE_SPACE, Names, read_href, writing
from app.views.style import color
from app.views.theme import SPACE, THEME

COLUMN = 780  # px; longer lines are hard to read
MOST_MATCHES = 1000
SLICE_S = 0.012  # of writing between two turns of the window


class ReportText(QTextBrowser):
    """Shows one report.

    Attributes:
        link_clicked: The `ImageLink` whose text or picture was activated.
        across: How many pictures fit into a row.
    """

    link_clicked = Signal(object)
    written = Signal()  # what `show_report` was given is on the page
    across_changed = Signal()  # more or fewer pictures fit into a row

    def __init__(self) -> None:
        super().__init__()
        self._matches: list[QTextCursor] = []
        self._current = -1
        self.across = 1
        self._draft: tuple[QTextDocument, Iterator[None]] | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.setAccessibleName("Report")
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
            | Qt.TextInteractionFlag.LinksAccessibleByMouse
            | Qt.TextInteractionFlag.LinksAccessibleByKeyboard
        )
        self.setProperty("surface", "report")
        self.anchorClicked.connect(self._on_anchor)

    def show_report(self, report: Report, names: Names, *, pictures: bool) -> None:
        """Write it anew, `written` when it is there; the place that was read stays."""
        self.stop()
        document = QTextDocument(self)
        across = self.across if pictures else 0
        self._draft = document, writing(document, report, names, across=across)
        self._write_on()

    @property
    def busy(self) -> bool:
        """Whether a report is still being written."""
        return self._draft is not None

    def stop(self) -> None:
        """What is being written is not wanted any more."""
        if self._draft is not None:
            self._draft[0].deleteLater()
        self._draft = None

    def _write_on(self) -> None:
        """Write for a moment, then let the window live."""
        if self._draft is None:
            return
        document, slices = self._draft
        deadline = time.perf_counter() + SLICE_S
        for _ in slices:
            if time.perf_counter() > deadline:
                QTimer.singleShot(0, self, self._write_on)
                return
        self._draft = None
        self._put(document)
        self.written.emit()

    def _put(self, document: QTextDocument) -> None:
        place = self.verticalScrollBar().value()
        old = self.document()
        self.setDocument(document)
        self.setCursorWidth(0)  # of the document's layout; nobody writes here
        if isValid(old):  # Qt deletes the first one itself
            old.deleteLater()
        self._matches, self._current = [], -1
        self._set_margins()
        self.verticalScrollBar().setValue(place)

    def set_picture(self, number: int, image: QImage) -> None:
        """Put a key image in its place."""
        document = self.document()
        kind = QTextDocument.ResourceType.ImageResource
        document.addResource(kind.value, QUrl(f"{PICTURE}{number}"), image)
        document.markContentsDirty(0, document.characterCount())

    # Search

    @property
    def matches(self) -> tuple[int, int]:
        """(the current match from 1 or 0, how many there are)."""
        return self._current + 1, len(self._matches)

    def search(self, text: str) -> None:
        """Mark every place of `text` and go to the first from what is in view."""
        self._matches = []
        cursor = QTextCursor(self.document())
        while text.strip() and len(self._matches) < MOST_MATCHES:
            cursor = self.document().find(text, cursor)
            if cursor.isNull():
                break
            self._matches.append(QTextCursor(cursor))
        self._current = -1
        top = self.cursorForPosition(self.viewport().rect().topLeft()).position()
        after = (n for n, match in enumerate(self._matches) if match.position() >= top)
        self._go(next(after, 0))

    def step(self, by: int) -> None:
        """Go to another match."""
        self._go(self._current + by)

    def _go(self, number: int) -> None:
        self._current = number % len(self._matches) if self._matches else -1
        marks: list[QTextEdit.ExtraSelection] = []
        for n, match in enumerate(self._matches):
            mark = QTextEdit.ExtraSelection()
            form = QTextCharFormat()
            form.setBackground(color(THEME.warning, 0.75 if n == self._current else 0.3))
            if n == self._current:
                form.setForeground(color(THEME.accent_text))
            mark.format = form  # pyright: ignore[reportAttributeAccessIssue]
            mark.cursor = match  # pyright: ignore[reportAttributeAccessIssue]
            marks.append(mark)
        self.setExtraSelections(marks)
        if self._current >= 0:
            place = QTextCursor(self._matches[self._current])
            place.clearSelection()
            self.setTextCursor(place)
            self.ensureCursorVisible()

    # Nothing reaches beyond the text

    def loadResource(self, kind: int, name: QUrl) -> Any:
        """Only pictures that were put in are shown; nothing is fetched, whatever asks."""
        return None

    def doSetSource(self, name: QUrl, kind: Any = None) -> None:
        """There is nowhere to go."""

    def createMimeDataFromSelection(self) -> QMimeData:
        """What is copied is plain text."""
        # Qt's own object, emptied: see `views.chat.textview`.
        data = super().createMimeDataFromSelection()
        data.data("text/plain")
        data.clear()
        data.setText(self.textCursor().selection().toPlainText())
        return data

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        menu = QMenu(self)
        copy = menu.addAction("Copy", self.copy)
        copy.setEnabled(self.textCursor().hasSelection())
        menu.addAction("Copy all", self.copy_all)
        menu.addSeparator()
        menu.addAction("Select all", self.selectAll)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(event.globalPos())

    def copy_all(self) -> None:
        """Put the whole text on the clipboard."""
        QGuiApplication.clipboard().setText(self.toPlainText())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._set_margins()
        super().resizeEvent(event)

    def _set_margins(self) -> None:
        width = self.viewport().width()
        side = max(SPACE.xl, (width - COLUMN) // 2)
        across = max(1, (width - 2 * side) // PICTURE_SPACE)
        if across != self.across:
            self.across = across
            self.across_changed.emit()
        frame = self.document().rootFrame()
        form = QTextFrameFormat(frame.frameFormat())
        if form.leftMargin() != side:
            form.setLeftMargin(side)
            form.setRightMargin(side)
            form.setTopMargin(SPACE.xl)
            form.setBottomMargin(SPACE.xl)
            frame.setFrameFormat(form)

    def _on_anchor(self, url: QUrl) -> None:
        link = read_href(url.toString())
        if isinstance(link, ImageLink):
            self.link_clicked.emit(link)
