"""docs/seeds.md: every file and test that it names exists, and each row has a test or a reason."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

HEAD = ["stated", "in Sightline", "shown by", "differs, and why"]
_TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
_FILE = re.compile(r"`((?:app|docs|installer|resources|tests|training)/[\w./-]+)`")


class Row(NamedTuple):
    """A row of a table: what a document states, where it is, which test shows it, or why not."""

    line: int
    stated: str
    where: str
    tests: str
    reason: str


@cache
def page(repo: Path) -> str:
    return (repo / "docs" / "seeds.md").read_text(encoding="utf-8")


@pytest.fixture
def rows(repo: Path) -> list[Row]:
    found: list[Row] = []
    for number, line in enumerate(page(repo).splitlines(), start=1):
        if line.startswith("|") and not line.startswith("|---"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            assert len(cells) == 4, f"line {number}: {len(cells)} cells"
            if cells != HEAD:
                found.append(Row(number, *cells))
    return found


def test_each_document_has_its_rows(repo: Path):
    counts = {
        part[:3]: part.count("\n| ") - part.count(f"\n| {HEAD[0]} |")
        for part in page(repo).split("\n## Document ")[1:]
    }
    assert list(counts) == ["000", "001", "002", "003", "004"]
    assert min(counts.values()) >= 25, counts


def test_each_row_has_a_test_or_a_reason(rows: list[Row]):
    assert [row for row in rows if not row.stated] == []
    assert [row for row in rows if not _TEST.search(row.tests) and not row.reason] == []
    # Whatever stands in the column of tests is one.
    assert [row for row in rows if _TEST.sub("", row.tests).strip(" ,")] == []


def test_what_is_there_says_where(rows: list[Row]):
    lost = [row for row in rows if not _FILE.search(row.where)]
    assert [row for row in lost if not row.reason.startswith("Not yet")] == []


def test_every_file_exists(repo: Path):
    named = set(_FILE.findall(page(repo)))
    assert len(named) > 50
    assert sorted(name for name in named if not (repo / name).exists()) == []


def test_every_test_exists(repo: Path):
    named = set(_TEST.findall(page(repo)))
    assert len(named) > 80
    texts = {file: (repo / file).read_text(encoding="utf-8") for file, _ in named}
    missing = [
        f"{file}::{name}"
        for file, name in sorted(named)
        if not re.search(rf"^(?:async )?def {name}\(", texts[file], re.MULTILINE)
    ]
    assert missing == []
