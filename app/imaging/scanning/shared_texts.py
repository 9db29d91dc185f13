"""Attributes of many instances in little memory: what a series has in common is held once."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from app.imaging.processes.records import unpack
from app.imaging.types import Instance


class SharedTexts(Mapping[str, str]):
    """A read-only mapping whose keys are shared by all that have the same keys."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: tuple[str, ...]) -> None:
        self._places = places
        self._values = values

    def __getitem__(self, key: str) -> str:
        return self._values[self._places[key]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))


_CONVERTED: dict[str, Any] = {
    name: hint
    for name, hint in typing.get_type_hints(Instance).items()
    if hint not in (str, int) and name not in ("path", "attributes")
}
"""Fields that are not in a message as they are in an `Instance`."""


class InstanceBuilder:
    """Makes instances from messages; texts that equal those of the one before are shared."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[str, ...], tuple[dict[str, int], list[str]]] = {}

    def build(self, path: Path, message: Mapping[str, Any]) -> Instance:
        """An instance that was read from `path`.

        Raises:
            KeyError, TypeError, ValueError: The message does not describe one.
        """
        texts = self._shared(message["attributes"])
        fields: dict[str, Any] = {**message, "path": path, "attributes": texts}
        for name, hint in _CONVERTED.items():
            value = fields.get(name)
            if value is not None:
                fields[name] = unpack(hint, value) if value != [] else ()
        return Instance(**fields)

    def _shared(self, attributes: Mapping[str, Any]) -> SharedTexts:
        keys = tuple(attributes)
        layout = self._layouts.get(keys)
        if layout is None:
            places = {key: place for place, key in enumerate(keys)}
            layout = self._layouts[keys] = (places, [""] * len(keys))
        places, last = layout
        for place, value in enumerate(attributes.values()):
            if not isinstance(value, str):
                raise TypeError("an attribute's text is none")
            if last[place] != value:
                last[place] = value
        return SharedTexts(places, tuple(last))
