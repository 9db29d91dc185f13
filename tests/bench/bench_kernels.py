"""Which kernel windows an image fastest: ours through a table, or numba's, or OpenCV's.

Run: `python -m tests.bench.bench_kernels`, with an interpreter that has numba and OpenCV, which are
no dependencies of ours: `python3 -m venv V && V/bin/pip install numpy numba
opencv-python-headless`, then `V/bin/python -m tests.bench.bench_kernels`. All windows are linear;
only a table can do the others, and only tables round exactly as the standard's formula does.
"""

from __future__ import annotations

import importlib
import os
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from app.imaging.pixels.greys import look_up_table, stored_table
from app.imaging.types import Frame, ImageRef, Window


def best(function: Callable[[], object], repeats: int = 30) -> float:
    """Milliseconds of the fastest of several calls."""
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return min(times) * 1e3


def kernels(stored: Any, window: Window) -> dict[str, Callable[[], object]]:
    """What makes 8 bits of `stored`, by name; the table's own making included."""
    low = window.center - 0.5 - (window.width - 1) / 2
    scale = 255.0 / (window.width - 1)
    frame = Frame(stored, ImageRef("1.2", 0, ""), bits=16)
    found: dict[str, Callable[[], object]] = {
        "ours: table, numpy": lambda: look_up_table(
            stored_table(frame, window, False, (0, 65535)), stored
        )
    }
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        print("numba is not installed here")
    else:

        @numba.njit(parallel=False, fastmath=True)
        def linear(values: Any, out: Any, low: Any, scale: Any) -> None:
            for row in range(values.shape[0]):
                for column in range(values.shape[1]):
                    level = (values[row, column] - low) * scale + 0.5
                    out[row, column] = np.uint8(min(max(level, 0.0), 255.0))

        @numba.njit(parallel=False)
        def table(values: Any, out: Any, entries: Any) -> None:
            for row in range(values.shape[0]):
                for column in range(values.shape[1]):
                    out[row, column] = entries[values[row, column]]

        out = np.empty(stored.shape, np.uint8)
        ends = np.float32(low), np.float32(scale)
        found["numba: arithmetic"] = lambda: linear(stored, out, *ends)
        found["numba: table"] = lambda: table(
            stored, out, stored_table(frame, window, False, (0, 65535))
        )
    try:
        cv2: Any = importlib.import_module("cv2")
    except ImportError:
        print("OpenCV is not installed here")
    else:
        cv2.setNumThreads(1)
        found["OpenCV: convertScaleAbs"] = lambda: cv2.convertScaleAbs(
            cv2.max(stored, int(low)), alpha=scale, beta=-low * scale
        )
    return found


def main() -> None:
    """Print one line a kernel and size."""
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, one thread")
    rng = np.random.default_rng(0)
    window = Window(30_000, 20_000)
    for side in (1024, 2048):
        stored = rng.integers(0, 65536, (side, side), dtype=np.uint16)
        ours = 0.0
        for name, kernel in kernels(stored, window).items():
            kernel()
            taken = best(kernel)
            ours = ours or taken
            print(f"{side} x {side}  {name:<26} {taken:6.2f} ms  {ours / taken:5.1f} x ours")


if __name__ == "__main__":
    main()
