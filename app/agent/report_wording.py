"""Asks a language model to word a report's sentences anew; who asks checks each of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from app.agent.context.model_messages import memory_text
from app.agent.llm.base import LanguageModel, ModelFailed, Text
from app.agent.messages import Message

_TIMEOUT_S = 180.0
_LANGUAGES = {"en": "English", "de": "German"}
_PROMPT = """You word sentences of a radiology report in {language}. Give each sentence below again
as a radiologist would write it, one line each, with the same number before it. Say the same and
nothing more: keep every number, unit, side, negation and name; add no finding, no cause, no
judgement and no advice. Answer with the numbered lines only.

{lines}"""
_LINE = re.compile(r"^\s*(\d+)[.):]\s+(.*\S)\s*$")


def reworded(
    model: LanguageModel, sentences: Sequence[str], language: str, style: str = ""
) -> list[str]:
    """Return the sentences in a model's words, in the same order; not on a thread with a loop.

    `style` are the user's notes on reports (`Memory.told`), which it is shown.

    Raises:
        ModelFailed: The model fails, takes too long, or does not give each sentence once.
    """
    lines = "\n".join(f"{number}. {one}" for number, one in enumerate(sentences, 1))
    text = _PROMPT.format(language=_LANGUAGES[language], lines=lines)
    text = f"{memory_text(style)}\n\n{text}".strip()
    try:
        said = asyncio.run(asyncio.wait_for(_answer(model, text), _TIMEOUT_S))
    except TimeoutError:
        raise ModelFailed("the model took too long", remedy="Ask again later.") from None
    found = [match for match in map(_LINE.match, said.splitlines()) if match]
    if [int(match[1]) for match in found] != list(range(1, len(sentences) + 1)):
        raise ModelFailed(
            "the model did not give each sentence back once",
            remedy="Ask again, or word it yourself.",
        )
    return [match[2] for match in found]


async def _answer(model: LanguageModel, text: str) -> str:
    stream = model.stream([Message(role="user", text=text)], ())
    return "".join([event.text async for event in stream if isinstance(event, Text)])
