"""Edges of phantoms whose place is known are found to a fraction of a pixel, noise is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.imaging.types import Frame, ImageRef
from app.workspace.edge_snapping import nearest_edge

SIZE, FINE = 120, 8


def image(values: np.ndarray) -> Frame:
    return Frame(stored=values, ref=ImageRef("1.2", 0, "sha"))


def disc(x: float, y: float, radius: float, tall: float = 1.0) -> np.ndarray:
    """A disc as a detector sees it: the mean over each pixel; `tall` rows are as high as wide."""
    fine = (np.arange(SIZE * FINE) + 0.5) / FINE - 0.5
    inside = np.hypot(fine[None, :] - x, (fine[:, None] - y) * tall) < radius
    parts = inside.reshape(SIZE, FINE, SIZE, FINE).mean(axis=(1, 3))
    return (100 + 800 * parts).astype(np.int16)


@pytest.mark.parametrize("zoom", [0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
@pytest.mark.parametrize("tall", [1.0, 1.75])
def test_a_disc_s_edge_is_found_within_half_a_pixel_at_every_zoom(zoom: float, tall: float):
    x, y, radius = 58.3, 60.7, 31.4
    noise = np.random.default_rng(2).normal(0, 15, (SIZE, SIZE))
    frame = image((disc(x, y, radius, tall) + noise).astype(np.int16))
    scale = zoom, zoom * tall
    worst = 0.0
    for turn in np.linspace(0, 2 * math.pi, 37)[:-1]:
        for off in (-5.0, 5.0):  # px on the screen
            far = radius + off / zoom
            at = x + far * math.cos(turn), y + far * math.sin(turn) / tall
            found = nearest_edge(frame, at, scale, 8.0)
            assert found is not None
            away = abs(math.hypot(found[0] - x, (found[1] - y) * tall) - radius)
            worst = max(worst, away)
            moved = math.hypot((found[0] - at[0]) * scale[0], (found[1] - at[1]) * scale[1])
            assert moved <= 8.001
    assert worst < 0.5


def test_a_step_between_two_columns_lies_between_them():
    values = np.zeros((SIZE, SIZE), np.int16)
    values[:, 60:] = 500
    found = nearest_edge(image(values), (57.0, 40.25), (2.0, 2.0), 8.0)
    assert found == (pytest.approx(59.5, abs=0.01), pytest.approx(40.25))


def test_the_stronger_of_two_edges_is_taken_and_none_beyond_reach():
    values = np.zeros((SIZE, SIZE), np.int16)
    values[:, 50:] = 100
    values[:, 56:] = 900
    frame = image(values)
    found = nearest_edge(frame, (51.0, 60.0), (1.0, 1.0), 8.0)
    assert found is not None
    assert found[0] == pytest.approx(55.5, abs=0.1)
    assert nearest_edge(frame, (80.0, 60.0), (1.0, 1.0), 8.0) is None


def test_noise_and_even_slopes_have_no_edge():
    noise = np.random.default_rng(1).normal(500, 30, (SIZE, SIZE)).astype(np.int16)
    places = [(x, y) for x in range(30, 90, 6) for y in range(30, 90, 6)]
    snapped = [at for at in places if nearest_edge(image(noise), at, (1.0, 1.0), 8.0)]
    assert len(snapped) < len(places) / 20
    slope = np.tile(np.arange(SIZE, dtype=np.int16) * 20, (SIZE, 1))
    assert nearest_edge(image(slope), (60.0, 60.0), (1.0, 1.0), 8.0) is None
    assert nearest_edge(image(slope), (0.0, 119.0), (1.0, 1.0), 8.0) is None


def test_a_colour_image_and_its_border_have_edges_too():
    values = np.zeros((SIZE, SIZE, 3), np.uint8)
    values[:, 3:] = (200, 150, 90)
    found = nearest_edge(image(values), (4.5, 1.0), (2.0, 2.0), 8.0)
    assert found == (pytest.approx(2.5, abs=0.1), pytest.approx(1.0, abs=0.1))
