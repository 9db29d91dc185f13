"""What every test shares: folders, a profile of its own, and the platform Qt uses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]

# One of several test processes at once has a display of its own: focus and clipboard are one each.
_process = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
_displays = os.environ.get("SIGHTLINE_DISPLAYS", "").split()
if _displays:
    os.environ["DISPLAY"] = _displays[int(_process) % len(_displays)]

# Where a test is run by hand without a display, a window must not abort the whole session. Set
# before anything imports Qt; `bootstrap.py test` brings an Xvfb and sets xcb instead.
if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


@pytest.fixture(scope="session", autouse=True)
def own_profile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keeps the tests' settings, sessions, logs and models apart from the person's."""
    home = tmp_path_factory.mktemp("sightline-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIGHTLINE_HOME", str(home))
        patch.delenv("SIGHTLINE_MODELS", raising=False)
        yield home


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
