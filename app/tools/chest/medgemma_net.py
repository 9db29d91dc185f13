"""MedGemma 4B and 1.5: answers about any number of images (torch; model process only).

The prompt's format is the chat template in the model's folder. `Gemma3Processor` resamples each
image to 896 x 896 pixels. The system instructions are those of the published examples. Decoding is
greedy, as the authors advise for answers about images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers import (
    AutoProcessor,
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    GenerationConfig,
)

from app.paths import resources_dir
from app.tools.api import Progress, ToolFailed
from app.tools.chest.boxes import padded_square, read_medgemma
from app.tools.chest.decoding import SpecialIds, generate_tokens, rgb
from app.tools.chest.questions import remove_control_signs, tokens_left
from app.tools.model_process.published_weights import (
    check_weights,
    current_name,
    load_model,
    uninitialised_modules,
)
from app.tools.model_process.serving import Work, serve

WITH_IMAGE = "You are an expert radiologist."
WITHOUT_IMAGE = "You are a helpful medical assistant."
_THOUGHT, _THOUGHT_END = "<unused94>", "<unused95>"
_LIMIT = 8192
"""Maximum tokens of prompt and answer: enough for eight images of 256 tokens each."""


@dataclass(frozen=True, slots=True)
class MedGemma:
    """The loaded MedGemma network with its processor (of text and images) and special token ids."""

    model: Any
    processor: Any
    ids: SpecialIds


def load(path: Path, work: Work) -> MedGemma:
    """Load MedGemma on the device and in the precision of `work`; float32 instead of float16.

    Raises:
        ToolFailed: The folder is damaged, or contains a different model.
    """
    processor = _processor(path)
    # Gemma 3 was trained in bfloat16; some of its values are too large for float16.
    wide = torch.float32 if work.placement.dtype == "float16" else None
    model = load_model(Gemma3ForConditionalGeneration, path, work, dtype=wide)
    ids = _special_ids(model, processor.tokenizer)
    # The folder's own settings use sampling, which gives a different answer each time.
    model.generation_config = GenerationConfig()
    return MedGemma(model, processor, ids)


def _processor(path: Path) -> Any:
    try:
        return AutoProcessor.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolFailed(
            "MedGemma's processor or vocabulary cannot be loaded",
            subject=path.name,
            remedy="Install it again, with all of its files.",
            detail=f"{type(error).__name__}: {error}"[:2000],
        ) from error


def _special_ids(model: Any, tokenizer: Any) -> SpecialIds:
    own: Any = model.generation_config.eos_token_id
    ends: list[Any] = [own] if isinstance(own, int) else list(own or ())
    named = tokenizer.convert_tokens_to_ids("<end_of_turn>")
    ends += [tokenizer.eos_token_id, named]
    known = dict.fromkeys(end for end in ends if isinstance(end, int) and end >= 0)
    known.pop(tokenizer.unk_token_id, None)
    return SpecialIds(tuple(known), tokenizer.pad_token_id)


def pad_to_square(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return an image centred in a black square with the side max(rows, columns)."""
    rows, columns = pixels.shape[:2]
    seen = padded_square(rows, columns)
    left, top = -int(seen.left), -int(seen.top)
    margins = [(top, int(seen.bottom) - rows), (left, int(seen.right) - columns), (0, 0)]
    return np.pad(pixels, margins[: pixels.ndim])


def messages(question: str, images: Sequence[Any], *, locate: bool = False) -> list[dict[str, Any]]:
    """Return the conversation for the chat template: instructions, images and question.

    Two or more images are numbered. If `locate` is True, the one image and MedGemma 1.5's published
    request for boxes are returned, with the question in it.
    """
    if locate:
        asked = (resources_dir() / "prompts" / "medgemma_boxes.txt").read_text("utf-8").strip()
        told = {"type": "text", "text": asked.replace("QUESTION", question)}
        return [{"role": "user", "content": [{"type": "image", "image": images[0]}, told]}]
    content: list[dict[str, Any]] = [{"type": "text", "text": question}]
    for number, image in enumerate(images, 1):
        if len(images) > 1:
            content.append({"type": "text", "text": f"Image {number}:"})
        content.append({"type": "image", "image": image})
    system = WITH_IMAGE if images else WITHOUT_IMAGE
    return [
        {"role": "system", "content": [{"type": "text", "text": system}]},
        {"role": "user", "content": content},
    ]


def prepare_inputs(
    gemma: MedGemma, question: str, pixels: Sequence[NDArray[np.uint8]], *, locate: bool = False
) -> dict[str, Any]:
    """Return the model's inputs: input_ids, attention_mask and, with images, pixel_values.

    Images are uint8 [rows, columns] or [rows, columns, 3]; control tokens in the question are
    removed.
    """
    asked = remove_control_signs(question, _control_tokens(gemma.processor.tokenizer))
    shown = [pad_to_square(image) if locate else image for image in pixels]
    talk = messages(asked, [rgb(image) for image in shown], locate=locate)
    return dict(
        gemma.processor.apply_chat_template(
            talk, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
    )


def _control_tokens(tokenizer: Any) -> set[str]:
    """Return the texts that the tokenizer reads as control tokens."""
    own = {str(token) for token in tokenizer.all_special_tokens}
    return own | {"<start_of_turn>", "<end_of_turn>"}


def entry(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Answer a question, about images if any are given.

    `payload` and the returned dict are as for `llava_net.entry`, but `payload` has "images", a list
    of uint8 [rows, columns] or [rows, columns, 3], in place of "pixels". If "locate" is true, the
    model is asked for boxes on the only image, and the dict also has "groups", "refused", "seen"
    and "cut" as from `maira.entry`.

    Raises:
        ToolRetry: The question is too long.
    """

    def work(gemma: MedGemma, doing: Work) -> dict[str, Any]:
        doing.progress(0.15, "Looking" if payload["images"] else "Reading the question")
        images, locate = payload["images"], bool(payload.get("locate"))
        given = prepare_inputs(gemma, str(payload["question"]), images, locate=locate)
        most = tokens_left(
            given["input_ids"].shape[1],
            _LIMIT,
            int(payload["most"]),
            images="its images",
            shorter="ask it shorter, or about fewer images",
        )
        inputs = {
            name: value.to(gemma.model.device, gemma.model.dtype)
            if value.is_floating_point()
            else value.to(gemma.model.device)
            for name, value in given.items()
            if isinstance(value, torch.Tensor)
        }
        tokens = generate_tokens(gemma.model, inputs, gemma.ids, doing, most=most)
        tokenizer = gemma.processor.tokenizer
        text = tokenizer.decode(without_thoughts(tokenizer, tokens.ids), skip_special_tokens=True)
        answer = {"text": text, "finished": tokens.finished, "most": most}
        return {**answer, **_boxes(text, *images[0].shape[:2])} if locate else answer

    return serve(payload, progress, load=load, work=work)


def without_thoughts(tokenizer: Any, ids: list[int]) -> list[int]:
    """Return an answer's token ids without the reasoning that MedGemma 1.5 may write before it."""
    begin, end = (tokenizer.convert_tokens_to_ids(mark) for mark in (_THOUGHT, _THOUGHT_END))
    known = {begin, end}.isdisjoint((None, tokenizer.unk_token_id))
    if known and end in ids:
        return ids[ids.index(end) + 1 :]
    return [] if known and begin in ids else ids


def _boxes(text: str, rows: int, columns: int) -> dict[str, Any]:
    found, seen = read_medgemma(text), padded_square(rows, columns)
    return {
        "text": found.text,
        "groups": [[group.phrase, [list(box) for box in group.boxes]] for group in found.groups],
        "refused": list(found.refused),
        "seen": [seen.left, seen.top, seen.right, seen.bottom],
        "cut": False,
    }


def check(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Check processor and weights in payload["weights"]; return {"parameters": their number}.

    Only the headers of the weights are read.

    Raises:
        ToolFailed: A file is missing, is damaged or does not fit.
    """
    _processor(Path(payload["weights"]))
    return check_weights(payload, _build_network, current_name)


def _build_network(path: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    """Return the network that a folder describes, without values; see `published_weights`."""
    config: Any = Gemma3Config.from_pretrained(path, local_files_only=True)
    with uninitialised_modules(device, dtype):
        model: Any = Gemma3ForConditionalGeneration(config)
    # The output layer shares the embedding's weights, which the files contain only once.
    return {"model.": model.model}
