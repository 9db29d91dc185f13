"""Files, manifests and hubs made to break the program: refused in words, and nothing is written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.errors import SightlineError
from app.tools.models import downloads
from app.tools.models.cards import CardFile
from app.tools.models.downloads import host_of
from app.tools.models.sources import MANIFEST
from tests.unit.tools.model_support import (
    CONTENT,
    FILES,
    contents,
    digest,
    foldered,
    single,
    store,
    write_files,
)
from tests.unit.tools.models.test_download_file import data
from tests.unit.tools.models.test_downloads import COMMIT, REPOSITORY, Hub, said, there

__all__ = ["there"]

DEEP = b"[" * 100_000


def header(text: bytes) -> bytes:
    return len(text).to_bytes(8, "little") + text


@pytest.mark.parametrize(
    "weights",
    [
        header(DEEP),
        header(b'{"a":{"data_offsets":[0,1e999]}}'),
        header(b'{"a":{"data_offsets":[]}}'),
    ],
)
def test_weights_with_a_header_made_to_break_their_reader_are_damaged_ones(
    tmp_path: Path, weights: bytes
):
    made = store(tmp_path, foldered())
    source = write_files(tmp_path / "Test-Folder", FILES | {"model.safetensors": weights})
    with pytest.raises(SightlineError, match="damaged"):
        made.install(made.plan_install(source))
    assert contents(made.folder) == {}


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        (b"a = " + DEEP, "not the manifest"),
        (
            b'format = 1\n[[models]]\ncard = "x"\nrevision = "\\u001b[2J"\nfiles = []',
            "not a commit",
        ),
        (
            b'format = 1\n[[models]]\ncard = "x"\n[[models.files]]\nname = "a"\nsize = 1\n'
            b'sha256 = "\\u001b[2J"',
            "an invalid sha256",
        ),
    ],
)
def test_a_manifest_made_to_break_its_reader_or_a_terminal_is_refused(
    tmp_path: Path, manifest: bytes, why: str
):
    made = store(tmp_path, foldered())
    source = write_files(tmp_path / "pack", {MANIFEST: manifest})
    with pytest.raises(SightlineError, match=why):
        made.plan_install(source)


def test_a_folder_whose_settings_nobody_can_read_is_none_that_is_known(tmp_path: Path):
    made = store(tmp_path, foldered())
    source = write_files(tmp_path / "x", {"config.json": DEEP, "a.txt": b""})
    with pytest.raises(SightlineError, match="not a model that Sightline knows"):
        made.plan_install(source)


def test_a_cache_of_the_hub_with_a_damaged_branch_is_taken_by_its_one_snapshot(tmp_path: Path):
    made = store(tmp_path, foldered())
    top = write_files(tmp_path / "models--owner--Test-Folder", {"refs/main": b"\xff\xfe"})
    write_files(top / "snapshots" / COMMIT, FILES)
    assert made.plan_install(top).models[0].revision == COMMIT


@pytest.mark.parametrize(
    "answer",
    [
        DEEP,
        said(FILES, siblings=[3]),
        said(FILES, siblings=[{"rfilename": 3}]),
        said(FILES, siblings=[{"rfilename": "config.json", "size": -5}]),
        said(FILES, siblings=[{"rfilename": "config.json", "lfs": "x"}]),
        said(FILES, siblings=[{"rfilename": "a", "lfs": {"size": 1, "sha256": "\x1b[2J"}}]),
        said(FILES, siblings=[{"rfilename": "config.json", "size": 1e400}]),
        said(FILES, sha="é" * 40),
        said(FILES, sha="z" * 40),
        json.dumps([1]).encode(),
    ],
)
def test_a_mirror_that_lists_nonsense_is_said_to(tmp_path: Path, there: Hub, answer: bytes):
    there.served.answers[f"/api/models/{REPOSITORY}/revision/main?blobs=true"] = data(answer)
    made = store(tmp_path, foldered())
    with pytest.raises(SightlineError, match="was not understood"):
        made.get("test-folder")
    assert contents(made.folder) == {}


def test_a_mirror_that_lists_without_end_is_read_only_so_far(tmp_path: Path, there: Hub):
    path = f"/api/models/{REPOSITORY}/revision/main?blobs=true"
    there.served.answers[path] = data(said(FILES, note="x" * downloads._LONGEST_ANSWER))
    with pytest.raises(SightlineError, match="too long"):
        store(tmp_path, foldered()).get("test-folder")
    assert there.served.headers(path)["Accept-Encoding"] == "identity", "what is packed can grow"


@pytest.mark.parametrize("token", ["hf_a\nhf_b", "hf_sécret", "hf_a b"])
def test_a_token_that_cannot_be_sent_is_not_told(
    tmp_path: Path, there: Hub, monkeypatch: pytest.MonkeyPatch, token: str
):
    monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(SightlineError, match="HF_TOKEN is not an access token") as caught:
        store(tmp_path, foldered()).get("test-folder")
    assert "hf_" not in str(caught.value) + caught.value.detail
    assert there.served.asked == []


def test_a_mirrors_password_reaches_neither_the_audit_log_nor_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_HUB", "https://me:secret@mirror.example")
    assert host_of(foldered()) == "mirror.example"
    with pytest.raises(SightlineError, match="name or password") as caught:
        store(tmp_path, foldered()).get("test-folder")
    assert "secret" not in f"{caught.value} {caught.value.subject} {caught.value.detail}"
    monkeypatch.setenv("SIGHTLINE_HUB", "https://[mirror")
    with pytest.raises(SightlineError, match="only https"):
        store(tmp_path, foldered()).get("test-folder")


def test_a_pack_with_two_files_for_a_model_of_one_is_refused(tmp_path: Path):
    files = {"test-net.pt": b"pickle", "test-net.safetensors": CONTENT}
    rows = "".join(
        f'[[models.files]]\nname = "{name}"\nsize = {len(content)}\nsha256 = "{digest(content)}"\n'
        for name, content in files.items()
    )
    manifest = f'format = 1\n[[models]]\ncard = "test-net"\n{rows}'.encode()
    source = write_files(tmp_path / "pack", {MANIFEST: manifest})
    write_files(source / "test-net", files)
    made = store(tmp_path, replace(single(), files=(CardFile("test-net.pt"),)))
    with pytest.raises(SightlineError, match="lists 2 files of test-net, which has one"):
        made.plan_install(source)
