"""The way of one offline question stays short: few modules, few calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.imaging.demo import demo_paths

pytestmark = pytest.mark.e2e

QUESTION = "Where are the lungs, and is the heart enlarged?"


@pytest.mark.slow
def test_the_demo_question_enters_few_modules_and_makes_few_calls(repo: Path, tmp_path: Path):
    pytest.importorskip("torch")
    arguments = ("ask", QUESTION, "--image", str(demo_paths()[0]), "--out", str(tmp_path / "out"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.call_count", *arguments],
        cwd=repo,
        env={**os.environ, "SIGHTLINE_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stderr.splitlines()[-1])
    assert counted["modules"] <= 140
    assert counted["calls"] <= 9_000
