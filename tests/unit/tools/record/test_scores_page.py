"""The page on the record lists every score with its paper and its inputs."""

from __future__ import annotations

import re

import pytest

from app.tools.record.scores.catalogue import SCORES
from app.tools.record.scores.engine import Score
from tests.conftest import REPO

ROWS = dict(
    re.findall(r"^\| `(\w+)` \| (.*) \|$", (REPO / "docs" / "record.md").read_text("utf-8"), re.M)
)


@pytest.mark.parametrize("score", SCORES, ids=[score.name for score in SCORES])
def test_the_page_has_the_scores_paper_and_inputs(score: Score):
    paper, inputs = ROWS[score.name].split(" | ")
    assert any(f"(https://doi.org/{one.doi})" in paper for one in score.papers if one.doi)
    assert inputs.split(", ") == [one.name for one in score.inputs]


def test_the_page_has_no_other_scores():
    names = {score.name for score in SCORES}
    assert {name for name, rest in ROWS.items() if "doi.org" in rest} == names
