r"""LLaVA-Med v1.5, which answers questions with or without an image (torch; model process only).

Prompt and preprocessing follow the original (microsoft/LLaVA-Med, `conv_mistral_instruct` and
`process_images`): "[INST] <image>\nquestion [/INST]", where the image's embeddings take the place
of `<image>`; the image is padded to a square with the mean colour and resampled by CLIP's
processor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import sentencepiece
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors import safe_open
from torch import Tensor, nn
from transformers import (
    AutoTokenizer,
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    MistralConfig,
)

from app.tools.api import Progress, ToolFailed
from app.tools.chest.checkpoint import load_state
from app.tools.chest.decoding import SpecialIds, embedded_inputs, generate_tokens
from app.tools.chest.questions import remove_control_signs, tokens_left
from app.tools.model_process.published_weights import (
    check_weights,
    current_name,
    load_model,
    read_config,
    tensor_shapes,
    uninitialised_modules,
    weight_files,
)
from app.tools.model_process.serving import Work, serve

TOWER = "model.vision_tower.vision_tower.vision_model."
CURRENT_NAMES: Mapping[str, str] = {
    r"^model\.vision_tower\.vision_tower\.vision_model\.": "model.vision_tower.",
    r"^model\.mm_projector\.0\.": "model.multi_modal_projector.linear_1.",
    r"^model\.mm_projector\.2\.": "model.multi_modal_projector.linear_2.",
    r"^model\.embed_tokens\.": "model.language_model.embed_tokens.",
    r"^model\.layers\.": "model.language_model.layers.",
    r"^model\.norm\.": "model.language_model.norm.",
}
"""Patterns of the original weight names -> names in transformers' class; `lm_head` is unchanged."""

_HEAD_WIDTH = 64  # width of an attention head in all CLIP vision towers
_LIMIT = 2048
# CLIP applies its last norm to the class token only, and LLaVA does not use that token.
_UNUSED = ("model.vision_tower.post_layernorm.",)
_PUBLISHED = {
    "mm_projector_type": "mlp2x_gelu",
    "mm_vision_select_feature": "patch",
    "image_aspect_ratio": "pad",
    "mm_use_im_start_end": False,
}
"""The published settings of config.json; other values mean another prompt or network."""


def build_network(path: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    """Return {"": network} for a model's folder, with uninitialised parameters.

    The key is "" because the weights' published names have no common prefix.
    """
    config = _config(path, read_config(path))
    with uninitialised_modules(device, dtype):
        return {"": LlavaForConditionalGeneration(config)}


def transformers_name(name: str) -> str:
    """Return transformers' present name for a weight with LLaVA-Med's or an older name of it."""
    for pattern, target in CURRENT_NAMES.items():
        name, count = re.subn(pattern, target, name)
        if count:
            return name
    return current_name(name)


def _config(path: Path, about: Mapping[str, Any]) -> LlavaConfig:
    """Return transformers' configuration for a folder in either layout.

    For the original layout the vision tower's shape is read from the weights.

    Raises:
        ToolFailed: It is another model, or the vision tower is missing.
    """
    if about.get("model_type") == "llava":
        return LlavaConfig.from_pretrained(path, local_files_only=True)
    for key, value in {"model_type": "llava_mistral", **_PUBLISHED}.items():
        if about.get(key) != value:
            raise _unsupported(path, f"{key} {about.get(key)!r}")
    own = {key: value for key, value in about.items() if not _is_llava_key(key)}
    return LlavaConfig(
        vision_config=cast("Any", _tower_config(path)),
        text_config=MistralConfig(**own),
        projector_hidden_act="gelu",
        vision_feature_layer=int(about.get("mm_vision_select_layer", -2)),
        vision_feature_select_strategy="default",
        tie_word_embeddings=False,
    )


def _is_llava_key(key: str) -> bool:
    """Return True if a key of config.json belongs to LLaVA and not to Mistral."""
    kept = ("model_type", "architectures", "transformers_version", "torch_dtype", "dtype")
    prefixes = ("mm_", "tune_", "freeze_", "unfreeze_", "image_", "tokenizer_", "use_mm_")
    return key in kept or key.startswith(prefixes)


def _tower_config(path: Path) -> CLIPVisionConfig:
    """Return the vision tower's configuration, derived from the shapes of its weights."""
    shapes = {
        name.removeprefix(TOWER): shape
        for file in sorted(path.glob("*.safetensors"))
        for name, shape in tensor_shapes(file).items()
        if name.startswith(TOWER)
    }
    try:
        patches = shapes["embeddings.patch_embedding.weight"]
        places = shapes["embeddings.position_embedding.weight"][0]
        width, side = patches[0], patches[2]
        inner = shapes["encoder.layers.0.mlp.fc1.weight"][0]
    except KeyError as error:
        raise _unsupported(path, f"no vision tower among the weights ({error})") from error
    layers = {name.split(".")[2] for name in shapes if name.startswith("encoder.layers.")}
    return CLIPVisionConfig(
        hidden_size=width,
        intermediate_size=inner,
        num_hidden_layers=len(layers),
        num_attention_heads=max(1, width // _HEAD_WIDTH),
        image_size=side * math.isqrt(places - 1),
        patch_size=side,
        hidden_act="quick_gelu",
    )


def _token_limit(about: Mapping[str, Any]) -> int:
    """Return the maximum number of tokens that the model was trained with."""
    trained = int(about.get("tokenizer_model_max_length") or _LIMIT)
    return min(trained, int(about.get("max_position_embeddings") or trained))


def _unsupported(path: Path, why: str) -> ToolFailed:
    return ToolFailed(
        "this folder is not LLaVA-Med v1.5, or is damaged",
        subject=path.name,
        remedy="Install microsoft/llava-med-v1.5-mistral-7b.",
        detail=why,
    )


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A model's tokenizer, reduced to two special ids and two functions.

    Attributes:
        begin: Id of the token that begins a prompt, `<s>`.
        end: Id of the token that ends an answer, `</s>`.
        ids: Function that returns a text's ids, without `begin`; control tokens in the text are
            treated as plain text.
        text: Function that returns the text for ids, without control tokens.
    """

    begin: int
    end: int
    ids: Callable[[str], list[int]]
    text: Callable[[list[int]], str]


def load_tokenizer(path: Path) -> Tokenizer:
    """Load the tokenizer in a model's folder: tokenizer.model, or else tokenizer.json.

    Raises:
        ToolFailed: The folder contains no tokenizer, or it cannot be read.
    """
    if (path / "tokenizer.model").is_file():
        return _sentencepiece(path)
    if (path / "tokenizer.json").is_file():
        found: Any = AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        plain = {"add_special_tokens": False, "split_special_tokens": True}
        return Tokenizer(
            int(found.bos_token_id),
            int(found.eos_token_id),
            lambda text: list(found(text, **plain)["input_ids"]),
            lambda ids: str(found.decode(ids, skip_special_tokens=True)),
        )
    raise ToolFailed(
        "this model's folder has no vocabulary (tokenizer.model)",
        subject=path.name,
        remedy="Install microsoft/llava-med-v1.5-mistral-7b again.",
    )


def _sentencepiece(path: Path) -> Tokenizer:
    try:
        model = (path / "tokenizer.model").read_bytes()
        pieces = cast("Any", sentencepiece).SentencePieceProcessor(model_proto=model)
    except (OSError, RuntimeError) as error:
        raise ToolFailed(
            "this model's vocabulary (tokenizer.model) cannot be read",
            subject=path.name,
            remedy="Install microsoft/llava-med-v1.5-mistral-7b again.",
            detail=str(error),
        ) from error
    size = int(pieces.vocab_size())
    return Tokenizer(
        int(pieces.bos_id()),
        int(pieces.eos_id()),
        lambda text: list(pieces.encode(text)),
        lambda ids: str(pieces.decode([token for token in ids if token < size])),
    )


_CONTROL_TOKENS = ("<image>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>")


@dataclass(frozen=True, slots=True)
class Llava:
    """The loaded LLaVA-Med with its tokenizer and image processor.

    Attributes:
        limit: Maximum number of tokens of question, image and answer together.
    """

    model: Any
    tokenizer: Tokenizer
    processor: Any
    limit: int


def load(path: Path, work: Work) -> Llava:
    """Load LLaVA-Med from a folder, on the device and in the precision of `work`.

    Raises:
        ToolFailed: The folder is damaged, or contains a different model.
    """
    tokenizer = load_tokenizer(path)
    about = read_config(path)
    model = load_model(
        LlavaForConditionalGeneration,
        path,
        work,
        config=_config(path, about),
        key_mapping=None if about["model_type"] == "llava" else CURRENT_NAMES,
        unused=_UNUSED,
    )
    limit = _token_limit(about.get("text_config", about))
    return Llava(model, tokenizer, _processor(path, model), limit)


def _processor(path: Path, model: Any) -> Any:
    """Return CLIP's image processor with the folder's settings, or else the tower's size."""
    kind: Any = CLIPImageProcessorPil
    if (path / "preprocessor_config.json").is_file():
        return kind.from_pretrained(path, local_files_only=True)
    side = int(model.config.vision_config.image_size)
    return kind(size={"shortest_edge": side}, crop_size={"height": side, "width": side})


def pad_to_square(pixels: NDArray[np.uint8], mean: list[float]) -> Image.Image:
    """Return an image, uint8 [rows, columns] or [rows, columns, 3], as an RGB square with padding.

    The padding has the colour `mean` (red, green, blue in 0..1). For a grey image it is grey, with
    the mean of these three values.
    """
    image = Image.fromarray(np.ascontiguousarray(pixels))
    width, height = image.size
    side = max(width, height)
    if width == height:
        return image.convert("RGB")
    if image.mode == "L":
        square = Image.new("L", (side, side), int(255 * sum(mean) / len(mean)))
    else:
        red, green, blue = (int(255 * part) for part in mean)
        square = Image.new("RGB", (side, side), (red, green, blue))
    # The original shifts the image by one pixel more at random.
    square.paste(image, ((side - width) // 2, (side - height) // 2))
    return square.convert("RGB")


def preprocess(llava: Llava, pixels: NDArray[np.uint8]) -> Tensor:
    """Return the pixels, padded to a square, as the model's input: float32 [1, 3, side, side]."""
    image = pad_to_square(pixels, list(llava.processor.image_mean))
    return llava.processor(image, return_tensors="pt")["pixel_values"]


def prompt_tokens(llava: Llava, question: str, *, image: bool) -> tuple[list[int], list[int]]:
    """Return (token ids of the prompt before the image, token ids after it).

    If `image` is False, the first list contains all ids and the second is empty. Both parts are
    tokenized separately, as in the original. Control tokens in the question are removed.
    """
    tokenizer = llava.tokenizer
    asked = remove_control_signs(question, _CONTROL_TOKENS)
    if not image:
        return [tokenizer.begin, *tokenizer.ids(f"[INST] {asked} [/INST]")], []
    before = [tokenizer.begin, *tokenizer.ids("[INST] ")]
    return before, tokenizer.ids(f"\n{asked} [/INST]")


def embed_prompt(llava: Llava, ids: tuple[list[int], list[int]], values: Tensor | None) -> Tensor:
    """Return the prompt's embeddings [1, tokens, width]: text, image, text.

    `ids` is the result of `prompt_tokens`; `values` is that of `preprocess`, or None for no image.
    """
    model = llava.model
    table = model.get_input_embeddings()
    device = table.weight.device
    parts = [table(torch.tensor(ids[0], device=device))]
    if values is not None:
        seen = model.get_image_features(
            pixel_values=values.to(device, table.weight.dtype), return_dict=True
        )
        parts.append(seen.pooler_output[0].to(table.weight.dtype))
    if ids[1]:
        parts.append(table(torch.tensor(ids[1], device=device)))
    return torch.cat(parts)[None]


def entry(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Answer a question, about an image if one is given.

    `payload` has "question"; "pixels" uint8 [rows, columns] or [rows, columns, 3], or None; "most",
    the largest number of tokens wanted; "model" and "device" for `serve`.

    Returns:
        "text"; "finished", False if the answer was cut off; "most", the number of tokens that was
        allowed, fewer for a long question; and "device", "dtype" and "notes" of `serve`.

    Raises:
        ToolRetry: The question is too long.
    """
    pixels: NDArray[np.uint8] | None = payload.get("pixels")

    def work(llava: Llava, doing: Work) -> dict[str, Any]:
        ids = prompt_tokens(llava, str(payload["question"]), image=pixels is not None)
        with torch.inference_mode():
            doing.progress(0.15, "Reading the question" if pixels is None else "Looking")
            values = None if pixels is None else preprocess(llava, pixels)
            inputs_embeds = embed_prompt(llava, ids, values)
        most = tokens_left(
            inputs_embeds.shape[1],
            llava.limit,
            int(payload["most"]),
            images="the image",
            shorter="ask it shorter",
        )
        tokenizer = llava.tokenizer
        inputs = embedded_inputs(inputs_embeds)
        tokens = generate_tokens(
            llava.model, inputs, SpecialIds.of(tokenizer.end), doing, most=most
        )
        text = tokenizer.text(tokens.ids)
        return {"text": text, "finished": tokens.finished, "most": most}

    return serve(payload, progress, load=load, work=work)


def compare_towers(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Check that the vision tower in LLaVA-Med's weights is equal to the original CLIP's.

    The published program uses CLIP's in its place. `payload` and the result are as for
    `installation.self_check`; "file" is CLIP's pytorch_model.bin.
    """
    clip = load_state(Path(payload["file"]))
    count, largest, different = 0, 0.0, list[str]()
    for path in weight_files(Path(payload["model"]["path"])):
        with safe_open(path, framework="pt") as weights:
            for name in [name for name in weights.keys() if name.startswith(TOWER)]:  # noqa: SIM118
                own, count = weights.get_tensor(name), count + 1
                other = clip.get(f"vision_model.{name.removeprefix(TOWER)}")
                if other is None or other.shape != own.shape:
                    different.append(name)
                elif not torch.equal(other.to(own.dtype), own):
                    different.append(name)
                    largest = max(largest, float((other.float() - own.float()).abs().max()))
    if count and not different:
        return {"outcome": f"passed: all {count} tensors of the vision tower are CLIP's"}
    return {
        "outcome": f"failed: {len(different)} of {count} tensors of the vision tower are not "
        f"CLIP's (up to {largest:.2g} apart). The published program loads CLIP's in their place, "
        "so its answers are not those of this model here"
    }


def check(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Check tokenizer and weights in payload["weights"]; return {"parameters": their number}.

    Only the headers of the weights are read.

    Raises:
        ToolFailed: A file is missing, is damaged or does not fit.
    """
    load_tokenizer(Path(payload["weights"]))
    return check_weights(payload, build_network, transformers_name)
