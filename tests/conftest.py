"""Shared set-up: `--all`, folders, a profile of its own, and the platform Qt uses."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked import forked_workers

REPO = Path(__file__).resolve().parents[1]

# One of several test processes at once has a display of its own: focus and clipboard are one each.
_process = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
_displays = os.environ.get("SIGHTLINE_DISPLAYS", "").split()
if _displays:
    os.environ["DISPLAY"] = _displays[int(_process) % len(_displays)]

# Of several test processes each computes on one core: threads of one that wait for the other's
# spin meanwhile. Set before anything imports torch.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Where a test is run by hand without a display, a window must not abort the whole session. Set
# before anything imports Qt; `bootstrap.py test` brings an Xvfb and sets xcb instead.
if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

_LEFT_OUT = pytest.StashKey[int]()
"""How many tests a session left out for want of `--all`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--all`."""
    text = "run slow tests too: those over about 5 s, and those that guard against rare faults"
    parser.addoption("--all", action="store_true", default=False, help=text)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without looking for garbage, which was two fifths of the time.

    There is none: all that is made stays. It is then taken out of the collector's rounds.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # after `-m` and `-k`, so that only what they chose is counted
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave slow tests out unless `--all`, a node id or `-m` asks for them."""
    by_name = any("::" in argument for argument in config.args)
    if config.getoption("--all") or by_name or "slow" in str(config.getoption("markexpr")):
        return
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item.get_closest_marker("slow") is None]
    config.stash[_LEFT_OUT] = len(slow)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the count of tests left out from a process of xdist to the process that reports."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["left_out"] = session.config.stash.get(_LEFT_OUT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the count of a process of xdist; each has collected all tests."""
    # A process that crashed has no output.
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Report in one line how many slow tests were left out."""
    if count := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} slow tests left out; --all runs them too")


@pytest.fixture(scope="session", autouse=True)
def own_profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keeps the tests' settings, sessions, logs and models apart from the person's."""
    home = tmp_path_factory.mktemp("sightline-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGHTLINE_HOME", str(home))
        patch.delenv("SIGHTLINE_MODELS", raising=False)
        patch.setenv("SIGHTLINE_LANGUAGE", "en")  # whatever the computer's is
        yield home


@pytest.fixture(scope="module")
def forked() -> Iterator[None]:
    """Worker processes of a file's tests are forked; see `tests.support.forked`."""
    with forked_workers():
        yield


@pytest.fixture(scope="session")
def repo() -> Path:
    """The root of the working copy."""
    return REPO


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of shared sample data beside the repository; skips where it is not laid."""
    folder = REPO.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}")
    return folder
