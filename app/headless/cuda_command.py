"""The command `cuda`: installs a CUDA pack, or says which is installed."""

from __future__ import annotations

import sys
from pathlib import Path

from app import paths
from app.tools.hosting import cuda_pack


def cuda(pack: Path | None) -> int:
    """Install `pack` if it is given; print the folder of the installed one; return the exit code.

    Raises:
        SightlineError: The pack does not fit, is damaged, or cannot be unpacked.
    """
    if pack is not None:
        cuda_pack.install(pack, _print_progress)
        print(file=sys.stderr)
    folder = cuda_pack.installed()
    torch = paths.packaged_torch() or "the source tree"
    if folder is None:
        print(f"No CUDA pack for {torch}: models run on the processor.")
        return 1
    print(f"CUDA pack for torch {torch}: {folder}")
    return 0


def _print_progress(fraction: float) -> None:
    print(f"\r{fraction:4.0%}", end="", file=sys.stderr, flush=True)
