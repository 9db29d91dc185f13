"""Pictures for chest models: greys, orientation, square pixels, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.imaging.pixels import pipeline, windows
from app.imaging.types import Orientation
from app.tools.api import ImageSnapshot
from app.tools.chest.boxes import Corners

MIRRORED = 0.5
"""The network's share from which a film is said to look mirrored."""
MIRRORED_NOTE = (
    "the film looks mirrored, or the heart lies on the right (dextrocardia): left and right rest "
    "on how the image hangs. Compare its side marker"
)
_SQUARE = 0.02  # relative difference of a pixel's sides that a model need not be told about
_ODDEST = 4.0  # beyond this an aspect is rather a mistake in the file


def grey(display: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """[rows, columns] of a displayed image; colour by its luma (ITU-R BT.601)."""
    if display.ndim == 2:
        return display
    red, green, blue = (display[..., i].astype(np.float32) for i in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    return np.clip(np.rint(luma), 0, 255).astype(np.uint8)


def model_pixels(snapshot: ImageSnapshot) -> NDArray[np.uint8]:
    """What a model is shown: the file's own window, not the one dragged on screen.

    Otherwise the same question about the same image would have another answer after each drag. A
    picture made in this run is taken as it is.
    """
    if snapshot.derived or snapshot.frame.is_color:
        return grey(snapshot.display)
    window = windows.default_window(snapshot.frame)
    if window == snapshot.window:
        return snapshot.display  # rendered with that very window; once more takes 8 ms
    return grey(pipeline.render(snapshot.frame, window))


@dataclass(frozen=True, slots=True)
class Hanging:
    """How an image must be turned so that it hangs the usual way, as the models learned it.

    The patient's right is on the viewer's left and the head is up. The same turn undoes itself.
    """

    mirror: bool = False
    upside_down: bool = False
    warnings: tuple[str, ...] = ()

    @classmethod
    def of(cls, orientation: Orientation) -> Hanging:
        """From the direction letters: x should grow to the patient's left, y to the feet."""
        row, column = orientation.row[:1], orientation.column[:1]
        if row in ("H", "F") or column in ("L", "R"):
            return cls(warnings=("the image lies on its side: the model expects it upright",))
        notes: list[str] = []
        if row == "R":
            notes.append("the image is stored mirrored; it was turned for the model")
        if column == "H":
            notes.append("the image is stored upside down; it was turned for the model")
        return cls(row == "R", column == "H", tuple(notes))

    def turned(self, image: NDArray[Any]) -> NDArray[Any]:
        """The image turned; applied again, it is as before."""
        if self.mirror:
            image = image[:, ::-1]
        if self.upside_down:
            image = image[::-1]
        return np.ascontiguousarray(image)


def squared(pixels: NDArray[np.uint8], aspect: float) -> NDArray[np.uint8]:
    """Resampled to square pixels, grey or coloured; `aspect`: a pixel's height by its width."""
    if abs(aspect - 1.0) <= _SQUARE or not 1 / _ODDEST <= aspect <= _ODDEST:
        return pixels
    rows, columns = pixels.shape[:2]
    # Stretched, never shrunk: fine signs stay.
    size = (columns, round(rows * aspect)) if aspect > 1 else (round(columns / aspect), rows)
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR))


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
