"""What a lookup table's first value can mean, by what it can be asked for. Pure, no file needed."""

from __future__ import annotations

import math

Range = tuple[float, float]

ANY: Range = (-math.inf, math.inf)


def signed_first(first: int, inputs: Range) -> int:
    """The first value that a table maps, 16 bits that may be meant as a signed number.

    Its VR depends on what the table's input can be, so implicit files do not tell, and explicit
    ones are often wrong: a table that would begin above every possible input begins below zero.
    """
    low, high = inputs
    if first > 32767 and low < 0 and first > high:
        return first - 65536
    if first < 0 <= low and first + 65536 <= high:
        return first + 65536
    return first


def stored_range(bits: int, *, signed: bool) -> Range:
    """What stored values of so many bits can be."""
    low = -(2.0 ** (bits - 1)) if signed else 0.0
    return low, low + 2.0**bits - 1
