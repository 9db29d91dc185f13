"""The models folder: what is there, whether it is what it was, what may be used of it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.errors import Cancelled, SightlineError, UsageError
from app.tools.api import CancelToken, ToolFailed
from app.tools.models import records
from app.tools.models.cards import CardFile, card, cards
from app.tools.models.records import sha256_of
from app.tools.models.store import ModelStore
from app.tools.needs import is_installed
from tests.unit.tools.model_support import (
    CODE,
    CONTENT,
    FILES,
    TERMS,
    foldered,
    single,
    store,
    write_files,
)
from tests.unit.tools.support import FakeHost


def test_the_overview_is_json_and_says_how_to_get_what_is_missing(tmp_path: Path):
    made = ModelStore(tmp_path / "models")
    rows = [status.as_dict() for status in made.overview()]
    assert json.loads(json.dumps(rows)) == rows
    assert [row["name"] for row in rows] == list(cards())
    densenet = card("densenet121-res224-all")
    missing = next(row for row in rows if row["name"] == densenet.name)
    assert missing["state"] == "not installed"
    assert missing["path"] == str(tmp_path / "models" / densenet.files[0].name)
    assert "chest_xray_classifier" in missing["used_by"]
    for part in (f"models get {densenet.name}", densenet.files[0].url, str(tmp_path / "models")):
        assert part in missing["how_to_get"]


def test_the_embedded_network_is_shipped_and_whole(tmp_path: Path):
    (status,) = ModelStore(tmp_path).verify("thorax-net")
    assert (status.state, status.note) == ("intact", "")
    assert status.bytes < 2_000_000
    assert status.path.is_file()


def test_an_embedded_file_that_is_not_the_shipped_one_is_broken(tmp_path: Path):
    made = store(tmp_path, replace(single(), embedded=True))
    folder = write_files(tmp_path / "shipped" / "test-net", {"test-net.pt": b"damaged"})
    (folder / "card.json").write_text(json.dumps({"sha256": hashlib.sha256(b"whole").hexdigest()}))
    assert made.verify()[0].state == "broken"
    assert "damaged" in made.require("test-net", "A tool").warnings[0]


def test_a_file_copied_by_hand_counts_as_installed(tmp_path: Path):
    made = store(tmp_path)
    (made.folder / "test-net.pt").write_bytes(CONTENT)
    assert made.overview()[0].state == "installed"
    assert made.verify()[0].state == "intact"
    found = made.require("test-net", "A tool")
    assert (found.path, found.warnings) == (made.folder / "test-net.pt", ())
    assert found.sha256 == single().files[0].sha256
    assert found.payload("cpu")["model"]["path"] == str(found.path)


def test_a_safetensors_conversion_counts_too_with_a_warning(tmp_path: Path):
    made = store(tmp_path)
    (made.folder / "test-net.safetensors").write_bytes(b"x")
    found = made.require("test-net", "A tool")
    assert found.path == made.folder / "test-net.safetensors"
    assert "differ from the published file" in found.warnings[0]


def test_what_is_missing_fails_with_file_place_and_way(tmp_path: Path):
    made = store(tmp_path, single(), foldered())
    with pytest.raises(ToolFailed) as caught:
        made.require("test-net", "A tool")
    assert "test-net.pt" in caught.value.reason
    assert str(made.folder) in caught.value.remedy
    with pytest.raises(ToolFailed, match="A folder") as caught:
        made.require("test-folder", "A tool")
    assert "https://huggingface.co/owner/Test-Folder" in caught.value.remedy
    assert not made.has("test-folder")
    assert not made.has("no such model")


def test_a_folder_is_there_when_all_that_is_needed_is(tmp_path: Path):
    wanted = foldered()
    wanted = replace(wanted, files=(*wanted.files, CardFile("extra.json", optional=True)))
    made = store(tmp_path, wanted)
    folder = write_files(made.folder / "test-folder", {"config.json": b"{}"})
    status = made.overview()[0]
    assert status.state == "partly"
    assert status.missing == ("model.safetensors", "tokenizer/vocab.txt")
    assert made.find(wanted) is None
    write_files(folder, FILES)
    assert made.overview()[0].state == "installed"
    found = made.require("test-folder", "A tool")
    assert found.path == folder
    assert "no digests of the published ones" in found.warnings[0]


def test_files_that_a_pattern_names_are_looked_for(tmp_path: Path):
    wanted = replace(foldered(), files=(CardFile("model-*.safetensors"),))
    made = store(tmp_path, wanted)
    folder = write_files(made.folder / "test-folder", {"model.safetensors": b"x"})
    assert made.overview()[0].state == "partly"
    write_files(folder, {"model-1-of-2.safetensors": b"x", "model-2-of-2.safetensors": b"y"})
    assert made.overview()[0].state == "installed"
    assert made.overview()[0].bytes == 2


def test_the_digest_of_a_folder_changes_with_any_of_its_files(tmp_path: Path):
    made = store(tmp_path, foldered())
    folder = write_files(made.folder / "test-folder", FILES)
    before = made.require("test-folder", "A tool").sha256
    (folder / "tokenizer" / "vocab.txt").write_bytes(b"a\nc\n")
    assert made.require("test-folder", "A tool").sha256 != before
    assert len(before) == 64


def test_terms_must_be_accepted_even_of_files_that_were_copied_by_hand(tmp_path: Path):
    made = store(tmp_path, foldered(terms=TERMS))
    write_files(made.folder / "test-folder", FILES)
    with pytest.raises(ToolFailed, match="terms are not accepted") as caught:
        made.require("test-folder", "A tool")
    assert "models accept test-folder" in caught.value.remedy
    assert made.accept("test-folder").accepted
    assert made.require("test-folder", "A tool").accepted
    later = store(tmp_path, foldered(terms="You may not look at it any more."))
    with pytest.raises(ToolFailed, match="terms are not accepted"):
        later.require("test-folder", "A tool")


def test_code_runs_only_after_a_yes_and_only_while_it_stays_the_same(tmp_path: Path):
    made = store(tmp_path, foldered(code=True))
    folder = write_files(made.folder / "test-folder", FILES | CODE)
    found = made.require("test-folder", "A tool")
    assert not found.code_allowed
    assert found.payload("cpu")["model"]["trust_remote_code"] is False
    assert made.accept("test-folder").code == "not allowed"
    assert made.accept("test-folder", code=True).code == "allowed"
    assert made.require("test-folder", "A tool").payload("cpu")["model"]["trust_remote_code"]
    before = (folder / "modeling_net.py").stat()
    (folder / "modeling_net.py").write_bytes(b"print('HELLO')\n")
    os.utime(folder / "modeling_net.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert made.overview()[0].code == "changed", "found although size and time are the same"
    assert not made.require("test-folder", "A tool").code_allowed


def test_code_that_was_put_beside_allowed_code_withdraws_the_yes(tmp_path: Path):
    made = store(tmp_path, foldered(code=True))
    folder = write_files(made.folder / "test-folder", FILES | CODE)
    made.accept("test-folder", code=True)
    write_files(folder, {"tokenizer/more.py": b"pass"})
    assert made.overview()[0].code == "changed"


def test_settings_that_name_code_of_another_repository_withdraw_the_yes(tmp_path: Path):
    made = store(tmp_path, foldered(code=True))
    elsewhere = json.dumps({"auto_map": {"AutoModel": "other/repo--modeling_x.Net"}}).encode()
    write_files(made.folder / "test-folder", FILES | CODE | {"config.json": elsewhere})
    assert made.accept("test-folder", code=True).code == "not allowed"
    own = json.dumps({"auto_map": {"AutoModel": "modeling_net.Net"}}).encode()
    write_files(made.folder / "test-folder", {"config.json": own})
    assert made.accept("test-folder", code=True).code == "allowed"


def test_there_is_no_yes_to_code_where_the_card_has_none(tmp_path: Path):
    made = store(tmp_path, foldered())
    write_files(made.folder / "test-folder", FILES | CODE)
    with pytest.raises(UsageError, match="does not allow code"):
        made.accept("test-folder", code=True)
    assert made.overview()[0].code == ""
    with pytest.raises(UsageError, match="not installed"):
        store(tmp_path).accept("test-net")


def test_verify_finds_each_change_since_the_install(tmp_path: Path):
    made = store(tmp_path, foldered())
    folder = write_files(made.folder / "test-folder", FILES)
    assert made.verify()[0].state == "installed", "there is nothing to compare with"
    made.accept("test-folder")
    assert made.verify()[0].state == "intact"
    before = (folder / "config.json").stat()
    (folder / "config.json").write_bytes(b'{"model_type": "NET"}')
    os.utime(folder / "config.json", ns=(before.st_atime_ns, before.st_mtime_ns))
    status = made.verify()[0]
    assert (status.state, "config.json" in status.note) == ("broken", True)
    (folder / "config.json").write_bytes(b"{}")
    assert made.overview()[0].state == "broken", "its size says so without reading"
    assert "were changed" in made.require("test-folder", "A tool").warnings[0]


def test_verify_tells_other_weights_from_broken_ones(tmp_path: Path):
    made = store(tmp_path)
    (made.folder / "test-net.pt").write_bytes(b"other")
    assert made.overview()[0].state == "other"
    assert made.verify()[0].state == "other"

    def broken(payload: Any) -> dict[str, Any]:
        raise ToolFailed("this weights file cannot be read")

    if is_installed("torch"):
        assert made.verify(host=FakeHost(broken))[0].state == "broken"
        host = FakeHost({})
        assert made.verify(host=host)[0].state == "other"
        assert host.calls[0][1]["weights"] == str(made.folder / "test-net.pt")


def test_verify_can_be_stopped_and_tells_how_far_it_is(tmp_path: Path):
    made = store(tmp_path)
    (made.folder / "test-net.pt").write_bytes(CONTENT)
    heard: list[float] = []
    made.verify(progress=lambda fraction, _text: heard.append(fraction))
    assert heard[-1] == 1.0
    cancel = CancelToken()
    with pytest.raises(Cancelled):
        made.verify(progress=lambda *_: cancel.cancel(), cancel=cancel)


def test_a_changed_file_is_hashed_again(tmp_path: Path):
    path = tmp_path / "x"
    path.write_bytes(b"one")
    assert sha256_of(path) == hashlib.sha256(b"one").hexdigest()
    path.write_bytes(b"three")
    assert sha256_of(path) == hashlib.sha256(b"three").hexdigest()


def test_digests_of_large_files_are_remembered_by_the_next_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(records, "_STORED_FROM", 1)
    path = tmp_path / "large"
    path.write_bytes(b"much")
    expected = sha256_of(path)
    records._digests.cache_clear()
    monkeypatch.setattr(records, "read_sha256", lambda *_: pytest.fail("it was read again"))
    assert sha256_of(path) == expected


def test_remove_deletes_a_models_files_and_no_others(tmp_path: Path):
    made = store(tmp_path, single(), foldered())
    write_files(made.folder / "test-folder", FILES)
    (made.folder / "test-net.pt").write_bytes(CONTENT)
    made.accept("test-net")
    made.accept("test-folder")
    assert made.remove("test-net").state == "not installed"
    assert [path.name for path in made.folder.iterdir()] == ["test-folder"]
    assert made.remove("test-folder").state == "not installed"
    assert list(made.folder.iterdir()) == []
    with pytest.raises(UsageError, match="comes with Sightline"):
        ModelStore(tmp_path / "models").remove("thorax-net")


def test_a_link_to_a_folder_elsewhere_is_removed_and_not_what_it_leads_to(tmp_path: Path):
    made = store(tmp_path, foldered())
    elsewhere = write_files(tmp_path / "elsewhere", FILES)
    (made.folder / "test-folder").symlink_to(elsewhere)
    assert made.overview()[0].state == "installed"
    made.remove("test-folder")
    assert (elsewhere / "config.json").is_file()
    assert list(made.folder.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = store(tmp_path)
    (made.folder / "test-net.pt").write_bytes(CONTENT)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("app.tools.models.store.write_record", full)
    with pytest.raises(SightlineError, match="No space left"):
        made.accept("test-net")


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path):
    with pytest.raises(UsageError, match="test-net"):
        store(tmp_path).card("no-such")
    assert store(tmp_path).card("test-net.pt").name == "test-net"


@pytest.mark.parametrize(
    "name", ["model.safetensors.index.json", "chat_template.jinja", "tokenizer/merges.txt"]
)
def test_a_file_that_was_put_beside_an_installed_model_is_a_change_of_it(tmp_path: Path, name: str):
    made = store(tmp_path, foldered())
    folder = write_files(made.folder / "test-folder", FILES)
    made.accept("test-folder")
    write_files(folder, {"README.md": b"read by people", "LICENSE": b"", ".notes.json": b"{}"})
    assert made.verify()[0].state == "intact"
    write_files(folder, {name: b"{}"})
    assert made.overview()[0].state == "broken"
    status = made.verify()[0]
    assert (status.state, name in status.note) == ("broken", True)
    assert "were changed" in made.require("test-folder", "A tool").warnings[0]
    made.accept("test-folder")
    assert made.verify()[0].state == "intact", "it is the user's word now"
