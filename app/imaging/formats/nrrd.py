"""Read NRRD headers, attached and detached (teem.sourceforge.net/nrrd/format.html)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
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
    voxel_steps,
)

Floats = NDArray[np.float64]

_TYPES = {
    "i1": "signed char|int8|int8_t",
    "u1": "uchar|unsigned char|uint8|uint8_t",
    "i2": "short|short int|signed short|signed short int|int16|int16_t",
    "u2": "ushort|unsigned short|unsigned short int|uint16|uint16_t",
    "i4": "int|signed int|int32|int32_t",
    "u4": "uint|unsigned int|uint32|uint32_t",
    "i8": "longlong|long long|long long int|signed long long|signed long long int|int64|int64_t",
    "u8": "ulonglong|unsigned long long|unsigned long long int|uint64|uint64_t",
    "f4": "float",
    "f8": "double",
}
_DTYPES = {name: code for code, names in _TYPES.items() for name in names.split("|")}
_ENCODINGS = {
    "raw": "raw", "gzip": "gzip", "gz": "gzip", "bzip2": "bzip2", "bz2": "bzip2", "txt": "text",
    "text": "text", "ascii": "text", "hex": "hex",
}  # fmt: skip
_SPACES = {
    "right-anterior-superior": (-1, -1, 1),
    "ras": (-1, -1, 1),
    "left-anterior-superior": (1, -1, 1),
    "las": (1, -1, 1),
    "left-posterior-superior": (1, 1, 1),
    "lps": (1, 1, 1),
}
"""Signs that turn the directions of an anatomical space into LPS; "-time" adds a fourth axis."""

_UNITS_MM = {"mm": 1.0, "um": 0.001, "µm": 0.001, "micron": 0.001, "nm": 1e-6, "cm": 10.0, "m": 1e3}
_SPACE_KINDS = frozenset({"domain", "space", "", "???", "none"})
_COLOURS = {"rgb-color": 3, "rgba-color": 4}
"""Samples of a colour, by the kind of its axis; of 8 or 16 bits each."""
_VECTORS = ("vector", "3-vector", "3-color")
_KIND_NAMES = {"time": "time point", "list": "volume"}
_MAX_AXES = 16


def read_nrrd(path: Path) -> VolumeHeader:
    """Parse the header of an NRRD file.

    Raises:
        FileProblem: The header is damaged, or the sample type is not supported.
    """
    fields, end = _fields(path)
    sizes = _whole_numbers(path, fields, "sizes")
    if not 1 <= len(sizes) <= _MAX_AXES or fields.get("dimension") != str(len(sizes)):
        raise damaged_header(path, "its sizes do not fit its number of dimensions")
    axes = _axes(path, fields, sizes)
    data, offset = _voxel_file(path, fields, end)
    return VolumeHeader(
        format="NRRD",
        sizes=sizes,
        space_axes=axes.space,
        dtype=_dtype(path, fields),
        data=data,
        offset=offset,
        encoding=_encoding(path, fields),
        colour_axis=axes.colour,
        affine=axes.affine,
        spacing=axes.spacing,
        axis_names=axes.names,
        rows=(
            attribute_row("Format", "NRRD"),
            *(attribute_row(name, value) for name, value in fields.items()),
        ),
    )


def _fields(path: Path) -> tuple[dict[str, str], int]:
    """Return the fields with names in lower case, and the offset at which the header ends.

    The key of a "key:=value" pair keeps its case and ends in ":=".
    """
    with sources.open_file(path) as file:
        start = file.read(MAX_HEADER_BYTES)
    found = re.search(rb"\r?\n\r?\n", start)
    if found is None and len(start) >= MAX_HEADER_BYTES:
        raise damaged_header(path, "it has no end")
    end = found.end() if found is not None else len(start)
    fields: dict[str, str] = {}
    for line in start[:end].decode("latin-1").splitlines()[1:]:
        if not line or line.startswith("#"):
            continue
        key, separator, value = line.partition(":=")
        if separator and ":" not in key:
            fields.setdefault(f"{key}:=", value)
            continue
        name, separator, value = line.partition(":")
        # Both spellings are allowed by the format.
        name = {"datafile": "data file"}.get(name.strip().lower(), name.strip().lower())
        if not separator:
            raise damaged_header(path, "a line of it has no meaning")
        # Readers differ in which of two equal fields counts, so neither is trusted.
        if name in fields:
            raise damaged_header(path, f'it says "{name[:30]}" twice')
        fields[name] = value.strip()
    return fields, end


def _whole_numbers(path: Path, fields: dict[str, str], name: str) -> tuple[int, ...]:
    """Return a field's whole numbers; raise FileProblem if it holds anything else."""
    parts = fields.get(name, "").split()
    if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise damaged_header(path, f"its {name} are no whole numbers")
    return tuple(int(part) for part in parts)


def _dtype(path: Path, fields: dict[str, str]) -> np.dtype[Any]:
    name = " ".join(fields.get("type", "").lower().split())
    code = _DTYPES.get(name)
    if code is None:
        raise guards.problem(path, f'it holds samples of the type "{name[:30]}", which is unknown')
    big = fields.get("endian", "little").lower() == "big"
    return np.dtype(f"{'>' if big else '<'}{code}")


def _encoding(path: Path, fields: dict[str, str]) -> str:
    """Return how samples are encoded, in the terms of `VolumeHeader.encoding`."""
    name = fields.get("encoding", "").lower()
    encoding = _ENCODINGS.get(name)
    if encoding is None:
        raise guards.problem(path, f'its voxels are encoded as "{name[:30]}", which is unknown')
    return encoding


def _voxel_file(path: Path, fields: dict[str, str], end: int) -> tuple[Path, int]:
    """Return the file with the samples and their offset in it."""
    name = fields.get("data file")
    if name is not None and (name.upper().startswith("LIST") or "%" in name):
        reason = "its voxels are spread over several files, which is not supported"
        raise guards.problem(path, reason, "Export it as one file")
    data = path if name is None else sibling_file(path, name)
    offset = end if name is None else 0
    lines, skip = (_integer(path, fields, key) for key in ("line skip", "byte skip"))
    if lines < 0 or skip < -1:
        raise damaged_header(path, "it does not say where the voxels begin")
    if lines:
        offset = _offset_after_lines(data, offset, min(lines, 10_000))
    # -1 means that the samples end where the file ends.
    if skip == -1:
        if _encoding(path, fields) != "raw":
            raise damaged_header(
                path, "only uncompressed voxels can be counted from the file's end"
            )
        total = math.prod(_whole_numbers(path, fields, "sizes")) * _dtype(path, fields).itemsize
        return data, max(sources.status(data).size - total, 0)
    # Here the skip counts inflated bytes, which other readers do not agree on.
    if skip and _encoding(path, fields) in ("gzip", "bzip2"):
        raise guards.problem(path, "it skips bytes inside compressed voxels: not supported")
    return data, offset + skip


def _integer(path: Path, fields: dict[str, str], name: str) -> int:
    """Return a field that holds one whole number; 0 when it is absent."""
    text = fields.get(name, fields.get(name.replace(" ", ""), "0"))
    if not re.fullmatch(r"-?\d{1,15}", text):
        raise damaged_header(path, f"its {name} is no number")
    return int(text)


def _offset_after_lines(data: Path, offset: int, lines: int) -> int:
    """Return the offset that lies `lines` lines of text behind `offset`."""
    with sources.open_file(data) as file:
        file.seek(offset)
        for _ in range(lines):
            file.readline(MAX_HEADER_BYTES)
        return file.tell()


@dataclass(frozen=True, slots=True, eq=False)
class _Axes:
    """Meaning of the file's axes; the fields are those of `VolumeHeader`."""

    space: tuple[int, ...]
    colour: int | None
    names: tuple[str, ...]
    affine: Floats | None
    spacing: tuple[float, float, float]


def _axes(path: Path, fields: dict[str, str], sizes: tuple[int, ...]) -> _Axes:
    """Sort the file's axes into space, colour and others, by their kinds and directions."""
    kinds = [kind.lower() for kind in fields.get("kinds", "").split()]
    kinds = kinds if len(kinds) == len(sizes) else [""] * len(sizes)
    # Bytes in threes are red, green and blue also where the file only calls them a vector.
    dtype = _dtype(path, fields)
    counts = _COLOURS if dtype.kind == "u" and dtype.itemsize <= 2 else {}
    if dtype.itemsize == 1 and counts:
        counts = _COLOURS | dict.fromkeys(_VECTORS, 3)
    colours = [n for n, kind in enumerate(kinds) if counts.get(kind) == sizes[n]]
    vectors = _axis_vectors(path, fields, len(sizes))
    space = [n for n, kind in enumerate(kinds) if kind in _SPACE_KINDS and n not in colours]
    # Kinds may be missing or wrong; only axes with a direction lie in space.
    if vectors is not None:
        space = [n for n in space if vectors[n] is not None]
    names = tuple(
        _KIND_NAMES.get(kind, "volume" if kind in _SPACE_KINDS else "component") for kind in kinds
    )
    chosen = tuple(space[:3])
    affine, spacing = _geometry(fields, chosen, vectors)
    colour = colours[0] if colours else None
    return _Axes(chosen, colour, names, affine, spacing)


def _axis_vectors(path: Path, fields: dict[str, str], count: int) -> list[Floats | None] | None:
    """Return the step of every axis in the file's space, None for an axis outside it.

    The result is None if the file gives no space directions at all.
    """
    text = fields.get("space directions")
    if text is None:
        return None
    parts = re.findall(r"none|\([^()]*\)", text)
    if len(parts) != count:
        raise damaged_header(path, "its space directions do not fit its number of dimensions")
    return [None if part == "none" else _vector(part) for part in parts]


def _vector(text: str) -> Floats | None:
    """Parse "(x,y,z)"; None when a part is no number."""
    try:
        return np.array([float(part) for part in text.strip("()").split(",")], np.float64)
    except ValueError:
        return None


def _geometry(
    fields: dict[str, str], space: tuple[int, ...], vectors: list[Floats | None] | None
) -> tuple[Floats | None, tuple[float, float, float]]:
    """Return the affine if the space is anatomical, else None, and the spacing in mm."""
    if vectors is None:
        i, j, k = (*_spacings(fields, space), 0.0, 0.0, 0.0)[:3]
        return None, (i, j, k)
    units = re.findall(r'"([^"]*)"', fields.get("space units", ""))
    scale = _UNITS_MM.get(units[0].strip().lower() if units else "mm", 0.0)
    columns = [vectors[axis] for axis in space]
    usable = [c[:3] * scale for c in columns if c is not None and c.size >= 3]
    # A single slice has no third direction: its normal stands in.
    if len(usable) == 2:
        usable.append(np.cross(usable[0], usable[1]) / (np.linalg.norm(usable[1]) or 1.0))
    if len(usable) != 3 or not np.isfinite(usable).all():
        lengths = [float(np.linalg.norm(c)) * scale for c in columns if c is not None]
        i, j, k = ([n if math.isfinite(n) else 0.0 for n in lengths] + [0.0, 0.0, 0.0])[:3]
        return None, (i, j, k)
    directions = np.stack(usable, axis=1)
    origin = _vector(fields.get("space origin", "(0,0,0)"))
    signs = _SPACES.get(fields.get("space", "").lower().removesuffix("-time"))
    affine = None
    if scale and signs is not None and origin is not None and origin.size >= 3:
        turn = np.diag(np.array(signs, np.float64))
        affine = checked_affine(turn @ directions, turn @ (origin[:3] * scale))
    lengths3 = np.linalg.norm(directions, axis=0)
    if affine is not None:
        return affine, voxel_steps(affine)
    return None, (float(lengths3[0]), float(lengths3[1]), float(lengths3[2]))


def _spacings(fields: dict[str, str], space: tuple[int, ...]) -> tuple[float, ...]:
    """Return the steps in mm of a file without a space; 0 where unit or value are unknown."""
    values = fields.get("spacings", "").split()
    units = re.findall(r'"([^"]*)"', fields.get("units", ""))
    steps: list[float] = []
    for axis in space:
        unit = units[axis].strip().lower() if axis < len(units) else ""
        scale = _UNITS_MM.get(unit or "mm", 0.0)
        try:
            step = float(values[axis]) * scale
        except (IndexError, ValueError):
            step = 0.0
        steps.append(step if math.isfinite(step) and step > 0 else 0.0)
    return tuple(steps)
