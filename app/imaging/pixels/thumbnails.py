"""Thumbnails for the study list. Runs in a worker process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def shrink(pixels: NDArray[np.uint8], size: int, aspect: float = 1.0) -> NDArray[np.uint8]:
    """Shrink a picture so that its longer side is at most `size` pixels, correcting its aspect.

    `pixels` is [rows, columns(, 3)]; `aspect` is the height of a pixel divided by its width.
    """
    height, width = pixels.shape[0] * aspect, float(pixels.shape[1])
    scale = min(1.0, size / max(height, width))
    target = max(1, round(width * scale)), max(1, round(height * scale))
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    return np.array(picture.resize(target, Image.Resampling.BOX, reducing_gap=None))
