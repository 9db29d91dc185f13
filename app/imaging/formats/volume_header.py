"""Header of a volume file (NIfTI, NRRD, MetaImage) in one common form, and its checks.

Voxel indices are in file order: axis 0 varies fastest. Directions and positions are in the
patient's LPS system in mm, and voxel centres have integer indices.
"""

from __future__ import annotations

import math
import re
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import AttributeRow
from app.imaging.types import Rescale

MAX_HEADER_BYTES = 2**20
MAX_PARTS = 20_000
"""Volumes (time points, components) of one file."""
MAX_VOLUME_BYTES = 2**30
"""Stored bytes of one volume: a cube of 800 voxels of 16 bits. A worker keeps one volume."""

MAX_PACKED_OFFSET = 2**26
"""Offset of the voxels in a gzipped file: everything before them must be inflated too."""

_MAX_MM = 1e6

NIFTI, NRRD, META_IMAGE = "NIfTI", "NRRD", "MetaImage"

_META_IMAGE = re.compile(rb"^[A-Za-z]+ *= ?[^\n]*\r?\n")


@dataclass(frozen=True, slots=True, eq=False)
class VolumeHeader:
    """Parsed header of a volume file.

    Attributes:
        format: "NIfTI", "NRRD" or "MetaImage".
        sizes: Number of samples along each axis in the file, fastest-varying axis first.
        space_axes: Numbers of the file axes that are i, j and k; fewer than three for a flat image.
        dtype: Type of a sample, in the file's byte order; uint8 for NIfTI's RGB.
        data: File that holds the samples.
        offset: Byte offset of the samples in that file; if the whole file is gzipped (`packed`), in
            its decompressed content.
        encoding: "raw", "gzip", "zlib", "bzip2", "text" or "hex".
        packed: Whether the whole file `data` is gzipped, header included.
        colour_axis: Axis that holds red, green and blue, or None if the volume is not in colour.
        affine: [4, 4] matrix from (i, j, k, 1) to patient coordinates (mm, LPS); None if the file
            gives no orientation.
        spacing: Distance between voxel centres along i, j, k in mm; 0.0 where unknown.
        standard: Name of the standard space that the coordinates refer to; "" for the patient's
            own.
        rescale: Real value = stored value * slope + intercept.
        window: Range of values to display (lowest, highest) as given by the file, or None.
        axis_names: Name of what each axis counts, e.g. "time point"; "" for space and colour.
        notes: Warnings that the user must see.
        rows: Header fields for the attributes panel.
    """

    format: str
    sizes: tuple[int, ...]
    space_axes: tuple[int, ...]
    dtype: np.dtype[Any]
    data: Path
    offset: int
    encoding: str = "raw"
    packed: bool = False
    colour_axis: int | None = None
    affine: NDArray[np.float64] | None = None
    spacing: tuple[float, float, float] = (0.0, 0.0, 0.0)
    standard: str = ""
    rescale: Rescale = field(default_factory=Rescale)
    window: tuple[float, float] | None = None
    axis_names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    rows: tuple[AttributeRow, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Size of all samples in bytes, uncompressed."""
        return math.prod(self.sizes) * self.dtype.itemsize

    @property
    def part_axes(self) -> tuple[int, ...]:
        """Numbers of the axes that count separate volumes: time points or components."""
        taken = {*self.space_axes, self.colour_axis}
        return tuple(axis for axis in range(len(self.sizes)) if axis not in taken)

    @property
    def parts(self) -> int:
        """Number of volumes in the file."""
        return math.prod(self.sizes[axis] for axis in self.part_axes)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels along i, j and k."""
        i, j, k = (*(self.sizes[axis] for axis in self.space_axes), 1, 1, 1)[:3]
        return i, j, k

    @property
    def part_bytes(self) -> int:
        """Size of one volume in bytes, uncompressed."""
        return self.total_bytes // max(self.parts, 1)


def check_header(header: VolumeHeader, path: Path, data_size: int) -> None:
    """Raise FileProblem if a header's sizes are implausible, or exceed what its file can hold.

    `data_size` is the size in bytes of the file with the samples; `path` is for error messages.
    """
    if not header.space_axes or any(size <= 0 for size in header.sizes):
        raise guards.problem(path, "the volume has no voxels", guards.COPY_AGAIN)
    if header.parts > MAX_PARTS:
        raise guards.problem(path, f"it declares {header.parts:,} volumes, which cannot be right")
    i, j, k = header.shape
    # Sections in all three planes are shown, so each pair must make an acceptable image.
    for first, second in ((i, j), (i, k), (j, k)):
        guards.check_matrix(path, first, second, 3 if header.colour_axis is not None else 1, 1)
    if header.part_bytes > MAX_VOLUME_BYTES or header.total_bytes > 2**40:
        reason = f"it declares a volume of {i} x {j} x {k} voxels, too large to be opened safely"
        raise guards.problem(path, reason, "The header may be damaged; ask for a smaller export")
    if header.packed and header.offset > MAX_PACKED_OFFSET:
        raise damaged_header(path, "its voxels begin far beyond its end")
    rest = data_size if header.packed else data_size - header.offset
    if header.encoding == "raw" and not header.packed and rest < header.total_bytes:
        raise truncated_file(path, max(rest, 0), header.total_bytes)
    # Deflate cannot shrink anything to less than a thousandth (RFC 1951).
    if (header.packed or header.encoding in ("gzip", "zlib")) and (
        header.total_bytes > 1100 * max(rest, 0) + 2**16
    ):
        reason = "its header declares more voxels than a file of its size can hold"
        raise guards.problem(path, reason, guards.COPY_AGAIN)


def truncated_file(path: Path, there: int, wanted: int) -> FileProblem:
    """Return the error for a file with only `there` of the `wanted` bytes of voxels."""
    reason = f"the file is cut short: it contains {there:,} of {wanted:,} bytes of voxels"
    return guards.problem(path, reason, guards.COPY_AGAIN)


def damaged_header(path: Path, what: str) -> FileProblem:
    """Return the error to raise for a header that cannot be understood; `what` says why."""
    return guards.problem(path, f"its header is damaged: {what}", guards.COPY_AGAIN)


def sibling_file(path: Path, name: str) -> Path:
    """Return the path of the data file named by a header; it must be in the header's own folder.

    Raises:
        FileProblem: The name points to another folder, or is not a file name.
    """
    plain = name.strip().removeprefix("./").removeprefix(".\\")
    if not plain or plain in (".", "..") or any(sign in plain for sign in "/\\:\0"):
        reason = "its voxels are in a file of another folder, which is not opened for it"
        raise guards.problem(path, reason, "Put both files into one folder")
    found = path.parent / plain
    try:
        outside = found.is_symlink() and found.resolve().parent != path.parent.resolve()
    except OSError as error:  # no system takes a name as long as that
        raise guards.unreadable_file(path, error) from None
    if outside:
        raise guards.problem(path, "its voxels are in a file of another folder")
    return found


def checked_affine(
    directions: NDArray[np.float64], origin: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return the [4, 4] affine with these steps and origin; None if the geometry is impossible.

    Args:
        directions: [3, 3] matrix whose columns are the steps in mm of one voxel along i, j, k.
        origin: [3] position of the first voxel's centre in mm.
    """
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = directions, origin
    if not np.isfinite(affine).all() or np.abs(affine).max() > _MAX_MM:
        return None
    # The determinant of unit steps is the volume they span: near 0 they lie in a plane.
    steps = np.linalg.norm(affine[:3, :3], axis=0)
    if not (steps > 0).all() or abs(np.linalg.det(affine[:3, :3] / steps)) < 1e-3:
        return None
    return affine


def voxel_steps(affine: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the distance between voxel centres along i, j and k in mm."""
    i, j, k = np.linalg.norm(affine[:3, :3], axis=0).tolist()
    return i, j, k


def volume_format(start: bytes) -> str:
    """Return NIFTI, NRRD or META_IMAGE by a file's first 1 KiB; "" for any other format."""
    if start.startswith(b"\x1f\x8b"):
        return NIFTI if _is_nifti(_inflate_start(start)) else ""
    if _is_nifti(start):
        return NIFTI
    if re.match(rb"NRRD000[1-5]\r?\n", start):
        return NRRD
    known = (b"NDims", b"ObjectType", b"DimSize")
    if _META_IMAGE.match(start) and any(key in start for key in known):
        return META_IMAGE
    return ""


def _is_nifti(start: bytes) -> bool:
    if start[344:348] in (b"n+1\0", b"ni1\0"):
        return start[:4] in (b"\x5c\x01\0\0", b"\0\0\x01\x5c")
    return start[4:8] in (b"n+2\0", b"ni2\0") and start[:4] in (b"\x1c\x02\0\0", b"\0\0\x02\x1c")


def _inflate_start(start: bytes) -> bytes:
    """Return the first bytes inside a gzip file, as far as `start` allows."""
    try:
        return zlib.decompressobj(wbits=31).decompress(start, 1024)
    except zlib.error:
        return b""
