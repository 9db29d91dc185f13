"""Dice and speed of the embedded chest segmentation on real films, never trained or tuned on.

    python -m tests.bench.bench_thorax

Prints each film, mean and minimum, and the same for a named baseline measured in the same run:
Otsu's threshold, the two largest dark regions off the border.  Exit code 1 if a bound is broken.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage.filters import threshold_otsu

BoolImage = NDArray[np.bool_]

ROOT = Path(__file__).resolve().parents[2]
PAIRS = ROOT.parent / "shared" / "data" / "chest" / "lung-masks"
WEIGHTS = ROOT / "resources" / "models" / "thorax-net" / "thorax-net.safetensors"
MEAN_DICE, LEAST_DICE, MOST_SECONDS = 0.93, 0.91, 0.5


def dice(found: BoolImage, true: BoolImage) -> float:
    """Returns twice the overlap over the sum of the areas; 1 if both are empty."""
    total = int(found.sum()) + int(true.sum())
    return 2 * int((found & true).sum()) / total if total else 1.0


def otsu(pixels: NDArray[np.float32]) -> BoolImage:
    """The baseline: the two largest dark regions that don't touch the border, holes filled."""
    labels, count = cast(
        "tuple[NDArray[np.int32], int]", ndimage.label(pixels < threshold_otsu(pixels))
    )
    edge = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
    areas = np.bincount(labels.ravel(), minlength=count + 1)
    areas[0] = 0
    areas[edge] = 0
    kept = np.isin(labels, np.argsort(areas)[::-1][:2]) & (areas[labels] > 0)
    return cast("BoolImage", ndimage.binary_fill_holes(kept))


def films() -> list[tuple[str, NDArray[np.float32], BoolImage]]:
    """Returns name, pixels 0..1 and true lungs of each pair found."""
    found: list[tuple[str, NDArray[np.float32], BoolImage]] = []
    for path in sorted(PAIRS.glob("*-mask.png")):
        image = path.with_name(path.name.replace("-mask.png", ".jpg"))
        pixels = np.asarray(Image.open(image).convert("L"), np.float32) / np.float32(255)
        found.append((image.name, pixels, np.asarray(Image.open(path).convert("L")) > 127))
    return found


def _timed(
    method: Callable[[NDArray[np.float32]], BoolImage], pixels: NDArray[np.float32]
) -> tuple[BoolImage, float]:
    """Returns the mask and the shortest of five times in seconds: load only ever adds."""
    times: list[float] = []
    mask = np.zeros(pixels.shape, np.bool_)
    for _ in range(5):
        began = time.perf_counter()
        mask = method(pixels)
        times.append(time.perf_counter() - began)
    return mask, min(times)


def _row(name: str, figures: Sequence[float]) -> str:
    ours, seconds, plain, plain_seconds = figures
    return f"{name:10}  {ours:10.4f}  {seconds:8.3f}   {plain:13.4f}  {plain_seconds:8.3f}"


def main() -> int:
    """Runs the benchmark."""
    pairs = films()
    if not pairs:
        print(f"skipped: no pairs in {PAIRS}")
        return 0
    import torch

    from app.tools.chest.thorax_net import load, segment

    torch.set_num_threads(1)  # with two, a busy machine spends its time at their barriers
    net = load(WEIGHTS)

    def ours(pixels: NDArray[np.float32]) -> BoolImage:
        masks = segment(pixels, net).masks
        none = np.zeros(pixels.shape, np.bool_)
        return masks.get("Right Lung", none) | masks.get("Left Lung", none)

    rows: list[tuple[float, float, float, float]] = []
    ours(pairs[0][1])  # the first call pays for torch's start
    print("film        thorax-net   seconds   Otsu baseline   seconds")
    for name, pixels, true in pairs:
        mask, seconds = _timed(ours, pixels)
        plain, plain_seconds = _timed(otsu, pixels)
        rows.append((dice(mask, true), seconds, dice(plain, true), plain_seconds))
        print(_row(name, rows[-1]))
    table = np.array(rows)
    mean, slowest = table.mean(axis=0), table[:, 1].max()
    least = table.min(axis=0)
    print(_row("mean", tuple(mean)))
    print(f"{'minimum':10}  {least[0]:10.4f}  {'':8}   {least[2]:13.4f}")
    error = (1 - mean[2]) / max(1 - mean[0], 1e-9)
    print(f"against the baseline: error {error:.1f} times smaller, time x {mean[1] / mean[3]:.1f}")
    held = mean[0] >= MEAN_DICE and least[0] >= LEAST_DICE and slowest <= MOST_SECONDS
    state = "held" if held else "BROKEN"
    print(f"bounds (mean {MEAN_DICE}, minimum {LEAST_DICE}, {MOST_SECONDS} s): {state}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
