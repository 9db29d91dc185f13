"""The words that are burnt in beside a synthetic image.

They stand in strips added outside the picture, on the two sides that a centred square crop cuts
off: chest models that take one (the classifier) see the picture itself and no letter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

WORDS = "SYNTHETIC - NOT A PATIENT"
_SHARE = 0.06  # of the shorter side
_LEAST = 20
_GREY = 200


@dataclass(frozen=True, slots=True)
class Framed:
    """A picture with its strips.

    Attributes:
        pixels: uint8 [rows, columns].
        inside: (x0, y0, x1, y1), the outer edges of the picture itself in pixels of the whole
            (pixel centres are integers).
    """

    pixels: NDArray[np.uint8]
    inside: tuple[float, float, float, float]


def framed(picture: NDArray[np.uint8]) -> Framed:
    """Add a strip with the words on the left and the right; of a tall one above and below.

    Args:
        picture: uint8 [rows, columns]; it stays as it is, pixel by pixel.
    """
    rows, columns = picture.shape
    wide = max(_LEAST, round(_SHARE * min(rows, columns)))
    if rows > columns:
        strip = _strip(columns, wide)
        whole = np.concatenate([strip, picture, strip])
        return Framed(whole, (-0.5, wide - 0.5, columns - 0.5, wide + rows - 0.5))
    strip = _strip(rows, wide)
    whole = np.concatenate([np.rot90(strip), picture, np.rot90(strip, -1)], axis=1)
    return Framed(np.ascontiguousarray(whole), (wide - 0.5, -0.5, wide + columns - 0.5, rows - 0.5))


def _strip(length: int, wide: int) -> NDArray[np.uint8]:
    """The words in the middle of a black strip [wide, length], as large as they fit."""
    strip = Image.new("L", (length, wide), 0)
    pen = ImageDraw.Draw(strip)
    size = max(8, round(wide * 0.66))
    font = ImageFont.load_default(size)
    while size > 6 and pen.textlength(WORDS, font) > 0.96 * length:
        size -= 1
        font = ImageFont.load_default(size)
    pen.text((length / 2, wide / 2), WORDS, _GREY, font, "mm")
    return np.asarray(strip)
