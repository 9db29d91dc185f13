"""Two Sightlines, one models folder."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from app.errors import SightlineError
from app.tools.models import status
from app.tools.models.folder_changes import ChangeLock
from app.tools.models.install_plan import Consent
from tests.unit.tools.model_support import (
    CONTENT,
    FILES,
    TERMS,
    contents,
    foldered,
    single,
    store,
    write_files,
)

HOLDS = """
import sys
from pathlib import Path
from app.tools.models.folder_changes import ChangeLock
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


def test_a_yes_is_written_down_of_the_files_that_are_there_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The record would say that the new files are the old ones: broken, from then on."""
    made = store(tmp_path, foldered(terms=TERMS))
    source = write_files(tmp_path / "test-folder", FILES)
    made.install(made.plan_install(source), Consent(terms=True))
    free: list[bool] = []
    real = status.accepted_record

    def late(*given: Any, **more: Any) -> Any:
        with ChangeLock(made.folder).held_if_free() as now:
            free.append(now)
        return real(*given, **more)

    monkeypatch.setattr("app.tools.models.store.accepted_record", late)
    made.accept("test-folder")
    assert free == [False]


def test_a_pack_is_written_of_models_that_nobody_changes_meanwhile(tmp_path: Path):
    made, other = store(tmp_path, foldered()), store(tmp_path, foldered())
    plan = made.plan_install(write_files(tmp_path / "test-folder", FILES))
    made.install(plan)
    heard: list[str] = []

    def replaced(_fraction: float, _text: str) -> None:
        try:
            other.install(plan)
        except SightlineError as error:
            heard.append(error.reason)

    made.pack(["test-folder"], tmp_path / "pack.zip", progress=replaced)
    assert set(heard) == {"another Sightline is installing, fetching, packing or removing a model"}


def test_a_damaged_model_is_still_broken_and_one_that_cannot_be_read_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = store(tmp_path, foldered())
    made.install(made.plan_install(write_files(tmp_path / "test-folder", FILES)))
    made.paths_of(foldered()).file("config.json").write_bytes(b"{}")
    assert made.verify()[0].state == "broken"

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(SightlineError, match="Permission denied"):
        made.verify()


def test_a_lock_file_that_its_holder_deletes_holds_nobody_up(tmp_path: Path):
    first, second = ChangeLock(tmp_path), ChangeLock(tmp_path)
    with first.held(), second.held_if_free() as free:
        assert not free
    assert contents(tmp_path) == {}
    with second.held(), first.held_if_free() as free:
        assert not free


class Killed(BaseException):
    """The program ends here, as by kill -9."""


@pytest.mark.parametrize("name", ["test-folder", "test-net"])
def test_a_kill_at_any_step_of_a_swap_leaves_one_of_the_two_models_whole(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
):
    real = Path.replace
    for step in range(12):
        home = tmp_path / str(step)
        home.mkdir()
        card = foldered(terms=TERMS) if name == "test-folder" else single()
        made = store(home, card)
        source = write_files(home / "test-folder", FILES)
        first = (
            source if card.folder else write_files(home, {"test-net.pt": CONTENT}) / "test-net.pt"
        )
        made.install(made.plan_install(first, name), Consent(terms=True))
        renames: list[Path] = []

        def killed(
            self: Path, target: Path, step: int = step, renames: list[Path] = renames
        ) -> Path:
            renames.append(self)
            if len(renames) == step + 1:
                raise Killed
            return real(self, target)

        monkeypatch.setattr(Path, "replace", killed)
        try:
            made.install(made.plan_install(first, name), Consent(terms=True))
        except Killed:
            pass
        else:
            assert step > 2, "nothing was replaced"
            return
        finally:
            monkeypatch.setattr(Path, "replace", real)
        later = store(home, card)
        assert later.overview()[0].state == "installed"
        assert later.verify()[0].state == "intact"
        assert later.require(name, "A tool").accepted
    pytest.fail("the installation never came to its end")
