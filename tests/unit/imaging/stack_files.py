"""Stacks of slices that tests make themselves, as frames in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.reading_types import pixel_sha256
from app.imaging.types import Frame, ImageRef, Orientation, Spacing, SpacingSource

Array = NDArray[Any]
Field = Callable[[Array], Array]


def place(cosines: Sequence[float], position: Sequence[float]) -> Orientation:
    a, b, c, d, e, f = (float(v) for v in cosines)
    x, y, z = (float(v) for v in position)
    return Orientation(cosines=(a, b, c, d, e, f), position=(x, y, z))


def slice_frame(
    stored: Array,
    cosines: Sequence[float],
    position: Sequence[float],
    spacing: tuple[float, float] = (1.0, 1.0),
    **changes: Any,
) -> Frame:
    """A slice; spacing is (between rows, between columns)."""
    return Frame(
        stored,
        ImageRef("1", 0, pixel_sha256(stored)),
        spacing=Spacing(*spacing, SpacingSource.PATIENT, spacing[0] / spacing[1]),
        orientation=place(cosines, position),
        **changes,
    )


def sampled_slice(
    field: Field,
    shape: tuple[int, int],
    cosines: Sequence[float],
    position: Sequence[float],
    spacing: tuple[float, float] = (1.0, 1.0),
) -> Frame:
    """A slice that samples a function of patient coordinates ([..., 3] mm -> values)."""
    row, column = np.array(cosines[:3], float), np.array(cosines[3:], float)
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    points = (
        np.array(position, float)
        + x[..., None] * spacing[1] * row
        + y[..., None] * spacing[0] * column
    )
    return slice_frame(field(points), cosines, position, spacing)
