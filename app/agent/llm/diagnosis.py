"""What works at an endpoint and what does not, step by step, for the button "Test connection".

Sends no patient data: a few words, a made-up tool, and a red square.
"""

from __future__ import annotations

import asyncio
import base64
import difflib
import json
import socket
import ssl
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from app.agent.llm.anthropic_model import AnthropicModel
from app.agent.llm.base import (
    Call,
    ModelEvent,
    ModelFailed,
    ModelInfo,
    Note,
    Reasoning,
    Text,
    Tokens,
    ToolSchema,
)
from app.agent.llm.endpoint import Bounds, host_of, is_loopback, load
from app.agent.llm.failures import Endpoint, no_connection
from app.agent.llm.openai_model import OpenAIModel
from app.agent.messages import Message, Picture
from app.errors import SightlineError, UsageError
from app.settings import ANTHROPIC_URL, AZURE_API_VERSION, OPENAI_URL, ToolForm

BOUNDS = Bounds(connect_s=8, first_s=90, silence_s=20, answer_s=120, body_bytes=8 * 2**20)
ENOUGH = 2_000
"""Characters of an answer; a test needs no more of one."""

_KINDS = {"openai": OPENAI_URL, "azure": "", "anthropic": ANTHROPIC_URL}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"value": {"type": "integer"}},
    "required": ["value"],
    "additionalProperties": False,
}
_TOOL = ToolSchema("note_number", "Notes a number.", _SCHEMA)
_KEPT: tuple[Literal["✓"], str] = ("✓", "it keeps to a JSON schema")
_NOT_KEPT: tuple[Literal["–"], str] = ("–", "it does not keep to a JSON schema")
_RED = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsAtx/ZMZxgi+hcEKLNO+"
    "FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywKqxUDxqh7TUQAAAABJRU5E"
    "rkJggg=="
)
_SEES = ModelInfo(images=True, output_tokens=1_024)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What was found.

    Attributes:
        ok: Whether the endpoint can be used: it answers in the right format.
        lines: A line a step, in order: with ✓ what works, with ✕ what does not, with – what this
            model cannot do or nobody can know. Unless `ok`, the last one says what to do.
    """

    ok: bool
    lines: tuple[str, ...]


def diagnose(kind: str, base_url: str, model: str, key: str, *, api_version: str = "") -> Diagnosis:
    """Try an endpoint; see `examine`. Blocks for seconds, at most some minutes."""
    return asyncio.run(examine(kind, base_url, model, key, api_version=api_version))


def list_models(kind: str, base_url: str, key: str, *, api_version: str = "") -> list[str]:
    """The names of an endpoint's models. Blocks.

    Raises:
        SightlineError: It cannot be reached, refuses, or does not say.
    """
    return asyncio.run(_model(kind, base_url, "", key, api_version).models())


async def examine(
    kind: str, base_url: str, model: str, key: str, *, api_version: str = ""
) -> Diagnosis:
    """Try an endpoint, step by step, as far as it gets.

    Args:
        kind: "openai", "azure" or "anthropic".
        base_url: Its address; "" for the provider's own.
        model: The model's name, in Azure the deployment's.
        key: The key, "" for none. It is in no text that comes back.
        api_version: Azure's.
    """
    found = _Examination(kind, base_url.strip() or _KINDS.get(kind, ""), model.strip(), key)
    found.api_version = api_version
    try:
        await found.connection()
        await found.models()
        await found.answer()
        await found.abilities()
        ok = True
    except SightlineError as error:
        # Host and all are in the lines before.
        found.say("✕", error.reason)
        found.lines.append(error.remedy or "Check the settings.")
        ok = False
    at = Endpoint("", secret=key)
    return Diagnosis(ok, tuple(at.without_secret(line) for line in found.lines))


def _model(
    kind: str,
    base_url: str,
    model: str,
    key: str,
    api_version: str,
    *,
    form: ToolForm = "native",
    schema: Mapping[str, Any] | None = None,
) -> OpenAIModel | AnthropicModel:
    if kind == "anthropic":
        return AnthropicModel(model, key, base_url=base_url, info=_SEES, bounds=BOUNDS)
    version = (api_version.strip() or AZURE_API_VERSION) if kind == "azure" else ""
    return OpenAIModel(
        base_url,
        model,
        key,
        info=_SEES,
        tool_form=form,
        answer_schema=schema,
        bounds=BOUNDS,
        api_version=version,
    )


@dataclass(slots=True)
class _Answer:
    """One answer, with when it began."""

    text: str = ""
    calls: list[Call] = field(default_factory=list[Call])
    counted: bool = False
    first_s: float = 0.0


@dataclass(slots=True)
class _Examination:
    """The steps; each says what it finds and raises what ends the examination."""

    kind: str
    base_url: str
    model: str
    key: str
    api_version: str = ""
    lines: list[str] = field(default_factory=list[str])

    def say(self, mark: Literal["✓", "✕", "–"], text: str) -> None:
        """A line of the result."""
        self.lines.append(f"{mark} {text[:1].upper()}{text[1:].rstrip('.')}.")

    async def connection(self) -> None:
        """Name, connection, TLS: each of them alone, so that the one that fails is known."""
        if self.kind not in _KINDS:
            raise UsageError(f"there is no endpoint of the kind {self.kind!r}")
        host = host_of(self.base_url)
        parts = urlsplit(self.base_url)
        at = Endpoint(host, self.model, self.key)
        if not is_loopback(host) and _proxied(parts.scheme, host):
            self.say("–", "this computer's proxy is used, so name and connection are not tried")
            return
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            address = await _resolved(host, port)
            if host != address:
                self.say("✓", f"{host} is {address}")
            _, writer = await _connected(address, port)
            writer.transport.abort()
            self.say("✓", f"port {port} accepts a connection")
            if parts.scheme == "https":
                self.say("✓", f"TLS works: {await _tls_version(host, port)}")
        except (OSError, TimeoutError) as error:
            raise _unreachable(error, at) from error

    async def models(self) -> None:
        """Whether it speaks the API, takes the key, and knows the model."""
        try:
            names = await self._made().models()
        except ModelFailed as error:
            await self._explain(error)
            return
        self.say("✓", f"it lists {len(names)} model{'s' * (len(names) != 1)}")
        if self.kind == "azure":
            self.say("–", "Azure lists models, not deployments: the next step tries the deployment")
        elif self.model in names or f"{self.model}:latest" in names:
            self.say("✓", f'the model "{self.model}" is there')
        else:
            self.say(
                "–", f'the model "{self.model}" is not in the list{_offered(self.model, names)}'
            )

    async def answer(self) -> None:
        """Whether it streams an answer, and how soon."""
        if not self.model:
            raise UsageError(
                "no model is named", remedy="Choose one of the endpoint's models, and test again."
            )
        answer = await self._ask(Message(role="user", text="Say OK."))
        if not answer.first_s:
            raise ModelFailed(
                f'the model "{self.model}" ended its answer without a word',
                remedy="Test again, or choose another model.",
            )
        self.say("✓", f"it streams: the first word came after {max(answer.first_s, 0.1):.1f} s")
        if not answer.counted:
            self.say("–", "it does not count tokens: limits then rest on estimates")

    async def abilities(self) -> None:
        """What it can do beyond text. None of that is needed to be usable."""
        order = Message(role="user", text="Call the tool note_number with the value 7.")
        if await self._calls(order, "native"):
            self.say("✓", "it calls tools")
        elif self.kind != "anthropic" and await self._calls(order, "json_schema"):
            self.say("✕", 'it calls tools only by JSON: choose "JSON schema" as the form of calls')
        else:
            self.say("✕", "it did not call a tool: choose another model to have it run tools")
        if self.kind != "anthropic":
            kept = await self._keeps_schema()
            self.say(*_KEPT if kept else _NOT_KEPT)
        await self._eyes()

    async def _keeps_schema(self) -> bool:
        """Whether an answer has the form that its schema demands, whatever the question is."""
        try:
            answer = await self._ask(Message(role="user", text="Say OK."), schema=_SCHEMA)
            found = json.loads(answer.text)
        except (ModelFailed, ValueError, RecursionError):
            return False
        return isinstance(found, dict) and list(cast("dict[str, Any]", found)) == ["value"]

    async def _calls(self, order: Message, form: ToolForm) -> bool:
        try:
            answer = await self._ask(order, [_TOOL], form)
        except ModelFailed:
            return False
        return any(
            item.call.name == _TOOL.name and item.call.arguments == {"value": 7}
            for item in answer.calls
        )

    async def _eyes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                answer = await self._ask(_about_picture(folder))
            except ModelFailed:
                self.say("–", "it takes no pictures")
                return
        if "red" in answer.text.lower():
            self.say("✓", "it sees pictures")
        else:
            self.say("–", "it does not see pictures: it could not name the colour of one")

    async def _ask(
        self,
        message: Message,
        tools: Sequence[ToolSchema] = (),
        form: ToolForm = "native",
        schema: Mapping[str, Any] | None = None,
    ) -> _Answer:
        answer, began = _Answer(), time.monotonic()
        async with aclosing(self._made(form, schema).stream([message], tools)) as events:
            async for event in events:
                if not isinstance(event, Note | Tokens) and not answer.first_s:
                    answer.first_s = max(time.monotonic() - began, 0.001)
                _add(event, answer)
                if len(answer.text) > ENOUGH:
                    break
        return answer

    async def _explain(self, error: ModelFailed) -> None:
        """Why no models were listed: raises what is certain, goes on where chat may still work."""
        better = await self._better_address()
        if better:
            raise ModelFailed(
                "the server is there, but not at this address",
                remedy=f"Use {better} as the address.",
            )
        if any(word in error.reason for word in ("key was refused", "web page", "certificate")):
            raise error
        none = "it has no list of models at this address"
        why = "" if none in error.reason else f" ({error.reason.rstrip('.')})"
        self.say("–", f"{none}{why}")

    async def _better_address(self) -> str:
        """The address with "/v1" at its end, where that is what is missing."""
        url = self.base_url.rstrip("/")
        if self.kind != "openai" or url.endswith("/v1"):
            return ""
        # People paste Ollama's own address, or the whole one of a request.
        for end in ("/chat/completions", "/completions", "/models", "/api/chat", "/api"):
            url = url.removesuffix(end)
        better = url if url.endswith("/v1") else f"{url}/v1"
        try:
            await _model("openai", better, self.model, self.key, "").models()
        except SightlineError:
            return ""
        return better

    def _made(
        self, form: ToolForm = "native", schema: Mapping[str, Any] | None = None
    ) -> OpenAIModel | AnthropicModel:
        return _model(
            self.kind,
            self.base_url,
            self.model,
            self.key,
            self.api_version,
            form=form,
            schema=schema,
        )


def _add(event: ModelEvent, answer: _Answer) -> None:
    match event:
        case Text(text) | Reasoning(text):
            answer.text += text
        case Call():
            answer.calls.append(event)
        case Tokens():
            answer.counted = True
        case _:
            return


def _about_picture(folder: str) -> Message:
    path = Path(folder, "red.png")
    path.write_bytes(_RED)
    picture = Picture(path=str(path), caption="A test picture.")
    question = "What colour is this picture? Answer with one word."
    return Message(role="user", text=question, pictures=[picture])


def _proxied(scheme: str, host: str) -> bool:
    return scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host)


async def _resolved(host: str, port: int) -> str:
    found = await asyncio.wait_for(
        asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM),
        BOUNDS.connect_s,
    )
    return str(found[0][4][0])


async def _connected(
    host: str, port: int, tls: ssl.SSLContext | None = None, name: str | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    opening = asyncio.open_connection(host, port, ssl=tls, server_hostname=name)
    return await asyncio.wait_for(opening, BOUNDS.connect_s)


async def _tls_version(host: str, port: int) -> str:
    _, transport = await asyncio.to_thread(load, "openai")
    _, writer = await _connected(host, port, transport.tls_context(), host)
    session = writer.get_extra_info("ssl_object")
    version = str(session.version()) if session is not None else ""
    writer.transport.abort()
    return version.replace("TLSv", "TLS ")


def _unreachable(error: Exception, at: Endpoint) -> ModelFailed:
    if isinstance(error, TimeoutError):
        return ModelFailed(
            f"{at.host} does not accept the connection in time",
            remedy="Check the address, and whether a firewall or a VPN is in between.",
        )
    return no_connection(error, at)


def _offered(model: str, names: Sequence[str]) -> str:
    """Near names, else the first ones, in words."""
    near = difflib.get_close_matches(model, names, n=3, cutoff=0.5)
    near += [name for name in names if model and model in name and name not in near][:3]
    if near:
        return f"; near it: {', '.join(near)}"
    more = ", ..." if len(names) > 5 else ""
    return f"; there are {', '.join(names[:5])}{more}" if names else ""
