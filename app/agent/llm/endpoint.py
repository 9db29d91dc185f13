"""What all endpoints share: addresses, packages, patience, and how much they may answer."""

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
from app.agent.llm.failures import Endpoint, stalled, too_long, too_much
from app.errors import UsageError

LOADING = (
    "The model is still being loaded. The first answer after a start can take half a minute "
    "and more."
)
WAITING = "The model has not begun to answer yet: a long question or a busy server takes a while."


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long and how much an endpoint may answer, so that no fault of it goes on for ever.

    Attributes:
        connect_s: Until the connection stands.
        first_s: Until the first piece of the answer. Local servers load a model during the first
            request, and some models think for minutes before they say a word.
        silence_s: The longest time without a piece, from then on.
        answer_s: The longest answer.
        note_s: After so long without a first piece the user is told what is waited for.
        poll_s: Between two questions to a server that says that it still loads the model.
        body_bytes: The largest answer as it is sent; a token takes 200 to 400 bytes.
        line_bytes: Its longest line, which has to be in memory at once.
        text_chars: The most characters of text. What is longer nobody reads, and a window that
            shows it while it comes gets slow.
        chars: The most characters of text, reasoning and calls' arguments together.
    """

    connect_s: float = 10.0
    first_s: float = 300.0
    silence_s: float = 120.0
    answer_s: float = 900.0
    note_s: float = 5.0
    poll_s: float = 1.0
    body_bytes: int = 64 * 2**20
    line_bytes: int = 4 * 2**20
    text_chars: int = 200_000
    chars: int = 600_000


class Allowance:
    """What an answer may still hold, of the characters that its bounds allow."""

    def __init__(self, bounds: Bounds, at: Endpoint) -> None:
        self._at = at
        self._text = bounds.text_chars
        self._all = bounds.chars

    def spend(self, chars: int, *, text: int = 0) -> None:
        """Count characters of reasoning or calls, and of text.

        Raises:
            ModelFailed: The answer is too long.
        """
        self._all -= chars + text
        self._text -= text
        if min(self._all, self._text) < 0:
            raise too_much(self._at)


T = TypeVar("T")


async def patiently(
    source: AsyncGenerator[T], bounds: Bounds, at: Endpoint
) -> AsyncGenerator[T | Note]:
    """Pass on what a stream gives, within its bounds; closes it whatever happens.

    Yields:
        Its items, and a Note when the first one takes long.

    Raises:
        ModelFailed: The stream fell silent or does not end.
    """
    end = time.monotonic() + bounds.answer_s
    # A task of its own, since a Note is yielded while it goes on.
    first: asyncio.Future[T | _End] = asyncio.ensure_future(_next(source))
    try:
        await asyncio.wait({first}, timeout=min(bounds.note_s, bounds.first_s))
        if not first.done():
            if bounds.note_s < bounds.first_s:
                yield Note(LOADING if is_loopback(at.host) else WAITING, passing=True)
            left_s = min(bounds.first_s, bounds.answer_s) - bounds.note_s
            await asyncio.wait({first}, timeout=max(left_s, 0))
        if not first.done():
            raise stalled(at, started=False)
        item = first.result()
        while not isinstance(item, _End):
            yield item
            wait_s = min(bounds.silence_s, end - time.monotonic())
            try:
                async with asyncio.timeout(wait_s):
                    item = await _next(source)
            except TimeoutError as error:
                if wait_s < bounds.silence_s:
                    raise too_long(at, bounds.answer_s) from error
                raise stalled(at, started=True) from error
    finally:
        await _end(first)
        await source.aclose()


class _End:
    """Stands for the end of a stream."""


async def _next(source: AsyncGenerator[T]) -> T | _End:
    async for item in source:
        return item
    return _End()


async def _end(task: asyncio.Future[Any]) -> None:
    if not task.done():
        task.cancel()
        await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # seen, so that asyncio does not complain of it


def load(package: str) -> tuple[Any, Any]:
    """An endpoint's package and the transport, which take a second to import the first time."""
    with _loading, _no_collection():
        # The transport goes first: it sees to it that the packages log no requests.
        transport = importlib.import_module("app.agent.llm.transport")
        return importlib.import_module(package), transport


_loading = threading.Lock()


@contextmanager
def _no_collection() -> Generator[None]:
    """No round of the garbage collector meanwhile.

    Thousands of new classes set off hundreds, some of all that the program holds: those stop the
    window for 30 to 60 ms. What is new is looked through once, at the end.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def host_of(base_url: str) -> str:
    """The host of an http(s) address.

    Raises:
        UsageError: It is not one.
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
    """The host of an http(s) address as the user is told it, with its port unless that is https's.

    Two services of one machine are two places: what one was allowed, the other was not. Letters
    other than ASCII's are written as they go over the wire ("xn--..."), so that no host can look
    like another.

    Raises:
        UsageError: It is not such an address.
    """
    host, parts = host_of(base_url), urlsplit(base_url)
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    name = f"[{host}]" if ":" in host else _wire_name(host)
    return name if (parts.scheme, port) == ("https", 443) else f"{name}:{port}"


def _wire_name(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        return host.encode("punycode").decode("ascii")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine: localhost, 127.0.0.0/8 or ::1.

    Not a name below localhost: many systems ask the network for it.
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
