"""Brings decoded images from the decode workers to the models and lists, on the GUI thread."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import SightlineError
from app.imaging.attributes import AttributeRow
from app.imaging.layers import Layer, LayerFrame
from app.imaging.presentation import PresentationState
from app.imaging.processes.worker_pool import Priority
from app.imaging.processes.workers import CancelLike
from app.imaging.report import Report
from app.imaging.space.reformat import planes_of
from app.imaging.studies.instance_lists import made_of
from app.imaging.types import Frame, Instance, ScanResult, Series, Study
from app.imaging.volume import Plane, Volume
from app.views.background import Background, OnError
from app.views.prefetching import PlaceOf, Prefetching
from app.workspace.viewport import FrameRequest, Viewport
from app.workspace.workspace import REFORMAT

Thumbnail = NDArray[np.uint8]
ScanProgress = Callable[[int, int], None]
ScanFound = Callable[[ScanResult], None]
Opened = Callable[[], Sequence[Instance]]


class DecoderLike(Protocol):
    """What the views need of `app.imaging.decode.Decoder`."""

    def frame(
        self, instance: Instance, index: int = 0, priority: int = Priority.VISIBLE
    ) -> Future[Frame]:
        """Decode one frame."""
        ...

    def pin(self, owner: Hashable, shown: Iterable[tuple[Instance, int]]) -> None:
        """Say which frames are looked at: they stay in memory."""
        ...

    def thumbnail(self, instance: Instance, size: int) -> Future[Thumbnail]:
        """A small picture, uint8 [rows, columns] or [rows, columns, 3]."""
        ...

    def volume(
        self,
        source: Series | Instance,
        cancel: CancelLike | None = None,
        progress: ScanProgress | None = None,
    ) -> Future[Volume]:
        """The voxels of a series."""
        ...

    def reformat(
        self, source: Series | Instance, plane: Plane, cancel: CancelLike | None = None
    ) -> Future[Instance]:
        """Its sections in a plane."""
        ...

    def attributes(self, instance: Instance) -> Future[list[AttributeRow]]:
        """All attributes of the file."""
        ...

    def forget(self, instances: Iterable[Instance]) -> None:
        """Give back what is kept of files that were closed."""
        ...

    def scan(
        self,
        paths: Sequence[Path],
        cancel: CancelLike | None = None,
        progress: ScanProgress | None = None,
        found: ScanFound | None = None,
        opened: Opened | None = None,
    ) -> Future[ScanResult]:
        """What is in files and folders; what is called is called on another thread."""
        ...

    def report(self, instance: Instance) -> Future[Report]:
        """A structured report or key object selection as a tree of text."""
        ...

    def layer(self, instance: Instance) -> Future[Layer]:
        """What an object draws: its parts."""
        ...

    def layer_frame(self, instance: Instance, target: Instance, index: int) -> Future[LayerFrame]:
        """What it draws on one frame."""
        ...

    def presentation(self, instance: Instance) -> Future[PresentationState]:
        """A presentation state."""
        ...


class Loader:
    """Answers the viewport's requests and fetches thumbnails, attributes and scans.

    Args:
        viewport: Whose requests to answer.
        decoder: Decodes in worker processes.
        background: Brings answers to the GUI thread.
        place_of: The series of an image and its place there, so that its neighbours are made ready.
    """

    def __init__(
        self,
        viewport: Viewport,
        decoder: DecoderLike,
        background: Background,
        place_of: PlaceOf = lambda _instance: None,
    ) -> None:
        self._viewport = viewport
        self._decoder = decoder
        self._background = background
        self._latest: Future[Frame] | None = None
        self._shown: FrameRequest | None = None
        self._prefetching = Prefetching(decoder, place_of)
        self._disconnects = [
            viewport.requested.connect(self._load),
            viewport.image_changed.connect(self._image_changed),
        ]

    def close(self) -> None:
        """Stop answering."""
        for disconnect in self._disconnects:
            disconnect()
        self._disconnects.clear()
        self._let_go()

    def _image_changed(self) -> None:
        shown = self._viewport.instance
        if shown is None or not shown.has_frames:  # no request follows that would replace these
            self._let_go()

    def _let_go(self) -> None:
        """No image is looked at: an answer that is kept would keep its pixels in memory."""
        self._prefetching.stop()
        self._shown = None
        self._decoder.pin(self, ())
        if self._latest is not None:
            self._latest.cancel()
            self._latest = None

    def _load(self, request: FrameRequest) -> None:
        if self._latest is not None:
            self._latest.cancel()  # only while it is queued; a late answer is dropped anyway
        if request.instance.kind == REFORMAT:
            self._prefetching.stop()
            self._pin()
            self._cut(request)
            return
        self._pin(request)
        self._latest = self._decoder.frame(request.instance, request.frame_index, Priority.VISIBLE)
        self._background.watch(
            self._latest,
            partial(self._deliver, request),
            partial(self._fail, request),
        )
        self._prefetching.around(request.instance, request.frame_index)

    def _deliver(self, request: FrameRequest, frame: Frame) -> None:
        if self._viewport.deliver(request, frame):
            self._shown = request
            self._pin(request)

    def _pin(self, *requests: FrameRequest) -> None:
        """What is waited for stays in memory, and what is shown until that comes."""
        if self._viewport.frame is None:
            self._shown = None
        looked_at = [(one.instance, one.frame_index) for one in requests]
        if self._shown is not None and self._shown not in requests:
            looked_at.append((self._shown.instance, self._shown.frame_index))
        self._decoder.pin(self, looked_at)

    def _cut(self, request: FrameRequest) -> None:
        """Sections are cut from a volume in memory, on the thread that asks: so not on this one."""
        self._latest = None
        self._background.submit(
            lambda: self._decoder.frame(request.instance, request.frame_index).result(),
            partial(self._viewport.deliver, request),
            partial(self._fail, request),
        )

    def _fail(self, request: FrameRequest, error: SightlineError) -> None:
        self._viewport.fail(request, error.text)

    def thumbnail(
        self, instance: Instance, size: int, done: Callable[[Thumbnail], object], failed: OnError
    ) -> Future[Thumbnail]:
        """Fetch a thumbnail of at most `size` px; cancel the future when it is not wanted."""
        future = self._decoder.thumbnail(instance, size)
        self._background.watch(future, done, failed)
        return future

    def report(
        self, instance: Instance, done: Callable[[Report], object], failed: OnError
    ) -> Future[Report]:
        """Fetch a report; cancel the future when it is not wanted."""
        future = self._decoder.report(instance)
        self._background.watch(future, done, failed)
        return future

    def planes(
        self, source: Series | Instance, done: Callable[[tuple[Plane, ...]], object]
    ) -> None:
        """In which planes a series may be shown; many headers are looked at, so not here."""
        self._background.submit(partial(planes_of, source), done)

    def reformat(
        self,
        source: Series | Instance,
        plane: Plane,
        cancel: CancelLike,
        progress: Callable[[int, int], object],
        done: Callable[[Instance], object],
        failed: OnError,
    ) -> None:
        """Put the volume of a series together and give its sections in a plane."""

        def report(finished: int, total: int) -> None:
            self._background.call(lambda: progress(finished, total))

        def cut(_volume: Volume) -> None:
            self._background.submit(
                lambda: self._decoder.reformat(source, plane, cancel).result(), done, failed
            )

        self._background.watch(self._decoder.volume(source, cancel, report), cut, failed)

    def forget(self, studies: Sequence[Study]) -> None:
        """These were closed; they may have 100,000 files, so not on this thread."""
        # Of those that were never made from the index, nothing can be kept.
        every = (made_of(series.instances) for one in studies for series in one.series)
        instances = chain.from_iterable(every)
        self._background.submit(partial(self._decoder.forget, instances), lambda _none: None)

    def attributes(
        self,
        instance: Instance,
        done: Callable[[Sequence[AttributeRow]], object],
        failed: OnError,
    ) -> None:
        """Fetch all attributes of a file."""
        self._background.watch(self._decoder.attributes(instance), done, failed)

    def scan(
        self,
        paths: Sequence[Path],
        cancel: CancelLike,
        progress: Callable[[int, int], object],
        found: Callable[[ScanResult], object],
        done: Callable[[ScanResult], object],
        failed: OnError,
        opened: Opened,
    ) -> None:
        """Look for images in files and folders; `found` is given what is known so far.

        `opened`, called on another thread, tells what is open already: copies are left out.
        """

        def report(finished: int, total: int) -> None:
            self._background.call(lambda: progress(finished, total))

        def grown(result: ScanResult) -> None:
            self._background.call(lambda: found(result))

        future = self._decoder.scan(list(paths), cancel, report, grown, opened)
        self._background.watch(future, done, failed)
