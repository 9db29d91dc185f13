"""Renders a reproducible pool of synthetic images once, in several processes.

Sample `i` of a pool depends only on the seed and `i`, so the number of processes changes nothing.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from training.thorax import negatives, render, shapes

FRONTAL, LATERAL, OTHER = 0, 1, 2


@dataclass(frozen=True)
class Pool:
    """Rendered attenuation and truth.

    Attributes:
        images: [n, SIZE, SIZE] float16.
        labels: [n, SIZE, SIZE] uint8, zero everywhere for what is not frontal.
        kinds: [n] FRONTAL, LATERAL or OTHER.
    """

    images: NDArray[np.float16]
    labels: NDArray[np.uint8]
    kinds: NDArray[np.int64]


_shape: shapes.ShapeModel | None = None


def _start(shape: shapes.ShapeModel) -> None:
    global _shape
    _shape = shape


def _one(item: tuple[int, int], seed: int) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    index, kind = item
    rng = np.random.default_rng([seed, kind, index])
    labels = np.zeros((render.SIZE, render.SIZE), np.uint8)
    if kind == FRONTAL:
        assert _shape is not None
        image, labels = render.frontal(rng, _shape)
    else:
        image = negatives.lateral(rng) if kind == LATERAL else negatives.other(rng)
    return image.astype(np.float16), labels


def build(counts: tuple[int, int, int], seed: int, processes: int = 2) -> Pool:
    """Renders `counts` frontal, lateral and other images."""
    shape = shapes.load()
    items = [(i, kind) for kind, count in enumerate(counts) for i in range(count)]
    images = np.empty((len(items), render.SIZE, render.SIZE), np.float16)
    labels = np.empty(images.shape, np.uint8)
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, _start, (shape,)) as workers:
        done = workers.imap(partial(_one, seed=seed), items, chunksize=16)
        for i, (image, label) in enumerate(done):
            images[i], labels[i] = image, label
    return Pool(images, labels, np.array([kind for _, kind in items], np.int64))
