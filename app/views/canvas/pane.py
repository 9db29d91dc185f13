"""Panes: what tools made, read-only, in a viewport of their own; here those with pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget
from shiboken6 import isValid

from app.errors import FileProblem, SightlineError
from app.imaging.files import synthetic
from app.imaging.types import VoiFunction, Window
from app.views import wording
from app.views.background import Background
from app.views.canvas import colormaps, synthetic_band
from app.views.canvas.corner_text import Detail, Sides, picture_corners
from app.views.canvas.image_layer import pyramid, whole_patches
from app.views.canvas.image_view import DRAG_ZOOM, ImageView
from app.views.canvas.mouse_gestures import DRAG_THRESHOLD, Drag, drag_of, dragged_window
from app.views.canvas.text_overlay import Overlay
from app.views.layouts import column
from app.views.theme import SPACE
from app.views.translation import tr
from app.views.widgets import ElidedLabel, label, tool_button
from app.workspace.viewport import Pane

Levels = tuple[NDArray[np.uint8], ...]
_FORMATS = ("PNG", "JPEG")
MAX_SIDE = 20_000  # px; our tools make no larger pictures
_AS_IS = Window(127.5, 255.0, function=VoiFunction.LINEAR_EXACT)


def read_picture(path: Path, cmap: str) -> Levels:
    """Return a tool's picture and smaller copies; `cmap` names the colour map for a grey picture.

    Pillow decodes it, since QImageReader would hold Python's lock and thereby block the window.

    Raises:
        FileProblem: The file is missing, too large or not a picture.
    """
    try:
        with Image.open(path, formats=_FORMATS) as image:
            if max(image.size) > MAX_SIDE:
                raise _unreadable(path)
            gray = image.mode in ("1", "L", "I;16", "LA")
            pixels = np.array(image.convert("L" if gray else "RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise _unreadable(path) from error
    if gray and not colormaps.is_gray(cmap):
        pixels = colormaps.table(cmap)[pixels]
    return pyramid(pixels)


def _read(path: Path, cmap: str) -> tuple[Levels, str]:
    """Return the picture and the title of the model that made it, "" for none."""
    return read_picture(path, cmap), synthetic.file_model_title(path)


def _unreadable(path: Path) -> FileProblem:
    return FileProblem("the picture cannot be read", subject=path.name, remedy="Run the tool again")


class PictureView(ImageView):
    """A view of a tool's picture, with the canvas's mouse gestures and corner texts.

    A left drag changes the intensity window of a grey picture, unless another tool of `POINTERS` is
    in hand; a double click resets it.

    Attributes:
        tool: The tool that the left button has in hand.
    """

    def __init__(self) -> None:
        super().__init__()
        self.overlay = Overlay(self)
        self._levels: Levels = ()
        self._window = _AS_IS
        self._space = False
        self.tool = ""
        self._press: tuple[QPointF, Drag, Window] | None = None

    def show_picture(self, levels: Levels) -> None:
        self._levels = levels
        rows, columns = levels[0].shape[:2]
        self.show_patches(whole_patches(levels), (columns, rows), 1.0, refit=True)

    def _set_window(self, window: Window) -> None:
        if not self._levels or self._levels[0].ndim != 2 or window == self._window:
            return  # the colours of a map have a meaning
        self._window = window
        steps = (np.arange(256) - window.center) / window.width + 0.5
        greys = (np.clip(steps, 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)
        rows, columns = self._levels[0].shape[:2]
        patches = whole_patches([greys[level] for level in self._levels])
        self.show_patches(patches, (columns, rows), 1.0, refit=False)

    def reset(self) -> None:
        """Fit the picture to the view and undo any change of the window."""
        self._set_window(_AS_IS)
        self.fit()

    def resizeEvent(self, ev: QResizeEvent) -> None:
        super().resizeEvent(ev)
        if hasattr(self, "overlay"):  # pyqtgraph resizes itself inside its constructor
            self.overlay.setGeometry(self.viewport().geometry())

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        kind = drag_of(ev.button(), space=self._space, tool=self.tool)
        if kind is not None and self._press is None:
            self._press = ev.position(), kind, self._window
            self._drag_from = ev.position()
        ev.accept()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        ev.accept()
        if self._press is None or self._drag_from is None:
            return
        start, kind, window = self._press
        step, total = ev.position() - self._drag_from, ev.position() - start
        self._drag_from = ev.position()
        if kind is Drag.PAN:
            self.pan_by(step.x(), step.y())
        elif kind is Drag.ZOOM:
            self.zoom_by(math.exp(-step.y() * DRAG_ZOOM), self.to_image(start))
        elif kind is Drag.WINDOW and total.manhattanLength() >= DRAG_THRESHOLD:
            self._set_window(dragged_window(window, total.x(), total.y(), 255.0))

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        self._press = self._drag_from = None
        ev.accept()

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        self.reset()
        ev.accept()

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space:
            self._space = True
        else:
            ev.ignore()

    def keyReleaseEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space and not ev.isAutoRepeat():
            self._space = False

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._space = False
        super().focusOutEvent(event)


class PaneView(QWidget):
    """A widget that shows one `Pane`: content, title, description, tool and a close button.

    Attributes:
        ready: Whether the file has been read, or could not be.
        note: What the user must know, such as why the file cannot be read.
    """

    def __init__(
        self, pane: Pane, content: QWidget, buttons: Sequence[QWidget], close: Callable[[], object]
    ) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setProperty("surface", "panel")
        self.pane = pane
        self.ready = False
        self.content = content
        self.title = ElidedLabel(wording.one_line(pane.title) or pane.path.name, "strong")
        self.note = label("", "caption", wrap=True)
        self.note.hide()
        self.description = label(wording.one_line(pane.description), "muted", wrap=True)
        self.description.setVisible(bool(pane.description))
        head = QHBoxLayout()
        head.setContentsMargins(SPACE.m, SPACE.s, SPACE.s, SPACE.s)
        head.addWidget(self.title, 1)
        for button in (*buttons, tool_button("x", tr("Close"), close, 14)):
            head.addWidget(button)
        foot = column(
            self.description,
            self.note,
            label(f"{tr(wording.NOT_FOR_DIAGNOSIS)} · {pane.tool}", "warning", wrap=True),
            spacing=2,
            margins=(SPACE.m, SPACE.s, SPACE.m, SPACE.m),
        )
        column(head, (content, 1), foot, spacing=0, parent=self)

    def tell(self, text: str) -> None:
        """Show a note below the content; "" for none."""
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def set_detail(self, detail: Detail) -> None:
        """Set how much text the corners show, where the content has any."""

    def set_tool(self, tool: str) -> None:
        """Set the tool that the left button has in hand, where the content has use for it."""

    def fail(self, error: SightlineError) -> None:
        if isValid(self):
            self.ready = True
            self.tell(wording.error_text(error))


class PicturePane(PaneView):
    """A pane with a picture."""

    def __init__(self, pane: Pane, background: Background, close: Callable[[], object]) -> None:
        self.view = PictureView()
        super().__init__(
            pane, self.view, [tool_button("maximize", tr("Fit"), self.view.reset, 14)], close
        )
        if pane.options.get("synthetic"):
            self._mark(str(pane.options.get("model") or tr("a model")))
        if pane.instance is not None:
            self.set_detail(Detail.ALL)
            self.view.overlay.set_sides(Sides(*pane.sides))
        self.view.setAccessibleName(pane.title or tr("Picture"))
        cmap = str(pane.options.get("cmap") or "")
        if not colormaps.is_known(cmap):
            self.tell(tr("Unknown colour map {cmap}: shown in grey").format(cmap=cmap))
        background.submit(partial(_read, pane.path, cmap), self._take, self.fail)

    def set_detail(self, detail: Detail) -> None:
        if self.pane.instance is not None:
            self.view.overlay.set_corners(picture_corners(self.pane.instance, detail))

    def set_tool(self, tool: str) -> None:
        self.view.tool = tool

    def _take(self, read: tuple[Levels, str]) -> None:
        if not isValid(self):
            return  # closed meanwhile
        levels, model = read
        self.ready = True
        if model:
            self._mark(model)
        self.view.show_picture(levels)

    def _mark(self, model: str) -> None:
        """Show the band that marks a picture made by a generative model."""
        self.view.overlay.set_synthetic(model)
        self.view.setAccessibleDescription(synthetic_band.text(model))
