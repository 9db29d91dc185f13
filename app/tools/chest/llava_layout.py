"""LLaVA-Med's files: the original LLaVA layout, and transformers' own (torch; model process only).

The published folder is in the layout of the original LLaVA code (`model_type` "llava_mistral"),
which transformers does not know: one configuration for everything, weights under the original's
names, among them the vision tower's (the sizes of the published shards add up to Mistral 7B, CLIP
ViT-L/14-336 and the projector). Here it becomes a `LlavaForConditionalGeneration`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from transformers import CLIPVisionConfig, LlavaConfig, LlavaForConditionalGeneration, MistralConfig

from app.tools.api import ToolFailed
from app.tools.chest.folders import loaded_whole, modern
from app.tools.chest.published_weights import made_on, shapes_in
from app.tools.model_process.serving import Work

TOWER = "model.vision_tower.vision_tower.vision_model."
NAMES: Mapping[str, str] = {
    r"^model\.vision_tower\.vision_tower\.vision_model\.": "model.vision_tower.",
    r"^model\.mm_projector\.0\.": "model.multi_modal_projector.linear_1.",
    r"^model\.mm_projector\.2\.": "model.multi_modal_projector.linear_2.",
    r"^model\.embed_tokens\.": "model.language_model.embed_tokens.",
    r"^model\.layers\.": "model.language_model.layers.",
    r"^model\.norm\.": "model.language_model.norm.",
}
"""Names of the original's weights -> those of transformers' class; `lm_head` is the same."""

_HEAD_WIDTH = 64  # of every CLIP vision tower
_LIMIT = 2048
# CLIP's last norm is applied to the class token alone, which LLaVA leaves out.
_UNUSED = ("model.vision_tower.post_layernorm.",)


@dataclass(frozen=True, slots=True)
class Habits:
    """How the model was trained to be shown image and question.

    Attributes:
        pad: The image is padded to a square, and not cropped to one.
        marks: The image stands between `<im_start>` and `<im_end>`.
        limit: Tokens of question, image and answer at most.
    """

    pad: bool = True
    marks: bool = False
    limit: int = _LIMIT


def load(path: Path, work: Work) -> tuple[Any, Habits]:
    """The model of a folder, ready to run, and its habits.

    Raises:
        ToolFailed: It is damaged, or of a kind that is not supported.
    """
    about = read_json(path / "config.json")
    if about.get("model_type") == "llava":
        model = loaded_whole(LlavaForConditionalGeneration, path, work, unused=_UNUSED)
        return model, Habits(limit=_limit(about.get("text_config") or {}))
    if about.get("model_type") != "llava_mistral":
        raise _unsupported(path, f"model_type {about.get('model_type')!r}")
    model = loaded_whole(
        LlavaForConditionalGeneration,
        path,
        work,
        config=config_of(path, about),
        key_mapping=NAMES,
        unused=_UNUSED,
    )
    habits = Habits(
        pad=about.get("image_aspect_ratio") == "pad",
        marks=bool(about.get("mm_use_im_start_end", False)),
        limit=_limit(about),
    )
    return model, habits


def on(path: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    """The network that a folder's weights belong to, without them; see `published_weights`."""
    about = read_json(path / "config.json")
    if about.get("model_type") == "llava":
        config = cast("Any", LlavaConfig).from_pretrained(path, local_files_only=True)
    elif about.get("model_type") == "llava_mistral":
        config = config_of(path, about)
    else:
        raise _unsupported(path, f"model_type {about.get('model_type')!r}")
    with made_on(device, dtype):
        return {"": LlavaForConditionalGeneration(config)}


def now(name: str) -> str:
    """The class's name for a weight, from the name it has in a folder of either layout."""
    for pattern, target in NAMES.items():
        name, count = re.subn(pattern, target, name)
        if count:
            return name
    return modern(name)


def config_of(path: Path, about: Mapping[str, Any]) -> LlavaConfig:
    """Transformers' configuration of a folder in the original layout.

    Args:
        path: The folder, of whose weights the vision tower's shape is read.
        about: Its config.json.

    Raises:
        ToolFailed: It has another projector than LLaVA 1.5's, or no vision tower.
    """
    projector = about.get("mm_projector_type", "linear")
    if projector != "mlp2x_gelu":
        raise _unsupported(path, f"mm_projector_type {projector!r}")
    own = {key: value for key, value in about.items() if not _foreign(key)}
    return LlavaConfig(
        vision_config=cast("Any", _tower(path)),
        text_config=cast("Any", MistralConfig(**own)),
        projector_hidden_act="gelu",
        vision_feature_layer=int(about.get("mm_vision_select_layer", -2)),
        vision_feature_select_strategy=(
            "default" if about.get("mm_vision_select_feature", "patch") == "patch" else "full"
        ),
        tie_word_embeddings=False,
    )


def _foreign(key: str) -> bool:
    """Whether a key of config.json is LLaVA's and not Mistral's."""
    kept = ("model_type", "architectures", "transformers_version", "torch_dtype", "dtype")
    prefixes = ("mm_", "tune_", "freeze_", "unfreeze_", "image_", "tokenizer_", "use_mm_")
    return key in kept or key.startswith(prefixes)


def _tower(path: Path) -> CLIPVisionConfig:
    """The vision tower's configuration, read off the shapes of its weights."""
    shapes = _shapes(path)
    try:
        patches = shapes["embeddings.patch_embedding.weight"]
        places = shapes["embeddings.position_embedding.weight"][0]
        width, side = patches[0], patches[2]
        inner = shapes["encoder.layers.0.mlp.fc1.weight"][0]
    except KeyError as error:
        raise _unsupported(path, f"no vision tower among the weights ({error})") from error
    layers = {name.split(".")[2] for name in shapes if name.startswith("encoder.layers.")}
    return CLIPVisionConfig(
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=len(layers),
        num_attention_heads=max(1, width // _HEAD_WIDTH),
        image_size=side * math.isqrt(places - 1),
        patch_size=side,
        hidden_act="quick_gelu",
    )


def _shapes(path: Path) -> dict[str, list[int]]:
    """Shapes of the vision tower's weights by their names in it.

    Raises:
        ToolFailed: A file is damaged.
    """
    return {
        name.removeprefix(TOWER): shape
        for file in sorted(path.glob("*.safetensors"))
        for name, shape in shapes_in(file)
        if name.startswith(TOWER)
    }


def _limit(about: Mapping[str, Any]) -> int:
    """Tokens at most: what it was trained with."""
    trained = int(about.get("tokenizer_model_max_length") or _LIMIT)
    return min(trained, int(about.get("max_position_embeddings") or trained))


def read_json(path: Path) -> dict[str, Any]:
    """An object of a JSON file.

    Raises:
        ToolFailed: It cannot be read.
    """
    try:
        read: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unsupported(path.parent, f"{path.name}: {error}") from error
    return dict(read)


def _unsupported(path: Path, why: str) -> ToolFailed:
    return ToolFailed(
        "this folder is not LLaVA-Med v1.5, or is damaged",
        subject=path.name,
        remedy="Install microsoft/llava-med-v1.5-mistral-7b.",
        detail=why,
    )
