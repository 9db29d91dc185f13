"""How long the program takes to be there: `python -m tests.bench.bench_app`.

Each figure is a ratio to a named baseline measured in the same run, the median of several.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from app.imaging.demo import demo_paths
from tests.conftest import REPO

REPEATS = 5
EMPTY_QT_WINDOW = (
    "from PySide6.QtWidgets import QApplication, QMainWindow;"
    "app = QApplication([]); w = QMainWindow(); w.resize(1440, 900); w.show();"
    "w.grab().save(r'{target}')"
)


def seconds(command: Sequence[str], home: Path) -> float:
    """Median wall time of a command, start of the interpreter included."""
    taken: list[float] = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        subprocess.run(
            command,
            cwd=REPO,
            env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "SIGHTLINE_HOME": str(home)},
            check=True,
            capture_output=True,
        )
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def main() -> None:
    """Print the table."""
    python, chest = sys.executable, str(demo_paths()[0])
    with tempfile.TemporaryDirectory() as folder:
        home, picture = Path(folder), str(Path(folder) / "x.png")
        qt = seconds([python, "-c", EMPTY_QT_WINDOW.format(target=picture)], home)
        empty = seconds([python, "-m", "app", "--screenshot", picture, "--force"], home)
        shown = seconds([python, "-m", "app", chest, "--screenshot", picture, "--force"], home)
        dcmread = seconds(
            [python, "-c", f"import pydicom; pydicom.dcmread(r'{chest}').pixel_array"], home
        )
        render = seconds([python, "-m", "app", "render", chest, "--out", picture, "--force"], home)
    print(f"empty window, saved as a picture        {empty:5.2f} s")
    print(f"  ratio to an empty QMainWindow ({qt:.2f} s): {empty / qt:.1f}")
    print(f"window with the chest film shown, saved {shown:5.2f} s")
    print(f"  ratio to an empty QMainWindow ({qt:.2f} s): {shown / qt:.1f}")
    print(f"render of the chest film to PNG         {render:5.2f} s")
    print(f"  ratio to pydicom reading its pixels ({dcmread:.2f} s): {render / dcmread:.1f}")


if __name__ == "__main__":
    main()
