"""Show PNG, JPEG, BMP, GIF and WebP pictures as instances and frames. Runs in a worker process.

The resolution that such a file states (PNG pHYs, JPEG dpi) is one of paper or screen, never a
distance in a patient, so it is not read.
"""

from __future__ import annotations

import io
import re
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import AttributeRow, attribute_row
from app.imaging.files import sources, synthetic
from app.imaging.files.identity import content_uid, pixel_sha256
from app.imaging.files.jpeg_markers import has_too_many_scans
from app.imaging.processes.memory_limit import limited_memory
from app.imaging.types import Frame, ImageRef, Instance, Spacing

Array = NDArray[Any]

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
JPEG_SIGNATURE = b"\xff\xd8\xff"
TRANSPOSED = frozenset({5, 6, 7, 8})
"""EXIF and TIFF orientations that exchange rows and columns."""
MAX_PICTURE_FRAMES = 1000
_MAX_SAMPLE_BYTES = 2**27
"""Bytes of a decoded picture; libraries and this module hold several copies of it for a moment."""
_OPENING_BYTES = 2**28
"""Memory for the headers and comments that are read when a picture is opened. A WebP's two canvases
are made then as well, 358 MB for the largest that is shown: it gets twice as much."""
_ORIENTATION_TAG = 0x0112
_BITMAP_HEADERS = frozenset(struct.pack("<I", size) for size in (12, 40, 52, 56, 64, 108, 124))
_OTHERS = {
    b"PK\x03\x04": "a zip archive",
    b"RIFF": "a video or a sound file",
    b"NRRD": "an NRRD volume of an unknown version",
    b"\x1f\x8b": "a compressed (gzip) file",
}


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return a picture as one instance; raise FileProblem if it is damaged."""
    mtime_ns = sources.status(path).mtime_ns
    data = read_bytes(path)
    rows, columns = picture_size(path, data)
    frames, frame_time_ms = picture_frames(path, data)
    instance = Instance(
        path=path,
        sop_instance_uid=content_uid(data),
        kind="picture",
        rows=rows,
        columns=columns,
        frames=frames,
        frame_time_ms=frame_time_ms,
        attributes={"Format": picture_format(data[:18]), **_synthetic_attributes(data)},
        size_bytes=len(data),
        mtime_ns=mtime_ns,
    )
    return (instance,)


def read_frame(path: Path, part: int, index: int) -> Frame:
    """Return frame `index` (from 0) of a picture, or raise FileProblem; `part` is not used."""
    data = read_bytes(path)
    frames, _ = picture_frames(path, data)
    if not 0 <= index < frames:
        raise guards.problem(path, f"the picture has {frames} frames, not {index + 1}")
    stored, bits = decode_picture(path, data, index)
    return Frame(
        stored=stored,
        ref=ImageRef(content_uid(data), index, pixel_sha256(stored)),
        photometric="MONOCHROME2" if stored.ndim == 2 else "RGB",
        spacing=Spacing(note="a picture has no patient scale"),
        bits=bits,
        lossy=lossy_format(data),
    )


def read_rows(path: Path) -> list[AttributeRow]:
    """Return rows for the attributes panel on a picture; raise FileProblem if it is damaged."""
    data = read_bytes(path)
    rows, columns = picture_size(path, data)
    fields = {
        "Format": picture_format(data[:18]),
        "Rows": rows,
        "Columns": columns,
        "FileSize": f"{len(data):,} bytes",
        **_synthetic_attributes(data),
    }
    return [attribute_row(*field) for field in fields.items()]


def _synthetic_attributes(data: bytes) -> dict[str, str]:
    """Return the generative model that made the picture, if the file names one."""
    model = synthetic.model_title(data)
    return {synthetic.ATTRIBUTE: model} if model else {}


def picture_format(start: bytes) -> str:
    """Return "PNG", "JPEG", "GIF", "WebP" or "BMP" by a file's first 18 bytes; "" for others."""
    if start.startswith(PNG_SIGNATURE):
        return "PNG"
    if start.startswith(JPEG_SIGNATURE):
        return "JPEG"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "GIF"
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "WebP"
    # Two letters are no signature: its reserved bytes and its header's size must fit too.
    is_bitmap = start.startswith(b"BM") and start[6:10] == bytes(4)
    return "BMP" if is_bitmap and start[14:18] in _BITMAP_HEADERS else ""


def other_format(start: bytes) -> str:
    """Return an unsupported format by a file's first bytes, e.g. "a zip archive"; "" if unknown."""
    for signature, name in _OTHERS.items():
        if start.startswith(signature):
            return name
    return "a text file" if re.fullmatch(rb"[^\x00-\x08\x0b\x0e-\x1f\x7f]+", start) else ""


def read_bytes(path: Path) -> bytes:
    """Return a file's content; raise FileProblem if it is unreadable or too large for a picture."""
    if sources.status(path).size > guards.MAX_PICTURE_BYTES:
        raise guards.problem(path, "the picture file is too large to be opened safely")
    try:
        with sources.open_file(path) as file:
            return file.read()
    except OSError as error:
        raise guards.unreadable_file(path, error) from None


def picture_size(path: Path, data: bytes) -> tuple[int, int]:
    """Return a picture's (rows, columns) after EXIF rotation; raise FileProblem if damaged."""
    with _open_picture(path, data) as image:
        columns, rows = image.size
        if _orientation(image) in TRANSPOSED:
            rows, columns = columns, rows
    return rows, columns


def picture_frames(path: Path, data: bytes) -> tuple[int, float | None]:
    """Return (number of frames, ms between them); the ms are None for a still or if unknown."""
    if picture_format(data[:18]) not in ("GIF", "WebP"):
        return 1, None
    try:
        with _open_picture(path, data) as image:
            frames = int(getattr(image, "n_frames", 1))
            time = float(image.info.get("duration", 0) or 0)
    except (FileProblem, MemoryError):
        raise
    except Exception as error:
        raise _damaged(path, error) from None
    if frames > MAX_PICTURE_FRAMES:
        raise guards.problem(path, f"its animation has {frames} frames, too many to be shown")
    return max(frames, 1), time if frames > 1 and 0 < time < 60_000 else None


def lossy_format(data: bytes) -> str:
    """Return "Lossy JPEG" for any JPEG, "Lossy WebP" for a WebP compressed with loss, else ""."""
    kind = picture_format(data[:18])
    if kind == "JPEG" or (kind == "WebP" and b"VP8 " in data):
        return f"Lossy {kind}"
    return ""


def decode_picture(path: Path, data: bytes, index: int = 0) -> tuple[Array, int]:
    """Decode a frame of the picture in `data`; `path` is for error messages only.

    A colour picture whose channels are all equal is returned as grey, so that it can be windowed.
    Transparent parts become white, as image viewers show them.

    Returns:
        The pixels, as uint8 or uint16 [rows, columns] or [rows, columns, 3] RGB; and the number of
        bits per sample.

    Raises:
        FileProblem: The picture is damaged, truncated or implausibly large.
    """
    depth = _png_depth(data)
    try:
        with _open_picture(path, data) as image:
            if guards.is_implausibly_small(image.width * image.height, len(data)):
                raise guards.problem(path, "the picture is cut short", guards.COPY_AGAIN)
            turn = _orientation(image)
            # Seeking also decodes the earlier frames on which this one is drawn.
            if index:
                image.seek(index)
            array = _decode_16_bit_png(data) if depth == 16 else _decode_8_bit(image)
    except (FileProblem, MemoryError):
        raise
    except Image.DecompressionBombError:
        raise _too_large(path) from None
    except Exception as error:
        reason = "the picture is cut short" if "truncated" in str(error) else "it is damaged"
        raise guards.problem(path, reason, guards.COPY_AGAIN, type(error).__name__) from None
    array = collapse_grey(flatten_alpha(array))
    return np.ascontiguousarray(apply_orientation(array, turn)), 16 if depth == 16 else 8


def _open_picture(path: Path, data: bytes) -> Image.Image:
    """Open a picture without decoding it, after the checks that no decoder makes."""
    # Pillow warns from its limit on, and refuses from twice that: also of an animation's later
    # frames, which may be larger than the first.
    Image.MAX_IMAGE_PIXELS = guards.MAX_SAMPLES // 2
    kind = picture_format(data[:18])
    if kind == "JPEG" and has_too_many_scans(data):
        raise guards.problem(path, "the picture is damaged: it has too many scans")
    room = _OPENING_BYTES * (2 if kind == "WebP" else 1)
    try:
        with warnings.catch_warnings(), limited_memory(room):
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP", "BMP"))
    except Image.DecompressionBombError:
        raise _too_large(path) from None
    except Exception as error:
        raise _damaged(path, error) from None
    bands = len(image.getbands())
    guards.check_matrix(path, image.height, image.width, 3 if bands == 2 else bands, 1)
    if image.width * image.height * bands * max(_png_depth(data), 8) > 8 * _MAX_SAMPLE_BYTES:
        raise _too_large(path)
    return image


def _damaged(path: Path, error: Exception) -> FileProblem:
    return guards.problem(path, "the picture is damaged", guards.COPY_AGAIN, type(error).__name__)


def _too_large(path: Path) -> FileProblem:
    reason = "it declares a picture that is too large to be opened safely"
    return guards.problem(path, reason, "Export a smaller part of it")


def _orientation(image: Image.Image) -> int:
    """Return the EXIF orientation, 1 (upright) if there is none."""
    try:
        return int(image.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:
        # A damaged EXIF block is no reason not to show the picture.
        return 1


def _png_depth(data: bytes) -> int:
    """Return the bits per sample of a PNG, 8 of other formats."""
    return data[24] if data.startswith(PNG_SIGNATURE) and len(data) >= 26 else 8


def _decode_16_bit_png(data: bytes) -> Array:
    """Decode a PNG of 16 bits per sample, of which Pillow would reduce colour to 8."""
    import imagecodecs

    return np.asarray(imagecodecs.png_decode(data))


def _decode_8_bit(image: Image.Image) -> Array:
    if image.mode in ("1", "L", "I;16") and "transparency" not in image.info:
        return np.asarray(image.convert("L") if image.mode == "1" else image)
    has_alpha = image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info
    mode = "RGBA" if has_alpha else "RGB"
    # Converting to its own mode would copy it.
    return np.asarray(image if image.mode == mode else image.convert(mode))


def flatten_alpha(array: Array) -> Array:
    """Return a picture without alpha channel, blended onto white: [rows, columns(, 3)]."""
    if array.ndim == 2 or array.shape[2] == 3:
        return array
    colour, alpha = array[..., :-1], array[..., -1:]
    full = np.iinfo(array.dtype).max
    if (alpha != full).any():
        clear = np.uint64(full) * (full - alpha.astype(np.uint64))
        colour = (colour.astype(np.uint64) * alpha + clear + full // 2) // full
    colour = colour.astype(array.dtype)
    return colour[..., 0] if colour.shape[2] == 1 else colour


def collapse_grey(array: Array) -> Array:
    """Convert a colour picture to grey if its channels are all equal; else return it unchanged."""
    if array.ndim == 2:
        return array
    grey = array[..., 0]
    equal = np.array_equal(grey, array[..., 1]) and np.array_equal(grey, array[..., 2])
    return grey if equal else array


def narrow_integers(array: Array) -> Array:
    """Convert 64-bit integers to int32 if they fit, else to float64; return other types as is."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8:
        return array
    limits = np.iinfo(np.int32)
    fits = limits.min <= int(array.min()) and int(array.max()) <= limits.max
    return array.astype(np.int32 if fits else np.float64)


def apply_orientation(array: Array, orientation: int) -> Array:
    """Rotate and flip a picture by its EXIF or TIFF orientation (1 to 8); ignore other values."""
    if orientation in TRANSPOSED:
        array = array.swapaxes(0, 1)
    if orientation in (2, 3, 6, 7):
        array = array[:, ::-1]
    if orientation in (3, 4, 7, 8):
        array = array[::-1]
    return array
