"""MedSAM2 segmentation of a single image from a box or points (torch; model process only).

MedSAM2 (Ma et al., arXiv 2504.03600) is SAM 2.1 with the Hiera-T encoder, fine-tuned on medical
images at 512 x 512. transformers' `Sam2Processor` prepares the image and the user's box or points:
RGB, bilinear resampling to a square without padding, ImageNet's mean and standard deviation.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from transformers import (
    Sam2Config,
    Sam2HieraDetConfig,
    Sam2ImageProcessor,
    Sam2MaskDecoderConfig,
    Sam2Model,
    Sam2Processor,
    Sam2PromptEncoderConfig,
    Sam2VisionConfig,
)

from app.tools.api import Progress
from app.tools.chest.checkpoint import State, load_into, load_state
from app.tools.model_process.serving import Work, serve

_MEMORY = re.compile(
    r"(memory_attention|memory_encoder|mask_downsample|obj_ptr_proj|obj_ptr_tpos_proj)\.|"
    r"(maskmem_tpos_enc|no_mem_pos_enc|no_obj_ptr|no_obj_embed_spatial)$"
)
_MLP3 = {"0": "proj_in", "1": "layers.0", "2": "proj_out"}
_MLP2 = {"0": "proj_in", "1": "proj_out"}
_DOWN = {"0": "conv1", "1": "layer_norm1", "3": "conv2", "4": "layer_norm2", "6": "conv3"}
_UP = {"0": "upscale_conv1", "1": "upscale_layer_norm", "3": "upscale_conv2"}
_POSITIONAL = "prompt_encoder.shared_embedding.positional_embedding"

POINT = re.compile(r"sam_prompt_encoder\.point_embeddings\.(\d+)\.weight$")
"""Name in transformers of the table that joins the embeddings of the four kinds of points."""
POINTS = "prompt_encoder.point_embed.weight"
DUPLICATED_TENSORS = {_POSITIONAL: "shared_image_embedding.positional_embedding"}
"""Tensors that transformers keeps under a second name as well."""


def is_memory_tensor(name: str) -> bool:
    """Return True if a tensor of this name is used only for videos and not for single images."""
    return _MEMORY.match(name) is not None


def current_name(name: str) -> str:
    """Convert the published name of a tensor to its name in transformers' `Sam2Model`.

    Args:
        name: Name in facebookresearch/sam2, e.g. "image_encoder.trunk.blocks.0.norm1.weight".
    """
    first, _, rest = name.partition(".")
    if name == "no_mem_embed":
        return "no_memory_embedding"
    if first == "image_encoder":
        return f"vision_encoder.{_encoder(rest)}"
    if first == "sam_prompt_encoder":
        return f"prompt_encoder.{_prompt(rest)}"
    if first == "sam_mask_decoder":
        return f"mask_decoder.{_decoder(rest)}"
    return name


def _encoder(name: str) -> str:
    name = name.replace("trunk.", "backbone.", 1)
    name = name.replace("patch_embed.proj.", "patch_embed.projection.")
    name = re.sub(r"^(neck\.convs\.\d+)\.conv\.", r"\1.", name)
    name = re.sub(r"(blocks\.\d+)\.norm(\d)\.", r"\1.layer_norm\2.", name)
    return re.sub(r"\.mlp\.layers\.([01])\.", lambda m: f".mlp.{_MLP2[m[1]]}.", name)


def _prompt(name: str) -> str:
    name = name.replace(
        "pe_layer.positional_encoding_gaussian_matrix", "shared_embedding.positional_embedding"
    )
    return re.sub(r"^mask_downscaling\.(\d)\.", lambda m: f"mask_embed.{_DOWN[m[1]]}.", name)


def _decoder(name: str) -> str:
    name = re.sub(r"^output_upscaling\.(\d)\.", lambda m: f"{_UP[m[1]]}.", name)
    if name.startswith("transformer."):
        name = re.sub(r"\.mlp\.layers\.([01])\.", lambda m: f".mlp.{_MLP2[m[1]]}.", name)
        name = re.sub(r"\.norm(\d)\.", r".layer_norm\1.", name)
        name = name.replace(".norm_final_attn.", ".layer_norm_final_attn.")
        return name.replace(".out_proj.", ".o_proj.")
    heads = r"^(output_hypernetworks_mlps\.\d+|iou_prediction_head|pred_obj_score_head)"
    return re.sub(rf"{heads}\.layers\.(\d)\.", lambda m: f"{m[1]}.{_MLP3[m[2]]}.", name)


SIZE = 512
_STRIDES = (4, 8, 16)
_TRUNK = "vision_encoder.backbone"


@dataclass(slots=True)
class Segmenter:
    """The loaded MedSAM2; `features` encode the last image, `seen` is that image's SHA-256."""

    net: Any
    processor: Any
    seen: str = ""
    features: tuple[Tensor, ...] = ()


def load(path: Path, work: Work) -> Segmenter:
    """Load the network from a weights file, onto the device and in the precision set by `work`.

    Raises:
        ToolFailed: The file is damaged or belongs to a different model.
    """
    net = network(path).to(work.placement.device, work.placement.torch_dtype)
    images = Sam2ImageProcessor(
        size={"height": SIZE, "width": SIZE},
        mask_size={"height": SIZE // _STRIDES[0], "width": SIZE // _STRIDES[0]},
    )
    return Segmenter(net.eval(), Sam2Processor(images))


def network(path: Path) -> Any:
    """Load the network from a file in facebookresearch's layout, on the CPU.

    Raises:
        ToolFailed: The file is damaged or belongs to a different model.
    """
    state = convert_state(load_state(path))
    net = Sam2Model(_config(state))
    load_into(net, state, path)
    return net


def convert_state(state: State) -> State:
    """Return tensors under their names in transformers, without those that only videos need."""
    made: State = {}
    points: dict[int, Tensor] = {}
    for name, tensor in state.items():
        if is_memory_tensor(name):
            continue
        point = POINT.match(name)
        if point:
            points[int(point[1])] = tensor
        else:
            made[current_name(name)] = tensor
    if points:
        made[POINTS] = torch.cat([points[kind] for kind in sorted(points)])
    for name, second in DUPLICATED_TENSORS.items():
        if name in made:
            made[second] = made[name]
    return made


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Segment the marked structure on one image.

    Args:
        payload: "model" and "device" for `serve`; "pixels" uint8 [rows, columns] or
            [rows, columns, 3]; "box" [x0, y0, x1, y1], the centres of its corner pixels, or None;
            "points" [[x, y], ...] and "labels" [1 for inside, 0 for outside, ...], or None.
        progress: Called before each step.

    Returns:
        "mask" uint8 [rows, columns]: for a single point the best-scoring of three masks, else the
        network's only one; "scores", the network's estimate for each of these masks of its overlap
        with the true structure, 0..1; "chosen", the index of the returned mask; "object", the
        probability (0..1) that there is an object at the marks; "model_size", [rows, columns] of
        the network's input; and "device", "dtype" and "notes" of `serve`.
    """

    def work(model: Segmenter, doing: Work) -> dict[str, Any]:
        with torch.inference_mode():
            return _segment(model, payload, doing)

    return serve(payload, progress, load=load, work=work, exact=True)


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Load the weights file payload["weights"] as a check; return {"parameters": their number}."""
    net = network(Path(payload["weights"]))
    return {"parameters": sum(p.numel() for p in net.parameters())}


def _segment(model: Segmenter, payload: dict[str, Any], work: Work) -> dict[str, Any]:
    pixels: NDArray[np.uint8] = payload["pixels"]
    work.progress(0.3, "Looking at the image")
    _encode_image(model, pixels, work)
    work.progress(0.8, "Outlining what is marked")
    asked = prepare_marks(model, payload, pixels.shape[:2], work)
    out = model.net(
        image_embeddings=list(model.features), multimask_output=is_ambiguous(payload), **asked
    )
    scores = out.iou_scores[0, 0].float().cpu()
    best = int(scores.argmax())
    logits = out.pred_masks[0, 0, best].float().cpu()
    full = functional.interpolate(
        logits[None, None], pixels.shape[:2], mode="bilinear", align_corners=False
    )[0, 0]
    return {
        "mask": (full > 0).to(torch.uint8).numpy(),
        "scores": [float(score) for score in scores],
        "chosen": best,
        "object": float(torch.sigmoid(out.object_score_logits.float().flatten()[0])),
        "model_size": [SIZE, SIZE],
    }


def is_ambiguous(payload: dict[str, Any]) -> bool:
    """Return True if a single point is given and no box: the network then draws three masks.

    Otherwise it draws one mask (as `_use_multimask` in bowang-lab/MedSAM2), because fine-tuning on
    boxes trained only this one. If it is unstable, transformers takes the best of the other three.
    """
    return payload.get("box") is None and len(payload.get("points") or ()) == 1


def _encode_image(model: Segmenter, pixels: NDArray[np.uint8], work: Work) -> None:
    """Encode the image, unless it is the same as the last one."""
    digest = hashlib.sha256(repr(pixels.shape).encode())
    digest.update(np.ascontiguousarray(pixels).data)
    if digest.hexdigest() == model.seen:
        return
    colour = pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, axis=2)
    given = model.processor(images=colour, return_tensors="pt")["pixel_values"]
    given = given.to(work.placement.device, work.placement.torch_dtype)
    model.seen = ""
    model.features = tuple(model.net.get_image_embeddings(given))
    model.seen = digest.hexdigest()


def prepare_marks(
    model: Segmenter, payload: dict[str, Any], shape: tuple[int, ...], work: Work
) -> dict[str, Tensor]:
    """Return box and points in `payload` as network inputs, scaled from the image's `shape`."""
    given: dict[str, Any] = {"original_sizes": [list(shape)]}
    if payload.get("box") is not None:
        given["input_boxes"] = [[[float(v) for v in payload["box"]]]]
    if payload.get("points"):
        given["input_points"] = [[[[float(x), float(y)] for x, y in payload["points"]]]]
        given["input_labels"] = [[[int(label) for label in payload["labels"]]]]
    made = model.processor(return_tensors="pt", **given)
    kept = {name: made[name] for name in given if name != "original_sizes"}
    return {name: tensor.to(work.placement.device) for name, tensor in kept.items()}


def _config(state: State) -> Sam2Config:
    """Return SAM 2.1's configuration (Hiera-T, 512 x 512), widths from the weights."""

    def width(name: str, standard: int) -> int:
        return int(state[name].shape[0]) if name in state else standard

    first = width(f"{_TRUNK}.patch_embed.projection.weight", 96)
    hidden = width("vision_encoder.neck.convs.0.weight", 256)
    widths = [first * 2**stage for stage in range(4)]
    return Sam2Config(
        vision_config=Sam2VisionConfig(
            backbone_config=Sam2HieraDetConfig(
                hidden_size=first,
                image_size=[SIZE, SIZE],
                embed_dim_per_stage=widths,
                num_attention_heads_per_stage=[1, 2, 4, 8],
            ),
            backbone_channel_list=widths[::-1],
            backbone_feature_sizes=[[SIZE // s, SIZE // s] for s in _STRIDES],
            fpn_hidden_size=hidden,
        ),
        prompt_encoder_config=Sam2PromptEncoderConfig(hidden_size=hidden, image_size=SIZE),
        mask_decoder_config=Sam2MaskDecoderConfig(
            hidden_size=hidden,
            mlp_dim=width("mask_decoder.transformer.layers.0.mlp.proj_in.weight", 2048),
            iou_head_hidden_dim=width("mask_decoder.iou_prediction_head.proj_in.weight", 256),
        ),
    )
