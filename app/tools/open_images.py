"""The images that were open when a question was asked, and the names that they go by."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.imaging.files import synthetic
from app.imaging.findings import Finding
from app.imaging.space import projections
from app.imaging.types import Instance, Window

_TOLD = 200  # images that a language model is told of


@dataclass(frozen=True, slots=True)
class OpenImage:
    """An image as it was shown when the run started.

    Attributes:
        id: The app's id: "image-1" is the current one.
        instance: Which file.
        frame_index: The frame that was shown.
        window: The window it was shown with; None for the file's own.
        invert: Whether the user had inverted the greys. The tools get the natural polarity, which
            is what their models expect.
        drawn: What the user has marked on it with boxes and points, of any frame, the latest last.
    """

    id: str
    instance: Instance
    frame_index: int = 0
    window: Window | None = None
    invert: bool = False
    drawn: tuple[Finding, ...] = ()


class OpenImages:
    """Finds open images by what a tool or a language model calls them.

    Args:
        opened: The current image first.
    """

    def __init__(self, opened: Iterable[OpenImage]) -> None:
        self._opened = tuple(opened)
        # Resolved now, when the user has just opened them; what a link points to may change later.
        self._paths: dict[Path, OpenImage] = {}
        folders: dict[Path, Path] = {}
        for image in reversed(self._opened):
            for path in _names_of(image.instance.path, folders):
                self._paths[path] = image

    def find(self, name: str) -> OpenImage | None:
        """By id, by full path, or by a file name that only one open image has."""
        wanted = name.strip()
        for image in self._opened:
            if wanted.lower() == image.id.lower():
                return image
        if not wanted or "\0" in wanted:
            return None
        found = self._paths.get(lexical(Path(wanted))) if Path(wanted).is_absolute() else None
        if found is None and Path(wanted).name == wanted:
            same = {i.instance.path: i for i in self._opened if i.instance.path.name == wanted}
            found = next(iter(same.values())) if len(same) == 1 else None
        return found

    def notes(self, remote: bool) -> list[dict[str, Any]]:
        """What a language model is told of the open images (`Message.images`), current one first.

        Args:
            remote: Leave out paths, since folder and file names often carry patients' names; the
                id stands in their place.
        """
        return [
            {
                "id": image.id,
                "path": image.id if remote else str(image.instance.path),
                "kind": image.instance.kind,
                "content": image.instance.content.value,
                "modality": image.instance.get("Modality"),
                "view": projections.projection_name(image.instance),
                "rows": image.instance.rows,
                "columns": image.instance.columns,
                "frames": image.instance.frames,
                **_drawn_by_a_model(image.instance),
            }
            for image in self._opened[:_TOLD]
        ]


def _names_of(path: Path, folders: dict[Path, Path]) -> tuple[Path, Path]:
    """A file's path as text, and where it really lies; `folders` remembers where folders lie."""
    named = lexical(path)
    if named.is_symlink():
        return named, named.resolve()
    parent = named.parent
    if parent not in folders:
        folders[parent] = parent.resolve()
    return named, folders[parent] / named.name


def _drawn_by_a_model(instance: Instance) -> dict[str, bool]:
    """Whether it shows no patient, nothing of any other image; the file's words stay out."""
    return {"synthetic": True} if instance.get(synthetic.ATTRIBUTE) else {}


def lexical(path: Path) -> Path:
    """Absolute, with "." and ".." taken out of the text; the disk is not looked at."""
    return Path(os.path.normpath(path.absolute()))
