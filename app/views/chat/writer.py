"""Writes streamed Markdown into a document, a line at a time: the cost is that of the new text."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from PySide6.QtGui import (
    QColor,
    QFont,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)

from app.views.chat.text import (
    Kind,
    Line,
    Linker,
    Span,
    Style,
    clean,
    read_line,
    read_spans,
    tooltip,
)
from app.views.theme import SPACE, THEME, TYPE

LINK_SCHEME = "finding:"
RESULT_SCHEME = "result:"
_INDENT = 18  # px a list level is moved in


class MarkdownWriter:
    """Appends text to a document. Finished lines stay; only the open last line is written again."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._linker = Linker()
        self._formats = _char_formats()
        self._reset()

    @property
    def text(self) -> str:
        """All text so far, as it came."""
        return self._text

    def append(self, text: str) -> None:
        """Add a piece of text."""
        self._text += text
        *whole, self._open = (self._open + clean(text)).split("\n")
        cursor = self._from(self._tail)
        for raw in whole:
            self._write(cursor, read_line(raw, fenced=self._fenced))
            self._tail = cursor.position()
            self._tail_fresh = self._fresh
            self._tail_gap = self._gap
        if self._open:
            fenced = self._fenced
            self._write(cursor, read_line(self._open, fenced=fenced))
            # The open line may still turn into something else: what it changed is taken back.
            self._fenced, self._fresh, self._gap = fenced, self._tail_fresh, self._tail_gap
        cursor.endEditBlock()

    def set_text(self, text: str) -> None:
        """Write `text` anew."""
        self._reset()
        self.append(text)

    def cut(self, length: int) -> None:
        """Take back all but the first `length` characters of `text`."""
        if length < len(self._text):
            self.set_text(self._text[:length])

    def set_links(
        self,
        targets: Mapping[str, str],
        results: Mapping[int, str] | None = None,
        unknown: Collection[int] = (),
    ) -> None:
        """Make links, also of what is written.

        Args:
            targets: Label to finding id.
            results: Number of a result to what it is.
            unknown: Numbers that are cited and that no result has: they are marked.
        """
        self._linker = Linker(targets, results, unknown)
        if self._text:
            self.set_text(self._text)

    def _reset(self) -> None:
        self._document.clear()
        self._document.setUndoRedoEnabled(False)
        self._text = ""
        self._open = ""
        self._tail = 0  # where the open line starts in the document
        self._fenced = False
        self._fresh = self._tail_fresh = True  # nothing is written yet
        self._gap = self._tail_gap = False  # a blank line came before

    def _from(self, position: int) -> QTextCursor:
        cursor = QTextCursor(self._document)
        cursor.beginEditBlock()
        cursor.setPosition(position)
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        return cursor

    def _write(self, cursor: QTextCursor, line: Line) -> None:
        if line.kind is Kind.FENCE:
            self._fenced = not self._fenced
            return
        if line.kind is Kind.BLANK:
            self._gap = True
            return
        block = _block_format(line, gap=self._gap, first=self._fresh)
        if self._fresh:
            cursor.setBlockFormat(block)
        else:
            cursor.insertBlock(block, self._formats[Style.PLAIN])
        self._fresh = self._gap = False
        if line.kind is Kind.CODE:
            cursor.insertText(line.text or " ", self._formats[Style.CODE])
            return
        if line.marker:
            cursor.insertText(line.marker + "\t", self._formats[Style.PLAIN])
        for span in read_spans(line.text, self._linker):
            cursor.insertText(span.text, self._format(span, heading=line.kind is Kind.HEADING))

    def _format(self, span: Span, *, heading: bool) -> QTextCharFormat:
        cites = span.style in (Style.CITATION, Style.UNKNOWN)
        if heading and not cites:
            return self._formats[Style.BOLD]
        if not span.target:
            return self._formats[span.style]
        form = QTextCharFormat(self._formats[Style.CITATION if cites else Style.LINK])
        form.setAnchorHref((RESULT_SCHEME if cites else LINK_SCHEME) + span.target)
        if span.tip:
            form.setToolTip(tooltip(span.tip))
        return form


def _char_formats() -> dict[Style, QTextCharFormat]:
    plain = QTextCharFormat()
    plain.setForeground(QColor(THEME.text))
    bold = QTextCharFormat(plain)
    bold.setFontWeight(QFont.Weight.DemiBold)
    code = QTextCharFormat(plain)
    code.setFontFamilies([TYPE.mono, "DejaVu Sans Mono", "monospace"])
    code.setProperty(QTextCharFormat.Property.FontPixelSize, TYPE.label)
    code.setBackground(QColor(THEME.raised))
    link = QTextCharFormat(plain)
    link.setAnchor(True)
    link.setForeground(QColor(THEME.accent))
    link.setUnderlineStyle(QTextCharFormat.UnderlineStyle.DotLine)
    link.setUnderlineColor(QColor(THEME.accent))
    citation = QTextCharFormat(plain)
    citation.setAnchor(True)
    citation.setForeground(QColor(THEME.accent))
    unknown = QTextCharFormat(plain)
    unknown.setForeground(QColor(THEME.warning))
    return {
        Style.PLAIN: plain,
        Style.BOLD: bold,
        Style.CODE: code,
        Style.LINK: link,
        Style.CITATION: citation,
        Style.UNKNOWN: unknown,
    }


def _block_format(line: Line, *, gap: bool, first: bool) -> QTextBlockFormat:
    block = QTextBlockFormat()
    block.setLineHeight(135, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    if not first:
        loose = gap or line.kind is Kind.HEADING
        block.setTopMargin(SPACE.s if loose else SPACE.xs / 2)
    if line.kind is Kind.ITEM:
        margin = _INDENT * (line.level + 1)
        block.setLeftMargin(margin)
        block.setTextIndent(-_INDENT)
        block.setTabPositions([QTextOption.Tab(_INDENT, QTextOption.TabType.LeftTab)])
    return block
