"""MedSAM2's file in facebookresearch/sam2's layout, with made-up weights.

The layers are facebookresearch's by name and shape; only their width is smaller. The weights are
random but for the last layers, which are set so that the network's masks are known. The single
mask for a box is what is brighter than `SINGLE_LEVEL`; of the three for a point, the first is the
whole image, the second what is brighter than `LEVEL`, the third nothing, and the second has the
best score. So what the tool does with masks and scores can be seen.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import torch
from torch import Tensor

LEVEL = 128
"""Grey (0..255) above which a pixel belongs to the second mask."""
SCORES = (0.6, 0.9, 0.3)
SINGLE_LEVEL = 120
SINGLE_SCORE = 0.8

State = dict[str, Tensor]

_BLOCKS = (1, 2, 7, 2)
_MEAN, _DEVIATION = 0.485, 0.229  # of the first channel


def build(folder: Path, *, size: str = "tiny", planted: bool = True) -> None:
    """Write `MedSAM2_latest.pt` into a folder.

    Args:
        folder: The models folder, or the file itself.
        size: "tiny", or "full" for Hiera-T's own widths (39 million parameters).
        planted: Whether the masks are the known ones; else all is random.
    """
    path = folder if folder.suffix == ".pt" else folder / "MedSAM2_latest.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    full = size == "full"
    state = random_state(96 if full else 16, 256 if full else 32, 2048 if full else 64)
    if planted:
        _plant(state)
    torch.save({"model": state}, path)


def shapes(trunk: int, hidden: int, mlp: int) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor of SAM 2.1 (Hiera-T) but for the memory's layers.

    Args:
        trunk: Width of the encoder's first stage: 96.
        hidden: Width of everything behind it: 256.
        mlp: Width of the decoder's feed-forward layers: 2048.
    """
    found: dict[str, tuple[int, ...]] = {
        "maskmem_tpos_enc": (7, 1, 1, 64),
        "no_mem_embed": (1, 1, hidden),
        "no_mem_pos_enc": (1, 1, hidden),
        "no_obj_ptr": (1, hidden),
        "no_obj_embed_spatial": (1, 64),
        "mask_downsample.weight": (1, 1, 4, 4),
        "mask_downsample.bias": (1,),
        "memory_encoder.out_proj.weight": (64, hidden, 1, 1),
        "memory_encoder.out_proj.bias": (64,),
        "memory_attention.norm.weight": (hidden,),
        "memory_attention.norm.bias": (hidden,),
        "obj_ptr_proj.layers.0.weight": (hidden, hidden),
        "obj_ptr_tpos_proj.weight": (64, hidden),
    }
    found |= _encoder(trunk, hidden)
    found |= _prompts(hidden)
    return found | _decoder(hidden, mlp)


def random_state(trunk: int, hidden: int, mlp: int) -> State:
    """Random weights, of a size that neither grows nor vanishes from layer to layer."""
    draw = torch.Generator().manual_seed(11)
    state: State = {}
    for name, shape in shapes(trunk, hidden, mlp).items():
        fan_in = 1
        for side in shape[1:]:
            fan_in *= side
        values = torch.randn(shape, generator=draw) / max(1, fan_in) ** 0.5
        norm = ".norm" in name or (name.endswith((".1.weight", ".4.weight")) and len(shape) == 1)
        state[name] = 1 + 0.1 * values if norm and name.endswith("weight") else values
    return state


def _linear(name: str, out: int, into: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}


def _norm(name: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def _conv(name: str, out: int, into: int, side: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, into, side, side), f"{name}.bias": (out,)}


def _mlp(name: str, *widths: int) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for layer, (into, out) in enumerate(pairwise(widths)):
        found |= _linear(f"{name}.layers.{layer}", out, into)
    return found


def _encoder(trunk: int, hidden: int) -> dict[str, tuple[int, ...]]:
    base = "image_encoder.trunk"
    found = {
        f"{base}.pos_embed": (1, trunk, 7, 7),
        f"{base}.pos_embed_window": (1, trunk, 8, 8),
        **_conv(f"{base}.patch_embed.proj", trunk, 3, 7),
    }
    number = 0
    for stage, count in enumerate(_BLOCKS):
        for block in range(count):
            out = trunk * 2**stage
            into = out // 2 if stage and block == 0 else out
            name = f"{base}.blocks.{number}"
            found |= _norm(f"{name}.norm1", into) | _norm(f"{name}.norm2", out)
            found |= _linear(f"{name}.attn.qkv", 3 * out, into)
            found |= _linear(f"{name}.attn.proj", out, out)
            found |= _mlp(f"{name}.mlp", out, 4 * out, out)
            if into != out:
                found |= _linear(f"{name}.proj", out, into)
            number += 1
    for level in range(4):  # the deepest stage first
        found |= _conv(
            f"image_encoder.neck.convs.{level}.conv", hidden, trunk * 2 ** (3 - level), 1
        )
    return found


def _prompts(hidden: int) -> dict[str, tuple[int, ...]]:
    base = "sam_prompt_encoder"
    embeddings = [f"point_embeddings.{kind}" for kind in range(4)]
    return {
        f"{base}.pe_layer.positional_encoding_gaussian_matrix": (2, hidden // 2),
        **{
            f"{base}.{name}.weight": (1, hidden)
            for name in (*embeddings, "not_a_point_embed", "no_mask_embed")
        },
        **_conv(f"{base}.mask_downscaling.0", 4, 1, 2),
        **_norm(f"{base}.mask_downscaling.1", 4),
        **_conv(f"{base}.mask_downscaling.3", 16, 4, 2),
        **_norm(f"{base}.mask_downscaling.4", 16),
        **_conv(f"{base}.mask_downscaling.6", hidden, 16, 1),
    }


def _attention(name: str, hidden: int, inner: int) -> dict[str, tuple[int, ...]]:
    found = _linear(f"{name}.out_proj", hidden, inner)
    for part in "qkv":
        found |= _linear(f"{name}.{part}_proj", inner, hidden)
    return found


def _decoder(hidden: int, mlp: int) -> dict[str, tuple[int, ...]]:
    base = "sam_mask_decoder"
    found: dict[str, tuple[int, ...]] = {
        f"{base}.iou_token.weight": (1, hidden),
        f"{base}.mask_tokens.weight": (4, hidden),
        f"{base}.obj_score_token.weight": (1, hidden),
    }
    for layer in range(2):
        name = f"{base}.transformer.layers.{layer}"
        found |= _attention(f"{name}.self_attn", hidden, hidden)
        found |= _attention(f"{name}.cross_attn_token_to_image", hidden, hidden // 2)
        found |= _attention(f"{name}.cross_attn_image_to_token", hidden, hidden // 2)
        found |= _mlp(f"{name}.mlp", hidden, mlp, hidden)
        for norm in range(1, 5):
            found |= _norm(f"{name}.norm{norm}", hidden)
    found |= _attention(f"{base}.transformer.final_attn_token_to_image", hidden, hidden // 2)
    found |= _norm(f"{base}.transformer.norm_final_attn", hidden)
    # Transposed convolutions name the incoming channels first.
    found[f"{base}.output_upscaling.0.weight"] = (hidden, hidden // 4, 2, 2)
    found[f"{base}.output_upscaling.0.bias"] = (hidden // 4,)
    found |= _norm(f"{base}.output_upscaling.1", hidden // 4)
    found[f"{base}.output_upscaling.3.weight"] = (hidden // 4, hidden // 8, 2, 2)
    found[f"{base}.output_upscaling.3.bias"] = (hidden // 8,)
    found |= _conv(f"{base}.conv_s0", hidden // 8, hidden, 1)
    found |= _conv(f"{base}.conv_s1", hidden // 4, hidden, 1)
    for token in range(4):
        name = f"{base}.output_hypernetworks_mlps.{token}"
        found |= _mlp(name, hidden, hidden, hidden, hidden // 8)
    found |= _mlp(f"{base}.iou_prediction_head", hidden, 256, 256, 4)
    return found | _mlp(f"{base}.pred_obj_score_head", hidden, hidden, hidden, 1)


def _plant(state: State) -> None:
    """Let the finest features be the grey of 4 x 4 pixels, and the masks thresholds of it."""
    trunk, decoder = "image_encoder.trunk", "sam_mask_decoder"
    for name in (f"{trunk}.pos_embed", f"{trunk}.pos_embed_window"):
        state[name].zero_()
    for part in ("attn.proj", "mlp.layers.1"):  # the first block adds nothing
        state[f"{trunk}.blocks.0.{part}.weight"].zero_()
        state[f"{trunk}.blocks.0.{part}.bias"].zero_()
    kernel = state[f"{trunk}.patch_embed.proj.weight"]
    kernel[0].zero_()
    kernel[0, 0, 3:7, 3:7] = 1 / 16  # stride 4, padding 3: the pixels 4 i to 4 i + 3
    state[f"{trunk}.patch_embed.proj.bias"][0] = 0
    for name in ("image_encoder.neck.convs.3.conv", f"{decoder}.conv_s0"):
        state[f"{name}.weight"][:2].zero_()
        state[f"{name}.weight"][0, 0] = 1
        state[f"{name}.bias"].zero_()
    # Far above zero GELU changes nothing: channel 0 is grey + 50, channel 1 always 50.
    state[f"{decoder}.conv_s0.bias"][:2] = 50
    state[f"{decoder}.output_upscaling.3.weight"].zero_()
    state[f"{decoder}.output_upscaling.3.bias"].zero_()
    single, level = ((grey / 255 - _MEAN) / _DEVIATION for grey in (SINGLE_LEVEL, LEVEL))
    rows = ((1, -1 - single / 50), (0, 1), (1, -1 - level / 50), (0, -1))
    for token, (grey, constant) in enumerate(rows):
        name = f"{decoder}.output_hypernetworks_mlps.{token}.layers.2"
        state[f"{name}.weight"].zero_()
        state[f"{name}.bias"].zero_()
        state[f"{name}.bias"][0] = grey
        state[f"{name}.bias"][1] = constant
    score = f"{decoder}.iou_prediction_head.layers.2"
    state[f"{score}.weight"].zero_()
    state[f"{score}.bias"][:] = torch.logit(torch.tensor([SINGLE_SCORE, *SCORES]))
    known = f"{decoder}.pred_obj_score_head.layers.2"
    state[f"{known}.weight"].zero_()
    state[f"{known}.bias"][:] = 3.0
