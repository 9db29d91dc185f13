"""The network of the embedded chest segmentation: a small U-Net with a view classifier (torch).

Imported only in the model process and the training script.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

INPUT_SIZE = 256
STRUCTURES: tuple[str, ...] = ("Right Lung", "Left Lung", "Heart")
"""Output channels after the background; left and right are the patient's."""
VIEWS: tuple[str, ...] = ("frontal", "lateral", "other", "inverted")
"""Classes of the view classifier; "inverted" is a frontal film with inverted grey levels."""
_WIDTHS = (16, 32, 64, 72)
_SIDE_GRID = (2, 4)  # rows and columns of cells for the classifier of mirrored films
# Group normalisation uses each image's own statistics, so brightness and contrast matter little.
_GROUP = 8  # channels of a normalisation group


class Block(nn.Module):
    """Two 3 x 3 convolutions, each with group normalisation and ReLU."""

    def __init__(self, inputs: int, outputs: int, dilation: int = 1) -> None:
        """Create the layers for `inputs` input and `outputs` output channels."""
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(outputs // _GROUP, outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=dilation, dilation=dilation, bias=False)
        self.norm2 = nn.GroupNorm(outputs // _GROUP, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Map [n, inputs, h, w] to [n, outputs, h, w]."""
        x = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(x)))


class ThoraxNet(nn.Module):
    """Four-level U-Net at half resolution, with classifiers of the view at its lowest level.

    For images [n, 1, 256, 256] it returns logits: [n, 4, 128, 128] for the background and
    STRUCTURES, [n, 4] for VIEWS, and [n] for "the film is mirrored".
    """

    def __init__(self) -> None:
        """Create the layers, with random weights."""
        super().__init__()
        w = _WIDTHS
        self.stem = nn.Conv2d(1, w[0], 5, stride=2, padding=2)
        self.down = nn.ModuleList([Block(w[0], w[0]), Block(w[0], w[1]), Block(w[1], w[2])])
        self.bottom = nn.ModuleList([Block(w[2], w[3]), Block(w[3], w[3], dilation=2)])
        self.up = nn.ModuleList(
            [Block(w[3] + w[2], w[2]), Block(w[2] + w[1], w[1]), Block(w[1] + w[0], w[0])]
        )
        self.head = nn.Conv2d(w[0], 1 + len(STRUCTURES), 1)
        self.view = nn.Sequential(nn.Linear(2 * w[3], 64), nn.ReLU(), nn.Linear(64, len(VIEWS)))
        cells = _SIDE_GRID[0] * _SIDE_GRID[1]
        self.side = nn.Sequential(nn.Linear(cells * w[3], 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits (structures, views, mirrored) for images [n, 1, 256, 256]."""
        x, skips = self._encode(x)
        view, side = self._classify(x)
        for block, skip in zip(self.up, reversed(skips), strict=True):
            x = functional.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
            x = block(torch.cat([x, skip], dim=1))
        return self.head(x), view, side

    def classify_view(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits (views [n, 4], mirrored [n]) without computing the decoder."""
        return self._classify(self._encode(x)[0])

    def mirror_features(self, x: Tensor) -> Tensor:
        """Return the features [n, f] of images `x` that tell the network if a film is mirrored."""
        return _grid_features(self._encode(x)[0])

    def _classify(self, bottom: Tensor) -> tuple[Tensor, Tensor]:
        """Return the view logits [n, 4] and the mirrored logit [n]."""
        pooled = torch.cat([bottom.mean(dim=(2, 3)), bottom.amax(dim=(2, 3))], dim=1)
        return self.view(pooled), self.side(_grid_features(bottom))[:, 0]

    def _encode(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the lowest level's features [n, 72, 16, 16] and the skip connections."""
        x = functional.relu(self.stem(x))
        skips: list[Tensor] = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = functional.max_pool2d(x, 2)
        x = self.bottom[0](x)
        return x + self.bottom[1](x), skips


def _grid_features(x: Tensor) -> Tensor:
    """Return features averaged over a few grid cells [n, f], which keeps left and right apart."""
    return functional.adaptive_avg_pool2d(x, _SIDE_GRID).flatten(1)


def standardise(x: Tensor) -> Tensor:
    """Return images [n, 1, h, w], each scaled to mean 0 and deviation 1; 0 for a constant image."""
    mean = x.mean(dim=(1, 2, 3), keepdim=True)
    return (x - mean) / (x.std(dim=(1, 2, 3), keepdim=True) + 1e-4)
