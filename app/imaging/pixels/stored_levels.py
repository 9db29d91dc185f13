"""Smaller copies of a grey frame in stored values, so that a window is applied to few pixels.

A large image is shown smaller than it is, through copies that average 2 x 2 pixels. The *stored*
values are averaged once per frame and then windowed; VTK and Cornerstone use this order too. Where
the window is linear, averaging the greys instead would give the same. Where the window clips, the
copies show the mean of the stored values; averaged greys would show the mean of the clipped ones.
Pixels at full size are the same either way.

Not every frame allows it (`can_average`): colours and palettes have no order to average in; a
Modality LUT may map neighbouring values to any output; NaN would spread; wide integers and floats
would need too large a table. Those frames are windowed at full size, and the greys averaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.pixels.greys import grey_table, look_up_table, stored_table
from app.imaging.pixels.pipeline import hidden_pixels
from app.imaging.types import Frame, Window

Array = NDArray[Any]
Bytes = NDArray[np.uint8]
Screen = NDArray[np.uint32]
"""8-bit greys as on the screen, three times in a word of 32 bits. Looking up words takes no longer
than bytes, and drawing takes half the time, since nothing is converted."""

SMALLEST = 256
"""Longer side in pixels of which no smaller copy is made."""

_TOP = 2**16 - 1
_FINE = 2**14 - 1
"""Least number of codes for a small range of values: a narrow window over few values must not show
steps. More would make the table slower that each window change needs."""

_STRIP = 2**18
"""Pixels averaged at a time: as many as fit a processor's cache."""

_FOUR = 4  # pixels averaged into one


def can_average(frame: Frame, window: Window | None) -> bool:
    """Return whether smaller copies of the frame may be averages of its stored values.

    False without a window, with a window that uses a VOI LUT (whose curve may have any shape), and
    for colour, Modality LUTs and more than 16 bits. Greys are then averaged instead.
    """
    grey = not frame.is_color and frame.palette is None and frame.modality_lut is None
    narrow = frame.stored.dtype.kind in "iu" and frame.stored.dtype.itemsize <= 2
    by_lut = window is None or 0 <= window.lut < len(frame.voi.luts)
    return grey and narrow and not by_lut and frame.stored.size > 0


@dataclass(frozen=True, slots=True)
class ScreenGrid:
    """The pixels of a screen that show a part of an image, mirrored or turned by 90 degrees or not.

    The centre of the screen's pixel (i, j), i to the right and j down from the first one, is at
    image (x + i * dx, y + j * dy), or (x + j * dx, y + i * dy) if `turned`; image pixel centres are
    at integers.

    Attributes:
        columns: Screen pixels across; `rows`: down.
    """

    x: float
    y: float
    dx: float
    dy: float
    columns: int
    rows: int
    turned: bool = False


class StoredLevels:
    """A frame for which `can_average` holds, and its smaller copies; level 0 is the frame itself.

    Each pixel of level n covers 2^n x 2^n pixels in the frame; an odd last row or column in a level
    is left out of the next. Copies hold uint16 codes: a stored value is the frame's lowest value
    plus `code / scale`. `scale` is a power of two, as large as 16 bits allow, to keep fractions.

    A copy is made when it is first drawn.

    Args:
        sparing: Whether to keep only the copies that were drawn, and not the larger ones that they
            were made from: these take a third of the frame's own memory.

    Attributes:
        shapes: (rows, columns) of every level.
    """

    def __init__(self, frame: Frame, *, sparing: bool = False) -> None:
        self.frame = frame
        self._sparing = sparing
        stored = frame.stored
        self._low, self._high = int(stored.min()), int(stored.max())
        spread = max(self._high - self._low, 1)
        room = max(_FINE, min(_TOP, _FOUR * spread))
        self.scale = 1 << ((room // spread).bit_length() - 1)
        self.shapes = level_shapes(frame.rows, frame.columns)
        self._levels: dict[int, Array] = {0: stored}
        self._masks: list[NDArray[np.bool_]] = []
        self._on_grid: tuple[int, ScreenGrid, NDArray[np.uint16]] | None = None

    def level(self, number: int) -> Array:
        """Return the values of a level."""
        if number not in self._levels:
            larger = max(level for level in self._levels if level < number)
            values = self._levels[larger]
            for level in range(larger + 1, number + 1):
                values = self._halve(values, first=level == 1)
                if level == number or not self._sparing:
                    self._levels[level] = values
        return self._levels[number]

    def render_part(self, level: int, rows: slice, columns: slice, table: Screen) -> Screen:
        """Return `rows` and `columns` of a level as 0xFFRRGGBB by a table from `table()`."""
        pixels = look_up_table(table, self.level(level)[rows, columns])
        shutter = self.frame.shutter
        if shutter is not None:
            cover = screen_words(np.array(shutter.level * 255.0 + 0.5, np.uint8))
            np.copyto(pixels, cover, where=self._hidden(level)[rows, columns])
        return pixels

    def render_grid(self, level: int, grid: ScreenGrid, table: Screen) -> Screen:
        """Return the pixels of a screen as 0xFFRRGGBB, by the table of the copies (`table(1)`).

        The level's values are interpolated linearly, which is done once for all windows, and then
        windowed, as VTK and Cornerstone do. At the image's edge the outermost values go on.
        """
        pixels = look_up_table(table, self.on_grid(level, grid))
        shutter = self.frame.shutter
        if shutter is not None:
            (x, _), (y, _) = self._places(level, grid)
            nearest = np.ix_(np.rint(y).astype(np.intp), np.rint(x).astype(np.intp))
            hidden = self._hidden(level)[nearest]
            cover = screen_words(np.array(shutter.level * 255.0 + 0.5, np.uint8))
            np.copyto(pixels, cover, where=hidden.T if grid.turned else hidden)
        return pixels

    def on_grid(self, level: int, grid: ScreenGrid) -> NDArray[np.uint16]:
        """Return a level's values at a grid, as codes of the copies; the last ones are kept."""
        known = self._on_grid
        if known is None or known[:2] != (level, grid):
            known = self._on_grid = level, grid, self._interpolated(level, grid)
        return known[2]

    def _places(
        self, level: int, grid: ScreenGrid
    ) -> tuple[tuple[NDArray[np.float64], int], tuple[NDArray[np.float64], int]]:
        """Return a grid's places along x and y in pixels of a level, each with its last pixel."""
        rows, columns = self.shapes[level]
        across, down = grid.columns, grid.rows
        if grid.turned:
            across, down = down, across
        size = 2**level
        x = (grid.x + grid.dx * np.arange(across) + 0.5) / size - 0.5
        y = (grid.y + grid.dy * np.arange(down) + 0.5) / size - 0.5
        return (np.clip(x, 0, columns - 1), columns - 1), (np.clip(y, 0, rows - 1), rows - 1)

    def _interpolated(self, level: int, grid: ScreenGrid) -> NDArray[np.uint16]:
        """Return a level's values at a grid, as codes [rows, columns] of the copies."""
        values = self.level(level)
        (x, last_x), (y, last_y) = self._places(level, grid)
        left, top = x.astype(np.intp), y.astype(np.intp)
        right, bottom = np.minimum(left + 1, last_x), np.minimum(top + 1, last_y)
        across, down = (x - left).astype(np.float32), (y - top).astype(np.float32)[:, None]
        first = int(left.min(initial=last_x))
        used = slice(first, int(right.max(initial=0)) + 1)
        left, right = left - first, right - first
        result = np.empty((y.size, x.size), np.uint16)
        height = max(_STRIP // max(x.size, used.stop - first, 1), 1)
        for row in range(0, y.size, height):
            part = slice(row, row + height)
            lines = values[top[part], used].astype(np.float32)
            lines += (values[bottom[part], used] - lines) * down[part]
            if not level:
                lines -= self._low
                lines *= self.scale
            mixed = lines[:, left]
            mixed += (lines[:, right] - mixed) * across
            mixed += 0.5  # rounds to nearest instead of down
            result[part] = mixed
        return np.ascontiguousarray(result.T) if grid.turned else result

    def table(
        self, level: int, window: Window, invert: bool, colours: Screen | None = None
    ) -> Screen:
        """Return the table from a level's values, as unsigned integers, to pixels 0xFFRRGGBB.

        `colours` are the pixels for the 256 greys; None for the greys themselves.
        All levels but level 0 share one table. Entries for values that do not occur are undefined.
        """
        greys = self.greys(level, window, invert)
        return screen_words(greys) if colours is None else colours[greys]

    def greys(self, level: int, window: Window, invert: bool = False) -> Bytes:
        """Return the greys of the entries of `table`."""
        if level:
            span = (self._high - self._low) * self.scale
            return grey_table(self.frame, window, invert, self._low, span + 1, 1 / self.scale)
        return stored_table(self.frame, window, invert, (self._low, self._high))

    def _halve(self, values: Array, *, first: bool) -> Array:
        rows, columns = values.shape[0] // 2, values.shape[1] // 2
        result = np.empty((rows, columns), np.uint16)
        height = max(_STRIP // max(columns, 1), 1)
        for row in range(0, rows, height):
            part = values[2 * row : 2 * min(row + height, rows), : 2 * columns]
            pairs = part[::2].astype(np.int32)
            pairs += part[1::2]
            total = pairs[:, ::2] + pairs[:, 1::2]
            # Stored values become codes from 0 with the fractions that 16 bits have room for.
            if first:
                total -= _FOUR * self._low
                total *= self.scale
            # Rounds to nearest instead of down.
            total += _FOUR // 2
            total >>= 2
            result[row : row + height] = total
        return result

    def _hidden(self, level: int) -> NDArray[np.bool_]:
        """Return which pixels of a level the shutter hides: at least half of them is hidden."""
        if not self._masks:
            frame = self.frame
            assert frame.shutter is not None
            whole = hidden_pixels(
                frame.shutter, range(frame.rows), frame.columns, frame.spacing.aspect
            )
            self._masks.append(whole)
        while len(self._masks) <= level:
            above = self._masks[-1]
            rows, columns = above.shape[0] // 2 * 2, above.shape[1] // 2 * 2
            count = above[:rows:2, :columns].astype(np.uint8)
            count += above[1:rows:2, :columns]
            self._masks.append(count[:, ::2] + count[:, 1::2] >= _FOUR // 2)
        return self._masks[level]


def screen_words(greys: Bytes) -> Screen:
    """Convert greys 0..255 to screen pixels 0xFFRRGGBB."""
    words = greys.astype(np.uint32)
    words *= 0x010101
    words |= 0xFF000000
    return words


def has_smaller_level(shape: tuple[int, ...]) -> bool:
    """Return whether a level with this shape is large enough to have a smaller copy."""
    return max(shape[:2]) >= 2 * SMALLEST and min(shape[:2]) >= 2


def level_shapes(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return (rows, columns) of a frame and of each of its smaller copies."""
    shapes = [(rows, columns)]
    while has_smaller_level(shapes[-1]):
        shapes.append((shapes[-1][0] // 2, shapes[-1][1] // 2))
    return shapes
