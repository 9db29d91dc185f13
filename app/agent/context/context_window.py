"""The context window: builds a request from all of the thread that fits into the model's context.

`Thread.history` keeps everything; what is shortened is shortened for one request only. Each step
takes the oldest first and goes little further than it must: results become their summary,
pictures are left out, texts and arguments become a line, questions become a line, whole messages
are folded into a note. The current question, and results that the model has not answered yet,
stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from app.agent.context.compaction import LEAST_RESULT, Draft, retold
from app.agent.context.model_messages import (
    marked,
    marked_result,
    result_ids,
)
from app.agent.context.prompts import load_prompt
from app.agent.context.shortening import shorten
from app.agent.context.token_estimates import (
    Calibration,
    message_tokens,
    schema_tokens,
    text_tokens,
)
from app.agent.llm.base import ModelFailed, ModelInfo, TooLong, ToolSchema
from app.agent.messages import Message, Picture
from app.agent.privacy.redaction import Redactor

RESULT_TOKENS = 10_000
_RESULT_SHARE = 4  # a result takes at most a quarter of the window
_MARGIN = 0.95  # of the window, since the estimate is one
_SMALLER = 0.7  # of a request that was too long, where the endpoint does not say how much
_SMALLEST = 0.95  # where it does: the next one is smaller in any case
_STEPS = 20  # of the calibration, from 1 to 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request that fits.

    Attributes:
        messages: The transcript; every call has its result right after it.
        tokens: Estimated tokens of messages and tools together.
        shortened: How many messages were shortened to fit the window, not counting results over the
            limit of a single result.
        notice: Tells the user what was shortened; "" for nothing. To be shown once a run.
        estimate: `tokens` before calibration.
    """

    messages: list[Message]
    tokens: int
    shortened: int = 0
    notice: str = ""
    estimate: float = 0.0


class ContextWindow:
    """Fits threads into one model's context, and learns how its endpoint counts tokens.

    Args:
        info: The model's facts.
    """

    def __init__(self, info: ModelInfo) -> None:
        self.info = info
        self._calibration = Calibration()
        self._limited: dict[int, tuple[Message, Message]] = {}
        self._marked = _Memory(marked_result)
        self._tokens = _Memory(lambda item: message_tokens(item, info.chars_per_token))
        self._limit = 0.0
        self._most = math.inf
        """Estimated tokens of a request that the endpoint is known to take."""
        self._schemas: dict[str, tuple[ToolSchema, float]] = {}

    @property
    def room(self) -> int:
        """Return the tokens that a request may take: the context minus the answer's share."""
        room = (self.info.context_tokens - self.info.output_tokens) * _MARGIN
        return max(0, int(min(room, self._most * self._factor)))

    @property
    def _factor(self) -> float:
        """Return the calibration factor, rounded up in steps so that it seldom changes."""
        return math.ceil(self._calibration.factor * _STEPS - 1e-9) / _STEPS

    @property
    def result_tokens(self) -> int:
        """Return the limit of a single result, in tokens."""
        return max(LEAST_RESULT, min(RESULT_TOKENS, self.room // _RESULT_SHARE))

    @property
    def page_chars(self) -> int:
        """Return the characters of a page of `read_result` that will not be shortened again."""
        return max(300, int(self.result_tokens * self.info.chars_per_token * 0.3))

    def learn(self, prompt: Prompt, input_tokens: int) -> None:
        """Learn from the endpoint's own count of the tokens of a request."""
        self._calibration.learn(prompt.estimate, input_tokens)

    def overflowed(self, prompt: Prompt, said: TooLong) -> None:
        """Learn from the endpoint that a request was too long: the next ones are smaller."""
        share = _SMALLER
        if said.limit and said.used > said.limit // 2:
            answer = min(self.info.output_tokens, said.limit // _RESULT_SHARE)
            share = min(_SMALLEST, (said.limit - answer) * _MARGIN / said.used)
        elif said.limit:
            share = min(_SMALLER, said.limit * _SMALLER / max(1, prompt.tokens))
        self._most = max(prompt.estimate, 1.0) * share

    def build(
        self,
        system: str,
        history: Sequence[Message],
        tools: Sequence[ToolSchema] = (),
        *,
        redactor: Redactor | None = None,
        pictures: Callable[[Picture], bool] | bool = False,
    ) -> Prompt:
        """Return the request.

        Args:
            system: The system prompt.
            history: The whole thread, ending with the question or with results of calls.
            tools: The tools that go with it.
            redactor: Cleans the thread for a remote model, before anything is cut, so that no half
                of a name remains.
            pictures: Whether pictures, or which of them, may be sent to this model.

        Raises:
            ModelFailed: Not even the question and the last results fit.
        """
        shown = list(redactor.messages(history) if redactor else history)
        shown = _with_pictures(shown, pictures if self.info.images else False)
        if any(message.pictures for message in shown):
            system = f"{system}\n\n{load_prompt('PICTURES')}".strip()
        ids = result_ids(shown)
        factor = self._factor
        self._marked.turn()
        self._tokens.turn()
        messages = marked(self._within_limits(shown, ids), self._marked)
        draft = Draft(messages, self._tokens, self._shortened, ids)
        head = Message(role="system", text=system)
        fixed = self._tokens(head) + sum(self._schema_tokens(tool) for tool in tools)
        if not draft.fit(self.room / factor - fixed):
            raise _too_long(self.info, (fixed + draft.total) * factor)
        estimate = fixed + draft.total
        return Prompt(
            [head, *draft.messages()],
            round(estimate * self._calibration.factor),
            draft.shortened,
            _notice(draft.shortened, self.info),
            estimate,
        )

    def _count(self, text: str) -> float:
        return text_tokens(text, self.info.chars_per_token)

    def _schema_tokens(self, tool: ToolSchema) -> float:
        known = self._schemas.get(tool.name)
        if known is None or known[0] != tool:
            known = tool, schema_tokens(tool, self.info.chars_per_token)
            self._schemas[tool.name] = known
        return known[1]

    def _within_limits(self, shown: Sequence[Message], ids: dict[str, str]) -> list[Message]:
        """Return the messages with every result within the limit of a single one. Cached."""
        limit = self.result_tokens / self._factor
        if limit != self._limit:
            self._limit, self._limited = limit, {}
        limited: dict[int, tuple[Message, Message]] = {}
        messages: list[Message] = []
        for message in shown:
            if message.role == "tool":
                known = self._limited.get(id(message))
                # The message is kept with it, so that its id() cannot become another's.
                if known is None:
                    known = message, self._shortened(message, ids.get(message.call_id, ""), limit)
                limited[id(message)] = known
                message = known[1]
            messages.append(message)
        self._limited = limited
        return messages

    def _shortened(self, message: Message, ref: str, limit: float) -> Message:
        """Return a result of at most `limit` tokens (before calibration); `data` stays whole."""
        data: dict[str, Any] = message.data or {"text": message.text}
        ref = ref if self.info.own_tools else ""
        made = shorten(data, ref, limit, self._count)
        return message if made == message.data else retold(message, made, data)


class _Memory(Generic[T]):
    """A cache of shortened messages, kept for as long as each request asks for them again."""

    def __init__(self, make: Callable[[Message], T]) -> None:
        self._make = make
        self._now: dict[int, tuple[Message, T]] = {}
        self._before: dict[int, tuple[Message, T]] = {}

    def __call__(self, message: Message) -> T:
        # The message is kept with it, so that its id() cannot become another's.
        key = id(message)
        known = self._now.get(key) or self._before.get(key) or (message, self._make(message))
        self._now[key] = known
        return known[1]

    def turn(self) -> None:
        """Begin another request."""
        self._before, self._now = self._now, {}


def _with_pictures(
    history: Sequence[Message], wanted: Callable[[Picture], bool] | bool
) -> list[Message]:
    """Return the history with each picture once, where it was last shown; without unwanted ones."""
    seen: set[str] = set()
    messages: list[Message] = []
    for message in reversed(history):
        if message.pictures:
            may = wanted if callable(wanted) else lambda _: bool(wanted)
            left = [item for item in message.pictures if may(item) and item.path not in seen]
            seen.update(item.path for item in left)
            message = message.model_copy(update={"pictures": left})
        messages.append(message)
    return messages[::-1]


def _notice(shortened: int, info: ModelInfo) -> str:
    if not shortened:
        return ""
    what = "1 earlier message was" if shortened == 1 else f"{shortened} earlier messages were"
    return (
        f"{what} shortened to fit the model's context of {info.context_tokens} tokens. "
        "The conversation itself keeps everything."
    )


def _too_long(info: ModelInfo, tokens: float) -> ModelFailed:
    return ModelFailed(
        f"The question with its tools and last results takes about {round(tokens)} tokens, and the "
        f"model takes {info.context_tokens}, {info.output_tokens} of them for its answer",
        remedy="Ask a shorter question, close images that are not needed, or choose a model with a "
        "larger context in the model settings.",
    )
