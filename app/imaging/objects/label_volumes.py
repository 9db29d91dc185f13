"""Label volumes (NRRD, NIfTI, MetaImage) as layers over the images of a series. Runs in a worker.

A label volume is laid over images by the coordinates of the patient alone: a pixel shows the label
of the voxel nearest to its centre, in whatever plane. A volume is refused if its position is not
certain, or if its file names another patient, study or frame of reference. Most files name none of
these; each item then says so. Segments of 3D Slicer (.seg.nrrd) keep their names and colours.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydicom.datadict import tag_for_keyword

from app.imaging import guards
from app.imaging.files import sources
from app.imaging.files.sources import FileStatus
from app.imaging.findings import Mask
from app.imaging.formats.volume_file import part_name, part_samples, read_header
from app.imaging.formats.volume_header import VolumeHeader
from app.imaging.layers import NOT_LABELS, RGB, Layer, LayerFrame, LayerItem, Shape
from app.imaging.objects.layer_colors import palette_color
from app.imaging.objects.layer_targets import PixelGrid
from app.imaging.space.stacks import stack_geometry
from app.imaging.studies.catalogue import conflict, identity_of
from app.imaging.types import Instance, Rescale

Floats = NDArray[np.float64]
Key = tuple[int, int]
"""Part of the file, and value of the label in it."""

MOST_LABELS = 512
_PART = 2**16  # the number of an item is this times the part, plus the label's value
_SAME_GRID = 0.1
"""Fraction of a voxel by which the corners of one grid may differ between two headers."""


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """The labels in one part of a file, cropped to the box that has any.

    Attributes:
        voxels: [k, j, i] label values; 0 is no label.
        start: (i, j, k) of the box's first voxel in the file.
        values: [n] all values in the file, ascending.
    """

    voxels: NDArray[np.uint16]
    start: tuple[int, int, int]
    values: NDArray[np.uint16]


def read_labels(instance: Instance, over: Instance, slices: int) -> Layer:
    """Return a label volume as a layer to be laid over a series; its items are the labels.

    Args:
        instance: The label volume.
        over: An image of the series; its attribute `STACK_KEYWORD` has the series' geometry.
        slices: Number of images or frames in the series.

    Raises:
        FileProblem: The volume has no labels, or none of them lies within the series.
    """
    path = instance.path
    header = read_header(path)
    named = _segments(header)
    parts = range(header.parts) if named else (instance.part,)
    found = {part: _labels_of(path, part) for part in parts}
    said = _said_of_the_patient(header)
    _check_identity(path, said, over)
    to_image, size = _placed(path, header, over, slices)
    items: list[LayerItem] = []
    inside = total = 0
    for part, labels in found.items():
        counts = np.zeros((len(labels.voxels), len(labels.values)), np.int64)
        for k, plane in enumerate(labels.voxels):
            places = np.searchsorted(labels.values, plane.ravel())
            counts[k] = np.bincount(places, minlength=len(labels.values))
            within, there = _count_inside(labels, k, to_image, size)
            inside, total = inside + within, total + there
        for place, value in enumerate(labels.values.tolist()):
            if value and counts[:, place].any():
                at = _middle_voxel(labels, int(counts[:, place].argmax()), value)
                count = int(counts[:, place].sum())
                item = _item(header, named, (part, value), count, at)
                nobody = "" if said.keys() & _PERSON else "; the file names no patient"
                items.append(replace(item, detail=item.detail + nobody))
    if not inside:
        reason = "none of its labels lies within the image" if total else _UNLABELLED
        raise guards.problem(path, reason, _REMEDY)
    warnings = list(header.notes)
    if inside < total:
        share = max(round(100 * (1 - inside / total)), 1)
        warnings.append(f"{share}% of its labelled voxels lie outside the image")
    title = ": ".join(filter(None, (path.name, "" if named else part_name(header, instance.part))))
    return Layer(instance, title, tuple(items), tuple(warnings))


def read_labels_frame(
    instance: Instance, grid: PixelGrid | None, shape: tuple[int, int]
) -> LayerFrame:
    """Return the labels in a plane as one mask each; a pixel takes the label of the nearest voxel.

    `grid` is the plane's position (None: nothing is drawn), and `shape` its (rows, columns).

    Raises:
        FileProblem: The file cannot be read.
    """
    header = read_header(instance.path)
    if grid is None or header.affine is None:
        return LayerFrame((), ("not drawn: its place on this image is unknown",))
    to_voxel = np.linalg.inv(header.affine)
    first = to_voxel[:3, :3] @ grid.origin + to_voxel[:3, 3]
    right, down = to_voxel[:3, :3] @ grid.right, to_voxel[:3, :3] @ grid.down
    rows, columns = (np.arange(count, dtype=np.float64) for count in shape)
    shapes: list[Shape] = []
    for part in range(header.parts) if _segments(header) else (instance.part,):
        labels = _labels_of(instance.path, part)
        inside = np.ones(shape, np.bool_)
        places: list[NDArray[np.int64]] = []
        for axis, start in enumerate(labels.start):
            along = first[axis] - start + right[axis] * columns + (down[axis] * rows)[:, None]
            # A voxel that is half way between two is the later one, as in SimpleITK.
            nearest = np.floor(along + 0.5 + 1e-6).astype(np.int64)
            count = labels.voxels.shape[2 - axis]
            inside &= (nearest >= 0) & (nearest < count)
            places.append(np.clip(nearest, 0, max(count - 1, 0)))
        if inside.any():
            i, j, k = places
            seen = np.where(inside, labels.voxels[k, j, i], 0)
            shapes.extend(
                Shape(part * _PART + value, Mask(seen == value), True, False)
                for value in np.unique(seen[seen > 0]).tolist()
            )
    return LayerFrame(tuple(shapes))


_NOWHERE = "it does not say how it lies in the patient"
_UNLABELLED = "none of its voxels has a label"
_REMEDY = "Open it by itself to look at it"


def _labels_of(path: Path, part: int) -> _Labels:
    return _read_part(path, sources.status(path), part)


@lru_cache(maxsize=4)
def _read_part(path: Path, status: FileStatus, part: int) -> _Labels:
    """Read the labels in a part of a file, which are kept while slices are asked for."""
    header = read_header(path)
    voxels = part_samples(header, path, part)
    if voxels.ndim != 3 or header.rescale != Rescale():
        raise guards.problem(path, f"it is in colour or rescaled: {NOT_LABELS}", _REMEDY)
    low, high = voxels.min(), voxels.max()
    if not (low >= 0 and high < _PART and all((one == one.round()).all() for one in voxels)):
        raise guards.problem(
            path, f"it contains fractions or negative values: {NOT_LABELS}", _REMEDY
        )
    values: set[int] = set()
    for plane in voxels:
        values.update(np.unique(plane).astype(int).tolist())
        if len(values) > MOST_LABELS:
            reason = f"it contains more than {MOST_LABELS} different values: {NOT_LABELS}"
            raise guards.problem(path, reason, _REMEDY)
    box: list[slice] = []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        used = np.flatnonzero(voxels.any(axis=others))
        box.append(slice(int(used[0]), int(used[-1]) + 1) if used.size else slice(0, 0))
    k, j, i = (one.start for one in box)
    known = np.array(sorted(values), np.uint16)
    return _Labels(voxels[tuple(box)].astype(np.uint16), (i, j, k), known)


def _placed(
    path: Path, header: VolumeHeader, over: Instance, slices: int
) -> tuple[Floats, tuple[int, int, int]]:
    """Return [4, 4] from label to image voxels, and counts; raise FileProblem if unsure."""
    stack = stack_geometry(over)
    if header.affine is None:
        raise guards.problem(path, _NOWHERE, _REMEDY)
    if stack is None:
        reason = "the shown image does not say how it lies in the patient"
        raise guards.problem(path, reason, "It must be a series or a volume with positions")
    its = read_header(over.path).standard if over.kind == "volume" else ""
    if header.standard != its:
        names = (
            f"the standard space {one}" if one else "the patient" for one in (header.standard, its)
        )
        reason = "it lies in {}, the image in {}".format(*names)
        raise guards.problem(path, reason, "Take a label volume of this image")
    to_image = np.linalg.inv(stack.affine) @ header.affine
    counts = (over.columns, over.rows, slices)
    if sorted(header.shape) == sorted(counts):
        away = _corner_distance(header, stack.affine, counts)
        if away > 0 or not stack.regular:
            reason = (
                "it has exactly as many voxels as the image, but lies up to "
                f"{away:.3g} mm away from it, so one of the two has lost its position"
            )
            raise guards.problem(path, reason, "Export the labels again, with their position")
    return to_image, stack.size


def _corner_distance(header: VolumeHeader, affine: Floats, size: tuple[int, ...]) -> float:
    """Return how far the grids' corners are apart, in mm; 0 if they are the same grid."""
    assert header.affine is not None
    mine, its = (
        np.array([*itertools.product(*((0, n - 1) for n in counts))]) @ matrix[:3, :3].T
        + matrix[:3, 3]
        for counts, matrix in ((header.shape, header.affine), (size, affine))
    )
    nearest = np.linalg.norm(mine[:, None] - its[None], axis=2).min(axis=1)
    return float(nearest.max()) if nearest.max() > _SAME_GRID * min(header.spacing) else 0.0


_PERSON = ("PatientID", "PatientName", "PatientBirthDate")
_TAGS = {tag_for_keyword(name): name for name in (*_PERSON, "StudyInstanceUID")}
_TAGS[tag_for_keyword("FrameOfReferenceUID")] = "FrameOfReferenceUID"


def _said_of_the_patient(header: VolumeHeader) -> dict[str, str]:
    """Return patient facts in a header's free fields, in ITK's and others' spelling, by keyword."""
    found: dict[str, str] = {}
    for row in header.rows:
        key = re.sub("[^a-z0-9]", "", row.keyword.lower()).removeprefix("dicom")
        for tag, name in _TAGS.items():
            if row.value and (key == name.lower() or key.startswith(f"{tag:08x}")):
                found[name] = row.value
    return found


def _check_identity(path: Path, said: dict[str, str], over: Instance) -> None:
    """Refuse labels of another patient, study or space than the image; raises FileProblem."""
    if over.kind != "dicom":
        over = replace(over, attributes=_said_of_the_patient(read_header(over.path)))
    what = ""
    if conflict(identity_of(replace(over, attributes=said)), identity_of(over)):
        what = "it is another patient's than the image"
    elif _differ(said, over, "FrameOfReferenceUID"):
        what = "its frame of reference is not the image's: positions cannot be compared"
    # One frame of reference holds for several studies where images were registered.
    elif "FrameOfReferenceUID" not in said and _differ(said, over, "StudyInstanceUID"):
        what = "it was made on another study than the image"
    if what:
        raise guards.problem(path, what, "Take a label volume of this image")


def _differ(said: dict[str, str], over: Instance, keyword: str) -> bool:
    mine, its = said.get(keyword, ""), over.get(keyword)
    return bool(mine and its and mine != its)


def _count_inside(
    labels: _Labels, k: int, to_image: Floats, size: tuple[int, ...]
) -> tuple[int, int]:
    """Return how many labelled voxels of slice `k` lie within the image, and how many there are."""
    rows, columns = np.nonzero(labels.voxels[k])
    i, j, first = labels.start
    places = np.stack([columns + i, rows + j, np.full(len(rows), first + k)])
    at = to_image[:3, :3] @ places + to_image[:3, 3:]
    within = (at >= -0.5 - 1e-3) & (at <= np.array(size)[:, None] - 0.5 + 1e-3)
    return int(within.all(axis=0).sum()), len(rows)


def _middle_voxel(labels: _Labels, k: int, value: int) -> Floats:
    """Return (i, j, k) in the file of the label's voxel nearest to its centre on slice `k`."""
    places = np.argwhere(labels.voxels[k] == value)
    j, i = places[np.linalg.norm(places - places.mean(axis=0), axis=1).argmin()].tolist()
    return np.array([i, j, k], np.float64) + labels.start


def _segments(header: VolumeHeader) -> dict[Key, dict[str, str]]:
    """Return the fields of Slicer's segments, e.g. "Name" and "Color"; empty for other files."""
    fields: dict[str, dict[str, str]] = {}
    for row in header.rows:
        number, _, name = row.keyword.removeprefix("Segment").partition("_")
        if row.keyword.endswith(":=") and number.isdigit():
            fields.setdefault(number, {})[name.removesuffix(":=")] = row.value
    found: dict[Key, dict[str, str]] = {}
    for number, one in fields.items():
        # Before Slicer 4.11 each segment was a part of its own, of value 1.
        part = one.get("Layer", "0" if "LabelValue" in one else number)
        value = one.get("LabelValue", "1")
        if part.isdigit() and value.isdigit():
            found[int(part), int(value)] = one
    return found


def _item(
    header: VolumeHeader, named: dict[Key, dict[str, str]], key: Key, count: int, voxel: Floats
) -> LayerItem:
    assert header.affine is not None
    part, value = key
    number, one = part * _PART + value, named.get(key, {})
    cubic_mm = abs(float(np.linalg.det(header.affine[:3, :3])))
    x, y, z = (header.affine[:3, :3] @ voxel + header.affine[:3, 3]).tolist()
    color = _color(one.get("Color", "")) or palette_color(number % _PART)
    volume_ml = count * cubic_mm / 1000
    detail = f"{count:,} voxels"
    if header.standard:
        detail += f" in the standard space {header.standard}: not the patient's own volume"
    return LayerItem(
        number,
        one.get("Name") or f"Label {value}",
        color,
        detail,
        volume_ml,
        (x, y, z),
    )


def _color(text: str) -> RGB | None:
    """Return the colour of three numbers from 0 to 1, or None."""
    try:
        red, green, blue = (min(max(round(float(part) * 255), 0), 255) for part in text.split())
    except (ValueError, OverflowError):
        return None
    return red, green, blue
