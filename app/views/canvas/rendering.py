"""Frames -> 8-bit pictures, off the GUI thread; only the newest request is rendered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from app.errors import SightlineError
from app.imaging.pixels import pipeline
from app.imaging.pixels.windows import lut_window
from app.imaging.presentation import ImagePresentation, PresentationState
from app.imaging.types import Frame, Instance, Window
from app.views.background import Background
from app.views.canvas.image_layer import pyramid
from app.workspace.viewport import Display


@dataclass(frozen=True, slots=True)
class Job:
    """What to render."""

    instance: Instance
    frame_index: int
    frame: Frame
    display: Display
    presentation: PresentationState | None = None
    presented: ImagePresentation | None = None  # what of it `frame` is shown by


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """What came out.

    Attributes:
        job: What was asked for.
        levels: The 8-bit image and its smaller copies, see `image_layer.pyramid`.
        window: The window or VOI LUT (`Window.lut`) it was made with; None for colour.
        range: Lowest and highest modality value, for the sensitivity of the window drag.
        presets: What the window menu offers.
    """

    job: Job
    levels: tuple[NDArray[np.uint8], ...]
    window: Window | None
    range: tuple[float, float]
    presets: tuple[Window, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is computed once a frame, not at every step of a drag."""

    frame: Frame
    default: Window | None
    start: Window | None
    range: tuple[float, float]
    presets: tuple[Window, ...]


class Renderer:
    """Renders one job at a time; a newer one replaces what waits.

    Args:
        background: The threads.
        done: Called with the picture on the GUI thread.
        failed: Called with an error text there.
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
        self._running = False
        self._next: Job | None = None
        self._known: _Known | None = None

    @property
    def busy(self) -> bool:
        """Whether a picture is still to come."""
        return self._running

    def request(self, job: Job) -> None:
        """Render `job`, dropping an older one that has not begun."""
        if self._running:
            self._next = job
            return
        self._running = True
        self._background.submit(partial(self._render, job), self._finish, partial(self._fail, job))

    def drop(self) -> None:
        """Forget what waits; the picture that is being made is dropped by who asked for it."""
        self._next = None

    def _render(self, job: Job) -> Picture:
        frame, wanted = job.frame, job.display.window
        known = self._known
        if known is None or known.frame is not frame:
            known = self._known = _learn(job)
        pixels = pipeline.render(frame, wanted or known.default, job.display.invert)
        window = None if frame.is_color else wanted or known.start
        return Picture(job, pyramid(pixels), window, known.range, known.presets)

    def _finish(self, picture: Picture) -> None:
        self._advance()
        self._done(picture)

    def _fail(self, job: Job, error: SightlineError) -> None:
        self._advance()
        self._failed(job, error)

    def _advance(self) -> None:
        self._running = False
        job, self._next = self._next, None
        if job is not None:
            self.request(job)


def _learn(job: Job) -> _Known:
    frame = job.frame
    if frame.is_color:
        return _Known(frame, None, None, (0.0, 255.0), ())
    default = pipeline.default_window(frame)
    start = default or lut_window(frame.voi.luts[0], 0)
    presets = pipeline.frame_presets(frame, job.instance.get("Modality"))
    return _Known(frame, default, start, _value_range(frame), presets)


def _value_range(frame: Frame) -> tuple[float, float]:
    """Lowest and highest modality value; every 4th pixel of a large image will do."""
    stored = frame.stored[::4, ::4] if frame.stored.size > 1_000_000 else frame.stored
    values = stored[np.isfinite(stored)]
    if values.size == 0:
        return 0.0, 1.0
    ends = pipeline.modality_values(frame, np.array([values.min(), values.max()]))
    return float(ends.min()), float(ends.max())
