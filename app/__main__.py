"""`python -m app`. Guarded: workers import this module again and must not start a window."""

from __future__ import annotations

import multiprocessing
import sys

if __name__ == "__main__":
    multiprocessing.freeze_support()  # first: a frozen worker process ends in here

    from app.cli import main

    sys.exit(main())
