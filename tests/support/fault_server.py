"""A chat-completions endpoint on the loopback interface that fails in a chosen way (raw sockets).

`openai_server.py` is the one that works. Here each connection gets its own thread, which reads the
request and then does what its fault is. What a fault needs to go on for ever it does until the
client is gone, so a test that leaves a connection open is seen.
"""

from __future__ import annotations

import functools
import json
import socket
import ssl
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

CERTIFICATE = Path(__file__).with_name("loopback_tls.pem")
"""Key and certificate for 127.0.0.1, trusted only by these tests."""

DRIP_S = 0.02

_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
_NO_TIME = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)


def _event(text: str) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return f"data: {json.dumps({'id': 'c', 'choices': [choice]})}\n\n".encode()


_END = (
    b'data: {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
    b"data: [DONE]\n\n"
)


class FaultServer:
    """A server with one fault.

    Args:
        fault: A name in `FAULTS`.
        good_from: From this request on (the first is 1), it answers "all is well" instead.

    Attributes:
        asked: How many requests came.
        sent: Bytes sent, of all connections.
        heard: Set once a client has come.
        reached: Set once a fault that takes its time has begun.
        gone: Set once the client has closed a connection that such a fault held.
    """

    def __init__(self, fault: str, *, good_from: int = 0) -> None:
        self.asked = 0
        self.sent = 0
        self.heard = threading.Event()
        self.reached = threading.Event()
        self.gone = threading.Event()
        self._fault = FAULTS[fault]
        self._tls = fault.startswith("tls_")
        self._good_from = good_from
        self._stop = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http{'s' * self._tls}://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __enter__(self) -> FaultServer:
        self._threads[0].start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        # Wakes the accepting thread: closing the socket alone does not everywhere.
        socket.create_connection(self._socket.getsockname()).close()
        for thread in list(self._threads):
            thread.join(60)
            assert not thread.is_alive(), "a connection was never closed"
        self._socket.close()

    def _accept(self) -> None:
        while True:
            raw, _ = self._socket.accept()
            if self._stop.is_set():
                raw.close()
                return
            raw.settimeout(5)
            thread = threading.Thread(target=self._serve, args=(raw,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, raw: socket.socket) -> None:
        line = Line(self, raw)
        try:
            self.asked += 1
            self.heard.set()
            if self._good_from and self.asked >= self._good_from:
                line.begin(tls=self._tls)
                line.send(_HEAD.encode() + _event("all is well") + _END)
            else:
                self._fault(line)
        except (OSError, ssl.SSLError):
            self.gone.set()
        finally:
            line.close()

    @property
    def stopping(self) -> bool:
        """Whether the test is over."""
        return self._stop.is_set()


class Line:
    """One connection, with the actions that faults consist of."""

    def __init__(self, server: FaultServer, raw: socket.socket) -> None:
        self._server = server
        self.raw = raw
        self._socket = raw

    def begin(self, *, tls: bool = False) -> None:
        """Read the request, after a TLS handshake if configured."""
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(CERTIFICATE)
            self._socket = context.wrap_socket(self.raw, server_side=True)
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._received()
        head, _, body = data.partition(b"\r\n\r\n")
        lengths = (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        length = next(lengths, 0)
        while len(body) < length:
            body += self._received()

    def _received(self) -> bytes:
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionResetError("the client left")
        return data

    def send(self, data: bytes | str) -> None:
        """Send all the data."""
        data = data.encode() if isinstance(data, str) else data
        self._socket.sendall(data)
        self._server.sent += len(data)

    def answer(self, *events: bytes, head: str = _HEAD) -> None:
        """Read the request, then send headers and the beginning of a stream."""
        self.begin()
        self.send(head)
        for event in events:
            self.send(event)

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_TIME)
        self.raw.close()

    def hold(self) -> None:
        """Send nothing until the client disconnects."""
        self._server.reached.set()
        self._socket.settimeout(0.1)
        while not self._server.stopping:
            try:
                if not self._socket.recv(65536):
                    raise ConnectionResetError("the client left")
            except TimeoutError:
                continue

    def repeat(self, data: bytes, pause_s: float = 0.0) -> None:
        """Send the same data repeatedly until the client disconnects."""
        self._server.reached.set()
        while not self._server.stopping:
            self.send(data)
            if pause_s:
                time.sleep(pause_s)

    def close(self) -> None:
        """Close the connection without a proper end of TLS, for which there is `unwrap`."""
        self._socket.close()
        self.raw.close()


def _reset_at_connect(line: Line) -> None:
    line.reset()


def _reset_in_headers(line: Line) -> None:
    line.begin()
    line.send("HTTP/1.1 200 OK\r\ncontent-ty")
    line.reset()


def _reset_in_stream(line: Line) -> None:
    line.answer(_event("half an "))
    time.sleep(0.25)  # a reset takes away what the client has not read yet
    line.reset()


def _closed_in_stream(line: Line) -> None:
    line.answer(_event("half an "), b'data: {"id": "c", "cho')


def _too_short(line: Line) -> None:
    head = _HEAD.replace("connection: close", "content-length: 100000")
    line.answer(_event("half an "), head=head)


def _stall_before_headers(line: Line) -> None:
    line.begin()
    line.hold()


def _stall_in_stream(line: Line) -> None:
    line.answer(_event("half an "))
    line.hold()


def _drip(line: Line) -> None:
    line.answer()
    line.repeat(_event("drop "), DRIP_S)


def _drip_of_bytes(line: Line) -> None:
    line.answer()
    line.repeat(b":", DRIP_S)


def _drip_of_headers(line: Line) -> None:
    line.begin()
    line.send("HTTP/1.1 200 OK\r\nx-drip: ")
    line.repeat(b"x", DRIP_S)


def _tls_cut_in_handshake(line: Line) -> None:
    line.raw.recv(10)
    line.raw.close()


def _tls_silent(line: Line) -> None:
    line.hold()


def _tls_garbage(line: Line) -> None:
    line.send("HTTP/1.1 400 Bad Request\r\n\r\n")


def _tls_truncated(line: Line) -> None:
    line.begin(tls=True)
    line.send(_HEAD)
    line.send(_event("half an "))


def _status(status: str, headers: str = "", body: str = "{}") -> Callable[[Line], None]:
    def fault(line: Line) -> None:
        line.begin()
        line.send(
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{headers}"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n{body}"
        )

    return fault


def _streamed(*events: bytes, head: str = _HEAD) -> Callable[[Line], None]:
    def fault(line: Line) -> None:
        line.answer(*events, head=head)

    return fault


def _repeated(data: bytes, head: str = _HEAD) -> Callable[[Line], None]:
    def fault(line: Line) -> None:
        line.answer(head=head)
        line.repeat(data)

    return fault


def _bad_chunks(line: Line) -> None:
    head = _HEAD.replace("connection: close", "transfer-encoding: chunked")
    line.answer(b"5\r\nhello\r\nno number\r\n", head=head)


def _endless_headers(line: Line) -> None:
    line.begin()
    line.send("HTTP/1.1 200 OK\r\n")
    line.repeat(b"x-more: " + b"x" * 8000 + b"\r\n")


@functools.cache
def _packed() -> bytes:
    """Return 64 KiB that decompress to 64 MiB."""
    pack = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    parts = [pack.compress(bytes(2**20)) for _ in range(64)]
    return b"".join([*parts, pack.flush()])


def _bomb(status: str) -> Callable[[Line], None]:
    def fault(line: Line) -> None:
        head = _HEAD.replace("200 OK", status).replace(
            "connection", "content-encoding: gzip\r\nconnection"
        )
        line.answer(_packed(), head=head)

    return fault


_QUOTA = '{"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}'

FAULTS: dict[str, Callable[[Line], None]] = {
    "reset_at_connect": _reset_at_connect,
    "reset_in_headers": _reset_in_headers,
    "reset_in_stream": _reset_in_stream,
    "closed_in_stream": _closed_in_stream,
    "too_short": _too_short,
    "stall_before_headers": _stall_before_headers,
    "stall_in_stream": _stall_in_stream,
    "drip": _drip,
    "drip_of_bytes": _drip_of_bytes,
    "drip_of_headers": _drip_of_headers,
    "tls_cut_in_handshake": _tls_cut_in_handshake,
    "tls_silent": _tls_silent,
    "tls_garbage": _tls_garbage,
    "tls_truncated": _tls_truncated,
    "429": _status("429 Too Many Requests"),
    "429_wait": _status("429 Too Many Requests", "retry-after: 3\r\n"),
    "429_quota": _status("429 Too Many Requests", body=_QUOTA),
    "500": _status("500 Internal Server Error", body="<html>"),
    "503_forever_loading": _status("503 Busy", body='{"error": {"message": "Loading model"}}'),
    "500_endless": _repeated(b"x" * 65536, _HEAD.replace("200 OK", "500 Oh")),
    "500_bomb": _bomb("500 Oh"),
    "redirect_loop": _status("307 Elsewhere", "location: /v1/chat/completions\r\n"),
    "bad_json": _streamed(_event("half an "), b'data: {"choices": [{"delta": {"con\n\n', _END),
    "bad_json_first": _streamed(b'data: {"choices": [{"delta": {"con\n\n', _END),
    "deep_json": _streamed(b"data: " + b"[" * 200_000 + b"\n\n", _END),
    "odd_json": _streamed(b'data: {"choices": [7, {"delta": []}]}\n\n', _END),
    "bad_utf8": _streamed(_event("half an "), b'data: {"choices": [{"delta": "\xff\xfe"\n\n', _END),
    "bad_chunks": _bad_chunks,
    "nothing": _streamed(),
    "wrong_type": _repeated(bytes(65536), _HEAD.replace("text/event-stream", "image/png")),
    "web_page": _streamed(b"<html>", head=_HEAD.replace("text/event-stream", "text/html")),
    "gzip_bomb": _bomb("200 OK"),
    "endless": _repeated(_event("more and " * 400)),
    "endless_line": _repeated(b"x" * 65536),
    "endless_comments": _repeated((b": nothing" * 50 + b"\n") * 100),
    "endless_headers": _endless_headers,
}
"""All faults by name."""
