"""Trains the embedded chest segmentation on synthetic radiographs only.

    python -m training.thorax.train --out resources/models/thorax-net --seed 0 --steps 6000

Real films are neither read nor needed; the weights kept are the moving average at the last step,
so no film and no validation image chooses a checkpoint.  The synthetic validation set is only
reported.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from app.tools.chest.thorax_arch import STRUCTURES, VIEWS, ThoraxNet
from training.thorax import pool as pools
from training.thorax.augment import Augmenter

BATCH = (12, 3, 2)  # frontal, lateral, other
VALIDATION_SEED = 990_001
RATE = 2e-3
WEIGHTS = "thorax-net.safetensors"


class Batches:
    """Endless displayed batches from a pool."""

    def __init__(self, pool: pools.Pool, seed: int) -> None:
        """Keeps the pool's kinds apart so that each batch has its share of all."""
        self._pool = pool
        self._augment = Augmenter(seed)
        self._g = torch.Generator().manual_seed(seed + 1)
        kinds = torch.from_numpy(pool.kinds)
        self._groups = [torch.nonzero(kinds == kind)[:, 0] for kind in range(3)]

    def draw(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Returns inputs, soft labels, view classes and whether mirrored; see `Augmenter`."""
        picks = [
            group[torch.randint(len(group), (count,), generator=self._g)]
            for group, count in zip(self._groups, BATCH, strict=True)
        ]
        index = torch.cat(picks).numpy()
        image = torch.from_numpy(self._pool.images[index].astype("float32"))[:, None]
        return self._augment(
            image,
            torch.from_numpy(self._pool.labels[index]),
            torch.from_numpy(self._pool.kinds[index]),
        )


def losses(
    answer: tuple[Tensor, Tensor, Tensor], soft: Tensor, truth: Tensor, mirrored: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the losses of shape and of side (upright frontal films only), and of the view."""
    structure, view, side = answer
    upright = truth == 0
    logits, target = structure[upright].float(), soft[upright]
    cross = -(target * functional.log_softmax(logits, 1)).sum(1).mean()
    share = logits.softmax(1)
    overlap = (share * target).sum((2, 3))
    total = (share**2).sum((2, 3)) + (target**2).sum((2, 3))
    dice = 1 - ((2 * overlap + 1) / (total + 1))[:, 1:].mean()
    told = functional.cross_entropy(view.float(), truth, label_smoothing=0.02)
    turned = functional.binary_cross_entropy_with_logits(
        side[upright].float(), mirrored[upright].float()
    )
    return cross + dice, turned, told


@torch.no_grad()
def validate(net: ThoraxNet, batches: Batches, rounds: int = 16) -> dict[str, float]:
    """Returns mean Dice a structure and the share of views told right, on synthetic images."""
    net.eval()
    sums = torch.zeros(len(STRUCTURES))
    count, right, seen = 0, torch.zeros(len(VIEWS)), torch.zeros(len(VIEWS))
    sides = 0.0
    for _ in range(rounds):
        x, soft, truth, mirrored = batches.draw()
        structure, view, side = net(x)
        upright = truth == 0
        sides += float(((side > 0) == mirrored)[upright].sum())
        found = (
            functional.one_hot(structure[upright].argmax(1), 4).permute(0, 3, 1, 2).float()[:, 1:]
        )
        real = (soft[upright][:, 1:] > 0.5).float()
        dice = (2 * (found * real).sum((2, 3)) + 1) / ((found + real).sum((2, 3)) + 1)
        sums, count = sums + dice.sum(0), count + len(dice)
        for kind in range(len(VIEWS)):
            right[kind] += (view.argmax(1)[truth == kind] == kind).sum()
            seen[kind] += (truth == kind).sum()
    net.train()
    figures = dict(zip((f"dice {s}" for s in STRUCTURES), (sums / count).tolist(), strict=True))
    told = (right / seen.clamp(min=1)).tolist()
    figures |= dict(zip((f"view {v}" for v in VIEWS), told, strict=True))
    figures["side"] = sides / count
    return {name: round(value, 4) for name, value in figures.items()}


def _rate(progress: float) -> float:
    return 0.02 + 0.98 * min(1.0, progress / 0.03) * 0.5 * (
        1 + math.cos(math.pi * min(1.0, progress))
    )


def _learn(
    net: ThoraxNet, optimiser: torch.optim.Optimizer, batches: Batches
) -> tuple[float, float]:
    """Takes one step and returns its two losses."""
    x, soft, truth, mirrored = batches.draw()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        answer = net(x.contiguous(memory_format=torch.channels_last))
    shape_loss, side_loss, view_loss = losses(answer, soft, truth, mirrored)
    optimiser.zero_grad(set_to_none=True)
    (shape_loss + 0.3 * view_loss + 0.3 * side_loss).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimiser.step()
    return float(shape_loss), float(view_loss)


def started(start: Path | None) -> ThoraxNet:
    """Returns a fresh network, or one with the weights of a file; layers it lacks stay fresh."""
    net = ThoraxNet()
    if start is not None:
        net.load_state_dict(load_file(start), strict=False)
    return net.to(memory_format=torch.channels_last)


def train(
    pool: pools.Pool,
    check: pools.Pool,
    steps: int,
    minutes: float,
    seed: int,
    start: Path | None = None,
) -> tuple[ThoraxNet, int]:
    """Returns the averaged network and the number of steps taken."""
    torch.manual_seed(seed)
    net = started(start)
    average = copy.deepcopy(net)
    top = RATE if start is None else RATE / 2
    optimiser = torch.optim.AdamW(net.parameters(), lr=top, weight_decay=1e-3)
    batches, began = Batches(pool, seed + 10), time.monotonic()
    step = 0
    for step in range(steps):
        progress = max(step / steps, (time.monotonic() - began) / 60 / minutes)
        if progress >= 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = top * _rate(progress)
        shape_loss, view_loss = _learn(net, optimiser, batches)
        keep = min(0.995, step / (step + 10))
        with torch.no_grad():
            for old, new in zip(average.parameters(), net.parameters(), strict=True):
                old.lerp_(new, 1 - keep)
        if step % 100 == 0:
            spent = time.monotonic() - began
            print(
                f"{step:6d} {spent:6.0f} s  shape {shape_loss:.3f}  view {view_loss:.3f}",
                flush=True,
            )
        if step % 1000 == 999:
            print(validate(average, Batches(check, VALIDATION_SEED)), flush=True)
    return average, step + 1


def main() -> None:
    """Parses the command line, trains and writes the weights and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--minutes", type=float, default=1e9, help="stop earlier; not reproducible")
    parser.add_argument("--frontals", type=int, default=5000)
    parser.add_argument("--start", type=Path, help="weights to train on from, at half the rate")
    args = parser.parse_args()
    torch.set_num_threads(2)
    began = time.monotonic()
    pool = pools.build((args.frontals, args.frontals // 4, args.frontals // 4), args.seed)
    check = pools.build((200, 60, 60), VALIDATION_SEED)
    print(f"rendered {len(pool.images)} images in {time.monotonic() - began:.0f} s", flush=True)
    net, steps = train(pool, check, args.steps, args.minutes, args.seed, args.start)
    figures = validate(net, Batches(check, VALIDATION_SEED))
    args.out.mkdir(parents=True, exist_ok=True)
    weights = {name: value.contiguous() for name, value in net.state_dict().items()}
    save_file(weights, args.out / WEIGHTS)
    record = {
        "seed": args.seed,
        "steps": steps,
        "frontals": args.frontals,
        "start": args.start.name if args.start else "",
        "validation": figures,
    }
    (args.out / "training.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    print(figures)


if __name__ == "__main__":
    main()
