"""Show TIFF, BigTIFF, OME-TIFF and ImageJ stacks as instances and frames. Runs in a worker process.

Every series of a file (an OME image, a slide, its label) is an instance, and its planes are the
frames: channels vary fastest, then depth, then time. A note on each frame names its channel, depth
and time. Red, green and blue of one plane are shown as colour; separate channels, e.g. of a
fluorescence microscope, stay apart and grey. Of a pyramid, the largest level that can be opened
safely is shown. A plain TIFF states the resolution of paper, so only OME, ImageJ and slide scanners
give a spacing. OME-XML is read by the schema OME/2016-06 (openmicroscopy.org).
"""

from __future__ import annotations

import io
import logging
import math
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree as ET

import numpy as np
import tifffile

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import MAX_TEXT, AttributeRow, attribute_row, shortened
from app.imaging.files import sources
from app.imaging.files.identity import content_uid, file_digest, pixel_sha256
from app.imaging.files.sources import FileStatus, OneEntryCache
from app.imaging.formats.picture_file import TRANSPOSED, apply_orientation
from app.imaging.formats.tiff_pixels import frame_pixels, plane_axes
from app.imaging.pixels.windows import valid_window
from app.imaging.space.spacing import MAX_ANISOTROPY, stated_spacing
from app.imaging.types import (
    Frame,
    ImageRef,
    Instance,
    Spacing,
    SpacingSource,
    Voi,
    VoiFunction,
    Window,
)

MAX_SERIES = 1000
_MAX_FRAME_BYTES = 2**30
_NAMES = {
    "T": "time point", "Z": "depth", "C": "channel", "S": "sample", "R": "series", "H": "lifetime",
    "A": "angle", "P": "position", "M": "tile", "V": "view", "E": "wavelength",
}  # fmt: skip

_parsed_cache = OneEntryCache()

MAX_XML = 2**24
_ORIENTATION = 274
_X_RESOLUTION, _Y_RESOLUTION = 282, 283
_MAX_ROWS = 2000
_MAX_VALUES = 2**16
_BYTES = (1, 2, 6, 7)
"""Tag types whose values are not converted one by one: bytes and text."""
_MM = {
    "m": 1e3, "cm": 10.0, "mm": 1.0, "um": 1e-3, "µm": 1e-3, "μm": 1e-3, "\\u00b5m": 1e-3,
    "micron": 1e-3, "microns": 1e-3, "micrometer": 1e-3, "nm": 1e-6, "pm": 1e-9, "å": 1e-7,
    "in": 25.4, "inch": 25.4, "inches": 25.4,
}  # fmt: skip
_MPP = re.compile(r"\bMPP\s*=\s*([0-9.]{1,12})")


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
        series = len(parsed.tif.series)
        if not 0 <= part < series:
            raise guards.problem(path, f"it contains {series} images, not {part + 1}")
        stack = parsed.stack(path, part)
        if not 0 <= index < stack.frames:
            raise guards.problem(path, f"it contains {stack.frames} frames, not {index + 1}")
        pixels = frame_pixels(path, stack.series, *stack.place(index))
    turn = stack.meta.turn
    stored = np.ascontiguousarray(apply_orientation(pixels.stored, turn))
    notes = (stack.name(index), stack.note, pixels.note)
    channel = stack.positions(index).get("C", 0)
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
        note=". ".join(text for text in notes if text),
    )


def read_rows(path: Path) -> list[AttributeRow]:
    """Return a TIFF file's tags and metadata for the attributes panel, or raise FileProblem."""
    with _parsed_file(path) as parsed:
        return tag_rows(parsed.tif)


@dataclass(frozen=True, slots=True, eq=False)
class _PlaneStack:
    """Planes of the level of a series that is shown; `rows`, `columns` and `spacing` are as shown.

    `frame_axes` are the (axis letter, length) that frames count, in the file's order.
    """

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
        places = self.positions(index)
        texts: list[str] = []
        for axis, length in sorted(self.frame_axes, key=lambda one: "CSZT".find(one[0]) % 5):
            if length > 1:
                text = f"{_NAMES.get(axis, 'plane')} {places[axis] + 1} of {length}"
                label = self.meta.channel_name(places[axis]) if axis == "C" else ""
                texts.append(f"{text} ({label})" if label else text)
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
    """Return rows, columns and samples of a plane."""
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
            _check_ome(path, tif.pages.first.description)
    finally:
        tif.close()
    return _ParsedFile(tif)


def _uid(digest: str, part: int) -> str:
    return content_uid(f"{digest}/{part}".encode())


@dataclass(frozen=True, slots=True)
class Metadata:
    """Metadata of one TIFF series.

    Attributes:
        format: "TIFF", "OME-TIFF", "ImageJ TIFF" or "SVS".
        name: Name of the series, or "".
        spacing: Pixel spacing of the largest resolution level.
        turn: TIFF Orientation tag, 1 to 8.
        attributes: Keywords and texts to add to `Instance.attributes`.
        channels: Name of each channel.
        ranges: The (lowest, highest) value to display for each channel.
    """

    format: str = "TIFF"
    name: str = ""
    spacing: Spacing = field(default_factory=Spacing)
    turn: int = 1
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    channels: tuple[str, ...] = ()
    ranges: tuple[tuple[float, float], ...] = ()

    def channel_name(self, channel: int) -> str:
        """Return the name of a channel (from 0), or "" if it has none."""
        return self.channels[channel] if channel < len(self.channels) else ""

    def channel_window(self, channel: int) -> Window | None:
        """Return the window that the file specifies for a channel (from 0), or None if none."""
        if channel >= len(self.ranges):
            return None
        low, high = self.ranges[channel]
        exact = VoiFunction.LINEAR_EXACT
        return valid_window(Window((low + high) / 2, high - low, exact, "file"))


def _safe_xml(path: Path, text: str) -> ET.Element:
    """Parse OME-XML; refuse entity declarations, which can expand without limit."""
    if len(text) > MAX_XML or re.search(r"<!\s*(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise guards.problem(path, "its OME description is not safe to read")
    try:
        return ET.fromstring(text)  # entities were refused above
    except ET.ParseError:
        raise guards.problem(path, "its OME description is damaged", guards.COPY_AGAIN) from None


def _check_ome(path: Path, text: str) -> None:
    """Refuse OME-XML that is unsafe or declares more planes than the viewer supports.

    The TIFF library creates an object for each declared plane, even if the file lacks the plane.
    """
    for element in _safe_xml(path, text).iterfind(".//{*}Pixels"):
        sizes = [_number(element.get(f"Size{axis}")) for axis in "ZCT"]
        if math.prod(sizes) > guards.MAX_FRAMES:
            reason = "its OME description declares an impossible number of planes"
            raise guards.problem(path, reason, guards.COPY_AGAIN)


def series_metadata(tif: tifffile.TiffFile, number: int) -> Metadata:
    """Return the metadata of series `number` (from 0); damaged parts are left out."""
    series: Any = tif.series[number]
    page = series.keyframe
    turn = _orientation(page)
    if tif.is_ome and series.kind == "ome":
        return _ome(tif, number, turn)
    if tif.is_imagej and series.kind == "imagej":
        return _imagej(tif, page, turn)
    found = _MPP.search(str(page.description)[:4096]) if tif.is_svs else None
    if found is not None:
        step = _number(found.group(1)) * 1e-3
        note = "stated by the file (MPP of the slide scanner)"
        spacing = stated_spacing(step, step, SpacingSource.CALIBRATED, note)
        return Metadata("SVS", str(series.name), spacing, turn)
    return Metadata("TIFF", "", _print_spacing(page), turn)


def _orientation(page: Any) -> int:
    """Return the TIFF Orientation, 1 (upright) if there is none."""
    tag = page.tags.get(_ORIENTATION)
    value = tag.value if tag is not None else 1
    return int(value) if value in range(1, 9) else 1


def _number(value: Any) -> float:
    """Return a value as a number, 0 if it is none or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0.0
    return number if math.isfinite(number) else 0.0


def _resolution(page: Any, code: int) -> float:
    """Return pixels per unit of a resolution tag; 0 if the file does not say."""
    tag = page.tags.get(code)
    value: Any = tag.value if tag is not None else (0, 1)
    try:
        numerator, denominator = value
        return float(numerator) / float(denominator) if denominator else 0.0
    except (TypeError, ValueError):
        return 0.0


def _print_spacing(page: Any) -> Spacing:
    """Return no spacing but the shape of a pixel: a fax has more columns than rows per inch."""
    x, y = _resolution(page, _X_RESOLUTION), _resolution(page, _Y_RESOLUTION)
    if x <= 0 or y <= 0 or (x, y) == (1.0, 1.0):
        return Spacing(note="a picture has no patient scale")
    aspect = x / y if 1 / MAX_ANISOTROPY <= x / y <= MAX_ANISOTROPY else 1.0
    return Spacing(aspect=aspect, note="a print resolution is no patient scale: ignored")


def _imagej(tif: tifffile.TiffFile, page: Any, turn: int) -> Metadata:
    """Return the metadata that ImageJ wrote."""
    stated: dict[str, Any] = dict(tif.imagej_metadata or {})
    unit = str(stated.get("unit", "")).strip().lower()
    scale = _MM.get(unit, 0.0)
    # ImageJ stores pixels per unit in the resolution tags.
    x, y = _resolution(page, _X_RESOLUTION), _resolution(page, _Y_RESOLUTION)
    spacing = Spacing(note="ImageJ gives no unit of length")
    if scale and x > 0 and y > 0:
        note = f"stated by the file (ImageJ, in {unit})"
        spacing = stated_spacing(scale / y, scale / x, SpacingSource.CALIBRATED, note)
    ends = tuple(stated[end] for end in ("min", "max") if end in stated)
    listed: Any = stated.get("Ranges") or ends
    values = [_number(value) for value in listed] if isinstance(listed, tuple) else []
    ranges = tuple(zip(values[::2], values[1::2], strict=False))
    sound = all(high > low for low, high in ranges)
    return Metadata("ImageJ TIFF", "", spacing, turn, ranges=ranges if sound else ())


def _ome(tif: tifffile.TiffFile, number: int, turn: int) -> Metadata:
    """Return the metadata of an OME image."""
    root = _safe_xml(Path(tif.filename), str(tif.pages.first.description))
    image = next(islice(root.iterfind("{*}Image"), number, None), None)
    pixels = image.find("{*}Pixels") if image is not None else None
    if image is None or pixels is None:
        return Metadata("OME-TIFF", turn=turn)
    page: Any = tif.series[number].keyframe
    spacing = Spacing(note="the OME description gives no pixel size")
    row, column = (_ome_mm(pixels, axis) for axis in "YX")
    sizes = (_number(pixels.get("SizeX")), _number(pixels.get("SizeY")))
    # Tools that crop or shrink an image often copy its description unchanged.
    if sizes != (page.imagewidth, page.imagelength):
        spacing = Spacing(note="the OME description is for an image of another size")
    elif row and column:
        note = "stated by the file (OME PhysicalSize)"
        spacing = stated_spacing(row, column, SpacingSource.CALIBRATED, note)
    channels = [one.get("Name", "") for one in pixels.iterfind("{*}Channel")]
    attributes = {f"OME {key}": value[:MAX_TEXT] for key, value in pixels.attrib.items()}
    name = image.get("Name", "")[:100]
    return Metadata("OME-TIFF", name, spacing, turn, attributes, tuple(channels[:1000]))


def _ome_mm(pixels: ET.Element, axis: str) -> float:
    """Return a pixel's size along an axis in mm; 0 if unknown."""
    unit = pixels.get(f"PhysicalSize{axis}Unit", "µm").strip().lower()
    return _number(pixels.get(f"PhysicalSize{axis}")) * _MM.get(unit, 0.0)


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
    """Return the value of a tag as a short text."""
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
