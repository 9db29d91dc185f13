"""The canvas: the viewport's picture with its texts, findings, layers, mouse and keys.

Pictures are rendered on a thread; each is put on the screen together with the text that belongs to
it.

Mouse: left drag = what the tool in hand does (intensity window, pan, zoom, scroll, drawing), or
moving a label or handle; middle or Space + left = pan, right = zoom, right click = menu, double
click = fit; the wheel scrolls where there is something to scroll, else it zooms; Ctrl + wheel
always zooms. Keys: see `key_actions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QWheelEvent,
)

from app.errors import SightlineError
from app.imaging.findings import Finding, Mask, State
from app.imaging.pixels import pipeline, windows
from app.imaging.pixels.composite import without_channel
from app.imaging.space import planes
from app.imaging.space.planes import XYZ, FramePlane
from app.imaging.types import Frame, ImageRef, Instance, Series, Window
from app.views import wording
from app.views.background import Background
from app.views.canvas import corner_text, synthetic_band
from app.views.canvas.annotation_layer import AT_ONCE, AnnotationLayer
from app.views.canvas.color_bar import ColorBar, color_scale
from app.views.canvas.corner_text import Corners, Detail, Place, Shown, Sides
from app.views.canvas.drawing_tool import DrawingTool
from app.views.canvas.finding_items import AnnotationItem
from app.views.canvas.image_layer import area_of
from app.views.canvas.image_view import DRAG_ZOOM, WHEEL_STEP, ImageView
from app.views.canvas.label_chips import PlacedChip
from app.views.canvas.layer_graphics import LayerDrawing
from app.views.canvas.magnifier import Magnifier
from app.views.canvas.mark_moving import MarkMover
from app.views.canvas.mouse_gestures import (
    DRAG_THRESHOLD,
    PAN,
    SCROLL,
    ZOOM,
    Drag,
    FrameScroll,
    brush_cursor,
    drag_of,
    dragged_window,
    scrolled,
    tool_cursor,
)
from app.views.canvas.rendering import ENOUGH, Job, Picture, Renderer, can_colour
from app.views.canvas.scrolling import Scroller, Scrubber, TimeBar
from app.views.canvas.text_overlay import Overlay
from app.views.canvas.true_size import screen_key, true_zoom
from app.views.translation import tr
from app.workspace import drawing, editing, plane_marks, review
from app.workspace.annotations import Annotations
from app.workspace.viewport import REFORMAT, Viewport
from app.workspace.workspace import Workspace

BRUSH_KEYS = ("[", "]")
"""Keys that change the size of the brush while it is in hand."""

MENU_KEYS = tuple(map(Qt.Key, (ord(letter) for letter in "IARF0HVLBMEW")))
"""Keys of the canvas for what a window has in its menus."""

SMALL = 300
"""Px of the shorter side of a canvas below which it has room for the most important texts only."""


_OTHER_SCREEN = (QEvent.Type.ScreenChangeInternal, QEvent.Type.DevicePixelRatioChange)

TEXTS_MS = 25
"""Time in which the texts follow a changed window, at the latest; the picture does not wait."""

_REGION_SAMPLES = 250_000
"""Pixels of a drawn region that are read for its window: in 10 ms, however large it is."""
_ARROWS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}
_CURSORS = {ZOOM: "zoom-in", SCROLL: "move-vertical"}


class Canvas(ImageView):
    """The widget that shows a viewport's image with its texts, findings and layers.

    Args:
        viewport: The viewport to show; by default the active one.
        rendering: Renders the pictures; by default a thread of the canvas' own.

    Attributes:
        alone: Whether there is no other viewport in its window.
        sharing: Into how many parts the memory for rendered pixels is divided among viewports.
        error: Why no image is shown, or "".
        picture: The picture on the screen, or None.
    """

    picture_changed = Signal()  # another image, or one shown by other means, is on the screen
    status_changed = Signal()  # empty, loading, an error, or an image
    detail_changed = Signal()
    menu_wanted = Signal(QPoint)  # the context menu, at this place on the screen
    pointed = Signal(object)  # Shift over a pixel: its place in the image (QPointF), or None
    hovered = Signal(float)  # the mouse, not pressed: its y in the widget (px)
    activated = Signal()  # pressed, or given the focus
    maximise_wanted = Signal()
    restore_wanted = Signal()  # Escape, with nothing else to leave

    def __init__(
        self,
        workspace: Workspace,
        background: Background,
        viewport: Viewport | None = None,
        rendering: Background | None = None,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self.model = viewport or workspace.viewport
        self.picture: Picture | None = None
        self._source: Instance | None = None  # the acquired image that the picture is of
        self.error = ""
        self.alone = True
        self.sharing = 1
        self.detail = Detail.ALL
        self._link_text = ""
        self._taking = False  # whether a picture is being taken
        self._pointing = False  # whether `pointed` has told of a place
        self._clicked: list[tuple[ImageRef, float, float]] = []
        self._refit = True
        self._cursor: QPointF | None = None  # where the mouse is over the canvas
        # A thread apart, so that a window change does not wait for outlines or thumbnails. All
        # viewports share it: threads that render at once would contend for Python's lock.
        self._rendering = rendering or Background(1, self)
        self._renderer = Renderer(self._rendering, self._take_picture, self._take_error)
        self.overlay = Overlay(self)
        self._texts = QTimer(self, singleShot=True, interval=TEXTS_MS)
        self._texts.timeout.connect(self._update_overlay)
        self.layer_drawing = LayerDrawing(self, self.model.layers, background)
        self.findings_layer = AnnotationLayer(self, workspace.annotations, background)
        self.drawing_tool = DrawingTool(
            self,
            self.findings_layer,
            workspace.annotations,
            background,
            lambda: self.scaled_frame,
            lambda: self._section_plane(),
            lambda: self.frame,
        )
        self._measured: dict[str, Finding] = {}  # marks whose statistics were asked for
        self._measured_with: object = None
        workspace.annotations.changed.connect(self._follow_marks)
        workspace.annotations.object_changed.connect(self._bring_into_view)
        self._wanted = ""  # a finding to be brought into view as soon as it is drawn
        workspace.annotations.region_wanted.connect(self._want_region)
        self.findings_layer.changed.connect(self._show_region)
        model = self.model
        # Connected before the scroller, which requests the next frame when one arrives.
        model.frame_changed.connect(self._frame_changed)
        self.scroller = Scroller(workspace, self, model)
        self.scrubber = Scrubber(self, workspace, self.scroller)
        self.picture_changed.connect(self.scrubber.follow)
        self.time_bar = TimeBar(self, workspace, self.scroller)
        self.scroller.playing_changed.connect(self._update_overlay)
        self.scroller.speed_changed.connect(self._update_overlay)
        model.image_changed.connect(self._image_changed)
        model.display_changed.connect(self._display_changed)
        # A running scan adds to the shown series: "Image 1 / 8" becomes "1 / 96".
        workspace.studies.changed.connect(self._update_overlay)
        workspace.key_marks.changed.connect(self._update_overlay)
        self.findings_layer.changed.connect(self._update_overlay)
        self.view_changed.connect(self._update_overlay)
        self.view_changed.connect(self._render_view)
        self._space = False
        self._press: tuple[QPointF, Drag, Window | None] | None = None
        self._scroll_from = 0  # place in the series at the press
        self._label: tuple[PlacedChip, QPointF] | None = None  # dragged, from where
        self._moved = False
        self._ruler: tuple[float, str] | None = None  # mm of a screen's pixel, and which screen
        # Between the slices of a source, along a normal.
        self._step: tuple[Series | Instance, XYZ, float] | None = None
        self._span = 1.0  # useful range of the image whose window is dragged
        self._wheel = FrameScroll()
        self.color_bar = ColorBar(self)
        self.magnifier = Magnifier(self)
        self.mover = MarkMover(
            self,
            self.findings_layer,
            workspace.annotations,
            self.drawing_tool.frame_of,
            self.drawing_tool.take,
        )
        self._grabbed: tuple[str, int] | None = None  # the point that arrow keys move
        self._nudges = 0
        self._keys = key_actions(self, workspace.annotations)
        self._menu_keys = True  # whether keys of commands that menus have too are the canvas's
        self.drawing_tool.tool_changed.connect(lambda _tool: self._show_cursor(None))
        self.drawing_tool.region_drawn.connect(self._window_region)
        self.setAccessibleName(tr("Image canvas"))
        if model.frame is not None:
            self._frame_changed()

    def close_models(self) -> None:
        """Stop rendering; call before the canvas is deleted."""
        self._texts.stop()
        self._renderer.drop()
        self._rendering.close()
        self.findings_layer.close()
        self.scroller.pause()

    # Picture

    @property
    def frame(self) -> Frame | None:
        """The frame on the screen, or None; the viewport may already have the next frame."""
        return self.picture.job.frame if self.picture else None

    @property
    def scaled_frame(self) -> Frame | None:
        """The frame on the screen with the scale of its marks: by hand, or else its own."""
        if self.picture is None:
            return None
        return self._workspace.scaled(self.picture.job.instance, self.picture.job.frame)

    @property
    def clicked(self) -> list[tuple[float, float]]:
        """The last two clicks on the shown frame: pixels (x, y), in their order."""
        frame = self.frame
        return [(x, y) for ref, x, y in self._clicked if frame is not None and frame.shows(ref)]

    def _section_plane(self) -> FramePlane | None:
        """Return the plane of the shown section of a volume; None for an acquired image."""
        if self.picture is None or _kind(self.picture.job.instance) != REFORMAT:
            return None
        return self._plane_of(self.picture.job)

    def _plane_of(self, job: Job) -> FramePlane | None:
        space = job.instance.get("FrameOfReferenceUID")
        return planes.frame_plane(job.frame, space) if space else None

    def _show_findings(self, job: Job) -> None:
        """Show the findings on an image, and those of sections that lie in its plane."""
        marks = any(one.finding.plane for one in self._workspace.annotations.all())
        plane = self._plane_of(job) if marks or self._section_plane() else None
        source = self._source
        step = 0.0
        if plane is not None and source is not None:
            series = self._workspace.studies.series_of(source)
            whole = source if source.frames > 1 or series is None else series
            known = self._step
            if known is None or known[0] is not whole or known[1] != plane.normal:
                self._step = known = whole, plane.normal, plane_marks.slice_step(whole, plane)
            step = known[2]
        self.findings_layer.set_image(self.scaled_frame, plane, step)

    def _follow_marks(self) -> None:
        """Show sections' marks and the scale, which a line of known length sets; count again."""
        frame, picture = self.scaled_frame, self.picture
        if frame is None or picture is None:
            return
        self._show_findings(picture.job)
        scale = frame.ref, frame.spacing, frame.regions
        if scale != self._measured_with:
            self._measured_with = scale
            self._measured = {}
            self._update_overlay()
        known = self._measured
        on_image = [item.finding for item in self._workspace.annotations.on_frame(frame)]
        new = [one for one in on_image if known.get(one.id) is not one]
        self._measured = {one.id: one for one in on_image}
        for one in new:
            if (own := frame.of(one.image)) is not None:
                self._count(one, own)

    def _bring_into_view(self, finding_id: str, number: int) -> None:
        """Move the image so that an object that a table or plot has selected is seen."""
        bounds = self.findings_layer.bounds_of_object(finding_id, number)
        if not bounds.isEmpty():
            seen = QRectF(self.viewport().rect())
            middle = bounds.center()
            if not seen.contains(self.to_widget(middle.x(), middle.y())):
                self.center_on(middle.x(), middle.y())

    def _want_region(self, finding_id: str) -> None:
        self._wanted = finding_id if self.model is self._workspace.viewport else ""
        self._show_region()

    def _show_region(self) -> None:
        """Move the image so that the wanted finding is in the middle, and all of it is seen."""
        if not self._wanted or not self.findings_layer.has(self._wanted):
            return
        region = self.findings_layer.bounds(self._wanted)
        self._wanted = ""
        corners = [self.to_widget(region.left(), region.top())]
        corners.append(self.to_widget(region.right(), region.bottom()))
        size = QRectF(*corners).normalized().size()
        if size.width() > self.width() or size.height() > self.height():
            self.fit()
        self.center_on(region.center().x(), region.center().y())

    def _count(self, one: Finding, frame: Frame) -> None:
        """Compute a mark's statistics on a thread; a tool's finding stays as the tool made it."""
        wanted = isinstance(one.geometry, Mask) or drawing.pixels_around(one) > AT_ONCE
        mine = drawing.by_hand(one) or one.corrected
        counted = any(value.name == "Mean" for value in one.measurements)
        if wanted and mine and not counted and not frame.is_color:
            self.findings_layer.count(one, frame)

    @property
    def shown_window(self) -> Window | None:
        """The window in use, ahead of the pixels on the screen during a drag; None for colour."""
        if self.picture is None or self.picture.window is None:
            return None
        wanted = self.model.display.window or self.picture.window
        if wanted.lut >= len(self.picture.job.frame.voi.luts):
            # It was chosen on another image, so only its range applies.
            return replace(wanted, lut=-1)
        return wanted

    @property
    def rendering(self) -> bool:
        return self._renderer.busy

    @property
    def busy(self) -> bool:
        """Whether a frame, its picture or texts, a layer or a finding's shape is unfinished."""
        drawn = self.layer_drawing.ready and self.findings_layer.ready
        written = not self._texts.isActive()
        return self.scroller.waiting or self._renderer.busy or not (drawn and written)

    def annotation_items(self) -> list[AnnotationItem]:
        return list(self.findings_layer.items)

    def _image_changed(self) -> None:
        instance = self.model.instance
        shown = self.picture.job.instance if self.picture else None
        same = self._same_series(shown, instance)
        self.error = ""
        self._renderer.drop()
        other_plane = shown is not instance and REFORMAT in (_kind(shown), _kind(instance))
        self._refit = not same or other_plane or _size(shown) != _size(instance)
        # Within a series the old image stays, with its own corner text, until the next is there;
        # an image of another series or patient must never be seen after a new one was chosen.
        if not same:
            self._press = self._drag_from = None  # a drag goes on in no other image
            self._clear()
            self.status_changed.emit()

    def _same_series(self, shown: Instance | None, following: Instance | None) -> bool:
        """Return whether two images, acquired or reformatted, are of one series."""
        # The workspace forgets the source of sections as soon as they are no longer shown.
        before = self._source if _kind(shown) == REFORMAT else shown
        after = self.model.acquired if _kind(following) == REFORMAT else following
        series = self._workspace.studies.series_of
        return bool(before and after and (s := series(before)) is not None and s is series(after))

    def _clear(self) -> None:
        self.picture = self._source = None
        self.magnifier.refresh()
        self.drawing_tool.cancel()
        self._drop_mark()
        self.show_patches((), (0, 0), 1.0, refit=False)
        self.findings_layer.set_image(None)
        self.overlay.set_synthetic("")
        self.overlay.set_sides(Sides())
        self._update_overlay()
        self.picture_changed.emit()

    def _frame_changed(self) -> None:
        model = self.model
        if model.error:
            self.error = model.error
            self._clear()
            self.status_changed.emit()
        elif model.frame is not None and model.instance is not None:
            self.error = ""
            index, state = model.frame_index, model.presentation
            presented = model.presented(index)
            room = ENOUGH // self.sharing
            job = Job(
                model.instance, index, model.frame, model.display, state, presented, room=room
            )
            self._render(job)

    def _display_changed(self) -> None:
        shown = self.picture
        model = self.model
        if shown is None:
            return
        job = replace(shown.job, display=model.display, before=shown)
        # An image that stays until the next arrives follows the display too, as its text does.
        stays = model.frame is None and self._is_on_the_way(job)
        if model.frame is job.frame or stays:
            self._render(job)
            self._lay_out(job.frame)
            if replace(shown.job.display, window=model.display.window) == model.display:
                # Making texts takes the rendering thread's time at Python's lock: a drag would
                # lose a quarter of its pictures to numbers that nobody can read so quickly.
                if not self._texts.isActive():
                    self._texts.start()
            else:
                self._update_overlay()
            self.magnifier.refresh()

    def _render(self, job: Job) -> None:
        """Request the visible part of an image, or all of it where that part is unknown."""
        same_place = not self._refit and self.image_size == (job.frame.columns, job.frame.rows)
        view = self.view_of() if same_place else None
        self._renderer.request(replace(job, view=view, rest=False))

    def _render_view(self) -> None:
        """Request what is missing of the visible part after a pan or zoom."""
        shown, view = self.picture, self.view_of()
        if shown is None or view is None or shown.job.frame is not self.model.frame:
            return
        if not shown.covers(view):
            display = self.model.display
            self._render(replace(shown.job, display=display, before=shown))
        elif shown.on_screen is None or shown.on_screen.place != view.place:
            self._renderer.view_moved(view)

    def _lay_out(self, frame: Frame) -> None:
        """Flip and rotate image and side letters together."""
        display = self.model.display
        self.set_turn(display)
        self.overlay.set_sides(corner_text.side_letters(frame, display))

    def _take_picture(self, picture: Picture) -> None:
        job, model = picture.job, self.model
        if job.frame is not model.frame and not self._is_on_the_way(job):
            return  # the viewport shows another frame by now
        last = self.picture.job if self.picture is not None else None
        before = last.frame if last is not None else None
        other = before is not job.frame
        if before is not None and before.stored.shape[:2] != job.frame.stored.shape[:2]:
            self._refit = True  # pages of a document may differ in size
        window = self.shown_window
        self.picture = picture
        self._source = self.model.acquired if _kind(job.instance) == REFORMAT else job.instance
        area = job.presented.displayed_area if job.presented is not None else None
        if self.set_area(area):
            self._refit = True
        if changed := other or last is None or last.presentation is not job.presentation:
            self._lay_out(job.frame)
        changed = changed or last is None or _channels(last) != _channels(job)
        size, aspect = (job.frame.columns, job.frame.rows), job.frame.spacing.aspect
        refit = other and self._refit
        self.show_patches(picture.patches, size, aspect, refit=refit, on_screen=picture.on_screen)
        if other:
            self.scroller.picture_shown()
            self.overlay.set_synthetic(synthetic_band.model_title(self._source))
            self._refit = False
            self._taking = True
            self.drawing_tool.cancel()
            self._drop_mark()
            self._follow_marks()
            self._taking = False
            if last is None:
                self.status_changed.emit()
        if job.frame is model.frame and job.display != model.display:
            # The display has changed since this picture was requested, e.g. in a drag.
            self._render(replace(job, display=model.display, before=picture))
        self._render_view()
        if other:
            self.magnifier.refresh()
        if changed or self.shown_window != window:
            self._update_overlay()
            self.picture_changed.emit()

    def _is_on_the_way(self, job: Job) -> bool:
        """Return whether a late picture is of a frame that the user is scrolling past.

        The next frame is requested before this one is drawn. If it were dropped, a wheel turning
        faster than frames are decoded would show nothing until it stops.
        """
        model = self.model
        if model.error or (job.display, job.presentation) != (model.display, model.presentation):
            return False
        if job.instance.kind == REFORMAT or _kind(model.instance) == REFORMAT:
            return job.instance is model.instance
        return self._same_series(job.instance, model.instance)

    def _take_error(self, job: Job, error: SightlineError) -> None:
        if job.frame is self.model.frame:
            self.error = wording.error_text(error)
            self._clear()
            self.status_changed.emit()

    # Display

    def set_window(self, window: Window | None) -> None:
        self._set_display(window=window)

    def _window_region(self, region: QRectF) -> None:
        """Set the window to the values of the pixels that a region of the image touches."""
        frame = self.frame
        if frame is None or frame.is_color:
            return
        left, top, right, bottom = area_of(region)
        rows = range(max(top, 0), min(bottom, frame.rows))
        columns = range(max(left, 0), min(right, frame.columns))
        step = math.ceil(math.sqrt(max(len(rows) * len(columns), 1) / _REGION_SAMPLES))
        window = windows.region_window(pipeline.values_in(frame, rows, columns, step=step))
        if window is not None:
            self.set_window(window)

    def toggle_invert(self) -> None:
        self._set_display(invert=not self.model.display.invert)

    @property
    def colourable(self) -> bool:
        """True if the shown image has no colours of its own, so that a colour map can be used."""
        shown = self.picture
        return shown is not None and can_colour(shown.job.frame) and not shown.job.tints

    def set_colormap(self, name: str) -> None:
        """Show greys in the colours of a map of `colormaps.TITLES`; "" for greys."""
        self._set_display(colormap=name)

    def set_smooth(self, smooth: bool) -> None:
        """Set whether enlarged pixels are interpolated."""
        if smooth != self.layer.smooth:
            self.layer.smooth = smooth
            self.layer.update()

    def show_true_size(self, pixel_mm: float, screen: str) -> bool:
        """Zoom to true size on `screen` (pixels `pixel_mm` wide); False beyond the limits."""
        self._ruler = pixel_mm, screen
        zoom = self._true_zoom()
        if zoom is not None:
            self.set_zoom(zoom)
        self._update_overlay()
        return self._is_true_size()

    def measure_again(self, pixel_mm: Callable[[str], float | None]) -> None:
        """Take over a new calibration; `pixel_mm` returns the mm of a pixel by screen, or None."""
        if self._ruler is not None:
            screen = self._ruler[1]
            known = pixel_mm(screen)
            self._ruler = (known, screen) if known is not None else None
            self._update_overlay()

    def _true_zoom(self) -> float | None:
        """Return the zoom at which the image has its true size on its screen; None if unknown."""
        frame = self.scaled_frame
        if frame is None or self._ruler is None or self._ruler[1] != screen_key(self.screen()):
            return None
        return true_zoom(frame.spacing, self._ruler[0])

    def _is_true_size(self) -> bool:
        zoom = self._true_zoom()
        return zoom is not None and math.isclose(zoom, self.zoom, rel_tol=1e-3)

    def flip(self, *, across: bool) -> None:
        self.model.set_display(self.model.display.flipped(across=across))

    def rotate(self, quarters: int) -> None:
        self.model.set_display(self.model.display.turned(quarters))

    def turn_or_resize(self, way: int) -> None:
        """Make the brush larger (1) or smaller (-1); without a brush, rotate right (1) or left."""
        if self._brushing:
            self._resize_brush(way)
        elif self._menu_keys:
            self.rotate(way)

    def leave_keys_to_menus(self) -> None:
        """Leave the keys of commands to a window's menus, where the user may have changed them."""
        self._menu_keys = False
        for key in MENU_KEYS:
            self._keys.pop(key, None)

    @property
    def _brushing(self) -> bool:
        return self.drawing_tool.tool == drawing.BRUSH

    def _resize_brush(self, steps: float) -> None:
        self.drawing_tool.resize_brush(steps)
        self._show_cursor(None)

    def reset(self) -> None:
        """Fit the image; take window, inversion and turn from the file or presentation state."""
        self.model.reset_display()
        self.fit()

    def _set_display(self, **changes: object) -> None:
        model = self.model
        model.set_display(replace(model.display, **changes))

    # Overlay

    def _update_overlay(self) -> None:
        if self._taking:
            return  # it is updated once the picture is taken
        self._texts.stop()
        self.overlay.set_corners(self._corners())
        self.overlay.set_legend(self.findings_layer.legend)
        self.overlay.set_chips(self.findings_layer.chips())
        self._show_color_bar()

    def _show_color_bar(self) -> None:
        """Show the scale of the colour map beside the image, or none."""
        name, window, frame = self.model.display.colormap, self.shown_window, self.frame
        scale = None
        if name and window is not None and frame is not None and self.colourable:
            scale = color_scale(name, frame, window, inverted=self.model.display.invert)
        if scale is not None or not self.color_bar.isHidden():
            self.color_bar.show_scale(scale, self)

    def _corners(self) -> Corners:
        picture = self.picture
        if picture is None:
            return Corners()
        job, scroller = picture.job, self.scroller
        corners = corner_text.corners_of(
            Shown(
                job.instance,
                self._named_frame(job),
                job.frame_index,
                scroller.position_of(job.instance),
                scroller.series_of(job.instance),
                self.shown_window,
                self.model.display.invert,
                self.turn,
                self._makers(),
                self.zoom,
                self._place_under_cursor(),
                self._presentation_text(job),
                scroller.rate if scroller.playing else 0.0,
                scroller.measured_rate,
                self._workspace.rejection_of(job.instance),
                self._link_text,
                self.model.display.colormap if self.colourable else "",
                self._is_true_size(),
                self._doubts(job.instance),
                self._workspace.is_key_image(job.frame.ref),
            ),
            self.detail,
        )
        small = min(self.width(), self.height()) < SMALL
        return corner_text.compact(corners) if small else corners

    def _named_frame(self, job: Job) -> Frame:
        """Return the frame for the texts; of channels shown together the legend has the names."""
        frame = self.scaled_frame or job.frame
        return without_channel(frame, job.instance.axes) if job.tints else frame

    def _doubts(self, instance: Instance) -> Sequence[str]:
        """Return the warnings about whose images the study of an instance holds."""
        source = self._source if instance.kind == REFORMAT and self._source else instance
        study = self._workspace.studies.study_of(source)
        return study.warnings if study is not None else ()

    def set_detail(self, detail: Detail) -> None:
        self.detail = detail
        self._update_overlay()
        self.detail_changed.emit()

    def delete_selected(self) -> None:
        selected = self._workspace.annotations.selected
        if any(one.id == selected for one in self.findings_layer.findings):
            self._workspace.annotations.remove([selected])

    def decide(self, state: State) -> None:
        selected = self._workspace.annotations.selected
        if any(one.id == selected for one in self.findings_layer.findings):
            self._workspace.annotations.decide([selected], state)

    def edit_selected(self) -> None:
        """Take the brush for the selected mask or the one under the cursor, else show handles."""
        item = self._workspace.annotations.get(self._workspace.annotations.selected)
        geometry = item.finding.geometry if item is not None else None
        brush = geometry is None or isinstance(geometry, Mask)
        self.drawing_tool.set_tool(drawing.BRUSH if brush else "")

    def presets(self) -> tuple[Window, ...]:
        """Return the windows of the menu of presets, in its order; () without an image."""
        own = self._workspace.window_presets.own
        return self.picture.presets_with(own) if self.picture is not None else ()

    def choose_preset(self, number: int) -> None:
        """Use the window with a number, from 1, in the menu of presets; if there is one."""
        presets = self.presets()
        if number <= len(presets):
            self.set_window(presets[number - 1])

    def set_link_text(self, text: str) -> None:
        """Set the line that says how the viewport's scrolling is linked; "" if it is not."""
        if text != self._link_text:
            self._link_text = text
            self._update_overlay()

    def _makers(self) -> list[str]:
        """Return the titles of the tools whose findings on the canvas nobody has accepted."""
        made = (one for one in self.findings_layer.findings if review.unverified(one))
        return [wording.maker_text(finding, self._workspace.title_of) for finding in made]

    def _presentation_text(self, job: Job) -> str:
        """Return the name of the applied presentation state and whether it was changed."""
        model = self.model
        own = model.own_display(model.frame_index)
        return corner_text.presentation_text(
            job.presentation, applies=job.presented is not None, changed=model.display != own
        )

    def _place_under_cursor(self) -> Place | None:
        # Looked up whenever the corners are drawn: slice, plane, turn and zoom change below a
        # resting cursor.
        if self.frame is None or self._cursor is None:
            return None
        at = self.to_image(self._cursor)
        grey = pipeline.grey_at(self.frame, at.x(), at.y())
        if grey is None:
            return None
        column, row = math.floor(at.x() + 0.5), math.floor(at.y() + 0.5)
        point = corner_text.point_text(self.frame, column, row)
        return Place(column, row, self._values_at(at) or grey.text, point)

    def _values_at(self, at: QPointF) -> str:
        """Return the stored value of each channel that is shown with others; "" for one alone."""
        picture = self.picture
        axes = picture.job.instance.axes if picture is not None else None
        if picture is None or axes is None:
            return ""
        texts: list[str] = []
        for tint in picture.job.tints:
            grey = pipeline.grey_at(tint.frame, at.x(), at.y())
            name = axes.names[axes.place(tint.frame.ref.frame)[0]]
            texts.append(f"{name} {grey.text}" if grey is not None else "")
        return wording.DOT.join(text for text in texts if text)

    def resizeEvent(self, ev: QResizeEvent) -> None:
        super().resizeEvent(ev)
        if hasattr(self, "overlay"):  # pyqtgraph resizes itself inside its constructor
            self.overlay.setGeometry(self.viewport().geometry())
            area, width = self.viewport().geometry(), self.scrubber.sizeHint().width()
            self.scrubber.setGeometry(area.right() + 1 - width, area.top(), width, area.height())
            bottom = area.bottom() + 1 - width
            self.time_bar.setGeometry(area.left(), bottom, area.width() - width, width)
            self._update_overlay()

    # Mouse and keys

    def _hover(self, position: QPointF | None) -> str:
        """Update the value under the cursor; return the id of the finding there, or ""."""
        hit, number = "", 0
        self._cursor = position
        if position is not None:
            at = self.to_image(position)
            label = self.overlay.chip_at(position)
            hit = label.chip.id if label else self.findings_layer.hit(at)
            number = 0 if label else self.findings_layer.object_at(hit, at)
        self.findings_layer.hover(hit, number)
        self.overlay.point_at(position)
        self.overlay.set_corners(self._corners())
        return hit

    def _select_at(self, position: QPointF) -> None:
        at, frame = self.to_image(position), self.frame
        if frame is not None:
            inside = -0.5 <= at.x() < frame.columns - 0.5 and -0.5 <= at.y() < frame.rows - 0.5
            self._clicked = [*self._clicked[-1:], (frame.ref, at.x(), at.y())] if inside else []
        hit = self._hover(position)
        number = self.findings_layer.object_at(hit, self.to_image(position))
        self._workspace.annotations.select(hit, number)

    def mousePressEvent(self, ev: QMouseEvent) -> None:
        self._wanted = ""  # the user has gone on
        self.activated.emit()
        self.drawing_tool.set_free(ev.modifiers())
        kind = drag_of(ev.button(), space=self._space, tool=self.drawing_tool.tool)
        left = ev.button() == Qt.MouseButton.LeftButton
        free = left and not self._space and self._press is None
        at, erase = ev.position(), bool(ev.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        on_sign = free and not self.drawing_tool.active and self.overlay.press_at(at)
        tool = self.drawing_tool
        anywhere = bool(ev.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if on_sign or (free and (self._take_label(at) or tool.press(at, erase=erase))):
            kind = None
            self._grabbed = tool.held
        elif free and self.mover.press(at, anywhere=anywhere):
            kind = self._grabbed = None
        if kind is not None and self._press is None and self.picture is not None:
            self._press = (ev.position(), kind, self.shown_window)
            self._drag_from = ev.position()
            self._moved = False
            self._scroll_from = self.scroller.place[0]
            if kind is Drag.PAN:
                self.setCursor(Qt.CursorShape.ClosedHandCursor)
        ev.accept()

    def mouseMoveEvent(self, ev: QMouseEvent) -> None:
        ev.accept()
        self.drawing_tool.set_free(ev.modifiers())
        self._cursor = ev.position()
        self.magnifier.follow(self._cursor)
        if self._label is not None:
            self._move_label(ev.position())
            return
        if self.mover.active:
            self.mover.move(ev.position())
            return
        if self._press is None or self._drag_from is None:
            shift = bool(ev.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._point_at(ev.position() if shift and not self.drawing_tool.draws else None)
            self.hovered.emit(ev.position().y())
            drawing = self.drawing_tool.move(ev.position())
            hit = self._hover(ev.position())
            self._show_cursor(self._cursor_over(ev.position(), hit) if not drawing else None)
            return
        start, kind, window = self._press
        total = ev.position() - start
        if not self._moved:
            if total.manhattanLength() < DRAG_THRESHOLD:
                return
            if kind is Drag.WINDOW and window is not None and self.frame is not None:
                low, high = windows.useful_range(self.frame)  # 2 ms, once a drag
                self._span = high - low
        self._moved = True
        step = ev.position() - self._drag_from
        self._drag_from = ev.position()
        if kind is Drag.PAN:
            self.pan_by(step.x(), step.y())
        elif kind is Drag.ZOOM:
            self.zoom_by(2.718281828 ** (-step.y() * DRAG_ZOOM), self.to_image(start))
        elif kind is Drag.SCROLL:
            by = scrolled(total.y(), self.height(), self.scroller.place[1])
            self.scroller.to(self._scroll_from + by)
        elif window is not None and self.picture is not None:
            self.set_window(dragged_window(window, total.x(), total.y(), self._span))

    def mouseReleaseEvent(self, ev: QMouseEvent) -> None:
        ev.accept()
        self.drawing_tool.set_free(ev.modifiers())
        if self._label is not None and ev.button() == Qt.MouseButton.LeftButton:
            if not self._moved:
                self._workspace.annotations.select(self._label[0].chip.id)
            self._label = None
            return
        if self.mover.active and ev.button() == Qt.MouseButton.LeftButton:
            if not self.mover.release():
                self._select_at(ev.position())
            return
        if self._press is None:
            left = ev.button() == Qt.MouseButton.LeftButton and self.drawing_tool.active
            if left and not self.drawing_tool.release(ev.position()):
                self._select_at(ev.position())
            return
        right = ev.button() == Qt.MouseButton.RightButton
        zooming = right and self._press[1] is Drag.ZOOM
        self._press = self._drag_from = None
        self._show_cursor(Qt.CursorShape.OpenHandCursor if self._space else None)
        if self._moved:
            return
        if zooming:
            self.menu_wanted.emit(ev.globalPosition().toPoint())
        elif ev.button() == Qt.MouseButton.LeftButton:
            self._select_at(ev.position())

    def _drop_mark(self) -> None:
        """Put a mark back that is being dragged, as its image is no longer shown."""
        if hasattr(self, "mover"):  # not yet while the canvas is made
            self.mover.cancel()

    def _nudge(self, ev: QKeyEvent) -> bool:
        """Move the selected mark, or its grabbed point, by an arrow key; False without one."""
        way = _ARROWS.get(Qt.Key(ev.key()))
        keys = ev.modifiers() & ~(
            Qt.KeyboardModifier.KeypadModifier | Qt.KeyboardModifier.ShiftModifier
        )
        annotations = self._workspace.annotations
        marks = [one for one in self.findings_layer.findings if one.id == annotations.selected]
        if way is None or keys != Qt.KeyboardModifier.NoModifier or not marks:
            return False
        mark = marks[0]
        frame = self.drawing_tool.frame_of(mark)
        if frame is None or editing.bounds_of(mark) is None:
            return False
        if annotations.is_locked(mark.id):
            return True
        far = 10 if ev.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        # One pixel of the image along the axis that runs as the key says, however it is turned.
        step = self.to_image(QPointF(*way) * 100) - self.to_image(QPointF(0, 0))
        across = abs(step.x()) > abs(step.y())
        dx = math.copysign(far, step.x()) if across else 0.0
        dy = 0.0 if across else math.copysign(far, step.y())
        points = drawing.points_of(mark)
        if self._grabbed is not None and self._grabbed[0] == mark.id and points:
            place = min(self._grabbed[1], len(points) - 1)
            to = points[place][0] + dx, points[place][1] + dy
            changed = drawing.move_point(mark, frame, place, to)
        else:
            changed = editing.moved(mark, frame, dx, dy)
        if not ev.isAutoRepeat():
            self._nudges += 1
        if changed is not mark:
            self.drawing_tool.take(changed, f"nudge {mark.id} {self._nudges}")
        return True

    def _take_label(self, position: QPointF) -> bool:
        """Start to drag the label at a position; return whether there is one."""
        tool = self.drawing_tool
        if tool.active or self._brushing or tool.over_point(position):
            return False
        label = self.overlay.chip_at(position)
        self._label = (label, position) if label else None
        self._moved = False
        return label is not None

    def _move_label(self, position: QPointF) -> None:
        assert self._label is not None
        label, start = self._label
        by = position - start
        self._moved = self._moved or by.manhattanLength() >= DRAG_THRESHOLD
        if self._moved:
            offset = label.rect.center() + by - label.chip.anchor
            self.findings_layer.move_label(label.chip.id, offset)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        # A right press sends one too, but may be the start of a zoom drag.
        if event.reason() != QContextMenuEvent.Reason.Mouse and self.picture is not None:
            self.menu_wanted.emit(self.viewport().mapToGlobal(self.viewport().rect().center()))
        event.accept()

    def mouseDoubleClickEvent(self, ev: QMouseEvent) -> None:
        if self.drawing_tool.double_click(ev.position()):
            ev.accept()
        elif self.drawing_tool.draws:
            self.mousePressEvent(ev)  # with a drawing tool two quick clicks set two points
        elif not self.alone:
            ev.accept()
            self.maximise_wanted.emit()
        else:
            super().mouseDoubleClickEvent(ev)

    def wheelEvent(self, ev: QWheelEvent) -> None:
        ev.accept()
        if self.magnifier.on:
            self.magnifier.change(self._wheel.steps(-ev.angleDelta().y()))
            return
        control = bool(ev.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if self._brushing and ev.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._resize_brush((ev.angleDelta().y() or ev.angleDelta().x()) / 120)
        elif control and ev.modifiers() & Qt.KeyboardModifier.AltModifier:
            # Qt exchanges the axes of the wheel while Alt is held.
            turned = ev.angleDelta().y() or ev.angleDelta().x()
            self.scroller.step_time(self._wheel.steps(turned))
        elif control or not self.scroller.scrollable:
            self.zoom_by(WHEEL_STEP ** (ev.angleDelta().y() / 120.0), self.to_image(ev.position()))
        else:
            self.scroller.step(self._wheel.steps(ev.angleDelta().y()))

    def _point_at(self, position: QPointF | None) -> None:
        """Tell of the place under the mouse that is to be shown in every viewport, or of none."""
        if position is not None and self.picture is not None:
            self._pointing = True
            self.pointed.emit(self.to_image(position))
        elif self._pointing:
            self._pointing = False
            self.pointed.emit(None)

    def leaveEvent(self, ev: QEvent) -> None:
        self._point_at(None)
        self._hover(None)
        self.drawing_tool.leave()
        self.magnifier.follow(None)
        super().leaveEvent(ev)

    def event(self, ev: QEvent) -> bool:
        """Take the magnifier's key before the menu's action, which would not see its release."""
        if ev.type() == QEvent.Type.ShortcutOverride and self.magnifier.is_key(ev):
            ev.accept()
            return True
        if ev.type() in _OTHER_SCREEN and hasattr(self, "overlay"):
            self._update_overlay()  # what is of true size on one screen is not on another
        return super().event(ev)

    def keyPressEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space:
            if not ev.isAutoRepeat():
                self._space = True
                self._show_cursor(Qt.CursorShape.OpenHandCursor)
            return
        if self.magnifier.is_key(ev):
            if not ev.isAutoRepeat():
                self.magnifier.hold(self._cursor)
            return
        if self._drawing_key(ev.key()):
            ev.accept()
            return
        if self._nudge(ev):
            ev.accept()
            return
        action = self._keys.get(Qt.Key(ev.key()))
        if action is None or ev.modifiers() & Qt.KeyboardModifier.ControlModifier:
            ev.ignore()
            return
        action()
        ev.accept()

    def _drawing_key(self, key: int) -> bool:
        """Use a key for what is being drawn; return whether it was used."""
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            return self.drawing_tool.finish()
        return key == Qt.Key.Key_Backspace and self.drawing_tool.step_back()

    def keyReleaseEvent(self, ev: QKeyEvent) -> None:
        if ev.key() == Qt.Key.Key_Space and not ev.isAutoRepeat():
            self._space = False
            self._show_cursor(None)
        if ev.key() == Qt.Key.Key_Shift:
            self._point_at(None)
        if not ev.isAutoRepeat() and self.magnifier.is_key(ev, released=True):
            self.magnifier.release()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.activated.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._space = False
        self.magnifier.release()
        super().focusOutEvent(event)

    def _cursor_over(self, position: QPointF, hit: str) -> Qt.CursorShape | None:
        if self._brushing:
            return None
        if self.drawing_tool.over_point(position) or (
            not self.drawing_tool.draws and self.mover.over(position)
        ):
            return Qt.CursorShape.SizeAllCursor
        on_sign = self.overlay.over_sign(position)
        return Qt.CursorShape.PointingHandCursor if hit or on_sign else None

    def _show_cursor(self, shape: Qt.CursorShape | None) -> None:
        if shape is None and self._brushing:
            self.setCursor(brush_cursor(self.drawing_tool.radius * self.pixel_scale[0]))
        elif shape is None and self.drawing_tool.draws:
            self.setCursor(Qt.CursorShape.CrossCursor)
        elif shape is None and self.drawing_tool.tool == PAN:
            self.setCursor(Qt.CursorShape.OpenHandCursor)
        elif shape is None and self.drawing_tool.tool in _CURSORS:
            self.setCursor(tool_cursor(_CURSORS[self.drawing_tool.tool]))
        elif shape is None:
            self.unsetCursor()
        else:
            self.setCursor(shape)


def key_actions(canvas: Canvas, annotations: Annotations) -> dict[Qt.Key, Callable[[], object]]:
    """Return a map from keys to the actions that they trigger on the canvas.

    Escape discards an unfinished drawing; if there is none, it takes the tool for the window in
    hand again; if that is so already, it clears the selection; if nothing is selected, it shows all
    viewports again.
    """
    key, scroll, measuring = Qt.Key, canvas.scroller, canvas.drawing_tool

    def escape() -> None:
        if measuring.cancel() or canvas.mover.cancel():
            return
        if canvas.magnifier.on:
            canvas.magnifier.set_on(False)
            return
        if measuring.tool:
            measuring.set_tool("")
        elif annotations.selected:
            annotations.select("")
        else:
            canvas.restore_wanted.emit()

    return {
        key.Key_Up: lambda: scroll.step(-1),
        key.Key_Left: lambda: scroll.step(-1),
        key.Key_Down: lambda: scroll.step(1),
        key.Key_Right: lambda: scroll.step(1),
        key.Key_PageUp: lambda: scroll.step(-10),
        key.Key_PageDown: lambda: scroll.step(10),
        key.Key_Home: lambda: scroll.to(0),
        key.Key_End: lambda: scroll.to(scroll.place[1] - 1),
        key.Key_I: canvas.toggle_invert,
        key.Key_F: canvas.fit,
        key.Key_0: canvas.one_to_one,
        **{
            Qt.Key(key.Key_0 + number): partial(canvas.choose_preset, number)
            for number in range(1, 10)
        },
        key.Key_Plus: lambda: canvas.zoom_by(WHEEL_STEP),
        key.Key_Equal: lambda: canvas.zoom_by(WHEEL_STEP),
        key.Key_Minus: lambda: canvas.zoom_by(1 / WHEEL_STEP),
        key.Key_H: lambda: canvas.flip(across=True),
        key.Key_V: lambda: canvas.flip(across=False),
        key.Key_BracketLeft: lambda: canvas.turn_or_resize(-1),
        key.Key_BracketRight: lambda: canvas.turn_or_resize(1),
        key.Key_L: lambda: measuring.set_tool(drawing.RULER),
        key.Key_B: lambda: measuring.set_tool(drawing.BOX),
        key.Key_M: lambda: measuring.set_tool(drawing.POINT),
        key.Key_A: lambda: canvas.decide(State.ACCEPTED),
        key.Key_E: canvas.edit_selected,
        key.Key_R: lambda: canvas.decide(State.REJECTED),
        key.Key_W: lambda: measuring.set_tool(drawing.WINDOW_REGION),
        key.Key_Escape: escape,
        key.Key_Delete: canvas.delete_selected,
    }


def _channels(job: Job) -> tuple[object, ...]:
    return job.display.together, job.display.channels


def _kind(instance: Instance | None) -> str:
    return instance.kind if instance else ""


def _size(instance: Instance | None) -> tuple[int, int]:
    return (instance.columns, instance.rows) if instance else (0, 0)
