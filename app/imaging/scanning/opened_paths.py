"""Turn opened paths into tasks for the listing, and tell which paths hold no images.

The window's process imports this module, but not `listing` with its readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.imaging.openable import no_images_problem
from app.imaging.types import Problem

MAX_FILES = 200_000

PATIENCE_S = 1.0
FILES_PER_S = 20_000
"""Rate below which a drive counts as slow. A scan that shows its first study early is then better
than a check of all files."""

Tasks = list[list[Any]]
"""Remaining tasks, the next one last: [kind, path, root, depth]. Kind is "path", "folder" or "zip";
root is the index of the opened path."""


def listing_tasks(paths: Sequence[Path]) -> Tasks:
    """Return the tasks with which a listing begins (see `list_entry`): one for each opened path."""
    return [["path", str(path), root, 0] for root, path in enumerate(paths)][::-1]


def empty_path_problems(paths: Sequence[Path], fruitful: set[int]) -> list[Problem]:
    """Return a problem for each path whose index is not in `fruitful`: it has no images."""
    return [no_images_problem(path) for root, path in enumerate(paths) if root not in fruitful]


def is_slow(files: int, seconds: float) -> bool:
    """Return whether a drive is slow: it gave fewer than `FILES_PER_S` files a second.

    False while `seconds` is at most `PATIENCE_S`.
    """
    return seconds > PATIENCE_S and files < seconds * FILES_PER_S


def too_many_files(folder: Path) -> Problem:
    """Return the problem to report for a folder that holds too many files."""
    return Problem(folder, "it contains too many files", "Open a part of it")
