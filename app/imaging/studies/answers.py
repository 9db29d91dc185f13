"""What the headers of some files said, as the workers tell it and the index keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.imaging.studies.tables import Row, TableError, TableReader, from_bytes, table_of
from app.imaging.types import Instance, Problem

SAME, DIRECTORY, PROBLEM = -1, -2, -3
"""The file is as it was known; it is a DICOMDIR, whose images are listed anyway; it cannot be
shown. Else: how many instances it has."""


def to_message(
    kinds: Sequence[int], instances: Sequence[Instance], problems: dict[str, list[str]]
) -> dict[str, Any]:
    """Answers as JSON values.

    Args:
        kinds: A file each, see above.
        instances: Of all files, in order.
        problems: Place of the file as text -> reason and remedy.
    """
    return {"kinds": list(kinds), "problems": problems, "table": table_of(instances)}


@dataclass(frozen=True, slots=True)
class Answers:
    """What is said of some files.

    Attributes:
        kinds: A file each.
        starts: Where in `rows` the instances of each file begin.
        rows: Of all instances.
        problems: Place of the file -> reason and remedy.
    """

    kinds: list[int]
    starts: list[int]
    rows: list[Row]
    problems: dict[int, tuple[str, str]]

    def rows_of(self, place: int) -> list[Row]:
        """The rows of a file's instances."""
        return self.rows[self.starts[place] : self.starts[place] + max(self.kinds[place], 0)]

    def instances(self, place: int, path: Path) -> list[Instance]:
        """The instances of a file, which lies at `path`."""
        return [Instance(path, *row) for row in self.rows_of(place)]

    def problem(self, place: int, path: Path) -> Problem | None:
        """Why a file is not shown, or None."""
        found = self.problems.get(place)
        return Problem(path, *found) if found is not None else None


def read_answers(data: bytes | memoryview, reader: TableReader) -> Answers:
    """Answers from the bytes of `to_message`.

    Raises:
        TableError: They are none.
    """
    message = from_bytes(data)
    try:
        rows = reader.rows(message["table"])
        kinds = [int(kind) for kind in message["kinds"]]
        problems = {int(key): (str(a), str(b)) for key, (a, b) in message["problems"].items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TableError("not the answers about files") from error
    starts: list[int] = []
    count = 0
    for kind in kinds:
        starts.append(count)
        count += max(kind, 0)
    missing = [place for place, kind in enumerate(kinds) if kind == PROBLEM]
    lowest = min(kinds, default=0)
    if lowest < PROBLEM or count != len(rows) or not set(missing) <= problems.keys():
        raise TableError("answers and files disagree")
    return Answers(kinds, starts, rows, problems)
