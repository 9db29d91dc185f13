"""Conversion of the app's frozen dataclasses to messages for `wire` and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

_CLASS = "$class"
_PLAIN = frozenset[Any]((str, int, bool, str | None, int | None))
_POINTS = tuple[tuple[float, float], ...]
_IN_UNIONS = frozenset(
    {
        *("Point", "Polyline", "Segments", "Polygon", "Box", "Ellipse", "Mask", "Heatmap"),
        *("Instances", "Label"),
    }
)
"""Classes that occur in unions (`Geometry | Label`); their messages carry the class name."""


def pack(value: Any) -> Any:
    """Convert a dataclass (of tuples, enums, paths, arrays, ...) to JSON values and arrays."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        message = {name: pack(getattr(value, name)) for name in _names(type(value))}
        if type(value).__name__ in _IN_UNIONS:
            message[_CLASS] = type(value).__name__
        return message
    if isinstance(value, tuple | list):
        items: tuple[Any, ...] | list[Any] = value
        return [list(item) if _is_point(item) else pack(item) for item in items]
    if isinstance(value, Mapping):
        mapping: Mapping[str, Any] = value
        return {key: pack(item) for key, item in mapping.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    return value


def _is_point(item: Any) -> bool:
    """Return whether a value is a tuple of floats; outlines hold a great many."""
    if type(item) is not tuple:
        return False
    parts = typing.cast("tuple[Any, ...]", item)
    return all(type(part) is float for part in parts)


def unpack(kind: type[T], message: Any) -> T:
    """Rebuild an object of type `kind` from a message made by `pack`."""
    return _build(kind, message)


@lru_cache(maxsize=64)
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


@lru_cache(maxsize=64)
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _build(kind: Any, value: Any) -> Any:
    origin = typing.get_origin(kind)
    if origin in (types.UnionType, typing.Union):
        if value is None:
            return None
        kinds = [k for k in typing.get_args(kind) if k is not type(None)]
        if len(kinds) > 1 and isinstance(value, dict):
            name = typing.cast("dict[str, Any]", value).get(_CLASS)
            kinds = [k for k in kinds if k.__name__ == name]
        return _build(kinds[0], value)
    if kind == _POINTS:
        return tuple((float(x), float(y)) for x, y in value)
    if origin is tuple:
        kinds = typing.get_args(kind)
        if len(kinds) == 2 and kinds[1] is Ellipsis:
            return tuple(_build(kinds[0], item) for item in value)
        return tuple(_build(k, item) for k, item in zip(kinds, value, strict=True))
    if isinstance(value, np.ndarray) or not isinstance(kind, type):
        return value
    if dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        fields = {
            # A plain value is what it is: no call for each of the many.
            key: item if hints[key] in _PLAIN else _build(hints[key], item)
            for key, item in value.items()
            if key != _CLASS
        }
        return kind(**fields)
    if issubclass(kind, Enum | Path):
        return kind(value)
    return float(value) if kind is float else value
