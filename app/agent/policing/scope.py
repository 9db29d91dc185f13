"""What a run may touch: the open images, and its own output folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from app import paths

_LISTED = 8


@dataclass(frozen=True)
class Scope:
    """What arguments may name.

    Attributes:
        folder: The run's own output folder; None where there is none.
        names: Ids and paths of the open images, and of pictures made in the run.
        knows: Asks the images themselves, which also know links and file names; None where there
            is nobody to ask.
        protected: Folders of the program itself: nothing is written there by a tool.
    """

    folder: Path | None = None
    names: tuple[str, ...] = ()
    knows: Callable[[str], bool] | None = None
    protected: tuple[Path, ...] = ()

    @classmethod
    def of(cls, images: Any, notes: Sequence[Mapping[str, Any]], folder: Path) -> Scope:
        """The scope of a run.

        Args:
            images: `app.tools.api.Images`.
            notes: What is open, as `RunRequest.image_notes`.
            folder: The run's output folder.
        """
        names = _names(images, notes)
        own = (paths.config_dir(), paths.data_dir(), paths.log_dir(), paths.cache_dir())
        return cls(folder, names, getattr(images, "knows", None), own)

    def renewed(self, images: Any, notes: Sequence[Mapping[str, Any]]) -> Scope:
        """The same with the pictures that were made since; its folders stay where they are."""
        names = _names(images, notes)
        # The same one where nothing was made: what it knows of its names is kept.
        return self if names == self.names else replace(self, names=names)

    def holds(self, name: str) -> bool:
        """Whether a text names an open image, or something that lies in the run's folder."""
        wanted = name.strip()
        if not wanted or "\0" in wanted:
            return False
        if wanted in self._known or wanted.lower() in self._known:
            return True
        return (self.knows is not None and self.knows(wanted)) or self.inside(wanted)

    def inside(self, name: str) -> bool:
        """Whether a path lies below the run's folder, links followed; a relative one must exist.

        A tool may open a relative path from wherever the program was started. One that is there in
        the run's folder was made by a tool of the run, which is what is meant.
        """
        if self.folder is None or "\0" in name:
            return False
        try:
            own = Path(os.path.normpath(self.folder.absolute()))
            real = own.resolve()
            path = Path(os.path.normpath(own / name))
            # By its text first: elsewhere nothing is even looked at (\\server\share logs in there).
            if not any(_below(path, base) for base in (own, real)):
                return False
            followed = path.resolve()
            return _below(followed, real) and (Path(name).is_absolute() or followed.exists())
        except (OSError, RuntimeError, ValueError):
            return False

    def target(self, name: str) -> Path | None:
        """Where a file would really be written, links followed; None where that is not clear."""
        try:
            path = Path(name)
            if not path.is_absolute():
                if self.folder is None:
                    return None
                path = self.folder / path
            return Path(os.path.normpath(path.absolute())).resolve() if _plain(path) else None
        except (OSError, RuntimeError, ValueError):
            return None

    def in_folder(self, path: Path) -> bool:
        """Whether a resolved path lies below the run's folder."""
        return self.folder is not None and _below(path, self.folder.resolve())

    def is_protected(self, path: Path) -> bool:
        """Whether a resolved path is the program's own, or that of an open image."""
        own = any(_below(path, base.resolve()) or path == base.resolve() for base in self.protected)
        return own or str(path) in self._known or (self.knows is not None and self.knows(str(path)))

    def offer(self) -> str:
        """What can be named, for whoever named something else."""
        ids = [name for name in self.names if name not in self.paths]
        if not ids:
            return "No image is open: ask the user to open one."
        more = "" if len(ids) <= _LISTED else f" and {len(ids) - _LISTED} more"
        return f"Use one of: {', '.join(ids[:_LISTED])}{more}."

    @cached_property
    def paths(self) -> frozenset[str]:
        """The names that are whole paths."""
        # Not by Path: a study may have ten thousand images, and this is asked at each call.
        return frozenset(filter(os.path.isabs, self.names))

    @cached_property
    def _known(self) -> frozenset[str]:
        """All names; ids in small letters as well, since they are understood either way."""
        ids = set(self.names) - self.paths
        return frozenset((*self.names, *(name.lower() for name in ids)))


NO_SCOPE = Scope()


def _below(path: Path, base: Path) -> bool:
    return path != base and path.is_relative_to(base)


def _plain(path: Path) -> bool:
    """No "..": where that leads depends on links that may change."""
    return ".." not in path.parts


def _names(images: Any, notes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Ids and paths of the open images, and of pictures made in the run."""
    told = (str(note.get(key, "")) for note in notes for key in ("id", "path"))
    names = dict.fromkeys([*told, *images.names()])
    names.pop("", None)
    return tuple(names)
