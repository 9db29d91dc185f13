"""One file from a server that breaks off, sends something else, refuses, or leads elsewhere."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.errors import Cancelled, SightlineError, UsageError
from app.tools.api import CancelToken
from app.tools.models import downloads
from app.tools.models.downloads import download_file
from app.tools.models.install_plan import PlannedFile
from tests.unit.tools.model_support import CONTENT, digest

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Wanted:
    url: str
    size: int = 0
    sha256: str = ""
    git_sha1: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    otherwise: str = ""


def download(
    wanted: Wanted,
    target: Path,
    *,
    progress: Callable[[float, str], None] | None = None,
    cancel: CancelToken | None = None,
) -> None:
    file = PlannedFile("x", "x", wanted.size, wanted.sha256, wanted.git_sha1)
    headers, otherwise = wanted.headers, wanted.otherwise
    download_file(wanted.url, target, file, headers, progress, cancel, alternative=otherwise)


@pytest.fixture(autouse=True)
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were slept before new tries; none of them passes."""
    seconds: list[float] = []
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", seconds.append)
    monkeypatch.setattr(CancelToken, "wait", lambda _token, pause: seconds.append(pause))
    return seconds


class Served:
    """A server on this computer whose answers a test writes; it notes what it was asked."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, dict[str, str]]] = []
        served = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                named = {name.title(): value for name, value in self.headers.items()}
                served.asked.append((self.path, named))
                served.answers.get(self.path, status(404))(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def headers(self, path: str) -> dict[str, str]:
        """Of the last request for a path."""
        return next(headers for asked, headers in reversed(self.asked) if asked == path)


def status(code: int, **headers: str) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def data(
    content: bytes = CONTENT,
    *,
    ranges: bool = True,
    breaks: int = 0,
    length: bool = True,
    claimed: str = "",
) -> Answer:
    """The content, in parts where asked; the first `breaks` answers end half-way."""
    left = [breaks]

    def answer(request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("Range", "")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and ranges else 0
        if start >= len(content) > 0:
            status(416)(request)
            return
        body = content if claimed else content[start:]
        request.send_response(206 if wanted and ranges else 200)
        if wanted and ranges:
            span = claimed or f"bytes {start}-{len(content) - 1}/{len(content)}"
            request.send_header("Content-Range", span)
        if length:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if left[0]:
            left[0] -= 1
            body = body[: len(body) // 2]
        request.wfile.write(body)
        request.close_connection = True

    return answer


@contextmanager
def serving(answers: dict[str, Answer]) -> Generator[Served]:
    served = Served(answers)
    try:
        yield served
    finally:
        served.close()


@pytest.fixture
def server() -> Iterator[Served]:
    with serving({"/file": data()}) as served:
        yield served


def wanted(server: Served, path: str = "/file", **more: Any) -> Wanted:
    figures: dict[str, Any] = {"size": len(CONTENT), "sha256": digest(CONTENT)} | more
    return Wanted(server.address + path, **figures)


def test_a_file_appears_whole_verified_and_with_progress(tmp_path: Path, server: Served):
    heard: list[float] = []
    target = tmp_path / "x.bin"
    download(wanted(server), target, progress=lambda fraction, _text: heard.append(fraction))
    assert target.read_bytes() == CONTENT
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert [path.name for path in tmp_path.iterdir()] == ["x.bin"]


def test_it_goes_on_where_it_broke_off_in_the_same_call(tmp_path: Path, server: Served):
    server.answers["/file"] = data(breaks=2)
    download(wanted(server), tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    ranges = [headers.get("Range", "bytes=0-") for _path, headers in server.asked]
    starts = [int(text.removeprefix("bytes=").rstrip("-")) for text in ranges]
    assert len(starts) == 3
    assert 0 == starts[0] < starts[1] < starts[2]


def test_it_goes_on_where_it_broke_off_in_a_later_call(tmp_path: Path, server: Served):
    half = data(breaks=1)

    def then_down(request: BaseHTTPRequestHandler) -> None:
        server.answers["/file"] = status(503)
        half(request)

    server.answers["/file"] = then_down
    with pytest.raises(SightlineError, match="answers 503") as caught:
        download(wanted(server), tmp_path / "x")
    assert "what was downloaded is kept" in caught.value.remedy
    have = (tmp_path / "x.part").stat().st_size
    assert have >= len(CONTENT) // 2 - downloads._CHUNK
    assert not (tmp_path / "x").exists()
    server.answers["/file"] = data()
    download(wanted(server), tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert server.headers("/file")["Range"] == f"bytes={have}-"


def test_a_server_that_ignores_ranges_sends_it_all_again(tmp_path: Path, server: Served):
    server.answers["/file"] = data(ranges=False)
    (tmp_path / "x.part").write_bytes(CONTENT[:1000])
    download(wanted(server), tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_another_part_than_was_asked_for_is_not_glued_on(tmp_path: Path, server: Served):
    server.answers["/file"] = data(claimed="bytes 0-9/10")
    (tmp_path / "x.part").write_bytes(CONTENT[:1000])
    with pytest.raises(SightlineError, match="more than the published file"):
        download(wanted(server), tmp_path / "x")


def test_a_part_that_belongs_to_another_file_is_dropped(tmp_path: Path, server: Served):
    (tmp_path / "x.part").write_bytes(CONTENT + b"more")
    with pytest.raises(SightlineError, match="answers 416"):
        download(wanted(server, size=0), tmp_path / "x")
    download(wanted(server, size=0), tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == CONTENT
    (tmp_path / "y.part").write_bytes(CONTENT + b"more")
    download(wanted(server), tmp_path / "y")
    assert (tmp_path / "y").read_bytes() == CONTENT


def test_another_file_is_thrown_away(tmp_path: Path, server: Served):
    server.answers["/file"] = data(CONTENT[::-1])
    with pytest.raises(SightlineError, match="not the published file"):
        download(wanted(server), tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("length", [True, False])
def test_a_file_of_another_size_is_not_taken(tmp_path: Path, server: Served, length: bool):
    server.answers["/file"] = data(CONTENT + b"more", length=length)
    with pytest.raises(SightlineError, match="published file"):
        download(wanted(server), tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert len(server.asked) == 1, "another try makes no sense"


def test_a_digest_of_git_is_checked_too(tmp_path: Path, server: Served):
    git = hashlib.sha1(f"blob {len(CONTENT)}\0".encode() + CONTENT).hexdigest()
    download(wanted(server, sha256="", git_sha1=git), tmp_path / "x")
    with pytest.raises(SightlineError, match="sha1"):
        download(wanted(server, sha256="", git_sha1="0" * 40), tmp_path / "y")


@pytest.mark.parametrize(
    ("code", "why", "what"),
    [
        (401, "answers 401", "HF_TOKEN"),
        (403, "answers 403", "HF_TOKEN"),
        (404, "answers 404", "bring it yourself"),
        (500, "answers 500", "try again"),
    ],
)
def test_a_refusal_says_what_to_do(tmp_path: Path, server: Served, code: int, why: str, what: str):
    server.answers["/file"] = status(code)
    with pytest.raises(SightlineError, match=why) as caught:
        download(wanted(server, otherwise="Or bring it yourself."), tmp_path / "x")
    assert what in caught.value.remedy
    assert not (tmp_path / "x").exists()


def test_too_many_requests_are_waited_out_as_long_as_the_server_says(
    tmp_path: Path, server: Served, waited: list[float]
):
    def refuses_once(request: BaseHTTPRequestHandler) -> None:
        server.answers["/file"] = data()
        status(429, Retry_After="7")(request)

    server.answers["/file"] = refuses_once
    download(wanted(server), tmp_path / "x")
    assert 7 in waited  # other threads may sleep too
    server.answers["/file"] = status(429)
    with pytest.raises(SightlineError, match="too many requests"):
        download(wanted(server), tmp_path / "y")


@pytest.mark.parametrize("headers", [{"Retry_After": "3600"}, {"ratelimit": '"api";r=0;t=3600'}])
def test_a_cancel_ends_the_wait_after_too_many_requests(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
):
    cancel = CancelToken()

    def cancelled_meanwhile(_token: CancelToken, seconds: float) -> None:
        assert seconds == 3600
        cancel.cancel()

    monkeypatch.setattr(CancelToken, "wait", cancelled_meanwhile)
    server.answers["/file"] = status(429, **headers)
    with pytest.raises(Cancelled):
        download(wanted(server), tmp_path / "x", cancel=cancel)
    assert len(server.asked) == 1


def test_a_cancel_keeps_what_came(tmp_path: Path, server: Served):
    cancel = CancelToken()
    with pytest.raises(Cancelled):
        download(wanted(server), tmp_path / "x", progress=lambda *_: cancel.cancel(), cancel=cancel)
    assert (tmp_path / "x.part").exists()
    assert not (tmp_path / "x").exists()


def test_the_token_stays_with_the_host_that_it_is_for(tmp_path: Path, server: Served):
    secret = {"Authorization": "Bearer secret"}
    with serving({"/blob": data()}) as elsewhere:
        server.answers["/moved"] = status(307, Location="/file")
        server.answers["/far"] = status(302, Location=f"{elsewhere.address}/blob")
        download(wanted(server, "/moved", headers=secret), tmp_path / "a")
        download(wanted(server, "/far", headers=secret), tmp_path / "b")
        assert server.headers("/file")["Authorization"] == "Bearer secret"
        assert server.headers("/far")["Authorization"] == "Bearer secret"
        assert "Authorization" not in elsewhere.headers("/blob")
    assert (tmp_path / "b").read_bytes() == CONTENT


def test_a_download_goes_on_through_a_redirect(tmp_path: Path, server: Served):
    with serving({"/blob": data()}) as elsewhere:
        server.answers["/far"] = status(302, Location=f"{elsewhere.address}/blob")
        (tmp_path / "x.part").write_bytes(CONTENT[:1000])
        download(wanted(server, "/far"), tmp_path / "x")
        assert elsewhere.headers("/blob")["Range"] == "bytes=1000-"
    assert (tmp_path / "x").read_bytes() == CONTENT


def test_a_redirect_to_an_address_that_is_not_https_is_refused(tmp_path: Path, server: Served):
    server.answers["/far"] = status(302, Location="http://example.com/x")
    with pytest.raises(UsageError, match="only https"):
        download(wanted(server, "/far"), tmp_path / "x")
    request = httpx2.Request("GET", "https://example.com/x")
    answer = httpx2.Response(302, headers={"Location": f"{server.address}/file"}, request=request)
    with pytest.raises(SightlineError, match="from https to http"):
        downloads._guard_answer(answer)


def test_the_page_of_an_error_is_read_only_so_far(tmp_path: Path, server: Served):
    def without_end(request: BaseHTTPRequestHandler) -> None:
        request.send_response(404)
        request.end_headers()
        with contextlib.suppress(OSError):  # the client hangs up
            while True:
                request.wfile.write(bytes(1 << 20))

    server.answers["/file"] = without_end
    with pytest.raises(SightlineError, match="too long"):
        download(wanted(server), tmp_path / "x")


@pytest.mark.parametrize("url", ["http://example.com/x", "file:///etc/passwd", "ftp://x/y"])
def test_only_https_is_fetched(tmp_path: Path, url: str):
    with pytest.raises(UsageError, match="only https"):
        download(Wanted(url), tmp_path / "x")


def test_without_a_network_it_says_so_at_once(tmp_path: Path):
    with pytest.raises(SightlineError, match="could not be downloaded") as caught:
        download(Wanted("http://127.0.0.1:9/closed", otherwise="Or bring it."), tmp_path / "x")
    assert "Or bring it." in caught.value.remedy


def test_a_disk_that_is_full_is_said_to_be(
    tmp_path: Path, server: Served, monkeypatch: pytest.MonkeyPatch
):
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(downloads._PartialFile, "write", full)
    with pytest.raises(SightlineError, match="No space left"):
        download(wanted(server), tmp_path / "x")
