"""Scanning files and folders in the worker processes: list, read headers in batches, group."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

from app.errors import Cancelled, FileProblem, SightlineError, WorkerDied
from app.imaging.catalogue import group
from app.imaging.futures import Reply, as_file_problem, settle
from app.imaging.records import unpack
from app.imaging.types import Instance, Problem, ScanResult
from app.imaging.worker_pool import Priority, WorkerPool
from app.imaging.workers import CancelLike

ScanProgress = Callable[[int, int], None]
ScanFound = Callable[[ScanResult], None]

SCAN_TIMEOUT_S = 60.0
LIST_TIMEOUT_S = 600.0
_BATCH = 32


class Scan:
    """One scan: list, read headers in batches, group."""

    def __init__(
        self,
        pool: WorkerPool,
        paths: list[Path],
        cancel: CancelLike | None,
        progress: ScanProgress | None,
        found: ScanFound | None = None,
    ) -> None:
        self.future: Future[ScanResult] = Future()
        self._pool = pool
        self._paths = paths
        self._cancel = cancel
        self._progress = progress
        self._found = found
        self._problems: list[Problem] = []

    def start(self) -> Future[ScanResult]:
        """Begin, on a thread of its own."""
        threading.Thread(target=self._run, name="sightline-scan", daemon=True).start()
        return self.future

    def _run(self) -> None:
        try:
            settle(self.future, self._scan())
        except BaseException as error:
            settle(self.future, error)

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
                problem = as_file_problem(error, batch[0])
                assert isinstance(problem, FileProblem)
                self._problems.append(Problem(batch[0], problem.reason, problem.remedy))
                return []
            singles = [([path], self._submit([path])) for path in batch]
            return [one for path, single in singles for one in self._collect(path, single)]
        found: list[Instance] = []
        for path, answer in zip(batch, answers, strict=True):
            if "instances" in answer:
                found += [unpack(Instance, item) for item in answer["instances"]]
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
            "app.imaging.listing:list_entry",
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
