"""MAIRA-2's network for its published weights, without its published program (torch).

The program that lies with the weights builds on transformers' LLaVA as it was before version 4.52,
and is silently wrong or fails on later ones. What it computes: Rad-DINO (DINOv2 ViT-B/14 at
518 x 518, last layer with its layer norm, without the class token), four linear layers, and a
Vicuna decoder that reads the patches in the places of `<image>`.
Sources: microsoft/maira-2 (modeling_maira2.py, processing_maira2.py); Bannur et al., "MAIRA-2",
arXiv:2406.04449.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from transformers import (
    Dinov2Backbone,
    Dinov2Config,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)
from transformers.activations import ACT2FN
from transformers.models.bit.image_processing_pil_bit import BitImageProcessorPil

from app.tools.chest.published_weights import OtherLayout, config_of, fill, made_on

IMAGE = "<image>"
_BEFORE = "Given the current frontal image"
_ASK = (
    " Repeat the following finding as a grounded phrase with bounding boxes indicating all "
    "locations where it can be seen in the given chest X-ray image. Finding: "
)
_NOT_CONFIG = ("architectures", "model_type", "torch_dtype", "dtype", "_name_or_path")
_RENAMED = (
    # Names of DINOv2's attention before transformers 5, on the left.
    (re.compile(r"\.attention\.attention\.query\."), ".attention.q_proj."),
    (re.compile(r"\.attention\.attention\.key\."), ".attention.k_proj."),
    (re.compile(r"\.attention\.attention\.value\."), ".attention.v_proj."),
    (re.compile(r"\.attention\.output\.dense\."), ".attention.o_proj."),
)


class Projector(nn.Module):
    """Linear layers with an activation between them; its names are the published ones."""

    def __init__(self, seen: int, width: int, count: int, activation: str) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(seen, width)]
        for _ in range(count - 1):
            layers += [ACT2FN[activation], nn.Linear(width, width)]
        self.layers = nn.Sequential(*layers)

    def forward(self, features: Tensor) -> Tensor:
        """[images, places, seen] -> [images, places, width]."""
        return self.layers(features)


@dataclass(slots=True)
class Maira:
    """The model, ready to run."""

    tokenizer: Any
    images: Any
    tower: Any
    projector: Projector
    language: Any
    image_token: int

    @property
    def end(self) -> int:
        """The token that ends an answer."""
        return int(self.tokenizer.eos_token_id)

    def prepared(self, grey: NDArray[np.uint8]) -> Tensor:
        """[1, 3, size, size]: stretched to 0..255, then the published image processor."""
        picture = Image.fromarray(stretched(grey))
        return self.images(picture, return_tensors="pt")["pixel_values"]

    def prompt(self, phrase: str) -> str:
        """The question in the model's own conversation format, with one `<image>`."""
        content = [
            {"index": None, "text": _BEFORE, "type": "text"},
            {"index": 0, "text": None, "type": "image"},
            {"index": None, "text": f"{_ASK}{phrase}", "type": "text"},
        ]
        return str(
            self.tokenizer.apply_chat_template(
                [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
            )
        )

    def embedded(self, phrase: str, grey: NDArray[np.uint8]) -> Tensor:
        """[1, tokens, width]: the prompt with the image's patches in their places."""
        device = self.language.device
        pixels = self.prepared(grey).to(device, self.language.dtype)
        # Without the class token, which stands first.
        seen = self.projector(self.tower(pixels).feature_maps[-1][:, 1:])
        before, _, after = self.prompt(phrase).partition(IMAGE)
        text = before + IMAGE * seen.shape[1] + after
        ids = torch.tensor([self.tokenizer(text)["input_ids"]], device=device)
        found = self.language.get_input_embeddings()(ids)
        found[ids == self.image_token] = seen[0].to(found.dtype)
        return found


def stretched(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Darkest to 0, brightest to 255, rounded down: the published normalisation.

    Raises:
        ValueError: All pixels are alike.
    """
    low, high = int(grey.min()), int(grey.max())
    if low == high:
        raise ValueError("all pixels of this image are alike")
    levels = (grey.astype(np.float64) - low) / (high - low) * 255
    return levels.astype(np.uint8)


def made(folder: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    """The network as the folder describes it, by the prefix of its published names; no values yet.

    Raises:
        OtherLayout: The folder is not laid out so.
        ToolFailed: A file is missing or damaged.
    """
    config = config_of(folder)
    layers = config.get("projector_n_layers")
    if "Maira2ForConditionalGeneration" not in config.get("architectures", ()) or not layers:
        raise OtherLayout("config.json is not that of the published MAIRA-2")
    if config.get("vision_feature_select_strategy") != "default":
        raise OtherLayout("another choice of image features")
    seen = Dinov2Config(**_plain(config["vision_config"]))
    told = LlamaConfig(**_plain(config["text_config"]))
    act = str(config["projector_hidden_act"])
    with made_on(device, dtype):
        return {
            "vision_tower.": Dinov2Backbone(seen),
            "multi_modal_projector.": Projector(
                seen.hidden_size, told.hidden_size, int(layers), act
            ),
            "language_model.": LlamaForCausalLM(told),
        }


def load(folder: Path, device: str, dtype: torch.dtype, tell: Callable[[float], None]) -> Maira:
    """The published model from its folder.

    Raises:
        OtherLayout: It is not laid out so.
        ToolFailed: A file is missing or damaged.
    """
    parts = made(folder, device, dtype)
    fill(parts, folder, rename=renamed, tell=tell)
    projector: Any = parts["multi_modal_projector."].eval()
    return Maira(
        tokenizer=_tokenizer(folder),
        images=BitImageProcessorPil.from_pretrained(str(folder), local_files_only=True),
        tower=parts["vision_tower."].eval(),
        projector=projector,
        language=parts["language_model."].eval(),
        image_token=int(config_of(folder)["image_token_index"]),
    )


def renamed(name: str) -> str:
    """A published name as transformers calls it now."""
    for pattern, new in _RENAMED:
        name = pattern.sub(new, name)
    return name


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in config.items() if key not in _NOT_CONFIG}


def _tokenizer(folder: Path) -> Any:
    """The folder's tokenizer.json as it is, with the conversation format of whichever file has it.

    Raises:
        OtherLayout: No file has the format.
    """
    found = PreTrainedTokenizerFast.from_pretrained(str(folder), local_files_only=True)
    if not found.chat_template and (folder / "chat_template.json").is_file():
        found.chat_template = config_of(folder, "chat_template.json").get("chat_template")
    if not found.chat_template:
        raise OtherLayout("no file has the conversation format (chat_template)")
    return found
