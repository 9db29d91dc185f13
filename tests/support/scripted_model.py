"""A language model that plays a script, and asserts that all of it was played."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Any

from app.agent.llm.base import Call, ModelEvent, ModelInfo, Text, ToolSchema
from app.agent.messages import Message, ToolCall

_ids = count(1)


class Stall:
    """A turn that sends nothing until it is cancelled."""


class Swallow:
    """A turn that sends nothing and ignores its cancellation, like a badly written model."""


@dataclass(frozen=True)
class Until:
    """A turn that waits for the test."""

    event: threading.Event


Turn = Sequence[ModelEvent | BaseException | Stall | Swallow | Until]


def call(name: str, /, **arguments: Any) -> Call:
    """Return a tool call with a fresh id."""
    return Call(ToolCall(id=f"scripted-{next(_ids)}", name=name, arguments=arguments))


class ScriptedModel:
    """Plays one turn a request. Use it as a context manager to assert that it was used up.

    Args:
        turns: What each request streams; an exception is raised where it stands.
        remote_host: As if it ran there.
        before: Called with the messages of each request before it is answered.
        info: What it says of itself; by default no own tools and no estimated usage.
    """

    def __init__(
        self,
        *turns: Turn,
        remote_host: str = "",
        before: Callable[[Sequence[Message]], None] | None = None,
        info: ModelInfo | None = None,
    ) -> None:
        self._turns = list(turns)
        self.remote_host = remote_host
        self.name = "scripted"
        self.info = info or ModelInfo(own_tools=False, metered=False)
        self.requests: list[list[Message]] = []
        self.schemas: list[list[ToolSchema]] = []
        self.stalled = asyncio.Event()
        self._before = before

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Play the next turn of the script."""
        self.requests.append(list(messages))
        self.schemas.append(list(tools))
        if self._before is not None:
            self._before(messages)
        assert self._turns, "the script has no turn left for this request"
        for item in self._turns.pop(0):
            match item:
                case BaseException():
                    raise item
                case Stall():
                    self.stalled.set()
                    await asyncio.Event().wait()
                case Until(event):
                    await asyncio.to_thread(event.wait, 10)
                case Swallow():
                    self.stalled.set()
                    await _deaf_wait()
                case _:
                    yield item
                    await asyncio.sleep(0)

    def assert_used_up(self) -> None:
        """Fail if any turns are left."""
        assert not self._turns, f"{len(self._turns)} turns of the script were never asked for"

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.assert_used_up()


async def _deaf_wait() -> None:
    for _ in range(2):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


def says(text: str) -> Turn:
    """Return a turn that streams `text` word by word and ends."""
    return [Text(f"{word} ") for word in text.split()]
