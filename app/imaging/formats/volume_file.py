"""Show NIfTI, NRRD and MetaImage volumes as instances and frames. Runs in a worker process.

If the file gives the orientation in the patient, its axes are exchanged and flipped (nothing is
resampled), so that axial slices have the patient's right on the left and anterior on top, and
coronal and sagittal slices have the head on top. If one axis has a clearly longer step than the
others, slices are shown as acquired, across that axis; otherwise they are axial. They follow each
other along the normal (row direction x column direction). Each frame has its true cosines, position
and spacing. Without an orientation the slices are in file order, without patient letters.
"""

from __future__ import annotations

import bz2
import itertools
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import AttributeRow, attribute_row
from app.imaging.files import sources
from app.imaging.files.gzip_stream import GzipStream
from app.imaging.files.identity import content_uid, file_digest, pixel_sha256
from app.imaging.files.sources import FileStatus, OneEntryCache
from app.imaging.formats.nifti import read_nifti
from app.imaging.formats.picture_file import narrow_integers
from app.imaging.formats.text_headers import read_meta_image, read_nrrd
from app.imaging.formats.volume_header import (
    MAX_VOLUME_BYTES,
    META_IMAGE,
    NIFTI,
    NRRD,
    VolumeHeader,
    check_header,
    truncated_file,
    volume_format,
)
from app.imaging.pixels.windows import valid_window
from app.imaging.space.geometry import direction_letters
from app.imaging.space.planes import image_plane
from app.imaging.space.spacing import stated_spacing
from app.imaging.space.stacks import (
    STACK_KEYWORD,
    NotAStackError,
    geometry_text,
    sort_stack,
    volume_geometry,
)
from app.imaging.types import (
    Frame,
    ImageRef,
    Instance,
    Orientation,
    Rescale,
    Spacing,
    SpacingSource,
    Voi,
    VoiFunction,
    Window,
)

Array = NDArray[Any]
Floats = NDArray[np.float64]

_PARSERS = {NIFTI: read_nifti, NRRD: read_nrrd, META_IMAGE: read_meta_image}

_THICK = 1.2
"""Ratio from which a longer step is taken for the distance of acquired slices."""

_LABELS = 64
_MAX_LABEL = 4095
_PERPENDICULAR = 1e-3
_UNKNOWN_PLACE = "the file does not give its orientation in the patient"
_PLANES = {
    0: ((1, 1), (2, -1), (0, -1)),
    1: ((0, 1), (2, -1), (1, 1)),
    2: ((0, 1), (1, 1), (2, 1)),
}
"""Patient axis across the slices -> (patient axis, sign) of columns, rows and slices, LPS."""
_CHUNK = 2**22
_TEXT_BYTES_A_SAMPLE = 32
_MAX_TEXT_BYTES = 2**28


_sample_cache = OneEntryCache()
_volume_cache = OneEntryCache()


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return an instance for each volume in the file (time points, components).

    Raises FileProblem for a file that is damaged, implausibly large, or of an unsupported kind.
    """
    status = sources.status(path)
    header = read_header(path)
    axes = slice_axes(header)
    slices, rows, columns = (header.shape[axis] for axis in (axes.slices, axes.rows, axes.columns))
    guards.check_matrix(path, rows, columns, 1, slices)
    digest = _digest(path, status, header)
    attributes = {
        "Format": header.format,
        "SeriesInstanceUID": content_uid(f"{digest}/series".encode()),
        "SeriesDescription": path.name,
    }
    if header.affine is not None:
        attributes["FrameOfReferenceUID"] = content_uid(repr(header.affine.tolist()).encode())
    attributes |= _stack_attributes(header, axes)
    return tuple(
        Instance(
            path=path,
            sop_instance_uid=content_uid(f"{digest}/{part}".encode()),
            kind="volume",
            rows=rows,
            columns=columns,
            frames=slices,
            number=part + 1,
            attributes=attributes,
            size_bytes=status.size,
            mtime_ns=status.mtime_ns,
            part=part,
            note=part_name(header, part),
        )
        for part in range(header.parts)
    )


def has_separate_voxels(path: Path) -> bool:
    """Return True if a volume header's voxels are in another file; raise FileProblem if damaged."""
    return read_header(path).data != path


def _stack_attributes(header: VolumeHeader, axes: SliceAxes) -> dict[str, str]:
    """Return slices' geometry for `stacks.stack_geometry`; empty without place, or in colour."""
    if header.colour_axis is not None:
        return {}
    count, rows, columns = (header.shape[axis] for axis in (axes.slices, axes.rows, axes.columns))
    spacing = _spacing(header, axes)
    planes = [image_plane(_orientation(header, axes, index), spacing) for index in range(count)]
    known = [plane for plane in planes if plane is not None]
    if len(known) < len(planes):
        return {}
    try:
        return {STACK_KEYWORD: geometry_text(volume_geometry(sort_stack(known, rows, columns)))}
    except NotAStackError:
        return {}


def read_frame(path: Path, part: int, index: int) -> Frame:
    """Return slice `index`, in display order, of volume `part` of the file, both from 0.

    Raises:
        FileProblem: The slice does not exist, or the file is damaged.
    """
    status = sources.status(path)
    header = read_header(path)
    if not 0 <= part < header.parts:
        raise guards.problem(path, f"it contains {header.parts} volumes, not {part + 1}")
    axes = slice_axes(header)
    if not 0 <= index < header.shape[axes.slices]:
        raise guards.problem(
            path, f"it contains {header.shape[axes.slices]} slices, not {index + 1}"
        )
    key = (path, status, sources.status(header.data), part)
    voxels, windows = _volume_cache.get(key, lambda: _sliced_volume(header, path, part, axes))
    stored = np.ascontiguousarray(voxels[index])
    stored = stored.astype(stored.dtype.newbyteorder("="), copy=False)
    digest = _digest(path, status, header)
    name = part_name(header, part)
    return Frame(
        stored=stored,
        ref=ImageRef(content_uid(f"{digest}/{part}".encode()), index, pixel_sha256(stored)),
        rescale=header.rescale if stored.ndim == 2 else Rescale(),
        photometric="MONOCHROME2" if stored.ndim == 2 else "RGB",
        voi=Voi(windows),
        spacing=_spacing(header, axes),
        orientation=_orientation(header, axes, index),
        bits=8 * stored.dtype.itemsize,
        note=". ".join(text for text in (name, *header.notes) if text),
    )


def read_rows(path: Path) -> list[AttributeRow]:
    """Return a volume's header fields for the attributes panel; raise FileProblem if damaged."""
    header = read_header(path)
    rows = list(header.rows)
    if header.affine is not None:
        rows.append(attribute_row("Affine (LPS, mm)", header.affine[:3].round(6).tolist()))
    return rows


def part_name(header: VolumeHeader, part: int) -> str:
    """Return the name of volume `part` (from 0), e.g. "time point 3 of 120"; "" if it is alone."""
    names: list[str] = []
    for axis in header.part_axes:
        part, position = divmod(part, header.sizes[axis])
        if header.sizes[axis] > 1:
            name = header.axis_names[axis] if axis < len(header.axis_names) else "volume"
            names.append(f"{name or 'volume'} {position + 1} of {header.sizes[axis]}")
    return ", ".join(names)


@dataclass(frozen=True, slots=True)
class SliceAxes:
    """The volume axes (0: i, 1: j, 2: k) shown as columns, rows and slices.

    `flips` says for columns, rows and slices in turn whether the file's order is reversed.
    """

    columns: int = 0
    rows: int = 1
    slices: int = 2
    flips: tuple[bool, bool, bool] = (False, False, False)


def slice_axes(header: VolumeHeader) -> SliceAxes:
    """Return the volume axes to show as columns, rows and slices, chosen by the file's affine."""
    if header.affine is None:
        return SliceAxes()
    steps = np.linalg.norm(header.affine[:3, :3], axis=0)
    unit = header.affine[:3, :3] / steps
    # axes[d] is the volume's axis that is nearest to patient axis d.
    axes = max(
        itertools.permutations(range(3)),
        key=lambda order: sum(abs(float(unit[d, axis])) for d, axis in enumerate(order)),
    )
    across = 2
    thickest = int(steps.argmax())
    others = [steps[axis] for axis in range(3) if axis != thickest]
    if header.shape[2] == 1 and max(header.shape) > 1:
        # A single slice is shown as it is; across it there would be lines of one pixel.
        across = axes.index(2)
    elif steps[thickest] >= _THICK * max(others):
        # Thick slices are shown as acquired; other cuts would look coarse.
        across = axes.index(thickest)
    columns, rows, slices = (axes[patient_axis] for patient_axis, _ in _PLANES[across])
    a, b, c = (bool(unit[d, axes[d]] * sign < 0) for d, sign in _PLANES[across])
    return SliceAxes(columns, rows, slices, (a, b, c))


def _sliced_volume(
    header: VolumeHeader, path: Path, part: int, axes: SliceAxes
) -> tuple[Array, tuple[Window, ...]]:
    """Return voxels as they are shown, [slices, rows, columns] or [..., 3], and their windows."""
    array = part_samples(header, path, part)
    # The array is [k, j, i]: axis a of the volume is its dimension 2 - a.
    order = [2 - axes.slices, 2 - axes.rows, 2 - axes.columns, *range(3, array.ndim)]
    steps = [slice(None, None, -1 if flip else 1) for flip in reversed(axes.flips)]
    array = array.transpose(order)[tuple(steps)]
    if array.ndim == 4:
        return array[..., :3], ()
    array = narrow_integers(array)
    return array, _windows(header, array)


def _windows(header: VolumeHeader, array: Array) -> tuple[Window, ...]:
    """Return the file's window; for a label map one that sets labels apart from background."""
    if header.window is not None:
        low, high = header.window
        exact = VoiFunction.LINEAR_EXACT
        window = valid_window(Window((low + high) / 2, high - low, exact, "file"))
        return (window,) if window is not None else ()
    if array.dtype.kind not in "iu" or header.rescale != Rescale():
        return ()
    low, high = int(array.min()), int(array.max())
    # Images have negative values, or more of them than label maps have labels.
    if low < 0 or not 0 < high <= _MAX_LABEL:
        return ()
    counts = np.zeros(high + 1, np.int64)
    for one in array:
        # Slice by slice: bincount takes eight bytes for every voxel.
        counts += np.bincount(one.reshape(-1), minlength=high + 1)
    if np.count_nonzero(counts) > _LABELS or counts.argmax() != 0:
        return ()
    return (Window((high + 1) / 2, high + 1.0, VoiFunction.LINEAR, "labels"),)


def _spacing(header: VolumeHeader, axes: SliceAxes) -> Spacing:
    """Return the spacing of a slice's pixels and what it rests on."""
    row_mm, column_mm = header.spacing[axes.rows], header.spacing[axes.columns]
    if header.affine is None:
        note = f"stated by the file; {_UNKNOWN_PLACE}"
        return stated_spacing(row_mm, column_mm, SpacingSource.CALIBRATED, note)
    if not _has_square_rows(_unit_steps(header.affine, axes)):
        return Spacing(note="its rows and columns are not perpendicular: no lengths")
    if header.standard:
        note = f"in the standard space {header.standard}, not in the patient's own"
        return stated_spacing(row_mm, column_mm, SpacingSource.STANDARD, note)
    return stated_spacing(row_mm, column_mm, SpacingSource.PATIENT, "")


def _unit_steps(affine: Floats, axes: SliceAxes) -> Floats:
    """Return [3, 3]: its columns are the directions of columns, rows and slices."""
    steps = affine[:3, [axes.columns, axes.rows, axes.slices]] * np.where(axes.flips, -1.0, 1.0)
    return steps / np.linalg.norm(steps, axis=0)


def _has_square_rows(unit: Floats) -> bool:
    """Return whether rows and columns of a slice are perpendicular."""
    return abs(float(unit[:, 0] @ unit[:, 1])) < _PERPENDICULAR


def _orientation(header: VolumeHeader, axes: SliceAxes, index: int) -> Orientation:
    """Return direction cosines and position of a slice, with the letters of its sides."""
    if header.affine is None:
        return Orientation()
    order = (axes.columns, axes.rows, axes.slices)
    first = np.array([0.0, 0.0, 0.0, 1.0])
    for axis, flip, position in zip(order, axes.flips, (0, 0, index), strict=True):
        first[axis] = header.shape[axis] - 1 - position if flip else position
    unit = _unit_steps(header.affine, axes)
    across, down = unit[:, 0].tolist(), unit[:, 1].tolist()
    letters = direction_letters(across), direction_letters(down)
    if not _has_square_rows(unit):
        return Orientation(*letters)
    x, y, z, _ = (header.affine @ first).tolist()
    return Orientation(*letters, (*across, *down), (x, y, z))


def read_header(path: Path) -> VolumeHeader:
    """Return the checked header of a volume file; raise FileProblem if it is damaged."""
    return _header(path, sources.status(path))


@lru_cache(maxsize=4)
def _header(path: Path, status: FileStatus) -> VolumeHeader:
    """Return the checked header, kept while frames are asked for."""
    kind = volume_format(sources.read_start(path, 2048))
    if not kind:
        raise guards.problem(path, "this volume cannot be read", guards.COPY_AGAIN)
    header = _PARSERS[kind](path)
    size = status.size if header.data == path else sources.status(header.data).size
    check_header(header, path, size)
    return header


def _digest(path: Path, status: FileStatus, header: VolumeHeader) -> str:
    """Return a digest of the content of header and voxels."""
    files = {path: status, header.data: sources.status(header.data)}
    return file_digest(*files.items())


def part_samples(header: VolumeHeader, path: Path, part: int) -> Array:
    """Read the samples of volume `part`, from 0; `path` is for error messages.

    The samples last read are cached, since frames are requested one by one.

    Returns:
        A read-only array [k, j, i] or [k, j, i, colour] in the file's byte order.

    Raises:
        FileProblem: The file is damaged or truncated.
    """
    axes = len(header.sizes)
    if header.total_bytes > MAX_VOLUME_BYTES:
        if header.part_axes != tuple(range(axes - len(header.part_axes), axes)):
            reason = "its interleaved volumes are too large to be opened safely"
            raise guards.problem(path, reason, "Export them one by one")
        sizes = [size for n, size in enumerate(header.sizes) if n not in header.part_axes]
        flat = _read_samples(header, path, part * header.part_bytes, header.part_bytes)
        return _ordered_axes(flat.reshape(sizes[::-1]), header)
    key = (path, header.data, sources.status(path), sources.status(header.data))
    whole = _sample_cache.get(key, lambda: _read_samples(header, path, 0, header.total_bytes))
    array = whole.reshape(header.sizes[::-1])
    counts = [header.sizes[axis] for axis in header.part_axes]
    # The fastest of these axes counts first, so that time points follow each other in the file.
    place = np.unravel_index(part, counts, order="F") if counts else ()
    index: list[Any] = [slice(None)] * axes
    for axis, position in zip(header.part_axes, place, strict=True):
        index[axes - 1 - axis] = int(position)
    return _ordered_axes(array[tuple(index)], header)


def _ordered_axes(array: Array, header: VolumeHeader) -> Array:
    """Return [k, j, i(, colour)] from the array of one volume, whose axes are in file order."""
    kept = [n for n in range(len(header.sizes)) if n not in header.part_axes]
    # Numpy counts axes from the slowest, the header from the fastest.
    where = {axis: len(kept) - 1 - place for place, axis in enumerate(kept)}
    order = [where[axis] for axis in reversed(header.space_axes)]
    if header.colour_axis is not None:
        order.append(where[header.colour_axis])
    array = array.transpose(order)
    missing = 3 - len(header.space_axes)
    return array.reshape((1,) * missing + array.shape) if missing else array


def _read_samples(header: VolumeHeader, path: Path, skip: int, count: int) -> Array:
    """Read `count` bytes of samples, beginning `skip` bytes behind the first sample."""
    try:
        with sources.open_file(header.data) as file:
            if header.encoding in ("text", "hex"):
                return _read_text(header, file, path)[skip // header.dtype.itemsize :]
            read = _sample_reader(header, file, skip)
            buffer = bytearray(count)
            filled = _fill(read, memoryview(buffer))
    except FileProblem:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise guards.unreadable_file(header.data, error) from None
        raise guards.problem(
            path, "its compressed voxels are damaged", guards.COPY_AGAIN, type(error).__name__
        ) from None
    if filled < count:
        raise truncated_file(path, filled, count)
    return np.frombuffer(buffer, header.dtype)


def _sample_reader(header: VolumeHeader, file: BinaryIO, skip: int) -> Callable[[int], bytes]:
    """Return a function that reads the samples' bytes, from `skip` bytes behind the first on."""
    if header.encoding == "raw" and not header.packed:
        file.seek(header.offset + skip)
        return file.read
    if header.packed:
        skip += header.offset
    else:
        file.seek(header.offset)
    read = bz2.BZ2File(file).read if header.encoding == "bzip2" else GzipStream(file).read
    while skip > 0:
        passed = len(read(min(skip, _CHUNK)))
        if not passed:
            break
        skip -= passed
    return read


def _fill(read: Callable[[int], bytes], target: memoryview) -> int:
    filled = 0
    while filled < len(target):
        data = read(min(_CHUNK, len(target) - filled))
        if not data:
            break
        target[filled : filled + len(data)] = data
        filled += len(data)
    return filled


def _read_text(header: VolumeHeader, file: BinaryIO, path: Path) -> Array:
    """Read all samples of a file that writes them as decimal or hexadecimal text."""
    count = header.total_bytes // header.dtype.itemsize
    limit = min(count * _TEXT_BYTES_A_SAMPLE, _MAX_TEXT_BYTES)
    file.seek(header.offset)
    text = file.read(limit + 1)
    if len(text) > limit:
        raise guards.problem(path, "its voxels are written as text, too long to be read safely")
    size = header.dtype.itemsize
    if header.encoding == "hex":
        data = bytes.fromhex(b"".join(text.split()).decode("ascii"))
        values: Array = np.frombuffer(data[: len(data) // size * size], header.dtype)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                values = np.fromstring(text, header.dtype.newbyteorder("="), sep=" ")
            except DeprecationWarning:
                raise guards.problem(
                    path, "its voxels are not numbers", guards.COPY_AGAIN
                ) from None
    if values.size < count:
        raise truncated_file(path, values.size * size, header.total_bytes)
    return values[:count]
