"""Tables of instances as JSON values, for answers of the workers and for the index.

The headers of a series differ in few attributes, so a table holds each repeated text once, and so
does the process that reads it. Tables are checked on reading: they come from a process that a
hostile file may have taken over, or from a database on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from app.imaging.types import Content, Instance

DIRECTORY, PROBLEM = -1, -2
"""Given in place of a file's number of instances: it is a DICOMDIR, whose images are listed anyway;
it cannot be shown."""


class TableError(ValueError):
    """The data is damaged or is not a table of instances."""


class SharedTexts(Mapping[str, str]):
    """A read-only mapping of keys to texts; instances share `places`: key -> place in `texts`."""

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
    """Convert instances to JSON values, without their paths.

    Returns:
        "texts": texts that occur more than once. "keys": lists of attribute keywords. "rows": for
        each instance, the position of its keyword list in "keys"; then each attribute's text, or
        its position in "texts"; then the other fields of the instance.
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
    if isinstance(value, tuple):
        parts: tuple[Any, ...] = value
        return [_plain(part) for part in parts]
    return value.item() if hasattr(value, "item") else value


class TableReader:
    """Creates instances from tables; equal keys and repeated texts are shared between tables."""

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
    fields["references"] = tuple(_all_of(str, fields["references"]))
    fields["frame_time_ms"] = _time(fields["frame_time_ms"])
    fields["frame_times_ms"] = tuple(map(_time, fields["frame_times_ms"]))
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
}
"""Fields of an `Instance` except path and attributes -> types of their JSON values."""
