"""Small drawing helpers shared by the synthetic radiographs: antialiased shapes, noise, relief.

Every image here is a square float32 array [size, size]; points are (x, y) in pixels, pixel centres
at integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

FloatImage = NDArray[np.floating[Any]]
Points = NDArray[np.float64]

_SUPERSAMPLE = 2


class Layer:
    """An antialiased drawing surface.

    Overlapping strokes take the later value instead of adding up.
    """

    def __init__(self, size: int) -> None:
        """Starts an empty layer of `size` x `size` pixels."""
        self._size = size
        self._image = Image.new("L", (size * _SUPERSAMPLE, size * _SUPERSAMPLE))
        self._draw = ImageDraw.Draw(self._image)

    @staticmethod
    def _scaled(points: Points) -> list[tuple[float, float]]:
        return [(float(x), float(y)) for x, y in (points + 0.5) * _SUPERSAMPLE - 0.5]

    def polygon(self, points: Points, value: float = 1.0) -> None:
        """Fills a closed polygon [n, 2] with `value` (0..1)."""
        self._draw.polygon(self._scaled(points), fill=round(255 * value))

    def line(self, points: Points, width: float, value: float = 1.0) -> None:
        """Draws an open polyline [n, 2], `width` pixels wide."""
        wide = max(1, round(width * _SUPERSAMPLE))
        self._draw.line(self._scaled(points), fill=round(255 * value), width=wide, joint="curve")

    def ellipse(
        self,
        centre: Sequence[float] | Points,
        radii: Sequence[float],
        angle: float = 0.0,
        value: float = 1.0,
    ) -> None:
        """Fills an ellipse turned by `angle` radians."""
        self.polygon(ellipse_points(centre, radii, angle), value)

    def text(self, at: Sequence[float], letters: str, height: float, value: float = 1.0) -> None:
        """Writes film marker letters, their left upper corner at `at`."""
        x, y = (c * _SUPERSAMPLE for c in at)
        self._draw.text((x, y), letters, fill=round(255 * value), font_size=height * _SUPERSAMPLE)

    def array(self, blur: float = 0.0) -> FloatImage:
        """Returns the layer [size, size] in 0..1.

        Optionally blurred by a Gaussian of sigma `blur`.
        """
        small = self._image.reduce(_SUPERSAMPLE)
        out = np.asarray(small, np.float32) / 255
        return cast("FloatImage", ndimage.gaussian_filter(out, blur)) if blur > 0 else out


def ellipse_points(
    centre: Sequence[float] | Points, radii: Sequence[float], angle: float = 0.0
) -> Points:
    """Returns 48 points on an ellipse turned by `angle` radians."""
    turn = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    x, y = radii[0] * np.cos(turn), radii[1] * np.sin(turn)
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([centre[0] + c * x - s * y, centre[1] + s * x + c * y], axis=1)


def smooth_closed(points: Points, count: int = 96) -> Points:
    """Returns `count` points on a closed Catmull-Rom spline through `points` [n, 2]."""
    n = len(points)
    at = np.linspace(0, n, count, endpoint=False)
    i, f = at.astype(int), (at % 1)[:, None]
    p0, p1, p2, p3 = (points[(i + k) % n] for k in (-1, 0, 1, 2))
    return 0.5 * (
        2 * p1
        + (p2 - p0) * f
        + (2 * p0 - 5 * p1 + 4 * p2 - p3) * f**2
        + (3 * p1 - p0 - 3 * p2 + p3) * f**3
    )


def noise(rng: np.random.Generator, size: int, cells: int) -> FloatImage:
    """Returns smooth noise, standard deviation about 1, with `cells` independent cells a side."""
    small = Image.fromarray(rng.normal(size=(cells, cells)).astype(np.float32))
    field = np.asarray(small.resize((size, size), Image.Resampling.BICUBIC), np.float32)
    return field / (field.std() + 1e-6)


def depth(mask: FloatImage, reach: float, power: float = 0.5) -> FloatImage:
    """Returns how thick a rounded body with outline `mask` is: 0 at the edge.

    1 from `reach` pixels inwards.

    Args:
        mask: Outline [size, size] in 0..1.
        reach: Distance in pixels over which the thickness rises.
        power: 0.5 gives a round edge, larger a sharper one.
    """
    half = mask[::2, ::2] > 0.5
    padded = cast("FloatImage", ndimage.distance_transform_edt(np.pad(half, 1, mode="edge")))
    distance = padded[1:-1, 1:-1] * 2
    rise = np.clip(distance / max(reach, 1.0), 0, 1)
    relief = (1 - (1 - rise) ** 2) ** power
    full = Image.fromarray(relief.astype(np.float32)).resize(
        (mask.shape[1], mask.shape[0]), Image.Resampling.BILINEAR
    )
    return np.asarray(full, np.float32) * mask
