"""Several channels in one picture: each in its own window and colour, added up.

A channel's grey g from 0 to 255 becomes its colour times g / 255, and the channels' colours are
added, up to 255, as light adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.axes import Axes, Rgb
from app.imaging.pixels import pipeline, windows
from app.imaging.pixels.greys import look_up_table
from app.imaging.pixels.stored_levels import Screen, ScreenGrid, StoredLevels, can_average
from app.imaging.types import Frame, Window

Sums = NDArray[np.uint64]
"""Red, green and blue of pixels in 16 bits each, so that the sums of 256 channels have room."""

_STRIP = 2**18  # pixels added at a time: as many as fit a processor's cache
_RED, _GREEN = 32, 16  # bits below red and green


@dataclass(frozen=True, slots=True, eq=False)
class Tint:
    """A channel of a composite: its frame, its window (None: the frame's own) and its colour."""

    frame: Frame
    window: Window | None
    color: Rgb


def can_compose(frames: Sequence[Frame]) -> bool:
    """Return whether frames can be shown together: greys of one size, without shutters."""
    return bool(frames) and all(
        not one.is_color
        and one.palette is None
        and one.shutter is None
        and one.stored.shape == frames[0].stored.shape
        for one in frames
    )


def without_channel(frame: Frame, axes: Axes | None) -> Frame:
    """Return a frame whose note does not say which channel it is."""
    if axes is None or not 0 <= frame.ref.frame < axes.frames:
        return frame
    whole, rest = axes.text(frame.ref.frame), axes.text(frame.ref.frame, channel=False)
    if whole == rest or not frame.note.startswith(whole):
        return frame
    return replace(frame, note=(rest + frame.note[len(whole) :]).removeprefix(". "))


def render(tints: Sequence[Tint], invert: bool = False) -> NDArray[np.uint8]:
    """Return channels in one picture at the image's own size: uint8 [rows, columns, 3] RGB.

    There is at least one. `invert` exchanges light and dark in the sum.
    """
    words = _words(tints, invert)
    return np.stack([(words >> shift & 0xFF).astype(np.uint8) for shift in (16, 8, 0)], axis=-1)


def render_part(
    tints: Sequence[Tint], rows: range, columns: range, invert: bool = False
) -> NDArray[np.uint8]:
    """Return the pixels in `rows` and `columns` as `render` gives them, without the others."""
    part = slice(rows.start, rows.stop), slice(columns.start, columns.stop)
    return render(
        [
            replace(
                one,
                frame=replace(one.frame, stored=one.frame.stored[part]),
                window=one.window or windows.default_window(one.frame),
            )
            for one in tints
        ],
        invert,
    )


def _words(tints: Sequence[Tint], invert: bool) -> Screen:
    rows, columns = tints[0].frame.stored.shape
    greys = [pipeline.render(one.frame, one.window) for one in tints]
    tables = [_colours(one.color) for one in tints]
    return _added(
        (rows, columns),
        lambda part: (
            look_up_table(table, grey[part]) for grey, table in zip(greys, tables, strict=True)
        ),
        invert,
    )


def _colours(color: Rgb) -> Sums:
    """Return what the greys 0 to 255 add to a pixel in a colour."""
    greys = np.arange(256, dtype=np.uint64)
    red, green, blue = ((greys * part + 127) // 255 for part in np.array(color, np.uint64))
    return red << np.uint64(_RED) | green << np.uint64(_GREEN) | blue


def _added(shape: tuple[int, int], parts: Callable[[slice], Any], invert: bool) -> Screen:
    """Return the sums of the channels as 0xFFRRGGBB; `parts` gives those of a slice of rows."""
    rows, columns = shape
    result = np.empty((rows, columns), np.uint32)
    height = max(_STRIP // max(columns, 1), 1)
    for row in range(0, rows, height):
        part = slice(row, min(row + height, rows))
        total: Sums | None = None
        for one in parts(part):
            if total is None:
                total = one
            else:
                total += one
        assert total is not None
        result[part] = packed(total, invert)
    return result


def packed(total: Sums, invert: bool) -> Screen:
    """Return sums as pixels 0xFFRRGGBB; what exceeds 255 is 255."""
    light = np.minimum(np.ascontiguousarray(total).view(np.uint16), 255).astype(np.uint8)
    # Four numbers of 16 bits in little-endian order: blue, green, red and nothing.
    words = light.view("<u4").reshape(total.shape).astype(np.uint32, copy=False)
    if invert:
        words ^= 0x00FFFFFF
    return words | np.uint32(0xFF000000)


Tables = tuple[Sums, ...]


class CompositeLevels:
    """The smaller copies of several channels, drawn as one picture; see `StoredLevels`.

    `can_average` must hold for every channel.

    Args:
        tints: The channels that are shown.
        known: Earlier copies, of which those of the same pixels are used again.
        sparing: As for `StoredLevels`.
    """

    def __init__(
        self,
        tints: Sequence[Tint],
        known: Sequence[StoredLevels] = (),
        *,
        sparing: bool = False,
    ) -> None:
        self.tints = tuple(tints)
        found = {id(one.frame.stored): one for one in known}
        self.parts: list[StoredLevels] = []
        for tint in tints:
            part = found.get(id(tint.frame.stored))
            if part is None or not _alike(part.frame, tint.frame):
                part = StoredLevels(tint.frame, sparing=sparing)
            self.parts.append(part)
        self.shapes = self.parts[0].shapes

    def tables(self, level: int, invert: bool) -> tuple[Tables, bool]:
        """Return the tables with which a level is rendered, and whether the sum is inverted."""
        found: list[Sums] = []
        for tint, part in zip(self.tints, self.parts, strict=True):
            window = pipeline.chosen_window(tint.frame, tint.window)
            assert window is not None  # `can_average` says so
            found.append(_colours(tint.color)[part.greys(level, window)])
        return tuple(found), invert

    def render_part(
        self, level: int, rows: slice, columns: slice, table: tuple[Tables, bool]
    ) -> Screen:
        """Return `rows` and `columns` of a level as 0xFFRRGGBB by tables from `tables`."""
        return _looked_up([part.level(level)[rows, columns] for part in self.parts], table)

    def render_grid(self, level: int, grid: ScreenGrid, table: tuple[Tables, bool]) -> Screen:
        """Return the pixels of a screen as 0xFFRRGGBB by tables from `tables(1)`."""
        return _looked_up([part.on_grid(level, grid) for part in self.parts], table)


def _looked_up(values: Sequence[NDArray[Any]], table: tuple[Tables, bool]) -> Screen:
    tables, invert = table
    return _added(
        values[0].shape,
        lambda strip: (
            look_up_table(one, stored[strip]) for one, stored in zip(tables, values, strict=True)
        ),
        invert,
    )


def _alike(one: Frame, other: Frame) -> bool:
    """Return whether two frames of the same pixels turn values into greys in the same way."""
    return (one.rescale, one.photometric, one.inverse, one.padding) == (
        other.rescale,
        other.photometric,
        other.inverse,
        other.padding,
    )


def can_average_all(tints: Sequence[Tint]) -> bool:
    """Return whether `CompositeLevels` can draw channels, whose windows are given."""
    return all(
        can_average(one.frame, pipeline.chosen_window(one.frame, one.window)) for one in tints
    )
