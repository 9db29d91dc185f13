"""The scope of a run: the open images and its own output folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from app import paths

_MAX_LISTED = 8


@dataclass(frozen=True)
class Scope:
    """The files that the arguments of a run's calls may name.

    Attributes:
        folder: The run's own output folder; None if it has none.
        names: Ids and paths of the open images, and of pictures made in the run.
        knows: Reports whether a text names an open image in another way (a link, a file name);
            None if there are no images.
        made: Reports whether a resolved path in the folder is of a file made by the run; None if
            every file in it is.
        protected: Folders of the program itself, where no tool may write.
    """

    folder: Path | None = None
    names: tuple[str, ...] = ()
    knows: Callable[[str], bool] | None = None
    made: Callable[[Path], bool] | None = None
    protected: tuple[Path, ...] = ()

    @classmethod
    def for_run(cls, images: Any, notes: Sequence[Mapping[str, Any]], folder: Path) -> Scope:
        """Return the scope of a run with these `RunImages`, image notes and output folder."""
        names = _names(images, notes)
        own = (paths.config_dir(), paths.data_dir(), paths.log_dir(), paths.cache_dir())
        known, made = (getattr(images, name, None) for name in ("knows", "is_made"))
        return cls(folder, names, known, made, own)

    def refreshed(self, images: Any, notes: Sequence[Mapping[str, Any]]) -> Scope:
        """Return the scope with the images' current names; this same object if none has changed."""
        names = _names(images, notes)
        # The same object keeps its cached sets of names.
        return self if names == self.names else replace(self, names=names)

    def holds(self, name: str) -> bool:
        """Return whether a text names an open image or a file made by the run."""
        wanted = name.strip()
        if not wanted or "\0" in wanted:
            return False
        if wanted in self._all_names or wanted.lower() in self._all_names:
            return True
        return (self.knows is not None and self.knows(wanted)) or self.contains(wanted)

    def contains(self, name: str) -> bool:
        """Return whether a path, with links resolved, is a file that the run made in its folder.

        A relative path counts only if its file exists there: otherwise, a tool might find it in the
        folder in which the program was started.
        """
        if self.folder is None or "\0" in name:
            return False
        try:
            own = Path(os.path.normpath(self.folder.absolute()))
            real = own.resolve()
            path = Path(os.path.normpath(own / name))
            # By its text first: merely looking at \\server\share would log in there.
            if not any(_is_below(path, base) for base in (own, real)):
                return False
            followed = path.resolve()
            if not _is_below(followed, real) or (self.made is not None and not self.made(followed)):
                return False
            return Path(name).is_absolute() or followed.exists()
        except (OSError, RuntimeError, ValueError):
            return False

    def target(self, name: str) -> Path | None:
        """Return the resolved path to which writing to `name` leads; None if unclear ("..")."""
        try:
            path = Path(name)
            if not path.is_absolute():
                if self.folder is None:
                    return None
                path = self.folder / path
            # Where ".." leads depends on links, which may change before the file is written.
            if ".." in path.parts:
                return None
            return Path(os.path.normpath(path.absolute())).resolve()
        except (OSError, RuntimeError, ValueError):
            return None

    def contains_resolved(self, path: Path) -> bool:
        """Return whether a resolved path lies below the run's folder."""
        return self.folder is not None and _is_below(path, self.folder.resolve())

    def is_protected(self, path: Path) -> bool:
        """Return whether a resolved path is that of an open image or belongs to the program."""
        if any(path.is_relative_to(folder.resolve()) for folder in self.protected):
            return True
        return str(path) in self._all_names or (self.knows is not None and self.knows(str(path)))

    def hint(self) -> str:
        """Return a sentence that tells a model which images its arguments may name."""
        ids = [name for name in self.names if name not in self.paths]
        if not ids:
            return "No image is open: ask the user to open one."
        more = "" if len(ids) <= _MAX_LISTED else f" and {len(ids) - _MAX_LISTED} more"
        return f"Use one of: {', '.join(ids[:_MAX_LISTED])}{more}."

    @cached_property
    def paths(self) -> frozenset[str]:
        """The elements of `names` that are absolute paths."""
        # Not `Path.is_absolute`: a study may have ten thousand images, and each call needs this.
        return frozenset(filter(os.path.isabs, self.names))

    @cached_property
    def _all_names(self) -> frozenset[str]:
        """All names; ids in lower case as well, since tools understand them in either case."""
        ids = set(self.names) - self.paths
        return frozenset((*self.names, *(name.lower() for name in ids)))


NO_SCOPE = Scope()
"""The scope of a call outside a run: no file may be named."""


def _is_below(path: Path, base: Path) -> bool:
    return path != base and path.is_relative_to(base)


def _names(images: Any, notes: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    noted = (str(note.get(key, "")) for note in notes for key in ("id", "path"))
    names = dict.fromkeys([*noted, *images.names()])
    names.pop("", None)
    return tuple(names)
