"""Colours of layer items that recommend none of their own, from a fixed palette."""

from __future__ import annotations

from app.imaging.layers import RGB

_PALETTE: tuple[RGB, ...] = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (213, 94, 0),
    (204, 121, 167),
    (70, 120, 230),
    (150, 210, 80),
    (250, 140, 140),
    (170, 130, 240),
    (0, 200, 200),
    (200, 160, 110),
)
"""After Okabe and Ito, who chose colours that colour-blind readers tell apart."""

_SHADES = ((0, 0.0), (255, 0.5), (0, 0.35))
"""(what a colour is mixed with, share of that) of each further dozen."""


def palette_color(number: int) -> RGB:
    """A colour for an item that has none of its own, by its number from 1.

    After the first dozen come lighter, then darker shades: a whole body has over a hundred parts.
    """
    turn, place = divmod(number - 1, len(_PALETTE))
    toward, share = _SHADES[turn % len(_SHADES)]
    red, green, blue = (round(v + (toward - v) * share) for v in _PALETTE[place])
    return red, green, blue
