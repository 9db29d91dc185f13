"""Links between viewports: scrolling, window, zoom and pan, reference lines and the 3-D cursor."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QPointF, Signal

from app.imaging.layers import same_space
from app.imaging.space.planes import (
    XYZ,
    FramePlane,
    frame_plane,
    instance_plane,
    parse_numbers,
)
from app.imaging.types import Instance
from app.views.canvas.canvas import Canvas
from app.views.translation import tr, translatable
from app.views.viewports.reference_lines import PlaneMarks, common_line
from app.views.viewports.viewport_area import ViewportArea
from app.views.viewports.viewport_frame import ViewportFrame
from app.workspace.viewport import REFORMAT, FrameRequest, Viewport
from app.workspace.workspace import Workspace

_NEAR = 5.0  # mm from a slice of unknown thickness
PARALLEL = 0.9
"""Cosine between the normals of two planes from which their slices are scrolled together."""

BY_POSITION = translatable("Linked by position")
BY_REGISTRATION = translatable("Linked by registration")
BY_NUMBER = translatable("Linked by image number: no common position")


class ViewportLinks(QObject):
    """Makes the viewports of a group follow the one that the user works on.

    Every viewport belongs to the group unless it is in `left_out`.

    Attributes:
        scroll: Whether scrolling is linked: by position in the patient; between images that share
            no frame of reference, by as many images.
        window: Whether window, inversion and colour map are linked, among images of the same
            modality whose values have the same units.
        view: Whether zoom and pan are linked.
        lines: Whether the plane of the active viewport is drawn in the others.
    """

    changed = Signal()

    def __init__(self, area: ViewportArea, workspace: Workspace) -> None:
        super().__init__(area)
        self._area = area
        self._workspace = workspace
        self.scroll = self.window = self.view = False
        self.lines = True
        self.left_out: set[Viewport] = set()
        self._following = False  # whether a viewport is changed from here and not by the user
        self._places: dict[Viewport, tuple[object, int]] = {}  # series shown last, and where
        self._owed: dict[Viewport, Callable[[], object]] = {}  # step to take when its frame is here
        self._normals: dict[Viewport, XYZ | None] = {}  # of the planes that were shown last
        self._pointed: tuple[ViewportFrame, XYZ] | None = None  # by the mouse over that viewport
        self._marks: dict[Viewport, PlaneMarks] = {}
        for frame in area.frames:
            self._take(frame)
        area.frame_made.connect(self._take)
        workspace.layout.active_changed.connect(self._draw)
        workspace.layout.changed.connect(self._layout_changed)
        workspace.alignments.changed.connect(self._aligned)

    def _take(self, frame: ViewportFrame) -> None:
        viewport, canvas = frame.viewport, frame.canvas
        self._marks[viewport] = PlaneMarks(canvas)
        viewport.requested.connect(partial(self._requested, frame))
        viewport.image_changed.connect(partial(self._image_changed, frame))
        viewport.frame_changed.connect(partial(self._arrived, frame))
        viewport.display_changed.connect(partial(self._display_changed, viewport))
        canvas.view_changed.connect(partial(self._view_changed, frame))
        canvas.picture_changed.connect(partial(self._picture_changed, frame))
        canvas.pointed.connect(partial(self._point, frame))
        frame.bar.link_wanted.connect(lambda on: self.leave(viewport, not on))

    # The group

    def set_link(self, name: str, on: bool) -> None:
        setattr(self, name, on)
        self._owed.clear()
        active = self._area.active
        if on and name == "scroll":
            self._follow_scroll(active, 0)
        elif on and name == "window":
            self._display_changed(active.viewport)
        elif on and name == "view":
            self._view_changed(active)
        self._draw()
        self._tell()
        self.changed.emit()

    def leave(self, viewport: Viewport, out: bool) -> None:
        """Take a viewport out of the group, or back into it."""
        (self.left_out.add if out else self.left_out.discard)(viewport)
        self._owed.clear()
        self._draw()
        self._tell()
        self.changed.emit()

    def _others(self, frame: ViewportFrame) -> Iterator[ViewportFrame]:
        """Yield the frames that follow a frame: none if that is not in the group."""
        if frame.viewport in self.left_out:
            return
        for other in self._area.frames:
            shown = other.viewport.instance is not None and other.isVisible()
            if other is not frame and shown and other.viewport not in self.left_out:
                yield other

    @contextmanager
    def _leading(self) -> Generator[None]:
        self._following = True
        try:
            yield
        finally:
            self._following = False

    def _layout_changed(self) -> None:
        self.left_out.intersection_update(self._workspace.layout.viewports)
        self._owed.clear()
        self._draw()
        self._tell()
        self.changed.emit()

    def _tell(self) -> None:
        """Say in each viewport whether and how its scrolling is linked."""
        layout = self._workspace.layout
        for frame in self._area.frames:
            others = list(self._others(frame)) if self.scroll else []
            plane = _plane_of(frame)
            near = [one for one in others if plane is not None and self._is_near(frame, one)]
            parallel = [
                one for one in near if plane is not None and self._are_parallel(frame, plane, one)
            ]
            registered = any(not _same_space(frame, one) for one in parallel)
            by_place = BY_REGISTRATION if registered else BY_POSITION
            text = by_place if parallel else BY_NUMBER if len(near) < len(others) else ""
            frame.canvas.set_link_text(tr(text))
            linked = frame.viewport not in self.left_out
            frame.bar.show_state(linked=linked, maximised=layout.maximised)

    # Scrolling

    def _image_changed(self, frame: ViewportFrame) -> None:
        """Forget what was meant for another series, or for the image that was pointed at."""
        viewport = frame.viewport
        shown, known = viewport.instance, self._places.get(viewport)
        series = self._workspace.studies.series_of(shown) or shown if shown else None
        if known is not None and known[0] is not series:
            del self._places[viewport]
            self._owed.pop(viewport, None)
        if self._pointed is not None and self._pointed[0] is frame:
            self._pointed = None
            self._draw()

    def _requested(self, frame: ViewportFrame, request: FrameRequest) -> None:
        scroller = frame.canvas.scroller
        series = self._workspace.studies.series_of(request.instance) or request.instance
        place = scroller.place[0]
        before = self._places.get(frame.viewport)
        self._places[frame.viewport] = series, place
        if before is None or before[0] is not series:
            self._tell()  # another series: nothing was scrolled
        elif self.scroll and not self._still and before[1] != place:
            self._follow_scroll(frame, place - before[1])

    def _follow_scroll(self, frame: ViewportFrame, step: int) -> None:
        plane = _plane_of(frame)
        instance = frame.viewport.instance
        if instance is None:
            return
        for other in self._others(frame):
            if other.canvas.scroller.playing:
                continue  # it goes on by itself
            point = None
            if plane is not None:
                middle = plane.point((instance.columns - 1) / 2, (instance.rows - 1) / 2)
                point = self._beside(frame, other, plane, middle)
            if plane is not None and point is not None:
                if self._are_parallel(frame, plane, other):
                    self._go(other, partial(other.planes.look_at, point))
            elif step:
                scroller = other.canvas.scroller
                place = scroller.place[0] + step
                self._go(other, partial(scroller.to, max(0, min(place, scroller.place[1] - 1))))

    def _place_in(self, frame: ViewportFrame, other: ViewportFrame, place: XYZ) -> XYZ | None:
        """Return where a place (mm) of one viewport lies in another; None without one space."""
        one, its = frame.viewport.acquired, other.viewport.acquired
        if one is None or its is None:
            return None
        moved = self._workspace.alignments.moved(one, its, place)
        return moved or (place if _same_space(frame, other) else None)

    def _beside(
        self, frame: ViewportFrame, other: ViewportFrame, plane: FramePlane, middle: XYZ
    ) -> XYZ | None:
        """Return the place (mm) in another viewport that belongs beside the slice of one."""
        one, its = frame.viewport.acquired, other.viewport.acquired
        if one is None or its is None:
            return None
        place = self._workspace.alignments.beside(one, its, plane, middle)
        return place or self._place_in(frame, other, middle)

    def _is_near(self, frame: ViewportFrame, other: ViewportFrame) -> bool:
        return self._place_in(frame, other, (0.0, 0.0, 0.0)) is not None

    def _are_parallel(self, frame: ViewportFrame, plane: FramePlane, other: ViewportFrame) -> bool:
        theirs = _plane_of(other)
        ends = [self._place_in(frame, other, place) for place in ((0.0, 0.0, 0.0), plane.normal)]
        if theirs is None or ends[0] is None or ends[1] is None:
            return False
        normal = [b - a for a, b in zip(ends[0], ends[1], strict=True)]
        return abs(sum(a * b for a, b in zip(normal, theirs.normal, strict=True))) >= PARALLEL

    def _aligned(self) -> None:
        """Follow the active viewport once two series are registered."""
        if self.scroll:
            self._follow_scroll(self._area.active, 0)
        self._draw()
        self._tell()

    def _go(self, frame: ViewportFrame, go: Callable[[], object]) -> None:
        """Move a linked viewport once its awaited frame has come: asked faster, it shows none."""
        if frame.canvas.scroller.waiting:
            self._owed[frame.viewport] = go
            return
        with self._leading():
            go()

    def _arrived(self, frame: ViewportFrame) -> None:
        go = self._owed.pop(frame.viewport, None)
        if go is not None:
            with self._leading():
                go()

    @property
    def _still(self) -> bool:
        """Whether a change is not the user's, so that nothing follows it."""
        return self._following or self._workspace.placing

    # Window, zoom and pan

    def _display_changed(self, viewport: Viewport) -> None:
        if not self.window or self._still:
            return
        frame = self._area.frame_of(viewport)
        shown, display = viewport.instance, viewport.display
        for other in self._others(frame):
            instance = other.viewport.instance
            if shown is None or instance is None or not _same_modality(shown, instance):
                continue
            if not _same_units(viewport, other.viewport):
                continue  # the numbers of the window would mean something else
            window = display.window
            if window is not None and window.lut >= 0:
                continue  # a look-up table of its own file
            if viewport.axes is not None or other.viewport.axes is not None:
                with self._leading():
                    _show_channels_alike(viewport, other.viewport)
                continue
            with self._leading():
                changed = replace(
                    other.viewport.display,
                    window=window,
                    invert=display.invert,
                    colormap=display.colormap,
                )
                other.viewport.set_display(changed)

    def _view_changed(self, frame: ViewportFrame) -> None:
        canvas = frame.canvas
        if not self.view or self._still or canvas.picture is None:
            return
        if frame is not self._area.active and not canvas.underMouse():
            return  # resized
        for other in self._others(frame):
            with self._leading():
                _show_alike(frame, other)

    # Reference lines and cursor

    def _picture_changed(self, frame: ViewportFrame) -> None:
        if frame is self._area.active:
            self._draw()
        else:
            self._draw_in(frame)
        plane = _plane_of(frame)
        normal = plane.normal if plane is not None else None
        if self._normals.get(frame.viewport) != normal:
            self._normals[frame.viewport] = normal
            self._tell()

    def _draw(self) -> None:
        for frame in self._area.frames:
            self._draw_in(frame)

    def _draw_in(self, frame: ViewportFrame) -> None:
        active, marks = self._area.active, self._marks[frame.viewport]
        lined = self.lines and frame is not active and _same_space(active, frame)
        lined = lined and self.left_out.isdisjoint((frame.viewport, active.viewport))
        line = point = None
        other = _shown_plane(frame.canvas) if lined or self._pointed is not None else None
        plane = _shown_plane(active.canvas) if lined else None
        if plane is not None and other is not None:
            line = common_line(plane, active.canvas.image_size, other, frame.canvas.image_size)
        if other is not None and self._pointed is not None:
            point = self._cross(frame, other)
        marks.show(line, point)

    def _cross(self, frame: ViewportFrame, plane: FramePlane) -> QPointF | None:
        """Return the pointed place here (px), None beyond the distance of slices."""
        assert self._pointed is not None
        source, place = self._pointed
        out = {source.viewport, frame.viewport} & self.left_out
        moved = None if frame is source or out else self._place_in(source, frame, place)
        if moved is None:
            return None
        x, y, away = plane.pixel(moved)
        columns, rows = frame.canvas.image_size
        inside = -0.5 <= x <= columns - 0.5 and -0.5 <= y <= rows - 0.5
        return QPointF(x, y) if inside and abs(away) <= _reach(frame) else None

    def _point(self, frame: ViewportFrame, at: QPointF | None) -> None:
        """Show the point under the mouse in every viewport that shares its space; None for none."""
        plane = _shown_plane(frame.canvas)
        place = plane.point(at.x(), at.y()) if plane is not None and at else None
        self._pointed = (frame, place) if place is not None else None
        if place is not None:
            for other in self._others(frame):
                if (there := self._place_in(frame, other, place)) is not None:
                    self._go(other, partial(other.planes.look_at, there))
        self._draw()


def _show_channels_alike(viewport: Viewport, other: Viewport) -> None:
    """Show the channels of another image as those of the same names are shown."""
    if viewport.axes is None or other.axes is None or viewport.axes.names != other.axes.names:
        return
    together, invert = viewport.display.together, viewport.display.invert
    other.set_display(replace(other.display, together=together, invert=invert))
    other.show_channels(viewport.channel_looks)


def _reach(frame: ViewportFrame) -> float:
    acquired = frame.viewport.acquired
    texts = (
        (acquired.get(one) for one in ("SpacingBetweenSlices", "SliceThickness"))
        if acquired
        else ()
    )
    numbers = [abs(number) for text in texts for number in parse_numbers(text)]
    return max((number for number in numbers if math.isfinite(number)), default=_NEAR)


def _plane_of(frame: ViewportFrame) -> FramePlane | None:
    """Return the plane of the image that a viewport shows or waits for; None if unknown."""
    viewport = frame.viewport
    instance = viewport.instance
    if instance is None:
        return None
    if instance.kind == REFORMAT or instance.frames > 1:
        return frame_plane(viewport.frame) if viewport.frame is not None else None
    return instance_plane(instance)


def _shown_plane(canvas: Canvas) -> FramePlane | None:
    """Return the plane of the picture on a canvas, with its frame of reference; None if unknown."""
    picture = canvas.picture
    if picture is None:
        return None
    return frame_plane(picture.job.frame)


def _same_space(one: ViewportFrame, other: ViewportFrame) -> bool:
    """Return whether positions in two viewports are those of one patient in one space."""
    a, b = one.viewport.acquired, other.viewport.acquired
    return a is not None and b is not None and same_space(a, b)


def _same_modality(one: Instance, other: Instance) -> bool:
    return one.get("Modality") == other.get("Modality")


def _same_units(one: Viewport, other: Viewport) -> bool:
    """Return whether the values of two shown frames are not known to have different units."""
    frames = (one.frame, other.frame)
    units = {frame.rescale.units for frame in frames if frame is not None}
    return len(units - {""}) < 2


def _show_alike(frame: ViewportFrame, other: ViewportFrame) -> None:
    """Show the same part of the patient at one scale (screen px per mm), else of the image."""
    canvas, follower = frame.canvas, other.canvas
    if canvas.fitted:
        follower.fit()
        return
    columns, rows = canvas.image_size
    if not columns or not follower.image_size[0]:
        return
    center = canvas.to_image(QPointF(canvas.viewport().rect().center()))
    plane, theirs = _shown_plane(canvas), _shown_plane(follower)
    if plane is not None and theirs is not None:
        zoom = canvas.zoom / min(plane.spacing) * min(theirs.spacing)
    else:
        zoom = canvas.zoom * columns / follower.image_size[0]
    follower.set_zoom(zoom)
    if plane is not None and theirs is not None and _same_space(frame, other):
        x, y, _ = theirs.pixel(plane.point(center.x(), center.y()))
    else:
        x = center.x() / columns * follower.image_size[0]
        y = center.y() / rows * follower.image_size[1]
    follower.center_on(x, y)
