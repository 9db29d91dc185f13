"""The app's door to image files: everything is read in worker processes, results are cached.

Futures complete on the pool's threads. Their callbacks must be quick, and a GUI must hand the
result over to its own thread.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.errors import Cancelled, FileProblem, SightlineError, WorkerDied
from app.imaging.attributes import AttributeRow
from app.imaging.catalogue import group
from app.imaging.records import pack, unpack
from app.imaging.types import Frame, Instance, Problem, ScanResult
from app.imaging.worker_pool import Priority, WorkerPool
from app.imaging.workers import CancelLike

T = TypeVar("T")
Key = tuple[str, int, int, int]
Reply = Future[dict[str, Any]]
ScanProgress = Callable[[int, int], None]

MEMORY_LIMIT_BYTES = 4 * 1024**3
CACHE_BYTES = 768 * 1024**2
FRAME_TIMEOUT_S = 60.0
SCAN_TIMEOUT_S = 60.0
LIST_TIMEOUT_S = 600.0
_BATCH = 32
_DAMAGED = "The file may be damaged; ask for a new export"


class Decoder:
    """Reads and decodes images; thread-safe.

    Args:
        workers: Decoding processes; by default one per two cores, two at least.
        cache_bytes: Budget of the frame cache; the least recently used frames go first.
        memory_limit_bytes: Address space that one process may use.

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
        memory_limit_bytes: int = MEMORY_LIMIT_BYTES,
    ) -> None:
        count = workers or max(2, min(4, (os.cpu_count() or 2) // 2))
        self._pool = WorkerPool(
            count,
            memory_limit_bytes=memory_limit_bytes,
            preload=("app.imaging.reading",),
            quiet=True,
        )
        self._cache = _FrameCache(cache_bytes)
        self._lock = threading.Lock()
        self._pending: dict[Key, _Pending[Frame]] = {}

    def warm(self) -> None:
        """Start the worker processes ahead of the first request; does not wait."""
        self._pool.warm()

    def scan(
        self,
        paths: Sequence[Path],
        cancel: CancelLike | None = None,
        progress: ScanProgress | None = None,
    ) -> Future[ScanResult]:
        """Find the images in files and folders.

        Args:
            paths: Files and folders; relative ones are made absolute.
            cancel: Ends the scan; the future then raises `Cancelled`.
            progress: Called with files done and files found, on a thread of the scan.

        Returns:
            Never fails because of a file: each that is not shown is a `Problem` in the result.
        """
        scan = _Scan(self._pool, [Path(path).absolute() for path in paths], cancel, progress)
        threading.Thread(target=scan.run, name="sightline-scan", daemon=True).start()
        return scan.future

    def frame(
        self, instance: Instance, index: int = 0, priority: int = Priority.VISIBLE
    ) -> Future[Frame]:
        """Decode one frame, or take it from the cache.

        A request that is wanted again with a higher priority moves forward; one that all its
        callers have cancelled is dropped.

        Returns:
            Its future; fails with `FileProblem`, naming file, reason and remedy.
        """
        key = (str(instance.path), instance.mtime_ns, instance.size_bytes, index)
        with self._lock:
            cached = self._cache.get(key)
            if cached is not None:
                return _done(cached)
            pending = self._pending.get(key)
            if pending is not None:
                mine = pending.join()
                self._pool.raise_priority(pending.reply, priority)
                return mine
            reply = self._pool.submit(
                "app.imaging.reading:frame_entry",
                {"instance": pack(instance), "index": index},
                priority=priority,
                timeout_s=FRAME_TIMEOUT_S,
            )
            pending = _Pending[Frame](reply, lambda: self._abandon(key))
            self._pending[key] = pending
            mine = pending.join()
        reply.add_done_callback(lambda reply: self._frame_done(key, pending, instance.path, reply))
        return mine

    def attributes(self, instance: Instance) -> Future[list[AttributeRow]]:
        """All DICOM attributes of the file, for the side panel."""
        reply = self._submit("attributes_entry", {"path": str(instance.path)}, Priority.NEIGHBOUR)
        return _then(
            reply,
            instance.path,
            lambda message: [unpack(AttributeRow, row) for row in message["rows"]],
        )

    def thumbnail(self, instance: Instance, size: int = 96) -> Future[NDArray[np.uint8]]:
        """A small picture: uint8 [rows, columns] or [rows, columns, 3], longer side `size`."""
        payload = {"instance": pack(instance), "size": size}
        reply = self._submit("thumbnail_entry", payload, Priority.THUMBNAIL)
        return _then(reply, instance.path, lambda message: message["pixels"])

    def close(self) -> None:
        """End the processes; what was not done is cancelled. Idempotent."""
        self._pool.close()
        with self._lock:
            self._cache.clear()

    def _submit(self, entry: str, payload: dict[str, Any], priority: int) -> Reply:
        return self._pool.submit(
            f"app.imaging.reading:{entry}", payload, priority=priority, timeout_s=FRAME_TIMEOUT_S
        )

    def _abandon(self, key: Key) -> None:
        """Drop a request that nobody waits for; a new caller must not be handed a dropped one."""
        with self._lock:
            pending = self._pending.get(key)
            if pending is None or pending.wanted:
                return
            del self._pending[key]
        pending.reply.cancel()

    def _frame_done(self, key: Key, pending: _Pending[Frame], path: Path, reply: Reply) -> None:
        outcome = _outcome(reply, path, lambda message: unpack(Frame, message["frame"]))
        with self._lock:
            if self._pending.get(key) is pending:
                del self._pending[key]
            if isinstance(outcome, Frame):
                # Many viewers share it: nobody may write into it.
                outcome.stored.flags.writeable = False
                self._cache.put(key, outcome)
        pending.finish(outcome)


class _FrameCache:
    """Least recently used frames within a budget of bytes; not thread-safe by itself."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._used = 0
        self._frames: OrderedDict[Key, Frame] = OrderedDict()

    def get(self, key: Key) -> Frame | None:
        frame = self._frames.get(key)
        if frame is not None:
            self._frames.move_to_end(key)
        return frame

    def put(self, key: Key, frame: Frame) -> None:
        if frame.stored.nbytes > self._budget or key in self._frames:
            return
        self._frames[key] = frame
        self._used += frame.stored.nbytes
        while self._used > self._budget:
            _, oldest = self._frames.popitem(last=False)
            self._used -= oldest.stored.nbytes

    def clear(self) -> None:
        self._frames.clear()
        self._used = 0


class _Pending(Generic[T]):
    """One request and all who wait for it."""

    def __init__(self, reply: Reply, abandon: Callable[[], object]) -> None:
        self.reply = reply
        self._abandon = abandon
        self._lock = threading.Lock()
        self._waiting: list[Future[T]] = []

    def join(self) -> Future[T]:
        """A future of one's own: cancelling it leaves the others theirs."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.append(future)
        future.add_done_callback(self._left)
        return future

    def finish(self, outcome: T | BaseException) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for future in waiting:
            _settle(future, outcome)

    @property
    def wanted(self) -> bool:
        """Whether anyone still waits."""
        with self._lock:
            return not all(future.cancelled() for future in self._waiting)

    def _left(self, future: Future[T]) -> None:
        if future.cancelled() and not self.wanted:
            self._abandon()


def _done(value: T) -> Future[T]:
    future: Future[T] = Future()
    future.set_result(value)
    return future


def _settle(future: Future[T], outcome: T | BaseException) -> None:
    """Complete a future unless its owner has cancelled it."""
    if isinstance(outcome, CancelledError | Cancelled):
        future.cancel()
    if not future.set_running_or_notify_cancel():
        return
    if isinstance(outcome, BaseException):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _then(reply: Reply, path: Path, convert: Callable[[dict[str, Any]], T]) -> Future[T]:
    """The future of a converted reply; cancelling it cancels the request."""
    pending = _Pending[T](reply, reply.cancel)
    mine = pending.join()
    reply.add_done_callback(lambda reply: pending.finish(_outcome(reply, path, convert)))
    return mine


def _outcome(reply: Reply, path: Path, convert: Callable[[dict[str, Any]], T]) -> T | BaseException:
    """The converted reply, or its error as one that names the file."""
    if reply.cancelled():
        return CancelledError()
    error = reply.exception()
    if error is not None:
        return _as_file_problem(error, path)
    try:
        return convert(reply.result())
    except Exception as broken:
        return _as_file_problem(broken, path)


def _as_file_problem(error: BaseException, path: Path) -> BaseException:
    if isinstance(error, FileProblem | Cancelled):
        return error
    if isinstance(error, WorkerDied):
        reason = f"it cannot be decoded: {error.reason}"
    else:
        reason = "it cannot be decoded: an unexpected error"
    detail = error.detail if isinstance(error, SightlineError) else type(error).__name__
    return FileProblem(reason, subject=str(path), remedy=_DAMAGED, detail=detail)


class _Scan:
    """One scan: list, read headers in batches, group. `run` is its thread."""

    def __init__(
        self,
        pool: WorkerPool,
        paths: list[Path],
        cancel: CancelLike | None,
        progress: ScanProgress | None,
    ) -> None:
        self.future: Future[ScanResult] = Future()
        self._pool = pool
        self._paths = paths
        self._cancel = cancel
        self._progress = progress
        self._problems: list[Problem] = []

    def run(self) -> None:
        try:
            _settle(self.future, self._scan())
        except BaseException as error:
            _settle(self.future, error)

    def _scan(self) -> ScanResult:
        try:
            listed = self._list()
        except WorkerDied as error:
            self._problems += [Problem(path, error.reason, "Try again") for path in self._paths]
            return group([], self._problems)
        self._problems += [Problem(Path(p), why, cure) for p, why, cure in listed["problems"]]
        files = [Path(text) for text in listed["files"]]
        batches = [files[start : start + _BATCH] for start in range(0, len(files), _BATCH)]
        replies = [self._submit(batch) for batch in batches]
        instances: list[Instance] = []
        for number, (batch, reply) in enumerate(zip(batches, replies, strict=True), start=1):
            instances += self._collect(batch, reply)
            if self._progress is not None:
                self._progress(min(number * _BATCH, len(files)), len(files))
        return group(instances, self._problems, self._paths)

    def _collect(self, batch: list[Path], reply: Reply) -> list[Instance]:
        """A batch's instances; when it kills its worker, its files are tried one by one."""
        try:
            answers = reply.result()["answers"]
        except CancelledError:
            raise Cancelled from None
        except SightlineError as error:
            if len(batch) == 1:
                problem = _as_file_problem(error, batch[0])
                assert isinstance(problem, FileProblem)
                self._problems.append(Problem(batch[0], problem.reason, problem.remedy))
                return []
            singles = [([path], self._submit([path])) for path in batch]
            return [one for path, single in singles for one in self._collect(path, single)]
        found: list[Instance] = []
        for path, answer in zip(batch, answers, strict=True):
            if "instance" in answer:
                found.append(unpack(Instance, answer["instance"]))
            elif "problem" in answer:
                self._problems.append(Problem(path, **answer["problem"]))
        return found

    def _submit(self, batch: list[Path]) -> Reply:
        return self._pool.submit(
            "app.imaging.reading:instances_entry",
            {"paths": self._texts(batch)},
            priority=Priority.NEIGHBOUR,
            timeout_s=SCAN_TIMEOUT_S,
            cancel=self._cancel,
        )

    def _list(self) -> dict[str, Any]:
        reply = self._pool.submit(
            "app.imaging.catalogue:list_entry",
            {"paths": self._texts(self._paths)},
            priority=Priority.VISIBLE,
            timeout_s=LIST_TIMEOUT_S,
            cancel=self._cancel,
        )
        try:
            return reply.result()
        except CancelledError:
            raise Cancelled from None

    @staticmethod
    def _texts(paths: Sequence[Path]) -> list[str]:
        return [str(path) for path in paths]
