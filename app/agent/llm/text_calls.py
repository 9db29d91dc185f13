"""Tool calls that a model writes into its text, found while the text streams.

Local models that were trained on a call format, but run behind a server that doesn't know it, send
their calls as text. Read are: `<tool_call>{...}</tool_call>` (Hermes, Qwen), `[TOOL_CALLS] [...]`
and `[TOOL_CALLS]name[ARGS]{...}` (Mistral), `<|python_tag|>{...}` and
`<function=name>{...}</function>` (Llama), a JSON code fence, and bare JSON. All but the two with a
closing tag count only where they end the message; fence and bare JSON only after a short preamble.

Safety: text is a call only if it is whole JSON with the exact name of a tool on offer. JSON that
stands in the data the model was given (a tool's result, a note, the question) is a quotation and
stays text, and so does anything inside a code block or the model's own thinking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from app.agent.llm.base import Call, ModelEvent, Text, ToolSchema
from app.agent.llm.repair import parse_arguments, strict
from app.agent.messages import Message, ToolCall

MAX_HELD = 64_000
"""Text held back because it may become a call; what grows beyond it is text."""
MAX_PREAMBLE = 500
"""How much may be said before bare or fenced JSON that is still a call."""
_MAX_HEAD = 200
"""How far a tool's name may be from the mark before it."""

_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_FUNCTION, _FUNCTION_CLOSE = "<function=", "</function>"
_MISTRAL, _PYTHON, _FENCE = "[TOOL_CALLS]", "<|python_tag|>", "```"
_MARKS = (_OPEN, _FUNCTION, _MISTRAL, _PYTHON, _FENCE)
_FENCE_NAMES = ("", "json", "tool_call", "tool_calls")
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")
_OTHERS = ("id", "type", "index", "tool_call_id")
_FIRST = (*_NAMES, *_ARGUMENTS, *_OTHERS)
_THOUGHTS = ("think", "thinking", "thought", "reasoning", "scratchpad", "seed:think")
_START = re.compile(r"<|\[|`|\{")
_SEPARATOR = re.compile(r"[\s;,]*")
_JSON_HEAD = re.compile(r'\s*(\[\s*)?(\{\s*)?(?:"(\w*)("?))?')
_FENCE_HEAD = re.compile(r"```[ \t]*(\w*)[ \t]*(?:\r?\n)?")
_FUNCTION_HEAD = re.compile(r"<function=([\w.-]+)>\s*")
_NAMED_HEAD = re.compile(r"\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\])?\s*(?=\{)")
_BLANKS = re.compile(r"[\s\\]+")


@dataclass(frozen=True, slots=True)
class _Found:
    """What the held text is: `calls` (none: text) up to `end`; nothing is known while `wait`."""

    end: int = 0
    calls: tuple[ToolCall, ...] = ()
    wait: bool = False


_WAIT = _Found(wait=True)


def quoted_data(messages: Sequence[Message]) -> str:
    """What the model was given and may quote: questions, notes on images, and tools' results."""
    parts = [item.text for item in messages if item.role in ("user", "tool")]
    parts += [json.dumps(item.images) for item in messages if item.images]
    return "\n".join(parts)


class TextCalls:
    """A filter for one streamed answer: ordinary text flows at once, calls come out as calls.

    Args:
        tools: The tools on offer.
        quoted: The data the model was given; see `quoted_data`.
    """

    def __init__(self, tools: Sequence[ToolSchema], quoted: str = "") -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._quoted = quoted
        self._compact: str | None = None
        self._held = ""
        self._said = ""
        self._read_to = 0
        """How much of what is held was already read as calls: `_tail_calls`."""
        self._tail_calls: list[ToolCall] = []
        self._off = not tools

    def take(self, text: str) -> list[ModelEvent]:
        """What a piece of the answer gives at once."""
        self._held += text
        return self._drain(final=False)

    def end(self, complete: bool) -> list[ModelEvent]:
        """The rest. `complete` is whether the answer ended by itself, not at a length limit."""
        events = self._drain(final=complete)
        return [*events, *self._say(len(self._held))]

    def _drain(self, *, final: bool) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        while self._held and not self._off:
            start = _candidate(self._held)
            events += self._say(start)
            if not self._held:
                break
            found = self._judge(final)
            if found.wait:
                if len(self._held) <= MAX_HELD and not final:
                    break
                # Not taken apart any further: a whole call inside broken JSON is no call.
                self._off = True
            elif found.calls:
                events += [Call(call) for call in found.calls]
                self._drop(found.end)
            else:
                events += self._say(found.end)
        if self._off:
            events += self._say(len(self._held))
        return events

    def _say(self, count: int) -> list[ModelEvent]:
        text = self._held[:count]
        if not text:
            return []
        self._said += text
        self._drop(count)
        return [Text(text)]

    def _drop(self, count: int) -> None:
        self._held = self._held[count:]
        self._read_to, self._tail_calls = 0, []

    def _judge(self, final: bool) -> _Found:
        """What the held text, which begins like a call, is."""
        held = self._held
        mark = next((item for item in _MARKS if held.startswith(item)), "")
        if not mark and any(item.startswith(held) for item in _MARKS) and not final:
            return _WAIT
        if mark == _OPEN:
            return self._tagged(len(_OPEN), final)
        if mark == _FUNCTION:
            return self._function(final)
        if mark == _FENCE and self._in_code():
            return _Found(len(_FENCE))
        if mark or held[0] in "[{":
            return self._tail(final)
        return _Found(1)

    def _tagged(self, start: int, final: bool) -> _Found:
        if self._held[start:].lstrip()[:1] not in ("", "{", "["):
            return _Found(start)
        read = _decoded(self._held, start)
        if read is None:
            return self._mended(start)
        value, end = read
        rest = self._held[end:].lstrip()
        calls = self._calls(value, self._held[start:end], bare=False)
        if rest.startswith(_CLOSE):
            end = len(self._held) - len(rest) + len(_CLOSE)
        elif _OPEN.startswith(rest) or _CLOSE.startswith(rest):
            if rest != _OPEN and (rest or not final):
                return _WAIT
        elif not rest.startswith(_OPEN):
            return _Found(end)
        return _Found(end, calls)

    def _mended(self, start: int) -> _Found:
        """A call whose JSON is damaged, but closed by its tag."""
        end = self._held.find(_CLOSE, start)
        value = parse_arguments(self._held[start:end], complete=False) if end >= 0 else None
        if value is None:  # the tag may stand inside a string that goes on
            return _WAIT
        calls = self._calls(value, self._held[start:end], bare=False)
        return _Found(end + len(_CLOSE), calls)

    def _function(self, final: bool) -> _Found:
        head = _FUNCTION_HEAD.match(self._held)
        if head is None:
            whole = ">" in self._held or len(self._held) > _MAX_HEAD or final
            return _Found(len(_FUNCTION)) if whole else _WAIT
        rest = self._held[head.end() :]
        if head.group(1) not in self._tools or (rest and not rest.startswith("{")):
            return _Found(head.end())
        end = self._held.find(_FUNCTION_CLOSE, head.end())
        if end < 0:
            return _WAIT
        body = self._held[head.end() : end]
        arguments = parse_arguments(body, complete=False)
        after = end + len(_FUNCTION_CLOSE)
        return _Found(after, self._calls_to(head.group(1), arguments, self._held[:after]))

    def _tail(self, final: bool) -> _Found:
        """Calls that end the message: one or more, each marked, fenced or bare."""
        while True:
            between = _SEPARATOR.match(self._held, self._read_to)
            at = between.end() if between and self._read_to else self._read_to
            if at == len(self._held):
                return _Found(at, tuple(self._tail_calls)) if final else _WAIT
            unit = self._unit(at, final)
            if unit.wait:
                return _WAIT
            if not unit.calls:
                return _Found(max(unit.end, 1))
            self._tail_calls += unit.calls
            self._read_to = unit.end

    def _unit(self, at: int, final: bool) -> _Found:
        held, start = self._held, at
        if held.startswith((_MISTRAL, _PYTHON), at):
            start = held.index("]" if held[at] == "[" else ">", at) + 1
            named = _NAMED_HEAD.match(held, start) if held[at] == "[" else None
            if named:
                return self._named(named, at)
            rest = held[start:].lstrip()
            if rest and rest[0] not in "[{":
                return _Found(start) if final or len(rest) > _MAX_HEAD else _WAIT
            return self._values(start, bare=False)
        fence = _FENCE_HEAD.match(held, at)
        if fence is None:
            if any(item.startswith(held[at:]) for item in _MARKS) and not final:
                return _WAIT
            return self._values(start, bare=True)
        known = any(
            name == fence.group(1) or (fence.end() == len(held) and name.startswith(fence.group(1)))
            for name in _FENCE_NAMES
        )
        found = self._values(fence.end(), bare=True) if known else _Found(fence.end())
        if not found.calls:
            return found
        rest = held[found.end :].lstrip()
        if rest.startswith(_FENCE):
            return _Found(len(held) - len(rest) + len(_FENCE), found.calls)
        return _WAIT if _FENCE.startswith(rest) else _Found(found.end)

    def _named(self, head: re.Match[str], at: int) -> _Found:
        read = _decoded(self._held, head.end())
        if read is None:
            return _WAIT
        value, end = read
        return _Found(end, self._calls_to(head.group(1), value, self._held[at:end]))

    def _values(self, start: int, *, bare: bool) -> _Found:
        """One JSON value at `start` as calls."""
        if not _may_be_calls(self._held, start):
            return _Found(start)
        read = _decoded(self._held, start)
        if read is None:
            return _WAIT
        value, end = read
        preamble = self._said.rpartition("</think>")[2].strip()
        # After an open brace it is a part of something larger that was not finished.
        inside = any(preamble.count(one) > preamble.count(two) for one, two in ("{}", "[]"))
        if bare and (inside or len(preamble) > MAX_PREAMBLE):
            return _Found(end)
        return _Found(end, self._calls(value, self._held[start:end], bare=bare))

    def _calls(self, value: Any, source: str, *, bare: bool) -> tuple[ToolCall, ...]:
        """The calls that a JSON value stands for; none unless all of it is calls."""
        items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        calls = [_call(item, self._tools, bare=bare) for item in items]
        sources = [source, *(json.dumps(item, ensure_ascii=False) for item in items)]
        if not all(calls) or self._aside() or any(map(self._is_quoted, sources)):
            return ()
        made = tuple(call for call in calls if call)
        return (
            () if any(self._is_quoted(text) for call in made for text in _written(call)) else made
        )

    def _calls_to(self, name: str, arguments: Any, source: str) -> tuple[ToolCall, ...]:
        """A call whose name stands outside its JSON."""
        return self._calls({"name": name, "arguments": arguments}, source, bare=False)

    def _is_quoted(self, source: str) -> bool:
        """Whether it stands in the data, however it is spaced or escaped there."""
        if self._compact is None:
            self._compact = _BLANKS.sub("", self._quoted)
        return _BLANKS.sub("", source) in self._compact

    def _aside(self) -> bool:
        """Whether what comes now stands in a code block or in the model's thinking."""
        return _thinking(self._said) or self._in_code()

    def _in_code(self) -> bool:
        return self._said.count(_FENCE) % 2 == 1


def _candidate(text: str) -> int:
    """Where something begins that is, or may become, a call; the end when nothing does."""
    for match in _START.finditer(text):
        at = match.start()
        rest = text[at : at + 16]
        if any(rest.startswith(mark) or mark.startswith(rest) for mark in _MARKS):
            return at
        if rest[0] in "[{" and _may_be_calls(text, at):
            return at
    return len(text)


def _may_be_calls(text: str, at: int) -> bool:
    """Whether the text there begins like a call's JSON, as far as it goes."""
    match = _JSON_HEAD.match(text, at)
    if match is None:
        return False
    opened, key, closed = match.group(2), match.group(3), match.group(4)
    if key is not None and not opened:
        return False
    if match.end() == len(text) and not closed:
        return key is None or any(name.startswith(key) for name in _FIRST)
    return bool(opened and closed) and key in _FIRST


def _decoded(text: str, start: int) -> tuple[Any, int] | None:
    """The whole JSON value at `start` and its end, or None while (or because) there is none."""
    while start < len(text) and text[start].isspace():
        start += 1
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
        return strict(text[start:end]), end
    except (ValueError, RecursionError):
        return None


def _call(item: Any, tools: dict[str, ToolSchema], *, bare: bool) -> ToolCall | None:
    """The call that a JSON object stands for, or None when it is anything else."""
    if not isinstance(item, dict):
        return None
    fields = cast("dict[str, Any]", item)
    if isinstance(fields.get("function"), dict) and "name" not in fields:
        # OpenAI's own shape: {"id", "type": "function", "function": {"name", "arguments"}}.
        return _call(fields["function"], tools, bare=bare) if _only(fields, "function") else None
    names = [key for key in _NAMES if key in fields]
    given = [key for key in _ARGUMENTS if key in fields]
    if len(names) != 1 or len(given) > 1 or (bare and not given):
        return None
    if not _only(fields, *names, *given):
        return None
    name, arguments = fields[names[0]], fields[given[0]] if given else {}
    if isinstance(arguments, str):
        arguments = parse_arguments(arguments, complete=False)
    schema = tools.get(name) if isinstance(name, str) else None
    if schema is None or not isinstance(arguments, dict):
        return None
    arguments = cast("dict[str, Any]", arguments)
    if arguments and _is_schema(arguments, schema):
        return None
    return ToolCall(id="", name=schema.name, arguments=arguments)


def _written(call: ToolCall) -> Iterator[str]:
    """A call as data may hold it under any of the keys, in either order."""
    name, arguments = json.dumps(call.name), json.dumps(call.arguments, ensure_ascii=False)
    for one, two in product(_NAMES, _ARGUMENTS):
        yield f'"{one}":{name},"{two}":{arguments}'
        yield f'"{two}":{arguments},"{one}":{name}'


def _thinking(said: str) -> bool:
    """Whether the model's thinking was begun and not ended, in the marks of one family or other."""
    ends = {name: said.rfind(f"</{name}>") for name in _THOUGHTS}
    begun = any(said.rfind(f"<{name}>") > end for name, end in ends.items())
    aside = said.rfind("[THINK]") > said.rfind("[/THINK]")
    channel = said.rpartition("<|channel|>")
    return begun or aside or bool(channel[1] and channel[2].startswith("analysis"))


def _only(fields: dict[str, Any], *wanted: str) -> bool:
    return all(key in wanted or key in _OTHERS for key in fields)


def _is_schema(arguments: dict[str, Any], schema: ToolSchema) -> bool:
    """Whether these are not arguments, but the tool's description repeated."""
    own = schema.parameters.get("properties", {})
    return arguments == schema.parameters or (
        "properties" in arguments and "type" in arguments and "properties" not in own
    )
