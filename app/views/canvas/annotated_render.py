"""Renders the image with layers and texts as a picture, for `render --annotated`.

The picture is as large as the image's pixel matrix; it is larger if pixels are not square, so that
shapes have their true proportions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QGuiApplication, QImage, QPainter, QTransform

from app.imaging.layers import Layer, LayerFrame
from app.imaging.pixels import pipeline, windows
from app.imaging.pixels.windows import lut_window
from app.imaging.presentation import PresentationState
from app.imaging.types import Frame, Instance, Series, Window
from app.views import theme
from app.views.canvas import (
    corner_text,
    layer_graphics,
    orientation,
    synthetic_band,
    text_overlay,
)
from app.views.canvas.corner_text import Shown
from app.views.canvas.image_layer import to_array, to_qimage
from app.views.canvas.orientation import UPRIGHT
from app.workspace.layers import OPACITY
from app.workspace.viewport import Display

REFERENCE_PX = 900.0
"""Length of the shorter side at which text has its screen size; larger pictures get larger text."""

SMALLEST_SIZE = 0.75  # smaller text could not be read
NO_TEXT_PX = 160  # a shorter side below this has no room for corner text
LEGIBLE_PX = 512  # shorter side, at least, of a picture that is enlarged anyway
LARGE_PX = 2048  # longer side up to which a picture is enlarged for that
MAX_PX = 8192  # longer side, at most, of a picture in true shape, unless the matrix is longer
_SQUARE = 1e-3  # relative difference of width and height that is not worth a resampling


def render_annotated(
    frame: Frame,
    instance: Instance,
    window: Window | None = None,
    frame_index: int = 0,
    turn: Display = UPRIGHT,
    series: Series | None = None,
    layers: Sequence[tuple[Layer, LayerFrame]] = (),
    state: PresentationState | None = None,
) -> NDArray[np.uint8]:
    """Return a frame drawn with layers, corner text and side letters as on the canvas.

    Creates a Qt application if there is none. Without `window`, the image's own is used. Of `turn`,
    only flips and rotation count. `layers` are pairs (layer, its shapes on this frame). `instance`,
    `series` and `state` serve for the corner text: `state` is named there, but not applied.

    Returns:
        uint8 [rows, columns, 3] RGB, or [columns, rows, 3] after a quarter turn; larger if pixels
        are not square.
    """
    _ensure_application()
    pixels = pipeline.render(frame, window)
    if frame.overlays:
        pixels = pipeline.draw_overlays(pixels, frame)
    pixels = orientation.orient_pixels(pixels, turn)
    canvas = _in_true_shape(to_qimage(pixels), frame.spacing.aspect, turn)
    shorter = min(canvas.width(), canvas.height())
    size = max(shorter / REFERENCE_PX, SMALLEST_SIZE)
    whole = QRectF(0, 0, canvas.width(), canvas.height())
    model = synthetic_band.model_title(instance)
    area = synthetic_band.area_below(model, whole, size)
    painter = QPainter(canvas)
    try:
        _draw_layers(painter, layers, size, _to_picture(frame, turn, canvas))
        if shorter >= NO_TEXT_PX:
            corners = corner_text.corners_of(
                Shown(
                    instance,
                    frame,
                    frame_index,
                    series=series,
                    window=_shown_window(frame, window),
                    turn=turn,
                    presentation=corner_text.presentation_text(state, applies=True),
                )
            )
            text_overlay.draw_sides(painter, corner_text.side_letters(frame, turn), area, size)
            blocks = text_overlay.corner_blocks(corners, area, size, unfolded=True)
            text_overlay.draw_blocks(painter, blocks, size)
        synthetic_band.draw(painter, model, whole, size)
    finally:
        painter.end()
    return to_array(canvas)


def _ensure_application() -> None:
    """Make a Qt application that draws into memory, unless there is one."""
    if QGuiApplication.instance() is not None:
        return
    QGuiApplication(["", "-platform", "offscreen"])
    theme.load_fonts()


def _in_true_shape(picture: QImage, aspect: float, turn: Display) -> QImage:
    """Return the picture to draw on, enlarged to its true shape where pixels are not square.

    `picture` is already flipped and rotated; `aspect` is the height of an image pixel divided by
    its width, before the rotation.
    """
    tall = 1 / aspect if turn.quarter_turns % 2 else aspect
    plain = picture.convertToFormat(QImage.Format.Format_RGB32)
    if abs(tall - 1) <= _SQUARE:
        return plain
    width, height = picture.width() * max(1 / tall, 1.0), picture.height() * max(tall, 1.0)
    longest = max(MAX_PX, picture.width(), picture.height())
    legible = min(LEGIBLE_PX / min(width, height), LARGE_PX / max(width, height))
    scale = min(max(legible, 1.0), longest / max(width, height))
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    shaped = QImage(*size, QImage.Format.Format_RGB32)
    painter = QPainter(shaped)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    painter.drawImage(QRectF(0, 0, *size), plain)
    painter.end()
    return shaped


def _to_picture(frame: Frame, turn: Display, canvas: QImage) -> QTransform:
    """Return the transform from image (x, y), pixel centres at integers, to picture pixels."""
    columns, rows = orientation.shown_size((frame.columns, frame.rows), turn)
    result = orientation.transform((frame.columns, frame.rows), turn)
    result *= QTransform.fromTranslate(0.5, 0.5)
    return result * QTransform.fromScale(canvas.width() / columns, canvas.height() / rows)


def _shown_window(frame: Frame, window: Window | None) -> Window | None:
    """Return the window or VOI LUT that `pipeline.render` applies; None for colour."""
    chosen = window if window is not None else windows.default_window(frame)
    by_lut = chosen is None and not frame.is_color and frame.voi.luts
    return lut_window(frame.voi.luts[0], 0) if by_lut else chosen


def _draw_layers(
    painter: QPainter,
    layers: Sequence[tuple[Layer, LayerFrame]],
    size: float,
    to_picture: QTransform,
) -> None:
    painter.save()
    painter.setTransform(to_picture, True)
    for layer, frame in layers:
        for item in layer.items:
            parts = [shape for shape in frame.shapes if shape.item == item.number]
            if parts:
                drawing = layer_graphics.build(parts)
                layer_graphics.draw(painter, drawing, item.color, OPACITY, size)
    painter.restore()
