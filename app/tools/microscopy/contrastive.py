"""Trains a network to tell cells apart without labels: contrastive learning (torch; model process).

The method is SimCLR (Chen et al., ICML 2020, arXiv:2002.05709): two altered views of one cell are
drawn together, views of different cells apart. What is altered is what a cell's state must not
depend on: how it lies, a little of its size, brightness and noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

Floats = NDArray[np.float32]
Tell = Callable[[float, str], None]

SIDE = 48
"""Rows and columns of a cell as the small network sees it."""
_BATCH = 128
_TEMPERATURE = 0.2
_PROJECTED = 64
_LEARNING_RATE = 1e-3


@dataclass(frozen=True, slots=True)
class Training:
    """What training gave: the embedding float32 [cells, values], and the mean loss per epoch."""

    embedding: Floats
    losses: list[float]


class CellNet(nn.Module):
    """A small convolutional network: [cells, channels, 48, 48] -> [cells, 128]."""

    width = 128

    def __init__(self, channels: int) -> None:
        super().__init__()
        widths = (channels, 16, 32, 64, self.width)
        layers: list[nn.Module] = []
        for before, after in itertools.pairwise(widths):
            layers += [
                nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(after),
                nn.ReLU(),
            ]
        self.layers = nn.Sequential(*layers)

    def forward(self, cells: torch.Tensor) -> torch.Tensor:
        """Return the embedding [cells, 128]."""
        return self.layers(cells).mean((2, 3))


def altered(cells: torch.Tensor, dice: torch.Generator) -> torch.Tensor:
    """Return randomly altered views of cells [n, channels, side, side] whose values are 0..1.

    They are rotated by any angle, mirrored, scaled by up to 10%, and their brightness, contrast and
    noise changed. The last channel, the mask, keeps its values.
    """
    count = len(cells)

    def between(low: float, high: float, *shape: int) -> torch.Tensor:
        return low + (high - low) * torch.rand(count, *shape, generator=dice)

    angle, size = between(0, 2 * math.pi), between(0.9, 1.1)
    mirror = torch.where(between(0, 1) < 0.5, -1.0, 1.0)
    cos, sin = torch.cos(angle) / size, torch.sin(angle) / size
    none = torch.zeros(count)
    theta = torch.stack(
        [torch.stack([mirror * cos, -sin, none], 1), torch.stack([mirror * sin, cos, none], 1)], 1
    )
    grid = functional.affine_grid(theta, list(cells.shape), align_corners=False)
    turned = functional.grid_sample(cells, grid.to(cells), align_corners=False)
    grey, mask = turned[:, :-1], turned[:, -1:]
    each = (cells.shape[1] - 1, 1, 1)
    grey = grey * between(0.8, 1.2, *each).to(cells) + between(-0.1, 0.1, *each).to(cells)
    noise = torch.randn(grey.shape, generator=dice).to(cells)
    grey = grey + 0.02 * noise
    return torch.cat([(grey * mask).clamp(0, 1.5), mask], 1)


def contrastive_loss(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Return SimCLR's loss (NT-Xent) of two views' projections, each [n, values]."""
    views = functional.normalize(torch.cat([one, other]), dim=1)
    alike = views @ views.T / _TEMPERATURE
    alike.fill_diagonal_(float("-inf"))
    count = len(one)
    target = torch.arange(2 * count, device=one.device).roll(count)
    return functional.cross_entropy(alike, target)


def train(
    net: nn.Module,
    width: int,
    cells: Floats,
    *,
    prepare: Callable[[torch.Tensor], torch.Tensor],
    epochs: int,
    seed: int,
    tell: Tell,
    device: str = "cpu",
    batch: int = _BATCH,
    rate: float = _LEARNING_RATE,
) -> Training:
    """Train a network's free parameters on cells, and return what it then makes of each.

    Args:
        net: Maps what `prepare` makes to [n, width]; it is changed. Parameters without
            `requires_grad` stay as they are.
        width: Length of its output.
        cells: float32 [cells, channels + 1, side, side], from `cell_pictures.squares`.
        prepare: Maps views of cells to the network's input.
        epochs: How often each cell is seen; 0 to leave the network as it is.
        seed: Of the order of the cells and of their views.
        tell: `tell(fraction 0..1, text)`; may raise to stop.
        device: The network's device.
        batch: Cells at once.
        rate: The learning rate of AdamW; it falls to 0 by a cosine.
    """
    dice = torch.Generator().manual_seed(seed)
    data = torch.from_numpy(cells)
    head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, _PROJECTED))
    head.to(device)
    free = [p for p in [*net.parameters(), *head.parameters()] if p.requires_grad]
    optimizer = torch.optim.AdamW(free, lr=rate, weight_decay=1e-4)
    batch = min(batch, max(32, len(data) // 4), len(data))  # few cells: several steps an epoch
    steps = max(1, len(data) // batch)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, epochs * steps))
    losses: list[float] = []
    net.train()
    for epoch in range(epochs):
        order = torch.randperm(len(data), generator=dice)
        total = 0.0
        for step in range(steps):
            tell((epoch + step / steps) / epochs, f"Training, epoch {epoch + 1} of {epochs}")
            chosen = data[order[step * batch : (step + 1) * batch]]
            views = [prepare(altered(chosen, dice).to(device)) for _ in range(2)]
            loss = contrastive_loss(head(net(views[0])), head(net(views[1])))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            falling.step()
            total += float(loss.detach())
        losses.append(total / steps)
    net.eval()
    made: list[torch.Tensor] = []
    with torch.inference_mode():
        for start in range(0, len(data), batch):
            tell(1.0, "Computing embeddings")
            # The mean over four turns depends less on how the cell lies.
            part = data[start : start + batch]
            turns = [net(prepare(torch.rot90(part, k, (2, 3)).to(device))) for k in range(4)]
            made.append(torch.stack(turns).mean(0).float().cpu())
    return Training(torch.cat(made).numpy(), losses)


def train_small(cells: Floats, *, epochs: int, seed: int, tell: Tell) -> Training:
    """Train a `CellNet` from random weights on cells, on the CPU; the same seed gives the same."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = CellNet(cells.shape[1])
        return train(
            net, net.width, cells, prepare=lambda views: views, epochs=epochs, seed=seed, tell=tell
        )
