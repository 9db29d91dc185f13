"""What every model behind an endpoint does: its package, its stream, what its failures mean.

How a request is written, and what the pieces of an answer mean, each protocol says for itself.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from app.agent.llm.base import ModelEvent, ModelInfo, Note, ToolSchema
from app.agent.llm.endpoint import Bounds, host_of, is_loopback, load, patiently, place_of
from app.agent.llm.failures import Endpoint, failure, unreadable
from app.agent.messages import Message

_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What reading an answer raises that is not of the form that was expected."""


class Answer(Protocol):
    """Puts the pieces of one streamed answer together.

    Attributes:
        started: The endpoint has begun to answer.
    """

    started: bool

    def take(self, chunk: Any, /) -> Iterable[ModelEvent]:
        """What a piece gives at once."""
        ...

    def end(self) -> Iterable[ModelEvent]:
        """The rest, once the stream has ended."""
        ...


class HostedModel(ABC):
    """A model behind an endpoint, by the endpoint's own package.

    Args:
        base_url: The endpoint's address.
        model: The model's name there.
        key: The key, or None where the endpoint asks for none.
        info: What the loop must know of the model.
        bounds: How long and how much it may answer.

    Attributes:
        package: The package's name.
        errors: The name of the class of its errors.

    Raises:
        UsageError: `base_url` is no http(s) address.
    """

    package: ClassVar[str]
    errors: ClassVar[str]

    def __init__(
        self, base_url: str, model: str, key: str | None, info: ModelInfo, bounds: Bounds
    ) -> None:
        self.info = info
        self._base_url = base_url
        self._at = Endpoint(host_of(base_url), model, key or "")
        self._bounds = bounds

    @property
    def name(self) -> str:
        """The model and where it runs."""
        return f"{self._at.model} at {self._at.host}"

    @property
    def remote_host(self) -> str:
        """The endpoint's host and port, or "" when it is this machine."""
        return "" if is_loopback(self._at.host) else place_of(self._base_url)

    @property
    def encrypted(self) -> bool:
        """Whether nobody on the way to the endpoint can read what is sent."""
        return self._base_url.lower().startswith("https:")

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncGenerator[ModelEvent]:
        """Answer the transcript.

        Raises:
            ModelFailed: The endpoint is down, refuses, stalls or sends what cannot be read.
        """
        answer = self._answer(messages, tools)
        # Imports and pictures take a moment; on the loop they would delay a cancel.
        packages = await asyncio.to_thread(load, self.package)
        request = await asyncio.to_thread(self._request, messages, tools)
        with self._told(packages, self._at, answer):
            source = self._chunks(packages, request)
            async with aclosing(patiently(source, self._bounds, self._at)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Note):
                        yield chunk
                        continue
                    for event in answer.take(chunk):
                        yield event
        for event in answer.end():
            yield event

    async def models(self) -> list[str]:
        """The names of the models that the endpoint offers, in its order.

        Raises:
            ModelFailed: It cannot be asked, or does not say.
        """
        packages = await asyncio.to_thread(load, self.package)
        with self._told(packages, replace(self._at, model="")):
            async with asyncio.timeout(self._bounds.first_s), self._client(packages) as client:
                page = await self._page(client)
                return [str(model.id) for model in page.data]

    @contextmanager
    def _told(self, packages: Any, at: Endpoint, answer: Answer | None = None) -> Generator[None]:
        """Errors of the package, the transport and of reading, as what they mean for the user."""
        package, transport = packages
        late = () if answer is not None else (TimeoutError,)  # of a stream `patiently` tells
        try:
            yield
        except (getattr(package, self.errors), *transport.ERRORS, *late) as error:
            raise failure(error, at, answer is not None and answer.started) from error
        except _UNREADABLE as error:
            started = answer is not None and answer.started
            raise unreadable(self._at, type(error).__name__, started) from error

    async def _chunks(self, packages: Any, request: dict[str, Any]) -> AsyncGenerator[Any]:
        async with self._client(packages) as client:
            stream = await self._opened(packages, client, request)
            async with stream:
                async for chunk in stream:
                    yield chunk

    @abstractmethod
    def _answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Answer:
        """What takes the pieces of the answer."""

    @abstractmethod
    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
        """What is sent; called in a thread."""

    @abstractmethod
    def _client(self, packages: Any) -> Any:
        """The package's client; it never repeats a request by itself."""

    @abstractmethod
    async def _opened(self, packages: Any, client: Any, request: dict[str, Any]) -> Any:
        """The answer's stream."""

    @abstractmethod
    async def _page(self, client: Any) -> Any:
        """The list of the endpoint's models."""
