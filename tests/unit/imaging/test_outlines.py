"""Closed outlines as pixels, against a ray test that shares nothing with the code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.imaging.objects.layer_reading import fill_outlines

Array = NDArray[Any]


def odd_crossings(x: float, y: float, outline: Array) -> bool:
    """Whether a ray to the right crosses the outline an odd number of times."""
    inside = False
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            inside = not inside
    return inside


def distance(x: float, y: float, outline: Array) -> float:
    """From a point to the nearest edge."""
    best = math.inf
    for (x0, y0), (x1, y1) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        dx, dy = x1 - x0, y1 - y0
        length = math.hypot(dx, dy)
        t = min(max(((x - x0) * dx + (y - y0) * dy) / length**2, 0), 1) if length else 0.0
        best = min(best, math.hypot(x - x0 - t * dx, y - y0 - t * dy))
    return best


corners = st.lists(st.tuples(st.floats(-5, 25), st.floats(-5, 20)), min_size=3, max_size=9)


@settings(max_examples=25, deadline=None)
@given(st.lists(corners.map(lambda some: np.round(np.array(some), 2)), min_size=1, max_size=3))
def test_filling_is_even_odd_over_all_outlines_even_where_they_cross(outlines: list[Array]):
    found = fill_outlines(outlines, 15, 20)
    for y in range(15):
        for x in range(20):
            if min(distance(x, y, one) for one in outlines) > 1e-6:
                odd = sum(odd_crossings(x, y, one) for one in outlines) % 2
                assert found[y, x] == bool(odd)


def test_an_outline_far_outside_fills_nothing():
    square = np.array([(0.0, 0.0), (1e5, 0.0), (1e5, 1e5), (0.0, 1e5)])
    assert not fill_outlines([square - 1e6], 30, 30).any()
    assert fill_outlines([square - 100], 30, 30).all()
