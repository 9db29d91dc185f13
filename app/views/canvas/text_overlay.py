"""The texts over the image: corner text, side letters and label chips, in screen pixels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
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
from app.views.translation import tr

MARGIN = 12.0
SIDE_MARGIN = 8.0
LETTER_ROOM = 18.0
HALO = 3.0
"""Px around a text that its dark edge reaches."""
MAX_LINES = 3  # of one entry of corner text
MOST_HEIGHT = 0.2  # share of the view above which the list of tools is left out
_AROUND = (-HALO - 1, -HALO - 1, HALO + 2, HALO + 2)
_NEAR, _FAR = 0.75, 0.35  # how dark the edge is, one and two px from the text
_LEFT, _RIGHT = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight


@cache
def corner_font(size: float = 1.0) -> QFont:
    """Return the font for corner text; all digits are equally wide, so that values do not jump."""
    font = ui_font(round(TYPE.label * size))
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


@dataclass(frozen=True, slots=True)
class Block:
    """A corner's laid-out text: `rect` (px); lines of (text, #RRGGBB); whether right-aligned.

    `sign` is where the warnings that it holds are folded or unfolded (px); None if none are.
    """

    rect: QRectF
    lines: tuple[tuple[str, str], ...]  # (text, #RRGGBB)
    right: bool
    places: tuple[QPointF, ...]  # of the lines' pictures, which reach `HALO` around them (px)
    sign: QRectF | None = None


Parts = tuple[tuple[tuple[str, ...], str], ...]
"""The texts in one corner, with their colours."""


def corner_blocks(
    corners: Corners, area: QRectF, size: float = 1.0, *, unfolded: bool = False
) -> list[Block]:
    """Lay out the texts of the corners in `area` (px), `size` times as large as on the screen.

    If the list of tools in `Corners.warning` is too high for the image, a short text replaces it.
    With `unfolded`, all warnings about the series are listed. Where texts of an upper and a lower
    corner would meet, those that are no risk make way: the scale, then all but the first line of
    the upper right corner.
    """
    blocks = _blocks(corners, area, size, unfolded=unfolded)
    if _meet(blocks):
        corners = replace(corners, bottom_right=())
        blocks = _blocks(corners, area, size, unfolded=unfolded)
    if _meet(blocks):
        corners = replace(corners, top_right=corners.top_right[:1])
        blocks = _blocks(corners, area, size, unfolded=unfolded)
    return blocks


def _meet(blocks: Sequence[Block]) -> bool:
    """Return whether the texts of the two corners at the right lie over each other."""
    beside = [block.rect for block in blocks if block.right]
    return len(beside) == 2 and beside[0].bottom() > beside[1].top()


def _blocks(corners: Corners, area: QRectF, size: float, *, unfolded: bool) -> list[Block]:
    ink, warn = DARK.overlay_text, DARK.warning
    blocks: list[Block] = []
    edges = area.left(), area.top(), area.right(), area.bottom()
    folded = corners.folded()
    warnings = corners.series_warning if unfolded else folded
    made_by, foot = corners.warning, ((corners.bottom_right, ink), (corners.scale, warn))
    for parts, right, bottom in (
        (((corners.top_left, ink),), False, False),
        (((corners.top_right, ink), (warnings, warn)), True, False),
        (((corners.bottom_left, ink), (corners.state, ink), (corners.mark, warn)), False, True),
        (((made_by[:1], warn), (made_by[1:], ink), *foot), True, True),
    ):
        if not any(texts for texts, _tint in parts):
            continue
        block = _block(parts, edges, size, right=right, bottom=bottom)
        too_high = block.rect.height() > area.height() * MOST_HEIGHT
        if bottom and right and made_by and too_high:
            brief = (((tr(wording.NOT_FOR_DIAGNOSIS),), warn), ((tr(TOOLS_IN_LIST),), ink))
            block = _block((*brief, *foot), edges, size, right=right, bottom=bottom)
        if right and not bottom and folded != corners.series_warning:
            rect = QRectF(block.rect)
            if not unfolded:  # the last line
                rect.setTop(rect.bottom() - rect.height() / len(block.lines))
            block = replace(block, sign=rect)
        blocks.append(block)
    return blocks


@lru_cache(maxsize=64)  # most corners stay the same while a window is dragged
def _block(
    parts: Parts, area: tuple[float, ...], size: float, *, right: bool, bottom: bool
) -> Block:
    """Return the block of a corner of `area` (left, top, right, bottom in px)."""
    gap = MARGIN * size
    # Half the view, less its margin and room for a side letter.
    limit = (area[2] - area[0]) / 2 - (MARGIN + LETTER_ROOM) * size
    lines, widths, spacing = _lay_out(parts, size, limit)
    width, height = max(widths), spacing * len(lines)
    x = area[2] - gap - width if right else area[0] + gap
    y = area[3] - gap - height if bottom else area[1] + gap
    halo = HALO * size
    places = tuple(
        QPointF(round(x + (width - one if right else 0) - halo), round(y + n * spacing - halo))
        for n, one in enumerate(widths)
    )
    return Block(QRectF(x, y, width, height), lines, right, places)


def _lay_out(
    parts: Parts, size: float, limit: float
) -> tuple[tuple[tuple[str, str], ...], tuple[float, ...], float]:
    """Return the lines of a corner, each with its colour, their widths and one's height (px)."""
    metrics = QFontMetricsF(corner_font(size))
    lines = tuple(
        (fitted, tint)
        for texts, tint in parts
        for text in texts
        for fitted in _fitted(text, metrics, limit)
    )
    widths = tuple(metrics.horizontalAdvance(text) for text, _ in lines)
    return lines, widths, metrics.lineSpacing()


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


def _haloed(text: str, tint: str, font: QFont, scale: float, size: float) -> QImage:
    """Return a line of text with a dark edge, on a transparent ground.

    `scale` is the number of the picture's pixels per px, `size` how many times as large as on the
    screen the font is, and so the edge.
    """
    metrics = QFontMetricsF(font)
    room = HALO * size
    width = metrics.horizontalAdvance(text) + 2 * room
    extent = (QSizeF(width, metrics.lineSpacing() + 2 * room) * scale).toSize()

    def blank() -> tuple[QImage, QPainter]:
        image = QImage(extent, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(scale)
        image.fill(Qt.GlobalColor.transparent)
        return image, QPainter(image)

    dark, painter = blank()
    painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
    painter.setFont(font)
    painter.setPen(QColor(DARK.overlay_shade))
    painter.drawText(QPointF(room, room + metrics.ascent()), text)
    painter.end()
    # Shaping text is slow, pictures are quick: it is drawn once, then copied and coloured.
    wide, painter = blank()
    for x in (-size, 0.0, size):
        painter.drawImage(QPointF(x, 0), dark)
    painter.end()
    picture, painter = blank()
    for edge, x, y, strength in (
        *((wide, 0, y, _FAR) for y in (-2, 2)),
        *((dark, x, 0, _FAR) for x in (-2, 2)),
        *((wide, 0, y, _NEAR) for y in (-1, 0, 1)),
    ):
        painter.setOpacity(strength)
        painter.drawImage(QPointF(x * size, y * size), edge)
    painter.end()
    painter = QPainter(dark)
    painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
    painter.fillRect(dark.rect(), QColor(tint))
    painter.end()
    painter = QPainter(picture)
    painter.drawImage(QPointF(0, 0), dark)
    painter.end()
    return picture


def draw_blocks(painter: QPainter, blocks: Sequence[Block], size: float = 1.0) -> None:
    """Draw corner text that `corner_blocks` has laid out with the same `size`."""
    for block in blocks:
        for (text, tint), at in zip(block.lines, block.places, strict=True):
            painter.drawImage(at, _haloed(text, tint, corner_font(size), 1.0, size))


def _side_places(sides: Sides, area: QRectF, size: float) -> Iterator[tuple[str, QPointF]]:
    """Yield the side letters in `area` (px) and their upper left corners."""
    inner = area.adjusted(*(SIDE_MARGIN * size * sign for sign in (1, 1, -1, -1)))
    middle = inner.center()
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
            yield text, QPointF(round(x), round(y))


@cache
def _side_size(text: str, size: float) -> tuple[float, float]:
    metrics = QFontMetricsF(_side_font(size))
    return metrics.horizontalAdvance(text), metrics.lineSpacing()


def draw_sides(painter: QPainter, sides: Sides, area: QRectF, size: float = 1.0) -> None:
    """Draw the side letters at the edges of `area` (px), `size` times as large as on screen."""
    room = QPointF(HALO * size, HALO * size)
    for text, at in _side_places(sides, area, size):
        letter = _haloed(text, DARK.overlay_text, _side_font(size), 1.0, size)
        painter.drawImage(at - room, letter)


@cache
def _side_font(size: float) -> QFont:
    return ui_font(round(TYPE.title * size), QFont.Weight.DemiBold)


@lru_cache(maxsize=512)
def _line_picture(text: str, tint: str, scale: float, *, side: bool = False) -> QPixmap:
    """Return a line of corner text, or a `side` letter; `scale` is screen pixels per px."""
    font = _side_font(1.0) if side else corner_font()
    return QPixmap.fromImage(_haloed(text, tint, font, scale, 1.0))


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
        self.sides = Sides()
        self._unfolded = False  # whether all warnings about the series are listed
        self._pinned = False  # and stay so when the mouse leaves
        self._blocks: tuple[tuple[Corners, bool, QRectF], list[Block]] | None = None
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
        if legend != self.legend:
            self.legend = legend
            self.update()

    def _area(self) -> QRectF:
        return synthetic_band.area_below(self.synthetic, QRectF(self.rect()))

    @property
    def chips(self) -> tuple[PlacedChip, ...]:
        return tuple(self._placed)

    def set_corners(self, corners: Corners) -> None:
        if corners != self.corners:
            self._change(corners, self._unfolded)

    def _change(self, corners: Corners, unfolded: bool) -> None:
        before = self._laid_out()
        self.corners, self._unfolded = corners, unfolded
        after = self._laid_out()
        gone = [block for block in before if block not in after]
        for block in (*gone, *(block for block in after if block not in before)):
            self.update(block.rect.adjusted(*_AROUND).toAlignedRect())

    def point_at(self, position: QPointF | None) -> None:
        """Unfold the warnings while the mouse, at a position (px) or nowhere, is on their sign."""
        if len(self.corners.series_warning) > 1 or self._unfolded:
            over = position is not None and self.over_sign(position)
            self._unfold(over or self._pinned)

    def press_at(self, position: QPointF) -> bool:
        """Unfold warnings for good at their sign, or fold them; return whether it was hit."""
        if not self.over_sign(position):
            return False
        self._pinned = not self._pinned
        self._unfold(self._pinned)
        return True

    def over_sign(self, position: QPointF) -> bool:
        """Return whether the sign of folded warnings, or their list, is at a position (px)."""
        signs = (block.sign for block in self._laid_out() if block.sign is not None)
        return any(sign.adjusted(*_AROUND).contains(position) for sign in signs)

    def _unfold(self, on: bool) -> None:
        if on != self._unfolded:
            self._change(self.corners, on)

    def _laid_out(self) -> list[Block]:
        area = self._area()
        wanted = self.corners, self._unfolded, area
        if self._blocks is None or self._blocks[0] != wanted:
            blocks = corner_blocks(self.corners, area, unfolded=self._unfolded)
            self._blocks = wanted, blocks
        return self._blocks[1]

    def set_sides(self, sides: Sides) -> None:
        if sides != self.sides:
            self.sides = sides
            self.update()

    def set_chips(self, chips: Sequence[Chip]) -> None:
        """Set the label chips, and place them clear of each other and of other text if possible."""
        if not chips and not self._placed:
            return
        area = self._area()
        taken = [block.rect for block in self._laid_out()]
        taken.append(heatmap_legend.rect_of(self.legend, area, taken=taken))
        placed = label_chips.place(chips, area, taken)
        if placed != self._placed:
            self._placed = placed
            self.update()

    def chip_at(self, position: QPointF) -> PlacedChip | None:
        """Return the label chip of a finding at a position in the widget (px), or None."""
        found = (one for one in self._placed if one.chip.id)
        return next((one for one in found if one.rect.contains(position)), None)

    def _draw_texts(self, painter: QPainter, blocks: Sequence[Block], region: QRegion) -> None:
        """Draw the texts in a region from pictures: most stay, or are the same in all viewports."""
        # A picture of the window may be finer than the screen.
        scale = max(painter.deviceTransform().m11(), 1.0)
        room = QPointF(HALO, HALO)
        for text, at in _side_places(self.sides, self._area(), 1.0):
            letter = _line_picture(text, DARK.overlay_text, scale, side=True)
            painter.drawPixmap(at - room, letter)
        for block in blocks:
            if region.intersects(block.rect.adjusted(*_AROUND).toAlignedRect()):
                for (text, tint), at in zip(block.lines, block.places, strict=True):
                    painter.drawPixmap(at, _line_picture(text, tint, scale))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.TextAntialiasing)
        blocks = self._laid_out()
        self._draw_texts(painter, blocks, event.region())
        taken = [block.rect for block in blocks]
        place = heatmap_legend.rect_of(self.legend, self._area(), taken=taken)
        heatmap_legend.draw(painter, self.legend, place)
        if self._placed:
            label_chips.draw(painter, self._placed)
        synthetic_band.draw(painter, self.synthetic, QRectF(self.rect()))
        painter.end()
