"""A language model file on this machine behind the interface of all language models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from app.agent.llm.base import ModelEvent, ModelFailed, ModelInfo, Note, ToolSchema
from app.agent.llm.local.server import IDLE_S, LocalServer, Ready
from app.agent.llm.local.server_main import ServerConfig
from app.agent.llm.openai_model import OpenAIModel
from app.agent.messages import Message
from app.settings import ToolForm
from app.tools.hosting.host import default_threads

GGUF = "app.agent.llm.local.gguf_main:serve"
TRANSFORMERS = "app.agent.llm.local.transformers_main:serve"
FIRST_TIMEOUT_S = 900.0
"""A processor reads a long question for minutes before the first word."""
STILL_S = 15.0
CONTEXT_TOKENS = 8_192

_READING = (
    "The model reads the conversation before it begins to answer: on this computer's processor "
    "that can take half a minute and more."
)
_NO_TOOLS = (
    "The model's chat template has no form for tools: its calls are written as JSON {how}, which "
    "small models do badly."
)
_CHOOSE = "Choose the model's file in the settings of the assistant."


class LocalModel:
    """A GGUF file, or a folder of transformers files, served by a process of the app's own.

    Nothing runs before the first question. The process ends when nothing is asked for `idle_s`,
    with `close`, and with the app, however that ends.

    Args:
        path: The GGUF file; or a folder with config.json and safetensors.
        name: What it is called; "" for the file's name.
        context_tokens: The most tokens of a request and its answer together.
        tool_form: How it calls tools; "auto" is native where its chat template can show tools,
            else JSON that a schema enforces, or JSON in the text (transformers).
        chat_template: A Jinja template instead of the file's own.
        temperature: How freely it chooses its words; 0 always takes the likeliest.
        seed: Of its choices; None for a new one at each answer.
        idle_s: See above; None for ever.
        output_tokens: The longest answer; None for a quarter of the context, at most 4,096.
    """

    remote_host = ""

    def __init__(
        self,
        path: Path,
        *,
        name: str = "",
        context_tokens: int = CONTEXT_TOKENS,
        tool_form: ToolForm = "auto",
        chat_template: str = "",
        temperature: float = 0.2,
        seed: int | None = None,
        idle_s: float | None = IDLE_S,
        output_tokens: int | None = None,
    ) -> None:
        self._path = path.absolute()
        title = name or (path.stem if path.suffix.lower() == ".gguf" else path.name)
        self.name = f"{title} (this computer)"
        self.info = ModelInfo(
            context_tokens=context_tokens,
            output_tokens=output_tokens or min(ModelInfo().output_tokens, context_tokens // 4),
            # Their descriptions take a good part of a small context.
            own_tools=context_tokens >= CONTEXT_TOKENS,
        )
        self._form: ToolForm = tool_form
        self._told: set[str] = set()
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
        """The id of its process, None when none runs."""
        return self._server.pid

    def close(self) -> None:
        """End its process, and with it an answer that is under way. Idempotent."""
        self._server.close()

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> AsyncGenerator[ModelEvent]:
        """Answer the transcript; the first question starts the process.

        Raises:
            ModelFailed: The model cannot be loaded, or its process crashed.
        """
        with self._server.in_use():
            async with aclosing(self._started()) as waiting:
                async for note in waiting:
                    yield note
            ready = await self._server.ready()
            for note in self._news(ready):
                yield note
            try:
                async with aclosing(self._asked(ready, tools).stream(messages, tools)) as events:
                    async for event in events:
                        yield Note(_READING, passing=True) if isinstance(event, Note) else event
            except ModelFailed as error:
                raise await self._told_apart(error) from error

    async def _started(self) -> AsyncGenerator[Note]:
        """Start the process and say so while it loads."""
        if self._server.pid is None:
            await asyncio.to_thread(self._check)
            yield Note(
                "The model is being loaded on this computer. The first answer can take half a "
                "minute and more.",
                passing=True,
            )
        waiting = asyncio.ensure_future(self._server.ready())
        waited = 0.0
        try:
            while not (await asyncio.wait({waiting}, timeout=STILL_S))[0]:
                waited += STILL_S
                yield Note(
                    f"The model is still being loaded ({waited:.0f} s): {self._server.stage}.",
                    passing=True,
                )
            await waiting
        finally:
            waiting.cancel()

    def _check(self) -> None:
        """Say what is wrong with the path before a process is started.

        Raises:
            ModelFailed: There is no such file or folder, or it is none of a model.
        """
        if not self._path.exists():
            reason = "the model's file is not there"
        elif self._path.is_dir() and not (self._path / "config.json").is_file():
            reason = "the folder holds no transformers model (no config.json)"
        elif self._path.is_dir() and not any(self._path.glob("*.safetensors")):
            # Other weights are pickles, which run code when they are read.
            reason = "the folder holds no weights as safetensors; other kinds are not read"
        else:
            return
        raise ModelFailed(reason, subject=str(self._path), remedy=_CHOOSE)

    def _news(self, ready: Ready) -> list[Note]:
        """What the user should know of the model as it runs now, and was not told yet."""
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
        news = [note for note in notes if note.text not in self._told]
        self._told.update(note.text for note in news)
        return news

    def _form_for(self, ready: Ready, tools: Sequence[ToolSchema]) -> ToolForm:
        if self._form == "native" or (self._form == "auto" and ready.tools):
            return "native"
        # Without tools there is nothing to enforce.
        constrained = ready.constrained and self._form != "text" and tools
        return "json_schema" if constrained else "text"

    def _asked(self, ready: Ready, tools: Sequence[ToolSchema]) -> OpenAIModel:
        return OpenAIModel(
            ready.url,
            self.name,
            ready.key,
            info=self.info,
            tool_form=self._form_for(ready, tools),
            # Models write calls in the form they were trained on, whatever the server knows.
            text_calls=True,
            first_timeout_s=FIRST_TIMEOUT_S,
        )

    async def _told_apart(self, error: ModelFailed) -> ModelFailed:
        """The error of a request, or that the process is gone."""
        how = await self._server.died()
        if how:
            failed = ModelFailed(
                f"the model's process {how} in the middle of its answer",
                subject=self.name,
                remedy="Ask again: it is started anew. If it happens again, close other programs "
                "or choose a smaller model.",
            )
            failed.retryable = True
            return failed
        failed = ModelFailed(
            error.reason, subject=self.name, remedy=error.remedy, detail=error.detail
        )
        failed.retryable, failed.retry_after_s = error.retryable, error.retry_after_s
        return failed
