"""Writes tools' output files, complete or not at all, under names without patient data."""

from __future__ import annotations

import io
import uuid
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.user_files import write_atomic


def save_png(pixels: NDArray[np.uint8], folder: Path, stem: str) -> Path:
    """Write uint8 [rows, columns] or [rows, columns, 3] as a PNG file; return its path.

    The name is `stem` and a random number: "dicom-3f9a0c12.png". `stem` names the tool and must not
    say what the image shows. The file appears only when it is complete.
    """
    path = folder / f"{stem}-{uuid.uuid4().hex[:8]}.png"
    write_atomic(path, png_bytes(pixels))
    return path


def png_bytes(pixels: NDArray[Any]) -> bytes:
    """Return an image, uint8 or uint16 [rows, columns] or uint8 [rows, columns, 3], as a PNG."""
    stream = io.BytesIO()
    # Level 1: a 2,000 x 2,000 radiograph in a tenth of the time for a tenth more bytes.
    Image.fromarray(np.ascontiguousarray(pixels)).save(stream, "PNG", compress_level=1)
    return stream.getvalue()


def label_image(labels: NDArray[Any]) -> bytes:
    """Return the numbers of objects, uint16 or uint32 [rows, columns], as a compressed TIFF.

    Those of 32 bits are written as signed ones, which is what Pillow knows.
    """
    stream = io.BytesIO()
    signed = labels.view(np.int32) if labels.dtype == np.uint32 else labels
    Image.fromarray(signed).save(stream, "TIFF", compression="tiff_adobe_deflate")
    return stream.getvalue()


def plain(value: Any) -> Any:
    """Return `value` in JSON's types; tuples become lists, NaN and infinity become None."""
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
