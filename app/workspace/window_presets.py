"""The user's own window presets by modality, kept in a file of the settings folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from app.imaging.pixels.windows import presets, valid_window
from app.imaging.types import Window
from app.user_files import UserFile

MOST = 20
"""Largest number of presets of a modality; the first nine have keys."""

LONGEST = 40  # characters of a name

OwnPresets = Mapping[str, tuple[Window, ...]]
"""Presets by modality; one without an entry has those that are shipped."""


class WindowPresets:
    """The window presets of the user's own.

    Args:
        file: The file that keeps them; None to keep them for this run only.

    Attributes:
        own: The presets by modality.
        problem: A sentence for the user if the file could not be used; else "".
    """

    def __init__(self, file: Path | None = None) -> None:
        empty: OwnPresets = MappingProxyType({})
        self._file = UserFile(file, "Your window presets", empty, _parse, _dump)
        self.own = self._file.read()
        self.problem = self._file.problem

    def of(self, modality: str) -> tuple[Window, ...]:
        """Return the presets of a modality, the user's own or those that are shipped."""
        return self.own.get(modality.upper(), presets(modality))

    def save(self, modality: str, wanted: Sequence[Window] | None) -> None:
        """Keep the presets of a modality; None for those that are shipped.

        Raises:
            OSError: They cannot be written; they hold until the program ends.
        """

        def change(known: OwnPresets) -> OwnPresets:
            others = {name: own for name, own in known.items() if name != modality.upper()}
            return others if wanted is None else others | {modality.upper(): tuple(wanted)}

        try:
            self.own = self._file.change(change)
        except OSError:
            self.own = change(self.own)
            raise


def checked(name: str, center: float, width: float) -> Window:
    """Return a preset.

    Raises:
        ValueError: The name is empty or too long, or the numbers are no window; says why.
    """
    if not 0 < len(name) <= LONGEST:
        raise ValueError(f"A name has 1 to {LONGEST} characters.")
    window = valid_window(Window(center, width, explanation=name))
    if window is None:
        raise ValueError("The width must be above 0, and both numbers below 100 billion.")
    return window


def _parse(data: Any) -> OwnPresets:
    found: dict[str, tuple[Window, ...]] = {}
    for modality, rows in cast("dict[str, list[dict[str, Any]]]", data["presets"]).items():
        if len(rows) > MOST or not 0 < len(modality) <= 16:
            raise ValueError("too many presets, or no modality")
        found[modality.upper()] = tuple(
            checked(_text(one["name"]), float(one["center"]), float(one["width"])) for one in rows
        )
    return found


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is a text")
    return value


def _dump(own: OwnPresets) -> Any:
    rows = {
        modality: [
            {"name": one.explanation, "center": one.center, "width": one.width} for one in windows
        ]
        for modality, windows in own.items()
    }
    return {"version": 1, "presets": rows}
