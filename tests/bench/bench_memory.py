"""What opening and closing costs in memory: `python -m tests.bench.bench_memory`.

Prints the resident memory (its own, and its share of what is shared: PSS) of a real window before
and after 200 studies were opened, looked at and closed, and of a decoder with a cache of 64 MiB
through which a compressed series of 2,000 slices was scrolled from end to end. The baseline of each
is the same process at its start. Linux only.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

from tests.conftest import REPO


def measured(run: str) -> dict[str, Any]:
    """The numbers of a run of `tests.gui.memory_runs`, in a process of its own."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.gui.memory_runs", run]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        command, cwd=REPO, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    numbers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return numbers


def main() -> None:
    """Print the table."""
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    numbers = measured("studies")
    before, after = (numbers[when]["resident"] / 1e6 for when in ("before", "after"))
    print(f"{numbers['rounds']} studies opened and closed, at first {before:7.1f} MB")
    print(f"  afterwards {after:7.1f} MB, {after / before - 1:+.1%}")
    for kind in ("threads", "files", "segments", "children"):
        print(f"  {kind:<10} {numbers['before'][kind]:7} -> {numbers['after'][kind]}")
    numbers = measured("scrolled")
    before, peak = numbers["before"] / 2**20, numbers["peak"] / 2**20
    budget, kept = numbers["budget"] / 2**20, numbers["kept"] / 2**20
    print(f"{numbers['slices']} slices scrolled, with one of them {before:7.1f} MiB")
    print(f"  the most {peak:7.1f} MiB, {peak - before:.1f} more")
    print(f"  the cache held {kept:.1f} MiB at most, its budget is {budget:.0f} MiB")
    each, size = numbers["seconds"] / numbers["slices"], numbers["slices"] * numbers["frame"]
    print(f"  {each * 1e3:.1f} ms a slice, all of them {size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
