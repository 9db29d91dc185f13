"""A chat-completions endpoint on the loopback interface, with the faults of real ones."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Reply = dict[str, Any]


def text_reply(text: str) -> Reply:
    """Return a text reply, streamed word by word."""
    return {"text": text, "calls": []}


def call_reply(name: str, arguments: dict[str, Any] | str, call_id: str = "call_1") -> Reply:
    """Return a reply with a tool call; `arguments` given as text are sent unchanged."""
    return {"text": "", "calls": [(call_id, name, arguments)]}


def delta_reply(*deltas: dict[str, Any], finish: str = "stop") -> Reply:
    """Return a reply of unchanged deltas without usage, for the quirks of particular servers."""
    return {"deltas": deltas, "finish": finish}


class OpenAIServer:
    """Serves scripted replies.

    Args:
        replies: One a request; then "hello there".
        mode: "normal", or the fault of every request: "broken_json" (a data line that is not
            JSON), "cut" (the connection closes in the middle), "no_finish" (a clean end without
            finish_reason), "html", "error_event", "401", "404", "429", "500", "redirect", "stall"
            (headers and one word, then silence until the test ends), "silent" (no headers), "slow"
            (each byte flushed on its own), "empty", "no_counts" and "no_tools" (refuse those).
        models: What the list of models holds; None where there is no such list.
        answer: Makes the reply to a request, instead of `replies`.
        refuse: Makes the error that a request is refused with (HTTP 400), or None to answer it.
    """

    def __init__(
        self,
        replies: Sequence[Reply] = (),
        mode: str = "normal",
        *,
        models: Sequence[str] | None = ("test-model",),
        answer: Callable[[dict[str, Any]], Reply] | None = None,
        refuse: Callable[[dict[str, Any]], dict[str, Any] | None] | None = None,
    ) -> None:
        self.replies = list(replies)
        self.mode = mode
        self.models = models
        self.answer = answer
        self.refuse = refuse
        self.paths: list[str] = []
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.stalled = threading.Event()
        self.release = threading.Event()
        outer = self

        class Handler(_Handler):
            server_state = outer

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(60)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: OpenAIServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Write no log."""

    def do_GET(self) -> None:
        state = self.server_state
        state.paths.append(self.path)
        path = self.path.split("?")[0]
        if state.mode.isdigit():
            self._error(int(state.mode))
        elif state.models is None or path not in ("/v1/models", "/openai/models"):
            self._error(404)
        else:
            listed = [{"id": name, "object": "model"} for name in state.models]
            self._whole(200, json.dumps({"data": listed}).encode(), "application/json")

    def do_POST(self) -> None:
        state = self.server_state
        state.paths.append(self.path)
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        state.bodies.append(body)
        state.requests.append(json.loads(body))
        state.headers.append({name.lower(): text for name, text in self.headers.items()})
        try:
            self._answer(state)
        except (BrokenPipeError, ConnectionResetError):
            return

    def _answer(self, state: OpenAIServer) -> None:
        mode = state.mode
        refused = state.refuse(state.requests[-1]) if state.refuse else None
        if refused is not None:
            self._whole(400, json.dumps({"error": refused}).encode(), "application/json")
        elif mode.isdigit():
            self._error(int(mode))
        elif mode == "redirect":
            self.send_response(307)
            self.send_header("location", "http://127.0.0.1:9/v1/chat/completions")
            self.send_header("content-length", "0")
            self.end_headers()
        elif mode == "no_counts" and "stream_options" in state.requests[-1]:
            self._error(400, "Unrecognized request argument: stream_options")
        elif mode == "no_tools" and "tools" in state.requests[-1]:
            self._error(400, "the model does not support tools")
        elif not self.path.startswith(("/v1/", "/openai/deployments/")):
            self._error(404)
        elif mode == "silent":
            self._stall(state)
        elif mode == "html":
            self._whole(200, b"<html><body>Welcome</body></html>", "text/html")
        else:
            self._stream(state, mode)

    def _stream(self, state: OpenAIServer, mode: str) -> None:
        if state.answer is not None:
            reply = state.answer(state.requests[-1])
        else:
            reply = state.replies.pop(0) if state.replies else text_reply("hello there")
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in _chunks(reply, mode)]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        if mode == "empty":
            lines = []
        if mode == "broken_json":
            lines.insert(1, 'data: {"choices": [{"delta": {"content": "bro\n\n')
        if mode == "error_event":
            lines.insert(1, 'data: {"error": {"message": "model crashed"}}\n\n')
        for index, line in enumerate(lines):
            if mode == "cut" and index == 2:
                self.close_connection = True
                self.connection.close()
                return
            if mode == "stall" and index == 2:
                self._stall(state)
                return
            pieces = list(line) if mode == "slow" else [line]
            for piece in pieces:
                self._chunk(piece.encode())
        if mode != "no_finish":
            self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")

    def _stall(self, state: OpenAIServer) -> None:
        state.stalled.set()
        state.release.wait(30)
        self.close_connection = True

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _error(self, status: int, message: str = "") -> None:
        message = message or f"no luck ({status})"
        body = json.dumps({"error": {"message": message, "type": "x"}}).encode()
        self._whole(status, body, "application/json")

    def _whole(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if status == 429:
            self.send_header("retry-after", "7")
            self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)


def _chunks(reply: Reply, mode: str) -> list[dict[str, Any]]:
    if "deltas" in reply:
        return [*(_chunk(delta) for delta in reply["deltas"]), *_last(reply["finish"], {})]
    chunks = [_chunk({"role": "assistant", "content": ""})]
    chunks += [_chunk({"content": f"{word} "}) for word in reply["text"].split()]
    for index, (call_id, name, arguments) in enumerate(reply["calls"]):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {
            "index": index,
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": ""},
        }
        chunks.append(_chunk({"tool_calls": [head]}))
        for start in range(0, len(text), 5):
            part = {"index": index, "function": {"arguments": text[start : start + 5]}}
            chunks.append(_chunk({"tool_calls": [part]}))
    if mode != "no_finish":
        counts = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
        chunks += _last("tool_calls" if reply["calls"] else "stop", counts)
    return chunks


def _last(finish: str, counts: dict[str, int]) -> list[dict[str, Any]]:
    usage = [{**_chunk({}), "choices": [], "usage": counts}] if counts else []
    return [_chunk({}, finish), *usage]


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "m",
        "choices": [choice],
    }
