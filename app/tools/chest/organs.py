"""Names of the structures that the chest segmentation can outline."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from app.paths import shipped_table
from app.tools.api import ToolRetry

EMBEDDED = ("Right Lung", "Left Lung", "Heart")
"""Structures of the embedded network; its heart is the cardiac silhouette."""

ALL: tuple[str, ...] = tuple(shipped_table("chest", "structures")["all"])
"""The 14 structures of ChestX-Det, in the order of the network's channels."""

COLOURED = (*EMBEDDED, *(name for name in ALL if name not in EMBEDDED))
"""The structures in the order of their fixed colours, on the canvas and in pictures."""

_OTHER_NAMES: dict[str, list[str]] = shipped_table("chest", "structures")["other_names"]


def match(requested: Sequence[str] | None, available: Sequence[str]) -> tuple[str, ...]:
    """Return the standard names of the requested structures, in the requested order, each once.

    Args:
        requested: Names in any case and spacing; None or an empty list for all in `available`.
        available: The structures that the installed model can outline. A structure that was
            requested by name is returned even if it is not among them.

    Raises:
        ToolRetry: A name is not one of the 14 structures; the message suggests similar ones.
    """
    if not requested:
        return tuple(available)
    names = {name_key(name): (name,) for name in ALL} | _OTHER_NAMES
    found: list[str] = []
    for name in requested:
        organs = names.get(name_key(name))
        if organs is None:
            raise ToolRetry(
                f"no structure is called {name!r}", remedy=_offer(name_key(name), list(names))
            )
        found += [organ for organ in organs if organ not in found]
    return tuple(found)


def name_key(name: str) -> str:
    """Return a name's letters in lower case, for comparisons that ignore case and spacing."""
    return re.sub(r"[^a-z]", "", name.lower())


def _offer(key: str, keys: list[str]) -> str:
    by_key = {name_key(name): name for name in ALL}
    near = difflib.get_close_matches(key, keys, n=3, cutoff=0.6)
    names = [organ for k in near for organ in _OTHER_NAMES.get(k, (by_key.get(k, ""),)) if organ]
    if names:
        return f"Did you mean {' or '.join(dict.fromkeys(names))}?"
    return f"Known structures: {', '.join(ALL)}."
