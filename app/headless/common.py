"""Shared parts of the commands: the program's objects, a scanned source, JSON on stdout."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

from app.errors import FileProblem, printable
from app.imaging.decode import Decoder
from app.imaging.finding_files import read_findings
from app.imaging.findings import Finding, array_size
from app.imaging.layers import may_be_same_patient
from app.imaging.openable import REMEDY
from app.imaging.types import Content, ScanResult
from app.wiring import Program
from app.workspace.studies import instances_of


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


def given_findings(program: Program, path: Path, result: ScanResult) -> tuple[Finding, ...]:
    """Return the findings of a JSON file or DICOM structured report on scanned images.

    Those of a report that are on none of the images are left out, which stderr says.

    Raises:
        FileProblem: The file cannot be read, or holds no findings.
    """
    if not _is_dicom(path):
        given = tuple(read_findings(path))
        # Pages may differ in size.
        single = [one for one in instances_of(result.studies) if one.frames == 1]
        sizes = {one.sop_instance_uid: (one.rows, one.columns) for one in single}
        for one in given:
            size, image = array_size(one.geometry), sizes.get(one.image.sop_instance_uid)
            if size is not None and image is not None and size != image:
                raise FileProblem(
                    f"{one.label} covers {size[1]} x {size[0]} pixels, "
                    f"but its image has {image[1]} x {image[0]}",
                    subject=str(path),
                    remedy="Give the mask that was made of this very image.",
                )
        return given
    given = program.decoder.scan([path]).result().studies
    reports = [one for one in instances_of(given) if one.content is Content.REPORT]
    if not reports:
        raise FileProblem(
            "it holds no structured report",
            subject=str(path),
            remedy="Give the JSON of `ask --json`, or a structured report (SR).",
        )
    every = [one for one in instances_of(result.studies) if one.has_frames]
    found: list[Finding] = []
    for report in reports:
        named = set(report.references)
        images = [
            one
            for one in every
            if one.sop_instance_uid in named and may_be_same_patient(report, one)
        ]
        marks = program.decoder.report_findings(report, images).result()
        found += marks.findings
        tell_left_out(Counter(reason for _, reason in marks.left_out))
    return tuple(found)


def _is_dicom(path: Path) -> bool:
    """Return whether a file is no text, in which JSON would begin with a bracket."""
    try:
        with path.open("rb") as file:
            start = file.read(132)
    except OSError:
        return False  # what reads it as JSON says what is wrong
    return start[128:] == b"DICM"


def tell_left_out(reasons: Mapping[str, int]) -> None:
    """Print to stderr how many findings are left out, and why."""
    for why, count in reasons.items():
        if count:
            what = "finding is" if count == 1 else "findings are"
            print(f"sightline: {count} {what} left out: {printable(why)}", file=sys.stderr)


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
