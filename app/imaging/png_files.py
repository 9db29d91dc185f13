"""Atomic writing of PNG files: a reader sees the old file, the new one, or none."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.imaging import guards


def write_png(path: Path, pixels: NDArray[Any]) -> None:
    """Write uint8 or uint16 [rows, columns], or uint8 RGB [rows, columns, 3], as a PNG file.

    Raises:
        ValueError: The array is empty, or its type or shape is not supported.
        FileProblem: The file cannot be written.
    """
    grey = pixels.ndim == 2 and pixels.dtype.str in ("|u1", "<u2")
    colour = pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.dtype == np.uint8
    if not (grey or colour) or pixels.size == 0:
        raise ValueError(f"no PNG from {pixels.dtype} {pixels.shape}")
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        with partial.open("xb") as file:
            # Level 1: half the time of the default for a few per cent more bytes.
            picture.save(file, format="PNG", compress_level=1)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise guards.problem(
            path,
            f"it cannot be written ({error.strerror or 'unknown reason'})",
            "Check the folder's permissions and the space on the disk",
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink()
