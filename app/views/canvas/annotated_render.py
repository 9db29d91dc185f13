"""Renders the image with layers, findings and texts as a picture, on any thread.

The picture is as large as the image's pixel matrix; it is larger if pixels are not square, so that
shapes have their true proportions. Or it is what a viewport shows, at its size: see `ScreenView`.
Serves `render --annotated`, exported pictures and movies, the clipboard and print.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QGuiApplication, QImage, QPainter, QTransform

from app.imaging.axes import Axes
from app.imaging.findings import Heatmap, State
from app.imaging.layers import Label, Layer, LayerFrame
from app.imaging.pixels import pipeline, windows
from app.imaging.pixels.composite import Tint, without_channel
from app.imaging.pixels.windows import lut_window
from app.imaging.presentation import PresentationState
from app.imaging.types import Frame, Instance, Series, Window
from app.views import theme, wording
from app.views.canvas import (
    corner_text,
    finding_shapes,
    heatmap_legend,
    label_chips,
    layer_graphics,
    orientation,
    synthetic_band,
    text_overlay,
)
from app.views.canvas.corner_text import Corners, Detail, Shown
from app.views.canvas.finding_items import FindingStyle, item_kind
from app.views.canvas.image_layer import PIXEL_ZOOM, level_of, pyramid, to_array, to_qimage
from app.views.canvas.orientation import UPRIGHT
from app.views.canvas.rendering import displayed_pixels
from app.views.theme import DARK, ui_font
from app.views.theme import color as with_alpha
from app.views.translation import tr
from app.workspace import drawing
from app.workspace.annotations import Annotation
from app.workspace.layers import OPACITY
from app.workspace.viewport import Display, tints_of

REFERENCE_PX = 900.0
"""Length of the shorter side at which text has its screen size; larger pictures get larger text."""

SMALLEST_SIZE = 0.75  # smaller text could not be read
NO_TEXT_PX = 160  # a shorter side below this has no room for corner text
LEGIBLE_PX = 512  # shorter side, at least, of a picture that is enlarged anyway
LARGE_PX = 2048  # longer side up to which a picture is enlarged for that
MAX_PX = 8192  # longer side, at most, of a picture in true shape, unless the matrix is longer
_LEAST_PX = 6  # height of the smallest warning
_SQUARE = 1e-3  # relative difference of width and height that is not worth a resampling


@dataclass(frozen=True, slots=True)
class ScreenView:
    """The part of an image that a viewport shows.

    Attributes:
        to_view: From image (x, y), pixel centres at integers, to logical px of the viewport, with
            flips and rotation.
        size: Width and height of the viewport in logical px.
        density: Physical pixels per logical px.
        smooth: Whether enlarged pixels are interpolated.
    """

    to_view: QTransform
    size: tuple[int, int]
    density: float = 1.0
    smooth: bool = True


@dataclass(frozen=True, slots=True)
class Look:
    """What is drawn over the pixels, and how large the picture is.

    Attributes:
        marks: Whether findings, measurements and layers are drawn.
        detail: Corner text and side letters; None for neither. Without names, dates are left out
            too, and so are what files draw as text (texts of presentation states and reports,
            overlays) and labels that hold the patient's name or id. What AI has found is marked
            as not for diagnosis in any case.
        scale: Factor on the picture's size.
        view: The part to show, at the screen's size; None for the whole image at its own.
        overlays: Whether the image's own overlays (groups 60xx) are drawn; the layers may have
            them too.
        labels: Whether findings bear their labels.
    """

    marks: bool = True
    detail: Detail | None = Detail.ALL
    scale: float = 1.0
    view: ScreenView | None = None
    overlays: bool = True
    labels: bool = True


@dataclass(frozen=True, slots=True)
class Marks:
    """The findings of a picture.

    Attributes:
        annotations: Those on the image. Hidden and rejected ones are not drawn.
        makers: Titles of the tools that made findings, by the finding's id.
        heat_strength: How strongly the heatmap is drawn, 0 to 1.
    """

    annotations: tuple[Annotation, ...] = ()
    makers: tuple[tuple[str, str], ...] = ()
    selected: str = ""
    heat_strength: float = heatmap_legend.USUAL

    def drawn(self) -> list[Annotation]:
        kept = [
            one for one in self.annotations if one.visible and one.finding.state != State.REJECTED
        ]
        heat = heatmap_legend.visible_heatmap([one.finding for one in kept], self.selected)
        kept = [
            one
            for one in kept
            if not isinstance(one.finding.geometry, Heatmap)
            or (heat is not None and heat.id == one.finding.id and self.heat_strength > 0)
        ]
        return sorted(kept, key=lambda one: item_kind(one.finding).z)

    def made_by(self) -> list[str]:
        known = dict(self.makers)
        ids = [one.finding.id for one in self.drawn()]
        return list(dict.fromkeys(known[one] for one in ids if one in known))


def render_annotated(
    frame: Frame,
    instance: Instance,
    window: Window | None = None,
    frame_index: int = 0,
    turn: Display = UPRIGHT,
    series: Series | None = None,
    layers: Sequence[tuple[Layer, LayerFrame]] = (),
    state: PresentationState | None = None,
    *,
    marks: Marks | None = None,
    look: Look | None = None,
    position: tuple[int, int] = (0, 1),
    rejection: str = "",
    opacity: float = OPACITY,
) -> NDArray[np.uint8]:
    """Return a frame drawn with layers, findings, corner text and side letters as on the canvas.

    Creates a Qt application if there is none. Without `window`, the image's own is used; of `turn`,
    the window is ignored. `layers` are pairs (layer, its shapes on this frame). `instance`,
    `series`, `state`, `position` and `rejection` serve for the corner text: `state` is named there,
    but not applied.

    Returns:
        uint8 [rows, columns, 3] RGB, or [columns, rows, 3] after a quarter turn; larger if pixels
        are not square. With `Look.view`, of the viewport's size in physical pixels. All times
        `Look.scale`.
    """
    ensure_application()
    marks, look = marks or Marks(), look or Look()
    named = look.detail is Detail.ALL
    if not named:
        marks, layers = _nameless_marks(marks, instance), _without_texts(layers, instance)
    tints = tints_of(frame, replace(turn, window=window), instance.axes)
    pixels = displayed_pixels(frame, window, turn.invert, turn.colormap, tints)
    if look.marks and look.overlays and frame.overlays and named:
        pixels = pipeline.draw_overlays(pixels, frame)
    if look.view is not None:
        canvas, to_picture = _as_on_screen(pixels, look.view)
        size = look.view.density
    else:
        oriented = orientation.orient_pixels(pixels, turn)
        canvas = _in_true_shape(to_qimage(oriented), frame.spacing.aspect, turn)
        canvas = _scaled(canvas, look.scale)
        to_picture = _to_picture(frame, turn, canvas)
        size = max(min(canvas.width(), canvas.height()) / REFERENCE_PX, SMALLEST_SIZE)
    shorter = min(canvas.width(), canvas.height()) / (size if look.view is not None else 1.0)
    whole = QRectF(0, 0, canvas.width(), canvas.height())
    model = synthetic_band.model_title(instance)
    area = synthetic_band.area_below(model, whole, size)
    makers = marks.made_by() if look.marks else []
    corners = Corners(warning=_warning(makers))
    if look.detail is not None:
        shown = Shown(
            instance if named else _undated(instance),
            _named(frame, instance.axes, tints),
            frame_index,
            position,
            series,
            _shown_window(frame, window),
            turn.invert,
            turn,
            makers,
            presentation=corner_text.presentation_text(state, applies=True),
            rejection=rejection,
            colormap="" if tints else turn.colormap,
        )
        corners = corner_text.corners_of(shown, look.detail)
    blocks = text_overlay.corner_blocks(corners, area, size, unfolded=True)
    if shorter < NO_TEXT_PX:
        blocks = []
    painter = QPainter(canvas)
    if look.marks:
        _draw_layers(painter, layers, size, to_picture, opacity)
    painter.end()
    if look.marks:
        _draw_findings(
            canvas, marks, size, to_picture, [block.rect for block in blocks], labels=look.labels
        )
    painter = QPainter(canvas)
    try:
        if shorter >= NO_TEXT_PX:
            if look.detail is not None:
                text_overlay.draw_sides(painter, corner_text.side_letters(frame, turn), area, size)
            text_overlay.draw_blocks(painter, blocks, size)
        elif makers:
            _draw_small_warning(painter, whole)
        synthetic_band.draw(painter, model, whole, size)
    finally:
        painter.end()
    if look.view is not None:
        canvas = _scaled(canvas, look.scale)
    return to_array(canvas)


def _named(frame: Frame, axes: Axes | None, tints: Sequence[Tint]) -> Frame:
    """Return a frame whose note names the channels that are shown together."""
    if axes is None or not tints:
        return frame
    plain = without_channel(frame, axes)
    names = " + ".join(axes.names[axes.place(one.frame.ref.frame)[0]] for one in tints)
    return replace(plain, note=", ".join(text for text in (names, plain.note) if text))


def _warning(makers: Sequence[str]) -> tuple[str, ...]:
    return (tr(wording.NOT_FOR_DIAGNOSIS), *makers) if makers else ()


_DATES = ("StudyDate", "SeriesDate", "AcquisitionDate", "ContentDate")


def _undated(instance: Instance) -> Instance:
    """Return an instance without dates, which may tell who the patient is."""
    kept = {key: value for key, value in instance.attributes.items() if key not in _DATES}
    return replace(instance, attributes=kept)


def _nameless_marks(marks: Marks, instance: Instance) -> Marks:
    """Return marks without labels that hold a word of the patient's name or id."""
    told = " ".join(instance.get(one) for one in ("PatientName", "PatientID")).casefold()
    words = {one for one in re.findall(r"[^\W_]+", told) if len(one) > 2 or not one.isascii()}
    kept: list[Annotation] = []
    for one in marks.annotations:
        if words.intersection(re.findall(r"[^\W_]+", one.finding.label.casefold())):
            one = replace(one, finding=replace(one.finding, label=""))
        kept.append(one)
    return replace(marks, annotations=tuple(kept))


def _without_texts(
    layers: Sequence[tuple[Layer, LayerFrame]], instance: Instance
) -> list[tuple[Layer, LayerFrame]]:
    """Return layers without texts, and without the image's overlays, which may show some."""
    return [
        (
            layer,
            replace(
                frame,
                shapes=tuple(one for one in frame.shapes if not isinstance(one.geometry, Label)),
            ),
        )
        for layer, frame in layers
        if layer.instance.sop_instance_uid != instance.sop_instance_uid
    ]


def _as_on_screen(pixels: NDArray[np.uint8], view: ScreenView) -> tuple[QImage, QTransform]:
    """Return the visible part of an image as the screen shows it, and image to picture pixels."""
    size = QSize(*(max(round(side * view.density), 1) for side in view.size))
    canvas = QImage(size, QImage.Format.Format_RGB32)
    canvas.fill(Qt.GlobalColor.black)
    to_picture = view.to_view * QTransform.fromScale(view.density, view.density)
    across = math.hypot(to_picture.m11(), to_picture.m12())
    zoom = max(across, math.hypot(to_picture.m21(), to_picture.m22()))
    levels = pyramid(pixels)
    number = level_of(zoom, len(levels))
    level, step = levels[number], 2**number
    painter = QPainter(canvas)
    smooth = zoom < 1 or (view.smooth and zoom <= PIXEL_ZOOM)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, smooth)
    painter.setTransform(to_picture)
    extent = QRectF(-0.5, -0.5, level.shape[1] * step, level.shape[0] * step)
    painter.drawImage(extent, to_qimage(level))
    painter.end()
    return canvas, to_picture


def _scaled(picture: QImage, scale: float) -> QImage:
    """Return a picture enlarged or reduced by a factor, its longer side at most `MAX_PX`."""
    longest = max(picture.width(), picture.height())
    scale = min(scale, max(MAX_PX, longest) / longest)
    if abs(scale - 1) <= _SQUARE:
        return picture
    size = QSize(max(round(picture.width() * scale), 1), max(round(picture.height() * scale), 1))
    smooth = Qt.TransformationMode.SmoothTransformation
    return picture.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, smooth)


def _draw_findings(
    canvas: QImage,
    marks: Marks,
    size: float,
    to_picture: QTransform,
    taken: Sequence[QRectF],
    *,
    labels: bool,
) -> None:
    """Draw findings and their labels; the places `taken` (px) are kept free of labels."""
    drawn = marks.drawn()
    if not drawn:
        return
    # Lines, labels and texts are then as large as on the screen, times `size`.
    canvas.setDevicePixelRatio(size)
    smaller = QTransform.fromScale(1 / size, 1 / size)
    to_view = to_picture * smaller
    area = smaller.mapRect(QRectF(0, 0, canvas.width(), canvas.height()))
    kept_free = [smaller.mapRect(rect) for rect in taken]
    painter = QPainter(canvas)
    try:
        chips: list[label_chips.Chip] = []
        for annotation in drawn:
            finding = annotation.finding
            shape = finding_shapes.build(finding.geometry)
            tint = annotation.tint or DARK.annotation_color(annotation.color)
            heat = isinstance(finding.geometry, Heatmap)
            strength = marks.heat_strength if heat else 1.0
            state = State.ACCEPTED if drawing.by_hand(finding) else finding.state
            style = FindingStyle(tint, strength=strength, state=state)
            painter.save()
            painter.setTransform(to_view)
            item_kind(finding).draw(painter, shape, style)
            painter.restore()
            chips.append(label_chips.chip_of(finding, shape, to_view, tint))
        legend = heatmap_legend.legend_of([one.finding for one in drawn], marks.selected)
        place = heatmap_legend.rect_of(legend, area, taken=kept_free)
        heatmap_legend.draw(painter, legend, place)
        wanted = [chip for chip in reversed(chips) if chip.text and labels]
        label_chips.draw(painter, label_chips.place(wanted, area, [*kept_free, place]))
    finally:
        painter.end()
        canvas.setDevicePixelRatio(1.0)


def _draw_small_warning(painter: QPainter, area: QRectF) -> None:
    """Mark a picture that has no room for corner text as not for diagnosis, at its foot."""
    text = tr(wording.NOT_FOR_DIAGNOSIS)
    font = ui_font(theme.TYPE.caption, QFont.Weight.Medium)
    while font.pixelSize() > _LEAST_PX and QFontMetricsF(font).horizontalAdvance(text) > (
        area.width() - 2
    ):
        font.setPixelSize(font.pixelSize() - 1)
    metrics = QFontMetricsF(font)
    foot = QRectF(0, area.height() - metrics.height(), area.width(), metrics.height())
    painter.fillRect(foot, with_alpha(DARK.overlay_shade, 0.7))
    painter.setFont(font)
    painter.setPen(with_alpha(DARK.warning, 1.0))
    painter.drawText(QPointF(1, foot.top() + metrics.ascent()), text)


def ensure_application() -> None:
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
    opacity: float,
) -> None:
    painter.save()
    painter.setTransform(to_picture, True)
    for layer, frame in layers:
        for item in layer.items:
            parts = [shape for shape in frame.shapes if shape.item == item.number]
            if parts:
                drawing = layer_graphics.build(parts)
                layer_graphics.draw(painter, drawing, item.color, opacity, size)
    painter.restore()
