"""The picture of the window is written whole or not at all, under the name that was asked for."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from app.errors import SightlineError
from app.views import startup_actions


def test_an_old_picture_stays_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qapp: object
):
    window = QLabel("text")
    target = tmp_path / "shot.png"
    target.write_bytes(b"old")

    def full(_path: Path, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(startup_actions, "write_atomic", full)
        with pytest.raises(SightlineError, match="No space left"):
            startup_actions.save_window(window, target, 1.0)
    assert target.read_bytes() == b"old"
    with pytest.raises(SightlineError, match=r"ends in \.png"):
        startup_actions.save_window(window, tmp_path / "shot.nothing", 1.0)
    assert [one.name for one in tmp_path.iterdir()] == ["shot.png"]
    startup_actions.save_window(window, target, 1.0)
    assert not QImage(str(target)).isNull()
    startup_actions.save_window(window, tmp_path / "shot.jpg", 1.0)
    assert (tmp_path / "shot.jpg").read_bytes().startswith(b"\xff\xd8")
