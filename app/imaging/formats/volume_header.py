"""What the headers of volume files (NIfTI, NRRD, MetaImage) have in common.

Voxel indices are in file order: axis 0 runs fastest. Directions and positions are in the patient's
LPS system, mm, voxel centres have integer indices.
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
MAX_VOLUME_BYTES = 2**30
"""Of one volume as it is stored: a cube of 800 voxels of 16 bits; also what a worker keeps."""

MAX_PACKED_OFFSET = 2**26
"""Of the voxels in a packed file: what lies before them is inflated for nothing."""

_MAX_MM = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class VolumeHeader:
    """A parsed header.

    Attributes:
        format: "NIfTI", "NRRD" or "MetaImage".
        sizes: Samples along every axis of the file, the fastest first.
        space_axes: Which of them are the volume's i, j and k; one or two for a flat image.
        dtype: Of a sample, with the file's byte order. For NIfTI's RGB uint8.
        colour_axis: The axis of red, green and blue, or None.
        data: The file with the samples.
        offset: Where they begin in it; before decompression for `encoding` zlib and others, after
            it when the whole file is compressed (`packed`).
        encoding: "raw", "gzip", "zlib", "bzip2", "text" or "hex".
        packed: Whether the whole file `data` is a gzip file, header included.
        affine: [4, 4] (i, j, k, 1) -> patient mm, LPS; None when the file does not say how it
            lies in the patient.
        spacing: Distance of voxel centres along i, j, k in mm; 0.0 when unknown.
        standard: Name of the standard space whose millimetres these are, "" for the patient's.
        rescale: Real value = stored * slope + intercept.
        window: (lowest, highest) value that the file wants to be shown, or None.
        axis_names: What an axis that is neither space nor colour counts, e.g. "time point".
        notes: What a reader must know.
        rows: Header fields for the attributes' panel.
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
        """Bytes of all samples."""
        return math.prod(self.sizes) * self.dtype.itemsize

    @property
    def part_axes(self) -> tuple[int, ...]:
        """Axes along which volumes follow each other: time, components."""
        taken = {*self.space_axes, self.colour_axis}
        return tuple(axis for axis in range(len(self.sizes)) if axis not in taken)

    @property
    def parts(self) -> int:
        """Number of volumes."""
        return math.prod(self.sizes[axis] for axis in self.part_axes)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Voxels along i, j, k."""
        i, j, k = (*(self.sizes[axis] for axis in self.space_axes), 1, 1, 1)[:3]
        return i, j, k

    @property
    def part_bytes(self) -> int:
        """Bytes of one volume."""
        return self.total_bytes // max(self.parts, 1)


def check_header(header: VolumeHeader, path: Path, data_size: int) -> None:
    """Refuse headers that cannot be true of the file, before memory is asked for.

    Args:
        header: The header.
        path: The file it is from.
        data_size: Size of the file that holds the samples.

    Raises:
        FileProblem: Absurd sizes, or more samples than the file can hold.
    """
    if not header.space_axes or any(size <= 0 for size in header.sizes):
        raise guards.problem(path, "the volume has no voxels", guards.COPY_AGAIN)
    if header.parts > MAX_PARTS:
        raise guards.problem(path, f"it declares {header.parts:,} volumes, which cannot be right")
    i, j, k = header.shape
    for first, second in ((i, j), (i, k), (j, k)):
        guards.check_matrix(path, first, second, 3 if header.colour_axis is not None else 1, 1)
    if header.part_bytes > MAX_VOLUME_BYTES or header.total_bytes > 2**40:
        reason = f"it declares a volume of {i} x {j} x {k} voxels, too large to be opened safely"
        raise guards.problem(path, reason, "The header may be damaged; ask for a smaller export")
    if header.packed and header.offset > MAX_PACKED_OFFSET:
        raise damaged_header(path, "its voxels begin far behind it")
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
    """The words for a file that ends before its last voxel."""
    reason = f"the file is cut short: it holds {there:,} of {wanted:,} bytes of voxels"
    return guards.problem(path, reason, guards.COPY_AGAIN)


def damaged_header(path: Path, what: str) -> FileProblem:
    """The words for a header that cannot be understood."""
    return guards.problem(path, f"its header is damaged: {what}", guards.COPY_AGAIN)


def sibling_file(path: Path, name: str) -> Path:
    """The data file that a header names, which must lie in the header's own folder.

    Raises:
        FileProblem: It lies elsewhere, or its name is none.
    """
    plain = name.strip().removeprefix("./").removeprefix(".\\")
    if not plain or plain in (".", "..") or any(sign in plain for sign in "/\\:\0"):
        reason = "its voxels are in a file of another folder, which is not opened for it"
        raise guards.problem(path, reason, "Put both files into one folder")
    found = path.parent / plain
    try:
        outside = found.is_symlink() and found.resolve().parent != path.parent.resolve()
    except OSError as error:  # no system takes a name as long as that
        raise guards.unreadable(path, error) from None
    if outside:
        raise guards.problem(path, "its voxels are in a file of another folder")
    return found


def checked_affine(
    directions: NDArray[np.float64], origin: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """An affine from [3, 3] steps (columns: one voxel along i, j, k) and the first voxel's place.

    None when it is no possible geometry: not finite, absurd, or axes that do not span space.
    """
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = directions, origin
    if not np.isfinite(affine).all() or np.abs(affine).max() > _MAX_MM:
        return None
    steps = np.linalg.norm(affine[:3, :3], axis=0)
    if not (steps > 0).all() or abs(np.linalg.det(affine[:3, :3] / steps)) < 1e-3:
        return None
    return affine


def voxel_steps(affine: NDArray[np.float64]) -> tuple[float, float, float]:
    """Distance of voxel centres along i, j, k."""
    i, j, k = (float(step) for step in np.linalg.norm(affine[:3, :3], axis=0))
    return i, j, k


def attribute_row(name: str, value: object) -> AttributeRow:
    """A row of the attributes' panel."""
    text = " ".join(str(value).split())
    return AttributeRow("", name, "", text if len(text) <= 512 else f"{text[:511]}…")


NIFTI, NRRD, META_IMAGE = "NIfTI", "NRRD", "MetaImage"

_META_IMAGE = re.compile(rb"^[A-Za-z]+ *= ?[^\n]*\r?\n")


def volume_format(start: bytes) -> str:
    """NIFTI, NRRD, META_IMAGE or "", by the first bytes (1 KiB at least where there is as much)."""
    if start.startswith(b"\x1f\x8b"):
        start = _inflated(start)
        return NIFTI if _is_nifti(start) else ""
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


def _inflated(start: bytes) -> bytes:
    """The first bytes inside a gzip file, as far as its own first bytes tell them."""
    try:
        return zlib.decompressobj(wbits=31).decompress(start, 1024)
    except zlib.error:
        return b""
