"""Read NIfTI-1 and NIfTI-2 headers: single files and header/image pairs, plain or gzipped.

Fields are named as in nifti1.h and nifti2.h (nifti.nimh.nih.gov). NIfTI coordinates are RAS+; the
rest of the program uses LPS+ as DICOM does.
"""

from __future__ import annotations

import math
import struct
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attributes import AttributeRow, attribute_row
from app.imaging.files import sources
from app.imaging.files.gzip_stream import GzipStream
from app.imaging.formats.volume_header import (
    NIFTI,
    VolumeHeader,
    checked_affine,
    damaged_header,
    sibling_file,
    voxel_steps,
)
from app.imaging.types import Rescale
from app.paths import shipped_table

Floats = NDArray[np.float64]

_FIELDS_1 = (
    "i10s18sihBB8h3fhhhh8ffffhBBffffii80s24shhffffff4f4f4f16s4s",
    "sizeof_hdr _ _ _ _ _ dim_info dim*8 _ _ _ intent_code datatype bitpix slice_start pixdim*8"
    " vox_offset scl_slope scl_inter slice_end slice_code xyzt_units cal_max cal_min"
    " slice_duration toffset _ _ descrip aux_file qform_code sform_code quatern_b quatern_c"
    " quatern_d qoffset_x qoffset_y qoffset_z srow_x*4 srow_y*4 srow_z*4 intent_name magic",
)
_FIELDS_2 = (
    "i8shh8q3d8dqddddddqq80s24siidddddd4d4d4diii16sc15s",
    "sizeof_hdr magic datatype bitpix dim*8 _ _ _ pixdim*8 vox_offset scl_slope scl_inter cal_max"
    " cal_min slice_duration toffset slice_start slice_end descrip aux_file qform_code sform_code"
    " quatern_b quatern_c quatern_d qoffset_x qoffset_y qoffset_z srow_x*4 srow_y*4 srow_z*4"
    " slice_code xyzt_units intent_code intent_name dim_info _",
)
_DTYPES = {
    2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4",
    1024: "i8", 1280: "u8",
}  # fmt: skip
_RGB, _RGBA = 128, 2304
_OTHER_TYPES = {int(code): name for code, name in shipped_table("nifti", "refused_types").items()}
_UNITS_MM = {0: 1.0, 1: 1000.0, 2: 1.0, 3: 0.001}
_SPACES = {1: "scanner", 2: "aligned to another image", 3: "Talairach", 4: "MNI 152", 5: "template"}
_STANDARD = (3, 4, 5)
_VECTOR_INTENTS = frozenset({1006, 1007, 1008, 1009, 1010, 1011})
_LPS = np.diag((-1.0, -1.0, 1.0))
_PERPENDICULAR = 1e-3
_SAME_MM = 1e-2
_SAME_SIZE = 1e-2


def read_nifti(path: Path) -> VolumeHeader:
    """Return the parsed header of a NIfTI file, with the position of its voxels.

    Raises:
        FileProblem: The header is damaged, or the voxel type is not supported.
    """
    packed = sources.read_start(path, 2) == b"\x1f\x8b"
    fields = _fields(path, _header_bytes(path, packed))
    sizes = _dimension_sizes(path, fields)
    dtype, colour = _dtype(path, fields)
    data, offset, packed = _voxel_file(path, fields, packed)
    affine, spacing, standard, notes = _geometry(fields)
    first = 1 if colour else 0
    vector = int(fields["intent_code"]) in _VECTOR_INTENTS
    names = ("", "", "", "time point", "component" if vector else "volume", "axis 6", "axis 7")
    low, high = float(fields["cal_min"]), float(fields["cal_max"])
    return VolumeHeader(
        format=NIFTI,
        sizes=(colour, *sizes) if colour else sizes,
        space_axes=tuple(range(first, first + min(3, len(sizes)))),
        dtype=dtype,
        data=data,
        offset=offset,
        packed=packed,
        colour_axis=0 if colour else None,
        affine=affine,
        spacing=spacing,
        standard=standard,
        rescale=Rescale() if colour else _rescale(fields),
        window=(low, high) if math.isfinite(high - low) and high > low else None,
        axis_names=("",) * first + names[: len(sizes)],
        notes=tuple(notes),
        rows=_rows(fields),
    )


def _header_bytes(path: Path, packed: bool) -> bytes:
    """Return the first 544 bytes of the file, decompressed if it is gzipped."""
    try:
        with sources.open_file(path) as file:
            return GzipStream(file).read(544) if packed else file.read(544)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise guards.problem(
            path, "the compressed file is damaged", guards.COPY_AGAIN, type(error).__name__
        ) from None


def _fields(path: Path, start: bytes) -> dict[str, Any]:
    for order in "<>":
        for size, (form, names) in ((348, _FIELDS_1), (540, _FIELDS_2)):
            if len(start) >= size and struct.unpack(f"{order}i", start[:4])[0] == size:
                return _fields_by_name(struct.unpack(f"{order}{form}", start[:size]), names) | {
                    "order": order
                }
    raise damaged_header(path, "it is cut short, or not a NIfTI header")


def _fields_by_name(values: tuple[Any, ...], names: str) -> dict[str, Any]:
    """Return unpacked struct values by field name; "dim*8" takes the next eight as one tuple."""
    fields: dict[str, Any] = {}
    rest = iter(values)
    for name in names.split():
        plain, _, count = name.partition("*")
        fields[plain] = tuple(islice(rest, int(count))) if count else next(rest)
    return fields


def _dimension_sizes(path: Path, fields: dict[str, Any]) -> tuple[int, ...]:
    """Return the length of each axis, without trailing axes of length 1 beyond the third."""
    dim: tuple[int, ...] = fields["dim"]
    if not 1 <= dim[0] <= 7:
        raise damaged_header(path, f"it declares {dim[0]} dimensions")
    sizes = list(dim[1 : dim[0] + 1])
    if any(size <= 0 for size in sizes):
        raise damaged_header(path, "it declares " + " x ".join(map(str, sizes)) + " voxels")
    # Many writers declare a fourth axis of length 1 for a single volume.
    while len(sizes) > 3 and sizes[-1] == 1:
        sizes.pop()
    return tuple(sizes if len(sizes) > 1 else [*sizes, 1])


def _dtype(path: Path, fields: dict[str, Any]) -> tuple[np.dtype[Any], int]:
    """Return the type of a sample, and the samples of a colour voxel (0 where it is not colour)."""
    code = int(fields["datatype"])
    if code in (_RGB, _RGBA):
        return np.dtype(np.uint8), 3 if code == _RGB else 4
    name = _DTYPES.get(code)
    if name is None:
        what = _OTHER_TYPES.get(code, f"numbers of an unknown type ({code})")
        raise guards.problem(path, f"it contains {what}, which cannot be shown as an image")
    return np.dtype(f"{fields['order']}{name}"), 0


def _voxel_file(path: Path, fields: dict[str, Any], packed: bool) -> tuple[Path, int, bool]:
    """Return the file with the voxels, their offset in it, and whether it is gzipped."""
    offset = fields["vox_offset"]
    # NIfTI-1 stores the offset as a float, so it can be anything.
    if not (math.isfinite(offset) and 0 <= offset < 2**40):
        raise damaged_header(path, "it does not say where the voxels begin")
    if fields["magic"][:2] != b"ni":
        # Four bytes behind the header announce extensions; some writers give an offset of 0.
        return path, max(int(offset), int(fields["sizeof_hdr"]) + 4), packed
    base = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    for name in (base.with_suffix(".img"), base.with_suffix(".IMG"), base.with_suffix(".img.gz")):
        try:
            start = sources.read_start(sibling_file(path, name.name), 2)
        except FileProblem:
            continue
        return name, int(offset), start == b"\x1f\x8b"
    reason = f"its voxels are in {base.with_suffix('.img').name}, which is missing"
    raise guards.problem(path, reason, "Put both files into one folder")


def _geometry(
    fields: dict[str, Any],
) -> tuple[Floats | None, tuple[float, float, float], str, list[str]]:
    """Return affine, spacing, space and notes: of sform, else qform, else pixdim."""
    scale = _UNITS_MM.get(int(fields["xyzt_units"]) & 7, 1.0)
    sform = _sform(fields, scale) if fields["sform_code"] > 0 else None
    qform = _qform(fields, scale) if fields["qform_code"] > 0 else None
    notes: list[str] = []
    chosen, code = sform, int(fields["sform_code"])
    # A sheared sform comes from registration: its pixels have no common plane spacing.
    if sform is not None and not _is_perpendicular(sform):
        if qform is None:
            notes.append("its axes are not perpendicular (sform)")
        else:
            notes.append("the axes of its sform are not perpendicular: its qform is used")
            chosen = None
    if chosen is None:
        chosen, code = qform, int(fields["qform_code"])
    # With different codes they describe different spaces and may differ.
    elif qform is not None and fields["sform_code"] == fields["qform_code"]:
        corners = np.array([(i, j, k, 1) for i in (0, 1) for j in (0, 1) for k in (0, 1)], float)
        sizes = [*fields["dim"][1:4], 1]
        corners *= np.maximum(np.array(sizes, float) - [1, 1, 1, 0], [1, 1, 1, 1])
        if np.abs((chosen - qform) @ corners.T).max() > _SAME_MM * max(voxel_steps(chosen)):
            notes.append("its sform and qform disagree about its orientation: its sform is used")
    if chosen is None:
        pixdim = [abs(float(step)) * scale for step in fields["pixdim"][1:4]]
        i, j, k = (step if math.isfinite(step) else 0.0 for step in pixdim)
        return None, (i, j, k), "", notes
    if chosen is sform:
        notes += _voxel_size_note(voxel_steps(chosen), fields, scale)
    return chosen, voxel_steps(chosen), _SPACES[code] if code in _STANDARD else "", notes


def _voxel_size_note(
    steps: tuple[float, float, float], fields: dict[str, Any], scale: float
) -> list[str]:
    """Return a note if the voxel sizes of header and sform differ: one of them is wrong."""
    # Voxel sizes beyond the declared dimensions are undefined.
    count = min(int(fields["dim"][0]), 3)
    own = [abs(float(step)) * scale for step in fields["pixdim"][1 : count + 1]]
    if not all(math.isfinite(step) and step > 0 for step in own):
        return []  # the header gives no voxel sizes of its own
    if all(math.isclose(a, b, rel_tol=_SAME_SIZE) for a, b in zip(steps[:count], own, strict=True)):
        return []
    first, second = (" x ".join(f"{step:.3g}" for step in sizes) for sizes in (steps[:count], own))
    return [f"its sform has voxels of {first} mm, its header of {second} mm: its sform is used"]


def _is_perpendicular(affine: Floats) -> bool:
    """Return whether the three axes of an affine are at right angles."""
    unit = affine[:3, :3] / np.linalg.norm(affine[:3, :3], axis=0)
    return bool(np.abs(unit.T @ unit - np.eye(3)).max() < _PERPENDICULAR)


def _sform(fields: dict[str, Any], scale: float) -> Floats | None:
    """Return the affine of the sform (nifti1.h, "METHOD 3") in LPS, or None if it is impossible."""
    rows = np.array([fields["srow_x"], fields["srow_y"], fields["srow_z"]], np.float64) * scale
    rows = _LPS @ rows
    return checked_affine(rows[:, :3], rows[:, 3])


def _qform(fields: dict[str, Any], scale: float) -> Floats | None:
    """Return the affine of the quaternion form (nifti1.h, "METHOD 2") in LPS, or None."""
    b, c, d = (float(fields[f"quatern_{part}"]) for part in "bcd")
    square = b * b + c * c + d * d
    if not math.isfinite(square) or square > 1.0 + 1e-3:
        return None
    # Quaternions are stored as 32-bit floats, so rounding may exceed 1.
    if square > 1.0:
        b, c, d = (part / math.sqrt(square) for part in (b, c, d))
        square = 1.0
    a = math.sqrt(max(0.0, 1.0 - square))
    rotation = np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c],
        ]
    )
    steps = np.array([abs(float(step)) for step in fields["pixdim"][1:4]]) * scale
    # A flat image may leave the third step out.
    steps[2] = steps[2] or (1.0 if fields["dim"][0] < 3 or fields["dim"][3] == 1 else 0.0)
    # qfac of nifti1.h: the third axis of the rotation is mirrored.
    if fields["pixdim"][0] < 0:
        steps[2] = -steps[2]
    offset = np.array([float(fields[f"qoffset_{axis}"]) for axis in "xyz"]) * scale
    return checked_affine(_LPS @ (rotation * steps), _LPS @ offset)


def _rescale(fields: dict[str, Any]) -> Rescale:
    """Return slope and intercept; a slope of 0 means that there are none (nifti1.h)."""
    slope, intercept = float(fields["scl_slope"]), float(fields["scl_inter"])
    if not (math.isfinite(slope) and math.isfinite(intercept)) or slope == 0:
        return Rescale()
    return Rescale(slope, intercept)


def _rows(fields: dict[str, Any]) -> tuple[AttributeRow, ...]:
    rows = [attribute_row("Format", "NIfTI-1" if fields["sizeof_hdr"] == 348 else "NIfTI-2")]
    for name, value in fields.items():
        if name in ("_", "order"):
            continue
        text: Any = value
        if isinstance(value, bytes):
            text = value.split(b"\0")[0].decode("latin-1")
        elif isinstance(value, tuple):
            parts: tuple[Any, ...] = value
            text = ", ".join(f"{part:g}" for part in parts)
        if name in ("qform_code", "sform_code"):
            text = f"{text} ({_SPACES.get(int(fields[name]), 'unknown')})"
        rows.append(attribute_row(name, text))
    return tuple(rows)
