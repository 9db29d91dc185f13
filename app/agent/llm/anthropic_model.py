"""Models behind Anthropic's API, accessed with its package, an optional extra of this program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from app.agent.llm.answer_assembly import Assembly, CallParts, Finish
from app.agent.llm.base import ModelEvent, ModelInfo, Tokens, ToolSchema, check_resend
from app.agent.llm.endpoint import Bounds, host_of
from app.agent.llm.failures import Endpoint
from app.agent.llm.hosted_model import MEDIA_TYPE, HostedModel, encoded, missing
from app.agent.llm.openai_model import wire_name
from app.agent.llm.schema_calls import (
    ANSWER_INSTRUCTION,
    SchemaReader,
    response_format,
    rests_on_results,
)
from app.agent.llm.text_calls import quoted_data
from app.agent.messages import Message
from app.errors import UsageError
from app.settings import ANTHROPIC_URL
from app.tools.needs import how_to_add, is_installed

_SHAPE = ("output_config", "output_format", "structured output")
_INPUT_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class AnthropicModel(HostedModel):
    """A model behind Anthropic's Messages API; "" as `base_url` stands for Anthropic's own address.

    `info.output_tokens` is the maximum number of tokens in an answer.

    Raises:
        UsageError: The package is not installed, or `base_url` is not an http(s) address.
    """

    package = "anthropic"
    errors = "AnthropicError"
    list_options = {"limit": 1000}  # noqa: RUF012

    def __init__(
        self,
        model: str,
        key: str | None,
        *,
        base_url: str = "",
        info: ModelInfo | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        if not is_installed(self.package):
            raise UsageError(
                'Anthropic\'s models need the package "anthropic", which is not installed',
                remedy=f"{how_to_add('anthropic')} Or choose another provider.",
            )
        super().__init__(
            # The package adds "/v1" itself; people paste it with the address.
            re.sub(r"/v1/?$", "", (base_url.strip() or ANTHROPIC_URL).rstrip("/")),
            model,
            key,
            info or ModelInfo(context_tokens=200_000, images=True),
            bounds or Bounds(),
        )
        self._shapes_answers = self._at.host == host_of(ANTHROPIC_URL)
        """Whether a schema for answers is sent: to Anthropic's own server, until a model refuses it
        (other servers refuse it in words of their own)."""

    def _answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Assembly:
        shaped = self._shapes_answers and rests_on_results(messages)
        reader = SchemaReader((), quoted_data(messages)) if shaped else None
        return _MessagesAssembly(self._at, self._bounds, reader)

    async def _opened(self, packages: Any, client: Any, request: dict[str, Any]) -> Any:
        try:
            return await client.messages.create(**request)
        except packages[0].BadRequestError as error:
            told = str(error).lower()
            if "output_config" not in request or not any(word in told for word in _SHAPE):
                raise
        self._shapes_answers = False  # a model from before structured outputs
        del request["output_config"]
        request["system"] = request["system"].removesuffix(ANSWER_INSTRUCTION).rstrip()
        if not request["system"]:
            del request["system"]
        check_resend()
        return await client.messages.create(**request)

    def _client(self, packages: Any) -> Any:
        package, transport = packages
        return package.AsyncAnthropic(
            base_url=self._base_url,
            # Never None: the package would look for a key in the environment and in files.
            api_key=self._at.secret or "none",
            max_retries=0,  # app.agent.loop.retry repeats, in one place and visibly
            open_telemetry=False,
            http_client=transport.make_client(
                self._at, self._bounds, key_header="x-api-key", key=self._at.secret
            ),
        )

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
        system = "\n\n".join(item.text for item in messages if item.role == "system")
        request: dict[str, Any] = {
            "model": self._at.model,
            "stream": True,
            "max_tokens": self.info.output_tokens,
            "messages": wire_messages(messages, images=self.info.images),
        }
        if self._shapes_answers and rests_on_results(messages):
            shape = response_format((), claims=True)["json_schema"]["schema"]
            request["output_config"] = {"format": {"type": "json_schema", "schema": shape}}
            system = f"{system}\n\n{ANSWER_INSTRUCTION}".strip()
        if system.strip():
            request["system"] = system
        if tools:
            request["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                }
                for tool in tools
            ]
        return request


class _MessagesAssembly(Assembly):
    """Assembles the answer of the Messages API; `reader` reads an answer that has a schema."""

    def __init__(self, at: Endpoint, bounds: Bounds, reader: SchemaReader | None) -> None:
        super().__init__(at, bounds)
        self._reader = reader
        self._blocks: dict[int, CallParts] = {}
        self._input_tokens = 0
        self._output_tokens = 0

    def take(self, chunk: Any) -> Iterable[ModelEvent]:
        """Add an event; see `Assembly.take`."""
        match chunk.type:
            case "message_start":
                self.started = True
                self._count(chunk.message.usage)
            case "content_block_start" if chunk.content_block.type == "tool_use":
                block = chunk.content_block
                self._blocks[chunk.index] = self._new_call(str(block.id), str(block.name))
            case "content_block_delta":
                yield from self._delta(chunk.index, chunk.delta)
            case "message_delta":
                if chunk.delta.stop_reason:
                    endings: dict[str, Finish] = {"max_tokens": "length", "refusal": "filter"}
                    self._finish = endings.get(chunk.delta.stop_reason, "complete")
                self._count(chunk.usage)
            case _:  # ends of blocks and of the message, and events of later versions
                return

    def _delta(self, index: int, delta: Any) -> Iterable[ModelEvent]:
        match delta.type:
            case "text_delta":
                for event in self._text(delta.text):
                    yield from self._reader.take(delta.text) if self._reader else [event]
            case "thinking_delta":
                yield from self._reasoning(delta.thinking)
            case "input_json_delta":
                self._spend(len(delta.partial_json))
                if index in self._blocks:  # else a tool that Anthropic runs itself
                    self._blocks[index].arguments += delta.partial_json
            case _:  # signatures and citations
                return

    def _rest(self, complete: bool) -> Iterable[ModelEvent]:
        return self._reader.end(complete) if self._reader else ()

    def _count(self, usage: Any) -> None:
        # Counts are cumulative; tokens read from or written to a cache were sent as well.
        counts = [getattr(usage, name, None) or 0 for name in _INPUT_COUNTS]
        self._input_tokens = sum(counts) or self._input_tokens
        self._output_tokens = getattr(usage, "output_tokens", None) or self._output_tokens
        self._usage = Tokens(self._input_tokens, self._output_tokens)


def wire_messages(messages: Sequence[Message], *, images: bool) -> list[dict[str, Any]]:
    """Return the transcript, without its system message, as the Messages API expects it.

    Tool results become parts of user messages; consecutive messages of the same role are joined.
    Unless the model accepts `images`, a note replaces each picture.
    """
    wire: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, images)
        if wire and wire[-1]["role"] == role:
            wire[-1]["content"] += blocks
        elif blocks:
            wire.append({"role": role, "content": blocks})
    return wire


def _blocks(message: Message, images: bool) -> list[dict[str, Any]]:
    if message.role == "tool":
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": _wire_id(message.call_id),
            "content": message.text or "(nothing)",
            "is_error": not message.ok,
        }
        return [result]
    blocks = _text(message.text)
    for picture in message.pictures:
        data = encoded(picture) if images else ""
        blocks += _text(picture.caption if data else missing(picture, sees=images))
        if data:
            source = {"type": "base64", "media_type": MEDIA_TYPE, "data": data}
            blocks.append({"type": "image", "source": source})
    for call in message.tool_calls:
        blocks.append(
            {
                "type": "tool_use",
                "id": _wire_id(call.id),
                "name": wire_name(call.name),
                "input": call.arguments,
            }
        )
    return blocks


def _text(text: str) -> list[dict[str, Any]]:
    """Return a text block, or none for blank text, which the API refuses."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _wire_id(call_id: str) -> str:
    """Return a call's id with only the characters that the API accepts, for ids of other models."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", call_id) or "call"
