"""Decode one plane of a TIFF series to stored values (TIFF 6.0). Runs in a worker process."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.files.code_stream_checks import declared_figures
from app.imaging.formats.picture_file import collapse_grey, flatten_alpha, narrow_integers
from app.paths import shipped_table

Array = NDArray[Any]

_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _MASK, _CMYK, _YCBCR = range(7)
_COLOURS = frozenset({_RGB, _CMYK, _YCBCR})
_REFUSED = {int(code): name for code, name in shipped_table("tiff", "refused_colors").items()}
_JPEG = frozenset({6, 7, 33007, 34892})
_ASSOCIATED, _UNASSOCIATED = 1, 2

MAX_SEGMENTS = 100_000
"""Strips or tiles of a plane: a strip for each row, or tiles of 64 x 64 of the largest plane."""
_PADDING = 64
_CODE_STREAMS = frozenset({6, 7, 33003, 33004, 33005, 33007, 34712, 50002, 52546})
"""Compressions whose strips and tiles are JPEG, JPEG 2000 or JPEG XL code streams."""


@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """The decoded pixels of one plane and how to show them; fields are those of `Frame`."""

    stored: Array
    photometric: str
    bits: int
    palette: NDArray[np.uint8] | None = None
    lossy: str = ""
    note: str = ""


def plane_axes(path: Path, level: Any) -> tuple[tuple[str, int], ...]:
    """Return the axes whose positions are separate frames, as (letter, length), e.g. ("Z", 30).

    The axes are in the file's order. Raises FileProblem for pixels of an unsupported type.
    """
    page = level.keyframe
    _check_kind(path, page)
    lead: str = level.axes
    lengths: tuple[int, ...] = level.shape
    planes = max(int(math.prod(lengths)) // max(int(page.size), 1), 1)
    letters = lead.removesuffix(page.axes)
    counts = [int(length) for length in lengths[: len(letters)]]
    axes = list(zip(letters, counts, strict=True))
    # Axes that do not account for all planes cannot be trusted: planes are then numbered.
    if math.prod(counts) != planes or len(set(letters)) < len(letters):
        axes = [("I", planes)]
    depth = int(page.shaped[1])
    # Tags of volumetric TIFF (SGI) put several slices into one page.
    if depth > 1:
        axes.append(("D" if "Z" in dict(axes) else "Z", depth))
    if _separate_samples(page) > 1:
        axes.append(("S", _separate_samples(page)))
    return tuple(axes)


def _separate_samples(page: Any) -> int:
    """Return how many samples of a pixel are no colour and so are shown one by one."""
    samples = int(page.samplesperpixel)
    if page.photometric in _COLOURS and samples >= 3:
        return 1
    alpha = tuple(page.extrasamples)[-1:]
    if samples == 2 and alpha and alpha[0] in (_ASSOCIATED, _UNASSOCIATED):
        return 1
    return samples


def _check_kind(path: Path, page: Any) -> None:
    """Refuse pixels whose type, colours or compression cannot be shown."""
    dtype = page.dtype
    if dtype is None or np.dtype(dtype).kind not in "buif":
        what = "complex numbers" if dtype is not None else "samples of an unknown type"
        raise guards.problem(path, f"it contains {what}, which cannot be shown as an image")
    photometric = int(page.photometric)
    if photometric in _REFUSED or photometric > _YCBCR:
        name = _REFUSED.get(photometric, f"photometric interpretation {photometric}")
        reason = f"its colours are those of {name}, which cannot be shown"
        raise guards.problem(path, reason, "Export it as RGB")
    compression = int(page.compression)
    if compression not in tifffile.TIFF.DECOMPRESSORS:
        name = getattr(page.compression, "name", str(compression))
        reason = f"it is compressed in a way that cannot be decoded here ({name})"
        raise guards.problem(path, reason, "Export it without compression")


def frame_pixels(path: Path, level: Any, plane: int, sample: int | None) -> Pixels:
    """Decode one plane of one resolution level of a TIFF series.

    Args:
        path: The TIFF file.
        level: The resolution level, a tifffile series.
        plane: Number of the plane in the file's order, from 0; it has all samples of its pixels.
        sample: The sample (from 0) of each pixel to return; None for colour or the only sample.

    Raises:
        FileProblem: The plane is missing, damaged, or of an unsupported kind.
    """
    key = level.keyframe
    page_number, slab = divmod(plane, int(key.shaped[1]))
    array = _page_array(path, level, page_number)
    # [separate samples, depth, rows, columns, samples of a pixel]
    return _as_pixels(path, key, array.reshape(key.shaped)[:, slab], sample)


def region_pixels(
    path: Path, level: Any, plane: int, sample: int | None, box: tuple[int, int, int, int]
) -> Pixels:
    """Decode a part of a plane, of which only the strips or tiles are read that it touches.

    `box` is (left, top, right, bottom) in pixels of the level, within it; right and bottom are the
    first outside. See `frame_pixels` for the rest.
    """
    key = level.keyframe
    left, top, right, bottom = box
    page_number, slab = divmod(plane, int(key.shaped[1]))
    if _is_headless(level):
        array = _page_array(path, level, page_number).reshape(key.shaped)
        return _as_pixels(path, key, array[:, slab, top:bottom, left:right], sample)
    page = level[page_number]
    if page is None:
        raise guards.problem(path, "this plane is missing from the file", guards.COPY_AGAIN)
    separate, _, rows, columns, samples = (int(size) for size in key.shaped)
    array = np.full(
        (separate, bottom - top, right - left, samples), key.nodata, np.dtype(key.dtype)
    )
    height, width = int(key.rowsperstrip), columns
    if key.is_tiled:
        height, width = int(key.tilelength), int(key.tilewidth)
    deep = max(int(key.tiledepth), 1) if key.is_tiled else 1
    across, down = -(-columns // width), -(-rows // height)
    per_sample = across * down * -(-int(key.shaped[1]) // deep)
    lossy = {"jpegtables": page.jpegtables} if int(key.compression) in _JPEG else {}
    if lossy:
        lossy["jpegheader"] = key.jpegheader
    handle = key.parent.filehandle
    for number in range(separate):
        for y in range(top // height, -(-bottom // height)):
            for x in range(left // width, -(-right // width)):
                index = number * per_sample + (slab // deep * down + y) * across + x
                if index >= len(page.dataoffsets) or not page.databytecounts[index]:
                    continue  # a tile that was left out holds the value for no data
                handle.seek(int(page.dataoffsets[index]))
                data = handle.read(int(page.databytecounts[index]))
                _check_code_stream(path, key, data)
                try:
                    segment, _, shape = key.decode(data, index, **lossy)
                except (FileProblem, MemoryError):
                    raise
                except Exception as error:
                    reason = "a part of its pixels is damaged or cut short"
                    detail = type(error).__name__
                    raise guards.problem(path, reason, guards.COPY_AGAIN, detail) from None
                if segment is None:
                    continue
                piece = segment[slab % deep, : shape[1], : shape[2]]
                _lay(array[number], piece, y * height - top, x * width - left)
    return _as_pixels(path, key, array, sample)


def _lay(onto: Array, piece: Array, top: int, left: int) -> None:
    """Copy a piece [rows, columns, samples] onto an array, at a place that may lie outside."""
    piece = piece[max(-top, 0) :, max(-left, 0) :]
    place = onto[max(top, 0) :, max(left, 0) :]
    rows, columns = (min(a, b) for a, b in zip(piece.shape[:2], place.shape[:2], strict=True))
    place[:rows, :columns] = piece[:rows, :columns]


def _as_pixels(path: Path, key: Any, array: Array, sample: int | None) -> Pixels:
    """Return samples [separate samples, rows, columns, samples of a pixel] as a frame has them."""
    array = array[0] if array.shape[0] == 1 else np.moveaxis(array[..., 0], 0, -1)
    bits = _bit_depth(key, array)
    if array.dtype == np.bool_:
        array = array.astype(np.uint8)
    lossy = "Lossy JPEG" if int(key.compression) in _JPEG else ""
    if key.photometric in _COLOURS and array.shape[-1] >= 3:
        stored, note = _colour(path, key, array)
        grey = collapse_grey(stored)
        photometric = "MONOCHROME2" if grey.ndim == 2 else "RGB"
        return Pixels(grey, photometric, min(bits, 16), None, lossy, note)
    grey = array[..., sample or 0]
    grey = grey.astype(np.float32) if grey.dtype == np.float16 else narrow_integers(grey)
    if key.photometric == _PALETTE and key.colormap is not None and grey.dtype.kind == "u":
        return _palette_pixels(grey, key.colormap, bits)
    photometric = "MONOCHROME1" if key.photometric == _WHITE_IS_ZERO else "MONOCHROME2"
    return Pixels(grey, photometric, bits, None, lossy)


def _is_headless(level: Any) -> bool:
    """Return whether planes have no page headers of their own: they follow each other, plain."""
    total = int(math.prod(level.shape)) // max(int(level.keyframe.size), 1)
    return total > len(level) or (total > 1 and level.is_truncated)


def _page_array(path: Path, level: Any, number: int) -> Array:
    """Return a page's samples; ImageJ and tifffile may write many planes behind a single page."""
    key = level.keyframe
    if _is_headless(level):
        offset = level.dataoffset
        if offset is None:
            raise guards.problem(path, "some of its planes are missing", guards.COPY_AGAIN)
        handle = key.parent.filehandle
        dtype = np.dtype(key.dtype).newbyteorder(key.parent.byteorder)
        handle.seek(offset + number * int(key.size) * dtype.itemsize)
        data = handle.read(int(key.size) * dtype.itemsize)
        if len(data) < int(key.size) * dtype.itemsize:
            raise guards.problem(path, "the file is cut short", guards.COPY_AGAIN)
        return np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    page = level[number]
    if page is None:
        raise guards.problem(path, "this plane is missing from the file", guards.COPY_AGAIN)
    try:
        check_segments(path, page)
        return np.asarray(page.asarray(maxworkers=1))
    except (FileProblem, MemoryError):
        raise
    except Exception as error:
        name = getattr(key.compression, "name", str(key.compression))
        reason = f"its pixels are damaged or cut short ({name.lower()} compression)"
        if int(key.compression) == 1:
            reason = "its pixels are damaged or cut short"
        raise guards.problem(path, reason, guards.COPY_AGAIN, type(error).__name__) from None


def _bit_depth(page: Any, array: Array) -> int:
    full = 8 * array.dtype.itemsize
    if array.dtype.kind == "f":
        return full
    if array.dtype == np.bool_:
        return 1
    stated: Any = page.bitspersample
    stated = max(stated) if isinstance(stated, tuple) else int(stated)
    return stated if 0 < stated <= full else full


def _colour(path: Path, page: Any, array: Array) -> tuple[Array, str]:
    """Return [rows, columns, 3] uint8 or uint16, and a note about the conversion."""
    if array.dtype == np.uint32:
        array = (array >> 16).astype(np.uint16)
    if array.dtype.str[1:] not in ("u1", "u2"):
        raise guards.problem(path, f"it contains colour as {array.dtype}, which cannot be shown")
    if page.photometric == _CMYK:
        return _from_cmyk(path, array), "converted from CMYK without a colour profile"
    rgb, extra = array[..., :3], tuple(page.extrasamples)
    # JPEG codecs convert to RGB themselves.
    if page.photometric == _YCBCR and int(page.compression) not in _JPEG:
        rgb = _from_ycbcr(path, rgb)
    if array.shape[-1] == 4 and extra and extra[0] == _UNASSOCIATED:
        return flatten_alpha(np.concatenate((rgb, array[..., 3:]), axis=-1)), ""
    if array.shape[-1] == 4 and extra and extra[0] == _ASSOCIATED:  # already times its alpha
        clear = np.iinfo(array.dtype).max - array[..., 3:]
        return np.where(rgb > array[..., 3:], array[..., 3:], rgb) + clear, ""
    note = "its further channels are not shown" if array.shape[-1] > 4 else ""
    return rgb, note


def _from_cmyk(path: Path, array: Array) -> Array:
    """Return CMYK as RGB, without a colour profile."""
    if array.shape[-1] != 4 or array.dtype != np.uint8:
        raise guards.problem(path, "its printing colours cannot be shown", "Export it as RGB")
    light = 255 - array.astype(np.uint16)
    return ((light[..., :3] * light[..., 3:] + 127) // 255).astype(np.uint8)


def _from_ycbcr(path: Path, array: Array) -> Array:
    """Return YCbCr as RGB, by the default coefficients of TIFF 6.0 section 21 at full range."""
    if array.dtype != np.uint8:
        raise guards.problem(path, "its YCbCr colours cannot be shown", "Export it as RGB")
    y, cb, cr = (array[..., channel].astype(np.float32) for channel in range(3))
    cb -= 128
    cr -= 128
    rgb = np.stack((y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb), axis=-1)
    return np.clip(np.rint(rgb), 0, 255).astype(np.uint8)


def _palette_pixels(stored: Array, colormap: Array, bits: int) -> Pixels:
    """Return palette colour; a palette of greys makes a grey image, which can be windowed."""
    colours = np.asarray(colormap).T
    # TIFF colour maps have 16 bits; some writers use only the lower 8.
    if colours.max(initial=0) > 255:
        colours = colours >> 8
    palette = np.ascontiguousarray(colours.astype(np.uint8))
    if (palette == palette[:, :1]).all():
        index = np.minimum(stored, len(palette) - 1)
        return Pixels(palette[index, 0], "MONOCHROME2", 8)
    return Pixels(stored, "PALETTE COLOR", bits, palette)


def check_segments(path: Path, page: Any) -> None:
    """Refuse a page with far too many strips or tiles, or with a code stream larger than its tile.

    Decoders allocate memory for the size declared in the code stream, not for that of the page.

    Raises:
        FileProblem: The page is refused.
        ValueError: A code stream declares an impossible size.
    """
    places = list(zip(page.dataoffsets, page.databytecounts, strict=False))
    if len(places) > MAX_SEGMENTS:
        reason = f"a plane of it is cut into {len(places):,} pieces, too many to be opened"
        raise guards.problem(path, reason, "Export it with larger tiles")
    if int(page.compression) not in _CODE_STREAMS:
        return
    handle = page.parent.filehandle
    for offset, size in places:
        handle.seek(int(offset))
        if size:
            _check_code_stream(path, page, handle.read(int(size)))


def _check_code_stream(path: Path, page: Any, data: bytes) -> None:
    """Refuse a strip or tile whose code stream is larger than it."""
    if int(page.compression) not in _CODE_STREAMS:
        return
    if page.is_tiled:
        rows, columns = int(page.tilelength), int(page.tilewidth)
    else:
        rows, columns = min(int(page.rowsperstrip), int(page.imagelength)), int(page.imagewidth)
    coded = declared_figures(data)
    if coded is None:
        return
    # Codecs pad tiles to their block size, hence the tolerance.
    turned = coded.may_transpose and coded.columns <= rows + _PADDING
    if not turned and (coded.rows > rows + _PADDING or coded.columns > columns + _PADDING):
        raise guards.problem(
            path,
            f"a part of {columns} x {rows} pixels holds {coded.columns} x {coded.rows}",
            guards.COPY_AGAIN,
        )
