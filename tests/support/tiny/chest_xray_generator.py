"""RoentGen's folder as diffusers saves one, with random weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from diffusers.models.autoencoders.autoencoder_kl import AutoencoderKL
from diffusers.models.unets.unet_2d_condition import UNet2DConditionModel
from diffusers.pipelines.stable_diffusion.pipeline_stable_diffusion import (
    StableDiffusionPipeline,
)
from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
from diffusers.schedulers.scheduling_pndm import PNDMScheduler
from safetensors.torch import load_file
from transformers import (
    CLIPConfig,
    CLIPImageProcessor,
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTokenizer,
    CLIPVisionConfig,
)

_TINY: dict[str, Any] = {
    "unet": {
        # Attention at 16 x 16 only: at 32 x 32 it makes 75 steps seven times as long.
        "block_out_channels": (8, 8, 16),
        "layers_per_block": 1,
        "down_block_types": ("DownBlock2D", "DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D", "UpBlock2D"),
        "cross_attention_dim": 16,
        "attention_head_dim": 8,
        "norm_num_groups": 4,
    },
    "vae": {"block_out_channels": (8, 8, 8, 8), "norm_num_groups": 4, "layers_per_block": 1},
    "text": {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    },
}
# Stable Diffusion 1.4, which RoentGen was made from.
_FULL: dict[str, Any] = {
    "unet": {"block_out_channels": (320, 640, 1280, 1280), "cross_attention_dim": 768},
    "vae": {"block_out_channels": (128, 256, 512, 512), "layers_per_block": 2},
    "text": {
        "hidden_size": 768,
        "intermediate_size": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
    },
}


def build(
    folder: Path,
    *,
    size: str = "tiny",
    strict_checker: bool | None = None,
    of_2022: bool = False,
) -> None:
    """Write the folder.

    Args:
        folder: Where; made where it is not there.
        size: "tiny", or "full" for Stable Diffusion 1.4's own sizes.
        strict_checker: None for no safety checker; False for one that lets everything pass, True
            for one that takes every image for unsuitable.
        of_2022: As folders were written when RoentGen was: weights in .bin files, and the image
            processor under its name of then.
    """
    torch.manual_seed(7)
    sizes = _FULL if size == "full" else _TINY
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer(folder / "tokenizer")
    text = CLIPTextConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=77,
        bos_token_id=len(tokenizer) - 2,
        eos_token_id=len(tokenizer) - 1,
        **sizes["text"],
    )
    parts: dict[str, Any] = {
        "vae": _contrasty(sizes["vae"]),
        "text_encoder": CLIPTextModel(text),
        "tokenizer": tokenizer,
        "unet": UNet2DConditionModel(sample_size=64, **sizes["unet"]),
        "scheduler": PNDMScheduler(
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            skip_prk_steps=True,
            steps_offset=1,
        ),
        "safety_checker": None,
        "feature_extractor": None,
    }
    if strict_checker is not None:
        parts["safety_checker"] = _checker(strict=strict_checker)
        parts["feature_extractor"] = CLIPImageProcessor(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        )
    pipeline = StableDiffusionPipeline(**parts, requires_safety_checker=False)
    pipeline.save_pretrained(folder, safe_serialization=True)
    if of_2022:
        _age(folder)


def _age(folder: Path) -> None:
    for file in folder.glob("*/*.safetensors"):
        state = load_file(file)
        if file.parent.name == "text_encoder":
            state["text_model.embeddings.position_ids"] = torch.arange(77)[None]
        name = file.stem if file.stem.startswith("diffusion") else "pytorch_model"
        torch.save(state, file.with_name(f"{name}.bin"))
        file.unlink()
    index = folder / "model_index.json"
    parts = json.loads(index.read_text())
    parts["feature_extractor"] = ["transformers", "CLIPFeatureExtractor"]
    index.write_text(json.dumps(parts))
    settings = folder / "feature_extractor" / "preprocessor_config.json"
    told = json.loads(settings.read_text())
    del told["image_processor_type"]
    told |= {"feature_extractor_type": "CLIPFeatureExtractor", "size": 32, "crop_size": 32}
    settings.write_text(json.dumps(told))


def _contrasty(sizes: dict[str, Any]) -> AutoencoderKL:
    """A decoder whose greys are spread, so that an image has contrast."""
    blocks: dict[str, Any] = {
        "down_block_types": ("DownEncoderBlock2D",) * 4,
        "up_block_types": ("UpDecoderBlock2D",) * 4,
    }
    vae = AutoencoderKL(latent_channels=4, sample_size=512, **blocks, **sizes)
    with torch.no_grad():
        vae.decoder.conv_out.weight.mul_(2)
    return vae


def _tokenizer(folder: Path) -> CLIPTokenizer:
    """CLIP's tokenizer with letters instead of 49,408 words."""
    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(c) for c in range(ord("!"), ord("~") + 1)]
    words = [*letters, *(f"{c}</w>" for c in letters), "th", "the</w>"]
    words += ["<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\nt h\nth e</w>\n")
    return CLIPTokenizer.from_pretrained(folder, model_max_length=77)


def _checker(*, strict: bool) -> StableDiffusionSafetyChecker:
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=32,
        patch_size=16,
        projection_dim=8,
    )
    checker = StableDiffusionSafetyChecker(
        CLIPConfig(vision_config=vision.to_dict(), projection_dim=8)
    )
    with torch.no_grad():
        # Thresholds of the cosine to what it looks for: -2 is below, 2 above any.
        checker.concept_embeds_weights.fill_(-2.0 if strict else 2.0)
        checker.special_care_embeds_weights.fill_(2.0)
    return checker
