"""Two ways to a model that its authors publish with a program (torch; model process only).

Published weights are read by a reader of ours, which runs no program of theirs. Any other layout (a
copy whose program was brought up to date) is run by the program that lies in its folder, if the
user has allowed it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from app.tools.chest.published_weights import OtherLayout, Tell
from app.tools.model_process.serving import Work

Read = TypeVar("Read")
Run = TypeVar("Run")

OWN, PUBLISHED = "Sightline's reader of the published weights", "the model's own program"
_START, _END = 0.02, 0.18  # of a call's progress


def loaded(
    read: Callable[[Path, str, torch.dtype, Tell], Read],
    run: Callable[[Path, Work], Run],
    folder: Path,
    work: Work,
    dtype: torch.dtype,
    title: str,
) -> Read | Run:
    """The model of a folder, ready to run, whichever way leads to it.

    Args:
        read: Our reader; raises `OtherLayout` where the folder is another one.
        run: The way through the folder's own program.
        folder: The model's.
        work: Where to load it.
        dtype: How precisely our reader loads it.
        title: Of the model, to tell how far it is.

    Raises:
        ToolFailed: Neither way leads to it.
    """
    try:
        return read(folder, work.placement.device, dtype, _telling(work, f"Loading {title}"))
    except OtherLayout as error:
        if not work.source.get("trust_remote_code"):
            work.notes.append(f"not the published layout: {error}")
        return run(folder, work)


def _telling(work: Work, text: str) -> Tell:
    """Tells a fraction of the loading as one of the whole call, in whole percents."""
    last = -1

    def tell(fraction: float) -> None:
        nonlocal last
        whole = _START + (_END - _START) * fraction
        if int(whole * 100) > last:
            last = int(whole * 100)
            work.progress(whole, text)

    return tell
