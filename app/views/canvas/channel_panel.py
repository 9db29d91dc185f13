"""The channels of an image over its canvas: on or off, their colours, and which is selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QIcon, QPixmap
from PySide6.QtWidgets import (
    QCheckBox,
    QColorDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QMenu,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.imaging.axes import COLORS, Channel, Rgb
from app.views import wording
from app.views.canvas.canvas import Canvas
from app.views.canvas.corner_text import Detail
from app.views.canvas.text_overlay import MARGIN, corner_font
from app.views.theme import SPACE
from app.views.translation import tr, translatable
from app.views.widgets import plain_tip
from app.workspace.viewport import ChannelLook, Viewport

_COLOR_NAMES = {
    "grey": translatable("Grey"),
    "blue": translatable("Blue"),
    "green": translatable("Green"),
    "red": translatable("Red"),
    "magenta": translatable("Magenta"),
    "cyan": translatable("Cyan"),
    "yellow": translatable("Yellow"),
    "orange": translatable("Orange"),
}
_WIDEST = 170  # px of a name
_SWATCH = 12  # px
_BELOW = 110  # px of the canvas below the panel, for the corner text there
_LEAST = 60  # px of the panel


class ChannelPanel(QFrame):
    """A row for each channel of the image on a canvas; hidden for images with a single channel.

    The box shows or hides a channel, the swatch changes its colour, "A" sets its automatic window.
    A click on the name selects the channel: its window follows the mouse, and tools get it.
    """

    def __init__(self, canvas: Canvas) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._model = canvas.model
        self._rows: list[_Row] = []
        self._shown: tuple[object, ...] = ()
        self.setObjectName("channels")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.setAccessibleName(tr("Channels"))
        self.together = QToolButton()
        self.together.setCheckable(True)
        self.together.setText(tr("Composite"))
        self.together.setToolTip(
            plain_tip(tr("Show all channels in their colours, or the selected one in grey"))
        )
        self.together.clicked.connect(lambda: show_together(self._model))
        self.together.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._holder = QWidget()
        self._grid = QGridLayout(self._holder)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(SPACE.xs)
        self._grid.setVerticalSpacing(0)
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(self._holder)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        head = QHBoxLayout()
        head.addWidget(self.together)
        head.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SPACE.xs, SPACE.xs, SPACE.s, SPACE.xs)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(self._area)
        self.hide()
        canvas.installEventFilter(self)
        canvas.picture_changed.connect(self.refresh)
        canvas.detail_changed.connect(self.follow_detail)
        self._model.display_changed.connect(self.refresh)
        self._model.image_changed.connect(self.refresh)

    @property
    def rows(self) -> Sequence[_Row]:
        return tuple(self._rows)

    def refresh(self) -> None:
        model, display = self._model, self._model.display
        axes = model.axes if self._canvas.picture is not None else None
        looks = display.channels
        now = (
            axes,
            tuple((look.color, look.visible) for look in looks),
            *(display.together, model.channel),
        )
        if now == self._shown:  # a window is being dragged
            return
        other = not self._shown or self._shown[0] != axes
        self._shown = now
        if axes is None or len(looks) != len(axes.channels):
            self.hide()
            return
        if other:
            self._fill(axes.names, axes.channels)
        self.together.setChecked(display.together)
        for number, (row, look) in enumerate(zip(self._rows, looks, strict=True)):
            row.refresh(look, selected=number == model.channel, together=display.together)
        self._place()

    def _fill(self, names: Sequence[str], channels: Sequence[Channel]) -> None:
        for row in self._rows:
            for part in row.parts:
                self._grid.removeWidget(part)
                part.deleteLater()
        self._rows = [
            _Row(self._model, number, name, channel, self)
            for number, (name, channel) in enumerate(zip(names, channels, strict=True))
        ]
        for number, row in enumerate(self._rows):
            for place, part in enumerate(row.parts):
                self._grid.addWidget(part, number, place)
        self._grid.setColumnStretch(2, 1)

    def _place(self) -> None:
        """Put the panel at the top left of the canvas, below its corner text."""
        lines = len(self._canvas.overlay.corners.top_left)
        top = round(MARGIN) + round(lines * QFontMetricsF(corner_font()).lineSpacing())
        room = self._canvas.height() - top - _BELOW
        inner = self._holder.sizeHint()
        head = self.together.sizeHint().height() + 2 * SPACE.xs + 4
        height = min(inner.height() + head, room)
        bar = self._area.verticalScrollBar().sizeHint().width()
        more = bar if inner.height() + head > height else 0
        width = max(inner.width(), self.together.sizeHint().width()) + 2 * SPACE.s + more
        wanted = bool(self._rows) and self._model.axes is not None
        self.setVisible(wanted and room >= _LEAST and self._canvas.detail is not Detail.NONE)
        self.setGeometry(round(MARGIN), top, width, height)

    def follow_detail(self) -> None:
        if self._rows:
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self._rows and self._model.axes is not None:
            self._place()
        return super().eventFilter(watched, event)


class _Row:
    """The widgets of one channel."""

    def __init__(
        self, model: Viewport, number: int, name: str, channel: Channel, parent: QWidget
    ) -> None:
        self._model = model
        self._number = number
        self._name = name
        self._parent = parent
        told = wording.one_line(name)
        self.check = QCheckBox()
        self.check.setAccessibleName(tr("Show channel {name}").format(name=told))
        self.check.clicked.connect(self._switch)
        self.swatch = QToolButton()
        self.swatch.setIconSize(QSize(_SWATCH, _SWATCH))
        self.swatch.setAccessibleName(tr("Colour of channel {name}").format(name=told))
        self.swatch.setToolTip(plain_tip(tr("Choose a colour")))
        self.swatch.clicked.connect(self._choose_color)
        self.name = QToolButton()
        self.name.setCheckable(True)
        self.name.setText(
            self.name.fontMetrics().elidedText(told, Qt.TextElideMode.ElideRight, _WIDEST)
        )
        self.name.setToolTip(plain_tip(_tip(told, channel)))
        self.name.setAccessibleName(tr("Select channel {name}").format(name=told))
        self.name.clicked.connect(self._select)
        self.auto = QToolButton()
        self.auto.setText("A")
        self.auto.setToolTip(plain_tip(tr("Automatic window for this channel")))
        self.auto.setAccessibleName(tr("Automatic window for {name}").format(name=told))
        self.auto.clicked.connect(self._reset_window)
        self.parts = (self.check, self.swatch, self.name, self.auto)
        for part in self.parts:
            part.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keys to the image

    def refresh(self, look: ChannelLook, *, selected: bool, together: bool) -> None:
        self.check.setChecked(look.visible if together else selected)
        self.check.setEnabled(together)
        pixels = QPixmap(_SWATCH, _SWATCH)
        pixels.fill(QColor(*look.color))
        self.swatch.setIcon(QIcon(pixels))
        self.name.setChecked(selected)

    def _switch(self) -> None:
        visible = self.check.isChecked()
        looks = self._model.channel_looks
        if not visible and sum(look.visible for look in looks) == 1:
            self.check.setChecked(True)  # a picture of nothing would help nobody
            return
        self._change(visible=visible)

    def _select(self) -> None:
        self.name.setChecked(True)
        self._model.select_channel(self._number)

    def _reset_window(self) -> None:
        self._change(window=None)

    def _choose_color(self) -> None:
        menu = QMenu(self._parent)
        for key, rgb in COLORS.items():
            pixels = QPixmap(_SWATCH, _SWATCH)
            pixels.fill(QColor(*rgb))
            menu.addAction(QIcon(pixels), tr(_COLOR_NAMES[key]), partial(self._change, color=rgb))
        menu.addSeparator()
        menu.addAction(tr("Other…"), self._ask_color)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.swatch.mapToGlobal(QPoint(0, self.swatch.height())))

    def _ask_color(self) -> None:
        color = self._model.channel_looks[self._number].color
        dialog = QColorDialog(QColor(*color), self._parent)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setWindowTitle(tr("Colour of channel {name}").format(name=self._name))
        dialog.colorSelected.connect(lambda chosen: self._change(color=_rgb(chosen)))
        dialog.open()

    def _change(self, **changes: object) -> None:
        looks = list(self._model.channel_looks)
        if self._number < len(looks):
            looks[self._number] = replace(looks[self._number], **changes)
            self._model.show_channels(looks)


def show_together(model: Viewport) -> None:
    """Show the channels together, or only the selected one; the other way than now."""
    display = model.display
    if display.channels:
        model.set_display(replace(display, together=not display.together))


def step_channel(model: Viewport, step: int) -> None:
    """Select the channel `step` places further; after the last one the first."""
    if model.axes is not None:
        model.select_channel((model.channel + step) % len(model.axes.channels))


def _rgb(color: QColor) -> Rgb:
    return color.red(), color.green(), color.blue()


def _tip(name: str, channel: Channel) -> str:
    lines = [name]
    if channel.excitation_nm is not None:
        lines.append(tr("Excitation {nm} nm").format(nm=f"{channel.excitation_nm:.4g}"))
    if channel.emission_nm is not None:
        lines.append(tr("Emission {nm} nm").format(nm=f"{channel.emission_nm:.4g}"))
    lines.append(tr("Click: the window follows the mouse, and tools get this channel"))
    return "\n".join(lines)
