"""The context window: builds a request from as much of the thread as fits the model's context.

`Thread.history` keeps everything; shortening affects only one request. Each step shortens the
oldest messages first and stops soon after the request fits: results are replaced by their summary,
pictures are left out, notes on open images list fewer images, and whole exchanges are replaced by a
note. The current question, and results that the model has not answered yet, stay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from app.agent.context.model_messages import (
    NOTES,
    OWN_WORDS,
    image_notes_text,
    load_prompt,
    marked,
    marked_result,
    result_ids,
)
from app.agent.context.shortening import (
    Calibration,
    message_tokens,
    schema_tokens,
    shorten,
    summary_line,
    text_tokens,
    to_text,
)
from app.agent.llm.base import ModelFailed, ModelInfo, TooLong, ToolSchema
from app.agent.messages import Message, Picture
from app.agent.privacy.redaction import Redactor

LEAST_RESULT = 150
_RESULT_FRAME = 40  # tokens around a result
_STRIDE = 0.2  # of the room that is made at once where something has to give way

Tokens = Callable[[Message], float]


@dataclass(slots=True)
class _Entry:
    message: Message
    tokens: float
    group: int
    is_note: bool = False
    kept: bool = False
    reduced: bool = False


class Draft:
    """A transcript that is shortened in steps until it fits the model's context.

    Its token counts are estimates not corrected by `Calibration`. Messages are left out only in
    whole groups: a question with its note about images, or an answer with the results of its calls.
    """

    def __init__(
        self,
        history: Iterable[tuple[Message, bool]],
        tokens: Tokens,
        limited: Callable[[Message, str, float], Message],
        ids: dict[str, str],
    ) -> None:
        self._tokens = tokens
        self._limited = limited
        self._ids = ids
        self._entries: list[_Entry] = []
        self._folded = 0
        group = 0
        for message, is_note in history:
            after_note = bool(self._entries) and self._entries[-1].is_note
            group += message.role != "tool" and not (message.role == "user" and after_note)
            self._entries.append(_Entry(message, tokens(message), group, is_note))
        self._keep()
        self.total = sum(entry.tokens for entry in self._entries)

    @property
    def shortened(self) -> int:
        """Return how many messages were shortened or left out."""
        return self._folded + sum(entry.reduced for entry in self._entries)

    def messages(self) -> list[Message]:
        """Return the transcript in its current, shortened form."""
        made = [entry.message for entry in self._entries]
        return [self._fold_note(), *made] if self._folded else made

    def fit(self, room: float) -> bool:
        """Shorten the transcript to at most `room` tokens; return False if that is impossible."""
        self._fit_kept(room)
        if self.total <= room:
            return True
        # In strides, so that what gives way stays the same for some requests: endpoints remember
        # the beginning that a request shares with the one before it.
        stride = room * _STRIDE
        wanted = self.total - math.ceil((self.total - room) / stride) * stride if room > 0 else room
        for step in (_summarised, _without_pictures, _fewer_notes):
            for entry in self._entries:
                if self.total <= wanted:
                    return True
                if not entry.kept or step is _fewer_notes:
                    self._replace(entry, step(entry, self._ids.get(entry.message.call_id, "")))
            if self.total <= room:
                return True
        return self._fold(room, wanted)

    def _keep(self) -> None:
        """Mark what stays: the question, the open images, and the calls not yet answered."""
        last = next((e for e in reversed(self._entries) if e.message.role != "tool"), None)
        note = next((e for e in reversed(self._entries) if e.is_note), None)
        asked = (e for e in reversed(self._entries) if e.message.role == "user" and not e.is_note)
        question = next((e for e in asked if not e.message.text.startswith(OWN_WORDS)), None)
        for entry in self._entries:
            entry.kept = (
                entry is note or entry is question or entry.group == getattr(last, "group", 0)
            )

    def _fit_kept(self, room: float) -> None:
        """Give each unanswered result its share of the room, where these alone are too long."""
        kept = [entry for entry in self._entries if entry.kept]
        results = [entry for entry in kept if entry.message.role == "tool"]
        if sum(entry.tokens for entry in kept) <= room:
            return
        for entry in kept:
            self._replace(entry, _fewer_notes(entry, ""))
        left = room - sum(entry.tokens for entry in kept if entry.message.role != "tool")
        results.sort(key=lambda entry: entry.tokens)
        for number, entry in enumerate(results):
            share = left / (len(results) - number)
            if entry.tokens > share:
                limit = max(LEAST_RESULT, share - _RESULT_FRAME)
                ref = self._ids.get(entry.message.call_id, "")
                made = self._limited(entry.message, ref, limit)
                self._replace(entry, marked_result(made))
            left -= entry.tokens

    def _replace(self, entry: _Entry, message: Message | None) -> None:
        if message is None or message == entry.message:
            return
        tokens = self._tokens(message)
        if tokens < entry.tokens:
            self.total += tokens - entry.tokens
            entry.message, entry.tokens, entry.reduced = message, tokens, True

    def _fold(self, room: float, wanted: float) -> bool:
        """Leave out whole groups, oldest first, down to `wanted` tokens; a note replaces them."""
        self.total += self._tokens(self._fold_note())
        left: list[_Entry] = []
        folding = 0
        for entry in self._entries:
            if entry.kept or (self.total <= wanted and entry.group != folding):
                left.append(entry)
                continue
            folding = entry.group
            self._folded += 1
            self.total -= entry.tokens
        self._entries = left
        return self.total <= room

    def _fold_note(self) -> Message:
        text = f"(The {self._folded} oldest messages of this conversation are left out here.)"
        return Message(role="user", text=text)


def _summarised(entry: _Entry, ref: str) -> Message | None:
    message = entry.message
    if message.role != "tool":
        return None
    data: dict[str, Any] = message.data or {"summary": message.text}
    return marked_result(with_model_text(message, summary_line(data, ref), data))


def _without_pictures(entry: _Entry, _: str) -> Message | None:
    message = entry.message
    if not message.pictures:
        return None
    text = f"{message.text}\n(The pictures shown with this are left out here.)"
    return message.model_copy(update={"text": text, "pictures": []})


def _fewer_notes(entry: _Entry, _: str) -> Message | None:
    if not entry.is_note:
        return None
    text = image_notes_text(entry.message.images, NOTES)
    return entry.message.model_copy(update={"text": text})


def with_model_text(message: Message, made: dict[str, Any], data: dict[str, Any]) -> Message:
    """Return a copy of a tool message whose text for the model is the JSON of `made`.

    The copy also holds `data`, the whole result, for the program's own use.
    """
    return message.model_copy(update={"text": to_text(made), "data": data})


RESULT_TOKENS = 10_000
_RESULT_SHARE = 4  # a result takes at most a quarter of the window
_MARGIN = 0.95  # of the window, since the estimate is one
_SMALLER = 0.7  # of a request that was too long, where the endpoint does not say how much
_SMALLEST = 0.95  # where it does: the next one is smaller in any case
_FULL = 0.8  # of the room, from which the user is warned
_STEPS = 20  # of the calibration, from 1 to 2

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request that fits the model's context.

    Attributes:
        messages: The transcript; every call has its result right after it.
        tokens: Estimated number of tokens in messages and tools together.
        shortened: How many messages were shortened to fit the window, not counting results that
            exceeded the limit for a single result.
        notice: Text for the user on what was shortened, to show once per run; "" if nothing was.
        use: How full the context is, with what.
        estimate: The value of `tokens` without the correction by `Calibration`.
    """

    messages: list[Message]
    tokens: int
    shortened: int = 0
    notice: str = ""
    estimate: float = 0.0
    use: ContextUse = field(default_factory=lambda: ContextUse())


@dataclass(frozen=True, slots=True)
class ContextUse:
    """Statistics of a request.

    Attributes:
        tokens: Estimated tokens of the request.
        room: Tokens that a request may take.
        messages: Number of messages, with the system prompt.
        results: How many of them are results of tools.
    """

    tokens: int = 0
    room: int = 0
    messages: int = 0
    results: int = 0

    @property
    def share(self) -> float:
        """Return the share of the room that is taken, from 0 to 1."""
        return min(1.0, self.tokens / self.room) if self.room else 0.0

    @property
    def warning(self) -> str:
        """Return a sentence for the user if the context is nearly full, else ""."""
        if self.share < _FULL:
            return ""
        return (
            f"The conversation fills {self.share:.0%} of the model's context ({self.tokens:,} of "
            f"{self.room:,} tokens: {self.messages} messages, {self.results} of them results). "
            "When it is full, older results are shortened for the model; begin a new conversation "
            "for another subject."
        )


class ContextWindow:
    """Builds requests that fit a model's context, and learns how its endpoint counts tokens."""

    def __init__(self, info: ModelInfo) -> None:
        self.info = info
        self._calibration = Calibration()
        chars = info.chars_per_token
        self._marked = _Memory(marked_result)
        self._tokens = _Memory[Message, float](lambda item: message_tokens(item, chars))
        self._schema_tokens = _Memory[ToolSchema, float](lambda item: schema_tokens(item, chars))
        self._within_limit = _Memory(self._limited)
        self._limit = 0.0
        self._ids: dict[str, str] = {}
        self._most = math.inf
        """Estimated tokens of a request that the endpoint is known to take."""

    @property
    def room(self) -> int:
        """Return how many tokens a request may take: the context less the answer and a margin."""
        room = (self.info.context_tokens - self.info.output_tokens) * _MARGIN
        return max(0, int(min(room, self._most * self._factor)))

    @property
    def _factor(self) -> float:
        """Return the calibration factor, rounded up in steps so that it seldom changes."""
        return math.ceil(self._calibration.factor * _STEPS - 1e-9) / _STEPS

    @property
    def result_tokens(self) -> int:
        """Return the maximum number of tokens in a single result."""
        return max(LEAST_RESULT, min(RESULT_TOKENS, self.room // _RESULT_SHARE))

    def leaves_room(self, system: str, tools: Sequence[ToolSchema], question: str) -> bool:
        """Return whether a system prompt and tools leave room for a question and a result."""
        chars, factor = self.info.chars_per_token, self._factor
        fixed = text_tokens(system, chars) + sum(map(self._schema_tokens, tools))
        left = self.room - text_tokens(question, chars) * factor
        return fixed * factor + max(LEAST_RESULT, left / _RESULT_SHARE) <= left

    @property
    def page_chars(self) -> int:
        """Return how many characters a `read_result` page may have without being shortened."""
        return max(300, int(self.result_tokens * self.info.chars_per_token * 0.3))

    def learn(self, prompt: Prompt, input_tokens: int) -> None:
        """Adjust the estimate to the number of tokens that the endpoint counted for a request."""
        self._calibration.learn(prompt.estimate, input_tokens)

    def overflowed(self, prompt: Prompt, said: TooLong) -> None:
        """Make the next requests smaller, because the endpoint found `prompt` too long.

        `said` holds the limit and the size of the request as the endpoint reported them.
        """
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
        """Return a request that fits the model's context.

        The redactor removes identifiers before anything is cut, so that no part of a name remains;
        None for a local model, which receives everything. `pictures` returns whether a picture may
        be sent; True allows all, False none.

        Raises:
            ModelFailed: Not even the question and the latest results fit.
        """
        shown = list(redactor.messages(history) if redactor else history)
        shown = _with_pictures(shown, pictures if self.info.images else False)
        if any(message.pictures for message in shown):
            system = f"{system}\n\n{load_prompt('PICTURES')}".strip()
        self._ids = result_ids(shown)
        factor = self._factor
        limit = self.result_tokens / factor
        if limit != self._limit:
            self._limit, self._within_limit = limit, _Memory(self._limited)
        for memory in (self._marked, self._tokens, self._schema_tokens, self._within_limit):
            memory.turn()
        limited = [self._within_limit(item) if item.role == "tool" else item for item in shown]
        draft = Draft(marked(limited, self._marked), self._tokens, self._shortened, self._ids)
        head = Message(role="system", text=system)
        fixed = self._tokens(head) + sum(self._schema_tokens(tool) for tool in tools)
        if not draft.fit(self.room / factor - fixed):
            raise _too_long(self.info, (fixed + draft.total) * factor)
        estimate = fixed + draft.total
        messages = [head, *draft.messages()]
        tokens = round(estimate * self._calibration.factor)
        results = sum(message.role == "tool" for message in messages)
        return Prompt(
            messages,
            tokens,
            draft.shortened,
            _notice(draft.shortened, self.info),
            estimate,
            ContextUse(tokens, self.room, len(messages), results),
        )

    def _count(self, text: str) -> float:
        return text_tokens(text, self.info.chars_per_token)

    def _limited(self, message: Message) -> Message:
        return self._shortened(message, self._ids.get(message.call_id, ""), self._limit)

    def _shortened(self, message: Message, ref: str, limit: float) -> Message:
        """Return a result of at most `limit` tokens (before calibration); `data` stays whole."""
        data: dict[str, Any] = message.data or {"text": message.text}
        ref = ref if self.info.own_tools else ""
        made = shorten(data, ref, limit, self._count)
        return message if made == message.data else with_model_text(message, made, data)


class _Memory(Generic[K, T]):
    """A cache of what is made of messages, kept for as long as each request asks for it again."""

    def __init__(self, make: Callable[[K], T]) -> None:
        self._make = make
        self._now: dict[int, tuple[K, T]] = {}
        self._before: dict[int, tuple[K, T]] = {}

    def __call__(self, item: K) -> T:
        # The item is kept with it, so that its id() cannot become another's.
        key = id(item)
        known = self._now.get(key) or self._before.get(key) or (item, self._make(item))
        self._now[key] = known
        return known[1]

    def turn(self) -> None:
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
