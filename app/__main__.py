"""Entry point of `python -m app`.

The test of `__name__` keeps worker processes, which import this module again, from starting a
window.
"""

from __future__ import annotations

import multiprocessing
import sys

if __name__ == "__main__":
    multiprocessing.freeze_support()  # must come first: in a bundle a worker process runs here

    from app.cli import main

    sys.exit(main())
