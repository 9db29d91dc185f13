"""Synthetic images to be refused: laterals, other body parts, other modalities, no films.

They only teach the view head what a frontal chest film is not; they carry no masks.  Square
float32 arrays [SIZE, SIZE], bright = dense, in the units of ``render.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from training.thorax.paint import FloatImage, Layer, Points, depth, noise, smooth_closed

SIZE = 256
_ROWS, _COLUMNS = np.mgrid[:SIZE, :SIZE].astype(np.float32)


def _at(points: list[tuple[float, float]], box: tuple[float, float, float, float]) -> Points:
    """Returns points given in fractions of `box` (x, y, width, height) in pixels."""
    return np.array([(box[0] + px * box[2], box[1] + py * box[3]) for px, py in points])


def _back(rng: np.random.Generator, box: tuple[float, float, float, float]) -> Points:
    """Returns the spine's course, kyphotic, from the neck down behind the lungs."""
    curve = rng.uniform(0.06, 0.16)
    y = np.linspace(-0.4, 1.5, 24)
    x = 0.93 + rng.normal(0, 0.02) - curve * np.cos((y - 0.45) * 2.2) ** 2 * -1 - curve
    return _at(list(zip(x.tolist(), y.tolist(), strict=True)), box)


def _lateral_bones(rng: np.random.Generator, box: tuple[float, float, float, float]) -> FloatImage:
    layer, ribs = Layer(SIZE), Layer(SIZE)
    spine = _back(rng, box)
    wide = box[2] * rng.uniform(0.1, 0.17)
    pitch = box[3] * rng.uniform(0.075, 0.105)
    y = spine[0, 1]
    while y < SIZE + 20:
        x = float(np.interp(y, spine[:, 1], spine[:, 0]))
        step = float(np.interp(y + pitch, spine[:, 1], spine[:, 0])) - x
        body = np.array([(-0.5, 0), (0.5, 0), (0.45, 0.4), (0.5, 0.8), (-0.5, 0.8), (-0.45, 0.4)])
        corners = body * (wide, pitch) + (x, y)
        corners[:, 0] += body[:, 1] * step
        layer.polygon(corners, 0.7)
        layer.line(corners[[0, 1]], 1.0)
        layer.line(corners[[4, 3]], 1.0)
        layer.line(
            np.array([(x + wide * 0.5, y + pitch * 0.3), (x + wide * 1.2, y + pitch * 0.9)]),
            2.5,
            0.5,
        )
        y += pitch
    t = np.linspace(0, 1, 12)
    fall = rng.uniform(0.15, 0.4)
    for k in range(int(rng.integers(7, 12))):
        start = box[1] + box[3] * (0.02 + k * 0.1 + rng.normal(0, 0.01))
        x = float(np.interp(start, spine[:, 1], spine[:, 0])) - t * box[2] * rng.uniform(0.6, 0.85)
        rib = np.stack([x, start + fall * box[3] * np.sin(t * 1.5)], axis=1)
        ribs.line(rib, box[3] * 0.025, 1.0)
        ribs.line(rib, box[3] * 0.013, 0.6)
    front = _at([(0.16, 0.1), (0.06, 0.35), (0.03, 0.62)], box)
    layer.line(front, box[2] * rng.uniform(0.03, 0.06), 0.8)
    return layer.array(0.7) * rng.uniform(0.1, 0.35) + ribs.array(0.7) * rng.uniform(0.03, 0.14)


def _lateral_lung(rng: np.random.Generator, box: tuple[float, float, float, float]) -> FloatImage:
    j = lambda: rng.normal(0, 0.025)  # noqa: E731
    base = rng.uniform(0.78, 0.95)
    rows = [
        (0.52 + j(), 0.0),
        (0.68 + j(), 0.06 + j()),
        (0.85 + j(), 0.3 + j()),
        (0.92 + j(), 0.6 + j()),
    ]
    rows += [(0.93 + j(), 1.0), (0.8 + j(), 0.98 + j()), (0.55 + j(), base - 0.1 + j())]
    rows += [(0.3 + j(), base - 0.13 + j()), (0.1 + j(), base + j()), (0.07 + j(), 0.6 + j())]
    rows += [(0.13 + j(), 0.3 + j()), (0.3 + j(), 0.1 + j()), (0.42 + j(), 0.03 + j())]
    layer = Layer(SIZE)
    layer.polygon(smooth_closed(_at(rows, box), 120))
    return layer.array()


def lateral(rng: np.random.Generator) -> FloatImage:
    """Renders a lateral chest film facing either side."""
    height = SIZE * rng.uniform(0.55, 0.82)
    width = height * rng.uniform(0.58, 0.95)
    box = (
        (SIZE - width) / 2 + rng.normal(0, 8),
        (SIZE - height) * rng.uniform(0.2, 0.7),
        width,
        height,
    )
    trunk = Layer(SIZE)
    outline = [(0.3, -0.5), (0.25, -0.15), (-0.02, 0.05), (-0.12, 0.4), (-0.16, 0.7), (-0.12, 1.1)]
    outline += [
        (-0.15, 1.7),
        (1.15, 1.7),
        (1.12, 1.0),
        (1.18, 0.5),
        (1.1, 0.15),
        (0.8, -0.12),
        (0.75, -0.5),
    ]
    fat = rng.uniform(0.9, 1.25)
    spread = [((px - 0.5) * fat + 0.5 + rng.normal(0, 0.02), py) for px, py in outline]
    trunk.polygon(smooth_closed(_at(spread, box), 140))
    body = trunk.array(0.8)
    image = depth(body, width * rng.uniform(0.25, 0.5)) * rng.uniform(0.9, 1.2)
    lung = _lateral_lung(rng, box)
    image -= (
        depth(lung, width * rng.uniform(0.12, 0.3))
        * rng.uniform(0.35, 0.7)
        * np.clip(image, 0.5, 1)
    )
    heart, arms, pipe = Layer(SIZE), Layer(SIZE), Layer(SIZE)
    centre = _at([(rng.uniform(0.3, 0.42), rng.uniform(0.6, 0.72))], box)[0]
    heart.ellipse(
        centre,
        (width * rng.uniform(0.2, 0.32), height * rng.uniform(0.14, 0.22)),
        rng.uniform(0.3, 1.1),
    )
    image += depth(heart.array(1.0), width * 0.2) * rng.uniform(0.1, 0.4)
    hilum = _at([(0.55, 0.42)], box)[0]
    image += np.exp(
        -(((_COLUMNS - hilum[0]) / 13) ** 2 + ((_ROWS - hilum[1]) / 17) ** 2)
    ) * rng.uniform(0.05, 0.25)
    pipe.line(_at([(0.5, -0.3), (0.53, 0.1), (0.6, 0.4)], box), width * 0.07)
    image -= pipe.array(1.0) * rng.uniform(0.03, 0.2)
    for _ in range(int(rng.integers(0, 3))):  # raised arms
        ends = _at([(rng.uniform(0.3, 0.7), 0.05), (rng.uniform(-0.2, 0.9), -0.5)], box)
        arms.line(ends, width * rng.uniform(0.2, 0.35), 0.7)
    image += depth(arms.array(1.0), width * 0.15) * 0.5 + _lateral_bones(rng, box)
    image += np.abs(noise(rng, SIZE, 40)) * lung * rng.uniform(0, 0.05) + noise(rng, SIZE, 4) * 0.05
    image = image * np.clip(np.maximum(body, arms.array(1.0)) * 1.2, 0, 1)
    return image[:, ::-1].copy() if rng.random() < 0.5 else image


def _limb(rng: np.random.Generator) -> FloatImage:
    """Long bones side by side: forearm, knee, hand."""
    flesh, bone = Layer(SIZE), Layer(SIZE)
    count, turn = int(rng.integers(1, 6)), rng.uniform(0, np.pi)
    axis, across = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    gap = rng.uniform(28, 60)
    for k in range(count):
        middle = SIZE / 2 + across * (k - (count - 1) / 2) * gap + rng.normal(0, 6, 2)
        tilt = axis + across * (k - (count - 1) / 2) * rng.uniform(0, 0.15)
        at = -150.0
        flesh.line(
            np.stack([middle - 170 * tilt, middle + 170 * tilt]), gap * rng.uniform(0.7, 1.8)
        )
        while at < 150:
            length = rng.uniform(40, 160)
            ends = np.stack([middle + at * tilt, middle + (at + length) * tilt])
            bone.line(ends, gap * rng.uniform(0.25, 0.5))
            bone.line(ends, gap * rng.uniform(0.1, 0.22), 0.6)
            for end in ends:
                bone.ellipse(end, (gap * 0.3, gap * 0.26), turn, 0.9)
            at += length + rng.uniform(3, 10)
    return depth(flesh.array(1.5), gap * 0.6) * rng.uniform(0.3, 0.6) + bone.array(
        0.8
    ) * rng.uniform(0.3, 0.8)


def _head(rng: np.random.Generator) -> FloatImage:
    layer = Layer(SIZE)
    centre = SIZE / 2 + rng.normal(0, 10, 2)
    radii = SIZE * rng.uniform(0.26, 0.42), SIZE * rng.uniform(0.3, 0.45)
    layer.ellipse(centre, radii)
    image = depth(layer.array(), 60) * 0.6
    inner = Layer(SIZE)
    inner.ellipse(centre, (radii[0] * 0.92, radii[1] * 0.92))
    image += (layer.array() - inner.array()) * rng.uniform(0.2, 0.8)
    for sign in (-1, 1):  # orbits and sinuses
        hole = Layer(SIZE)
        hole.ellipse(
            centre + np.array([sign * radii[0] * 0.4, radii[1] * 0.2]),
            (radii[0] * 0.22, radii[1] * 0.16),
        )
        hole.ellipse(
            centre + np.array([sign * radii[0] * 0.25, radii[1] * 0.5]),
            (radii[0] * 0.15, radii[1] * 0.2),
        )
        image -= hole.array(1.5) * rng.uniform(0.1, 0.4)
    return image + noise(rng, SIZE, 12) * 0.05 * layer.array()


def _belly(rng: np.random.Generator) -> FloatImage:
    """Abdomen or pelvis: spine, iliac wings, gas; no lungs."""
    layer, bone, gas = Layer(SIZE), Layer(SIZE), Layer(SIZE)
    half = SIZE * rng.uniform(0.36, 0.6)
    layer.polygon(
        np.array(
            [
                (128 - half, -10),
                (128 + half, -10),
                (128 + half * 0.95, 270),
                (128 - half * 0.95, 270),
            ]
        )
    )
    pitch = rng.uniform(20, 34)
    for k in range(12):
        bone.polygon(
            np.array([(-14, 0), (14, 0), (14, pitch * 0.8), (-14, pitch * 0.8)])
            + np.array([128, k * pitch - 10])
        )
    level = rng.uniform(120, 260)
    for sign in (-1, 1):
        bone.ellipse((128 + sign * half * 0.5, level), (half * 0.36, 50), sign * 0.6, 0.7)
        bone.ellipse((128 + sign * half * 0.45, level + 70), (20, 20), 0, 0.8)
    for _ in range(int(rng.integers(2, 14))):
        at = 128 + rng.normal(0, 0.4) * half, rng.uniform(0, 220)
        gas.ellipse(
            at, (rng.uniform(8, 40), rng.uniform(6, 22)), rng.uniform(0, 3), rng.uniform(0.5, 1)
        )
    image = depth(layer.array(1), half * 0.6) * (1 + 0.05 * noise(rng, SIZE, 6))
    return (
        image
        + bone.array(1) * rng.uniform(0.1, 0.35)
        - depth(gas.array(1), 14) * rng.uniform(0.1, 0.5)
    )


def _slice(rng: np.random.Generator) -> FloatImage:
    """An axial slice: CT of chest or abdomen, or MR of a head."""
    body, lungs, rest = Layer(SIZE), Layer(SIZE), Layer(SIZE)
    wide, tall = SIZE * rng.uniform(0.36, 0.47), SIZE * rng.uniform(0.25, 0.4)
    body.ellipse((128, 128), (wide, tall))
    if rng.random() < 0.7:
        for sign in (-1, 1):
            at = 128 + sign * wide * rng.uniform(0.42, 0.5), 122 + rng.normal(0, 8)
            lungs.ellipse(
                at, (wide * rng.uniform(0.25, 0.36), tall * rng.uniform(0.5, 0.75)), sign * 0.2
            )
        rest.ellipse((128 + wide * 0.1, 112), (wide * 0.3, tall * 0.35), 0.3, 0.3)
    rest.ellipse((128, 128 + tall * 0.65), (wide * 0.1, tall * 0.14), value=1.0)
    for _ in range(int(rng.integers(3, 12))):
        at = 128 + rng.normal(0, 0.4) * wide, 128 + rng.normal(0, 0.4) * tall
        rest.ellipse(
            at, (rng.uniform(3, 26), rng.uniform(3, 20)), rng.uniform(0, 3), rng.uniform(0.1, 0.9)
        )
    inside = np.maximum(0, body.array(0.6) - lungs.array(0.6) * rng.uniform(0.7, 1))
    return inside * (0.6 + 0.06 * noise(rng, SIZE, 20)) + rest.array(0.6) * inside * rng.uniform(
        0.2, 0.8
    )


def _fan(rng: np.random.Generator) -> FloatImage:
    """Ultrasound: a speckled sector."""
    apex = np.array([128 + rng.normal(0, 15), rng.uniform(-40, 20)])
    dx, dy = _COLUMNS - apex[0], _ROWS - apex[1]
    radius, angle = np.hypot(dx, dy), np.arctan2(dx, dy)
    sector = (
        (np.abs(angle) < rng.uniform(0.4, 0.9)) & (radius > 20) & (radius < rng.uniform(200, 290))
    )
    speckle = np.abs(rng.normal(size=(SIZE, SIZE))) * (1 + 0.5 * noise(rng, SIZE, 8))
    return ndimage.gaussian_filter(speckle * sector, 0.8).astype(np.float32)


def _picture(rng: np.random.Generator) -> FloatImage:
    """A photograph-like or drawn image: shapes over coloured noise, text, or nothing at all."""
    kind = rng.random()
    image = sum(
        (noise(rng, SIZE, c) / np.sqrt(c) for c in (2, 4, 8, 16, 32, 64)),
        np.zeros((SIZE, SIZE), np.float32),
    )
    layer = Layer(SIZE)
    if kind < 0.15:
        return np.full((SIZE, SIZE), rng.uniform(0, 1), np.float32) + image * rng.choice(
            (0.0, 0.01)
        )
    if kind < 0.4:
        for k in range(int(rng.integers(4, 24))):
            layer.text(
                (rng.uniform(4, 60), k * 11), "".join(rng.choice(list("abcdefgh iklmno "), 30)), 10
            )
        return layer.array()
    for _ in range(int(rng.integers(0, 14))):
        corners = rng.uniform(0, SIZE, 2) + rng.normal(
            0, rng.uniform(8, 60), (int(rng.integers(3, 7)), 2)
        )
        layer.polygon(
            corners if rng.random() < 0.5 else smooth_closed(corners), rng.uniform(0.2, 1)
        )
    return (0.5 + 0.3 * image) * rng.uniform(0.3, 1) + layer.array(
        rng.uniform(0.2, 2)
    ) * rng.uniform(0.2, 1)


DRAWERS: tuple[Callable[[np.random.Generator], FloatImage], ...] = (
    _limb,
    _head,
    _belly,
    _slice,
    _fan,
    _picture,
)


def other(rng: np.random.Generator) -> FloatImage:
    """Renders something that is no chest film."""
    image = DRAWERS[int(rng.integers(len(DRAWERS)))](rng)
    return np.clip(image, -0.1, 2.2).astype(np.float32)
