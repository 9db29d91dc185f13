"""The files behind what is opened: folders, DICOMDIRs. Runs in a worker process.

What is not listed becomes a `Problem` with its reason; only what an operating system puts beside
files (`.DS_Store`, `Thumbs.db`, hidden files), and a DICOMDIR inside a folder whose images are
listed anyway, are passed over.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.imaging import guards
from app.imaging.types import Problem

MAX_FILES = 200_000
MAX_DEPTH = 64
_JUNK = frozenset({"thumbs.db", "desktop.ini", "ehthumbs.db"})


def list_entry(payload: dict[str, Any]) -> dict[str, Any]:
    """`list_files` in a worker: a network drive may block for long."""
    files, problems = list_files([Path(text) for text in payload["paths"]])
    return {
        "files": [str(path) for path in files],
        "problems": [[str(p.path), p.reason, p.remedy] for p in problems],
    }


def list_files(paths: Sequence[Path]) -> tuple[list[Path], list[Problem]]:
    """The files behind paths, folders walked to their depths in natural order.

    Links to folders are not followed: they may lead out of the folder or back into it. A DICOMDIR
    named by itself stands for its folder.
    """
    files: dict[Path, None] = {}
    problems: list[Problem] = []
    for path in paths:
        target = path.parent if path.name.upper() == "DICOMDIR" else path
        if not target.is_dir():
            files[target] = None
            continue
        found: dict[Path, None] = {}
        known = len(problems)
        _walk(target, found, problems, 0)
        if not found and len(problems) == known:
            problems.append(without_images(target))
        files |= found
    return list(files), problems


def _walk(folder: Path, files: dict[Path, None], problems: list[Problem], depth: int) -> None:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: natural_key(entry.name))
    except OSError as error:
        problem = guards.unreadable(folder, error)
        problems.append(Problem(folder, problem.reason, problem.remedy))
        return
    for entry in found:
        path = folder / entry.name
        if entry.name.startswith(".") or entry.name.lower() in _JUNK:
            continue
        if len(files) >= MAX_FILES or depth >= MAX_DEPTH:
            problems.append(Problem(folder, "it holds too many files", "Open a part of it"))
            return
        if entry.is_dir(follow_symlinks=False):
            _walk(path, files, problems, depth + 1)
        elif entry.is_symlink() and entry.is_dir():
            problems.append(
                Problem(path, "it is a link to a folder, which is not followed", "Open that folder")
            )
        elif entry.name.upper() != "DICOMDIR":
            files[path] = None


def natural_key(text: str) -> list[tuple[int, int, str]]:
    """A sort key that puts "2" before "10"."""
    parts = re.findall(r"\d+|\D+", text)
    return [(0, int(p), p) if p.isdecimal() else (1, 0, p.casefold()) for p in parts]


def without_images(folder: Path) -> Problem:
    """The words for a folder in which nothing was found."""
    return Problem(
        folder,
        "there are no images in this folder",
        "Choose a folder with DICOM, PNG or JPEG files",
    )
