"""Sequences of instances as tables, and a series that is loaded on access.

A folder that has not changed since it was opened is restored at once: its studies and series, and
the first instance of each series. The other instances stay compressed until one is asked for.
"""

from __future__ import annotations

import json
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from app.imaging.axes import Axes
from app.imaging.files.identity import uid_hashes
from app.imaging.processes.records import pack, unpack
from app.imaging.types import Content, Instance

DIRECTORY, PROBLEM = -1, -2
"""Given in place of a file's number of instances: it is a DICOMDIR, whose images are listed anyway;
it cannot be shown."""


class TableError(ValueError):
    """The data is damaged or is not a table of instances."""


class SharedTexts(Mapping[str, str]):
    """A read-only mapping of attribute keywords to texts, made to take little memory.

    `places` maps a keyword to a position in `texts`; instances with equal keywords share `places`.
    """

    __slots__ = ("_places", "_texts")

    def __init__(self, places: Mapping[str, int], texts: tuple[str, ...]) -> None:
        self._places = places
        self._texts = texts

    def __getitem__(self, key: str) -> str:
        return self._texts[self._places[key]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SharedTexts) and other._places is self._places:
            return self._texts == other._texts
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(dict(self))


def instance_table(instances: Sequence[Instance]) -> dict[str, Any]:
    """Convert instances to JSON values, without their paths; a repeated text is held once.

    Returns:
        "texts": texts that occur more than once. "keys": lists of attribute keywords. "rows": for
        each instance, the position of its keywords in "keys"; a list of the attributes' texts, or
        their positions in "texts"; then the other fields, in the order of `_FIELDS`.
    """
    counts = Counter(chain.from_iterable(one.attributes.values() for one in instances))
    shared = [text for text, count in counts.items() if count > 1]
    places = {text: place for place, text in enumerate(shared)}
    keys: dict[tuple[str, ...], int] = {}
    rows: list[list[Any]] = []
    for one in instances:
        number = keys.setdefault(tuple(one.attributes), len(keys))
        texts = [places.get(text, text) for text in one.attributes.values()]
        rows.append([number, texts, *(_plain(getattr(one, name)) for name in _FIELDS)])
    return {"texts": shared, "keys": [list(one) for one in keys], "rows": rows}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; numpy numbers become Python numbers."""
    if isinstance(value, Content):
        return value.value
    if isinstance(value, Axes):
        return pack(value)
    if isinstance(value, tuple | dict):
        parts: Iterable[Any] = value
        return [_plain(part) for part in parts]
    return value.item() if hasattr(value, "item") else value


class TableReader:
    """Creates instances from tables; holds equal keyword lists and texts once for all tables."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], dict[str, int]] = {}
        self._texts: dict[str, str] = {}

    def instances(self, table: Any, paths: Sequence[Path]) -> list[Instance]:
        """Return the instances in a table made by `instance_table`, one for each path.

        Raises:
            TableError: The table is invalid, or there are not as many instances as paths.
        """
        try:
            shared = [self._texts.setdefault(text, text) for text in _all_of(str, table["texts"])]
            keys = [self._shared_keys(_all_of(str, names)) for names in table["keys"]]
            pairs = zip(table["rows"], paths, strict=True)
            return [_instance(row, path, keys, shared) for row, path in pairs]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise TableError("not a table of instances") from error

    def _shared_keys(self, names: list[str]) -> dict[str, int]:
        places = {self._texts.setdefault(name, name): place for place, name in enumerate(names)}
        return self._places.setdefault(tuple(names), places)


def _instance(
    row: list[Any], path: Path, keys: Sequence[dict[str, int]], shared: Sequence[str]
) -> Instance:
    number, found, *values = row
    # `type` and not `isinstance`: JSON's true and false would pass as whole numbers.
    places = keys[number]
    texts = tuple([shared[one] if type(one) is int else one for one in found])
    _all_of(str, texts)
    if len(texts) != len(places):
        raise TableError("not as many texts as keys")
    fields = dict(zip(_FIELDS, values, strict=True))
    for name, kinds in _FIELDS.items():
        if type(fields[name]) not in kinds:
            raise TableError(f"{name} is of another type")
    fields["content"] = Content(fields["content"])
    fields["references"] = dict.fromkeys(_all_of(str, fields["references"]))
    fields["frame_time_ms"] = _time(fields["frame_time_ms"])
    fields["frame_times_ms"] = tuple(map(_time, fields["frame_times_ms"]))
    if fields["axes"] is not None:
        fields["axes"] = unpack(Axes, fields["axes"])
        if fields["axes"].frames != fields["frames"]:
            raise TableError("axes of another number of frames")
    return Instance(path=path, attributes=SharedTexts(places, texts), **fields)


def _all_of(kind: type, values: Any) -> Any:
    if any(type(value) is not kind for value in values):
        raise TableError("values of another type")
    return values


def _time(value: Any) -> float | None:
    if value is not None and type(value) not in (int, float):
        raise TableError("a time of another type")
    return None if value is None else float(value)


_FIELDS: dict[str, tuple[type, ...]] = {
    "sop_instance_uid": (str,),
    "kind": (str,),
    "rows": (int,),
    "columns": (int,),
    "frames": (int,),
    "number": (int,),
    "frame_time_ms": (float, int, type(None)),
    "size_bytes": (int,),
    "mtime_ns": (int,),
    "content": (str,),
    "part": (int,),
    "references": (list,),
    "note": (str,),
    "frame_times_ms": (list,),
    "changed_ns": (int,),
    "axes": (dict, type(None)),
}
"""Fields of an `Instance` except path and attributes -> types of their JSON values."""


PER_BLOCK = 128
"""Instances per block; making them takes about a millisecond."""

UidHashes = NDArray[np.uint64]


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


class StoredInstances(Sequence[Instance]):
    """The instances of a series restored from the index; thread-safe.

    The instances are created, block by block, on first access, and then kept: the same position
    always gives the same object.

    Args:
        first: The first instance.
        blocks: The other instances packed by `pack_block`, `PER_BLOCK` in each block but the last.
        count: Number of instances.
        frames: Total number of frames in all instances.
        uid_hashes: [count] results of `uid_hashes` for the SOP Instance UIDs.
        reader: Reads the blocks; shared by all series in a scan, which have texts in common.
    """

    __slots__ = ("_blocks", "_count", "_first", "_lock", "_reader", "frames", "uid_hashes")

    def __init__(
        self,
        first: Instance,
        blocks: Iterable[bytes | memoryview],
        count: int,
        frames: int,
        uid_hashes: UidHashes,
        reader: TableReader,
    ) -> None:
        self._first = first
        self._blocks: list[bytes | memoryview | tuple[Instance, ...]] = list(blocks)
        self._count = count
        self._reader = reader
        self._lock = threading.Lock()
        self.frames = frames
        self.uid_hashes = uid_hashes

    @property
    def loaded(self) -> tuple[Instance, ...]:
        """The instances created so far, in order."""
        blocks = (block for block in self._blocks if isinstance(block, tuple))
        return (self._first, *chain.from_iterable(blocks))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Instance: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Instance, ...]: ...
    def __getitem__(self, index: int | slice) -> Instance | tuple[Instance, ...]:
        places = range(len(self))[index]
        return self._at(places) if isinstance(places, int) else tuple(map(self._at, places))

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


def uid_hashes_of(instances: Sequence[Instance]) -> UidHashes:
    """Return `uid_hashes` of the SOP Instance UIDs, without creating stored instances."""
    if isinstance(instances, StoredInstances):
        return instances.uid_hashes
    return uid_hashes(one.sop_instance_uid for one in instances)


def instances_with_uids_of(
    opened: Sequence[Sequence[Instance]], instances: Sequence[Instance]
) -> list[Instance]:
    """Return the instances in the series `opened` whose SOP Instance UID occurs in `instances`.

    Of stored instances, only the returned ones are created as objects.
    """
    uids = {one.sop_instance_uid for one in instances}
    hashes: UidHashes | None = None
    found: list[Instance] = []
    for part in opened:
        if isinstance(part, StoredInstances):
            hashes = uid_hashes(uids) if hashes is None else hashes
            likely = np.flatnonzero(np.isin(part.uid_hashes, hashes)).tolist()
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
    """Return a running total: the number of frames up to and including each instance in a series.

    Stored instances are not created if each has a single frame.
    """
    if isinstance(instances, StoredInstances) and instances.frames == len(instances):
        return list(range(1, len(instances) + 1))
    return list(accumulate(max(one.frames, 1) for one in instances))
