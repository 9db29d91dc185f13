"""A process that opens paths as the window's does, watched: `python -m tests.faults.opening`

Prints what it found as JSON. `test_hostile_links` starts it with an audit hook that notes, in this
process and in its workers, whatever is opened in a forbidden folder or written anywhere else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging.decode import Decoder
from tests.faults.run import REPO


@dataclass(frozen=True, slots=True)
class Opened:
    """What came of it.

    Attributes:
        shown: Paths of which a frame was given.
        listed: Paths of all instances.
        problems: (path, reason).
        watched: What was read in the forbidden folder, or written outside of the allowed ones.
    """

    shown: tuple[str, ...]
    listed: tuple[str, ...]
    problems: tuple[tuple[str, str], ...]
    watched: tuple[str, ...]

    @property
    def reasons(self) -> str:
        """All reasons in one text."""
        return "; ".join(reason for _, reason in self.problems)


def opened(folder: Path, forbidden: Path, *paths: Path) -> Opened:
    """Open paths in a process of their own, of which nothing may lie in `forbidden`."""
    log = folder / "watch.log"
    log.unlink(missing_ok=True)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = os.environ | {
        "PYTHONPATH": f"{REPO / 'tests' / 'faults' / 'watch'}:{REPO}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(home),
        "TMPDIR": str(home),
        "SIGHTLINE_HOME": str(home),
        "SIGHTLINE_WATCH": str(log),
        "SIGHTLINE_WATCH_ROOTS": str(home),
        "SIGHTLINE_WATCH_FORBIDDEN": str(forbidden),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.opening", *map(str, paths)],
        cwd=REPO, env=environment, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    told = json.loads(done.stdout)
    return Opened(
        tuple(told["shown"]),
        tuple(told["listed"]),
        tuple((path, reason) for path, reason in told["problems"]),
        tuple(log.read_text().splitlines()) if log.exists() else (),
    )


def _open(paths: list[Path]) -> dict[str, Any]:
    decoder = Decoder(1, index=Path(os.environ["SIGHTLINE_HOME"]) / "index")
    result = decoder.scan(paths).result(60)
    told: dict[str, Any] = {"shown": [], "listed": []}
    told["problems"] = [(str(one.path), one.reason) for one in result.problems]
    for study in result.studies:
        for series in study.series:
            for instance in series.instances:
                told["listed"].append(str(instance.path))
                try:
                    decoder.frame(instance).result(60)
                    told["shown"].append(str(instance.path))
                except FileProblem as error:
                    told["problems"].append((error.subject, error.reason))
    decoder.close()
    return told


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_open([Path(name) for name in sys.argv[1:]])))
