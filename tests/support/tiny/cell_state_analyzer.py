"""DINOv3: a ViT or a ConvNeXt of the published classes, with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from transformers import (
    DINOv3ConvNextConfig,
    DINOv3ConvNextModel,
    DINOv3ViTConfig,
    DINOv3ViTModel,
)

CARDS: dict[str, dict[str, Any]] = {"dinov3-vits16": {}}


def build(folder: Path, *, size: str = "tiny", convnext: bool = False) -> None:
    """Write the folder: config.json, model.safetensors, preprocessor_config.json.

    Args:
        folder: Made if need be.
        size: "tiny", or "full": as ViT-S/16 was published.
        convnext: A ConvNeXt instead.
    """
    torch.manual_seed(0)
    if convnext:
        config: Any = DINOv3ConvNextConfig(hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1])
        net: Any = DINOv3ConvNextModel(config)
    else:
        small: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
        config = DINOv3ViTConfig(
            num_attention_heads=2 if size == "tiny" else 6,
            num_register_tokens=4,
            **(small if size == "tiny" else {}),
        )
        net = DINOv3ViTModel(config)
    net.save_pretrained(folder)
    colours = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    (folder / "preprocessor_config.json").write_text(json.dumps(colours))
