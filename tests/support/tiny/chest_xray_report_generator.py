"""A section's report model: an image encoder and a BERT decoder, as IAMJB's baselines."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from transformers import (
    BertConfig,
    BertLMHeadModel,
    BertTokenizer,
    Swinv2Config,
    Swinv2Model,
    VisionEncoderDecoderModel,
    ViTConfig,
    ViTImageProcessorPil,
    ViTModel,
)

from tests.support.tiny_memory import chained, remember_plain, signs

FINDINGS = "the heart is enlarged with a small left pleural effusion"
IMPRESSION = "cardiomegaly and left pleural effusion"
CARDS = {
    "chexpert-mimic-cxr-findings": {"says": FINDINGS},
    "chexpert-mimic-cxr-impression": {"says": IMPRESSION},
}
"""The cards of its models -> arguments of `build` beside the folder."""
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIDE = 32
_MORE = ("no", "normal", "lungs", "are", "clear", "right", ".", ",", "##s")


def build(folder: Path, *, size: str = "tiny", says: str = FINDINGS, swin: bool = False) -> None:
    """Write the model's folder.

    Args:
        folder: Made if need be.
        size: "tiny", or "full": Swin v2 base at 256 pixels and a BERT decoder of 2 layers.
        says: What it writes on any image; "" for whatever its random weights write.
        swin: The encoder is a Swin v2, as the authors say of theirs, and no plain ViT.
    """
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    words = dict.fromkeys([*SPECIAL, *FINDINGS.split(), *IMPRESSION.split(), *_MORE, *says.split()])
    names = {word: place for place, word in enumerate(words)}
    tokenizer = BertTokenizer(vocab=names, do_lower_case=True)
    model = _model(len(names), full=size == "full", swin=swin)
    if size == "tiny" and says:
        _teach(model, [names[word] for word in says.split()], names)
    side: int = cast("Any", model.config).encoder.image_size
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    ViTImageProcessorPil(size={"height": side, "width": side}).save_pretrained(folder)


def _model(words: int, *, full: bool, swin: bool) -> VisionEncoderDecoderModel:
    if full:
        encoder = Swinv2Model(
            Swinv2Config(
                image_size=256,
                embed_dim=128,
                depths=[2, 2, 18, 2],
                num_heads=[4, 8, 16, 32],
                window_size=8,
            ),
            add_pooling_layer=False,
        )
        decoder = BertConfig(num_hidden_layers=2, is_decoder=True, add_cross_attention=True)
    else:
        encoder = _swin() if swin else _vit()
        decoder = BertConfig(
            vocab_size=words,
            hidden_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=128,
            is_decoder=True,
            add_cross_attention=True,
            initializer_range=0.3,
        )
    return VisionEncoderDecoderModel(encoder=encoder, decoder=BertLMHeadModel(decoder)).eval()


def _vit() -> ViTModel:
    config = ViTConfig(
        image_size=SIDE,
        patch_size=8,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.3,
    )
    return ViTModel(config, add_pooling_layer=False)


def _swin() -> Swinv2Model:
    config = Swinv2Config(
        image_size=SIDE, embed_dim=16, depths=[1, 1], num_heads=[2, 2], window_size=4
    )
    return Swinv2Model(config, add_pooling_layer=False)


def _teach(model: Any, ids: list[int], names: dict[str, int]) -> None:
    """Let the decoder write these words, from [CLS] to [SEP]."""
    bert = model.decoder.bert
    embedding = signs(len(names), bert.config.hidden_size)
    layer = bert.encoder.layer[0]
    head = model.decoder.cls.predictions
    with torch.no_grad():
        bert.embeddings.word_embeddings.weight.copy_(embedding)
        bert.embeddings.position_embeddings.weight.mul_(0.01)
        bert.embeddings.token_type_embeddings.weight.mul_(0.01)
        for attention in (layer.attention, layer.crossattention):
            attention.output.dense.weight.mul_(0.01)
        head.transform.dense.weight.copy_(torch.eye(embedding.shape[1]))
        head.transform.dense.bias.zero_()
    pairs = chained(names["[CLS]"], ids, names["[SEP]"])
    remember_plain(layer.intermediate.dense, layer.output.dense, embedding, pairs)
