"""Very many outlines: each where it belongs, whether drawn smooth, thin or as dots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage, QPainter, QPainterPath, QTransform

from app.views.canvas import layer_graphics
from app.views.canvas.layer_graphics import outlines_of

pytestmark = pytest.mark.gui
SIDE = 600


def circles(middles: Sequence[tuple[float, float]], radius: float) -> QPainterPath:
    path = QPainterPath()
    for x, y in middles:
        path.addEllipse(QPointF(x, y), radius, radius)
    return path


def painted(path: QPainterPath, scale: float = 1.0, exposed: QRectF | None = None) -> np.ndarray:
    image = QImage(SIDE, SIDE, QImage.Format.Format_RGB888)
    image.fill(0)
    painter = QPainter(image)
    transform = QTransform.fromScale(scale, scale)
    red = QColor(255, 0, 0)
    layer_graphics.draw_outlines(painter, outlines_of(path), transform, red, 1.5, exposed)
    painter.end()
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(SIDE, image.bytesPerLine())
    return rows[:, : SIDE * 3].reshape(SIDE, SIDE, 3)[..., 0].astype(int)


def test_a_few_are_smooth_outlines_with_nothing_inside(qapp: object):
    shown = painted(circles([(100, 100)], 40))
    y, x = np.nonzero(shown > 60)
    assert np.abs(np.hypot(x + 0.5 - 100, y + 0.5 - 100) - 40).max() < 2
    assert x.size > 200


def test_many_large_ones_are_thin_outlines(qapp: object):
    grid = [(x, y) for x in range(40, 600, 40) for y in range(40, 600, 40)] * 8
    shown = painted(circles(grid, 15))
    y, x = np.nonzero(shown > 60)
    middle_x, middle_y = np.round((x + 0.5) / 40) * 40, np.round((y + 0.5) / 40) * 40
    assert np.abs(np.hypot(x + 0.5 - middle_x, y + 0.5 - middle_y) - 15).max() < 2
    assert x.size > 10_000


def test_ten_thousand_small_ones_are_dots_at_their_middles(qapp: object):
    grid = [(x, y) for x in range(60, 6000, 60) for y in range(60, 6000, 60)]
    shown = painted(circles(grid, 20), scale=0.1)
    _, x = np.nonzero(shown > 60)
    assert np.abs((x + 0.5) / 6 - np.round((x + 0.5) / 6)).max() * 6 <= 3
    assert all(shown[round(b / 10), round(a / 10)] > 60 for a, b in grid[::97])


def test_what_is_out_of_view_is_left_out(qapp: object):
    shown = painted(circles([(100, 100), (400, 400)], 40), exposed=QRectF(0, 0, 200, 200))
    assert shown[:200, :200].any()
    assert not shown[300:, 300:].any()
