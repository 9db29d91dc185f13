"""Measures the finished segmentation on synthetic images that training never drew.

    python -m training.thorax.probe --weights resources/models/thorax-net/thorax-net.safetensors

Prints Dice a structure, polarity and view decisions, and what becomes of white-outs and effusions.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.tools.chest.ctr_geometry import measure
from app.tools.chest.thorax_arch import STRUCTURES, ThoraxNet
from app.tools.chest.thorax_net import ThoraxSegmentation, load, segment
from training.thorax import negatives, render, shapes
from training.thorax.paint import FloatImage

SEED = 880_001


def displayed(attenuation: FloatImage) -> NDArray[np.float32]:
    """Returns a plain window of attenuation in 0..1."""
    low, high = np.percentile(attenuation, (1, 99))
    scaled = (attenuation - low) / max(float(high - low), 1e-3)
    return np.clip(scaled, 0, 1).astype(np.float32)


def _dice(found: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    total = int(found.sum()) + int(true.sum())
    return 2 * int((found & true).sum()) / total if total else 1.0


def frontals(net: ThoraxNet, shape: shapes.ShapeModel, count: int) -> None:
    """Prints Dice and confidence upright, and what is made of the same films inverted."""
    scores: dict[str, list[float]] = {name: [] for name in STRUCTURES}
    sure: list[float] = []
    ratios: list[float] = []
    refused, missed, false_alarms, small = 0, 0, 0, Counter[str]()
    for i in range(count):
        image, labels = render.frontal(np.random.default_rng([SEED, i]), shape)
        pixels = displayed(image)
        found = segment(pixels, net)
        refused += found.refused is not None
        false_alarms += found.inverted
        missed += not segment(1 - pixels, net).inverted
        if found.refused is None:
            for value, name in enumerate(STRUCTURES, start=1):
                scores[name].append(_dice(found.masks[name], labels == value))
            sure.append(float(np.mean(list(found.confidence.values()))))
            ratios += _ratio_error(labels, found)
        small[_whitened(labels, found)] += 1
    for name, values in scores.items():
        low = np.percentile(values, 5)
        print(f"{name:10}  Dice mean {np.mean(values):.3f}, 5th percentile {low:.3f}")
    print(f"cardiothoracic ratio off by {np.mean(ratios):.3f} on average ({len(ratios)} films)")
    print(f"confidence mean {np.mean(sure):.3f}; refused {refused} of {count}")
    print(f"upright taken for inverted {false_alarms}, inverted taken for upright {missed}")
    print("a lung mostly covered:", dict(small))


def _ratio_error(labels: NDArray[np.uint8], found: ThoraxSegmentation) -> list[float]:
    """Returns how far the ratio from the masks is off that from the truth; nothing if refused."""
    true = {name: labels == value for value, name in enumerate(STRUCTURES, start=1)}
    wanted, got = measure(true), measure(found.masks, confidence=found.confidence)
    if wanted.ratio is None or got.ratio is None:
        return []
    return [abs(wanted.ratio - got.ratio)]


def _whitened(labels: NDArray[np.uint8], found: ThoraxSegmentation) -> str:
    """Returns what was said of a film one of whose true lungs is less than 40% of the other."""
    areas = sorted(int((labels == value).sum()) for value in (1, 2))
    if areas[0] >= 0.4 * areas[1]:
        return "not the case"
    if found.refused is not None:
        return "refused"
    return "warned" if found.warnings else "silent"


def others(net: ThoraxNet, count: int) -> None:
    """Prints what is made of laterals and of images that are no chest films."""
    for name, draw in (("lateral", negatives.lateral), ("other", negatives.other)):
        views: Counter[str] = Counter()
        for i in range(count):
            image = draw(np.random.default_rng([SEED + 1, i]))
            found = segment(displayed(image), net)
            views[f"refused as {found.view}" if found.refused else "accepted"] += 1
        print(f"{name}: {dict(views)}")


def main() -> None:
    """Parses the command line and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--count", type=int, default=150)
    args = parser.parse_args()
    net = load(args.weights)
    frontals(net, shapes.load(), args.count)
    others(net, args.count)


if __name__ == "__main__":
    main()
