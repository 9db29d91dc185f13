"""Copies of one file: many media hold an image twice, under two names.

Only files with equal content are copies. Two files that share a SOP Instance UID and differ are two
images of which one has a wrong UID, and both are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path

from app.errors import Cancelled, SightlineError
from app.imaging.types import Instance, Problem
from app.imaging.worker_pool import Priority, WorkerPool
from app.imaging.workers import CancelLike

_BYTES_AT_ONCE = 128 * 2**20
_FILES_AT_ONCE = 256
_TIMEOUT_S = 600.0


class Copies:
    """Finds copies by reading the whole of files that share UID and size, in the workers."""

    def __init__(self, pool: WorkerPool, cancel: CancelLike | None) -> None:
        self._pool = pool
        self._cancel = cancel

    def without(self, instances: Sequence[Instance]) -> tuple[list[Instance], list[Problem]]:
        """Instances of the first file of each content, and what was left out, a line a folder.

        Raises:
            Cancelled: It was cancelled.
        """
        sizes = _candidates(instances)
        if not sizes:
            return list(instances), []
        digests = self._digests(sizes)
        first: dict[tuple[str, str], Path] = {}
        kept: list[Instance] = []
        left_out: dict[Path, Path] = {}
        for instance in instances:
            digest = digests.get(instance.path)
            if digest:
                original = first.setdefault((instance.sop_instance_uid, digest), instance.path)
                if original != instance.path:
                    left_out[instance.path] = original
                    continue
            kept.append(instance)
        return kept, _told(left_out)

    def _digests(self, sizes: dict[Path, int]) -> dict[Path, str]:
        batches = _batches(sizes)
        replies = [
            self._pool.submit(
                "app.imaging.header_reading:digests_entry",
                {"paths": [str(path) for path in batch]},
                priority=Priority.THUMBNAIL,
                timeout_s=_TIMEOUT_S,
                cancel=self._cancel,
            )
            for batch in batches
        ]
        digests: dict[Path, str] = {}
        for batch, reply in zip(batches, replies, strict=True):
            try:
                digests |= dict(zip(batch, reply.result()["digests"], strict=True))
            except CancelledError:
                raise Cancelled from None
            except SightlineError:
                continue  # not known to be copies, so they are all kept
        return digests


def _candidates(instances: Sequence[Instance]) -> dict[Path, int]:
    """Files that share a SOP Instance UID and a size with another, and that size."""
    files: defaultdict[tuple[str, int], dict[Path, None]] = defaultdict(dict)
    for instance in instances:
        if instance.size_bytes:
            files[instance.sop_instance_uid, instance.size_bytes][instance.path] = None
    return {path: size for (_, size), paths in files.items() if len(paths) > 1 for path in paths}


def _batches(sizes: dict[Path, int]) -> list[list[Path]]:
    batches: list[list[Path]] = []
    room = 0
    for path, size in sizes.items():
        if not batches or room < size or len(batches[-1]) >= _FILES_AT_ONCE:
            batches.append([])
            room = _BYTES_AT_ONCE
        batches[-1].append(path)
        room -= size
    return batches


def _told(left_out: dict[Path, Path]) -> list[Problem]:
    folders: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in left_out:
        folders[path.parent].append(path)
    problems: list[Problem] = []
    for folder, paths in folders.items():
        if len(paths) == 1:
            reason = f"it is a copy of {left_out[paths[0]].name}, which is listed"
            problems.append(Problem(paths[0], reason))
        else:
            reason = f"{len(paths):,} of its files are copies of images that are listed"
            problems.append(Problem(folder, reason))
    return problems
