"""The values of a frame as generated analyses get them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels.pipeline import have_values, modality_values
from app.imaging.types import Frame


def frame_values(frame: Frame) -> NDArray[Any]:
    """Return a frame's values [rows, columns], HU for a CT, as float32; NaN where it has none.

    A colour image's are its stored ones [rows, columns, 3].
    """
    if frame.is_color:
        return frame.stored
    values = modality_values(frame, frame.stored).astype(np.float32)
    values[~have_values(frame, range(frame.rows), range(frame.columns))] = np.nan
    return values
