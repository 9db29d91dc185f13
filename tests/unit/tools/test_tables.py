"""Tables as CSV: spreadsheets run no text of them, and every value is read back as it was."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from app.tools.tables import Table, exported_csv, read_table, table_of, write_table

FORMULAS = ("=1+1", "+49 30", "-", "@SUM(A1)", "-5", "\t=1", "\r=1")


def written(tmp_path: Path, table: Table) -> list[list[str]]:
    path = tmp_path / "a.csv"
    write_table(path, table, "Cells")
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


@pytest.mark.parametrize("text", [*FORMULAS, "'=1", "''-", "'quoted'", "plain", "it's"])
def test_texts_are_no_formulas_in_the_file_and_the_same_when_read(tmp_path: Path, text: str):
    table = table_of([{"image": text, text or "other": 1}])
    for row in written(tmp_path, table):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    again = read_table(tmp_path / "a.csv")
    assert again.columns == table.columns
    assert again.rows == table.rows


def test_numbers_are_untouched(tmp_path: Path):
    table = table_of([{"a": -5, "b": -0.25, "c": 1e-9, "d": None, "e": True}])
    assert written(tmp_path, table)[1] == ["-5", "-0.25", "1e-09", "", "True"]
    assert read_table(tmp_path / "a.csv").rows == table.rows


def test_what_is_read_and_exported_is_escaped_once(tmp_path: Path):
    write_table(tmp_path / "a.csv", table_of([{"image": "=1+1"}]), "Cells")
    assert exported_csv(read_table(tmp_path / "a.csv"), [0]).decode("utf-8-sig").split() == [
        "image",
        "'=1+1",
    ]
