"""The interface of a language model: one method that streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from app.agent.messages import Message, ToolCall
from app.errors import SightlineError


@dataclass(frozen=True, slots=True)
class TooLong:
    """A request did not fit into the endpoint's context.

    Attributes:
        limit: Tokens that it takes, the answer's included; 0 where it did not say.
        used: Tokens that it counted in the request; 0 where it did not say.
    """

    limit: int = 0
    used: int = 0


class ModelFailed(SightlineError):
    """The language model gave no usable answer: says which host, why, and what to do.

    Attributes:
        retryable: Whether the same request may succeed a little later (busy, reset, stalled).
        retry_after_s: How long the endpoint asked to wait (Retry-After), None when it did not say.
        too_long: What the endpoint said of a request that is longer than its context.
    """

    retryable: bool = False
    retry_after_s: float | None = None
    too_long: TooLong | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What the loop must know of a model.

    Attributes:
        context_tokens: The most tokens of a request and its answer together.
        output_tokens: Of them, how many are kept free for the answer.
        images: Whether it takes pictures.
        own_tools: Whether it is offered the loop's own tools (`read_result`, `update_plan`).
        input_price: US dollars for a million tokens of a request, None when not known.
        output_price: The same for an answer.
        chars_per_token: For estimates, of English text and JSON.
        metered: Whether its use is told in tokens; not so for the rule planner.
        rules: It is the rule planner: asked again, it says the same.
    """

    context_tokens: int = 32_768
    output_tokens: int = 4_096
    images: bool = False
    own_tools: bool = True
    input_price: float | None = None
    output_price: float | None = None
    chars_per_token: float = 3.5
    metered: bool = True
    rules: bool = False


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool as the model sees it: name, description and JSON schema of the arguments.

    `phrases` are for the offline planner: what a user may write to mean it.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A piece of the model's reasoning, where the endpoint tells it."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know while it goes on, e.g. that the model is being loaded.

    Attributes:
        text: What it is.
        passing: Whether it tells only of what goes on right now, not of something that stays true.
    """

    text: str
    passing: bool = False


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


ModelEvent = Text | Reasoning | Note | Call | Plan | Tokens


def info_of(model: object) -> ModelInfo:
    """What a model says of itself (its `info`), else cautious defaults."""
    info = getattr(model, "info", None)
    return info if isinstance(info, ModelInfo) else ModelInfo()


_before_resending: ContextVar[Callable[[], None] | None] = ContextVar("resend", default=None)


def on_resending(tell: Callable[[], None]) -> None:
    """Have `tell` called before a model sends its request once more within one stream.

    Args:
        tell: Called in the task that streams; what it raises ends the stream.
    """
    _before_resending.set(tell)


def resending() -> None:
    """A request is about to be sent once more: to be called by whoever does that.

    Raises:
        ModelFailed: It may not.
    """
    tell = _before_resending.get()
    if tell is not None:
        tell()


def is_encrypted(model: object) -> bool:
    """Whether nobody on the way to a remote model can read what is sent (its `encrypted`)."""
    return getattr(model, "encrypted", True) is True


class LanguageModel(Protocol):
    """A language model. It may have an `info: ModelInfo`; see `info_of`, and `is_encrypted`."""

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
