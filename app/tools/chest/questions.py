"""Functions that prepare a question for a model's prompt and check its length."""

from __future__ import annotations

from collections.abc import Iterable

from app.tools.api import ToolRetry

_FEWEST_TOKENS = 16  # fewest tokens that make an answer worth asking for


def remove_control_signs(question: str, signs: Iterable[str]) -> str:
    """Return a question in which each control token in `signs` is replaced by a blank."""
    signs = tuple(signs)
    before = ""
    # Repeat, because a removal may join the text around it into another sign.
    while before != question:
        before = question
        for sign in signs:
            question = question.replace(sign, " ")
    return question.strip()


def tokens_left(taken: int, limit: int, most: int, *, images: str, shorter: str) -> int:
    """Return the number of tokens that remain for an answer, at most `most`.

    The prompt, images included, has `taken` tokens; prompt and answer together may have `limit`.
    `images` and `shorter` are texts for the error message ("the image", "ask it shorter").

    Raises:
        ToolRetry: The question leaves no room for an answer.
    """
    left = limit - taken
    if left < _FEWEST_TOKENS:
        raise ToolRetry(
            f"the question is too long: with {images} it takes {taken} of {limit} tokens; {shorter}"
        )
    return min(most, left)
