"""An independent copy of SAM 2.1's image part, with the names of facebookresearch/sam2.

A witness for the tool's mapping of names and its configuration: functions over the published
tensors, with nothing of transformers in them. (Hiera-T; Ravi et al., arXiv 2408.00714.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from app.tools.chest import medsam2
from app.tools.model_process.memory import Placement
from app.tools.model_process.serving import Work

State = Mapping[str, Tensor]

_HEADS = 8
_POOLED = {1: 2, 3: 4, 10: 8}  # first block of a stage -> heads from there on
_WINDOWS = (8, 8, 4, 4, 14, 0, 14, 0, 14, 0, 14, 7)
"""Window size of each block; the first of a stage has its predecessor's, 0 is global attention."""
_ENDS = (0, 2, 9, 11)


def entry(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the largest differences between the tool's network and this one.

    Args:
        payload: "path" of a file in the published layout; "pixels" uint8 [512, 512, 3]; "box",
            "points", "labels".
    """
    path = Path(payload["path"])
    state: State = torch.load(path, weights_only=True)["model"]
    work = Work(Placement("cpu", "float32"), lambda fraction, text: None)
    tool = medsam2.load(path, work)
    with torch.inference_mode():
        seen = tool.processor(images=payload["pixels"], return_tensors="pt")["pixel_values"]
        theirs = tool.net(
            pixel_values=seen, **medsam2.prepare_marks(tool, payload, (512, 512), work)
        )
        masks, scores, known = segment(state, seen, payload)
    return {
        "masks": float((theirs.pred_masks[0, 0] - masks[0, 1:]).abs().max()),
        "spread": float(masks.std()),
        "scores": float((theirs.iou_scores[0, 0] - scores[0, 1:]).abs().max()),
        "object": float((theirs.object_score_logits.flatten()[0] - known.flatten()[0]).abs()),
    }


def segment(state: State, seen: Tensor, marks: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    """Return logits of four masks [1, 4, 128, 128], their scores [1, 4] and the object's logit."""
    fine, middle, coarse = _features(state, seen)
    coarse = coarse + state["no_mem_embed"].reshape(1, -1, 1, 1)
    name = "sam_prompt_encoder"
    coarse = coarse + state[f"{name}.no_mask_embed.weight"].reshape(1, -1, 1, 1)
    rows, columns = coarse.shape[-2:]
    y, x = torch.meshgrid(
        (torch.arange(rows) + 0.5) / rows, (torch.arange(columns) + 0.5) / columns, indexing="ij"
    )
    places = _placed(state, torch.stack([x, y], -1)).reshape(1, rows * columns, -1)
    dec = "sam_mask_decoder"
    own = [state[f"{dec}.{n}.weight"] for n in ("obj_score_token", "iou_token", "mask_tokens")]
    tokens = torch.cat([*own, _prompt(state, marks)])[None]
    keys = coarse.flatten(2).transpose(1, 2)
    tokens, keys = _two_way(state, tokens, keys, places)
    picture = keys.transpose(1, 2).reshape(1, -1, rows, columns)
    up = functional.conv_transpose2d(picture, *_pair(state, f"{dec}.output_upscaling.0"), stride=2)
    up = functional.gelu(_norm2d(state, f"{dec}.output_upscaling.1", up + middle))
    up = functional.conv_transpose2d(up, *_pair(state, f"{dec}.output_upscaling.3"), stride=2)
    up = functional.gelu(up + fine)
    weights = torch.stack(
        [_mlp(state, f"{dec}.output_hypernetworks_mlps.{i}", tokens[:, 2 + i]) for i in range(4)], 1
    )
    masks = torch.einsum("bmc,bchw->bmhw", weights, up)
    scores = torch.sigmoid(_mlp(state, f"{dec}.iou_prediction_head", tokens[:, 1]))
    return masks, scores, _mlp(state, f"{dec}.pred_obj_score_head", tokens[:, 0])


def _pair(state: State, name: str) -> tuple[Tensor, Tensor]:
    return state[f"{name}.weight"], state[f"{name}.bias"]


def _linear(state: State, name: str, x: Tensor) -> Tensor:
    return functional.linear(x, *_pair(state, name))


def _norm(state: State, name: str, x: Tensor, eps: float = 1e-5) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], *_pair(state, name), eps)


def _norm2d(state: State, name: str, x: Tensor) -> Tensor:
    return _norm(state, name, x.permute(0, 2, 3, 1), 1e-6).permute(0, 3, 1, 2)


def _mlp(state: State, name: str, x: Tensor) -> Tensor:
    """Apply three linear layers with ReLU between."""
    for layer in range(2):
        x = functional.relu(_linear(state, f"{name}.layers.{layer}", x))
    return _linear(state, f"{name}.layers.2", x)


def _features(state: State, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the three finest feature levels, prepared for the decoder."""
    base = "image_encoder.trunk"
    x = functional.conv2d(seen, *_pair(state, f"{base}.patch_embed.proj"), stride=4, padding=3)
    side = x.shape[-1]
    wide = functional.interpolate(state[f"{base}.pos_embed"], (side, side), mode="bicubic")
    window = state[f"{base}.pos_embed_window"]
    x = x + wide + window.repeat(1, 1, side // 8, side // 8)
    x = x.permute(0, 2, 3, 1)
    stages: list[Tensor] = []
    heads = 1
    for number, size in enumerate(_WINDOWS):
        heads = _POOLED.get(number, heads)
        x = _block(state, f"{base}.blocks.{number}", x, size, heads, number in _POOLED)
        if number in _ENDS:
            stages.append(x.permute(0, 3, 1, 2))
    neck = "image_encoder.neck.convs"
    levels = [
        functional.conv2d(stage, *_pair(state, f"{neck}.{3 - i}.conv"))
        for i, stage in enumerate(stages)
    ]
    levels[2] = levels[2] + functional.interpolate(levels[3], scale_factor=2.0, mode="nearest")
    dec = "sam_mask_decoder"
    fine = functional.conv2d(levels[0], *_pair(state, f"{dec}.conv_s0"))
    return fine, functional.conv2d(levels[1], *_pair(state, f"{dec}.conv_s1")), levels[2]


def _pooled(x: Tensor) -> Tensor:
    return functional.max_pool2d(x.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1)


def _block(state: State, name: str, x: Tensor, window: int, heads: int, pool: bool) -> Tensor:
    """Apply one block of Hiera; x is [1, rows, columns, width]."""
    normed = _norm(state, f"{name}.norm1", x, 1e-6)
    if pool:
        x = _pooled(_linear(state, f"{name}.proj", normed))
    rows, columns = normed.shape[1:3]
    size = window or rows
    below, right = -rows % size, -columns % size
    padded = functional.pad(normed, (0, 0, 0, right, 0, below))
    down, across = padded.shape[1] // size, padded.shape[2] // size
    tiles = padded.reshape(down, size, across, size, -1).permute(0, 2, 1, 3, 4)
    tiles = tiles.reshape(down * across, size, size, -1)
    q, k, v = _linear(state, f"{name}.attn.qkv", tiles).chunk(3, -1)
    if pool:
        q, size = _pooled(q), size // 2
    q, k, v = (part.flatten(1, 2) for part in (q, k, v))
    made = _attended(q, k, v, heads)
    made = _linear(state, f"{name}.attn.proj", made).reshape(down, across, size, size, -1)
    made = made.permute(0, 2, 1, 3, 4).reshape(1, down * size, across * size, -1)
    x = x + made[:, : x.shape[1], : x.shape[2]]
    normed = _norm(state, f"{name}.norm2", x, 1e-6)
    inner = functional.gelu(_linear(state, f"{name}.mlp.layers.0", normed))
    return x + _linear(state, f"{name}.mlp.layers.1", inner)


def _attended(q: Tensor, k: Tensor, v: Tensor, heads: int) -> Tensor:
    """Return softmax attention, written out; all [batch, tokens, width]."""

    def split(t: Tensor) -> Tensor:
        return t.reshape(t.shape[0], t.shape[1], heads, -1).transpose(1, 2)

    weights = split(q) @ split(k).transpose(-1, -2) / math.sqrt(q.shape[-1] // heads)
    return (weights.softmax(-1) @ split(v)).transpose(1, 2).flatten(2)


def _placed(state: State, shares: Tensor) -> Tensor:
    """Return the encoding of positions given as fractions (x, y) of the image."""
    matrix = state["sam_prompt_encoder.pe_layer.positional_encoding_gaussian_matrix"]
    turns = 2 * math.pi * ((2 * shares - 1) @ matrix)
    return torch.cat([turns.sin(), turns.cos()], -1)


def _prompt(state: State, marks: dict[str, Any]) -> Tensor:
    """Return tokens of points, a box's corners and the constant padding."""
    name = "sam_prompt_encoder"
    kinds = [state[f"{name}.point_embeddings.{kind}.weight"][0] for kind in range(4)]
    tokens: list[Tensor] = []

    def at(x: float, y: float) -> Tensor:
        return _placed(state, (torch.tensor([x, y]) + 0.5) / 512)

    points: list[tuple[float, float]] = marks["points"] or []
    labels: list[int] = marks["labels"] or []
    for (x, y), label in zip(points, labels, strict=True):
        tokens.append(at(x, y) + kinds[label])
    if marks["box"] is not None:
        x0, y0, x1, y1 = marks["box"]
        tokens += [at(x0, y0) + kinds[2], at(x1, y1) + kinds[3]]
    return torch.stack([*tokens, state[f"{name}.not_a_point_embed.weight"][0]])


def _two_way(state: State, tokens: Tensor, keys: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    base = "sam_mask_decoder.transformer"
    queries = tokens

    def attend(name: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        q = _linear(state, f"{name}.q_proj", q)
        k = _linear(state, f"{name}.k_proj", k)
        v = _linear(state, f"{name}.v_proj", v)
        return _linear(state, f"{name}.out_proj", _attended(q, k, v, _HEADS))

    for layer in range(2):
        name = f"{base}.layers.{layer}"
        if layer == 0:
            queries = attend(f"{name}.self_attn", queries, queries, queries)
        else:
            q = queries + tokens
            queries = queries + attend(f"{name}.self_attn", q, q, queries)
        queries = _norm(state, f"{name}.norm1", queries)
        found = attend(f"{name}.cross_attn_token_to_image", queries + tokens, keys + places, keys)
        queries = _norm(state, f"{name}.norm2", queries + found)
        inner = functional.relu(_linear(state, f"{name}.mlp.layers.0", queries))
        queries = queries + _linear(state, f"{name}.mlp.layers.1", inner)
        queries = _norm(state, f"{name}.norm3", queries)
        found = attend(
            f"{name}.cross_attn_image_to_token", keys + places, queries + tokens, queries
        )
        keys = _norm(state, f"{name}.norm4", keys + found)
    found = attend(f"{base}.final_attn_token_to_image", queries + tokens, keys + places, keys)
    return _norm(state, f"{base}.norm_final_attn", queries + found), keys
