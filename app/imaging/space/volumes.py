"""Assemble a volume from the frames of a stack.

A regular stack keeps its voxels. Uneven slices are resampled linearly along the normal, and sheared
ones (a tilted gantry) are shifted back by fractions of a pixel, with a warning in the volume;
nothing is extrapolated. Images that form no stack are refused. Uncompressed slices are read
straight from their files, not mapped: a mapped file that is truncated or removed would end the
process.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.files.identity import pixel_sha256
from app.imaging.files.sources import open_file
from app.imaging.guards import COPY_AGAIN
from app.imaging.pixels.greys import modality_values
from app.imaging.space.planes import FramePlane, frame_plane
from app.imaging.space.stacks import (
    SHEAR,
    NotAStackError,
    Stack,
    VoxelGrid,
    first_at_each_position,
    sort_stack,
    voxel_grid,
)
from app.imaging.types import Frame, Instance, RealWorldMap, Rescale, Volume


@dataclass(frozen=True, slots=True)
class PlainLayout:
    """How the pixels of an uncompressed grey frame are stored in a file that is in no archive.

    Attributes:
        offset: Offset of the frame's first byte in the file.
        dtype: Type of the values: "u1" to "u8", "i1" to "i8", "f4" or "f8".
        swapped: Whether the file is big endian.
        up: Left shift that drops the unused bits above the value in a word.
        down: Right shift, after `up`, that moves the value to the lowest bits.
    """

    rows: int
    columns: int
    dtype: str
    offset: int = 0
    swapped: bool = False
    up: int = 0
    down: int = 0


def read_plain(instance: Instance, layout: PlainLayout, out: Array) -> None:
    """Read a frame's pixels into a contiguous [rows, columns] array of native byte order.

    Raises:
        FileProblem: The file is missing, truncated, or has changed since it was scanned.
    """
    try:
        _read_bytes(instance, layout.offset, out.reshape(-1).view(np.uint8).data)
    except OSError as error:
        raise guards.unreadable_file(instance.path, error) from None
    if layout.swapped:
        out.byteswap(inplace=True)
    if layout.down:
        _strip_unused_bits(out, layout)


def _read_bytes(instance: Instance, offset: int, room: memoryview) -> None:
    with open_file(instance.path) as file:
        file.seek(offset)
        got = file.readinto(room)  # pyright: ignore[reportAttributeAccessIssue]
        # Checked after reading, to notice a change during it too.
        status = os.fstat(file.fileno())
    if got < len(room):
        reason = f"the file is cut short: it contains {got:,} of {len(room):,} bytes of pixels"
        raise guards.problem(instance.path, reason, COPY_AGAIN)
    known = (instance.size_bytes, instance.mtime_ns)
    if instance.size_bytes and known != (status.st_size, status.st_mtime_ns):
        raise guards.changed_file(instance.path)


def _strip_unused_bits(out: Array, layout: PlainLayout) -> None:
    """Remove the bits of each word that are not the value's, in place."""
    words = out.view(f"u{out.dtype.itemsize}")
    # Without unused bits below the value a mask is enough.
    if out.dtype.kind == "u" and layout.up == layout.down:
        words &= words.dtype.type((1 << (8 * words.itemsize - layout.down)) - 1)
        return
    if layout.up:
        np.left_shift(words, layout.up, out=words)
    np.right_shift(out, layout.down, out=out)


MAX_BYTES = 4 * 1024**3
"""Bytes of the voxels of one volume."""

_WHOLE = 1e-3
"""Fraction of a pixel that is not worth an interpolation."""

_REMEDY = "Look at its images one by one"
Array = NDArray[Any]
Floats = NDArray[np.float32]


class Assembly:
    """Builds a volume from the frames in one stack, which may be added in any order.

    Args:
        path: A file in the stack, used only in error messages.
        count: Number of frames that will be added.
        frame_of_reference: FrameOfReferenceUID that the frames share, if any.
        max_bytes: Maximum size of the voxels in bytes.
        labels: Whether the pixels are labels, which must not be interpolated.
    """

    def __init__(
        self,
        path: Path,
        count: int,
        frame_of_reference: str = "",
        max_bytes: int = MAX_BYTES,
        *,
        labels: bool = False,
    ) -> None:
        self._path = path
        self._labels = labels
        self._reference = frame_of_reference
        self._limit = max_bytes
        self._frames: list[Frame | None] = [None] * count
        self._pixels: Array | None = None

    def put(self, place: int, frame: Frame, stored: Array | None = None) -> None:
        """Add frame `place` (from 0) of the stack, with `stored` or, if None, its own pixels."""
        pixels = frame.stored if stored is None else stored
        self.room(place, frame, pixels.shape, pixels.dtype)[...] = pixels

    def room(self, place: int, frame: Frame, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Add frame `place` (from 0) and return the array into which the caller writes its pixels.

        Returns:
            A contiguous [rows, columns] array, to be filled before the next frame is added. Its
            type is that of the pixels, or a wider type if the types in the stack differ.

        Raises:
            FileProblem: The frame is in colour or differs in size from the others, or the volume
                would be too large.
        """
        if len(shape) != 2 or (frame.palette is not None and not frame.supplemental):
            raise self._refusal("its images are in colour")
        count = len(self._frames)
        if self._pixels is None:
            self._check_memory(count, shape, dtype.itemsize)
            self._pixels = np.empty((count, *shape), dtype)
        if self._pixels.shape[1:] != shape:
            raise self._refusal("its images have different sizes")
        # Slices may differ in type, e.g. where only some have negative values.
        common = np.result_type(self._pixels.dtype, dtype)
        if common != self._pixels.dtype:
            self._check_memory(count, shape, common.itemsize)
            self._pixels = self._pixels.astype(common)
        # The pixels are in the volume already: only their interpretation is kept.
        empty = np.empty((0, 0), dtype)
        self._frames[place] = replace(frame, stored=empty, overlays=(), shutter=None)
        return self._pixels[place]

    def volume(self, check: Callable[[], None] = lambda: None) -> Volume:
        """Return the volume once all frames have been added.

        `check` is called from time to time, and may raise an exception to cancel.

        Raises:
            FileProblem: The frames do not form a stack; the message says why.
        """
        frames = [frame for frame in self._frames if frame is not None]
        if self._pixels is None or len(frames) < len(self._frames):
            raise self._refusal("some of its images are missing")
        planes = [frame_plane(frame, self._reference) for frame in frames]
        known = [plane for plane in planes if plane is not None]
        if len(known) < len(planes):
            raise self._refusal("its images do not say where they lie in the patient")
        try:
            return self._assemble(frames, known, self._pixels, check)
        except NotAStackError as error:
            raise self._refusal(str(error)) from None

    def _assemble(
        self,
        frames: list[Frame],
        planes: list[FramePlane],
        pixels: Array,
        check: Callable[[], None],
    ) -> Volume:
        warnings: list[str] = []
        keep = _distinct_frames(pixels, planes)
        chosen = first_at_each_position([planes[i] for i in keep])
        repeats = len(keep) // len(chosen)
        if repeats > 1:
            warnings.append(f"the first of {repeats} images at each position")
        keep = [keep[i] for i in chosen]
        stack = sort_stack([planes[i] for i in keep], *pixels.shape[1:])
        order = [keep[i] for i in stack.order]
        # A mean of two labels would be a third one.
        if self._labels and not stack.regular:
            raise NotAStackError("its labels lie on slices that are not evenly spaced")
        grid = voxel_grid(stack)
        ordered = [frames[i] for i in order]
        if len({_is_inverted(frame) for frame in ordered}) > 1:
            raise NotAStackError("some of its images show high values bright, others dark")
        pixels, template = self._values(_reorder(pixels, order), ordered, check)
        if not stack.regular:
            self._check_memory(grid.shape[0], grid.shape[1:], pixels.dtype.itemsize)
            pixels = resample(pixels, stack, grid, _fill(pixels, template), check)
            warnings += _resampling_notes(stack, grid)
        pixels.flags.writeable = False
        slices = tuple(order) if stack.regular else ()
        return Volume(pixels, grid.affine, template, tuple(warnings), slices)

    def _values(
        self, pixels: Array, frames: Sequence[Frame], check: Callable[[], None]
    ) -> tuple[Array, Frame]:
        """Return stored values if one rescale holds for all slices, else modality values."""
        # The middle slice is typical of the series: its window suits most slices.
        template = _common_template(frames[len(frames) // 2], frames)
        first = frames[0]
        same = all(
            (frame.rescale.slope, frame.rescale.intercept)
            == (first.rescale.slope, first.rescale.intercept)
            and _same_lut(frame, first)
            for frame in frames
        )
        if same:
            return pixels, template
        self._check_memory(len(frames), pixels.shape[1:], 4)
        values = np.empty(pixels.shape, np.float32)
        for place, frame in enumerate(frames):
            check()
            values[place] = modality_values(frame, pixels[place])
        units = template.rescale.units
        plain = replace(
            template, rescale=Rescale(units=units), modality_lut=None, padding=None, real_world=()
        )
        return values, plain

    def _check_memory(self, slices: int, size: tuple[int, ...], item: int) -> None:
        needed = slices * math.prod(size) * item
        if needed > self._limit:
            raise guards.problem(
                self._path,
                f"its volume would take {needed / 1e9:.1f} GB of memory",
                _REMEDY,
            )

    def _refusal(self, reason: str) -> FileProblem:
        return guards.problem(self._path, f"this series is not a volume: {reason}", _REMEDY)


def _is_inverted(frame: Frame) -> bool:
    return frame.photometric == "MONOCHROME1" or frame.inverse


def _common_template(template: Frame, frames: Sequence[Frame]) -> Frame:
    """Return the template without units, padding and real-world maps in which slices differ."""
    found = template
    if any(frame.rescale.units != found.rescale.units for frame in frames):
        found = replace(found, rescale=replace(found.rescale, units=""))
    if any(frame.padding != found.padding for frame in frames):
        found = replace(found, padding=None)
    if not all(_same_maps(frame.real_world, found.real_world) for frame in frames):
        found = replace(found, real_world=())
    return found


def _same_maps(first: Sequence[RealWorldMap], second: Sequence[RealWorldMap]) -> bool:
    if first is second:
        return True
    return len(first) == len(second) and all(
        replace(a, lut=None) == replace(b, lut=None) and _same_values(a.lut, b.lut)
        for a, b in zip(first, second, strict=True)
    )


def _same_values(first: Array | None, second: Array | None) -> bool:
    if first is None or second is None:
        return first is second
    return np.array_equal(first, second)


def _same_lut(first: Frame, second: Frame) -> bool:
    a, b = first.modality_lut, second.modality_lut
    if a is None or b is None:
        return a is b
    return a.first == b.first and np.array_equal(a.data, b.data)


def _distinct_frames(pixels: Array, planes: Sequence[FramePlane]) -> list[int]:
    """Return the indices of the frames without copies: same pixels at the same position."""
    shared = {plane for plane, count in Counter(planes).items() if count > 1}
    if not shared:
        return list(range(len(planes)))
    seen: set[tuple[str, FramePlane]] = set()
    keep: list[int] = []
    for place, plane in enumerate(planes):
        key = (pixel_sha256(pixels[place]) if plane in shared else "", plane)
        if key not in seen:
            seen.add(key)
            keep.append(place)
    return keep


def _reorder(pixels: Array, order: Sequence[int]) -> Array:
    """Return slices in an order, without copying them if it is theirs or its reverse."""
    everything = list(range(len(pixels)))
    if list(order) == everything:
        return pixels
    return pixels[::-1] if list(order) == everything[::-1] else pixels[list(order)]


def _fill(pixels: Array, template: Frame) -> float:
    """Return the value of voxels outside all slices: the file's padding, else the lowest value."""
    if template.padding is not None:
        return float(template.padding[0])
    return float(np.nanmin(pixels))


def resample(
    pixels: Array,
    stack: Stack,
    grid: VoxelGrid,
    fill: float,
    check: Callable[[], None] = lambda: None,
) -> Array:
    """Resample slices [n, rows, columns], in the order of `stack`, linearly to the regular `grid`.

    `fill` is the value for voxels outside the acquired slices. `check` is called for each slice,
    and may raise an exception to cancel. The voxels [slices, rows, columns] of the grid have the
    type of `pixels`.
    """
    whole = pixels.dtype.kind in "iub"
    result = np.empty(grid.shape, pixels.dtype)
    aligned: dict[int, Floats] = {}
    for place, along in enumerate(grid.along):
        check()
        # 1e-9 mm: an acquired position must find its own slice in spite of rounding.
        below = int(np.searchsorted(stack.along, along + 1e-9, side="right")) - 1
        below = min(max(below, 0), len(stack.along) - 2)
        part = (along - stack.along[below]) / (stack.along[below + 1] - stack.along[below])
        needed = [i for i, share in ((below, 1 - part), (below + 1, part)) if share > 1e-9]
        aligned = {
            i: aligned[i] if i in aligned else _align_slice(pixels[i], stack.aside[i], grid)
            for i in needed
        }
        section = aligned[needed[0]]
        if len(needed) == 2:
            section = section + np.float32(part) * (aligned[needed[1]] - section)
        section = np.where(np.isnan(section), np.float32(fill), section)
        result[place] = np.rint(section) if whole else section
    return result


def _align_slice(image: Array, aside: NDArray[np.float64], grid: VoxelGrid) -> Floats:
    """Shift a slice to the grid's rows and columns; NaN where it has no pixels."""
    x, y = (float(corner - shift) for corner, shift in zip(grid.corner, aside, strict=True))
    moved = _shift_rows(image.astype(np.float32), y, grid.shape[1])
    return _shift_rows(moved.T, x, grid.shape[2]).T


def _shift_rows(image: Floats, start: float, size: int) -> Floats:
    """Return `size` rows of an image from row `start` on, which may be a fraction or outside.

    This is 4 times as fast as scipy.ndimage, which also takes 0.4 s to import.
    """
    base = math.floor(start + _WHOLE)
    part = np.float32(max(start - base, 0.0))
    if part < _WHOLE:
        part = np.float32(0)
    last = image.shape[0] - (2 if part else 1)
    low, high = max(0, -base), min(size, last - base + 1)
    moved = np.full((size, image.shape[1]), np.nan, np.float32)
    if low < high:
        rows = image[low + base : high + base]
        if part:
            rows = rows + part * (image[low + base + 1 : high + base + 1] - rows)
        moved[low:high] = rows
    return moved


def _resampling_notes(stack: Stack, grid: VoxelGrid) -> list[str]:
    found: list[str] = []
    if not stack.even:
        step = float(grid.along[1] - grid.along[0])
        low, high = float(stack.gaps.min()), float(stack.gaps.max())
        found.append(
            f"resampled to a slice distance of {step:.2f} mm: the acquired one varies between "
            f"{low:.2f} and {high:.2f} mm"
        )
    if not stack.straight:
        degrees = math.degrees(math.atan(stack.shear))
        cause = f"sheared by {degrees:.1f}°" if stack.shear > SHEAR else "out of line"
        found.append(f"resampled to set slices straight that were {cause}")
    return found
