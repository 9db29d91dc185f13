"""Many instances as a table of columns, for messages, the index and memory.

Headers of one series differ in a few attributes. A table holds each column once: as one value that
all rows have, as few values with their places, or as a list. It is made of JSON values only, and
what is read from one is checked: it comes from a process that hostile files may have taken over,
or from a database on disk.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from app.imaging.studies.shared_texts import Layout, SharedTexts
from app.imaging.types import Content, Instance

Table = dict[str, Any]
Row = tuple[Any, ...]
"""The fields of an `Instance` behind its path, in their order."""

MAX_BYTES = 256 * 2**20
"""Of a table as text: more is no table of ours."""

_FEW_ROWS = 4
_SERIES = "SeriesInstanceUID"


class TableError(ValueError):
    """What should be a table is none."""


def to_bytes(message: Any) -> bytes:
    """JSON values, and single values of arrays, compressed."""
    text = json.dumps(message, separators=(",", ":"), default=_item)
    return zlib.compress(text.encode(), 1)


def _item(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a {type(value).__name__} is no value of a table")


def from_bytes(data: bytes | memoryview) -> Any:
    """The inverse of `to_bytes`.

    Raises:
        TableError: It is damaged, or too large.
    """
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(data, MAX_BYTES)
        if not reader.eof:
            raise TableError("incomplete, or too large")
        return json.loads(text)
    except (zlib.error, ValueError, RecursionError) as error:
        raise TableError("damaged") from error


# Making


def table_of(instances: Sequence[Instance]) -> Table:
    """Instances as a table; their paths are not part of it."""
    groups: dict[Any, list[int]] = {}
    for place, one in enumerate(instances):
        groups.setdefault((tuple(one.attributes), one.get(_SERIES)), []).append(place)
    if len(groups) * _FEW_ROWS > len(instances):
        groups = {}
        for place, one in enumerate(instances):
            groups.setdefault(tuple(one.attributes), []).append(place)
    made = [_group_of([instances[at] for at in places], places) for places in groups.values()]
    return {"rows": len(instances), "groups": made}


def _group_of(members: list[Instance], places: list[int]) -> dict[str, Any]:
    fields = [_column([_plain(getattr(one, name)) for one in members]) for name in _CHECKS]
    shared = _common(members)
    keys = list(members[0].attributes)
    columns: list[Any] = []
    for key in keys:
        found = shared[0].get(key) if shared is not None else None
        if isinstance(found, str):
            columns.append([found])
        elif shared is not None and isinstance(found, int):
            columns.append(_column([own[found] for own in shared[1]]))
        else:
            columns.append(_column([one.attributes[key] for one in members]))
    return {"at": places, "fields": fields, "keys": keys, "texts": columns}


def _common(members: Sequence[Instance]) -> tuple[Layout, list[tuple[str, ...]]] | None:
    """The layout that all have, and their own texts."""
    first = members[0].attributes
    if not isinstance(first, SharedTexts):
        return None
    own: list[tuple[str, ...]] = []
    for one in members:
        if not isinstance(one.attributes, SharedTexts) or one.attributes.layout is not first.layout:
            return None
        own.append(one.attributes.own)
    return first.layout, own


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Content) else value


def _column(values: list[Any]) -> Any:
    """[the one value], {"of": values, "at": places} or {"all": values}."""
    distinct = dict.fromkeys(values)
    if len(distinct) == 1:
        return values[:1]
    if len(distinct) * 2 > len(values):
        return {"all": values}
    places = {value: place for place, value in enumerate(distinct)}
    return {"of": list(distinct), "at": [places[value] for value in values]}


# Reading


class TableReader:
    """Makes rows of tables; layouts and texts that equal those of earlier ones are shared."""

    def __init__(self) -> None:
        self._layouts: dict[Any, Layout] = {}
        self._texts: dict[str, str] = {}

    def rows(self, table: Any) -> list[Row]:
        """The rows of a table.

        Raises:
            TableError: It is none.
        """
        try:
            count = int(table["rows"])
            made: dict[int, Row] = {}
            for group in table["groups"]:
                places = group["at"]
                made.update(zip(places, self._group(group, len(places)), strict=True))
            return [made[place] for place in range(count)]
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise TableError("not a table of instances") from error

    def _group(self, group: Mapping[str, Any], count: int) -> Iterable[Row]:
        fields: list[Iterable[Any]] = []
        for column, check in zip(group["fields"], _CHECKS.values(), strict=True):
            values, single = self._values(column, count, check)
            fields.append(repeat(values[0], count) if single else values)
        fields.insert(_ATTRIBUTES_AT, self._attributes(group["keys"], group["texts"], count))
        return zip(*fields, strict=True)

    def _attributes(self, keys: list[Any], columns: list[Any], count: int) -> Iterable[SharedTexts]:
        layout: dict[str, str | int] = {}
        own: list[list[Any]] = []
        for key, column in zip(_texts(keys), columns, strict=True):
            values, single = self._values(column, count, _texts)
            if single:
                layout[self._shared(key)] = self._shared(values[0])
            else:
                layout[self._shared(key)] = len(own)
                own.append(values)
        shared = self._layouts.setdefault(tuple(layout.items()), layout)
        rows = zip(*own, strict=True) if own else repeat((), count)
        return map(SharedTexts, repeat(shared, count), rows)

    def _values(
        self, column: Any, count: int, check: Callable[[list[Any]], list[Any]]
    ) -> tuple[list[Any], bool]:
        """The values of a column, and whether it is one that all rows have."""
        if isinstance(column, list):
            (value,) = check(column)  # type: ignore[arg-type]
            return [value], True
        if "all" in column:
            values = check(column["all"])
        else:
            of = [self._shared(one) for one in check(column["of"])]
            values = [of[place] for place in _whole(column["at"])]
        if len(values) != count:
            raise TableError("columns of unequal length")
        return values, False

    def _shared(self, value: Any) -> Any:
        return self._texts.setdefault(value, value) if isinstance(value, str) else value


def _texts(values: list[Any]) -> list[str]:
    if set(map(type, values)) - {str}:
        raise TableError("not texts")
    return values


def _whole(values: list[Any]) -> list[int]:
    if set(map(type, values)) - {int}:
        raise TableError("not whole numbers")
    return values


def _contents(values: list[Any]) -> list[Content]:
    return [Content(value) for value in values]


def _times(values: list[Any]) -> list[float | None]:
    if set(map(type, values)) - {int, float, type(None)}:
        raise TableError("not times")
    return [None if value is None else float(value) for value in values]


def _lists(values: list[Any]) -> list[list[Any]]:
    if set(map(type, values)) - {list}:
        raise TableError("not lists")
    return values


def _lists_of_texts(values: list[Any]) -> list[tuple[str, ...]]:
    return [tuple(_texts(value)) for value in _lists(values)]


def _lists_of_times(values: list[Any]) -> list[tuple[float | None, ...]]:
    return [tuple(_times(value)) for value in _lists(values)]


_CHECKS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "sop_instance_uid": _texts,
    "kind": _texts,
    "rows": _whole,
    "columns": _whole,
    "frames": _whole,
    "number": _whole,
    "frame_time_ms": _times,
    "size_bytes": _whole,
    "mtime_ns": _whole,
    "content": _contents,
    "part": _whole,
    "references": _lists_of_texts,
    "note": _texts,
    "frame_times_ms": _lists_of_times,
    "changed_ns": _whole,
}
"""Fields of an `Instance` in their order, but for path and attributes; what checks their values."""

_ATTRIBUTES_AT = 6
SIZE_AT, MTIME_AT = 8, 9
"""Where in a row the file's size and time are."""
