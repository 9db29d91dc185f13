"""What lies over and under the lungs: vessels, soft parts, gas, disease, hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import ndimage

from training.thorax.paint import FloatImage, Layer, Points, depth, noise
from training.thorax.shapes import POINTS

if TYPE_CHECKING:
    from training.thorax.render import Anatomy

SIZE = 256
_ROWS, _COLUMNS = np.mgrid[:SIZE, :SIZE].astype(np.float32)


def _blob(at: tuple[float, float], radii: tuple[float, float]) -> FloatImage:
    """Returns a Gaussian hill, height 1."""
    return np.exp(-(((_COLUMNS - at[0]) / radii[0]) ** 2 + ((_ROWS - at[1]) / radii[1]) ** 2) / 2)


def _branch(
    rng: np.random.Generator,
    layer: Layer,
    at: Points,
    angle: float,
    length: float,
    width: float,
    left: int,
) -> None:
    """Draws one vessel and its daughters, thinner and shorter each time."""
    turn = angle + rng.normal(0, 0.2)
    mid = at + length * 0.5 * np.array([np.cos(angle), np.sin(angle)])
    end = mid + length * 0.5 * np.array([np.cos(turn), np.sin(turn)])
    layer.line(np.stack([at, mid, end]), width, min(1.0, 0.35 + width / 5))
    if left:
        for sign in (-1, 1):
            spread = sign * rng.uniform(0.15, 0.6)
            _branch(
                rng,
                layer,
                end,
                turn + spread,
                length * rng.uniform(0.6, 0.9),
                width * 0.72,
                left - 1,
            )


def vasculature(rng: np.random.Generator, a: Anatomy, outline: Points) -> FloatImage:
    """Returns the attenuation of hila and lung vessels [size, size]; `outline` is the heart's."""
    y = outline[:, 1].min() + rng.uniform(-0.06, 0.1) * a.height
    layer, hila = Layer(SIZE), np.zeros((SIZE, SIZE), np.float32)
    for sign in (-1, 1):
        hilum = np.array(
            [a.middle + sign * a.width * rng.uniform(0.09, 0.14), y - (sign > 0) * 0.02 * a.height]
        )
        axis = 0.0 if sign > 0 else np.pi
        for spread in rng.permutation(np.linspace(-1.3, 1.3, int(rng.integers(4, 8)))):
            length, width = a.height * rng.uniform(0.1, 0.2), a.width * rng.uniform(0.012, 0.028)
            _branch(rng, layer, hilum, axis - sign * spread, length, width, 4)
        radii = (a.width * rng.uniform(0.02, 0.05), a.height * rng.uniform(0.03, 0.09))
        hila += _blob((hilum[0], hilum[1]), radii) * rng.uniform(0.05, 0.3)
    lungs = ndimage.gaussian_filter(np.clip(a.full.sum(axis=0), 0, 1), 1.0)
    mesh = np.abs(noise(rng, SIZE, 64)) * rng.uniform(0.0, 0.025) + noise(rng, SIZE, 30) * 0.01
    tree = layer.array(rng.uniform(0.3, 0.8)) * rng.uniform(0.06, 0.2)
    return (tree + mesh) * lungs + hila


def _left_dome(a: Anatomy, x: float) -> float:
    """Returns the y of the left lung's base at `x`."""
    base = a.lungs[POINTS + 24 : POINTS + 36]
    order = np.argsort(base[:, 0])
    return float(np.interp(x, base[order, 0], base[order, 1]))


def _colon(rng: np.random.Generator, a: Anatomy, layer: Layer) -> None:
    """Draws a gas-filled flexure of the colon below the left dome.

    A chain of pouches with walls.
    """
    x, wide = a.middle + a.width * rng.uniform(0.1, 0.42), a.width * rng.uniform(0.03, 0.075)
    at = np.array([x, _left_dome(a, x) + wide + a.height * rng.uniform(0.008, 0.15)])
    heading = rng.choice((0.0, np.pi)) + rng.normal(0, 0.4)
    for _ in range(int(rng.integers(4, 11))):
        radius = wide * rng.uniform(0.7, 1.2)
        layer.ellipse(at, (radius, radius * rng.uniform(0.7, 1.3)), rng.uniform(0, 3), 0.15)
        layer.ellipse(at, (radius * 0.88, radius * 0.8), rng.uniform(0, 3), rng.uniform(0.6, 1))
        heading += rng.normal(0.1, 0.4)
        at = at + 1.5 * radius * np.array([np.cos(heading), np.sin(heading)])


def _gas(rng: np.random.Generator, a: Anatomy, tissue: FloatImage) -> FloatImage:
    """Returns the (negative) attenuation of stomach and bowel gas below the diaphragm."""
    layer = Layer(SIZE)
    if rng.random() < 0.6:  # the stomach bubble, just a thin wall below the left dome
        x = a.middle + a.width * rng.uniform(0.06, 0.38)
        radii = a.width * rng.uniform(0.04, 0.18), a.width * rng.uniform(0.03, 0.12)
        gap = a.height * rng.uniform(0.008, 0.08)
        layer.ellipse((x, _left_dome(a, x) + radii[1] + gap), radii, rng.normal(0, 0.3))
    if rng.random() < 0.3:
        _colon(rng, a, layer)
    for _ in range(int(rng.integers(0, 6)) if rng.random() < 0.6 else 0):
        at = (
            a.middle + rng.normal(0, 0.3) * a.width,
            a.base + rng.uniform(0.05, 0.5) * a.height,
        )
        radii = a.width * rng.uniform(0.03, 0.13), a.width * rng.uniform(0.02, 0.07)
        layer.ellipse(at, radii, rng.uniform(0, 3))
    gas = depth(layer.array(0.5), a.width * 0.05) * rng.uniform(0.15, 0.6)
    above = np.clip(a.full.sum(axis=0) + a.heart, 0, 1)
    outside = 1 - ndimage.grey_dilation(above, size=3)
    return -gas * np.clip(tissue, 0, 1) * ndimage.gaussian_filter(outside, 0.5)


def abdomen(rng: np.random.Generator, a: Anatomy, tissue: FloatImage) -> FloatImage:
    """Returns what liver, spleen and gas add to `tissue` below the diaphragm [size, size]."""
    lungs = np.clip(a.full.sum(axis=0), 0, 1)
    below = np.cumsum(lungs, axis=0) > 0.5
    under = below & (lungs < 0.5) & (a.base - 0.35 * a.height < _ROWS)
    organ = ndimage.gaussian_filter(under.astype(np.float32), 1.0) * rng.uniform(0.02, 0.25)
    organ *= np.clip(1 - (_ROWS - a.base) / (a.height * rng.uniform(0.3, 1.5)), 0.2, 1)
    return organ + _gas(rng, a, tissue)


def soft_tissue(rng: np.random.Generator, a: Anatomy) -> FloatImage:
    """Returns breasts, chest muscles, skin folds, trachea and broad unevenness [size, size]."""
    out = noise(rng, SIZE, 3) * rng.uniform(0, 0.06)
    if rng.random() < 0.5:
        layer, y = Layer(SIZE), a.top + a.height * rng.uniform(0.55, 0.9)
        radii = a.width * rng.uniform(0.14, 0.26), a.height * rng.uniform(0.14, 0.32)
        for sign in (-1, 1):
            at = (
                a.middle + sign * a.width * rng.uniform(0.24, 0.36),
                y + rng.normal(0, 0.03) * a.height,
            )
            layer.ellipse(at, radii, sign * rng.uniform(-0.3, 0.3))
        out = out + depth(layer.array(0.8), radii[0] * 0.9) * rng.uniform(0.04, 0.28)
    if rng.random() < 0.4:  # the hollows beside the neck, darker than the shoulders
        lungs = np.clip(a.full.sum(axis=0), 0, 1)
        for sign in (-1, 1):
            x = a.middle + sign * a.width * rng.uniform(0.14, 0.36)
            radii = (a.width * rng.uniform(0.03, 0.09), a.height * rng.uniform(0.03, 0.1))
            hollow = _blob((x, a.top - a.height * rng.uniform(-0.02, 0.14)), radii)
            out = out - hollow * (1 - lungs) * rng.uniform(0.03, 0.25)
    if rng.random() < 0.5:
        for sign in (-1, 1):
            at = a.middle + sign * a.width * 0.36, a.top + a.height * 0.3
            out = out + _blob(at, (a.width * 0.14, a.height * 0.18)) * rng.uniform(0, 0.14)
    pipe = Layer(SIZE)
    wide, carina = a.width * rng.uniform(0.04, 0.065), a.top + a.height * rng.uniform(0.32, 0.45)
    shift = rng.normal(0, 0.012) * a.width
    fork = np.array([a.middle + shift, carina])
    pipe.line(np.array([(a.middle + shift * 0.5, -5.0), tuple(fork)]), wide)
    for sign in (-1, 1):
        pipe.line(
            np.stack([fork, fork + np.array([sign * 0.13 * a.width, 0.13 * a.height])]),
            wide * 0.75,
            0.7,
        )
    return out - pipe.array(0.9) * rng.uniform(0.02, 0.2)


def _effusion(rng: np.random.Generator, a: Anatomy, side: int) -> FloatImage:
    """Returns fluid in 0..1: level at the middle, climbing along the wall (the meniscus)."""
    sign = -1 if side == 0 else 1
    across = np.clip(sign * (_COLUMNS - a.middle) / (a.width / 2), 0, 1.2)
    whole = 1.3 if rng.random() < 0.12 else 0.0  # white-out of the whole side
    level = a.base - a.height * (
        whole + 0.05 + 0.7 * rng.random() ** 2
    )  # small ones are the common ones
    top = level - a.height * rng.uniform(0.05, 0.3) * across ** rng.uniform(2, 5) + 0.04 * a.height
    return a.full[side] * np.clip((_ROWS - top) / rng.uniform(1, 7) + 0.5, 0, 1)


def _opacity(rng: np.random.Generator, a: Anatomy) -> FloatImage:
    """Returns pneumonia-like or nodular density inside the lungs."""
    if rng.random() < 0.35:
        layer = Layer(SIZE)
        for _ in range(int(rng.integers(1, 9))):
            at = a.middle + rng.uniform(-0.48, 0.48) * a.width, rng.uniform(a.top, a.base)
            r = a.width * rng.uniform(0.01, 0.09)
            layer.ellipse(at, (r, r * rng.uniform(0.8, 1.2)))
        return depth(layer.array(0.5), a.width * 0.05) * rng.uniform(0.1, 0.45)
    out = np.zeros((SIZE, SIZE), np.float32)
    for _ in range(int(rng.integers(1, 6))):
        at = a.middle + rng.uniform(-0.45, 0.45) * a.width, a.top + rng.uniform(0, 1) * a.height
        radii = a.width * rng.uniform(0.04, 0.18), a.height * rng.uniform(0.04, 0.25)
        out += _blob(at, radii) * rng.uniform(0.1, 0.6)
    return np.clip(out * (1 + 0.3 * noise(rng, SIZE, 20)), 0, 0.7)


def disease(
    rng: np.random.Generator, a: Anatomy, image: FloatImage
) -> tuple[FloatImage, FloatImage]:
    """Adds one or more findings.

    Returns:
        The image [size, size] and, in 0..1, where fluid covers lung (left out of the true masks).
    """
    covered = np.zeros((SIZE, SIZE), np.float32)
    lungs = np.clip(a.full.sum(axis=0), 0, 1)
    kind = rng.random()
    if rng.random() < 0.15:  # hazy all over: oedema, ARDS, poor inspiration
        haze = ndimage.gaussian_filter(lungs, 2.0) * (1 + 0.4 * noise(rng, SIZE, 5))
        image = image + haze * rng.uniform(0.05, 0.35)
    if kind < 0.65:
        image = image + _opacity(rng, a) * ndimage.gaussian_filter(lungs, 1.0) * rng.uniform(
            0.3, 1.0
        )
    if kind > 0.6:
        for side in (0, 1):
            if rng.random() < 0.55:
                fluid = _effusion(rng, a, side)
                white = rng.uniform(0.8, 1.1) + rng.uniform(0, 0.3) * ndimage.gaussian_filter(
                    image, 6
                )
                dense = np.maximum(image, white * (1 + 0.04 * noise(rng, SIZE, 5)))
                image = image * (1 - fluid) + dense * fluid
                covered = np.maximum(covered, fluid)
    if rng.random() < 0.12:  # pneumothorax: a darker rim without vessels
        side = int(rng.integers(2))
        inner = ndimage.grey_erosion(a.full[side], size=(int(rng.integers(9, 31)),) * 2)
        rim = np.clip(a.full[side] - ndimage.gaussian_filter(inner, 0.7), 0, 1)
        rim *= np.clip(1.2 - (_ROWS - a.top) / a.height, 0, 1)
        image = image * (1 - rim) + (ndimage.gaussian_filter(image, 3) - 0.06) * rim
    return image.astype(np.float32), covered


def hardware(rng: np.random.Generator, a: Anatomy, image: FloatImage) -> FloatImage:
    """Adds tubes, leads, wires, a pacemaker, film markers and letters."""
    layer = Layer(SIZE)
    for _ in range(int(rng.integers(1, 5)) if rng.random() < 0.3 else 0):  # tubes and leads
        points = rng.uniform((a.left, a.top - 20), (a.right, a.base), (4, 2))
        points[1:] = points[0] + np.cumsum(rng.normal(0, 0.16 * a.width, (3, 2)), axis=0)
        spline = np.stack(
            [np.interp(np.linspace(0, 3, 30), range(4), points[:, i]) for i in (0, 1)], 1
        )
        spline = ndimage.gaussian_filter1d(spline, 3, axis=0, mode="nearest")
        layer.line(spline, rng.uniform(0.5, 2.4), rng.uniform(0.3, 1.0))
        if rng.random() < 0.5:
            layer.ellipse(spline[-1], (3.5, 3.5), value=rng.uniform(0.4, 1))
    if rng.random() < 0.08:
        at = a.middle + rng.choice((-1, 1)) * 0.3 * a.width, a.top + 0.2 * a.height
        layer.ellipse(at, (0.07 * a.width, 0.06 * a.width))
    if rng.random() < 0.08:
        for k in range(5):
            layer.ellipse(
                (a.middle + rng.normal(0, 1), a.top + a.height * (0.25 + 0.12 * k)), (2.0, 1.2)
            )
    image = image + layer.array(0.4) * rng.uniform(0.15, 0.7)
    if rng.random() < 0.6:
        stamp, value = Layer(SIZE), rng.uniform(1.0, 2.0)
        for _ in range(int(rng.integers(1, 4))):
            at = rng.uniform(0, SIZE * 0.9), rng.uniform(0, SIZE * 0.9)
            if rng.random() < 0.7:
                at = rng.choice((0.02, 0.86)) * SIZE, at[1]
            letters = "".join(
                rng.choice(list("LRPAERECTSUPINE1234567890"), int(rng.integers(1, 7)))
            )
            stamp.text(at, letters if rng.random() < 0.5 else letters[:1], rng.uniform(6, 22))
        ink = stamp.array()
        image = image * (1 - ink) + value * ink
    return image.astype(np.float32)
