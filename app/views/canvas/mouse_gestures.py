"""Mouse gestures on the canvas.

The left button has the tool in hand: it draws, or drags as `POINTERS` says. Dragging changes the
intensity window as in OHIF and Cornerstone (width += dx, centre += dy): to the right widens it
(less contrast), downwards raises its centre (a MONOCHROME2 image gets darker). `dragged_window`
says how far.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum, auto
from functools import cache

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QCursor, QPainter, QPen, QPixmap

from app.imaging.pixels.windows import MANUAL
from app.imaging.types import VoiFunction, Window
from app.views import icons
from app.views.theme import THEME

DRAG_THRESHOLD = 4.0
"""Distance in px above which a press counts as a drag instead of a click."""

RANGE_PX = 600.0
"""Length in px of a drag that changes the window by the image's whole useful range."""

FINE_PX = 200.0
"""Length in px of a drag that would change a narrow window by its own width, if it began and ended
as slowly: a step of 1 px in a brain window of 80 HU is 0.4 HU."""


_CURSOR = 26  # px


class Drag(Enum):
    """The effects of a mouse drag on the canvas: change the window, pan, zoom or scroll."""

    WINDOW = auto()
    PAN = auto()
    ZOOM = auto()
    SCROLL = auto()


PAN, ZOOM, SCROLL = "pan", "zoom", "scroll"
POINTERS = {"": Drag.WINDOW, PAN: Drag.PAN, ZOOM: Drag.ZOOM, SCROLL: Drag.SCROLL}
"""What a left drag does, by the tool in hand, if that draws nothing."""


def drag_of(button: Qt.MouseButton, *, space: bool, tool: str = "") -> Drag | None:
    """Return what a drag with a button does, None for nothing; with Space the left button pans."""
    if button == Qt.MouseButton.MiddleButton:
        return Drag.PAN
    if button == Qt.MouseButton.RightButton:
        return Drag.ZOOM
    if button == Qt.MouseButton.LeftButton:
        return Drag.PAN if space else POINTERS.get(tool, Drag.WINDOW)
    return None


def scrolled(dy: float, height: float, count: int) -> int:
    """Return by how many of `count` frames a drag of `dy` px in a view of `height` px scrolls.

    A drag over three quarters of the view goes through a long series, 16 px through one frame of a
    short one.
    """
    return round(dy / min(16.0, 0.75 * height / max(count, 1)))


def dragged_window(start: Window, dx: float, dy: float, span: float) -> Window:
    """Return window `start` with its width changed by `dx` px of drag and its centre by `dy` px.

    `span` is the useful range of the image's values (`windows.useful_range`). A drag of `RANGE_PX`
    changes the window by that range, or by its own width where that is larger. The first px of a
    drag change a narrow window in proportion to its width, the later ones by more. The width stays
    above the minimum of the window's VOI LUT function (PS3.3 C.11.2.1.2: 1 for LINEAR).
    """
    reach = max(span, start.width, 1e-6)
    # A narrow range (floats in 0..1) cannot use LINEAR's smallest width of 1.
    function = start.function
    if function is VoiFunction.LINEAR and (span < 16 or start.width < 1):
        function = VoiFunction.LINEAR_EXACT
    least = 1.0 if function is VoiFunction.LINEAR else max(span, 1e-6) * 1e-4
    return replace(
        start,
        center=start.center + _change(dy, start.width, reach),
        width=max(start.width + _change(dx, start.width, reach), least),
        function=function,
        explanation=MANUAL,
        lut=-1,
    )


def _change(pixels: float, width: float, reach: float) -> float:
    """Return by how much a drag of `pixels` px changes a window; `reach` after `RANGE_PX`."""
    share = abs(pixels) / RANGE_PX
    first = min(width / FINE_PX * RANGE_PX, reach)
    return math.copysign(first * share + (reach - first) * share**2, pixels)


def brush_cursor(radius: float) -> QCursor:
    """Return a cursor that outlines a brush with this radius in px, at least 2, at most 120."""
    size = 2 * round(min(max(radius, 2.0), 120.0)) + 3
    picture = QPixmap(size, size)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for color, width in ((Qt.GlobalColor.black, 2.5), (Qt.GlobalColor.white, 1.2)):
        painter.setPen(QPen(color, width))
        painter.drawEllipse(QRectF(1.5, 1.5, size - 3, size - 3))
    painter.end()
    return QCursor(picture, size // 2, size // 2)


@cache
def tool_cursor(icon_name: str) -> QCursor:
    """Return a cursor that shows an icon, light with a dark edge."""
    picture = QPixmap(_CURSOR, _CURSOR)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    place = QRect(2, 2, _CURSOR - 4, _CURSOR - 4)
    for x, y in ((-1, -1), (1, -1), (-1, 1), (1, 1)):
        icons.draw(painter, icon_name, place.translated(x, y), THEME.overlay_shade)
    icons.draw(painter, icon_name, place, THEME.overlay_text)
    painter.end()
    return QCursor(picture)


class FrameScroll:
    """Adds up wheel angles to whole notches, since a touchpad sends many small angles."""

    def __init__(self) -> None:
        self._rest = 0

    def steps(self, angle: int) -> int:
        """Add a wheel angle (1/8 degree); return the full notches, positive for later frames."""
        if self._rest * angle < 0:
            self._rest = 0
        self._rest += angle
        steps = int(self._rest / 120)
        self._rest -= steps * 120
        return -steps
