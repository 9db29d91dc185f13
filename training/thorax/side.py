r"""Trains the head that tells mirrored films, and nothing else: masks and views stay as they are.

    python -m training.thorax.side --weights resources/models/thorax-net/thorax-net.safetensors \
        --out /tmp/thorax-net --seed 2

The network below the head is frozen, so its answers for synthetic films are computed once and the
head learns from them in seconds. Real films are neither read nor needed.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from app.tools.chest.thorax_arch import ThoraxNet
from training.thorax import pool as pools
from training.thorax.augment import Augmenter
from training.thorax.train import WEIGHTS

CHECKED = 0.15
"""Share of the patients that only check the head."""
_BATCH = 32
_ROUNDS, _RATE, _DECAY = 400, 3e-3, 3e-2


@torch.no_grad()
def features(net: ThoraxNet, pool: pools.Pool, copies: int, seed: int) -> tuple[Tensor, Tensor]:
    """Shows each film `copies` times, each time otherwise.

    Returns:
        What the head is given [n, f], patients in order, and whether each was mirrored [n]; NaN
        where the film was shown inverted or on its side.
    """
    augment = Augmenter(seed, mirrored=0.5)
    found: list[Tensor] = []
    truth: list[Tensor] = []
    for start in range(0, len(pool.images), _BATCH):
        part = slice(start, start + _BATCH)
        image = torch.from_numpy(pool.images[part].astype("float32"))[:, None]
        label, kind = torch.from_numpy(pool.labels[part]), torch.from_numpy(pool.kinds[part])
        shown = [augment(image, label, kind) for _ in range(copies)]
        told = [
            net.mirror_features(x.contiguous(memory_format=torch.channels_last)) for x, *_ in shown
        ]
        upright = [torch.where(view == 0, side.float(), torch.nan) for _, _, view, side in shown]
        found.append(torch.stack(told, 1))
        truth.append(torch.stack(upright, 1))
    return torch.cat(found).flatten(0, 1), torch.cat(truth).flatten()


def train(net: ThoraxNet, given: Tensor, truth: Tensor, seed: int) -> dict[str, float]:
    """Trains `net.side`; returns what it gets right of the patients kept back."""
    torch.manual_seed(seed)
    for layer in net.side:
        if isinstance(layer, torch.nn.Linear):
            layer.reset_parameters()
    count = round(len(given) * (1 - CHECKED))
    known = ~truth.isnan()
    learn = known.clone()
    learn[count:] = False
    check = known & ~learn
    optimiser = torch.optim.AdamW(net.side.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, _ROUNDS)
    for _ in range(_ROUNDS):
        loss = functional.binary_cross_entropy_with_logits(
            net.side(given[learn])[:, 0], truth[learn]
        )
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        share = net.side(given[check])[:, 0].sigmoid()
    mirrored = truth[check] > 0.5
    return {
        "checked": int(check.sum()),
        "right": round(float(((share > 0.5) == mirrored).float().mean()), 4),
        "mirrored told": round(float((share[mirrored] > 0.5).float().mean()), 4),
        "upright told": round(float((share[~mirrored] <= 0.5).float().mean()), 4),
    }


def main() -> None:
    """Parses the command line, trains the head and writes weights and figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--patients", type=int, default=900)
    parser.add_argument("--copies", type=int, default=8)
    args = parser.parse_args()
    torch.set_num_threads(1)
    net = ThoraxNet()
    net.load_state_dict(load_file(args.weights), strict=False)
    net.eval().to(memory_format=torch.channels_last)
    pool = pools.build((args.patients, 0, 0), args.seed)
    given, truth = features(net, pool, args.copies, args.seed + 10)
    figures = train(net, given, truth, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    weights = {name: value.contiguous() for name, value in net.state_dict().items()}
    save_file(weights, args.out / WEIGHTS)
    record = {"seed": args.seed, "patients": args.patients, "copies": args.copies, **figures}
    (args.out / "side.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    print(record)


if __name__ == "__main__":
    main()
