"""`sightline audit` and what the command line tells the log: real runs, one process."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring
from PIL import Image

from app.audit import AuditLog
from app.audit.entries import read_entries, segment_path
from app.audit.entry_text import KINDS
from app.audit.exports import record_export
from app.cli import main
from app.errors import SightlineError
from app.headless.runs import ToolCallRecord
from app.settings import Settings
from app.tools.api import Approval
from app.tools.models.store import ModelStore
from app.wiring import Program
from tests.support.fake_tools import FakeTool, Strict, ok

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield tmp_path / "home"
    keyring.set_keyring(before)


def picture(folder: Path) -> Path:
    path = folder / "Doe Jane.png"
    Image.new("L", (40, 30), 90).save(path)
    return path


def actions(home: Path) -> list[str]:
    return [entry.action for entry in read_entries(home / "data" / "audit")]


def segment(home: Path) -> Path:
    return segment_path(home / "data" / "audit", 1)


@pytest.mark.slow
def test_a_picture_that_is_written_is_in_the_log_and_found_by_its_file(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    out = tmp_path / "Jane.png"
    assert main(["render", str(picture(tmp_path)), "--out", str(out)]) == 0
    assert actions(home) == ["segment", "export_started", "exported"]
    whole = segment(home).read_bytes()
    assert b"Jane" not in whole
    assert b"Doe" not in whole
    assert main(["audit", "find", str(out)]) == 0
    told = capsys.readouterr()
    assert "Exported: picture, png" in told.out
    assert "Never sent. Once exported." in told.err
    source = str(tmp_path / "Doe Jane.png")
    assert main(["audit", "find", source]) == 0
    told = capsys.readouterr()
    assert "Exported: picture, png" in told.out
    assert "Never sent. Once exported." in told.err
    (tmp_path / "other.png").write_bytes(out.read_bytes() + b"x")
    assert main(["audit", "find", str(tmp_path / "other.png")]) == 1


def test_without_the_log_nothing_is_exported(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (home / "data").mkdir(parents=True)
    (home / "data" / "audit").write_text("in the way")
    out = tmp_path / "out.png"
    assert main(["render", str(picture(tmp_path)), "--out", str(out)]) == 1
    assert not out.exists()
    assert "audit log cannot be written" in capsys.readouterr().err


def test_a_tool_run_by_hand_is_recorded_and_the_image_is_found(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    source = picture(tmp_path)
    arguments = ["tool", "image_visualizer", "--image", str(source), "--out", str(tmp_path / "o")]
    assert main(arguments) == 0
    assert actions(home) == ["segment", "tool_started", "tool_finished"]
    started = list(read_entries(home / "data" / "audit"))[1].facts
    assert (started["tool"], started["via"]) == ("image_visualizer", "command line")
    capsys.readouterr()
    assert main(["audit", "find", str(source)]) == 0
    assert "Tool ended: image_visualizer" in capsys.readouterr().out


def test_a_tool_that_the_policy_refuses_is_recorded_too(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    outside = tmp_path / "Jane.png"
    arguments = ["tool", "image_visualizer", "--image", str(picture(tmp_path))]
    arguments += ["--out", str(tmp_path / "o"), "--args", json.dumps({"image_path": str(outside)})]
    assert main(arguments) == 2
    assert "neither an open image" in capsys.readouterr().err
    assert actions(home) == ["segment", "tool_finished"]
    refused = list(read_entries(home / "data" / "audit"))[1].facts
    assert (refused["tool"], refused["status"]) == ("image_visualizer", "not_run")


def test_asking_for_weights_is_recorded_before_anything_is_fetched(
    home: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[list[str]] = []

    def asked(self: ModelStore, name: str, *_: Any, **__: Any) -> None:
        seen.append(actions(home))
        raise SightlineError("nothing came")

    monkeypatch.setattr(ModelStore, "get", asked)
    assert main(["models", "get", "densenet121-res224-all"]) == 1
    assert seen == [["segment", "weights_asked"]]


def test_list_filters_and_prints_json(home: Path, capsys: pytest.CaptureFixture[str]):
    log = Program().audit
    for number in range(5):
        log.record("tool_started", {"tool": f"t{number}"})
    log.record("data_sent", {"host": "cloud.example", "characters": 3})
    assert main(["audit"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7
    assert main(["audit", "list", "--last", "2", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["action"] for line in lines] == ["tool_started", "data_sent"]
    assert main(["audit", "list", "--kind", "sent"]) == 0
    assert "3 characters to cloud.example" in capsys.readouterr().out
    assert main(["audit", "list", "--kind", "telepathy"]) == 2
    assert "telepathy" in capsys.readouterr().err


@pytest.mark.parametrize("last", ["-3", "0"])
def test_the_last_are_a_number_of_lines(home: Path, capsys: pytest.CaptureFixture[str], last: str):
    assert main(["audit", "list", "--last", last]) == 2
    assert last in capsys.readouterr().err


def test_the_help_names_every_kind_and_a_kind_without_entries_is_told(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    Program().audit.record("tool_started", {"tool": "t"})
    with pytest.raises(SystemExit):
        main(["audit", "list", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert ", ".join(KINDS).lower() in told
    assert main(["audit", "list", "--kind", "sent"]) == 0
    assert "nothing of the kind sent" in capsys.readouterr().err


def test_verify_ends_with_1_and_the_line_when_anything_was_changed(
    home: Path, capsys: pytest.CaptureFixture[str]
):
    log = Program().audit
    for number in range(3):
        log.record("tool_started", {"number": number})
    assert main(["audit", "verify"]) == 0
    told = capsys.readouterr().out
    assert "4 lines" in told
    anchor = told.splitlines()[-1].rpartition(" ")[2]
    path = segment(home)
    path.write_bytes(path.read_bytes().replace(b'"number":1', b'"number":7'))
    assert main(["audit", "verify"]) == 1
    told = capsys.readouterr()
    assert "audit-000001.jsonl, line 3: the line was changed" in told.out
    assert "line 3" in told.err
    assert main(["audit", "verify", "--json", "--anchor", anchor]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] is False
    assert report["problems"][0]["line"] == 3
    assert main(["audit", "verify", "--anchor", "x"]) == 2
    assert main(["audit", "anchor"]) == 1
    assert capsys.readouterr().out.startswith("audit-000001.jsonl, line 3")


def test_an_anchor_is_one_line_that_verify_takes_back(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["audit", "anchor"]) == 1
    assert "removed altogether" in capsys.readouterr().err
    log = Program().audit
    log.record("tool_started", {"number": 1})
    assert main(["audit", "anchor"]) == 0
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert re.fullmatch(
        r"Sightline audit log \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ 2 lines, end 2:[0-9a-f]{64}\n", line
    )
    log.record("tool_started", {"number": 2})
    mailed = f"Nov 23 16:00:01 host sightline-audit: {line}"
    assert main(["audit", "verify", "--anchor", mailed]) == 0
    assert "cannot be told from this computer alone" in capsys.readouterr().out
    (home / "data" / "audit").rename(tmp_path / "gone")
    assert main(["audit", "verify"]) == 0
    told = capsys.readouterr().out
    assert "nothing was recorded yet, or it was removed altogether" in told
    assert "cannot be told from this computer alone" in told
    assert main(["audit", "verify", "--anchor", mailed]) == 1
    assert "an end of one was noted" in capsys.readouterr().out


def test_a_section_names_every_slice_in_as_many_lines_as_it_takes(home: Path, tmp_path: Path):
    program, out = Program(), tmp_path / "section.png"
    uids = [f"1.2.3.{number}" for number in range(170)]
    with record_export(program.audit, "picture", out, images=[*uids, uids[0], ""]):
        out.write_bytes(b"x")
    told = [entry for entry in read_entries(home / "data" / "audit") if entry.action == "exported"]
    assert [len(entry.facts["images"]) for entry in told] == [80, 80, 10]
    named = [name for entry in told for name in entry.facts["images"]]
    assert named == [program.audit.name("image", uid) for uid in uids]


def test_find_wants_a_uid_or_a_file(capsys: pytest.CaptureFixture[str]):
    assert main(["audit", "find", "Jane Doe"]) == 2
    assert "UID" in capsys.readouterr().err
    assert main(["audit", "find", "1.2.840.99"]) == 1


def test_verify_and_list_make_no_log(home: Path):
    assert main(["audit"]) == 0
    assert main(["audit", "verify"]) == 0
    assert not (home / "data" / "audit").exists()


def test_a_tool_that_acts_is_not_run_by_hand_without_the_log(tmp_path: Path):
    (tmp_path / "audit").write_text("")
    log = AuditLog(tmp_path / "audit", b"k" * 32)
    write = FakeTool("save", Strict, ok("x"), approval=Approval.WRITE)
    with pytest.raises(Exception, match="save was not run"):
        ToolCallRecord(log, write.spec, "r", {}).begin()
    ToolCallRecord(log, FakeTool("look", Strict, ok("x")).spec, "r", {}).begin()


def test_settings_and_withdrawn_consents_are_recorded(home: Path):
    program = Program()
    changed = Settings.model_validate({"policy": {"tools": {"x": "deny"}}})
    program.change_settings(changed)
    program.consents.withdraw("cloud.example")
    program.grants.withdraw(tool="save")
    program.grants.strict = "deny"
    for thread in threading.enumerate():
        if thread.name == "audit":
            thread.join()
    assert set(actions(home)) == {
        "segment",
        "settings_changed",
        "consent_withdrawn",
        "grants_withdrawn",
        "session_rule",
    }
