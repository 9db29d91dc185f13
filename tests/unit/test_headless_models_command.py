"""`sightline models`: the command on a models folder of its own, with cards of its own."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring

from app.audit.entries import read_entries
from app.cli import main
from app.tools.models import store
from app.tools.models.cards import CardFile, ModelCard, cards_table
from tests.unit.tools.model_support import (
    CODE,
    CONTENT,
    FILES,
    TERMS,
    foldered,
    single,
    write_files,
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SIGHTLINE_MODELS", str(tmp_path / "models"))
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield tmp_path / "home"
    keyring.set_keyring(before)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(*known: ModelCard) -> None:
        monkeypatch.setattr(store, "cards", lambda: {card.name: card for card in known})

    return use


def noted(home: Path) -> list[tuple[str, dict[str, Any]]]:
    """Actions of the audit log, with their facts."""
    entries = read_entries(home / "data" / "audit")
    return [(entry.action, dict(entry.facts)) for entry in entries if entry.action != "segment"]


def rows(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return json.loads(capsys.readouterr().out)


class Terminal(io.StringIO):
    """What somebody types."""

    def isatty(self) -> bool:
        return True


def test_a_model_is_installed_listed_verified_packed_and_removed(
    tmp_path: Path, home: Path, known: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    known(foldered(), single())
    source = write_files(tmp_path / "test-folder", FILES)
    assert main(["models", "install", str(source), "--json"]) == 0
    (row,) = rows(capsys)
    assert (row["name"], row["state"]) == ("test-folder", "installed")
    assert main(["models", "--json"]) == 0
    assert {r["name"]: r["state"] for r in rows(capsys)} == {
        "test-folder": "installed",
        "test-net": "not installed",
    }
    assert main(["models", "verify", "test-folder", "--json"]) == 0
    assert rows(capsys)[0]["state"] == "intact"
    pack = tmp_path / "pack.zip"
    assert main(["models", "pack", "test-folder", "--out", str(pack)]) == 0
    assert main(["models", "remove", "test-folder"]) == 0
    assert "test-folder: not installed" in capsys.readouterr().out
    assert main(["models", "install", str(pack)]) == 0
    assert [action for action, _facts in noted(home)] == [
        "model_installed",
        "model_removed",
        "model_installed",
    ]


def test_verify_ends_with_1_where_a_model_was_changed(
    tmp_path: Path, known: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    known(foldered())
    main(["models", "install", str(write_files(tmp_path / "test-folder", FILES))])
    (tmp_path / "models" / "test-folder" / "config.json").write_bytes(b'{"model_type": "NET"}')
    assert main(["models", "verify"]) == 1
    assert "changed since it was installed: config.json" in capsys.readouterr().out
    (tmp_path / "models" / "test-folder" / "config.json").unlink()
    assert main(["models", "verify"]) == 1
    assert "missing: config.json" in capsys.readouterr().out
    main(["models", "remove", "test-folder"])
    assert main(["models", "verify"]) == 0, "what nobody installed is not wrong"
    assert main(["models", "verify", "test-folder"]) == 1, "but it was asked for"


def test_terms_are_shown_and_without_a_terminal_the_option_is_named(
    tmp_path: Path, home: Path, known: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    known(foldered(terms=TERMS))
    source = str(write_files(tmp_path / "test-folder", FILES))
    assert main(["models", "install", source]) == 1
    told = capsys.readouterr().err
    assert TERMS in told
    assert "--accept-terms" in told
    assert noted(home) == []
    assert main(["models", "install", source, "--accept-terms"]) == 0
    assert noted(home)[-1][1]["terms"] is True


@pytest.mark.parametrize(("typed", "code"), [("yes\n", 0), ("\n", 1), ("no\n", 1), ("", 1)])
def test_terms_are_asked_on_a_terminal(
    tmp_path: Path,
    known: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    code: int,
):
    known(foldered(terms=TERMS))
    source = str(write_files(tmp_path / "test-folder", FILES))
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    monkeypatch.setattr("app.headless.common.can_ask", lambda: True)
    assert main(["models", "install", source]) == code
    assert (tmp_path / "models" / "test-folder").exists() == (code == 0)


def test_code_needs_its_own_yes(
    tmp_path: Path, home: Path, known: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    wanted = foldered(code=True)
    known(replace(wanted, files=(*wanted.files, CardFile("modeling_net.py", code=True))))
    source = str(write_files(tmp_path / "test-folder", FILES | CODE))
    assert main(["models", "install", source, "--accept-terms"]) == 1
    assert "--allow-code" in capsys.readouterr().err
    assert main(["models", "install", source, "--allow-code", "--json"]) == 0
    assert rows(capsys)[0]["code"] == "allowed"
    assert noted(home)[-1][1]["code"] is True


def test_a_folder_copied_by_hand_is_accepted_afterwards(
    tmp_path: Path, home: Path, known: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    known(foldered(terms=TERMS))
    write_files(tmp_path / "models" / "test-folder", FILES)
    assert main(["models"]) == 0
    assert "terms are not accepted" in capsys.readouterr().out
    assert main(["models", "accept", "test-folder"]) == 1
    assert main(["models", "accept", "test-folder", "--accept-terms", "--json"]) == 0
    assert rows(capsys)[0]["accepted"] is True
    assert noted(home)[-1] == ("model_accepted", {"model": "test-folder", "code": False})


def test_a_file_of_another_kind_needs_its_name_and_a_word(
    tmp_path: Path, known: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    known(replace(single(), check=""))
    source = tmp_path / "mine.pt"
    source.write_bytes(b"mine")
    assert main(["models", "install", str(source)]) == 2
    assert main(["models", "install", str(source), "--name", "test-net"]) == 1
    assert "--other" in capsys.readouterr().err
    assert main(["models", "install", str(source), "--name", "test-net", "--other"]) == 0
    source.write_bytes(CONTENT)
    assert main(["models", "install", str(source), "--json"]) == 0
    assert main(["models", "verify", "--json"]) == 0


def test_one_is_shown_in_full_with_its_terms(
    known: Callable[..., None], capsys: pytest.CaptureFixture[str]
):
    known(replace(foldered(terms=TERMS), limits=("It errs.",), intended_use="To look."))
    assert main(["models", "show", "test-folder"]) == 0
    told = capsys.readouterr().out
    for part in (TERMS, "It errs.", "To look.", "owner/Test-Folder", "models get test-folder"):
        assert part in told


def test_the_table_of_the_documentation_is_printed(capsys: pytest.CaptureFixture[str]):
    assert main(["models", "list", "--markdown"]) == 0
    assert capsys.readouterr().out.strip() == cards_table()


@pytest.mark.parametrize("arguments", [["get"], ["pack", "x"], ["remove"], ["get", "no-such"]])
def test_wrong_usage_is_2(arguments: list[str]):
    assert main(["models", *arguments]) == 2
