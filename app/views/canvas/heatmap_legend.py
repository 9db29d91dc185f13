"""The legend of a heatmap: its title and colour bar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from app.imaging.findings import Finding, Heatmap
from app.views import wording
from app.views.canvas.colormaps import table
from app.views.theme import DARK, TYPE, ui_font
from app.views.theme import color as with_alpha
from app.views.translation import tr, translatable

MAP = "inferno"
"""Colour map of all heatmaps; lightness rises with the value, so colour vision is not needed."""

ALPHA = 0.65
"""Opacity of the highest value at full strength; low values are transparent."""

STRENGTHS = {
    translatable("Hidden"): 0.0,
    translatable("Faint"): 0.4,
    translatable("Medium"): 0.7,
    translatable("Strong"): 1.0,
}
"""Opacity factors for heatmaps, by name (to be translated)."""

USUAL = STRENGTHS["Medium"]

_WIDTH, _BAR, _PAD = 210.0, 10.0, 8.0
_ABOVE = 34.0  # px above the bottom, clear of the side letter


@dataclass(frozen=True, slots=True)
class Legend:
    """The texts of a heatmap's legend: `title` (label and score), and a second line or ""."""

    title: str
    note: str = ""


def visible_heatmap(findings: Sequence[Finding], selected: str = "") -> Finding | None:
    """Return the one heatmap drawn: the `selected`, else the last; several look alike."""
    maps = [finding for finding in findings if isinstance(finding.geometry, Heatmap)]
    chosen = next((finding for finding in maps if finding.id == selected), None)
    return chosen or (maps[-1] if maps else None)


def legend_of(findings: Sequence[Finding], selected: str = "") -> Legend | None:
    """Return the legend of the heatmap that `visible_heatmap` chooses; None if it chooses none."""
    shown = visible_heatmap(findings, selected)
    if shown is None:
        return None
    count = sum(isinstance(finding.geometry, Heatmap) for finding in findings)
    more = tr("1 of {count}: choose in the findings").format(count=count) if count > 1 else ""
    text = tr("Heatmap: {label}")
    if shown.score is not None:
        text = tr("Heatmap: {label}, score {score:.2f}")
    name = wording.one_line(shown.label) or tr("unnamed")
    return Legend(text.format(label=name, score=shown.score), more)


def rect_of(legend: Legend | None, area: QRectF, taken: Sequence[QRectF] = ()) -> QRectF:
    """Return the legend's rectangle at the bottom of `area` clear of `taken`; empty for none."""
    if legend is None:
        return QRectF()
    line = QFontMetricsF(_font()).lineSpacing()
    lines = 3 if legend.note else 2
    height = lines * line + _BAR + 2 * _PAD
    width = min(_WIDTH, area.width() - 2 * _PAD)
    corner = QPointF(area.center().x() - width / 2, area.bottom() - _ABOVE - height)
    rect = QRectF(corner.x(), corner.y(), width, height)
    aside = _aside(rect, area, taken)
    if not _free(rect, taken) and _free(aside, taken):
        return aside  # beside the text at the right rather than high on the image
    for other in sorted(taken, key=lambda one: -one.bottom()):
        if other.top() > area.center().y() and rect.intersects(
            other.adjusted(-_PAD, -_PAD, _PAD, _PAD)
        ):
            rect.moveBottom(other.top() - _PAD)
    return rect


def _aside(rect: QRectF, area: QRectF, taken: Sequence[QRectF]) -> QRectF:
    """Return the rectangle moved to the left, above the text of the left corner."""
    place = QRectF(area.left() + _PAD, rect.y(), rect.width(), rect.height())
    tops = [
        other.top() - _PAD
        for other in taken
        if other.right() < area.center().x() and other.top() > area.center().y()
    ]
    place.moveBottom(min(tops, default=area.bottom() - _PAD))
    place.translate(0, -1)  # beyond the gap, not at it
    return place


def _free(rect: QRectF, taken: Sequence[QRectF]) -> bool:
    wide = rect.adjusted(-_PAD, -_PAD, _PAD, _PAD)
    return not any(wide.intersects(other) for other in taken)


def draw(painter: QPainter, legend: Legend | None, rect: QRectF) -> None:
    """Draw the legend into `rect` (px of the view)."""
    if legend is None:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(with_alpha(DARK.overlay_shade, 0.72))
    painter.drawRoundedRect(rect, 6, 6)
    font = _font()
    metrics = QFontMetricsF(font)
    line = metrics.lineSpacing()
    room = rect.adjusted(_PAD, _PAD, -_PAD, -_PAD)
    flags = Qt.AlignmentFlag.AlignLeft | Qt.TextFlag.TextSingleLine
    painter.setFont(font)
    painter.setPen(QColor(DARK.overlay_text))
    at = QRectF(room.x(), room.y(), room.width(), line)
    painter.drawText(at, flags, _cut(metrics, legend.title, room.width()))
    bar = QRectF(room.x(), at.bottom() + 2, room.width(), _BAR)
    painter.drawImage(bar, _bar())
    below = QRectF(room.x(), bar.bottom() + 1, room.width(), line)
    painter.setPen(QColor(DARK.text_muted))
    painter.drawText(below, flags, tr("low (see-through)"))
    painter.drawText(below, Qt.AlignmentFlag.AlignRight | Qt.TextFlag.TextSingleLine, "high")
    if legend.note:
        below.translate(0, line)
        painter.drawText(below, flags, _cut(metrics, legend.note, room.width()))
    painter.restore()


def _bar() -> QImage:
    """Return the colour bar as it looks over mid grey."""
    colors = table(MAP).astype(np.float64)
    alpha = np.linspace(0.0, ALPHA, 256)[:, None]
    over = np.round(colors * alpha + 90.0 * (1 - alpha)).astype(np.uint8)
    return QImage(over.tobytes(), 256, 1, 768, QImage.Format.Format_RGB888).copy()


def _cut(metrics: QFontMetricsF, text: str, room: float) -> str:
    return metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)


def _font() -> QFont:
    return ui_font(TYPE.caption, QFont.Weight.Medium)
