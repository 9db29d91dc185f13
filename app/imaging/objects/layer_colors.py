"""Fixed palette for layer items whose file recommends no colour."""

from __future__ import annotations

from app.imaging.layers import RGB
from app.paths import shipped_table

_PALETTE: tuple[RGB, ...] = tuple(map(tuple, shipped_table("colors", "layers")["colors"]))
"""After Okabe and Ito, whose colours colour-blind readers can tell apart."""

_SHADES = ((0, 0.0), (255, 0.5), (0, 0.35))
"""Each further dozen is mixed with (grey level, share of that level): lighter, then darker."""


def palette_color(number: int) -> RGB:
    """Return the default colour for the layer item with this number (from 1).

    Beyond the first twelve, lighter and then darker shades are used: a whole-body segmentation has
    over a hundred items.
    """
    turn, place = divmod(number - 1, len(_PALETTE))
    toward, share = _SHADES[turn % len(_SHADES)]
    red, green, blue = (round(v + (toward - v) * share) for v in _PALETTE[place])
    return red, green, blue
