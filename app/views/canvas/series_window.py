"""The automatic window of a series: one for all its frames, so that their greys can be compared.

The first image appears in its own automatic window. Samples of frames throughout the series then
give the window in which all of them, and the sections through them, are shown.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject

from app.imaging.pixels.windows import GreySample, grey_sample, has_automatic_window, window_of
from app.imaging.types import Frame, Instance, Series, Window
from app.views.canvas.canvas import Canvas
from app.views.loader import Loader
from app.workspace.workspace import ScaleKey, Workspace

SAMPLES = 9
"""Number of frames, spread evenly over the series, from which the window is computed."""


class SeriesWindow(QObject):
    """Finds the automatic window of the shown series and sets it on the viewport."""

    def __init__(self, canvas: Canvas, workspace: Workspace, loader: Loader) -> None:
        super().__init__(canvas)
        self._workspace = workspace
        self._loader = loader
        self._known: dict[ScaleKey, tuple[int, Window]] = {}
        """Window by series, and the number of images that the series had: it grows in a scan."""
        self._asked: tuple[ScaleKey, int] | None = None
        workspace.viewport.image_changed.connect(self._follow)
        workspace.studies.changed.connect(self._ask)
        canvas.picture_changed.connect(self._ask)  # not before the first image is on the screen

    def _follow(self) -> None:
        acquired = self._workspace.acquired
        known = self._known.get(self._workspace.scale_key(acquired)) if acquired else None
        self._workspace.viewport.set_automatic(known[1] if known else None)

    def _ask(self) -> None:
        """Request samples of the shown series, unless its window is known or not needed."""
        acquired = self._workspace.acquired
        if acquired is None or not self._workspace.viewport.needs_automatic:
            return
        source = self._workspace.scale_source(acquired)
        count = len(source.instances) if isinstance(source, Series) else source.frames
        key = self._workspace.scale_key(acquired)
        known = self._known.get(key, (1, None))
        if count == known[0] or self._asked == (key, count):
            return
        self._asked = (key, count)
        places = sorted({round(step * (count - 1) / (SAMPLES - 1)) for step in range(SAMPLES)})
        frames = [_frame_of(source, place) for place in places]
        self._fetch(self._asked, frames, [])

    def _fetch(
        self,
        asked: tuple[ScaleKey, int],
        frames: list[tuple[Instance, int]],
        samples: list[GreySample],
    ) -> None:
        """Request the first of the frames; once there are none left, compute the window."""
        if asked != self._asked:
            return  # another series is shown by now
        if not frames:
            self._asked = None
            if samples:
                self._loader.compute(partial(window_of, samples), partial(self._take, asked))
            return
        go_on = partial(self._fetch, asked, frames[1:])

        def sampled(frame: Frame) -> GreySample | None:
            return grey_sample(frame) if has_automatic_window(frame) else None

        self._loader.sample(
            *frames[0],
            sampled,
            lambda sample: go_on([*samples, sample] if sample else samples),
            lambda _error: go_on(samples),
        )

    def _take(self, asked: tuple[ScaleKey, int], window: Window) -> None:
        self._known[asked[0]] = (asked[1], window)
        self._follow()


def _frame_of(source: Series | Instance, place: int) -> tuple[Instance, int]:
    if isinstance(source, Instance):
        return source, place
    instance = source.instances[place]
    return instance, instance.frames // 2
