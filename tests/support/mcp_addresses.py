"""MCP servers at addresses of this computer, for tests: by the SDK, and by hand as document 003."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import uvicorn

from tests.support.mcp_program import made


@dataclass
class Seen:
    """What a server got."""

    url: str = ""
    paths: list[str] = field(default_factory=list[str])
    keys: list[str] = field(default_factory=list[str])
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@contextmanager
def streamable(key: str = "", *, json_response: bool = False) -> Generator[Seen]:
    """Serve `mcp_program.made()` by streamable HTTP at /mcp; with a `key`, others get 401."""
    seen = Seen()
    inner = made().streamable_http_app(json_response=json_response)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            seen.paths.append(scope["path"])
            seen.keys.append(headers.get("authorization", ""))
            if key and headers.get("authorization") != f"Bearer {key}":
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b"who are you?"})
                return
        await inner(scope, receive, send)

    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + 10
    while not server.started and time.monotonic() < ends:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    seen.url = f"http://127.0.0.1:{port}/mcp"
    try:
        yield seen
    finally:
        server.should_exit = True
        thread.join(10)


@contextmanager
def json_rpc(
    at: str = "/rpc", *, events: bool = True, lists: bool = True, body: bytes = b"", status: int = 0
) -> Generator[Seen]:
    """Serve JSON-RPC 2.0 at one path without any handshake, as document 003 describes.

    Args:
        at: The path; others get 404.
        events: Whether the answer is a server-sent event rather than JSON.
        lists: Whether it knows tools/list.
        body: Sent in place of any answer.
        status: The HTTP status of all answers, if not 0.
    """
    seen = Seen()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.paths.append(self.path)
            seen.keys.append(self.headers.get("authorization", ""))
            if self.path != at or status:
                self._send(status or 404, "text/plain", b"no such thing")
                return
            seen.bodies.append(request)
            self._answer(request)

        def do_GET(self) -> None:
            self._send(404, "text/plain", b"")

        def _answer(self, request: dict[str, Any]) -> None:
            reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request.get("id")}
            if request["method"] == "tools/list" and lists:
                properties = {"note_text": {"type": "string"}, "analysis_type": {"type": "string"}}
                tool = {
                    "name": "analyze_medical_document",
                    "description": "Analyses.",
                    "inputSchema": {"type": "object", "properties": properties},
                }
                reply["result"] = {"tools": [tool]}
            elif request["method"] == "tools/call":
                given = request["params"]["arguments"]
                text = f"{given['analysis_type']}: sepsis is likely"
                reply["result"] = {"content": [{"type": "text", "text": text}]}
            else:
                reply["error"] = {"code": -32601, "message": "Method not found"}
            text = json.dumps(reply)
            if body:
                self._send(200, "application/json", body)
            elif events:
                told = f": hello\n\nevent: message\ndata: {text}\n\n".encode()
                self._send(200, "text/event-stream", told)
            else:
                self._send(200, "application/json", text.encode())

        def _send(self, code: int, kind: str, data: bytes) -> None:
            self.send_response(code)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            del code, size  # nothing on stderr

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
