"""Models behind chat completions: OpenAI, Azure, vLLM, Ollama, LM Studio, llama.cpp."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

from app.agent.llm.answer_assembly import ChatAssembly, TextFilter
from app.agent.llm.base import ModelInfo, ToolSchema, check_resend
from app.agent.llm.endpoint import Bounds, host_of
from app.agent.llm.hosted_model import MEDIA_TYPE, HostedModel, encoded, missing
from app.agent.llm.schema_calls import (
    ANSWER_INSTRUCTION,
    SchemaReader,
    as_plain,
    instruction,
    response_format,
    rests_on_results,
)
from app.agent.llm.text_calls import TextCalls, quoted_data
from app.agent.messages import Message
from app.settings import OPENAI_URL, ToolForm

_SHAPE = "response_format"
_AZURE_PATH = re.compile(r"/openai(/.*)?$")


class OpenAIModel(HostedModel):
    """A model behind a chat-completions endpoint.

    Args:
        base_url: For example "http://127.0.0.1:11434/v1"; "" for OpenAI's own address.
        model: The model's name at the endpoint; for Azure, the deployment name.
        key: The API key, or None if the endpoint requires none.
        info: Context size, abilities and prices of the model.
        tool_form: How the model calls tools: "native" by the endpoint's own means; "json_schema" as
            JSON that the endpoint enforces; "text" as JSON at the end of its text; "auto" means
            "native".
        text_calls: Whether tool calls that the model writes into its text count as well, as some
            local models do; None means True unless `tool_form` is "native".
        bounds: Limits on the time and size of an answer.
        api_version: The Azure API version; "" for all other endpoints.

    Raises:
        UsageError: `base_url` is not an http(s) address.
    """

    package = "openai"
    errors = "OpenAIError"

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None = None,
        *,
        info: ModelInfo | None = None,
        tool_form: ToolForm = "native",
        text_calls: bool | None = None,
        bounds: Bounds | None = None,
        api_version: str = "",
    ) -> None:
        super().__init__(
            base_url.strip() or OPENAI_URL, model, key, info or ModelInfo(), bounds or Bounds()
        )
        self._api_version = api_version.strip()
        self._form: ToolForm = "native" if tool_form == "auto" else tool_form
        self._text_calls = tool_form != "native" if text_calls is None else text_calls
        self._counts = True
        """Whether the endpoint accepts `stream_options`, as far as is known."""
        # Other servers refuse a schema beside tools (llama.cpp), or call none then (vLLM).
        own = host_of(self._base_url) == host_of(OPENAI_URL)
        self._shapes_answers = self._form == "native" and (own or bool(self._api_version))
        """Whether a schema for answers is sent beside the tools, until a model refuses it."""

    def _answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> ChatAssembly:
        return ChatAssembly(self._at, self._bounds, self._filter(messages, tools))

    async def _opened(self, packages: Any, client: Any, request: dict[str, Any]) -> Any:
        """Return the stream of the answer once the endpoint begins to answer."""
        while True:
            if not self._counts:
                request.pop("stream_options", None)
            try:
                return await client.chat.completions.create(**request)
            except packages[0].APIStatusError as error:
                text = _response_text(error)
                if error.status_code == 400 and self._shapes_answers and _SHAPE in text:
                    # A model from before structured outputs.
                    self._shapes_answers = False
                    request.pop(_SHAPE, None)
                    _withdraw(request["messages"])
                elif error.status_code in (400, 422) and "stream_options" in request:
                    if "stream_options" not in text and "include_usage" not in text:
                        raise
                    self._counts = False
                elif error.status_code == 503 and "loading model" in text:
                    # llama.cpp's server while it loads; `bounded_stream` limits the wait.
                    await asyncio.sleep(self._bounds.poll_s)
                else:
                    raise
            check_resend()

    def _client(self, packages: Any) -> Any:
        package, transport = packages
        key, azure = self._at.secret, self._api_version
        settings: dict[str, Any] = {
            # Never None: the package would take OPENAI_API_KEY and send it to any endpoint.
            "api_key": key or "none",
            "max_retries": 0,  # app.agent.loop.retry repeats, in one place and visibly
            "http_client": transport.make_client(
                self._at,
                self._bounds,
                key_header="api-key" if azure else "authorization",
                key=key if azure or not key else f"Bearer {key}",
            ),
        }
        if azure:
            # People paste the address with or without its path.
            endpoint = _AZURE_PATH.sub("", self._base_url.split("?", 1)[0].rstrip("/"))
            settings |= {"azure_endpoint": endpoint, "api_version": azure}
            return package.AsyncAzureOpenAI(**settings)
        return package.AsyncOpenAI(base_url=self._base_url, **settings)

    def _filter(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema]
    ) -> TextFilter | None:
        if self._form == "json_schema":
            return SchemaReader(tools, quoted_data(messages))
        if self._shapes_answers and rests_on_results(messages):
            return SchemaReader((), quoted_data(messages))
        return TextCalls(tools, quoted_data(messages)) if self._text_calls and tools else None

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self._at.model,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        claims = rests_on_results(messages)
        if self._form in ("json_schema", "text"):
            form = "json_schema" if self._form == "json_schema" else "text"
            told = instruction(tools, form, claims=claims)
            messages = _instructed(as_plain(messages, form), told)
        elif tools:
            request["tools"] = [_wire_tool(tool) for tool in tools]
        if self._form == "json_schema":
            request["response_format"] = response_format(tools, claims=claims)
        elif self._shapes_answers and claims:
            request[_SHAPE] = response_format((), claims=True)
            messages = _instructed(messages, ANSWER_INSTRUCTION)
        request["messages"] = [wire_message(item, images=self.info.images) for item in messages]
        return request


def _response_text(error: Any) -> str:
    try:
        return str(error.response.text).lower()
    except (RuntimeError, LookupError):  # not read, or in an unknown encoding
        return ""


def _withdraw(messages: list[dict[str, Any]]) -> None:
    """Take the instruction for a schema out of the request's system message."""
    head = messages[0]
    head["content"] = head["content"].removesuffix(ANSWER_INSTRUCTION).rstrip()
    if not head["content"]:
        del messages[0]


def _instructed(messages: Sequence[Message], text: str) -> list[Message]:
    """Return the transcript with an instruction added to its system message."""
    if not text:
        return list(messages)
    if messages and messages[0].role == "system":
        head = messages[0]
        joined = head.model_copy(update={"text": f"{head.text}\n\n{text}".strip()})
        return [joined, *messages[1:]]
    return [Message(role="system", text=text), *messages]


def wire_message(message: Message, *, images: bool = False) -> dict[str, Any]:
    """Return a message in the form that the endpoint expects.

    Unless the model accepts `images`, a note with the caption replaces each picture.
    """
    wire: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.pictures:
        wire["content"] = _with_pictures(message, images)
    if message.role == "tool":
        wire["tool_call_id"] = message.call_id
    if message.tool_calls:
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": wire_name(call.name), "arguments": json.dumps(call.arguments)},
            }
            for call in message.tool_calls
        ]
    return wire


def wire_name(name: str) -> str:
    """Return a tool's name with characters that endpoints refuse replaced, cut to 64 characters."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unknown"


def _with_pictures(message: Message, images: bool) -> str | list[dict[str, Any]]:
    if not images:
        notes = [missing(picture, sees=False) for picture in message.pictures]
        return "\n\n".join([message.text, *notes])
    parts: list[dict[str, Any]] = [{"type": "text", "text": message.text}]
    for picture in message.pictures:
        data = encoded(picture)
        text = picture.caption if data else missing(picture, sees=True)
        parts.append({"type": "text", "text": text})
        if data:
            url = f"data:{MEDIA_TYPE};base64,{data}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts


def _wire_tool(tool: ToolSchema) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }
    return {"type": "function", "function": function}
