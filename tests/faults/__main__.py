"""Damaged files through the real open path; prints what became of them.

    python -m tests.faults [--count 10000] [--window 200] [--seed 0] [--shared]
    python -m tests.faults --only 4711 --keep FOLDER

Every failure names its mutant's number, which together with the seed makes the same file again.
Exit code 1 when anything failed that must not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.faults.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="mutants through the decoder")
    parser.add_argument("--window", type=int, default=200, help="mutants through the main window")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--only", type=int, nargs="+", help="these mutants only")
    parser.add_argument("--keep", default="", help="leave the mutants in this folder")
    parser.add_argument("--shared", action="store_true", help="damage ../shared/data too")
    options = parser.parse_args()
    if options.keep:
        Path(options.keep).mkdir(parents=True, exist_ok=True)
    numbers = options.only or range(options.first, options.first + options.count)
    tally = run(numbers, options.seed, shared=options.shared, keep=options.keep)
    print(tally.table())
    failed = bool(tally.failures)
    if options.window and not options.only:
        shown = run(range(options.window), options.seed, shared=options.shared, window=True)
        print("\nthrough the main window:\n" + shown.table())
        failed = failed or bool(shown.failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
