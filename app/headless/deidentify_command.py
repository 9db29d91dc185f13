"""The command `deidentify`: de-identified copies of files, folders or archives."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from app.audit.exports import record_export
from app.errors import printable
from app.headless.common import open_program, print_json
from app.imaging.deidentify import copying
from app.imaging.deidentify.copying import Copier
from app.imaging.deidentify.options import Option, Outcome, Summary, check_folder, check_options


def deidentify(
    sources: Sequence[Path],
    out: Path,
    options: Sequence[Option],
    *,
    burnt_in: bool,
    as_json: bool,
) -> int:
    """Copy the DICOM files of `sources` to `out`; return 1 if none could be copied.

    Raises:
        UsageError: Options exclude each other, or `out` lies among the originals.
        FileProblem: `out` cannot be written to.
    """
    chosen = check_options(options)
    check_folder(out, sources)
    files, problems = copying.list_files(sources)
    out.mkdir(parents=True, exist_ok=True)
    copier = Copier(out, copying.folder_secret(out), chosen, burnt_in=burnt_in)

    def tell(number: int, outcome: Outcome) -> None:
        if sys.stderr.isatty():
            print(f"\r{number} of {len(files)}", end="", file=sys.stderr, flush=True)

    with (
        open_program() as program,
        record_export(program.audit, "de-identified copy", out / "copy.dcm", files=len(files)),
    ):
        summary = copying.deidentify(files, copier.copy, tell)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    summary.outcomes += [
        Outcome(one.path, reason=one.reason, remedy=one.remedy) for one in problems
    ]
    if as_json:
        print_json(_as_json(summary))
    else:
        _print(summary)
    return 0 if summary.copied else 1


def _as_json(summary: Summary) -> dict[str, object]:
    return {
        "copied": [
            {"path": str(one.path), "copy": one.copy, "warnings": list(one.warnings)}
            for one in summary.copied
        ],
        "left_out": [
            {"path": str(one.path), "reason": one.reason, "remedy": one.remedy}
            for one in summary.left_out
        ],
    }


def _print(summary: Summary) -> None:
    for one in summary.left_out:
        print(printable(f"Left out: {one.path}: {one.reason}. {one.remedy}".rstrip()))
    for one in summary.copied:
        for warning in one.warnings:
            print(printable(f"Look at: {one.copy}: {warning}"))
    print(f"{len(summary.copied)} copied, {len(summary.left_out)} left out.")
