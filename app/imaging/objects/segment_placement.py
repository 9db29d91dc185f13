"""Find the frames of a segmentation that belong on a frame of an image, and their position.

Tiles are placed by the total pixel matrix; others first by reference to this very image frame, then
by position in the same plane of the same frame of reference. If reference and position contradict
each other, the position is used, with a warning. Runs in a worker process.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.imaging.objects.layer_targets import (
    ALL_FRAMES,
    SAME_PLANE_MM,
    Matrix,
    PixelGrid,
    Target,
    refusal,
)
from app.imaging.objects.segment_index import SegmentIndex
from app.imaging.types import Instance

Floats = NDArray[np.float64]

SAME_GRID_PIXELS = 0.1
"""Grids whose corners are this close are the same: nothing is resampled."""

IDENTITY = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
RESAMPLED = "resampled from another pixel grid (nearest neighbour)"
CONTRADICTION = "its reference and its position disagree: drawn by position"
UNPLACED = "it names this image, but neither pixel grid nor position say where: not drawn"
WHICH_FRAME = "it names this image, but not which of its frames: not drawn"


@dataclass(frozen=True, slots=True, eq=False)
class PlacedFrame:
    """A segmentation frame, and its position on an image frame.

    Attributes:
        frame: Frame number in the segmentation, from 0.
        affine: [2, 3] matrix from (x, y, 1) in the image to (x, y) in the segmentation frame.
        by_reference: Whether a reference to the image, and not only a position, places the frame.
    """

    frame: int
    affine: Floats
    by_reference: bool


Placing = tuple[list[PlacedFrame], list[str]]
"""Segmentation frames to be drawn on an image frame, and warnings."""


def place_frames(instance: Instance, index: SegmentIndex, target: Target) -> Placing:
    """Return the frames of the segmentation `instance` that belong on `target`, and warnings."""
    refused = refusal(instance, index.frame_of_reference, target)
    if refused:
        return [], [refused] if target.uid in index.images else []
    if index.matrix is not None:
        return _place_tiles(index, target, index.matrix)
    placed, warnings = _frames_by_reference(index, target)
    done = {int(index.segments[one.frame]) for one in placed}
    near = _frames_by_position(index, target)
    placed += [one for one in near if int(index.segments[one.frame]) not in done]
    if any(not is_pixel_shift(one.affine) for one in placed):
        warnings.append(RESAMPLED)
    return placed, warnings


def is_pixel_shift(affine: Floats) -> bool:
    """Return whether an affine is a pure shift by whole pixels."""
    linear = np.abs(affine[:, :2] - np.eye(2)).max() < 1e-9
    return bool(linear and np.abs(affine[:, 2] - np.rint(affine[:, 2])).max() < 1e-9)


def _frames_by_reference(index: SegmentIndex, target: Target) -> Placing:
    """Return the frames that name the target and lie on it, and warnings."""
    placed: list[PlacedFrame] = []
    warnings: list[str] = []
    for frame in _referring_frames(index, target):
        affine, warning = _reference_affine(index, target, frame)
        if warning:
            warnings.append(warning)
        if affine is not None:
            placed.append(PlacedFrame(frame, affine, by_reference=not warning))
    return placed, warnings


def _referring_frames(index: SegmentIndex, target: Target) -> list[int]:
    """Return frames that name the target, by their own references or else the file's."""
    frames = list(index.frames_by_source.get((target.uid, target.index), ()))
    frames += index.frames_by_source.get((target.uid, ALL_FRAMES), ())
    if not frames and index.images == frozenset({target.uid}) and target.instance.frames == 1:
        frames = [
            frame
            for frame, (names, grid) in enumerate(zip(index.sources, index.grids, strict=True))
            if not names and grid is None
        ]
    return list(dict.fromkeys(frames))


def _reference_affine(index: SegmentIndex, target: Target, frame: int) -> tuple[Floats | None, str]:
    """Return where a frame that names the target lies on it (None: nowhere), and a warning."""
    grid = index.grids[frame]
    same_shape = (index.layout.rows, index.layout.columns) == target.shape
    vague = (target.uid, target.index) not in index.sources[frame] and target.instance.frames > 1
    if grid is not None and target.grid is not None:
        affine = _in_plane(grid, target, max(index.half_slab, SAME_PLANE_MM))
        if affine is None:
            # A frame made from several images names them all, and lies in the plane of one.
            sure = len(index.sources[frame]) == 1 and not vague
            return None, CONTRADICTION if sure else ""
        moved = same_shape and not np.array_equal(affine, IDENTITY)
        return affine, CONTRADICTION if moved else ""
    if not same_shape:
        return None, UNPLACED
    # Drawn on every frame of the image, several of them would pile up.
    if vague and np.count_nonzero(index.segments == index.segments[frame]) > 1:
        return None, WHICH_FRAME
    return IDENTITY, ""


def _frames_by_position(index: SegmentIndex, target: Target) -> list[PlacedFrame]:
    """Return for each segment the nearest frame whose slab contains the target's plane.

    A frame that names another image, in a file that names this one too, must lie in the very plane:
    its maker meant the other image.
    """
    if target.grid is None or not index.frame_of_reference:
        return []
    if index.frame_of_reference != target.frame_of_reference:
        return []
    distances = np.abs((index.origins - target.grid.origin) @ target.grid.normal)
    reach = max(index.half_slab, SAME_PLANE_MM)
    near = np.flatnonzero(distances <= reach)
    best: dict[int, PlacedFrame] = {}
    # The nearest frame of each segment comes first and wins.
    for frame in near[np.argsort(distances[near], kind="stable")].tolist():
        grid, segment = index.grids[frame], int(index.segments[frame])
        if grid is None or segment in best:
            continue
        chose_another = target.uid in index.images and bool(index.sources[frame])
        affine = _in_plane(grid, target, SAME_PLANE_MM if chose_another else reach)
        if affine is not None:
            best[segment] = PlacedFrame(frame, affine, by_reference=False)
    return list(best.values())


def _in_plane(grid: PixelGrid, target: Target, reach: float) -> Floats | None:
    """Return [2, 3] target -> grid pixels, if all of the target is within `reach` mm of it."""
    if target.grid is None or not grid.is_parallel(target.grid):
        return None
    corners = target.corners
    at, distances = grid.project(target.grid.points(corners))
    if np.abs(distances).max() > reach + 1e-6:
        return None
    # A crop of the image's own grid is shifted by whole pixels, not resampled.
    shift = np.rint(at[0] - corners[0])
    if np.abs(at - corners - shift).max() <= SAME_GRID_PIXELS:
        return IDENTITY + np.array([[0, 0, shift[0]], [0, 0, shift[1]]])
    return target.grid.affine_to(grid)


def _place_tiles(index: SegmentIndex, target: Target, mine: Matrix) -> Placing:
    """Place tiles by their position in the total pixel matrix.

    If the file names the image and both matrices have the same size, they are the same matrix:
    positions in mm are not compared, since many writers are off by the depth or a pixel. Another
    level of the same slide is reached through the slide's coordinates, without depth.
    """
    its = target.matrix or Matrix(*target.shape)
    if target.uid in index.images and mine.size == its.size:
        whole = IDENTITY + np.array([[0, 0, its.x], [0, 0, its.y]])
        return _overlapping_tiles(index, target, whole, by_reference=True), []
    same_space = index.frame_of_reference and (
        index.frame_of_reference == target.frame_of_reference
    )
    grid = index.matrix_grid
    if not same_space or grid is None or target.grid is None or not grid.is_parallel(target.grid):
        return [], [UNPLACED] if target.uid in index.images else []
    affine = target.grid.affine_to(grid)
    placed = _overlapping_tiles(index, target, affine, by_reference=False)
    return placed, [RESAMPLED] if placed else []


def _overlapping_tiles(
    index: SegmentIndex, target: Target, affine: Floats, *, by_reference: bool
) -> list[PlacedFrame]:
    """Return the tiles that overlap the target, which `affine` maps to the tiles' matrix."""
    corners = target.corners @ affine[:, :2].T + affine[:, 2]
    low, high = corners.min(axis=0) - 0.5, corners.max(axis=0) + 0.5
    size = np.array([index.layout.columns, index.layout.rows])
    starts = index.tiles
    known = (starts >= 0).all(axis=1)
    overlaps = known & (starts <= high).all(axis=1) & (starts + size - 1 >= low).all(axis=1)
    placed: list[PlacedFrame] = []
    for frame in np.flatnonzero(overlaps).tolist():
        own = affine.copy()
        # From the matrix to the tile's own pixels.
        own[:, 2] -= starts[frame]
        placed.append(PlacedFrame(frame, own, by_reference))
    return placed
