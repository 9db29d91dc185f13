"""LLaVA-Med in the original LLaVA layout: Mistral, CLIP's vision tower, a projector.

It is put together from the parts the original consists of, `MistralForCausalLM`, `CLIPVisionModel`
and an `nn.Sequential`, under the names the original gives them, not through the class that the tool
loads it into.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, cast

import sentencepiece
import torch
from torch import Tensor, nn
from transformers import CLIPVisionConfig, CLIPVisionModel, MistralConfig, MistralForCausalLM

from tests.support.tiny_files import in_its_precision, randomised, write_json, write_shards
from tests.support.tiny_memory import chained, remember_gated, signs

SAYS = "I partly agree: the heart is enlarged."
CARDS: dict[str, dict[str, Any]] = {"llava-med-v1.5-mistral-7b": {}}
"""The cards of its models -> arguments of `build` beside the folder."""

SIDE = 56
SHARDS = 4
_TINY = {
    "hidden_size": 128,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
_FULL = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
}
_WORDS = 32000
_TEXT = (
    "what do you see in this image ?",
    "do you agree with that interpretation ? point out any disagreement .",
    "I partly agree : the heart is enlarged .",
    "no , there is a small left pleural effusion and no pneumothorax",
)


def build(
    folder: Path,
    *,
    size: str = "tiny",
    says: str = SAYS,
    layout: str = "original",
) -> None:
    """Write the folder.

    Args:
        folder: Made if need be.
        size: "tiny", or "full": Mistral 7B and CLIP ViT-L/14-336, bfloat16.
        says: What it answers to anything; "" for whatever its random weights write.
        layout: "original", or "hf" for transformers' own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pieces = _vocabulary(folder, says or SAYS)
    full = size == "full"
    words = _WORDS if full else pieces.vocab_size()
    parts = _random_at_full_size() if full else _parts(words, full=False)
    if says and not full:
        _teach(parts[0], pieces, says)
    if layout == "hf":
        _write_hf(folder, parts, words)
        _write_backend(folder, pieces)
        return
    write_json(folder, {"config.json": _config(parts[0].config)})
    state = list(_state(*parts).items())
    share = -(-len(state) // SHARDS)
    write_shards(folder, [dict(state[i : i + share]) for i in range(0, len(state), share)])


def _vocabulary(folder: Path, says: str) -> Any:
    """A small SentencePiece vocabulary of Llama's kind: pieces, bytes, `<unk> <s> </s>`."""
    model = io.BytesIO()
    cast("Any", sentencepiece).SentencePieceTrainer.train(
        sentence_iterator=iter(_TEXT * 8),
        model_writer=model,
        vocab_size=330,
        hard_vocab_limit=False,
        model_type="bpe",
        byte_fallback=True,
        character_coverage=1.0,
        unk_id=0,
        bos_id=1,
        eos_id=2,
        pad_id=-1,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        # Whole words: what the model is taught to say has no token twice.
        user_defined_symbols=[f"▁{word}" for word in dict.fromkeys(says.split())],
        minloglevel=2,
    )
    (folder / "tokenizer.model").write_bytes(model.getvalue())
    settings = {
        "add_bos_token": True,
        "add_eos_token": False,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<unk>",
        "legacy": True,
        "model_max_length": 2048,
        "tokenizer_class": "LlamaTokenizer",
    }
    write_json(folder, {"tokenizer_config.json": settings})
    return cast("Any", sentencepiece).SentencePieceProcessor(model_proto=model.getvalue())


def _parts(words: int, *, full: bool) -> tuple[Any, Any, Any]:
    """Language model, vision tower and projector, with random weights."""
    text = MistralConfig(
        vocab_size=words,
        max_position_embeddings=32768,
        sliding_window=None,
        tie_word_embeddings=False,
        initializer_range=0.02 if full else 0.2,
        **cast("Any", {"rope_theta": 1_000_000.0, **(_FULL if full else _TINY)}),
    )
    sizes: dict[str, Any] = (
        {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "image_size": 336}
        if full
        else {
            "hidden_size": 64,
            "intermediate_size": 96,
            "num_hidden_layers": 3,
            "image_size": SIDE,
        }
    )
    vision = CLIPVisionConfig(
        patch_size=14,
        num_attention_heads=sizes["hidden_size"] // 64,
        hidden_act="quick_gelu",
        **sizes,
    )
    torch.manual_seed(2)
    with in_its_precision(full=full):
        width = int(cast("Any", text).hidden_size)
        projector = nn.Sequential(
            nn.Linear(sizes["hidden_size"], width), nn.GELU(), nn.Linear(width, width)
        )
        return MistralForCausalLM(text).eval(), CLIPVisionModel(vision).eval(), projector.eval()


def _random_at_full_size() -> tuple[Any, Any, Any]:
    """The parts on a GPU where there is one: the classes' own start takes minutes on a CPU."""
    names = ("language", "tower", "projector")
    made = randomised(lambda: dict(zip(names, _parts(_WORDS, full=True), strict=True)), full=True)
    return made["language"], made["tower"], made["projector"]


def _teach(language: Any, pieces: Any, says: str) -> None:
    """Let the language model write this, after the "]" that ends the prompt."""
    embedding = signs(language.config.vocab_size, language.config.hidden_size)
    layers = language.model.layers
    with torch.no_grad():
        language.model.embed_tokens.weight.copy_(embedding)
        language.lm_head.weight.copy_(embedding)
        for layer in layers:
            layer.self_attn.o_proj.weight.mul_(0.001)
        layers[0].mlp.down_proj.weight.mul_(0.001)
    first = pieces.encode("x [/INST]")[-1]
    pairs = chained(first, pieces.encode(says), pieces.eos_id())
    remember_gated(layers[-1].mlp, embedding, pairs)


def _config(text: Any) -> dict[str, Any]:
    """config.json as the original writes it: Mistral's keys and LLaVA's in one."""
    own = {key: getattr(text, key) for key in _TINY}
    return {
        **own,
        "architectures": ["LlavaMistralForCausalLM"],
        "model_type": "llava_mistral",
        "vocab_size": text.vocab_size,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_act": "silu",
        "rms_norm_eps": text.rms_norm_eps,
        "rope_theta": 1_000_000.0,
        "max_position_embeddings": 32768,
        "sliding_window": None,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "image_aspect_ratio": "pad",
        "mm_hidden_size": 1024,
        "mm_projector_type": "mlp2x_gelu",
        "mm_use_im_patch_token": False,
        "mm_use_im_start_end": False,
        "mm_vision_select_feature": "patch",
        "mm_vision_select_layer": -2,
        "mm_vision_tower": "openai/clip-vit-large-patch14-336",
        "tokenizer_model_max_length": 2048,
        "tokenizer_padding_side": "right",
        "tune_mm_mlp_adapter": False,
        "use_cache": True,
        "use_mm_proj": True,
    }


def weights(words: int, *, full: bool) -> dict[str, Tensor]:
    """All weights under the original's names, for a vocabulary of so many words."""
    return _state(*_parts(words, full=full))


def _state(language: Any, tower: Any, projector: nn.Module) -> dict[str, Tensor]:
    """All weights under the original's names."""
    state: dict[str, Tensor] = dict(language.state_dict())
    for name, tensor in tower.state_dict().items():
        state[f"model.vision_tower.vision_tower.vision_model.{name}"] = tensor
    for name, tensor in projector.state_dict().items():
        state[f"model.mm_projector.{name}"] = tensor
    return state


def _write_hf(folder: Path, parts: tuple[Any, Any, Any], words: int) -> None:
    """The same weights in transformers' own layout."""
    from transformers import CLIPImageProcessorPil, LlavaConfig, LlavaForConditionalGeneration

    language, tower, projector = parts
    config = LlavaConfig(
        vision_config=tower.config, text_config=language.config, image_token_index=words - 1
    )
    model: Any = LlavaForConditionalGeneration(config)
    model.model.language_model.load_state_dict(language.model.state_dict())
    model.lm_head.load_state_dict(language.lm_head.state_dict())
    model.model.vision_tower.load_state_dict(tower.state_dict())
    model.model.multi_modal_projector.linear_1.load_state_dict(projector[0].state_dict())
    model.model.multi_modal_projector.linear_2.load_state_dict(projector[2].state_dict())
    model.save_pretrained(folder)
    size = tower.config.image_size
    CLIPImageProcessorPil(
        size={"shortest_edge": size}, crop_size={"height": size, "width": size}
    ).save_pretrained(folder)


def _write_backend(folder: Path, pieces: Any) -> None:
    """The same vocabulary as a tokenizer.json in place of SentencePiece's file."""
    from transformers import LlamaTokenizer
    from transformers.convert_slow_tokenizer import generate_merges

    count = pieces.vocab_size()
    names = {pieces.id_to_piece(place): place for place in range(count)}
    plain = [p for p in range(count) if not (pieces.is_byte(p) or pieces.is_control(p))]
    scores = {pieces.id_to_piece(place): pieces.get_score(place) for place in plain}
    merges = cast("Any", generate_merges)(names, scores)
    cast("Any", LlamaTokenizer)(vocab=names, merges=merges).save_pretrained(folder)
    (folder / "tokenizer.model").unlink()
