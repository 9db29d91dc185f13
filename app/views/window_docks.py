"""The docks of the main window, and the rail at its edge to which they collapse where it is narrow.

A wide window keeps its docks beside the image. A narrow one has room for one dock at a time: the
others are icons on the rail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QRectF, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QColor,
    QFontMetricsF,
    QGuiApplication,
    QKeySequence,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QTabBar,
    QTabWidget,
    QToolBar,
    QToolButton,
    QWidget,
)
from shiboken6 import isValid

from app.views import icons
from app.views.theme import SPACE, THEME, TYPE, ui_font
from app.views.translation import tr, translatable
from app.views.widgets import PanelTitle, plain_tip

NARROW_WINDOW = 1200
"""Px of the window below which only one dock is open, and the rail has the others."""

_LEAST_MIDDLE = 480  # px of the middle; what is over it, docks may take

_AREA = Qt.DockWidgetArea
_NATIVE = QKeySequence.SequenceFormat.NativeText
_ACROSS, _DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
_WIDE = {
    "Studies": 270,
    "Attributes": 270,
    "Findings": 270,
    "Layers": 270,
    "Record": 400,
    "Diagnosis": 420,
    "Report": 420,
    "Assistant": 360,
}
_NARROW = {
    "Studies": 240,
    "Attributes": 320,
    "Findings": 280,
    "Layers": 260,
    "Record": 340,
    "Diagnosis": 360,
    "Report": 360,
    "Assistant": 320,
}
_DOCK_ICONS = {
    translatable("Studies"): ("panel-left", "Ctrl+1"),
    translatable("Attributes"): ("table-properties", "Ctrl+2"),
    translatable("Findings"): ("scan-search", "Ctrl+3"),
    translatable("Layers"): ("layers", "Ctrl+5"),
    translatable("Record"): ("clipboard-list", "Ctrl+6"),
    translatable("Diagnosis"): ("git-branch", "Ctrl+7"),
    translatable("Report"): ("file-text", "Ctrl+8"),
    translatable("Assistant"): ("message-square", "Ctrl+4"),
}
"""Icon and shortcut of each dock, in the order of the View menu."""

_FULL = 1600  # px of the window from which docks have their full width
_LEAST_SHARE = 0.85  # of it, in a smaller one
_FIRST = "Studies"  # open in a narrow window that has not been used before
_MOST_COUNTED = 99


class WindowDocks(QObject):
    """Puts `panels`, a map from dock name to panel, into docks around the widget `middle`.

    Attributes:
        actions: For each dock, the action that opens it, brings it to the front, or closes it.
        narrow: Whether the window is narrow; None until it is shown.
        rail: The bar of icons; hidden in a wide window.
    """

    narrow_changed = Signal(bool)

    def __init__(self, window: QMainWindow, middle: QWidget, panels: Mapping[str, QWidget]) -> None:
        super().__init__(window)
        self._window = window
        self._middle = middle
        self._wide_widths: dict[str, int] = {}  # px that docks were given in a wide window
        self._narrow_widths: dict[str, int] = {}
        self._started = False
        self.narrow: bool | None = None
        self._last = _FIRST  # the dock that was opened last
        self._collapsed: list[str] = []  # docks that return once the window is wide
        self._put_away: list[str] = []  # docks that were hidden all at once
        self.titles: dict[str, PanelTitle] = {}
        self.actions: dict[str, QAction] = {}
        self.by_name = {
            name: self._dock(name, panels[name]) for name in _DOCK_ICONS if name in panels
        }
        self.rail = DockRail(window, self.actions)
        window.addToolBar(Qt.ToolBarArea.LeftToolBarArea, self.rail)
        self._arrange()
        for dock in self.by_name.values():
            dock.installEventFilter(self)

    def _dock(self, name: str, widget: QWidget) -> QDockWidget:
        dock = QDockWidget(tr(name), self._window)
        icon, shortcut = _DOCK_ICONS[name]
        dock.setObjectName(f"dock-{name.lower()}")  # what the saved layout calls it
        self.titles[name] = PanelTitle(tr(name), dock)
        dock.setTitleBarWidget(self.titles[name])
        dock.setWidget(widget)
        action = QAction(icons.icon(icon), tr(name), self._window)
        action.setCheckable(True)
        action.setShortcut(QKeySequence(shortcut))
        action.setToolTip(plain_tip(f"{tr(name)}  ({action.shortcut().toString(_NATIVE)})"))
        action.triggered.connect(partial(self._toggle, name))
        dock.visibilityChanged.connect(self._check)
        self.actions[name] = action
        return dock

    def _arrange(self) -> None:
        window, docks = self._window, self.by_name
        window.setTabPosition(_AREA.LeftDockWidgetArea, QTabWidget.TabPosition.North)
        window.setTabPosition(_AREA.RightDockWidgetArea, QTabWidget.TabPosition.North)
        window.setDocumentMode(True)
        window.addDockWidget(_AREA.LeftDockWidgetArea, docks["Studies"])
        if "Assistant" in docks:
            window.addDockWidget(_AREA.RightDockWidgetArea, docks["Assistant"])
        # Below the studies, which rarely fill their column; the chat needs its own column.
        window.splitDockWidget(docks["Studies"], docks["Findings"], _DOWN)
        window.splitDockWidget(docks["Studies"], docks["Layers"], _DOWN)
        window.tabifyDockWidget(docks["Studies"], docks["Attributes"])
        docks["Attributes"].hide()
        docks["Layers"].hide()  # until an image has any
        window.tabifyDockWidget(docks["Studies"], docks["Record"])
        window.tabifyDockWidget(docks["Studies"], docks["Diagnosis"])
        window.tabifyDockWidget(docks["Studies"], docks["Report"])
        docks["Diagnosis"].hide()
        docks["Report"].hide()
        docks["Record"].hide()  # until a record is open
        self.actions["Record"].setVisible(False)

    # Opening and closing

    def _toggle(self, name: str) -> None:
        """Open a dock, bring it to the front of its tabs, or close it if it is seen."""
        dock = self.by_name[name]
        if dock.isHidden():
            dock.show()
        elif self._behind(dock):
            dock.raise_()
        else:
            dock.close()
        self._check()

    def _check(self, _seen: bool = False) -> None:
        if isValid(self._window) and self._window.isVisible():
            for name, dock in self.by_name.items():
                self.actions[name].setChecked(not dock.isHidden() and not self._behind(dock))

    def _behind(self, dock: QDockWidget) -> bool:
        # Qt moves such a dock out of the window.
        return bool(self._window.tabifiedDockWidgets(dock)) and dock.geometry().right() < 0

    def _shown(self) -> list[str]:
        return [name for name, dock in self.by_name.items() if not dock.isHidden()]

    def _show_only(self, names: Iterable[str]) -> None:
        wanted = set(names)
        for name, dock in self.by_name.items():
            if not dock.isFloating():
                dock.setVisible(name in wanted)

    @property
    def _in_use(self) -> str:
        """The dock that stays open in a narrow window: that with the focus, or the last opened."""
        shown = self._shown()
        focus = self._window.focusWidget()
        held = [name for name in shown if focus and self.by_name[name].isAncestorOf(focus)]
        last = [name for name in (self._last, _FIRST) if name in shown]
        return next(iter((*held, *last, *shown)), "")

    def mark_assistant(self) -> None:
        """Mark the assistant on the rail until it is opened: it asks something, or has answered."""
        if self.by_name["Assistant"].isHidden():
            self.rail.buttons["Assistant"].set_count(1)

    def toggle_all(self) -> None:
        """Hide all docks, so that the images have the room; or show those again."""
        shown = self._shown()
        for name in shown or self._put_away:
            self.by_name[name].setVisible(not shown)
        self._put_away = shown

    def show_panels(self, shown: bool) -> None:
        """Show the panels that were put away, and those that a window begins with; or hide all."""
        if shown != bool(self._shown()):
            self.toggle_all()
        for name in ("Studies", "Findings") if shown else ():
            self.by_name[name].setVisible(True)

    def show_layers(self, needed: bool) -> None:
        """Show the layers dock and make room, or hide it; a narrow window has it on the rail."""
        if self.narrow:
            self._collapsed = [one for one in self._collapsed if one != "Layers"]
            self._collapsed += ["Layers"] if needed else []
        if not (self.narrow and needed):
            last = self._last
            self.by_name["Layers"].setVisible(needed)
            self._last = last  # the user did not open it
        if needed and not self.narrow:
            height = self._middle.height()
            shares = {"Studies": 0.36, "Layers": 0.36, "Findings": 0.28}
            self._resize({name: round(height * share) for name, share in shares.items()}, _DOWN)

    def show_record(self, needed: bool) -> None:
        """Show the record beside the image and make room for it, or hide it with the last."""
        self.by_name["Record"].setVisible(needed)
        self.actions["Record"].setVisible(needed)
        if needed and not self.narrow:
            self._make_room("Record")

    def show_diagnosis(self) -> None:
        """Show the diagnosis beside the image; a narrow window marks it on the rail instead."""
        dock = self.by_name["Diagnosis"]
        if self.narrow and dock.isHidden():
            self.rail.buttons["Diagnosis"].set_count(1)
        else:
            dock.show()
            dock.raise_()

    def _make_room(self, name: str) -> None:
        """Give a dock in the place of the studies its width, and most of the height."""
        self._resize({name: self._width_of(name)}, _ACROSS)
        height = self._middle.height()
        shares = {name: 0.76, "Findings": 0.24}
        self._resize({one: round(height * share) for one, share in shares.items()}, _DOWN)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(watched, QDockWidget):
            return False
        name = next(name for name, dock in self.by_name.items() if dock is watched)
        dragged = QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton
        if event.type() == QEvent.Type.Resize and dragged:
            widths = self._narrow_widths if self.narrow else self._wide_widths
            widths[name] = watched.width()
        # Not when the window is shown, whose layout is restored.
        elif event.type() == QEvent.Type.ShowToParent and self._started:
            self._opened(name, watched)
        return False

    def _opened(self, name: str, dock: QDockWidget) -> None:
        """Bring a dock that was just opened to the front; in a narrow window, collapse others."""
        self._last = name
        if name in ("Assistant", "Diagnosis"):
            self.rail.buttons[name].set_count(0)
        if name in ("Diagnosis", "Report") and not self.narrow and not dock.isFloating():
            self._make_room(name)
        QTimer.singleShot(0, dock, lambda: self._bring_forward(dock))
        if self.narrow and not dock.isFloating():
            self._show_only([name])
            self._resize({name: self._width_of(name)}, _ACROSS)

    def _bring_forward(self, dock: QDockWidget) -> None:
        if self._window.tabifiedDockWidgets(dock) and dock.isVisible():
            dock.raise_()
        for tabs in self._window.findChildren(QTabBar):
            if not tabs.accessibleName():
                tabs.setAccessibleName(tr("Panels that share a place"))

    # Width

    def _width_of(self, name: str) -> int:
        """Return the width that a dock is to have in px: as it was given, else by the window's."""
        if self.narrow:
            return self._narrow_widths.get(name, _NARROW[name])
        share = min(max(self._window.width() / _FULL, _LEAST_SHARE), 1.0)
        return self._wide_widths.get(name, round(_WIDE[name] * share))

    def start(self, *, default: bool) -> None:
        """Set the default dock sizes, or keep the restored ones; call once the window is shown."""
        self._started = True
        self._check()
        if default:
            self._default_sizes()
        elif not self.narrow:
            shown = {name: self.by_name[name] for name in self._shown()}
            self._wide_widths |= {
                name: dock.width() for name, dock in shown.items() if not self._behind(dock)
            }

    def follow_width(self) -> None:
        """Collapse the docks to the rail if the window has become narrow, or bring them back."""
        narrow = self._window.width() < NARROW_WINDOW
        if narrow == self.narrow:
            return
        first, self.narrow = self.narrow is None, narrow
        self.rail.setVisible(narrow)
        self.narrow_changed.emit(narrow)
        shown = self._shown()
        away = bool(self._put_away) and not shown
        if narrow:
            self._collapsed = self._collapsed or shown or self._put_away
            one = [self._in_use] if shown else []
            self._put_away = self._collapsed[:1] if away else []
            self._show_only(one)
            self._resize({name: self._width_of(name) for name in one}, _ACROSS)
        elif not first or self._collapsed:
            back = dict.fromkeys((*self._collapsed, *shown))
            self._collapsed = []
            self._put_away = list(back) if away else []
            self._show_only(() if away else back)
            self._resize({name: self._width_of(name) for name in back}, _ACROSS)

    def widen(self) -> None:
        """Widen docks that have less than their width, as far as there is room now."""
        window, sides = self._window, (_AREA.LeftDockWidgetArea, _AREA.RightDockWidgetArea)
        spare = self._middle.width() - _LEAST_MIDDLE
        if not self._started or spare <= 0 or self.narrow:
            return
        columns = {
            dock.x(): (dock, self._width_of(name) - dock.width())
            for name, dock in self.by_name.items()
            if dock.isVisible()
            and not dock.isFloating()
            and not self._behind(dock)
            and window.dockWidgetArea(dock) in sides
        }
        narrowed = [(dock, missing) for dock, missing in columns.values() if missing > 0]
        share = min(1.0, spare / max(1, sum(missing for _, missing in narrowed)))
        widths = [dock.width() + int(missing * share) for dock, missing in narrowed]
        window.resizeDocks([dock for dock, _ in narrowed], widths, _ACROSS)

    def _default_sizes(self) -> None:
        docks, resize = self.by_name, self._window.resizeDocks
        sides = [name for name in ("Studies", "Assistant") if name in docks]
        widths = [self._width_of(name) for name in sides]
        resize([docks[name] for name in sides], widths, _ACROSS)
        half = round(self._middle.height() * 0.5)
        resize([docks["Studies"], docks["Findings"]], [half, half], _DOWN)

    def _resize(self, sizes: Mapping[str, int], along: Qt.Orientation) -> None:
        """Resize docks once the docks that were just shown are laid out."""
        docks = [self.by_name[name] for name in sizes]
        numbers = list(sizes.values())
        window = self._window
        QTimer.singleShot(0, window, lambda: window.resizeDocks(docks, numbers, along))

    # What is remembered

    def save(self, path: Path) -> None:
        """Note in an INI file which docks are open apart from those that are shown now."""
        settings = QSettings(str(path), QSettings.Format.IniFormat)
        away = self._put_away if not self._shown() else []
        for key, names in (("collapsed", self._collapsed), ("away", away)):
            settings.setValue(f"docks/{key}", ",".join(names))
        settings.setValue("docks/last", self._last)
        settings.sync()

    def restore(self, path: Path) -> None:
        """Take what `save` has noted; docks that were hidden all at once are shown again."""
        settings = QSettings(str(path), QSettings.Format.IniFormat)
        known = set(self.by_name) - {"Layers", "Record"}  # whatever the last image had
        collapsed, away = (
            [one for one in str(settings.value(f"docks/{key}", "")).split(",") if one in known]
            for key in ("collapsed", "away")
        )
        self._collapsed = collapsed
        last = str(settings.value("docks/last", ""))
        self._last = last if last in known else _FIRST
        self.by_name["Layers"].hide()
        self.by_name["Record"].hide()
        for name in away:
            self.by_name[name].show()


class DockRail(QToolBar):
    """A slim vertical bar with an icon for each dock, from which it opens."""

    def __init__(self, window: QMainWindow, actions: Mapping[str, QAction]) -> None:
        super().__init__(tr("Panels"), window)
        self.setObjectName("rail")
        self.setOrientation(Qt.Orientation.Vertical)
        self.setMovable(False)
        self.setIconSize(QSize(SPACE.icon, SPACE.icon))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        if (layout := self.layout()) is not None:  # Qt has taken the margins of any toolbar
            layout.setContentsMargins(SPACE.xs, SPACE.xs, SPACE.xs, SPACE.xs)
        self.toggleViewAction().setVisible(False)
        self.buttons: dict[str, RailButton] = {}
        for name, action in actions.items():
            button = RailButton(action)
            self.buttons[name] = button
            self.addWidget(button)
        more = self.findChild(QToolButton, "qt_toolbar_ext_button")
        if more is not None:  # in a window of very little height
            more.setIcon(icons.icon("chevron-down"))
            more.setToolTip(plain_tip(tr("More panels")))
            more.setAccessibleName(tr("More panels"))
        self.hide()


class RailButton(QToolButton):
    """The button of one dock on the rail, with the number of things in it as a badge."""

    def __init__(self, action: QAction) -> None:
        super().__init__()
        self.setDefaultAction(action)
        self.setAutoRaise(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._name = action.text()
        self.count = 0
        self.set_count(0)

    def set_count(self, count: int) -> None:
        self.count = count
        self.setAccessibleName(f"{self._name}, {count}" if count else self._name)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.count:
            return
        text = str(self.count) if self.count <= _MOST_COUNTED else f"{_MOST_COUNTED}+"
        font = ui_font(TYPE.caption - 2)
        width = max(14.0, QFontMetricsF(font).horizontalAdvance(text) + 6)
        badge = QRectF(self.width() - width - 1, 1, width, 14)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(THEME.accent))
        painter.drawRoundedRect(badge, 7, 7)
        painter.setPen(QColor(THEME.accent_text))
        painter.setFont(font)
        painter.drawText(badge, Qt.AlignmentFlag.AlignCenter, text)
        painter.end()
