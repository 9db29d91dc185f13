"""torchxrayvision's PSPNet with random weights: the real network at its real size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torchxrayvision.baseline_models import chestx_det

from app.tools.chest.organs import ALL

NAME = "pspnet-chestx-det"
CARDS: dict[str, dict[str, Any]] = {NAME: {}}
"""The card of its model -> arguments of `build` beside the file."""


def build(folder: Path, *, size: str = "tiny") -> None:
    """Write the weights file, as it is published: a state dict with DataParallel's names.

    Args:
        folder: The file.
        size: There is one size only.
    """
    del size
    torch.manual_seed(2)
    folder.parent.mkdir(parents=True, exist_ok=True)
    net: Any = chestx_det.pspnet(len(ALL))
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm2d) and module.running_var is not None:
            module.running_var.uniform_(0.5, 2)
    torch.save({f"module.{name}": tensor for name, tensor in net.state_dict().items()}, folder)
