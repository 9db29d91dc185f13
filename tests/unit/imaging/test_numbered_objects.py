"""Sizes and places of numbered objects, as scipy measures them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from app.imaging.pixels.numbered_objects import measured_objects


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
def test_objects_are_measured_as_scipy_does(dtype: type) -> None:
    random = np.random.default_rng(3)
    made: Any = ndimage.label(random.random((90, 130)) > 0.45)
    parts, count = made
    labels = (parts * 3).astype(dtype)  # numbers with gaps
    if dtype is np.uint32:
        labels[labels == 3] = 2**32 - 1
    found = measured_objects(labels)
    assert len(found.numbers) == count
    assert found.numbers.tolist() == np.unique(labels[labels > 0]).tolist()
    for place, number in enumerate(found.numbers.tolist()):
        one = labels == number
        rows, columns = np.nonzero(one)
        assert found.areas[place] == one.sum()
        down, across = ndimage.center_of_mass(one)
        assert found.centroids[place] == pytest.approx((across, down))
        box = (columns.min(), rows.min(), columns.max(), rows.max())
        assert tuple(found.boxes[place]) == box
        assert found.place_of(number) == place
    assert found.place_of(1) is None


def test_no_object_is_none() -> None:
    found = measured_objects(np.zeros((5, 6), np.uint16))
    assert len(found.numbers) == len(found.areas) == len(found.boxes) == 0
