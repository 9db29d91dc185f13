"""What is checked before a file is read or decoded, and the words it is refused with."""

from __future__ import annotations

import stat
from pathlib import Path

from app.errors import FileProblem

MAX_SAMPLES = 2**28
"""Samples of one frame that are decoded: 268 million, ten times a digital mammogram."""

MAX_FRAMES = 10**6
MAX_PICTURE_BYTES = 2**30

COPY_AGAIN = "Copy it again from its source, or ask for a new export"


def problem(path: Path | str, reason: str, remedy: str = "", detail: str = "") -> FileProblem:
    """A `FileProblem` about a file."""
    return FileProblem(reason, subject=str(path), remedy=remedy, detail=detail)


def check_regular(path: Path) -> int:
    """Make sure that a path is a file with content.

    Returns:
        Its size in bytes.

    Raises:
        FileProblem: It is missing, a folder, a device or pipe, empty, or not readable.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if stat.S_ISDIR(status.st_mode):
        raise problem(path, "it is a folder, not a file", "Open the folder to see its images")
    if not stat.S_ISREG(status.st_mode):
        raise problem(path, "it is a device or a pipe, not a file")
    if status.st_size == 0:
        raise problem(path, "the file is empty", COPY_AGAIN)
    return status.st_size


def unreadable(path: Path, error: Exception) -> FileProblem:
    """The words for an error that opening a path raised."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return problem(path, "there is no such file", "Check the path")
    if isinstance(error, PermissionError):
        return problem(
            path,
            "you may not read it (permission denied)",
            "Ask for access, or copy it to a folder of your own",
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else "unknown reason"
    return problem(path, f"it cannot be read ({reason})", "Check the disk or the network drive")


def check_matrix(path: Path, rows: int, columns: int, samples: int, frames: int) -> None:
    """Refuse image sizes that are impossible, before any memory is asked for.

    Raises:
        FileProblem: 0 x 0, negative or absurdly large.
    """
    if rows <= 0 or columns <= 0:
        raise problem(path, f"the image has no pixels (it declares {columns} x {rows})", COPY_AGAIN)
    if samples not in (1, 3, 4):
        raise problem(path, f"it declares {samples} samples per pixel, which no image has")
    if not 0 < frames <= MAX_FRAMES:
        raise problem(path, f"it declares {frames} frames, which cannot be right", COPY_AGAIN)
    if rows * columns * samples > MAX_SAMPLES:
        raise problem(
            path,
            f"it declares an image of {columns} x {rows} pixels, too large to be opened safely",
            "The header may be damaged; ask for a new export",
        )
