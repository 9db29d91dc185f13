"""Saves what the audit window lists: as a table for people, or the lines as they are."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from app import settings
from app.audit import AuditLog, words
from app.audit.exports import exporting
from app.audit.lines import decode
from app.errors import FileProblem
from app.views.audit.model import Row

FILTERS = {"Table (*.csv)": "csv", "Lines as they are (*.jsonl)": "jsonl"}
_HEAD = ("entry", "time (UTC)", "kind", "action", "what", "outcome", "file", "line")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def save(log: AuditLog, rows: Sequence[Row], path: Path) -> int:
    """Write rows to a file, the oldest first; the form follows its name.

    Returns:
        How many.

    Raises:
        FileProblem: It, or the audit log, cannot be written.
    """
    ordered = list(reversed(rows))
    if path.suffix.lower() == ".jsonl":
        data = b"".join(row.raw for row in ordered)
    else:
        data = _table(ordered).encode("utf-8-sig")  # the mark makes spreadsheets read UTF-8
    with exporting(log, "audit log", path, lines=len(rows)):
        try:
            settings.write_atomic(path, data)
        except OSError as error:
            raise FileProblem(
                f"it cannot be written ({error.strerror or type(error).__name__})",
                subject=str(path),
                remedy="Choose a folder with free space that you may write to.",
            ) from error
    return len(rows)


def _table(rows: Sequence[Row]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(_HEAD)
    for row in rows:
        entry = decode(row.raw, row.segment, row.line)
        if entry is None:
            writer.writerow(("", "", "", "(cannot be read)", "", "", row.segment, row.line))
            continue
        said = (
            words.kind_of(entry),
            words.action_of(entry),
            words.what_of(entry),
            words.outcome_of(entry),
        )
        cells = (_cell(cell) for cell in said)
        writer.writerow((entry.number, entry.time, *cells, row.segment, row.line))
    return text.getvalue()


def _cell(text: str) -> str:
    """A text that a spreadsheet takes for a formula is marked as text."""
    return f"'{text}" if text.startswith(_FORMULA) else text
