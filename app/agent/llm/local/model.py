"""A language model in a process on this machine, started, queried by HTTP and ended by the app."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing, contextmanager, suppress
from copy import copy
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from app.agent.llm.base import LOCAL, ModelEvent, ModelFailed, ModelInfo, Note, ToolSchema
from app.agent.llm.endpoint import Bounds
from app.agent.llm.local.server_main import ServerConfig, Serving, run
from app.agent.llm.openai_model import OpenAIModel
from app.agent.messages import Message
from app.imaging.processes.worker_process import death_reason
from app.log import get_logger
from app.settings import ToolForm
from app.tools.hosting.host import default_threads
from app.tools.needs import missing_package

_log = get_logger(__name__)

GGUF = "app.agent.llm.local.gguf_main:serve"
TRANSFORMERS = "app.agent.llm.local.transformers_main:serve"
FIRST_TIMEOUT_S = 900.0
"""Seconds until the first word: a processor reads a long question for minutes."""
STILL_S = 15.0
"""Seconds between two notes that the model is still being loaded."""
CONTEXT_TOKENS = 8_192
IDLE_S = 15 * 60.0
"""Seconds without a question after which the model's memory is given back."""
START_TIMEOUT_S = 600.0
_POLL_S = 0.03
_END_S = 2.0
_MESSAGE_BYTES = 64_000

_READING = (
    "The model reads the conversation before it begins to answer: on this computer's processor "
    "that can take half a minute and more."
)
_NO_TOOLS = (
    "The model's chat template has no form for tools: its calls are written as JSON {how}, which "
    "small models do poorly."
)
_CHOOSE = "Choose the model's file in the settings of the assistant."


class LocalModel:
    """A GGUF file, or a folder of transformers files, served by a process that the app starts.

    The process starts with the first question. It ends after `idle_s` seconds without a question,
    on `close`, and when the app ends or crashes.

    Args:
        path: The GGUF file, or a folder with config.json and safetensors files.
        context_tokens: Maximum number of tokens in a request and its answer together.
        tool_form: How the model calls tools. "auto" means native calls if its chat template can
            show tools; otherwise JSON enforced by a schema, or (transformers) JSON in the text.
        chat_template: A Jinja template that replaces the model's own; "" to keep the model's own.
        temperature: Sampling temperature; 0 always takes the likeliest token.
        seed: Random seed for sampling; None for a new seed for each answer.
        idle_s: Seconds without a question after which the process ends; None for never.
        output_tokens: Maximum number of tokens in an answer; None for a quarter of the context, but
            at most the default of `ModelInfo`.
    """

    remote_host = ""

    def __init__(
        self,
        path: Path,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        tool_form: ToolForm = "auto",
        chat_template: str = "",
        temperature: float = 0.2,
        seed: int | None = None,
        idle_s: float | None = IDLE_S,
        output_tokens: int | None = None,
    ) -> None:
        self._path = path.absolute()
        title = path.stem if path.suffix.lower() == ".gguf" else path.name
        self.name = f"{title} {LOCAL}"
        self.info = ModelInfo(
            context_tokens=context_tokens,
            output_tokens=output_tokens or min(ModelInfo().output_tokens, context_tokens // 4),
            # Their descriptions take a good part of a small context.
            own_tools=context_tokens >= CONTEXT_TOKENS,
        )
        self._form: ToolForm = tool_form
        self._noted: set[str] = set()
        self._server = LocalServer(
            ServerConfig(
                engine=TRANSFORMERS if self._path.is_dir() else GGUF,
                path=str(self._path),
                name=title,
                key="",
                context_tokens=context_tokens,
                output_tokens=self.info.output_tokens,
                threads=default_threads(),
                chat_template=chat_template,
                temperature=temperature,
                seed=seed,
            ),
            self.name,
            idle_s=idle_s,
        )

    @property
    def pid(self) -> int | None:
        """The id of the model's process, or None if none is running."""
        return self._server.pid

    def in_form(self, form: ToolForm) -> LocalModel:
        """Return the same model, served by the same process, but with another `tool_form`."""
        other = copy(self)
        other._form = form
        return other

    def close(self) -> None:
        """End the model's process, and with it any answer in progress. Idempotent."""
        self._server.close()

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncGenerator[ModelEvent]:
        """Yield the model's answer to the transcript; the first question starts the process.

        Raises:
            ModelFailed: The model cannot be loaded, or its process crashed.
        """
        with self._server.in_use():
            async with aclosing(self._loading_notes()) as waiting:
                async for note in waiting:
                    yield note
            ready = await self._server.ready()
            for note in self._new_notes(ready):
                yield note
            try:
                async with aclosing(self._endpoint(ready, tools).stream(messages, tools)) as events:
                    async for event in events:
                        yield Note(_READING, passing=True) if isinstance(event, Note) else event
            except ModelFailed as error:
                how = await self._server.died()
                if not how:
                    error.subject = self.name
                    raise
                failed = ModelFailed(
                    f"the model's process {how} in the middle of its answer",
                    subject=self.name,
                    remedy="Ask again: it is started anew. If it happens again, close other "
                    "programs or choose a smaller model.",
                )
                failed.retryable = True
                raise failed from error

    async def _loading_notes(self) -> AsyncGenerator[Note]:
        """Start the process and yield notes while it loads."""
        if self._server.pid is None:
            await asyncio.to_thread(self._check)
            yield Note(
                "The model is being loaded on this computer. The first answer can take half a "
                "minute and more.",
                passing=True,
            )
        waiting = asyncio.ensure_future(self._server.ready())
        passed_s = 0.0
        try:
            while not (await asyncio.wait({waiting}, timeout=STILL_S))[0]:
                passed_s += STILL_S
                yield Note(
                    f"The model is still being loaded ({passed_s:.0f} s): {self._server.stage}.",
                    passing=True,
                )
            await waiting
        finally:
            waiting.cancel()

    def _check(self) -> None:
        if not self._path.exists():
            reason = "the model's file is missing"
        elif self._path.is_dir() and not (self._path / "config.json").is_file():
            reason = "the folder contains no transformers model (no config.json)"
        elif self._path.is_dir() and not any(self._path.glob("*.safetensors")):
            # Other weights are pickles, which run code when they are read.
            reason = "the folder contains no safetensors weights; other formats are not read"
        else:
            return
        raise ModelFailed(reason, subject=str(self._path), remedy=_CHOOSE)

    def _new_notes(self, ready: Serving) -> list[Note]:
        """Return notes about the model as it runs now that the user has not been given yet."""
        wanted = self.info.context_tokens
        notes = [Note(text) for text in ready.notes]
        if ready.context_tokens < wanted:
            # The next request is cut to this size; the first may be refused as too long.
            self.info = replace(
                self.info,
                context_tokens=ready.context_tokens,
                output_tokens=min(self.info.output_tokens, ready.context_tokens // 4),
            )
            notes.append(
                Note(f"The model knows {ready.context_tokens} tokens at a time, not {wanted}.")
            )
        if self._form == "auto" and not ready.tools:
            how = "that a schema enforces" if ready.constrained else "in its text"
            notes.append(Note(_NO_TOOLS.format(how=how)))
        if self._form == "json_schema" and not ready.constrained:
            notes.append(Note("Schemas are not enforced here: calls are read from the text."))
        news = [note for note in notes if note.text not in self._noted]
        self._noted.update(note.text for note in news)
        return news

    def _form_for(self, ready: Serving, tools: Sequence[ToolSchema]) -> ToolForm:
        if self._form == "native" or (self._form == "auto" and ready.tools):
            return "native"
        # Without tools there is nothing to enforce.
        constrained = ready.constrained and self._form != "text" and tools
        return "json_schema" if constrained else "text"

    def _endpoint(self, ready: Serving, tools: Sequence[ToolSchema]) -> OpenAIModel:
        return OpenAIModel(
            ready.url,
            self.name,
            ready.key,
            info=self.info,
            tool_form=self._form_for(ready, tools),
            # Models write calls in the form they were trained on, whatever the server knows.
            text_calls=True,
            bounds=Bounds(first_s=FIRST_TIMEOUT_S),
        )


# -- its process ------------------------------------------------------------------------------


class LocalServer:
    """The process of one model: started on demand, restarted after a crash, and ended when idle.

    Thread-safe. `config` has the model's settings; each start replaces the API key in it by a new
    one. `title` names the model in messages to the user.
    """

    def __init__(
        self,
        config: ServerConfig,
        title: str,
        *,
        idle_s: float | None = IDLE_S,
        start_timeout_s: float = START_TIMEOUT_S,
    ) -> None:
        self._config = config
        self._title = title
        self._idle_s = idle_s
        self._start_timeout_s = start_timeout_s
        self._lock = threading.Lock()
        self._child: _ServerProcess | None = None
        self._users = 0
        self._timer: threading.Timer | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the process, or None if none is running."""
        with self._lock:
            return self._child.pid if self._child and self._child.alive else None

    @property
    def stage(self) -> str:
        """A description of the current loading step; "" once the model is being served."""
        child = self._child
        return child.stage if child else ""

    async def ready(self) -> Serving:
        """Start the process unless it is running, wait until it is ready, and return its `Serving`.

        Cancelling ends only the wait: the model continues to load for the next question.

        Raises:
            ModelFailed: The process cannot be started, or the model cannot be loaded.
        """
        child = self._running()
        while True:
            try:
                ready = child.poll()
            except ModelFailed:
                self._drop(child)
                raise
            if ready is not None:
                return ready
            if time.monotonic() - child.started > self._start_timeout_s:
                self._drop(child)
                raise ModelFailed(
                    f"the model was not loaded within {self._start_timeout_s:g} s",
                    subject=self._title,
                    remedy="Choose a smaller model in the settings, or one on a faster disk.",
                )
            await asyncio.sleep(_POLL_S)

    async def died(self, within_s: float = 0.5) -> str:
        """Return how the process ended; "" if it is still running after `within_s` seconds."""
        child = self._child
        if child is None:
            return "was ended"
        deadline = time.monotonic() + within_s
        while child.alive:
            if time.monotonic() > deadline:
                return ""
            await asyncio.sleep(_POLL_S)
        return death_reason(child.exitcode)

    @contextmanager
    def in_use(self) -> Generator[None]:
        """Keep the process from being ended as idle while the body of the `with` statement runs."""
        with self._lock:
            self._users += 1
            self._stop_timer()
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users and self._idle_s is not None and not self._closed:
                    self._timer = threading.Timer(self._idle_s, self._end_idle)
                    self._timer.daemon = True
                    self._timer.start()

    def close(self) -> None:
        """End the process for good. Idempotent."""
        with self._lock:
            self._closed = True
            self._stop_timer()
            child, self._child = self._child, None
        if child is not None:
            child.end()

    def _running(self) -> _ServerProcess:
        with self._lock:
            if self._closed:
                raise ModelFailed(
                    "the local model was closed", subject=self._title, remedy="Ask again."
                )
            if self._child is not None and not self._child.alive:
                self._child.end()
                self._child = None
            if self._child is None:
                config = replace(self._config, key=secrets.token_urlsafe(32))
                try:
                    self._child = _ServerProcess(config, self._title)
                except OSError as error:
                    raise ModelFailed(
                        f"the model's process could not be started ({error.strerror})",
                        subject=self._title,
                        remedy="Close other programs and ask again.",
                    ) from error
            return self._child

    def _drop(self, child: _ServerProcess) -> None:
        with self._lock:
            if self._child is child:
                self._child = None
        child.end()

    def _end_idle(self) -> None:
        with self._lock:
            if self._users:
                return
            child, self._child = self._child, None
        if child is not None:
            _log.info("local model: ended after %g s without a question", self._idle_s)
            child.end()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _ServerProcess:
    """A started process with its pipe, and the last messages that came through it."""

    def __init__(self, config: ServerConfig, title: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._title = title
        self._key = config.key
        self._pipe: Connection
        self._pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(
            target=run,
            args=(theirs, config),
            name="sightline-language-model",
            daemon=True,
        )
        self._lock = threading.Lock()
        self._ready: Serving | None = None
        self.stage = ""
        self.started = time.monotonic()
        try:
            self._process.start()
        except OSError:
            self._pipe.close()
            raise
        finally:
            # Without our copy of its end, the pipe reports the process's death.
            theirs.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid

    @property
    def alive(self) -> bool:
        with self._lock:
            return self._process.is_alive()

    @property
    def exitcode(self) -> int | None:
        with self._lock:
            return self._process.exitcode

    def poll(self) -> Serving | None:
        """Return the server once it is ready, None before; raise ModelFailed if it has ended."""
        with self._lock:
            if self._ready is not None:
                return self._ready
            if self._pipe.closed:
                raise self._process_ended("was ended")
            try:
                while self._ready is None and self._pipe.poll():
                    self._take(json.loads(self._pipe.recv_bytes(_MESSAGE_BYTES)))
            except (EOFError, OSError, ValueError, KeyError):
                self._process.join(_END_S)
                raise self._process_ended(death_reason(self._process.exitcode)) from None
            return self._ready

    def _take(self, message: dict[str, Any]) -> None:
        match message["kind"]:
            case "stage":
                self.stage = str(message["text"])
            case "ready":
                self.stage = ""
                ready = Serving(**message["serving"])
                self._ready = replace(ready, notes=tuple(ready.notes), key=self._key)
            case _:
                raise self._load_failure(message)

    def _load_failure(self, message: dict[str, Any]) -> ModelFailed:
        reason, remedy = str(message["reason"]), str(message["remedy"])
        detail = str(message.get("detail", ""))
        if package := str(message.get("package", "")):
            missing = missing_package("A model on this computer", package)
            reason, remedy = missing.reason, missing.remedy
        _log.info("local model: not loaded\n%s", detail)
        return ModelFailed(reason, subject=self._title, remedy=remedy, detail=detail)

    def _process_ended(self, how: str) -> ModelFailed:
        return ModelFailed(
            f"the model's process {how} while it loaded the model",
            subject=self._title,
            remedy="Close other programs, or choose a smaller model in the settings; then ask "
            "again.",
        )

    def end(self) -> None:
        """Kill it: it holds nothing that must be saved."""
        with self._lock:
            if self._pipe.closed:
                return
            with suppress(OSError):
                self._process.kill()
            # Refused while it is asleep in a driver: then it is left to the system.
            self._process.join(_END_S)
            self._pipe.close()
