"""Power cuts, and files that another program has open."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.errors import SightlineError
from app.tools.models import durable_files
from app.tools.models.downloads import download_file
from app.tools.models.folder_changes import recover
from app.tools.models.install_plan import PlannedFile
from app.tools.models.records import read_record
from tests.unit.tools.model_support import (
    CONTENT,
    FILES,
    contents,
    foldered,
    single,
    store,
    write_files,
)


class Disk:
    """Watches in which order files are written through, named and deleted.

    Attributes:
        lost: Names given to what a power cut could still have taken.
        named: Names that were given.
        early: What was deleted while the names of its successors were not on the disk.
    """

    def __init__(self, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost: list[str] = []
        self.named: list[str] = []
        self.early: list[str] = []
        self._models = models
        self._synced: set[tuple[int, int, int]] = set()
        self._names_synced = True
        for name in ("fsync", "rename", "replace"):
            monkeypatch.setattr(os, name, getattr(self, name)(getattr(os, name)))
        monkeypatch.setattr(shutil, "rmtree", self.rmtree(shutil.rmtree))

    def fsync(self, real: Callable[..., None]) -> Callable[..., None]:
        def synced(handle: int) -> None:
            real(handle)
            self._synced.add(self._key(os.fstat(handle)))
            if os.path.samestat(os.fstat(handle), self._models.stat()):
                self._names_synced = True

        return synced

    def rename(self, real: Callable[..., None]) -> Callable[..., None]:
        def renamed(source: Any, target: Any) -> None:
            place = Path(target).relative_to(self._models)
            if not str(place).startswith("."):
                self.named.append(place.as_posix())
                below = [Path(source), *Path(source).rglob("*")]
                if any(self._key(path.stat()) not in self._synced for path in below):
                    self.lost.append(place.as_posix())
            real(source, target)
            self._names_synced = False

        return renamed

    replace = rename

    def rmtree(self, real: Callable[..., None]) -> Callable[..., None]:
        def deleted(path: Path, *how: Any, **more: Any) -> None:
            if Path(path).is_dir() and ".replaced-" in str(path) and not self._names_synced:
                self.early.append(Path(path).name)
            real(path, *how, **more)

        return deleted

    @staticmethod
    def _key(found: os.stat_result) -> tuple[int, int, int]:
        return found.st_dev, found.st_ino, found.st_mtime_ns


def test_what_has_its_name_is_on_the_disk_and_what_it_replaces_goes_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = store(tmp_path, foldered(), single())
    write_files(tmp_path / "net", {"test-net.pt": CONTENT})
    plans = [
        made.plan_install(write_files(tmp_path / "test-folder", FILES)),
        made.plan_install(tmp_path / "net" / "test-net.pt"),
    ]
    disk = Disk(made.folder, monkeypatch)
    for _ in range(2):  # the second time in place of what is there
        for plan in plans:
            made.install(plan)
        made.accept("test-net")
        made.accept("test-folder")
    assert {"test-folder", "test-net.pt", "test-folder/installed.toml"} <= set(disk.named)
    assert (disk.lost, disk.early) == ([], [])


def test_what_was_downloaded_has_its_name_when_it_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def arrives(_url: str, stream: Any, **_more: Any) -> None:
        stream.write(b"gigabytes")

    monkeypatch.setattr("huggingface_hub.file_download.http_get", arrives)
    disk = Disk(tmp_path, monkeypatch)
    file = PlannedFile("weights", "weights", 9)
    download_file("https://example.invalid/weights", tmp_path / "target", file, {})
    assert (disk.named, disk.lost) == (["target"], [])


def test_a_disk_that_fails_while_it_writes_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = store(tmp_path, foldered())
    plan = made.plan_install(write_files(tmp_path / "test-folder", FILES))
    made.install(plan)
    before = contents(made.folder)

    def broken(_handle: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(SightlineError, match="Input/output error"):
        made.install(plan)
    assert contents(made.folder) == before


def test_a_file_system_that_knows_no_such_thing_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def unknown(_handle: int) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(os, "fsync", unknown)
    made = store(tmp_path, foldered())
    made.install(made.plan_install(write_files(tmp_path / "test-folder", FILES)))
    assert made.verify()[0].state == "intact"


def in_use() -> PermissionError:
    """What Windows says of a file that another program has open."""
    error = PermissionError(13, "The process cannot access the file")
    error.__dict__["winerror"] = 32  # an attribute of its own on Windows only
    return error


def test_a_file_that_a_scanner_has_open_for_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = store(tmp_path, foldered())
    plan = made.plan_install(write_files(tmp_path / "test-folder", FILES))
    monkeypatch.setattr(durable_files, "RETRY_PAUSES_S", (0.0, 0.0))
    real_replace, real_read = Path.replace, Path.read_text
    refused: list[Path] = []

    def once_not(real: Callable[..., Any]) -> Callable[..., Any]:
        def done(self: Path, *how: Any, **more: Any) -> Any:
            if self not in refused:
                refused.append(self)
                raise in_use()
            return real(self, *how, **more)

        return done

    monkeypatch.setattr(Path, "replace", once_not(real_replace))
    made.install(plan)
    assert any(path.name == "test-folder" for path in refused)
    monkeypatch.setattr(Path, "read_text", once_not(real_read))
    record = read_record(made.folder / "test-folder" / "installed.toml")
    assert record is not None
    assert record.name == "test-folder"


def test_a_model_that_stays_in_use_is_said_to_be_and_stays_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    made = store(tmp_path, foldered())
    plan = made.plan_install(write_files(tmp_path / "test-folder", FILES))
    made.install(plan)
    monkeypatch.setattr(durable_files, "RETRY_PAUSES_S", (0.0,))
    before, real = contents(made.folder), Path.replace

    def held(self: Path, target: Path) -> Path:
        if self == made.folder / "test-folder":
            raise in_use()
        return real(self, target)

    monkeypatch.setattr(Path, "replace", held)
    for change in (lambda: made.install(plan), lambda: made.remove("test-folder")):
        with pytest.raises(SightlineError, match=r"[Cc]lose what uses it"):
            change()
        assert contents(made.folder) == before
    assert made.verify()[0].state == "intact"


def test_what_is_moved_back_takes_the_place_of_a_record_that_came_before_its_file(tmp_path: Path):
    made = store(tmp_path)
    place = made.paths_of(made.card("test-net"))
    aside = write_files(tmp_path / "models" / ".replaced-test-net", {"test-net.pt": CONTENT})
    write_files(aside, {"test-net.pt.installed.toml": b"old"})
    write_files(made.folder, {"test-net.pt.installed.toml": b"new"})
    recover(place)
    assert contents(made.folder) == {"test-net.pt": CONTENT, "test-net.pt.installed.toml": b"old"}
