"""What the user opened: as work to be listed, and the words for paths that gave nothing.

The window's own process imports this; what `listing` needs to do the work stays in the workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.imaging.openable import without_images
from app.imaging.types import Problem

MAX_FILES = 200_000

PATIENCE_S = 1.0
FILES_PER_S = 20_000
"""Where asking for files' times goes slower than this, the drive is slow: a scan that tells its
first study early is better than a walk through all of them."""

Todo = list[list[Any]]
"""What is left to do, the next last: [kind, path, root, depth]; kind is "path", "folder" or "zip";
root is the index of the opened path that it belongs to."""


def start(paths: Sequence[Path]) -> Todo:
    """What is to be done to list the files behind paths."""
    return [["path", str(path), root, 0] for root, path in enumerate(paths)][::-1]


def barren(paths: Sequence[Path], fruitful: set[int]) -> list[Problem]:
    """The problems of opened paths behind which there was nothing at all."""
    return [without_images(path) for root, path in enumerate(paths) if root not in fruitful]


def is_slow(files: int, seconds: float) -> bool:
    """Whether a walk that has come to so many files in this time had better be given up."""
    return seconds > PATIENCE_S and files < seconds * FILES_PER_S


def too_many(folder: Path) -> Problem:
    """The words for a folder that is not walked to its end."""
    return Problem(folder, "it holds too many files", "Open a part of it")
