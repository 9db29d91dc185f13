"""The docks around the canvas: their first places, their sizes, and the saved layout."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QByteArray, QEvent, QObject, QSettings, Qt, QTimer
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from app.views.widgets import PanelTitle

LAYOUT_FILE = "window.ini"
LAYOUT_VERSION = 2  # raised when docks are added or renamed: older layouts are then ignored
_AREA = Qt.DockWidgetArea
_ACROSS, _DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
_NARROW = 1200  # px of the window
_LOOKS = {
    "Studies": ("panel-left", "Ctrl+1"),
    "Attributes": ("table-properties", "Ctrl+2"),
    "Findings": ("scan-search", "Ctrl+3"),
    "Layers": ("layers", "Ctrl+5"),
    "Assistant": ("message-square", "Ctrl+4"),
}
"""Icon and shortcut of each dock, in the order of the View menu."""


class WindowDocks(QObject):
    """Puts the panels into docks of the main window.

    Args:
        window: The main window.
        middle: The widget between the docks.
        panels: Panels by name: Studies, Attributes, Findings, Layers and perhaps Assistant.

    Attributes:
        by_name: The docks, in the order of the View menu.
        titles: Title bars by name.
    """

    def __init__(self, window: QMainWindow, middle: QWidget, panels: Mapping[str, QWidget]) -> None:
        super().__init__(window)
        self._window = window
        self._middle = middle
        self._alone = 0  # px that the studies have without the attributes beside them
        self.titles: dict[str, PanelTitle] = {}
        self.by_name = {name: self._dock(name, panels[name]) for name in _LOOKS if name in panels}
        self._arrange()
        for name in ("Studies", "Attributes"):
            self.by_name[name].installEventFilter(self)

    def _dock(self, name: str, widget: QWidget) -> QDockWidget:
        dock = QDockWidget(name, self._window)
        icon, shortcut = _LOOKS[name]
        dock.setObjectName(f"dock-{name.lower()}")  # what the saved layout calls it
        dock.setProperty("icon", icon)
        dock.setProperty("shortcut", shortcut)
        self.titles[name] = PanelTitle(name, dock)
        dock.setTitleBarWidget(self.titles[name])
        dock.setWidget(widget)
        return dock

    def _arrange(self) -> None:
        window, docks = self._window, self.by_name
        window.addDockWidget(_AREA.LeftDockWidgetArea, docks["Studies"])
        window.splitDockWidget(docks["Studies"], docks["Attributes"], _ACROSS)
        docks["Attributes"].hide()
        if "Assistant" in docks:
            window.addDockWidget(_AREA.RightDockWidgetArea, docks["Assistant"])
        # Below the studies, which rarely fill their column; the chat needs its own column.
        window.splitDockWidget(docks["Studies"], docks["Findings"], _DOWN)
        window.splitDockWidget(docks["Studies"], docks["Layers"], _DOWN)
        docks["Layers"].hide()  # until an image has any

    def default_sizes(self) -> None:
        """Set the sizes of a window without a saved layout, once it is laid out."""
        docks, resize = self.by_name, self._window.resizeDocks
        resize([docks["Studies"]], [self._default_studies], _ACROSS)
        if "Assistant" in docks:
            narrow = self._window.width() < _NARROW
            resize([docks["Assistant"]], [310 if narrow else 400], _ACROSS)
        half = round(self._middle.height() * 0.5)
        resize([docks["Studies"], docks["Findings"]], [half, half], _DOWN)

    def show_layers(self, needed: bool) -> None:
        """Show the layers dock and make room for it, or hide it."""
        self.by_name["Layers"].setVisible(needed)
        if needed:
            height = self._middle.height()
            shares = {"Studies": 0.36, "Layers": 0.36, "Findings": 0.28}
            self._resize({name: round(height * share) for name, share in shares.items()}, _DOWN)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        studies, attributes = self.by_name["Studies"], self.by_name["Attributes"]
        if watched is studies and event.type() == QEvent.Type.Resize and attributes.isHidden():
            self._alone = studies.width()
        # Not when the window is shown, whose layout is restored; a floating dock needs no room.
        if watched is attributes and self._window.isVisible() and not attributes.isFloating():
            if event.type() == QEvent.Type.ShowToParent:
                self._make_room()
            elif event.type() == QEvent.Type.HideToParent:
                self._resize({"Studies": self._alone or self._default_studies}, _ACROSS)
        return False

    def _make_room(self) -> None:
        """Give the attributes width for their values and keep some for the study list."""
        wide = self._window.width() >= 1400
        studies, attributes = (250, 420) if wide else (200, 300)
        self._resize({"Studies": studies, "Attributes": attributes}, _ACROSS)

    @property
    def _default_studies(self) -> int:
        return 230 if self._window.width() < _NARROW else 290

    def _resize(self, sizes: Mapping[str, int], along: Qt.Orientation) -> None:
        """Resize docks once the docks that were just shown are laid out."""
        docks = [self.by_name[name] for name in sizes]
        numbers = list(sizes.values())
        window = self._window
        QTimer.singleShot(0, window, lambda: window.resizeDocks(docks, numbers, along))


def save_layout(window: QMainWindow, path: Path) -> None:
    """Write the geometry and docks of a window to an INI file, if that is writable."""
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    settings.setValue("window/geometry", window.saveGeometry().toBase64().toStdString())
    settings.setValue("window/state", window.saveState(LAYOUT_VERSION).toBase64().toStdString())
    settings.sync()


def restore_layout(window: QMainWindow, path: Path) -> bool:
    """Restore what `save_layout` wrote.

    Returns:
        False where the file is missing, damaged or of an older version.
    """
    settings = QSettings(str(path), QSettings.Format.IniFormat)
    geometry, state = (
        QByteArray.fromBase64(str(settings.value(f"window/{name}", "")).encode())
        for name in ("geometry", "state")
    )
    return window.restoreGeometry(geometry) and window.restoreState(state, LAYOUT_VERSION)
