"""Instances of a series that are made when they are first asked for.

A folder that is as it was opened before is restored at once: its studies and series are, and the
first instance of each; the others stay compressed until somebody looks at them.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from app.imaging.files.file_marks import uid_marks
from app.imaging.studies.tables import TableError, TableReader, from_bytes, table_of, to_bytes
from app.imaging.types import Instance

PER_BLOCK = 128
"""Instances that are made together: in about a millisecond."""

Marks = NDArray[np.uint64]


def block_of(instances: Sequence[Instance]) -> dict[str, Any]:
    """Instances with their paths as JSON values."""
    folders: dict[str, int] = {}
    at = [folders.setdefault(str(one.path.parent), len(folders)) for one in instances]
    names = [one.path.name for one in instances]
    return {"table": table_of(instances), "folders": list(folders), "at": at, "names": names}


def block_bytes(instances: Sequence[Instance]) -> bytes:
    """`block_of`, compressed."""
    return to_bytes(block_of(instances))


def read_block(message: Any, reader: TableReader) -> tuple[Instance, ...]:
    """The instances of `block_of`.

    Raises:
        TableError: It is none.
    """
    rows = reader.rows(message["table"] if isinstance(message, dict) else None)
    try:
        folders = [Path(text) for text in message["folders"]]
        pairs = zip(message["at"], message["names"], strict=True)
        paths = [folders[at] / name for at, name in pairs]
        return tuple(Instance(path, *row) for path, row in zip(paths, rows, strict=True))
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise TableError("not a block of instances") from error


class StoredInstances(Sequence[Instance]):
    """Instances of a series, made in blocks when they are first asked for; thread-safe.

    Each is made once: the same place always gives the same object.

    Args:
        first: The first instance.
        blocks: `block_bytes` of the others, `PER_BLOCK` in each but the last.
        count: How many there are.
        frames: Sum of their `frames`.
        marks: [count] `uid_marks` of their SOP Instance UIDs.
        reader: Reads the blocks of all series of a scan, which share texts.
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
    def made(self) -> tuple[Instance, ...]:
        """Those that have been made, in order."""
        blocks = (block for block in self._blocks if isinstance(block, tuple))
        return (self._first, *chain.from_iterable(blocks))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Instance, ...]: ...
    def __getitem__(self, index: int | slice) -> Instance | tuple[Instance, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(self._count)))
        place = index + self._count if index < 0 else index
        if not 0 <= place < self._count:
            raise IndexError("no such instance")
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

    def __repr__(self) -> str:
        return f"<{self._count} instances, {len(self.made)} made>"

    def _block(self, number: int) -> tuple[Instance, ...]:
        block = self._blocks[number]
        if isinstance(block, tuple):
            return block
        with self._lock:
            block = self._blocks[number]
            if not isinstance(block, tuple):
                block = self._blocks[number] = read_block(from_bytes(block), self._reader)
                expected = min(PER_BLOCK, self._count - 1 - number * PER_BLOCK)
                if len(block) != expected:
                    raise TableError("a block of another size")
        return block


class JoinedInstances(Sequence[Instance]):
    """The instances of several series one after the other, as they are.

    Attributes:
        parts: The series' instances.
    """

    __slots__ = ("_ends", "parts")

    def __init__(self, parts: Iterable[Sequence[Instance]]) -> None:
        self.parts = tuple(part for part in parts if part)
        self._ends = list(accumulate(len(part) for part in self.parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Instance, ...]: ...
    def __getitem__(self, index: int | slice) -> Instance | tuple[Instance, ...]:
        if isinstance(index, slice):
            return tuple(self[place] for place in range(*index.indices(len(self))))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError("no such instance")
        number = bisect_right(self._ends, place)
        return self.parts[number][place - (self._ends[number - 1] if number else 0)]

    def __iter__(self) -> Iterator[Instance]:
        return chain.from_iterable(self.parts)


def parts_of(instances: Sequence[Instance]) -> Sequence[Sequence[Instance]]:
    """What instances were joined from."""
    return instances.parts if isinstance(instances, JoinedInstances) else (instances,)


def marks_of(instances: Sequence[Instance]) -> Marks:
    """`uid_marks` of SOP Instance UIDs; makes no instance that is not made yet."""
    if isinstance(instances, StoredInstances):
        return instances.marks
    if isinstance(instances, JoinedInstances):
        parts = [marks_of(part) for part in instances.parts]
        return np.concatenate(parts) if parts else uid_marks(())
    return uid_marks(one.sop_instance_uid for one in instances)


def with_uids_of(opened: Sequence[Instance], instances: Sequence[Instance]) -> list[Instance]:
    """Those of `opened` whose SOP Instance UID one of `instances` has; makes no others."""
    uids = {one.sop_instance_uid for one in instances}
    marks: Marks | None = None
    found: list[Instance] = []
    for part in parts_of(opened):
        if isinstance(part, StoredInstances):
            marks = uid_marks(uids) if marks is None else marks
            likely = np.flatnonzero(np.isin(part.marks, marks)).tolist()
            found += [part[place] for place in likely]
        else:
            found += [one for one in part if one.sop_instance_uid in uids]
    return [one for one in found if one.sop_instance_uid in uids]


def made_of(instances: Sequence[Instance]) -> Sequence[Instance]:
    """The instances that anybody can have: of the others there is no object yet."""
    return instances.made if isinstance(instances, StoredInstances) else instances


def frames_in(instances: Sequence[Instance]) -> int:
    """Sum of the `frames` of a series' instances; makes no instance that is not made yet."""
    if isinstance(instances, StoredInstances):
        return instances.frames
    return sum(one.frames for one in instances)


def frame_ends(instances: Sequence[Instance]) -> list[int]:
    """Where each instance ends among the frames of all; those of single frames need not be made."""
    if isinstance(instances, StoredInstances) and instances.frames == len(instances):
        return list(range(1, len(instances) + 1))
    return list(accumulate(max(one.frames, 1) for one in instances))
