"""The HTTP client for endpoints: few headers, no redirects, answers of limited size.

Imported only when a request is made: httpx2 takes a moment to load.
"""

from __future__ import annotations

import functools
import json
import logging
import ssl
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx2

from app.agent.llm.endpoint import Bounds, is_loopback
from app.agent.llm.failures import (
    CHECK_ADDRESS,
    OR_ELSE,
    Endpoint,
    model_failed,
    oversized_answer,
    quoted,
    server_text,
)
from app.paths import shipped_table

ERRORS = (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL)

_ERROR_BYTES = 64 * 1024
_HEADERS = frozenset[str](shipped_table("language_models", "sent_headers")["names"])
"""The headers that are sent. The packages would add this machine's system and, from environment
variables, organisations, projects and headers meant for another endpoint."""

# At "debug", which variables of the environment choose, the packages would log whole requests.
for _name in ("openai", "anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


def make_client(
    at: Endpoint, bounds: Bounds, *, key_header: str = "authorization", key: str = ""
) -> httpx2.AsyncClient:
    """Return an HTTP client for the endpoint `at`; a `key` is sent in the header `key_header`."""
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
                "the address leads to a web page, not to a language model",
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
    """A client that closes all: httpx2 forgets a connection cancelled in its TLS handshake."""

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
    """A response body that raises above its size limit; an `error_page` is cut instead."""

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
