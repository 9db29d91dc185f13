"""Renders frames to 8-bit pictures on a thread; only the newest request is rendered.

The first picture of a small frame is rendered at once: while the user scrolls, a thread would need
longer to take turns at Python's lock than to render it.

While the user drags the intensity window, only the visible part (at the screen's pixels, see
`ScreenPatch`, or at the drawn size) and a small copy of the whole image are rendered with it, so
that panning never shows an older window. After 100 ms without a change, the area around the visible
part is rendered too, within a memory limit. If the user pans or zooms beyond that area, there is a
new request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QTimer

from app.errors import SightlineError
from app.imaging.pixels import composite, pipeline, windows
from app.imaging.pixels.composite import CompositeLevels, Tint, can_average_all
from app.imaging.pixels.stored_levels import (
    Screen,
    StoredLevels,
    can_average,
    level_shapes,
    screen_words,
)
from app.imaging.pixels.windows import lut_window
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.types import Frame, Instance, Window
from app.views.background import Background
from app.views.canvas import colormaps
from app.views.canvas.image_layer import (
    Area,
    Patch,
    ScreenPatch,
    View,
    contains,
    on_level,
    pyramid,
    whole_patches,
)
from app.workspace.viewport import Display, tints_of

REST_MS = 100
"""Time after a window change until the invisible part is rendered too."""

_MOST_DEFAULTS = 32
"""Channels whose own windows are kept."""

_SMALL = 600_000
"""Number of pixels, including all copies, up to which an image is rendered whole: 0.3 ms."""

ENOUGH = 6_000_000
"""Number of rendered pixels kept: 2048 x 2048 with all copies, or the view's surroundings."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request to render a frame.

    Attributes:
        display: Window and inversion to render with.
        presentation: The chosen presentation state, or None.
        presented: The state's display settings for this frame; None if it has none.
        view: The visible part; None if it is unknown because the image is not on the screen yet.
        rest: Whether to render the surroundings of the view too.
        room: Number of pixels up to which they are.
        before: An earlier picture of this frame; its patches are reused if its display is the same.
    """

    instance: Instance
    frame_index: int
    frame: Frame
    display: Display
    presentation: PresentationState | None = None
    presented: ImagePresentation | None = None
    view: View | None = None
    rest: bool = False
    room: int = ENOUGH
    before: Picture | None = None

    @property
    def tints(self) -> tuple[Tint, ...]:
        """The channels that are shown together; () where the frame is shown alone."""
        return tints_of(self.frame, self.display, self.instance.axes)


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A rendered frame.

    Attributes:
        job: The request, without its `before`.
        patches: The requested parts of the 8-bit image; see `ImageLayer.set_patches`.
        on_screen: The visible part at the screen's pixels, or None.
        window: The window or VOI LUT (`Window.lut`) that was applied; None for colour.
        complete: Whether nothing more needs to be rendered until the view changes.
    """

    job: Job
    patches: tuple[Patch, ...]
    window: Window | None
    complete: bool
    on_screen: ScreenPatch | None = None

    @property
    def presets(self) -> tuple[Window, ...]:
        """The entries of the menu of intensity windows, without presets of the user's own."""
        return self.presets_with({})

    def presets_with(self, own: Mapping[str, Sequence[Window]]) -> tuple[Window, ...]:
        """The windows of the menu, with the user's presets `own` by modality; takes over 1 ms."""
        modality = self.job.instance.get("Modality")
        return windows.frame_presets(self.job.frame, modality, own.get(modality.upper()))

    def covers(self, view: View) -> bool:
        """Return whether the whole area of `view` was rendered for its zoom."""
        if self.on_screen is not None and self.on_screen.place == view.place:
            return True
        frame = self.job.frame
        shapes = level_shapes(frame.rows, frame.columns)
        wanted = on_level(view.area, view.level, shapes[view.level])
        return any(
            patch.level == view.level and contains(patch.area, wanted) for patch in self.patches
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """Values computed once per frame, not at every step of a drag."""

    frame: Frame
    default: Window | None
    start: Window | None


class Renderer:
    """Renders one job at a time; a newer job replaces one that is still waiting.

    On the GUI thread, `done` is called with the picture, or `failed` with the job and the error.

    Attributes:
        busy: Whether a requested picture has not been delivered yet.
    """

    def __init__(
        self,
        background: Background,
        done: Callable[[Picture], object],
        failed: Callable[[Job, SightlineError], object],
    ) -> None:
        self._background = background
        self._done = done
        self._failed = failed
        self.busy = False
        self._next: Job | None = None
        self._known: _Known | None = None
        self._levels: StoredLevels | None = None
        self._channels: CompositeLevels | None = None
        self._defaults: dict[int, tuple[Frame, Window | None]] = {}
        self._wanted = False  # whether the picture in work is still needed
        self._last: Picture | None = None
        self._rest = QTimer(background, singleShot=True, interval=REST_MS)
        self._rest.timeout.connect(self._complete)

    def request(self, job: Job) -> None:
        """Render a job; an earlier job that has not begun is dropped."""
        self._rest.stop()
        self._wanted = True
        if self.busy:
            self._next = job
            return
        self.busy = True
        work, failed = partial(self._render, job), partial(self._fail, job)
        if job.before is None and job.frame.stored.size <= _SMALL:
            self._background.run_now(work, self._finish, failed)
        else:
            self._background.submit(work, self._finish, failed)

    def drop(self) -> None:
        """Forget the waiting job and the last image; do not render the surroundings of the view."""
        self._rest.stop()
        self._wanted = False
        self._next = self._last = None
        self._known = self._levels = self._channels = None
        self._defaults.clear()

    def view_moved(self, view: View) -> None:
        """Render the screen's pixels of a view that the last picture covers, once it stays."""
        last = self._last
        if last is None or view.place is None:
            return
        tints = last.job.tints
        if can_average_all(tints) if tints else can_average(last.job.frame, last.window):
            self._last = replace(last, job=replace(last.job, view=view), complete=False)
            self._rest.start()

    def _complete(self) -> None:
        """Render the surroundings of the last picture."""
        last = self._last
        if last is not None and not last.complete and not self.busy:
            self.request(replace(last.job, rest=True, before=last))

    def _render(self, job: Job) -> Picture:
        frame, wanted = job.frame, job.display.window
        known = self._known
        if known is None or known.frame is not frame:
            known = self._known = _learn(job)
        shown_with = wanted or known.default
        window = None if frame.is_color else wanted or known.start
        tints = job.tints
        if tints:
            return self._composite(job, tints, window)
        colours = colormaps.screen_table(job.display.colormap) if can_colour(frame) else None
        if can_average(frame, shown_with):
            levels = self._levels
            if levels is None or levels.frame is not frame:
                levels = self._levels = StoredLevels(frame, sparing=job.room < ENOUGH)
            chosen = pipeline.chosen_window(frame, shown_with)
            assert chosen is not None  # `can_average` says so
            invert = job.display.invert
            return _windowed(
                levels, job, window, lambda level: levels.table(level, chosen, invert, colours)
            )
        greys = pyramid(pipeline.render(frame, shown_with, job.display.invert))
        pixels = greys if colours is None else _coloured(greys, frame, colours)
        return Picture(replace(job, before=None), whole_patches(pixels), window, complete=True)

    def _composite(self, job: Job, tints: tuple[Tint, ...], window: Window | None) -> Picture:
        invert = job.display.invert
        tints = tuple(replace(one, window=self._window_of(one)) for one in tints)
        if not can_average_all(tints):
            pixels = pyramid(composite.render(tints, invert))
            return Picture(replace(job, before=None), whole_patches(pixels), window, complete=True)
        known = self._channels.parts if self._channels is not None else ()
        levels = CompositeLevels(tints, known, sparing=job.room < ENOUGH)
        self._channels = levels
        return _windowed(levels, job, window, lambda level: levels.tables(level, invert))

    def _window_of(self, tint: Tint) -> Window | None:
        """Return the window of a channel; its automatic one takes milliseconds, once a frame."""
        if tint.window is not None:
            return tint.window
        known = self._defaults.get(id(tint.frame))
        if known is None or known[0] is not tint.frame:
            if len(self._defaults) > _MOST_DEFAULTS:
                self._defaults.clear()
            known = self._defaults[id(tint.frame)] = tint.frame, windows.default_window(tint.frame)
        return known[1]

    def _finish(self, picture: Picture) -> None:
        self._last = picture if self._wanted else None
        self._done(picture)
        self._advance()
        last = self._last
        if last is not None and not self.busy and not last.complete:
            self._rest.start()

    def _fail(self, job: Job, error: SightlineError) -> None:
        self._last = None
        self._failed(job, error)
        self._advance()

    def _advance(self) -> None:
        self.busy = False
        if not self._wanted:
            self._known = self._levels = self._channels = (
                None  # of an image that was dropped while it was made
            )
        job, self._next = self._next, None
        if job is not None:
            self.request(job)


def _windowed(
    levels: StoredLevels | CompositeLevels,
    job: Job,
    window: Window | None,
    table_of: Callable[[int], Any],
) -> Picture:
    """Render parts of averageable pixels; `table_of` returns level 0's table or the others'."""
    tables: dict[int, Any] = {}

    def table(level: int) -> Any:
        shared = min(level, 1)
        if shared not in tables:
            tables[shared] = table_of(shared)
        return tables[shared]

    on_screen, view = None, job.view
    place = view.place if view is not None else None
    if view is not None and place is not None and _stays(job):
        pixels = levels.render_grid(view.level, place.grid, table(1))
        on_screen = ScreenPatch(place, pixels)
    if on_screen is not None and not job.rest:
        last = len(levels.shapes) - 1
        rows, columns = levels.shapes[last]
        regions, complete = {last: (0, 0, columns, rows)}, False
    else:
        regions, complete = _regions(levels.shapes, view, job.room, rest=job.rest)
    patches = _alike(job)
    for level, area in regions.items():
        if level in patches and contains(patches[level].area, area):
            continue
        left, top, right, bottom = area
        part = slice(top, bottom), slice(left, right)
        pixels = levels.render_part(level, *part, table(level))
        patches[level] = Patch(level, left, top, pixels)
    complete = complete and (place is None or on_screen is not None)
    done = replace(job, before=None)
    return Picture(done, tuple(patches.values()), window, complete, on_screen)


def _stays(job: Job) -> bool:
    """Return whether the view is not moving, so that its interpolation is worth keeping."""
    before = job.before.job if job.before is not None else None
    if job.rest or before is None or before.frame is not job.frame:
        return job.rest
    return before.view == job.view or before.display != job.display


def can_colour(frame: Frame) -> bool:
    """Return whether a colour map can be used for a frame: it has no colours of its own."""
    return not frame.is_color and frame.palette is None


def displayed_pixels(
    frame: Frame,
    window: Window | None,
    invert: bool = False,
    colormap: str = "",
    tints: Sequence[Tint] = (),
) -> NDArray[np.uint8]:
    """Return a frame as the canvas shows it, at the image's own matrix size, without overlays.

    `tints` are the channels that are shown together; () for the frame alone.

    Returns:
        uint8 [rows, columns], or [rows, columns, 3] RGB for colour or with a colour map.
    """
    if tints:
        return composite.render(tints, invert)
    greys = pipeline.render(frame, window, invert)
    colours = colormaps.screen_table(colormap) if can_colour(frame) else None
    if colours is None:
        return greys
    words = _coloured((greys,), frame, colours)[0]
    return np.stack([(words >> shift & 0xFF).astype(np.uint8) for shift in (16, 8, 0)], axis=-1)


def _coloured(
    levels: Sequence[NDArray[np.uint8]], frame: Frame, colours: Screen
) -> tuple[Screen, ...]:
    """Return greys in colours; what a shutter hides keeps its grey."""
    result: list[Screen] = []
    hidden = None
    if frame.shutter is not None:
        rows, aspect = range(frame.rows), frame.spacing.aspect
        hidden = pipeline.hidden_pixels(frame.shutter, rows, frame.columns, aspect)
    for number, greys in enumerate(levels):
        pixels = colours[greys]
        if hidden is not None:
            covered = hidden[:: 2**number, :: 2**number][: pixels.shape[0], : pixels.shape[1]]
            pixels[covered] = screen_words(greys)[covered]
        result.append(pixels)
    return tuple(result)


def _alike(job: Job) -> dict[int, Patch]:
    """Return the patches of the earlier picture that can be reused, by level."""
    before = job.before
    if before is None or before.job.frame is not job.frame:
        return {}
    was, now = before.job.display, job.display
    if was.look != now.look:
        return {}
    return {patch.level: patch for patch in before.patches}


def _regions(
    shapes: list[tuple[int, int]], view: View | None, room: int, *, rest: bool
) -> tuple[dict[int, Area], bool]:
    """Return the area to window of each level, and whether nothing more is worth rendering."""
    whole = {number: (0, 0, columns, rows) for number, (rows, columns) in enumerate(shapes)}
    if sum(rows * columns for rows, columns in shapes) <= _SMALL:
        return ({view.level: whole[view.level]} if view is not None else whole), True
    last = len(shapes) - 1
    regions = {last: whole[last]}
    if view is not None:
        shape = shapes[view.level]
        regions.setdefault(view.level, on_level(view.area, view.level, shape))
        if rest and view.level != last:
            regions[view.level] = _grown(regions[view.level], shape, room)
        if not rest:
            return regions, False
    left = room
    for level in range(last, -1, -1):
        rows, columns = shapes[level]
        left -= rows * columns
        if left < 0:
            break
        regions[level] = whole[level]
    return regions, True


def _grown(area: Area, shape: tuple[int, int], room: int) -> Area:
    """Return an area extended by up to its own size on each side, up to `room` pixels."""
    left, top, right, bottom = area
    width, height = right - left, bottom - top
    scale = min(max(room / max(width * height, 1), 1.0) ** 0.5, 3.0)
    across, down = (max(round(side * (scale - 1) / 2), 0) for side in (width, height))
    rows, columns = shape
    return (
        max(left - across, 0),
        max(top - down, 0),
        min(right + across, columns),
        min(bottom + down, rows),
    )


def _learn(job: Job) -> _Known:
    frame = job.frame
    if frame.is_color:
        return _Known(frame, None, None)
    default = windows.default_window(frame)
    start = default or lut_window(frame.voi.luts[0], 0)
    return _Known(frame, default, start)
