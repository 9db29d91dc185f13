"""Serves a folder of transformers files by HTTP. Runs only in the model's own process.

Only safetensors are read and no code from the folder runs. This server cannot force an answer to
conform to a schema: calls come in the form of the chat template, or as JSON in the text, and the
app finds them there.
"""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

import jinja2
import safetensors
import torch
import transformers

from app.agent.llm.local.chat_template import BROKEN, CALLED, CHATML, HELLO, MISSING, TOOL
from app.agent.llm.local.server_main import (
    OUT_OF_MEMORY,
    EngineFailed,
    ServerConfig,
    Serving,
    Stage,
)

_LOCAL_ONLY: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_LOAD_ERRORS = (
    safetensors.SafetensorError,
    OSError,
    ValueError,
    KeyError,
    RuntimeError,
    ImportError,
)
_PURPOSE: str = TOOL["function"]["description"]
_TEMPLATE_ERRORS = (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError)


def serve(config: ServerConfig, stage: Stage) -> Serving:
    """Load the model folder and serve it on a free port of 127.0.0.1, or raise EngineFailed.

    `stage` is called with a description of each loading step.
    """
    torch.set_num_threads(config.threads)
    size = sum(file.stat().st_size for file in Path(config.path).glob("*.safetensors"))
    stage(f"{size / 1e9:.1f} GB are being read")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(config.path, **_LOCAL_ONLY)
        weights = transformers.AutoModelForCausalLM.from_pretrained(
            config.path, use_safetensors=True, dtype="auto", **_LOCAL_ONLY
        )
        model = _on_device(weights)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise EngineFailed(*OUT_OF_MEMORY, detail=type(error).__name__) from error
    except _LOAD_ERRORS as error:
        raise _load_failure(error) from error
    notes = _set_template(tokenizer, config.chat_template)
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    context = min(config.context_tokens, int(positions or config.context_tokens))
    server = ChatServer(config.name, config.key, _Answerer(model, tokenizer, config, context))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return Serving(
        url=server.url,
        context_tokens=context,
        tools=_shows_tools(tokenizer),
        constrained=False,
        notes=tuple(notes),
        keep=server,
    )


def _on_device(model: Any) -> Any:
    """Return the model on the accelerator, if there is one that holds it."""
    model.eval()
    if torch.cuda.is_available():
        try:
            return model.to("cuda")
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            return model.to("cpu")
    if torch.backends.mps.is_available():
        return model.to("mps")
    # Processors compute slowly in 16-bit floats, or not at all.
    return model.float() if model.dtype == torch.float16 else model


def _load_failure(error: Exception) -> EngineFailed:
    said = str(error)
    if "trust_remote_code" in said or "custom code" in said:
        return EngineFailed(
            "this model needs program code from its own folder, which is never run here",
            "Choose another model in the settings.",
            said,
        )
    if "model type" in said or "does not recognize this architecture" in said:
        return EngineFailed(
            "this kind of model is not known to the version of transformers that is installed",
            "Choose another model in the settings, or update Sightline.",
            said,
        )
    return EngineFailed(
        "its files are damaged or incomplete",
        "Download the folder again, with its tokenizer and safetensors, or choose another model.",
        f"{type(error).__name__}: {said}",
    )


def _set_template(tokenizer: Any, wanted: str) -> list[str]:
    """Give the tokenizer a chat template that works; return notes for the user."""
    if wanted:
        tokenizer.chat_template = wanted
    if not tokenizer.chat_template:
        tokenizer.chat_template = CHATML
        return [MISSING]
    if _render(tokenizer, HELLO) is None:
        tokenizer.chat_template = CHATML
        return [BROKEN]
    return []


def _shows_tools(tokenizer: Any) -> bool:
    shown = _render(tokenizer, _with_parsed_arguments(CALLED), [TOOL])
    return shown is not None and "look" in shown and "seen" in shown and _PURPOSE in shown


def _render(tokenizer: Any, messages: list[dict[str, Any]], tools: Any = None) -> str | None:
    try:
        text = tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, tokenize=False
        )
    except _TEMPLATE_ERRORS:
        return None
    return str(text)


def _with_parsed_arguments(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages with the arguments of calls as objects, as templates expect them."""
    made: list[dict[str, Any]] = []
    for message in messages:
        copy = {**message, "content": message.get("content") or ""}
        calls = [
            {**call, "function": {**call["function"], "arguments": _arguments(call)}}
            for call in message.get("tool_calls") or ()
        ]
        if calls:
            copy["tool_calls"] = calls
        made.append(copy)
    return made


def _arguments(call: Mapping[str, Any]) -> Any:
    arguments = call["function"].get("arguments")
    return json.loads(arguments) if isinstance(arguments, str) else arguments


class _Stopping(transformers.StoppingCriteria):
    def __init__(self, stop: threading.Event) -> None:
        self._stop = stop

    def __call__(self, input_ids: Any, scores: Any, **_more: Any) -> Any:
        shape, device = (input_ids.shape[0],), input_ids.device
        return torch.full(shape, self._stop.is_set(), dtype=torch.bool, device=device)


class _Answerer:
    """Makes answers with the model."""

    def __init__(self, model: Any, tokenizer: Any, config: ServerConfig, context: int) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._config = config
        self._context = context

    def answer(
        self, request: Mapping[str, Any], stop: threading.Event
    ) -> Iterator[str | AnswerEnd]:
        """Yield an answer's pieces and end, early on `stop`; raise RequestRefused beforehand."""
        inputs = self._inputs(request)
        given = int(inputs["input_ids"].shape[1])
        longest = min(self._context - given, self._config.output_tokens)
        if longest < 1:
            raise RequestRefused(
                f"the request has {given} tokens, which exceeds the context of {self._context}"
            )
        streamer = transformers.TextIteratorStreamer(
            self._tokenizer, skip_prompt=True, skip_special_tokens=True
        )
        heat = self._config.temperature
        arguments = {
            **inputs,
            **({"do_sample": True, "temperature": heat} if heat > 0 else {"do_sample": False}),
            "max_new_tokens": longest,
            "streamer": streamer,
            "stopping_criteria": transformers.StoppingCriteriaList([_Stopping(stop)]),
        }
        outcome: dict[str, Any] = {}
        worker = threading.Thread(target=self._generate, args=(arguments, outcome), daemon=True)
        worker.start()
        try:
            for text in streamer:
                if text:
                    yield text
        finally:
            stop.set()
            worker.join()
        if "error" in outcome:
            raise outcome["error"]
        made = int(outcome["ids"].shape[1]) - given
        yield AnswerEnd("length" if made >= longest else "stop", given, made)

    def _inputs(self, request: Mapping[str, Any]) -> Any:
        try:
            inputs = self._tokenizer.apply_chat_template(
                _with_parsed_arguments(request["messages"]),
                tools=request.get("tools") or None,
                add_generation_prompt=True,
                return_dict=True,
                return_tensors="pt",
            )
        except _TEMPLATE_ERRORS as error:
            reason = f"the model's chat template refuses the conversation ({error})"
            raise RequestRefused(reason) from error
        return inputs.to(self._model.device)

    def _generate(self, arguments: dict[str, Any], outcome: dict[str, Any]) -> None:
        if self._config.seed is not None:
            torch.manual_seed(self._config.seed)
        try:
            with torch.inference_mode():
                outcome["ids"] = self._model.generate(**arguments)
        except Exception as error:
            outcome["error"] = error
            arguments["streamer"].end()  # or the loop over it would never end


# -- the server -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AnswerEnd:
    """The end of an answer: the reason why it ended, and the tokens of request and answer."""

    finish: Literal["stop", "length"]
    input_tokens: int
    output_tokens: int


class RequestRefused(Exception):
    """A request that cannot be answered; its text says why."""


class ChatServer(ThreadingHTTPServer):
    """Streams chat completions on a free port of 127.0.0.1.

    One answer is made at a time; other requests wait.
    """

    daemon_threads = True

    def __init__(self, name: str, key: str, answerer: _Answerer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = name
        self.key = key
        self.answerer = answerer
        self.one_at_a_time = threading.Lock()

    @property
    def url(self) -> str:
        """The address, with "/v1" at the end."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about a lost connection: the output could contain the user's question."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's name)
        """Log nothing: requests hold what was asked."""

    def do_POST(self) -> None:
        given = self.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {self.server.key}".encode()):
            self._error(401, "the key is wrong")
            return
        # Only the app knows the key, and it asks for nothing but streamed chat completions.
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.one_at_a_time:
            self._stream(request)

    def _stream(self, request: dict[str, Any]) -> None:
        stop = threading.Event()
        started = False
        try:
            for piece in self.server.answerer.answer(request, stop):
                if not started:
                    started = True
                    self._head(200, "text/event-stream")
                self._send(piece)
            self._line("[DONE]")
        except RequestRefused as error:
            self._error(400, str(error))
        except OSError:
            pass  # the app has closed the connection
        except Exception as error:
            # In the middle of an answer, the app notices the missing end.
            if not started:
                self._error(500, f"the model failed ({type(error).__name__})")
        finally:
            stop.set()

    def _send(self, piece: str | AnswerEnd) -> None:
        choice: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": None}
        chunk: dict[str, Any] = {
            "id": "chatcmpl-local",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": self.server.model,
            "choices": [choice],
        }
        if isinstance(piece, AnswerEnd):
            choice["finish_reason"] = piece.finish
            chunk["usage"] = {
                "prompt_tokens": piece.input_tokens,
                "completion_tokens": piece.output_tokens,
                "total_tokens": piece.input_tokens + piece.output_tokens,
            }
        else:
            choice["delta"] = {"role": "assistant", "content": piece}
        self._line(json.dumps(chunk))

    def _line(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
        self.wfile.flush()

    def _error(self, status: int, message: str) -> None:
        with suppress(OSError):
            self._head(status, "application/json")
            body = {"error": {"message": message, "code": status}}
            self.wfile.write(json.dumps(body).encode())

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        # The end of the connection is the end of the answer.
        self.send_header("Connection", "close")
        self.end_headers()
