"""The graphics item for the image, drawn from 8-bit buffers and averaged smaller copies.

Qt samples the full image at every paint. A radiograph shown at a third of its
size would alias (fine lines shimmer or vanish), so smaller copies are averaged off the GUI thread,
and the nearest larger copy is drawn. A `Patch` is a part of a copy, or all of it. Buffers are never
written to after they have been handed over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QImage, QPainter, QTransform
from PySide6.QtWidgets import QGraphicsItem, QStyleOptionGraphicsItem, QWidget

from app.imaging.pixels.stored_levels import ScreenGrid, has_smaller_level, level_shapes

PIXEL_ZOOM = 6.0
"""Zoom above which pixels are drawn without interpolation, which would suggest detail."""

SHARP_ZOOM = 1.0 + 1e-6
"""Zoom above which they are where the user does not want enlarged pixels smooth."""

_STRIP = 2**17  # pixels of a copy that are averaged at a time

_ROUNDING = 1e-6
"""Tolerance when comparing a zoom that is computed in two ways."""

_NOWHERE_ELSE = 0.01
"""Px by which a corner of the image may lie elsewhere for a `ScreenPatch` to be drawn."""

Buffer = NDArray[np.uint8] | NDArray[np.uint32]

Area = tuple[int, int, int, int]
"""(left, top, right, bottom) in pixels; right and bottom are the first pixels outside."""


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """A part of the image at full or reduced size.

    Attributes:
        level: Reduction: each pixel of the patch covers 2^level x 2^level image pixels.
        left: First column, in pixels at this level; `top`, the first row, likewise.
        pixels: uint32 [rows, columns] 0xFFRRGGBB, or uint8 [rows, columns(, 3)]; contiguous.
    """

    level: int
    left: int
    top: int
    pixels: Buffer

    @property
    def area(self) -> Area:
        """The area that the patch covers, in pixels at its level."""
        rows, columns = self.pixels.shape[:2]
        return self.left, self.top, self.left + columns, self.top + rows


@dataclass(frozen=True, slots=True)
class ScreenPlace:
    """Where a part of an image lies on the screen, pixel by pixel.

    Attributes:
        grid: The screen's pixels, physical ones.
        left: Column of the first of them in the widget; `top`, its row.
        transform: From image to widget coordinates (logical px): m11, m12, m21, m22, dx, dy.
        density: Physical pixels in a logical one.
    """

    grid: ScreenGrid
    left: int
    top: int
    transform: tuple[float, float, float, float, float, float]
    density: int


@dataclass(frozen=True, slots=True, eq=False)
class ScreenPatch:
    """The visible part of the image, one pixel for each of the screen's.

    Qt takes longer to stretch a patch than the look-up of all its values takes.

    Attributes:
        pixels: uint32 [rows, columns] 0xFFRRGGBB, contiguous.
    """

    place: ScreenPlace
    pixels: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class View:
    """The visible part of an image.

    Attributes:
        level: The `Patch.level` to draw.
        area: The part, in image pixels.
        place: Where it lies on the screen; None where there can be no `ScreenPatch`: pixels are
            shown sharp, or not along the screen's axes.
    """

    level: int
    area: Area
    place: ScreenPlace | None = None


def level_of(zoom: float, levels: int) -> int:
    """Return the most reduced of `levels` levels (0 is full size) that is still sharp at a zoom.

    This is the last level whose pixels are not larger than a screen pixel, else 0. `zoom` is in
    physical screen pixels per image pixel, along the pixel's larger side.
    """
    level = 0
    while level + 1 < levels and zoom * 2 ** (level + 1) <= 1.0 + _ROUNDING:
        level += 1
    return level


def on_level(area: Area, level: int, shape: tuple[int, int]) -> Area:
    """Convert an image area to pixels of a `Patch.level` with `shape` (rows, columns); clip it."""
    size = 2**level
    left, top, right, bottom = area
    left, top = max(left // size, 0), max(top // size, 0)
    right, bottom = min(-(-right // size), shape[1]), min(-(-bottom // size), shape[0])
    return left, top, max(right, left), max(bottom, top)


def contains(outer: Area, inner: Area) -> bool:
    """Return whether `outer` contains `inner`; an empty area is contained in any area."""
    empty = inner[0] >= inner[2] or inner[1] >= inner[3]
    return empty or (
        outer[0] <= inner[0]
        and outer[1] <= inner[1]
        and outer[2] >= inner[2]
        and outer[3] >= inner[3]
    )


def whole_patches(levels: Sequence[Buffer]) -> tuple[Patch, ...]:
    """Return each level from `pyramid` as a patch that covers the whole image."""
    return tuple(Patch(number, 0, 0, pixels) for number, pixels in enumerate(levels))


def pyramid(pixels: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], ...]:
    """Return contiguous [rows, columns(, 3)], full size first, each halved by 2 x 2 means."""
    levels = [np.ascontiguousarray(pixels)]
    while has_smaller_level(levels[-1].shape):
        levels.append(_halve(levels[-1]))
    return tuple(levels)


def _halve(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    rows, columns = pixels.shape[0] // 2, pixels.shape[1] // 2
    result = np.empty((rows, columns, *pixels.shape[2:]), np.uint8)
    # In strips: freeing hundreds of megabytes at once holds Python's lock and stalls the window.
    height = max(_STRIP // max(columns, 1), 1)
    for row in range(0, rows, height):
        part = pixels[2 * row : 2 * min(row + height, rows), : 2 * columns]
        even = part[::2].astype(np.uint16)
        even += part[1::2]
        total = even[:, ::2] + even[:, 1::2]
        total += 2
        total >>= 2
        result[row : row + height] = total
    return result


def to_qimage(pixels: Buffer) -> QImage:
    """Return a QImage that shares the memory of `pixels`; keep the array as long as the QImage."""
    rows, columns = pixels.shape[:2]
    layout = QImage.Format.Format_Grayscale8
    if pixels.dtype == np.uint32:
        layout = QImage.Format.Format_RGB32
    elif pixels.ndim == 3:
        layout = QImage.Format.Format_RGB888
    return QImage(pixels.data, columns, rows, pixels.strides[0], layout)


def to_array(image: QImage) -> NDArray[np.uint8]:
    """Return a copy of an image's pixels as uint8 [rows, columns, 3] RGB."""
    rgb = image.convertToFormat(QImage.Format.Format_RGB888)
    flat = np.frombuffer(rgb.constBits(), np.uint8).reshape(rgb.height(), rgb.bytesPerLine())
    return flat[:, : rgb.width() * 3].reshape(rgb.height(), rgb.width(), 3).copy()


class ImageLayer(QGraphicsItem):
    """A graphics item that draws an image; pixel (x, y) is the unit square centred at (x, y).

    Attributes:
        smooth: Whether pixels are interpolated when they are enlarged, up to `PIXEL_ZOOM`.
        patches: The shown patches, the most reduced first.
        on_screen: What is drawn instead as long as the view is the one that it was made for.
    """

    def __init__(self) -> None:
        super().__init__()
        # Otherwise a paint event does not say which part of the image it needs.
        self.setFlag(QGraphicsItem.GraphicsItemFlag.ItemUsesExtendedStyleOption)
        self.patches: tuple[Patch, ...] = ()
        self.on_screen: ScreenPatch | None = None
        self.smooth = True
        self._images: dict[Patch, QImage] = {}
        self._shapes: list[tuple[int, int]] = []
        self._rect = QRectF()

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows) of the image; (0, 0) if there is no image."""
        return (self._shapes[0][1], self._shapes[0][0]) if self._shapes else (0, 0)

    def set_patches(
        self,
        patches: Sequence[Patch],
        size: tuple[int, int],
        on_screen: ScreenPatch | None = None,
    ) -> None:
        """Take patches of an image of `size` (columns, rows), one a level, to be painted next.

        The most reduced one must cover the image, as it is seen where others are missing.
        """
        columns, rows = size
        rect = QRectF(-0.5, -0.5, columns, rows) if patches else QRectF()
        if rect != self._rect:
            self.prepareGeometryChange()
            self._rect = rect
        self._shapes = level_shapes(rows, columns) if patches else []
        self.patches = tuple(sorted(patches, key=lambda patch: -patch.level))
        self._images = {patch: to_qimage(patch.pixels) for patch in self.patches}
        self.on_screen = on_screen

    def boundingRect(self) -> QRectF:
        return self._rect

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionGraphicsItem,
        widget: QWidget | None = None,
    ) -> None:
        if not self.patches:
            return
        if self.on_screen is not None and self._paint_on_screen(painter, self.on_screen):
            return
        transform = painter.deviceTransform()
        scales = (
            math.hypot(transform.m11(), transform.m12()),
            math.hypot(transform.m21(), transform.m22()),
        )
        level = level_of(max(scales), len(self._shapes))
        smooth = self.is_smooth(min(scales))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
        for patch in self._drawn(level, area_of(option.exposedRect)):  # type: ignore[attr-defined]
            # Copies lack an odd last row or column: draw them over exactly the area they average.
            size = 2**patch.level
            left, top, right, bottom = patch.area
            place = QRectF(
                left * size - 0.5, top * size - 0.5, (right - left) * size, (bottom - top) * size
            )
            painter.drawImage(place, self._images[patch])

    def is_smooth(self, zoom: float) -> bool:
        """Return whether pixels are interpolated at a zoom (physical pixels per image pixel)."""
        return zoom < (PIXEL_ZOOM if self.smooth else SHARP_ZOOM)

    def _paint_on_screen(self, painter: QPainter, patch: ScreenPatch) -> bool:
        """Paint the screen's own pixels, if the painter draws where they were made for."""
        place, now = patch.place, painter.worldTransform()
        if painter.device().devicePixelRatioF() != place.density:
            return False
        columns, rows = self.size
        was = QTransform(*place.transform)
        for corner in (QPointF(), QPointF(columns, 0), QPointF(0, rows)):
            apart = was.map(corner) - now.map(corner)
            if abs(apart.x()) + abs(apart.y()) > _NOWHERE_ELSE:
                return False
        image = to_qimage(patch.pixels)
        image.setDevicePixelRatio(place.density)
        painter.setWorldTransform(QTransform())
        painter.drawImage(QPointF(place.left, place.top) / place.density, image)
        painter.setWorldTransform(now)
        return True

    def _drawn(self, level: int, area: Area) -> list[Patch]:
        """Return the patches to draw, the lowest first.

        Where a level lacks a part, coarser levels below it fill it for the moment, so that no hole
        and no outdated window is ever seen.
        """
        below: list[Patch] = []
        for patch in self.patches:  # the coarsest first
            if patch.level < level and below:
                break
            if contains(patch.area, on_level(area, patch.level, self._shapes[patch.level])):
                below.clear()
            below.append(patch)
        return below


def area_of(rect: QRectF, margin: int = 0) -> Area:
    """Return the pixels that a rectangle in image coordinates touches, plus `margin` all round."""
    return (
        math.floor(rect.left() + 0.5) - margin,
        math.floor(rect.top() + 0.5) - margin,
        math.ceil(rect.right() + 0.5) + margin,
        math.ceil(rect.bottom() + 0.5) + margin,
    )
