"""Comparison of groups by replicates: scipy and simulated experiments are the witnesses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from app.tools.microscopy.composition import (
    Share,
    adjusted,
    compare_features,
    compare_shares,
    entry,
    hedges_g,
    pairs,
    shares,
)
from tests.unit.tools.microscopy.support import welch_p

Counts = dict[str, list[tuple[int, ...]]]


def made(counts: Counts) -> list[Share]:
    """One tuple a replicate: its cells in cluster 1, 2, ..."""
    return [
        Share(group, f"{group}{number}", str(cluster), cells, sum(replicate))
        for group, replicates in counts.items()
        for number, replicate in enumerate(replicates)
        for cluster, cells in enumerate(replicate, 1)
    ]


CLEAR: Counts = {
    "control": [(80, 20), (75, 25), (82, 18)],
    "treated": [(45, 55), (50, 50), (40, 60)],
}


def test_the_p_value_is_scipy_s_of_the_logits():
    [first, second] = compare_shares(made(CLEAR), "control")
    logit = {
        group: np.log([(one + 0.5) / (other + 0.5) for one, other in replicates])
        for group, replicates in CLEAR.items()
    }
    expected = welch_p(logit["treated"], logit["control"])
    assert first.p == pytest.approx(expected)
    assert second.p == pytest.approx(expected)
    assert first.p_adjusted == pytest.approx(expected)
    assert (first.group, first.reference) == ("treated", "control")
    assert first.replicates == (3, 3)
    assert first.cells == (300, 300)


def test_difference_and_interval_are_those_of_the_shares():
    [first, _] = compare_shares(made(CLEAR), "control")
    treated, control = np.array([0.45, 0.5, 0.4]), np.array([0.8, 0.75, 0.82])
    assert first.means == pytest.approx((0.45, 0.79))
    assert first.difference == pytest.approx(-0.34)
    # Welch-Satterthwaite by hand.
    parts = [one.var(ddof=1) / 3 for one in (treated, control)]
    free = sum(parts) ** 2 / sum(part**2 / 2 for part in parts)
    half = stats.t.ppf(0.975, free) * np.sqrt(sum(parts))
    assert first.interval == pytest.approx((-0.34 - half, -0.34 + half))


def test_hedges_g_is_cohen_s_d_times_the_exact_correction_to_a_thousandth():
    one, other = np.array([5.0, 6.0, 7.5, 6.2, 7.0, 5.5]), np.array([4.0, 5.0, 4.5, 3.8, 5.2, 4.9])
    pooled = np.sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    free = 10
    exact = np.exp(
        np.log(1.0) + np.array([1.0, -1.0]) @ [_log_gamma(free / 2), _log_gamma((free - 1) / 2)]
    ) / np.sqrt(free / 2)
    expected = (one.mean() - other.mean()) / pooled * exact
    assert hedges_g(one, other) == pytest.approx(expected, rel=1e-3)


def _log_gamma(value: float) -> float:
    from math import lgamma

    return lgamma(value)


def test_p_values_are_corrected_as_benjamini_and_hochberg_published():
    """The example of their paper of 1995, section 4.1: four of fifteen are found at 5%."""
    published = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    published += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    found = adjusted([*published, None])
    assert found[-1] is None
    assert [value is not None and value <= 0.05 for value in found] == [True] * 4 + [False] * 12


@pytest.mark.parametrize("alone", ["control", "treated"])
def test_one_replicate_in_a_group_is_not_tested_and_says_why(alone: str):
    counts = {**CLEAR, alone: CLEAR[alone][:1]}
    for one in compare_shares(made(counts)):
        assert one.p is None
        assert one.p_adjusted is None
        assert one.interval is None
        assert f"group {alone} has 1 replicate" in one.note
        assert one.difference  # what was seen is still told


def test_many_cells_do_not_make_one_replicate_two():
    """A million cells of a single well are one observation."""
    counts: Counts = {"control": [(500_000, 500_000)], "treated": [(600_000, 400_000)]}
    assert all(one.p is None for one in compare_shares(made(counts)))


def test_replicates_all_alike_are_not_tested_where_groups_differ():
    counts: Counts = {"a": [(10, 0), (10, 0)], "b": [(0, 10), (0, 10)]}
    assert {one.note for one in compare_shares(made(counts))} == {
        "not tested: the replicates within each group are all the same"
    }
    counts["b"] = counts["a"]
    assert [one.p for one in compare_shares(made(counts))] == [1.0, 1.0]


def test_replicates_with_one_name_in_two_groups_are_two():
    found = shares(["a", "b", "a"], ["1", "1", "1"], ["x", "x", "y"])
    assert [(one.group, one.cluster, one.cells, one.total) for one in found] == [
        ("a", "x", 1, 2),
        ("a", "y", 1, 2),
        ("b", "x", 1, 1),
        ("b", "y", 0, 1),
    ]


def test_several_groups_are_compared_each_with_each_or_with_a_reference():
    assert pairs(["b", "a", "c", "a"]) == [("b", "a"), ("c", "a"), ("c", "b")]
    assert pairs(["b", "a", "c"], "b") == [("a", "b"), ("c", "b")]
    assert pairs(["a"]) == []


def test_features_are_compared_by_means_of_replicates():
    groups = ["a"] * 6 + ["b"] * 6
    replicates = ["1", "1", "2", "2", "3", "3"] * 2
    values = [1.0, 3.0, 2.0, None, 5.0, 5.0, 7.0, 9.0, 8.0, 8.0, 6.0, float("nan")]
    [found] = compare_features(groups, replicates, {"area": values})
    expected = welch_p([8, 8, 6], [2, 2, 5])
    assert found.p == pytest.approx(expected)
    assert found.means == pytest.approx((22 / 3, 3))


def test_the_entry_answers_in_plain_values():
    answer = entry(
        {
            "groups": ["a", "a", "b", "b"],
            "replicates": ["1", "2", "3", "4"],
            "clusters": ["1", "1", "1", "2"],
            "features": {"area": [1, 2, 3, 4]},
            "reference": "a",
        }
    )
    assert len(answer["shares"]) == 8
    assert {one["subject"] for one in answer["clusters"]} == {"1", "2"}
    assert [one["subject"] for one in answer["features"]] == ["area"]


# -- the error rate ---------------------------------------------------------------------------


def simulated(
    dice: np.random.Generator, shares_of: dict[str, list[float]], replicates: int, spread: float
) -> list[Share]:
    """Replicates whose true shares vary (Dirichlet), each of 40 to 200 cells."""
    counts: Counts = {}
    for group, means in shares_of.items():
        drawn = dice.dirichlet(np.array(means) * spread, replicates)
        totals = dice.integers(40, 200, replicates)
        counts[group] = [
            tuple(int(n) for n in dice.multinomial(total, p))
            for total, p in zip(totals, drawn, strict=True)
        ]
    return made(counts)


NULLS = [[0.5, 0.5], [0.9, 0.1], [0.4, 0.3, 0.2, 0.08, 0.02]]


@pytest.mark.parametrize("means", NULLS, ids=["two even", "two uneven", "five"])
@pytest.mark.parametrize("replicates", [3, 4])
def test_of_200_experiments_without_an_effect_no_more_are_found_than_stated(
    means: list[float], replicates: int
):
    dice = np.random.default_rng(2026)
    found = sum(
        any(
            one.p_adjusted is not None and one.p_adjusted < 0.05
            for one in compare_shares(
                simulated(dice, {"a": means, "b": means}, replicates, 50), "a"
            )
        )
        for _ in range(200)
    )
    assert found <= stats.binom.ppf(0.975, 200, 0.05)


def test_cells_as_the_unit_would_find_differences_where_there_are_none():
    """Why replicates are the unit: chi-square over cells is wrong far more often than 5%."""
    dice = np.random.default_rng(1)
    wrong = 0
    for _ in range(200):
        cells = simulated(dice, {"a": [0.5, 0.5], "b": [0.5, 0.5]}, 3, 50)
        table = [
            [sum(s.cells for s in cells if s.group == g and s.cluster == c) for c in ("1", "2")]
            for g in ("a", "b")
        ]
        found: Any = stats.chi2_contingency(table)
        wrong += found.pvalue < 0.05
    assert wrong > 40


def test_a_real_difference_is_found_with_three_replicates():
    dice = np.random.default_rng(5)
    effect = {"control": [0.75, 0.25], "treated": [0.45, 0.55]}
    found = sum(
        all(
            one.p_adjusted is not None and one.p_adjusted < 0.05
            for one in compare_shares(simulated(dice, effect, 3, 200), "control")
        )
        for _ in range(100)
    )
    assert found >= 90
