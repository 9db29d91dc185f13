"""From attenuation to what a viewer shows, randomly.

Geometry, tone, local contrast, blur, noise, borders, JPEG.

Everything works on batches of torch tensors [n, 1, 256, 256]; randomness comes from one generator.
"""

from __future__ import annotations

import io
import math

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional

from app.tools.chest.thorax_arch import INPUT_SIZE, VIEWS, standardise
from training.thorax.pool import FRONTAL

OTHER, INVERTED = VIEWS.index("other"), VIEWS.index("inverted")
CLASSES = 4
MIRRORED = 0.3
"""Share of films shown mirrored."""


def _box(x: Tensor, reach: int) -> Tensor:
    """Returns means over squares of 2 * reach + 1 pixels.

    By running sums so that wide ones cost no more.
    """
    wide = 2 * reach + 1
    for axis in (2, 3):
        pad = (0, 0, reach + 1, reach) if axis == 2 else (reach + 1, reach, 0, 0)
        total = functional.pad(x, pad, mode="reflect").cumsum(axis)
        size = total.shape[axis]
        x = (total.narrow(axis, wide, size - wide) - total.narrow(axis, 0, size - wide)) / wide
    return x


class Augmenter:
    """Draws a differently displayed copy of each image every time."""

    def __init__(self, seed: int, mirrored: float = MIRRORED) -> None:
        """Seeds all randomness; `mirrored` is the share of films shown from their back."""
        self._mirrored = mirrored
        self._g = torch.Generator().manual_seed(seed)
        self._rng = np.random.default_rng(seed)

    def _u(self, n: int, low: float, high: float) -> Tensor:
        return torch.rand(n, 1, 1, 1, generator=self._g) * (high - low) + low

    def _chance(self, n: int, p: float) -> Tensor:
        return torch.rand(n, 1, 1, 1, generator=self._g) < p

    def __call__(
        self, image: Tensor, label: Tensor, kind: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Displays a batch.

        Args:
            image: Attenuation [n, 1, 256, 256].
            label: Classes [n, 256, 256], integers.
            kind: FRONTAL, LATERAL or OTHER [n].

        Returns:
            Standardised network input [n, 1, 256, 256], soft labels [n, 4, 128, 128], view classes
            [n], and whether each was mirrored [n].
        """
        image, label, mirrored = self._mirror(image, label)
        image, soft = self._warp(image, label)
        image = self._detail(self._contrast(self._tone(image)))
        image = self._compress(self._frame(image))
        image, view = self._misfits(image, kind)
        return standardise(image), soft, view, mirrored

    def _mirror(self, image: Tensor, label: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mirrors some, as a film scanned from its back.

        The masks follow the picture: what lies on the viewer's left stays the right lung.
        """
        some = self._chance(len(image), self._mirrored).view(-1)
        image = torch.where(some.view(-1, 1, 1, 1), image.flip(3), image)
        swapped = torch.tensor([0, 2, 1, 3])[label.flip(2).long()].to(label.dtype)
        return image, torch.where(some.view(-1, 1, 1), swapped, label), some

    def _warp(self, image: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        n = len(image)
        zoom = torch.exp(self._u(n, math.log(0.72), math.log(1.22))).view(n)
        # A small chest in a large frame: padding and collimation left on.
        away = torch.exp(self._u(n, 0.0, math.log(1.5))).view(n)
        zoom = torch.where(self._chance(n, 0.25).view(n), zoom * away, zoom)
        stretch = torch.exp(self._u(n, -0.1, 0.1)).view(n)
        turn = (torch.randn(n, generator=self._g) * math.radians(4.5)).clamp(-0.28, 0.28)
        shift = torch.randn(n, 2, generator=self._g) * 0.07
        cos, sin = torch.cos(turn) * zoom, torch.sin(turn) * zoom
        theta = torch.stack(
            [
                torch.stack([cos * stretch, -sin, shift[:, 0]], 1),
                torch.stack([sin, cos / stretch, shift[:, 1]], 1),
            ],
            1,
        )
        grid = functional.affine_grid(theta, [n, 1, INPUT_SIZE, INPUT_SIZE], align_corners=False)
        bend = torch.randn(n, 2, 6, 6, generator=self._g) * self._u(n, 0.0, 0.016)
        gentle = functional.interpolate(bend, 32, mode="bicubic", align_corners=True)
        smooth = functional.interpolate(gentle, INPUT_SIZE, mode="bilinear", align_corners=True)
        grid = grid + smooth.permute(0, 2, 3, 1)
        halved = functional.avg_pool2d(grid.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)
        planes = [
            functional.avg_pool2d((label == c).float()[:, None], 2) for c in range(1, CLASSES)
        ]
        inside = functional.grid_sample(torch.cat(planes, 1), halved, align_corners=False)
        shown = functional.grid_sample(image, grid, align_corners=False)
        return shown, torch.cat([1 - inside.sum(1, keepdim=True), inside], 1)

    def _tone(self, x: Tensor) -> Tensor:
        n = len(x)
        sample = x[:, 0, ::4, ::4].reshape(n, -1).sort(dim=1).values

        def pick(share: Tensor) -> Tensor:
            at = (share.view(n) * (sample.shape[1] - 1)).long()
            return sample[torch.arange(n), at].view(n, 1, 1, 1)

        low, high = pick(self._u(n, 0.0, 0.15)), pick(self._u(n, 0.93, 1.0))
        x = (x - low) / (high - low + 0.05)
        slope, centre = self._u(n, 2.5, 7.5), self._u(n, 0.35, 0.65)
        curve = torch.sigmoid(slope * (x - centre))
        x = torch.where(self._chance(n, 0.5), curve, x).clamp(0, 1)
        x = x ** torch.exp(self._u(n, -0.65, 0.65))
        ramp = torch.linspace(-1, 1, INPUT_SIZE)
        tilt = self._u(n, -0.15, 0.15) * ramp.view(1, 1, 1, -1) + self._u(
            n, -0.15, 0.15
        ) * ramp.view(1, 1, -1, 1)
        x = x * (1 + tilt)
        return (x * self._u(n, 0.6, 1.0) + self._u(n, 0.0, 0.2) * self._chance(n, 0.3)).clamp(0, 1)

    def _contrast(self, x: Tensor) -> Tensor:
        """Local contrast as CLAHE and detector software give it."""
        some = torch.nonzero(self._chance(len(x), 0.4).view(-1))[:, 0]
        part, reach = x[some], int(self._rng.choice((16, 24, 40)))
        mean, square = _box(part, reach), _box(part * part, reach)
        local = 0.5 + 0.2 * (part - mean) / ((square - mean**2).clamp(min=0).sqrt() + 0.05)
        share = self._u(len(some), 0.0, 0.8)
        x[some] = ((1 - share) * part + share * local).clamp(0, 1)
        return x

    def _detail(self, x: Tensor) -> Tensor:
        for change, share in ((self._sharpen, 0.35), (self._blur, 0.25), (self._grain, 0.6)):
            some = torch.nonzero(self._chance(len(x), share).view(-1))[:, 0]
            if len(some):
                x[some] = change(x[some])
        return x.clamp(0, 1)

    def _sharpen(self, x: Tensor) -> Tensor:
        return x + self._u(len(x), 0.2, 1.6) * (x - _box(x, 2))

    def _blur(self, x: Tensor) -> Tensor:
        return _box(x, 1)

    def _grain(self, x: Tensor) -> Tensor:
        fine = torch.randn(x.shape, generator=self._g)
        share = self._u(len(x), 0.0, 1.0)
        return x + (fine * share + 2 * _box(fine, 1) * (1 - share)) * self._u(len(x), 0.0, 0.06)

    def _frame(self, x: Tensor) -> Tensor:
        """Collimation, letterboxes, printed boxes and annotations over the film."""
        for i in range(len(x)):
            fill = float(self._rng.choice((0.0, 0.0, 0.0, 1.0, self._rng.uniform(0, 1))))
            if self._rng.random() < 0.35:
                top, low, left, right = (
                    int(v) for v in self._rng.integers(0, 24, 4) * (self._rng.random(4) < 0.6)
                )
                x[i, :, :top], x[i, :, INPUT_SIZE - low :] = fill, fill
                x[i, :, :, :left], x[i, :, :, INPUT_SIZE - right :] = fill, fill
            if self._rng.random() < 0.15:
                top, left = self._rng.integers(0, 240, 2)
                tall, wide = self._rng.integers(4, 40, 2)
                x[i, :, top : top + tall, left : left + wide] = float(self._rng.choice((0, 1, 0.5)))
        return x

    def _compress(self, x: Tensor) -> Tensor:
        for i in range(len(x)):
            if self._rng.random() < 0.3:
                pixels = (x[i, 0] * 255).round().to(torch.uint8).numpy()
                buffer = io.BytesIO()
                Image.fromarray(pixels).save(
                    buffer, "JPEG", quality=int(self._rng.integers(25, 95))
                )
                x[i, 0] = torch.from_numpy(np.asarray(Image.open(buffer), np.float32) / 255)
        return x

    def _misfits(self, x: Tensor, kind: Tensor) -> tuple[Tensor, Tensor]:
        """Inverts or turns some frontal films, which the view head then has to report."""
        view = kind.clone()
        for i in range(len(x)):
            dice = self._rng.random()
            if kind[i] != FRONTAL:
                if dice < 0.35:
                    x[i] = 1 - x[i]
            elif dice < 0.15:
                x[i] = 1 - x[i]
                view[i] = INVERTED
            elif dice < 0.2:
                x[i] = torch.rot90(x[i], int(self._rng.integers(1, 4)), (1, 2))
                view[i] = OTHER
        return x, view
