"""Two Sightlines, one models folder."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.errors import SightlineError
from app.tools.models.locking import ChangeLock
from tests.unit.tools.model_support import FILES, contents, foldered, store, write_files

HOLDS = """
import sys
from pathlib import Path
from app.tools.models.locking import ChangeLock
with ChangeLock(Path(sys.argv[1])).held():
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_one_program_changes_no_other_one_does_until_it_is_done_or_dead(tmp_path: Path):
    made = store(tmp_path, foldered())
    plan = made.plan_install(write_files(tmp_path / "test-folder", FILES))
    made.install(plan)
    other = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(made.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"held\n"
    changes = (
        lambda: made.install(plan),
        lambda: made.get("test-folder"),
        lambda: made.accept("test-folder"),
        lambda: made.remove("test-folder"),
    )
    for change in changes:
        with pytest.raises(SightlineError, match="another Sightline is"):
            change()
    assert made.verify()[0].state == "intact", "looking is free"
    other.kill()
    other.communicate()
    made.install(plan)
    assert ".changing" not in contents(made.folder)


def test_what_another_program_has_moved_aside_for_a_moment_is_not_taken_back(tmp_path: Path):
    made, other = store(tmp_path, foldered()), store(tmp_path, foldered())
    made.install(made.plan_install(write_files(tmp_path / "test-folder", FILES)))
    aside = made.folder / ".replaced-test-folder"
    aside.mkdir()
    (made.folder / "test-folder").rename(aside / "test-folder")
    with ChangeLock(made.folder).held():
        assert other.overview()[0].state == "not installed"
        assert aside.is_dir()
    assert other.overview()[0].state == "installed", "left behind by a program that was killed"


def test_a_thread_waits_for_the_other_and_may_enter_what_it_holds(tmp_path: Path):
    lock, order = ChangeLock(tmp_path), list[str]()

    def later() -> None:
        with lock.held():
            order.append("second")

    with lock.held(), lock.held_if_free() as again:
        assert again
        thread = threading.Thread(target=later)
        thread.start()
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]
    assert contents(tmp_path) == {}


def test_who_holds_it_for_an_instant_only_makes_no_change_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A look that puts back what was left behind, while an installation begins."""
    with contextlib.ExitStack() as look:
        assert look.enter_context(ChangeLock(tmp_path).held_if_free())
        monkeypatch.setattr("app.tools.models.locking.time.sleep", lambda _s: look.close())
        with ChangeLock(tmp_path).held() as alone:
            assert alone


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="another way on Windows")
def test_a_lock_that_was_deleted_by_its_holder_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    lock, opened = ChangeLock(tmp_path), os.open

    def late(path: Path, *how: int) -> int:
        handle = opened(path, *how)
        if not tries:
            path.unlink()
        tries.append(handle)
        return handle

    tries: list[int] = []
    monkeypatch.setattr(os, "open", late)
    with lock.held():
        assert len(tries) == 2
        with ChangeLock(tmp_path).held_if_free() as free:
            assert not free
