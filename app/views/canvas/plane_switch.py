"""Switching between axial, coronal and sagittal sections and the acquired images."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from app.errors import CancelToken, SightlineError
from app.imaging.pixels.windows import AUTO
from app.imaging.space import planes
from app.imaging.space.planes import XYZ
from app.imaging.space.reformat import SlicePlanes, section_at, slice_at
from app.imaging.types import Instance, Plane, Series, Volume
from app.views.canvas.canvas import Canvas
from app.views.loader import Loader
from app.views.translation import tr
from app.views.widgets import ProgressRow, tool_button
from app.views.wording import error_text
from app.workspace.viewport import REFORMAT
from app.workspace.workspace import Workspace

_ACQUIRED_ONLY = (Plane.ACQUIRED,)


class PlaneSwitch(QObject):
    """Switches a series between acquired images and axial, coronal or sagittal sections.

    The current image stays until the first section in the new plane is ready; it also stays if that
    plane cannot be prepared.

    Attributes:
        wanted: The plane that is being prepared; if none is, the shown plane.
    """

    changed = Signal()
    failed = Signal(str, str)  # what was wanted, and why it is not shown

    def __init__(self, canvas: Canvas, workspace: Workspace, loader: Loader) -> None:
        super().__init__(canvas)
        self._canvas = canvas
        self._workspace = workspace
        self._loader = loader
        self.plane = Plane.ACQUIRED
        self.wanted = Plane.ACQUIRED
        self.possible = _ACQUIRED_ONLY
        self._source: Series | Instance | None = None
        self._outline: Volume | None = None  # of the source's volume, without values
        self._looked_at: XYZ | None = None  # in the patient; each switch goes through it
        self._slices: SlicePlanes | None = None  # of the source, once they were needed
        self._planes = loader.section_planes
        self._cancel: CancelToken | None = None
        stop = tool_button("x", tr("Cancel"), self.cancel, 12)
        self.progress = ProgressRow(stop, 140, "caption")
        self.progress.setParent(canvas)
        viewport = self._viewport = canvas.model
        viewport.image_changed.connect(self._follow)
        viewport.frame_changed.connect(self._frame_changed)
        workspace.studies.changed.connect(self._follow)
        self._follow()

    @property
    def busy(self) -> bool:
        return self._cancel is not None

    def choose(self, plane: Plane) -> None:
        """Start to show the series in a plane; returns immediately."""
        source = self._source
        if plane is self.wanted or source is None:
            return
        self.cancel()
        self._looked_at = self._point_looked_at()
        if plane is Plane.ACQUIRED:
            self._show_acquired(source)
            return
        self.wanted = plane
        token = self._cancel = CancelToken()
        self._show_progress(0, 0)
        self.progress.show()
        self.changed.emit()
        self._loader.reformat(
            source,
            plane,
            token,
            self._show_progress,
            partial(self._take, token, plane),
            partial(self._give_up, token),
        )

    def _show_progress(self, done: int, total: int) -> None:
        plane = tr(self.wanted.value)
        if total:
            text = tr("Preparing {plane} sections: {done} of {total} images")
            text = text.format(plane=plane, done=done, total=total)
        else:
            text = tr("Preparing {plane} sections…").format(plane=plane)
        self.progress.set_progress(text, done, total)

    def look_at(self, point: XYZ) -> None:
        """Show the slice through a point in the patient (mm, LPS), without changing the plane."""
        self._looked_at = point
        place = self.place_of(point)
        if place is not None:
            self.go_to(place)

    def place_of(self, point: XYZ) -> int | None:
        """Return the slice (from 0; section, frame, image) nearest to mm LPS; None if unknown."""
        source, outline = self._source, self._outline
        if source is None:
            return None
        if self.plane is not Plane.ACQUIRED:
            # Sections that came back by undo have no outline: an image's number is not theirs.
            return section_at(outline, self.plane, point) if outline is not None else None
        if isinstance(source, Instance) or outline is not None:
            return slice_at(source, outline, point)
        if self._slices is None:
            self._slices = SlicePlanes(source)
        return self._slices.nearest(point)

    def go_to(self, place: int) -> None:
        source, viewport = self._source, self._viewport
        if isinstance(source, Instance) or self.plane is not Plane.ACQUIRED:
            viewport.scroll_to(place)
        elif source is not None and viewport.instance is not source.instances[place]:
            viewport.show(source.instances[place], keep_display=True)

    def cancel(self) -> None:
        token, self._cancel = self._cancel, None
        if token is not None:
            token.cancel()
            self.wanted = self.plane
            self.progress.hide()
            self.changed.emit()

    def _point_looked_at(self) -> XYZ | None:
        """Return the selected finding's middle; else the last point if visible, or the view's."""
        frame, view = self._canvas.frame, self._canvas.view_of()
        shown = planes.frame_plane(frame) if frame is not None else None
        if shown is None or view is None:
            return None
        for item in self._canvas.annotation_items():
            if item.finding.id == self._workspace.annotations.selected and item.outline is not None:
                path, anchor = item.outline.path, item.outline.anchor
                middle = anchor if path.isEmpty() else path.boundingRect().center()
                return shown.point(middle.x(), middle.y())
        left, top, right, bottom = view.area
        x, y = (left + right) / 2, (top + bottom) / 2
        if self._looked_at is not None:
            column, row, _ = shown.pixel(self._looked_at)
            if left <= column < right and top <= row < bottom:
                x, y = column, row
        return shown.point(x, y)

    def _show_acquired(self, source: Series | Instance) -> None:
        point, outline = self._looked_at, self._outline
        place = slice_at(source, outline, point) if point and outline else None
        if place is None:
            self._viewport.show_acquired()
        elif isinstance(source, Instance):
            self._viewport.show_acquired(source, place)
        else:
            self._viewport.show_acquired(source.instances[place])

    def _take(self, token: CancelToken, plane: Plane, instance: Instance, outline: Volume) -> None:
        if token is not self._cancel:
            return  # cancelled while the answer was on its way
        self._cancel = None
        self.progress.hide()
        self.plane = self._planes[instance.sop_instance_uid] = plane
        self._outline = outline
        point = self._looked_at
        index = instance.frames // 2 if point is None else section_at(outline, plane, point)
        window = self._canvas.shown_window
        own = window is not None and window.explanation != AUTO and window.lut < 0
        self._viewport.show_reformat(instance, index, window if own else None)

    def _give_up(self, token: CancelToken, error: SightlineError) -> None:
        if token is self._cancel:
            wanted = self.wanted
            self.cancel()
            self._tell(wanted, error_text(error))

    def _tell(self, plane: Plane, reason: str) -> None:
        self.failed.emit(
            tr("The {plane} plane cannot be shown").format(plane=tr(plane.value)), reason
        )

    def _follow(self) -> None:
        """Update plane and possible planes after the shown image has changed."""
        shown, acquired = self._viewport.instance, self._viewport.acquired
        self.plane = Plane.ACQUIRED
        if shown is not None and shown.kind == REFORMAT:
            self.plane = self._planes.get(shown.sop_instance_uid, Plane.ACQUIRED)
        if self._cancel is None:
            self.wanted = self.plane
        source = self._source_of(acquired)
        if source is not self._source:
            self.cancel()
            self._source = source
            self._outline = self._looked_at = self._slices = None
            self.possible = _ACQUIRED_ONLY
            if source is not None:
                self._loader.planes(source, partial(self._learn, source))
        self.changed.emit()

    def _source_of(self, acquired: Instance | None) -> Series | Instance | None:
        """Return the series, or multi-frame image, whose volume has the sections."""
        if acquired is None or acquired.frames > 1:
            return acquired
        return self._workspace.studies.series_of(acquired)

    def _learn(self, source: Series | Instance, planes: tuple[Plane, ...]) -> None:
        if source is self._source:
            self.possible = planes
            self.changed.emit()

    def _frame_changed(self) -> None:
        viewport = self._viewport
        shown = viewport.instance
        if viewport.error and shown is not None and shown.kind == REFORMAT:
            # Later, since other slots are still handling the failed frame.
            QTimer.singleShot(0, self, partial(self._leave, shown, self.plane, viewport.error))

    def _leave(self, instance: Instance, plane: Plane, reason: str) -> None:
        if self._viewport.instance is instance:
            self._viewport.show_acquired()
            self._tell(plane, reason)
