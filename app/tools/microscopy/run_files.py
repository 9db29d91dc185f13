"""What tools of the pack read from a run: its own files, tables of cells, names of images."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator

from app.tools.api import ImageSnapshot, ToolContext, ToolRetry
from app.tools.tables import Table, Value, read_table


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_as_list)]
"""A list of names or paths; a single one is taken as a list of one."""


def own_file(name: str, context: ToolContext, what: str) -> Path:
    """Return a file in the run's output folder; `what` names it in the error ("a table").

    Raises:
        ToolRetry: There is no such file in that folder.
    """
    folder = context.out_dir.resolve()
    try:
        path = (folder / name.strip()).resolve()
        inside = path.is_relative_to(folder) and path.is_file()
    except (OSError, ValueError, RuntimeError):
        inside, path = False, folder
    if not inside:
        raise ToolRetry(
            f"that names no file of this run, and {what} is needed",
            remedy="Give the path from an earlier result, exactly as it was returned.",
        )
    return path


def file_stem(kind: str, context: ToolContext) -> str:
    """Return the beginning of the names of a call's files: "crops-call-1"."""
    return f"{kind}-{re.sub(r'[^A-Za-z0-9_-]', '_', context.call_id)[:60]}"


def image_name(snapshot: ImageSnapshot) -> str:
    """Return the name by which tables call an image: that of its file, as segmenters do."""
    return snapshot.path.name


def read_tables(
    names: Sequence[str], context: ToolContext, needs: Sequence[str], source: str
) -> tuple[Table, list[Path]]:
    """Return the rows of tables of this run as one, and each row's folder.

    Columns that only some of them have are empty in the others. `source` says which tool makes
    tables with the columns that it `needs`.

    Raises:
        ToolRetry: A table is not of this run, or lacks a column.
        FileProblem: A table cannot be read.
    """
    paths = [own_file(name, context, "a table") for name in dict.fromkeys(names)]
    if not paths:
        raise ToolRetry("no table is given", remedy=f"Give the path from {source}.")
    read = [read_table(path) for path in paths]
    for path, table in zip(paths, read, strict=True):
        missing = [column for column in needs if column not in table.columns]
        if missing:
            raise ToolRetry(
                f"the table {path.name} has no column {', '.join(missing)}",
                remedy=f"Give the table that {source} returned.",
            )
    columns = tuple(dict.fromkeys(name for table in read for name in table.columns))
    rows: list[tuple[Value, ...]] = []
    folders: list[Path] = []
    for path, table in zip(paths, read, strict=True):
        places = [table.columns.index(name) if name in table.columns else None for name in columns]
        rows += [tuple(None if p is None else row[p] for p in places) for row in table.rows]
        folders += [path.parent] * len(table.rows)
    return Table(columns, tuple(rows)), folders


def texts(table: Table, name: str) -> list[str]:
    """Return a column's values as texts; "" where it has none, or is not there."""
    if name not in table.columns:
        return [""] * len(table.rows)
    return ["" if value is None else str(value) for value in table.column(name)]


def links_of(table: Table) -> dict[str, Any]:
    """Return the arguments of `write_table` and `Plot` that link a table's rows to their cells."""
    if not {"image", "label"} <= set(table.columns):
        return {}
    pairs = zip(texts(table, "image"), texts(table, "finding"), strict=True)
    findings = {image: finding for image, finding in pairs if finding}
    return {"image_column": "image", "label_column": "label", "findings": findings}


def units_of(table: Table) -> list[str]:
    """Return the replicate of each row: its replicate, or its image where none is known."""
    named, images = texts(table, "replicate"), texts(table, "image")
    return [replicate or image for replicate, image in zip(named, images, strict=True)]


def plural(count: int, noun: str) -> str:
    """Return a count with its noun: "1 cell", "1,200 cells"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
