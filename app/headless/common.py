"""What every command does: make the program and end it, scan a source, print JSON."""

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
def program_of() -> Generator[Program]:
    """The program's objects; their processes end with the command."""
    program = Program()
    try:
        yield program
    finally:
        program.close()


def scanned(decoder: Decoder, source: Path) -> ScanResult:
    """What is in a source.

    Raises:
        FileProblem: Nothing at all.
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
    """One line of JSON on stdout."""
    # Escapes where the reader's encoding is not UTF-8, as in pipes on Windows: the same JSON.
    escaped = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    print(json.dumps(value, ensure_ascii=escaped, allow_nan=False), flush=True)
