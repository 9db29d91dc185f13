"""Position of the pixels of a frame, for objects that draw over it. Runs in a worker process.

A frame has a position in the patient (PS3.3 C.7.6.2) or on a slide (C.8.12.4), and a tile of a
slide has one in the total pixel matrix (C.7.6.17). All are kept as a `PixelGrid`: pixel (x, y),
with centres at integers, lies at `origin + x * right + y * down` mm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging import guards
from app.imaging.dicom.dicom_file import Header
from app.imaging.dicom.dicom_items import (
    first_item,
    frames_of,
    items_of,
    number_of,
    text_of,
    whole_number,
)
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.dicom.placement import orientation_of
from app.imaging.files import sources
from app.imaging.space.stacks import stack_geometry
from app.imaging.types import Instance

Floats = NDArray[np.float64]

ALL_FRAMES = -1
"""Stands for all frames of an image."""

FrameName = tuple[str, int]
"""SOP Instance UID, and frame from 0 or `ALL_FRAMES`."""

MAX_SPACING_MM = 100.0
MAX_MM = 1e6
PARALLEL_COSINE = math.cos(math.radians(0.5))
"""Planes whose normals differ by more than half a degree are different sections."""

SAME_PLANE_MM = 0.1
"""Planes this close are one: headers round their positions."""


@dataclass(frozen=True, slots=True, eq=False)
class PixelGrid:
    """Position of a frame's pixels in its frame of reference, in mm.

    Attributes:
        origin: [3] position of the centre of pixel (0, 0).
        right: [3] vector from one column to the next.
        down: [3] vector from one row to the next.
        thickness: Thickness in mm of the slab that the frame represents; 0 if unknown.
    """

    origin: Floats
    right: Floats
    down: Floats
    thickness: float = 0.0

    @property
    def normal(self) -> Floats:
        """[3] unit normal: the cross product of row direction and column direction."""
        cross = np.cross(self.right, self.down)
        return cross / np.linalg.norm(cross)

    def points(self, xy: Floats) -> Floats:
        """Convert [n, 2] pixel coordinates (x, y) to [n, 3] positions in mm."""
        return self.origin + xy[:, :1] * self.right + xy[:, 1:] * self.down

    def project(self, points: Floats) -> tuple[Floats, Floats]:
        """Return pixels [n, 2] of points [n, 3] in mm, and their distances [n] along the normal."""
        away = points - self.origin
        steps = np.stack([self.right, self.down], axis=1)
        xy = away @ np.linalg.pinv(steps).T
        return xy, away @ self.normal

    def shift(self, x: float, y: float) -> PixelGrid:
        """Return a grid whose pixel (0, 0) is pixel (x, y) of this grid."""
        origin = self.origin + x * self.right + y * self.down
        return PixelGrid(origin, self.right, self.down, self.thickness)

    def affine_to(self, other: PixelGrid) -> Floats:
        """Return the [2, 3] matrix from (x, y, 1) here to (x, y) in `other`, which is parallel."""
        corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        at, _ = other.project(self.points(corners))
        return np.stack([at[1] - at[0], at[2] - at[0], at[0]], axis=1)

    def is_parallel(self, other: PixelGrid) -> bool:
        """Return whether both planes are parallel within 0.5°, whichever way the normals point."""
        return abs(float(self.normal @ other.normal)) >= PARALLEL_COSINE


@dataclass(frozen=True, slots=True)
class Matrix:
    """The size of a tiled image's total pixel matrix, and the position of one frame in it.

    Attributes:
        rows: Number of rows in the whole matrix.
        columns: Number of columns in the whole matrix.
        x: Matrix column at which the frame starts, from 0.
        y: Matrix row at which the frame starts, from 0.
    """

    rows: int
    columns: int
    x: int = 0
    y: int = 0

    @property
    def size(self) -> tuple[int, int]:
        """(rows, columns) of the whole matrix."""
        return self.rows, self.columns


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """An image frame on which an object (e.g. a segmentation) is to be drawn.

    Attributes:
        index: Frame number in the image, from 0.
        grid: Position of the frame's pixels, or None if unknown.
        matrix: The frame's place in the total pixel matrix; None if not tiled or unknown.
    """

    instance: Instance
    index: int
    grid: PixelGrid | None
    matrix: Matrix | None = None

    @property
    def uid(self) -> str:
        """SOP Instance UID of the image."""
        return self.instance.sop_instance_uid

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns) of the frame."""
        return self.instance.rows, self.instance.columns

    @property
    def frame_of_reference(self) -> str:
        """Frame of Reference UID of the image, or "" if unknown."""
        return self.instance.get("FrameOfReferenceUID")

    @property
    def corners(self) -> Floats:
        """[4, 2] centres (x, y) of the four corner pixels."""
        x, y = self.instance.columns - 1, self.instance.rows - 1
        return np.array([[0, 0], [x, 0], [0, y], [x, y]], np.float64)


def frame_target(instance: Instance, index: int) -> Target:
    """Return frame `index` (from 0) of an image, with its position, as a `Target`.

    Raises:
        FileProblem: The frame does not exist, or the file cannot be read.
    """
    if not 0 <= index < instance.frames or instance.rows <= 0 or instance.columns <= 0:
        raise guards.problem(instance.path, f"there is no frame {index + 1} to draw on")
    if instance.kind != "dicom":
        return Target(instance, index, _grid_from_attributes(instance, index))
    header = cached_header(instance.path, sources.status(instance.path))
    total = total_matrix(header)
    if total is None:
        known = instance.frames == 1 or _has_place(header, index)
        return Target(instance, index, _frame_grid(header, index) if known else None)
    x, y = (0, 0)
    if total.size != (instance.rows, instance.columns):
        tiles = tile_positions(header, total, instance.frames, (instance.rows, instance.columns))
        x, y = (int(part) for part in tiles[index])
        # A tile without a position cannot be drawn on.
        if x < 0 or y < 0:
            return Target(instance, index, None)
    whole = matrix_grid(header)
    grid = whole.shift(x, y) if whole is not None else None
    return Target(instance, index, grid, Matrix(total.rows, total.columns, x, y))


def refusal(instance: Instance, frame_of_reference: str, target: Target) -> str:
    """Return the reason why `instance` must not be drawn on `target`, or "" if it may be.

    The reason is another patient or frame of reference, if both state it; `frame_of_reference` is
    that of `instance`.
    """
    mine, its = instance.get("PatientID"), target.instance.get("PatientID")
    if mine and its and mine != its:
        return "it names this image, but belongs to another patient: not drawn"
    if frame_of_reference and target.frame_of_reference not in ("", frame_of_reference):
        return "it names this image, but has another frame of reference: not drawn"
    return ""


def image_references(references: Sequence[Dataset]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield (SOP Instance UID, frame numbers from 0) per image reference; () means all frames."""
    for reference in references:
        uid = text_of(reference, "ReferencedSOPInstanceUID")
        if uid:
            yield uid, frames_of(reference)


def referenced_frames(references: Sequence[Dataset]) -> Iterator[FrameName]:
    """Yield (SOP Instance UID, frame from 0), with frame `ALL_FRAMES` where none is named."""
    for uid, frames in image_references(references):
        for frame in frames or (ALL_FRAMES,):
            yield uid, frame


def pixel_grid(
    position: Sequence[float],
    cosines: Sequence[float],
    spacing: Sequence[float],
    thickness: float = 0.0,
) -> PixelGrid | None:
    """Return the grid with this position, direction and spacing; None if a value is impossible.

    Args:
        position: ImagePositionPatient in mm.
        cosines: ImageOrientationPatient, six direction cosines.
        spacing: PixelSpacing (between rows, between columns) in mm.
        thickness: Slab thickness in mm; 0 if unknown.
    """
    if (len(position), len(cosines), len(spacing)) != (3, 6, 2):
        return None
    if not (np.abs([*position, *cosines, *spacing]) <= MAX_MM).all():
        return None
    if not all(0 < part <= MAX_SPACING_MM for part in spacing):
        return None
    row, column = np.array(cosines[:3], float), np.array(cosines[3:], float)
    # Headers round cosines, some to two decimals.
    if max(abs(row @ row - 1), abs(column @ column - 1), abs(row @ column)) > 1e-2:
        return None
    row, column = row / np.linalg.norm(row), column / np.linalg.norm(column)
    slab = thickness if math.isfinite(thickness) and 0 < thickness <= MAX_SPACING_MM else 0.0
    return PixelGrid(np.array(position, float), row * spacing[1], column * spacing[0], slab)


def _frame_grid(header: Header, index: int) -> PixelGrid | None:
    """Return the position of a frame in the patient, or None if its file does not say."""
    attributes = FrameAttributes(header, index)
    found = orientation_of(attributes)
    if found.position is None or found.cosines is None:
        return None
    spacing = attributes.numbers("PixelSpacing")
    return pixel_grid(found.position, found.cosines, spacing, _slab_thickness(attributes))


def _has_place(header: Header, index: int) -> bool:
    """Return whether a frame of several has a position of its own.

    It may stand in functional groups (C.7.6.16.2.3), a dose grid's offsets (C.8.8.3.2) or the slice
    vector of a reconstructed NM volume (C.8.4.15). The plain header's position is the first
    frame's.
    """
    groups = _functional_groups(header, index)
    if any(first_item(group, "PlanePositionSequence") is not None for group in groups):
        return True
    vectors = ("GridFrameOffsetVector", "SliceVector")
    return any(len(numbers(header.value(keyword))) > index for keyword in vectors)


def _slab_thickness(attributes: FrameAttributes) -> float:
    """Return the thickness in mm of the slab that a frame represents; 0 if unknown.

    This is the smaller of slice thickness and slice distance: the thickness if there are gaps
    between slices, the distance if slices overlap.
    """
    groups = _functional_groups(attributes.header, attributes.index)
    places = [first_item(group, "PixelMeasuresSequence") for group in groups]
    found: list[float] = []
    for keyword in ("SliceThickness", "SpacingBetweenSlices"):
        values = (number_of(place, keyword) for place in (*places, attributes.header.dataset))
        found += [abs(value) for value in values if value][:1]
    return min(found, default=0.0)


def _functional_groups(header: Header, index: int) -> list[Dataset]:
    """Return the functional groups of a frame: its own, then those that all frames share."""
    own = items_of(header.dataset, "PerFrameFunctionalGroupsSequence")[index : index + 1]
    return own + items_of(header.dataset, "SharedFunctionalGroupsSequence")[:1]


def total_matrix(header: Header) -> Matrix | None:
    """Return the total pixel matrix (C.8.12.4.1.1), or None if the image is not tiled."""
    rows = whole_number(header.dataset, "TotalPixelMatrixRows") or 0
    columns = whole_number(header.dataset, "TotalPixelMatrixColumns") or 0
    return Matrix(rows, columns) if 0 < rows < 2**31 and 0 < columns < 2**31 else None


def matrix_grid(header: Header) -> PixelGrid | None:
    """Return the grid (mm) of the pixels of a slide's total pixel matrix; None if unknown."""
    origin = first_item(header.dataset, "TotalPixelMatrixOriginSequence")
    x, y, z = (number_of(origin, f"{axis}OffsetInSlideCoordinateSystem") for axis in "XYZ")
    if x is None or y is None:
        return None
    cosines = numbers(header.value("ImageOrientationSlide"))
    attributes = FrameAttributes(header, 0)
    spacing = attributes.numbers("PixelSpacing")
    return pixel_grid((x, y, z or 0.0), cosines, spacing, _slab_thickness(attributes))


def tile_positions(
    header: Header, total: Matrix, frames: int, tile: tuple[int, int]
) -> NDArray[np.int64]:
    """Return the position of each frame (a tile) in the total pixel matrix.

    `tile` is the (rows, columns) of a frame. TILED_FULL frames follow the order of PS3.3
    C.7.6.17.3: along a row of tiles, then row by row, then plane by plane. Other frames state their
    position (PlanePositionSlideSequence).

    Returns:
        [frames, 2] array of (x, y) from 0; -1 if unknown.
    """
    rows, columns = tile
    groups = items_of(header.dataset, "PerFrameFunctionalGroupsSequence")
    positions = np.full((frames, 2), -1, np.int64)
    if header.text("DimensionOrganizationType").upper() == "TILED_FULL" or not groups:
        across, along = math.ceil(total.columns / columns), math.ceil(total.rows / rows)
        # Further focal planes and optical paths repeat the same tiles.
        number = np.arange(frames) % (across * along)
        positions[:, 0] = number % across * columns
        positions[:, 1] = number // across * rows
        return positions
    for index, group in enumerate(groups[:frames]):
        place = first_item(group, "PlanePositionSlideSequence")
        x = whole_number(place, "ColumnPositionInTotalImagePixelMatrix") or 0
        y = whole_number(place, "RowPositionInTotalImagePixelMatrix") or 0
        if min(x, y) >= 1:
            positions[index] = (x - 1, y - 1)
    return positions


def _grid_from_attributes(instance: Instance, index: int) -> PixelGrid | None:
    """Return the grid of a frame of an image that is no DICOM file, by the image's attributes."""
    stack = stack_geometry(instance)
    if stack is not None:
        origin, steps = stack.affine[:3, 3], stack.affine[:3, :3].T
        return PixelGrid(origin + index * steps[2], steps[0], steps[1], stack.spacing[2])
    # Other attributes hold the position of the first frame only.
    if instance.frames > 1:
        return None
    keywords = "ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing", "SliceThickness"
    texts = (instance.get(keyword) for keyword in keywords)
    position, cosines, spacing, thickness = (numbers(text.split("\\")) for text in texts)
    return pixel_grid(position, cosines, spacing, thickness[0])
