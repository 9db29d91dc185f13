"""Earlier conversations from the command line: list, show, export, replay."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from app.imaging.demo import demo_paths
from tests.e2e.conftest import Run

pytestmark = pytest.mark.e2e


@pytest.fixture
def asked(sightline: Run, tmp_path: Path) -> tuple[str, Path]:
    """A conversation about a film, and the film."""
    film = tmp_path / "film.dcm"
    shutil.copy(demo_paths()[0], film)
    done = sightline("ask", "Convert it to PNG", "--llm", "offline", "--image", film)
    assert done.returncode == 0, done.stderr
    (info,) = json.loads(sightline("sessions", "list", "--json").stdout)
    assert info["title"] == "Convert it to PNG"
    return info["thread_id"], film


@pytest.mark.slow
def test_a_replay_finds_what_differs_and_images_that_were_moved(
    sightline: Run, tmp_path: Path, asked: tuple[str, Path]
):
    thread_id, film = asked
    done = sightline("sessions", "replay", thread_id, "--json")
    assert done.returncode == 0, done.stderr
    (call,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (call["tool"], call["status"]) == ("dicom_processor", "same")

    moved = tmp_path / "elsewhere" / "other name.dcm"
    moved.parent.mkdir()
    film.rename(moved)
    without = sightline("sessions", "replay", thread_id)
    assert without.returncode == 1
    assert "image-1 was not found" in without.stdout
    assert "--image" in without.stdout
    named = sightline("sessions", "replay", thread_id, "--image", moved)
    assert named.returncode == 0, named.stdout + named.stderr

    (file,) = (tmp_path / "home").rglob("thread.jsonl")
    text = file.read_text(encoding="utf-8")
    assert text.count('"BitsStored":15') >= 1
    file.write_text(text.replace('"BitsStored":15', '"BitsStored":16'), encoding="utf-8")
    other = sightline("sessions", "replay", thread_id, "--image", moved)
    assert other.returncode == 1
    assert "metadata.BitsStored: 16 then, 15 now" in other.stdout


def test_show_and_export(sightline: Run, tmp_path: Path, asked: tuple[str, Path]):
    thread_id, _ = asked
    shown = sightline("sessions", "show", thread_id)
    assert shown.returncode == 0
    assert "Convert it to PNG" in shown.stdout
    assert "not for diagnosis" in shown.stdout
    for form in ("md", "html", "json"):
        target = tmp_path / f"kept.{form}"
        done = sightline("sessions", "export", thread_id, "--format", form, "--out", target)
        assert done.returncode == 0, done.stderr
        assert "patient data" in done.stderr
        assert "Convert it to PNG" in target.read_text(encoding="utf-8")


def test_what_is_not_there_is_said(sightline: Run):
    missing = sightline("sessions", "replay", "nothing")
    assert missing.returncode == 1
    assert "no such conversation" in missing.stderr
    assert sightline("sessions", "rewind", "x").returncode == 2
    assert "no conversations" in sightline("sessions").stderr


def test_a_conversation_is_found_named_and_deleted(
    sightline: Run, tmp_path: Path, asked: tuple[str, Path]
):
    thread_id, _ = asked
    assert sightline("sessions", "rename", thread_id, "Film of ward 7").returncode == 0
    (info,) = json.loads(sightline("sessions", "list", "--find", "ward png", "--json").stdout)
    assert info["title"] == "Film of ward 7"
    assert json.loads(sightline("sessions", "list", "--find", "effusion", "--json").stdout) == []

    kept = sightline("sessions", "delete", thread_id)
    assert kept.returncode == 1
    assert "--yes" in kept.stderr
    folders = [path.parent for path in (tmp_path / "home").rglob("thread.jsonl")]
    assert len(folders) == 1
    assert sightline("sessions", "delete", thread_id, "--yes").returncode == 0
    assert not folders[0].exists()
    log = sightline("audit", "list", "--json").stdout
    (entry,) = [line for line in log.splitlines() if "conversation_deleted" in line]
    assert thread_id in entry
    assert "ward" not in entry
    assert sightline("sessions", "delete", thread_id, "--yes").returncode != 0
