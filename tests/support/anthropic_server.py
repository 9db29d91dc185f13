"""Anthropic's Messages API on the loopback interface, with the documented events.

docs.anthropic.com, "Streaming messages": each event has a name and JSON data with the same `type`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

Event = dict[str, Any]


def start() -> Event:
    """Return the event that begins a message, with the token counts of the request."""
    usage = {"input_tokens": 20, "cache_read_input_tokens": 5, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    return {"type": "message_start", "message": {**message, "usage": usage}}


def text(index: int, *pieces: str) -> list[Event]:
    """Return the events of a text block."""
    deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    return _block(index, {"type": "text", "text": ""}, deltas)


def thinking(index: int, *pieces: str) -> list[Event]:
    """Return the events of a reasoning block with its signature."""
    deltas: list[Event] = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    deltas.append({"type": "signature_delta", "signature": "EqQB"})
    return _block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)


def tool_use(index: int, name: str, arguments: str, call_id: str) -> list[Event]:
    """Return the events of a tool call, its arguments in pieces of five characters."""
    pieces = [arguments[at : at + 5] for at in range(0, len(arguments), 5)]
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces]]
    return _block(index, {"type": "tool_use", "id": call_id, "name": name, "input": {}}, deltas)


def stop(reason: str = "end_turn") -> list[Event]:
    """Return the events that end a message."""
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def _block(index: int, block: Event, deltas: Sequence[Event]) -> list[Event]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


class AnthropicServer:
    """Serves scripted messages, one for each request; then errors, if any are given.

    Args:
        replies: The events of each answer.
        error: (HTTP status, type, message) of every request, instead.
        refuses: A field that requests are refused for (HTTP 400), as by models that don't know it.
    """

    def __init__(
        self,
        *replies: Sequence[Event],
        error: tuple[int, str, str] | None = None,
        refuses: str = "",
    ) -> None:
        self.replies = list(replies)
        self.error = error
        self.refuses = refuses
        self.requests: list[dict[str, Any]] = []
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        outer = self

        class Handler(_Handler):
            state = outer

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> AnthropicServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(60)


class _Handler(BaseHTTPRequestHandler):
    state: AnthropicServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Write no log."""

    def do_GET(self) -> None:
        models = [{"type": "model", "id": name} for name in ("claude-b", "claude-a")]
        self._json(200, {"data": models, "has_more": False})

    def do_POST(self) -> None:
        state = self.state
        state.bodies.append(self.rfile.read(int(self.headers["content-length"])))
        state.requests.append(json.loads(state.bodies[-1]))
        state.headers.append({name.lower(): text for name, text in self.headers.items()})
        if state.error:
            status, kind, message = state.error
            self._json(status, {"type": "error", "error": {"type": kind, "message": message}})
            return
        if state.refuses in state.requests[-1]:
            told = f"{state.refuses}: this model does not support it"
            error = {"type": "invalid_request_error", "message": told}
            self._json(400, {"type": "error", "error": error})
            return
        assert self.path == "/v1/messages", self.path
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.end_headers()
        for event in state.replies.pop(0):
            line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            self.wfile.write(line.encode())
            self.wfile.flush()

    def _json(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
