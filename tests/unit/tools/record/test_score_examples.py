"""Each score gives what its paper, or another program, gives."""

from __future__ import annotations

from collections import Counter

import pytest

from app.tools.record.scores.catalogue import SCORES, find_score, read_inputs
from app.tools.record.scores.engine import Result, Score, all_outcomes, evaluate
from tests.unit.tools.record.score_cases import CASES, Case


def result_of(case: Case) -> Result:
    score = find_score(case.score)
    return evaluate(score, read_inputs(score, case.inputs))


@pytest.mark.parametrize("case", CASES, ids=[f"{one.score}-{one.source}" for one in CASES])
def test_the_published_total_and_band(case: Case):
    result = result_of(case)
    assert result.missing == ()
    if isinstance(case.total, str):
        assert (result.total, result.band) == (None, case.total)
    else:
        assert result.total == pytest.approx(case.total)
        assert result.band == case.band
        points = [one.points for one in result.items if one.points is not None]
        if not result.score.rule:
            assert sum(points) == pytest.approx(case.total)


def test_every_score_has_eight_examples():
    counts = Counter(case.score for case in CASES)
    assert {score.name: counts[score.name] for score in SCORES if counts[score.name] < 8} == {}


@pytest.mark.parametrize("score", SCORES, ids=[score.name for score in SCORES])
def test_the_examples_reach_all_points_of_all_items_and_all_categories(score: Score):
    results = [result_of(case) for case in CASES if case.score == score.name]
    for number, item in enumerate(score.items):
        outcomes, _ = all_outcomes(item.points, score, {}, item.cuts)
        reached = {result.items[number].points for result in results}
        assert {one.points for one in outcomes} <= reached, item.title
    if all(result.total is None for result in results):
        reached_bands = {result.band for result in results}
        assert reached_bands >= set(evaluate(score, {}).possible_bands) - {"not classified"}
