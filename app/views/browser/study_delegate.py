"""Paints the rows of the study list: headings, warnings and series."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPainterPath, QPixmap
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.views import icons
from app.views.browser.study_rows import KEYS, ROW, SeriesRow, StudyRow, WarningRow
from app.views.canvas import synthetic_band
from app.views.theme import SPACE, THEME, TYPE, color, current, ui_font
from app.views.widgets import Index

ROW_HEIGHT = 72
"""Height of every row in px; with equal heights Qt can lay out thousands of rows at once."""
PICTURE = 56
MARK = 14
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def draw_line(painter: QPainter, rect: QRect, font: QFont, ink: str, text: str) -> None:
    """Draw one line of plain text in the colour `ink`; an ellipsis replaces what does not fit."""
    painter.setFont(font)
    painter.setPen(QColor(current(ink)))
    elided = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
    painter.drawText(rect, _LEFT | Qt.TextFlag.TextSingleLine, elided)


class StudyDelegate(QStyledItemDelegate):
    """Paints the rows of the study list: study headings, warnings and series."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = index.data(ROW)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if isinstance(row, StudyRow):
            self._study(painter, option.rect, row)
        elif isinstance(row, WarningRow):
            self._warning(painter, option.rect, row)
        else:
            self._card(painter, option)
            picture = index.data(Qt.ItemDataRole.DecorationRole)
            self._series(painter, option.rect, row, picture)
            if keys := index.data(KEYS):
                _draw_keys(painter, option.rect, keys)
        painter.restore()

    def _study(self, painter: QPainter, rect: QRect, row: StudyRow) -> None:
        x, width = rect.left() + SPACE.m, rect.width() - 2 * SPACE.m
        y = rect.top() + SPACE.m + 2
        strong, small = ui_font(TYPE.body, QFont.Weight.DemiBold), ui_font(TYPE.caption)
        draw_line(painter, QRect(x, y, width, 20), strong, THEME.text, row.patient)
        draw_line(painter, QRect(x, y + 19, width, 17), small, THEME.text_muted, row.detail)
        draw_line(painter, QRect(x, y + 35, width, 17), small, THEME.text_muted, row.title)

    def _warning(self, painter: QPainter, rect: QRect, row: WarningRow) -> None:
        card = QRectF(rect).adjusted(SPACE.s, 4, -SPACE.s, -4)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color(THEME.warning, 0.14))
        painter.drawRoundedRect(card, SPACE.radius_small, SPACE.radius_small)
        mark = QRect(rect.left() + SPACE.m + 4, rect.top() + SPACE.m, MARK, MARK)
        icons.draw(painter, "triangle-alert", mark, THEME.warning)
        left = mark.right() + SPACE.s
        room = QRect(left, rect.top() + 8, rect.right() - SPACE.l - left, ROW_HEIGHT - 16)
        font = ui_font(TYPE.caption)
        painter.setFont(font)
        painter.setPen(QColor(THEME.warning))
        painter.drawText(
            room,
            Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextWordWrap,
            _fitting(row.text, font, room),
        )

    def _card(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        card = QRectF(option.rect).adjusted(SPACE.s, 2, -SPACE.s, -2)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        painter.setPen(QColor(THEME.accent) if selected else Qt.PenStyle.NoPen)
        fill = THEME.selected if selected else THEME.hover if hovered else THEME.raised
        painter.setBrush(QColor(fill))
        painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), SPACE.radius, SPACE.radius)

    def _series(
        self, painter: QPainter, rect: QRect, row: SeriesRow, picture: QPixmap | None
    ) -> None:
        box = QRect(rect.left() + SPACE.s + 6, rect.top() + 8, PICTURE, PICTURE)
        self._picture(painter, box, row, picture)
        x, middle = box.right() + SPACE.m, rect.center().y()
        width = rect.right() - SPACE.l - x
        title_width = width
        if row.series.warnings:
            mark = QRect(rect.right() - SPACE.l - MARK, middle - 17, MARK, MARK)
            icons.draw(painter, "triangle-alert", mark, THEME.warning)
            title_width -= MARK + SPACE.xs
        ink = THEME.text if row.displayable else THEME.text_faint
        font = ui_font(TYPE.body, QFont.Weight.Medium)
        draw_line(painter, QRect(x, middle - 20, title_width, 20), font, ink, row.title)
        muted = THEME.text_muted if row.displayable else THEME.text_faint
        draw_line(painter, QRect(x, middle, width, 18), ui_font(TYPE.caption), muted, row.detail)

    def _picture(
        self, painter: QPainter, box: QRect, row: SeriesRow, picture: QPixmap | None
    ) -> None:
        path = QPainterPath()
        path.addRoundedRect(QRectF(box), 5, 5)
        painter.fillPath(path, QColor(THEME.canvas if row.content_name.thumbnail else THEME.panel))
        if picture is None:
            mark = QRect(0, 0, 20, 20) if row.content_name.thumbnail else QRect(0, 0, 26, 26)
            mark.moveCenter(box.center())
            plain = row.content_name.thumbnail or not row.displayable
            icons.draw(
                painter, row.content_name.icon, mark, THEME.text_faint if plain else THEME.text
            )
            return
        size = picture.size().scaled(box.size(), Qt.AspectRatioMode.KeepAspectRatio)
        place = QRect(QPoint(), size)
        place.moveCenter(box.center())
        painter.setClipPath(path)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawPixmap(place, picture)
        if synthetic_band.model_title(row.middle):
            synthetic_band.draw_small(painter, QRectF(box))
        painter.setClipping(False)


def _draw_keys(painter: QPainter, rect: QRect, count: int) -> None:
    """Draw the sign of key images, and how many they are, into the corner of the thumbnail."""
    box = QRect(rect.left() + SPACE.s + 6, rect.top() + 8, PICTURE, PICTURE)
    font = ui_font(TYPE.caption)
    text = str(count) if count > 1 else ""
    width = 18 + (QFontMetrics(font).horizontalAdvance(text) + 3 if text else 0)
    badge = QRect(box.left() + 2, box.bottom() - 18, width, 17)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color(THEME.canvas, 0.8))
    painter.drawRoundedRect(badge, 4, 4)
    icons.draw(painter, "star", QRect(badge.left() + 2, badge.top() + 2, 13, 13), THEME.warning)
    if text:
        draw_line(painter, badge.adjusted(17, 0, 0, 0), font, THEME.overlay_text, text)


def _fitting(text: str, font: QFont, room: QRect) -> str:
    """Return as many words as fit into `room`, with an ellipsis; the tooltip has all."""
    metrics, flags = QFontMetrics(font), int(Qt.TextFlag.TextWordWrap)

    def fits(wanted: str) -> bool:
        return metrics.boundingRect(room, flags, wanted).height() <= room.height()

    if fits(text):
        return text
    words = text[:400].split()
    while words and not fits(" ".join(words) + "…"):
        words.pop()
    return " ".join(words) + "…"
