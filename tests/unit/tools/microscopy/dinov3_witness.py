"""Runs DINOv3 as the analyser does, without clusters; transformers' own class is the witness."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import DINOv3ViTModel

from app.tools.microscopy import dinov3_net
from app.tools.microscopy.cell_pictures import read_cells, squares
from app.tools.model_process.published_weights import cpu_work


def trained(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Fine-tune the model in payload["folder"]; say by how much which weights have changed."""
    path = Path(payload["folder"])
    cells = read_cells(payload)
    model = dinov3_net.load(path, cpu_work())
    before = {name: value.clone() for name, value in model.net.state_dict().items()}
    made, net = dinov3_net.embed(
        model, cells, epochs=int(payload["epochs"]), seed=0, tell=lambda *_: None
    )
    after = net.state_dict()
    moved = {n: float((after[n] - v).abs().max()) for n, v in before.items()}
    # "model.layer.1.norm1.weight", "stages.3.layers.0.gamma": the first number is the block's.
    block = {n: int(found[1]) for n in moved if (found := re.search(r"\.(\d+)\.", n))}
    in_last = [n for n in moved if block.get(n) == max(block.values())]
    kept = [n for n in moved if n not in in_last and not n.startswith(("norm", "layer_norm"))]
    answer: dict[str, Any] = {
        "shape": list(made.values.shape),
        "embedding": made.values,
        "losses": made.losses,
        "published": max(
            float((model.net.state_dict()[n] - v).abs().max()) for n, v in before.items()
        ),
        "frozen": max(moved[n] for n in kept),
        "last": max(moved[n] for n in in_last),
    }
    if payload["epochs"] == 0:
        theirs = DINOv3ViTModel.from_pretrained(path).eval()
        data = torch.from_numpy(squares(cells, dinov3_net.SIDE))
        mean, std = (
            torch.tensor(v).view(1, 3, 1, 1) for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
        )
        with torch.inference_mode():
            turns = [
                theirs((torch.rot90(data[:, :1].expand(-1, 3, -1, -1), k, (2, 3)) - mean) / std)
                for k in range(4)
            ]
        answer["theirs"] = torch.stack([one.pooler_output for one in turns]).mean(0).numpy()
    return answer
