"""How a transformers model writes text for us: greedily or by beams, told and stoppable.

Torch and transformers; model process only.
"""

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
    """Reports each token that `generate` writes; a cancel is raised by `progress`.

    Args:
        progress: The calling function's progress.
        most: `max_new_tokens`.
        start: Fraction at which writing begins.
    """

    def __init__(self, progress: Progress, most: int, start: float = 0.2) -> None:
        self._progress = progress
        self._most = most
        self._start = start
        self._written = 0

    def __call__(self, input_ids: Tensor, scores: Any, **kwargs: Any) -> torch.BoolTensor:
        """Report one more token; the returned tensor never stops `generate`."""
        del scores, kwargs
        self._written += 1
        share = min(1.0, self._written / max(1, self._most))
        self._progress(
            self._start + (0.98 - self._start) * share, f"{self._written} tokens written"
        )
        stop = torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
        return cast("torch.BoolTensor", stop)


@dataclass(frozen=True, slots=True)
class Ids:
    """The token ids that generation needs.

    Attributes:
        end: Any of them ends a text.
        pad: Fills up shorter texts of a batch.
        start: What a decoder begins with; None where the prompt is given.
    """

    end: tuple[int, ...]
    pad: int
    start: int | None = None

    @classmethod
    def of(cls, end: int) -> Ids:
        """Of a model whose one end also fills up, and whose prompt is given."""
        return cls((end,), end)


@dataclass(frozen=True, slots=True)
class Tokens:
    """What was written.

    Attributes:
        ids: Without prompt, start and padding, and without what ended it.
        finished: It ended by itself, not at the limit.
    """

    ids: list[int]
    finished: bool


def rgb(pixels: NDArray[np.uint8]) -> Image.Image:
    """An image as the processors take it: RGB, grey ones with three equal channels.

    Args:
        pixels: uint8 [rows, columns] or [rows, columns, 3], bright = dense.
    """
    return Image.fromarray(np.ascontiguousarray(pixels)).convert("RGB")


def embedded_inputs(embedded: Tensor) -> dict[str, Tensor]:
    """Inputs for `write` of a prompt that is given as embeddings [1, tokens, width], all read."""
    read = torch.ones(embedded.shape[:2], dtype=torch.long, device=embedded.device)
    return {"inputs_embeds": embedded, "attention_mask": read}


def write(
    model: Any,
    inputs: Mapping[str, Tensor],
    ids: Ids,
    work: Work,
    *,
    most: int,
    beams: int = 1,
) -> Tokens:
    """Let a model write, the likeliest text first: no sampling, so the same text every time.

    Args:
        model: It has `generate`.
        inputs: Its inputs. What it returns may begin with `inputs["input_ids"]`, which is cut off.
        ids: The tokens that begin, end and fill up.
        work: Told of each token; a cancel is raised by it.
        most: Tokens at most.
        beams: Beams; fewer after memory ran out (`Work.share`).
    """
    # The share is asked for only where it changes something: else memory that ran out would have
    # the same done once more.
    wide = max(1, round(beams * work.share)) if beams > 1 else 1
    if wide < beams:
        work.notes.append(f"written with {wide} of {beams} beams: the text may be a poorer one")
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
    return _until_end(row, ids)


def _until_end(row: list[int], ids: Ids) -> Tokens:
    # Published programs drop the last token whatever it is: of an answer that was cut off, a word.
    for place, token in enumerate(row):
        if token in ids.end:
            return Tokens(row[:place], finished=True)
    return Tokens(row, finished=False)
