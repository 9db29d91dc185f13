"""How long the program takes to be there: `python -m tests.bench.bench_app`.

Each figure is a ratio to a named baseline measured in the same run, the median of several.

Command to visible window needs an X server (`DISPLAY`, such as Xvfb's with -noreset) and xdotool;
napari is a baseline too if NAPARI names its command, in an environment of its own; FROZEN names
programs of packages (`dist/sightline-.../sightline`), with a colon between. Unset
PYTHONDONTWRITEBYTECODE, and run it twice: the first run writes the bytecode.
"""

from __future__ import annotations

import os
import shutil
import signal
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
VISIBLE_QT_WINDOW = (
    "from PySide6.QtWidgets import QApplication, QMainWindow;"
    "app = QApplication([]); w = QMainWindow(); w.setWindowTitle('Empty window');"
    "w.resize(1440, 900); w.show(); app.exec()"
)
ROUNDS = 5  # of which the best counts
LOOK_S = 0.02  # between two looks for the window; `xdotool search --sync` looks twice a second
WAIT_S = 120.0


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


def to_window(title: str, command: Sequence[str], home: Path) -> tuple[float, float]:
    """Start a command; return the seconds until its window is visible, and of its CPU until then.

    Raises:
        TimeoutError: No window with this title was seen.
    """
    look = ["xdotool", "search", "--onlyvisible", "--name", f"^{title}"]
    env = {**os.environ, "QT_QPA_PLATFORM": "xcb", "SIGHTLINE_HOME": str(home)}
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=REPO,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while subprocess.run(look, capture_output=True, check=False).returncode:
            if process.poll() is not None or time.perf_counter() - started > WAIT_S:
                raise TimeoutError(f"no window “{title}” of {command[0]}")
            time.sleep(LOOK_S)
        taken = time.perf_counter() - started
        times = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return taken, (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def visible_windows() -> None:
    """Print how long it takes from command to visible window, and the ratios to others."""
    if not sys.platform.startswith("linux") or not os.environ.get("DISPLAY"):
        print("command to visible window: left out, there is no X server (DISPLAY)")
        return
    if shutil.which("xdotool") is None:
        print("command to visible window: left out, xdotool is not installed")
        return
    python = sys.executable
    ours = {"Sightline": [python, "-m", "app"]}
    ours |= {
        f"Sightline {path}": [path] for path in os.environ.get("FROZEN", "").split(":") if path
    }
    baselines = {"Empty window": [python, "-c", VISIBLE_QT_WINDOW]}
    if napari := os.environ.get("NAPARI"):
        baselines["napari"] = [napari]
    else:
        print("napari: left out, NAPARI does not name its command")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in (*ours, *baselines)}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):  # in turns, so that the machine is equally busy for all
            for name, command in (ours | baselines).items():
                title = "Sightline" if name in ours else name
                found[name].append(to_window(title, command, Path(folder)))
    best = {name: tuple(map(min, zip(*runs, strict=True))) for name, runs in found.items()}
    for name in ours:
        wall, cpu = best[name]
        print(f"{name}, command to visible window {wall:5.2f} s, {cpu:.2f} s of CPU")
        for baseline in baselines:
            other, other_cpu = best[baseline]
            print(
                f"  ratio to {baseline} ({other:.2f} s, {other_cpu:.2f} s of CPU): "
                f"{wall / other:.2f}, of CPU {cpu / other_cpu:.2f}"
            )


def main() -> None:
    """Print the table."""
    visible_windows()
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
