"""Render a frame: modality, VOI, presentation LUT, palette and shutter (PS3.3 C.11).

Pure numpy on `Frame`; no file is read. The window is applied to full-precision values, and only
the result is reduced to 8 bits. The stages are in `greys`, windows in `windows`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels import windows
from app.imaging.pixels.greys import (
    grey_levels,
    has_value,
    is_coloured,
    look_up_table,
    modality_values,
    palette_colours,
    stored_table,
    to_bytes,
)
from app.imaging.types import Frame, OverlayPlane, RealWorldMap, Shutter, Window

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

OVERLAY_COLOR = (255, 255, 0)
_STRIP = 64


def render(frame: Frame, window: Window | None = None, invert: bool = False) -> Bytes:
    """Render a frame at the image's own matrix size, without overlays.

    Args:
        frame: The image.
        window: VOI window in modality units; None for the image's default. Ignored for colour.
        invert: Whether to exchange black and white, in addition to any inversion by the file. A
            shutter keeps its grey.

    Returns:
        uint8 [rows, columns], or [rows, columns, 3] RGB for colour. 255 is white.

    Raises:
        ValueError: The window is invalid (its width is not above 0, or not finite).
    """
    if frame.is_color:
        pixels = _colour(frame)
        if invert:
            pixels = 255 - pixels
    else:
        pixels = _grey(frame, chosen_window(frame, window), invert)
        if frame.supplemental and frame.palette is not None:
            pixels = _add_palette_colours(frame, pixels)
    return _cover_shutter(frame, pixels) if frame.shutter is not None else pixels


def render_part(
    frame: Frame, rows: range, columns: range, window: Window | None = None, invert: bool = False
) -> Bytes:
    """Return the pixels in `rows` and `columns` as `render` gives them, without the others."""
    if window is None:
        window = windows.default_window(frame)
    across = slice(columns.start, columns.stop)
    stored = frame.stored[rows.start : rows.stop, across]
    pixels = render(replace(frame, stored=stored, shutter=None), window, invert)
    if frame.shutter is None:
        return pixels
    hidden = hidden_pixels(frame.shutter, rows, frame.columns, frame.spacing.aspect)[:, across]
    pixels = pixels.copy()  # for 8-bit colour it is a view of the frame's own
    pixels[hidden] = _cover(frame.shutter, pixels)
    return pixels


def chosen_window(frame: Frame, window: Window | None) -> Window | None:
    """Return the window that `render` would apply; None if it applies the file's VOI LUT.

    Raises:
        ValueError: The window is invalid.
    """
    chosen = window if window is not None else windows.default_window(frame)
    if chosen is None:
        return None
    chosen = windows.valid_window(chosen)
    if chosen is None:
        raise ValueError("a window's width must be above 0, and its values finite")
    return chosen


def _grey(frame: Frame, window: Window | None, invert: bool) -> Bytes:
    stored = frame.stored
    if stored.dtype.kind in "iu" and stored.dtype.itemsize <= 2:
        return look_up_table(stored_table(frame, window, invert), stored)
    pixels = np.empty(stored.shape, np.uint8)
    for row in range(0, frame.rows, _STRIP):
        # In strips: float64 takes eight times the memory of the result.
        strip = stored[row : row + _STRIP].astype(np.float64)
        pixels[row : row + _STRIP] = to_bytes(grey_levels(frame, strip, window), invert)
    return pixels


def _add_palette_colours(frame: Frame, greys: Bytes) -> Bytes:
    """Return greys as RGB, with the values coloured by the Supplemental Palette (C.7.6.19)."""
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


def _cover_shutter(frame: Frame, pixels: Bytes) -> Bytes:
    """Return the picture with the hidden pixels in the shutter's own grey or colour."""
    shutter = frame.shutter
    assert shutter is not None
    cover = _cover(shutter, pixels)
    # For 8-bit colour the picture is a view of the frame's own pixels.
    pixels = pixels.copy()
    for row in range(0, frame.rows, _STRIP):
        rows = range(row, min(row + _STRIP, frame.rows))
        hidden = hidden_pixels(shutter, rows, frame.columns, frame.spacing.aspect)
        pixels[row : row + _STRIP][hidden] = cover
    return pixels


def draw_overlays(
    pixels: Bytes, frame: Frame, color: tuple[int, int, int] = OVERLAY_COLOR
) -> Bytes:
    """Return a new [rows, columns, 3] RGB picture: `pixels` with the file's overlays on them."""
    drawn = pixels.copy() if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)
    for plane in frame.overlays:
        draw_overlay(drawn, plane, color)
    return drawn


def draw_overlay(drawn: NDArray[Any], plane: OverlayPlane, value: Any) -> None:
    """Set the pixels of `drawn` [rows, columns(, 3)] that an overlay's bitmap covers to `value`."""
    top, left = max(plane.row, 0), max(plane.column, 0)
    place = drawn[top:, left:]
    bits = plane.pixels[top - plane.row :, left - plane.column :]
    bits = bits[: place.shape[0], : place.shape[1]]
    place[: bits.shape[0], : bits.shape[1]][bits] = value


def _cover(shutter: Shutter, pixels: Bytes) -> Any:
    """Return the grey or colour that a shutter shows in place of the pixels it hides."""
    level = int(np.floor(shutter.level * 255.0 + 0.5))
    if pixels.ndim == 3:
        return shutter.color if shutter.color is not None else (level, level, level)
    return level


@dataclass(frozen=True, slots=True)
class Grey:
    """The value of one pixel: as stored, in units, and as text.

    Attributes:
        stored: Stored value; three values for RGB.
        value: Value in modality units; None for colour.
        units: Units of `value`, e.g. "HU"; "" if unknown.
        text: Text for display, e.g. "-873 HU", or "812 (1.2 mm2/s ADC)" with a real-world value.
        real: Real-world value that the stored value maps to, or None if no map covers it.
        real_units: UCUM units of `real`.
    """

    stored: tuple[float, ...]
    value: float | None
    units: str
    text: str
    real: float | None = None
    real_units: str = ""


def grey_at(frame: Frame, x: float, y: float) -> Grey | None:
    """Return the value of the pixel that covers column x, row y, or None outside the image.

    Pixel centres are integers.
    """
    # round() would round halves to even, and so to the wrong pixel.
    column, row = math.floor(x + 0.5), math.floor(y + 0.5)
    if not (0 <= column < frame.columns and 0 <= row < frame.rows):
        return None
    pixel = np.atleast_1d(frame.stored[row, column])
    stored = tuple(float(part) for part in pixel)
    hidden = ", behind the shutter" if _is_hidden(frame, column, row) else ""
    coloured = frame.is_color or (frame.supplemental and bool(is_coloured(frame, pixel)[0]))
    real = None if frame.is_color else real_value(frame.real_world, stored[0])
    if coloured:
        colour = palette_colours(frame, pixel)[0] if frame.palette is not None else pixel
        text = " ".join(str(part) for part in colour)
        if real is None:
            return Grey(stored, None, "", text + hidden)
        shown = _with_units(real[0], real[1].units, real[1].label)
        return Grey(stored, None, "", shown + hidden, real[0], real[1].units)
    value = float(modality_values(frame, pixel)[0])
    units = frame.rescale.units
    if frame.padding is not None and frame.padding[0] <= stored[0] <= frame.padding[1]:
        hidden += ", padding"
    if real is None:
        return Grey(stored, value, units, _with_units(value, units) + hidden)
    found, mapping = real
    # A real-world value that equals the modality value is not shown twice.
    same = math.isclose(found, value, rel_tol=1e-9, abs_tol=1e-12)
    if not same or (units and mapping.units not in ("", units)):
        meant = _with_units(found, mapping.units, mapping.label)
        text = f"{_with_units(value, units)} ({meant})"
    else:
        text = _with_units(value, mapping.units or units)
    return Grey(stored, value, units, text + hidden, found, mapping.units)


def values_in(
    frame: Frame,
    rows: range,
    columns: range,
    mask: NDArray[np.bool_] | None = None,
    step: int = 1,
) -> NDArray[np.float64]:
    """Return modality values, e.g. HU, in `rows` and `columns` of a grey image, as a flat array.

    Left out are padding, coloured pixels, pixels hidden by a shutter, and pixels where `mask` (True
    inside, as large as the frame) is False. With a `step` above 1, only every `step`-th row and
    column is read.
    """
    across, down = slice(columns.start, columns.stop, step), slice(rows.start, rows.stop, step)
    inside = None if mask is None else mask[down, across]
    return modality_values(frame, stored_in(frame, rows, columns, inside, step))


def stored_in(
    frame: Frame,
    rows: range,
    columns: range,
    inside: NDArray[np.bool_] | None = None,
    step: int = 1,
) -> Array:
    """Return the stored values that `values_in` reads, as a flat array in the image's order.

    `inside` has one element for each row and column that is read, True for those to keep.
    """
    keep = have_values(frame, rows, columns, step)
    if inside is not None:
        keep &= inside
    across, down = slice(columns.start, columns.stop, step), slice(rows.start, rows.stop, step)
    return frame.stored[down, across][keep]


def have_values(frame: Frame, rows: range, columns: range, step: int = 1) -> NDArray[np.bool_]:
    """Return which pixels have a value: no padding, colour, nor what a shutter hides."""
    across, down = slice(columns.start, columns.stop, step), slice(rows.start, rows.stop, step)
    keep = has_value(frame, frame.stored[down, across])
    if frame.shutter is not None:
        aspect = frame.spacing.aspect
        keep &= ~hidden_pixels(frame.shutter, rows, frame.columns, aspect)[::step, across]
    return keep


def real_values(
    maps: tuple[RealWorldMap, ...], stored: Array
) -> tuple[NDArray[np.float64], RealWorldMap] | None:
    """Return the real-world values of stored values by the first map that covers all of them."""
    if not stored.size:
        return None
    low, high = float(stored.min()), float(stored.max())
    for found in maps:
        if not found.first <= low <= high <= found.last:
            continue
        if found.lut is not None:
            return found.lut[(stored - found.first).astype(np.int64)], found
        return stored.astype(np.float64) * found.slope + found.intercept, found
    return None


def _with_units(value: float, units: str, label: str = "") -> str:
    number = f"{value:.0f}" if value.is_integer() else f"{value:.4g}"
    return " ".join(part for part in (number, shown_units(units), label) if part)


def shown_units(ucum: str) -> str:
    """Return a UCUM code for display: "SUVbw" for "{SUVbw}g/ml"."""
    head, brace, _ = ucum.removeprefix("{").partition("}")
    return head if brace and ucum.startswith("{SUV") else ucum


def _is_hidden(frame: Frame, column: int, row: int) -> bool:
    if frame.shutter is None:
        return False
    mask = hidden_pixels(frame.shutter, range(row, row + 1), frame.columns, frame.spacing.aspect)
    return bool(mask[0, column])


def real_value(maps: tuple[RealWorldMap, ...], stored: float) -> tuple[float, RealWorldMap] | None:
    """Return the real-world value of `stored` and the first map that covers it; None if none."""
    for found in maps:
        if not found.first <= stored <= found.last:
            continue
        if found.lut is not None:
            return float(found.lut[int(stored - found.first)]), found
        return stored * found.slope + found.intercept, found
    return None


Mask = NDArray[np.bool_]

_ROUNDING = 1e-6


def hidden_pixels(shutter: Shutter, rows: range, columns: int, aspect: float = 1.0) -> Mask:
    """Return a mask [len(rows), columns] of the pixels that the shutter hides in the given rows.

    A pixel is visible if its centre lies within every shape, edges included (PS3.3 C.7.6.11).

    Args:
        shutter: The shutter.
        rows: Consecutive row numbers in the image, from 0.
        columns: Number of columns in the image.
        aspect: Height of a pixel divided by its width, so that a circle is round on the screen. The
            circle's radius is in pixels along a row.
    """
    hidden = np.zeros((len(rows), columns), np.bool_)
    x = np.arange(columns)
    y = np.asarray(rows)[:, None]
    if shutter.rectangle is not None:
        left, right, top, bottom = shutter.rectangle
        hidden |= (x < left) | (x > right) | (y < top) | (y > bottom)
    if shutter.circle is not None:
        cx, cy, radius = shutter.circle
        # Rows are scaled to the width of a pixel, or a circle would become an ellipse.
        hidden |= (x - cx) ** 2 + ((y - cy) * aspect) ** 2 > radius**2
    if shutter.polygon:
        hidden |= ~_inside_polygon(shutter.polygon, rows, columns)
    if shutter.bitmap is not None:
        part = shutter.bitmap[rows.start : rows.stop, :columns]
        hidden[: part.shape[0], : part.shape[1]] |= part
    return hidden


def _inside_polygon(corners: Sequence[tuple[float, float]], rows: range, columns: int) -> Mask:
    """Fill a polygon row by row by the even-odd rule; corners and edges count as inside."""
    inside = np.zeros((len(rows), columns), np.bool_)
    edges = list(zip(corners, [*corners[1:], corners[0]], strict=True))
    for number, y in enumerate(rows):
        crossings = sorted(
            x0 + (y - y0) * (x1 - x0) / (y1 - y0)
            for (x0, y0), (x1, y1) in edges
            if (y0 <= y) != (y1 <= y)
        )
        spans = list(zip(crossings[::2], crossings[1::2], strict=False))
        for (x0, y0), (x1, y1) in edges:
            if y0 == y == y1:
                spans.append((min(x0, x1), max(x0, x1)))
            # Even-odd filling alone leaves out corners that only touch the row.
            elif y in (y0, y1):
                corner = x0 if y == y0 else x1
                spans.append((corner, corner))
        for start, end in spans:
            first = max(int(np.ceil(start - _ROUNDING)), 0)
            after = min(int(np.floor(end + _ROUNDING)) + 1, columns)
            inside[number, first : max(after, first)] = True
    return inside
