"""What every test shares: where the repository and the shared data are, and the platform Qt uses."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]

# Where a test is run by hand without a display, a window must not abort the whole session. Set
# before anything imports Qt; `bootstrap.py test` brings an Xvfb and sets xcb instead.
if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY"):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


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
