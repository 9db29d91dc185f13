"""What an export may write over: nothing that is open, no link, no device, and nothing unasked."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image

from app.audit.exports import record_deletion, record_export
from app.cli import main
from app.errors import FileProblem

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture
def film(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A picture to render; the program's own folders are temporary."""
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
    Image.new("L", (8, 8), 7).save(tmp_path / "film.png")
    return tmp_path / "film.png"


def test_render_never_replaces_the_file_that_it_shows(
    film: Path, capsys: pytest.CaptureFixture[str]
):
    before = film.read_bytes()
    (film.parent / "hard.png").hardlink_to(film)
    for name in ("film.png", "hard.png"):
        assert main(["render", str(film), "--out", str(film.with_name(name)), "--force"]) == 1
        assert "is open here" in capsys.readouterr().err
    assert main(["render", str(film.parent), "--out", str(film), "--force"]) == 1
    assert film.read_bytes() == before


@pytest.mark.slow
def test_render_replaces_another_file_only_when_asked(
    film: Path, capsys: pytest.CaptureFixture[str]
):
    there = film.with_name("letter.txt")
    there.write_text("Dear colleague")
    assert main(["render", str(film), "--out", str(there)]) == 1
    assert "--force" in capsys.readouterr().err
    assert there.read_text() == "Dear colleague"
    assert main(["render", str(film), "--out", str(there), "--force"]) == 0
    assert there.read_bytes().startswith(b"\x89PNG")


SLOW_KINDS = [
    pytest.param(kind, marks=pytest.mark.slow) for kind in ("dangling link", "pipe", "device")
]


@pytest.mark.parametrize("kind", ["link", "folder", *SLOW_KINDS])
def test_nothing_but_a_regular_file_is_written_over(film: Path, kind: str):
    target, other = film.with_name("target.png"), film.with_name("other.txt")
    other.write_text("kept")
    if kind.endswith("link"):
        target.symlink_to(other if kind == "link" else film.with_name("nothing"))
    elif kind == "pipe":
        os.mkfifo(target)
    elif kind == "folder":
        target.mkdir()
    else:
        with contextlib.suppress(PermissionError):  # only an administrator can make one
            os.mknod(target, stat.S_IFCHR, os.makedev(1, 3))
        if not target.exists():
            pytest.skip("needs the right to make a device")
    for more in ([], ["--force"]):
        assert main(["render", str(film), "--out", str(target), *more]) == 1
    assert target.is_symlink() == kind.endswith("link")
    assert other.read_text() == "kept"
    assert not film.with_name("nothing").exists()


def test_an_export_replaces_what_the_dialogue_asked_about_and_no_opened_file(film: Path):
    with record_export(None, "conversation", film, replace=True):
        film.write_bytes(b"new")
    with (
        pytest.raises(FileProblem, match="is open here"),
        record_export(None, "conversation", film, opened=[film], replace=True),
    ):
        film.write_bytes(b"lost")
    assert film.read_bytes() == b"new"


def test_a_screenshot_replaces_nothing_unasked(film: Path, capsys: pytest.CaptureFixture[str]):
    before = film.read_bytes()
    for more in ([], ["--force"]):
        assert main([str(film), "--screenshot", str(film), *more]) == 1
        assert "is open here" in capsys.readouterr().err
    assert main(["--demo", "--screenshot", str(film)]) == 1
    assert main(["--demo", "--screenshot", str(film.with_suffix(""))]) == 1
    assert film.read_bytes() == before


def test_a_conversation_is_not_exported_over_a_file_unasked(
    film: Path, capsys: pytest.CaptureFixture[str]
):
    assert main(["ask", "What can you do?", "--llm", "offline"]) == 0
    assert main(["sessions"]) == 0
    (thread,) = [w for w in capsys.readouterr().out.split() if w[:4].isdigit() and "-" in w][:1]
    there = film.with_name("letter.md")
    there.write_text("Dear colleague")
    assert main(["sessions", "export", thread, "--out", str(there)]) == 1
    assert there.read_text() == "Dear colleague"
    assert main(["sessions", "export", thread, "--out", str(there), "--force"]) == 0
    assert "Dear colleague" not in there.read_text()


def test_a_deletion_is_in_the_log_by_its_id_and_so_is_its_failure():
    class Log:
        told: ClassVar[list[dict[str, Any]]] = []

        def record(self, action: str, facts: dict[str, Any], *, sync: bool = False) -> None:
            assert (action, sync) == ("conversation_deleted", True)
            self.told.append(facts)

        def note(self, action: str, facts: dict[str, Any]) -> None:
            self.told.append({action: facts})

    log: Any = Log()
    with record_deletion(log, "a"):
        assert log.told == [{"thread": "a"}], "before anything is deleted"
    with pytest.raises(FileProblem), record_deletion(log, "b"):
        raise FileProblem("in use")
    failed = {"conversation_deleted": {"thread": "b", "status": "failed"}}
    assert log.told == [{"thread": "a"}, {"thread": "b"}, failed]
