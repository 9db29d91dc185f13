"""The interface of a language model: the method `stream`, and the types of what it yields."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

from app.agent.messages import Message, ToolCall
from app.errors import SightlineError


@dataclass(frozen=True, slots=True)
class TooLong:
    """An endpoint's report that a request does not fit into the model's context.

    Attributes:
        limit: Tokens that request and answer may have together; 0 if the endpoint did not say.
        used: Tokens that the endpoint counted in the request; 0 if the endpoint did not say.
    """

    limit: int = 0
    used: int = 0


class ModelFailed(SightlineError):
    """A language model failed to give a usable answer; holds the host, the reason and a remedy.

    Attributes:
        retryable: Whether the same request may succeed a little later (busy, reset, stalled).
        retry_after_s: Seconds that the endpoint asked to wait; None if it did not say.
        too_long: Set if the request exceeds the model's context, otherwise None.
    """

    retryable: bool = False
    retry_after_s: float | None = None
    too_long: TooLong | None = None


LOCAL = "(this computer)"
"""The end of the name of a model whose file is on this computer; before it stands the file's."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Size, abilities and prices of a model.

    Attributes:
        context_tokens: Maximum number of tokens in a request and its answer together.
        output_tokens: How many of these tokens are reserved for the answer.
        images: Whether the model accepts pictures.
        own_tools: Whether the agent's own tools (`read_result`, `update_plan`) are offered to it.
        input_price: US dollars per million request tokens; None if unknown.
        output_price: US dollars per million answer tokens; None if unknown.
        chars_per_token: Average for English text and JSON, used for estimates.
        metered: Whether its use is counted in tokens.
        rules: Whether it is the rule-based planner, which always gives the same answer.
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
    """A tool as it is described to the model.

    Attributes:
        parameters: JSON schema of the arguments.
        phrases: Phrases in a user's question that mean this tool, for the offline planner.
        title: Name of the tool for people; "" if it has none.
        repeatable: Whether it may run on many images in one call: it only reads and computes.
        other_names: Further names by which a question may call the tool.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    phrases: tuple[str, ...] = ()
    title: str = ""
    repeatable: bool = True
    other_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the text that a model streams."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """A piece of the model's reasoning, if the endpoint sends it."""

    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A note for the user during an answer; a `passing` note describes only the current moment."""

    text: str
    passing: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A complete tool call in a model's answer."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps that the model plans, each as (tool, why).

    `after` holds for each the numbers, from 1, of the steps that it waits for; () if none waits.
    `arguments` holds for each those that the user may change; () if there are none.
    """

    steps: tuple[tuple[str, str], ...]
    after: tuple[tuple[int, ...], ...] = ()
    arguments: tuple[Mapping[str, str | int | float], ...] = ()


@dataclass(frozen=True, slots=True)
class Tokens:
    """The numbers of tokens in a request and its answer, as counted by the endpoint."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class StatedClaim:
    """A statement of an answer as the model lists it beside its prose, for code to check.

    Attributes:
        statement: The statement in words.
        value: Its number, None for none.
        unit: Unit of the number, "" for none.
        side: "left", "right", "both" or "".
        evidence: Id of the result or item that it rests on ("3", "3.2"), "" for none.
    """

    statement: str
    value: float | None = None
    unit: str = ""
    side: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Claimed:
    """All statements that the model lists for its answer."""

    claims: tuple[StatedClaim, ...]


ModelEvent = Text | Reasoning | Note | Call | Plan | Tokens | Claimed


def model_info(model: object) -> ModelInfo:
    """Return the model's `info`, or `ModelInfo` with cautious defaults if it has none."""
    info = getattr(model, "info", None)
    return info if isinstance(info, ModelInfo) else ModelInfo()


_resend_check: ContextVar[Callable[[], None] | None] = ContextVar("resend", default=None)


def set_resend_check(check: Callable[[], None]) -> None:
    """Set a check that runs before a model sends a request again within one call of `stream`.

    `check` is called in the task that is streaming; an error raised by `check` ends the stream.
    """
    _resend_check.set(check)


def check_resend() -> None:
    """Run the check set by `set_resend_check`, which raises ModelFailed to forbid the request."""
    check = _resend_check.get()
    if check is not None:
        check()


def is_encrypted(model: object) -> bool:
    """Return whether the connection to a model is encrypted; True for a model that does not say."""
    return getattr(model, "encrypted", True) is True


class LanguageModel(Protocol):
    """A language model; may also have the attributes that `model_info` and `is_encrypted` read."""

    @property
    def name(self) -> str:
        """The name shown to the user and in the log, e.g. "offline" or "gpt-5 at example.org"."""
        ...

    @property
    def remote_host(self) -> str:
        """The host that data is sent to; "" if nothing leaves this machine."""
        ...

    def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncIterator[ModelEvent]:
        """Yield the model's answer to the transcript `messages`; the model may call `tools`.

        Raises:
            ModelFailed: The endpoint is down, refuses, stalls or sends unreadable data.
        """
        ...
