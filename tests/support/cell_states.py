"""Synthetic micrographs of cells in two states, with their masks: an experiment of known truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

ROUND, LONG = "round", "long"
_CELL = 40  # rows and columns of the grid's fields, with one cell in each


@dataclass(frozen=True, slots=True)
class Micrograph:
    """One image of an experiment.

    Attributes:
        pixels: uint16 [rows, columns].
        labels: uint16 [rows, columns], the true outlines.
        states: The state of each cell, by its number less one.
    """

    group: str
    replicate: str
    pixels: NDArray[np.uint16]
    labels: NDArray[np.uint16]
    states: tuple[str, ...]


def micrograph(share: float, group: str, replicate: str, seed: int, side: int = 7) -> Micrograph:
    """Return an image of `side` x `side` cells, of which about `share` are long.

    Round cells are smooth, long ones granular. Size, brightness and lie vary within each state.
    """
    dice = np.random.default_rng(seed)
    long = dice.random(side * side) < share
    pixels = np.full((side * _CELL,) * 2, 600.0)
    labels = np.zeros(pixels.shape, np.uint16)
    for number in range(side * side):
        top, left = (_CELL * place for place in divmod(number, side))
        inside, grey = _cell(bool(long[number]), dice)
        field = np.s_[top : top + _CELL, left : left + _CELL]
        pixels[field] += grey
        labels[field][inside] = number + 1
    pixels = ndimage.gaussian_filter(pixels, 0.7) + dice.normal(0, 60, pixels.shape)
    states = tuple(LONG if one else ROUND for one in long)
    stored = pixels.clip(0, 65535).astype(np.uint16)
    return Micrograph(group, replicate, stored, labels, states)


def _cell(long: bool, dice: np.random.Generator) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    size, angle = dice.normal(1, 0.08), dice.uniform(0, np.pi)
    across, along = (6.0 * size, 13.0 * size) if long else (8.5 * size, 9.5 * size)
    y, x = np.mgrid[:_CELL, :_CELL] - _CELL / 2 + dice.uniform(-2, 2, (2, 1, 1))
    u, v = x * np.cos(angle) + y * np.sin(angle), y * np.cos(angle) - x * np.sin(angle)
    inside = (u / along) ** 2 + (v / across) ** 2 < 1
    grains = ndimage.gaussian_filter(dice.normal(0, 1, inside.shape), 1.0)
    texture = 1 + (1.2 if long else 0.1) * grains
    return inside, np.where(inside, dice.normal(6000, 900) * texture, 0).clip(0)


def experiment(
    seed: int, *, control: float = 0.25, treated: float = 0.6, replicates: int = 3, side: int = 7
) -> list[Micrograph]:
    """Return images of two groups; the replicates' shares of long cells vary about the group's."""
    dice = np.random.default_rng(seed)
    return [
        micrograph(
            float(np.clip(dice.normal(share, 0.04), 0.02, 0.98)),
            group,
            f"{group}-{number}",
            int(dice.integers(2**31)),
            side,
        )
        for group, share in (("control", control), ("treatment", treated))
        for number in range(1, replicates + 1)
    ]
