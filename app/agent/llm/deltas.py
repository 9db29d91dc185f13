"""Puts a streamed chat completion together, as the many servers of that format really send it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, cast

from app.agent.llm.base import Call, ModelEvent, Reasoning, Text, Tokens
from app.agent.llm.endpoint import Allowance, Bounds
from app.agent.llm.failures import Endpoint, cut, too_much, unreadable
from app.agent.llm.repair import parse_arguments
from app.agent.messages import ToolCall

MAX_CALLS = 128

CUT_NOTE = "\n\n[The model's answer ends here: it reached its length limit.]"
FILTER_NOTE = "\n\n[The endpoint's content filter ended the answer here.]"
_THINK, _THOUGHT = "<think>", "</think>"
_REASONING = ("reasoning_content", "reasoning", "thinking")
"""The field's name at DeepSeek, vLLM and llama.cpp; at Ollama and OpenRouter; at a few others."""


class TextFilter(Protocol):
    """What finds calls in text: `text_calls.TextCalls`, `constrained.Reader`."""

    def take(self, text: str) -> Iterable[ModelEvent]:
        """What a piece of text gives at once."""
        ...

    def end(self, complete: bool) -> Iterable[ModelEvent]:
        """The rest; `complete` is whether the answer ended by itself."""
        ...


@dataclass(slots=True)
class Parts:
    """A call that is being streamed."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class Assembly:
    """Puts the chunks of one answer together.

    Args:
        at: The endpoint, for messages.
        bounds: How much it may hold.
        text_filter: Finds calls in the text; None where there are none.
    """

    def __init__(self, at: Endpoint, bounds: Bounds, text_filter: TextFilter | None = None) -> None:
        self.started = False
        self._at = at
        self._allowed = Allowance(bounds, at)
        self._filter = text_filter
        self._thinking = _Thinking()
        self._finish = ""
        self._calls: list[Parts] = []
        self._by_index: dict[int, Parts] = {}
        self._text_calls: list[Call] = []
        self._usage: Tokens | None = None

    def take(self, chunk: Any) -> Iterable[ModelEvent]:
        """What a chunk gives at once: text and reasoning; calls are kept until they are whole.

        Raises:
            ModelFailed: The answer is too long.
        """
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            # Some servers count in every chunk, up to there: the last one holds.
            self._usage = Tokens(_count(usage, "prompt_tokens"), _count(usage, "completion_tokens"))
        for choice in (getattr(chunk, "choices", None) or [])[:1]:
            self._finish = choice.finish_reason or self._finish
            self.started = True
            if choice.delta is not None:
                yield from self._delta(choice.delta)

    def end(self) -> Iterable[ModelEvent]:
        """The rest, once the stream has ended: calls and usage.

        Raises:
            ModelFailed: It ended without a finish_reason: it was cut off, or was no such stream.
        """
        if not self.started:
            raise unreadable(self._at, "an empty stream")
        if not self._finish:
            raise cut(self._at)
        complete = self._finish != "length"
        yield from self._passed(self._thinking.end())
        if self._filter is not None:
            yield from self._kept(self._filter.end(complete))
        calls = [Call(tool_call(parts, complete)) for parts in self._calls]
        # A server may leave the text of a call that it has already read in the text.
        yield from calls or self._text_calls
        if not complete and not calls:
            yield Text(CUT_NOTE)
        if self._finish == "content_filter":
            yield Text(FILTER_NOTE)
        if self._usage is not None:
            yield self._usage

    def _delta(self, delta: Any) -> Iterable[ModelEvent]:
        thought, text = _texts(delta)
        self._allowed.spend(len(thought), text=len(text))
        if thought:
            yield Reasoning(thought)
        if text:
            yield from self._passed(self._thinking.take(text))
        for part in getattr(delta, "tool_calls", None) or ():
            self._add(part)

    def _passed(self, events: Iterable[ModelEvent]) -> Iterable[ModelEvent]:
        for event in events:
            if isinstance(event, Text) and self._filter is not None:
                yield from self._kept(self._filter.take(event.text))
            else:
                yield event

    def _kept(self, events: Iterable[ModelEvent]) -> Iterable[ModelEvent]:
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
        self._allowed.spend(len(name) + len(arguments) + len(call_id))
        parts = self._call(getattr(part, "index", None), call_id, name, arguments)
        parts.id = call_id or parts.id
        parts.name = parts.name or name
        parts.arguments += arguments

    def _call(self, index: Any, call_id: str, name: str, arguments: str) -> Parts:
        """The call that a piece belongs to: that of its index, unless it must be a new one."""
        if isinstance(index, int):
            known = self._by_index.get(index)
        else:  # no index at all: what has a name begins a call
            known = self._calls[-1] if self._calls and not name else None
        if known is None or _is_another(known, call_id, name, arguments):
            known = Parts()
            self._calls.append(known)
            if len(self._calls) > MAX_CALLS:
                raise too_much(self._at)
        if isinstance(index, int):
            self._by_index[index] = known
        return known


def _is_another(known: Parts, call_id: str, name: str, arguments: str) -> bool:
    """Whether a piece with the index of a known call is the next call: some give all index 0."""
    if not name or not known.name:
        return False
    if call_id and known.id:
        return call_id != known.id
    whole = parse_arguments(known.arguments, complete=False) is not None
    return whole and arguments.lstrip().startswith("{")


def tool_call(parts: Parts, complete: bool) -> ToolCall:
    """The call, once its pieces are whole; `complete`: the answer ended by itself."""
    arguments = parse_arguments(parts.arguments, complete=complete)
    if arguments is None:
        raw = parts.arguments.strip() or "(cut off)"
        return ToolCall(id=parts.id, name=parts.name, arguments={}, raw=raw)
    return ToolCall(id=parts.id, name=parts.name, arguments=arguments)


def _texts(delta: Any) -> tuple[str, str]:
    """Reasoning and text of a delta, wherever the server puts them."""
    thought = ""
    for name in _REASONING:
        value = getattr(delta, name, None)
        if isinstance(value, str) and value:
            thought = value
            break
    content = getattr(delta, "content", None) or ""
    if isinstance(content, str):
        return thought, content + _plain(getattr(delta, "refusal", None))
    texts: list[str] = []
    # Mistral's reasoning models send a list of parts.
    for part in cast("list[Any]", content if isinstance(content, list) else []):
        fields = cast("dict[str, Any]", part) if isinstance(part, dict) else {}
        thinking = fields.get("thinking")
        if isinstance(thinking, list):
            pieces = cast("list[Any]", thinking)
            thought += "".join(_plain(p.get("text")) for p in pieces if isinstance(p, dict))
        else:
            thought += _plain(thinking)
        texts.append(_plain(fields.get("text")))
    return thought, "".join(texts)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, None)
    return max(value, 0) if isinstance(value, int) else 0


class _Thinking:
    """Tells reasoning apart that a server leaves in the text as <think>...</think> at its start."""

    def __init__(self) -> None:
        self._state = "before"
        self._held = ""

    def take(self, text: str) -> list[ModelEvent]:
        """What a piece of text gives at once."""
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
        # The end of what is held may be the beginning of the closing tag.
        keep = next((n for n in range(7, 0, -1) if self._held.endswith(_THOUGHT[:n])), 0)
        cut_at = len(self._held) - keep
        thought, self._held = self._held[:cut_at], self._held[cut_at:]
        return _reasoning(thought)

    def end(self) -> list[ModelEvent]:
        """The rest."""
        return self._rest("after")

    def _rest(self, state: str) -> list[ModelEvent]:
        held, self._held = self._held, ""
        inside, self._state = self._state == "inside", state
        return _reasoning(held) if inside else _text(held)


def _reasoning(text: str) -> list[ModelEvent]:
    return [Reasoning(text)] if text else []


def _text(text: str) -> list[ModelEvent]:
    return [Text(text)] if text else []
