"""From stored values to what is shown: modality, VOI, presentation, palette (PS3.3 C.11).

Pure numpy on `Frame`; nothing here reads a file. The window is applied to full-precision values,
and only the result is reduced to 8 bits. The stages are in `greys`, windows in `windows`, what lies
under the cursor in `readout`; their public names can be had from here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels.greys import (
    is_coloured,
    levels_of,
    palette_colours,
    stored_table,
    through_table,
    to_bytes,
)
from app.imaging.pixels.masks import hidden_pixels
from app.imaging.pixels.windows import (
    default_window,
    valid_window,
)
from app.imaging.types import Frame, OverlayPlane, Window

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

OVERLAY_COLOR = (255, 255, 0)
_STRIP = 64


def render(frame: Frame, window: Window | None = None, invert: bool = False) -> Bytes:
    """What the canvas shows, at the image's own matrix size; overlays are not drawn.

    Args:
        frame: The image.
        window: VOI window in modality units; None for the image's default. Ignored for colour.
        invert: Exchange black and white (on top of what the file asks for). A shutter stays.

    Returns:
        uint8 [rows, columns], or [rows, columns, 3] RGB for colour. 255 is white.

    Raises:
        ValueError: The window cannot be applied (its width is not above 0, or not finite).
    """
    if frame.is_color:
        pixels = _colour(frame)
        if invert:
            pixels = 255 - pixels
    else:
        pixels = _grey(frame, chosen_window(frame, window), invert)
        if frame.supplemental and frame.palette is not None:
            pixels = _supplemented(frame, pixels)
    return _shuttered(frame, pixels) if frame.shutter is not None else pixels


def chosen_window(frame: Frame, window: Window | None) -> Window | None:
    """The window that `render` applies when asked for `window`; None for a VOI LUT of the file.

    Raises:
        ValueError: It cannot be applied.
    """
    chosen = window if window is not None else default_window(frame)
    if chosen is None:
        return None
    chosen = valid_window(chosen)
    if chosen is None:
        raise ValueError("a window's width must be above 0, and its values finite")
    return chosen


def _grey(frame: Frame, window: Window | None, invert: bool) -> Bytes:
    stored = frame.stored
    if stored.dtype.kind in "iu" and stored.dtype.itemsize <= 2:
        return through_table(stored_table(frame, window, invert), stored)
    pixels = np.empty(stored.shape, np.uint8)
    for row in range(0, frame.rows, _STRIP):
        # In strips, since float64 needs eight times the memory of the result.
        strip = stored[row : row + _STRIP].astype(np.float64)
        pixels[row : row + _STRIP] = to_bytes(levels_of(frame, strip, window), invert)
    return pixels


def _supplemented(frame: Frame, greys: Bytes) -> Bytes:
    """Greys as RGB, with the values that the Supplemental Palette colours (C.7.6.19)."""
    colours = is_coloured(frame, frame.stored)
    pixels = np.repeat(greys[..., None], 3, axis=2)
    pixels[colours] = palette_colours(frame, frame.stored[colours])
    return pixels


def _colour(frame: Frame) -> Bytes:
    if frame.palette is not None:
        return palette_colours(frame, frame.stored)
    stored = frame.stored
    if stored.dtype == np.uint8 and frame.bits >= 8:
        return stored.view(np.uint8)
    full = 2.0**frame.bits - 1.0
    return np.floor(np.clip(stored.astype(np.float64) / full, 0.0, 1.0) * 255.0 + 0.5).astype(
        np.uint8
    )


def _shuttered(frame: Frame, pixels: Bytes) -> Bytes:
    """The picture with what the shutter hides in the shutter's own grey or colour."""
    shutter = frame.shutter
    assert shutter is not None
    level = int(np.floor(shutter.level * 255.0 + 0.5))
    cover: Any = level
    if pixels.ndim == 3:
        cover = shutter.color if shutter.color is not None else (level, level, level)
    pixels = pixels.copy()
    for row in range(0, frame.rows, _STRIP):
        rows = range(row, min(row + _STRIP, frame.rows))
        hidden = hidden_pixels(shutter, rows, frame.columns, frame.spacing.aspect)
        pixels[row : row + _STRIP][hidden] = cover
    return pixels


def draw_overlays(
    pixels: Bytes, frame: Frame, color: tuple[int, int, int] = OVERLAY_COLOR
) -> Bytes:
    """The picture with the file's own bitmaps drawn over it.

    Args:
        pixels: What `render` gave for the frame.
        frame: Its overlays are drawn; what of them lies outside the image is cut off.
        color: Of their dots.

    Returns:
        A new uint8 [rows, columns, 3].
    """
    drawn = pixels.copy() if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)
    for plane in frame.overlays:
        _draw(drawn, plane, color)
    return drawn


def _draw(drawn: Bytes, plane: OverlayPlane, color: tuple[int, int, int]) -> None:
    top, left = max(plane.row, 0), max(plane.column, 0)
    place = drawn[top:, left:]
    bits = plane.pixels[top - plane.row :, left - plane.column :]
    bits = bits[: place.shape[0], : place.shape[1]]
    place[: bits.shape[0], : bits.shape[1]][bits] = color
