"""The embedded chest segmentation, measured; nothing here was trained or tuned on.

    python -m tests.bench.bench_thorax [--patients 60] [--quick]

Real films with lung masks, as they are and shown otherwise (turned, padded, cropped, gamma, noise,
mirrored, inverted); the cardiothoracic ratio against true masks; what is refused or warned about.
A named baseline is measured in the same run: Otsu's threshold, the two largest dark regions off
the border. Exit code 1 if a bound is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage
from skimage.filters import threshold_otsu

from app.tools.chest import ctr_geometry
from tests.support import thorax_cases as cases
from tests.support.thorax_cases import BoolImage, FloatImage

if TYPE_CHECKING:
    from app.tools.chest.thorax_net import ThoraxSegmentation

ROOT = Path(__file__).resolve().parents[2]
PAIRS = ROOT.parent / "shared" / "data" / "chest" / "lung-masks"
WEIGHTS = ROOT / "resources" / "models" / "thorax-net" / "thorax-net.safetensors"
MEAN_DICE, LEAST_DICE, MOST_SECONDS = 0.94, 0.92, 0.5
MEAN_CHANGED, LEAST_CHANGED = 0.92, 0.89
MOST_RATIO = 0.05
MOST_ALARMS = 2  # real films that hang rightly and are warned about as mirrored
SEED = 770_001  # synthetic patients that training never drew

Segment = Callable[[FloatImage], "ThoraxSegmentation"]


class Bounds:
    """Remembers which bound is broken."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def hold(self, name: str, held: bool) -> str:
        """Notes a bound; returns a mark for the table."""
        if not held:
            self.broken.append(name)
        return "" if held else "  BROKEN"


def dice(found: BoolImage, true: BoolImage) -> float:
    """Returns twice the overlap over the sum of the areas; 1 if both are empty."""
    total = int(found.sum()) + int(true.sum())
    return 2 * int((found & true).sum()) / total if total else 1.0


def otsu(pixels: FloatImage) -> BoolImage:
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


def films() -> list[tuple[str, FloatImage, BoolImage]]:
    """Returns name, pixels 0..1 and true lungs of each pair found."""
    found: list[tuple[str, FloatImage, BoolImage]] = []
    for path in sorted(PAIRS.glob("*-mask.png")):
        image = path.with_name(path.name.replace("-mask.png", ".jpg"))
        pixels = np.asarray(Image.open(image).convert("L"), np.float32) / np.float32(255)
        found.append((image.name, pixels, np.asarray(Image.open(path).convert("L")) > 127))
    return found


def lungs(masks: Mapping[str, BoolImage], shape: tuple[int, ...]) -> BoolImage:
    """Both lungs as one mask; empty where there is none."""
    none = np.zeros(shape, np.bool_)
    return masks.get(cases.RIGHT, none) | masks.get(cases.LEFT, none)


def displayed(attenuation: FloatImage) -> FloatImage:
    """A plain window of a synthetic film's attenuation in 0..1."""
    low, high = np.percentile(attenuation, (1, 99))
    return np.clip((attenuation - low) / max(float(high - low), 1e-3), 0, 1).astype(np.float32)


def _timed(
    method: Callable[[FloatImage], BoolImage], pixels: FloatImage
) -> tuple[float, BoolImage]:
    """Returns seconds of one core, the shortest of five (load only ever adds); and the mask."""
    times: list[float] = []
    mask = method(pixels)
    for _ in range(5):
        began = time.process_time()
        mask = method(pixels)
        times.append(time.process_time() - began)
    return min(times), mask


def plain(segment: Segment, bounds: Bounds) -> None:
    """The four pairs as they are, beside the baseline."""
    print("film           Dice   seconds   Otsu baseline   seconds")
    rows: list[tuple[float, float, float, float]] = []
    for name, pixels, true in films():
        seconds, mask = _timed(lambda p: lungs(segment(p).masks, p.shape), pixels)
        otsu_seconds, otsu_mask = _timed(otsu, pixels)
        rows.append((dice(mask, true), seconds, dice(otsu_mask, true), otsu_seconds))
        print(f"{name:12}{rows[-1][0]:7.4f}{seconds:10.3f}{rows[-1][2]:16.4f}{otsu_seconds:10.3f}")
    table = np.array(rows)
    mean, least, slowest = table.mean(axis=0), table.min(axis=0), float(table[:, 1].max())
    held = mean[0] >= MEAN_DICE and least[0] >= LEAST_DICE and slowest <= MOST_SECONDS
    mark = bounds.hold("plain", bool(held))
    print(f"mean        {mean[0]:7.4f}{mean[1]:10.3f}{mean[2]:16.4f}{mean[3]:10.3f}{mark}")
    print(f"minimum     {least[0]:7.4f}{'':10}{least[2]:16.4f}")
    error = (1 - mean[2]) / max(1 - mean[0], 1e-9)
    print(f"against the baseline: error {error:.1f} times smaller, time x {mean[1] / mean[3]:.1f}")
    print(f"bounds: mean {MEAN_DICE}, minimum {LEAST_DICE}, {MOST_SECONDS} s")


def changed(segment: Segment, bounds: Bounds) -> None:
    """The same films shown otherwise; the masks moved alike."""
    print(f"\nshown otherwise (bounds: mean {MEAN_CHANGED}, minimum {LEAST_CHANGED})")
    everything = [(name, change, True) for name, change in cases.CHANGES.items()]
    everything += [(name, change, False) for name, change in cases.TOGETHER.items()]
    for name, change, bound in everything:
        scores: list[float] = []
        for _, pixels, true in films():
            shown, masks = change(pixels, {"lungs": true})
            scores.append(dice(lungs(segment(shown).masks, shown.shape), masks["lungs"]))
        mean, least = float(np.mean(scores)), min(scores)
        mark = (
            bounds.hold(name, mean >= MEAN_CHANGED and least >= LEAST_CHANGED)
            if bound
            else "  (measured only)"
        )
        print(f"{name:34}mean {mean:.4f}  minimum {least:.4f}{mark}")


def polarity(segment: Segment, bounds: Bounds) -> None:
    """Every real frontal film as it is and inverted."""
    right, count = 0, 0
    shown = [*((n, p) for n, p, _ in films()), *cases.real_frontals()]
    for _, pixels in shown:
        right += (not segment(pixels).inverted) + segment(1 - pixels).inverted
        count += 2
    mark = bounds.hold("polarity", right == count)
    print(
        f"\npolarity of {len(shown)} real frontal films, each also inverted: {right}/{count}{mark}"
    )


def ratios(segment: Segment, bounds: Bounds, patients: int) -> None:
    """The cardiothoracic ratio against the one from the true masks."""
    from training.thorax import render, shapes

    model = shapes.load()
    errors: list[float] = []
    silent, refused = 0, 0
    for i in range(patients):
        image, labels = render.frontal(np.random.default_rng([SEED, i]), model)
        true = {name: labels == k for k, name in enumerate((*_SIDES, ctr_geometry.HEART), start=1)}
        wanted = ctr_geometry.measure(true, position="PA").ratio
        found = segment(displayed(image))
        got = ctr_geometry.measure(found.masks, confidence=found.confidence, position="PA")
        refused += wanted is not None and got.ratio is None
        if wanted is not None and got.ratio is not None:
            errors.append(abs(got.ratio - wanted))
            silent += errors[-1] > MOST_RATIO and not (found.warnings or got.warnings)
    off = np.array(errors)
    held = silent == 0 and float(np.percentile(off, 95)) <= MOST_RATIO
    print(
        f"\ncardiothoracic ratio on {len(off)} synthetic patients: off by {off.mean():.3f} on "
        f"average, 95th percentile {np.percentile(off, 95):.3f}, most {off.max():.3f}; within "
        f"{MOST_RATIO} on {int((off <= MOST_RATIO).sum())}, the rest without a warning: {silent}; "
        f"{refused} more refused{bounds.hold('ratio', held)}"
    )


_SIDES = (cases.RIGHT, cases.LEFT)


def widths(segment: Segment, bounds: Bounds) -> None:
    """The ratio on the four pairs with their true thoracic width in place of the found one."""
    for name, pixels, true in films():
        found = segment(pixels)
        ours = ctr_geometry.measure(found.masks, confidence=found.confidence)
        sides = cases.split(true)
        width = ctr_geometry.thoracic_width(sides[cases.RIGHT], sides[cases.LEFT])
        if ours.ratio is None or ours.heart is None or width is None:
            print(f"{name}: no ratio{bounds.hold(f'ratio of {name}', False)}")
            continue
        wanted = ours.heart.length / width.length
        mark = bounds.hold(f"ratio of {name}", abs(ours.ratio - wanted) <= MOST_RATIO)
        print(f"{name}: ratio {ours.ratio:.3f}, with the true thorax {wanted:.3f}{mark}")


def views(segment: Segment, bounds: Bounds, count: int) -> None:
    """What must be refused or warned about."""
    from training.thorax import negatives

    print()
    real = cases.real_lateral()
    if real is not None:
        shown = [p for side in (real, real[:, ::-1].copy()) for p in _turned(side)]
        held = all(segment(p).refused for p in (1 - real, *shown))
        mark = bounds.hold("lateral", held)
        print(f"the real lateral refused, inverted too, mirrored, each turned by 8{mark}")
    for name, draw in (("laterals", negatives.lateral), ("others", negatives.other)):
        images = [displayed(draw(np.random.default_rng([SEED + 1, i]))) for i in range(count)]
        refused = sum(segment(image).refused is not None for image in images)
        mark = bounds.hold(name, refused >= 0.97 * count)
        print(f"synthetic {name} refused: {refused}/{count}{mark}")
    passed: list[str] = []
    total = 0
    for name, pixels in cases.no_chests():
        total += 1
        found = segment(pixels)
        if found.refused is None and not found.warnings:
            passed.append(name)
    mark = bounds.hold("no chests", not passed)
    print(f"real pictures of no chest: {total - len(passed)}/{total} refused or warned about{mark}")
    for name in passed:
        print(f"  passed: {name}")


def mirrors(segment: Segment, bounds: Bounds) -> None:
    """Real frontal films mirrored, and turned too: warned about; and false alarms on the films."""
    silent: list[str] = []
    refused: list[str] = []
    alarms: list[str] = []
    shown = [*((n, p) for n, p, _ in films()), *cases.real_frontals()]
    for name, pixels in shown:
        normal = segment(pixels)
        for turned in map(segment, _turned(pixels[:, ::-1].copy())):
            if turned.refused is not None:
                refused.append(name)
            elif not _side_doubted(turned):
                silent.append(name)
        if normal.refused is None and _side_doubted(normal):
            alarms.append(name)
    held = not silent and not refused and len(alarms) <= MOST_ALARMS
    mark = bounds.hold("mirrored", held)
    print(f"\nmirrored, each also turned by 8 either way: {len(shown)} real films{mark}")
    print(f"passed in silence: {silent}; refused: {refused}")
    print(f"warned about although they hang rightly: {alarms}")


def _turned(pixels: FloatImage) -> list[FloatImage]:
    """A picture as it is, and turned by 8 degrees either way."""
    return [pixels, *(cases.rotated(degrees)(pixels, {})[0] for degrees in (8, -8))]


def _side_doubted(found: ThoraxSegmentation) -> bool:
    return any("mirrored" in note for note in found.warnings)


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--patients", type=int, default=60)
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--quick", action="store_true", help="the four pairs only")
    args = parser.parse_args()
    if not films():
        print(f"skipped: no pairs in {PAIRS}")
        return 0
    import torch

    from app.tools.chest import thorax_net

    torch.set_num_threads(1)  # with two, a busy machine spends its time at their barriers
    net = thorax_net.load(args.weights)
    bounds = Bounds()

    def segment(pixels: FloatImage) -> ThoraxSegmentation:
        return thorax_net.segment(pixels, net)

    plain(segment, bounds)
    changed(segment, bounds)
    widths(segment, bounds)
    if not args.quick:
        polarity(segment, bounds)
        mirrors(segment, bounds)
        views(segment, bounds, 2 * args.patients)
        ratios(segment, bounds, args.patients)
    print(f"\nbounds: {'BROKEN: ' + ', '.join(bounds.broken) if bounds.broken else 'held'}")
    return 1 if bounds.broken else 0


if __name__ == "__main__":
    sys.exit(main())
