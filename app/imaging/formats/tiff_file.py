"""Show TIFF, BigTIFF, OME-TIFF and ImageJ stacks as instances and frames. Runs in a worker process.

Every series of a file (an OME image, a slide, its label) is an instance, and its planes are the
frames: channels vary fastest, then depth, then time (`Instance.axes`). A note on each frame names
its channel, depth and time. Red, green and blue of one plane are shown as colour; separate
channels, e.g. of a fluorescence microscope, are frames of their own. Of a pyramid, the largest
level that can be opened safely is shown. A plain TIFF states the resolution of paper, so only OME,
ImageJ and slide scanners give a spacing.
"""

from __future__ import annotations

import io
import logging
import math
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import tifffile

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import AttributeRow, attribute_row, shortened
from app.imaging.axes import Axes, Channel
from app.imaging.files import sources
from app.imaging.files.identity import content_uid, file_digest, pixel_sha256
from app.imaging.files.sources import FileStatus, OneEntryCache
from app.imaging.formats.picture_file import TRANSPOSED, apply_orientation
from app.imaging.formats.tiff_metadata import Metadata, check_ome, series_metadata
from app.imaging.formats.tiff_pixels import Pixels, frame_pixels, plane_axes, region_pixels
from app.imaging.pixels.regions import Box, PixelRegion, clipped, cropped
from app.imaging.types import (
    Frame,
    ImageRef,
    Instance,
    Spacing,
    Voi,
)

MAX_SERIES = 1000
_MAX_FRAME_BYTES = 2**30
_NAMES = {
    "C": "channel", "S": "sample", "Z": "depth", "T": "time point",
    "R": "series", "H": "lifetime", "A": "angle", "P": "position", "M": "tile", "V": "view",
    "E": "wavelength",
}  # fmt: skip

_parsed_cache = OneEntryCache()

_MAX_ROWS = 2000
_MAX_VALUES = 2**16
_BYTES = (1, 2, 6, 7)
"""Tag types whose values are not converted one by one: bytes and text."""


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return an instance for each TIFF series that can be shown; raise FileProblem if none can."""
    status = sources.status(path)
    digest = file_digest((path, status))
    instances: list[Instance] = []
    refused: FileProblem | None = None
    with _parsed_file(path) as parsed:
        for part in range(min(len(parsed.tif.series), MAX_SERIES)):
            try:
                stack = parsed.stack(path, part)
            except FileProblem as error:
                refused = error
                continue
            instances.append(_instance(path, status, digest, part, stack))
    if not instances:
        raise refused or guards.problem(path, "the TIFF file contains no image", guards.COPY_AGAIN)
    return tuple(instances)


def read_frame(path: Path, part: int, index: int) -> Frame:
    """Return plane `index`, in display order, of series `part`, both from 0.

    Raises:
        FileProblem: The plane does not exist, or cannot be decoded.
    """
    digest = file_digest((path, sources.status(path)))
    with _parsed_file(path) as parsed:
        stack = _stack_of(path, parsed, part, index)
        pixels = frame_pixels(path, stack.series, *stack.place(index))
    return _frame(stack, digest, part, index, pixels)


def read_region(path: Path, part: int, index: int, level: int | None, box: Box) -> PixelRegion:
    """Return a part of plane `index` at a level of the pyramid; see `pixels.regions.PixelRegion`.

    Raises:
        FileProblem: The plane or level does not exist, or cannot be decoded.
    """
    digest = file_digest((path, sources.status(path)))
    with _parsed_file(path) as parsed:
        stack = _stack_of(path, parsed, part, index)
        levels: list[Any] = list(parsed.tif.series[part].levels)
        number = levels.index(stack.series) if level is None else level
        sizes = tuple((_plane_size(one)[1], _plane_size(one)[0]) for one in levels)
        if stack.meta.turn != 1:  # no slide: a photograph that was held another way
            frame = _frame(
                stack, digest, part, index, frame_pixels(path, stack.series, *stack.place(index))
            )
            sizes = ((frame.columns, frame.rows),)
            box = clipped(path, box, 0 if level is None else level, sizes)
            return PixelRegion(cropped(frame, box), box[0], box[1], 0, sizes)
        box = clipped(path, box, number, sizes)
        pixels = region_pixels(path, levels[number], *stack.place(index), box)
    frame = _frame(stack, digest, part, index, pixels)
    columns, rows = sizes[number]
    spacing = _scale_spacing(frame.spacing, stack.rows / rows, stack.columns / columns)
    return PixelRegion(replace(frame, spacing=spacing), box[0], box[1], number, sizes)


def _stack_of(path: Path, parsed: _ParsedFile, part: int, index: int) -> _PlaneStack:
    """Return the planes of a series; raise FileProblem if there is no plane `index`."""
    series = len(parsed.tif.series)
    if not 0 <= part < series:
        raise guards.problem(path, f"it contains {series} images, not {part + 1}")
    stack = parsed.stack(path, part)
    if not 0 <= index < stack.frames:
        raise guards.problem(path, f"it contains {stack.frames} frames, not {index + 1}")
    return stack


def _frame(stack: _PlaneStack, digest: str, part: int, index: int, pixels: Pixels) -> Frame:
    turn = stack.meta.turn
    stored = np.ascontiguousarray(apply_orientation(pixels.stored, turn))
    notes = (stack.name(index), stack.note, pixels.note)
    axes = stack.axes
    channel, _, time = axes.place(index)
    window = stack.meta.channel_window(channel) if stored.ndim == 2 else None
    return Frame(
        stored=stored,
        ref=ImageRef(_uid(digest, part), index, pixel_sha256(stored)),
        photometric=pixels.photometric,
        voi=Voi((window,) if window is not None else ()),
        spacing=_orient_spacing(stack.spacing, turn),
        bits=pixels.bits,
        palette=pixels.palette,
        lossy=pixels.lossy,
        time_ms=time * axes.time_step_ms if axes.time_step_ms is not None else None,
        note=". ".join(text for text in notes if text),
        same_grid=axes.beside(index) if len(axes.channels) > 1 else (),
    )


def read_rows(path: Path) -> list[AttributeRow]:
    """Return a TIFF file's tags and metadata for the attributes panel, or raise FileProblem."""
    with _parsed_file(path) as parsed:
        return tag_rows(parsed.tif)


@dataclass(frozen=True, slots=True, eq=False)
class _PlaneStack:
    """Planes of a series' level as shown; `frame_axes` are (letter, length) in file order."""

    series: Any
    frame_axes: tuple[tuple[str, int], ...]
    meta: Metadata
    spacing: Spacing
    rows: int
    columns: int
    note: str

    @property
    def frames(self) -> int:
        """Number of frames."""
        return _frame_count(self.frame_axes)

    @property
    def axes(self) -> Axes:
        """The axes of the frames as others see them.

        Separate samples count as channels. An axis that the file does not name counts as depth if
        it is the only one, all others as time.
        """
        lengths = dict(self.frame_axes)
        samples = lengths.pop("S", 1)
        channels = lengths.pop("C", 1) * samples
        unnamed = next(iter(lengths)) if len(lengths) == 1 and not lengths.keys() - {*"IQ"} else "Z"
        depths = lengths.pop(unnamed, 1)
        meta = self.meta
        known = meta.channels if len(meta.channels) == channels else (Channel(),) * channels
        return Axes(known, depths, math.prod(lengths.values()), meta.z_step_mm, meta.time_step_ms)

    def positions(self, index: int) -> dict[str, int]:
        """Return the position of a frame along every frame_axes axis; channels vary fastest."""
        places: dict[str, int] = {}
        slowest_last = reversed(self.frame_axes)
        for axis, length in sorted(slowest_last, key=lambda one: "SCZ".find(one[0]) % 4):
            index, places[axis] = divmod(index, length)
        return places

    def place(self, index: int) -> tuple[int, int | None]:
        """Return the plane in the series' own order, and which sample is shown (None: all)."""
        places = self.positions(index)
        plane = 0
        for axis, length in self.frame_axes:
            if axis != "S":
                plane = plane * length + places[axis]
        return plane, places.get("S")

    def name(self, index: int) -> str:
        """Return e.g. "channel 2 of 3 (DAPI), depth 4 of 10"; "" for the only frame of a series."""
        if not {letter for letter, length in self.frame_axes if length > 1} - {*"SCZT"}:
            return self.axes.text(index)
        places = self.positions(index)
        texts: list[str] = []
        for axis, length in sorted(self.frame_axes, key=lambda one: "CSZT".find(one[0]) % 5):
            if length > 1:
                texts.append(f"{_NAMES.get(axis, 'plane')} {places[axis] + 1} of {length}")
        return ", ".join(texts)


def _plane_stack(path: Path, tif: tifffile.TiffFile, part: int) -> _PlaneStack:
    """Return the planes of a series; raise FileProblem if it is too large or cannot be shown."""
    levels: list[Any] = list(tif.series[part].levels)
    # Levels come largest first; the first that fits shows the most detail.
    fitting = [n for n, level in enumerate(levels) if _plane_size(level)[2] <= guards.MAX_SAMPLES]
    number = fitting[0] if fitting else 0
    level = levels[number]
    rows, columns, samples = _plane_size(level)
    guards.check_matrix(path, rows, columns, 1, 1)
    most = max(samples, _tile_samples(level))
    dtype = level.keyframe.dtype
    size = np.dtype(dtype).itemsize if dtype is not None else 1
    if most > guards.MAX_SAMPLES or most * size > _MAX_FRAME_BYTES:
        reason = f"it declares planes of {columns} x {rows} pixels, too large to be opened safely"
        raise guards.problem(path, reason, "Export a smaller part or a lower resolution")
    axes = plane_axes(path, level)
    frames = _frame_count(axes)
    guards.check_matrix(path, rows, columns, 1, frames)
    meta = series_metadata(tif, part)
    note = _incompleteness_note(tif, part, frames)
    spacing = meta.spacing
    if number:
        full_rows, full_columns, _ = _plane_size(levels[0])
        note = f"level {number + 1} of {len(levels)}: {full_columns:,} x {full_rows:,} is too large"
        spacing = _scale_spacing(spacing, full_rows / rows, full_columns / columns)
    if meta.turn in TRANSPOSED:
        rows, columns = columns, rows
    return _PlaneStack(level, axes, meta, spacing, rows, columns, note)


def _incompleteness_note(tif: tifffile.TiffFile, part: int, frames: int) -> str:
    """Return a warning about planes that the file promises and does not hold."""
    images = (tif.imagej_metadata or {}).get("images", 0) if tif.is_imagej else 0
    if isinstance(images, int) and images > frames:
        return f"the file is cut short: it contains {frames} of {images} planes"
    if tif.is_ome and tif.series[part].kind != "ome":
        return "its OME description names other files or is damaged: planes in the file's order"
    return ""


def _frame_count(axes: tuple[tuple[str, int], ...]) -> int:
    return math.prod(length for _, length in axes)


def _plane_size(level: Any) -> tuple[int, int, int]:
    page = level.keyframe
    rows, columns = int(page.imagelength), int(page.imagewidth)
    return rows, columns, rows * columns * int(page.samplesperpixel) * max(int(page.imagedepth), 1)


def _tile_samples(level: Any) -> int:
    """Return the samples of a tile, which is decoded as a whole even for a small image."""
    page = level.keyframe
    if not page.is_tiled:
        return 0
    size = int(page.tilewidth) * int(page.tilelength) * max(int(page.tiledepth), 1)
    return size * int(page.samplesperpixel)


def _scale_spacing(spacing: Spacing, rows: float, columns: float) -> Spacing:
    """Return the spacing of a smaller level of the pyramid."""
    if spacing.row_mm is None or spacing.column_mm is None:
        return spacing
    row, column = spacing.row_mm * rows, spacing.column_mm * columns
    return Spacing(row, column, spacing.source, row / column, spacing.note)


def _orient_spacing(spacing: Spacing, turn: int) -> Spacing:
    """Return the spacing after rows and columns are exchanged by the TIFF orientation."""
    if turn not in TRANSPOSED:
        return spacing
    row, column = spacing.column_mm, spacing.row_mm
    return Spacing(row, column, spacing.source, 1 / spacing.aspect, spacing.note)


def _instance(
    path: Path, status: FileStatus, digest: str, part: int, stack: _PlaneStack
) -> Instance:
    attributes = {"Format": stack.meta.format} | stack.meta.attributes
    frames = stack.frames
    if frames > 1 or part:
        # A stack is a series of its own; single pictures of a folder are listed together.
        attributes["SeriesInstanceUID"] = content_uid(f"{digest}/{part}/series".encode())
        name = stack.series.name or stack.meta.name
        attributes["SeriesDescription"] = f"{path.name} {name}".strip()[:200]
    return Instance(
        path=path,
        sop_instance_uid=_uid(digest, part),
        kind="tiff",
        rows=stack.rows,
        columns=stack.columns,
        frames=frames,
        number=part + 1 if part else 0,
        attributes=attributes,
        frame_time_ms=None,
        size_bytes=status.size,
        mtime_ns=status.mtime_ns,
        part=part,
        note=stack.note,
        axes=stack.axes,
    )


class _BoundedReader(io.BufferedReader):
    """Open file which allocates no more than it holds, however much a damaged file asks for."""

    def __init__(self, path: Path) -> None:
        super().__init__(cast(io.BufferedReader, sources.open_file(path)).detach())
        self._size = self.seek(0, io.SEEK_END)
        self.seek(0)

    def read(self, size: int | None = -1, /) -> bytes:
        """Return at most `size` bytes, or all that are left if it is -1."""
        rest = max(self._size - self.tell(), 0)
        return super().read(rest if size is None or size < 0 else min(size, rest))


@dataclass(slots=True)
class _ParsedFile:
    """Parsed file with those stacks of its series that were asked for."""

    tif: tifffile.TiffFile
    stacks: dict[int, _PlaneStack] = field(default_factory=dict[int, "_PlaneStack"])

    def stack(self, path: Path, part: int) -> _PlaneStack:
        """Return the planes of a series, kept for the next frame."""
        if part not in self.stacks:
            self.stacks[part] = _plane_stack(path, self.tif, part)
        return self.stacks[part]


@contextmanager
def _parsed_file(path: Path) -> Generator[_ParsedFile]:
    """Parse a file, or take the last one; turn errors of parser and codecs into FileProblem."""
    try:
        found: _ParsedFile = _parsed_cache.get((path, sources.status(path)), lambda: _parse(path))
        try:
            found.tif.filehandle.open()
            yield found
        finally:
            # A file that stays open could not be removed or replaced on Windows.
            found.tif.filehandle.close()
    except FileProblem:
        raise
    except MemoryError:
        _parsed_cache.clear()
        raise
    except Exception as error:
        # The parser and the codecs raise almost any exception for damaged files.
        _parsed_cache.clear()
        if isinstance(error, OSError) and error.errno is not None:
            raise guards.unreadable_file(path, error) from None
        raise guards.problem(
            path, "the TIFF file is damaged or cut short", guards.COPY_AGAIN, type(error).__name__
        ) from None


def _parse(path: Path) -> _ParsedFile:
    """Parse this file alone: names of other files in its metadata are not followed."""
    # tifffile logs what it finds in files, which may name a patient.
    logging.getLogger("tifffile").setLevel(logging.CRITICAL + 1)
    # tifffile can close and open again what has a method `open`.
    file: Any = SimpleNamespace(path=str(path), mode="rb", open=partial(_BoundedReader, path))
    # Micro-Manager files name other files, which would be opened.
    flags: dict[str, Any] = {"is_mmstack": False, "is_ndtiff": False}
    tif = tifffile.TiffFile(file, _multifile=False, **flags)
    try:
        if tif.is_ome:
            check_ome(path, tif.pages.first.description)
    finally:
        tif.close()
    return _ParsedFile(tif)


def _uid(digest: str, part: int) -> str:
    return content_uid(f"{digest}/{part}".encode())


def tag_rows(tif: tifffile.TiffFile) -> list[AttributeRow]:
    """Return the first page's tags and any OME or ImageJ metadata for the attributes panel."""
    kind = "BigTIFF" if tif.is_bigtiff else "TIFF"
    rows = [attribute_row("Format", kind), attribute_row("Pages", len(tif.pages))]
    for number, series in enumerate(tif.series):
        sizes = ", ".join(f"{axis} {n}" for axis, n in zip(series.axes, series.shape, strict=False))
        rows.append(attribute_row(f"Series {number + 1}", f"{series.name} {sizes}"))
    for tag in tif.pages.first.tags:
        many = int(tag.count) > _MAX_VALUES and int(tag.dtype) not in _BYTES
        text = f"{tag.count:,} values" if many else _text(tag.value)
        rows.append(AttributeRow(str(tag.code), tag.name, getattr(tag.dtype, "name", ""), text))
        if len(rows) > _MAX_ROWS:
            break
    for key, value in (tif.imagej_metadata or {}).items():
        rows.append(attribute_row(f"ImageJ {key}", _text(value)))
    if tif.is_ome:
        rows += [attribute_row(*item) for item in series_metadata(tif, 0).attributes.items()]
    return rows[:_MAX_ROWS]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if hasattr(value, "size") and not isinstance(value, int | float | str | tuple):
        return f"{value.size:,} values"
    if isinstance(value, tuple | list):
        parts: list[Any] = list(value)
        if len(parts) > 32:
            return f"{len(parts):,} values"
        value = ", ".join(str(getattr(part, "name", part)) for part in parts)
    return shortened(" ".join(str(getattr(value, "name", value)).split()))
