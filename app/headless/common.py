"""Shared parts of the commands: the program's objects, a scanned source, JSON on stdout."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from app.errors import FileProblem
from app.imaging.decode import Decoder
from app.imaging.openable import REMEDY
from app.imaging.types import ScanResult
from app.wiring import Program


@contextlib.contextmanager
def open_program() -> Generator[Program]:
    """Yield a new `Program`, and end its processes when the `with` block ends."""
    program = Program()
    try:
        yield program
    finally:
        program.close()


def scan_source(decoder: Decoder, source: Path) -> ScanResult:
    """Scan a file, folder or archive and return the result.

    Raises:
        FileProblem: The source contains nothing that can be opened.
    """
    result = decoder.scan([source]).result()
    if not result.studies:
        problem = result.problems[0] if result.problems else None
        raise FileProblem(
            problem.reason if problem else "there is nothing in it that can be opened",
            subject=str(problem.path if problem else source),
            remedy=problem.remedy if problem else REMEDY,
        )
    return result


def print_json(value: Any) -> None:
    """Print a value on stdout as one line of JSON."""
    # A pipe on Windows has another encoding than UTF-8: escapes give the same JSON there.
    escaped = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(value, ensure_ascii=escaped, allow_nan=False), flush=True)


def can_ask() -> bool:
    """Return True if a terminal is attached at which the user can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def is_agreed(question: str) -> bool:
    """Ask at the terminal; return True if the answer is yes, and False without a terminal."""
    if not can_ask():
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
