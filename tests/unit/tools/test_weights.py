"""The models folder: what is there, what may come in, and how it is fetched."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from app.errors import Cancelled, SightlineError, UsageError
from app.tools.api import CancelToken, ToolFailed
from app.tools.needs import is_installed
from app.tools.weight_specs import DENSENET, PSPNET, THORAX_NET, WEIGHTS, WeightSpec
from app.tools.weights import WeightStore, sha256_of
from tests.unit.tools.support import FakeHost

CONTENT = bytes(range(256)) * 5000


def spec(url: str = "https://example.invalid/weights.pt", content: bytes = CONTENT) -> WeightSpec:
    return WeightSpec(
        name="test-net",
        title="A test",
        file_name="test-net.pt",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        url=url,
        licence="none",
        used_by=("a_tool",),
        check="app.tools.chest.densenet:check",
    )


def store(folder: Path, *specs: WeightSpec) -> WeightStore:
    models = folder / "models"
    models.mkdir(exist_ok=True)
    return WeightStore(models, shipped=folder / "shipped", specs=specs or (spec(),))


def test_the_table_names_the_files_that_torchxrayvision_publishes():
    xrv = pytest.importorskip("torchxrayvision")
    assert xrv.models.model_urls["densenet121-res224-all"]["weights_url"] == DENSENET.url
    assert DENSENET.url.endswith("/" + DENSENET.file_name)
    import inspect

    source = inspect.getsource(xrv.baseline_models.chestx_det.PSPNet)
    assert PSPNET.url in source
    assert PSPNET.url.endswith("/" + PSPNET.file_name)


def test_each_tool_that_needs_weights_names_ones_in_the_table():
    from app.tools.registry import load_packs

    known = {item.name for item in WEIGHTS}
    for tool in load_packs(()).all():
        for need in tool.spec.needs:
            assert need.kind != "weights" or need.name in known


def test_the_status_is_json_and_says_how_to_get_what_is_missing(tmp_path: Path):
    rows = [status.as_dict() for status in store(tmp_path, *WEIGHTS).status()]
    assert json.loads(json.dumps(rows)) == rows
    by_name = {row["name"]: row for row in rows}
    missing = by_name[DENSENET.name]
    assert missing["state"] == "missing"
    assert missing["path"] == str(tmp_path / "models" / DENSENET.file_name)
    assert missing["used_by"] == ["chest_xray_classifier"]
    for part in ("models get densenet121-res224-all", DENSENET.url, str(tmp_path / "models")):
        assert part in missing["how_to_get"]


def test_the_embedded_network_is_shipped_and_whole(tmp_path: Path):
    status = {item.name: item for item in WeightStore(tmp_path).verify()}[THORAX_NET.name]
    assert (status.state, status.note) == ("intact", "")
    assert status.size < 2_000_000
    assert Path(status.path).is_file()


def test_a_file_copied_by_hand_counts_as_installed(tmp_path: Path):
    made = store(tmp_path)
    (made.folder / "test-net.pt").write_bytes(CONTENT)
    assert made.status()[0].state == "installed"
    assert made.verify()[0].state == "intact"
    assert made.require(spec(), "A tool") == made.folder / "test-net.pt"


def test_a_safetensors_conversion_counts_too(tmp_path: Path):
    made = store(tmp_path)
    (made.folder / "test-net.safetensors").write_bytes(b"x")
    assert made.find(spec()) == made.folder / "test-net.safetensors"


def test_what_is_missing_fails_with_file_place_and_way(tmp_path: Path):
    made = store(tmp_path)
    with pytest.raises(ToolFailed) as caught:
        made.require(spec(), "A tool")
    assert "test-net.pt" in caught.value.reason
    assert str(made.folder) in caught.value.remedy


def test_verify_tells_other_weights_from_broken_ones(tmp_path: Path):
    made = store(tmp_path)
    (made.folder / "test-net.pt").write_bytes(b"other")
    assert made.verify()[0].state == "other"

    def broken(payload: Any) -> dict[str, Any]:
        raise ToolFailed("this weights file cannot be read")

    if is_installed("torch"):
        assert made.verify(FakeHost(broken))[0].state == "broken"
        assert made.verify(FakeHost({}))[0].state == "other"


def test_a_changed_file_is_hashed_again(tmp_path: Path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    assert sha256_of(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"three")
    assert sha256_of(path) == hashlib.sha256(b"three").hexdigest()


def test_the_published_file_is_installed_under_whatever_name_it_comes(tmp_path: Path):
    made = store(tmp_path)
    source = tmp_path / "download (1).pt"
    source.write_bytes(CONTENT)
    status = made.install(source)
    assert status.state == "intact"
    assert [path.name for path in made.folder.iterdir()] == ["test-net.pt"]
    assert source.exists()


def test_another_file_under_the_right_name_is_refused_with_both_digests(tmp_path: Path):
    made = store(tmp_path)
    source = tmp_path / "test-net.pt"
    source.write_bytes(b"something else")
    with pytest.raises(SightlineError) as caught:
        made.install(source)
    assert hashlib.sha256(b"something else").hexdigest() in caught.value.reason
    assert spec().sha256 in caught.value.reason
    assert list(made.folder.iterdir()) == []


def test_an_unknown_file_is_refused_with_the_known_ones(tmp_path: Path):
    source = tmp_path / "holiday.zip"
    source.write_bytes(b"x")
    with pytest.raises(UsageError, match="Known files: test-net"):
        store(tmp_path).install(source)
    with pytest.raises(UsageError, match="no such file"):
        store(tmp_path).install(tmp_path / "absent.pt")


@pytest.mark.skipif(not is_installed("torch"), reason="needs torch")
def test_weights_of_ones_own_come_in_if_asked_for_and_the_model_can_load_them(tmp_path: Path):
    made = store(tmp_path)
    source = tmp_path / "mine.pt"
    source.write_bytes(b"mine")
    host = FakeHost({"parameters": 7})
    status = made.install(source, "test-net", host=host, allow_other=True)
    assert status.state == "other"
    assert host.calls[0][1]["weights"] == str(source)

    def broken(payload: Any) -> dict[str, Any]:
        raise ToolFailed("these are weights of another model")

    (made.folder / "test-net.pt").unlink()
    with pytest.raises(ToolFailed, match="another model"):
        made.install(source, "test-net", host=FakeHost(broken), allow_other=True)
    assert list(made.folder.iterdir()) == []


def test_a_copy_that_fails_leaves_nothing_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = store(tmp_path)
    source = tmp_path / "test-net.pt"
    source.write_bytes(CONTENT)

    def full(src: Any, dst: Any) -> None:
        Path(dst).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(SightlineError, match="No space left"):
        made.install(source)
    assert list(made.folder.iterdir()) == []


class _Server(BaseHTTPRequestHandler):
    """Serves CONTENT, with ranges; "/short" breaks off once, "/other" sends something else."""

    breaks = 0
    ranges: list[str]

    def do_GET(self) -> None:
        cls = type(self)
        wanted = self.headers.get("Range", "")
        cls.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if self.path == "/gone":
            self.send_error(404)
            return
        body = CONTENT[start:] if self.path != "/other" else CONTENT[::-1]
        self.send_response(206 if wanted and self.path != "/plain" else 200)
        if self.path == "/plain":
            body = CONTENT
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.path == "/short" and cls.breaks:
            cls.breaks -= 1
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    handler = type("Handler", (_Server,), {"ranges": [], "breaks": 1})
    made = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    made.handler = handler  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{made.server_address[1]}"
    made.shutdown()
    thread.join()
    made.server_close()


def test_get_downloads_verifies_and_reports_progress(tmp_path: Path, server: str):
    made = store(tmp_path, spec(f"{server}/whole"))
    heard: list[float] = []
    status = made.get("test-net", progress=lambda fraction, text: heard.append(fraction))
    assert status.state == "intact"
    assert (made.folder / "test-net.pt").read_bytes() == CONTENT
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert [path.name for path in made.folder.iterdir()] == ["test-net.pt"]


def test_get_goes_on_where_it_broke_off(tmp_path: Path, server: str):
    made = store(tmp_path, spec(f"{server}/short"))
    with pytest.raises(SightlineError, match="try again: what came is kept"):
        made.get("test-net")
    kept = (made.folder / "test-net.pt.part").stat().st_size
    assert 0 < kept < len(CONTENT)
    assert made.status()[0].state == "missing"
    assert made.get("test-net").state == "intact"
    assert (made.folder / "test-net.pt").read_bytes() == CONTENT


def test_a_server_without_ranges_sends_it_all_again(tmp_path: Path, server: str):
    made = store(tmp_path, spec(f"{server}/plain"))
    (made.folder / "test-net.pt.part").write_bytes(CONTENT[:1000])
    assert made.get("test-net").state == "intact"


def test_another_file_is_thrown_away(tmp_path: Path, server: str):
    made = store(tmp_path, spec(f"{server}/other"))
    with pytest.raises(SightlineError, match="not the published file"):
        made.get("test-net")
    assert list(made.folder.iterdir()) == []


def test_a_cancel_keeps_what_came(tmp_path: Path, server: str):
    made = store(tmp_path, spec(f"{server}/whole"))
    cancel = CancelToken()
    with pytest.raises(Cancelled):
        made.get("test-net", progress=lambda *_: cancel.cancel(), cancel=cancel)
    assert (made.folder / "test-net.pt.part").exists()
    assert not (made.folder / "test-net.pt").exists()


def test_without_network_it_says_what_else_can_be_done(tmp_path: Path, server: str):
    made = store(tmp_path, spec(f"{server}/gone"))
    with pytest.raises(SightlineError, match="the server answers 404") as caught:
        made.get("test-net")
    assert "models install PATH" in caught.value.remedy
    closed = store(tmp_path, spec("http://127.0.0.1:9/closed"))
    with pytest.raises(SightlineError, match="could not be downloaded"):
        closed.get("test-net")


@pytest.mark.parametrize("url", ["http://example.com/x", "file:///etc/passwd", "ftp://x/y"])
def test_only_https_is_fetched(tmp_path: Path, url: str):
    with pytest.raises(UsageError, match="only https"):
        store(tmp_path, spec(url)).get("test-net")


def test_what_is_there_is_not_fetched_again(tmp_path: Path):
    made = store(tmp_path, spec("ftp://refused"))
    (made.folder / "test-net.pt").write_bytes(CONTENT)
    assert made.get("test-net").state == "intact"


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path):
    with pytest.raises(UsageError, match="test-net"):
        store(tmp_path).get("no-such")
    embedded = replace(spec(), embedded=True)
    with pytest.raises(UsageError, match="comes with Sightline"):
        store(tmp_path, embedded).get("test-net")
