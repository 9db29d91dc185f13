"""Colours of findings by label: the same on the canvas, in lists and in the tools' pictures."""

from __future__ import annotations

from collections.abc import Sequence

COLORS = (
    "#4cc9f0",
    "#80ed99",
    "#ff8fa3",
    "#ffd166",
    "#c8a2ff",
    "#ff9f6b",
    "#6be4d0",
    "#f4a8ff",
    "#f0e442",
    "#8fb4ff",
    "#d4f06a",
    "#e0b48c",
    "#b7c4d0",
    "#ff6fcf",
)
"""The palette, as #rrggbb."""

RESERVED = 3
"""Colours at the start of the palette that only fixed labels get."""


class LabelColors:
    """Assigns each label an index into `COLORS`.

    Args:
        fixed: Labels that keep their colour whatever was found before them, in palette order. The
            tools declare them (`ToolSpec.labels`). All other labels get the colours after the
            reserved ones, by order of arrival.
    """

    def __init__(self, fixed: Sequence[str] = ()) -> None:
        self._fixed = {label.strip().lower(): place for place, label in enumerate(fixed)}
        self._others: dict[str, int] = {}

    def of(self, label: str) -> int:
        """Return the index that a label has, or would get next."""
        place = self._fixed.get(label.strip().lower())
        if place is not None:
            return place % len(COLORS)
        number = self._others.get(label, len(self._others))
        return RESERVED + number % (len(COLORS) - RESERVED)

    def take(self, label: str) -> int:
        """Return the index of a label and keep it for that label from now on."""
        place = self.of(label)
        if label.strip().lower() not in self._fixed:
            self._others.setdefault(label, len(self._others))
        return place


def rgb(color: str) -> tuple[int, int, int]:
    """Return red, green and blue (0 to 255) of "#rrggbb"."""
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue
