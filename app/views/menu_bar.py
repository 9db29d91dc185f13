"""The main window's actions, and the menus and toolbar that offer them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QPoint, QSize, Qt
from PySide6.QtGui import QAction, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QMenu, QPushButton, QSizePolicy, QToolBar, QToolButton, QWidget

from app.imaging.pixels.windows import AUTO
from app.imaging.types import Content, Plane, Window
from app.views import icons, theme, wording
from app.views.canvas import colormaps, heatmap_legend, mouse_gestures
from app.views.canvas.annotation_layer import AnnotationLayer
from app.views.canvas.canvas import BRUSH_KEYS, Canvas
from app.views.canvas.channel_panel import show_together, step_channel
from app.views.canvas.drawing_tool import HINTS
from app.views.canvas.image_view import WHEEL_STEP
from app.views.canvas.magnifier import HOLD_KEY
from app.views.canvas.scrolling import Scroller
from app.views.mark_dialogs import MarkCommands
from app.views.mark_menu import MarkMenu
from app.views.review_menu import ReviewMenu
from app.views.screen_calibration import TrueSize
from app.views.shortcuts import Shortcuts, names_of
from app.views.theme import SPACE
from app.views.translation import LANGUAGES, SYSTEM, tr, translatable
from app.views.viewports.layout_menu import LayoutMenu, LinkMenu
from app.views.viewports.viewport_frame import ViewportFrame
from app.views.widgets import plain_tip
from app.views.window_docks import WindowDocks
from app.workspace import drawing
from app.workspace.viewport import DATA

if TYPE_CHECKING:
    from app.views.main_window import MainWindow

PLANE_KEYS = {Plane.ACQUIRED: "O", Plane.AXIAL: "Shift+A", Plane.CORONAL: "C", Plane.SAGITTAL: "S"}
SCHEMES = {
    "system": translatable("System"),
    "dark": translatable("Dark"),
    "light": translatable("Light"),
}
_TEXT_BESIDE_ICON = Qt.ToolButtonStyle.ToolButtonTextBesideIcon
NATIVE = QKeySequence.SequenceFormat.NativeText
_ICON_ONLY = Qt.ToolButtonStyle.ToolButtonIconOnly


class _ToolAction(QAction):
    """A drawing tool: a click on its button puts it away, its key always takes it in hand."""

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Shortcut and self.isChecked():
            return True  # put away by a second press, the next drag would change the window
        return super().event(event)


class MainActions:
    """All actions of the main window, each created once and offered in menus and on the toolbar."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._workspace = window.workspace
        self._make_window_actions()
        self._make_image_actions()
        self._make_scroll_actions()
        self._make_display_actions()
        self._make_drawing_actions()
        self._make_finding_actions()
        self.mark_menu = MarkMenu(window, self._action)
        self.edit_presets = self._action(tr("Edit presets…"), window.edit_presets)
        self.presets = PresetMenu(window, self.edit_presets)
        self.colormaps = ColormapMenu(window, self._action)
        self.plane_menu = PlaneMenu(window, self._action)
        self.heat = HeatmapMenu(window, self._action)
        layout = window.workspace.layout
        self.last_session = self._action(tr("Open the last session"), window.open_session)
        self.recent_menu = RecentMenu(window, self.last_session)
        self.theme_menu = ThemeMenu(window, self._action)
        self.layout_menu = LayoutMenu(
            window.viewports, layout, window.hanging, self._action, window
        )
        self.language_menu = LanguageMenu(window, self._action)
        self.link_menu = LinkMenu(window.links, layout, self._action, window)
        self.layout_menu.addMenu(self.link_menu)
        self.shortcuts_ = Shortcuts(window.shortcuts_file, window)
        docks = ((f"dock.{name}", one) for name, one in window.arrangement.actions.items())
        self._fill_menu_bar()
        self.shortcuts_.take((*names_of(self), *docks))
        self.toolbar = self._make_toolbar()
        self._connect()
        self.refresh()

    def _connect(self) -> None:
        workspace, viewports = self._workspace, self._window.viewports
        workspace.commands.changed.connect(self.refresh)
        workspace.annotations.changed.connect(self.refresh)
        workspace.layers.laid_changed.connect(self.refresh)
        workspace.annotations.selection_changed.connect(lambda _id: self.refresh())
        workspace.panes.changed.connect(self.refresh)
        workspace.record.changed.connect(self._follow_record)
        self._follow_record()
        self._display = replace(workspace.viewport.display, window=None)
        workspace.display_changed.connect(self._follow_display)
        workspace.key_marks.changed.connect(self.refresh)
        workspace.studies.changed.connect(self.refresh)
        viewports.picture_changed.connect(self.refresh)
        viewports.status_changed.connect(self.refresh)
        viewports.playing_changed.connect(self.refresh)
        viewports.tool_changed.connect(lambda _tool: self.refresh())
        viewports.menu_wanted.connect(self._show_context_menu)
        viewports.frame_made.connect(self._follow_start_page)
        self._window.findings_list.menu_wanted.connect(self._show_list_menu)
        for frame in viewports.frames:
            self._follow_start_page(frame)
        self.shortcuts_.changed.connect(self._tell_all_keys)

    def _follow_record(self) -> None:
        self.close_record.setEnabled(self._workspace.record.is_open)

    def _follow_start_page(self, frame: ViewportFrame) -> None:
        frame.placeholder.begun.connect(partial(self._tell_keys, frame))
        self._tell_keys(frame)

    def _tell_all_keys(self) -> None:
        for frame in self._window.viewports.frames:
            self._tell_keys(frame)

    def _tell_keys(self, frame: ViewportFrame) -> None:
        """Give the buttons of a viewport's start page the tooltips of their actions."""
        actions = {one.text(): one for one in (self.open_files, self.open_folder)}
        for button in frame.placeholder.findChildren(QPushButton):
            if (action := actions.get(button.text())) is not None:
                button.setToolTip(action.toolTip())

    @property
    def _canvas(self) -> Canvas:
        return self._window.canvas

    def _action(
        self,
        text: str,
        run: Callable[[], object] | None,
        shortcut: str = "",
        icon: str = "",
        *,
        checkable: bool = False,
        kind: type[QAction] = QAction,
    ) -> QAction:
        action = kind(text, self._window)
        if icon:
            action.setIcon(icons.icon(icon))
        action.setShortcut(QKeySequence(shortcut))
        action.setCheckable(checkable)
        keys = f"  ({action.shortcut().toString(NATIVE)})" if shortcut else ""
        action.setToolTip(plain_tip(text.rstrip("…") + keys))
        if run is None:
            action.setVisible(False)
        else:
            action.triggered.connect(lambda _checked=False: run())
        return action

    def _make_window_actions(self) -> None:
        window, add = self._window, self._action
        self.open_files = add(tr("Open files…"), window.choose_files, "Ctrl+O", "folder-open")
        self.open_folder = add(tr("Open folder…"), window.choose_folder, "Ctrl+Shift+O")
        self.lay_labels = add(
            tr("Overlay labels on the image…"), window.choose_labels, icon="layers"
        )
        self.open_record = add(
            tr("Open patient record…"),
            window.open_record if window.record_opening is not None else None,
            "Ctrl+Alt+O",
            "user",
        )
        self.open_demo = add(tr("Open the demo study"), window.open_demo)
        self.full_screen = add(tr("Full screen"), window.toggle_full_screen, "F11")
        self.panels = add(tr("Show or hide all panels"), window.toggle_panels)
        self.texts = add(tr("Image texts: all, no names, none"), window.viewports.next_detail, "F2")
        self.palette = add(tr("Find a command…"), window.find_command, "Ctrl+Shift+P", "search")
        pictures = window.pictures
        self.export_picture = add(tr("Export picture…"), pictures.export, "Ctrl+E", "download")
        self.export_movie = add(tr("Export movie…"), lambda: pictures.export(movie=True))
        self.export_result = add(
            tr("Table or plot…"), lambda: window.results.export(), icon="table-properties"
        )
        self.copy_picture = add(tr("Copy picture"), pictures.copy, "Ctrl+Shift+C")
        self.print_picture = add(tr("Print…"), pictures.print, "Ctrl+P")
        self.deidentify = add(
            tr("De-identified copy…"), window.export_deidentified, icon="shield-check"
        )
        self.export_dicom = add(tr("DICOM…"), window.export_dicom, "Ctrl+Shift+E")
        self.export_report = add(tr("Report…"), window.report_files.export, icon="file-text")
        self.export_menu = QMenu(tr("Export"), window)
        pictured = (self.export_picture, self.export_movie, self.export_result)
        _fill(
            self.export_menu,
            (*pictured, self.export_report, None, self.export_dicom, self.deidentify),
        )
        self.close_study = add(tr("Close study"), window.close_study, "Ctrl+W")
        self.close_all = add(tr("Close all studies"), window.close_all, "Ctrl+Shift+W")
        self.close_record = add(
            tr("Close patient record"),
            window.close_record if window.record_opening is not None else None,
        )
        self.open_settings = add(tr("Settings…"), window.open_settings, "Ctrl+,")
        self.quit = add(tr("Quit"), window.close, "Ctrl+Q")
        self.models = add(tr("Models…"), window.open_models, icon="cpu")
        self.shortcuts = add(tr("Keyboard and mouse"), window.show_shortcuts, "F1", "keyboard")
        self.edit_keys = add(tr("Change shortcuts…"), window.edit_shortcuts)
        self.audit = add(tr("Audit log…"), window.open_audit, icon="shield-check")
        self.about = add(tr("About Sightline"), window.show_about, icon="info")

    def _make_image_actions(self) -> None:
        add = self._action

        def invert() -> None:
            self._canvas.toggle_invert()

        def zoom(factor: float) -> None:
            self._canvas.zoom_by(factor)

        def flip(*, across: bool) -> None:
            self._canvas.flip(across=across)

        def rotate(quarters: int) -> None:
            self._canvas.rotate(quarters)

        self.invert = add(tr("Invert"), invert, "I", "contrast", checkable=True)
        self.reset = add(tr("Reset view"), lambda: self._canvas.reset(), "Shift+R", "rotate-ccw")
        self.fit = add(tr("Fit to window"), lambda: self._canvas.fit(), "F", "maximize")
        self.one_to_one = add(tr("Actual pixels"), lambda: self._canvas.one_to_one(), "0")
        self.one_to_one.setIconText("1:1")
        self.zoom_in = add(tr("Zoom in"), lambda: zoom(WHEEL_STEP), "Ctrl++", "zoom-in")
        self.zoom_out = add(tr("Zoom out"), lambda: zoom(1 / WHEEL_STEP), "Ctrl+-", "zoom-out")
        self.flip_h = add(tr("Flip left-right"), lambda: flip(across=True), "H", "flip-horizontal")
        self.flip_v = add(tr("Flip top-bottom"), lambda: flip(across=False), "V", "flip-vertical")
        self.turn_left = add(tr("Rotate left"), lambda: rotate(-1), "[", "rotate-ccw-square")
        self.turn_right = add(tr("Rotate right"), lambda: rotate(1), "]", "rotate-cw-square")

    def _make_display_actions(self) -> None:
        add, window = self._action, self._window
        settings = window.display_settings
        true_size = TrueSize(window)
        panels: list[QWidget] = []

        def histogram() -> None:
            if not panels:
                from app.views.histogram_panel import HistogramPanel

                panels.append(HistogramPanel(window))
            panels[0].setVisible(not panels[0].isVisible())

        def magnify() -> None:
            window.viewports.set_magnifier(not self._canvas.magnifier.on)

        self.histogram = add(tr("Histogram…"), histogram, "Shift+W")
        self.magnify = add(
            tr("Magnifier (hold its key)"), magnify, HOLD_KEY, "search", checkable=True
        )
        keys = window.viewports
        self.magnify.changed.connect(lambda: keys.set_magnifier_key(self.magnify.shortcut()))
        self.true_size = add(tr("True size"), true_size.show, "T")
        self.calibrate = add(tr("Calibrate the screen…"), true_size.calibrate)
        self.smooth = add(
            tr("Smooth enlarged pixels"),
            lambda: settings.set_smooth(not settings.smooth),
            checkable=True,
        )
        tip = tr(
            "Interpolate pixels enlarged up to 6 times; beyond, and when this is off, each pixel "
            "is a square"
        )
        self.smooth.setToolTip(plain_tip(tip))
        self.smooth.setChecked(settings.smooth)
        self.snap = add(
            tr("Snap to edges"),
            lambda: settings.set_snap(not settings.snap),
            "Shift+Y",
            checkable=True,
        )
        tip = tr(
            "Points that are placed or dragged go to the strongest edge nearby; Alt suspends it"
        )
        self.snap.setStatusTip(tip)
        self.snap.setChecked(settings.snap)
        settings.changed.connect(lambda: self.snap.setChecked(settings.snap))
        self.size_menu = QMenu(tr("Size and detail"), window)
        _fill(self.size_menu, (self.magnify, self.true_size, self.calibrate, None, self.smooth))
        settings.changed.connect(lambda: self.smooth.setChecked(settings.smooth))

    def _make_scroll_actions(self) -> None:
        add, series = self._action, self._window.study_list.step

        def scroll() -> Scroller:
            return self._canvas.scroller

        def key_image(by: int) -> None:
            self._window.documents.key_images.step(by)

        self.play = add(tr("Play cine"), lambda: scroll().toggle(), "P", "play", checkable=True)
        self.play_all = add(
            tr("Play cine in all viewports"), self._window.viewports.play_all, "Shift+P"
        )
        self.faster = add(tr("Faster cine"), lambda: scroll().change_speed(1), ".")
        self.slower = add(tr("Slower cine"), lambda: scroll().change_speed(-1), ",")
        self.next = add(tr("Next image or frame"), lambda: scroll().step(1), "Ctrl+Right")
        self.previous = add(tr("Previous image or frame"), lambda: scroll().step(-1), "Ctrl+Left")
        self.key_image = add(
            tr("Mark as key image"), self._toggle_key, "Ctrl+K", "star", checkable=True
        )
        self.next_key = add(tr("Next key image"), lambda: key_image(1), "K")
        self.previous_key = add(tr("Previous key image"), lambda: key_image(-1), "Shift+K")
        self.next_series = add(tr("Next series"), lambda: series(1), "N")
        self.previous_series = add(tr("Previous series"), lambda: series(-1), "Shift+N")
        self._icon_is_pause = False
        self.together = add(
            tr("Channels together"),
            lambda: show_together(self._canvas.model),
            "Ctrl+Alt+C",
            checkable=True,
        )
        self.next_channel = add(
            tr("Next channel"), lambda: step_channel(self._canvas.model, 1), "Alt+Down"
        )
        self.previous_channel = add(
            tr("Previous channel"), lambda: step_channel(self._canvas.model, -1), "Alt+Up"
        )
        self.next_time = add(tr("Next time point"), lambda: scroll().step_time(1), "Alt+Right")
        self.previous_time = add(
            tr("Previous time point"), lambda: scroll().step_time(-1), "Alt+Left"
        )

    def _toggle_key(self) -> None:
        frame = self._workspace.viewport.frame
        if frame is not None and self._window.canvas.picture is not None:
            self._workspace.key_marks.toggle(frame.ref)

    def _make_drawing_actions(self) -> None:
        def add(text: str, tool: str, shortcut: str, icon: str = "") -> QAction:
            def toggle() -> None:
                self._canvas.drawing_tool.toggle(tool)
                self.refresh()  # the tool for the window stays checked, whatever was clicked

            action = self._action(text, toggle, shortcut, icon, checkable=True, kind=_ToolAction)
            self.drawing_tools[tool] = action
            return action

        self.drawing_tools: dict[str, QAction] = {}
        pan, zoom, scroll = mouse_gestures.PAN, mouse_gestures.ZOOM, mouse_gestures.SCROLL
        self.pointer_window = add(tr("Left drag: window"), "", "D", "sun-medium")
        self.pointer_pan = add(tr("Left drag: pan"), pan, "G", "hand")
        self.pointer_zoom = add(tr("Left drag: zoom"), zoom, "Shift+Z", "zoom-in")
        self.pointer_scroll = add(tr("Left drag: scroll"), scroll, "Shift+S", "move-vertical")
        self.pointers = (
            *(self.pointer_window, self.pointer_pan),
            *(self.pointer_zoom, self.pointer_scroll),
        )
        self.ruler = add(tr("Measure a length"), drawing.RULER, "L", "ruler")
        self.angle = add(tr("Measure an angle"), drawing.ANGLE, "Shift+L", "angle")
        self.polyline = add(tr("Measure a polyline"), drawing.POLYLINE, "Shift+J", "polyline")
        self.cobb = add(tr("Measure a Cobb angle"), drawing.COBB, "Shift+C", "cobb")
        self.bidirectional = add(
            tr("Measure two diameters"), drawing.BIDIRECTIONAL, "Shift+B", "axes"
        )
        self.cardiothoracic = add(
            tr("Measure the cardiothoracic ratio"), drawing.CTR, "Shift+X", "cardiothoracic"
        )
        self.probe = add(tr("Probe a value"), drawing.PROBE, "Q", "probe")
        self.arrow = add(tr("Draw an arrow"), drawing.ARROW, "Shift+Q", "arrow-mark")
        self.text_mark = add(tr("Write a text"), drawing.TEXT, "Shift+T", "text-mark")
        self.ellipse = add(tr("Draw an ellipse"), drawing.ELLIPSE, "U", "ellipse")
        self.polygon = add(tr("Draw a polygon"), drawing.POLYGON, "Shift+G", "polygon")
        self.freehand = add(tr("Draw a freehand region"), drawing.FREEHAND, "Shift+F", "freehand")
        self.measures = (
            *(self.ruler, self.polyline, self.angle, self.cobb, self.bidirectional),
            *(self.cardiothoracic, None, self.probe, self.arrow, self.text_mark),
        )
        self.mark_box = add(tr("Mark a box"), drawing.BOX, "B", "square-dashed")
        self.mark_point = add(tr("Mark a point"), drawing.POINT, "M", "crosshair")
        self.mark_outside = add(
            tr("Mark a point outside the structure"), drawing.OUTSIDE, "Shift+M", "circle-x"
        )
        self.brush = add(tr("Edit a mask with the brush"), drawing.BRUSH, "Shift+E", "pen-line")
        self.fill = add(tr("Fill a mask by threshold"), drawing.FILL, "Y", "paint-bucket")
        self.region = add(tr("Window from a drawn region"), drawing.WINDOW_REGION, "W", "scan")
        for tool, action in self.drawing_tools.items():
            if (hint := HINTS.get(tool)) is not None:
                action.setStatusTip(tr(hint))
        self.measure_menu = _menu_of(self.measures, self._window)
        self.measure_menu.setTitle(tr("Measure"))
        self.shapes = (self.mark_box, self.ellipse, self.polygon, self.freehand, self.fill)
        self.shape_menu = _menu_of(self.shapes, self._window)
        self.shape_menu.setTitle(tr("Regions"))
        self.mark_commands = MarkCommands(
            self._workspace,
            lambda: self._canvas,
            self._window.background,
            self._action,
            self._window,
        )
        self.calibrate_length, self.region_histogram, self.edit_text = self.mark_commands.all
        segment = self._window.segment_marked if self._window.has_assistant else None
        self.segment = self._action(tr("Segment what I marked"), segment, "Ctrl+B", "shapes")

    def _make_finding_actions(self) -> None:
        annotations, stack = self._workspace.annotations, self._workspace.commands
        add, show = self._action, self._workspace.set_findings_visible
        self.review = ReviewMenu(
            annotations, add, lambda: self._canvas.edit_selected(), self._window
        )
        claims = self._window.show_claims if self._window.has_assistant else None
        self.claims = add(tr("Claims about this…"), claims, "J", "message-square-plus")
        self.undo = add(tr("Undo"), stack.undo, "Ctrl+Z", "undo-2")
        self.redo = add(tr("Redo"), stack.redo, "Ctrl+Shift+Z", "redo-2")
        self.show_findings = add(tr("Show all findings"), lambda: show(True))
        self.hide_findings = add(tr("Hide all findings"), lambda: show(False))
        self.delete_finding = add(
            tr("Delete selected finding"), lambda: annotations.remove([annotations.selected])
        )
        self.delete_findings = add(
            tr("Delete all findings"),
            lambda: annotations.remove([item.finding.id for item in annotations.all()]),
        )
        self.report_marks = add(tr("Take over the report's marks"), self._window.take_report_marks)
        keeps = self._window.marks is not None
        self.saved_marks = add(tr("Saved marks…"), self._window.show_saved_marks if keeps else None)

    def _fill_menu_bar(self) -> None:
        """Fill the menus; None stands for a separator."""
        marks = (self.mark_box, self.mark_point, self.mark_outside)
        language = (self.language_menu,) if self._window.language is not None else ()
        menus: dict[str, Iterable[QAction | QMenu | None]] = {
            tr("&File"): (
                *(self.open_files, self.open_folder, self.open_record, self.recent_menu),
                *(self.lay_labels, self.open_demo, None),
                *(self.export_menu, self.copy_picture, self.print_picture, None),
                *(self.close_study, self.close_all, self.close_record, None),
                *(self.open_settings, self.quit),
            ),
            tr("&View"): (
                *self._window.arrangement.actions.values(),
                *(None, self.panels, self.full_screen, self.texts, self.palette),
                *(None, self.layout_menu, self.theme_menu, *language),
                *(None, self.fit, self.one_to_one, self.zoom_in, self.zoom_out),
            ),
            tr("&Image"): (
                *(self.presets, self.region, self.histogram, self.colormaps, self.invert, None),
                *(self.plane_menu, self.size_menu, self.reset, None),
                *(self.flip_h, self.flip_v, self.turn_left, self.turn_right, None),
                *(self.measure_menu, self.shape_menu, self.snap, self.calibrate_length, None),
                *(self.previous, self.next, self.previous_series, self.next_series),
                *(self.previous_time, self.next_time, None),
                *(self.together, self.previous_channel, self.next_channel, None),
                *(self.key_image, self.previous_key, self.next_key, None),
                *(self.play, self.play_all, self.faster, self.slower),
            ),
            tr("&Findings"): (
                *(self.undo, self.redo, None),
                *(*self.review.commands, None, self.review.originals, self.review.rejected, None),
                *(self.claims, None),
                *(self.show_findings, self.hide_findings, self.heat, None),
                *(self.region_histogram, self.edit_text, self.brush, self.mark_menu),
                *(
                    self.delete_finding,
                    self.delete_findings,
                    None,
                    self.report_marks,
                    self.saved_marks,
                ),
            ),
            tr("&Tools"): (*self.pointers, None, *marks, self.segment, None, self.models),
            tr("&Help"): (self.shortcuts, self.edit_keys, self.audit, self.about),
        }
        for name, entries in menus.items():
            _fill(self._window.menuBar().addMenu(name), entries)

    def _show_list_menu(self, ids: Sequence[str], place: QPoint) -> None:
        if len(ids) != 1:
            self.review.show_for(ids, place)
            return
        if ids[0] not in self._window.findings_list.chosen_ids():
            self._workspace.annotations.select(ids[0])
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        _fill(menu, (self.claims, None, *self.review.commands, None, *self.mark_menu.entries, None))
        menu.addAction(self.delete_finding)
        menu.popup(place)

    def _show_context_menu(self, place: QPoint) -> None:
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        marks = (self.mark_box, self.mark_point, self.mark_outside)
        tools = (self.segment, None, *marks, None, self.measure_menu, self.shape_menu, None)
        self.mark_commands.refresh()
        own = [one for one in self.mark_commands.all if one.isEnabled()]
        review = (self.claims, None, *self.review.commands, None)
        review = review if self._workspace.annotations.selected else ()
        _fill(
            menu,
            (
                *own,
                *([None] if own else []),
                *tools,
                *review,
                *((self.mark_menu,) if self._workspace.annotations.selected else ()),
                self.delete_finding,
                None,
                self.key_image,
                self.fit,
                self.reset,
                self.invert,
            ),
        )
        menu.popup(place)

    def _make_toolbar(self) -> Toolbar:
        bar = Toolbar(self._window)
        opening = bar.add_text_button(tr("Open"), "folder-open", self.open_files.toolTip())
        opening.clicked.connect(self.open_files.trigger)
        self.open_files.changed.connect(lambda: opening.setToolTip(self.open_files.toolTip()))
        bar.addSeparator()
        window, pan, zoom, scroll = self.pointers
        zooms = (self.fit, self.one_to_one, self.zoom_in, self.zoom_out)
        regions = (*self.shapes, None, self.mark_point, self.mark_outside, self.brush)
        self.window_button = bar.add_tools(tr("Window"), (window, self.region), self.presets)
        bar.add_tools(tr("Pan"), (pan,))
        bar.add_tools(tr("Zoom"), (zoom,), _menu_of(zooms, self._window))
        bar.add_tools(tr("Scroll"), (scroll,))
        bar.addSeparator()
        tools = [one for one in self.measures if one is not None]
        bar.add_tools(tr("Measure"), tools, self.measure_menu)
        segment = (None, self.segment) if self._window.has_assistant else ()
        tools = [one for one in regions if one is not None]
        bar.add_tools(tr("Regions"), tools, _menu_of((*regions, *segment), self._window))
        bar.addSeparator()
        tip = plain_tip(tr("Layout of viewports, and what is linked among them"))
        layout_button = bar.add_text_button(tr("Layout"), "layout-grid", tip, named=True)
        layout_button.setMenu(self.layout_menu)
        layout_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        tip = plain_tip(tr("Reformat the series: axial, coronal, sagittal"))
        self.plane_button = bar.add_text_button(tr("Plane"), "box", tip)
        self.plane_menu.attach(self.plane_button)
        groups = (
            (self.invert, self.reset, self.fit),
            (self.flip_h, self.flip_v, self.turn_right),
            (self.play, self.undo, self.redo),
        )
        for group in groups:
            bar.addSeparator()
            bar.addActions(group)
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        bar.addWidget(spacer)
        bar.add_docks(self._window.arrangement)
        self._window.addToolBar(bar)
        bar.measure()
        return bar

    def _follow_display(self) -> None:
        # No action depends on the numbers of a window, which change at each step of a drag.
        display = replace(self._workspace.viewport.display, window=None)
        if display != self._display:
            self._display = display
            self.refresh()

    def refresh(self) -> None:
        canvas, workspace = self._canvas, self._workspace
        has_image, scroll = canvas.picture is not None, canvas.scroller
        has_window = canvas.shown_window is not None
        self.presets.menuAction().setEnabled(has_window)
        for tool, action in self.drawing_tools.items():
            action.setChecked(canvas.drawing_tool.tool == tool)
        # With the brush in hand these keys are the canvas's, for its size.
        brushing = canvas.drawing_tool.tool == drawing.BRUSH
        self.shortcuts_.suspend(BRUSH_KEYS if brushing else ())
        self.invert.setChecked(workspace.viewport.display.invert)
        channels = has_image and workspace.viewport.axes is not None
        self.together.setChecked(channels and workspace.viewport.display.together)
        self.magnify.setChecked(canvas.magnifier.on)
        self.colormaps.menuAction().setEnabled(canvas.colourable)
        self.play.setChecked(scroll.playing)
        # A new icon at every step of a drag would flicker.
        if scroll.playing != self._icon_is_pause:
            self._icon_is_pause = scroll.playing
            self.play.setIcon(icons.icon("pause" if scroll.playing else "play"))
        self.mark_commands.refresh()
        undo, redo = workspace.commands.undo_label, workspace.commands.redo_label
        self.undo.setStatusTip(wording.one_line(undo))
        self.redo.setStatusTip(wording.one_line(redo))
        instance, frame = workspace.viewport.instance, workspace.viewport.frame
        # A section is no image that a key object selection could name.
        acquired = instance is not None and instance is workspace.acquired and frame is not None
        self.key_image.setChecked(frame is not None and workspace.key_marks.is_own(frame.ref))
        report = instance is not None and instance.content is Content.REPORT
        key_images = bool(self._window.documents.key_images.links)
        on_image = (self.invert, self.reset, self.fit, self.one_to_one, self.zoom_in, self.zoom_out)
        turns = (self.flip_h, self.flip_v, self.turn_left, self.turn_right)
        of_studies = (self.close_study, self.close_all, self.deidentify)
        of_studies += (self.next_series, self.previous_series)
        for actions, enabled in (
            ((*on_image, *turns, *self.drawing_tools.values(), self.lay_labels), has_image),
            ((self.region, self.fill), has_window),
            ((self.export_dicom,), has_image),
            ((self.export_report,), bool(workspace.studies.all)),
            ((self.report_marks,), report),
            ((self.key_image,), has_image and acquired),
            ((self.magnify, self.true_size), has_image),
            ((self.export_picture, self.export_movie), has_image),
            ((self.export_result,), any(one.role in DATA for one in workspace.panes.all)),
            ((self.copy_picture, self.print_picture), has_image),
            ((self.segment,), has_image and workspace.marked),
            ((self.play, self.faster, self.slower), scroll.playable),
            ((self.play_all,), len(workspace.layout.viewports) > 1),
            ((self.next, self.previous), scroll.scrollable),
            ((self.next_time, self.previous_time), scroll.times[1] > 1),
            ((self.together, self.next_channel, self.previous_channel), channels),
            ((self.next_key, self.previous_key), key_images),
            (of_studies, bool(workspace.studies.all)),
            ((self.undo,), bool(undo)),
            ((self.redo,), bool(redo)),
            (
                (self.show_findings, self.hide_findings),
                len(workspace.annotations) > 0 or bool(workspace.layers.laid),
            ),
            ((self.delete_findings,), len(workspace.annotations) > 0),
            ((self.delete_finding, self.claims), bool(workspace.annotations.selected)),
        ):
            for action in actions:
                action.setEnabled(enabled)


def _menu_of(entries: Iterable[QAction | None], parent: QWidget) -> QMenu:
    menu = QMenu(parent)
    _fill(menu, entries)
    return menu


def _fill(menu: QMenu, entries: Iterable[QAction | QMenu | None]) -> None:
    for entry in entries:
        if entry is None:
            menu.addSeparator()
        elif isinstance(entry, QMenu):
            menu.addMenu(entry)
        else:
            menu.addAction(entry)


class RecentMenu(QMenu):
    """The menu of the files and folders that were opened last."""

    def __init__(self, window: MainWindow, last_session: QAction) -> None:
        super().__init__(tr("Open recent"), window)
        self._window = window
        self._last_session = last_session
        self.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.clear()
        openings = self._window.recent.all()
        self._last_session.setEnabled(self._window.recent.session is not None)
        self.addAction(self._last_session)
        self.addSeparator()
        for number, opening in enumerate(openings, 1):
            name = wording.one_line(wording.opening_text(opening)).replace("&", "&&")
            text = f"&{number}  {name}" if number < 10 else name
            action = self.addAction(text, partial(self._window.open_paths, opening))
            action.setToolTip(plain_tip("\n".join(map(str, opening))))
        self.setToolTipsVisible(True)
        recent = self._window.recent
        if recent.kept and not openings:
            self.addAction(tr("Nothing opened yet")).setEnabled(False)
        self.addSeparator()
        remember = self.addAction(tr("Remember on this computer what I open"))
        remember.setCheckable(True)
        remember.setChecked(recent.kept)
        remember.setToolTip(
            plain_tip(tr("Paths may name patients. Switched off, they are forgotten."))
        )
        remember.toggled.connect(recent.keep)


class ThemeMenu(QMenu):
    """The menu of the windows' colours."""

    def __init__(self, window: MainWindow, make_action: Callable[..., QAction]) -> None:
        super().__init__(tr("Theme"), window)
        self.choices: dict[str, QAction] = {}
        for scheme, text in SCHEMES.items():
            choose = partial(window.choose_theme, scheme)
            action = make_action(tr(text), choose, checkable=True)
            action.triggered.connect(lambda _checked=False: self._check())
            self.choices[scheme] = action
            self.addAction(action)
        self.aboutToShow.connect(self._check)
        self._check()

    def _check(self) -> None:
        for scheme, action in self.choices.items():
            action.setChecked(scheme == theme.changes().scheme)


class LanguageMenu(QMenu):
    """The menu of the window's languages; each is named in its own."""

    def __init__(self, window: MainWindow, make_action: Callable[..., QAction]) -> None:
        super().__init__(tr("Language"), window)
        self._window = window
        self.choices: dict[str, QAction] = {}
        for code, name in {SYSTEM: tr("As the computer"), **LANGUAGES}.items():
            action = make_action(name, partial(window.choose_language, code), checkable=True)
            self.choices[code] = action
            self.addAction(action)
        self.aboutToShow.connect(self._check)

    def _check(self) -> None:
        language = self._window.language
        for code, action in self.choices.items():
            action.setChecked(language is not None and language.chosen() == code)


class PresetMenu(QMenu):
    """The menu of intensity windows: the image's own (VOI), an automatic one, the modality's.

    A window that is none of them, such as one set by hand, stands last with where it comes from.
    """

    def __init__(self, window: MainWindow, edit: QAction) -> None:
        super().__init__(tr("Window presets"), window)
        self._window = window
        self._edit = edit
        self.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.clear()
        canvas = self._window.canvas
        shown, found = canvas.shown_window, False
        for number, window in enumerate(canvas.presets(), 1):
            name = wording.one_line(window.explanation)
            name = tr("Automatic") if name == AUTO else tr(name)
            text = f"{name}\t{_window_values(window)}".replace("&", "&&")
            action = self.addAction(f"&{number}  {text}" if number < 10 else text)
            action.setCheckable(True)
            checked = not found and _same_window(window, shown)
            action.setChecked(checked)
            found = found or checked
            action.triggered.connect(
                lambda _checked=False, chosen=window: canvas.set_window(chosen)
            )
        if self.isEmpty():
            self.addAction(tr("Window presets do not apply to this image")).setEnabled(False)
        elif shown is not None and not found:
            source = wording.sentence(wording.window_source(shown, ())) or wording.VOI_LUT
            text = f"{source}\t{_window_values(shown)}".replace("&", "&&")
            action = self.addAction(text)
            action.setCheckable(True)
            action.setChecked(True)
            action.setEnabled(False)
        self.addSeparator()
        self.addAction(self._edit)


class ColormapMenu(QMenu):
    """The menu of colour maps for a grey image."""

    def __init__(self, window: MainWindow, make_action: Callable[..., QAction]) -> None:
        super().__init__(tr("Colour map"), window)
        self._window = window
        self.choices: dict[str, QAction] = {}
        for name, title in colormaps.TITLES.items():
            action = make_action(tr(title), partial(self._choose, name), checkable=True)
            self.choices[name] = action
            self.addAction(action)
        self.aboutToShow.connect(self._check)

    def _choose(self, name: str) -> None:
        if self._window.canvas.colourable:
            self._window.canvas.set_colormap(name)
        self._check()

    def _check(self) -> None:
        canvas = self._window.canvas
        shown = canvas.model.display.colormap if canvas.colourable else ""
        for name, action in self.choices.items():
            action.setChecked(name == shown)
            action.setEnabled(canvas.colourable)


class PlaneMenu(QMenu):
    """The menu of planes: as acquired, axial, coronal, sagittal."""

    def __init__(self, window: MainWindow, make_action: Callable[..., QAction]) -> None:
        super().__init__(tr("Plane"), window)
        self._window = window
        self.choices: dict[Plane, QAction] = {}
        for plane, key in PLANE_KEYS.items():
            choose = partial(self._choose, plane)
            action = make_action(_plane_name(plane), choose, key, checkable=True)
            # A click on the plane that is shown would uncheck it.
            action.triggered.connect(lambda _checked=False: self.refresh())
            self.addAction(action)
            self.choices[plane] = action
        window.viewports.planes_changed.connect(self.refresh)
        self._button: QToolButton | None = None
        self.refresh()

    def _choose(self, plane: Plane) -> None:
        self._window.planes.choose(plane)

    def attach(self, button: QToolButton) -> None:
        self._button = button
        button.setMenu(self)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.ensurePolished()
        # As wide as the longest name needs, so that the buttons beside it do not move.
        widths: list[int] = []
        for plane in (Plane.AXIAL, Plane.CORONAL, Plane.SAGITTAL):
            button.setText(f" {_plane_name(plane)}")
            widths.append(button.sizeHint().width())
        button.setMinimumWidth(max(widths))
        self.refresh()

    def refresh(self) -> None:
        wanted, possible = self._window.planes.wanted, self._window.planes.possible
        for plane, action in self.choices.items():
            action.setEnabled(plane in possible and len(possible) > 1)
            action.setChecked(plane is wanted)
        if self._button is not None:
            self._button.setEnabled(len(possible) > 1)
            text = tr("Plane") if wanted is Plane.ACQUIRED else _plane_name(wanted)
            self._button.setText(f" {text}")


class HeatmapMenu(QMenu):
    """The menu that sets how strongly heatmaps are drawn over the image."""

    def __init__(self, window: MainWindow, make_action: Callable[..., QAction]) -> None:
        super().__init__(tr("Heatmaps"), window)
        self._window = window
        self.switch = make_action(tr("Show or hide heatmaps"), self._toggle, "Shift+H")
        self.addAction(self.switch)
        self.addSeparator()
        self.strengths: dict[float, QAction] = {}
        for name, strength in heatmap_legend.STRENGTHS.items():
            choose = partial(self._set_strength, strength)
            action = make_action(tr(name), choose, checkable=True)
            action.triggered.connect(lambda _checked=False: self._check())
            self.strengths[strength] = action
            self.addAction(action)
        self.aboutToShow.connect(self._check)

    @property
    def _layer(self) -> AnnotationLayer:
        return self._window.canvas.findings_layer

    def _toggle(self) -> None:
        self._layer.toggle_heat()

    def _set_strength(self, strength: float) -> None:
        self._layer.set_heat_strength(strength)

    def _check(self) -> None:
        for strength, action in self.strengths.items():
            action.setChecked(strength == self._layer.heat_strength)


class ToolGroup(QToolButton):
    """A toolbar button for tools of one kind; a click takes the one in hand that it shows.

    It is checked while one of them is in hand, and then shows that one. The arrow opens its menu.
    """

    def __init__(self, name: str, tools: Sequence[QAction], menu: QMenu | None) -> None:
        super().__init__()
        self._name = name
        self._tools = tools
        self._shown = tools[0]
        self.setCheckable(True)
        self.setText(f" {name}")  # Qt sets the icon too close to the text
        self.setToolButtonStyle(_TEXT_BESIDE_ICON)
        if menu is not None:
            self.setMenu(menu)
            self.setPopupMode(QToolButton.ToolButtonPopupMode.MenuButtonPopup)
        self.clicked.connect(self._take)
        for tool in tools:
            tool.changed.connect(self._refresh)
        self._refresh()

    def _take(self) -> None:
        self._shown.trigger()
        self._refresh()

    def _refresh(self) -> None:
        held = next((tool for tool in self._tools if tool.isChecked()), None)
        self._shown = held or self._shown
        usable = any(tool.isEnabled() for tool in self._tools)
        self.setChecked(held is not None and usable)
        self.setEnabled(usable)
        self.setIcon(self._shown.icon())
        key = self._shown.shortcut().toString(NATIVE)
        tip = [f"{self._shown.text()}{f'  ({key})' if key else ''}"]
        tip += [tr("Active: the left mouse button")] if held is not None else []
        tip += [tr("More under the arrow")] if self.menu() is not None else []
        self.setToolTip(plain_tip("\n".join(tip)))
        self.setAccessibleName(f"{self._name}: {self._shown.text()}")


class Toolbar(QToolBar):
    """The toolbar. In a narrow window, buttons lose their texts, then move into a pop-up menu.

    The named groups keep theirs longest.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(tr("Toolbar"), parent)
        self.setObjectName("toolbar")
        self.setMovable(False)
        self.setIconSize(QSize(SPACE.icon, SPACE.icon))
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self._text_buttons: dict[QToolButton, int] = {}  # and their least widths in px
        self._named: list[QToolButton] = []
        self._levels: list[tuple[int, list[QToolButton]]] = []  # px needed, buttons with texts
        self._docks_width = 0
        self._docks: list[QAction] = []
        # Qt's own arrow cannot be seen on a dark background.
        more = self.findChild(QToolButton, "qt_toolbar_ext_button")
        if more is not None:
            more.setIcon(icons.icon("chevron-down"))
            more.setToolTip(plain_tip(tr("More tools")))
            more.setAccessibleName(tr("More tools"))

    def add_text_button(
        self, text: str, icon: str, tip: str, *, named: bool = False
    ) -> QToolButton:
        """Add a button with a text beside its icon, and return it; `named` if it is a group's."""
        button = QToolButton()
        button.setText(f" {text}")  # Qt sets the icon too close to the text
        button.setIcon(icons.icon(icon))
        button.setToolButtonStyle(_TEXT_BESIDE_ICON)
        button.setToolTip(tip)
        button.setAccessibleName(text)
        return self._add(button, named=named)

    def _add(self, button: QToolButton, *, named: bool) -> QToolButton:
        self.addWidget(button)
        self._text_buttons[button] = 0
        if named:
            self._named.append(button)
        return button

    def add_tools(
        self, name: str, tools: Sequence[QAction], menu: QMenu | None = None
    ) -> ToolGroup:
        """Add a button for a group of tools, with a menu behind its arrow, and return it."""
        button = ToolGroup(name, tools, menu)
        self._add(button, named=True)
        return button

    def add_docks(self, arrangement: WindowDocks) -> None:
        for name, action in arrangement.actions.items():
            if name in ("Diagnosis", "Report") or not action.isVisible():
                continue  # no room for what is rarely opened by hand
            button = QToolButton()
            button.setDefaultAction(action)
            button.setAccessibleName(action.text())
            self._docks.append(self.addWidget(button))
        arrangement.narrow_changed.connect(self._show_docks)

    def _show_docks(self, narrow: bool) -> None:
        for holder in self._docks:
            holder.setVisible(not narrow)
        self._fit(self.width())

    def measure(self) -> None:
        """Store the widths that texts need; call once all buttons have been added."""
        self._text_buttons = {button: button.minimumWidth() for button in self._text_buttons}
        self._show_texts([])
        whole = self.sizeHint().width()
        layout = self.layout()
        assert layout is not None
        self._show_docks(narrow=True)
        layout.invalidate()
        self._docks_width = whole - self.sizeHint().width()
        for texts in ([*self._text_buttons], self._named):
            self._show_texts(texts)
            layout.invalidate()  # Qt does so only for what is shown
            self._levels.append((self.sizeHint().width(), texts))
        self._show_docks(narrow=False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit(event.size().width())
        super().resizeEvent(event)

    def _fit(self, width: int) -> None:
        """Show as many texts of buttons as a toolbar with this width in px has room for."""
        docks = any(holder.isVisible() for holder in self._docks)
        room = width - (self._docks_width if docks else 0)
        self._show_texts(next((texts for least, texts in self._levels if least <= room), []))

    def _show_texts(self, texts: Sequence[QToolButton]) -> None:
        for button, least in self._text_buttons.items():
            style = _TEXT_BESIDE_ICON if button in texts else _ICON_ONLY
            if button.toolButtonStyle() != style:
                button.setMinimumWidth(least if button in texts else 0)
                button.setToolButtonStyle(style)


def _plane_name(plane: Plane) -> str:
    return wording.plane_name(plane)


def _same_window(one: Window, other: Window | None) -> bool:
    """Return whether two windows look the same, whatever their names."""
    return other is not None and replace(one, explanation="") == replace(other, explanation="")


def _window_values(window: Window) -> str:
    if window.lut >= 0:
        return wording.VOI_LUT
    return wording.window_values(window)
