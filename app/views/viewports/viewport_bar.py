"""The small bar that the mouse finds at the top of a viewport: move, link, maximise, close."""

from __future__ import annotations

import secrets

from PySide6.QtCore import QMimeData, QPoint, Qt, Signal
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QFrame, QToolButton, QWidget

from app.views import icons
from app.views.layouts import row
from app.views.theme import SPACE, THEME
from app.views.translation import tr
from app.views.widgets import plain_tip, tool_button

VIEWPORT_MIME = "application/x-sightline-viewport"
"""Data of a drag of a viewport: the token of its bar, which no other window knows."""

REACH = 72
"""Px below the top edge of a viewport within which the mouse shows the bar."""

_TOP = 30  # px, below the letter of the patient's side
_ICON = 14


class ViewportBar(QFrame):
    """Buttons for one viewport of several; shown while the mouse is near the viewport's top."""

    link_wanted = Signal(bool)
    maximise_wanted = Signal()
    close_wanted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setProperty("surface", "raised")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._viewport = parent
        self.token = secrets.token_bytes(16)
        self.grip = Grip(self)
        self.link = tool_button("link", tr("Linked to the other viewports"), None, _ICON)
        self.link.setCheckable(True)
        self.link.setChecked(True)
        self.link.clicked.connect(lambda on: self.link_wanted.emit(on))
        self.maximise = tool_button(
            "maximize-2", tr("Maximise  (or double click)"), self.maximise_wanted.emit, _ICON
        )
        self.close_button = tool_button("x", tr("Close viewport"), self.close_wanted.emit, _ICON)
        parts = (self.grip, self.link, self.maximise, self.close_button)
        for part in parts:
            part.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the menu has keys for these
        row(*parts, spacing=0, margins=SPACE.xs // 2, parent=self)
        self.hide()

    def show_state(self, *, linked: bool, maximised: bool) -> None:
        """Show whether the viewport is linked and whether it is maximised."""
        self.link.setChecked(linked)
        self.link.setIcon(icons.icon("link" if linked else "unlink"))
        tip = (
            tr("Linked to the other viewports")
            if linked
            else tr("Not linked to the other viewports")
        )
        self.link.setToolTip(plain_tip(tip))
        self.link.setAccessibleName(tip)
        self.maximise.setIcon(icons.icon("minimize-2" if maximised else "maximize-2"))

    def appear(self, on: bool) -> None:
        """Show the bar in the middle of the viewport's upper edge, or hide it."""
        if on and self.isHidden():
            self.adjustSize()
            self.move((self._viewport.width() - self.width()) // 2, _TOP)
            self.show()
            self.raise_()
        elif not on and self.isVisible():
            self.hide()


class Grip(QToolButton):
    """The part by which a viewport is dragged onto another one, to change places with it."""

    def __init__(self, bar: ViewportBar) -> None:
        super().__init__()
        self._bar = bar
        self._from: QPoint | None = None
        self.setIcon(icons.icon("grip", THEME.text_muted))
        self.setAutoRaise(True)
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        tip = tr("Drag onto another viewport to change places")
        self.setToolTip(plain_tip(tip))
        self.setAccessibleName(tip)

    def drag_data(self) -> QMimeData:
        data = QMimeData()
        data.setData(VIEWPORT_MIME, self._bar.token)
        return data

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._from = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._from is None:
            return
        moved = (event.position().toPoint() - self._from).manhattanLength()
        if moved >= QApplication.startDragDistance():
            self._from = None
            drag = QDrag(self)
            drag.setMimeData(self.drag_data())
            drag.exec(Qt.DropAction.MoveAction)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._from = None
        super().mouseReleaseEvent(event)
