"""Detection of files that are copies of each other; many media hold an image under two names.

Only files with equal content are copies. Two files that share a SOP Instance UID but differ are two
images, one of which has a wrong UID; both are kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from pathlib import Path

from app.errors import Cancelled, SightlineError
from app.imaging.processes.worker_pool import Priority, WorkerPool
from app.imaging.processes.workers import CancelLike
from app.imaging.studies.instance_lists import instances_with_uids_of
from app.imaging.types import Instance, Problem

_AT_ONCE = 16
_TIMEOUT_S = 600.0

CONTENT = "ContentDigest"
"""Attribute with the file's digest, given to instances that share UID and size but differ."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The instances of a scan that remain once copies of the same file are left out.

    Attributes:
        kept: The remaining instances. Different files that share UID and size have their digest as
            an attribute, so that no later step takes them for copies.
        problems: Messages about copies that were left out, one for each folder.
        final: Whether another scan would give the same result: all files could be read, and no open
            file had to be compared with them.
    """

    kept: list[Instance]
    problems: list[Problem]
    final: bool


def compare(
    pool: WorkerPool,
    cancel: CancelLike | None,
    instances: Sequence[Instance],
    opened: Sequence[Sequence[Instance]] = (),
) -> Comparison | None:
    """Return the instances without copies; None if no two files have both UID and size in common.

    All copies of an instance in `opened` are left out. Of other copies, the file whose path sorts
    first is kept. Workers of `pool` read the files.

    Raises:
        Cancelled: The scan was cancelled.
    """
    uids_of = _candidates(instances, opened)
    if not uids_of:
        return None
    digests = _digests(pool, cancel, list(uids_of))
    original: dict[tuple[str, str], Path] = {}
    before = {one.path for one in instances_with_uids_of(opened, instances)} & uids_of.keys()
    for path in sorted(uids_of, key=lambda path: (path not in before, str(path))):
        for uid in uids_of[path]:
            original.setdefault((uid, digests.get(path) or str(path)), path)
    contents = Counter(uid for uid, _ in original)
    kept: list[Instance] = []
    left_out: dict[Path, Path] = {}
    for instance in instances:
        if instance.path not in uids_of:
            kept.append(instance)
            continue
        content = digests.get(instance.path) or str(instance.path)
        first = original[instance.sop_instance_uid, content]
        if first != instance.path and instance.path not in before:
            left_out[instance.path] = first
        elif contents[instance.sop_instance_uid] > 1:
            marked = {**instance.attributes, CONTENT: content}
            kept.append(replace(instance, attributes=marked))
        else:
            kept.append(instance)
    final = not before and all(digests.get(path) for path in uids_of)
    return Comparison(kept, _told(left_out), final)


def _digests(pool: WorkerPool, cancel: CancelLike | None, paths: Sequence[Path]) -> dict[Path, str]:
    batches = [paths[at : at + _AT_ONCE] for at in range(0, len(paths), _AT_ONCE)]
    replies = [
        pool.submit(
            "app.imaging.reading.header_entries:digests_entry",
            {"paths": [str(path) for path in batch]},
            priority=Priority.THUMBNAIL,
            timeout_s=_TIMEOUT_S,
            cancel=cancel,
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


def _candidates(
    instances: Sequence[Instance], opened: Sequence[Sequence[Instance]]
) -> dict[Path, set[str]]:
    """Return the files that share UID and size with another, one of them new, and these UIDs."""
    near = instances_with_uids_of(opened, instances) if opened else []
    uids = [one.sop_instance_uid for one in instances]
    twice = {uid for uid, count in Counter(uids).items() if count > 1}
    twice.update(one.sop_instance_uid for one in near)
    if not twice:
        return {}
    files: defaultdict[tuple[str, int], dict[Path, None]] = defaultdict(dict)
    for instance in instances:
        if instance.size_bytes and instance.sop_instance_uid in twice:
            files[instance.sop_instance_uid, instance.size_bytes][instance.path] = None
    for instance in near:
        if (instance.sop_instance_uid, instance.size_bytes) in files:
            files[instance.sop_instance_uid, instance.size_bytes][instance.path] = None
    found: defaultdict[Path, set[str]] = defaultdict(set)
    for (uid, _), paths in files.items():
        for path in paths if len(paths) > 1 else ():
            found[path].add(uid)
    return found


def _told(left_out: dict[Path, Path]) -> list[Problem]:
    folders: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in sorted(left_out):  # workers answer in any order
        folders[path.parent].append(path)
    problems: list[Problem] = []
    for folder, paths in folders.items():
        if len(paths) == 1:
            reason = f"it is a copy of {left_out[paths[0]].name}, which is listed"
            problems.append(Problem(paths[0], reason, remark=True))
        else:
            reason = f"{len(paths):,} of its files are copies of images that are listed"
            problems.append(Problem(folder, reason, remark=True))
    return problems
