"""Any endpoint with chat completions: OpenAI, vLLM, Ollama, LM Studio, llama.cpp."""

from __future__ import annotations

import asyncio
import importlib
import ipaddress
import json
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from app.agent.llm.base import Call, ModelEvent, ModelFailed, Text, Tokens, ToolSchema
from app.agent.llm.openai_errors import cut, failure, unreadable
from app.agent.messages import Message, ToolCall
from app.errors import UsageError

if TYPE_CHECKING:
    import openai

DEFAULT_BASE_URL = "https://api.openai.com/v1"
CONNECT_TIMEOUT_S = 10.0
READ_TIMEOUT_S = 120.0
"""The longest silence of the endpoint. Local servers load a model during the first request."""
MAX_RETRIES = 1

_CUT_NOTE = "\n\n[The model's answer ends here: it reached its length limit.]"


class OpenAIModel:
    """A model behind a chat-completions endpoint.

    Args:
        base_url: For example "http://127.0.0.1:11434/v1"; "" for OpenAI's own.
        model: The model's name there.
        key: The key, or None where the endpoint asks for none.
        read_timeout_s: The longest silence before the endpoint counts as stalled.
        max_retries: How often a request is repeated before anything was streamed.

    Raises:
        UsageError: `base_url` is no http(s) address.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        *,
        read_timeout_s: float = READ_TIMEOUT_S,
        max_retries: int = MAX_RETRIES,
    ) -> None:
        self._base_url = base_url.strip() or DEFAULT_BASE_URL
        self._model = model
        self._key = key
        self._read_timeout_s = read_timeout_s
        self._max_retries = max_retries
        self._host = host_of(self._base_url)

    @property
    def name(self) -> str:
        """The model and where it runs."""
        return f"{self._model} at {self._host}"

    @property
    def remote_host(self) -> str:
        """The endpoint's host, or "" when it is this machine."""
        return "" if is_loopback(self._host) else self._host

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Answer the transcript.

        Raises:
            ModelFailed: The endpoint is down, refuses, stalls or sends what cannot be read.
        """
        # The import takes a second the first time; on the loop it would delay a cancel.
        package = await asyncio.to_thread(importlib.import_module, "openai")
        assembly = _Assembly()
        try:
            async with self._client(package) as client:
                chunks = await client.chat.completions.create(**self._request(messages, tools))
                async with chunks:
                    async for chunk in chunks:
                        for event in assembly.take(chunk):
                            yield event
        except package.OpenAIError as error:
            raise failure(error, self._host, self._model, assembly.started) from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise unreadable(self._host, type(error).__name__) from error
        for event in assembly.end(self._host):
            yield event

    def _client(self, package: Any) -> openai.AsyncOpenAI:
        timeout = package.Timeout(self._read_timeout_s, connect=CONNECT_TIMEOUT_S)
        http_client = package.DefaultAsyncHttpxClient(
            # A redirect would take the data to a host that the user did not allow; a proxy from
            # the environment would take what is meant for this machine off it.
            follow_redirects=False,
            trust_env=bool(self.remote_host),
            timeout=timeout,
        )
        return package.AsyncOpenAI(
            base_url=self._base_url,
            # Never None: the package would take OPENAI_API_KEY and send it to any endpoint.
            api_key=self._key or "none",
            max_retries=self._max_retries,
            timeout=timeout,
            http_client=http_client,
        )

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [wire_message(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            request["tools"] = [_wire_tool(tool) for tool in tools]
        return request


class _Assembly:
    """Puts the deltas of one answer together."""

    def __init__(self) -> None:
        self.started = False
        self._finish = ""
        self._calls: list[dict[str, str]] = []
        self._at: dict[int, int] = {}

    def take(self, chunk: Any) -> Iterable[ModelEvent]:
        """What a chunk gives at once: text and usage; calls are kept until they are whole."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            yield Tokens(int(usage.prompt_tokens or 0), int(usage.completion_tokens or 0))
        for choice in (chunk.choices or [])[:1]:
            self.started = True
            self._finish = choice.finish_reason or self._finish
            delta = choice.delta
            if delta is None:
                continue
            if delta.content:
                yield Text(str(delta.content))
            for part in delta.tool_calls or ():
                self._add(part)

    def end(self, host: str) -> Iterable[ModelEvent]:
        """The calls, once the stream has ended.

        Raises:
            ModelFailed: It ended without a finish_reason: it was cut off, or was no such stream.
        """
        if not self.started:
            raise unreadable(host, "an empty stream")
        if not self._finish:
            raise cut(host)
        for call in self._calls:
            yield Call(_tool_call(call))
        if self._finish == "length" and not self._calls:
            yield Text(_CUT_NOTE)

    def _add(self, part: Any) -> None:
        index = part.index if isinstance(part.index, int) else len(self._calls)
        function = part.function
        name = (function.name if function else None) or ""
        known = self._calls[self._at[index]] if index in self._at else None
        # Some servers give every call the index 0; a new id with a name starts a new one.
        if known is None or (part.id and known["id"] and part.id != known["id"] and name):
            self._at[index] = len(self._calls)
            known = {"id": "", "name": "", "arguments": ""}
            self._calls.append(known)
        known["id"] = part.id or known["id"]
        known["name"] = known["name"] or name
        known["arguments"] += (function.arguments if function else None) or ""


def _tool_call(parts: dict[str, str]) -> ToolCall:
    text = parts["arguments"].strip()
    try:
        arguments: Any = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        arguments = None
    if isinstance(arguments, dict):
        return ToolCall(id=parts["id"], name=parts["name"], arguments=arguments)
    return ToolCall(id=parts["id"], name=parts["name"], arguments={}, raw=text)


def wire_message(message: Message) -> dict[str, Any]:
    """A message as the endpoint expects it. Pixels are never in it."""
    wire: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        wire["tool_call_id"] = message.call_id
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    # Endpoints refuse a transcript with other characters, even in a wrong name.
                    "name": re.sub(r"[^A-Za-z0-9_-]", "_", call.name)[:64] or "unknown",
                    "arguments": json.dumps(call.arguments),
                },
            }
            for call in message.tool_calls
        ]
    return wire


def _wire_tool(tool: ToolSchema) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}


def host_of(base_url: str) -> str:
    """The host of an http(s) address.

    Raises:
        UsageError: It is not one.
    """
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
    except ValueError:
        parts, host = None, ""
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise UsageError(
            "the address of the language model is not a web address",
            subject=base_url,
            remedy="Give one such as http://127.0.0.1:11434/v1.",
        )
    return host


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: localhost, 127.0.0.0/8 or ::1."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


__all__ = ["ModelFailed", "OpenAIModel", "host_of", "is_loopback", "wire_message"]
