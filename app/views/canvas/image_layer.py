"""The picture itself, drawn from 8-bit buffers with area-averaged smaller copies.

pyqtgraph's ImageItem samples the full matrix at every paint. A radiograph shown at a third of its
size would alias (fine lines shimmer or vanish), so smaller copies are averaged once, off the GUI
thread, and the nearest larger one is drawn.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

PIXEL_ZOOM = 6.0
"""From this zoom on pixels are drawn as they are: interpolation would suggest detail."""

_SMALLEST = 256  # px of the longer side: no smaller copy is worth its while


def pyramid(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], ...]:
    """The image and copies of half the size each, by averaging 2 x 2 pixels.

    Args:
        pixels: [rows, columns] or [rows, columns, 3].

    Returns:
        Contiguous arrays, the full one first. An odd last row or column is left out of the copies.
    """
    levels = [np.ascontiguousarray(pixels)]
    while max(levels[-1].shape[:2]) >= 2 * _SMALLEST and min(levels[-1].shape[:2]) >= 2:
        levels.append(_halved(levels[-1]))
    return tuple(levels)


def _halved(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows, columns = pixels.shape[0] // 2 * 2, pixels.shape[1] // 2 * 2
    even = pixels[:rows:2, :columns].astype(np.uint16)
    even += pixels[1:rows:2, :columns]
    total = even[:, ::2] + even[:, 1::2]
    total += 2
    total >>= 2
    return total.astype(np.uint8)


def to_qimage(pixels: NDArray[np.uint8]) -> QImage:
    """A QImage on the array's own memory; keep the array alive as long as the image."""
    rows, columns = pixels.shape[:2]
    gray = pixels.ndim == 2
    layout = QImage.Format.Format_Grayscale8 if gray else QImage.Format.Format_RGB888
    return QImage(pixels.data, columns, rows, pixels.strides[0], layout)


class ImageLayer(QGraphicsItem):
    """One image in pixel coordinates: pixel (x, y) covers [x - 0.5, x + 0.5] in both directions."""

    def __init__(self) -> None:
        super().__init__()
        self._levels: tuple[NDArray[np.uint8], ...] = ()
        self._images: tuple[QImage, ...] = ()
        self._rect = QRectF()

    @property
    def pixels(self) -> NDArray[np.uint8] | None:
        """The full 8-bit image that is shown, or None."""
        return self._levels[0] if self._levels else None

    def set_levels(self, levels: tuple[NDArray[np.uint8], ...]) -> None:
        """Show what `pyramid` made; an empty tuple shows nothing."""
        rows, columns = levels[0].shape[:2] if levels else (0, 0)
        rect = QRectF(-0.5, -0.5, columns, rows) if levels else QRectF()
        if rect != self._rect:
            self.prepareGeometryChange()
            self._rect = rect
        self._images = tuple(to_qimage(level) for level in levels)
        self._levels = levels
        self.update()

    def boundingRect(self) -> QRectF:
        return self._rect

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        if not self._images:
            return
        transform = painter.deviceTransform()
        scales = (
            math.hypot(transform.m11(), transform.m12()),
            math.hypot(transform.m21(), transform.m22()),
        )
        zoom = max(scales)
        level = 0
        while level + 1 < len(self._images) and zoom * 2 ** (level + 1) <= 1.0:
            level += 1
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, min(scales) < PIXEL_ZOOM)
        image = self._images[level]
        # Copies leave out an odd last row or column: give them exactly the area they average.
        size = 2**level
        area = QRectF(-0.5, -0.5, image.width() * size, image.height() * size)
        painter.drawImage(area, image)
