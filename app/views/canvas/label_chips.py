"""Label chips: texts beside findings that have a constant size on the screen and do not overlap.

Chips of lines and of the user's own drawings are small, and are placed so as not to cover any line
or drawing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QTransform

from app.imaging.findings import Finding, Polyline
from app.views import wording
from app.views.canvas.finding_shapes import Shape
from app.views.theme import DARK, TYPE, ui_font
from app.views.theme import color as with_alpha
from app.workspace import drawing

PAD_X, PAD_Y, GAP = 8.0, 3.5, 6.0
MAX_WIDTH = 260.0
SMALL_PAD_X, SMALL_PAD_Y = 4.0, 1.0
MARGIN = 4.0  # px between a chip and the border of the view
SMALL_MAX_WIDTH = 420.0  # sizes and statistics are not cut off
CLEAR = 8.0  # px around lines and marks that stay free of texts: as far as ticks and handles go
LEADER = 16.0  # px between a chip and its anchor above which a line joins them


@dataclass(frozen=True, slots=True)
class Chip:
    """A label to be placed beside an anchor (px of the view) in the finding's colour (#RRGGBB).

    Attributes:
        strong: Whether the finding is selected or under the mouse.
        keep_off: The finding's outline (px of the view) if no label may cover it; None for others.
            A chip with an outline is drawn small.
        other_end: Where to place the chip when the anchor is out of view.
        ending: What follows the text and is never cut off, e.g. the state of a tool's finding.
        offset: From the anchor to the centre of a chip that the user has moved, or None.
    """

    id: str
    text: str
    anchor: QPointF
    color: str
    strong: bool = False
    keep_off: QPainterPath | None = None
    other_end: QPointF | None = None
    offset: QPointF | None = None
    ending: str = ""


@dataclass(frozen=True, slots=True)
class PlacedChip:
    """A chip with its rectangle (px of the view) and its text, shortened if it is too long.

    `leader` is a line from the anchor to the chip; None if the chip is next to the anchor.
    """

    chip: Chip
    rect: QRectF
    text: str
    leader: QLineF | None = None


def chip_of(
    finding: Finding, shape: Shape, to_view: QTransform, color: str, strong: bool = False
) -> Chip:
    """Return a finding's chip, whose text may be ""; `to_view` maps `shape` to px of the view."""
    text = wording.chip_text(finding)
    # In words too: the style of a line is hard to see, and says nothing to who does not know it.
    ending = "" if drawing.by_hand(finding) else f" · {wording.state_name(finding.state)}"
    if not (isinstance(finding.geometry, Polyline) or drawing.by_hand(finding)):
        return Chip(finding.id, text, to_view.map(shape.anchor), color, strong, ending=ending)
    start = to_view.map(shape.ends[0]) if shape.ends else None
    path = to_view.map(shape.path)
    anchor = to_view.map(shape.anchor)
    return Chip(finding.id, text, anchor, color, strong, path, start, ending=ending)


def chip_font() -> QFont:
    """Return the font for chips."""
    return ui_font(TYPE.caption, QFont.Weight.Medium)


def place(chips: Sequence[Chip], area: QRectF, taken: Sequence[QRectF] = ()) -> list[PlacedChip]:
    """Place chips in `area` (px) off `taken`, most important first, after the moved ones."""
    metrics = QFontMetricsF(chip_font())
    used = list(taken)
    lines = QPainterPath()
    lines.setFillRule(Qt.FillRule.WindingFill)
    for chip in chips:
        if chip.keep_off is not None:
            lines.addPath(chip.keep_off)
    placed: list[PlacedChip] = []
    for chip in sorted(chips, key=lambda chip: chip.offset is None):
        if not area.contains(chip.anchor) and chip.other_end is not None:
            chip = replace(chip, anchor=chip.other_end)
        if not area.contains(chip.anchor):
            continue
        small = chip.keep_off is not None
        pad_x, pad_y = (2 * SMALL_PAD_X, SMALL_PAD_Y) if small else (2 * PAD_X + 8, PAD_Y)
        widest = min(SMALL_MAX_WIDTH if small else MAX_WIDTH, area.width() - pad_x - 2 * MARGIN)
        room = widest - metrics.horizontalAdvance(chip.ending)
        text = metrics.elidedText(chip.text, Qt.TextElideMode.ElideRight, room) + chip.ending
        width = metrics.horizontalAdvance(text) + pad_x
        height = metrics.height() + 2 * pad_y
        if chip.offset is not None:
            rect = QRectF(0, 0, width, height)
            rect.moveCenter(chip.anchor + chip.offset)
            rect = _kept_in(rect, area)
        else:
            rect = _free(chip, width, height, area, used, lines)
        used.append(rect)
        placed.append(PlacedChip(chip, rect, text, _leader(chip.anchor, rect)))
    return placed


def _leader(anchor: QPointF, rect: QRectF) -> QLineF | None:
    x = min(max(anchor.x(), rect.left()), rect.right())
    y = min(max(anchor.y(), rect.top()), rect.bottom())
    line = QLineF(anchor, QPointF(x, y))
    return line if line.length() > LEADER else None


def _free(
    chip: Chip,
    width: float,
    height: float,
    area: QRectF,
    used: list[QRectF],
    lines: QPainterPath,
) -> QRectF:
    """Return a place near the anchor: free, else off other texts, else the first one tried."""
    anchor = chip.anchor
    gap = CLEAR + 1 if chip.keep_off is not None else GAP
    best: tuple[int, QRectF] | None = None
    for ring in range(7):
        reach = gap + ring * (height + gap) * 0.6
        above, below = anchor.y() - height - reach, anchor.y() + reach
        right, left = anchor.x() + reach, anchor.x() - width - reach
        middle = anchor.x() - width / 2, anchor.y() - height / 2
        beside = ((right, middle[1]), (left, middle[1]))
        over = ((middle[0], above), (middle[0], below))
        for x, y in (*beside, *over) if chip.keep_off is not None else (*over, *beside):
            rect = _kept_in(QRectF(x, y, width, height), area)
            if any(rect.intersects(other) for other in used):
                fault = 2
            elif lines.intersects(rect.adjusted(-CLEAR, -CLEAR, CLEAR, CLEAR)):
                fault = 1
            else:
                return rect
            if best is None or fault < best[0]:
                best = fault, rect
    return best[1] if best else QRectF(anchor.x(), anchor.y(), width, height)


def _kept_in(rect: QRectF, area: QRectF) -> QRectF:
    inner = area.adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
    x = min(max(rect.x(), inner.left()), max(inner.left(), inner.right() - rect.width()))
    y = min(max(rect.y(), inner.top()), max(inner.top(), inner.bottom() - rect.height()))
    return QRectF(x, y, rect.width(), rect.height())


def draw(painter: QPainter, placed: Sequence[PlacedChip]) -> None:
    """Draw chips that `place` has placed, with their leader lines."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(chip_font())
    for item in placed:
        tint = QColor(item.chip.color)
        rect, strong = item.rect, item.chip.strong
        if item.leader is not None:
            painter.setPen(QPen(tint, 1.0))
            painter.drawLine(item.leader)
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        if item.chip.keep_off is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(with_alpha(DARK.overlay_shade, 0.7 if strong else 0.5))
            painter.drawRoundedRect(rect, 2, 2)
            painter.setPen(tint)
            painter.drawText(rect.adjusted(SMALL_PAD_X, 0, 0, 0), left, item.text)
            continue
        painter.setPen(QPen(tint, 1.6 if strong else 1.0))
        painter.setBrush(with_alpha(DARK.window, 0.95 if strong else 0.82))
        painter.drawRoundedRect(rect, 5.0, 5.0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(tint)
        painter.drawEllipse(QPointF(rect.left() + PAD_X + 1.2, rect.center().y()), 3.0, 3.0)
        painter.setPen(QColor(DARK.text))
        text_rect = rect.adjusted(PAD_X + 8, 0, -PAD_X * 0.5, 0)
        painter.drawText(text_rect, left, item.text)
