"""Flips and quarter turns between an image and its picture on the screen.

Both have pixel centres at integers, x to the right and y downwards. A quarter turn exchanges
columns and rows, so that the picture of a wide image is tall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QTransform

from app.workspace.viewport import Display

UPRIGHT = Display()


def shown_size(size: tuple[int, int], display: Display) -> tuple[int, int]:
    """Return the size (columns, rows) that an image of `size` has after flips and turns."""
    columns, rows = size
    return (rows, columns) if display.quarter_turns % 2 else (columns, rows)


def transform(size: tuple[int, int], display: Display) -> QTransform:
    """Return the transform of (x, y) from an image of `size` (columns, rows) to its picture."""
    columns, rows = size
    # QTransform(m11, m12, m21, m22, dx, dy): x' = m11 x + m21 y + dx, y' = m12 x + m22 y + dy
    result = QTransform()
    if display.flip_h:
        result *= QTransform(-1, 0, 0, 1, columns - 1, 0)
    if display.flip_v:
        result *= QTransform(1, 0, 0, -1, 0, rows - 1)
    for _ in range(display.quarter_turns % 4):
        result *= QTransform(0, 1, -1, 0, rows - 1, 0)
        columns, rows = rows, columns
    return result


def orient_pixels(pixels: NDArray[np.uint8], display: Display) -> NDArray[np.uint8]:
    """Return the flipped and rotated picture of [rows, columns] or [rows, columns, 3] pixels."""
    if display.flip_h:
        pixels = pixels[:, ::-1]
    if display.flip_v:
        pixels = pixels[::-1]
    return np.ascontiguousarray(np.rot90(pixels, -(display.quarter_turns % 4)))
