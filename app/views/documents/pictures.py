"""Small pictures in a report: squares with the image in their middle."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QImage, QPainter

from app.views import icons
from app.views.documents.writing import PICTURE_PX
from app.views.style import color
from app.views.theme import THEME

SHARP = 2  # pixels of a picture per logical one
_MARK = 24


def framed(image: QImage) -> QImage:
    """A picture in a square, as sharp as a screen may be; an icon where there is no picture."""
    side = PICTURE_PX * SHARP
    square = QImage(side, side, QImage.Format.Format_RGB32)
    square.fill(color(THEME.canvas))
    painter = QPainter(square)
    if image.isNull():
        inset = side // 2 - _MARK
        mark = square.rect().adjusted(inset, inset, -inset, -inset)
        icons.draw(painter, "image-off", mark, THEME.text_faint)
    else:
        place = square.rect()
        place.setSize(image.size().scaled(square.size(), Qt.AspectRatioMode.KeepAspectRatio))
        place.moveCenter(square.rect().center())
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(place, image)
    painter.end()
    return square
