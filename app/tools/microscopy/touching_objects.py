"""Joins the pieces of a watershed that belong to one object (model process only).

A watershed from many seeds cuts objects into pieces rather than leaving two objects in one. Pieces
that touch are then joined in the order of a cost, the least first, until the least cost exceeds a
limit. The cost is low where the line between two pieces is as bright as they are, and where their
union is convex.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

Labels = NDArray[np.int32]


class Pieces:
    """Labelled pieces with their pixels, and the lines along which they touch.

    Attributes:
        labels: int32 [rows, columns], the pieces from 1; 0 is background.
        pixels: For each piece, the flat indices of its pixels.
        lines: For each pair (a, b) of touching pieces, a < b, [n, 2] flat indices of pixels that
            touch across the line between them; those of a pair of pixels are of different pieces.
    """

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.columns = labels.shape[1]
        flat = labels.ravel()
        order = np.argsort(flat, kind="stable")
        ends = np.cumsum(np.bincount(flat))
        self.pixels: dict[int, NDArray[np.intp]] = {
            number: order[ends[number - 1] : ends[number]]
            for number in range(1, len(ends))
            if ends[number] > ends[number - 1]
        }
        self.lines = _touching(labels)
        self._hulls: dict[int, float] = {}

    def hull(self, *pieces: int) -> float:
        """Return the area of the convex hull of a piece, or of several together, in pixels."""
        if len(pieces) == 1:
            if pieces[0] not in self._hulls:
                self._hulls[pieces[0]] = hull_area(self.pixels[pieces[0]], self.columns)
            return self._hulls[pieces[0]]
        return hull_area(np.concatenate([self.pixels[one] for one in pieces]), self.columns)

    def line(self, one: int, other: int) -> NDArray[np.intp]:
        """Return the line between two touching pieces; see `lines`."""
        return self.lines[min(one, other), max(one, other)]

    def join(self, cost: Callable[[int, int], float], limit: float) -> Labels:
        """Join touching pieces while the least cost of joining two is at most `limit`.

        `cost(a, b)` is asked again whenever a or b has grown.

        Returns:
            The joined pieces, numbered from 1.
        """
        near: dict[int, set[int]] = {number: set() for number in self.pixels}
        for one, other in self.lines:
            near[one].add(other)
            near[other].add(one)
        grown = dict.fromkeys(self.pixels, 0)
        queue = [(cost(one, other), one, other, 0, 0) for one, other in self.lines]
        heapq.heapify(queue)
        while queue and queue[0][0] <= limit:
            _, one, other, was, other_was = heapq.heappop(queue)
            if grown.get(one) != was or grown.get(other) != other_was:
                continue
            self._absorb(one, other, near)
            grown[one] += 1
            del grown[other]
            for third in near[one]:
                price = cost(one, third)
                if price <= limit:
                    heapq.heappush(queue, (price, one, third, grown[one], grown[third]))
        joined = np.zeros(self.labels.size, np.int32)
        for number, pixels in enumerate(self.pixels.values(), 1):
            joined[pixels] = number
        return joined.reshape(self.labels.shape)

    def _absorb(self, one: int, other: int, near: dict[int, set[int]]) -> None:
        self.pixels[one] = np.concatenate([self.pixels[one], self.pixels.pop(other)])
        self._hulls.pop(one, None)
        del self.lines[min(one, other), max(one, other)]
        near[one].discard(other)
        for third in near.pop(other):
            if third == one:
                continue
            near[third].discard(other)
            line = self.lines.pop((min(other, third), max(other, third)))
            key = (min(one, third), max(one, third))
            known = self.lines.get(key)
            self.lines[key] = line if known is None else np.concatenate([known, line])
            near[third].add(one)
            near[one].add(third)


def hull_area(pixels: NDArray[np.intp], columns: int) -> float:
    """Return the area of the convex hull of pixels (flat indices), corners included."""
    y, x = np.divmod(np.sort(pixels), columns)
    first = np.concatenate([[True], y[1:] != y[:-1]])
    last = np.concatenate([first[1:], [True]])
    rows, left, right = y[first], x[first], x[last] + 1
    if len(rows) == 1:
        return float(right[0] - left[0])
    corners = np.concatenate(
        [
            np.stack([rows, left], axis=1),
            np.stack([rows + 1, left], axis=1),
            np.stack([rows, right], axis=1),
            np.stack([rows + 1, right], axis=1),
        ]
    )
    try:
        return float(ConvexHull(corners).volume)  # "volume" is the area in two dimensions
    except QhullError:
        return float(len(pixels))


def quantile(values: NDArray[Any], share: float) -> float:
    """Return the value below which a share of the values lies; far faster than `np.quantile`."""
    place = int(share * (len(values) - 1))
    return float(np.partition(values, place)[place])


def _touching(labels: Labels) -> dict[tuple[int, int], NDArray[np.intp]]:
    index = np.arange(labels.size).reshape(labels.shape)
    found: list[NDArray[Any]] = []
    pairs = (
        (np.s_[:, :-1], np.s_[:, 1:]),
        (np.s_[:-1, :], np.s_[1:, :]),
        (np.s_[:-1, :-1], np.s_[1:, 1:]),
        (np.s_[:-1, 1:], np.s_[1:, :-1]),
    )
    for here, there in pairs:
        one, other = labels[here], labels[there]
        differ = (one != other) & (one > 0) & (other > 0)
        a, b, p, q = one[differ], other[differ], index[here][differ], index[there][differ]
        found.append(np.stack([np.minimum(a, b), np.maximum(a, b), p, q], axis=1))
    rows = np.concatenate(found)
    if not len(rows):
        return {}
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    change = np.any(rows[1:, :2] != rows[:-1, :2], axis=1)
    starts = np.concatenate([[0], np.flatnonzero(change) + 1, [len(rows)]])
    return {
        (int(rows[start, 0]), int(rows[start, 1])): rows[start:end, 2:]
        for start, end in pairwise(starts)
    }
