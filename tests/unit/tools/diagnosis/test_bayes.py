"""Posteriors, entropy, expected information and thresholds, against fractions and by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tools.diagnosis.bayes import (
    ImpossibleEvidence,
    entropy,
    information_gain,
    posterior,
    thresholds,
    treatment_threshold,
)

PRIORS = st.floats(0.001, 0.999)
RATIOS = st.lists(st.floats(0.01, 100), max_size=12)


def by_fractions(prior: float, ratios: list[float]) -> float:
    """Bayes' theorem by exact fractions, as the mixture of both hypotheses."""
    with_disease, without = Fraction(prior), 1 - Fraction(prior)
    for ratio in ratios:
        with_disease *= Fraction(ratio)
    return float(with_disease / (with_disease + without))


def test_the_worked_example_of_the_seed_is_right() -> None:
    # Odds 0.25 x 49 = 12.25; 12.25 / 13.25. The seed's own document has another figure.
    assert posterior(0.20, [49]) == pytest.approx(0.9245283018867925, abs=1e-15)


@given(PRIORS, RATIOS)
def test_the_posterior_equals_exact_fractions(prior: float, ratios: list[float]) -> None:
    assert posterior(prior, ratios) == pytest.approx(by_fractions(prior, ratios), abs=1e-9)


@given(PRIORS, RATIOS, st.randoms(use_true_random=False))
def test_no_bit_depends_on_the_order(prior: float, ratios: list[float], random: object) -> None:
    shuffled = ratios.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert posterior(prior, ratios) == posterior(prior, shuffled)


@given(PRIORS, RATIOS, st.floats(0.01, 100))
def test_evidence_moves_the_probability_to_its_side(
    prior: float, ratios: list[float], ratio: float
) -> None:
    before, after = posterior(prior, ratios), posterior(prior, [*ratios, ratio])
    assert (after - before) * (ratio - 1) >= 0
    assert 0 <= after <= 1


def test_certainties() -> None:
    assert posterior(0.3, [0]) == 0
    assert posterior(0.3, [math.inf, 0.2]) == 1
    for prior, ratios in ((0.3, [0, math.inf]), (1.0, [0.0]), (0.0, [math.inf])):
        with pytest.raises(ImpossibleEvidence):
            posterior(prior, ratios)
    for prior, ratios in ((-0.1, [1.0]), (1.1, []), (0.5, [-1.0]), (0.5, [math.nan])):
        with pytest.raises(ValueError, match=r"probability|negative"):
            posterior(prior, ratios)


def test_entropy_by_hand() -> None:
    assert entropy(0.5) == 1
    assert entropy(0) == entropy(1) == 0
    # -(1/4 log2 1/4 + 3/4 log2 3/4) = 1/2 + 3/4 (2 - log2 3)
    assert entropy(0.25) == pytest.approx(0.5 + 0.75 * (2 - math.log2(3)), abs=1e-12)


def test_information_gain_by_hand() -> None:
    # p = 0.5, sensitivity 0.9, specificity 0.9: a binary symmetric channel, 1 - h(0.1).
    assert information_gain(0.5, 0.9, 0.1) == pytest.approx(1 - entropy(0.1), abs=1e-12)
    assert information_gain(0.5, 1, 0) == pytest.approx(1)
    assert information_gain(0.3, 0.4, 0.4) == 0


@given(PRIORS, st.floats(0, 1), st.floats(0, 1))
def test_information_gain_is_the_divergence_of_joint_and_product(
    prior: float, with_disease: float, without: float
) -> None:
    joint = {
        (d, t): (prior if d else 1 - prior) * (rate if t else 1 - rate)
        for d, rate in ((True, with_disease), (False, without))
        for t in (True, False)
    }
    marginal = {t: joint[True, t] + joint[False, t] for t in (True, False)}
    divergence = math.fsum(
        share * math.log2(share / ((prior if d else 1 - prior) * marginal[t]))
        for (d, t), share in joint.items()
        if share > 0
    )
    assert information_gain(prior, with_disease, without) == pytest.approx(divergence, abs=1e-9)


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(0, 0.05), st.floats(0.6, 0.99))
def test_at_the_thresholds_both_ways_are_worth_the_same(
    benefit: float, harm: float, test_harm: float, sensitivity: float
) -> None:
    specificity = 0.9
    found = thresholds(benefit, harm, test_harm, sensitivity, specificity)

    def tested(p: float) -> float:
        treated = p * sensitivity * benefit - (1 - p) * (1 - specificity) * harm
        return treated - test_harm

    def treated(p: float) -> float:
        return p * benefit - (1 - p) * harm

    assert tested(found.test) == pytest.approx(0, abs=1e-9)
    assert tested(found.treatment) == pytest.approx(treated(found.treatment), abs=1e-9)
    assert treated(treatment_threshold(benefit, harm)) == pytest.approx(0, abs=1e-9)
