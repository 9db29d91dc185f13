"""Whatever stands in place of the user's files: the program starts, says so, and works on."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest
from PySide6.QtWidgets import QApplication, QLabel

from app import paths, user_files
from app.user_files import LARGEST, open_regular
from app.views import main_window
from app.views.main_window import MainWindow
from app.wiring import Program
from app.workspace.workspace import Workspace
from tests.gui.viewer_support import FakeDecoder, WaitUntil, found, instance, study

pytestmark = pytest.mark.gui

FILES = (
    *("settings.json", "window.ini", "recent.json", "shortcuts.json", "presets.json"),
    *("display.json", "hanging/mine.toml"),
)
WRONG_TYPES = {
    "settings.json": '{"llm": 7, "limits": [], "theme": {}, "device": 3, "policy": "no"}',
    "window.ini": "[window]\ngeometry=12\nstate=@Invalid()\n",
    "recent.json": '{"version": 1, "openings": [[5]], "session": "none"}',
    "shortcuts.json": '{"version": 1, "keys": {"invert": 5}}',
    "presets.json": '{"version": 1, "presets": {"CT": [{"name": 1, "center": "x", "width": 2}]}}',
    "display.json": '{"smooth": 3, "screens": 5}',
    "hanging/mine.toml": 'title = 5\nlayout = "9x9"\nviewport = 3\n',
}
PROTOCOL = 'title = "Mine"\nlayout = "1x1"\n[[viewport]]\nmodality = ["CT"]\n'


def looped(file: Path) -> None:
    file.symlink_to(file)


def cut(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])


def forbidden(file: Path) -> None:
    file.chmod(0)


def folder(file: Path) -> None:
    file.mkdir()
    (file / "inside").write_text("kept")


def wrong(file: Path) -> None:
    file.write_text(WRONG_TYPES[file.relative_to(paths.config_dir()).as_posix()])


KINDS: dict[str, tuple[bool, Callable[[Path], object]]] = {
    "empty": (False, lambda file: file.write_bytes(b"")),
    "binary": (False, lambda file: file.write_bytes(bytes(range(256)) * 20)),
    "half-written": (True, cut),
    "wrong types": (False, wrong),
    "huge": (False, lambda file: file.write_bytes(b" " * (LARGEST + 1))),
    "folder": (False, folder),
    "no permission": (True, forbidden),
    "link to itself": (False, looped),
    "pipe": (False, lambda file: os.mkfifo(file)),
}
"""Kind of brokenness -> whether it is done to a file of the program's, and how."""


class Started:
    """The program's settings and window on files of their own."""

    def __init__(self, wait_until: WaitUntil) -> None:
        self.program = Program()
        self.settings = self.program.settings
        decoder = FakeDecoder()
        decoder.result = found(study(instance("1.1")))
        self.window = MainWindow(
            Workspace(), decoder, QLabel("chat"), layout_file=paths.config_dir() / "window.ini"
        )
        self.window.show()
        self.window.open_paths([Path("/images")])
        wait_until(lambda: self.window.canvas.picture is not None and not self.window.busy)

    def told(self) -> str:
        labels = (one.findChildren(QLabel) for one in self.window.notices.all())
        shown = " ".join(label.text() for texts in labels for label in texts)
        return " ".join([*self.program.settings_notices, shown])

    def work(self) -> None:
        """Change everything that is kept."""
        actions = self.window.actions_
        assert actions.shortcuts_.set_key("invert", "J")
        presets = self.window.workspace.window_presets
        presets.save("CT", presets.of("CT")[:2])
        self.window.hanging.protocols.save("mine", PROTOCOL)
        self.window.recent.keep(True)
        self.window.display_settings.set_pixel_mm("screen", 0.2)
        assert self.program.change_settings(self.settings.model_copy(update={"theme": "light"}))

    def close(self) -> None:
        self.window.quit()
        self.window.deleteLater()
        self.program.close()


def _refusing(path: Path, *, append: bool = False) -> BinaryIO:
    """Open a file that the user may read, also where the superuser runs the tests."""
    if path.is_file() and not path.stat().st_mode & 0o400:
        raise PermissionError(errno.EACCES, "no permission", str(path))
    return open_regular(path, append=append)


@pytest.mark.parametrize("kind", KINDS)
def test_broken_files_are_set_aside_and_told_of(
    qapp: QApplication,
    tmp_path: Path,
    wait_until: WaitUntil,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    monkeypatch.setattr(user_files, "open_regular", _refusing)
    of_ours, damage = KINDS[kind]
    if of_ours:
        first = Started(wait_until)
        first.work()
        first.close()
    config = paths.config_dir()
    (config / "hanging").mkdir(exist_ok=True)
    for name in FILES:
        damage(config / name)
    started = Started(wait_until)
    told = started.told()
    for name in FILES:
        if (name, kind) != ("settings.json", "wrong types"):  # whose good values are kept
            assert os.path.lexists(config / f"{name}.broken"), name
    for what in ("layout of the window", "keyboard shortcuts", "window presets", "mine.toml"):
        assert what in told
    assert "The settings could not be read" in told or '"theme" had an unusable value' in told
    assert "The list of recent openings" in told
    assert started.settings.theme == "dark"
    started.work()
    started.close()
    for name in FILES:
        assert (config / name).is_file(), name
    assert json.loads((config / "settings.json").read_text())["theme"] == "light"
    again = Started(wait_until)
    assert not again.program.settings_notices
    assert not again.window.notices.all() or "Mine" in again.told()
    assert again.window.actions_.invert.shortcut().toString() == "J"
    again.close()


def test_the_layout_of_an_older_version_is_left_out_without_a_notice(
    qapp: QApplication, tmp_path: Path, wait_until: WaitUntil, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    file = paths.config_dir() / "window.ini"
    monkeypatch.setattr(main_window, "LAYOUT_VERSION", main_window.LAYOUT_VERSION - 1)
    Started(wait_until).close()
    assert file.is_file()
    monkeypatch.undo()
    monkeypatch.setenv("SIGHTLINE_HOME", str(tmp_path))
    later = Started(wait_until)
    assert "layout" not in later.told()
    assert not (file.parent / "window.ini.broken").exists()
    later.close()
