"""Which device "auto" means, found out without torch, which is not imported in this process."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from pathlib import Path

_DRIVERS = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/kfd")
"""NVIDIA's, the one of the Windows subsystem for Linux, and AMD's."""


@cache
def likely_device() -> str:
    """The device that torch is likely to find: "cuda", "mps" or "cpu".

    It only decides which process a call goes to. Torch has the last word there, and takes the
    processor where it finds no accelerator.
    """
    if sys.platform == "darwin":
        return "mps" if platform.machine() == "arm64" else "cpu"
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0") in ("", "-1"):
        return "cpu"
    if sys.platform == "win32":
        system = Path(os.environ.get("SYSTEMROOT", "C:/Windows")) / "System32"
        return "cuda" if (system / "nvcuda.dll").exists() else "cpu"
    return "cuda" if any(Path(driver).exists() for driver in _DRIVERS) else "cpu"


def lane_of(wanted: str) -> str:
    """The process that serves a wanted device: "auto" shares the one of what it means."""
    return likely_device() if wanted in ("", "auto") else wanted
