"""Reads the images whose marks are to be measured or checked, when the workers are idle."""

from __future__ import annotations

from concurrent.futures import Future
from functools import partial

from PySide6.QtCore import QObject

from app.imaging.decode import Decoder
from app.imaging.processes.worker_pool import Priority
from app.imaging.types import Frame, Instance
from app.views.background import Background
from app.workspace.mark_scales import MarkScales


class MarkReading(QObject):
    """Reads one wanted image after another for `MarkScales`, also ones nobody looked at."""

    def __init__(
        self, scales: MarkScales, decoder: Decoder, background: Background, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._scales, self._decoder, self._background = scales, decoder, background
        self._reading: Future[Frame] | None = None
        scales.wanted.connect(self._next)
        self._next()

    def _next(self) -> None:
        wanted = self._scales.next_wanted()
        if wanted is None or self._reading is not None:
            return
        # One at a time: what the user scrolls to must not wait behind hundreds.
        self._reading = self._decoder.frame(*wanted, Priority.PREFETCH)
        take = partial(self._take, *wanted)
        self._reading.add_done_callback(lambda done: self._background.call(partial(take, done)))

    def _take(self, instance: Instance, index: int, done: Future[Frame]) -> None:
        self._reading = None
        if done.cancelled() or done.exception() is not None:
            self._scales.cannot_read(instance, index)
        else:
            self._scales.learn(done.result())
            if self._scales.next_wanted() == (instance, index):  # it is another image by now
                self._scales.cannot_read(instance, index)
        self._next()
