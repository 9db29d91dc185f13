"""Scrolling through the frames and images of a series, and playing a cine."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, QObject, QRect, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QCursor, QMouseEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QScrollBar, QStyle, QStyleOptionSlider, QWidget

from app.imaging.studies.instance_lists import frame_ends
from app.imaging.types import Content, Instance, Series
from app.views.translation import tr
from app.views.widgets import plain_tip
from app.workspace.viewport import Viewport
from app.workspace.workspace import Workspace

DEFAULT_FRAME_MS = 100.0  # where the file gives no frame time
FASTEST_FRAME_MS = 15.0
PICTURE_MS = 60
"""Longest time that the slider waits for the picture it belongs to."""
_MEASURED_MS = 2000
_INSET = 3  # px of the slider at either side that stay free
SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Selectable factors for the frame rate given in the file."""


class Scroller(QObject):
    """Moves a viewport, by default the active one, through the frames and images of a series.

    The viewport uses only the latest requested frame, so a wheel that turns faster than frames are
    decoded would show none. While a frame is awaited (`waiting`), steps are added up; they are made
    in one go when it has arrived.

    Attributes:
        speed: Factor applied to the frame rate in the file.
    """

    playing_changed = Signal(bool)
    speed_changed = Signal()

    def __init__(
        self,
        workspace: Workspace,
        parent: QObject | None = None,
        viewport: Viewport | None = None,
    ) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.model = viewport or workspace.viewport
        self.waiting = self.model.loading
        self._owed = 0
        self._owed_time: int | None = None  # the time point to go to next
        self._timer = QTimer(self, singleShot=True, timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self.playing = False
        self.speed = 1.0
        self._stepping = False  # whether the next image comes from here and not from the user
        self._late = False  # whether a frame was due while another was still awaited
        self._due = 0.0  # ms on the clock at which the next frame is due
        self._clock = QElapsedTimer()
        self._shown = deque[int]()  # when the cine's last pictures were shown, by the clock
        self.model.requested.connect(lambda _request: self._requested())
        self.model.frame_changed.connect(self._arrived)
        self.model.image_changed.connect(self._image_changed)
        workspace.studies.changed.connect(self._forget_place)
        self._instance = self.model.instance
        self._series: Series | None = None
        self._place: tuple[Instance, tuple[int, int]] | None = None
        self._ends: tuple[Series, list[int]] | None = None

    @property
    def scrollable(self) -> bool:
        instance = self.model.instance
        return instance is not None and (
            steps_of(instance) > 1 or self.position_of(instance)[1] > 1
        )

    @property
    def playable(self) -> bool:
        """Whether the shown image is a cine or part of a stack, so that it can be played."""
        instance = self.model.instance
        pages = (Content.DOCUMENT, Content.WAVEFORM)
        pictured = instance is not None and instance.has_frames and instance.content not in pages
        return pictured and (self.scrollable or self.times[1] > 1)

    @property
    def place(self) -> tuple[int, int]:
        """(position from 0, count) of the requested frame among all steps of the series.

        A step is a frame; of an image with channels, a depth, or else a time.
        """
        instance = self.model.instance
        if instance is None:
            return 0, 0
        ends, place = self._frame_ends(instance), self.position_of(instance)[0]
        axes, index = instance.axes, self.model.frame_index
        step = axes.step_of(index) if axes is not None else index
        return (ends[place - 1] if place else 0) + step, ends[-1]

    def _frame_ends(self, instance: Instance) -> list[int]:
        """Return the cumulative number of steps after each instance of the series."""
        series = self.series_of(instance)
        if series is None:
            return [steps_of(instance)]
        if self._ends is None or self._ends[0] is not series:
            plain = instance.axes is None or len(series.instances) > 1
            ends = frame_ends(series.instances) if plain else [steps_of(instance)]
            self._ends = (series, ends)
        return self._ends[1]

    @property
    def times(self) -> tuple[int, int]:
        """(time point from 0, count) where there are times besides the steps; else (0, 1)."""
        instance = self.model.instance
        axes = instance.axes if instance is not None else None
        if axes is None or axes.depths == 1 or axes.times == 1:
            return 0, 1
        return axes.place(self.model.frame_index)[2], axes.times

    def step_time(self, steps: int) -> None:
        self.to_time(self.times[0] + steps)

    def to_time(self, time: int) -> None:
        """Go to a time point, from 0, at the shown depth."""
        instance = self.model.instance
        axes = instance.axes if instance is not None else None
        if axes is not None and self.times[1] > 1:
            if self.waiting:
                self._owed_time = time
                return
            channel, z, _ = axes.place(self.model.frame_index)
            self.model.scroll_to(axes.index(channel, z, max(0, min(time, axes.times - 1))))

    def position_of(self, instance: Instance) -> tuple[int, int]:
        """Return (position from 0, count) for an instance in its series; (0, 1) if it has none."""
        if self._place is None or self._place[0] is not instance:
            found = self._workspace.studies.place_of(instance)
            self._series = found[0] if found else None
            place = (found[1], len(found[0].instances)) if found else (0, 1)
            self._place = (instance, place)
        return self._place[1]

    def series_of(self, instance: Instance) -> Series | None:
        """Return the series that contains an instance, or None."""
        self.position_of(instance)
        return self._series

    def _forget_place(self) -> None:
        self._place = None

    def step(self, steps: int) -> None:
        if steps == 0:
            return
        if self.waiting:
            self._owed += steps
            return
        self._go(steps)

    def to(self, place: int) -> None:
        """Go to a position, counted from 0, among all frames of the series."""
        self._owed = 0
        self.step(place - self.place[0])

    def _go(self, steps: int) -> None:
        instance = self.model.instance
        if instance is None:
            return
        place, count = self.place
        target = max(0, min(place + steps, count - 1))
        ends = self._frame_ends(instance)
        number = bisect_right(ends, target)
        frame_index = target - (ends[number - 1] if number else 0)
        step = number - self.position_of(instance)[0]
        if step == 0:
            axes = instance.axes
            shown = self.model.frame_index
            self.model.scroll_to(axes.at_step(shown, frame_index) if axes else frame_index)
            return
        following = self._workspace.next_instance(step, self.model)
        if following is not None:
            # A window set for one slice also applies to its neighbours.
            self._stepping = True
            self.model.show(following, frame_index, keep_display=True)
            self._stepping = False

    def _requested(self) -> None:
        self.waiting = True

    def _arrived(self) -> None:
        self.waiting = False
        owed, self._owed = self._owed, 0
        time, self._owed_time = self._owed_time, None
        if owed:
            self._go(owed)
        elif time is not None:
            self.to_time(time)
        elif self._late:
            self._tick()

    def _image_changed(self) -> None:
        self.waiting = False
        if self.model.instance is not self._instance:
            self._instance = self.model.instance
            if self._instance is None:
                self._place = self._series = self._ends = None  # it may have been closed
            if not self._stepping:
                self._owed_time = None
                self._owed = 0  # steps that were meant for another series
                self.pause()

    # Cine

    def toggle(self) -> None:
        if self.playing:
            self.pause()
        elif self.playable:
            self.playing = True
            self._clock.start()
            self._shown.clear()
            self._due = 0.0
            self._schedule()
            self.playing_changed.emit(True)

    def set_rate(self, frames_per_second: float) -> None:
        """Play at a rate of its own, whatever the file says."""
        instance = self.model.instance
        if instance is not None:
            self.speed = frames_per_second * frame_duration(instance, self.model.frame_index) / 1000
            self.speed_changed.emit()

    def change_speed(self, steps: int) -> None:
        near = min(SPEEDS, key=lambda speed: abs(speed - self.speed))
        place = SPEEDS.index(near) + steps
        self.speed = SPEEDS[max(0, min(place, len(SPEEDS) - 1))]
        self.speed_changed.emit()

    @property
    def rate(self) -> float:
        """Frames per second at which the cine is shown; 0 if no image is shown."""
        instance = self.model.instance
        return 1000.0 / self._duration(instance) if instance is not None else 0.0

    def picture_shown(self) -> None:
        """Note that another picture is on the screen; the canvas says so."""
        if self.playing:
            now = self._clock.elapsed()
            self._shown.append(now)
            while now - self._shown[0] > _MEASURED_MS:
                self._shown.popleft()

    @property
    def measured_rate(self) -> float:
        """Frames per second that the running cine put on the screen lately; 0 if unknown yet."""
        span = self._shown[-1] - self._shown[0] if self.playing and self._shown else 0
        return 1000 * (len(self._shown) - 1) / span if span >= _MEASURED_MS / 4 else 0.0

    def _duration(self, instance: Instance) -> float:
        time = frame_duration(instance, self.model.frame_index) / self.speed
        return max(time, FASTEST_FRAME_MS)

    def pause(self) -> None:
        if self.playing:
            self.playing = self._late = False
            self._timer.stop()
            self.playing_changed.emit(False)

    def _schedule(self) -> None:
        """Show the next frame after the duration of the current one."""
        instance = self.model.instance
        if instance is None:
            return
        # Counted from the due time, so that delays of the event loop do not add up.
        now = float(self._clock.elapsed())
        time = self._duration(instance)
        self._due = max(self._due + time, now)
        self._timer.start(round(self._due - now))

    def _tick(self) -> None:
        instance = self.model.instance
        if instance is None or not self.playing:
            return
        # A late frame delays the cine; skipping it would hide that decoding is slow.
        self._late = self.waiting
        if not self._late:
            self._advance(instance)
            self._schedule()

    def _advance(self, instance: Instance) -> None:
        """Show the next frame; multi-frame images and stacks start again at their end."""
        time, times = self.times
        if times > 1:  # a film of one depth
            self.to_time((time + 1) % times)
            return
        if instance.frames > 1 and instance.axes is None:
            self.model.scroll_to((self.model.frame_index + 1) % instance.frames)
            return
        place, count = self.place
        self._go(1 if place < count - 1 else -place)


def steps_of(instance: Instance) -> int:
    """Return how many steps one image is scrolled in."""
    return instance.axes.steps if instance.axes is not None else max(instance.frames, 1)


def frames_of(instance: Instance, shown: int) -> Sequence[int]:
    """Return the frames that are scrolled through from frame `shown`: of its channel and time."""
    axes = instance.axes
    if axes is None or not 0 <= shown < axes.frames:
        return range(max(instance.frames, 1))
    return [axes.at_step(shown, step) for step in range(axes.steps)]


def frame_duration(instance: Instance, index: int) -> float:
    """Return the duration of a cine's frame in ms: as in the file, by default 100, at least 15."""
    times = instance.frame_times_ms
    time = times[index + 1] - times[index] if index + 1 < len(times) else instance.frame_time_ms
    return max(time or DEFAULT_FRAME_MS, FASTEST_FRAME_MS)


class Scrubber(QScrollBar):
    """A slider at the right edge of the canvas; dragging it scrolls through the series.

    It is hidden if there is nothing to scroll. It never takes the focus, since the canvas has keys
    for the same purpose. Turning the wheel over it has the same effect as over the image.
    """

    def __init__(self, canvas: QWidget, workspace: Workspace, scroller: Scroller) -> None:
        super().__init__(Qt.Orientation.Vertical, canvas)
        self._canvas = canvas
        self._scroller = scroller
        self.setObjectName("scrubber")
        _lay_over_image(self)
        self.setAccessibleName(tr("Position in the series"))
        self.setToolTip(plain_tip(tr("Drag to scroll through the series")))
        self.valueChanged.connect(scroller.to)
        # With the picture, so that both are painted at once; a slow one is not waited for.
        self._soon = QTimer(self, singleShot=True, interval=PICTURE_MS)
        self._soon.timeout.connect(self.follow)
        scroller.model.requested.connect(lambda _request: self._soon.start())
        scroller.model.image_changed.connect(lambda: self._soon.start())
        workspace.studies.changed.connect(self.follow)
        self.follow()

    def follow(self) -> None:
        self._soon.stop()
        place, count = self._scroller.place
        if not self.isSliderDown():
            with QSignalBlocker(self):
                self.setRange(0, max(count - 1, 0))
                self.setValue(place)
        self.setVisible(count > 1)

    @property
    def handle(self) -> QRect:
        return self._part(QStyle.SubControl.SC_ScrollBarSlider)

    def _part(self, part: QStyle.SubControl) -> QRect:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        control = QStyle.ComplexControl.CC_ScrollBar
        return self.style().subControlRect(control, option, part, self)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint it light with a dark edge, seen on bone and air; a style sheet takes far longer."""
        handle, groove = self.handle, self._part(QStyle.SubControl.SC_ScrollBarGroove)
        over = self.underMouse() and handle.contains(self.mapFromGlobal(QCursor.pos()))
        bright = over or self.isSliderDown()
        above, below = QRect(groove), QRect(groove)
        above.setBottom(handle.top() - 1)
        below.setTop(handle.bottom() + 1)
        painter = QPainter(self)
        for part, fill, edge in (
            (above, 30, 90),
            (below, 30, 90),
            (handle, 240 if bright else 150, 150),
        ):
            rect = part.adjusted(_INSET, 0, -_INSET, 0)
            if rect.isValid():
                painter.fillRect(rect.adjusted(1, 1, -1, -1), QColor(215, 222, 230, fill))
                painter.setPen(QColor(0, 0, 0, edge))
                painter.drawRect(rect.adjusted(0, 0, -1, -1))
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._scroller.pause()
        handle, groove = self.handle, self._part(QStyle.SubControl.SC_ScrollBarGroove)
        y = event.position().toPoint().y()
        if event.button() == Qt.MouseButton.LeftButton and not handle.top() <= y <= handle.bottom():
            top, room = y - groove.top() - handle.height() // 2, groove.height() - handle.height()
            value = QStyle.sliderValueFromPosition(0, self.maximum(), top, room)
            self.setValue(value)  # go there instead of one page on
        super().mousePressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        QApplication.sendEvent(self._canvas, event)


def _lay_over_image(bar: QScrollBar) -> None:
    bar.setPageStep(1)
    bar.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent, False)  # the image shows through
    bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
    bar.setCursor(Qt.CursorShape.ArrowCursor)
    bar.setFocusPolicy(Qt.FocusPolicy.NoFocus)


class TimeBar(QScrollBar):
    """A slider at the bottom of the canvas for time points, where depths are scrolled through."""

    def __init__(self, canvas: QWidget, workspace: Workspace, scroller: Scroller) -> None:
        super().__init__(Qt.Orientation.Horizontal, canvas)
        self._scroller = scroller
        self.setObjectName("times")
        _lay_over_image(self)
        self.setAccessibleName(tr("Time point"))
        self.setToolTip(plain_tip(tr("Drag to go through the time points")))
        self.valueChanged.connect(self._go)
        scroller.model.requested.connect(lambda _request: self.follow())
        scroller.model.image_changed.connect(self.follow)
        workspace.studies.changed.connect(self.follow)
        self.follow()

    def follow(self) -> None:
        """Move the handle to the time point that the viewport shows or waits for."""
        time, count = self._scroller.times
        if not self.isSliderDown():
            with QSignalBlocker(self):
                self.setRange(0, max(count - 1, 0))
                self.setValue(time)
        self.setVisible(count > 1)

    def _go(self, time: int) -> None:
        self._scroller.pause()
        self._scroller.to_time(time)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._go(self._scroller.times[0] - round(event.angleDelta().y() / 120))
        event.accept()
