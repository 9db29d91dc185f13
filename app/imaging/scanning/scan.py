"""Scans of files and folders: list, read headers in batches, group into studies.

Listing and reading overlap, and growing studies are reported, so the first one can be shown long
before a large folder is done. A file that kills its worker is found by reading the files of its
batch one by one.

The index lets a folder open at once the second time. It is a folder in the user's own cache with
one file for each set of opened paths, which holds the whole result of opening them (`Snapshot`).
The result is used as long as none of the files has changed. The index has headers, with patients'
names, never pixels; only this user may read it, and SIGHTLINE_NO_INDEX=1 turns it off. If the
index fails, the failure is logged and the scan goes on without it; a damaged file is deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import replace
from functools import lru_cache, partial
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from app import __version__
from app.errors import Cancelled, FileProblem, SightlineError, WorkerDied
from app.imaging import guards
from app.imaging.files.identity import MODULUS
from app.imaging.processes.futures import Reply, as_file_problem, settle_future
from app.imaging.processes.worker_pool import Priority, WorkerPool
from app.imaging.processes.workers import CancelLike
from app.imaging.scanning import copies, opened_paths
from app.imaging.scanning.opened_paths import Tasks
from app.imaging.scanning.snapshots import Snapshot, pack_result, restore
from app.imaging.studies.catalogue import Catalogue, group
from app.imaging.studies.instance_lists import (
    DIRECTORY,
    PROBLEM,
    TableError,
    TableReader,
    uid_hashes_of,
)
from app.imaging.types import Instance, Problem, ScanResult, Study
from app.user_files import read_regular, write_atomic

_TIMEOUT_S = 60.0
_SETTLED_NS = 3 * 10**9
"""Age from which a file's time is trusted. FAT counts in steps of 2 s, so a younger file may be
written again without a new time."""


class FolderState:
    """Tells whether the files in the opened paths have changed since a scan read them."""

    def __init__(self, pool: WorkerPool, paths: Sequence[Path], cancel: CancelLike | None) -> None:
        self._pool = pool
        self._paths = paths
        self._cancel = cancel
        self._before_ns = time.time_ns() - _SETTLED_NS
        self._read = 0
        self._archives_read: set[tuple[int, int, int]] = set()
        self._others_listed = 0
        self._sure = True
        self._walked = False
        self._files = 0
        self._others = 0
        self._archives: set[tuple[int, int, int]] = set()

    def add_read(self, result: Mapping[str, Any]) -> None:
        """Record the files in a result from `headers_entry` as read."""
        # Converted before anything is stored: a broken answer must leave no trace.
        mark, newest_ns = int(result["mark"] or "0", 16), int(result["newest_ns"])
        self._archives_read |= _archives(result["archives"])
        self._read = (self._read + mark) % MODULUS
        if not result["mark"] or newest_ns >= self._before_ns:
            self._sure = False

    def add_listed(self, result: Mapping[str, Any]) -> None:
        """Record "others" (archives and links) and "unsure" of a result from `list_entry`."""
        self._others_listed = (self._others_listed + int(result["others"], 16)) % MODULUS
        self._sure = self._sure and not result["unsure"]

    def add_unknown(self) -> None:
        """Record that some file's state is unknown, so that `as_read` returns False."""
        self._sure = False

    def as_read(self) -> bool:
        """Return True if the files now are exactly the ones that the scan read, all unchanged."""
        return (
            self._sure
            and self._walk()
            and self._files == self._read
            and self._others == self._others_listed
            and self._archives_read <= self._archives
        )

    def mark(self) -> str:
        """Return a text that changes if any file does; "" if listing fails or takes too long."""
        if not self._walked and not self._walk():
            return ""
        return f"{self._files:x}/{self._others:x}"

    def _walk(self) -> bool:
        """Ask all files for size and times."""
        self._files = self._others = count = 0
        self._archives = set()
        self._walked = False
        todo = opened_paths.listing_tasks(self._paths)
        started = time.monotonic()
        while todo:
            found = self._step(todo)
            if found is None or found["unsure"]:
                return False
            self._files = (self._files + int(found["files"], 16)) % MODULUS
            self._others = (self._others + int(found["others"], 16)) % MODULUS
            self._archives |= _archives(found["archives"])
            todo, count = found["todo"], count + found["count"]
            if todo and opened_paths.is_slow(count, time.monotonic() - started):
                return False
        self._walked = True
        return True

    def _step(self, todo: opened_paths.Tasks) -> dict[str, Any] | None:
        reply = self._pool.submit(
            "app.imaging.scanning.listing:state_entry",
            {"todo": todo},
            priority=Priority.THUMBNAIL,
            timeout_s=_TIMEOUT_S,
            cancel=self._cancel,
        )
        try:
            return reply.result()
        except (Cancelled, CancelledError):
            raise Cancelled from None
        except SightlineError:
            return None


def _archives(states: Sequence[Sequence[int]]) -> set[tuple[int, int, int]]:
    return {(int(time), int(size), int(changed)) for time, size, changed in states}


ScanProgress = Callable[[int, int], None]
ScanFound = Callable[[ScanResult], None]
OpenInstances = Callable[[], Sequence[Sequence[Instance]]]

UNFINISHED = "not all files are read: there may be more images"
"""Warning of every series that is reported before the scan is done, or after it was stopped."""

SCAN_TIMEOUT_S = 60.0
LIST_TIMEOUT_S = 600.0
FOUND_EVERY_S = 0.5
_GROUPING_SHARE = 10
"""Minimum pause between reports, in multiples of the time that the last report took."""
_IN_FLIGHT = 6
_FIRST_BATCH = 8
_LARGEST_BATCH = 256
_BATCH_S = 0.1


_Batch = list[tuple[int, Path]]
"""Files whose headers are read in one call, with their positions in the listing."""


class Scan:
    """One scan, on its own thread: reads the files in the opened paths and groups the images.

    Args:
        pool: Workers that list and read files.
        paths: Absolute paths of files and folders.
        cancel: Token that ends the scan.
        progress: Called with the number of files read and the number found so far.
        found: Called with the studies that have grown, each with all instances read so far.
        index: Folder of the index, or None to use no index.
        opened: Returns the series that are already open; called once all files are read. Copies of
            their files are left out (`copies.compare`).
    """

    def __init__(
        self,
        pool: WorkerPool,
        paths: list[Path],
        cancel: CancelLike | None,
        progress: ScanProgress | None,
        found: ScanFound | None = None,
        index: Path | None = None,
        opened: OpenInstances | None = None,
    ) -> None:
        self.future: Future[ScanResult] = Future()
        self._pool = pool
        self._paths = paths
        self._cancel = cancel
        self._progress = progress
        self._tell = found
        self._index_folder = index
        self._index: Index | None = None
        self._opened = opened
        self._events: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._running = 0
        self._waiting: deque[tuple[int, Path]] = deque()
        self._suspects: deque[tuple[int, Path]] = deque()
        self._size = _FIRST_BATCH
        self._done = 0
        self._seen: set[Path] = set()
        self._fruitful: set[int] = set()
        self._catalogue = Catalogue()
        self._instances: list[Instance] = []
        self._listed = 0
        self._state = FolderState(pool, paths, cancel)
        self._reader = TableReader()
        self._problems: dict[int, Problem] = {}
        self._other_problems: list[Problem] = []
        self._grown = False
        self._next_telling = 0.0

    def start(self) -> Future[ScanResult]:
        """Start the scan and return the future of its result."""
        threading.Thread(target=self._run, name="sightline-scan", daemon=True).start()
        return self.future

    def _run(self) -> None:
        try:
            self._index = Index(self._index_folder) if self._index_folder else None
            settle_future(self.future, self._restored() or self._scan())
        except BaseException as error:
            settle_future(self.future, error)

    def _restored(self) -> ScanResult | None:
        """Return the remembered result, if nothing behind the paths has changed since."""
        snapshot = self._index.snapshot(self._paths) if self._index is not None else None
        if snapshot is None or self._state.mark() != snapshot.mark:
            return None
        try:
            result = restore(snapshot)
        except TableError:
            return None
        every = [uid_hashes_of(one.instances) for study in result.studies for one in study.series]
        opened = [uid_hashes_of(one) for one in self._opened()] if self._opened is not None else []
        if opened and every and np.isin(np.concatenate(opened), np.concatenate(every)).any():
            return None  # copies of what is open must be told from what is open
        if self._progress is not None:
            self._progress(snapshot.files, snapshot.files)
        if self._tell is not None and result.studies:
            self._tell(ScanResult(result.studies, ()))
        return result

    def _scan(self) -> ScanResult:
        self._list(opened_paths.listing_tasks(self._paths))
        while self._running:
            take_answer = self._events.get()
            self._running -= 1
            take_answer()
            self._read_on()
            self._report()
            if self._cancel is not None and self._cancel.cancelled:
                raise Cancelled
        problems = [self._problems[place] for place in sorted(self._problems)]
        problems += self._other_problems + opened_paths.empty_path_problems(
            self._paths, self._fruitful
        )
        opened = self._opened() if self._opened is not None else ()
        compared = copies.compare(self._pool, self._cancel, self._instances, opened)
        if compared is None:
            result = self._catalogue.result(problems, self._paths)
        else:
            problems += compared.problems
            result = ScanResult((), tuple(problems))
            if compared.kept:
                result = group(compared.kept, problems, self._paths)
        self._keep(result if compared is None or compared.final else None)
        return result

    def _keep(self, result: ScanResult | None) -> None:
        """Remember the result, if it contains until a file changes."""
        if self._index is None:
            return
        snapshot = None
        if result is not None and self._state.as_read():
            snapshot = pack_result(result, self._state.mark(), self._listed)
        self._index.store(self._paths, snapshot)

    def _list(self, todo: Tasks) -> None:
        entry = "app.imaging.scanning.listing:list_entry"
        self._submit(entry, {"todo": todo}, partial(self._take_listing, todo), LIST_TIMEOUT_S)

    def _take_listing(self, todo: Tasks, reply: Reply) -> None:
        try:
            listed = _result(reply)
        except SightlineError as error:
            self._state.add_unknown()
            if len(todo) > 1:
                for task in todo:
                    self._list([task])
                return
            ((_, text, root, _),) = todo
            self._other_problems.append(Problem(Path(text), error.reason, "Try again"))
            self._fruitful.add(root)
            return
        self._state.add_listed(listed)
        for root, folder, names in listed["files"]:
            self._fruitful.add(root)
            self._add(Path(folder), names)
        for root, path, reason, remedy in listed["problems"]:
            self._fruitful.add(root)
            self._other_problems.append(Problem(Path(path), reason, remedy))
        if listed["todo"] and self._listed < opened_paths.MAX_FILES:
            self._list(listed["todo"])
        elif listed["todo"]:
            folder = Path(listed["todo"][-1][1])
            self._other_problems.append(opened_paths.too_many_files(folder))

    def _add(self, folder: Path, names: Iterable[str]) -> None:
        found = [folder / name for name in names]
        if len(self._paths) > 1:  # only then a file may be met twice
            found = [path for path in dict.fromkeys(found) if path not in self._seen]
            self._seen.update(found)
        self._waiting.extend(enumerate(found, start=self._listed))
        self._listed += len(found)

    def _read_on(self) -> None:
        """Keep the workers busy with a short queue, so that cancelling and scrolling stay quick."""
        while self._running < _IN_FLIGHT and (self._suspects or self._waiting):
            if self._suspects:
                batch = [self._suspects.popleft()]
            else:
                count = min(self._size, len(self._waiting))
                batch = [self._waiting.popleft() for _ in range(count)]
            entry = "app.imaging.reading.header_entries:headers_entry"
            payload = {"paths": [str(path) for _, path in batch]}
            self._submit(entry, payload, partial(self._take_headers, batch), SCAN_TIMEOUT_S)

    def _take_headers(self, batch: _Batch, reply: Reply) -> None:
        try:
            result = _result(reply)
            built = self._instances_of(batch, result)
        except SightlineError as error:
            if len(batch) > 1:
                self._suspects += batch
                return
            self._state.add_unknown()
            ((place, path),) = batch
            problem = as_file_problem(error, path)
            assert isinstance(problem, FileProblem)
            self._problems[place] = Problem(path, problem.reason, problem.remedy)
            self._done += 1
            return
        self._done += len(batch)
        if len(batch) == self._size:
            factor = _BATCH_S / max(float(result["seconds"]), 0.001)
            wanted = round(self._size * min(max(factor, 0.25), 4))
            self._size = min(max(wanted, 1), _LARGEST_BATCH)
        self._instances += built
        self._catalogue.add(built)
        self._grown = self._grown or bool(built)

    def _instances_of(self, batch: _Batch, result: dict[str, Any]) -> list[Instance]:
        """Return the instances that a worker has found, and take in the problems.

        Raises:
            WorkerDied: The answer is broken. A file may have taken the worker over, so nothing of
                what it says is believed.
        """
        try:
            counts: list[int] = [int(count) for count in result["counts"]]
            # Compared before lists are built: a count may be absurdly large.
            if sum(max(count, 0) for count in counts) != len(result["table"]["rows"]):
                raise TableError("counts and instances disagree")
            pairs = zip(batch, counts, strict=True)
            paths = [path for (_, path), count in pairs for _ in range(count)]
            instances = self._reader.instances(result["table"], paths)
            problems = self._problems_of(batch, counts, result["problems"])
            self._state.add_read(result)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise WorkerDied("the decoding process sent a broken answer") from error
        self._problems |= problems
        return instances

    def _problems_of(
        self, batch: _Batch, counts: Sequence[int], reasons: dict[str, list[str]]
    ) -> dict[int, Problem]:
        """Return the problems of a batch by their places in the listing."""
        problems: dict[int, Problem] = {}
        for number, ((place, path), count) in enumerate(zip(batch, counts, strict=True)):
            if count == PROBLEM:
                reason, remedy = reasons[str(number)]
                problems[place] = Problem(path, str(reason), str(remedy))
            elif count == DIRECTORY and path in self._paths:
                # A DICOMDIR inside a folder is skipped; here its images are listed nowhere else.
                problems[place] = Problem(path, "the DICOMDIR is damaged", guards.COPY_AGAIN)
        return problems

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._listed)
        started = time.monotonic()
        if self._tell is None or not self._grown or started < self._next_telling:
            return
        self._grown = False
        grown = map(_unfinished, self._catalogue.changed(self._paths))
        self._tell(ScanResult(tuple(grown), ()))
        cost = time.monotonic() - started
        self._next_telling = time.monotonic() + max(FOUND_EVERY_S, cost * _GROUPING_SHARE)

    def _submit(
        self, entry: str, payload: dict[str, Any], take: Callable[[Reply], None], limit_s: float
    ) -> None:
        # Less urgent than visible images, so that browsing stays quick during a scan.
        reply = self._pool.submit(
            entry, payload, priority=Priority.THUMBNAIL, timeout_s=limit_s, cancel=self._cancel
        )
        self._running += 1
        reply.add_done_callback(lambda reply: self._events.put(partial(take, reply)))


def _unfinished(study: Study) -> Study:
    """Mark a growing study; gaps in its stacks mean nothing yet."""
    series = (replace(one, warnings=(UNFINISHED,)) for one in study.series)
    return replace(study, series=tuple(series))


def _result(reply: Reply) -> dict[str, Any]:
    try:
        return reply.result()
    except CancelledError:
        raise Cancelled from None


READER_VERSION = 1
"""Raise it when headers are read differently though no file of app/imaging has changed."""

MAX_SNAPSHOTS = 100
"""Results that are remembered; the least recently opened go first."""

UNUSED_S = 30 * 24 * 3600.0
"""Seconds after which the results of another version are deleted."""

_log = logging.getLogger(__name__)


class Index:
    """Scan results on disk, one for each set of opened paths; not thread-safe.

    Each version of the program's file readers has a folder of its own, as two may run at once; the
    folder of one that nobody has started for a month is deleted. Disk errors are only logged.
    """

    def __init__(self, folder: Path, version: str | None = None) -> None:
        self._folder = folder / _digest(version or reader_version())
        with _logged():
            for place in (folder, self._folder):
                if not place.is_dir():
                    _remove(place)
                    place.mkdir(parents=True, mode=0o700, exist_ok=True)
            os.utime(self._folder)
            for other in folder.iterdir():
                if other != self._folder and time.time() - other.stat().st_mtime > UNUSED_S:
                    _remove(other)

    def snapshot(self, roots: Sequence[Path]) -> Snapshot | None:
        """Return the stored result of scanning these paths, or None.

        The result is valid only while `FolderState.mark` for these paths equals `Snapshot.mark`.
        """
        file = self._file(roots)
        with _logged():
            try:
                found = Snapshot.from_bytes(read_regular(file))
                os.utime(file)
                return found
            except FileNotFoundError:
                pass
            except Exception:  # whatever is wrong with it, it is only a cache
                _log.warning("a damaged file of the index of opened files is deleted")
                _remove(file)
        return None

    def store(self, roots: Sequence[Path], snapshot: Snapshot | None) -> None:
        """Store the result of scanning these paths; delete the stored one if `snapshot` is None."""
        file = self._file(roots)
        with _logged():
            _remove(file)  # also if nothing is stored: it no longer holds
            if snapshot is not None:
                write_atomic(file, snapshot.to_bytes())
                self._forget_oldest()

    def _file(self, roots: Sequence[Path]) -> Path:
        return self._folder / _digest("\0".join(map(str, roots)))

    def _forget_oldest(self) -> None:
        oldest = sorted(self._folder.iterdir(), key=lambda file: file.stat().st_mtime_ns)
        for file in oldest[:-MAX_SNAPSHOTS]:
            _remove(file)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _logged() -> Generator[None]:
    try:
        yield
    except OSError as error:
        what = type(error).__name__
        _log.warning("the index of opened files is not usable (%s): going on without it", what)


@lru_cache(maxsize=1)
def reader_version() -> str:
    """Return a text that changes with the app version, the code in app/imaging, or pydicom."""
    digest = hashlib.sha256()
    sources = sorted(Path(__file__).parent.parent.rglob("*.py"))
    if not sources:  # a frozen app has no sources, and is replaced as a whole
        frozen = Path(sys.executable).stat()
        digest.update(f"{frozen.st_size} {frozen.st_mtime_ns}".encode())
    for source in sources:
        digest.update(source.read_bytes())
    with contextlib.suppress(metadata.PackageNotFoundError):
        digest.update(metadata.version("pydicom").encode())
    return f"{READER_VERSION}/{__version__}/{digest.hexdigest()}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
