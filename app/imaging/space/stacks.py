"""Recognise stacks of parallel images and the grid of their volume: geometry only, no pixels.

A stack is a set of parallel images of one size and pixel spacing. It is regular if its slices
follow each other at one distance along their normal; else its volume is resampled. The
tolerances below are wider than a file's rounding and narrower than what can be seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.space.planes import FramePlane, instance_plane, parse_numbers
from app.imaging.types import Instance, Series

PARALLEL = 1e-4
"""Largest difference of a direction cosine within a stack."""
SAME_SPACING = 1e-3
"""Largest relative difference of the pixel spacing within a stack."""
GAP_MM = 0.01
"""Slices closer than this are at the same position; distances may differ by it, or `GAP_RATIO`."""
GAP_RATIO = 0.01
SHEAR = 2e-3
"""Largest sideways step per mm along the normal (0.1 degrees) of a regular stack."""
MAX_FINER = 8
"""Limit of resampling an uneven stack: so many times as many slices as were acquired."""
_MAX_GROWTH = 2.0
_MAX_RUNS = 4

Array = NDArray[np.float64]


class NotAStackError(Exception):
    """The images do not form a stack; the message completes "this series is not a volume: ..."."""


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """Parallel images, sorted along their normal (row x column).

    Attributes:
        order: Indices of the images in the original list, sorted along the normal.
        plane: Plane of the first image in the sorted order.
        along: [n] distance of each image from the first along the normal in mm, ascending.
        aside: [n, 2] in-plane shift (x, y) of each image relative to the first, in pixels.
    """

    order: tuple[int, ...]
    plane: FramePlane
    along: Array
    aside: Array
    rows: int
    columns: int

    @property
    def gaps(self) -> Array:
        """[n - 1] distances between neighbouring slices in mm."""
        return np.diff(self.along)

    @property
    def even(self) -> bool:
        """Whether the slices are evenly spaced."""
        gaps = self.gaps
        mean = float(gaps.mean())
        return bool(np.abs(gaps - mean).max() <= max(GAP_MM, GAP_RATIO * mean))

    @property
    def shear(self) -> float:
        """Tangent of the gantry tilt: mm of in-plane shift per mm along the normal."""
        sideways = self.aside[-1] * np.array(self.plane.spacing[::-1])
        return float(np.linalg.norm(sideways) / self.along[-1])

    @property
    def straight(self) -> bool:
        """Whether the slices lie exactly above each other along the normal (within tolerance)."""
        pixel = np.array(self.plane.spacing[::-1])
        line = np.outer(self.along / self.along[-1], self.aside[-1])
        off = np.linalg.norm((self.aside - line) * pixel, axis=1).max()
        return self.shear <= SHEAR and bool(off <= max(GAP_MM, GAP_RATIO * float(pixel.min())))

    @property
    def regular(self) -> bool:
        """Whether a volume can be built without resampling."""
        return self.even and self.straight


@dataclass(frozen=True, slots=True, eq=False)
class VoxelGrid:
    """The voxel grid for the volume of a stack.

    Attributes:
        shape: Numbers of (slices, rows, columns).
        affine: [4, 4] matrix from (i, j, k, 1) to patient coordinates in mm.
        along: [slices] distance along the normal from the first acquired slice, in mm.
        corner: Where voxel (0, 0) lies in the first slice, as (x, y) in pixels; negative in a
            tilted stack.
    """

    shape: tuple[int, int, int]
    affine: Array
    along: Array
    corner: tuple[int, int]


@dataclass(frozen=True, slots=True)
class StackGeometry:
    """Position of a series' volume in the patient, in SimpleITK's terms.

    Attributes:
        size: Numbers of (columns, rows, slices).
        spacing: Voxel distances in mm from column to column, row to row and slice to slice.
        direction: [3][3] matrix whose columns are the unit vectors of i, j and k (patient LPS).
        origin: Patient coordinates of voxel (0, 0, 0) in mm.
        regular: Whether the volume keeps the acquired voxels; False if it is resampled to this
            grid.
    """

    size: tuple[int, int, int]
    spacing: tuple[float, float, float]
    direction: tuple[tuple[float, float, float], ...]
    origin: tuple[float, float, float]
    regular: bool

    @property
    def affine(self) -> Array:
        """The [4, 4] matrix from (i, j, k, 1) to patient coordinates in mm."""
        matrix = np.eye(4)
        matrix[:3, :3] = np.array(self.direction) * self.spacing
        matrix[:3, 3] = self.origin
        return matrix


def sort_stack(planes: Sequence[FramePlane], rows: int, columns: int) -> Stack:
    """Return parallel images of one size as a `Stack`, sorted along their normal.

    Raises:
        NotAStackError: There are fewer than two images, they are not parallel, their spacing or
            frame of reference differs, or several images lie at the same position.
    """
    if len(planes) < 2:
        raise NotAStackError("it has fewer than two slices")
    if len({plane.frame_of_reference for plane in planes}) > 1:
        raise NotAStackError("its images have several frames of reference")
    directions = np.array([(*plane.row, *plane.column) for plane in planes])
    # A coarse check first: the lowest image is not known before sorting.
    if np.abs(directions - directions[0]).max() > 2 * PARALLEL:
        raise NotAStackError("its images are not parallel")
    spacings = np.array([plane.spacing for plane in planes])
    if (np.abs(spacings / spacings[0] - 1) > SAME_SPACING).any():
        raise NotAStackError("its images have different pixel spacings")
    origins = np.array([plane.origin for plane in planes])
    # Along the normal; images at one position by x, y, z.
    order = np.lexsort((*origins.T[::-1], origins @ np.array(planes[0].normal)))
    lowest = planes[order[0]]
    if np.abs(directions - directions[order[0]]).max() > PARALLEL:
        raise NotAStackError("its images are not parallel")
    away = origins[order] - origins[order[0]]
    along = away @ np.array(lowest.normal)
    if np.diff(along).min() < GAP_MM:
        raise NotAStackError("several of its images lie at the same position")
    sideways = away - np.outer(along, lowest.normal)
    aside = np.stack(
        [
            sideways @ np.array(lowest.row) / lowest.spacing[1],
            sideways @ np.array(lowest.column) / lowest.spacing[0],
        ],
        axis=1,
    )
    return Stack(tuple(int(i) for i in order), lowest, along, aside, rows, columns)


def first_at_each_position(planes: Sequence[FramePlane]) -> list[int]:
    """Return the index of the first image at each position, e.g. of an object with several phases.

    If some positions have more images than others, the indices of all images are returned.
    """
    places: dict[tuple[float, ...], list[int]] = {}
    for index, plane in enumerate(planes):
        key = tuple(round(part / GAP_MM) for part in plane.origin)
        places.setdefault(key, []).append(index)
    if len({len(indices) for indices in places.values()}) > 1:
        return list(range(len(planes)))
    return [indices[0] for indices in places.values()]


def voxel_grid(stack: Stack) -> VoxelGrid:
    """Return the voxel grid for a stack's volume: the acquired voxels if the stack is regular.

    Unevenly spaced slices are resampled to the smallest distance between two of them, but to at
    most `MAX_FINER` times as many slices; shifted slices are resampled to a grid that contains them
    all. The first and last slice keep their positions: nothing is extrapolated.

    Raises:
        NotAStackError: The slices are shifted too far from each other.
    """
    plane, count = stack.plane, len(stack.order)
    affine = plane.affine
    if stack.regular:
        sideways = stack.aside[-1] * np.array(plane.spacing[::-1])
        # The step is the mean of all steps, so that rounding does not add up.
        last = stack.along[-1] * np.array(plane.normal)
        last += sideways[0] * np.array(plane.row) + sideways[1] * np.array(plane.column)
        affine[:3, 2] = last / (count - 1)
        return VoxelGrid((count, stack.rows, stack.columns), affine, stack.along, (0, 0))
    # 0.01 pixels of tolerance, so that rounding adds no rows or columns.
    low = np.floor(stack.aside.min(axis=0) + 0.01).astype(int)
    high = np.ceil(stack.aside.max(axis=0) - 0.01).astype(int)
    columns, rows = stack.columns + int(high[0] - low[0]), stack.rows + int(high[1] - low[1])
    if rows > _MAX_GROWTH * stack.rows or columns > _MAX_GROWTH * stack.columns:
        raise NotAStackError("its slices do not line up")
    total = float(stack.along[-1])
    slices = count
    if not stack.even:
        slices = min(round(total / float(stack.gaps.min())), MAX_FINER * count) + 1
    step = total / (slices - 1)
    affine[:3, 3] = plane.point(float(low[0]), float(low[1]))
    affine[:3, 2] *= step
    along = np.linspace(0.0, total, slices)
    return VoxelGrid((slices, rows, columns), affine, along, (int(low[0]), int(low[1])))


def volume_geometry(stack: Stack) -> StackGeometry:
    """Return the grid of a stack's volume in SimpleITK's terms.

    Raises:
        NotAStackError: The slices are shifted too far from each other.
    """
    grid = voxel_grid(stack)
    slices, rows, columns = grid.shape
    steps = np.linalg.norm(grid.affine[:3, :3], axis=0)
    direction = grid.affine[:3, :3] / steps
    x, y, z = (float(part) for part in steps)
    p, q, r = (float(part) for part in grid.affine[:3, 3])
    lines = tuple((float(a), float(b), float(c)) for a, b, c in direction)
    return StackGeometry((columns, rows, slices), (x, y, z), lines, (p, q, r), stack.regular)


def series_stack(instances: Sequence[Instance]) -> Stack:
    """Return single-frame images as a `Stack`, by their headers, or raise NotAStackError."""
    if len({(one.rows, one.columns) for one in instances}) > 1:
        raise NotAStackError("its images have different sizes")
    if any(one.frames > 1 or not one.has_frames for one in instances):
        raise NotAStackError("it contains multi-frame images")
    planes = [instance_plane(one) for one in instances]
    known = [plane for plane in planes if plane is not None]
    if len(known) < len(planes) or not known:
        raise NotAStackError("its images do not say where they lie in the patient")
    # Localisers may be parallel by chance, but show no volume.
    if any("LOCALIZER" in one.get("ImageType").upper() for one in instances):
        raise NotAStackError("it is a localiser")
    return sort_stack(known, instances[0].rows, instances[0].columns)


def stack_geometry(series: Series | Instance) -> StackGeometry | None:
    """Return the position of a series' volume from its headers; None if it is not a volume."""
    instances = series.instances if isinstance(series, Series) else (series,)
    if any(_in_colour(one) for one in instances):
        return None  # volumes in colour are not assembled
    if len(instances) == 1:
        return _parse_geometry(instances[0].get(STACK_KEYWORD))
    try:
        return volume_geometry(series_stack(instances))
    except NotAStackError:
        return None


def _in_colour(instance: Instance) -> bool:
    photometric = instance.get("PhotometricInterpretation").upper()
    return bool(photometric) and not photometric.startswith("MONOCHROME")


STACK_KEYWORD = "StackGeometry"
"""Key of `Instance.attributes` (no DICOM keyword) for the geometry of a multi-frame object, which
is computed where the whole header is parsed."""


def geometry_text(geometry: StackGeometry) -> str:
    """Return the numbers in a geometry, field by field, joined by backslashes (`STACK_KEYWORD`)."""
    flat: list[float] = [*geometry.size, *geometry.spacing]
    flat += [part for line in geometry.direction for part in line]
    flat += [*geometry.origin, float(geometry.regular)]
    return "\\".join(repr(part) for part in flat)


def _parse_geometry(text: str) -> StackGeometry | None:
    numbers = parse_numbers(text)
    if len(numbers) != 19:
        return None
    columns, rows, slices = (int(part) for part in numbers[:3])
    x, y, z = numbers[3:6]
    lines = tuple((numbers[i], numbers[i + 1], numbers[i + 2]) for i in (6, 9, 12))
    p, q, r = numbers[15:18]
    return StackGeometry((columns, rows, slices), (x, y, z), lines, (p, q, r), bool(numbers[18]))


def stack_warnings(
    stack: Stack, *, descending: bool = False, tilt: str = "", thickness: float | None = None
) -> tuple[str, ...]:
    """Return warnings for the user on uneven, overlapping or shifted slices; () if there are none.

    Args:
        stack: The stack.
        descending: Whether slice 1, as displayed to the user, is the last along the normal.
        tilt: GantryDetectorTilt as stored in the file.
        thickness: SliceThickness in mm if it is the same in all slices.
    """
    gaps = stack.gaps[::-1] if descending else stack.gaps
    found: list[str] = []
    if not stack.even:
        found.append(_missing_slices_text(gaps) or _gap_changes_text(gaps))
        if thickness and gaps.min() < 0.99 * thickness - GAP_MM <= gaps.max():
            where = int(gaps.argmin())
            found.append(
                f"slices overlap after slice {where + 1}: they are {thickness:.2f} mm thick and "
                f"{gaps[where]:.2f} mm apart"
            )
    if stack.shear > SHEAR:
        degrees = math.degrees(math.atan(stack.shear))
        tilted = any(abs(angle) > 0.1 for angle in parse_numbers(tilt))
        cause = "the gantry was tilted" if tilted else "the slices are sheared"
        found.append(f"{cause} by {degrees:.1f}°: each slice is shifted against the one before")
    elif not stack.straight:
        found.append("the slices are shifted against each other by differing amounts")
    return tuple(found)


def _missing_slices_text(gaps: Array) -> str:
    """Return the warning about missing slices, if some gaps are multiples of the usual one."""
    usual = float(np.median(gaps))
    steps = np.rint(gaps / usual)
    if (steps < 1).any() or np.abs(gaps - steps * usual).max() > max(GAP_MM, 2 * GAP_RATIO * usual):
        return ""
    count = int(steps.sum()) - len(gaps)
    places = [int(place) + 1 for place in np.flatnonzero(steps > 1)]
    if 2 * len(places) >= len(gaps) or 2 * count > len(gaps):
        return ""  # too many: the slice distance changes instead
    noun = "slice is" if count == 1 else "slices are"
    after = ", ".join(str(place) for place in places[:5]) + (", ..." if len(places) > 5 else "")
    widest = float(gaps.max())
    return f"{count} {noun} missing after slice {after}: {widest:.2f} instead of {usual:.2f} mm"


def _gap_changes_text(gaps: Array) -> str:
    """Return e.g. "the slice distance changes from 1.08 to 7.00 mm after slice 12"."""
    runs: list[tuple[int, float]] = []
    for place, gap in enumerate(gaps.tolist(), start=1):
        if not runs or abs(gap - runs[-1][1]) > max(GAP_MM, GAP_RATIO * gap):
            runs.append((place, gap))
    if len(runs) > _MAX_RUNS or len(runs) < 2:
        low, high = float(gaps.min()), float(gaps.max())
        return f"the slice distance varies between {low:.2f} and {high:.2f} mm"
    # "After slice n" means between the slices n and n + 1.
    text = f"the slice distance changes from {runs[0][1]:.2f} to {runs[1][1]:.2f} mm"
    text += f" after slice {runs[1][0]}"
    for place, gap in runs[2:]:
        text += f", to {gap:.2f} mm after slice {place}"
    return text
