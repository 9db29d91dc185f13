"""The axes of an image with several frames: channels, depths (z) and time points.

Frames are counted with channels varying fastest, then depth, then time; all numbers are from 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

Rgb = tuple[int, int, int]
"""Red, green and blue, 0..255."""

MOST_TOGETHER = 6
"""Channels that are shown together at first; of more, the user chooses."""

WHITE: Rgb = (255, 255, 255)
_BLUE, _GREEN, _RED, _MAGENTA = (0, 0, 255), (0, 255, 0), (255, 0, 0), (255, 0, 255)
_CYAN, _YELLOW = (0, 255, 255), (255, 255, 0)

COLORS: dict[str, Rgb] = {
    "grey": WHITE, "blue": _BLUE, "green": _GREEN, "red": _RED,
    "magenta": _MAGENTA, "cyan": _CYAN, "yellow": _YELLOW, "orange": (255, 128, 0),
}  # fmt: skip
"""The colours that a channel is given, or can be."""

_BY_NAME: tuple[tuple[re.Pattern[str], Rgb], ...] = tuple(
    (re.compile(words, re.IGNORECASE), color)
    for words, color in (
        (r"dapi|hoechst|draq|\bbfp|\b405\b|nuclei|nucleus|nuclear", _BLUE),
        (r"cy-?5|\b6[34]\d\b|af6[34]7|far.?red|draq5|irfp", _MAGENTA),
        (r"gfp|fitc|\b488\b|af488|oregon|yfp|venus|fluo-?[34]", _GREEN),
        (r"rfp|cherry|tomato|tritc|rhod|texas|cy-?3|\b5[4-9]\d\b|af5\d\d|\bpi\b", _RED),
        (r"cfp|cerulean|turquoise", _CYAN),
        (r"bright.?field|\bbf\b|phase|\bdic\b|trans|\btl\b|\bpmt\b", WHITE),
    )
)
_BY_WAVELENGTH = ((485.0, _BLUE), (550.0, _GREEN), (630.0, _RED), (math.inf, _MAGENTA))
"""(emission below nm, colour)."""
_IN_ORDER = (_GREEN, _RED, _MAGENTA, _CYAN, _YELLOW, _BLUE)


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of a microscope's image.

    Attributes:
        name: Its name in the file, e.g. "DAPI", or "".
        color: Its colour in the file, or None.
        emission_nm: Wavelength of the detected light in nm, or None.
        excitation_nm: Wavelength of the exciting light in nm, or None.
    """

    name: str = ""
    color: Rgb | None = None
    emission_nm: float | None = None
    excitation_nm: float | None = None


@dataclass(frozen=True, slots=True)
class Axes:
    """The axes along which the frames of an image are counted.

    Attributes:
        channels: At least one; their number times `depths` times `times` is the number of frames.
        z_step_mm: Distance between depths in mm, or None if unknown.
        time_step_ms: Time between time points in ms, or None if unknown.
    """

    channels: tuple[Channel, ...] = (Channel(),)
    depths: int = 1
    times: int = 1
    z_step_mm: float | None = None
    time_step_ms: float | None = None

    @property
    def frames(self) -> int:
        """The number of frames."""
        return len(self.channels) * self.depths * self.times

    def index(self, channel: int, z: int, time: int) -> int:
        """Return the index of a frame from its channel, depth and time point, all from 0."""
        return (time * self.depths + z) * len(self.channels) + channel

    def place(self, index: int) -> tuple[int, int, int]:
        """Return the (channel, z, time) of a frame, all from 0: the inverse of `index`."""
        rest, channel = divmod(index, len(self.channels))
        time, z = divmod(rest, self.depths)
        return channel, z, time

    def beside(self, index: int) -> tuple[int, ...]:
        """Return the frames of all channels at the depth and time of a frame, itself included."""
        first = index - index % len(self.channels)
        return tuple(range(first, first + len(self.channels)))

    @property
    def steps(self) -> int:
        """The number of steps that are scrolled through: depths, or times if there is one depth."""
        return self.depths if self.depths > 1 else self.times

    def step_of(self, index: int) -> int:
        """Return the step at which a frame is."""
        _, z, time = self.place(index)
        return z if self.depths > 1 else time

    def at_step(self, index: int, step: int) -> int:
        """Return the frame at a step with the channel, and else the time, of another frame."""
        channel, z, time = self.place(index)
        return self.index(channel, step, time) if self.depths > 1 else self.index(channel, z, step)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each channel, all of them different: those of the file, else "Channel 2"."""
        found: list[str] = []
        for number, channel in enumerate(self.channels, start=1):
            name = channel.name or f"Channel {number}"
            found.append(f"{name} ({number})" if name in found else name)
        return tuple(found)

    def text(self, index: int, *, channel: bool = True) -> str:
        """Return e.g. "channel 2 of 3 (DAPI), depth 4 of 10 at 1.5 µm"; "" for a single frame.

        Without `channel`, the channel is left out.
        """
        place = self.place(index)
        texts: list[str] = []
        if channel and len(self.channels) > 1:
            name = self.channels[place[0]].name
            text = f"channel {place[0] + 1} of {len(self.channels)}"
            texts.append(f"{text} ({name})" if name else text)
        if self.depths > 1:
            step = self.z_step_mm
            at = f" at {place[1] * step * 1e3:.4g} µm" if step is not None else ""
            texts.append(f"depth {place[1] + 1} of {self.depths}{at}")
        if self.times > 1:
            step = self.time_step_ms
            at = f" at {duration_text(place[2] * step)}" if step is not None else ""
            texts.append(f"time point {place[2] + 1} of {self.times}{at}")
        return ", ".join(texts)


def duration_text(ms: float) -> str:
    """Return a time in ms with the unit in which it is easily read."""
    for unit, size in (("h", 3_600_000.0), ("min", 60_000.0), ("s", 1000.0)):
        if ms >= 2 * size or (unit == "s" and ms >= size):
            return f"{ms / size:.4g} {unit}"
    return f"{ms:.4g} ms"


def channel_colors(channels: Sequence[Channel]) -> tuple[Rgb, ...]:
    """Return the colours in which channels are shown together.

    They are those of the file, else the usual ones for the name of the dye or its emission, else
    those of `_IN_ORDER` that no other channel has. A single channel without a colour is grey.
    """
    found = [channel.color or _usual_color(channel) for channel in channels]
    # Software writes white where nobody has chosen a colour.
    if len(channels) > 1 and all(color in (None, WHITE) for color in found):
        found = [None] * len(channels)
    if len(channels) == 1:
        return (found[0] or WHITE,)
    free = [color for color in _IN_ORDER if color not in found] or list(_IN_ORDER)
    places = iter(range(len(channels)))
    return tuple(color or free[next(places) % len(free)] for color in found)


def dye_names(names: Sequence[str]) -> list[str]:
    """Return of each channel's name only the dye or method in it, e.g. "DAPI"; else "Channel 2".

    Whoever took the image can have written anything into a name, the patient's too.
    """
    found: list[str] = []
    for number, name in enumerate(names, start=1):
        dye = next((hit.group() for words, _ in _BY_NAME if (hit := words.search(name))), "")
        found.append(f"{dye} ({number})" if dye in found else dye or f"Channel {number}")
    return found


def _usual_color(channel: Channel) -> Rgb | None:
    for words, color in _BY_NAME:
        if channel.name and words.search(channel.name):
            return color
    if channel.emission_nm is None:
        return None
    return next(color for below, color in _BY_WAVELENGTH if channel.emission_nm < below)
