"""The window as a process: the demo, a question, a picture, without a display."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydicom.data import get_testdata_file

from app.imaging.demo import demo_paths
from app.views.theme import THEME
from tests.conftest import REPO
from tests.e2e.conftest import Run

pytestmark = pytest.mark.e2e
QUESTION = "Where are the lungs, and is the heart enlarged?"


def pixels_of(picture: Path, color: str) -> int:
    """How many pixels of a picture have exactly that colour."""
    wanted = [int(color[at : at + 2], 16) for at in (1, 3, 5)]
    with Image.open(picture) as opened:
        return int((np.asarray(opened.convert("RGB")) == wanted).all(axis=2).sum())


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (viewer only)")
def test_the_demo_question_ends_as_a_picture_with_findings(sightline_process: Run, tmp_path: Path):
    before, after = tmp_path / "before.png", tmp_path / "after.png"
    assert sightline_process("--demo", "--screenshot", before).returncode == 0
    done = sightline_process("--demo", "--ask", QUESTION, "--screenshot", after)
    assert done.returncode == 0, done.stderr
    with Image.open(after) as picture:
        assert picture.width >= 1400
    # Five findings have five colours: outlines and lines on the canvas, swatches in the list.
    for color in THEME.annotation[:5]:
        assert pixels_of(after, color) > pixels_of(before, color) + 300, color


def test_what_cannot_be_opened_is_the_exit_code_and_the_picture_is_made_all_the_same(
    sightline_process: Run, tmp_path: Path
):
    (tmp_path / "empty.dcm").write_bytes(b"")
    picture = tmp_path / "x.png"
    done = sightline_process(demo_paths()[0], tmp_path / "empty.dcm", "--screenshot", picture)
    assert done.returncode == 1
    assert "empty.dcm" in done.stderr
    assert picture.exists()


@pytest.mark.slow
def test_a_thousand_files_that_cannot_be_opened_are_told_in_few_lines(
    sightline_process: Run, tmp_path: Path
):
    folder = tmp_path / "letters"
    folder.mkdir()
    for number in range(1000):
        (folder / f"{number}.txt").write_text("Dear colleague, thank you for the referral.")
    done = sightline_process(folder, "--screenshot", tmp_path / "x.png")
    assert done.returncode == 1
    told = [line for line in done.stderr.splitlines() if line.startswith("sightline:")]
    assert len(told) == 2, "one for the files, one for the folder without images"
    assert "and 999 other files" in told[0]


@pytest.mark.slow
def test_a_report_can_be_looked_at(sightline_process: Run, tmp_path: Path):
    report = get_testdata_file("reportsi.dcm")
    done = sightline_process(report, "--screenshot", tmp_path / "x.png")
    assert done.returncode == 0, done.stderr
    assert pixels_of(tmp_path / "x.png", THEME.panel) > 1_000_000, "the page of the report"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux can lack a display")
def test_without_a_display_it_says_so_and_offers_a_picture(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "app", "--demo"],
        cwd=REPO,
        env={"SIGHTLINE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "--screenshot" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
