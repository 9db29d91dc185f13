"""Prepares images for chest models (upright, with square pixels) and converts results back."""

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

MIRRORED_SHARE = 0.5
"""The network's share above which a film is said to look mirrored."""
MIRRORED_NOTE = (
    "the film looks mirrored, or the heart lies on the right (dextrocardia): left and right are "
    "those of the image as displayed. Check its side marker"
)
NEGATIVE_NOTE = "the picture looks like a negative of a frontal chest radiograph: air is bright"
_SQUARE = 0.02  # relative difference of a pixel's sides below which it counts as square
_LARGEST_ASPECT = 4.0  # a larger aspect is more likely an error in the file


def grey(display: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Convert a displayed image to grey levels, uint8 [rows, columns].

    Colours [rows, columns, 3] become their luma (ITU-R BT.601).
    """
    if display.ndim == 2:
        return display
    red, green, blue = (display[..., i].astype(np.float32) for i in range(3))
    luma = 0.299 * red + 0.587 * green + 0.114 * blue
    return np.clip(np.rint(luma), 0, 255).astype(np.uint8)


def model_pixels(snapshot: ImageSnapshot) -> NDArray[np.uint8]:
    """Return the uint8 pixels that models receive: the image shown in the window set in its file.

    The window set in the viewer is ignored, so that changing it does not change any results. A
    picture made in this run is returned unchanged.
    """
    if snapshot.derived or snapshot.frame.is_color:
        return grey(snapshot.display)
    window = windows.default_window(snapshot.frame)
    if window == snapshot.window:
        return snapshot.display  # already rendered with this window; a second time takes 8 ms
    return grey(pipeline.render(snapshot.frame, window))


@dataclass(frozen=True, slots=True)
class Hanging:
    """The flips that turn an image upright: the patient's right on the viewer's left, head up.

    The models were trained on upright images. Applying the flips twice restores the image. An image
    that lies on its side is not flipped; a warning says so.
    """

    mirror: bool = False
    upside_down: bool = False
    warnings: tuple[str, ...] = ()
    on_its_side: bool = False

    @classmethod
    def of(cls, orientation: Orientation) -> Hanging:
        """Return the flips that turn an image of this orientation upright."""
        row, column = orientation.row[:1], orientation.column[:1]
        if row in ("H", "F") or column in ("L", "R"):
            said = "the image lies on its side: the model expects it upright"
            return cls(warnings=(said,), on_its_side=True)
        notes: list[str] = []
        if row == "R":
            notes.append("the image is stored mirrored; it was turned for the model")
        if column == "H":
            notes.append("the image is stored upside down; it was turned for the model")
        return cls(row == "R", column == "H", tuple(notes))

    def turned(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return an image [rows, columns, ...] with the flips applied.

        Calling this again on the result restores the image.
        """
        if self.mirror:
            image = image[:, ::-1]
        if self.upside_down:
            image = image[::-1]
        return np.ascontiguousarray(image)


def square_pixels(pixels: NDArray[np.uint8], aspect: float) -> NDArray[np.uint8]:
    """Resample an image, grey or colour, so that its pixels are square.

    Args:
        pixels: uint8 [rows, columns] or [rows, columns, 3].
        aspect: Height of a pixel divided by its width.
    """
    if abs(aspect - 1.0) <= _SQUARE or not 1 / _LARGEST_ASPECT <= aspect <= _LARGEST_ASPECT:
        return pixels
    rows, columns = pixels.shape[:2]
    # Only stretch: shrinking would lose fine signs.
    size = (columns, round(rows * aspect)) if aspect > 1 else (round(columns / aspect), rows)
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BILINEAR))


@dataclass(frozen=True, slots=True)
class ModelInput:
    """An image as models receive it: in the window set in its file, upright, with square pixels.

    Attributes:
        pixels: uint8 [rows, columns] or [rows, columns, 3], bright = dense.
        hanging: The flips applied.
        rows: Rows of the original image.
        columns: Columns of the original image.
    """

    pixels: NDArray[np.uint8]
    hanging: Hanging
    rows: int
    columns: int

    @classmethod
    def of(cls, snapshot: ImageSnapshot, pixels: NDArray[np.uint8] | None = None) -> ModelInput:
        """Prepare an image for a model that was trained on PNG and JPEG files of radiographs.

        `pixels` are used in place of the image's and have its size; None to use `model_pixels`.
        """
        pixels = model_pixels(snapshot) if pixels is None else pixels
        hanging = Hanging.of(snapshot.frame.orientation)
        shown = hanging.turned(square_pixels(pixels, snapshot.frame.spacing.aspect))
        return cls(shown, hanging, *pixels.shape[:2])

    @property
    def blank(self) -> bool:
        """True if all pixels have the same value."""
        return int(self.pixels.min()) == int(self.pixels.max())

    def original(self, corners: Corners) -> Corners:
        """Convert (x0, y0, x1, y1) from pixel edges of `pixels` to those of the original image."""
        x0, y0, x1, y1 = corners
        down = self.rows / self.pixels.shape[0]
        across = self.columns / self.pixels.shape[1]
        x0, y0, x1, y1 = x0 * across, y0 * down, x1 * across, y1 * down
        if self.hanging.mirror:
            x0, x1 = self.columns - x1, self.columns - x0
        if self.hanging.upside_down:
            y0, y1 = self.rows - y1, self.rows - y0
        return x0, y0, x1, y1
