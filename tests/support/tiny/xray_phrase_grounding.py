"""MAIRA-2 in its published layout: Dinov2Backbone, four linear layers, Llama."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from torch import nn
from transformers import (
    CLIPVisionConfig,
    Dinov2Backbone,
    Dinov2Config,
    LlamaConfig,
    LlamaForCausalLM,
    LlavaConfig,
    LlavaForConditionalGeneration,
    PreTrainedTokenizerFast,
)

from app.tools.chest.maira import Projector
from tests.support.tiny_files import (
    copy_program,
    randomise,
    randomised,
    write_json,
    write_parts,
)
from tests.support.tiny_memory import chained, remember_gated, signs

PHRASE = "left pleural effusion"
BOX = "<box><x60><y55><x85><y88></box>"
FOUND = f"<obj>{PHRASE}{BOX}</obj>"
"""A box at fractions 0.605, 0.555, 0.855, 0.885 of what the model sees."""
TWO = f"<obj>{PHRASE}<box><x10><y20><x30><y40></box><box><x60><y55><x85><y88></box></obj>"
NOTHING = f"<obj>{PHRASE}</obj>"
PLAIN = "no finding can be seen"
EXCHANGED = f"<obj>{PHRASE}<box><x85><y55><x60><y88></box></obj>"
CARDS: dict[str, dict[str, Any]] = {"maira-2": {"says": FOUND}}
"""The card of its model -> arguments of `build` beside the folder."""

SIDE = 518
SYSTEM = "You are an expert radiology assistant tasked with interpreting a chest X-ray study. "
TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first %}" + SYSTEM + "{% endif %}"
    "{% if message['role'] == 'user' %} USER: {% else %} ASSISTANT: {% endif %}"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %} ASSISTANT:{% endif %}"
)
_MARKS = ("<obj>", "</obj>", "</box><box>", "<box>", "</box>")
"""Two marks in one token: a tiny model that remembers one next token could not close two boxes."""
_LOOKS = {
    "do_convert_rgb": True,
    "do_resize": True,
    "size": {"shortest_edge": SIDE},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": SIDE, "width": SIDE},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5307] * 3,
    "image_std": [0.2583] * 3,
    "image_processor_type": "BitImageProcessor",
    "processor_class": "Maira2Processor",
}
_OLD_NAMES = (
    (".attention.q_proj.", ".attention.attention.query."),
    (".attention.k_proj.", ".attention.attention.key."),
    (".attention.v_proj.", ".attention.attention.value."),
    (".attention.o_proj.", ".attention.output.dense."),
)


def build(
    folder: Path, *, size: str = "tiny", says: str = FOUND, program: str | None = None
) -> None:
    """Write the model's folder.

    Args:
        folder: Made if need be.
        size: "tiny", or "full": ViT-B/14 and a Llama of 7B, written in bfloat16.
        says: What it writes on any image and phrase; "" for whatever its random weights write.
        program: None for the published layout; else another layout with a program of its own,
            `model_programs/maira2`, to which this text is added.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(3)
    tokenizer = make_tokenizer(folder)
    if program is not None:
        _build_program(folder, tokenizer, says, program)
        return
    full = size == "full"
    parts = randomised(lambda: network(full=full, words=len(tokenizer)), full=full)
    if says and not full:
        _teach(parts["language_model."], tokenizer, says)
    seen, told = (cast("Any", parts[name]).config for name in ("vision_tower.", "language_model."))
    _write_configs(folder, seen, told, tokenizer.get_vocab()["<image>"])
    write_parts(folder, parts, full=full, published=published)


def network(*, full: bool, words: int = 32_207) -> dict[str, nn.Module]:
    """The parts by the prefix of their published names; 32,207 is the published vocabulary."""
    seen, told = _tower(full=full), _decoder(32_207 if full else words, full=full)
    return {
        "vision_tower.": Dinov2Backbone(seen),
        "multi_modal_projector.": Projector(seen.hidden_size, told.hidden_size, 4, "gelu"),
        "language_model.": LlamaForCausalLM(told),
    }


def make_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """A small vocabulary of Llama's kind: characters, byte fallback, MAIRA-2's own marks."""
    signs_ = ["<unk>", "<s>", "</s>", *(f"<0x{n:02X}>" for n in range(256)), "▁"]
    signs_ += [chr(n) for n in range(33, 127)]
    names = {sign: place for place, sign in enumerate(signs_)}
    core = Tokenizer(models.BPE(vocab=names, merges=[], unk_token="<unk>", byte_fallback=True))
    core.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    core.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    found = PreTrainedTokenizerFast(
        tokenizer_object=core, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    axes = [f"<{axis}{n}>" for axis in "xy" for n in range(100)]
    found.add_tokens([*_MARKS, *axes, PHRASE, PLAIN, "ASSISTANT:"])
    found.add_tokens(["<image>"], special_tokens=True)
    found.pad_token = "<unk>"
    found.chat_template = TEMPLATE
    found.save_pretrained(folder)
    return found


def published(name: str) -> str:
    """A name as MAIRA-2's files have it: DINOv2's of transformers 4."""
    for new, old in _OLD_NAMES:
        name = name.replace(new, old)
    return name


def _tower(*, full: bool) -> Dinov2Config:
    layers = 12 if full else 2
    values: dict[str, Any] = {
        "hidden_size": 768 if full else 32,
        "num_hidden_layers": layers,
        "num_attention_heads": 12 if full else 2,
        "image_size": SIDE,
        "patch_size": 14 if full else 74,  # 37 x 37 or 7 x 7 places
        "out_features": [f"stage{layers}"],
        "apply_layernorm": True,
        "reshape_hidden_states": False,
    }
    return Dinov2Config(**values)


def _decoder(words: int, *, full: bool) -> LlamaConfig:
    values: dict[str, Any] = {
        "vocab_size": words,
        "hidden_size": 4096 if full else 128,
        "intermediate_size": 11008 if full else 128,
        "num_hidden_layers": 32 if full else 1,
        "num_attention_heads": 32 if full else 4,
        "max_position_embeddings": 4096,
        "rope_theta": 10000.0,
        "rope_scaling": {"type": "linear", "factor": 1.5},
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }
    return LlamaConfig(**values)


def _build_program(folder: Path, tokenizer: Any, says: str, more: str) -> None:
    """CLIP and Llama in LLaVA, with a program that lies in the folder."""
    vision = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=SIDE,
        patch_size=74,
    )
    text: Any = _decoder(len(tokenizer), full=False)
    config: Any = LlavaConfig(
        vision_config=vision, text_config=text, image_token_index=tokenizer.get_vocab()["<image>"]
    )
    config.eos_token_id = tokenizer.eos_token_id
    model: Any = LlavaForConditionalGeneration(config)
    randomise([model], 0.05)
    _teach_parts(model.model.language_model, model.lm_head, tokenizer, says)
    config.save_pretrained(folder)
    # By the names of its program's own modules: transformers would write LLaVA's older ones.
    write_parts(folder, {"": model})
    copy_program("maira2", folder, more)
    written = json.loads((folder / "config.json").read_text("utf-8"))
    written |= {
        "model_type": "maira2",
        "architectures": ["Maira2ForConditionalGeneration"],
        "auto_map": {
            "AutoConfig": "configuration_maira2.Maira2Config",
            "AutoModelForCausalLM": "modeling_maira2.Maira2ForConditionalGeneration",
            "AutoProcessor": "processing_maira2.Maira2Processor",
        },
    }
    processor = {
        "processor_class": "Maira2Processor",
        "auto_map": {"AutoProcessor": "processing_maira2.Maira2Processor"},
        "patch_size": 74,
        "vision_feature_select_strategy": "default",
        "num_additional_image_tokens": 1,
    }
    write_json(folder, {"config.json": written, "processor_config.json": processor})
    write_json(folder, {"preprocessor_config.json": _LOOKS})


def _teach(model: Any, tokenizer: Any, says: str) -> None:
    _teach_parts(model.model, model.lm_head, tokenizer, says)


def _teach_parts(decoder: Any, head: Any, tokenizer: Any, says: str) -> None:
    """Let the decoder write this, from the prompt's last token to the one that ends an answer."""
    ids: Sequence[int] = tokenizer.encode(says, add_special_tokens=False)
    first = tokenizer.encode("ASSISTANT:", add_special_tokens=False)[-1]
    embedding = signs(len(tokenizer), decoder.config.hidden_size)
    with torch.no_grad():
        decoder.embed_tokens.weight.copy_(embedding)
        head.weight.copy_(embedding)
        for layer in decoder.layers:
            layer.self_attn.o_proj.weight.mul_(0.01)
    pairs = chained(first, ids, tokenizer.eos_token_id)
    remember_gated(decoder.layers[0].mlp, embedding, pairs)


def _write_configs(folder: Path, seen: Any, told: Any, image: int) -> None:
    text, vision = told.to_dict(), seen.to_dict()
    # As transformers 4 wrote it.
    text.pop("rope_parameters", None)
    text |= {"rope_theta": 10000.0, "rope_scaling": {"type": "linear", "factor": 1.5}}
    config = {
        "architectures": ["Maira2ForConditionalGeneration"],
        "model_type": "maira2",
        "auto_map": {"AutoModelForCausalLM": "modeling_maira2.Maira2ForConditionalGeneration"},
        "ignore_index": -100,
        "image_token_index": image,
        "image_seq_length": (seen.image_size // seen.patch_size) ** 2,
        "multimodal_projector_bias": True,
        "pad_token_id": 0,
        "projector_hidden_act": "gelu",
        "projector_n_layers": 4,
        "vision_feature_layer": -1,
        "vision_feature_select_strategy": "default",
        "text_config": text,
        "vision_config": vision,
    }
    write_json(folder, {"config.json": config, "preprocessor_config.json": _LOOKS})
