"""Attributes of many instances in little memory: what a series has in common is held once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Layout = Mapping[str, "str | int"]
"""Keyword -> the text that all have, or the place of an instance's own text among its own."""


class SharedTexts(Mapping[str, str]):
    """A read-only mapping whose keys, and texts that all have, are shared.

    Attributes:
        layout: What it shares with others; not to be changed.
        own: Its own texts, in the order of the places in `layout`.
    """

    __slots__ = ("layout", "own")

    def __init__(self, layout: Layout, own: tuple[str, ...]) -> None:
        self.layout = layout
        self.own = own

    def __getitem__(self, key: str) -> str:
        found = self.layout[key]
        return found if isinstance(found, str) else self.own[found]

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout)

    def __len__(self) -> int:
        return len(self.layout)

    def __contains__(self, key: object) -> bool:
        return key in self.layout

    def get(self, key: str, default: Any = None) -> Any:
        """The text, or `default`."""
        found = self.layout.get(key)
        if found is None:
            return default
        return found if isinstance(found, str) else self.own[found]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SharedTexts) and other.layout is self.layout:
            return self.own == other.own
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(dict(self))
