"""What differs between the recorded result of a tool call and that of the same call made again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

MOST = 20  # differences told of one call
_SHOWN = 80
_FINDING = ("image", "geometry", "label", "score", "units", "value", "description", "approximate")
_MADE_BY = ("tool", "tool_version", "model", "weights_sha256")


@dataclass(slots=True)
class Comparison:
    """Compares results; what is named anew each time is known by what it holds.

    A file is compared by what is in it and not by its name, and once it was found to be the same
    its old name means the new one.

    Attributes:
        old_dir: Where the recorded files lie.
        new_dir: Where those made again lie.
        renamed: Old names of files and findings, and their new ones.
    """

    old_dir: Path
    new_dir: Path
    renamed: dict[str, str] = field(default_factory=dict[str, str])

    def results(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
        """The differences, as sentences; [] when there are none.

        Args:
            old: As `Thread.result` gives it.
            new: The same keys.
        """
        if old.get("status") != new.get("status"):
            told = f" ({_text(new.get('error'))})" if new.get("error") else ""
            return [f"status: {old.get('status')} then, {new.get('status')} now{told}"]
        if old.get("status") != "ok":
            return []
        findings = list(self._findings(old.get("findings") or [], new.get("findings") or []))
        parts = (
            self._values(key, old.get(key), new.get(key))
            for key in ("output", "metadata")
            if key in old
        )
        shown = self._artifacts(old.get("artifacts") or [], new.get("artifacts") or [])
        found = [*findings, *(one for part in parts for one in part), *shown]
        return found if len(found) <= MOST else [*found[:MOST], f"and {len(found) - MOST} more"]

    def _findings(self, old: list[Any], new: list[Any]) -> Iterator[str]:
        if len(old) != len(new):
            yield f"findings: {len(old)} then, {len(new)} now"
        for number, (before, after) in enumerate(zip(old, new, strict=False)):
            where = f"findings[{number}]"
            self.renamed[str(before.get("id"))] = str(after.get("id"))
            for key in _FINDING:
                yield from self._values(f"{where}.{key}", before.get(key), after.get(key))
            made, now = _mapping(before.get("provenance")), _mapping(after.get("provenance"))
            for key in _MADE_BY:
                yield from self._values(f"{where}.{key}", made.get(key), now.get(key))

    def _artifacts(self, old: list[Any], new: list[Any]) -> Iterator[str]:
        if len(old) != len(new):
            yield f"artifacts: {len(old)} then, {len(new)} now"
        for number, (before, after) in enumerate(zip(old, new, strict=False)):
            for key in ("path", "role", "title", "description"):
                where = f"artifacts[{number}].{key}"
                yield from self._values(where, before.get(key), after.get(key))

    def _values(self, where: str, old: Any, new: Any) -> Iterator[str]:
        match old, new:
            case dict(), dict():
                for key in sorted({*old, *new}, key=str):
                    if key not in new:
                        yield f"{where}.{key}: missing now"
                    elif key not in old:
                        yield f"{where}.{key}: new"
                    else:
                        yield from self._values(f"{where}.{key}", old[key], new[key])
            case list(), list():
                if len(old) != len(new):
                    yield f"{where}: {len(old)} entries then, {len(new)} now"
                for number, (before, after) in enumerate(zip(old, new, strict=False)):
                    yield from self._values(f"{where}[{number}]", before, after)
            case str(), str():
                yield from self._strings(where, old, new)
            case (int() | float(), int() | float()) if type(old) is not bool is not type(new):
                if old != new:
                    by = abs(new - old)
                    size = f" (by {by:.3g})" if math.isfinite(by) else ""
                    yield f"{where}: {old} then, {new} now{size}"
            case _ if old != new or type(old) is not type(new):
                yield f"{where}: {_text(old)} then, {_text(new)} now"
            case _:
                return

    def _strings(self, where: str, old: str, new: str) -> Iterator[str]:
        if old == new or self.renamed.get(old) == new:
            return
        before, after = inside(old, self.old_dir), inside(new, self.new_dir)
        if before is not None and after is not None:
            difference = _files_differ(before, after)
            if difference:
                yield f"{where}: {difference}"
            else:
                self.renamed[old] = new
            return
        if self._translated(old) != new:
            yield f"{where}: {_text(old)} then, {_text(new)} now"

    def _translated(self, text: str) -> str:
        """Text in which a name of then stands, e.g. a summary with a path in it."""
        for old, new in self.renamed.items():
            text = text.replace(old, new)
        return text.replace(str(self.old_dir), str(self.new_dir))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def inside(text: str, folder: Path) -> Path | None:
    """The path that `text` is, when it lies in `folder`."""
    path = Path(text) if text and "\0" not in text else None
    if path is None or not path.is_absolute() or ".." in path.parts:
        return None
    return path if path.is_relative_to(folder) and path != folder else None


def _files_differ(old: Path, new: Path) -> str:
    try:
        before, after = old.read_bytes(), new.read_bytes()
    except OSError as error:
        which = "the recorded file" if not old.is_file() else "the file made now"
        return f"{which} cannot be read ({error.strerror or type(error).__name__})"
    if before == after:
        return ""
    if old.suffix.lower() != ".png" or new.suffix.lower() != ".png":
        return f"{old.name} holds something else now"
    try:
        with Image.open(old) as first, Image.open(new) as second:
            pixels, others = np.asarray(first), np.asarray(second)
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        return f"{old.name} cannot be compared ({type(error).__name__})"
    if pixels.shape != others.shape:
        return f"{old.name} is {pixels.shape[:2]} then, {others.shape[:2]} now (rows, columns)"
    count = int(np.count_nonzero(pixels != others))
    return f"{old.name}: {count} of {pixels.size} pixel values differ" if count else ""


def _text(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
