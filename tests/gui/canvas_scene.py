"""A canvas with its models, driven by real mouse and key events."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.imaging.types import Instance
from app.views.background import Background
from app.views.canvas.canvas import Canvas
from app.views.loader import Loader
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import (
    FakeDecoder,
    WaitUntil,
    found,
    frame,
    instance,
    study,
)

LEFT, RIGHT, MIDDLE = (
    Qt.MouseButton.LeftButton,
    Qt.MouseButton.RightButton,
    Qt.MouseButton.MiddleButton,
)


class Scene:
    """A canvas with its models and a decoder that the test controls."""

    def __init__(self, wait_until: WaitUntil, decoder: FakeDecoder | None = None) -> None:
        self.wait_until = wait_until
        self.workspace = Workspace()
        self.decoder = decoder or FakeDecoder()
        self.background = Background()
        self.loader = Loader(self.workspace.viewport, self.decoder, self.background)
        self.canvas = Canvas(self.workspace, self.background)
        self.canvas.resize(500, 400)
        self.canvas.show()

    def show(self, image: Instance | None = None, **changes: Any) -> None:
        image = image or instance()
        key = (image.sop_instance_uid, 0)
        self.decoder.frames[key] = frame(*key, **changes)
        self.workspace.add(found(study(image)))
        self.settle()

    def settle(self) -> None:
        self.wait_until(lambda: not self.canvas.busy and not self.background.pending)

    def at(self, x: float, y: float) -> QPoint:
        exact = self.canvas.to_widget(x, y)
        return QPoint(math.floor(exact.x()), math.floor(exact.y()))

    def drag(self, button: Qt.MouseButton, start: QPoint, by: tuple[int, int]) -> None:
        view = self.canvas.viewport()
        QTest.mousePress(view, button, pos=start)
        for step in (1, 2, 3):
            to = start + QPoint(by[0] * step // 3, by[1] * step // 3)
            QTest.mouseMove(view, to)
            move(view, to, button)
        QTest.mouseRelease(view, button, pos=start + QPoint(*by))
        self.settle()

    def key(self, key: Qt.Key) -> None:
        QTest.keyClick(self.canvas, key)
        self.settle()

    def wheel(
        self, angle: int, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        view = self.canvas.viewport()
        middle = QPointF(view.rect().center())
        event = QWheelEvent(
            middle,
            view.mapToGlobal(middle),
            QPoint(),
            QPoint(0, angle),
            Qt.MouseButton.NoButton,
            modifiers,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(view, event)
        self.settle()

    def close(self) -> None:
        self.workspace.close()
        self.canvas.close_models()
        self.loader.close()
        self.canvas.close()
        self.background.close()
        self.canvas.deleteLater()


def pixels_of(canvas: Canvas) -> NDArray[np.uint8] | None:
    """The full-size pixels on the canvas, uint8 [rows, columns(, 3)]; None if some are missing."""
    columns, rows = canvas.image_size
    for patch in canvas.layer.patches:
        if patch.level == 0 and patch.pixels.shape[:2] == (rows, columns):
            return patch.pixels.astype(np.uint8)  # of a word its last byte
    return None


def move(view: QWidget, to: QPoint, button: Qt.MouseButton) -> None:
    """QTest.mouseMove carries no buttons where the platform has no real pointer."""
    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(to),
        view.mapToGlobal(QPointF(to)),
        Qt.MouseButton.NoButton,
        button,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(view, event)
