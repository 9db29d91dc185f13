"""MedGemma: a Gemma 3 with its processor, vocabulary and chat template."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3ImageProcessor,
    Gemma3Processor,
    GemmaTokenizer,
    GenerationConfig,
    SiglipVisionConfig,
)
from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig

from tests.support.tiny_files import in_its_precision, randomised
from tests.support.tiny_memory import chained, remember_gated, signs

SAYS = "There is cardiomegaly with a small left effusion."
CARDS: dict[str, dict[str, Any]] = {"medgemma-4b-it": {}, "medgemma-1.5-4b-it": {}}
"""The cards of its models -> arguments of `build` beside the folder."""

SIDE = 56
TOKENS = 4
_SPECIAL = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
_MARKS = (
    "<start_of_turn>",
    "<end_of_turn>",
    "<start_of_image>",
    "<end_of_image>",
    "<image_soft_token>",
)
_TEMPLATE = """{{ bos_token }}
{%- set ahead = messages[0]['content'][0]['text'] + '\\n\\n' if messages[0]['role'] == 'system' -%}
{%- for message in messages if message['role'] != 'system' -%}
<start_of_turn>{{ 'model' if message['role'] == 'assistant' else message['role'] }}
{{ ahead if loop.first }}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}<start_of_image>{%- else -%}{{ part['text'] | trim }}{%- endif -%}
{%- endfor -%}
<end_of_turn>
{% endfor -%}
{%- if add_generation_prompt -%}<start_of_turn>model
{% endif -%}
"""


def build(folder: Path, *, size: str = "tiny", says: str = SAYS) -> None:
    """Write the folder.

    Args:
        folder: Made if need be.
        size: "tiny", or "full": Gemma 3 4B with SigLIP at 896 pixels, bfloat16.
        says: What it answers to anything; "" for whatever its random weights write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    full = size == "full"
    tokenizer = _vocabulary(says or SAYS)
    side, tokens = (896, 256) if full else (SIDE, TOKENS)
    images = Gemma3ImageProcessor(size={"height": side, "width": side})
    Gemma3Processor(
        image_processor=images,
        tokenizer=tokenizer,
        chat_template=_TEMPLATE,
        image_seq_length=tokens,
    ).save_pretrained(folder)
    images.save_pretrained(folder)
    if full:
        # The class's own start takes minutes on a CPU.
        model: Any = randomised(lambda: {"": _model(tokenizer, full=True)}, full=True)[""]
        model.tie_weights()
    else:
        model = _model(tokenizer, full=False)
    if says and not full:
        _teach(model, tokenizer, says)
    ends = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("<end_of_turn>")]
    model.generation_config = GenerationConfig(
        eos_token_id=ends, pad_token_id=0, bos_token_id=2, do_sample=True, top_k=64, top_p=0.95
    )
    model.save_pretrained(folder)


def weights_at_full_size() -> int:
    """How many there are."""
    model = _model(_vocabulary(SAYS), full=True)
    return sum(weight.numel() for weight in model.parameters())


def _vocabulary(says: str) -> Any:
    """Gemma's kind of vocabulary: whole words of the text to be said, signs, bytes."""
    signs_ = [chr(code) for code in range(33, 127)] + ["▁", "\n", "\n\n"]
    heads = [f"▁{word}" if place else word for place, word in enumerate(says.split())]
    pieces = dict.fromkeys([*_SPECIAL, *_MARKS, *(f"<0x{b:02X}>" for b in range(256)), *signs_])
    merges: list[tuple[str, str]] = [("\n", "\n")]
    for word in heads:
        for end in range(2, len(word) + 1):
            pair = (word[: end - 1], word[end - 1])
            if word[:end] not in pieces or pair not in merges:
                merges.append(pair)
            pieces[word[:end]] = None
    names = {piece: place for place, piece in enumerate(pieces)}
    tokenizer: Any = GemmaTokenizer(
        vocab=names,
        merges=cast("Any", merges),
        extra_special_tokens={
            "boi_token": "<start_of_image>",
            "eoi_token": "<end_of_image>",
            "image_token": "<image_soft_token>",
        },
    )
    tokenizer.add_special_tokens(
        {"additional_special_tokens": ["<start_of_turn>", "<end_of_turn>"]},
        replace_extra_special_tokens=False,
    )
    return tokenizer


def _model(tokenizer: Any, *, full: bool) -> Any:
    sizes: dict[str, Any] = (
        {
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "sliding_window": 1024,
            "vocab_size": 262208,
        }
        if full
        else {
            "hidden_size": 128,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 32,
            "sliding_window": 16,
            "vocab_size": len(tokenizer),
            "initializer_range": 0.2,
        }
    )
    vision: dict[str, Any] = (
        {
            "hidden_size": 1152,
            "intermediate_size": 4304,
            "num_hidden_layers": 27,
            "num_attention_heads": 16,
            "image_size": 896,
        }
        if full
        else {
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": SIDE,
        }
    )
    vision |= {"patch_size": 14, "vision_use_head": False}
    config = Gemma3Config(
        text_config=cast("Any", Gemma3TextConfig(**sizes, pad_token_id=0)),
        vision_config=cast("Any", SiglipVisionConfig(**vision)),
        mm_tokens_per_image=256 if full else TOKENS,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
        image_token_index=tokenizer.image_token_id,
    )
    torch.manual_seed(3)
    with in_its_precision(full=full):
        model: Any = Gemma3ForConditionalGeneration(config).eval()
    # Zero at first in the class: nothing of an image would come through.
    model.model.multi_modal_projector.mm_input_projection_weight.data.normal_(std=0.2)
    return model


def _teach(model: Any, tokenizer: Any, says: str) -> None:
    """Let the model write this after the line break that ends the prompt."""
    language = model.model.language_model
    embedding = signs(language.config.vocab_size, language.config.hidden_size)
    with torch.no_grad():
        language.embed_tokens.weight.copy_(embedding)
        for layer in language.layers:
            layer.post_attention_layernorm.weight.fill_(-0.999)
            layer.post_feedforward_layernorm.weight.fill_(-0.999)
        # The residual carries the token itself, sqrt(width) times its embedding.
        language.layers[-1].post_feedforward_layernorm.weight.fill_(100.0)
    ids = tokenizer(says, add_special_tokens=False).input_ids
    first = tokenizer("\n", add_special_tokens=False).input_ids[-1]
    pairs = chained(first, ids, tokenizer.convert_tokens_to_ids("<end_of_turn>"))
    remember_gated(language.layers[-1].mlp, embedding, pairs)
