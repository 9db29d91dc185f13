"""Signed or unsigned first value of a lookup table, by the range of its input."""

from __future__ import annotations

import math

Range = tuple[float, float]

ANY: Range = (-math.inf, math.inf)


def signed_first(first: int, inputs: Range) -> int:
    """Return the first value that a table maps, whose 16 bits may be meant as signed.

    Its VR depends on the range of the table's input, so implicit files do not tell, and explicit
    ones are often wrong: a table that would begin above every possible input begins below zero.
    """
    low, high = inputs
    if first > 32767 and low < 0 and first > high:
        return first - 65536
    if first < 0 <= low and first + 65536 <= high:
        return first + 65536
    return first


def stored_range(bits: int, *, signed: bool) -> Range:
    """Return the lowest and highest stored value that fit into `bits` bits."""
    low = -(2.0 ** (bits - 1)) if signed else 0.0
    return low, low + 2.0**bits - 1
