"""Embeds cells by DINOv3, fine-tuned on them without labels (torch; model process only).

DINOv3 (Siméoni et al., arXiv:2508.10104) is loaded by transformers' own classes from the user's
folder. Its last block alone is trained, by `contrastive.train`, on a copy: the loaded model stays
as published.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, DINOv3ConvNextModel, DINOv3ViTModel

from app.tools.api import Progress, ToolFailed
from app.tools.microscopy.cell_pictures import CellPictures, Floats, squares
from app.tools.microscopy.cell_states import Embedding, Tell, analyse
from app.tools.microscopy.contrastive import train
from app.tools.model_process.published_weights import (
    check_weights,
    load_model,
    read_config,
    uninitialised_modules,
)
from app.tools.model_process.serving import Work, serve

SIDE = 112
"""Rows and columns of a cell as DINOv3 sees it: 7 x 7 patches of 16 pixels."""
_EPOCHS = 3
_BATCH = 32
_RATE = 1e-4
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet, as published


@dataclass(frozen=True, slots=True)
class Dinov3:
    """The loaded network, with the mean and deviation of the colours that it expects."""

    net: Any
    mean: tuple[float, ...]
    std: tuple[float, ...]


class _Pooled(nn.Module):
    """DINOv3 as a function from pictures [n, 3, side, side] to [n, width]."""

    def __init__(self, net: Any) -> None:
        super().__init__()
        self.net = net

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        return self.net(pixel_values=pictures).pooler_output.float()


def load(path: Path, work: Work) -> Dinov3:
    """Load DINOv3 (ViT or ConvNeXt) from a folder, in float32, since it is trained.

    Raises:
        ToolFailed: The folder is damaged, or contains a different model.
    """
    net = load_model(_kind(path), path, work, dtype=torch.float32)
    colours = read_config(path, "preprocessor_config.json")
    mean, std = colours.get("image_mean", _MEAN), colours.get("image_std", _STD)
    return Dinov3(net, tuple(map(float, mean)), tuple(map(float, std)))


def _kind(path: Path) -> Any:
    kinds: dict[str, Any] = {"dinov3_vit": DINOv3ViTModel, "dinov3_convnext": DINOv3ConvNextModel}
    found = str(read_config(path).get("model_type"))
    if found not in kinds:
        raise ToolFailed(
            f"the folder holds another model ({found})",
            subject=path.name,
            remedy="Install DINOv3 (ViT or ConvNeXt) in transformers' form.",
        )
    return kinds[found]


def freeze_but_last(net: nn.Module) -> None:
    """Let only the last block and what comes after it be trained."""
    for parameter in net.parameters():
        parameter.requires_grad = False
    blocks = next(m for m in net.modules() if isinstance(m, nn.ModuleList) and len(m) > 1)
    for part in (blocks[-1], *(m for m in net.children() if isinstance(m, nn.LayerNorm))):
        for parameter in part.parameters():
            parameter.requires_grad = True


def pictures(cells: torch.Tensor, model: Dinov3) -> torch.Tensor:
    """Return cells [n, channels + 1, side, side] as colours [n, 3, side, side] that DINOv3 expects.

    One channel is shown as grey, two as red and green; of more than three the first three are used.
    """
    grey = cells[:, :-1]
    count = grey.shape[1]
    if count == 1:
        grey = grey.expand(-1, 3, -1, -1)
    elif count == 2:
        grey = functional.pad(grey, (0, 0, 0, 0, 0, 1))
    mean, std = (
        torch.tensor(v, device=cells.device).view(1, 3, 1, 1) for v in (model.mean, model.std)
    )
    return (grey[:, :3] - mean) / std


def embed(
    model: Dinov3,
    cells: CellPictures,
    *,
    epochs: int,
    seed: int,
    tell: Tell,
    device: str = "cpu",
    batch: int = _BATCH,
) -> tuple[Embedding, nn.Module]:
    """Return the embedding of cells, and the fine-tuned copy of the network that made it."""
    config = model.net.config
    width = int(getattr(config, "hidden_size", 0) or config.hidden_sizes[-1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = _Pooled(copy.deepcopy(model.net).to(device))
        freeze_but_last(net.net)
        made = train(
            net,
            width,
            squares(cells, SIDE),
            prepare=lambda views: pictures(views, model),
            epochs=epochs,
            seed=seed,
            tell=tell,
            device=device,
            batch=batch,
            rate=_RATE,
        )
    names = [f"dinov3_{number}" for number in range(1, width + 1)]
    return Embedding(made.embedding, names, "dinov3", made.losses), net.net


def entry(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Group cells by DINOv3's embedding; the host calls this in the model process.

    `payload` is that of `cell_states.entry` with "model" for `serve`, and so is what is returned,
    with "device", "dtype" and "notes" of `serve`.
    """

    def work(model: Dinov3, doing: Work) -> dict[str, Any]:
        given = payload.get("epochs")

        def trained(cells: CellPictures, features: Floats, tell: Tell) -> Embedding:
            del features
            if cells.channels > 3:
                doing.notes.append(
                    f"DINOv3 sees three channels: the first three of {cells.channels} were used"
                )
            made, _net = embed(
                model,
                cells,
                epochs=_EPOCHS if given is None else int(given),
                seed=int(payload["seed"]),
                tell=tell,
                device=str(doing.placement.device),
                batch=max(2, round(_BATCH * doing.share)),
            )
            return made

        return analyse(payload, doing.progress, trained)

    return serve(payload, progress, load=load, work=work, exact=True)


def check(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Check the weights in payload["weights"]; return {"parameters": their number}.

    Raises:
        ToolFailed: A file is missing, is damaged or does not fit.
    """
    return check_weights(payload, _build_network, _current_name)


def _current_name(name: str) -> str:
    """Return the name that transformers now gives to a published weight."""
    return f"model.{name}" if name.startswith(("layer.", "stages.")) else name


def _build_network(path: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    kind = _kind(path)
    config: Any = AutoConfig.from_pretrained(path, local_files_only=True)
    with uninitialised_modules(device, dtype):
        return {"": kind(config)}
