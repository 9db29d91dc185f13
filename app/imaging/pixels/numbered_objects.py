"""Sizes and places of numbered objects, as `findings.Instances` holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Objects:
    """The n objects of an array that numbers them, by ascending number.

    Attributes:
        numbers: [n] number of each object.
        areas: [n] pixels of each.
        centroids: [n, 2] mean (x, y) of its pixels' centres.
        boxes: [n, 4] its first column and row, and its last column and row.
    """

    numbers: NDArray[np.int64]
    areas: NDArray[np.int64]
    centroids: NDArray[np.float64]
    boxes: NDArray[np.int64]

    def place_of(self, number: int) -> int | None:
        """Return the position of an object in these arrays; None if there is no such object."""
        place = int(np.searchsorted(self.numbers, number))
        return place if place < len(self.numbers) and self.numbers[place] == number else None


def measured_objects(labels: NDArray[Any]) -> Objects:
    """Return the objects of `labels`, [rows, columns] of unsigned numbers; 0 is background.

    An object may consist of several parts. This takes about 0.2 s for 5,000 objects that fill half
    of 4 million pixels.
    """
    filled = np.flatnonzero(labels)
    values = labels.ravel()[filled]
    order = np.argsort(values, kind="stable")  # each object's pixels together, row by row
    rows, columns = np.divmod(filled[order], labels.shape[1])
    values = values[order]
    starts = np.flatnonzero(np.diff(values, prepend=0)) if len(values) else values.astype(np.int64)
    if not len(starts):
        empty = np.zeros(0, np.int64)
        return Objects(empty, empty, np.zeros((0, 2)), np.zeros((0, 4), np.int64))
    areas = np.diff(starts, append=len(values))
    middle = [np.add.reduceat(one, starts) / areas for one in (columns, rows)]
    first = [np.minimum.reduceat(one, starts) for one in (columns, rows)]
    last = [np.maximum.reduceat(one, starts) for one in (columns, rows)]
    return Objects(
        values[starts].astype(np.int64),
        areas.astype(np.int64),
        np.stack(middle, axis=1),
        np.stack([*first, *last], axis=1),
    )
