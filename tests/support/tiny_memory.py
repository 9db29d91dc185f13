"""Makes a tiny random language model produce a given text, by a memorising feed-forward layer.

Each token of a chain is a key whose value is the next one, written into the weights of one
feed-forward layer. The rest of the network stays random and small. So what is tested, loading,
prompt, generation, decoding, is the real thing, and what comes out is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor


def signs(count: int, width: int) -> Tensor:
    """Return embeddings of +-1, nearly orthogonal to each other: float32 [count, width]."""
    drawn = torch.randint(0, 2, (count, width), generator=torch.Generator().manual_seed(7))
    return drawn.float() * 2 - 1


def chained(first: int, ids: Sequence[int], last: int) -> list[tuple[int, int]]:
    """Return pairs of each token and its successor, from the prompt's last token to the end.

    Raises:
        ValueError: A token comes twice, so that what follows it would not be known.
    """
    row = [first, *ids, last]
    if len(set(row[:-1])) != len(row) - 1:
        raise ValueError(f"a token comes twice in {row}")
    return list(pairwise(row))


def remember_gated(mlp: Any, embedding: Tensor, pairs: Sequence[tuple[int, int]]) -> None:
    """Write pairs into a gated layer (gate_proj, up_proj, down_proj) of Mistral's or Gemma's kind.

    Args:
        mlp: Has as many hidden units as there are pairs, or more.
        embedding: [tokens, width] of +-1.
        pairs: Token -> next token.
    """
    width = embedding.shape[1]
    with torch.no_grad():
        for part in (mlp.gate_proj, mlp.up_proj, mlp.down_proj):
            part.weight.zero_()
        for unit, (token, following) in enumerate(pairs):
            mlp.gate_proj.weight[unit] = embedding[token] / width * 10
            mlp.up_proj.weight[unit] = embedding[token] / width
            mlp.down_proj.weight[:, unit] = embedding[following]


def remember_plain(up: Any, down: Any, embedding: Tensor, pairs: Sequence[tuple[int, int]]) -> None:
    """Write pairs into a layer of two linear maps with GELU between, of BERT's kind."""
    width = embedding.shape[1]
    with torch.no_grad():
        for part in (up, down):
            part.weight.zero_()
            part.bias.zero_()
        up.bias.fill_(-0.6 * width)
        for unit, (token, following) in enumerate(pairs):
            up.weight[unit] = embedding[token]
            down.weight[:, unit] = embedding[following]
