"""Fetching the slices of one volume: headers and pixels as they come, into their places.

Of uncompressed slices the workers only look at the headers, many in a request; their pixels are
read here, once, into the voxels. All others are decoded by the workers, few in a request, so that
an image that is looked at meanwhile waits for one of them at most.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import Cancelled, WorkerDied
from app.imaging import guards
from app.imaging.processes.futures import Reply, as_file_problem
from app.imaging.processes.records import unpack
from app.imaging.processes.worker_pool import Priority, WorkerPool
from app.imaging.space.plain_slices import PlainLayout, PlainSpan, read_plain
from app.imaging.space.volumes import Assembly
from app.imaging.types import Frame, ImageRef, Instance

Kept = Callable[[Instance, int], Frame | None]
Progress = Callable[[int, int], None]

TIMEOUT_S = 60.0
TOLD_EVERY_S = 0.03
_HEADERS_A_REQUEST = 32
_PIXELS_A_REQUEST = 2 * 512 * 512
_FEW = 8
_AHEAD = 6
"""Requests that wait in the workers' queue or are at work: enough that none of them is idle."""
_PLAIN_SYNTAXES = frozenset({"1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2"})


@dataclass(frozen=True, slots=True)
class _Batch:
    """Slices that one request asks for.

    Attributes:
        places: Their places in the volume, before it is sorted.
        plain: Whether only their headers are asked for.
    """

    places: Sequence[int]
    plain: bool

    def singles(self) -> list[_Batch]:
        return [_Batch((place,), self.plain) for place in self.places]


_Events = SimpleQueue[tuple[_Batch, Reply] | None]


class Gathering:
    """The slices of one volume on their way.

    Args:
        pool: Where headers are read and pixels decoded.
        kept: Gives a frame that is decoded already, or None.
        slices: Image and frame of each.
        assembly: Takes them in.
        progress: Called now and then with slices that are there and slices in all.
    """

    def __init__(
        self,
        pool: WorkerPool,
        kept: Kept,
        slices: Sequence[Slice],
        assembly: Assembly,
        progress: Progress | None = None,
    ) -> None:
        self._pool = pool
        self._kept = kept
        self._slices = slices
        self._assembly = assembly
        self._progress = progress
        self._waiting: deque[_Batch] = deque()
        self._events: _Events = SimpleQueue()
        self._replies: set[Reply] = set()
        self._stopped = threading.Event()
        self._done = 0
        self._told_at = 0.0

    def stop(self) -> None:
        """End it early, from any thread: what runs then raises `Cancelled`."""
        self._stopped.set()
        self._events.put(None)

    def check(self) -> None:
        """Raise `Cancelled` once it was stopped."""
        if self._stopped.is_set():
            raise Cancelled

    def run(self) -> None:
        """Fetch all slices.

        Raises:
            FileProblem: One of them cannot be had, or fits into no volume.
            Cancelled: It was stopped, or the workers were.
        """
        try:
            self._waiting.extend(self._batches(self._take_kept(range(len(self._slices)))))
            self._send()
            while self._replies:
                event = self._events.get()
                self.check()
                if event is not None:
                    self._replies.discard(event[1])
                    self._take(*event)
                self._send()
        finally:
            for reply in self._replies:
                reply.cancel()

    def _take_kept(self, places: Sequence[int]) -> list[int]:
        """Put the slices in place that are decoded already; the places of the others."""
        missing: list[int] = []
        for place in places:
            self.check()
            frame = self._kept(*self._slices[place])
            if frame is None:
                missing.append(place)
            else:
                self._assembly.put(place, frame)
                self._count()
        return missing

    def _batches(self, places: Sequence[int]) -> list[_Batch]:
        batches: list[_Batch] = []
        start = 0
        while start < len(places):
            instance = self._slices[places[start]][0]
            plain = _is_plain(instance)
            count = _HEADERS_A_REQUEST if plain else _few(instance)
            batch = [places[start]]
            for place in places[start + 1 : start + count]:
                if _is_plain(self._slices[place][0]) != plain:
                    break
                batch.append(place)
            batches.append(_Batch(batch, plain))
            start += len(batch)
        return batches

    def _send(self) -> None:
        while self._waiting and len(self._replies) < _AHEAD:
            batch = self._waiting.popleft()
            if not batch.plain:
                # Somebody who scrolls meanwhile has had some of them decoded.
                batch = _Batch(self._take_kept(batch.places), plain=False)
                if not batch.places:
                    continue
            entry = "plain_entry" if batch.plain else "frames_entry"
            reply = self._pool.submit(
                f"app.imaging.reading.volume_entries:{entry}",
                question_of([self._slices[place] for place in batch.places]),
                priority=Priority.VOLUME,
                timeout_s=TIMEOUT_S,
            )
            self._replies.add(reply)
            # Not a method of ours: who made the reply may keep it for long, and us with the voxels.
            reply.add_done_callback(partial(_came, self._events, batch))

    def _take(self, batch: _Batch, reply: Reply) -> None:
        if reply.cancelled():
            raise Cancelled
        error = reply.exception()
        if error is not None:
            if isinstance(error, WorkerDied) and len(batch.places) > 1:
                # Which of them it was shows when they are asked for one by one.
                self._waiting.extendleft(reversed(batch.singles()))
                return
            raise as_file_problem(error, self._slices[batch.places[0]][0].path)
        asked = [self._slices[place] for place in batch.places]
        unknown: list[int] = []
        for place, answer in zip(batch.places, answers_of(asked, reply.result()), strict=True):
            self.check()
            if answer is None:
                unknown.append(place)
            else:
                self._put(place, answer)
                self._count()
        self._waiting.extend(_Batch((place,), plain=False) for place in unknown)

    def _put(self, place: int, answer: SliceAnswer) -> None:
        span = answer.span
        if span is None:
            assert answer.pixels is not None
            self._assembly.put(place, answer.frame, answer.pixels)
            return
        shape, dtype = (span.layout.rows, span.layout.columns), np.dtype(span.layout.dtype)
        room = self._assembly.room(place, answer.frame, shape, dtype)
        if room.dtype == dtype:
            read_plain(span, room)
        else:
            own = np.empty(shape, dtype)
            read_plain(span, own)
            room[...] = own

    def _count(self) -> None:
        self._done += 1
        if self._progress is None:
            return
        now = time.monotonic()
        if self._done == len(self._slices) or now >= self._told_at + TOLD_EVERY_S:
            self._told_at = now
            self._progress(self._done, len(self._slices))


def _came(events: _Events, batch: _Batch, reply: Reply) -> None:
    events.put((batch, reply))


def _is_plain(instance: Instance) -> bool:
    """Whether an image's pixels probably stand in its file as they are."""
    if instance.kind != "dicom" or instance.get("TransferSyntaxUID") not in _PLAIN_SYNTAXES:
        return False
    return instance.get("SamplesPerPixel") in ("", "1")


def _few(instance: Instance) -> int:
    """So many frames that together they take no longer to decode than a usual one."""
    return max(1, min(_FEW, _PIXELS_A_REQUEST // max(1, instance.rows * instance.columns)))


Message = dict[str, Any]
Slice = tuple[Instance, int]


@dataclass(frozen=True, slots=True)
class SliceAnswer:
    """One slice.

    Attributes:
        frame: Its description, without pixels.
        span: Where its pixels are to be read, or None.
        pixels: Its stored values, or None.
    """

    frame: Frame
    span: PlainSpan | None = None
    pixels: NDArray[Any] | None = None


def question_of(slices: Sequence[Slice]) -> Message:
    """What the entries of `volume_entries` are asked."""
    return {
        "slices": [
            [str(one.path), one.size_bytes, one.mtime_ns, one.part, index, one.kind]
            for one, index in slices
        ]
    }


def answers_of(slices: Sequence[Slice], message: Message) -> list[SliceAnswer | None]:
    """The slices of an answer; None for those that must be decoded.

    Args:
        slices: What was asked for.
        message: The answer.

    Raises:
        FileProblem: In a file's place there is another image than the one that was scanned.
    """
    frames = [unpack(Frame, frame) for frame in message["frames"]]
    layouts = [unpack(PlainLayout, layout) for layout in message["layouts"]]
    pixels: list[NDArray[Any]] = message["pixels"]
    answers: list[SliceAnswer | None] = []
    for place, (asked, found) in enumerate(zip(slices, message["slices"], strict=True)):
        if not found:
            answers.append(None)
            continue
        instance, index = asked
        number, uid, position, *where = found
        if uid != instance.sop_instance_uid:
            raise guards.changed(instance.path)
        frame = _placed(frames[number], uid, index, position)
        if where:
            size, time_ns = instance.size_bytes, instance.mtime_ns
            span = PlainSpan(instance.path, size, time_ns, where[1], layouts[where[0]])
            answers.append(SliceAnswer(frame, span))
        else:
            answers.append(SliceAnswer(frame, pixels=pixels[place]))
    return answers


def _placed(frame: Frame, uid: str, index: int, position: list[float] | None) -> Frame:
    """A description with a slice's own place, where all else is another's."""
    if position is None:
        return frame
    x, y, z = position
    orientation = replace(frame.orientation, position=(x, y, z))
    return replace(frame, ref=ImageRef(uid, index, ""), orientation=orientation)
