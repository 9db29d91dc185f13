"""Sequences of instances: a series that is loaded on access, and several series joined.

A folder that has not changed since it was opened is restored at once: its studies and series, and
the first instance of each series. The other instances stay compressed until one is asked for.
"""

from __future__ import annotations

import json
import threading
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from app.imaging.files.identity import uid_marks
from app.imaging.studies.instance_table import TableError, TableReader, instance_table
from app.imaging.types import Instance

PER_BLOCK = 128
"""Instances per block; making them takes about a millisecond."""

Marks = NDArray[np.uint64]


def pack_block(instances: Sequence[Instance]) -> bytes:
    """Pack instances and their paths as compressed JSON."""
    paths = [str(one.path) for one in instances]
    text = json.dumps({"paths": paths, "table": instance_table(instances)}, separators=(",", ":"))
    return zlib.compress(text.encode(), 1)


def unpack_block(data: bytes | memoryview, reader: TableReader) -> tuple[Instance, ...]:
    """Restore the instances packed by `pack_block`; raise TableError if the block is damaged."""
    try:
        message = json.loads(zlib.decompress(data))
        paths = [Path(text) for text in message["paths"]]
        return tuple(reader.instances(message["table"], paths))
    except (zlib.error, KeyError, TypeError, ValueError) as error:
        raise TableError("not a block of instances") from error


class _InstanceList(Sequence[Instance]):
    """A sequence whose instances are found by `_at`, from 0."""

    __slots__ = ()

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Instance, ...]: ...
    def __getitem__(self, index: int | slice) -> Instance | tuple[Instance, ...]:
        places = range(len(self))[index]
        return self._at(places) if isinstance(places, int) else tuple(map(self._at, places))

    def _at(self, place: int) -> Instance:
        raise NotImplementedError


class StoredInstances(_InstanceList):
    """The instances of a series restored from the index; thread-safe.

    The instances are created in blocks on first access, each once: the same position always gives
    the same object.

    Args:
        first: The first instance.
        blocks: The other instances packed by `pack_block`, `PER_BLOCK` in each block but the last.
        count: Number of instances.
        frames: Total number of frames in all instances.
        marks: [count] results of `uid_marks` for the SOP Instance UIDs.
        reader: Reads the blocks; shared by all series in a scan, which have texts in common.
    """

    __slots__ = ("_blocks", "_count", "_first", "_lock", "_reader", "frames", "marks")

    def __init__(
        self,
        first: Instance,
        blocks: Iterable[bytes | memoryview],
        count: int,
        frames: int,
        marks: Marks,
        reader: TableReader,
    ) -> None:
        self._first = first
        self._blocks: list[bytes | memoryview | tuple[Instance, ...]] = list(blocks)
        self._count = count
        self._reader = reader
        self._lock = threading.Lock()
        self.frames = frames
        self.marks = marks

    @property
    def loaded(self) -> tuple[Instance, ...]:
        """The instances created so far, in order."""
        blocks = (block for block in self._blocks if isinstance(block, tuple))
        return (self._first, *chain.from_iterable(blocks))

    def __len__(self) -> int:
        return self._count

    def _at(self, place: int) -> Instance:
        if place == 0:
            return self._first
        number, within = divmod(place - 1, PER_BLOCK)
        return self._block(number)[within]

    def __iter__(self) -> Iterator[Instance]:
        yield self._first
        for number in range(len(self._blocks)):
            yield from self._block(number)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StoredInstances | tuple):
            return NotImplemented
        others: Sequence[Any] = other
        return len(others) == self._count and all(a == b for a, b in zip(self, others, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def _block(self, number: int) -> tuple[Instance, ...]:
        block = self._blocks[number]
        if isinstance(block, tuple):
            return block
        with self._lock:
            block = self._blocks[number]
            if not isinstance(block, tuple):
                block = self._blocks[number] = unpack_block(block, self._reader)
                expected = min(PER_BLOCK, self._count - 1 - number * PER_BLOCK)
                if len(block) != expected:
                    raise TableError("a block of another size")
        return block


class JoinedInstances(_InstanceList):
    """The instances in several series (`parts`), one series after the other."""

    __slots__ = ("_ends", "parts")

    def __init__(self, parts: Iterable[Sequence[Instance]]) -> None:
        self.parts = tuple(part for part in parts if part)
        self._ends = list(accumulate(len(part) for part in self.parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _at(self, place: int) -> Instance:
        number = bisect_right(self._ends, place)
        return self.parts[number][place - (self._ends[number - 1] if number else 0)]

    def __iter__(self) -> Iterator[Instance]:
        return chain.from_iterable(self.parts)


def marks_of(instances: Sequence[Instance]) -> Marks:
    """Return `uid_marks` of the instances' SOP Instance UIDs, without creating stored instances."""
    if isinstance(instances, StoredInstances):
        return instances.marks
    if isinstance(instances, JoinedInstances):
        parts = [marks_of(part) for part in instances.parts]
        return np.concatenate(parts) if parts else uid_marks(())
    return uid_marks(one.sop_instance_uid for one in instances)


def instances_with_uids_of(
    opened: Sequence[Instance], instances: Sequence[Instance]
) -> list[Instance]:
    """Return the instances of `opened` that share a SOP Instance UID with one of `instances`.

    Of stored instances in `opened`, only the returned ones are created as objects.
    """
    uids = {one.sop_instance_uid for one in instances}
    marks: Marks | None = None
    found: list[Instance] = []
    for part in opened.parts if isinstance(opened, JoinedInstances) else (opened,):
        if isinstance(part, StoredInstances):
            marks = uid_marks(uids) if marks is None else marks
            likely = np.flatnonzero(np.isin(part.marks, marks)).tolist()
            found += [part[place] for place in likely]
        else:
            found += part
    return [one for one in found if one.sop_instance_uid in uids]


def loaded_instances(instances: Sequence[Instance]) -> Sequence[Instance]:
    """Return the instances that have already been created as objects."""
    return instances.loaded if isinstance(instances, StoredInstances) else instances


def frame_count(instances: Sequence[Instance]) -> int:
    """Return the total number of frames, without creating stored instances."""
    if isinstance(instances, StoredInstances):
        return instances.frames
    return sum(one.frames for one in instances)


def frame_ends(instances: Sequence[Instance]) -> list[int]:
    """Return the running total of frames at the end of each instance in a series.

    Stored instances are not created if each has a single frame.
    """
    if isinstance(instances, StoredInstances) and instances.frames == len(instances):
        return list(range(1, len(instances) + 1))
    return list(accumulate(max(one.frames, 1) for one in instances))
