"""Detection of tool calls that a model writes into its text.

Local models that were trained on a call format, but run behind a server that does not know it,
send their calls as text. These forms are read: `<tool_call>{...}</tool_call>` (Hermes, Qwen),
`[TOOL_CALLS] [...]` and `[TOOL_CALLS]name[ARGS]{...}` (Mistral), `<|python_tag|>{...}` and
`<function=name>{...}</function>` (Llama), a JSON code fence, and bare JSON. Forms without a closing
tag are calls only at the end of the message; a fence and bare JSON only after a short preamble.

Safety: a text is a call only if it is whole JSON with the exact name of a tool on offer. JSON that
occurs in data given to the model (a tool's result, a note, the question) is a quotation and stays
text. So does everything in a code block or in the model's thinking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, cast

from app.agent.llm.base import Call, ModelEvent, Text, ToolSchema
from app.agent.llm.repair import parse_arguments, parse_json
from app.agent.messages import Message, ToolCall

MAX_BUFFERED = 64_000
"""Number of characters held back as a possible call; a longer candidate is plain text."""
MAX_PREAMBLE = 500
"""Characters that may stand before bare or fenced JSON that is a call."""

_FENCE = "```"
_MARKS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>", _FENCE)
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input")
_OTHERS = ("id", "type", "index", "tool_call_id")
_FIRST_KEYS = (*_NAMES, *_ARGUMENTS, *_OTHERS)
_THOUGHTS = ("think", "thinking", "thought", "reasoning", "scratchpad", "seed:think")

_NAME = re.compile(r"\w[\w.-]{0,79}")
_START = re.compile(r"<|\[|`|\{")
_SEPARATOR = re.compile(r"[\s;,]*")
_JSON_HEAD = re.compile(r'\s*(\[\s*)?(\{\s*)?(?:"(\w*)("?))?')
_LANGUAGES = ("json", "tool_call", "tool_calls")
_LANGUAGE = re.compile(r"```[ \t]*(\w*)$")
_FENCE_HEAD = re.compile(r"```[ \t]*(?:json|tool_calls?)?[ \t]*(?:\r?\n|$|(?=\s*[{\[]))")
_TAG = re.compile(r"<tool_call>\s*(?=[{\[])")
_TAG_END = re.compile(r"\s*(?:</tool_call>|(?=<tool_call>)|$)")
_FUNCTION = re.compile(r"<function=([\w.-]+)>\s*(\{.*?)</function>", re.DOTALL)
_NAMED = re.compile(r"\[TOOL_CALLS\]\s*([\w.-]+)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\])?\s*(?=\{)")
_UNNAMED = re.compile(r"\[TOOL_CALLS\]|<\|python_tag\|>")
_BLANKS = re.compile(r"[\s\\]+")

_CallsAndEnd = tuple[list[ToolCall], int]
"""Calls and the position after their text."""


def quoted_data(messages: Sequence[Message]) -> str:
    """Return the data that a model may quote: questions, notes on images, and tools' results."""
    parts = [item.text for item in messages if item.role in ("user", "tool")]
    parts += [json.dumps(item.images) for item in messages if item.images]
    return "\n".join(parts)


class TextCalls:
    """Separates calls of `tools` from the text of one streamed answer.

    Ordinary text is passed on at once. From the first sign of a call, everything is held back until
    the end of the answer shows whether there is a call. `quoted` is the data that the model was
    given: JSON that occurs in it is a quotation, not a call.
    """

    def __init__(self, tools: Sequence[ToolSchema], quoted: str = "") -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._quoted = _BLANKS.sub("", quoted)
        self._buffer = ""
        self._emitted = ""
        self._off = not tools

    def take(self, text: str) -> list[ModelEvent]:
        """Add a piece of the answer; return the text so far that cannot be part of a call."""
        self._buffer += text
        if len(self._buffer) > MAX_BUFFERED:
            self._off = True  # not searched any further: a call inside broken JSON is none
        return self._emit(len(self._buffer) if self._off else self._candidate(0))

    def end(self, complete: bool) -> list[ModelEvent]:
        """Return the remaining text and the calls in it.

        If not `complete`, the answer was cut off at its length limit, so that a call without an end
        tag remains text.
        """
        events: list[ModelEvent] = []
        at = 0
        while not self._off and at < len(self._buffer):
            at = self._candidate(at)
            found = self._calls_at(at, complete)
            if found is None:
                at += 1
                continue
            calls, end = found
            if not calls:  # a candidate up to there, which is text
                at = end
                continue
            events += [*self._emit(at), *map(Call, calls)]
            self._buffer, at = self._buffer[end - at :], 0
        return [*events, *self._emit(len(self._buffer))]

    def _emit(self, count: int) -> list[ModelEvent]:
        text, self._buffer = self._buffer[:count], self._buffer[count:]
        self._emitted += text
        return [Text(text)] if text else []

    def _candidate(self, at: int) -> int:
        """Return the position of the next text that is or may become a call, else the end."""
        buffer = self._buffer
        for match in _START.finditer(buffer, at):
            start = match.start()
            rest = buffer[start : start + 16]
            if rest.startswith(_FENCE):
                if self._may_be_fenced_calls(start):
                    return start
                continue
            marked = any(rest.startswith(mark) or mark.startswith(rest) for mark in _MARKS)
            if marked or (rest[0] in "[{" and _may_be_calls(buffer, start)):
                return start
        return len(buffer)

    def _may_be_fenced_calls(self, at: int) -> bool:
        if (self._emitted + self._buffer[:at]).count(_FENCE) % 2:
            return False  # it ends a code block
        language = _LANGUAGE.match(self._buffer, at)
        if language is not None:  # the text ends in it
            return any(name.startswith(language[1]) for name in _LANGUAGES)
        head = _FENCE_HEAD.match(self._buffer, at)
        return head is not None and _may_be_calls(self._buffer, head.end())

    def _calls_at(self, at: int, complete: bool) -> _CallsAndEnd | None:
        """Return the calls that begin there; no calls up to an end for text; None for neither."""
        before = self._emitted + self._buffer[:at]
        if before.count(_FENCE) % 2 or _thinking(before):
            return None
        tag = _TAG.match(self._buffer, at)
        if tag is not None:
            return self._tagged(tag.end(), complete)
        function = _FUNCTION.match(self._buffer, at)
        if function is not None:
            arguments = parse_arguments(function[2], complete=False)
            return self._call_named(function[1], arguments, function[0]), function.end()
        return self._tail(at, before) if complete else None

    def _tagged(self, start: int, complete: bool) -> _CallsAndEnd:
        read = _decoded(self._buffer, start)
        end = read[1] if read is not None else self._buffer.find("</tool_call>", start)
        if end < 0:
            return [], len(self._buffer)
        source = self._buffer[start:end]
        # Damaged JSON counts where it is closed by its tag.
        value = read[0] if read is not None else parse_arguments(source, complete=False)
        closed = _TAG_END.match(self._buffer, end)
        if closed is None or not (
            complete or closed[0].strip() or closed.end() < len(self._buffer)
        ):
            return [], end
        return self._calls(value, source), closed.end()

    def _tail(self, at: int, before: str) -> _CallsAndEnd | None:
        """Read calls that end the message: one or more, each marked, fenced or bare."""
        preamble = before.rpartition("</think>")[2].strip()
        # After an open bracket it is part of something larger that was not finished.
        inside = any(preamble.count(one) > preamble.count(two) for one, two in ("{}", "[]"))
        bare_allowed = not inside and len(preamble) <= MAX_PREAMBLE
        calls: list[ToolCall] = []
        end = at
        while end < len(self._buffer):
            unit, end = self._unit(end, bare_allowed)
            if not unit:
                # What looks like a call but is none ends the search: its parts are no calls either.
                return [], len(self._buffer) if _may_be_calls(self._buffer, at) else max(
                    end, at + 1
                )
            calls += unit
            end = _next(self._buffer, end)
        return calls, end

    def _unit(self, at: int, bare_allowed: bool) -> _CallsAndEnd:
        buffer = self._buffer
        named = _NAMED.match(buffer, at)
        if named is not None:
            read = _decoded(buffer, named.end())
            if read is None:
                return [], named.end()
            return self._call_named(named[1], read[0], buffer[at : read[1]]), read[1]
        mark = _UNNAMED.match(buffer, at)
        fence = _FENCE_HEAD.match(buffer, at)
        head = mark or fence
        start = head.end() if head is not None else at
        read = _decoded(buffer, start)
        if read is None or (mark is None and not bare_allowed):
            return [], start if read is None else read[1]
        calls, end = self._calls(read[0], buffer[start : read[1]], bare=mark is None), read[1]
        if fence is not None:
            # Small models put one call after the other into one fence.
            while not buffer.startswith(_FENCE, end := _next(buffer, end)):
                read = _decoded(buffer, end)
                more = self._calls(read[0], buffer[end : read[1]], bare=True) if read else []
                if read is None or not more:
                    return [], end
                calls, end = [*calls, *more], read[1]
            end += len(_FENCE)
        return calls, end

    def _calls(self, value: Any, source: str, *, bare: bool = False) -> list[ToolCall]:
        """Return the calls that a JSON value stands for, [] unless all of it is calls.

        One of a tool on offer vouches for the others: an unknown name among them fails by itself.
        """
        items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [value]
        calls = [_call(item, self._tools, bare=bare) for item in items]
        made = [call for call in calls if call is not None]
        sources = [source, *(json.dumps(item, ensure_ascii=False) for item in items)]
        sources += (text for call in made for text in _spellings(call))
        # It may stand in the data in any spacing or escaping.
        quoted = any(_BLANKS.sub("", source) in self._quoted for source in sources)
        known = any(call.name in self._tools for call in made)
        if len(made) < len(items) or quoted or not known:
            return []
        return made

    def _call_named(self, name: str, arguments: Any, source: str) -> list[ToolCall]:
        """Return the call whose name stands outside its JSON, [] if it is none."""
        return self._calls({"name": name, "arguments": arguments}, source)


def _may_be_calls(text: str, at: int) -> bool:
    """Return whether the text at a position begins like the JSON of a call, as far as it goes."""
    match = _JSON_HEAD.match(text, at)
    if match is None:
        return False
    opened, key, closed = match.group(2), match.group(3), match.group(4)
    if key is not None and not opened:
        return False
    if match.end() == len(text) and not closed:
        return key is None or any(name.startswith(key) for name in _FIRST_KEYS)
    return bool(opened and closed) and key in _FIRST_KEYS


def _next(text: str, end: int) -> int:
    """Return the position after the blanks and separators behind a call."""
    return cast("re.Match[str]", _SEPARATOR.match(text, end)).end()


def _decoded(text: str, start: int) -> tuple[Any, int] | None:
    """Return the JSON value at `start` and its end, or None if there is no whole one."""
    while start < len(text) and text[start].isspace():
        start += 1
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
        return parse_json(text[start:end]), end
    except (ValueError, RecursionError):
        return None


def _call(item: Any, tools: dict[str, ToolSchema], *, bare: bool) -> ToolCall | None:
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
    if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(arguments, dict)):
        return None
    arguments = cast("dict[str, Any]", arguments)
    schema = tools.get(name)
    if arguments and schema is not None and _is_schema(arguments, schema):
        return None
    return ToolCall(id="", name=name, arguments=arguments)


def _spellings(call: ToolCall) -> Iterator[str]:
    name, arguments = json.dumps(call.name), json.dumps(call.arguments, ensure_ascii=False)
    for one, two in product(_NAMES, _ARGUMENTS):
        yield f'"{one}":{name},"{two}":{arguments}'
        yield f'"{two}":{arguments},"{one}":{name}'


def _thinking(before: str) -> bool:
    """Return whether a reasoning block is open at the end of the text, in any model's notation."""
    ends = {name: before.rfind(f"</{name}>") for name in _THOUGHTS}
    begun = any(before.rfind(f"<{name}>") > end for name, end in ends.items())
    aside = before.rfind("[THINK]") > before.rfind("[/THINK]")
    channel = before.rpartition("<|channel|>")
    return begun or aside or bool(channel[1] and channel[2].startswith("analysis"))


def _only(fields: dict[str, Any], *wanted: str) -> bool:
    return all(key in wanted or key in _OTHERS for key in fields)


def _is_schema(arguments: dict[str, Any], schema: ToolSchema) -> bool:
    """Return whether the arguments only repeat the tool's own schema."""
    own = schema.parameters.get("properties", {})
    return arguments == schema.parameters or (
        "properties" in arguments and "type" in arguments and "properties" not in own
    )
