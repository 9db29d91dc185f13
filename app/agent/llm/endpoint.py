"""Helpers for all endpoints: addresses, package loading, and limits of time and size."""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib
import ipaddress
import json
import logging
import ssl
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx2

from app.agent.llm.base import Note
from app.agent.llm.failures import (
    CHECK_ADDRESS,
    OR_ELSE,
    Endpoint,
    model_failed,
    oversized_answer,
    quoted,
    server_text,
    silent_endpoint,
)
from app.errors import UsageError

ERRORS = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL)

_ERROR_BYTES = 64 * 1024
_HEADERS = frozenset(
    {
        "accept",
        "anthropic-version",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)
"""The headers that are sent. The packages would add this machine's system and, from environment
variables, organisations, projects and headers meant for another endpoint."""

# At "debug", which variables of the environment choose, the packages would log whole requests.
for _name in ("openai", "anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


def make_client(
    at: Endpoint, bounds: Bounds, *, key_header: str = "authorization", key: str = ""
) -> httpx2.AsyncClient:
    """Return an HTTP client for the endpoint `at`; `key`, if not "", is sent as `key_header`."""
    opened: list[Any] = []

    async def on_trace(event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            opened.append(info["return_value"])

    async def on_request(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, "trace": on_trace}
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        # An uncompressed answer cannot be a decompression bomb.
        request.headers["accept-encoding"] = "identity"
        if key:
            request.headers[key_header] = key

    async def on_response(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise model_failed(
                "the endpoint sent a compressed answer, which was not asked for and is not "
                "unpacked",
                at,
                "Switch off compression in the proxy or server between here and the model.",
            )
        if response.is_success and response.headers.get("content-type", "").startswith("text/html"):
            raise model_failed(
                "the address leads to a web page: this answer cannot be read as one of a language "
                "model",
                at,
                f"{CHECK_ADDRESS}, and whether the network asks for a log-in first.",
            )
        if isinstance(response.stream, httpx2.AsyncByteStream):
            whole = not response.is_success
            response.stream = _Bounded(response.stream, bounds, at, whole)
        if response.is_success and "json" in response.headers.get("content-type", ""):
            await _raise_reported(response, at)

    longest_s = max(bounds.first_s, bounds.silence_s)
    return _Client(
        opened,
        # A redirect would take the data to a host that the user did not allow; a proxy from the
        # environment would take data for this machine off it.
        follow_redirects=False,
        trust_env=not is_loopback(at.host),
        verify=tls_context(),
        timeout=httpx2.Timeout(longest_s, connect=bounds.connect_s),
        event_hooks={"request": [on_request], "response": [on_response]},
    )


async def _raise_reported(response: httpx2.Response, at: Endpoint) -> None:
    """Raise the error that a server reports in the body of an answer with a status of success."""
    try:
        body = json.loads(await response.aread())
    except ValueError:
        return  # whoever reads the answer says that it cannot be read
    if isinstance(body, dict) and body.get("error"):
        said = quoted(server_text(body), at)
        raise model_failed(
            f"the language model reported an error{said}", at, f"Ask again, {OR_ELSE}."
        )


class _Client(httpx2.AsyncClient):
    """A client that closes all its connections.

    httpx2 forgets one that is cancelled during its TLS handshake.
    """

    def __init__(self, opened: list[Any], **settings: Any) -> None:
        super().__init__(**settings)
        self._opened = opened

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            for stream in self._opened:
                await stream.aclose()


@functools.cache
def tls_context() -> ssl.SSLContext:
    """Return a TLS context with the system's certificates, loaded once because that takes 20 ms."""
    return httpx2.create_ssl_context()


class _Bounded(httpx2.AsyncByteStream):
    """The body of a response, which raises an error above its size limit.

    Of an `error_page`, which only explains an error, the excess is left out instead.
    """

    def __init__(
        self, stream: httpx2.AsyncByteStream, bounds: Bounds, at: Endpoint, error_page: bool
    ) -> None:
        self._stream = stream
        self._bounds = bounds
        self._at = at
        self._error_page = error_page

    async def __aiter__(self) -> AsyncIterator[bytes]:
        total = line = 0
        async for data in self._stream:
            total += len(data)
            newline = max(data.rfind(b"\n"), data.rfind(b"\r"))
            line = line + len(data) if newline < 0 else len(data) - newline - 1
            if self._error_page:
                yield data[: max(_ERROR_BYTES - total + len(data), 0)]
                if total > _ERROR_BYTES:
                    return
            elif total > self._bounds.body_bytes or line > self._bounds.line_bytes:
                raise oversized_answer(self._at)
            else:
                yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


WAITING_NOTE = (
    "The model has not begun to answer yet: reading a long question, starting up or a busy server "
    "takes a while."
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on the time (in seconds) and size of an answer.

    Attributes:
        connect_s: Time until the connection is established.
        first_s: Time until the first piece of the answer; local servers load a model during the
            first request.
        silence_s: Time between two pieces.
        answer_s: Time for the whole answer.
        note_s: Time without a first piece after which the user gets a note.
        poll_s: Time between two requests to a server that is still loading its model.
        body_bytes: Size of the answer as it is sent; a token takes 200 to 400 bytes.
        line_bytes: Size of one line, which must fit into memory as a whole.
        text_chars: Characters of text; a window that shows more during streaming becomes slow.
        chars: Characters of text, reasoning and call arguments together.
    """

    connect_s: float = 10.0
    first_s: float = 120.0
    silence_s: float = 120.0
    answer_s: float = 900.0
    note_s: float = 5.0
    poll_s: float = 1.0
    body_bytes: int = 64 * 2**20
    line_bytes: int = 4 * 2**20
    text_chars: int = 200_000
    chars: int = 600_000


T = TypeVar("T")


async def bounded_stream(
    source: AsyncGenerator[T], bounds: Bounds, at: Endpoint
) -> AsyncGenerator[T | Note]:
    """Yield the items of `source`, after a Note if the first is slow to come; then close `source`.

    Raises:
        ModelFailed: `source` is silent for longer than `bounds` allow, or does not end in time.
    """
    end = time.monotonic() + bounds.answer_s
    # A task of its own, since a Note is yielded while it goes on.
    first: asyncio.Future[T | _End] = asyncio.ensure_future(anext(source, _END))
    try:
        await asyncio.wait({first}, timeout=min(bounds.note_s, bounds.first_s))
        if not first.done():
            if bounds.note_s < bounds.first_s:
                yield Note(WAITING_NOTE, passing=True)
            left_s = min(bounds.first_s, bounds.answer_s) - bounds.note_s
            await asyncio.wait({first}, timeout=max(left_s, 0))
        if not first.done():
            raise silent_endpoint(at, started=False)
        item = first.result()
        while not isinstance(item, _End):
            yield item
            wait_s = min(bounds.silence_s, end - time.monotonic())
            try:
                async with asyncio.timeout(wait_s):
                    item = await anext(source, _END)
            except TimeoutError as error:
                if wait_s < bounds.silence_s:
                    limit_s = bounds.answer_s
                    long = (
                        f"{limit_s / 60:.0f} minutes" if limit_s >= 120 else f"{limit_s:g} seconds"
                    )
                    reason = f"the answer was not complete after {long}"
                    raise model_failed(reason, at, f"Ask for less at a time, {OR_ELSE}.") from error
                raise silent_endpoint(at, started=True) from error
    finally:
        await _cancel(first)
        await source.aclose()


class _End:
    """Marks the end of a stream."""


_END = _End()


async def _cancel(task: asyncio.Future[Any]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # retrieved, or asyncio would log it


def load(package: str) -> tuple[Any, Any]:
    """Import a provider's package, which takes about a second; return it and `llm.transport`."""
    with _loading, _no_collection():
        # The transport goes first: it keeps the packages from logging requests.
        transport = importlib.import_module("app.agent.llm.transport")
        return importlib.import_module(package), transport


_loading = threading.Lock()


@contextmanager
def _no_collection() -> Generator[None]:
    """Disable the garbage collector: a round over thousands of new classes stops the window."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def host_of(base_url: str) -> str:
    """Return the host of an http(s) address.

    Raises:
        UsageError: `base_url` is not an http(s) address.
    """
    try:
        parts = urlsplit(base_url)
        host, _port = parts.hostname or "", parts.port
    except ValueError:
        parts, host = None, ""
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise UsageError(
            "the address of the language model is not a web address",
            subject=base_url,
            remedy="Give one such as http://127.0.0.1:11434/v1.",
        )
    return host


def place_of(base_url: str) -> str:
    """Return the host to show for an http(s) address, with its port unless that is 443 for https.

    The port matters: consent to one service on a machine is not consent to another. Letters outside
    ASCII are written as they are sent over the network ("xn--..."), so that no host can look like
    another.

    Raises:
        UsageError: `base_url` is not an http(s) address.
    """
    host, parts = host_of(base_url), urlsplit(base_url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    name = f"[{host}]" if ":" in host else _ascii_name(host)
    return name if (parts.scheme, port) == ("https", 443) else f"{name}:{port}"


def _ascii_name(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host.encode("punycode").decode("ascii")


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine: localhost, 127.0.0.0/8 or ::1.

    A name such as "a.localhost" does not count: many systems look it up on the network.
    """
    name = host.lower().rstrip(".")
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
