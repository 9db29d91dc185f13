"""The shipped tables: whole, cited, and worked examples that others have published."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from app.errors import FileProblem
from app.tools.diagnosis.bayes import posterior
from app.tools.diagnosis.differential import Differential
from app.tools.diagnosis.table import Presentation, presentations, read_presentation

HERE = Path(__file__).parent
SHIPPED = presentations([])
EACH = pytest.mark.parametrize("table", SHIPPED.values(), ids=lambda table: table.id)
CASES: list[dict[str, Any]] = [
    case
    for path in sorted(HERE.glob("published_cases_*.toml"))
    for case in tomllib.loads(path.read_text("utf-8"))["cases"]
]


def test_there_are_as_many_as_promised() -> None:
    assert len(SHIPPED) >= 25
    assert sum(len(table.ratios) for table in SHIPPED.values()) >= 300


@EACH
def test_a_reader_can_find_each_source(table: Presentation) -> None:
    used = {item.source for item in (*table.ratios, *table.hypotheses.values())}
    assert (
        not set(table.sources)
        - used
        - {
            item.source
            for disease in table.hypotheses.values()
            for item in (disease.test_threshold, disease.treatment_threshold)
            if item
        }
    )
    for key, source in table.sources.items():
        dated = re.search(r"\b(19|20)\d\d\b", source.text)
        assert dated or source.url or source.pmid, f"{key} has no year"
        assert len(source.text) > 40, f"{key}: authors, title, journal"
        looked_up = [item.looked_up for item in table.ratios if item.source == key]
        findable = source.doi or source.pmid or source.url or any(looked_up)
        assert findable or re.search(r"\d+[:;(]", source.text), f"{key} cannot be found"


@EACH
def test_every_figure_is_usable(table: Presentation) -> None:
    assert table.words
    for words in (table.words, *(f.words + f.absent_words for f in table.findings.values())):
        assert all(word == word.casefold().strip() and len(word) > 1 for word in words)
    for finding in table.findings.values():
        assert finding.words or finding.loinc or finding.labels
        assert not set(finding.words) & set(finding.absent_words)
        assert not finding.question or finding.question.endswith("?")
    differential = Differential(table)
    for gain in differential.next_findings():
        for hypothesis, value in (*gain.present.items(), *gain.absent.items()):
            assert 0 <= value <= 1, hypothesis


@EACH
def test_a_phrase_means_one_thing(table: Presentation) -> None:
    owners: dict[str, str] = {}
    for key, finding in table.findings.items():
        for word in finding.words:
            other = owners.setdefault(word, key)
            same = table.findings[other].group == finding.group and finding.group
            assert other == key or same, f"{word!r} is {other} and {key}"


@EACH
def test_loinc_codes_have_their_check_digit(table: Presentation) -> None:
    for finding in table.findings.values():
        for code in finding.loinc:
            number, digit = code.split("-")
            doubled = "".join(str(int(d) * 2) for d in number[::-1][::2])  # Luhn, mod 10
            total = sum(map(int, doubled)) + sum(map(int, number[::-1][1::2]))
            assert (10 - total % 10) % 10 == int(digit), code


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_published_worked_examples(case: dict[str, Any]) -> None:
    found = posterior(case["prior"], case["ratios"])
    assert found == pytest.approx(case["posterior"], abs=case["tolerance"])


def test_there_are_published_examples_for_five_presentations() -> None:
    assert len({case["source"] for case in CASES}) >= 5


def test_a_site_s_table_replaces_the_shipped_one(tmp_path: Path) -> None:
    name, table = next(iter(SHIPPED.items()))
    own = tmp_path / f"{name}.toml"
    own.write_text(
        """
        title = "Ours"
        words = ["ours"]
        population = "our clinic"
        [hypotheses.a]
        name = "A"
        prior = [0.5]
        source = "us"
        [findings.f]
        name = "F"
        kind = "sign"
        request = "Look"
        [[ratios]]
        finding = "f"
        hypothesis = "a"
        positive = [2]
        source = "us"
        [sources.us]
        text = "Our own audit of 2025"
        """,
        "utf-8",
    )
    assert table.title != "Ours"
    assert presentations([own])[name].title == "Ours"
    own.write_text(own.read_text("utf-8").replace("[0.5]", "[1.5]"), "utf-8")
    with pytest.raises(FileProblem, match="probability between 0 and 1") as told:
        presentations([own])
    assert str(own) in told.value.text
    own.write_text("title = ", "utf-8")
    with pytest.raises(FileProblem, match="TOML"):
        read_presentation(own)
