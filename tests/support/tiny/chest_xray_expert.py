"""CheXagent-2 in its published layout: a SigLIP tower with its projection, and Phi."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from transformers import (
    CodeGenTokenizer,
    PhiConfig,
    PhiForCausalLM,
    SiglipVisionConfig,
)

from app.tools.chest.chexagent import Visual
from tests.support.tiny_files import (
    copy_program,
    randomise,
    randomised,
    write_json,
    write_parts,
)
from tests.support.tiny_memory import chained, remember_plain, signs

LEAD, REF, END_REF = "There is a ", "<|ref|>", "<|/ref|>"
LABEL, BOX, CORNERS, END_BOX = "left pleural effusion", "<|box|>", "(58,60),(84,88)", "<|/box|>"
TAIL = " with a meniscus sign."
ANSWER = (LEAD, REF, LABEL, END_REF, BOX, CORNERS, END_BOX, TAIL)
"""What it writes, a token each."""
WORDS = (LEAD, LABEL, TAIL)
EXCHANGED = (LEAD, REF, LABEL, END_REF, BOX, "(84,60),(58,88)", END_BOX)
BROKEN_OFF = (LEAD, REF, LABEL, END_REF, BOX, "(58,60),(8")
CARDS: dict[str, dict[str, Any]] = {"chexagent-2-3b": {"says": ANSWER}}
"""The card of its model -> arguments of `build` beside the folder."""

END = "<|endoftext|>"
SPECIAL = (
    "<|img|>",
    "<|/img|>",
    "<|imgpad|>",
    "<|ref|>",
    "<|/ref|>",
    "<|box|>",
    "<|/box|>",
    "<|quad|>",
    "<|/quad|>",
    *(f"<|coord_{n}|>" for n in range(10)),
)
SIDE = 512


def build(
    folder: Path,
    *,
    size: str = "tiny",
    says: tuple[str, ...] = ANSWER,
    program: str | None = None,
) -> None:
    """Write the model's folder.

    Args:
        folder: Made if need be.
        size: "tiny", or "full": ViT-L/16 at 512 pixels and Phi-2, written in bfloat16.
        says: What it writes on any image and question, in pieces that are a token each; empty for
            whatever its random weights write.
        program: None for the published layout; else another layout with a program of its own,
            `model_programs/chexagent`, to which this text is added.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(5)
    full = size == "full"
    tokenizer = make_tokenizer(folder, says)
    if program is not None:
        _build_program(folder, tokenizer, says, program)
        return
    parts = randomised(lambda: network(full=full, words=len(tokenizer)), full=full)
    if says and not full:
        _teach(parts[""], tokenizer, says)
    _write_configs(folder, _tower(full=full), cast("Any", parts[""]).config)
    write_parts(folder, parts, full=full)


def network(*, full: bool, words: int = 51_200) -> dict[str, nn.Module]:
    """The parts by the prefix of their published names; 51,200 is Phi-2's vocabulary."""
    phi = _decoder(51_200 if full else words, full=full)
    return {
        "model.visual.": Visual(_tower(full=full), phi.hidden_size),
        "": PhiForCausalLM(phi),
    }


def _build_program(folder: Path, tokenizer: Any, says: tuple[str, ...], more: str) -> None:
    """Phi with one linear layer for an image, and a program that lies in the folder."""
    phi = _decoder(len(tokenizer), full=False)
    language: Any = PhiForCausalLM(phi)
    seen = nn.Linear(64, phi.hidden_size)
    randomise([language, seen], 0.05)
    _teach(language, tokenizer, says)
    write_parts(folder, {"": language, "visual.": seen})
    copy_program("chexagent", folder, more)
    config = {
        **phi.to_dict(),
        "architectures": ["CheXagentForCausalLM"],
        "model_type": "chexagent",
        "auto_map": {
            "AutoConfig": "configuration_chexagent.CheXagentConfig",
            "AutoModelForCausalLM": "modeling_chexagent.CheXagentForCausalLM",
        },
    }
    asked = ("vision/config.json", "vision/preprocessor_config.json")  # by the card
    write_json(folder, {"config.json": config, **{name: {} for name in asked}})


def make_tokenizer(folder: Path, says: tuple[str, ...]) -> CodeGenTokenizer:
    """GPT-2's bytes without merges, the model's marks, and the pieces of the answer."""
    names = {sign: place for place, sign in enumerate([*_bytes(), END])}
    write_json(folder, {"vocab.json": names})
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    added = [END, *SPECIAL, *(word for word in says if word not in SPECIAL)]
    first = len(names) - 1
    decoder = {
        str(first + place): {
            "content": content,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "single_word": False,
            "special": content.startswith("<|"),
        }
        for place, content in enumerate(added)
    }
    config = {
        "tokenizer_class": "CheXagentTokenizer",
        "auto_map": {"AutoTokenizer": ["tokenization_chexagent.CheXagentTokenizer", None]},
        "added_tokens_decoder": decoder,
        "bos_token": END,
        "eos_token": END,
        "unk_token": END,
        "model_max_length": 2048,
    }
    write_json(folder, {"tokenizer_config.json": config})
    return CodeGenTokenizer.from_pretrained(str(folder))


def _bytes() -> list[str]:
    """GPT-2's printable stand-ins for all bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return [chr(byte) for byte in plain] + [chr(256 + place) for place in range(len(others))]


def _tower(*, full: bool) -> SiglipVisionConfig:
    return SiglipVisionConfig(
        hidden_size=1024 if full else 32,
        intermediate_size=4096 if full else 64,
        num_hidden_layers=24 if full else 2,
        num_attention_heads=16 if full else 2,
        image_size=SIDE,
        patch_size=16 if full else 64,  # 32 x 32 or 8 x 8 places
    )


def _decoder(words: int, *, full: bool) -> PhiConfig:
    values: dict[str, Any] = {
        "vocab_size": words,
        "hidden_size": 2560 if full else 128,
        "intermediate_size": 10240 if full else 64,
        "num_hidden_layers": 32 if full else 1,
        "num_attention_heads": 32 if full else 4,
        "max_position_embeddings": 2048,
        "partial_rotary_factor": 0.4,
        "rope_theta": 10000.0,
    }
    return PhiConfig(**values)


def _teach(model: Any, tokenizer: Any, says: tuple[str, ...]) -> None:
    """Let the decoder write these pieces, from the prompt's last token to the end of an answer."""
    ids = [tokenizer.convert_tokens_to_ids(word) for word in says]
    first = tokenizer.encode("<|assistant|>\n", add_special_tokens=False)[-1]
    embedding = signs(len(tokenizer), model.config.hidden_size)
    layer = model.model.layers[0]
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(embedding)
        model.lm_head.weight.copy_(embedding)
        model.lm_head.bias.zero_()
        for name in ("input_layernorm", "final_layernorm"):
            norm = getattr(layer, name, None) or getattr(model.model, name)
            norm.bias.zero_()
        layer.self_attn.dense.weight.mul_(0.01)
        layer.self_attn.dense.bias.zero_()
    pairs = chained(first, ids, tokenizer.eos_token_id)
    remember_plain(layer.mlp.fc1, layer.mlp.fc2, embedding, pairs)


def _write_configs(folder: Path, siglip: SiglipVisionConfig, phi: PhiConfig) -> None:
    text = phi.to_dict()
    for name in ("rope_parameters", "model_type", "architectures", "pad_token_id"):
        text.pop(name, None)  # as transformers 4.40 wrote it
    config = {
        **text,
        "architectures": ["CheXagentForCausalLM"],
        "model_type": "chexagent",
        "auto_map": {"AutoModelForCausalLM": "modeling_chexagent.CheXagentForCausalLM"},
        "rope_theta": 10000.0,
        "rope_scaling": None,
        "partial_rotary_factor": 0.4,
        "visual": {
            "image_size": SIDE,
            "n_queries": 256,
            "output_dim": phi.hidden_size,
            "vision_model_name_or_path": "StanfordAIMI/XraySigLIP__vit-l-16-siglip-384__webli",
        },
    }
    vision = {"model_type": "siglip", "vision_config": siglip.to_dict()}
    looks = {
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "image_processor_type": "SiglipImageProcessor",
        "resample": 3,
        "size": {"height": SIDE, "width": SIDE},
    }
    written = {
        "config.json": config,
        "vision/config.json": vision,
        "vision/preprocessor_config.json": looks,
    }
    write_json(folder, written)
