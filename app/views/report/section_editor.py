"""The field of a report's section: a line is a sentence, and keeps the findings it rests on."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence

from PySide6.QtCore import QEvent, QMimeData, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextOption,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextEdit, QToolTip

from app.imaging.reports.report_draft import Sentence
from app.views.theme import THEME
from app.views.widgets import plain_tip

_FINDINGS = QTextFormat.Property.UserProperty + 1  # of a block: ids of findings, a line each
_LINES = "application/x-sightline-sentences"
_MARGIN = 7  # px around the text; the bar is in it
_BAR = 3  # px, the mark before a sentence that rests on a finding
_LEAST = 34  # px of height


class SectionEditor(QTextEdit):
    """Edits the sentences of a section as plain text.

    A bar before a line says that it rests on findings; a click there or on the line asks for them,
    one after the other. A line that is emptied rests on none, joined lines on the findings of both;
    a line that is cut or copied here keeps its own where it is pasted. Undo is the window's.

    Attributes:
        tip_of: Returns what to tell of findings, by their ids.
    """

    edited = Signal(int)  # by the user, in the line with this number
    finding_wanted = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.tip_of: Callable[[Sequence[str]], str] = lambda _ids: ""
        self._filling = False
        self._faults: Mapping[int, str] = {}
        self._struck: Collection[int] = ()
        self._selected = ""
        self.setAccessibleName(name)
        self.setAcceptRichText(False)
        self.setUndoRedoEnabled(False)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(_MARGIN)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().documentLayout().documentSizeChanged.connect(lambda _size: self._fit())
        self._lines: list[
            tuple[int, int, tuple[str, ...]]
        ] = []  # begin, end and ids, before a change
        self._edit = (0, 0, 0)
        self.document().contentsChange.connect(self._note)
        self.textChanged.connect(self._changed)
        self._fit()

    # What it holds

    def sentences(self) -> tuple[Sentence, ...]:
        """Return the sentences: the lines that are not empty."""
        return tuple(
            Sentence(block.text(), _ids(block)) for block in self._blocks() if block.text().strip()
        )

    def show_sentences(
        self,
        sentences: Sequence[Sentence],
        faults: Mapping[int, str],
        struck: Collection[int],
    ) -> None:
        """Show sentences, with what is wrong with some, by their place; others are `struck`."""
        if self.sentences() != tuple(sentences):
            self._fill(sentences)
        self._faults, self._struck = faults, struck
        self._mark()

    def select_finding(self, finding_id: str) -> None:
        """Point out the sentences that rest on a finding; "" for none."""
        if finding_id != self._selected:
            self._selected = finding_id
            self._mark()

    def go_to(self, place: int) -> None:
        """Put the cursor into the sentence at a place."""
        for block, number in self._places():
            if number == place:
                self.setTextCursor(QTextCursor(block))
                self.setFocus()

    def _fill(self, sentences: Sequence[Sentence]) -> None:
        place = self.textCursor().position()
        self._filling = True
        cursor = QTextCursor(self.document())
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.removeSelectedText()
        cursor.setBlockFormat(QTextBlockFormat())
        for number, one in enumerate(sentences):
            if number:
                cursor.insertBlock()
            cursor.setBlockFormat(_format(one.findings))
            cursor.insertText(" ".join(one.text.splitlines()), QTextCharFormat())
        self._filling = False
        self._lines = self._placed()
        cursor.setPosition(min(place, self.document().characterCount() - 1))
        self.setTextCursor(cursor)
        self._fit()

    def _blocks(self) -> list[QTextBlock]:
        found: list[QTextBlock] = []
        block = self.document().begin()
        while block.isValid():
            found.append(block)
            block = block.next()
        return found

    def _places(self) -> list[tuple[QTextBlock, int]]:
        """Return each line that holds a sentence, and the sentence's place."""
        filled = [block for block in self._blocks() if block.text().strip()]
        return [(block, place) for place, block in enumerate(filled)]

    def _changed(self) -> None:
        if self._filling:
            return
        self._filling = True
        self._join()
        for block in self._blocks():  # what is written anew rests on nothing yet
            if not block.text() and _ids(block):
                QTextCursor(block).setBlockFormat(QTextBlockFormat())
        self._filling = False
        self._lines = self._placed()
        self.edited.emit(self.textCursor().blockNumber())

    def _placed(self) -> list[tuple[int, int, tuple[str, ...]]]:
        return [
            (one.position(), one.position() + one.length() - 1, _ids(one)) for one in self._blocks()
        ]

    def _note(self, place: int, removed: int, added: int) -> None:
        if not self._filling:
            self._edit = (place, removed, added)

    def _join(self) -> None:
        """Let a line that was joined of two rest on the findings of both."""
        place, removed, added = self._edit
        if len(self._blocks()) >= len(self._lines) or not removed:
            return
        before = (ids for begin, end, ids in self._lines if begin < place <= end)
        after = (ids for begin, end, ids in self._lines if begin <= place + removed < end)
        ids = dict.fromkeys((*next(before, ()), *next(after, ())))
        _mark_line(QTextCursor(self.document().findBlock(place + added)), tuple(ids))

    def _mark(self) -> None:
        made: list[QTextEdit.ExtraSelection] = []
        for block, place in self._places():
            form = QTextCharFormat()
            if place in self._struck:
                form.setFontStrikeOut(True)
                form.setForeground(QColor(THEME.text_faint))
            elif place in self._faults:
                form.setUnderlineStyle(QTextCharFormat.UnderlineStyle.WaveUnderline)
                form.setUnderlineColor(QColor(THEME.warning))
            if self._selected and self._selected in _ids(block):
                form.setBackground(QColor(THEME.selected))
            if not form.isEmpty():
                one = QTextEdit.ExtraSelection()
                one.cursor = QTextCursor(block)
                end, keep = QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor
                one.cursor.movePosition(end, keep)
                one.format = form
                made.append(one)
        self.setExtraSelections(made)
        self.viewport().update()

    # Size

    def _fit(self) -> None:
        margins = self.contentsMargins()
        height = self.document().size().height() + margins.top() + margins.bottom()
        wanted = max(round(height) + 2, _LEAST)
        if wanted != self.height() or self.minimumHeight() != wanted:
            self.setFixedHeight(wanted)

    def sizeHint(self) -> QSize:
        return QSize(120, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    # Mouse, keys and paint

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            ids = _ids(self.cursorForPosition(event.position().toPoint()).block())
            if ids:
                after = ids.index(self._selected) + 1 if self._selected in ids else 0
                self.finding_wanted.emit(ids[after % len(ids)])

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            undo, redo = QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo
            if event.matches(undo) or event.matches(redo):
                event.ignore()  # the window's
                return True
        return super().event(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            block = self.cursorForPosition(event.pos()).block()
            QToolTip.showText(event.globalPos(), plain_tip(self.told_of(block)), self)
            return True
        return super().viewportEvent(event)

    def told_of(self, block: QTextBlock) -> str:
        """Return what there is to tell of a line: its faults, and what it rests on."""
        place = next((place for one, place in self._places() if one == block), -1)
        parts = (self._faults.get(place, ""), self.tip_of(_ids(block)))
        return "\n".join(filter(None, parts))

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return the selected text, with the findings that its lines rest on."""
        made, cursor = QMimeData(), self.textCursor()
        begin, end = cursor.selectionStart(), cursor.selectionEnd()
        lines = [
            (one.text()[max(begin - one.position(), 0) : end - one.position()], _ids(one))
            for one in self._blocks()
            if one.position() <= end and begin < one.position() + one.length()
        ]
        made.setText("\n".join(text for text, _ in lines))
        made.setData(_LINES, json.dumps(lines).encode())
        return made

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Paste plain text, a sentence a line; those from here rest on what they rested on."""
        lines = [(one, ()) for one in (source.text().splitlines() if source.hasText() else ())]
        if source.hasFormat(_LINES):
            lines = json.loads(bytes(source.data(_LINES).data()))
        cursor = self.textCursor()
        cursor.beginEditBlock()
        for number, (line, ids) in enumerate(lines):
            if number:
                cursor.insertBlock(QTextBlockFormat())
            cursor.insertText(line, QTextCharFormat())
            _mark_line(cursor, tuple(dict.fromkeys((*_ids(cursor.block()), *ids))))
        cursor.endEditBlock()
        self.setTextCursor(cursor)

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText() and not source.hasUrls()  # the window opens files

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        layout = self.document().documentLayout()
        for block, place in self._places():
            if _ids(block):
                tint = THEME.warning if place in self._faults else THEME.accent
                tint = THEME.text_faint if place in self._struck else tint
                around = layout.blockBoundingRect(block)
                bar = QRectF(0, around.top() + 1, _BAR, around.height() - 2)
                painter.fillRect(bar, QColor(tint))
        painter.end()


def _format(ids: Sequence[str]) -> QTextBlockFormat:
    form = QTextBlockFormat()
    if ids:
        form.setProperty(_FINDINGS, "\n".join(ids))
    return form


def _mark_line(cursor: QTextCursor, ids: tuple[str, ...]) -> None:
    """Let the line of a cursor rest on findings."""
    if ids != _ids(cursor.block()):
        cursor.setBlockFormat(_format(ids))


def _ids(block: QTextBlock) -> tuple[str, ...]:
    """Return the ids of the findings that a line rests on."""
    text = block.blockFormat().stringProperty(_FINDINGS)
    return tuple(text.split("\n")) if text else ()
