"""One Sightline looks at a model at the moment in which another one replaces it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.errors import SightlineError
from app.tools.api import ToolFailed
from app.tools.models import accepting, looking, swap
from app.tools.models.cards import ModelCard
from app.tools.models.locking import ChangeLock
from app.tools.models.places import Place
from app.tools.models.records import Record, read_record
from app.tools.models.states import ModelStatus
from app.tools.models.store import ModelStore
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

OTHER = FILES | {"config.json": b'{"model_type": "another"}', "tokenizer/vocab.txt": b"c\n"}
LATER = {"test-folder": OTHER, "test-net": {"test-net.pt": CONTENT}}


class Folders:
    """A models folder that two programs use, with a model installed; and what comes in its place.

    Attributes:
        ours: The program that looks.
        other: The program that replaces.
    """

    def __init__(self, folder: Path, card: ModelCard) -> None:
        self.card = card
        self.ours, self.other = store(folder, card), store(folder, card)
        before = FILES if card.folder else {"test-net.pt": CONTENT}
        self._install(self.other, write_files(folder / "before" / card.name, before))
        self._later = write_files(folder / "later" / card.name, LATER[card.name])

    def replace(self) -> None:
        self._install(self.other, self._later)

    def _install(self, made: ModelStore, path: Path) -> None:
        source = path if self.card.folder else path / self.card.files[0].name
        made.install(made.plan_install(source, self.card.name), accepted=True)


@pytest.fixture(params=["test-folder", "test-net"])
def folders(request: pytest.FixtureRequest, tmp_path: Path) -> Folders:
    card = foldered() if request.param == "test-folder" else single()
    return Folders(tmp_path, replace(card, terms=TERMS))


def at_each_step(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[], Any], seen: Callable[[], Any]
):
    """All that is seen before and after each change of a name or deletion that `change` makes."""
    found: list[Any] = []
    for where, name in ((Path, "replace"), (Path, "unlink"), (swap.shutil, "rmtree")):
        real = getattr(where, name)

        def step(*given: Any, _real: Callable[..., Any] = real, **more: Any) -> Any:
            found.append(seen())
            made = _real(*given, **more)
            found.append(seen())
            return made

        monkeypatch.setattr(where, name, step)
    change()
    monkeypatch.undo()
    return found


def test_at_each_step_of_a_swap_a_model_is_whole_or_seen_to_be_aside(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    """The other program stands still there for as long as anybody waits."""
    monkeypatch.setattr(looking, "PATIENCE_S", 0.0)
    said = at_each_step(monkeypatch, folders.replace, lambda: folders.ours.status(folders.card))
    assert {(one.state, bool(one.note)) for one in said} == {
        ("installed", False),
        ("not installed", True),
    }
    assert all(one.accepted for one in said if one.state == "installed")
    assert folders.ours.verify()[0].state == "intact"


def test_at_each_step_back_from_a_swap_that_fails_a_model_is_whole_or_seen_to_be_aside(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(looking, "PATIENCE_S", 0.0)

    def full(_folder: Path) -> None:
        raise OSError(5, "Input/output error")

    def fails() -> None:
        with pytest.raises(SightlineError, match="Input/output error"):
            folders.replace()

    before = contents(folders.ours.folder)
    monkeypatch.setattr(swap, "settle_names", full)
    said = at_each_step(monkeypatch, fails, lambda: folders.ours.status(folders.card))
    assert {(one.state, bool(one.note)) for one in said} == {
        ("installed", False),
        ("not installed", True),
    }
    assert all(one.accepted for one in said if one.state == "installed")
    assert contents(folders.ours.folder) == before


def test_the_tool_says_that_its_model_is_being_replaced_and_not_that_it_is_missing(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(looking, "PATIENCE_S", 0.0)

    def required() -> str:
        assert folders.ours.has(folders.card.name), "a model of which a tool is offered"
        try:
            return folders.ours.require(folders.card.name, "A tool").sha256
        except ToolFailed as error:
            return error.text

    said = set(at_each_step(monkeypatch, folders.replace, required))
    refused = [text for text in said if "is being replaced by another Sightline" in text]
    assert len(refused) == 1
    assert "Try again in a moment" in refused[0]
    assert all(len(text) == 64 for text in said if text not in refused)


def test_a_swap_that_goes_on_while_somebody_waits_is_never_seen(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    """The look begins when the model is aside; what waits gives the other program its time."""
    other, seen = _Steps(folders.replace, monkeypatch), list[ModelStatus]()
    monkeypatch.setattr(looking.time, "sleep", lambda _s: other.go_on())
    other.stop_when(lambda: bool(folders.other.place(folders.card).missing()))
    seen.append(folders.ours.status(folders.card))
    other.end()
    assert [status.state for status in seen] == ["installed"]


@pytest.mark.parametrize("how", ["verify", "overview", "require"])
def test_what_is_replaced_while_it_is_read_is_read_again(
    folders: Folders, how: str, monkeypatch: pytest.MonkeyPatch
):
    """Gigabytes take minutes to read; by then the record is one of other files."""
    looks: dict[str, Callable[[], Any]] = {
        "verify": lambda: folders.ours.verify()[0].state,
        "overview": lambda: folders.ours.overview()[0].state,
        "require": lambda: folders.ours.require(folders.card.name, "A tool").warnings,
    }
    calm, read, real = looks[how](), list[Place](), Place.record

    def then_replaced(place: Place) -> Record | None:
        record = real(place)
        read.append(place)
        if len(read) == 1:
            folders.replace()
        return record

    monkeypatch.setattr(Place, "record", then_replaced)
    assert looks[how]() == calm
    assert len(read) > 1


def test_files_that_vanish_under_a_look_are_no_error(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    real, done = Path.stat, list[Path]()

    def late(self: Path, **how: Any) -> os.stat_result:
        if not done and self.name in ("vocab.txt", "test-net.pt"):
            done.append(self)
            folders.other.remove(folders.card.name)
        return real(self, **how)

    monkeypatch.setattr(Path, "stat", late)
    assert folders.ours.overview()[0].state == "not installed"
    assert done


def test_a_damaged_model_is_still_broken_and_one_that_cannot_be_read_an_error(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    name = "config.json" if folders.card.folder else "test-net.pt"
    place = folders.ours.place(folders.card)
    place.file(name).write_bytes(b"{}")
    assert folders.ours.verify()[0].state == "broken"

    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(SightlineError, match="Permission denied"):
        folders.ours.verify()


@pytest.mark.parametrize("names", [("test-net.pt",), ("test-net.pt", "test-net.safetensors")])
def test_removing_shows_no_older_file_for_a_moment(
    tmp_path: Path, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    made, looks = store(tmp_path), store(tmp_path)
    write_files(made.folder, dict.fromkeys(names, CONTENT))
    made.accept("test-net")
    said = at_each_step(monkeypatch, lambda: made.remove("test-net"), looks.overview)
    assert {(one.state, one.path.name) for (one,) in said} == {
        ("installed", "test-net.pt"),
        ("not installed", "test-net.pt"),
    }
    assert contents(made.folder) == {}


def test_what_is_aside_on_a_drive_without_locks_is_not_taken_back_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """There nobody knows whether the program that moved it is at work still: its age tells."""
    folders = Folders(tmp_path, foldered(terms=TERMS))
    monkeypatch.setattr(looking, "PATIENCE_S", 0.0)

    def no_locks(_handle: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("app.tools.models.locking._lock", no_locks)
    aside = folders.ours.folder / ".replaced-test-folder"
    aside.mkdir()
    (folders.ours.folder / "test-folder").rename(aside / "test-folder")
    assert folders.ours.overview()[0].state == "not installed"
    assert "being replaced" in folders.ours.overview()[0].note
    os.utime(aside, (1000, 1000))
    assert folders.ours.overview()[0].state == "installed"


def test_a_yes_is_written_down_of_the_files_that_are_there_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The record would say that the new files are the old ones: broken, from then on."""
    folders = Folders(tmp_path, foldered(terms=TERMS))
    free: list[bool] = []
    real = accepting.accepted_record

    def late(*given: Any, **more: Any) -> Any:
        with ChangeLock(folders.ours.folder).held_if_free() as now:
            free.append(now)
        return real(*given, **more)

    monkeypatch.setattr("app.tools.models.store.accepted_record", late)
    folders.ours.accept("test-folder")
    assert free == [False]


def test_a_pack_is_written_of_models_that_nobody_changes_meanwhile(
    folders: Folders, tmp_path: Path
):
    name, heard = folders.card.name, list[str]()

    def replaced(_fraction: float, _text: str) -> None:
        try:
            folders.replace()
        except SightlineError as error:
            heard.append(error.reason)

    folders.ours.pack([name], tmp_path / "pack.zip", progress=replaced)
    assert set(heard) == {"another Sightline is installing, fetching, packing or removing a model"}


REPLACES = """
import sys
from pathlib import Path
from tests.unit.tools.model_support import TERMS, foldered, store
made = store(Path(sys.argv[1]), foldered(terms=TERMS))
plans = [made.plan_install(Path(path), "test-folder") for path in sys.argv[2:]]
print("ready", flush=True)
for turn in range(int(sys.stdin.readline())):
    made.install(plans[turn % 2], accepted=True)
"""


def test_a_program_that_looks_on_sees_one_of_two_models_at_any_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Two real programs: one installs two versions in turn, the other one looks all the while."""
    monkeypatch.setattr(looking, "PATIENCE_S", 30.0)  # a busy machine may stop a program anywhere
    folders = Folders(tmp_path, foldered(terms=TERMS))
    versions = [str(tmp_path / when / "test-folder") for when in ("before", "later")]
    other = subprocess.Popen(
        [sys.executable, "-c", REPLACES, str(tmp_path), *versions],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[4],
    )
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    other.stdin.write("6\n")
    other.stdin.flush()
    states: set[str] = set()
    digests = {folders.ours.require("test-folder", "A tool").sha256}
    while other.poll() is None:
        states |= {folders.ours.overview()[0].state, folders.ours.verify()[0].state}
        found = folders.ours.require("test-folder", "A tool")
        digests.add(found.sha256)
        assert found.accepted
    other.communicate()
    assert other.returncode == 0
    assert states == {"installed", "intact"}
    digests.add(folders.ours.require("test-folder", "A tool").sha256)
    assert len(digests) == 2, "and never a digest of half of each"


class _Steps:
    """Another program, which stands still in the middle until it is told to go on."""

    def __init__(self, change: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
        self._stopped, self._on = threading.Event(), threading.Event()
        self._until: Callable[[], bool] | None = None
        self._thread = threading.Thread(target=change, name="another program")
        real = Path.replace

        def replaced(path: Path, target: Path) -> Path:
            made = real(path, target)
            if threading.current_thread() is self._thread and self._until and self._until():
                self._until = None
                self._stopped.set()
                self._on.wait(60)
            return made

        monkeypatch.setattr(Path, "replace", replaced)

    def stop_when(self, until: Callable[[], bool]) -> None:
        self._until = until
        self._thread.start()
        assert self._stopped.wait(60)

    def go_on(self) -> None:
        self._on.set()
        self._thread.join(60)

    def end(self) -> None:
        assert self._on.is_set(), "nobody waited"
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_the_marks_are_those_of_the_record_too(tmp_path: Path):
    folders = Folders(tmp_path, foldered(terms=TERMS))
    place = folders.ours.place(folders.card)
    before = looking.marks(place)
    assert read_record(place.record_path) is not None
    folders.ours.accept("test-folder")
    assert looking.marks(place) != before
