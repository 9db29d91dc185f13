"""De-identified copies made in a process of their own, so that no parser runs in the window's.

The process may write, unlike the decode workers; it ends with its run. If a file crashes it, that
file is told as damaged, and a new process goes on with the next.
"""

from __future__ import annotations

import importlib
import multiprocessing
from collections.abc import Callable, Collection, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from app.errors import SightlineError, WorkerDied
from app.imaging.deidentify.options import Blank, Option, Outcome, Summary, check_options

_COPYING = "app.imaging.deidentify.copying"
"""Named as a string: it imports parsers."""
_START_S = 60.0
_STOP_S = 5.0
_POLL_S = 0.1
_CRASHED = "reading it ended the reader, so it is damaged"


def deidentify_apart(
    sources: Sequence[Path],
    out: Path,
    options: Collection[Option],
    *,
    burnt_in: bool,
    progress: Callable[[int, int], object],
    cancelled: Callable[[], bool],
    blanks: Sequence[Blank] = (),
) -> Summary:
    """Copy files to a folder, one after the other, and return what became of each.

    Args:
        sources: Files or members of archives.
        out: The folder for the copies; it is created.
        options: The profile's options.
        burnt_in: Whether files that are declared to have burnt-in text are copied.
        progress: Called on this thread with the numbers of files done and of all.
        blanks: Boxes that are overwritten in pixels.
        cancelled: Asked every 0.1 s; a copy that is being made is finished, or given up after 5 s.

    Raises:
        SightlineError: The folder cannot be written to, options exclude each other, or the process
            does not start.
    """
    summary = Summary()
    chosen = sorted(check_options(options))
    while len(summary.outcomes) < len(sources) and not summary.cancelled:
        rest = sources[len(summary.outcomes) :]
        _one_process(
            rest, (out, chosen, burnt_in, tuple(blanks)), summary, len(sources), progress, cancelled
        )
    return summary


def _one_process(
    rest: Sequence[Path],
    job: tuple[Path, list[Option], bool, tuple[Blank, ...]],
    summary: Summary,
    total: int,
    progress: Callable[[int, int], object],
    cancelled: Callable[[], bool],
) -> None:
    """Copy files until the end, a cancel or a crash; add their outcomes to the summary."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_serve, args=(theirs, list(rest), *job), name="sightline-deidentify", daemon=True
    )
    process.start()
    theirs.close()
    waited = 0.0
    started = False
    try:
        while True:
            if cancelled() and not summary.cancelled:
                summary.cancelled = True
                ours.send("stop")
                waited = 0.0
            if not ours.poll(_POLL_S):
                waited += _POLL_S
                if summary.cancelled and waited > _STOP_S:
                    return
                if not started and waited > _START_S:
                    raise WorkerDied("the copying process did not start", remedy="Try again.")
                continue
            answer: Any = ours.recv()
            if isinstance(answer, SightlineError):
                raise answer
            if isinstance(answer, Outcome):
                summary.outcomes.append(answer)
                progress(len(summary.outcomes), total)
            elif answer is None:
                return
            started = True
    except (EOFError, OSError):
        if summary.cancelled:
            return
        if not started:
            raise WorkerDied("the copying process did not start", remedy="Try again.") from None
        summary.outcomes.append(Outcome(rest[_done(rest, summary)], reason=_CRASHED, fault=True))
    finally:
        ours.close()
        process.kill()
        process.join()


def _done(rest: Sequence[Path], summary: Summary) -> int:
    told = {one.path for one in summary.outcomes}
    return next((index for index, path in enumerate(rest) if path not in told), len(rest) - 1)


def _serve(
    pipe: Connection,
    sources: list[Path],
    out: Path,
    options: list[Option],
    burnt_in: bool,
    blanks: tuple[Blank, ...],
) -> None:
    """Copy files in this process and send each outcome; None after the last."""
    copying = importlib.import_module(_COPYING)
    try:
        out.mkdir(parents=True, exist_ok=True)
        secret = copying.folder_secret(out)
        copier = copying.Copier(out, secret, options, burnt_in=burnt_in, blanks=blanks)
        pipe.send("ready")
        copying.deidentify(
            sources,
            copier.copy,
            progress=lambda _number, outcome: pipe.send(outcome),
            cancelled=pipe.poll,
        )
        pipe.send(None)
    except SightlineError as error:
        pipe.send(SightlineError(f"{error.subject}: {error.reason}", remedy=error.remedy))
    except OSError as error:
        reason = f"{out}: it cannot be written ({error.strerror})"
        pipe.send(SightlineError(reason, remedy="Choose another folder."))
