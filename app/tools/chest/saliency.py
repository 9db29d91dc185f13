"""Where the classifier looked: its class activation maps, carried back to the image's own pixels.

The network ends in an average over 7 x 7 cells and one linear layer. There the class activation map
of a label, the cells weighted by that layer's weights, is what Grad-CAM gives (Selvaraju et al.,
"Grad-CAM", ICCV 2017, section 3.1), without a backward pass. No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

INPUT_SIZE = 224
CELL = 32.0
"""Input pixels from one cell of the last layer to the next."""
FIRST = 14.0
"""Input pixel at which the first cell is centred.

Convolutions and poolings of the network up to there, from the back: three averages over 2 x 2 (each
x -> 2x + 0.5), the maximum over 3 x 3 and the convolution of 7 x 7 (each x -> 2x) give 32x + 14.
"""


@dataclass(frozen=True, slots=True)
class Square:
    """The part of an image that the model saw: the central square, as torchxrayvision crops it.

    Attributes:
        left: First column.
        top: First row.
        side: Pixels of a side.
    """

    left: int
    top: int
    side: int

    @classmethod
    def of(cls, shape: tuple[int, int]) -> Square:
        """Of an image [rows, columns]; see `torchxrayvision.datasets.XRayCenterCrop`."""
        rows, columns = shape
        side = min(rows, columns)
        return cls(columns // 2 - side // 2, rows // 2 - side // 2, side)

    def to_image(self, x: float, y: float) -> tuple[float, float]:
        """A point of the model's input in the image; pixel centres are whole numbers in both."""
        scale = self.side / INPUT_SIZE
        return (
            self.left + (x + 0.5) * scale - 0.5,
            self.top + (y + 0.5) * scale - 0.5,
        )


def in_image(cells: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.float32]:
    """A map over cells as one over the image's pixels.

    Args:
        cells: [7, 7], not negative.
        shape: (rows, columns) of the image.

    Returns:
        float32 [rows, columns], 0..1 (1 where it is highest), 0 outside what the model saw.
    """
    square = Square.of(shape)
    wide = np.maximum(np.asarray(cells, np.float32), 0)
    highest = float(wide.max())
    found = np.zeros(shape, np.float32)
    if highest > 0:
        down = _weights(square.side, wide.shape[0])
        across = _weights(square.side, wide.shape[1])
        inside = slice(square.top, square.top + square.side)
        beside = slice(square.left, square.left + square.side)
        np.matmul(down @ (wide / highest), across.T, out=found[inside, beside])
    return found


def _weights(side: int, cells: int) -> NDArray[np.float32]:
    """[side, cells]: how much of each cell a pixel has, linear between the cells' centres."""
    at = ((np.arange(side) + 0.5) * (INPUT_SIZE / side) - 0.5 - FIRST) / CELL
    at = np.clip(at, 0, cells - 1)
    first = np.minimum(at.astype(int), cells - 2)
    share = (at - first).astype(np.float32)
    found = np.zeros((side, cells), np.float32)
    rows = np.arange(side)
    found[rows, first] = 1 - share
    found[rows, first + 1] = share
    return found
