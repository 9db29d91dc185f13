"""The colour of each label, the same on the canvas, in lists and in tools' pictures."""

from __future__ import annotations

from collections.abc import Sequence

from app.paths import shipped_table

COLORS: tuple[str, ...] = tuple(shipped_table("colors", "findings")["colors"])
"""The palette, as #rrggbb."""

RESERVED = 3
"""Colours at the start of the palette that only fixed labels get."""


class LabelColors:
    """Gives the labels of findings their colours, each an index into the palette `COLORS`.

    Args:
        fixed: Labels that always have the same colour, in palette order, whichever labels were
            found before. The tools declare them (`ToolSpec.labels`). All other labels get colours
            from index `RESERVED` on, in the order in which they first appear.
    """

    def __init__(self, fixed: Sequence[str] = ()) -> None:
        self._fixed = {label.strip().lower(): place for place, label in enumerate(fixed)}
        self._others: dict[str, int] = {}

    def of(self, label: str) -> int:
        """Return a label's colour index; for a new label the one that `take` would assign."""
        place = self._fixed.get(label.strip().lower())
        if place is not None:
            return place % len(COLORS)
        number = self._others.get(label, len(self._others))
        return RESERVED + number % (len(COLORS) - RESERVED)

    def take(self, label: str) -> int:
        """Return a label's colour index, assigning the next one to a new label."""
        place = self.of(label)
        if label.strip().lower() not in self._fixed:
            self._others.setdefault(label, len(self._others))
        return place


def rgb(color: str) -> tuple[int, int, int]:
    """Return the red, green and blue values (0 to 255) of a colour written as "#rrggbb"."""
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue
