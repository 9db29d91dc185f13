"""The window's actions, and the menus and toolbar that offer them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.views import icons, wording
from app.views.canvas.canvas import Canvas
from app.views.canvas.image_view import WHEEL_STEP
from app.views.canvas.plane_switch import PlaneSwitch
from app.views.image_menus import PlaneMenu, PresetMenu
from app.views.mark_actions import HeatMenu, MarkActions, show_menu
from app.views.toolbar import Toolbar
from app.views.widgets import plain_tip
from app.workspace import measurements
from app.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Commands:
    """What the window itself can do; the rest the actions do on canvas and workspace."""

    open_files: Callable[[], object]
    open_folder: Callable[[], object]
    open_demo: Callable[[], object] | None
    open_settings: Callable[[], object] | None
    open_audit: Callable[[], object] | None
    close_study: Callable[[], object]
    close_all: Callable[[], object]
    shortcuts: Callable[[], object]
    about: Callable[[], object]
    key_image: Callable[[int], object]
    has_key_images: Callable[[], bool]
    step_series: Callable[[int], object]
    open_models: Callable[[], object] | None = None
    segment_marked: Callable[[], object] | None = None


class WindowActions:
    """Every action of the window, made once and offered in menus and toolbar.

    Args:
        window: The main window.
        canvas: What image actions act on.
        planes: In which plane it is seen.
        workspace: The models.
        commands: What the window can do.
        docks: Docks by name, in the order of the View menu.
    """

    def __init__(
        self,
        window: QMainWindow,
        canvas: Canvas,
        planes: PlaneSwitch,
        workspace: Workspace,
        commands: Commands,
        docks: dict[str, QDockWidget],
    ) -> None:
        self._window = window
        self._canvas = canvas
        self._workspace = workspace
        self._commands = commands
        self._docks = docks
        self._playing = False
        self._make_file()
        self._make_image()
        self._make_tools()
        self._make_findings()
        self.presets = PresetMenu(canvas, window)
        self.plane_menu = PlaneMenu(
            planes, lambda text, run, key: self._action(text, run, key, checkable=True), window
        )
        self._make_menus()
        self.toolbar = self._make_toolbar()
        self._disconnects = [
            workspace.commands.changed.connect(self.refresh),
            workspace.annotations.changed.connect(self.refresh),
            workspace.annotations.selection_changed.connect(lambda _id: self.refresh()),
            workspace.viewport.display_changed.connect(self.refresh),
            workspace.studies.changed.connect(self.refresh),
        ]
        canvas.picture_changed.connect(self.refresh)
        canvas.status_changed.connect(self.refresh)
        canvas.scroller.playing_changed.connect(lambda _on: self.refresh())
        canvas.measuring.tool_changed.connect(lambda _tool: self.refresh())
        canvas.menu_wanted.connect(self._show_menu)
        self.refresh()

    def close(self) -> None:
        """Stop listening to the workspace."""
        for disconnect in self._disconnects:
            disconnect()
        self._disconnects.clear()

    def _action(
        self,
        text: str,
        run: Callable[[], object],
        shortcut: str = "",
        icon: str = "",
        *,
        checkable: bool = False,
    ) -> QAction:
        action = QAction(text, self._window)
        if icon:
            action.setIcon(icons.icon(icon))
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
        action.setCheckable(checkable)
        keys = f"  ({action.shortcut().toString()})" if shortcut else ""
        action.setToolTip(plain_tip(text.rstrip("…") + keys))
        action.triggered.connect(lambda _checked=False: run())
        return action

    def _make_file(self) -> None:
        do = self._commands
        self.open_files = self._action("Open files…", do.open_files, "Ctrl+O", "folder-open")
        self.open_folder = self._action("Open folder…", do.open_folder, "Ctrl+Shift+O")
        self.open_demo = self._action("Open the demo study", do.open_demo or (lambda: None))
        self.open_demo.setVisible(do.open_demo is not None)
        self.open_settings = self._action("Settings…", do.open_settings or (lambda: None), "Ctrl+,")
        self.open_settings.setVisible(do.open_settings is not None)
        self.close_study = self._action("Close study", do.close_study, "Ctrl+W")
        self.close_all = self._action("Close all studies", do.close_all, "Ctrl+Shift+W")
        self.quit = self._action("Quit", self._window.close, "Ctrl+Q")
        self.shortcuts = self._action("Keyboard and mouse", do.shortcuts, "F1", "keyboard")
        self.audit = self._action(
            "Audit log…", do.open_audit or (lambda: None), icon="shield-check"
        )
        self.audit.setVisible(do.open_audit is not None)
        self.about = self._action("About Sightline", do.about, icon="info")

    def _make_image(self) -> None:
        canvas, scroll = self._canvas, self._canvas.scroller
        self.invert = self._action("Invert", canvas.toggle_invert, "I", "contrast", checkable=True)
        self.reset = self._action("Reset view", canvas.reset, "R", "rotate-ccw")
        self.fit = self._action("Fit to window", canvas.fit, "F", "maximize")
        self.one_to_one = self._action("One to one", canvas.one_to_one, "1")
        self.one_to_one.setIconText("1:1")
        self.zoom_in = self._action(
            "Zoom in", lambda: canvas.zoom_by(WHEEL_STEP), "Ctrl++", "zoom-in"
        )
        self.zoom_out = self._action(
            "Zoom out", lambda: canvas.zoom_by(1 / WHEEL_STEP), "Ctrl+-", "zoom-out"
        )
        self.flip_h = self._action(
            "Flip left-right", lambda: canvas.flip(across=True), "H", "flip-horizontal"
        )
        self.flip_v = self._action(
            "Flip top-bottom", lambda: canvas.flip(across=False), "V", "flip-vertical"
        )
        self.turn_left = self._action(
            "Rotate left", lambda: canvas.rotate(-1), "[", "rotate-ccw-square"
        )
        self.turn_right = self._action(
            "Rotate right", lambda: canvas.rotate(1), "]", "rotate-cw-square"
        )
        measure = canvas.measuring.toggle
        self.ruler = self._action(
            "Measure a length",
            lambda: measure(measurements.RULER),
            "L",
            "ruler",
            checkable=True,
        )
        self.angle = self._action(
            "Measure an angle",
            lambda: measure(measurements.ANGLE),
            "Shift+L",
            "angle",
            checkable=True,
        )
        self.play = self._action("Play cine", scroll.toggle, "P", "play", checkable=True)
        self.faster = self._action("Faster cine", lambda: scroll.change_speed(1), ".")
        self.slower = self._action("Slower cine", lambda: scroll.change_speed(-1), ",")
        self.next = self._action("Next image or frame", lambda: scroll.step(1), "Ctrl+Right")
        self.previous = self._action(
            "Previous image or frame", lambda: scroll.step(-1), "Ctrl+Left"
        )
        do = self._commands
        self.next_key = self._action("Next key image", lambda: do.key_image(1), "K", "star")
        self.previous_key = self._action("Previous key image", lambda: do.key_image(-1), "Shift+K")
        self.next_series = self._action("Next series", lambda: do.step_series(1), "N")
        self.previous_series = self._action(
            "Previous series", lambda: do.step_series(-1), "Shift+N"
        )
        self._on_image = (
            self.invert,
            self.reset,
            self.fit,
            self.one_to_one,
            self.zoom_in,
            self.zoom_out,
            self.flip_h,
            self.flip_v,
            self.turn_left,
            self.turn_right,
            self.ruler,
            self.angle,
        )

    def _make_tools(self) -> None:
        do = self._commands
        self.marks = MarkActions(self._action, self._canvas, self._workspace, do.segment_marked)
        self.models = self._action("Models…", do.open_models or (lambda: None), icon="cpu")
        self.models.setVisible(do.open_models is not None)
        self.heat = HeatMenu(self._action, self._canvas, self._window)

    def _make_findings(self) -> None:
        annotations, stack = self._workspace.annotations, self._workspace.commands
        self.undo = self._action("Undo", stack.undo, "Ctrl+Z", "undo-2")
        self.redo = self._action("Redo", stack.redo, "Ctrl+Shift+Z", "redo-2")
        self.show_findings = self._action(
            "Show all findings", lambda: annotations.set_visible(self._finding_ids(), True)
        )
        self.hide_findings = self._action(
            "Hide all findings", lambda: annotations.set_visible(self._finding_ids(), False)
        )
        self.delete_finding = self._action(
            "Delete selected finding", lambda: annotations.remove([annotations.selected])
        )
        self.delete_findings = self._action(
            "Delete all findings", lambda: annotations.remove(self._finding_ids())
        )

    def _finding_ids(self) -> list[str]:
        return [item.finding.id for item in self._workspace.annotations.all()]

    def _make_menus(self) -> None:
        bar = self._window.menuBar()
        parts: dict[str, list[QAction | QMenu | None]] = {
            "File": [
                self.open_files,
                self.open_folder,
                self.open_demo,
                None,
                self.close_study,
                self.close_all,
                None,
                self.open_settings,
                self.quit,
            ],
            "View": [
                *(self._toggle(name, dock) for name, dock in self._docks.items()),
                None,
                self.fit,
                self.one_to_one,
                self.zoom_in,
                self.zoom_out,
            ],
            "Image": [
                self.presets,
                self.plane_menu,
                self.invert,
                self.reset,
                None,
                self.flip_h,
                self.flip_v,
                self.turn_left,
                self.turn_right,
                None,
                self.ruler,
                self.angle,
                None,
                self.previous,
                self.next,
                self.previous_series,
                self.next_series,
                self.previous_key,
                self.next_key,
                None,
                self.play,
                self.faster,
                self.slower,
            ],
            "Findings": [
                self.undo,
                self.redo,
                None,
                self.show_findings,
                self.hide_findings,
                self.heat,
                None,
                self.delete_finding,
                self.delete_findings,
            ],
            "Tools": [
                *self.marks.drawing,
                self.marks.segment,
                None,
                self.models,
            ],
            "Help": [self.shortcuts, self.audit, self.about],
        }
        for name, entries in parts.items():
            menu = bar.addMenu(f"&{name}")
            for entry in entries:
                if entry is None:
                    menu.addSeparator()
                elif isinstance(entry, QMenu):
                    menu.addMenu(entry)
                else:
                    menu.addAction(entry)

    def _show_menu(self, place: QPoint) -> None:
        """What can be done with the image and what is marked on it, at `place` of the screen."""
        groups = (
            (self.marks.segment,),
            self.marks.drawing,
            (self.ruler, self.angle),
            (self.delete_finding,),
            (self.fit, self.reset, self.invert),
        )
        show_menu(place, groups, self._window)

    def _toggle(self, name: str, dock: QDockWidget) -> QAction:
        action = dock.toggleViewAction()
        action.setText(name)
        action.setIcon(icons.icon(str(dock.property("icon"))))
        action.setShortcut(QKeySequence(str(dock.property("shortcut"))))
        action.setToolTip(plain_tip(f"{name}  ({action.shortcut().toString()})"))
        return action

    def _make_toolbar(self) -> Toolbar:
        bar = Toolbar(self._window)
        bar.addWidget(self._text_button("Open", "folder-open", self.open_files))
        bar.addSeparator()
        window_button = self._text_button("Window", "sun-medium", None)
        window_button.setMenu(self.presets)
        window_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        window_button.setToolTip(plain_tip("Window presets; drag on the image to set one by hand"))
        bar.addWidget(window_button)
        self.window_button = window_button
        plane_button = self._text_button("Plane", "box", None)
        plane_button.setToolTip(plain_tip("Sections of the series: axial, coronal, sagittal"))
        bar.addWidget(plane_button)
        self.plane_menu.put_on(plane_button)
        self.plane_button = plane_button
        bar.addAction(self.invert)
        bar.addAction(self.reset)
        bar.addSeparator()
        bar.addAction(self.fit)
        bar.addAction(self.one_to_one)
        bar.addSeparator()
        for action in (self.flip_h, self.flip_v, self.turn_right):
            bar.addAction(action)
        bar.addSeparator()
        bar.addAction(self.ruler)
        bar.addAction(self.angle)
        bar.addSeparator()
        bar.addAction(self.marks.box)
        bar.addAction(self.marks.point)
        if self._commands.segment_marked is not None:
            bar.addAction(self.marks.segment)
        bar.addSeparator()
        bar.addAction(self.play)
        bar.addAction(self.undo)
        bar.addAction(self.redo)
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(spacer)
        for dock in self._docks.values():
            bar.addAction(dock.toggleViewAction())
        self._window.addToolBar(bar)
        bar.settle()
        return bar

    def _text_button(self, text: str, icon: str, action: QAction | None) -> QToolButton:
        button = QToolButton()
        button.setText(f" {text}")  # Qt sets the icon too close to the text
        button.setIcon(icons.icon(icon))
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        if action is not None:
            button.setToolTip(action.toolTip())
            button.clicked.connect(action.trigger)
        return button

    def refresh(self) -> None:
        """Follow the models: what is possible, and what is on."""
        stack, annotations = self._workspace.commands, self._workspace.annotations
        has_image = self._canvas.picture is not None
        for action in self._on_image:
            action.setEnabled(has_image)
        self.window_button.setEnabled(self._canvas.shown_window is not None)
        self.presets.menuAction().setEnabled(self._canvas.shown_window is not None)
        self.invert.setChecked(self._workspace.viewport.display.invert)
        tool = self._canvas.measuring.tool
        self.ruler.setChecked(tool == measurements.RULER)
        self.angle.setChecked(tool == measurements.ANGLE)
        self.marks.refresh(has_image=has_image)
        scroll = self._canvas.scroller
        for action in (self.play, self.faster, self.slower):
            action.setEnabled(scroll.playable)
        self.play.setChecked(scroll.playing)
        # An icon set anew at every step of a drag would flicker.
        if scroll.playing != self._playing:
            self._playing = scroll.playing
            self.play.setIcon(icons.icon("pause" if scroll.playing else "play"))
        for action in (self.next, self.previous):
            action.setEnabled(scroll.scrollable)
        for action in (self.next_key, self.previous_key):
            action.setEnabled(self._commands.has_key_images())
        some = bool(self._workspace.studies.all)
        for action in (self.close_study, self.close_all, self.next_series, self.previous_series):
            action.setEnabled(some)
        for action, label in ((self.undo, stack.undo_label), (self.redo, stack.redo_label)):
            action.setEnabled(bool(label))
        self.undo.setStatusTip(wording.one_line(stack.undo_label))
        self.redo.setStatusTip(wording.one_line(stack.redo_label))
        for action in (self.show_findings, self.hide_findings, self.delete_findings):
            action.setEnabled(len(annotations) > 0)
        self.delete_finding.setEnabled(bool(annotations.selected))
