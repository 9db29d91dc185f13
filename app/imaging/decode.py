"""The app's only access to image files: worker processes read them, and results are cached.

Futures complete on the pool's threads. Their callbacks must be quick, and a GUI must hand the
result over to its own thread.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from app.imaging.attributes import AttributeRow
from app.imaging.axes import MOST_TOGETHER, channel_colors
from app.imaging.exports import DicomExport, WrittenObject
from app.imaging.layers import Layer, LayerFrame, unpack_frame
from app.imaging.pixels.pipeline import render
from app.imaging.pixels.regions import Box, PixelRegion
from app.imaging.presentation import PresentationState, presentation_from
from app.imaging.processes.futures import (
    Pending,
    Reply,
    completed_future,
    converted_reply,
    mapped_future,
    outcome_of,
)
from app.imaging.processes.records import pack, unpack
from app.imaging.processes.worker_pool import Priority, WorkerPool
from app.imaging.processes.workers import CancelLike
from app.imaging.report import Report, ReportMarks
from app.imaging.reports.written_report import ReportExport
from app.imaging.scanning.scan import OpenInstances, Scan, ScanFound, ScanProgress
from app.imaging.space import reformat
from app.imaging.space.stacks import STACK_KEYWORD, geometry_text, stack_geometry
from app.imaging.space.volume_store import VolumeStore, file_key
from app.imaging.types import Frame, Instance, Plane, ScanResult, Series, Volume

T = TypeVar("T")
Key = tuple[str, str, int, int, int, int, int]
"""`file_key` of the image, and the frame."""

_FIXED_BYTES = 4096
"""Approximate memory of a frame besides its arrays."""


def footprint(frame: Frame) -> int:
    """Return the memory in bytes that a frame occupies: pixels, overlays, palettes, LUTs, shutters.

    An array that is a view of a larger one counts as the larger one, which it keeps in memory.
    """
    return _FIXED_BYTES + _array_bytes(frame)


def _array_bytes(value: Any) -> int:
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return max(array.nbytes, getattr(array.base, "nbytes", 0))
    if isinstance(value, tuple):
        return sum(_array_bytes(item) for item in cast("tuple[Any, ...]", value))
    if dataclasses.is_dataclass(value):
        return sum(_array_bytes(getattr(value, one.name)) for one in dataclasses.fields(value))
    return 0


class FrameCache:
    """Cache of decoded frames; not thread-safe by itself.

    Args:
        budget: Limit of the frames' total size in bytes, which only pinned frames may exceed.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._used = 0
        self._frames: OrderedDict[Key, tuple[Frame, int]] = OrderedDict()
        self._pins: dict[Hashable, frozenset[Key]] = {}
        self._pinned: frozenset[Key] = frozenset()

    @property
    def used(self) -> int:
        """Total size of the cached frames in bytes."""
        return self._used

    def __len__(self) -> int:
        return len(self._frames)

    def __contains__(self, key: Key) -> bool:
        return key in self._frames

    def peek(self, key: Key) -> Frame | None:
        """Return a cached frame without marking it as recently used; None if it is not cached."""
        kept = self._frames.get(key)
        return None if kept is None else kept[0]

    def get(self, key: Key) -> Frame | None:
        """Return a cached frame and mark it as the most recently used; None if it is not cached."""
        kept = self._frames.get(key)
        if kept is None:
            return None
        self._frames.move_to_end(key)
        return kept[0]

    def put(self, key: Key, frame: Frame) -> None:
        """Add a frame; if the cache then exceeds its budget, evict frames.

        Frames that are not pinned are evicted, the least recently used first. A frame that is not
        pinned and would not fit beside the pinned ones is not added. If there is already a frame
        with this key, that frame stays, since it may be in use.
        """
        if key in self._frames:
            return
        size = footprint(frame)
        if key not in self._pinned and size > self.budget - self._pinned_bytes():
            return
        self._frames[key] = (frame, size)
        self._used += size
        self._shrink()

    def pin(self, owner: Hashable, keys: Iterable[Key]) -> None:
        """Pin the frames that the viewer `owner` shows or waits for, replacing its earlier pins.

        Pinned frames are not evicted once they are cached. If `keys` is empty, all pins of this
        viewer are removed.
        """
        pins = frozenset(keys)
        if pins:
            self._pins[owner] = pins
        else:
            self._pins.pop(owner, None)
        self._pinned = frozenset[Key]().union(*self._pins.values())
        self._shrink()

    def forget(self, paths: Collection[str]) -> None:
        """Drop all cached frames of the files `paths`, whether pinned or not."""
        for key in [key for key in self._frames if key[0] in paths]:
            self._used -= self._frames.pop(key)[1]

    def clear(self) -> None:
        """Drop all frames and pins."""
        self._frames.clear()
        self._pins.clear()
        self._pinned = frozenset()
        self._used = 0

    def _pinned_bytes(self) -> int:
        return sum(self._frames[key][1] for key in self._pinned if key in self._frames)

    def _shrink(self) -> None:
        while self._used > self.budget:
            oldest = next((key for key in self._frames if key not in self._pinned), None)
            if oldest is None:
                return
            self._used -= self._frames.pop(oldest)[1]


MEMORY_LIMIT_BYTES = 4 * 1024**3
CACHE_BYTES = 768 * 1024**2
ATTRIBUTES_TIMEOUT_S = 20.0
OBJECT_TIMEOUT_S = 60.0
EXPORT_TIMEOUT_S = 300.0
"""Time limit for layers and reports, which may be of any size."""

FRAME_TIMEOUT_S = 60.0
"""Upper limit of the time that decoding a frame may take."""

_SCANNING = ("app.imaging.reading.header_entries", "app.imaging.scanning.listing")
_SHOWING = ("app.imaging.reading.image_entries", "app.imaging.reading.dicom_image")
_LEAST_S = 10.0
_SAMPLES_PER_S, _BYTES_PER_S = 2e6, 10e6
_WHOLE_FILE_KINDS = ("tiff", "volume")


def frame_timeout_s(instance: Instance) -> float:
    """Return the time limit for decoding one frame: 10 to 60 s, more for larger frames.

    Between these bounds it is the time to read the file from a slow network drive, plus 500 ns for
    each of three samples per pixel. The slowest codec, JPEG 2000, needs 110 ns per sample.
    """
    frames = instance.frames if instance.kind in _WHOLE_FILE_KINDS else 1
    samples = instance.rows * instance.columns * frames * 3
    wanted = samples / _SAMPLES_PER_S + instance.size_bytes / _BYTES_PER_S
    return min(max(wanted, _LEAST_S), FRAME_TIMEOUT_S)


def key_of(instance: Instance, index: int) -> Key:
    """Return the cache key of frame `index` (from 0) of an instance."""
    return (*file_key(instance), index)


def _file(instance: Instance) -> dict[str, Any]:
    return {
        "path": str(instance.path),
        "mtime_ns": instance.mtime_ns,
        "size_bytes": instance.size_bytes,
        "part": instance.part,
        "kind": instance.kind,
        "uid": instance.sop_instance_uid,
    }


class Decoder:
    """Reads and decodes images in worker processes; thread-safe.

    Args:
        workers: Number of decoding processes; by default half the number of cores,
            but at least two and at most four.
        cache_bytes: Size limit of the frame cache; the least recently used frames are evicted
            first.
        index: Folder of the scan index, which makes a second scan immediate; None for no index.

    Example:
        >>> decoder = Decoder()
        >>> study = decoder.scan([Path("/images")]).result().studies[0]
        >>> frame = decoder.frame(study.series[0].instances[0], 0).result()
        >>> decoder.close()
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        cache_bytes: int = CACHE_BYTES,
        index: Path | None = None,
    ) -> None:
        self._index = index
        count = workers or max(2, min(4, (os.cpu_count() or 2) // 2))
        self._pool = WorkerPool(
            count,
            memory_limit_bytes=MEMORY_LIMIT_BYTES,
            preload=_SCANNING,
            stand_by=_SHOWING,
            quiet=True,
            confined=True,
        )
        self._cache = FrameCache(cache_bytes)
        self._lock = threading.Lock()
        self._pending: dict[Key, Pending[Frame]] = {}
        self._volumes = VolumeStore(self._pool, self._kept)

    def warm(self) -> None:
        """Start the worker processes ahead of the first request; return without waiting."""
        self._pool.warm()

    def scan(
        self,
        paths: Sequence[Path],
        cancel: CancelLike | None = None,
        progress: ScanProgress | None = None,
        found: ScanFound | None = None,
        opened: OpenInstances | None = None,
    ) -> Future[ScanResult]:
        """Find the images in files and folders. The callbacks are called on the scan's thread.

        Args:
            paths: Files and folders; relative paths are made absolute.
            cancel: Token that ends the scan; the future then raises `Cancelled`.
            progress: Called with the number of files done and the number of files found so far.
            found: Called repeatedly with the studies that have grown since the last call, each with
                all images read so far, so that the first one can be shown early.
            opened: Returns the series that are already open. Copies of them are left out and
                reported as a `Problem`.

        Returns:
            A future for the result. A bad file never makes the future fail: each file that cannot
            be shown is listed as a `Problem` in the result.
        """
        where = [Path(path).absolute() for path in paths]
        return Scan(self._pool, where, cancel, progress, found, self._index, opened).start()

    def frame(
        self, instance: Instance, index: int = 0, priority: int = Priority.VISIBLE
    ) -> Future[Frame]:
        """Return a future for frame `index` (from 0) of an instance, decoded or from the cache.

        Requesting a queued frame again with a more urgent `priority` moves it forward. A request is
        dropped once all its callers have cancelled it. The future fails with a `FileProblem` that
        names the file, the reason and a remedy.
        """
        if instance.kind == reformat.KIND:
            return self._volumes.section(instance, index)
        key = key_of(instance, index)
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                return completed_future(cached)
            pending = self._pending.get(key)
            if pending is not None and (pending.wanted or self._pool.want_again(pending.reply)):
                mine = pending.join()
                self._pool.raise_priority(pending.reply, priority)
                return mine
            reply = self._submit(
                "image_entries:frame_entry",
                {**_file(instance), "index": index},
                priority,
                frame_timeout_s(instance),
            )
            pending = Pending[Frame](reply, lambda: self._abandon(key))
            self._pending[key] = pending
            mine = pending.join()
        reply.add_done_callback(lambda reply: self._frame_done(key, pending, instance.path, reply))
        return mine

    def region(
        self, instance: Instance, index: int, box: Box, level: int | None = None
    ) -> Future[PixelRegion]:
        """Return a part of a frame, e.g. of a slide that is too large to be decoded as a whole.

        `box` is (left, top, right, bottom) in pixels of `level`, which counts from 0, the largest;
        None is the level that `frame` shows. The part of the box within the image is returned. The
        future fails with `FileProblem` if there is none, or it is larger than
        `pixels.regions.MAX_REGION_PIXELS`.
        """
        payload = {**_file(instance), "index": index, "box": list(box), "level": level}
        reply = self._submit(
            "image_entries:region_entry", payload, Priority.NEIGHBOUR, FRAME_TIMEOUT_S
        )
        return converted_reply(
            reply, instance.path, lambda message: unpack(PixelRegion, message["region"])
        )

    def pin(self, owner: Hashable, shown: Iterable[tuple[Instance, int]]) -> None:
        """Pin the (image, frame from 0) pairs that the viewer `owner` shows or waits for.

        The cache does not evict pinned frames. A call replaces the earlier pins of this viewer.
        """
        keys = [key_of(instance, index) for instance, index in shown]
        with self._lock:
            self._cache.pin(owner, keys)

    @property
    def cache_bytes(self) -> tuple[int, int]:
        """Total size of the cached frames and size limit of the cache, both in bytes."""
        with self._lock:
            return self._cache.used, self._cache.budget

    def volume(
        self,
        source: Series | Instance,
        cancel: CancelLike | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Future[Volume]:
        """Return the voxels of a series of single-frame images, or of one multi-frame instance.

        `progress` is called on another thread with the number of slices decoded and in total. The
        future fails with `FileProblem` if the images do not form a volume. If the volume was
        resampled, `Volume.warnings` says so.
        """
        return self._volumes.volume(source, cancel, progress)

    def reformat(
        self, source: Series | Instance, plane: Plane, cancel: CancelLike | None = None
    ) -> Future[Instance]:
        """Return an instance whose frames are sections in `plane` through a volume.

        The volume is made of `source` first, so that `frame` then returns sections without delay.
        The future fails with `FileProblem` if the images form no volume. The function
        `available_planes` in `space.reformat` lists the possible planes.
        """
        return self._volumes.reformat(source, plane, cancel)

    def attributes(self, instance: Instance) -> Future[list[AttributeRow]]:
        """Return all attributes of a file as rows for the attributes panel."""
        payload = _file(instance)
        reply = self._submit(
            "image_entries:attributes_entry", payload, Priority.NEIGHBOUR, ATTRIBUTES_TIMEOUT_S
        )

        def rows(message: dict[str, Any]) -> list[AttributeRow]:
            return [unpack(AttributeRow, row) for row in message["rows"]]

        return converted_reply(reply, instance.path, rows)

    def thumbnail(self, instance: Instance, size: int = 96) -> Future[NDArray[np.uint8]]:
        """Return the middle frame as uint8 [rows, columns(, 3)]; longer side at most `size` px.

        Channels are shown together.
        """
        if instance.kind == reformat.KIND:
            middle = self.frame(instance, instance.frames // 2)
            return mapped_future(middle, lambda frame: _small(frame, size))
        payload = {**_file(instance), "index": instance.frames // 2, "size": size}
        axes = instance.axes
        if axes is not None and len(axes.channels) > 1:
            payload["index"] = axes.index(0, axes.depths // 2, axes.times // 2)
            colors = channel_colors(axes.channels)[:MOST_TOGETHER]
            payload["channels"] = [[payload["index"] + n, one] for n, one in enumerate(colors)]
        limit = frame_timeout_s(instance)
        reply = self._submit("image_entries:thumbnail_entry", payload, Priority.THUMBNAIL, limit)
        return converted_reply(reply, instance.path, lambda message: message["pixels"])

    def layer(self, instance: Instance) -> Future[Layer]:
        """Return a SEG, RTSTRUCT or microscopy annotation as a layer of named, coloured items.

        The future fails with `FileProblem` if the object cannot be read.
        """
        return self._object("layer_entry", instance, _layer)

    def layer_frame(self, instance: Instance, target: Instance, index: int) -> Future[LayerFrame]:
        """Return the shapes that a layer object draws on one frame of an image.

        `instance` is the segmentation, structure set or annotation; `target` is the image, and
        `index` the number of its frame from 0.
        """
        if target.kind == reformat.KIND:
            return self._section_layer(instance, target, index)
        place = {"target": pack(target), "index": index}
        return self._object("layer_frame_entry", instance, _layer_frame, **place)

    def labels(self, instance: Instance, source: Series | Instance) -> Future[Layer]:
        """Return a label volume as a layer over the images of `source`.

        The values of the label volume `instance` stand for e.g. organs. The future fails with
        `FileProblem` if no labelled voxel lies within the images. Call this on a background thread:
        working out the geometry of `source`, before the future is returned, takes time.
        """
        images = source.instances if isinstance(source, Series) else (source,)
        stack, over = stack_geometry(source), images[0]
        geometry = {STACK_KEYWORD: geometry_text(stack)} if stack else {}
        over = dataclasses.replace(over, attributes={**over.attributes, **geometry}, references={})
        slices = sum(one.frames for one in images)
        return self._object("labels_entry", instance, _layer, over=pack(over), slices=slices)

    def _section_layer(
        self, instance: Instance, target: Instance, index: int
    ) -> Future[LayerFrame]:
        plane = self._volumes.section_plane(target, index) if instance.kind == "volume" else None
        if plane is not None:
            place = {"plane": plane, "shape": [target.rows, target.columns]}
            return self._object("labels_plane_entry", instance, _layer_frame, **place)
        found = self._volumes.section_slices(target, index)
        if found is None:
            text = "not drawn: these sections were resampled, and are not the slices it was made on"
            return completed_future(LayerFrame(warnings=(text,)))
        slices, cut = found
        place = {"slices": slices, "cut": pack(cut)}
        return self._object("section_layer_entry", instance, _layer_frame, **place)

    def report(self, instance: Instance) -> Future[Report]:
        """Return a structured report or key object selection as a tree of text."""
        return self._object("report_entry", instance, lambda reply: unpack(Report, reply["report"]))

    def report_findings(
        self, instance: Instance, images: Sequence[Instance]
    ) -> Future[ReportMarks]:
        """Return the marks of a structured report that lie on `images`, the ones that it names."""
        return self._object(
            "report_findings_entry",
            instance,
            lambda reply: unpack(ReportMarks, reply["marks"]),
            images=[pack(one) for one in images],
        )

    def presentation(self, instance: Instance) -> Future[PresentationState]:
        """Return the display settings stored in a presentation state."""
        return self._object(
            "presentation_entry", instance, lambda reply: presentation_from(reply["state"])
        )

    def dicom_object(self, export: DicomExport) -> Future[WrittenObject]:
        """Return the DICOM object that `export` describes, for the caller to write.

        The future fails with `FileProblem` if it cannot be made of these images or findings.
        """
        findings = tuple(dataclasses.replace(one, original=None) for one in export.findings)
        payload = {"export": pack(dataclasses.replace(export, findings=findings))}
        path = export.images[0].path
        reply = self._submit(
            "object_entries:export_entry", payload, Priority.VISIBLE, EXPORT_TIMEOUT_S
        )

        def made(message: dict[str, Any]) -> WrittenObject:
            left_out = tuple((label, reason) for label, reason in message["left_out"])
            return WrittenObject(message["file"].tobytes(), left_out)

        return converted_reply(reply, path, made)

    def report_object(self, export: ReportExport) -> Future[bytes]:
        """Return the DICOM file of a report, for the caller to write.

        The future fails with `FileProblem` if it cannot be made of these images.
        """
        findings = tuple(dataclasses.replace(one, original=None) for one in export.report.findings)
        report = dataclasses.replace(export.report, findings=findings)
        payload = {"export": pack(dataclasses.replace(export, report=report))}
        entry = "object_entries:report_export_entry"
        reply = self._submit(entry, payload, Priority.VISIBLE, EXPORT_TIMEOUT_S)
        return converted_reply(reply, export.images[0].path, lambda found: found["file"].tobytes())

    def _object(
        self, entry: str, instance: Instance, convert: Callable[[dict[str, Any]], T], **place: Any
    ) -> Future[T]:
        """Request data of an object; a report is shown by itself, the rest over the next image."""
        priority = Priority.VISIBLE if entry == "report_entry" else Priority.NEIGHBOUR
        payload = {"instance": pack(instance), **place}
        reply = self._submit(f"object_entries:{entry}", payload, priority, OBJECT_TIMEOUT_S)
        return converted_reply(reply, instance.path, convert)

    def forget(self, instances: Iterable[Instance]) -> None:
        """Drop cached frames and volumes of the instances' files, which may be opened again."""
        paths = {str(one.path) for one in instances}
        self._volumes.forget(paths)
        with self._lock:
            self._cache.forget(paths)

    def close(self) -> None:
        """End the worker processes and cancel pending requests. May be called more than once."""
        self._pool.close()
        self._volumes.clear()
        with self._lock:
            self._cache.clear()

    def _submit(
        self, entry: str, payload: dict[str, Any], priority: int, timeout_s: float
    ) -> Reply:
        entry = f"app.imaging.reading.{entry}"
        return self._pool.submit(entry, payload, priority=priority, timeout_s=timeout_s)

    def _kept(self, instance: Instance, index: int) -> Frame | None:
        """Return a cached frame for a volume, or None."""
        with self._lock:
            return self._cache.peek(key_of(instance, index))

    def _abandon(self, key: Key) -> None:
        """Drop a request that has no callers left; a new caller must not join a dropped one."""
        with self._lock:
            pending = self._pending.get(key)
            if pending is None or pending.wanted:
                return
            if pending.reply.running():
                # It goes on for a while, so that scrolling back finds it sooner. Cancelled within
                # the lock, so that no caller joins before; a running reply calls no callback.
                pending.reply.cancel()
                return
            del self._pending[key]
        pending.reply.cancel()

    def _frame_done(self, key: Key, pending: Pending[Frame], path: Path, reply: Reply) -> None:
        outcome = outcome_of(reply, path, lambda message: unpack(Frame, message["frame"]))
        with self._lock:
            if self._pending.get(key) is pending:
                del self._pending[key]
            if isinstance(outcome, Frame):
                self._cache.put(key, outcome)
        pending.finish(outcome)


def _layer(reply: dict[str, Any]) -> Layer:
    return unpack(Layer, reply["layer"])


def _layer_frame(reply: dict[str, Any]) -> LayerFrame:
    return unpack_frame(reply["frame"])


def _small(frame: Frame, size: int) -> NDArray[np.uint8]:
    # Imported on demand, since the app starts without Pillow.
    from app.imaging.pixels.thumbnails import shrink

    return shrink(render(frame), size, frame.spacing.aspect)
