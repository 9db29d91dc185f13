"""torchxrayvision's DenseNet-121 with random weights: the real network, small enough as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import torchxrayvision as xrv

NAME = "densenet121-res224-all"
CARDS: dict[str, dict[str, Any]] = {NAME: {}}
"""The card of its model -> arguments of `build` beside the file."""
ABOVE = ("Cardiomegaly", "Effusion", "Enlarged Cardiomediastinum")
"""Labels that it scores above the operating point on any picture; all others it scores below."""


def build(folder: Path, *, size: str = "tiny", above: tuple[str, ...] = ABOVE) -> None:
    """Write the weights file, as torchxrayvision publishes it: a whole module.

    Args:
        folder: The file.
        size: There is one size only.
        above: Labels that are scored above the operating point.
    """
    del size
    torch.manual_seed(11)
    folder.parent.mkdir(parents=True, exist_ok=True)
    model: Any = xrv.models.DenseNet(weights=None)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d) and module.running_var is not None:
            module.running_var.uniform_(0.5, 2)
    published: dict[str, Any] = xrv.models.model_urls[NAME]
    model.eval()
    with torch.no_grad():
        features = model.features2(torch.randn(2, 1, 224, 224) * 500)
        # What a picture adds stays small beside the bias, which says the label.
        spread = (features @ model.classifier.weight.T).abs().max()
        model.classifier.weight.mul_(0.2 / spread)
        middle = torch.logit(torch.tensor(published["op_threshs"]).float())
        sides = [1.5 if label in above else -1.5 for label in published["labels"]]
        model.classifier.bias.copy_(middle.nan_to_num() + torch.tensor(sides))
    torch.save(model, folder, _use_new_zipfile_serialization=False)
