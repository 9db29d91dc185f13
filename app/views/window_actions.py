"""The window's actions, and the menus and toolbar that offer them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QDockWidget,
    QMainWindow,
    QMenu,
    QToolButton,
)

from app.views import icons, wording
from app.views.canvas.canvas import Canvas
from app.views.canvas.plane_switch import PlaneSwitch
from app.views.image_actions import ImageActions, ScrollActions
from app.views.image_menus import PlaneMenu, PresetMenu
from app.views.mark_actions import HeatMenu, MarkActions, show_menu
from app.views.toolbar import Toolbar
from app.views.widgets import plain_tip
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
        do, canvas, workspace = self._commands, self._canvas, self._workspace
        self.image = ImageActions(self._action, canvas, workspace)
        self.scroll = ScrollActions(
            self._action,
            canvas,
            workspace,
            key_image=do.key_image,
            has_key_images=do.has_key_images,
            step_series=do.step_series,
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
        bar, image, scroll = self._window.menuBar(), self.image, self.scroll
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
                image.fit,
                image.one_to_one,
                image.zoom_in,
                image.zoom_out,
            ],
            "Image": [
                self.presets,
                self.plane_menu,
                image.invert,
                image.reset,
                None,
                image.flip_h,
                image.flip_v,
                image.turn_left,
                image.turn_right,
                None,
                image.ruler,
                image.angle,
                None,
                scroll.previous,
                scroll.next,
                scroll.previous_series,
                scroll.next_series,
                scroll.previous_key,
                scroll.next_key,
                None,
                scroll.play,
                scroll.faster,
                scroll.slower,
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
        image = self.image
        groups = (
            (self.marks.segment,),
            self.marks.drawing,
            (image.ruler, image.angle),
            (self.delete_finding,),
            (image.fit, image.reset, image.invert),
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
        bar, image, scroll = Toolbar(self._window), self.image, self.scroll
        bar.add_worded("Open", "folder-open", self.open_files.toolTip()).clicked.connect(
            self.open_files.trigger
        )
        bar.addSeparator()
        tip = plain_tip("Window presets; drag on the image to set one by hand")
        self.window_button = bar.add_worded("Window", "sun-medium", tip)
        self.window_button.setMenu(self.presets)
        self.window_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        tip = plain_tip("Sections of the series: axial, coronal, sagittal")
        self.plane_button = bar.add_worded("Plane", "box", tip)
        self.plane_menu.put_on(self.plane_button)
        marking = [self.marks.box, self.marks.point]
        if self._commands.segment_marked is not None:
            marking.append(self.marks.segment)
        bar.add_groups(
            (image.invert, image.reset),
            (image.fit, image.one_to_one),
            (image.flip_h, image.flip_v, image.turn_right),
            (image.ruler, image.angle),
            marking,
            (scroll.play, self.undo, self.redo),
        )
        bar.add_space()
        bar.addActions([dock.toggleViewAction() for dock in self._docks.values()])
        self._window.addToolBar(bar)
        bar.settle()
        return bar

    def refresh(self) -> None:
        """Follow the models: what is possible, and what is on."""
        stack, annotations = self._workspace.commands, self._workspace.annotations
        has_image = self._canvas.picture is not None
        self.window_button.setEnabled(self._canvas.shown_window is not None)
        self.presets.menuAction().setEnabled(self._canvas.shown_window is not None)
        self.image.refresh(has_image=has_image)
        self.marks.refresh(has_image=has_image)
        self.scroll.refresh()
        some = bool(self._workspace.studies.all)
        for action in (self.close_study, self.close_all):
            action.setEnabled(some)
        for action, label in ((self.undo, stack.undo_label), (self.redo, stack.redo_label)):
            action.setEnabled(bool(label))
        self.undo.setStatusTip(wording.one_line(stack.undo_label))
        self.redo.setStatusTip(wording.one_line(stack.redo_label))
        for action in (self.show_findings, self.hide_findings, self.delete_findings):
            action.setEnabled(len(annotations) > 0)
        self.delete_finding.setEnabled(bool(annotations.selected))
