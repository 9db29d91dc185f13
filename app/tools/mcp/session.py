"""One session with an MCP server, in a worker process that imports the SDK.

The app's process neither starts a server nor reads its bytes. Each call of `run` is a session of
its own: connect, list the tools, compare them with those that the user allowed, call one, end.

A server is a program of this computer (stdio), an address that speaks streamable HTTP, or one that
takes JSON-RPC 2.0 at /mcp, /rpc or /analyze and answers with JSON or server-sent events.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import json
import re
import tempfile
import unicodedata
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO, cast
from uuid import uuid4

import httpx2
import mcp.client.stdio as sdk_stdio
from anyio import BrokenResourceError
from anyio.streams.text import TextReceiveStream
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import METHOD_NOT_FOUND, Implementation
from PIL import Image
from pydantic import ValidationError

from app import __version__
from app.errors import Cancelled
from app.tools.api import ToolFailed
from app.tools.mcp.offers import (
    ANALYZE,
    LARGEST_TOOL,
    MOST_TOOLS,
    OfferedTool,
    digest_of,
    is_loopback,
    plain_line,
)

ENDPOINTS = ("/mcp", "/rpc", "/analyze")
"""Where a server of kind "rpc" is looked for, in this order."""
LARGEST = 16 * 2**20
"""Most bytes of one answer."""
LONGEST_TEXT = 200_000
"""Most characters of a result's text; what is beyond is cut, and the text says so."""
MOST_PICTURES = 8
_PIXELS = 20_000_000
_MOST_ROWS, _MOST_COLUMNS = 10_000, 100
_PAGES = 20
_CONNECT_S = 15.0
_HANDSHAKE_S = 10.0
_TICK_S = 0.2
_SAYS = 300  # characters of a server's own words in an error

_SDK_WORDS = ("server returned an error response", "not found", "connection closed")
"""What the SDK says where a server said nothing, in lower case."""

Json = dict[str, Any]


def run(payload: Json, progress: Callable[[float, str], None]) -> Json:
    """List the tools of a server, and call one of them.

    Args:
        payload: "server" (the fields of `McpServer`), "key", "limit_s"; for a call "tool",
            "arguments", "digest" (of the tools that the user allowed) and "out_dir" (a folder for
            pictures).
        progress: Raises Cancelled once the call was cancelled.

    Returns:
        "tools", "left_out" and "digest" (see `Listing`); for a call also "text", "rows" (of a
        table), "pictures" (paths) and "dropped" (parts that cannot be used), unless the digest is
        another: then no call was made.

    Raises:
        ToolFailed: The server cannot be reached, or answers with an error or nonsense.
        Cancelled: The call was cancelled; a server that was started is ended.
    """
    return asyncio.run(_watched(payload, progress))


async def _watched(payload: Json, progress: Callable[[float, str], None]) -> Json:
    trouble = _Trouble(str(payload["server"]["name"]))
    task = asyncio.create_task(_session(payload, trouble))
    ends = asyncio.get_running_loop().time() + float(payload["limit_s"])
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=_TICK_S)
            progress(0.0, "")
            if trouble.too_large:  # the SDK reads on, and waits for the program's end
                raise trouble.told(BrokenResourceError())
            if not task.done() and asyncio.get_running_loop().time() > ends:
                limit = f"{payload['limit_s']:g} s"
                raise ToolFailed(
                    f"{trouble.server} did not answer within {limit}",
                    remedy="Try again later, or ask whoever runs the server.",
                )
    except BaseException:
        task.cancel()
        with suppress(BaseException):
            await task
        raise
    try:
        return task.result()
    except (ToolFailed, Cancelled):
        raise
    except BaseException as error:
        raise trouble.told(error) from error


@dataclass(slots=True)
class _Trouble:
    """What is known of the reason why a session failed; the SDK hides most of it.

    Attributes:
        command: The program that was started; "" for none.
        host: The host that was asked; "" for none.
        status: The last HTTP status that was an error; 0 for none.
        too_large: Whether an answer was larger than `LARGEST`.
        sent: Whether arguments of a call were sent: a program's errors may repeat them.
        last_words: The last line that a started program wrote to stderr before that.
    """

    server: str
    command: str = ""
    host: str = ""
    status: int = 0
    too_large: bool = False
    sent: bool = False
    last_words: str = ""

    def told(self, error: BaseException) -> ToolFailed:
        """Return the error for the user in place of an exception."""
        one = _innermost(error)
        if isinstance(one, ToolFailed):
            return one
        name, detail = self.server, f"{type(one).__name__}"
        ask = "Ask whoever runs the server."
        if self.too_large:
            limit = f"{LARGEST // 2**20} MB"
            return ToolFailed(f"{name} sent more than {limit}; its answer was dropped", remedy=ask)
        if self.status in (401, 403):
            remedy = "Enter its key under Settings > MCP servers."
            return ToolFailed(f"{name} refuses the key ({self.status})", remedy=remedy)
        if isinstance(one, MCPError) and one.message.lower() not in _SDK_WORDS:
            said = plain_line(one.message, _SAYS)
            return ToolFailed(f'{name} answered with an error: "{said}"', remedy=ask)
        if self.status:
            remedy = "Check the address under Settings > MCP servers."
            reason = f"{name} answered with HTTP status {self.status}"
            return ToolFailed(reason, remedy=remedy)
        if isinstance(one, httpx2.TimeoutException):
            return ToolFailed(f"{name} ({self.host}) does not answer", remedy=ask)
        if isinstance(one, httpx2.HTTPError | httpx2.InvalidURL):
            remedy = "Check the address under Settings > MCP servers, and the network."
            return ToolFailed(f"{self.host or name} cannot be reached", remedy=remedy)
        if isinstance(one, ValidationError | ValueError | TypeError | KeyError):
            return ToolFailed(f"{name} answered with something that is not MCP", remedy=ask)
        if isinstance(one, OSError) and self.command and not isinstance(one, BrokenResourceError):
            reason = f"the program of {name}, {self.command}, cannot be started"
            remedy = "Check the command under Settings > MCP servers."
            return ToolFailed(f"{reason} ({one.strerror or detail})", remedy=remedy)
        words = f'Its last words: "{self.last_words}".' if self.last_words else ask
        return ToolFailed(f"{name} ended before it answered", remedy=words)


def _last_line(errors: TextIO) -> str:
    with suppress(OSError, ValueError):
        errors.seek(0)
        lines = [line for line in errors.read(65_536).splitlines() if line.strip()]
        return plain_line(lines[-1], _SAYS) if lines else ""
    return ""


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = cast("BaseException", error.exceptions[0])
    return error


async def _session(payload: Json, trouble: _Trouble) -> Json:
    async with _connected(payload["server"], str(payload.get("key", "")), trouble) as peer:
        raw = await peer.tools()
        tools, left_out = _accepted(raw)
        found: Json = {
            "tools": [tool.to_json() for tool in tools],
            "left_out": left_out,
            "digest": digest_of(raw),
        }
        if "tool" not in payload or payload["digest"] != found["digest"]:
            return found
        trouble.sent = True
        answer = await peer.call(payload["tool"], payload["arguments"])
        # In a thread: pictures are decoded.
        content = await asyncio.to_thread(_content, answer, Path(payload["out_dir"]))
        if answer.get("isError"):
            said = plain_line(content["text"], _SAYS) or "no reason given"
            raise ToolFailed(f'{trouble.server} could not do it: "{said}"')
        return found | content


def _accepted(raw: Sequence[Json]) -> tuple[list[OfferedTool], list[str]]:
    """Return the tools that can be offered, and why others cannot."""
    tools: list[OfferedTool] = []
    left_out: list[str] = []
    for item in raw:
        name, description = str(item.get("name", "")), str(item.get("description") or "")
        schema = item.get("inputSchema")
        shown = plain_line(name, 60)
        if not re.fullmatch(r"[\w./:-]{1,128}", name, re.ASCII):
            left_out.append(f"{shown}: its name is not allowed")
        elif not isinstance(schema, dict):
            left_out.append(f"{shown}: it does not say which arguments it takes")
        elif len(description) + len(json.dumps(schema)) > LARGEST_TOOL:
            left_out.append(f"{shown}: its description is too long")
        elif any(tool.name == name for tool in tools):
            left_out.append(f"{shown}: two tools have this name")
        elif len(tools) == MOST_TOOLS:
            left_out.append(f"{shown}: more than {MOST_TOOLS} tools")
        else:
            tools.append(OfferedTool(name, description, cast("Json", schema)))
    return tools, left_out[:MOST_TOOLS]


# -- connecting -------------------------------------------------------------------------------


class _Peer(Protocol):
    """The other end of a session; tools and results in the protocol's own JSON."""

    async def tools(self) -> list[Json]: ...

    async def call(self, tool: str, arguments: Json) -> Json: ...


@asynccontextmanager
async def _connected(server: Json, key: str, trouble: _Trouble) -> AsyncGenerator[_Peer]:
    match server["kind"]:
        case "stdio":
            async with _started(server, trouble) as peer:
                yield peer
        case "http":
            async with _http(server["url"], key, trouble) as client:
                transport = streamable_http_client(server["url"], http_client=client)
                async with _opened(transport) as peer:
                    yield peer
        case _:
            async with _http(server["url"], key, trouble) as client, AsyncExitStack() as stack:
                yield await _at_an_endpoint(server["url"], client, stack, trouble)


@asynccontextmanager
async def _started(server: Json, trouble: _Trouble) -> AsyncGenerator[_Peer]:
    """Start a server's program; it is ended with the session."""
    trouble.command = Path(server["command"]).name
    # The SDK reads lines without a limit, and has no other place for one.
    setattr(sdk_stdio, "TextReceiveStream", _limited_lines(trouble))  # noqa: B010
    # The program gets few variables of the environment (none of our keys), and those named.
    parameters = StdioServerParameters(
        command=server["command"], args=server["args"], env=server["variables"]
    )
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        try:
            async with _opened(sdk_stdio.stdio_client(parameters, errlog=errors)) as peer:
                yield peer
        except BaseException:
            trouble.last_words = "" if trouble.sent else _last_line(errors)
            raise


def _limited_lines(trouble: _Trouble) -> type[TextReceiveStream]:
    class Limited(TextReceiveStream):
        """Passes whole lines, ends over-long ones; the SDK would copy each anew per piece."""

        async def receive(self) -> str:
            pieces: list[str] = []
            length = 0
            while not pieces or "\n" not in pieces[-1]:
                pieces.append(await super().receive())
                length += len(pieces[-1])
                if length > LARGEST:
                    trouble.too_large = True
                    raise BrokenResourceError
            return "".join(pieces)

    return Limited


@asynccontextmanager
async def _opened(transport: Any) -> AsyncGenerator[_Peer]:
    """Open a session of the SDK. The server may ask nothing: there is nobody who answers."""
    about = Implementation(name="sightline", version=__version__)
    async with Client(transport, client_info=about, cache=None) as client:
        yield _SdkPeer(client)


@dataclass(slots=True)
class _SdkPeer:
    client: Client

    async def tools(self) -> list[Json]:
        found: list[Json] = []
        cursor: str | None = None
        for _ in range(_PAGES):
            page = await self.client.list_tools(cursor=cursor)
            found += [one.model_dump(by_alias=True, mode="json") for one in page.tools]
            cursor = page.next_cursor
            if not cursor:
                return found
        raise ValueError("tools without an end")

    async def call(self, tool: str, arguments: Json) -> Json:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = await self.client.call_tool(tool, arguments)
        return result.model_dump(by_alias=True, mode="json")


def _http(url: str, key: str, trouble: _Trouble) -> httpx2.AsyncClient:
    """Return a client for one server, which counts bytes and goes nowhere else."""
    at = httpx2.URL(url)
    trouble.host = f"{at.host}:{at.port}" if at.port else at.host

    async def on_request(request: httpx2.Request) -> None:
        request.headers["accept-encoding"] = "identity"  # no decompression bomb
        if (request.url.scheme, request.url.host, request.url.port) != (
            at.scheme,
            at.host,
            at.port,
        ):
            raise httpx2.UnsupportedProtocol("another host", request=request)
        if key:
            request.headers["authorization"] = f"Bearer {key}"

    async def on_response(response: httpx2.Response) -> None:
        if response.request.method == "POST":  # a server need not have the stream that is got
            trouble.status = response.status_code if response.status_code >= 400 else 0
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise httpx2.DecodingError("compressed", request=response.request)
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _Counted(response.stream, trouble)

    return httpx2.AsyncClient(
        follow_redirects=False,
        trust_env=not is_loopback(at.host),
        timeout=httpx2.Timeout(None, connect=_CONNECT_S),  # the session has a limit of its own
        event_hooks={"request": [on_request], "response": [on_response]},
    )


class _Counted(httpx2.AsyncByteStream):
    """The body of a response, which raises an error above `LARGEST` bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream, trouble: _Trouble) -> None:
        self._stream = stream
        self._trouble = trouble

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = 0
        async for data in self._stream:
            total += len(data)
            if total > LARGEST:
                self._trouble.too_large = True
                raise httpx2.ReadError("too large")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


# -- JSON-RPC without a handshake -------------------------------------------------------------


async def _at_an_endpoint(
    url: str, client: httpx2.AsyncClient, stack: AsyncExitStack, trouble: _Trouble
) -> _Peer:
    """Return the first of the endpoints that answers; /mcp may be streamable HTTP."""
    base = url.rstrip("/")
    for end in ENDPOINTS:
        base = base.removesuffix(end)
    try:
        async with asyncio.timeout(_HANDSHAKE_S), AsyncExitStack() as attempt:
            transport = streamable_http_client(f"{base}{ENDPOINTS[0]}", http_client=client)
            peer = await attempt.enter_async_context(_opened(transport))
            stack.push_async_exit(attempt.pop_all())
            return peer
    except Exception as error:
        if trouble.too_large or isinstance(_innermost(error), httpx2.ConnectError):
            raise
    return _RpcPeer(client, [f"{base}{end}" for end in ENDPOINTS], trouble)


@dataclass(slots=True)
class _RpcPeer:
    """A server that takes JSON-RPC 2.0 requests, each by a POST of its own.

    Attributes:
        urls: The endpoints that are still to be tried; the first is the one that answers.
    """

    client: httpx2.AsyncClient
    urls: list[str]
    trouble: _Trouble

    async def tools(self) -> list[Json]:
        try:
            result = await self._ask("tools/list", {})
        except MCPError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
            return [ANALYZE]  # it takes calls only, as the document's server may
        listed = result.get("tools")
        if not isinstance(listed, list):
            raise ValueError("no tools")
        return [cast("Json", one) for one in cast("list[Any]", listed) if isinstance(one, dict)]

    async def call(self, tool: str, arguments: Json) -> Json:
        return await self._ask("tools/call", {"name": tool, "arguments": arguments})

    async def _ask(self, method: str, params: Json) -> Json:
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        while True:
            headers = {"accept": "application/json, text/event-stream"}
            async with self.client.stream(
                "POST", self.urls[0], json=request, headers=headers
            ) as response:
                if response.status_code in (404, 405) and len(self.urls) > 1:
                    del self.urls[0]
                    continue
                if response.status_code >= 300:
                    self.trouble.status = response.status_code
                    raise httpx2.HTTPError("status")
                answer = await _rpc_answer(response)
            if "error" in answer:
                error = cast("Json", answer["error"]) if isinstance(answer["error"], dict) else {}
                code = error.get("code")
                raise MCPError(code if isinstance(code, int) else 0, str(error.get("message")))
            result = answer["result"]
            if not isinstance(result, dict):
                raise TypeError("result")
            return cast("Json", result)


async def _rpc_answer(response: httpx2.Response) -> Json:
    """Return the JSON-RPC response in a body: JSON, or an event of a stream."""
    if "text/event-stream" not in response.headers.get("content-type", ""):
        found = json.loads(await response.aread())
        if not isinstance(found, dict):
            raise TypeError("answer")
        return cast("Json", found)
    async for event in httpx2.EventSource(response, max_event_size=LARGEST):
        if event.data.strip() in ("", "[DONE]"):
            continue
        found = json.loads(event.data)
        if isinstance(found, dict) and ("result" in found or "error" in found):
            return cast("Json", found)
    raise ValueError("no answer")


# -- results ----------------------------------------------------------------------------------


def _content(answer: Mapping[str, Any], out_dir: Path) -> Json:
    """Return a result's text, structured data and pictures; these are made anew, as PNG."""
    texts: list[str] = []
    pictures: list[str] = []
    dropped = 0
    items = answer.get("content")
    for item in cast("list[Any]", items) if isinstance(items, list) else []:
        part = cast("Json", item) if isinstance(item, dict) else {}
        match part.get("type"):
            case "text":
                texts.append(str(part.get("text", "")))
            case "image" if len(pictures) < MOST_PICTURES:
                path = _picture(part.get("data"), out_dir)
                pictures += [path] if path else []
                dropped += not path
            case "resource":
                inner = part.get("resource")
                held = cast("Json", inner) if isinstance(inner, dict) else {}
                text = held.get("text")
                texts += [text] if isinstance(text, str) else []
                dropped += not isinstance(text, str)
            case _:
                dropped += 1
    text = _readable("\n".join(texts))
    if len(text) > LONGEST_TEXT:
        text = f"{text[:LONGEST_TEXT]}\n[cut: {len(text):,} characters]"
    data = answer.get("structuredContent")
    if not text and data is not None:  # as a rule the text says the same
        text = _readable(json.dumps(data, ensure_ascii=False))[:LONGEST_TEXT]
    return {"text": text, "rows": _rows(data), "pictures": pictures, "dropped": dropped}


def _rows(data: object) -> list[Json]:
    """Return the rows of a table: a list of flat objects, or an object with one such list."""
    if isinstance(data, dict):
        lists = [one for one in cast("Json", data).values() if isinstance(one, list)]
        data = cast("object", lists[0]) if len(lists) == 1 else None
    if not isinstance(data, list) or len(cast("list[Any]", data)) > _MOST_ROWS:
        return []
    found: list[Json] = []
    for row in cast("list[Any]", data):
        cells = cast("Json", row) if isinstance(row, dict) else {}
        plain = all(isinstance(cell, str | int | float | bool | None) for cell in cells.values())
        if not cells or not plain or len(cells) > _MOST_COLUMNS:
            return []
        found.append(
            {
                plain_line(str(name), 60): _readable(cell) if isinstance(cell, str) else cell
                for name, cell in cells.items()
            }
        )
    return found


def _readable(text: str) -> str:
    """Return a text without control and invisible characters, but for line breaks and tabs."""
    return "".join(
        sign
        for sign in text
        if sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co", "Cn")
    )


def _picture(data: object, out_dir: Path) -> str:
    """Write a picture as PNG; return its path, or "" if it cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a large picture is refused below
            with Image.open(io.BytesIO(base64.b64decode(str(data), validate=True))) as image:
                if image.width * image.height > _PIXELS:
                    return ""
                kind = "RGB" if image.mode not in ("L", "1") else "L"
                path = out_dir / f"mcp-{uuid4().hex[:8]}.png"
                image.convert(kind).save(path)
                return str(path)
    except (OSError, ValueError, SyntaxError, binascii.Error, Image.DecompressionBombError):
        return ""
