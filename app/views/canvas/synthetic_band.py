"""The coloured strip with "SYNTHETIC" on each image by a generative model: it is no patient's.

It cannot be switched off and is painted on every view of such an image: canvas, panes, exports,
thumbnails. Its letters are dark on a bright colour that no greyscale image has.
"""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from app.imaging.files import synthetic
from app.imaging.types import Instance
from app.views import wording
from app.views.theme import DARK, TYPE, ui_font
from app.views.translation import tr

HEIGHT = 30.0  # px on screen
EDGE = 3.0  # px of the line around the picture
_SMALL = 14.0
_PAD = 10.0


def model_title(instance: Instance | None) -> str:
    """Return the title of the generative model that made an image; "" for a real image."""
    return wording.one_line(instance.get(synthetic.ATTRIBUTE)) if instance is not None else ""


def text(model: str) -> str:
    """Return the words on the band of an image that the generative model `model` made."""
    return tr("SYNTHETIC, made by {model}: not a patient").format(
        model=wording.one_line(model) or tr("a model")
    )


def area_below(model: str, area: QRectF, size: float = 1.0) -> QRectF:
    """Return the part of `area` below the band that `draw` paints; all of it if `model` is ""."""
    return area.adjusted(0, HEIGHT * size, 0, 0) if model else area


def draw(painter: QPainter, model: str, area: QRectF, size: float = 1.0) -> None:
    """Draw the band and border into `area` (px) unless `model` is ""; sizes times `size`."""
    if not model:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    edge = QPen(QColor(DARK.synthetic), EDGE * size)
    edge.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    painter.setPen(edge)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = EDGE * size / 2
    painter.drawRect(area.adjusted(half, half, -half, -half))
    _band(painter, model, QRectF(area.x(), area.y(), area.width(), HEIGHT * size), TYPE.body * size)
    painter.restore()


def draw_small(painter: QPainter, area: QRectF) -> None:
    """Draw the band that marks synthetic images at the bottom of a thumbnail."""
    painter.save()
    strip = QRectF(area.x(), area.bottom() - _SMALL, area.width(), _SMALL)
    _band(painter, "", strip, TYPE.caption - 1.5)
    painter.restore()


def _band(painter: QPainter, model: str, strip: QRectF, pixels: float) -> None:
    painter.fillRect(strip, QColor(DARK.synthetic))
    room = strip.width() - _PAD * strip.height() / HEIGHT
    forms = (tr("SYNTHETIC: not a patient"), tr("SYNTHETIC"), "SYNTH")
    wanted = (text(model), *forms) if model else forms[1:]
    for line in wanted:
        font = _font(pixels)
        if QFontMetricsF(font).horizontalAdvance(line) <= room:
            break
    else:  # the last form, as large as it fits
        line = wanted[-1]
        wide = QFontMetricsF(_font(pixels)).horizontalAdvance(line)
        font = _font(max(pixels * room / wide, 5.0))
    painter.setFont(font)
    painter.setPen(QColor(DARK.synthetic_text))
    painter.drawText(strip, Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextSingleLine, line)


def _font(pixels: float) -> QFont:
    return ui_font(max(round(pixels), 5), QFont.Weight.Bold)
