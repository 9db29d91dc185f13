"""A question on its way into a model's prompt."""

from __future__ import annotations

from collections.abc import Iterable

from app.tools.api import ToolRetry

_LEAST = 16  # tokens that must be left for an answer


def harmless(question: str, signs: Iterable[str]) -> str:
    """The question without what would be read as part of the prompt's own form.

    Args:
        question: As the user wrote it.
        signs: What the vocabulary or the template takes for a sign of its own.
    """
    signs = tuple(signs)
    before = ""
    # The space in its place may make another of what stands around it.
    while before != question:
        before = question
        for sign in signs:
            question = question.replace(sign, " ")
    return question.strip()


def room(taken: int, limit: int, most: int, *, images: str, shorter: str) -> int:
    """How many tokens an answer may have.

    Args:
        taken: Tokens of the prompt, images included.
        limit: Tokens of prompt and answer at most.
        most: Tokens of the answer at most.
        images: What stands in the prompt beside the question ("the image").
        shorter: What to do where it does not fit ("ask it shorter").

    Raises:
        ToolRetry: The question leaves no room for an answer.
    """
    left = limit - taken
    if left < _LEAST:
        raise ToolRetry(
            f"the question is too long: with {images} it takes {taken} of {limit} tokens; {shorter}"
        )
    return min(most, left)
