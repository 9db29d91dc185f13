"""A small loopback server: streamed chat completions of one model, for whoever knows the key."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Protocol

MAX_BODY_BYTES = 32 * 2**20


@dataclass(frozen=True, slots=True)
class Done:
    """The end of an answer: why it ended, and its tokens."""

    finish: Literal["stop", "length"]
    input_tokens: int
    output_tokens: int


class Refused(Exception):
    """The request cannot be answered; says why."""


class Answerer(Protocol):
    """What answers requests."""

    def answer(self, request: Mapping[str, Any], stop: threading.Event) -> Iterator[str | Done]:
        """The pieces of the answer, then its end; early when `stop` is set.

        Raises:
            Refused: Before the first piece.
        """
        ...


class ChatServer(ThreadingHTTPServer):
    """Serves `/v1/chat/completions` (streamed only) and `/v1/models` on a port of 127.0.0.1.

    One answer is made at a time; others wait.
    """

    daemon_threads = True

    def __init__(self, name: str, key: str, answerer: Answerer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = name
        self.key = key
        self.answerer = answerer
        self.one_at_a_time = threading.Lock()

    @property
    def url(self) -> str:
        """Its address, with "/v1" at its end."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away; nothing is printed, as it could hold what was asked."""


class _Handler(BaseHTTPRequestHandler):
    server: ChatServer  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's name)
        """No log."""

    def do_GET(self) -> None:
        if not self._allowed():
            return
        if self.path == "/v1/models":
            model = {"id": self.server.model, "object": "model", "owned_by": "local"}
            self._reply(200, {"object": "list", "data": [model]})
        else:
            self._error(404, "there is no such page")

    def do_POST(self) -> None:
        if not self._allowed():
            return
        if self.path != "/v1/chat/completions":
            self._error(404, "there is no such page")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > MAX_BODY_BYTES:
            self._error(413, "the request is too large, or of unknown length")
            return
        try:
            request: Any = json.loads(self.rfile.read(int(length)))
            if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
                raise ValueError
        except (ValueError, RecursionError):
            self._error(400, "the request is no chat completion")
            return
        if not request.get("stream"):
            self._error(400, "answers are streamed only")
            return
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
        except Refused as error:
            self._error(400, str(error))
        except OSError:
            pass  # the app no longer listens
        except Exception as error:
            # Half an answer is cut off: the app notices that its end is missing.
            if not started:
                self._error(500, f"the model failed ({type(error).__name__})")
        finally:
            stop.set()

    def _send(self, piece: str | Done) -> None:
        choice: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": None}
        chunk: dict[str, Any] = {
            "id": "chatcmpl-local",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": self.server.model,
            "choices": [choice],
        }
        if isinstance(piece, Done):
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

    def _allowed(self) -> bool:
        given = self.headers.get("Authorization", "").encode()
        if hmac.compare_digest(given, f"Bearer {self.server.key}".encode()):
            return True
        self._error(401, "the key is wrong")
        return False

    def _error(self, status: int, message: str) -> None:
        self._reply(status, {"error": {"message": message, "code": status}})

    def _reply(self, status: int, body: Mapping[str, Any]) -> None:
        with suppress(OSError):
            self._head(status, "application/json")
            self.wfile.write(json.dumps(body).encode())

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        # The end of the connection is the end of the answer.
        self.send_header("Connection", "close")
        self.end_headers()
