"""What keys do on the canvas.

Arrows, Page Up and Down, Home, End = frames; I invert, R reset, F fit, 1 = 1:1, + and - zoom; H and
V flip, [ and ] turn; L measures a length; B marks a box, M a point; Escape drops what is being
drawn, puts the drawing tool away, then deselects; Delete removes the selected finding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt

from app.views.canvas.image_view import WHEEL_STEP
from app.workspace import marks, measurements
from app.workspace.annotations import Annotations

if TYPE_CHECKING:
    from app.views.canvas.canvas import Canvas


def key_actions(canvas: Canvas, annotations: Annotations) -> dict[Qt.Key, Callable[[], object]]:
    """Key -> what it does."""
    key, scroll, measuring = Qt.Key, canvas.scroller, canvas.measuring

    def escape() -> None:
        if measuring.cancel():
            return
        if measuring.tool:
            measuring.set_tool("")
        else:
            annotations.select("")

    return {
        key.Key_Up: lambda: scroll.step(-1),
        key.Key_Left: lambda: scroll.step(-1),
        key.Key_Down: lambda: scroll.step(1),
        key.Key_Right: lambda: scroll.step(1),
        key.Key_PageUp: lambda: scroll.step(-10),
        key.Key_PageDown: lambda: scroll.step(10),
        key.Key_Home: lambda: scroll.to_end(-1),
        key.Key_End: lambda: scroll.to_end(1),
        key.Key_I: canvas.toggle_invert,
        key.Key_R: canvas.reset,
        key.Key_F: canvas.fit,
        key.Key_1: canvas.one_to_one,
        key.Key_Plus: lambda: canvas.zoom_by(WHEEL_STEP),
        key.Key_Equal: lambda: canvas.zoom_by(WHEEL_STEP),
        key.Key_Minus: lambda: canvas.zoom_by(1 / WHEEL_STEP),
        key.Key_H: lambda: canvas.flip(across=True),
        key.Key_V: lambda: canvas.flip(across=False),
        key.Key_BracketLeft: lambda: canvas.rotate(-1),
        key.Key_BracketRight: lambda: canvas.rotate(1),
        key.Key_L: lambda: measuring.toggle(measurements.RULER),
        key.Key_B: lambda: measuring.toggle(marks.BOX),
        key.Key_M: lambda: measuring.toggle(marks.POINT),
        key.Key_Escape: escape,
        key.Key_Delete: lambda: annotations.remove([annotations.selected]),
    }
