"""Label chips: texts beside findings that have a constant size on the screen and do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from app.views.style import color as with_alpha
from app.views.style import ui_font
from app.views.theme import THEME, TYPE

PAD_X, PAD_Y, GAP = 8.0, 3.5, 6.0
MAX_WIDTH = 260.0


@dataclass(frozen=True, slots=True)
class Chip:
    """A label to be placed beside an anchor (px of the view) in the finding's colour (#RRGGBB).

    `strong` is set while the finding is selected or under the mouse.
    """

    id: str
    text: str
    anchor: QPointF
    color: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class PlacedChip:
    """A chip with its rectangle in px of the view, and its text shortened to fit."""

    chip: Chip
    rect: QRectF
    text: str


def chip_font(size: float = 1.0) -> QFont:
    """Return the font for chips; `size` is above 1 for exports of large images."""
    return ui_font(round(TYPE.caption * size), QFont.Weight.Medium)


def place(
    chips: Sequence[Chip],
    area: QRectF,
    taken: Sequence[QRectF] = (),
    size: float = 1.0,
) -> list[PlacedChip]:
    """Place each chip whose anchor is in `area` (px), without overlaps if there is enough room.

    Chips are placed in order: pass the most important first. `taken` are rectangles of other text;
    `size` is a factor for the size of chips.
    """
    metrics = QFontMetricsF(chip_font(size))
    used = list(taken)
    placed: list[PlacedChip] = []
    for chip in chips:
        if not area.contains(chip.anchor):
            continue
        text = metrics.elidedText(chip.text, Qt.TextElideMode.ElideRight, MAX_WIDTH * size)
        width = metrics.horizontalAdvance(text) + (2 * PAD_X + 8) * size
        height = metrics.height() + 2 * PAD_Y * size
        rect = _free(chip.anchor, width, height, area, used, size)
        used.append(rect)
        placed.append(PlacedChip(chip, rect, text))
    return placed


def _free(
    anchor: QPointF, width: float, height: float, area: QRectF, used: list[QRectF], size: float
) -> QRectF:
    gap = GAP * size
    best: QRectF | None = None
    for ring in range(7):
        reach = gap + ring * (height + gap) * 0.6
        for x, y in (
            (anchor.x() - width / 2, anchor.y() - height - reach),
            (anchor.x() - width / 2, anchor.y() + reach),
            (anchor.x() + reach, anchor.y() - height / 2),
            (anchor.x() - width - reach, anchor.y() - height / 2),
        ):
            rect = _kept_in(QRectF(x, y, width, height), area)
            best = best or rect
            if not any(rect.intersects(other) for other in used):
                return rect
    return best or QRectF(anchor.x(), anchor.y(), width, height)


def _kept_in(rect: QRectF, area: QRectF) -> QRectF:
    x = min(max(rect.x(), area.left() + 4), max(area.left() + 4, area.right() - rect.width() - 4))
    y = min(max(rect.y(), area.top() + 4), max(area.top() + 4, area.bottom() - rect.height() - 4))
    return QRectF(x, y, rect.width(), rect.height())


def draw(painter: QPainter, placed: Sequence[PlacedChip], size: float = 1.0) -> None:
    """Draw placed chips; `size` is the factor that was given to `place`."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(chip_font(size))
    for item in placed:
        tint = QColor(item.chip.color)
        rect, radius = item.rect, 5.0 * size
        painter.setPen(QPen(tint, (1.6 if item.chip.strong else 1.0) * size))
        painter.setBrush(with_alpha(THEME.window, 0.95 if item.chip.strong else 0.82))
        painter.drawRoundedRect(rect, radius, radius)
        dot = 3.0 * size
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint)
        painter.drawEllipse(
            QPointF(rect.left() + PAD_X * size + dot * 0.4, rect.center().y()), dot, dot
        )
        painter.setPen(QColor(THEME.text))
        text_rect = rect.adjusted((PAD_X + 8) * size, 0, -PAD_X * size * 0.5, 0)
        painter.drawText(
            text_rect, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, item.text
        )
