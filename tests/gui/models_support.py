"""Models, a store and a host for tests of the models window: real files, a host without process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from app.tools.api import CancelToken
from app.tools.hosting.states import Listener, ModelState, StateBoard
from app.tools.models.cards import CardFile, ModelCard

PLAIN = ModelCard(
    name="plain-net",
    title="Plain net",
    tools=("chest_xray_classifier",),
    files=(CardFile("config.json"), CardFile("model.safetensors")),
    repository="someone/plain-net",
    licence="Apache 2.0",
    memory={"float32": 1_200_000_000, "bfloat16": 600_000_000},
    intended_use="Tests of the window.",
    limits=("It knows nothing.", "It says nothing."),
    tried="Nothing with real weights.",
)
STRICT = replace(
    PLAIN,
    name="strict-net",
    title="Strict net",
    tools=("medgemma_qa",),
    files=(*PLAIN.files, CardFile("modeling_strict.py", code=True)),
    repository="someone/strict-net",
    terms="You shall not use it on patients.\nNor shall you call it a doctor.",
    trust_remote_code=True,
)
CARDS: Mapping[str, ModelCard] = {card.name: card for card in (PLAIN, STRICT)}


def folder_of(card: ModelCard, where: Path, size: int = 2_000) -> Path:
    """A folder as somebody brings it, called like the repository."""
    folder = where / card.repository.rpartition("/")[2]
    folder.mkdir(parents=True)
    for file in card.files:
        content = {".json": b"{}", ".py": b"x = 1\n"}.get(Path(file.name).suffix) or weights(size)
        (folder / file.name).write_bytes(content)
    return folder


def weights(size: int) -> bytes:
    """A safetensors file with one tensor of so many bytes."""
    tensor = {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}
    head = json.dumps({"a": tensor}).encode()
    return len(head).to_bytes(8, "little") + head + bytes(size)


@dataclass
class FakeHost:
    """States that the test sets; what is asked of it is kept."""

    board: StateBoard = field(default_factory=StateBoard)
    unloaded: list[str | None] = field(default_factory=list[str | None])
    forgotten: list[str] = field(default_factory=list[str])

    def states(self) -> dict[str, ModelState]:
        return self.board.states()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        return self.board.subscribe(listener)

    def unload(self, model: str | None = None) -> None:
        self.unloaded.append(model)
        self.board.clear_device("cpu")

    def forget(self, model: str) -> None:
        self.forgotten.append(model)
        self.board.forget(model)

    def call(
        self,
        entry: str,
        payload: Mapping[str, Any],
        *,
        cancel: CancelToken,
        timeout_s: float,
        progress: Callable[[float, str], None] | None = None,
    ) -> dict[str, Any]:
        raise AssertionError("no model is loaded in these tests")


class Hub:
    """A hub on this machine, with one repository; while `go_on` is not set, files come by half."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.asked: list[str] = []
        self.go_on = threading.Event()
        self.go_on.set()
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.asked.append(self.path)
                if self.path.startswith("/api/"):
                    self._send(json.dumps(hub.listing()).encode())
                    return
                self._send(hub.files[self.path.rpartition("/")[2]], hold=True)

            def _send(self, data: bytes, *, hold: bool = False) -> None:
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                half = len(data) // 2
                self.wfile.write(data[:half])
                self.wfile.flush()
                if hold:
                    hub.go_on.wait(60)
                self.wfile.write(data[half:])

            def log_message(self, *_told: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def listing(self) -> dict[str, Any]:
        siblings = [{"rfilename": name, "size": len(data)} for name, data in self.files.items()]
        return {"id": "someone/plain-net", "sha": "a" * 40, "siblings": siblings}

    def close(self) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
