"""Tables that tools return: CSV files of the run, described so that rows can be linked to images.

A row is about an object of an image (a nucleus), about an image, or about neither. A table is shown
sorted and filtered, a row selects its object in the image, and other tools take the file again by
an argument of `Resource.TABLE`.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.errors import FileProblem, writing
from app.tools.api import Artifact
from app.user_files import read_regular, write_atomic

Value = str | int | float | bool | None
"""A cell of a table; None where there is no value."""

MAX_ROWS = 1_000_000
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


@dataclass(frozen=True, slots=True)
class Table:
    """A table in memory.

    Attributes:
        columns: The columns' names, each once.
        rows: The rows, with a value for each column.
        units: Units of columns that have any, by column: {"area": "µm²"}.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    units: Mapping[str, str] = field(default_factory=dict[str, str])

    def column(self, name: str) -> list[Value]:
        """Return a column's values; raise KeyError if there is no such column."""
        if name not in self.columns:
            raise KeyError(name)
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def table_of(records: Sequence[Mapping[str, Value]], units: Mapping[str, str] = {}) -> Table:
    """Return a table with a row for each record; columns come in the order of first appearance."""
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    rows = tuple(tuple(record.get(name) for name in columns) for record in records)
    return Table(columns, rows, units)


def write_table(
    path: Path,
    table: Table,
    title: str,
    *,
    image_column: str = "",
    label_column: str = "",
    findings: Mapping[str, str] = {},
) -> Artifact:
    """Write a table as CSV and return its artifact, with role "table".

    Texts that a spreadsheet would take for a formula get an apostrophe, which `read_table` removes.

    Args:
        path: The file, under the run's output folder.
        table: What is written.
        title: What the table shows, for its window: "Nuclei".
        image_column: Column that names each row's image; "" if rows are about no image.
        label_column: Column with the number of each row's object in that image's `Instances`
            finding; "" if rows are about no objects.
        findings: Ids of the `Instances` findings that `label_column` counts in, by the image's name
            as in `image_column`; with the single key "" if there is one for all rows.

    Raises:
        FileProblem: The file cannot be written.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)  # its line ends make it quote every text with one
    writer.writerow([plain_cell(name) for name in table.columns])
    writer.writerows([plain_cell(cell) for cell in row] for row in table.rows)
    with writing(path, "the table"):
        write_atomic(path, stream.getvalue().encode())
    options: dict[str, Any] = {
        "units": dict(table.units),
        "image_column": image_column,
        "label_column": label_column,
        "findings": dict(findings),
        "rows": len(table.rows),
    }
    return Artifact(path, role="table", title=title, options=options)


def exported_csv(table: Table, rows: Sequence[int]) -> bytes:
    """Return rows of a table as CSV for spreadsheets, with the units in the column's names."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow([titled(table, name) for name in table.columns])
    writer.writerows([plain_cell(cell) for cell in table.rows[row]] for row in rows)
    return ("\ufeff" + stream.getvalue()).encode()  # the mark makes spreadsheets read UTF-8


def titled(table: Table, name: str) -> str:
    """Return a column's name with its units, if it has any."""
    units = table.units.get(name, "")
    return f"{name} ({units})" if units else name


def plain_cell(cell: object) -> object:
    """Return a cell that a spreadsheet does not take for a formula (OWASP, "CSV Injection").

    Numbers stay as they are. Texts that look like the result get one more apostrophe, so that
    `read_table` gives every text back.
    """
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def read_table(path: Path) -> Table:
    """Return the table in a CSV file; numbers become int or float, empty cells None.

    Raises:
        FileProblem: The file is no CSV table, or cannot be read.
    """
    try:
        text = read_regular(path).decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise _unreadable(path, type(error).__name__) from error
    if not lines or not any(lines[0]):
        raise _unreadable(path, "it is empty")
    columns = tuple(_text(name) for name in lines[0])
    if len(set(columns)) != len(columns):
        raise _unreadable(path, "two columns have the same name")
    rows = [line for line in lines[1:] if line]
    if any(len(row) != len(columns) for row in rows) or len(rows) > MAX_ROWS:
        raise _unreadable(path, "its rows have different lengths, or there are too many")
    return Table(columns, tuple(tuple(_value(cell) for cell in row) for row in rows))


def _unreadable(path: Path, why: str) -> FileProblem:
    return FileProblem(
        f"the table cannot be read ({why})",
        subject=str(path),
        remedy="Give a CSV file with a row of column names and one value per column.",
    )


def _text(cell: str) -> str:
    """Return a text as it was before `plain_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _value(cell: str) -> Value:
    if cell.startswith("'"):
        return _text(cell)
    if cell in ("True", "False"):
        return cell == "True"
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    return cell or None
