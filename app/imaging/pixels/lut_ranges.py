"""Correct the first value of a lookup table whose sign was misread, by the range of its inputs."""

from __future__ import annotations

import math

Range = tuple[float, float]

ANY: Range = (-math.inf, math.inf)


def signed_first(first: int, inputs: Range) -> int:
    """Return `first`, the first value that a LUT maps, corrected if its sign was misread.

    Whether the 16 bits of `first` are signed depends on `inputs`, the range of the LUT's input.
    Files with implicit VR do not say, and files with explicit VR are often wrong, so a LUT that
    would begin above every possible input is taken to begin below zero.
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
