"""MedGemma 4B answers a question, about no, one or several images (torch; model process only).

Prompt and preprocessing are the folder's own: the chat template, and `Gemma3Processor`, which
resamples each image to a square of 896 pixels. The system instructions are those of the published
examples. Greedy, as its authors advise for answers about images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

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

from app.tools.api import ToolFailed
from app.tools.chest.decoding import Ids, rgb, write
from app.tools.chest.folders import loaded_whole, modern
from app.tools.chest.published_weights import checked, made_on
from app.tools.chest.questions import remove_control_signs, tokens_left
from app.tools.model_process.serving import Work, serve

Progress = Callable[[float, str], None]

WITH_IMAGE = "You are an expert radiologist."
WITHOUT_IMAGE = "You are a helpful medical assistant."
_LIMIT = 8192
"""Tokens of prompt and answer: enough for eight images of 256 tokens, and kind to the memory."""


@dataclass(frozen=True, slots=True)
class MedGemma:
    """The loaded model."""

    model: Any
    processor: Any
    ids: Ids


def load(path: Path, work: Work) -> MedGemma:
    """The model of a folder, ready to run.

    Raises:
        ToolFailed: It is damaged, or of another model.
    """
    processor = _processor(path)
    # Gemma 3 was trained in bfloat16; some of its values are too large for float16.
    wide = torch.float32 if work.placement.dtype == "float16" else None
    model = loaded_whole(Gemma3ForConditionalGeneration, path, work, dtype=wide)
    ids = _ids(model, processor.tokenizer)
    # The folder's own settings ask for sampling: another answer each time.
    model.generation_config = GenerationConfig()
    return MedGemma(model, processor, ids)


def _processor(path: Path) -> Any:
    """Chat template, vocabulary and image processor of a folder.

    Raises:
        ToolFailed: One is missing or damaged.
    """
    try:
        return cast("Any", AutoProcessor).from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolFailed(
            "MedGemma's processor or vocabulary cannot be loaded",
            subject=path.name,
            remedy="Install google/medgemma-4b-it again, with all of its files.",
            detail=f"{type(error).__name__}: {error}"[:2000],
        ) from error


def _ids(model: Any, tokenizer: Any) -> Ids:
    """What ends a turn: the model's own list, and the vocabulary's end."""
    own: Any = model.generation_config.eos_token_id
    ends: list[Any] = [own] if isinstance(own, int) else list(own or ())
    named = tokenizer.convert_tokens_to_ids("<end_of_turn>")
    ends += [tokenizer.eos_token_id, named]
    known = dict.fromkeys(end for end in ends if isinstance(end, int) and end >= 0)
    known.pop(tokenizer.unk_token_id, None)
    return Ids(tuple(known), tokenizer.pad_token_id)


def messages(question: str, images: Sequence[Any]) -> list[dict[str, Any]]:
    """The conversation that the chat template is given.

    Args:
        question: Without control tokens.
        images: PIL images; several are numbered, in the order given.
    """
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


def prepared(gemma: MedGemma, question: str, pixels: Sequence[NDArray[np.uint8]]) -> dict[str, Any]:
    """What the model is given: input_ids, attention_mask, and pixel_values where there are images.

    Args:
        gemma: The model, whose processor and template they are.
        question: As the user wrote it; control tokens in it are taken out.
        pixels: uint8 [rows, columns] or [rows, columns, 3] each.
    """
    asked = remove_control_signs(question, _signs(gemma.processor.tokenizer))
    talk = messages(asked, [rgb(image) for image in pixels])
    return dict(
        gemma.processor.apply_chat_template(
            talk,
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
    )


def _signs(tokenizer: Any) -> set[str]:
    """What the vocabulary takes for a control token."""
    own = {str(token) for token in tokenizer.all_special_tokens}
    return own | {"<start_of_turn>", "<end_of_turn>"}


def entry(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Answer a question.

    Args:
        payload: "question"; "images", a list of uint8 [rows, columns] or [rows, columns, 3];
            "most", tokens of the answer at most; "model", "device".
        progress: Told of each token.

    Returns:
        "text", "finished", "most", and what `serve` adds.

    Raises:
        ToolRetry: The question is too long.
    """

    def work(gemma: MedGemma, doing: Work) -> dict[str, Any]:
        doing.progress(0.15, "Looking at it" if payload["images"] else "Reading the question")
        given = prepared(gemma, str(payload["question"]), payload["images"])
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
        tokens = write(gemma.model, inputs, gemma.ids, doing, most=most)
        text = gemma.processor.tokenizer.decode(tokens.ids, skip_special_tokens=True)
        return {"text": text, "finished": tokens.finished, "most": most}

    return serve(payload, progress, load=load, work=work)


def check(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Whether `models install` may take a folder: its processor, and its weights' headers.

    Raises:
        ToolFailed: It may not.
    """
    _processor(Path(payload["weights"]))
    return checked(payload, _on, modern)


def _on(path: Path, device: str, dtype: torch.dtype) -> dict[str, nn.Module]:
    """The network that a folder's weights belong to, without them; see `published_weights`."""
    config: Any = cast("Any", Gemma3Config).from_pretrained(path, local_files_only=True)
    with made_on(device, dtype):
        model: Any = Gemma3ForConditionalGeneration(config)
    # The head is the embedding itself, which no file has twice.
    return {"model.": model.model}
