"""What a chest model is shown of an image, and where a box on that lies on the original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.tools.api import ImageSnapshot
from app.tools.chest.boxes import Corners
from app.tools.chest.pictures import Hanging, model_pixels, squared


@dataclass(frozen=True, slots=True)
class Shown:
    """An image as a model is shown it: the file's own window, upright, with square pixels.

    Attributes:
        pixels: uint8 [rows, columns] or [rows, columns, 3], bright = dense.
        hanging: How it was turned.
        rows: Of the original image.
        columns: Of the original image.
    """

    pixels: NDArray[np.uint8]
    hanging: Hanging
    rows: int
    columns: int

    @classmethod
    def of(cls, snapshot: ImageSnapshot, pixels: NDArray[np.uint8] | None = None) -> Shown:
        """An image for a model that was trained on PNG and JPEG files of radiographs.

        Args:
            snapshot: The image.
            pixels: What of it is shown, of its rows and columns; None for its own `model_pixels`.
        """
        pixels = model_pixels(snapshot) if pixels is None else pixels
        hanging = Hanging.of(snapshot.frame.orientation)
        shown = hanging.turned(squared(pixels, snapshot.frame.spacing.aspect))
        return cls(shown, hanging, *pixels.shape[:2])

    @property
    def blank(self) -> bool:
        """Whether all pixels are alike."""
        return int(self.pixels.min()) == int(self.pixels.max())

    def original(self, corners: Corners) -> Corners:
        """Pixel edges of what was shown -> pixel edges of the original image."""
        x0, y0, x1, y1 = corners
        down = self.rows / self.pixels.shape[0]
        across = self.columns / self.pixels.shape[1]
        x0, y0, x1, y1 = x0 * across, y0 * down, x1 * across, y1 * down
        if self.hanging.mirror:
            x0, x1 = self.columns - x1, self.columns - x0
        if self.hanging.upside_down:
            y0, y1 = self.rows - y1, self.rows - y0
        return x0, y0, x1, y1
