"""Models that a tool's text says are missing: told once for a question, with a way to get them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# How `ModelStore.require` and `how_to_get` name a card, wherever the program is called from.
_NAMED = re.compile(r"\bmodels (?:get|accept) ([a-z0-9][a-z0-9._-]*[a-z0-9])")

_COMMAND = re.compile(r"(?:Run|Read and accept them:) `")

_FILE = re.compile(r" \([\w.-]+\.(?:pth?|bin|safetensors)\)")


def named(*texts: str) -> tuple[str, ...]:
    """Cards of the models that these texts say are not installed, or wait for their terms."""
    return tuple(dict.fromkeys(name for text in texts for name in _NAMED.findall(text)))


def shortened(error: str) -> str:
    """What is missing, without the commands that get it: the window has a button for that."""
    found = _COMMAND.search(error)
    return error[: found.start()].rstrip() if found and found.start() and named(error) else error


def without_files(text: str) -> str:
    """Without the names of the files that hold a model: its title says which it is."""
    return _FILE.sub("", text)


def texts_of(error: str, *parts: Mapping[str, Any]) -> Iterator[str]:
    """What a result says that may name one: its error, its warnings, its notes."""
    yield error
    for part in parts:
        for value in part.values():
            yield from _strings(value)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, Iterable):
        for item in value:
            yield from _strings(item)


def line(names: Iterable[str]) -> str:
    """One line that names each once."""
    listed = tuple(dict.fromkeys(names))
    verb = "is" if len(listed) == 1 else "are"
    what = "A model that was needed" if len(listed) == 1 else "Models that were needed"
    return f"{what} {verb} not installed, or not agreed to: {', '.join(listed)}."
