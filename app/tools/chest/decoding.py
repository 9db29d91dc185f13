"""Text generation with transformers models, without sampling (torch; model process only)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from transformers import GenerationConfig, StoppingCriteria, StoppingCriteriaList

from app.tools.api import Progress
from app.tools.model_process.serving import Work


class TokenProgress(StoppingCriteria):
    """Calls `progress` at each token that transformers generates; it may raise to cancel."""

    def __init__(self, progress: Progress, most: int) -> None:
        self._progress = progress
        self._most = most
        self._written = 0

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> torch.BoolTensor:
        """Report one more token; the returned tensor never stops `generate`."""
        del scores, kwargs
        self._written += 1
        share = min(1.0, self._written / max(1, self._most))
        self._progress(0.2 + 0.78 * share, f"{self._written} tokens written")
        stop = torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
        return cast("torch.BoolTensor", stop)


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """The special token ids that generation needs.

    Attributes:
        end: Ids that end a text.
        pad: Id of the padding token.
        start: Id that a decoder begins with; None for a model that continues a given prompt.
    """

    end: tuple[int, ...]
    pad: int
    start: int | None = None

    @classmethod
    def of(cls, end: int) -> SpecialIds:
        """Return the ids of a model with one end token, which also serves as padding."""
        return cls((end,), end)


@dataclass(frozen=True, slots=True)
class GeneratedTokens:
    """The tokens that a model wrote.

    Attributes:
        ids: Token ids without the prompt, start token, end token and padding.
        finished: True if the model ended the text itself, False if the limit cut it off.
    """

    ids: list[int]
    finished: bool


def rgb(pixels: NDArray[np.uint8]) -> Image.Image:
    """Return an image, uint8 [rows, columns] or [rows, columns, 3], as RGB.

    Grey images get three equal channels.
    """
    return Image.fromarray(np.ascontiguousarray(pixels)).convert("RGB")


def embedded_inputs(embedded: Tensor) -> dict[str, Tensor]:
    """Return prompt embeddings [1, tokens, width] as the `inputs` of `generate_tokens`."""
    read = torch.ones(embedded.shape[:2], dtype=torch.long, device=embedded.device)
    return {"inputs_embeds": embedded, "attention_mask": read}


def generate_tokens(
    model: Any,
    inputs: Mapping[str, Tensor],
    ids: SpecialIds,
    work: Work,
    *,
    most: int,
    beams: int = 1,
) -> GeneratedTokens:
    """Generate text without sampling, by greedy or beam search, and return its tokens.

    Args:
        model: A transformers model with `generate`.
        inputs: The model's inputs. If they contain a prompt as "input_ids", the prompt is removed
            from the output.
        ids: The special token ids.
        work: Settings of the call. Its `progress` is called after each token. If its `share` is
            below 1 (memory is short), fewer beams are used, and a sentence in its `notes` says so.
        most: Maximum number of tokens to generate.
        beams: Number of beams; 1 for greedy search.
    """
    # Read `share` only if it has an effect: reading it tells `serve` that a repeat with less helps.
    wide = max(1, round(beams * work.share)) if beams > 1 else 1
    if wide < beams:
        work.notes.append(f"written with {wide} of {beams} beams: the text may be of lower quality")
    settings = GenerationConfig(
        max_new_tokens=most,
        do_sample=False,
        num_beams=wide,
        eos_token_id=list(ids.end),
        pad_token_id=ids.pad,
        decoder_start_token_id=ids.start,
        bos_token_id=ids.start,
        use_cache=True,
    )
    with torch.inference_mode():
        written = model.generate(
            **inputs,
            generation_config=settings,
            stopping_criteria=StoppingCriteriaList([TokenProgress(work.progress, most)]),
        )
    row = cast("list[int]", written[0].tolist())
    if "input_ids" in inputs:
        row = row[inputs["input_ids"].shape[1] :]
    elif ids.start is not None:
        row = row[1:]
    return _cut_at_end(row, ids)


def _cut_at_end(row: list[int], ids: SpecialIds) -> GeneratedTokens:
    # Published programs always drop the last token, even if it is a word of a cut-off answer.
    for place, token in enumerate(row):
        if token in ids.end:
            return GeneratedTokens(row[:place], finished=True)
    return GeneratedTokens(row, finished=False)
