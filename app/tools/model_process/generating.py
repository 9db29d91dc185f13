"""Progress and cancel while a language model writes (transformers; model process only)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch
from transformers import StoppingCriteria

Progress = Callable[[float, str], None]


class ToldTokens(StoppingCriteria):
    """Tells each token that `generate` has written; a cancel is raised through `progress`.

    Args:
        progress: The entry's.
        most: `max_new_tokens`.
        start: Fraction at which writing begins.
    """

    def __init__(self, progress: Progress, most: int, start: float = 0.2) -> None:
        self._progress = progress
        self._most = most
        self._start = start
        self._written = 0

    def __call__(self, input_ids: torch.Tensor, scores: Any, **kwargs: Any) -> torch.BoolTensor:
        """Called by `generate` after each token; never stops it by its return value."""
        del scores, kwargs
        self._written += 1
        share = min(1.0, self._written / max(1, self._most))
        self._progress(
            self._start + (0.98 - self._start) * share, f"{self._written} tokens written"
        )
        going_on = torch.zeros(input_ids.shape[0], dtype=torch.bool, device=input_ids.device)
        return cast("torch.BoolTensor", going_on)
