"""What all models behind an endpoint share: loading a package, streaming, and handling errors.

A subclass for each protocol writes the requests and reads the pieces of an answer.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from app.agent.llm.answer_assembly import Assembly
from app.agent.llm.base import ModelEvent, ModelInfo, Note, ToolSchema
from app.agent.llm.endpoint import Bounds, bounded_stream, host_of, is_loopback, load, place_of
from app.agent.llm.failures import Endpoint, model_failure, unreadable_answer
from app.agent.messages import Message, Picture

MEDIA_TYPE = "image/png"
MAX_BYTES = 8 * 2**20
_LIST_S = 30.0  # for the list of an endpoint's models

_DIGEST = re.compile(r"[0-9a-f]{24}")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
"""The first bytes of every PNG (ISO/IEC 15948, 5.2)."""


def encoded(picture: Picture) -> str:
    """Return the PNG as base64; "" if the file is missing, too large, not a PNG, or was replaced.

    A file named by its digest (`privacy.model_pictures`) must have that digest, so that only the
    picture that the user was shown and allowed is sent.
    """
    try:
        with Path(picture.path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return ""
    # Another file (DICOM, say) must not be sent as a PNG.
    if not data.startswith(_SIGNATURE) or len(data) > MAX_BYTES:
        return ""
    name = Path(picture.path).stem
    if _DIGEST.fullmatch(name) and not hashlib.sha256(data).hexdigest().startswith(name):
        return ""
    return base64.b64encode(data).decode("ascii")


def missing(picture: Picture, sees: bool) -> str:
    """Return the note that replaces a picture; `sees` says whether the model accepts pictures."""
    why = "it is not there any more" if sees else "this model takes no pictures"
    return f"[A picture is not shown, {why}: {picture.caption}]"


_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""Errors that parsing raises for an answer of unexpected form."""


class HostedModel(ABC):
    """A model behind an endpoint, accessed with the provider's own Python package.

    The arguments are explained in `OpenAIModel`.

    Attributes:
        package: The name of the provider's package.
        errors: The name of the package's base class for errors.
        list_options: Arguments of the package's call that lists the endpoint's models.

    Raises:
        UsageError: `base_url` is not an http(s) address.
    """

    package: ClassVar[str]
    errors: ClassVar[str]
    list_options: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self, base_url: str, model: str, key: str | None, info: ModelInfo, bounds: Bounds
    ) -> None:
        self.info = info
        self._base_url = base_url
        self._at = Endpoint(host_of(base_url), model, key or "")
        self._bounds = bounds

    @property
    def name(self) -> str:
        """The names of the model and its host, e.g. "gpt-5 at api.example.org"."""
        return f"{self._at.model} at {self._at.host}"

    @property
    def remote_host(self) -> str:
        """The endpoint's host and port, or "" if it is this machine."""
        return "" if is_loopback(self._at.host) else place_of(self._base_url)

    @property
    def encrypted(self) -> bool:
        """Whether the connection is encrypted (https)."""
        return self._base_url.lower().startswith("https:")

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncGenerator[ModelEvent]:
        """Yield the model's answer to the transcript `messages`; the model may call `tools`.

        Raises:
            ModelFailed: The endpoint is down, refuses, stalls or sends unreadable data.
        """
        answer = self._answer(messages, tools)
        # Imports and pictures take a moment; on the loop they would delay a cancel.
        packages = await asyncio.to_thread(load, self.package)
        request = await asyncio.to_thread(self._request, messages, tools)
        with self._translated_errors(packages, self._at, answer):
            source = self._chunks(packages, request)
            async with aclosing(bounded_stream(source, self._bounds, self._at)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Note):
                        yield chunk
                        continue
                    for event in answer.take(chunk):
                        yield event
        for event in answer.end():
            yield event

    async def models(self) -> list[str]:
        """Return the names of the models that the endpoint offers, in the endpoint's order.

        Raises:
            ModelFailed: The endpoint cannot be reached, or does not list its models.
        """
        packages = await asyncio.to_thread(load, self.package)
        with self._translated_errors(packages, replace(self._at, model="")):
            async with asyncio.timeout(_LIST_S), self._client(packages) as client:
                page = await client.models.list(**self.list_options)
                return [str(model.id) for model in page.data]

    @contextmanager
    def _translated_errors(
        self, packages: Any, at: Endpoint, answer: Assembly | None = None
    ) -> Generator[None]:
        """Convert errors of the package, the transport and of parsing into `ModelFailed`."""
        package, transport = packages
        late = () if answer is not None else (TimeoutError,)  # of a stream `bounded_stream` tells
        try:
            yield
        except (getattr(package, self.errors), *transport.ERRORS, *late) as error:
            raise model_failure(error, at, answer is not None and answer.started) from error
        except _UNREADABLE as error:
            started = answer is not None and answer.started
            raise unreadable_answer(self._at, type(error).__name__, started) from error

    async def _chunks(self, packages: Any, request: dict[str, Any]) -> AsyncGenerator[Any]:
        async with self._client(packages) as client:
            stream = await self._opened(packages, client, request)
            async with stream:
                async for chunk in stream:
                    yield chunk

    @abstractmethod
    def _answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Assembly:
        """Return the object that assembles the answer from its pieces."""

    @abstractmethod
    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
        """Return the fields of the request; it is called in a thread."""

    @abstractmethod
    def _client(self, packages: Any) -> Any:
        """Return the package's client, configured not to repeat requests itself."""

    @abstractmethod
    async def _opened(self, packages: Any, client: Any, request: dict[str, Any]) -> Any:
        """Send the request and return the stream of the answer."""
