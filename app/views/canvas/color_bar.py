"""The scale of a colour map beside the image: which values its ends stand for."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.imaging.pixels.windows import grey_limits
from app.imaging.types import Frame, VoiFunction, Window
from app.views import wording
from app.views.canvas import colormaps
from app.views.canvas.text_overlay import MARGIN, corner_font
from app.views.theme import DARK, color

_WIDTH, _BAR = 120, 12  # px
_HIGHEST, _LEAST = 170, 40
_ROOM = 110  # px below it for the corner text
_BELOW = 28  # px below the middle, where the side letter is


@dataclass(frozen=True, slots=True)
class ColorScale:
    """A colour map and the values at its last colour (`top`) and its first, as text."""

    name: str
    top: str
    bottom: str


def color_scale(name: str, frame: Frame, window: Window, *, inverted: bool) -> ColorScale | None:
    """Return the scale of a map in a window; None if colours don't follow the values."""
    bent = window.lut >= 0 or window.function is VoiFunction.SIGMOID
    if bent or frame.presentation_lut is not None:
        return None
    low, high = grey_limits(window)
    units = frame.rescale.units
    texts = [f"{wording.number(value)} {units}".strip() for value in (low, high)]
    if inverted != (frame.photometric == "MONOCHROME1" or frame.inverse):
        texts.reverse()
    return ColorScale(name, texts[1], texts[0])


class ColorBar(QWidget):
    """A bar with the colours of a map, at the left of a canvas; it ignores the mouse."""

    def __init__(self, canvas: QWidget) -> None:
        super().__init__(canvas)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self.scale: ColorScale | None = None
        self.hide()

    def show_scale(self, scale: ColorScale | None, room: QWidget) -> None:
        """Show a scale at the left of `room`; None, or where there is no room, for none."""
        middle = room.height() // 2 + _BELOW
        height = min(_HIGHEST, room.height() - _ROOM - middle)
        self.setGeometry(round(MARGIN), middle, _WIDTH, height)
        if scale != self.scale:
            self.scale = scale
            self.setAccessibleName("" if scale is None else f"{scale.bottom}, {scale.top}")
            self.update()
        self.setVisible(scale is not None and height >= _LEAST)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.scale is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bar = QRectF(0.5, 0.5, _BAR, self.height() - 1)
        colours = colormaps.table(self.scale.name)[::-1].copy()
        image = QImage(colours.data, 1, 256, 3, QImage.Format.Format_RGB888)
        painter.drawImage(bar, image)
        painter.setPen(color(DARK.overlay_text))
        painter.drawRect(bar)
        painter.setFont(corner_font())
        metrics = QFontMetricsF(corner_font())
        line = metrics.lineSpacing()
        for text, y in ((self.scale.top, 0.0), (self.scale.bottom, self.height() - line)):
            place = QRectF(_BAR + 6, y, metrics.horizontalAdvance(text) + 8, line)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(color(DARK.overlay_shade, 0.5))
            painter.drawRoundedRect(place, 3, 3)
            painter.setPen(color(DARK.overlay_text))
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, text)
        painter.end()
