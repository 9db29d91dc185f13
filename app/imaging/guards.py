"""Checks made before a file is read or decoded, and errors that explain a refusal."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from app.errors import FileProblem

MAX_SAMPLES = 2**28
"""Limit of samples in one frame: 268 million, ten times a digital mammogram."""

MAX_FRAMES = 10**6
MAX_PICTURE_BYTES = 2**30

_LARGE_SAMPLES = 2**26
_MOST_SAMPLES_A_BYTE = 20_000
"""Highest plausible compression; only a large blank image exceeds it."""

COPY_AGAIN = "Copy it again from its source, or ask for a new export"


def problem(path: Path | str, reason: str, remedy: str = "", detail: str = "") -> FileProblem:
    """Return a `FileProblem` with reason and remedy for the user, and `detail` for the log only."""
    return FileProblem(reason, subject=str(path), remedy=remedy, detail=detail)


class Unreadable(FileProblem):
    """Raised if a file cannot be read now (disk, network, permission); a retry may work."""


def check_regular(path: Path, status: os.stat_result) -> None:
    """Raise FileProblem if `status` is that of a folder, a device, a pipe or an empty file."""
    if stat.S_ISDIR(status.st_mode):
        raise problem(path, "it is a folder, not a file", "Open the folder to see its images")
    if not stat.S_ISREG(status.st_mode):
        raise problem(path, "it is a device or a pipe, not a file")
    if status.st_size == 0:
        raise empty_file(path)


def empty_file(path: Path) -> FileProblem:
    """Return the error for an empty file."""
    return problem(path, "the file is empty", COPY_AGAIN)


def unreadable_file(path: Path, error: Exception) -> Unreadable:
    """Return the error to raise when opening a path failed with `error` (an OSError)."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        reason, remedy = "there is no such file", "Check the path"
    elif isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        reason, remedy = "its name or path is too long", "Check the path"
    elif isinstance(error, PermissionError):
        reason = "you may not read it (permission denied)"
        remedy = "Ask for access, or copy it to a folder of your own"
    else:
        named = isinstance(error, OSError) and error.strerror
        reason = f"it cannot be read ({named or 'unknown reason'})"
        remedy = "Check the disk or the network drive"
    return Unreadable(reason, subject=str(path), remedy=remedy)


def changed_file(path: Path) -> FileProblem:
    """Return the error to raise for a file that is not the one that was opened before."""
    return problem(path, "the file has changed since it was opened", "Open it again")


def check_matrix(path: Path, rows: int, columns: int, samples: int, frames: int) -> None:
    """Refuse impossible image sizes before any memory is allocated.

    Raises:
        FileProblem: A size is zero, negative or absurdly large, or `samples` is not 1, 3 or 4.
    """
    if rows <= 0 or columns <= 0:
        raise problem(path, f"the image has no pixels (it declares {columns} x {rows})", COPY_AGAIN)
    if samples not in (1, 3, 4):
        raise problem(path, f"it declares {samples} samples per pixel, which no image has")
    if not 0 < frames <= MAX_FRAMES:
        raise problem(path, f"it declares {frames} frames, which cannot be right", COPY_AGAIN)
    if rows * columns * samples > MAX_SAMPLES:
        raise too_large_image(path, rows, columns)


def too_large_image(path: Path, rows: int, columns: int) -> FileProblem:
    """Return the error for an image that is too large to decode."""
    return problem(
        path,
        f"it declares an image of {columns} x {rows} pixels, too large to be opened safely",
        "The header may be damaged; ask for a new export",
    )


def is_implausibly_small(samples: int, size: int) -> bool:
    """Return whether `size` compressed bytes are too few to hold `samples` samples."""
    return samples > _LARGE_SAMPLES and samples > _MOST_SAMPLES_A_BYTE * size
