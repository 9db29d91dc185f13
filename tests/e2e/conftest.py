"""The program on a temporary profile: in this process, or in one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.cli import main
from tests.conftest import REPO

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module", autouse=True)
def _forked(forked: None) -> None:
    """What a program in this process starts is forked; `sightline_process` starts as users do."""


@pytest.fixture
def sightline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Run:
    """As `sightline_process`, but in this process, which has imported the program already."""

    def run(*arguments: object, **env: str):
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.setenv("SIGHTLINE_HOME", str(tmp_path / "home"))
            for name, value in env.items():
                patch.setenv(name, value)
            try:
                code = main([*map(str, arguments)])
            except SystemExit as left:
                code = int(left.code or 0)
        told = capfd.readouterr()
        return subprocess.CompletedProcess([*map(str, arguments)], code, told.out, told.err)

    return run


@pytest.fixture
def sightline_process(tmp_path: Path) -> Run:
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
