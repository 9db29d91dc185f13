"""Fetches images, thumbnails, reports and scans from the decode workers, for the GUI thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject

from app.errors import SightlineError
from app.imaging.attributes import AttributeRow
from app.imaging.decode import CACHE_BYTES, Decoder
from app.imaging.pixels.windows import (
    GreySample,
    grey_sample,
    has_automatic_window,
    sample_frames,
    window_of,
)
from app.imaging.processes.futures import gathered_future
from app.imaging.processes.worker_pool import Priority
from app.imaging.processes.workers import CancelLike
from app.imaging.report import Report
from app.imaging.space.reformat import available_planes
from app.imaging.studies.instance_lists import loaded_instances
from app.imaging.types import Frame, Instance, Plane, ScanResult, Series, Study, Volume, Window
from app.views.background import Background, OnError
from app.views.canvas.canvas import Canvas
from app.views.wording import error_text
from app.workspace.signals import Signal
from app.workspace.viewport import REFORMAT, FrameRequest, Viewport
from app.workspace.workspace import ScaleKey, Workspace

T = TypeVar("T")
Thumbnail = NDArray[np.uint8]
ScanProgress = Callable[[int, int], None]
ScanFound = Callable[[ScanResult], None]
Opened = Callable[[], Sequence[Sequence[Instance]]]


class FrameLoading:
    """Loads the frames that one viewport requests, and those near them in advance."""

    def __init__(
        self,
        viewport: Viewport,
        decoder: Decoder,
        background: Background,
        prefetching: Prefetching,
    ) -> None:
        self._viewport = viewport
        self._decoder = decoder
        self._background = background
        self._latest: Future[list[Frame]] | None = None
        self._shown: FrameRequest | None = None
        self._prefetching = prefetching
        viewport.requested.connect(self._load)
        viewport.image_changed.connect(self._image_changed)

    @property
    def shows_image(self) -> bool:
        return self._viewport.instance is not None

    def close(self) -> None:
        self._let_go()

    def _image_changed(self) -> None:
        shown = self._viewport.instance
        if shown is None or not shown.has_frames:  # no request follows that would replace these
            self._let_go()

    def _let_go(self) -> None:
        """Cancel the request and unpin frames, since no image is shown."""
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
        own, together = request.frame_index, request.channels
        wanted = [
            self._decoder.frame(request.instance, index, Priority.VISIBLE)
            for index in dict.fromkeys((own, *together))
        ]
        self._latest = gathered_future(wanted)
        self._background.watch(
            self._latest,
            partial(self._deliver, request),
            partial(self._fail, request),
        )
        self._prefetching.around(request.instance, request.frame_index, request.channels)

    def _deliver(self, request: FrameRequest, frames: Sequence[Frame]) -> None:
        frame = frames[0]
        if request.channels:  # the selected one may be none of those that are visible
            by_number = {one.ref.frame: one for one in frames}
            together = tuple(by_number[index] for index in request.channels if index in by_number)
            frame = replace(frame, channels=together)
        if self._viewport.deliver(request, frame):
            self._shown = request
            self._pin(request)

    def _pin(self, *requests: FrameRequest) -> None:
        """Keep the requested frames in memory, and the shown one until they have come."""
        if self._viewport.frame is None:
            self._shown = None
        kept = [*requests]
        if self._shown is not None and self._shown not in requests:
            kept.append(self._shown)
        self._decoder.pin(
            self,
            [
                (one.instance, index)
                for one in kept
                for index in dict.fromkeys((one.frame_index, *one.channels))
            ],
        )

    def _cut(self, request: FrameRequest) -> None:
        """Cut a section from a volume; not on the GUI thread, since the decoder does it at once."""
        self._latest = None
        self._background.submit(
            lambda: self._decoder.frame(request.instance, request.frame_index).result(),
            partial(self._viewport.deliver, request),
            partial(self._fail, request),
        )

    def _fail(self, request: FrameRequest, error: SightlineError) -> None:
        self._viewport.fail(request, error_text(error))


class Loader:
    """Loads frames for the viewports, and thumbnails, reports, volumes and scans for other views.

    Attributes:
        windows: The automatic windows of series that are known so far, each with the number of
            images that its series had: it grows in a scan.
        section_planes: The planes of sections that any viewport has shown, by SOP Instance UID.
    """

    def __init__(
        self,
        viewport: Viewport,
        decoder: Decoder,
        background: Background,
        place_of: PlaceOf = lambda _instance: None,  # so that neighbours are prefetched
    ) -> None:
        self._decoder = decoder
        self._background = background
        self._place_of = place_of
        self._frames: list[FrameLoading] = []
        self.windows: dict[ScaleKey, tuple[int, Window]] = {}
        self.window_found: Signal[()] = Signal()
        self.section_planes: dict[str, Plane] = {}
        self.load_frames_of(viewport)

    def load_frames_of(self, viewport: Viewport) -> None:
        """Load the frames that another viewport requests, too."""
        prefetching = Prefetching(self._decoder, self._place_of, self._share)
        self._frames.append(FrameLoading(viewport, self._decoder, self._background, prefetching))

    def _share(self) -> int:
        """Return the bytes that each viewport with an image may request in advance."""
        return AHEAD_BYTES // max(1, sum(frames.shows_image for frames in self._frames))

    def close(self) -> None:
        for frames in self._frames:
            frames.close()

    def sample(
        self,
        instance: Instance,
        index: int,
        work: Callable[[Frame], T],
        done: Callable[[T], object],
        failed: OnError,
    ) -> None:
        """Decode frame `index` (from 0) when the workers are idle; pass `work(frame)` to `done`."""
        future = self._decoder.frame(instance, index, Priority.PREFETCH)
        self._background.watch(
            future, lambda frame: self.compute(partial(work, frame), done), failed
        )

    def compute(self, work: Callable[[], T], done: Callable[[T], object]) -> None:
        self._background.submit(work, done)

    def thumbnail(
        self, instance: Instance, size: int, done: Callable[[Thumbnail], object], failed: OnError
    ) -> Future[Thumbnail]:
        """Pass a thumbnail of at most `size` px to `done`; the returned future can be cancelled."""
        future = self._decoder.thumbnail(instance, size)
        self._background.watch(future, done, failed)
        return future

    def report(
        self, instance: Instance, done: Callable[[Report], object], failed: OnError
    ) -> Future[Report]:
        future = self._decoder.report(instance)
        self._background.watch(future, done, failed)
        return future

    def planes(
        self, source: Series | Instance, done: Callable[[tuple[Plane, ...]], object]
    ) -> None:
        self._background.submit(partial(available_planes, source), done)

    def reformat(
        self,
        source: Series | Instance,
        plane: Plane,
        cancel: CancelLike,
        progress: Callable[[int, int], object],
        done: Callable[[Instance, Volume], object],
        failed: OnError,
    ) -> None:
        """Cut the volume of a series into sections along `plane`.

        Calls `done(sections, volume)`: the sections as one instance, and the volume without values.
        """

        def report(finished: int, total: int) -> None:
            self._background.call(lambda: progress(finished, total))

        def cut(volume: Volume) -> None:
            # Of the voxels only the shape, so that the volume can be dropped from memory.
            empty = replace(volume, voxels=np.broadcast_to(np.uint8(0), volume.voxels.shape))
            self._background.submit(
                lambda: self._decoder.reformat(source, plane, cancel).result(),
                lambda sections: done(sections, empty),
                failed,
            )

        self._background.watch(self._decoder.volume(source, cancel, report), cut, failed)

    def forget(self, studies: Sequence[Study]) -> None:
        """Discard cached data of closed studies, on a thread since they may have 100,000 files."""
        # Instances never made from the index cannot be cached.
        every = (loaded_instances(series.instances) for one in studies for series in one.series)
        instances = chain.from_iterable(every)
        self._background.submit(partial(self._decoder.forget, instances), lambda _none: None)

    def attributes(
        self,
        instance: Instance,
        done: Callable[[Sequence[AttributeRow]], object],
        failed: OnError,
    ) -> None:
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
        """Find images in files and folders; call `found` with the results so far, `done` with all.

        `opened` is called on another thread and returns the open instances; copies of these
        instances are left out of the results.
        """

        def report(finished: int, total: int) -> None:
            self._background.call(lambda: progress(finished, total))

        def grown(result: ScanResult) -> None:
            self._background.call(lambda: found(result))

        future = self._decoder.scan(list(paths), cancel, report, grown, opened)
        self._background.watch(future, done, failed)


PlaceOf = Callable[[Instance], tuple[Series, int] | None]
Key = tuple[str, int, int, int]

CINE_AHEAD = 4
"""Number of frames of a cine that are decoded ahead of the shown frame."""

NEAR = 2
"""Number of images ahead in the scrolling direction that get the priority of direct neighbours."""

AHEAD, BEHIND = 8, 2
AHEAD_BYTES = CACHE_BYTES // 4
"""Limit of prefetched bytes, so that prefetched frames do not displace frames already viewed."""


class Prefetching:
    """Requests frames near the shown one; each step of the wheel adds one and cancels one."""

    def __init__(
        self,
        decoder: Decoder,
        place_of: PlaceOf,
        limit: Callable[[], int] = lambda: AHEAD_BYTES,
    ) -> None:
        self._decoder = decoder
        self._place_of = place_of
        self._limit = limit  # bytes of frames requested in advance
        self._asked: dict[Key, tuple[int, Future[Frame]]] = {}
        self._where: tuple[str, int] = ("", 0)
        self._series: Series | None = None
        self._step = 1

    def around(self, instance: Instance, index: int, together: Sequence[int] = ()) -> None:
        """Prefetch the frames around frame `index` of an image, with those shown together."""
        self._follow(instance, index)
        asked: dict[Key, tuple[int, Future[Frame]]] = {}
        most = self._limit() // _bytes_of(instance)
        for other, frame, priority in islice(self._wanted(instance, index, together), most):
            key = (str(other.path), other.mtime_ns, other.part, frame)
            known = self._asked.pop(key, None)
            if known is None or priority < known[0]:
                mine = self._decoder.frame(other, frame, priority)
                if known is not None:
                    known[1].cancel()  # after the new one has joined it
                known = (priority, mine)
            asked[key] = known
        self.stop()
        self._asked = asked

    def stop(self) -> None:
        """Cancel all requests for frames that are not shown yet."""
        for _, future in self._asked.values():
            future.cancel()
        self._asked = {}
        self._series = None

    def _follow(self, instance: Instance, index: int) -> None:
        """Note the direction of scrolling."""
        found = self._place_of(instance) if instance.frames == 1 else None
        if found is None:
            where = (f"{instance.path}/{instance.part}", index)
        else:
            where = (found[0].key, found[1])
        if where[0] != self._where[0]:
            self._step = 1
        elif where[1] != self._where[1]:
            self._step = 1 if where[1] > self._where[1] else -1
        self._where = where
        self._series = found[0] if found is not None else None

    def _wanted(
        self, instance: Instance, index: int, together: Sequence[int]
    ) -> Iterator[tuple[Instance, int, int]]:
        """Yield (image, frame, priority), the most urgent first."""
        axes = instance.axes
        if axes is not None and instance.frames > 1:
            for step in range(1, min(CINE_AHEAD, axes.steps - 1) + 1):
                there = (axes.step_of(index) + self._step * step) % axes.steps
                for one in together or (index,):
                    yield instance, axes.at_step(one, there), Priority.PREFETCH
            return
        if instance.frames > 1:
            for step in range(1, min(CINE_AHEAD, instance.frames - 1) + 1):
                yield instance, (index + self._step * step) % instance.frames, Priority.PREFETCH
            return
        if self._series is None:
            return
        series, place = self._series.instances, self._where[1]
        order = [(step, Priority.NEIGHBOUR) for step in range(1, NEAR + 1)]
        order.append((-1, Priority.NEIGHBOUR))
        order += [(step, Priority.PREFETCH) for step in range(NEAR + 1, AHEAD + 1)]
        order += [(-step, Priority.PREFETCH) for step in range(2, BEHIND + 1)]
        for step, priority in order:
            other = place + self._step * step
            if 0 <= other < len(series):
                one = series[other]
                if one.has_frames:
                    forward = (step > 0) == (self._step > 0)
                    yield one, 0 if forward else one.frames - 1, priority


def _bytes_of(instance: Instance) -> int:
    samples = 3 if instance.get("SamplesPerPixel").strip() == "3" else 1
    bits = instance.get("BitsAllocated").strip()
    return instance.rows * instance.columns * samples * (1 if bits in ("1", "8") else 2)


class SeriesWindow(QObject):
    """Computes an automatic intensity window for a canvas' series and sets it on the viewport."""

    def __init__(self, canvas: Canvas, workspace: Workspace, loader: Loader) -> None:
        super().__init__(canvas)
        self._workspace = workspace
        self._viewport = canvas.model
        self._loader = loader
        self._known = loader.windows
        self._asked: tuple[ScaleKey, int] | None = None
        self._tried: set[tuple[ScaleKey, int]] = set()
        loader.window_found.connect(self._follow)
        canvas.model.image_changed.connect(self._follow)
        workspace.studies.changed.connect(self._ask)
        canvas.picture_changed.connect(self._ask)  # not before the first image is on the screen

    def _follow(self) -> None:
        acquired = self._viewport.acquired
        found: dict[int, Window] = {}
        if acquired is not None:
            for channel in range(_channels(acquired)):
                known = self._known.get(self._key(acquired, channel))
                if known is not None:
                    found[channel] = known[1]
        self._viewport.set_automatic(found)

    def _key(self, acquired: Instance, channel: int) -> ScaleKey:
        """Return the key of a series, or of one of its channels."""
        study, series = self._workspace.scale_key(acquired)
        return (study, f"{series}#{channel}") if _channels(acquired) > 1 else (study, series)

    def _ask(self) -> None:
        acquired = self._viewport.acquired
        if acquired is None or not self._viewport.needs_automatic:
            return
        source = self._workspace.scale_source(acquired)
        count = len(source.instances) if isinstance(source, Series) else source.frames
        # The visible channels, the selected one first; of single ones, that one.
        looks = self._viewport.display.channels
        seen = [n for n, look in enumerate(looks) if look.visible and n != self._viewport.channel]
        for channel in (self._viewport.channel, *seen):
            key = self._key(acquired, channel)
            known = self._known.get(key, (1, None))
            if (key, count) in self._tried or count == known[0]:
                continue
            if self._asked == (key, count):
                return
            self._asked = (key, count)
            self._fetch(self._asked, sample_frames(source, channel), [])
            return

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
            self._tried.add(asked)
            if samples:
                self._loader.compute(partial(window_of, samples), partial(self._take, asked))
            else:
                self._ask()  # for the next channel
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
        self._loader.window_found.emit()
        self._ask()


def _channels(instance: Instance) -> int:
    return len(instance.axes.channels) if instance.axes is not None else 1
