"""The actions of marks and heatmaps, and the menu that opens on the image."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.views.canvas import heatmap_legend
from app.views.canvas.canvas import Canvas
from app.workspace import user_marks
from app.workspace.workspace import Workspace


class MakeAction(Protocol):
    """Makes an action of the window."""

    def __call__(
        self,
        text: str,
        run: Callable[[], object],
        shortcut: str = "",
        icon: str = "",
        *,
        checkable: bool = False,
    ) -> QAction:
        """See `WindowActions`."""
        ...


class MarkActions:
    """What the user marks for a tool.

    Args:
        make: Makes actions.
        canvas: Where it is drawn.
        workspace: The models.
        segment: Asks the assistant to segment it; None leaves that out.
    """

    def __init__(
        self,
        make: MakeAction,
        canvas: Canvas,
        workspace: Workspace,
        segment: Callable[[], object] | None,
    ) -> None:
        self._canvas = canvas
        self._workspace = workspace
        draw = canvas.measuring.toggle
        self.box = make(
            "Mark a box", lambda: draw(user_marks.BOX), "B", "square-dashed", checkable=True
        )
        self.point = make(
            "Mark a point", lambda: draw(user_marks.POINT), "M", "crosshair", checkable=True
        )
        self.outside = make(
            "Mark a point outside", lambda: draw(user_marks.OUTSIDE), "Shift+M", checkable=True
        )
        self.segment = make("Segment what I marked", segment or (lambda: None), "Ctrl+B", "shapes")
        self.segment.setVisible(segment is not None)

    @property
    def drawing(self) -> tuple[QAction, ...]:
        """Those that draw."""
        return (self.box, self.point, self.outside)

    def refresh(self, *, has_image: bool) -> None:
        """Follow the models: what is possible, and what is on."""
        tool = self._canvas.measuring.tool
        self.box.setChecked(tool == user_marks.BOX)
        self.point.setChecked(tool == user_marks.POINT)
        self.outside.setChecked(tool == user_marks.OUTSIDE)
        for action in self.drawing:
            action.setEnabled(has_image)
        self.segment.setEnabled(has_image and self._workspace.marked)


class HeatMenu(QMenu):
    """How strongly heatmaps are laid over the image.

    Args:
        make: Makes actions.
        canvas: Whose heatmaps.
        parent: Qt parent.
    """

    def __init__(self, make: MakeAction, canvas: Canvas, parent: QWidget) -> None:
        super().__init__("Heatmaps", parent)
        self._layer = canvas.findings_layer
        self.switch = make("Hide or show heatmaps", self._layer.toggle_heat, "Shift+H")
        self.addAction(self.switch)
        self.addSeparator()
        self.strengths: dict[float, QAction] = {}
        for name, strength in heatmap_legend.STRENGTHS.items():
            action = make(name, lambda value=strength: self._choose(value), checkable=True)
            self.strengths[strength] = action
            self.addAction(action)
        self.aboutToShow.connect(self._tick)

    def _choose(self, strength: float) -> None:
        self._layer.set_heat_strength(strength)
        self._tick()

    def _tick(self) -> None:
        for strength, action in self.strengths.items():
            action.setChecked(strength == self._layer.heat_strength)


def show_menu(place: QPoint, groups: Sequence[Sequence[QAction]], parent: QWidget) -> QMenu:
    """What can be done on the image, in groups, at `place` of the screen."""
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for number, group in enumerate(groups):
        if number:
            menu.addSeparator()
        for action in group:
            menu.addAction(action)
    menu.popup(place)
    return menu
