"""The middle of the main window, and of the second one: the viewports in their layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from PySide6.QtCore import QByteArray, QMimeData, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAction,
    QCloseEvent,
    QColor,
    QGuiApplication,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QApplication, QWidget

from app.imaging.types import Instance
from app.views.canvas.corner_text import Detail
from app.views.canvas.magnifier import HOLD_KEY
from app.views.documents.document_pages import DRAWN
from app.views.layouts import column
from app.views.results.pane_area import PaneArea
from app.views.theme import DARK
from app.views.translation import tr
from app.views.viewports.viewport_bar import VIEWPORT_MIME
from app.views.viewports.viewport_frame import (
    SERIES_MIME,
    ViewportFrame,
    ViewportServices,
)
from app.workspace.layout import LARGEST, LAYOUTS, Edge, Layout, Screen, Slot
from app.workspace.viewport import Viewport

_SIZE = QSize(900, 700)  # where there is one monitor only
_WHOLE = Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen


class SecondWindow(QWidget):
    """Shows the viewports of the layout's second screen.

    It opens maximised on a monitor that the main window is not on; where there is none, as a window
    beside it.

    Args:
        actions: The main window's actions, whose keys work here too.
        geometry: What `saveGeometry` returned when it was last open; empty for none.
    """

    close_wanted = Signal()

    def __init__(
        self, main: QWidget, area: ScreenArea, actions: Iterable[QAction], geometry: QByteArray
    ) -> None:
        super().__init__()
        self.setWindowTitle(tr("Sightline: second window"))
        self.setWindowIcon(main.windowIcon())
        self.area = area
        column(area, spacing=0, parent=self)
        self.addActions(list(actions))
        self.resize(_SIZE)
        others = [one for one in QGuiApplication.screens() if one is not main.screen()]
        known = not geometry.isEmpty() and self.restoreGeometry(geometry)
        if known and not others and self.windowState() & _WHOLE:
            # Its monitor is gone: it would hide the main window.
            self.setWindowState(Qt.WindowState.WindowNoState)
            self.resize(_SIZE)
            known = False
        if not known:
            if (monitor := next(iter(others), None)) is not None:
                self.setGeometry(monitor.availableGeometry())
                self.setWindowState(Qt.WindowState.WindowMaximized)
            else:
                self.move(main.frameGeometry().topLeft() + main.rect().center() / 4)

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.close_wanted.emit()


GAP = 3
"""Px between viewports; the frame of the active one is drawn in the gap."""


LEAST = 120
"""Least width and height of a viewport in px."""

ALONE = QSize(410, 190)
"""Least size of the only viewport in px: docks make way before it is smaller."""

AT_ONCE = 1
"""So many new frames are made at once; all those of 4 x 4 would stall the window."""


class ScreenArea(QWidget):
    """Places the viewports of one window, each in its slot.

    Args:
        frames: The frames of all viewports, of which it places those of `screen`.
    """

    def __init__(
        self, layout: Layout, screen: Screen, frames: Mapping[Viewport, ViewportFrame]
    ) -> None:
        super().__init__()
        self._layout = layout
        self._shown = screen
        self._frames = frames

    def place(self) -> None:
        """Take the frames of the screen's viewports and place them; hide those not to be seen."""
        visible = self._shown.visible
        for viewport in self._shown.viewports:
            frame = self._frames.get(viewport)
            if frame is None:
                continue  # it is made soon
            if frame.parentWidget() is not self:
                frame.setParent(self)
            frame.setVisible(viewport in visible)
        self.updateGeometry()
        self._place()

    def _place(self) -> None:
        screen = self._shown
        if len(screen.visible) == 1:
            margin = GAP if len(self._layout.viewports) > 1 else 0
            whole = self.rect().adjusted(margin, margin, -margin, -margin)
            slots = [(screen.visible[0], whole)]
        else:
            pairs = zip(screen.viewports, screen.slots, strict=True)
            slots = [(viewport, self.rect_of(slot)) for viewport, slot in pairs]
        for viewport, rect in slots:
            if viewport in self._frames:
                self._frames[viewport].setGeometry(rect)
        self.update()

    def rect_of(self, slot: Slot) -> QRect:
        """Return the px of a slot, without the gap around it."""
        width, height = self.width() - GAP, self.height() - GAP
        left, top = round(slot.x * width) + GAP, round(slot.y * height) + GAP
        right, bottom = round(slot.right * width), round(slot.bottom * height)
        return QRect(QPoint(left, top), QSize(max(1, right - left), max(1, bottom - top)))

    def minimumSizeHint(self) -> QSize:
        screen = self._shown
        if len(screen.viewports) == 1:
            frame = self._frames.get(screen.viewports[0])
            return ALONE.expandedTo(frame.minimumSizeHint()) if frame is not None else ALONE
        width = max(LEAST / max(slot.width, 1 / LARGEST) for slot in screen.slots)
        height = max(LEAST / max(slot.height, 1 / LARGEST) for slot in screen.slots)
        return QSize(round(width), round(height))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(DARK.window))
        active = self._layout.active
        here = active in self._shown.viewports and active in self._frames
        if len(self._layout.viewports) > 1 and here:
            frame = self._frames[active].geometry()
            around = frame.adjusted(-GAP + 1, -GAP + 1, GAP - 1, GAP - 1)
            painter.fillRect(around, QColor(DARK.accent))
        painter.end()


class ViewportArea(ScreenArea):
    """The viewports of the main window, and the frames of those in the second window.

    The signals tell of the active viewport only, and are also emitted when another one is
    activated.

    Args:
        first_of: Returns the instance that a dragged series begins with, by the key of its row in
            the study list, or None.
    """

    picture_changed = Signal()
    status_changed = Signal()
    playing_changed = Signal()
    planes_changed = Signal()
    tool_changed = Signal(str)  # of all viewports
    menu_wanted = Signal(QPoint)
    frame_made = Signal(object)  # a new `ViewportFrame`

    def __init__(
        self,
        services: ViewportServices,
        first_of: Callable[[str], Instance | None] = lambda _key: None,
    ) -> None:
        layout = services.workspace.layout
        self._every: dict[Viewport, ViewportFrame] = {}
        super().__init__(layout, layout.main, self._every)
        self._services = services
        self.first_of = first_of
        self.detail = Detail.ALL
        self._magnifier_key = QKeySequence(HOLD_KEY)
        self._areas: list[ScreenArea] = [self]
        self.panes = PaneArea(services.workspace, services.background)
        self.panes.setParent(self)
        services.workspace.panes.changed.connect(self._show_pictures)
        self._soon = QTimer(self, singleShot=True, interval=0)
        self._soon.timeout.connect(self._make_next)
        self._layout.changed.connect(self._arrange)
        self._layout.active_changed.connect(self._activated)
        services.display.changed.connect(self._follow_display)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.focusChanged.connect(self._focus_changed)
        self._arrange()

    # Frames

    @property
    def frames(self) -> tuple[ViewportFrame, ...]:
        """The frames of all viewports, those of the main window first, that are made by now."""
        return tuple(self._frames[one] for one in self._layout.viewports if one in self._frames)

    @property
    def active(self) -> ViewportFrame:
        return self.frame_of(self._layout.active)

    def frame_of(self, viewport: Viewport) -> ViewportFrame:
        """Return the frame that shows a viewport; it is made now if it was still to be made."""
        if viewport not in self._frames:
            self._add(viewport)
        return self._frames[viewport]

    def frame_at(self, place: QPoint, window: QWidget) -> ViewportFrame:
        """Return a window's frame at a place on the screen (px); the active one where is none."""
        shown = (one for one in self.frames if one.isVisible() and one.window() is window)
        under = (one for one in shown if one.rect().contains(one.mapFromGlobal(place)))
        return next(under, self.active)

    @property
    def busy(self) -> bool:
        unmade = self._soon.isActive()
        return unmade or self.panes.busy or any(frame.busy for frame in self.frames)

    def close_models(self) -> None:
        self._soon.stop()
        for frame in self._frames.values():
            frame.close_models()

    def _new_frame(self, viewport: Viewport) -> ViewportFrame:
        if self._every:  # the loader knows the first one
            self._services.loader.load_frames_of(viewport)
        frame = ViewportFrame(viewport, self._services)
        frame.setParent(self)
        self._every[viewport] = frame
        canvas = frame.canvas
        canvas.activated.connect(partial(self._layout.activate, viewport))
        canvas.maximise_wanted.connect(partial(self._maximise, viewport))
        canvas.restore_wanted.connect(lambda: self._layout.maximise(False))
        canvas.drawing_tool.set_tool(self._tool)
        canvas.detail = self.detail
        canvas.set_smooth(self._services.display.smooth)
        canvas.drawing_tool.snapping = self._services.display.snap
        canvas.magnifier.key = self._magnifier_key
        canvas.magnifier.set_on(next(iter(self._frames.values())).canvas.magnifier.on)
        canvas.magnifier.toggled.connect(self.set_magnifier)
        canvas.drawing_tool.tool_changed.connect(self._tool_changed)
        for source, relay in (
            (canvas.picture_changed, self.picture_changed),
            (canvas.status_changed, self.status_changed),
            (frame.planes.changed, self.planes_changed),
            (canvas.scroller.playing_changed, self.playing_changed),
        ):
            source.connect(partial(self._relay, viewport, relay.emit))
        canvas.menu_wanted.connect(self.menu_wanted)
        frame.dropped.connect(partial(self._drop, viewport))
        frame.bar.close_wanted.connect(partial(self._layout.close, viewport))
        frame.bar.maximise_wanted.connect(partial(self._maximise, viewport))
        self.frame_made.emit(frame)
        return frame

    def _relay(self, viewport: Viewport, emit: Callable[[], object], *_args: object) -> None:
        if viewport is self._layout.active:
            emit()

    def _maximise(self, viewport: Viewport) -> None:
        self._layout.activate(viewport)
        self._layout.maximise(not self._layout.maximised)

    # Windows

    def add_area(self, screen: Screen) -> ScreenArea:
        """Return a new widget that shows a second window's viewports."""
        area = ScreenArea(self._layout, screen, self._every)
        self._areas.append(area)
        self._arrange()
        return area

    def remove_area(self, area: ScreenArea) -> None:
        """Take the frames out of a second window's widget before it is deleted."""
        self._areas.remove(area)
        for frame in self._every.values():
            if frame.parentWidget() is area:
                frame.hide()
                frame.setParent(self)

    # Layout

    def show_layout(self, name: str) -> None:
        """Show one of `LAYOUTS`; new viewports get the series that are not shown yet."""
        self._services.workspace.arrange(LAYOUTS[name])

    def _arrange(self) -> None:
        """Place the frames of the layout, make those that are new, and hide the others."""
        layout = self._layout
        first = (layout.active, layout.pictures)
        missing = [one for one in layout.viewports if one not in self._every]
        missing.sort(key=lambda one: one not in first)
        for viewport in missing[:AT_ONCE]:
            self._new_frame(viewport)
        if missing[AT_ONCE:]:
            self._soon.start()
        for viewport in self._every:
            self._show_state(viewport)
        for viewport, frame in self._every.items():
            if viewport is not layout.pictures:
                frame.hold(None)
        if layout.pictures is not None:
            self.frame_of(layout.pictures).hold(self.panes)
        for area in self._areas:
            area.place()
        self._activated()

    def _show_state(self, viewport: Viewport) -> None:
        """Tell a frame how many others there are, and stop what is not seen."""
        layout, frame = self._layout, self._every[viewport]
        several = len(layout.viewports) > 1
        frame.canvas.alone = len(layout.screen_of(viewport).viewports) == 1
        # Of several, each needs less around what is in view: they are small.
        frame.canvas.sharing = 2 * len(layout.viewports) if several else 1
        if viewport not in layout.visible:
            frame.hide()
            frame.canvas.scroller.pause()
        frame.placeholder.refresh()
        frame.bar.appear(False)

    def _make_next(self) -> None:
        """Make one more frame, in a turn of the event loop of its own."""
        missing = [one for one in self._layout.viewports if one not in self._every]
        for viewport in missing[:1]:
            self._add(viewport)
        if missing[1:]:
            self._soon.start()

    def _add(self, viewport: Viewport) -> None:
        """Make the frame of a viewport that may show an image already, which nobody loads."""
        self._new_frame(viewport)
        self._show_state(viewport)
        for area in self._areas:
            area.place()
        if viewport.instance is not None:
            viewport.show(viewport.instance, viewport.frame_index, keep_display=True)

    def _show_pictures(self) -> None:
        if self._services.workspace.panes.all:
            frame = self.active
            self._layout.show_pictures("right" if frame.width() >= frame.height() else "bottom")
        else:
            self._layout.hide_pictures()

    # The active viewport

    def _focus_changed(self, _old: QWidget | None, new: QWidget | None) -> None:
        if new is None or not any(area.isAncestorOf(new) for area in self._areas):
            return
        for viewport, frame in self._frames.items():
            if frame.isAncestorOf(new):
                self._layout.activate(viewport)

    def _activated(self) -> None:
        focus = QApplication.focusWidget()
        here = focus is not None and any(area.isAncestorOf(focus) for area in self._areas)
        if focus is not None and here and not self.active.isAncestorOf(focus):
            self.active.window().activateWindow()  # it may be in the other window
            self.active.focus_page()
        for area in self._areas:
            area.update()
        for signal in (self.picture_changed, self.status_changed, self.playing_changed):
            signal.emit()
        self.planes_changed.emit()

    @property
    def _tool(self) -> str:
        first = next(iter(self._frames.values()))
        return first.canvas.drawing_tool.tool

    def _tool_changed(self, tool: str) -> None:
        for frame in self._frames.values():
            frame.canvas.drawing_tool.set_tool(tool)
        self.panes.set_tool(tool)
        self.tool_changed.emit(tool)

    def set_magnifier_key(self, key: QKeySequence) -> None:
        """Set the key that shows the magnifier as long as it is held."""
        self._magnifier_key = key
        for frame in self._frames.values():
            frame.canvas.magnifier.key = key

    def set_magnifier(self, on: bool) -> None:
        for frame in self._frames.values():
            frame.canvas.magnifier.set_on(on)
        self.tool_changed.emit(self._tool)

    def next_detail(self) -> None:
        every = list(Detail)
        self.detail = every[(every.index(self.detail) + 1) % len(every)]
        for frame in self._frames.values():
            frame.canvas.set_detail(self.detail)
        self.panes.set_detail(self.detail)

    def play_all(self) -> None:
        """Play the cines of all viewports, each at its own rate; pause them if one is playing."""
        scrollers = [frame.canvas.scroller for frame in self.frames if frame.isVisible()]
        playing = any(one.playing for one in scrollers)
        for one in scrollers:
            if one.playing == playing:
                one.toggle()

    def _follow_display(self) -> None:
        """Use the settings of the display: smooth or sharp, snapping, the screens' pixels."""
        for frame in self._frames.values():
            frame.canvas.set_smooth(self._services.display.smooth)
            frame.canvas.drawing_tool.snapping = self._services.display.snap
            frame.canvas.measure_again(self._services.display.pixel_mm)

    # Drops

    def _drop(self, onto: Viewport, data: QMimeData, edge: Edge | str) -> None:
        """Show a dropped series, or exchange a dropped viewport with the one it was dropped on."""
        if data.hasFormat(VIEWPORT_MIME):
            token = bytes(data.data(VIEWPORT_MIME).data())
            dragged = (one for one in self.frames if one.bar.token == token)
            if (frame := next(dragged, None)) is not None:
                self._layout.swap(frame.viewport, onto)
            return
        instance = self.first_of(bytes(data.data(SERIES_MIME).data()).decode(errors="replace"))
        if instance is None:
            return
        over = self._frames[onto].layer_loading.open_object
        if instance.content in DRAWN and not edge and over(instance):
            return
        target: Viewport | None = onto
        room = self._frames[onto].size()
        side = room.width() if edge in ("left", "right") else room.height()
        if edge in ("left", "right", "top", "bottom") and side >= 2 * LEAST:
            target = self._layout.split(onto, edge)
        if target is not None:
            target.show(instance)
            self._layout.activate(target)
            self._frames[target].canvas.setFocus(Qt.FocusReason.OtherFocusReason)
