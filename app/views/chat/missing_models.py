"""Finds models that a tool reports as missing, so that the window can offer to install them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from app.views.translation import tr

# `ModelStore.require` and `how_to_get` name a card in a command, however the program is called.
_CARD = re.compile(r"\bmodels (?:get|accept) ([a-z0-9][a-z0-9._-]*[a-z0-9])")
_COMMAND = re.compile(r"(?:Run|Read and accept them:) `")
_FILE = re.compile(r" \([\w.-]+\.(?:pth?|bin|safetensors)\)")


def card_names(value: Any) -> tuple[str, ...]:
    """Return the models that texts in `value` (nested) tell the user to install or accept."""
    found = (name for text in _texts(value) for name in _CARD.findall(text))
    return tuple(dict.fromkeys(found))


def without_commands(error: str) -> str:
    """Return an error's text without its commands to install models; the window has a button."""
    found = _COMMAND.search(error)
    cut = found is not None and found.start() > 0 and card_names(error)
    return error[: found.start()].rstrip() if found and cut else error


def without_files(text: str) -> str:
    """Return `text` without the names of weights files in brackets, e.g. " (model.pt)"."""
    return _FILE.sub("", text)


def summary(names: Iterable[str]) -> str:
    """Return a sentence that says that models with these names are not installed or accepted."""
    listed = tuple(dict.fromkeys(names))
    text = (
        tr("A model needed for this is not installed or not accepted: {names}.")
        if len(listed) == 1
        else tr("Models needed for this are not installed or not accepted: {names}.")
    )
    return text.format(names=", ".join(listed))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Iterable):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
