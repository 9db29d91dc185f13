"""Read headers that are lines of text: NRRD (also detached) and MetaImage (.mha, .mhd).

See teem.sourceforge.net/nrrd/format.html and itk.org/Wiki/MetaIO/Documentation.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards
from app.imaging.attributes import AttributeRow, attribute_row
from app.imaging.files import sources
from app.imaging.formats.volume_header import (
    MAX_HEADER_BYTES,
    META_IMAGE,
    NRRD,
    VolumeHeader,
    checked_affine,
    damaged_header,
    sibling_file,
    voxel_steps,
)
from app.paths import shipped_table

Floats = NDArray[np.float64]
Fields = dict[str, str]
Steps = tuple[float, float, float]
Geometry = tuple[Floats | None, Steps]
"""Affine, None if the file gives no orientation in the patient, and spacing in mm."""

_NRRD_TYPES: dict[str, str] = shipped_table("nrrd", "types")
_NRRD_DTYPES = {name: code for code, names in _NRRD_TYPES.items() for name in names.split("|")}
_ENCODINGS = {
    "raw": "raw", "gzip": "gzip", "gz": "gzip", "bzip2": "bzip2", "bz2": "bzip2", "txt": "text",
    "text": "text", "ascii": "text", "hex": "hex",
}  # fmt: skip
_SPACES: dict[str, list[int]] = shipped_table("nrrd", "spaces")
"""Signs that turn the directions of an anatomical space into LPS; "-time" adds a fourth axis."""

_UNITS_MM = {"mm": 1.0, "um": 0.001, "µm": 0.001, "micron": 0.001, "nm": 1e-6, "cm": 10.0, "m": 1e3}
_SPACE_KINDS = frozenset({"domain", "space", "", "???", "none"})
_COLOURS = {"rgb-color": 3, "rgba-color": 4}
"""Samples of a colour, by the kind of its axis; of 8 or 16 bits each."""
_VECTORS = ("vector", "3-vector", "3-color")
_KIND_NAMES = {"time": "time point", "list": "volume"}
_MAX_AXES = 16

_META_DTYPES: dict[str, str] = shipped_table("meta_image", "types")
_META_SAME_AS: dict[str, str] = shipped_table("meta_image", "same_as")
_META_LINE = re.compile(rb"[^\n]*\n?")


def read_nrrd(path: Path) -> VolumeHeader:
    """Return the parsed header of an NRRD file; raise FileProblem if damaged or unsupported."""
    fields, end = _nrrd_fields(path)
    sizes = _nrrd_sizes(path, fields)
    big = fields.get("endian", "little").lower() == "big"
    name = " ".join(fields.get("type", "").lower().split())
    dtype = _dtype(path, name, _NRRD_DTYPES.get(name), big)
    encoding = _ENCODINGS.get(fields.get("encoding", "").lower())
    if encoding is None:
        said = fields.get("encoding", "").lower()[:30]
        raise guards.problem(path, f'its voxels are encoded as "{said}", which is unknown')
    kinds = [kind.lower() for kind in fields.get("kinds", "").split()]
    kinds = kinds if len(kinds) == len(sizes) else [""] * len(sizes)
    # Bytes in threes are red, green and blue also where the file only calls them a vector.
    counts = _COLOURS if dtype.kind == "u" and dtype.itemsize <= 2 else {}
    if counts and dtype.itemsize == 1:
        counts = _COLOURS | dict.fromkeys(_VECTORS, 3)
    colours = [n for n, kind in enumerate(kinds) if counts.get(kind) == sizes[n]]
    vectors = _axis_vectors(path, fields, len(sizes))
    space = [n for n, kind in enumerate(kinds) if kind in _SPACE_KINDS and n not in colours]
    # Kinds may be missing or wrong; only axes with a direction lie in space.
    if vectors is not None:
        space = [n for n in space if vectors[n] is not None]
    affine, spacing = _nrrd_geometry(fields, space[:3], vectors)
    data = _data_file(path, fields.get("data file"))
    samples = math.prod(sizes) * dtype.itemsize
    return VolumeHeader(
        format=NRRD,
        sizes=sizes,
        space_axes=tuple(space[:3]),
        dtype=dtype,
        data=data,
        offset=_nrrd_offset(path, fields, data, end if data == path else 0, encoding, samples),
        encoding=encoding,
        colour_axis=colours[0] if colours else None,
        affine=affine,
        spacing=spacing,
        axis_names=tuple(
            _KIND_NAMES.get(kind, "volume" if kind in _SPACE_KINDS else "component")
            for kind in kinds
        ),
        rows=_rows(NRRD, fields),
    )


def read_meta_image(path: Path) -> VolumeHeader:
    """Return the parsed header of a MetaImage file; raise FileProblem if damaged or unsupported."""
    fields, end = _meta_fields(path)
    sizes = tuple(int(size) for size in _numbers(fields, "dimsize") if size.is_integer())
    if not 1 <= len(sizes) <= 8 or fields.get("ndims", "") != str(len(sizes)):
        raise damaged_header(path, "its sizes do not fit its number of dimensions")
    channels = _whole_number(fields.get("elementnumberofchannels", "1"))
    if channels is None or channels < 1:
        raise damaged_header(path, "it declares no channels")
    name = fields.get("elementtype", "").upper()
    code = _META_DTYPES.get(name.removesuffix("_ARRAY"))
    dtype = _dtype(path, name, code, _flag(fields, "binarydatabyteordermsb"))
    colour = channels in (3, 4) and dtype.itemsize <= 2 and dtype.kind == "u"
    first = 0 if channels == 1 else 1
    affine, spacing = _meta_geometry(fields, len(sizes))
    local = fields["elementdatafile"].upper() == "LOCAL"
    data = _data_file(path, None if local else fields["elementdatafile"])
    offset = end if local else _whole_number(fields.get("headersize", "0"))
    if offset is None or offset < -1:
        raise damaged_header(path, "it does not say where the voxels begin")
    encoding = "raw"
    if _flag(fields, "compresseddata"):
        encoding = "zlib"
    elif fields.get("binarydata", "true").lower() in ("false", "0", "no"):
        encoding = "text"
    # HeaderSize = -1: the samples are the last bytes of the file.
    if offset < 0 and encoding == "raw":
        offset = sources.status(data).size - math.prod((*sizes, channels)) * dtype.itemsize
    names = ("", "", "", "time point", *["volume"] * 8)[: len(sizes)]
    return VolumeHeader(
        format=META_IMAGE,
        sizes=(channels, *sizes) if first else sizes,
        space_axes=tuple(range(first, first + min(3, len(sizes)))),
        dtype=dtype,
        data=data,
        offset=max(offset, 0),
        encoding=encoding,
        colour_axis=0 if colour else None,
        affine=affine,
        spacing=spacing,
        axis_names=("component", *names) if first else names,
        rows=_rows(META_IMAGE, fields),
    )


def _add_field(path: Path, fields: Fields, name: str, value: str) -> None:
    """Add a field; readers differ in which of two equal fields counts, so neither is trusted."""
    if name in fields and name != "comment":
        raise damaged_header(path, f'it says "{name[:30]}" twice')
    fields[name] = value.strip()


def _rows(kind: str, fields: Fields) -> tuple[AttributeRow, ...]:
    return tuple(attribute_row(name, value) for name, value in [("Format", kind), *fields.items()])


def _dtype(path: Path, name: str, code: str | None, big: bool) -> np.dtype[Any]:
    if code is None:
        raise guards.problem(
            path, f'it contains samples of the type "{name[:30]}", which is unknown'
        )
    return np.dtype(f"{'>' if big else '<'}{code}")


def _data_file(path: Path, name: str | None) -> Path:
    """Return the file with the samples that a header names; its own file for None."""
    if name is None:
        return path
    if name.upper().startswith("LIST") or "%" in name:
        reason = "its voxels are spread over several files, which is not supported"
        raise guards.problem(path, reason, "Export it as one file")
    return sibling_file(path, name)


def _whole_number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"-?\d{1,15}", text) else None


def _numbers(fields: Fields, name: str) -> list[float]:
    """Return a field's numbers; empty if it is absent or one of them is not finite."""
    try:
        values = [float(part) for part in fields.get(name, "").split()]
    except ValueError:
        return []
    return values if all(math.isfinite(value) for value in values) else []


def _flag(fields: Fields, name: str) -> bool:
    """Return a field's truth value; False if it is absent."""
    return fields.get(name, "").lower() in ("true", "1", "yes")


def _first_three(steps: list[float]) -> Steps:
    i, j, k = ([step if math.isfinite(step) else 0.0 for step in steps] + [0.0, 0.0, 0.0])[:3]
    return i, j, k


def _nrrd_fields(path: Path) -> tuple[Fields, int]:
    """Return the fields with names in lower case, and the offset at which the header ends.

    The key of a "key:=value" pair keeps its case and ends in ":=".
    """
    start = sources.read_start(path, MAX_HEADER_BYTES)
    found = re.search(rb"\r?\n\r?\n", start)
    if found is None and len(start) >= MAX_HEADER_BYTES:
        raise damaged_header(path, "it has no end")
    end = found.end() if found is not None else len(start)
    fields: Fields = {}
    try:
        text = start[:end].decode()  # names of segments; the format itself knows ASCII only
    except UnicodeDecodeError:
        text = start[:end].decode("latin-1")
    for line in re.split(r"\r?\n", text)[1:]:
        if not line or line.startswith("#"):
            continue
        key, separator, value = line.partition(":=")
        if separator and ":" not in key:
            fields.setdefault(f"{key}:=", value)
            continue
        name, separator, value = line.partition(":")
        if not separator:
            raise damaged_header(path, "one of its lines has no meaning")
        # Both spellings are allowed by the format.
        name = {"datafile": "data file"}.get(name.strip().lower(), name.strip().lower())
        _add_field(path, fields, name, value)
    return fields, end


def _nrrd_sizes(path: Path, fields: Fields) -> tuple[int, ...]:
    parts = fields.get("sizes", "").split()
    if not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise damaged_header(path, "its sizes are not whole numbers")
    if not 1 <= len(parts) <= _MAX_AXES or fields.get("dimension") != str(len(parts)):
        raise damaged_header(path, "its sizes do not fit its number of dimensions")
    return tuple(int(part) for part in parts)


def _nrrd_offset(
    path: Path, fields: Fields, data: Path, offset: int, encoding: str, samples: int
) -> int:
    """Return where the `samples` bytes begin in `data`, whose header ends at `offset`."""
    skips: list[int] = []
    for name in ("line skip", "byte skip"):
        number = _whole_number(fields.get(name, fields.get(name.replace(" ", ""), "0")))
        if number is None:
            raise damaged_header(path, f"its {name} is not a number")
        skips.append(number)
    lines, skip = skips
    if lines < 0 or skip < -1:
        raise damaged_header(path, "it does not say where the voxels begin")
    # -1 means that the samples end where the file ends.
    if skip == -1:
        if encoding != "raw":
            what = "only uncompressed voxels can be counted from the file's end"
            raise damaged_header(path, what)
        return max(sources.status(data).size - samples, 0)
    # Here the skip counts inflated bytes, which other readers do not agree on.
    if skip and encoding in ("gzip", "bzip2"):
        raise guards.problem(path, "it skips bytes inside compressed voxels: not supported")
    with sources.open_file(data) as file:
        file.seek(offset)
        for _ in range(min(lines, 10_000)):
            file.readline(MAX_HEADER_BYTES)
        return file.tell() + skip


def _axis_vectors(path: Path, fields: Fields, count: int) -> list[Floats | None] | None:
    """Return each axis's step, None outside the space; None without space directions."""
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


def _units(fields: Fields, name: str) -> list[str]:
    return [unit.strip().lower() for unit in re.findall(r'"([^"]*)"', fields.get(name, ""))]


def _nrrd_geometry(
    fields: Fields, space: list[int], vectors: list[Floats | None] | None
) -> Geometry:
    if vectors is None:
        return None, _nrrd_spacings(fields, space)
    units = _units(fields, "space units")
    scale = _UNITS_MM.get(units[0] if units else "mm", 0.0)
    columns = [vectors[axis] for axis in space]
    usable = [c[:3] * scale for c in columns if c is not None and c.size >= 3]
    # A single slice has no third direction: its normal stands in.
    if len(usable) == 2:
        usable.append(np.cross(usable[0], usable[1]) / (np.linalg.norm(usable[1]) or 1.0))
    if len(usable) != 3 or not np.isfinite(usable).all():
        lengths = [float(np.linalg.norm(c)) * scale for c in columns if c is not None]
        return None, _first_three(lengths)
    directions = np.stack(usable, axis=1)
    origin = _vector(fields.get("space origin", "(0,0,0)"))
    signs = _SPACES.get(fields.get("space", "").lower().removesuffix("-time"))
    affine = None
    if scale and signs is not None and origin is not None and origin.size >= 3:
        turn = np.diag(np.array(signs, np.float64))
        affine = checked_affine(turn @ directions, turn @ (origin[:3] * scale))
    return affine, voxel_steps(directions if affine is None else affine)


def _nrrd_spacings(fields: Fields, space: list[int]) -> Steps:
    """Return the steps in mm of a file without a space; 0 where unit or value are unknown."""
    values, units = fields.get("spacings", "").split(), _units(fields, "units")
    steps: list[float] = []
    for axis in space:
        unit = units[axis] if axis < len(units) else ""
        try:
            step = float(values[axis]) * _UNITS_MM.get(unit or "mm", 0.0)
        except (IndexError, ValueError):
            step = 0.0
        steps.append(max(step, 0.0))
    return _first_three(steps)


def _meta_fields(path: Path) -> tuple[Fields, int]:
    """Return the fields, names in lower case, and the offset behind the last (ElementDataFile)."""
    fields: Fields = {}
    for line in _META_LINE.finditer(sources.read_start(path, MAX_HEADER_BYTES)):
        key, separator, value = line.group().decode("latin-1").partition("=")
        name = key.strip().lower()
        if not separator:
            if name:
                break
            continue
        _add_field(path, fields, _META_SAME_AS.get(name, name), value)
        if name == "elementdatafile":
            return fields, line.end()
    raise damaged_header(path, "it does not say where the voxels are")


def _meta_geometry(fields: Fields, count: int) -> Geometry:
    steps = _numbers(fields, "elementspacing") or _numbers(fields, "elementsize")
    steps = [max(step, 0.0) for step in steps] if len(steps) == count else []
    spacing = _first_three(steps)
    matrix = _numbers(fields, "transformmatrix")
    letters = fields.get("anatomicalorientation", "")
    origin = _numbers(fields, "offset") or [0.0] * count
    if count < 3 or len(origin) != count or not all(spacing):
        return None, spacing
    # Writers know no letters for four dimensions, and write "????" there.
    known = "?" not in letters or count > 3
    if len(matrix) == count * count and known:
        # Written axis by axis: the file's rows are the columns of a direction matrix.
        directions = np.array(matrix, np.float64).reshape(count, count).T[:3, :3]
    # Without a matrix, RAI (from right, anterior, inferior) is the identity in LPS.
    elif not matrix and letters.upper() == "RAI":
        directions = np.eye(3)
    else:
        return None, spacing
    return checked_affine(directions * np.array(spacing), np.array(origin[:3])), spacing
