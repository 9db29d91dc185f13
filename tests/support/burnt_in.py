"""Text burnt into pixels, and a function that reads it."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

_CELL = (6, 11)  # of Pillow's built-in bitmap font, columns x rows
_LINE = 60  # characters
_ASCII = [chr(code) for code in range(33, 127)]


@cache
def _glyphs() -> dict[bytes, str]:
    return {_drawn(sign).tobytes(): sign for sign in _ASCII}


def _drawn(text: str) -> NDArray[np.bool_]:
    width, height = _CELL
    picture = Image.new("1", (width * max(1, len(text)), height))
    drawing = ImageDraw.Draw(picture)
    font = ImageFont.load_default_imagefont()
    for at, sign in enumerate(text):
        drawing.text((at * width, 0), sign, fill=1, font=font)
    # Through numbers: Pillow's own booleans are bytes of 255.
    return np.asarray(picture, dtype=np.uint8) > 0


def burn(text: str) -> NDArray[np.uint8]:
    """Return the text drawn white on black: uint8 [rows, columns], 60 characters a line."""
    lines = [text[at : at + _LINE] for at in range(0, len(text), _LINE)]
    drawn = [_drawn(line.ljust(_LINE)) for line in lines]
    return np.concatenate(drawn).astype(np.uint8) * 255


def recognised(pixels: NDArray[np.uint8]) -> str:
    """Return the text in the pixels, recognised letter by letter."""
    width, height = _CELL
    glyphs, text = _glyphs(), ""
    for top in range(0, pixels.shape[0] - height + 1, height):
        for left in range(0, pixels.shape[1] - width + 1, width):
            cell = pixels[top : top + height, left : left + width] > 127
            text += glyphs.get(np.ascontiguousarray(cell).tobytes(), " ")
    return text.rstrip()
