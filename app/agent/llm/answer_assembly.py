"""Assembly of streamed answers from their pieces, tolerant of deviations between servers.

The accumulator of the package `openai` (`ChatCompletionStreamState`) was tried: it joins two calls
that a server gives the same index into one, repeats names and ids that come with each piece, and
fails on a call without an index. That one and the package `anthropic` also parse a call that a
length limit cut off.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, cast

from app.agent.llm.base import Call, ModelEvent, Reasoning, Text, Tokens
from app.agent.llm.endpoint import Bounds
from app.agent.llm.failures import Endpoint, cut_off_answer, oversized_answer, unreadable_answer
from app.agent.llm.repair import parse_arguments
from app.agent.llm.schema_calls import SchemaReader
from app.agent.llm.text_calls import TextCalls
from app.agent.messages import ToolCall

MAX_CALLS = 128
CUT_NOTE = "\n\n[The model's answer ends here: it reached its length limit.]"
FILTER_NOTE = "\n\n[The endpoint's content filter ended the answer here.]"
_THINK, _THOUGHT = "<think>", "</think>"
_REASONING = ("reasoning_content", "reasoning", "thinking")
"""Names of the reasoning field: DeepSeek, vLLM and llama.cpp; Ollama and OpenRouter; others."""

Finish = Literal["", "complete", "length", "filter"]
"""The reason why an answer ended; "" while it is still streamed."""

TextFilter = TextCalls | SchemaReader
"""Finds tool calls in text."""


@dataclass(slots=True)
class CallParts:
    """A tool call that is being streamed; `arguments` is the JSON text received so far."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def finished(self, complete: bool) -> Call:
        """Return the finished call; arguments that cannot be parsed are kept as text in `raw`.

        Missing closing brackets are added if the answer is `complete`, not if a limit cut it off.
        """
        arguments = parse_arguments(self.arguments, complete=complete)
        if arguments is None:
            raw = self.arguments.strip() or "(cut off)"
            return Call(ToolCall(id=self.id, name=self.name, arguments={}, raw=raw))
        return Call(ToolCall(id=self.id, name=self.name, arguments=arguments))


class Assembly(ABC):
    """Assembles a model's streamed answer from its pieces; each API protocol has a subclass.

    Attributes:
        started: Whether the endpoint has begun to answer.
    """

    def __init__(self, at: Endpoint, bounds: Bounds) -> None:
        self.started = False
        self._at = at
        self._chars_left = bounds.chars
        self._text_chars_left = bounds.text_chars
        self._finish: Finish = ""
        self._calls: list[CallParts] = []
        self._usage: Tokens | None = None

    @abstractmethod
    def take(self, chunk: Any) -> Iterable[ModelEvent]:
        """Add a piece of the stream, and return the text and reasoning in that piece.

        Tool calls are returned later, by `end`. An answer that is too long raises ModelFailed.
        """

    def end(self) -> Iterable[ModelEvent]:
        """Return the remaining events (tool calls and token usage) once the stream has ended.

        Raises:
            ModelFailed: The stream ended before the answer was complete, or did not contain a
                model's answer.
        """
        if not self.started:
            raise unreadable_answer(self._at, "an empty stream")
        if not self._finish:
            raise cut_off_answer(self._at)
        complete = self._finish != "length"
        text_calls: list[ModelEvent] = []
        for event in self._rest(complete):
            if isinstance(event, Call):
                text_calls.append(event)
            else:
                yield event
        calls = [call.finished(complete) for call in self._calls]
        # A server may leave the text of a call that it has already read in the text.
        yield from calls or text_calls
        if not complete and not calls:
            yield Text(CUT_NOTE)
        if self._finish == "filter":
            yield Text(FILTER_NOTE)
        if self._usage is not None:
            yield self._usage

    def _rest(self, complete: bool) -> Iterable[ModelEvent]:
        """Return the text that was held back, and the calls in it."""
        return ()

    def _spend(self, chars: int, *, text: int = 0) -> None:
        """Count characters of reasoning or calls, and of text; too many raise ModelFailed."""
        self._chars_left -= chars + text
        self._text_chars_left -= text
        if min(self._chars_left, self._text_chars_left) < 0:
            raise oversized_answer(self._at)

    def _text(self, text: str) -> Iterable[ModelEvent]:
        self._spend(0, text=len(text))
        return [Text(text)] if text else []

    def _reasoning(self, text: str) -> Iterable[ModelEvent]:
        self._spend(len(text))
        return [Reasoning(text)] if text else []

    def _new_call(self, call_id: str = "", name: str = "") -> CallParts:
        self._calls.append(CallParts(call_id, name))
        if len(self._calls) > MAX_CALLS:
            raise oversized_answer(self._at)
        return self._calls[-1]


class ChatAssembly(Assembly):
    """Assembles a streamed chat completion; `text_filter` finds tool calls written as text."""

    def __init__(self, at: Endpoint, bounds: Bounds, text_filter: TextFilter | None = None) -> None:
        super().__init__(at, bounds)
        self._filter = text_filter
        self._tags = _ThinkTags()
        self._by_index: dict[int, CallParts] = {}
        self._text_calls: list[ModelEvent] = []

    def take(self, chunk: Any) -> Iterable[ModelEvent]:
        """Add a chunk; see `Assembly.take`."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            # Some servers count in every chunk, up to there: the last one holds.
            self._usage = Tokens(_count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))
        for choice in (getattr(chunk, "choices", None) or [])[:1]:
            if choice.finish_reason:
                endings: dict[str, Finish] = {"length": "length", "content_filter": "filter"}
                self._finish = endings.get(choice.finish_reason, "complete")
            self.started = True
            if choice.delta is not None:
                yield from self._delta(choice.delta)

    def _delta(self, delta: Any) -> Iterable[ModelEvent]:
        thought, text = _reasoning_and_text(delta)
        yield from self._reasoning(thought)
        if text:
            self._spend(0, text=len(text))
            yield from self._filtered(self._tags.take(text))
        for part in getattr(delta, "tool_calls", None) or ():
            self._add(part)

    def _rest(self, complete: bool) -> Iterable[ModelEvent]:
        yield from self._filtered(self._tags.end())
        if self._filter is not None:
            yield from self._without_calls(self._filter.end(complete))
        yield from self._text_calls

    def _filtered(self, events: Iterable[ModelEvent]) -> Iterable[ModelEvent]:
        for event in events:
            if isinstance(event, Text) and self._filter is not None:
                yield from self._without_calls(self._filter.take(event.text))
            else:
                yield event

    def _without_calls(self, events: Iterable[ModelEvent]) -> Iterable[ModelEvent]:
        for event in events:
            if isinstance(event, Call):
                self._text_calls.append(event)
            else:
                yield event

    def _add(self, part: Any) -> None:
        function = getattr(part, "function", None)
        name = str(getattr(function, "name", None) or "")
        arguments = getattr(function, "arguments", None) or ""
        if not isinstance(arguments, str):  # some servers send the object itself
            arguments = json.dumps(arguments)
        call_id = str(getattr(part, "id", None) or "")
        self._spend(len(name) + len(arguments) + len(call_id))
        call = self._call(getattr(part, "index", None), call_id, name, arguments)
        call.id = call_id or call.id
        call.name = call.name or name
        call.arguments += arguments

    def _call(self, index: Any, call_id: str, name: str, arguments: str) -> CallParts:
        """Return the call that a piece belongs to: that of its index, or a new one."""
        if isinstance(index, int):
            known = self._by_index.get(index)
        else:  # without an index, a name begins a call
            known = self._calls[-1] if self._calls and not name else None
        if known is None or _begins_next_call(known, call_id, name, arguments):
            known = self._new_call()
        if isinstance(index, int):
            self._by_index[index] = known
        return known


def _begins_next_call(known: CallParts, call_id: str, name: str, arguments: str) -> bool:
    """Return whether a piece is a new call although its index is known: some give all index 0."""
    if not name or not known.name:
        return False
    if call_id and known.id:
        return call_id != known.id
    whole = parse_arguments(known.arguments, complete=False) is not None
    return whole and arguments.lstrip().startswith("{")


def _reasoning_and_text(delta: Any) -> tuple[str, str]:
    """Return reasoning and text of a delta, wherever the server puts them."""
    thought = ""
    for name in _REASONING:
        value = getattr(delta, name, None)
        if isinstance(value, str) and value:
            thought = value
            break
    content = getattr(delta, "content", None) or ""
    if isinstance(content, str):
        return thought, content + _string(getattr(delta, "refusal", None))
    texts: list[str] = []
    # Mistral's reasoning models send a list of parts.
    for part in cast("list[Any]", content if isinstance(content, list) else []):
        fields = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
        thinking = fields.get("thinking")
        if isinstance(thinking, list):
            pieces = cast("list[Any]", thinking)
            thought += "".join(_string(p.get("text")) for p in pieces if isinstance(p, dict))
        else:
            thought += _string(thinking)
        texts.append(_string(fields.get("text")))
    return thought, "".join(texts)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, None)
    return max(value, 0) if isinstance(value, int) else 0


class _ThinkTags:
    """Separates reasoning that stands in the text as <think>...</think> at its start."""

    def __init__(self) -> None:
        self._state = "before"
        self._held = ""

    def take(self, text: str) -> list[ModelEvent]:
        """Add a piece of text; return the events that it completes."""
        if self._state == "after":
            return [Text(text)]
        self._held += text
        if self._state == "before":
            head = self._held.lstrip()
            if _THINK.startswith(head):
                return []
            if not head.startswith(_THINK):
                return self._rest("after")
            self._state, self._held = "inside", head.removeprefix(_THINK)
        thought, closed, rest = self._held.partition(_THOUGHT)
        if closed:
            self._state, self._held = "after", ""
            return [*_reasoning(thought), *_text(rest.lstrip())]
        # The text may end in the beginning of the closing tag.
        keep = next((n for n in range(7, 0, -1) if self._held.endswith(_THOUGHT[:n])), 0)
        cut_at = len(self._held) - keep
        thought, self._held = self._held[:cut_at], self._held[cut_at:]
        return _reasoning(thought)

    def end(self) -> list[ModelEvent]:
        """Return the remaining events."""
        return self._rest("after")

    def _rest(self, state: str) -> list[ModelEvent]:
        held, self._held = self._held, ""
        inside, self._state = self._state == "inside", state
        return _reasoning(held) if inside else _text(held)


def _reasoning(text: str) -> list[ModelEvent]:
    return [Reasoning(text)] if text else []


def _text(text: str) -> list[ModelEvent]:
    return [Text(text)] if text else []
