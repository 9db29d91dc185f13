"""Paints a small table of facts: one widget, however many cells."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.views.chat.facts import Facts
from app.views.style import ui_font
from app.views.theme import SPACE, THEME, TYPE

_ROW = 20


class FactsTable(QWidget):
    """Names left, figures right; long names are cut with "…"."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Key figures")
        self.setAccessibleDescription(self.as_text())

    def as_text(self) -> str:
        """All cells, for copying and screen readers."""
        lines = [self._facts.header, *self._facts.rows] if self._facts.header else self._facts.rows
        return "\n".join("\t".join(line) for line in lines)

    def sizeHint(self) -> QSize:
        lines = len(self._facts.rows) + bool(self._facts.header) + bool(self._facts.more)
        return QSize(120, lines * _ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(60, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        y = 0
        if self._facts.header:
            self._line(painter, y, self._facts.header, THEME.text_faint, TYPE.caption)
            y += _ROW
        for index, cells in enumerate(self._facts.rows):
            if index or self._facts.header:
                painter.setPen(QColor(THEME.border))
                painter.drawLine(0, y, self.width(), y)
            self._line(painter, y, cells, THEME.text, TYPE.label)
            y += _ROW
        if self._facts.more:
            more = (f"and {self._facts.more} more",)
            self._line(painter, y, more, THEME.text_faint, TYPE.caption)
        painter.end()

    def _line(
        self, painter: QPainter, y: int, cells: tuple[str, ...], tint: str, pixels: int
    ) -> None:
        font = ui_font(pixels)
        painter.setFont(font)
        metrics = QFontMetrics(font)
        values = cells[1:]
        column = self._column_width(len(values))
        first = QRect(0, y, self.width() - column * len(values), _ROW)
        vertical = Qt.AlignmentFlag.AlignVCenter
        painter.setPen(QColor(THEME.text_muted if values else tint))
        cut = metrics.elidedText(cells[0], Qt.TextElideMode.ElideRight, first.width() - SPACE.xs)
        painter.drawText(first, vertical | Qt.AlignmentFlag.AlignLeft, cut)
        painter.setPen(QColor(tint))
        for index, value in enumerate(values):
            left = first.width() + index * column
            cell = QRect(left, y, column, _ROW)
            cut = metrics.elidedText(value, Qt.TextElideMode.ElideRight, column - SPACE.xs)
            painter.drawText(cell, vertical | Qt.AlignmentFlag.AlignRight, cut)

    def _column_width(self, columns: int) -> int:
        """One width for the figures of all lines, so that they stand under each other."""
        if not columns:
            return 0
        metrics = QFontMetrics(ui_font(TYPE.label))
        cells = [cell for line in (self._facts.header, *self._facts.rows) for cell in line[1:]]
        wanted = max(metrics.horizontalAdvance(cell) for cell in cells) + SPACE.m
        share = (0.5 if columns == 1 else 0.66) * self.width() / columns
        return int(min(wanted, share))
