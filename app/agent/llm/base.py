"""The interface of a language model: one method that streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from app.agent.messages import Message, ToolCall
from app.errors import SightlineError


class ModelFailed(SightlineError):
    """The language model gave no usable answer: says which host, why, and what to do."""


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it: name, description and JSON schema of the arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A complete tool call."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Plan:
    """What the model means to do: (tool, why) a step."""

    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens counted by the endpoint."""

    input_tokens: int
    output_tokens: int


ModelEvent = Text | Call | Plan | Tokens


class LanguageModel(Protocol):
    """A language model."""

    @property
    def name(self) -> str:
        """Its name for the user and the log, e.g. "offline" or "gpt-5 at api.example.org"."""
        ...

    @property
    def remote_host(self) -> str:
        """The host that data would be sent to, or "" when nothing leaves this machine."""
        ...

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Answer the transcript.

        Raises:
            ModelFailed: The endpoint is down, refuses, stalls or sends what cannot be read.
        """
        ...
