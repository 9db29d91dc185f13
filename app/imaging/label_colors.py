"""Colours of findings by their label: the same on the canvas, in lists and in tools' pictures."""

from __future__ import annotations

COLORS = (
    "#4cc9f0",  # right lung
    "#80ed99",  # left lung
    "#ff8fa3",  # heart
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
_STRUCTURES = (
    "right lung",
    "left lung",
    "heart",
    "left clavicle",
    "right clavicle",
    "left scapula",
    "right scapula",
    "left hilus pulmonis",
    "right hilus pulmonis",
    "aorta",
    "facies diaphragmatica",
    "mediastinum",
    "weasand",
    "spine",
)
"""Structures that look the same whatever was found before them; nothing else looks like the first
three of them."""
_OWN = 3


class LabelColors:
    """Gives each label a place in `COLORS`: structures their own, others by order of arrival."""

    def __init__(self) -> None:
        self._others: dict[str, int] = {}

    def of(self, label: str) -> int:
        """The place that a label has or would get."""
        name = label.strip().lower()
        if name in _STRUCTURES:
            return _STRUCTURES.index(name)
        number = self._others.get(label, len(self._others))
        return _OWN + number % (len(COLORS) - _OWN)

    def take(self, label: str) -> int:
        """The place of a label, which keeps it from now on."""
        place = self.of(label)
        if label.strip().lower() not in _STRUCTURES:
            self._others.setdefault(label, len(self._others))
        return place


def rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue of "#rrggbb"."""
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue
