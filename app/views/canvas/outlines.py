"""Outlines of binary masks at sub-pixel edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Contour = NDArray[np.float64]

# Directions of a step along pixel edges: right, down, left, up, as (dx, dy).
_STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))


def contours(pixels: NDArray[np.bool_]) -> list[Contour]:
    """Closed outlines of a mask, the level 0.5 of marching squares.

    Walks the edges between inside and outside pixels with the inside on the right hand, and joins
    the middles of these edges. Diagonal neighbours are kept apart.

    Args:
        pixels: [rows, columns] bool.

    Returns:
        One [points, 2] array of (x, y) an outline, holes included (walked the other way round),
        not closed (the last point is not the first). Straight runs keep only their ends.
    """
    edges = _edges(pixels)
    result: list[Contour] = []
    while edges:
        start, ways = next(iter(edges.items()))
        result.append(_walk(edges, start, ways[0]))
    return result


def border_length(pixels: NDArray[np.bool_]) -> int:
    """Number of pixel edges between inside and outside, the image's own border left out."""
    across = int(np.count_nonzero(pixels[:, 1:] != pixels[:, :-1]))
    return across + int(np.count_nonzero(pixels[1:] != pixels[:-1]))


def _edges(pixels: NDArray[np.bool_]) -> dict[tuple[int, int], list[int]]:
    """Corner (x, y) -> directions of the border edges that leave it.

    Corner (x, y) is the upper left corner of pixel (x, y), at (x - 0.5, y - 0.5).
    """
    padded = np.pad(pixels, 1)
    inside, up, left = padded[1:-1, 1:-1], padded[:-2, 1:-1], padded[1:-1, :-2]
    down, right = padded[2:, 1:-1], padded[1:-1, 2:]
    edges: dict[tuple[int, int], list[int]] = {}
    # (outside neighbour, offset of the corner the edge leaves, its direction)
    for neighbour, (dx, dy), direction in (
        (up, (0, 0), 0),
        (right, (1, 0), 1),
        (down, (1, 1), 2),
        (left, (0, 1), 3),
    ):
        rows, columns = np.nonzero(inside & ~neighbour)
        for corner in zip((columns + dx).tolist(), (rows + dy).tolist(), strict=True):
            edges.setdefault(corner, []).append(direction)
    return edges


def _walk(edges: dict[tuple[int, int], list[int]], start: tuple[int, int], first: int) -> Contour:
    points: list[tuple[float, float]] = []
    (x, y), direction = start, first
    while True:
        ways = edges[(x, y)]
        ways.remove(direction)
        if not ways:
            del edges[(x, y)]
        dx, dy = _STEPS[direction]
        points.append((x - 0.5 + dx / 2, y - 0.5 + dy / 2))
        x, y = x + dx, y + dy
        # Where two pixels touch by a corner, turning right stays on the same pixel.
        turn = (direction + 1) % 4
        ways = edges.get((x, y), [])
        if not ways or ((x, y) == start and turn == first):
            return _without_straight(np.array(points, dtype=np.float64))
        direction = turn if turn in ways else ways[0]


def _without_straight(points: Contour) -> Contour:
    if len(points) < 3:
        return points
    before = points - np.roll(points, 1, axis=0)
    after = np.roll(points, -1, axis=0) - points
    turns = before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]
    return points[turns]
