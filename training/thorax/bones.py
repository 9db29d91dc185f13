"""Spine, ribs, clavicles, scapulae and humeral heads of the synthetic patient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from training.thorax.paint import FloatImage, Layer, Points, noise
from training.thorax.shapes import LATERAL, POINTS

if TYPE_CHECKING:
    from training.thorax.render import Anatomy

SIZE = 256


def _wall(a: Anatomy, side: int, y: float) -> float:
    """Returns the distance of the inner chest wall from the midline at height `y`.

    Side 0 = viewer's left.
    """
    edge = a.lungs[side * POINTS : side * POINTS + LATERAL]
    sign = -1 if side == 0 else 1
    order = np.argsort(edge[:, 1])
    wall = np.maximum.accumulate(sign * (edge[order, 0] - a.middle))
    return float(np.interp(y, edge[order, 1], wall)) + 0.012 * a.width


def _hollow(layer: Layer, points: Points, width: float) -> None:
    """Draws a long bone: dense cortex at both edges, looser inside."""
    layer.line(points, width, 1.0)
    layer.line(points, max(1.0, width * 0.6), 0.62)


def _ribs(rng: np.random.Generator, a: Anatomy) -> FloatImage:
    count = int(rng.integers(9, 12))
    pitch = a.height * rng.uniform(0.98, 1.15) / (count - 1)
    start = a.top + rng.uniform(-0.12, 0.05) * a.height
    drop, rise = rng.uniform(0.5, 1.6) * pitch, rng.uniform(0.0, 0.5) * pitch
    front, reach = rng.uniform(1.2, 3.2) * pitch, rng.uniform(0.35, 0.7)
    wide = pitch * rng.uniform(0.22, 0.38)
    back, fore = Layer(SIZE), Layer(SIZE)
    t = np.linspace(0, 1, 14)
    for side, sign in ((0, -1), (1, 1)):
        for k in range(count):
            y0 = start + k * pitch + rng.normal(0, 0.04) * pitch
            end = y0 + drop * (0.6 + 0.06 * k)
            wall = _wall(a, side, end)
            x = a.middle + sign * (
                0.045 * a.width + (wall - 0.045 * a.width) * np.sin(t * np.pi / 2) ** 0.8
            )
            y = y0 - rise * np.sin(np.pi * t * 0.8) + (end - y0 + 0.4 * rise) * t**2.2
            _hollow(back, np.stack([x, y], 1), wide)
            if k < count - 2:
                xf = a.middle + sign * (wall - (wall * reach) * t**1.3)
                yf = end + front * (0.75 + 0.05 * k) * t ** rng.uniform(0.7, 0.9)
                _hollow(fore, np.stack([xf, yf], 1), wide * 1.15)
    dense = rng.uniform(0.05, 0.16)
    return back.array(0.5) * dense + fore.array(0.6) * dense * rng.uniform(0.3, 0.9)


def _spine(rng: np.random.Generator, a: Anatomy) -> FloatImage:
    half = a.width * rng.uniform(0.045, 0.07)
    pitch = a.height * rng.uniform(0.085, 0.115)
    bend = rng.normal(0, 0.012) * a.width
    column, disc = Layer(SIZE), Layer(SIZE)
    ys = np.arange(-20.0, SIZE + 20, pitch) + rng.uniform(0, pitch)
    for y in ys:
        x = a.middle + bend * np.sin((y - a.top) / a.height * np.pi)
        box = np.array([(-half, 0), (half, 0), (half, pitch * 0.82), (-half, pitch * 0.82)])
        column.polygon(box + np.array([x, y]))
        disc.ellipse((x, y + pitch * 0.5), (half * 0.14, pitch * 0.26))
        for sign in (-1, 1):
            disc.ellipse((x + sign * half * 0.6, y + pitch * 0.3), (half * 0.2, pitch * 0.16))
            column.line(
                np.array([(x, y + pitch * 0.2), (x + sign * half * 1.9, y)]), pitch * 0.28, 0.5
            )
    return column.array(0.7) * rng.uniform(0.04, 0.2) + disc.array(0.6) * rng.uniform(0.0, 0.12)


def _shoulders(rng: np.random.Generator, a: Anatomy) -> FloatImage:
    layer, blades, ball = Layer(SIZE), Layer(SIZE), Layer(SIZE)
    lift = rng.uniform(-0.12, 0.16) * a.height  # how far the clavicle climbs to the shoulder
    low = a.top + rng.uniform(0.06, 0.22) * a.height
    wide = a.width * rng.uniform(0.026, 0.045)
    away = rng.uniform(-0.12, 0.22) * a.width  # scapulae turned out of the lungs, or not
    for side, sign in ((0, -1), (1, 1)):
        tip = np.array([a.middle + sign * a.width * rng.uniform(0.5, 0.62), low - lift])
        root = np.array(
            [a.middle + sign * a.width * rng.uniform(0.035, 0.08), low + rng.normal(0, 2)]
        )
        t = np.linspace(0, 1, 12)[:, None]
        curve = root + (tip - root) * t
        curve[:, 1] += np.sin(t[:, 0] * 2 * np.pi) * rng.uniform(0.2, 1.0) * wide
        _hollow(layer, curve, wide)
        wall = _wall(a, side, a.top + 0.5 * a.height)
        inner = a.middle + sign * (wall - 0.1 * a.width + away)
        corner = np.array(
            [inner + sign * 0.02 * a.width, a.top + rng.uniform(0.1, 0.22) * a.height]
        )
        apex = np.array([inner + sign * 0.04 * a.width, a.top + rng.uniform(0.5, 0.72) * a.height])
        outer = tip + np.array([sign * 0.05 * a.width, 0.06 * a.height])
        blades.polygon(np.stack([corner, apex, outer]), 0.45)
        blades.line(np.stack([corner, apex]), wide * 0.5, 1.0)
        blades.line(np.stack([apex, outer]), wide * 0.7, 1.0)
        ball.ellipse(
            outer + np.array([sign * 0.04 * a.width, 0.0]), (0.07 * a.width, 0.075 * a.width)
        )
    out = layer.array(0.6) * rng.uniform(0.08, 0.24) + blades.array(0.8) * rng.uniform(0.04, 0.2)
    return out + ball.array(1.0) * rng.uniform(0.1, 0.3)


def skeleton(rng: np.random.Generator, a: Anatomy) -> FloatImage:
    """Returns the attenuation [size, size] that all bones add."""
    bone = _ribs(rng, a) + _spine(rng, a) + _shoulders(rng, a)
    return bone * (1 + 0.1 * noise(rng, SIZE, 24))
