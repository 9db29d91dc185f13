"""The texts over the image: corner text, side letters and label chips, in screen pixels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt, QTimer
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QPainter,
    QPaintEvent,
    QPixmap,
    QRegion,
)
from PySide6.QtWidgets import QWidget

from app.views import wording
from app.views.canvas import heatmap_legend, label_chips, synthetic_band
from app.views.canvas.corner_text import TOOLS_IN_LIST, Corners, Sides
from app.views.canvas.label_chips import Chip, PlacedChip
from app.views.theme import DARK, TYPE, ui_font
from app.views.theme import color as with_alpha
from app.views.translation import tr

MARGIN = 12.0
SIDE_MARGIN = 8.0
LETTER_ROOM = 18.0
PLATE_PAD = 5.0
PICTURE_MS = 30
"""Longest time that a text waits for the picture it belongs to."""
MAX_LINES = 3  # of one entry of corner text
MOST_HEIGHT = 0.2  # share of the view above which the list of tools is left out
_AROUND = (-PLATE_PAD - 1, -PLATE_PAD - 1, PLATE_PAD + 2, PLATE_PAD + 2)
_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight


@cache
def corner_font(size: float = 1.0) -> QFont:
    """Return the font for corner text; all digits are equally wide, so that values do not jump."""
    font = ui_font(round(TYPE.label * size))
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


@dataclass(frozen=True, slots=True)
class Block:
    """A corner's laid-out text: `rect` (px); lines of (text, #RRGGBB); whether right-aligned."""

    rect: QRectF
    lines: tuple[tuple[str, str], ...]  # (text, #RRGGBB)
    right: bool


Parts = tuple[tuple[tuple[str, ...], str], ...]
"""The texts in one corner, with their colours."""


def corner_blocks(corners: Corners, area: QRectF, size: float = 1.0) -> list[Block]:
    """Lay out the texts of the corners in `area` (px), `size` times as large as on the screen.

    If the list of tools in `Corners.warning` is too high for the image, a short text replaces it.
    """
    ink, warn = DARK.overlay_text, DARK.warning
    blocks: list[Block] = []
    for parts, right, bottom in (
        (((corners.top_left, ink),), False, False),
        (((corners.top_right, ink), (corners.series_warning, warn)), True, False),
        (((corners.bottom_left, ink), (corners.mark, warn)), False, True),
        (((corners.warning, warn), (corners.bottom_right, ink)), True, True),
    ):
        if any(texts for texts, _tint in parts):
            block = _block(parts, area, size, right=right, bottom=bottom)
            too_high = block.rect.height() > area.height() * MOST_HEIGHT
            if bottom and right and corners.warning and too_high:
                brief = ((tr(wording.NOT_FOR_DIAGNOSIS), tr(TOOLS_IN_LIST)), warn)
                parts = (brief, (corners.bottom_right, ink))
                block = _block(parts, area, size, right=right, bottom=bottom)
            blocks.append(block)
    return blocks


def _block(parts: Parts, area: QRectF, size: float, *, right: bool, bottom: bool) -> Block:
    gap = MARGIN * size
    # Half the view, less its margin and room for a side letter.
    limit = area.width() / 2 - (MARGIN + LETTER_ROOM) * size
    lines, width, height = _lay_out(parts, size, limit)
    x = area.right() - gap - width if right else area.left() + gap
    y = area.bottom() - gap - height if bottom else area.top() + gap
    return Block(QRectF(x, y, width, height), lines, right)


@lru_cache(maxsize=64)  # most corners stay the same while a window is dragged
def _lay_out(
    parts: Parts, size: float, limit: float
) -> tuple[tuple[tuple[str, str], ...], float, float]:
    """Return the lines of a corner, each with its colour, and their width and height (px)."""
    metrics = QFontMetricsF(corner_font(size))
    lines = tuple(
        (fitted, tint)
        for texts, tint in parts
        for text in texts
        for fitted in _fitted(text, metrics, limit)
    )
    width = max(metrics.horizontalAdvance(text) for text, _ in lines)
    return lines, width, metrics.lineSpacing() * len(lines)


def _fitted(line: str, metrics: QFontMetricsF, limit: float) -> list[str]:
    """Return a line in its short form, broken or elided if it is too long."""
    if metrics.horizontalAdvance(line) <= limit:
        return [line]
    line = wording.short_form(line)
    parts = [line]
    if metrics.horizontalAdvance(line) > limit and wording.DOT in line:
        parts = line.split(wording.DOT)
    return [fitted for part in parts for fitted in _broken(part, metrics, limit)]


def _broken(text: str, metrics: QFontMetricsF, limit: float) -> list[str]:
    """Break a text into at most `MAX_LINES` lines between words; the last may be elided."""
    lines: list[str] = []
    rest = text
    if any(metrics.horizontalAdvance(word) > limit for word in text.split(" ")):
        return [metrics.elidedText(text, Qt.TextElideMode.ElideRight, limit)]
    while len(lines) < MAX_LINES - 1 and metrics.horizontalAdvance(rest) > limit:
        words = rest.split(" ")
        count = len(words) - 1
        while count > 1 and metrics.horizontalAdvance(" ".join(words[:count])) > limit:
            count -= 1
        lines.append(" ".join(words[:count]))
        rest = " ".join(words[count:])
    lines.append(rest)
    return [metrics.elidedText(line, Qt.TextElideMode.ElideRight, limit) for line in lines]


def _shadowed(
    painter: QPainter, rect: QRectF, flags: Qt.AlignmentFlag, text: str, ink: QColor
) -> None:
    """Draw text with a thin dark edge."""
    painter.setPen(_shade(0.75))
    painter.drawText(rect.translated(1, 1), flags | Qt.TextFlag.TextSingleLine, text)
    painter.setPen(ink)
    painter.drawText(rect, flags | Qt.TextFlag.TextSingleLine, text)


def _plate(painter: QPainter, rect: QRectF, size: float) -> None:
    """Draw a dark background, so that text can be read on white bone."""
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(_shade())
    pad = PLATE_PAD * size
    painter.drawRoundedRect(rect.adjusted(-pad, -pad * 0.6, pad, pad * 0.6), pad, pad)


@cache
def _shade(alpha: float = 0.5) -> QColor:
    return with_alpha(DARK.overlay_shade, alpha)


def draw_blocks(painter: QPainter, blocks: Sequence[Block], size: float = 1.0) -> None:
    """Draw corner text that `corner_blocks` has laid out with the same `size`."""
    font = corner_font(size)
    spacing = QFontMetricsF(font).lineSpacing()
    painter.setFont(font)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for block in blocks:
        _plate(painter, block.rect, size)
        line = QRectF(block.rect.topLeft(), QSizeF(block.rect.width() + 1, spacing))
        for text, tint in block.lines:
            _shadowed(painter, line, _RIGHT if block.right else _LEFT, text, QColor(tint))
            line.translate(0, spacing)


def draw_sides(painter: QPainter, sides: Sides, area: QRectF, size: float = 1.0) -> None:
    """Draw the side letters at the edges of `area` (px), `size` times as large as on screen."""
    for text, rect in _side_rects(sides, area, size):
        _draw_side(painter, text, rect, size)


def _side_rects(sides: Sides, area: QRectF, size: float) -> list[tuple[str, QRectF]]:
    """Return the side letters, each with its place in `area` (px)."""
    inner = area.adjusted(*(SIDE_MARGIN * size * sign for sign in (1, 1, -1, -1)))
    middle, found = inner.center(), list[tuple[str, QRectF]]()
    for text, along, down in (
        (sides.left, 0.0, 0.5),
        (sides.right, 1.0, 0.5),
        (sides.top, 0.5, 0.0),
        (sides.bottom, 0.5, 1.0),
    ):
        if text:
            width, height = _side_size(text, size)
            x = middle.x() + (along - 0.5) * inner.width() - along * width
            y = middle.y() + (down - 0.5) * inner.height() - down * height
            found.append((text, QRectF(x, y, width, height)))
    return found


@cache
def _side_size(text: str, size: float) -> tuple[float, float]:
    metrics = QFontMetricsF(_side_font(size))
    return metrics.horizontalAdvance(text), metrics.height()


def _draw_side(painter: QPainter, text: str, rect: QRectF, size: float) -> None:
    painter.setFont(_side_font(size))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _plate(painter, rect, size)
    _shadowed(painter, rect, _LEFT, text, QColor(DARK.overlay_text))


@cache
def _side_font(size: float) -> QFont:
    return ui_font(round(TYPE.title * size), QFont.Weight.DemiBold)


_ROOM = math.ceil(PLATE_PAD) + 1
"""Px of a picture of text around the text: its background and its edge."""


def _picture_of(
    size: tuple[float, float], scale: float, draw: Callable[[QPainter, QRectF], object]
) -> QPixmap:
    """Return a picture of text of a size (px) that `draw` draws, on a transparent ground.

    `scale` is the number of the screen's pixels per px.
    """
    rect = QRectF(_ROOM, _ROOM, *size)
    whole = QSizeF(math.ceil(size[0]) + 2 * _ROOM, math.ceil(size[1]) + 2 * _ROOM)
    picture = QPixmap((whole * scale).toSize())
    picture.setDevicePixelRatio(scale)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
    draw(painter, rect)
    painter.end()
    return picture


@lru_cache(maxsize=48)
def _block_picture(
    lines: tuple[tuple[str, str], ...], right: bool, size: tuple[float, float], scale: float
) -> QPixmap:
    return _picture_of(
        size, scale, lambda painter, rect: draw_blocks(painter, [Block(rect, lines, right)])
    )


@lru_cache(maxsize=48)
def _side_picture(text: str, scale: float) -> QPixmap:
    size = _side_size(text, 1.0)
    return _picture_of(size, scale, lambda painter, rect: _draw_side(painter, text, rect, 1.0))


@cache
def preload_glyphs() -> None:
    """Draw the common glyphs once off screen, so that the first paint is 10 ms faster."""
    glyphs = "".join(map(chr, range(32, 127))) + "≈·×…"
    area = QRectF(0, 0, 1600, 200)
    image = QImage(1600, 200, QImage.Format.Format_ARGB32_Premultiplied)
    painter = QPainter(image)
    draw_blocks(painter, corner_blocks(Corners(top_left=(glyphs[:48], glyphs[48:])), area))
    draw_sides(painter, Sides("LA", "RP", "HF", "F"), area)
    chips = [
        Chip("", part, QPointF(800, 100), DARK.text)
        for part in (glyphs[n : n + 24] for n in range(0, 99, 24))
    ]
    label_chips.draw(painter, label_chips.place(chips, area))
    painter.end()


class Overlay(QWidget):
    """A transparent widget over the canvas that shows all texts and ignores the mouse.

    Attributes:
        synthetic: Title of the generative model that made the image, or "" for a real image.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.corners = Corners()
        self._stale = QRegion()  # of text that changed and waits for its picture
        self._wait = QTimer(self, singleShot=True, interval=PICTURE_MS)
        self._wait.timeout.connect(self.catch_up)
        self.sides = Sides()
        self._blocks: tuple[Corners, QRectF, list[Block]] | None = None  # as they stand
        self._chips: Sequence[Chip] = ()
        self._placed: list[PlacedChip] = []
        self.synthetic = ""
        self.legend: heatmap_legend.Legend | None = None
        preload_glyphs()

    def set_synthetic(self, model: str) -> None:
        """Show the band that marks an image made by a generative model; "" for no band."""
        if model != self.synthetic:
            self.synthetic = model
            self.update()

    def set_legend(self, legend: heatmap_legend.Legend | None) -> None:
        """Show the legend for a heatmap; None for no legend."""
        if legend != self.legend:
            self.legend = legend
            self.update()

    def _area(self) -> QRectF:
        """Return the area for texts."""
        return synthetic_band.area_below(self.synthetic, QRectF(self.rect()))

    @property
    def chips(self) -> tuple[PlacedChip, ...]:
        """The label chips and their positions."""
        return tuple(self._placed)

    def set_corners(self, corners: Corners, *, soon: bool = False) -> None:
        """Set the corner text and repaint the parts that have changed.

        With `soon`, wait briefly for the picture that the text belongs to, so that the canvas
        paints only once.
        """
        if corners != self.corners:
            before = self._laid_out()
            self.corners = corners
            after = self._laid_out()
            gone = [block for block in before if block not in after]
            for block in (*gone, *(block for block in after if block not in before)):
                pad = PLATE_PAD
                self._stale += QRegion(block.rect.adjusted(-pad, -pad, pad, pad).toAlignedRect())
        if not soon:
            self.catch_up()
        elif not self._stale.isEmpty() and not self._wait.isActive():
            self._wait.start()

    def catch_up(self) -> None:
        """Repaint now what `set_corners` with `soon` has postponed until the picture arrives."""
        self._wait.stop()
        self.update(self._stale)
        self._stale = QRegion()

    def _laid_out(self) -> list[Block]:
        """Return the corners as they stand in this widget."""
        area = self._area()
        if self._blocks is None or self._blocks[:2] != (self.corners, area):
            self._blocks = self.corners, area, corner_blocks(self.corners, area)
        return self._blocks[2]

    def set_sides(self, sides: Sides) -> None:
        """Set the letters for the patient directions at the image's edges, and repaint."""
        if sides != self.sides:
            self.sides = sides
            self.update()

    def set_chips(self, chips: Sequence[Chip]) -> None:
        """Set the label chips, and place them clear of each other and of other text if possible."""
        area = self._area()
        taken = [block.rect for block in self._laid_out()]
        taken.append(heatmap_legend.rect_of(self.legend, area, taken=taken))
        placed = label_chips.place(chips, area, taken)
        if placed != self._placed:
            self._placed = placed
            self.update()

    def chip_at(self, position: QPointF) -> PlacedChip | None:
        """Return the label chip at a position in the widget (px), or None."""
        return next((one for one in self._placed if one.rect.contains(position)), None)

    def _draw_texts(self, painter: QPainter, blocks: Sequence[Block], region: QRegion) -> None:
        """Draw the texts in a region from pictures: most stay, or are the same in all viewports."""
        # A picture of the window may be finer than the screen.
        scale = max(painter.deviceTransform().m11(), 1.0)
        pictures = [
            (rect, _side_picture(text, scale))
            for text, rect in _side_rects(self.sides, self._area(), 1.0)
        ]
        for block in blocks:
            if region.intersects(block.rect.adjusted(*_AROUND).toAlignedRect()):
                size = block.rect.width(), block.rect.height()
                picture = _block_picture(block.lines, block.right, size, scale)
                pictures.append((block.rect, picture))
        for rect, picture in pictures:
            painter.drawPixmap(round(rect.left()) - _ROOM, round(rect.top()) - _ROOM, picture)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._stale -= event.region()
        if self._stale.isEmpty():
            self._wait.stop()
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        blocks = self._laid_out()
        self._draw_texts(painter, blocks, event.region())
        taken = [block.rect for block in blocks]
        place = heatmap_legend.rect_of(self.legend, self._area(), taken=taken)
        heatmap_legend.draw(painter, self.legend, place)
        label_chips.draw(painter, self._placed)
        synthetic_band.draw(painter, self.synthetic, QRectF(self.rect()))
        painter.end()
