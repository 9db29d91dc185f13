"""A synthetic frontal chest radiograph: attenuation summed along the beam, with true masks.

One unit of attenuation is the soft tissue of the mediastinum.  The image is a square float32
array, bright = dense; tone curve, noise and the rest of what a detector and a viewer do are added
later (``augment.py``).  The lungs' true masks leave out what lies behind heart and mediastinum and
what fluid covers, as film annotators commonly do. The patient's right is the viewer's left;
nothing is ever mirrored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from training.thorax import bones, overlay
from training.thorax.paint import FloatImage, Layer, Points, depth, noise, smooth_closed
from training.thorax.shapes import POINTS, ShapeModel

SIZE = 256
BACKGROUND, RIGHT_LUNG, LEFT_LUNG, HEART = 0, 1, 2, 3


@dataclass
class Anatomy:
    """Where things lie in one synthetic patient, in pixels.

    Attributes:
        lungs: Both outlines [2 * POINTS, 2], viewer's left lung first, the part behind the heart
            included.
        left, right, top, base: Box of the lungs.
        middle: x of the midline.
        width: Thoracic width.
        full: Antialiased lung masks with the part behind the heart, [2, size, size].
        child: Broad heart and thymus, raised arms, the jaw in the picture.
        heart: Heart silhouette [size, size].
        vessels: Upper mediastinum (great vessels) [size, size].
    """

    lungs: Points
    left: float
    right: float
    top: float
    base: float
    middle: float
    width: float
    full: FloatImage
    child: bool = False
    heart: FloatImage = field(default_factory=lambda: np.zeros((SIZE, SIZE), np.float32))
    vessels: FloatImage = field(default_factory=lambda: np.zeros((SIZE, SIZE), np.float32))

    @property
    def height(self) -> float:
        """Height of the lungs in pixels."""
        return self.base - self.top


def _place_lungs(rng: np.random.Generator, shape: ShapeModel) -> Anatomy:
    pair = shape.sample(rng)
    child = bool(rng.random() < 0.15)
    pair[:, 1] *= rng.uniform(0.85, 1.0) if child else 1.0
    width = SIZE * rng.uniform(0.58, 0.86)
    width = min(width, SIZE * 0.86 / max(1e-3, float(np.ptp(pair[:, 1]))))
    pair = pair * width + SIZE / 2 + rng.normal(0, SIZE * 0.02, 2)
    wobble = [ndimage.gaussian_filter1d(rng.normal(size=(2 * POINTS, 2)), 2.5, axis=0, mode="wrap")]
    pair = pair + wobble[0] * rng.uniform(0, 0.008) * SIZE
    if rng.random() < 0.2:  # one dome stands higher than its fellow
        side = slice(0, POINTS) if rng.random() < 0.4 else slice(POINTS, None)
        apex = pair[side, 1].min()
        pair[side, 1] = apex + (pair[side, 1] - apex) * rng.uniform(0.68, 0.95)
    low, high = pair.min(axis=0), pair.max(axis=0)
    inner = (pair[:POINTS, 0].max() + pair[POINTS:, 0].min()) / 2
    masks: list[FloatImage] = []
    for outline in (pair[:POINTS], pair[POINTS:]):
        layer = Layer(SIZE)
        layer.polygon(smooth_closed(outline, 224))
        masks.append(layer.array())
    return Anatomy(
        pair, low[0], high[0], low[1], high[1], inner, high[0] - low[0], np.stack(masks), child
    )


def _heart_outline(rng: np.random.Generator, a: Anatomy, bottom: float) -> Points:
    ratio = np.clip(rng.normal(0.54 if a.child else 0.49, 0.07), 0.34, 0.74)
    reach = ratio * a.width
    to_right = reach * rng.uniform(0.26, 0.42)  # extent to the patient's right of the midline
    to_left = reach - to_right
    top = bottom - reach * rng.uniform(0.78, 1.12)
    top = max(top, bottom - a.height * rng.uniform(0.62, 0.78))
    tall = bottom - top
    j = lambda s=0.025: rng.normal(0, s)  # noqa: E731 - one-letter jitter keeps the table readable
    rows = [
        (-to_right * (0.42 + j(0.06)), 0.04 + j()),
        (-to_right * (0.74 + j(0.04)), 0.28 + j()),
        (-to_right, 0.60 + j(0.04)),
        (-to_right * (0.84 + j(0.04)), 0.90 + j(0.02)),
        (0.05 * to_left, 1.02 + j(0.02)),
        (to_left * (0.62 + j()), 1.02 + j(0.02)),
        (to_left * (0.95 + j(0.01)), 0.92 + j(0.02)),
        (to_left, 0.76 + j(0.03)),
        (to_left * (0.82 + j(0.04)), 0.48 + j(0.03)),
        (to_left * (0.56 + j(0.05)), 0.22 + j()),
        (to_left * (0.38 + j(0.05)), 0.02 + j()),
    ]
    return np.array([(a.middle + dx, top + dy * tall) for dx, dy in rows])


def _dome(a: Anatomy, side: int) -> float:
    """Returns the y of the lung base near the heart, side 0 = viewer's left."""
    inner = a.lungs[side * POINTS + 30 : side * POINTS + 38]
    return float(inner[:, 1].mean())


def _add_heart(rng: np.random.Generator, a: Anatomy) -> Points:
    bottom = 0.35 * _dome(a, 0) + 0.65 * _dome(a, 1) + a.height * rng.uniform(0.01, 0.05)
    outline = _heart_outline(rng, a, bottom)
    layer = Layer(SIZE)
    layer.polygon(smooth_closed(outline))
    a.heart = layer.array()
    top = outline[:, 1].min()
    layer = Layer(SIZE)
    right = outline[0, 0] + rng.normal(0, 0.006) * a.width
    left = outline[-1, 0] + rng.normal(0, 0.006) * a.width
    arch = a.top + a.height * rng.uniform(0.2, 0.32)
    knob = max(a.width * rng.uniform(0.05, 0.12), left - a.middle)
    upper = a.width * (rng.uniform(0.07, 0.17) if a.child else rng.uniform(0.05, 0.1))
    high = a.top - a.height * 0.1
    layer.polygon(
        smooth_closed(
            np.array(
                [
                    (a.middle - upper, high),
                    (a.middle - upper * 1.05, arch),
                    (right, (top + arch) / 2),
                    (right, top + 0.2 * a.height),
                    (left, top + 0.2 * a.height),
                    (left, (top + arch) / 2 + 0.05 * a.height),
                    (a.middle + knob * 0.86, arch + 0.07 * a.height),
                    (a.middle + knob, arch),
                    (a.middle + knob * 0.8, arch - 0.06 * a.height),
                    (a.middle + upper * 0.9, arch - 0.1 * a.height),
                    (a.middle + upper, high),
                ]
            )
        )
    )
    a.vessels = layer.array()
    return outline


def _torso(rng: np.random.Generator, a: Anatomy) -> tuple[FloatImage, FloatImage]:
    """Returns the body's silhouette and its soft-tissue thickness in units of attenuation."""
    half = a.width / 2 * rng.uniform(1.1, 1.42)
    neck = a.width * rng.uniform(0.14, 0.22)
    shoulder = a.top + a.height * rng.uniform(-0.02, 0.16)
    reach = half * rng.uniform(1.05, 1.4)
    armpit = a.top + a.height * rng.uniform(0.3, 0.5)
    waist = half * rng.uniform(0.9, 1.1)
    side = [
        (neck, -40),
        (neck * 1.1, a.top - 0.16 * a.height),
        (reach * 0.6, shoulder - 0.06 * a.height),
    ]
    side += [
        (reach, shoulder + 0.06 * a.height),
        (half * 1.04, armpit),
        (half, a.base),
        (waist, SIZE + 40),
    ]
    jitter = rng.normal(0, 0.015 * a.width, (2, len(side), 2))
    right = np.array([(a.middle - x, y) for x, y in side]) + jitter[0]
    left = np.array([(a.middle + x, y) for x, y in side]) + jitter[1]
    layer = Layer(SIZE)
    layer.polygon(smooth_closed(np.concatenate([left, right[::-1]]), 160))
    trunk = layer.array(0.8)
    body = depth(trunk, half * rng.uniform(0.5, 0.9)) * rng.uniform(0.9, 1.15)
    if rng.random() < 0.75:  # arms, away from or against the trunk, often cut by the border
        for sign, chest in ((-1, right), (1, left)):
            start = chest[3] + (-sign * 0.05 * a.width, 0.02 * a.height)
            up = a.child and rng.random() < 0.7
            angle = rng.uniform(2.2, 3.0) if up else rng.uniform(-0.1, 0.75)
            end = start + 1.4 * a.height * np.array([sign * np.sin(angle), np.cos(angle)])
            arm, bone = Layer(SIZE), Layer(SIZE)
            thick = a.width * rng.uniform(0.13, 0.24)
            arm.line(np.array([start, end]), thick)
            bone.line(np.array([start, end]), thick * rng.uniform(0.25, 0.4))
            limb = arm.array(1.0)
            body = np.maximum(body, 0) + depth(limb, thick * 0.5) * 0.45 + bone.array(0.7) * 0.3
            trunk = np.maximum(trunk, limb)
    if a.child and rng.random() < 0.6:
        jaw = Layer(SIZE)
        at = a.middle + rng.normal(0, 6), a.top - a.height * rng.uniform(0.25, 0.5)
        jaw.ellipse(at, (a.width * rng.uniform(0.2, 0.32), a.height * rng.uniform(0.15, 0.3)))
        head = jaw.array(0.8)
        body += (
            depth(head, a.width * 0.1) * rng.uniform(0.2, 0.6) * (1 + noise(rng, SIZE, 20) * 0.1)
        )
        trunk = np.maximum(trunk, head)
    return trunk, body


def _air(rng: np.random.Generator, a: Anatomy) -> FloatImage:
    """Returns the attenuation that air in the lungs takes away."""
    both = np.clip(a.full.sum(axis=0), 0, 1)
    thick = depth(both, a.width * rng.uniform(0.09, 0.24), rng.uniform(0.4, 0.7))
    rows = np.arange(SIZE, dtype=np.float32)[:, None]
    along = np.clip((rows - a.top) / a.height, 0, 1)
    apex = 1 - rng.uniform(0.05, 0.35) * (1 - along) ** 3  # less lung and more shoulder at the apex
    loss = rng.uniform(0.5, 0.78) * thick * apex * (1 + 0.05 * noise(rng, SIZE, 5))
    hidden = 1 - np.clip(a.heart + a.vessels, 0, 1) * rng.uniform(0.5, 1.0)
    sulcus = ndimage.shift(both, (rng.uniform(0.02, 0.08) * a.height, 0), order=0, mode="nearest")
    spill = np.clip(sulcus - both, 0, 1) * rng.uniform(0, 0.12)
    return (loss * hidden + ndimage.gaussian_filter(spill, 1.5)).astype(np.float32)


def _biggest(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns the largest component: annotators leave out scraps of lung below the heart."""
    parts, count = cast("tuple[NDArray[np.int32], int]", ndimage.label(mask))
    if count < 2:
        return mask
    return parts == 1 + int(np.argmax(np.bincount(parts.ravel())[1:]))


def _labels(a: Anatomy, covered: FloatImage) -> NDArray[np.uint8]:
    labels = np.zeros((SIZE, SIZE), np.uint8)
    free = (a.vessels < 0.5) & (covered < 0.5)
    for value, lung in ((RIGHT_LUNG, a.full[0]), (LEFT_LUNG, a.full[1])):
        labels[_biggest((lung > 0.5) & free & (a.heart <= 0.5))] = value
    labels[a.heart > 0.5] = HEART
    return labels


def frontal(rng: np.random.Generator, shape: ShapeModel) -> tuple[FloatImage, NDArray[np.uint8]]:
    """Renders one patient.

    Args:
        rng: Source of all randomness; the same state gives the same patient.
        shape: Lung outlines.

    Returns:
        Attenuation [SIZE, SIZE] (air about 0, abdomen about 1.2) and labels [SIZE, SIZE] with the
        values BACKGROUND, RIGHT_LUNG, LEFT_LUNG, HEART.
    """
    a = _place_lungs(rng, shape)
    outline = _add_heart(rng, a)
    trunk, image = _torso(rng, a)
    air = _air(rng, a)
    bulk = depth(a.heart, a.width * rng.uniform(0.08, 0.2)) * rng.uniform(0.04, 0.26)
    image = image - air * np.clip(image, 0.6, 1.0)
    image += bulk + ndimage.gaussian_filter(a.vessels, 1.2) * rng.uniform(0.0, 0.12)
    image += overlay.abdomen(rng, a, image) + overlay.soft_tissue(rng, a)
    image += bones.skeleton(rng, a) * rng.uniform(0.5, 1.3)
    image += overlay.vasculature(rng, a, outline) * rng.uniform(0.5, 1.4)
    covered = np.zeros((SIZE, SIZE), np.float32)
    if rng.random() < 0.45:
        image, covered = overlay.disease(rng, a, image)
    image = image * np.clip(trunk * 1.2, 0, 1)
    image = overlay.hardware(rng, a, image)
    return np.clip(image, -0.1, 2.2).astype(np.float32), _labels(a, covered)
