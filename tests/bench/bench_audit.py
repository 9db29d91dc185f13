"""What the audit log costs: an event, one that is on the disk, checking a line.

    python -m tests.bench.bench_audit [--events N] [--folder DIR]

The baseline is the same line appended to a plain file, in the same run and folder.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from app.audit import AuditLog
from app.audit.verification import verify

SECRET = b"k" * 32
FACTS = {
    "run": "a" * 32,
    "thread": "20261121T163647-" + "b" * 32,
    "call": "call-" + "c" * 32,
    "tool": "chest_xray_segmentation",
    "effect": "compute",
    "status": "ok",
    "images": ["d" * 24],
}
SYNCED = 50


def median_us(work: Callable[[], object], times: int) -> float:
    """Median microseconds of one call."""
    took: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=3_000)
    parser.add_argument("--folder", type=Path, default=None, help="on which disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as home:
        folder = Path(home) / "audit"
        log = AuditLog(folder, SECRET)
        log.record("tool_finished", FACTS)
        line = (folder / "audit-000001.jsonl").read_bytes().splitlines(keepends=True)[-1]

        def append() -> None:
            handle = os.open(Path(home) / "plain", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(handle, line)
            os.close(handle)

        plain = median_us(append, options.events)
        event = median_us(lambda: log.record("tool_finished", FACTS), options.events)
        synced = median_us(lambda: log.record("data_sent", FACTS, sync=True), SYNCED)
        began = time.perf_counter()
        report = verify(folder, SECRET)
        checked = (time.perf_counter() - began) / report.lines * 1e6
    print(f"plain append   {plain:8.1f} us      1.0x  (baseline)")
    print(f"event          {event:8.1f} us  {event / plain:7.1f}x")
    print(f"event + fsync  {synced:8.1f} us  {synced / plain:7.1f}x")
    print(f"verify, a line {checked:8.1f} us  {checked / plain:7.1f}x")


if __name__ == "__main__":
    main()
