"""Pictures are written whole or not at all; the demo study is found without a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from app import user_files
from app.errors import FileProblem
from app.headless.render import write_png
from app.imaging import demo


@pytest.mark.parametrize(
    "pixels",
    [
        np.arange(200, dtype=np.uint8).reshape(10, 20),
        np.arange(0, 60_000, 300, dtype=np.uint16).reshape(10, 20),
        np.arange(180, dtype=np.uint8).reshape(6, 10, 3),
    ],
)
def test_pixels_come_back_from_a_png(tmp_path: Path, pixels: np.ndarray):
    path = tmp_path / "a.png"
    write_png(path, pixels)
    with Image.open(path) as picture:
        np.testing.assert_array_equal(np.asarray(picture), pixels)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "a.png"
    write_png(path, np.zeros((2, 2), np.uint8))
    before = path.read_bytes()

    def fail(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(user_files.os, "fsync", fail)
    with pytest.raises(FileProblem, match="No space left") as caught:
        write_png(path, np.ones((2, 2), np.uint8))
    assert caught.value.subject == str(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


def test_a_missing_folder_is_named(tmp_path: Path):
    with pytest.raises(FileProblem, match="cannot be written"):
        write_png(tmp_path / "none" / "a.png", np.zeros((2, 2), np.uint8))


def test_other_arrays_are_refused(tmp_path: Path):
    for pixels in (np.zeros((2, 2)), np.zeros((0, 2), np.uint8), np.zeros((2, 2, 4), np.uint8)):
        with pytest.raises(ValueError, match="no PNG"):
            write_png(tmp_path / "a.png", pixels)


def test_the_demo_study_is_a_chest_radiograph_and_a_cine():
    chest, cine = demo.demo_paths()
    assert (chest.name, cine.name) == ("RG1_UNCR.dcm", "color3d_jpeg_baseline.dcm")


def test_a_missing_demo_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("pydicom.data.get_testdata_file", lambda *_args, **_options: None)
    with pytest.raises(FileProblem, match="pydicom-data"):
        demo.demo_paths()
