"""SAM 2.1's weights as facebookresearch/sam2 names them, for transformers' `Sam2Model`.

MedSAM2 is published in the former layout. Only what segments a single image is taken over; the
memory, which follows an object through a video, is left out. transformers' own conversion script
(`convert_sam2_to_hf.py`) is the witness for the names.
"""

from __future__ import annotations

import re

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
"""The embeddings of a point's four kinds, which transformers keeps in one table."""
POINTS = "prompt_encoder.point_embed.weight"
TWICE = {_POSITIONAL: "shared_image_embedding.positional_embedding"}
"""Tensors that transformers keeps under a second name as well."""


def is_memory(name: str) -> bool:
    """Whether a tensor belongs to the memory, which a single image does not need."""
    return _MEMORY.match(name) is not None


def renamed(name: str) -> str:
    """The name of a tensor in transformers' `Sam2Model`.

    Args:
        name: As in facebookresearch/sam2, e.g. "image_encoder.trunk.blocks.0.norm1.weight".
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
