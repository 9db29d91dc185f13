"""What the vision-language models of this pack share: writing an answer, token by token.

Torch; model process only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from transformers import StoppingCriteriaList

from app.tools.model_process.generating import ToldTokens
from app.tools.model_process.serving import Work


@dataclass(frozen=True, slots=True)
class Written:
    """What a model wrote.

    Attributes:
        tokens: Without the prompt and without the token that ends an answer.
        cut: It stopped because no more tokens were allowed, not because it had ended.
    """

    tokens: list[int]
    cut: bool


def write(model: Any, most: int, ends: Iterable[int], work: Work, **inputs: Any) -> Written:
    """Let a model write its most likely answer.

    Args:
        model: Of transformers, with `generate`.
        most: Tokens at most.
        ends: Tokens that end an answer.
        work: Told each token; a cancel is raised from there.
        inputs: `input_ids` (then the answer is taken from behind them) or `inputs_embeds`.
    """
    ends = [int(end) for end in ends]
    with torch.inference_mode():
        out = model.generate(
            **inputs,
            do_sample=False,
            num_beams=1,
            use_cache=True,
            max_new_tokens=most,
            eos_token_id=ends,
            pad_token_id=ends[0],
            stopping_criteria=StoppingCriteriaList([ToldTokens(work.progress, most)]),
        )
    given = inputs["input_ids"].shape[1] if "input_ids" in inputs else 0
    tokens: list[int] = out[0, given:].tolist()
    ended = bool(tokens) and tokens[-1] in ends
    # The originals drop the last token whatever it is: of an answer that was cut, a word's end.
    return Written(tokens[:-1] if ended else tokens, cut=not ended and len(tokens) >= most)


def told(work: Work, start: float, end: float, text: str) -> Callable[[float], None]:
    """A teller of a fraction between `start` and `end` of the whole call; tells whole percents."""
    last = -1

    def tell(fraction: float) -> None:
        nonlocal last
        whole = start + (end - start) * fraction
        if int(whole * 100) > last:
            last = int(whole * 100)
            work.progress(whole, text)

    return tell
