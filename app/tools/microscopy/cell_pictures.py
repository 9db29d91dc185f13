"""Reads cropped cells from the files of `single_cell_cropper` (model process only)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray
from skimage.transform import resize

Pixels = NDArray[Any]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

_LOW, _HIGH = 0.5, 99.8
"""Percentiles of the cells' grey values that become 0 and 1."""


@dataclass(frozen=True, slots=True)
class CellPictures:
    """The crops of an analysis.

    Attributes:
        pixels: For each cell, its crop as stored [rows, columns, channels].
        masks: For each cell, bool [rows, columns]: the cell without background and neighbours.
    """

    pixels: list[Pixels]
    masks: list[Bools]

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def channels(self) -> int:
        """Number of channels, the same for all cells."""
        return int(self.pixels[0].shape[2])


def read_cells(payload: Mapping[str, Any]) -> CellPictures:
    """Return the crops that a payload names.

    `payload` has, for each cell, "crop_files" and "mask_files" (paths; a mask's may be "", then the
    whole crop is the cell) and "indexes" (the pages in those files).

    Raises:
        ValueError: Cells have different numbers of channels, or a page is missing.
    """
    pages: dict[str, list[Pixels]] = {}

    def page(path: str, index: int) -> Pixels:
        if path not in pages:
            with tifffile.TiffFile(path) as tiff:
                pages[path] = [one.asarray() for one in tiff.pages]
        if not 0 <= index < len(pages[path]):
            raise ValueError(f"{Path(path).name} has no page {index}")
        return pages[path][index]

    pixels: list[Pixels] = []
    masks: list[Bools] = []
    for crop, mask, index in zip(
        payload["crop_files"], payload["mask_files"], payload["indexes"], strict=True
    ):
        shown = page(crop, index)
        pixels.append(shown[..., np.newaxis] if shown.ndim == 2 else shown)
        inside = page(mask, index) > 0 if mask else np.ones(shown.shape[:2], np.bool_)
        masks.append(inside if inside.any() else np.ones(shown.shape[:2], np.bool_))
    if len({one.shape[2] for one in pixels}) > 1:
        raise ValueError("the cells come from images with different numbers of channels")
    return CellPictures(pixels, masks)


def grey_limits(cells: CellPictures) -> list[tuple[float, float]]:
    """Return for each channel the grey values (low, high) that are shown as 0 and 1, for all cells.

    They are the same for all cells, so that a brighter cell stays brighter.
    """
    found: list[tuple[float, float]] = []
    for channel in range(cells.channels):
        inside = np.concatenate(
            [one[..., channel][mask] for one, mask in zip(cells.pixels, cells.masks, strict=True)]
        )
        low, high = (float(value) for value in np.percentile(inside, (_LOW, _HIGH)))
        found.append((low, high if high > low else low + 1.0))
    return found


def squares(cells: CellPictures, side: int) -> Floats:
    """Return all cells at one scale, centred in squares: float32 [cells, channels + 1, side, side].

    Values are 0..1 by `grey_limits`; outside the cell they are 0. The last channel is the mask. The
    scale is such that 95% of the cells fit; the few larger ones are cut at the edges.
    """
    limits = grey_limits(cells)
    boxes = [_box(mask) for mask in cells.masks]
    longest = [max(rows.stop - rows.start, cols.stop - cols.start) for rows, cols in boxes]
    scale = (side - 4) / max(float(np.percentile(longest, 95)), 1.0)
    made = np.zeros((len(cells), cells.channels + 1, side, side), np.float32)
    for number, (pixels, mask, box) in enumerate(
        zip(cells.pixels, cells.masks, boxes, strict=True)
    ):
        inside = mask[box]
        layers = [
            np.where(inside, (pixels[..., c][box].astype(np.float32) - low) / (high - low), 0)
            for c, (low, high) in enumerate(limits)
        ]
        small = _resized(np.stack([*layers, inside.astype(np.float32)], axis=-1), scale)
        made[number] = _centred(np.clip(small, 0, 1), side).transpose(2, 0, 1)
    return made


def _box(mask: Bools) -> tuple[slice, slice]:
    rows, columns = np.nonzero(mask.any(1))[0], np.nonzero(mask.any(0))[0]
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


def _resized(layers: Floats, scale: float) -> Floats:
    size = [max(1, round(extent * scale)) for extent in layers.shape[:2]]
    if tuple(size) == layers.shape[:2]:
        return layers
    return resize(layers, (*size, layers.shape[2]), order=1, anti_aliasing=scale < 1).astype(
        np.float32
    )


def _centred(layers: Floats, side: int) -> Floats:
    """Return layers [rows, columns, channels] centred in [side, side, channels], cut if larger."""
    made = np.zeros((side, side, layers.shape[2]), np.float32)
    to: list[slice] = []
    source: list[slice] = []
    for extent in layers.shape[:2]:
        kept = min(extent, side)
        to.append(slice((side - kept) // 2, (side - kept) // 2 + kept))
        source.append(slice((extent - kept) // 2, (extent - kept) // 2 + kept))
    made[to[0], to[1]] = layers[source[0], source[1]]
    return made
