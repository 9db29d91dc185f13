"""The real process on a temporary profile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import REPO

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def sightline(tmp_path: Path) -> Run:
    """Runs `python -m app ARGS` to its end, offscreen, with a profile of its own."""

    def run(*arguments: object, timeout: float = 120, **env: str):
        return subprocess.run(
            [sys.executable, "-m", "app", *map(str, arguments)],
            cwd=REPO,
            env={
                **os.environ,
                "SIGHTLINE_HOME": str(tmp_path / "home"),
                "QT_QPA_PLATFORM": "offscreen",
                **env,
            },
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )

    return run
