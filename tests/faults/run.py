"""Runs mutants through hosting processes of their own and counts what becomes of them."""

from __future__ import annotations

import json
import os
import re
import secrets
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parents[2]
BATCH = 50
GROWTH_BYTES = 96 * 2**20
SILENCE_S = 300.0
LATE_S = 10.0
"""A good image is promised within two seconds, on a quiet machine; a busy one takes longer."""
_WARM_BATCHES = 4


@dataclass(slots=True)
class Tally:
    """What became of all mutants.

    Attributes:
        outcomes: One of each.
        failures: (number or -1, text): what must not be.
        good_s: Seconds until the control image was there, after each batch.
        rss: Bytes of the hosting process after each batch.
        seconds: How long it all took.
    """

    outcomes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    good_s: list[float] = field(default_factory=list[float])
    rss: list[int] = field(default_factory=list[int])
    seconds: float = 0.0

    def take(self, message: dict[str, Any]) -> None:
        """Take a line of a hosting process."""
        if "outcome" in message:
            outcome = message["outcome"]
            self.outcomes.append(outcome)
            self.failures += [(outcome["number"], text) for text in outcome["failures"]]
        elif "batch" in message:
            self.good_s.append(message["good_s"])
            self.rss.append(message["rss"])
            if message["good_s"] > LATE_S:
                text = f"a good image took {message['good_s']:.1f} s after its batch"
                self.failures.append((message["batch"], text))

    def add(self, other: Tally) -> None:
        """Take over another's counts."""
        self.outcomes += other.outcomes
        self.failures += other.failures
        self.good_s += other.good_s

    def table(self) -> str:
        """The counts by kind, the slowest, and what failed."""
        names = ("shown", "listed", "refused", "died", "late")
        rows = [f"{'kind':28}{'mutants':>8}" + "".join(f"{name:>9}" for name in names)]
        counts: dict[str, Counter[str]] = {}
        for one in self.outcomes:
            counts.setdefault(one["kind"], Counter())[one["result"]] += 1
        for kind, count in [*sorted(counts.items()), ("all", sum(counts.values(), Counter()))]:
            cells = "".join(f"{count[name]:>9}" for name in names)
            rows.append(f"{kind:28}{count.total():>8}{cells}")
        told = (one["reason"] for one in self.outcomes if one["reason"])  # what is shown has none
        reasons = Counter(re.sub(r"\d[\d,.]*", "#", reason) for reason in told)
        rows.append("\nwhy:")
        rows += [f"  {count:6}  {text[:110]}" for text, count in reasons.most_common(40)]
        rows.append("\nslowest:")
        for one in sorted(self.outcomes, key=lambda one: -one["seconds"])[:6]:
            rows.append(
                f"  {one['seconds']:6.2f} s  {one['number']:6} {one['kind']} ({one['name']}), "
                f"{'+'.join(one['how'])}: {one['result']}"
            )
        if self.good_s:
            rows.append(f"a good image after each batch: {max(self.good_s):.2f} s at most")
        if self.rss:
            rows.append(f"hosting process: {', '.join(str(n >> 20) for n in _ends(self.rss))} MB")
        rows += [f"FAILED {number}: {text}" for number, text in self.failures]
        rows.append(f"{len(self.outcomes)} in {self.seconds:.0f} s, {len(self.failures)} failures")
        return "\n".join(rows)


def _ends(values: Sequence[int]) -> list[int]:
    return [values[0], values[len(values) // 2], values[-1]]


def run(
    numbers: Sequence[int],
    seed: int = 0,
    *,
    shared: bool = False,
    keep: str = "",
    window: bool = False,
) -> Tally:
    """Feed mutants to a hosting process; one that dies is a failure, and another goes on.

    Args:
        numbers: Which mutants.
        seed: Of the run.
        shared: Whether files of `../shared/data` are damaged too.
        keep: A folder to leave the mutants in.
        window: Whether the host is the main window itself, else a `Decoder` alone.
    """
    tally = Tally()
    started = time.monotonic()
    left = list(numbers)
    with tempfile.TemporaryDirectory(prefix="sightline-faults-") as name:
        folder = Path(name)
        while left:
            begun = _Hosted(folder, left, seed, shared, keep, window).follow(tally)
            left = left[len(begun) :] if begun else []
        log = folder / "watch.log"
        if log.exists():
            tally.failures += [(-1, line) for line in sorted(set(log.read_text().splitlines()))]
    growth = max(tally.rss[_WARM_BATCHES:], default=0) - max(tally.rss[:_WARM_BATCHES], default=0)
    if growth > GROWTH_BYTES:
        tally.failures.append((-1, f"the hosting process grew by {growth >> 20} MB"))
    tally.seconds = time.monotonic() - started
    return tally


class _Hosted:
    """A hosting process, watched."""

    def __init__(
        self, folder: Path, left: list[int], seed: int, shared: bool, keep: str, window: bool
    ) -> None:
        self._token = secrets.token_hex(8)
        self._left = left
        self._segments = _segments()
        inside = folder / f"host{self._token}"
        for part in ("home", "tmp"):
            (inside / part).mkdir(parents=True)
        arguments = {
            "folder": str(inside / "files"), "numbers": left, "seed": seed, "size": BATCH,
            "shared": shared, "keep": keep,
        }  # fmt: skip
        roots = [str(folder), *([str(Path(keep).absolute())] if keep else [])]
        environment = os.environ | {
            "PYTHONPATH": f"{REPO / 'tests' / 'faults' / 'watch'}:{REPO}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(inside / "home"),
            "TMPDIR": str(inside / "tmp"),
            "SIGHTLINE_HOME": str(inside / "home"),
            "SIGHTLINE_WATCH": str(folder / "watch.log"),
            "SIGHTLINE_WATCH_ROOTS": ":".join(roots),
            "SIGHTLINE_FAULTS_TOKEN": self._token,
            "QT_QPA_PLATFORM": "offscreen",
        }
        module = "tests.faults.window" if window else "tests.faults.host"
        self._errors = (folder / "stderr.txt").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(arguments)],
            cwd=REPO, env=environment, stdout=subprocess.PIPE, stderr=self._errors,
        )  # fmt: skip

    def follow(self, tally: Tally) -> list[int]:
        """Take what it says until it ends; the mutants that it has begun."""
        begun: list[int] = []
        ended = False
        for message in self._messages():
            begun += message.get("begin", [])
            ended = ended or "end" in message
            tally.take(message)
        code = self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()
        if not ended:
            self._errors.seek(0)
            last = self._errors.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            text = f"the hosting process ended (code {code}) in mutants {begun[-BATCH:]}: {last}"
            tally.failures.append((begun[-1] if begun else -1, text))
        self._errors.close()
        tally.failures += [(-1, text) for text in self._left_behind()]
        return begun

    def _messages(self):
        stream = self._process.stdout
        assert stream is not None
        rest = b""
        with selectors.DefaultSelector() as waiting:
            waiting.register(stream, selectors.EVENT_READ)
            while True:
                if not waiting.select(SILENCE_S):
                    self._process.kill()
                    return
                chunk = os.read(stream.fileno(), 1 << 16)
                if not chunk:
                    return
                *lines, rest = (rest + chunk).split(b"\n")
                yield from map(json.loads, lines)

    def _left_behind(self) -> list[str]:
        """Processes and shared memory that outlive it by three seconds."""
        deadline = time.monotonic() + 3.0
        while True:
            found = _processes(self._token)
            held = _segments() - self._segments if not found else set[str]()
            ours = [name for name in held if not _in_use(name)]
            if not (found or ours) or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        return [
            *(f"a process is left behind: {pid}" for pid in found),
            *(f"shared memory is left behind: {name}" for name in ours),
        ]


def _segments() -> set[str]:
    folder = Path("/dev/shm")
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def _in_use(name: str) -> bool:
    """Whether a living process (of anybody else, on this machine) has it mapped or is young."""
    path = Path("/dev/shm") / name
    for maps in Path("/proc").glob("[0-9]*/maps"):
        try:
            if name in maps.read_text():
                return True
        except OSError:
            continue
    return not path.exists()


def _processes(token: str) -> list[int]:
    found: list[int] = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if token.encode() in environ.read_bytes():
                found.append(int(environ.parent.name))
        except OSError:
            continue
    return found
