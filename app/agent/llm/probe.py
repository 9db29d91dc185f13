"""Test of a language model for the settings page. It blocks and does not use Qt.

`Probe` tests a model, lists the models of an endpoint, and checks a model file. The test of an
endpoint ("Test connection") sends no patient data: a few words, a made-up tool and a red square.
"""

from __future__ import annotations

import asyncio
import base64
import difflib
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from app.agent.context.model_messages import result_message
from app.agent.llm.anthropic_model import AnthropicModel
from app.agent.llm.base import (
    Call,
    LanguageModel,
    ModelEvent,
    ModelFailed,
    ModelInfo,
    Note,
    Reasoning,
    Text,
    Tokens,
    ToolSchema,
)
from app.agent.llm.endpoint import Bounds
from app.agent.llm.failures import Endpoint
from app.agent.llm.openai_model import OpenAIModel
from app.agent.llm.providers import ModelChoice
from app.agent.messages import Message, Picture, ToolCall
from app.errors import Cancelled, SightlineError, UsageError
from app.imaging.processes.memory_limit import memory_bytes
from app.settings import ToolForm
from app.tools.api import CancelToken
from app.tools.needs import is_installed, missing_package

GIB = 2**30
_MEMORY_FACTOR = 1.2
"""Memory that a model needs for weights and computation, as a multiple of its file size."""
_MAGIC = b"GGUF"

BOUNDS = Bounds(connect_s=8, first_s=90, silence_s=20, answer_s=120, body_bytes=8 * 2**20)
ENOUGH = 2_000
"""Number of characters after which the test stops reading an answer."""

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"value": {"type": "integer"}},
    "required": ["value"],
    "additionalProperties": False,
}
_TOOL = ToolSchema("note_number", "Notes a number.", _SCHEMA)
_VALUES = (7, 8, 9)
_ORDER = (
    "Call the tool note_number with the value 7. After its result call it with the value 8, and "
    "after that result with the value 9."
)
_BY_SCHEMA = "it calls tools best as JSON that a schema enforces, and is asked so from now on"
_RED = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAT0lEQVR42u3PQQkAAAgEsAtx/ZMZxgi+hcEKLNO+"
    "FgEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQGBywKqxUDxqh7TUQAAAABJRU5E"
    "rkJggg=="
)
_NO_LIST = ("no list of models", "HTTP", "cannot be read", "redirects")
"""Words of the reasons for which an endpoint lists no models and may chat all the same."""
_SEES = ModelInfo(images=True, output_tokens=1_024)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a test.

    Attributes:
        ok: Whether the model can be used.
        lines: One line per step, in order: ✓ it works, ✕ it failed, – not supported or unknown.
            Unless `ok`, the last line says what to do.
        form: The form of tool calls that works best, to store in the settings; "auto" if unknown.
    """

    ok: bool
    lines: tuple[str, ...]
    form: ToolForm = "auto"


Ask = Callable[[ToolForm, Sequence[Message]], AsyncGenerator[ModelEvent]]
"""Has a model that is offered the made-up tool answer, with calls in the given form."""


async def form_of_calls(ask: Ask, *, native_only: bool = False) -> ToolForm:
    """Return the form, native or by schema, in which a model makes more of the requested calls.

    `ask` has the model answer with calls in a given form. Three calls are requested, one after
    another; "auto" means that it made none. If `native_only`, one native call is requested.
    """
    native = await _calls_in_order(ask, "native", _VALUES[:1] if native_only else _VALUES)
    if native == len(_VALUES) or native_only:
        return "native" if native else "auto"
    schema = await _calls_in_order(ask, "json_schema", _VALUES)
    return "json_schema" if schema > native else "native" if native else "auto"


async def _calls_in_order(ask: Ask, form: ToolForm, values: Sequence[int]) -> int:
    """Return how many of the wanted calls a model makes, each after the result before it."""
    messages = [Message(role="user", text=_ORDER)]
    for done, value in enumerate(values):
        calls: list[ToolCall] = []
        said = 0
        try:
            async with aclosing(ask(form, messages)) as events:
                async for event in events:
                    said += len(event.text) if isinstance(event, Text | Reasoning) else 0
                    calls += [event.call] if isinstance(event, Call) else []
                    if said > ENOUGH:
                        break
        except ModelFailed:
            return done
        if not calls or (calls[0].name, calls[0].arguments) != (_TOOL.name, {"value": value}):
            return done
        call = calls[0].model_copy(update={"id": f"call-{value}"})
        result = result_message(call.id, call.name, {"summary": f"{value} is noted."})
        messages += [Message(role="assistant", tool_calls=[call]), result]
    return len(values)


class Probe:
    """Tests language models for the settings page.

    Args:
        build: Returns the model with the given settings.
        in_use: Returns whether a model is in use for questions, so that it must not be closed.
        before_request: Called before each request to an endpoint, for the audit log.
    """

    def __init__(
        self,
        build: Callable[[ModelChoice], LanguageModel],
        in_use: Callable[[LanguageModel], bool] = lambda _model: False,
        before_request: Callable[[ModelChoice], object] = lambda _choice: None,
    ) -> None:
        self._build = build
        self._in_use = in_use
        self._before_request = before_request

    def diagnose(self, choice: ModelChoice, cancel: CancelToken) -> Report:
        """Test a model step by step and return the report; raise Cancelled if `cancel` is set."""
        if choice.kind == "local":
            return run(self._one_word(choice), cancel)
        self._before_request(choice)
        return run(examine(choice), cancel)

    def models(self, choice: ModelChoice, cancel: CancelToken) -> tuple[str, ...]:
        """Return the names of the models that an endpoint offers; () if `choice` has no endpoint.

        Raises:
            Cancelled: The request was cancelled.
            SightlineError: The endpoint cannot be reached, or does not list its models.
        """
        self._before_request(choice)
        if not choice.fields.model.strip():  # not chosen yet, nor needed for a list
            choice = replace(choice, fields=choice.fields.model_copy(update={"model": "any"}))
        model = self._build(choice)
        listed = getattr(model, "models", None)
        return tuple(run(listed(), cancel)) if listed is not None else ()

    @staticmethod
    def about_file(path: str) -> Report:
        """Return a report on a model file: its size, the memory it needs, and missing packages."""
        if not path.strip():
            return Report(True, ("Choose a GGUF file, or a folder with safetensors.",))
        file = Path(path)
        try:
            whole = _size(file)
        except OSError as error:
            return Report(
                False, (f"It cannot be read ({error.strerror or type(error).__name__}).",)
            )
        except SightlineError as error:
            return Report(False, (error.reason,))
        lines = [_memory_line(whole)]
        package = "transformers" if file.is_dir() else "xllamacpp"
        if not is_installed(package):
            lines.append(missing_package("A model on this computer", package).text)
            return Report(False, tuple(lines))
        memory = memory_bytes()
        return Report(not memory or whole * _MEMORY_FACTOR < memory, tuple(lines))

    async def _one_word(self, choice: ModelChoice) -> Report:
        """Start a model on this computer and have it say one word."""
        model = self._build(choice)
        began = time.monotonic()
        lines: list[str] = []
        said = False
        try:
            question = [Message(role="user", text="Say OK.")]
            async with aclosing(model.stream(question, ())) as events:  # type: ignore[type-var] - a generator
                async for event in events:
                    if isinstance(event, Note) and not event.passing:
                        lines.append(event.text)
                    said = isinstance(event, Text | Reasoning)
                    if said:
                        break  # a small model may go on for thousands of words
            took = time.monotonic() - began
            form: ToolForm = "auto"
            in_form: Any = getattr(model, "in_form", None)
            if said and in_form is not None and choice.fields.tool_form == "auto":
                form = await form_of_calls(lambda f, m: in_form(f).stream(m, [_TOOL]))
        except ModelFailed as error:
            reason = f"{error.subject}: {error.reason}" if error.subject else error.reason
            return Report(False, (*lines, f"✕ {reason}.", error.remedy or "Choose another model."))
        finally:
            close = getattr(model, "close", None)
            if close is not None and not self._in_use(model):
                await asyncio.to_thread(close)
        if not said:
            failed = f"✕ {model.name} gave an empty answer."
            return Report(False, (*lines, failed, "Test again, or choose another model."))
        lines.append(f"✓ {model.name} is loaded and answers: {took:.1f} s.")
        if form == "json_schema":
            lines.append(f"✓ I{_BY_SCHEMA[1:]}.")
        return Report(True, tuple(lines), form)


def run(work: Coroutine[Any, Any, T], cancel: CancelToken) -> T:
    """Run a coroutine and return its result; raise Cancelled soon after `cancel` is set."""

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)

        def stop() -> None:
            try:
                loop.call_soon_threadsafe(task.cancel)
            except RuntimeError:  # the loop has ended
                return

        cancel.on_cancel(stop)
        return await task

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        raise Cancelled from None


def _size(file: Path) -> int:
    """Return the size of the weights in bytes; raise SightlineError if the file is no model."""
    if file.is_dir():
        weights = [item.stat().st_size for item in file.glob("*.safetensors")]
        if not weights or not (file / "config.json").is_file():
            raise SightlineError(
                "The folder contains no transformers model: config.json and safetensors are needed."
            )
        return sum(weights)
    with file.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            raise SightlineError("This is not a GGUF file.")
    return file.stat().st_size


def _memory_line(whole: int) -> str:
    needs = f"{_in_words(whole)}; needs about {_in_words(round(whole * _MEMORY_FACTOR))} of memory"
    memory = memory_bytes()
    if not memory:
        return f"{needs}."
    line = f"{needs}, this computer has {_in_words(memory)}."
    if whole * _MEMORY_FACTOR < memory:
        return line
    return f"{line} This is too little: choose a smaller model."


def _in_words(size: int) -> str:
    return f"{size / GIB:.1f} GB" if size >= GIB else f"{max(1, round(size / 2**20))} MB"


# -- the test of an endpoint ------------------------------------------------------------------


async def examine(choice: ModelChoice) -> Report:
    """Test an endpoint step by step, up to the first step that fails, and return the report.

    The API key is never included in the report.
    """
    at = Endpoint("", choice.fields.model.strip(), choice.key)
    found = _Examination(choice, at)
    try:
        await found.models()
        await found.answer()
        await found.abilities()
        ok = True
    except SightlineError as error:
        found.say("✕", error.reason)
        found.lines.append(error.remedy or "Check the settings.")
        ok = False
    return Report(ok, tuple(at.without_secret(line) for line in found.lines), found.form)


class _Answer(NamedTuple):
    """The events of an answer, and the seconds until its first piece (0 for never)."""

    events: list[ModelEvent]
    first_s: float

    @property
    def text(self) -> str:
        return "".join(item.text for item in self.events if isinstance(item, Text | Reasoning))


@dataclass(slots=True)
class _Examination:
    """The steps of a test; each adds lines, and raises what ends the test."""

    choice: ModelChoice
    at: Endpoint
    lines: list[str] = field(default_factory=list[str])
    form: ToolForm = "auto"

    def say(self, mark: Literal["✓", "✕", "–"], text: str) -> None:
        """Add a line to the report."""
        self.lines.append(f"{mark} {text[:1].upper()}{text[1:].rstrip('.')}.")

    async def models(self) -> None:
        """Test whether the endpoint speaks the API, accepts the key and knows the model."""
        try:
            names = await self._model().models()
        except ModelFailed as error:
            await self._explain(error)
            return
        self.say("✓", f"it lists {len(names)} model{'s' * (len(names) != 1)}")
        model = self.at.model
        if self.choice.kind == "azure":
            self.say("–", "Azure lists models, not deployments: the next step tries the deployment")
        elif model in names or f"{model}:latest" in names:
            self.say("✓", f'the model "{model}" is there')
        else:
            self.say("–", f'the model "{model}" is not in the list{_offered(model, names)}')

    async def answer(self) -> None:
        """Test whether the endpoint streams an answer, and how soon."""
        if not self.at.model:
            raise UsageError(
                "no model is named", remedy="Choose one of the endpoint's models, and test again."
            )
        answer = await self._ask(Message(role="user", text="Say OK."))
        if not answer.first_s:
            raise ModelFailed(
                f'the model "{self.at.model}" gave an empty answer',
                remedy="Test again, or choose another model.",
            )
        self.say("✓", f"it streams: the first word came after {max(answer.first_s, 0.1):.1f} s")
        if not any(isinstance(item, Tokens) for item in answer.events):
            self.say("–", "it does not count tokens: limits then rest on estimates")

    async def abilities(self) -> None:
        """Test abilities beyond text, such as tools and pictures; none of them is required."""
        found = await form_of_calls(
            lambda form, messages: self._model(form).stream(messages, [_TOOL]),
            native_only=self.choice.kind == "anthropic",
        )
        if found == "native":
            self.say("✓", "it calls tools")
        elif found == "json_schema" and self.choice.fields.tool_form == "auto":
            self.say("✓", _BY_SCHEMA)
        elif found == "json_schema":
            self.say("✕", 'it calls tools best by JSON: choose "JSON schema" as the form of calls')
        else:
            self.say("✕", "it did not call a tool: choose another model if tools are to run")
        self.form = found
        await self._eyes()

    async def _eyes(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            try:
                answer = await self._ask(_about_picture(folder))
            except ModelFailed:
                self.say("–", "it does not accept pictures")
                return
        if "red" in answer.text.lower():
            self.say("✓", "it sees pictures")
        else:
            self.say("–", "it does not see pictures: it could not name the colour of one")

    async def _ask(self, message: Message) -> _Answer:
        events: list[ModelEvent] = []
        first_s, began = 0.0, time.monotonic()
        async with aclosing(self._model().stream([message], ())) as stream:
            async for event in stream:
                events.append(event)
                if not isinstance(event, Note | Tokens):
                    first_s = first_s or max(time.monotonic() - began, 0.001)
                if len(_Answer(events, first_s).text) > ENOUGH:
                    break
        return _Answer(events, first_s)

    async def _explain(self, error: ModelFailed) -> None:
        """Explain why no models were listed; raise unless the chat may work all the same."""
        if not any(word in error.reason for word in _NO_LIST):
            raise error
        better = await self._better_address()
        if better:
            raise ModelFailed(
                "the server is there, but not at this address",
                remedy=f"Use {better} as the address.",
            )
        none = "it has no list of models at this address"
        why = "" if none in error.reason else f" ({error.reason.rstrip('.')})"
        self.say("–", f"{none}{why}")

    async def _better_address(self) -> str:
        """Return the address with "/v1" added, "" if that is not what is missing."""
        url = self.choice.url.rstrip("/")
        if self.choice.kind != "openai" or url.endswith("/v1"):
            return ""
        # People paste Ollama's own address, or the whole one of a request.
        for end in ("/chat/completions", "/completions", "/models", "/api/chat", "/api"):
            url = url.removesuffix(end)
        better = url if url.endswith("/v1") else f"{url}/v1"
        try:
            await self._model(url=better).models()
        except SightlineError:
            return ""
        return better

    def _model(self, form: ToolForm = "native", url: str = "") -> OpenAIModel | AnthropicModel:
        kind, url, key = self.choice.kind, url or self.choice.url, self.choice.key
        if kind == "anthropic":
            return AnthropicModel(self.at.model, key, base_url=url, info=_SEES, bounds=BOUNDS)
        return OpenAIModel(
            url,
            self.at.model,
            key,
            info=_SEES,
            tool_form=form,
            bounds=BOUNDS,
            api_version=self.choice.api_version,
        )


def _about_picture(folder: str) -> Message:
    path = Path(folder, "red.png")
    path.write_bytes(_RED)
    picture = Picture(path=str(path), caption="A test picture.")
    question = "What colour is this picture? Answer with one word."
    return Message(role="user", text=question, pictures=[picture])


def _offered(model: str, names: Sequence[str]) -> str:
    """Return similar names, else the first ones, as the end of a sentence."""
    near = difflib.get_close_matches(model, names, n=3, cutoff=0.5)
    near += [name for name in names if model and model in name and name not in near][:3]
    if near:
        return f"; near it: {', '.join(near)}"
    more = ", ..." if len(names) > 5 else ""
    return f"; there are {', '.join(names[:5])}{more}" if names else ""
