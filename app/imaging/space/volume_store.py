"""Volumes on demand: their slices are fetched on a thread, and volumes are kept within a budget.

For uncompressed slices the workers only parse headers, many in a request; the pixels are read
here straight into the voxels. Other slices are decoded by the workers, few in a request, so that
an image that the user asks for meanwhile waits for at most one such request.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence, Set
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import Cancelled, WorkerDied
from app.imaging import guards
from app.imaging.processes.futures import (
    Pending,
    Reply,
    as_file_problem,
    completed_future,
    mapped_future,
)
from app.imaging.processes.records import pack, unpack
from app.imaging.processes.worker_pool import Priority, WorkerPool
from app.imaging.processes.workers import CancelLike
from app.imaging.space.reformat import (
    SectionAxes,
    SectionCut,
    reformat,
    section,
    section_axes,
    section_cut,
    section_steps,
)
from app.imaging.space.volumes import MAX_BYTES, Assembly, PlainLayout, read_plain
from app.imaging.types import Content, Frame, Instance, Plane, Series, Volume

BUDGET_BYTES = 2 * 1024**3
MAX_SLICES = 20_000

Source = Series | Instance
Message = dict[str, Any]
FileKey = tuple[str, str, int, int, int, int]
"""Path of the file, SOP Instance UID, its times and size, part."""
Key = tuple[FileKey, ...]
Slice = tuple[Instance, int]
FrameLookup = Callable[[Instance, int], Frame | None]
Progress = Callable[[int, int], None]

TIMEOUT_S = 60.0
PROGRESS_INTERVAL_S = 0.03
_HEADERS_PER_REQUEST = 32
_PIXELS_PER_REQUEST = 2 * 512 * 512
_MAX_FRAMES_PER_REQUEST = 8
_MAX_PENDING = 6
"""Requests in the workers' queue or at work: enough that no worker is idle."""
_STOP_CHECK_S = 0.02
_PLAIN_SYNTAXES = frozenset({"1.2.840.10008.1.2", "1.2.840.10008.1.2.1", "1.2.840.10008.1.2.2"})


def file_key(instance: Instance) -> FileKey:
    """Return the cache key of an image.

    The key contains more than the path, since a file may be replaced by another patient's file with
    the same size and modification time.
    """
    one = instance
    state = one.mtime_ns, one.changed_ns, one.size_bytes
    return (str(one.path), one.sop_instance_uid, *state, one.part)


def slice_request(slices: Sequence[Slice]) -> Message:
    """Return the message that requests slices from `reading.volume_entries`."""
    return {
        "slices": [
            [str(one.path), one.size_bytes, one.mtime_ns, one.part, index, one.kind]
            for one, index in slices
        ]
    }


def slice_answers(
    slices: Sequence[Slice], message: Message
) -> list[tuple[Frame, PlainLayout | NDArray[Any]] | None]:
    """Return (frame without pixels, pixels or `PlainLayout`) for each slice in the reply `message`.

    A `PlainLayout` says where in its file a slice's stored values lie. None stands for a slice that
    has yet to be decoded.

    Raises:
        FileProblem: A file contains a different image from the one that was scanned.
    """
    frames = [unpack(Frame, frame) for frame in message["frames"]]
    answers: list[tuple[Frame, PlainLayout | NDArray[Any]] | None] = []
    for (instance, _), found in zip(slices, message["slices"], strict=True):
        if not found:
            answers.append(None)
            continue
        frame = _placed_frame(frames[found["frame"]], found["uid"], found["position"])
        if found["uid"] != instance.sop_instance_uid:
            raise guards.changed_file(instance.path)
        plain = unpack(PlainLayout, found["layout"]) if "layout" in found else None
        answers.append((frame, plain or found["pixels"]))
    return answers


def _placed_frame(frame: Frame, uid: str, position: Sequence[float] | None) -> Frame:
    """Return a description that several slices share with the UID and position of one of them."""
    if position is None:
        return frame
    x, y, z = position
    orientation = replace(frame.orientation, position=(x, y, z))
    return replace(frame, ref=replace(frame.ref, sop_instance_uid=uid), orientation=orientation)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Slices of a request by unsorted position; of `plain` ones only headers are asked for."""

    places: Sequence[int]
    plain: bool


_Events = SimpleQueue[tuple[_Batch, Reply]]


class SliceGathering:
    """Fetches all slices of one volume.

    Args:
        pool: Workers that parse headers and decode pixels.
        kept: Returns a frame if it is already decoded, else None.
        slices: Image and frame of each slice.
        assembly: Receives the slices.
        progress: Called from time to time with the number of slices done and the total.
        stopped: Event that ends the fetching once it is set; `run` then raises `Cancelled`.
    """

    def __init__(
        self,
        pool: WorkerPool,
        kept: FrameLookup,
        slices: Sequence[Slice],
        assembly: Assembly,
        progress: Progress | None = None,
        stopped: threading.Event | None = None,
    ) -> None:
        self._pool = pool
        self._kept = kept
        self._slices = slices
        self._assembly = assembly
        self._progress = progress
        self._waiting: deque[_Batch] = deque()
        self._events: _Events = SimpleQueue()
        self._replies: set[Reply] = set()
        self._stopped = stopped or threading.Event()
        self._done = 0
        self._told_at = 0.0

    def check(self) -> None:
        """Raise `Cancelled` if the fetching was stopped."""
        if self._stopped.is_set():
            raise Cancelled

    def run(self) -> None:
        """Fetch all slices and hand them to the assembly.

        Raises:
            FileProblem: A slice cannot be read, or does not fit the volume.
            Cancelled: `stopped` was set, or the workers were closed.
        """
        try:
            self._waiting.extend(self._batches(self._take_kept(range(len(self._slices)))))
            self._send()
            while self._replies:
                self.check()
                try:
                    batch, reply = self._events.get(timeout=_STOP_CHECK_S)
                except Empty:
                    continue
                self._replies.discard(reply)
                self._take(batch, reply)
                self._send()
        finally:
            for reply in self._replies:
                reply.cancel()

    def _take_kept(self, places: Sequence[int]) -> list[int]:
        """Add the slices that are decoded already; return the positions of the others."""
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
            count = _HEADERS_PER_REQUEST if plain else _frames_per_request(instance)
            batch = [places[start]]
            for place in places[start + 1 : start + count]:
                if _is_plain(self._slices[place][0]) != plain:
                    break
                batch.append(place)
            batches.append(_Batch(batch, plain))
            start += len(batch)
        return batches

    def _send(self) -> None:
        while self._waiting and len(self._replies) < _MAX_PENDING:
            batch = self._waiting.popleft()
            if not batch.plain:
                # Scrolling may have had some of them decoded since.
                batch = _Batch(self._take_kept(batch.places), plain=False)
                if not batch.places:
                    continue
            entry = "plain_entry" if batch.plain else "frames_entry"
            reply = self._pool.submit(
                f"app.imaging.reading.volume_entries:{entry}",
                slice_request([self._slices[place] for place in batch.places]),
                priority=Priority.VOLUME,
                timeout_s=TIMEOUT_S,
            )
            self._replies.add(reply)
            # Not a bound method: a reply that is kept would keep the voxels alive.
            reply.add_done_callback(partial(_queue_reply, self._events, batch))

    def _take(self, batch: _Batch, reply: Reply) -> None:
        if reply.cancelled():
            raise Cancelled
        error = reply.exception()
        if error is not None:
            if isinstance(error, WorkerDied) and len(batch.places) > 1:
                # Asked for one by one, the slice that killed the worker can be named.
                singles = [_Batch((place,), batch.plain) for place in reversed(batch.places)]
                self._waiting.extendleft(singles)
                return
            raise as_file_problem(error, self._slices[batch.places[0]][0].path)
        asked = [self._slices[place] for place in batch.places]
        unknown: list[int] = []
        for place, answer in zip(batch.places, slice_answers(asked, reply.result()), strict=True):
            self.check()
            if answer is None:
                unknown.append(place)
            else:
                self._put(place, *answer)
                self._count()
        self._waiting.extend(_Batch((place,), plain=False) for place in unknown)

    def _put(self, place: int, frame: Frame, pixels: PlainLayout | NDArray[Any]) -> None:
        if not isinstance(pixels, PlainLayout):
            self._assembly.put(place, frame, pixels)
            return
        shape, dtype = (pixels.rows, pixels.columns), np.dtype(pixels.dtype)
        room = self._assembly.room(place, frame, shape, dtype)
        # Read straight into the volume unless its type is wider.
        own = room if room.dtype == dtype else np.empty(shape, dtype)
        read_plain(self._slices[place][0], pixels, own)
        if own is not room:
            room[...] = own

    def _count(self) -> None:
        self._done += 1
        if self._progress is None:
            return
        now = time.monotonic()
        if self._done == len(self._slices) or now >= self._told_at + PROGRESS_INTERVAL_S:
            self._told_at = now
            self._progress(self._done, len(self._slices))


def _queue_reply(events: _Events, batch: _Batch, reply: Reply) -> None:
    events.put((batch, reply))


def _is_plain(instance: Instance) -> bool:
    """Return whether an image's pixels are probably stored uncompressed."""
    if instance.kind != "dicom" or instance.get("TransferSyntaxUID") not in _PLAIN_SYNTAXES:
        return False
    return instance.get("SamplesPerPixel") in ("", "1")


def _frames_per_request(instance: Instance) -> int:
    """Return how many frames take no longer to decode together than a usual one."""
    count = _PIXELS_PER_REQUEST // max(1, instance.rows * instance.columns)
    return min(max(count, 1), _MAX_FRAMES_PER_REQUEST)


@dataclass(frozen=True, slots=True, eq=False)
class _SectionSource:
    """Volume and axes from which the sections of a plane are cut."""

    source: Source
    plane: Plane
    slices: list[Message]
    cut: SectionAxes
    counts: tuple[int, ...]
    affine: NDArray[np.float64]


def _section_source(source: Source, plane: Plane, volume: Volume) -> _SectionSource:
    every = _slices(source) if volume.slices else []
    chosen = [every[place] for place in volume.slices]
    # Packed once and on the store's thread: thousands of slices take many milliseconds.
    slices = [{"image": pack(_patient_and_space(one)), "index": index} for one, index in chosen]
    axes = section_axes(volume, plane)
    return _SectionSource(source, plane, slices, axes, volume.voxels.shape[::-1], volume.affine)


def _patient_and_space(instance: Instance) -> Instance:
    """Return an image with the attributes of patient and space only: thousands go to a worker."""
    kept = {key: instance.get(key) for key in ("FrameOfReferenceUID", "PatientID")}
    return replace(instance, attributes=kept, references={})


class VolumeStore:
    """Makes and keeps volumes, and sections through them; thread-safe.

    Args:
        pool: Workers that read and decode slices.
        kept: Returns a frame if it is already decoded, else None.
        budget: Maximum bytes of voxels to keep; the least recently used volumes are dropped first.
    """

    def __init__(self, pool: WorkerPool, kept: FrameLookup, budget: int = BUDGET_BYTES) -> None:
        self._pool = pool
        self._kept = kept
        self._budget = budget
        self._lock = threading.Lock()
        self._volumes: OrderedDict[Key, Volume] = OrderedDict()
        self._pending: dict[Key, tuple[threading.Event, Pending[Volume]]] = {}
        """Volumes in the making: an event that stops the work, and the callers that wait."""
        self._sections: dict[str, _SectionSource] = {}

    def volume(
        self,
        source: Source,
        cancel: CancelLike | None = None,
        progress: Progress | None = None,
    ) -> Future[Volume]:
        """Return the volume of a series of single images, or of one multi-frame instance.

        `cancel` cancels this request; the work continues if another caller waits for its result.
        `progress` is called on a thread of the store with the number of slices done and the total.
        It is not called if the volume is already being made for another request.
        """
        key = _key(source)
        with self._lock:
            cached = self._volumes.get(key)
            if cached is not None:
                self._volumes.move_to_end(key)
                return completed_future(cached)
            known = self._pending.get(key)
            if known is None:
                stopped = threading.Event()
                pending = Pending[Volume](Reply(), lambda: self._abandon(key, stopped))
                self._pending[key] = (stopped, pending)
            else:
                stopped, pending = known
            mine = pending.join()
        if cancel is not None:
            cancel.on_cancel(partial(_cancel, mine))
        if known is None:
            threading.Thread(
                target=self._run,
                args=(source, key, stopped, pending, progress),
                name="sightline-volume",
                daemon=True,
            ).start()
        return mine

    def reformat(
        self, source: Source, plane: Plane, cancel: CancelLike | None = None
    ) -> Future[Instance]:
        """Make the volume; then return an instance whose frames are its sections in `plane`."""

        def made(volume: Volume) -> Instance:
            instance = reformat(source, plane, volume)
            with self._lock:
                self._sections[instance.sop_instance_uid] = _section_source(source, plane, volume)
            return instance

        return mapped_future(self.volume(source, cancel), made)

    def section(self, instance: Instance, index: int) -> Future[Frame]:
        """Return frame `index` (from 0) of an instance of `reformat`; may fail with FileProblem."""
        with self._lock:
            known = self._sections.get(instance.sop_instance_uid)
        if known is None:
            lost: Future[Frame] = Future()
            reason = "these sections belong to a volume that is no longer open"
            lost.set_exception(guards.problem(instance.path, reason, "Open the series again"))
            return lost
        source, plane = known.source, known.plane

        def cut(volume: Volume) -> Frame:
            if not 0 <= index < instance.frames:
                reason = f"it has {instance.frames} sections, not {index + 1}"
                raise guards.problem(instance.path, reason)
            return section(volume, plane, index, instance.sop_instance_uid)

        return mapped_future(self.volume(source), cut)

    def section_slices(
        self, instance: Instance, index: int
    ) -> tuple[list[Message], SectionCut] | None:
        """Return all slices of a section's volume, and the section; None if resampled or unknown.

        "Unknown": `instance` is not from `reformat`, or has no section `index` (from 0). A slice is
        a message: "image", an instance with only the attributes that identify patient and frame of
        reference, and "index", the frame from 0.
        """
        with self._lock:
            known = self._sections.get(instance.sop_instance_uid)
        if known is None or not known.slices or not 0 <= index < instance.frames:
            return None
        return known.slices, section_cut(known.cut, known.counts, index)

    def section_plane(self, instance: Instance, index: int) -> list[NDArray[np.float64]] | None:
        """Return a section's `section_steps`; None if `instance` is not from `reformat`."""
        with self._lock:
            known = self._sections.get(instance.sop_instance_uid)
        if known is None:
            return None
        return list(section_steps(known.affine, known.cut, known.counts, index))

    def forget(self, paths: Set[str]) -> None:
        """Drop volumes and sections made from these files, and cancel work on them."""

        def gone(key: Key) -> bool:
            return any(part[0] in paths for part in key)

        with self._lock:
            # A new request for one of these starts anew instead of waiting for cancelled work.
            for key in [key for key in self._pending if gone(key)]:
                self._pending.pop(key)[0].set()
            for key in [key for key in self._volumes if gone(key)]:
                del self._volumes[key]
            for uid in [uid for uid, cut in self._sections.items() if gone(_key(cut.source))]:
                del self._sections[uid]

    def clear(self) -> None:
        """Drop all volumes and cancel work in progress."""
        with self._lock:
            for stopped, _ in self._pending.values():
                stopped.set()
            self._pending.clear()
            self._volumes.clear()
            self._sections.clear()

    def _abandon(self, key: Key, stopped: threading.Event) -> None:
        with self._lock:
            known = self._pending.get(key)
            if known is not None and known[0] is stopped and not known[1].wanted:
                del self._pending[key]
                stopped.set()

    def _run(
        self,
        source: Source,
        key: Key,
        stopped: threading.Event,
        pending: Pending[Volume],
        progress: Progress | None,
    ) -> None:
        instances = _instances(source)
        path = instances[0].path if instances else None
        try:
            outcome: Volume | BaseException = self._make(source, stopped, progress)
        except BaseException as error:
            outcome = as_file_problem(error, path) if path is not None else error
        with self._lock:
            known = self._pending.get(key)
            if known is not None and known[0] is stopped:
                del self._pending[key]
            if isinstance(outcome, Volume) and not stopped.is_set():
                self._keep(key, outcome)
        pending.finish(outcome)

    def _make(self, source: Source, stopped: threading.Event, progress: Progress | None) -> Volume:
        instances = _instances(source)
        slices = _slices(source)
        references = {one.get("FrameOfReferenceUID") for one in instances}
        reference = references.pop() if len(references) == 1 else ""
        limit = min(MAX_BYTES, self._budget)
        labels = any(one.content is Content.SEGMENTATION for one in instances)
        path = instances[0].path
        assembly = Assembly(path, len(slices), reference, limit, labels=labels)
        gathering = SliceGathering(self._pool, self._kept, slices, assembly, progress, stopped)
        gathering.run()
        return assembly.volume(gathering.check)

    def _keep(self, key: Key, volume: Volume) -> None:
        self._volumes[key] = volume
        used = sum(one.voxels.nbytes for one in self._volumes.values())
        # The newest volume stays even if it exceeds the budget alone.
        while used > self._budget and len(self._volumes) > 1:
            _, oldest = self._volumes.popitem(last=False)
            used -= oldest.voxels.nbytes


def _cancel(future: Future[Volume]) -> None:
    future.cancel()


def _instances(source: Source) -> tuple[Instance, ...]:
    return tuple(source.instances) if isinstance(source, Series) else (source,)


def _slices(source: Source) -> list[tuple[Instance, int]]:
    """Return a volume's frames; raise FileProblem for none, several multi-frame or too many."""
    instances = _instances(source)
    path = instances[0].path
    if any(not one.has_frames for one in instances):
        raise guards.problem(path, "this series is not a volume: it contains no images")
    # Frames of several objects may be different phases or echoes.
    if len(instances) > 1 and any(one.frames > 1 for one in instances):
        reason = "this series is not a volume: it contains several multi-frame images"
        raise guards.problem(path, reason, "Choose one of them")
    slices = [(one, index) for one in instances for index in range(one.frames)]
    if len(slices) > MAX_SLICES:
        raise guards.problem(path, f"a volume of {len(slices)} slices is too large")
    if len(slices) < 2:
        raise guards.problem(path, "this series is not a volume: it has fewer than two slices")
    return slices


def _key(source: Source) -> Key:
    return tuple(file_key(one) for one in _instances(source))
