"""`models get` against a hub on this computer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from app.errors import Cancelled, SightlineError, UsageError
from app.tools.api import CancelToken
from app.tools.models.cards import CardFile, SelfCheck
from app.tools.models.downloads import HUB, host_of, hub, mirror_address
from app.tools.models.install_plan import Consent
from tests.unit.tools.model_support import (
    CODE,
    CONTENT,
    FILES,
    TERMS,
    contents,
    digest,
    foldered,
    single,
    store,
    write_files,
)
from tests.unit.tools.models.test_download_file import Served, data, serving, status

COMMIT = "0123456789" * 4
REPOSITORY = "owner/Test-Folder"
EXTRA = {"pytorch_model.bin": b"pickle", "README.md": b"about", "run.sh": b"rm"}


def said(files: dict[str, bytes], **changed: Any) -> bytes:
    """What the hub's API says of a repository."""
    siblings: list[dict[str, Any]] = []
    for name, content in files.items():
        blob = hashlib.sha1(f"blob {len(content)}\0".encode() + content).hexdigest()
        entry: dict[str, Any] = {"rfilename": name, "size": len(content), "blobId": blob}
        if len(content) > 1000:
            entry["lfs"] = {"sha256": digest(content), "size": len(content), "pointerSize": 130}
        siblings.append(entry)
    return json.dumps({"id": REPOSITORY, "sha": COMMIT, "siblings": siblings, **changed}).encode()


class Hub:
    """A repository as the hub serves it: a list, and files, the large ones from elsewhere."""

    def __init__(self, served: Served, elsewhere: Served, files: dict[str, bytes]) -> None:
        self.served = served
        self.elsewhere = elsewhere
        self.offer(files)

    def offer(self, files: dict[str, bytes], **changed: Any) -> None:
        listed = data(said(files, **changed))
        for revision in ("main", COMMIT):
            path = f"/api/models/{REPOSITORY}/revision/{revision}?blobs=true"
            self.served.answers[path] = listed
        for name, content in files.items():
            path = f"/{REPOSITORY}/resolve/{COMMIT}/{name}"
            if len(content) > 1000:
                far = f"{self.elsewhere.address}/{digest(content)}"
                self.served.answers[path] = status(302, Location=far)
                self.elsewhere.answers[f"/{digest(content)}"] = data(content)
            else:
                self.served.answers[path] = data(content)

    @property
    def fetched(self) -> list[str]:
        """Files that were asked for."""
        prefix = f"/{REPOSITORY}/resolve/{COMMIT}/"
        asked = [path for path, _headers in self.served.asked]
        return [path.removeprefix(prefix) for path in asked if path.startswith(prefix)]


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda _seconds: None)
    with serving({}) as served, serving({}) as elsewhere:
        monkeypatch.setenv("SIGHTLINE_HUB", served.address)
        yield Hub(served, elsewhere, FILES | CODE | EXTRA)


def test_the_hub_is_asked_unless_a_mirror_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SIGHTLINE_HUB", raising=False)
    assert hub() == HUB
    assert host_of(foldered()) == "huggingface.co"
    assert host_of(single()) == "example.invalid"
    monkeypatch.setenv("SIGHTLINE_HUB", "https://mirror.example/")
    assert hub() == "https://mirror.example"
    assert mirror_address(f"{HUB}/a/b/resolve/c/d") == "https://mirror.example/a/b/resolve/c/d"
    assert mirror_address("https://example.invalid/d") == "https://example.invalid/d"
    assert host_of(single(f"{HUB}/a/b")) == "mirror.example"


def test_a_folder_comes_with_what_belongs_to_it_pinned_to_its_commit(tmp_path: Path, there: Hub):
    made = store(tmp_path, foldered())
    heard: list[float] = []
    status = made.get("test-folder", progress=lambda fraction, _text: heard.append(fraction))
    assert (status.state, status.revision) == ("intact", COMMIT)
    assert sorted(there.fetched) == sorted([*FILES, "README.md"])
    assert heard == sorted(heard)
    found = contents(made.folder)
    assert found.pop("test-folder/installed.toml")
    assert found == {f"test-folder/{n}": d for n, d in (FILES | {"README.md": b"about"}).items()}
    record = made.paths_of(foldered()).record()
    assert record is not None
    assert record.source == REPOSITORY


def test_the_small_file_of_a_self_check_comes_with_the_model(tmp_path: Path, there: Hub):
    film = CardFile("film.png", 4, digest(b"film"), f"{there.served.address}/film.png")
    check = SelfCheck("a.b:c", film, fetched=True)
    for wanted in (replace(check, fetched=False), check):
        made = store(tmp_path, replace(foldered(), self_check=wanted))
        status = made.get("test-folder")
        assert status.state == "intact"
        assert "self-check/film.png is not there" in status.self_check
    there.served.answers["/film.png"] = data(b"film")
    status = made.get("test-folder")
    assert (made.folder / "self-check" / "film.png").read_bytes() == b"film"
    assert "AI packages" in status.self_check, "there is no model process here"


def test_the_token_goes_to_the_hub_and_not_to_whoever_sends_its_files(
    tmp_path: Path, there: Hub, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_TOKEN", "secret")
    store(tmp_path, foldered()).get("test-folder")
    for _path, headers in there.served.asked:
        assert headers["Authorization"] == "Bearer secret"
    assert there.elsewhere.asked
    for _path, headers in there.elsewhere.asked:
        assert "Authorization" not in headers


def test_a_gated_model_says_whose_terms_and_where_the_token_goes(tmp_path: Path, there: Hub):
    path = f"/api/models/{REPOSITORY}/revision/main?blobs=true"
    there.served.answers[path] = status(401)
    made = store(tmp_path, replace(foldered(), gated=True))
    with pytest.raises(SightlineError, match="401") as caught:
        made.get("test-folder")
    assert "HF_TOKEN" in caught.value.remedy
    assert "models install PATH" in caught.value.remedy


def test_an_interrupted_download_goes_on_with_the_files_that_lack(tmp_path: Path, there: Hub):
    made = store(tmp_path, foldered())
    path = f"/{digest(CONTENT)}"
    half = data(breaks=1)

    def then_down(request: BaseHTTPRequestHandler) -> None:
        there.elsewhere.answers[path] = status(503)
        half(request)

    there.elsewhere.answers[path] = then_down
    with pytest.raises(SightlineError, match="answers 503"):
        made.get("test-folder")
    assert made.overview()[0].state == "not installed"
    there.elsewhere.answers[path] = data()
    there.served.asked.clear()
    there.elsewhere.asked.clear()
    assert made.get("test-folder").state == "intact"
    assert "config.json" not in there.fetched
    assert there.elsewhere.headers(path)["Range"].startswith("bytes=")
    assert not (made.folder / ".getting").exists()


def test_what_a_new_version_has_in_common_with_the_old_one_is_not_fetched_again(
    tmp_path: Path, there: Hub
):
    made = store(tmp_path, foldered())
    made.get("test-folder")
    there.offer(FILES | {"config.json": b"{}"})
    there.elsewhere.asked.clear()
    assert made.get("test-folder").state == "intact"
    assert there.elsewhere.asked == []
    assert (made.folder / "test-folder" / "config.json").read_bytes() == b"{}"
    (made.folder / "test-folder" / "model.safetensors").write_bytes(b"damaged")
    made.get("test-folder")
    assert (made.folder / "test-folder" / "model.safetensors").read_bytes() == CONTENT
    assert len(there.elsewhere.asked) == 1


def test_a_cancel_leaves_what_was_installed_and_what_came(tmp_path: Path, there: Hub):
    made = store(tmp_path, foldered())
    made.get("test-folder")
    before = contents(made.folder)
    there.offer(FILES | {"config.json": b"{}"})
    cancel = CancelToken()
    with pytest.raises(Cancelled):
        made.get("test-folder", progress=lambda *_: cancel.cancel(), cancel=cancel)
    after = contents(made.folder)
    assert {name: after[name] for name in before} == before
    assert any(name.startswith(".getting/") for name in after)


def test_what_the_hub_calls_other_than_the_card_is_not_taken(tmp_path: Path, there: Hub):
    made = store(tmp_path, foldered(pinned=True))
    there.offer(FILES | {"model.safetensors": CONTENT[::-1]})
    with pytest.raises(SightlineError, match="not the published file"):
        made.get("test-folder")
    assert made.overview()[0].state == "not installed"
    there.offer(FILES)
    assert made.get("test-folder").state == "intact"
    assert made.require("test-folder", "A tool").warnings == ()


def test_bytes_that_are_not_what_the_hub_lists_are_thrown_away(tmp_path: Path, there: Hub):
    there.served.answers[f"/{REPOSITORY}/resolve/{COMMIT}/config.json"] = data(b"[" * 21)
    made = store(tmp_path, foldered())
    with pytest.raises(SightlineError, match="not the published file"):
        made.get("test-folder")
    assert made.overview()[0].state == "not installed"


def test_the_cards_revision_is_asked_for_and_no_other_is_taken(tmp_path: Path, there: Hub):
    made = store(tmp_path, replace(foldered(), revision=COMMIT))
    made.get("test-folder")
    assert there.served.asked[0][0].endswith(f"/revision/{COMMIT}?blobs=true")
    made.remove("test-folder")
    there.offer(FILES, sha="f" * 40)
    with pytest.raises(SightlineError, match="has commit ffff"):
        made.get("test-folder")


def test_terms_are_accepted_before_anything_is_asked(tmp_path: Path, there: Hub):
    made = store(tmp_path, foldered(terms=TERMS))
    with pytest.raises(SightlineError, match="terms of A folder are not accepted"):
        made.get("test-folder")
    assert there.served.asked == []
    assert made.get("test-folder", Consent(terms=True)).accepted


def test_code_is_fetched_only_after_a_yes(tmp_path: Path, there: Hub):
    made = store(tmp_path, foldered(code=True))
    assert made.get("test-folder").code == "not allowed"
    assert "modeling_net.py" not in there.fetched
    assert made.get("test-folder", Consent(code=True)).code == "allowed"
    assert made.require("test-folder", "A tool").code_allowed


def test_a_later_yes_fetches_the_code_also_of_a_model_that_is_there_whole(
    tmp_path: Path, there: Hub
):
    made = store(tmp_path, foldered(code=True, pinned=True))
    assert made.get("test-folder").code == "not allowed"
    there.served.asked.clear()
    made.get("test-folder")
    assert there.served.asked == [], "it is there and whole"
    assert made.get("test-folder", Consent(code=True)).code == "allowed"


def test_hostile_names_of_a_hub_are_refused(tmp_path: Path, there: Hub):
    made = store(tmp_path, foldered())
    there.offer(FILES | {"../../x.json": b"{}"})
    with pytest.raises(SightlineError, match="an unusable name"):
        made.get("test-folder")
    there.offer(FILES, siblings=3)
    with pytest.raises(SightlineError, match="was not understood"):
        made.get("test-folder")
    assert contents(made.folder) == {}


def test_a_repository_that_lacks_a_file_says_which(tmp_path: Path, there: Hub):
    there.offer({"config.json": b"{}"})
    with pytest.raises(SightlineError, match=r"missing: model\.safetensors, tokenizer/vocab\.txt"):
        store(tmp_path, foldered()).get("test-folder")


def test_a_disk_that_is_too_full_is_told_before_anything_is_fetched(
    tmp_path: Path, there: Hub, monkeypatch: pytest.MonkeyPatch
):
    full = type("usage", (), {"free": 10})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: full)
    with pytest.raises(SightlineError, match="not enough space"):
        store(tmp_path, foldered()).get("test-folder")
    assert there.fetched == []


def test_one_file_comes_from_the_address_on_its_card(tmp_path: Path, there: Hub):
    there.served.answers["/weights.pt"] = data(breaks=1)
    made = store(tmp_path, single(f"{there.served.address}/weights.pt"))
    status = made.get("test-net")
    assert (status.state, status.path.read_bytes()) == ("intact", CONTENT)
    assert sorted(contents(made.folder)) == ["test-net.pt", "test-net.pt.installed.toml"]
    there.served.asked.clear()
    made.get("test-net")
    assert there.served.asked == [], "what is there and whole is not fetched again"


def test_one_file_of_a_repository_is_fetched_alone(tmp_path: Path, there: Hub):
    wanted = replace(single(), repository=REPOSITORY, files=(CardFile("model.safetensors"),))
    made = store(tmp_path, wanted)
    assert made.get("test-net").state == "intact"
    assert there.fetched == ["model.safetensors"]
    assert (made.folder / "model.safetensors").read_bytes() == CONTENT


def test_a_file_of_another_repository_comes_from_its_own_address_without_the_token(
    tmp_path: Path, there: Hub, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HF_TOKEN", "secret")
    there.elsewhere.answers["/vision.json"] = data(b"{}")
    vision = CardFile("vision/config.json", url=f"{there.elsewhere.address}/vision.json")
    made = store(tmp_path, replace(foldered(), files=(*foldered().files, vision)))
    assert made.get("test-folder").state == "intact"
    assert (made.folder / "test-folder" / "vision" / "config.json").read_bytes() == b"{}"
    assert "Authorization" not in there.elsewhere.headers("/vision.json")


def test_what_has_no_address_or_comes_with_sightline_is_not_got(tmp_path: Path):
    made = store(tmp_path, replace(foldered(), repository=""), replace(single(), embedded=True))
    with pytest.raises(SightlineError, match="its card has no address"):
        made.get("test-folder")
    with pytest.raises(UsageError, match="comes with Sightline"):
        made.get("test-net")


def test_a_hub_that_answers_nonsense_for_a_file_does_not_fill_the_disk(tmp_path: Path, there: Hub):
    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            for _ in range(1000):
                request.wfile.write(bytes(1 << 16))
        except OSError:
            return

    there.served.answers[f"/{REPOSITORY}/resolve/{COMMIT}/config.json"] = endless
    made = store(tmp_path, foldered())
    with pytest.raises(SightlineError, match="more than the published file"):
        made.get("test-folder")
    assert sum(map(len, contents(made.folder).values())) < 1 << 20


def test_what_came_of_a_download_goes_with_the_model_and_not_with_one_of_a_like_name(
    tmp_path: Path, there: Hub
):
    made = store(tmp_path, foldered())
    gathered = made.folder / ".getting"
    longer = write_files(gathered / f"test-folder-hf-{COMMIT[:12]}", {"a": b"gigabytes"})
    part = write_files(gathered / "test-folder-fedcba987654", {"a.part": b"gigabytes"})
    made.remove("test-folder")
    assert (longer.is_dir(), part.exists()) == (True, False)
    made.get("test-folder")
    assert longer.is_dir()
