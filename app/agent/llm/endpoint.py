"""Helpers for all endpoints: addresses, package loading, and limits of time and size."""

from __future__ import annotations

import asyncio
import gc
import importlib
import ipaddress
import threading
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from app.agent.llm.base import Note
from app.agent.llm.failures import OR_ELSE, Endpoint, model_failed, silent_endpoint
from app.errors import UsageError

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
    """Yield the items of `source`, with a Note first if the first item is slow; close `source`.

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
    """Import a provider's package and `llm.transport`, which makes HTTP clients; return both."""
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
