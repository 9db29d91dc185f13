"""The menus of windows and of planes, in the menu bar and on the toolbar's buttons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from app.imaging.pixels.windows import AUTO
from app.imaging.types import Window
from app.imaging.volume import Plane
from app.views import wording
from app.views.canvas.canvas import Canvas
from app.views.canvas.plane_switch import PlaneSwitch

MakeAction = Callable[[str, Callable[[], object], str], QAction]
"""(text, what it does, shortcut) -> an action that can be ticked."""

PLANE_KEYS = {Plane.ACQUIRED: "O", Plane.AXIAL: "A", Plane.CORONAL: "C", Plane.SAGITTAL: "S"}


class PresetMenu(QMenu):
    """The image's own windows and VOI LUTs, the automatic window, those of its modality.

    Args:
        canvas: Whose image it is.
        parent: Qt parent.
    """

    def __init__(self, canvas: Canvas, parent: QWidget) -> None:
        super().__init__("Window presets", parent)
        self._canvas = canvas
        self.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.clear()
        picture = self._canvas.picture
        shown, found = self._canvas.shown_window, False
        for window in picture.presets if picture else ():
            name = wording.one_line(window.explanation)
            name = "Automatic" if name == AUTO else name
            action = self.addAction(f"{name}\t{_figures(window)}".replace("&", "&&"))
            action.setCheckable(True)
            ticked = not found and _same_window(window, shown)
            action.setChecked(ticked)
            found = found or ticked
            action.triggered.connect(
                lambda _checked=False, chosen=window: self._canvas.set_window(chosen)
            )
        if self.isEmpty():
            self.addAction("This image has no grey window").setEnabled(False)


class PlaneMenu(QMenu):
    """As acquired, axial, coronal, sagittal.

    Args:
        planes: Shows them.
        make_action: Makes the window's actions.
        parent: Qt parent.
    """

    def __init__(self, planes: PlaneSwitch, make_action: MakeAction, parent: QWidget) -> None:
        super().__init__("Plane", parent)
        self._planes = planes
        self.choices: dict[Plane, QAction] = {}
        for plane, key in PLANE_KEYS.items():
            action = make_action(_plane_name(plane), partial(planes.choose, plane), key)
            # A click on the plane that is shown would take its tick away.
            action.triggered.connect(lambda _checked=False: self.refresh())
            self.addAction(action)
            self.choices[plane] = action
        planes.changed.connect(self.refresh)
        self._button: QToolButton | None = None
        self.refresh()

    def put_on(self, button: QToolButton) -> None:
        """Offer the menu on a button, which tells the plane that is shown."""
        self._button = button
        button.setMenu(self)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.ensurePolished()
        # Of the longest name, so that the buttons beside it stay where they are.
        widths: list[int] = []
        for plane in (Plane.AXIAL, Plane.CORONAL, Plane.SAGITTAL):
            button.setText(f" {_plane_name(plane)}")
            widths.append(button.sizeHint().width())
        button.setMinimumWidth(max(widths))
        self.refresh()

    def refresh(self) -> None:
        """Follow what is shown."""
        wanted, possible = self._planes.wanted, self._planes.possible
        for plane, action in self.choices.items():
            action.setEnabled(plane in possible and len(possible) > 1)
            action.setChecked(plane is wanted)
        if self._button is not None:
            self._button.setEnabled(len(possible) > 1)
            text = "Plane" if wanted is Plane.ACQUIRED else _plane_name(wanted)
            self._button.setText(f" {text}")


def _plane_name(plane: Plane) -> str:
    return "As acquired" if plane is Plane.ACQUIRED else plane.value.capitalize()


def _same_window(one: Window, other: Window | None) -> bool:
    """Whether two windows show the same, whatever they are called."""
    return other is not None and replace(one, explanation="") == replace(other, explanation="")


def _figures(window: Window) -> str:
    if window.lut >= 0:
        return wording.VOI_LUT
    return f"C {wording.number(window.center)}  W {wording.number(window.width)}"
