"""Volumes on demand: put together on threads of their own, kept within a budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Set
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from app.imaging import guards
from app.imaging.processes.futures import Pending, Reply, as_file_problem, done, mapped
from app.imaging.processes.records import pack
from app.imaging.processes.worker_pool import WorkerPool
from app.imaging.processes.workers import CancelLike
from app.imaging.space.reformat import Cut, SectionCut, cut_of, reformat, section, section_cut
from app.imaging.space.slice_gathering import Gathering, Kept, Progress
from app.imaging.space.volumes import MAX_BYTES, Assembly
from app.imaging.types import Content, Frame, Instance, Series
from app.imaging.volume import Plane, Volume

BUDGET_BYTES = 2 * 1024**3
MAX_SLICES = 20_000

Source = Series | Instance
Message = dict[str, Any]
Key = tuple[tuple[str, str, int, int, int, int], ...]


class _Job:
    """One volume that is being made, and all who wait for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gathering: Gathering | None = None
        self.abandoned = False

    def follow(self, gathering: Gathering) -> None:
        """Stop it too once nobody waits."""
        with self._lock:
            self._gathering = gathering
            abandoned = self.abandoned
        if abandoned:
            gathering.stop()

    def stop(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self.abandoned = True
            gathering = self._gathering
        if gathering is not None:
            gathering.stop()


@dataclass(frozen=True, slots=True, eq=False)
class _Sections:
    """What the sections of a plane were made from, and how."""

    source: Source
    plane: Plane
    slices: list[Message]
    cut: Cut
    counts: tuple[int, ...]


def _sections(source: Source, plane: Plane, volume: Volume) -> _Sections:
    every = _slices(source) if volume.slices else []
    chosen = [every[place] for place in volume.slices]
    # Once, off the thread that asks: thousands of slices take many milliseconds.
    slices = [{"image": pack(_bare(one)), "index": index} for one, index in chosen]
    return _Sections(source, plane, slices, cut_of(volume, plane), volume.voxels.shape[::-1])


def _bare(instance: Instance) -> Instance:
    """An image with only what tells patient and space: thousands of them go to a worker."""
    kept = {key: instance.get(key) for key in ("FrameOfReferenceUID", "PatientID")}
    return replace(instance, attributes=kept, references=())


class VolumeStore:
    """Makes volumes and sections through them; thread-safe.

    Args:
        pool: Where slices are read and decoded.
        kept: Gives a frame that is decoded already, or None.
        budget: Bytes of voxels that are kept; the least recently used volumes go first.
    """

    def __init__(self, pool: WorkerPool, kept: Kept, budget: int = BUDGET_BYTES) -> None:
        self._pool = pool
        self._kept = kept
        self._budget = budget
        self._lock = threading.Lock()
        self._volumes: OrderedDict[Key, Volume] = OrderedDict()
        self._pending: dict[Key, tuple[_Job, Pending[Volume]]] = {}
        self._sections: dict[str, _Sections] = {}

    def volume(
        self,
        source: Source,
        cancel: CancelLike | None = None,
        progress: Progress | None = None,
    ) -> Future[Volume]:
        """The volume of a series of single images, or of one multi-frame instance.

        Args:
            source: What it is made from.
            cancel: Ends this request; the work goes on while another caller waits for it.
            progress: Called with slices decoded and slices in all, on a thread of the store; not
                for a request that joins one which is already under way.
        """
        key = _key(source)
        with self._lock:
            cached = self._volumes.get(key)
            if cached is not None:
                self._volumes.move_to_end(key)
                return done(cached)
            known = self._pending.get(key)
            if known is None:
                job = _Job()
                pending = Pending[Volume](Reply(), lambda: self._abandon(key, job))
                self._pending[key] = (job, pending)
            else:
                job, pending = known
            mine = pending.join()
        if cancel is not None:
            cancel.on_cancel(partial(_cancel, mine))
        if known is None:
            threading.Thread(
                target=self._run,
                args=(source, key, job, pending, progress),
                name="sightline-volume",
                daemon=True,
            ).start()
        return mine

    def reformat(
        self, source: Source, plane: Plane, cancel: CancelLike | None = None
    ) -> Future[Instance]:
        """An instance whose frames are the sections of a plane; makes the volume first."""

        def made(volume: Volume) -> Instance:
            instance = reformat(source, plane, volume)
            with self._lock:
                self._sections[instance.sop_instance_uid] = _sections(source, plane, volume)
            return instance

        return mapped(self.volume(source, cancel), made)

    def section(self, instance: Instance, index: int) -> Future[Frame]:
        """A frame of what `reformat` gave; fails with `FileProblem`."""
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

        return mapped(self.volume(source), cut)

    def slices_of(self, instance: Instance, index: int) -> tuple[list[Message], SectionCut] | None:
        """What a section of `reformat` was cut from; None where its volume was resampled.

        Returns:
            Image and frame of each of the volume's slices as messages, with only those attributes
            that tell patient and space; and the section's place among their voxels.
        """
        with self._lock:
            known = self._sections.get(instance.sop_instance_uid)
        if known is None or not known.slices or not 0 <= index < instance.frames:
            return None
        return known.slices, section_cut(known.cut, known.counts, index)

    def forget(self, paths: Set[str]) -> None:
        """Let go of volumes and sections of these files; what is under way is cancelled."""

        def gone(key: Key) -> bool:
            return any(part[0] in paths for part in key)

        with self._lock:
            # Who asks again for one of these starts anew, and does not wait for what is cancelled.
            ended = [key for key in self._pending if gone(key)]
            jobs = [self._pending.pop(key)[0] for key in ended]
            for key in [key for key in self._volumes if gone(key)]:
                del self._volumes[key]
            cut = [uid for uid, made in self._sections.items() if gone(_key(made.source))]
            for uid in cut:
                del self._sections[uid]
        for job in jobs:
            job.stop()

    def clear(self) -> None:
        """Forget all volumes; what is under way is cancelled."""
        with self._lock:
            jobs = [job for job, _ in self._pending.values()]
            self._pending.clear()
            self._volumes.clear()
            self._sections.clear()
        for job in jobs:
            job.stop()

    def _abandon(self, key: Key, job: _Job) -> None:
        with self._lock:
            known = self._pending.get(key)
            if known is None or known[0] is not job or known[1].wanted:
                return
            del self._pending[key]
        job.stop()

    def _run(
        self,
        source: Source,
        key: Key,
        job: _Job,
        pending: Pending[Volume],
        progress: Progress | None,
    ) -> None:
        instances = _instances(source)
        path = instances[0].path if instances else None
        try:
            outcome: Volume | BaseException = self._made(source, job, progress)
        except BaseException as error:
            if path is None or isinstance(error, CancelledError):
                outcome = error
            else:
                outcome = as_file_problem(error, path)
        with self._lock:
            known = self._pending.get(key)
            if known is not None and known[0] is job:
                del self._pending[key]
            if isinstance(outcome, Volume) and not job.abandoned:
                self._keep(key, outcome)
        pending.finish(outcome)

    def _made(self, source: Source, job: _Job, progress: Progress | None) -> Volume:
        instances = _instances(source)
        slices = _slices(source)
        references = {one.get("FrameOfReferenceUID") for one in instances}
        reference = references.pop() if len(references) == 1 else ""
        limit = min(MAX_BYTES, self._budget)
        labels = any(one.content is Content.SEGMENTATION for one in instances)
        path = instances[0].path
        assembly = Assembly(path, len(slices), reference, limit, labels=labels)
        gathering = Gathering(self._pool, self._kept, slices, assembly, progress)
        job.follow(gathering)
        gathering.run()
        return assembly.volume(gathering.check)

    def _keep(self, key: Key, volume: Volume) -> None:
        self._volumes[key] = volume
        used = sum(one.voxels.nbytes for one in self._volumes.values())
        while used > self._budget and len(self._volumes) > 1:
            _, oldest = self._volumes.popitem(last=False)
            used -= oldest.voxels.nbytes


def _cancel(future: Future[Volume]) -> None:
    future.cancel()


def _instances(source: Source) -> tuple[Instance, ...]:
    return tuple(source.instances) if isinstance(source, Series) else (source,)


def _slices(source: Source) -> list[tuple[Instance, int]]:
    """The frames of a volume: of one multi-frame instance, or of single images.

    Raises:
        FileProblem: There are no images, several multi-frame ones, or absurdly many.
    """
    instances = _instances(source)
    path = instances[0].path
    if any(not one.has_frames for one in instances):
        raise guards.problem(path, "this series is no volume: it holds no images")
    if len(instances) > 1 and any(one.frames > 1 for one in instances):
        reason = "this series is no volume: it holds several images of many frames each"
        raise guards.problem(path, reason, "Choose one of them")
    slices = [(one, index) for one in instances for index in range(one.frames)]
    if len(slices) > MAX_SLICES:
        raise guards.problem(path, f"a volume of {len(slices)} slices is too large")
    if len(slices) < 2:
        raise guards.problem(path, "this series is no volume: it has fewer than two slices")
    return slices


def _key(source: Source) -> Key:
    return tuple(
        (
            str(one.path),
            one.sop_instance_uid,
            one.mtime_ns,
            one.changed_ns,
            one.size_bytes,
            one.part,
        )
        for one in _instances(source)
    )
