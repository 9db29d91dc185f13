"""Parts of large images, such as slides, at any level of their pyramid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from app.imaging import guards
from app.imaging.files.identity import pixel_sha256
from app.imaging.types import Frame

Box = tuple[int, int, int, int]
"""(left, top, right, bottom) in pixels; right and bottom are the first pixels outside."""

MAX_REGION_PIXELS = 2**26
"""Most pixels of a region: 67 million, e.g. 8,192 x 8,192."""


@dataclass(frozen=True, slots=True)
class PixelRegion:
    """A part of an image.

    Attributes:
        frame: The part's pixels as a frame, with the spacing of its level. Its `ref` names the
            image, with the digest of the part: no findings can be bound to it.
        x: Column of the part's left edge, in pixels of its level, from 0.
        y: Row of its top edge.
        level: The level, 0 for the largest.
        levels: (columns, rows) of every level that the file has.
    """

    frame: Frame
    x: int
    y: int
    level: int
    levels: tuple[tuple[int, int], ...]


def clipped(path: Path, box: Box, level: int, levels: Sequence[tuple[int, int]]) -> Box:
    """Return the part of a box that lies in a level of the sizes (columns, rows) `levels`.

    Raises:
        FileProblem: There is no such level, nothing of the box lies in it, or it is too large.
    """
    if not 0 <= level < len(levels):
        count = "one level, 0" if len(levels) == 1 else f"levels 0 to {len(levels) - 1}"
        raise guards.problem(path, f"it has {count}, not {level}", "Name another level")
    columns, rows = levels[level]
    left, top, right, bottom = box
    left, top, right, bottom = max(left, 0), max(top, 0), min(right, columns), min(bottom, rows)
    if left >= right or top >= bottom:
        reason = f"the region lies outside level {level}, which has {columns:,} x {rows:,} pixels"
        raise guards.problem(path, reason, "Coordinates are in pixels of that level")
    if (right - left) * (bottom - top) > MAX_REGION_PIXELS:
        reason = f"a region of {right - left:,} x {bottom - top:,} pixels is too large"
        raise guards.problem(path, reason, "Ask for a smaller region, or a level with fewer pixels")
    return left, top, right, bottom


def cropped(frame: Frame, box: Box) -> Frame:
    """Return the part of a frame in a box, as the frame of a region."""
    left, top, right, bottom = box
    stored = np.ascontiguousarray(frame.stored[top:bottom, left:right])
    ref = replace(frame.ref, pixel_sha256=pixel_sha256(stored))
    # What has places of its own on the whole frame has none here.
    return replace(frame, stored=stored, ref=ref, overlays=(), shutter=None, regions=())
