"""Read MetaImage headers, .mha and .mhd (itk.org/Wiki/MetaIO/Documentation)."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.files import sources
from app.imaging.formats.volume_header import (
    MAX_HEADER_BYTES,
    VolumeHeader,
    attribute_row,
    checked_affine,
    damaged_header,
    sibling_file,
)

Floats = NDArray[np.float64]

_DTYPES = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4",
    "MET_UINT": "u4", "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4", "MET_DOUBLE": "f8",
}  # fmt: skip
_SAME_AS = {
    "rotation": "transformmatrix",
    "orientation": "transformmatrix",
    "position": "offset",
    "origin": "offset",
    "elementbyteordermsb": "binarydatabyteordermsb",
}
_LINE = re.compile(rb"[^\n]*\n?")


def read_meta_image(path: Path) -> VolumeHeader:
    """Parse the header of a MetaImage file.

    Raises:
        FileProblem: The header is damaged, or the sample type is not supported.
    """
    fields, end = _fields(path)
    sizes = tuple(int(size) for size in _numbers(fields, "dimsize") if size.is_integer())
    count = fields.get("ndims", "")
    if not 1 <= len(sizes) <= 8 or count != str(len(sizes)):
        raise damaged_header(path, "its sizes do not fit its number of dimensions")
    channels = _whole_number(fields, "elementnumberofchannels", 1)
    if channels < 1:
        raise damaged_header(path, "it declares no channels")
    dtype = _dtype(path, fields)
    colour = channels in (3, 4) and dtype.itemsize <= 2 and dtype.kind == "u"
    first = 0 if channels == 1 else 1
    affine, spacing = _geometry(fields, len(sizes))
    data, offset, encoding = _voxel_file(path, fields, end)
    total = math.prod((*sizes, channels)) * dtype.itemsize
    # HeaderSize = -1: the samples are the last bytes of the file.
    if offset < 0 and encoding == "raw":
        offset = max(sources.status(data).size - total, 0)
    names = ["", "", "", "time point", *["volume"] * 8][: len(sizes)]
    return VolumeHeader(
        format="MetaImage",
        sizes=(channels, *sizes) if first else sizes,
        space_axes=tuple(range(first, first + min(3, len(sizes)))),
        dtype=dtype,
        data=data,
        offset=max(offset, 0),
        encoding=encoding,
        colour_axis=0 if colour else None,
        affine=affine,
        spacing=spacing,
        axis_names=("component", *names) if first else tuple(names),
        rows=(
            attribute_row("Format", "MetaImage"),
            *(attribute_row(name, value) for name, value in fields.items()),
        ),
    )


def _fields(path: Path) -> tuple[dict[str, str], int]:
    """Return the fields, names in lower case, and the offset behind the last (ElementDataFile)."""
    with sources.open_file(path) as file:
        start = file.read(MAX_HEADER_BYTES)
    fields: dict[str, str] = {}
    for line in _LINE.finditer(start):
        key, separator, value = line.group().decode("latin-1").partition("=")
        name = key.strip().lower()
        name = _SAME_AS.get(name, name)
        if not separator:
            if line.group().strip():
                break
            continue
        # Readers differ in which of two equal fields counts, so neither is trusted.
        if name in fields and name != "comment":
            raise damaged_header(path, f'it says "{name[:30]}" twice')
        fields[name] = value.strip()
        if name == "elementdatafile":
            return fields, line.end()
    raise damaged_header(path, "it does not say where the voxels are")


def _numbers(fields: dict[str, str], name: str) -> list[float]:
    """Return a field's numbers; empty if it is absent or one of them is not finite."""
    try:
        values = [float(part) for part in fields.get(name, "").split()]
    except ValueError:
        return []
    return values if all(math.isfinite(value) for value in values) else []


def _whole_number(fields: dict[str, str], name: str, default: int) -> int:
    """Return a field's whole number, `default` if it is absent, -2 if it is none."""
    text = fields.get(name, str(default))
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else -2


def _flag(fields: dict[str, str], name: str) -> bool:
    """Return a field's truth value; False if it is absent."""
    return fields.get(name, "").lower() in ("true", "1", "yes")


def _dtype(path: Path, fields: dict[str, str]) -> np.dtype[Any]:
    name = fields.get("elementtype", "").upper()
    code = _DTYPES.get(name.removesuffix("_ARRAY"))
    if code is None:
        raise guards.problem(path, f'it holds samples of the type "{name[:30]}", which is unknown')
    return np.dtype(f"{'>' if _flag(fields, 'binarydatabyteordermsb') else '<'}{code}")


def _voxel_file(path: Path, fields: dict[str, str], end: int) -> tuple[Path, int, str]:
    """Return the file with the samples, their offset, and their encoding.

    An offset of -1 means that the samples end where the file does (HeaderSize = -1).
    """
    name = fields["elementdatafile"]
    if name.upper().startswith("LIST") or "%" in name:
        reason = "its voxels are spread over several files, which is not supported"
        raise guards.problem(path, reason, "Export it as one file")
    local = name.upper() == "LOCAL"
    data = path if local else sibling_file(path, name)
    skip = _whole_number(fields, "headersize", 0)
    if skip < -1:
        raise damaged_header(path, "it does not say where the voxels begin")
    encoding = "raw"
    if _flag(fields, "compresseddata"):
        encoding = "zlib"
    elif fields.get("binarydata", "true").lower() in ("false", "0", "no"):
        encoding = "text"
    if local:
        return data, end, encoding
    return data, skip, encoding


def _geometry(
    fields: dict[str, str], count: int
) -> tuple[Floats | None, tuple[float, float, float]]:
    """Return the affine, None if the file gives no orientation in the patient, and the spacing."""
    steps = _numbers(fields, "elementspacing") or _numbers(fields, "elementsize")
    steps = [step if step > 0 else 0.0 for step in steps] if len(steps) == count else []
    i, j, k = (*steps[:3], *[0.0, 0.0, 0.0][len(steps[:3]) :])
    matrix = _numbers(fields, "transformmatrix")
    letters = fields.get("anatomicalorientation", "")
    origin = _numbers(fields, "offset") or [0.0] * count
    if count < 3 or len(origin) != count or not (i and j and k):
        return None, (i, j, k)
    # Writers know no letters for four dimensions, and write "????" there.
    known = "?" not in letters or count > 3
    if len(matrix) == count * count and known:
        # Written axis by axis: the file's rows are the columns of a direction matrix.
        directions = np.array(matrix, np.float64).reshape(count, count).T[:3, :3]
    # Without a matrix, RAI (from right, anterior, inferior) is the identity in LPS.
    elif not matrix and letters.upper() == "RAI":
        directions = np.eye(3)
    else:
        return None, (i, j, k)
    return checked_affine(directions * np.array([i, j, k]), np.array(origin[:3])), (i, j, k)
