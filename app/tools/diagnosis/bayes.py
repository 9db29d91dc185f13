"""Bayes' theorem in odds, entropy and expected information, and decision thresholds.

Probabilities lie between 0 and 1, likelihood ratios between 0 and infinity, information is in bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from app.errors import SightlineError


class ImpossibleEvidence(SightlineError):
    """The error for evidence that proves a disease and excludes it at the same time."""


def posterior(prior: float, ratios: Iterable[float]) -> float:
    """Return the probability after independent evidence, whatever its order.

    Posterior odds are prior odds times each likelihood ratio. A ratio of 0 excludes the disease, an
    infinite one proves it.

    Raises:
        ImpossibleEvidence: The ratios hold both 0 and infinity, or exclude what is certain.
        ValueError: A figure lies outside its range.
    """
    if not 0 <= prior <= 1:
        raise ValueError(f"no probability: {prior}")
    factors = [*ratios]
    if any(not ratio >= 0 for ratio in factors):
        raise ValueError("a likelihood ratio cannot be negative")
    excluded = prior == 0 or 0 in factors
    proved = prior == 1 or math.inf in factors
    if excluded and proved:
        raise ImpossibleEvidence(
            "The evidence both proves the disease and excludes it",
            remedy="Check the findings: one of them, or its likelihood ratio, is wrong.",
        )
    if excluded or proved:
        return float(proved)
    # fsum is exact up to one rounding, so that the order of evidence changes no bit.
    log_odds = math.fsum([math.log(prior), -math.log1p(-prior), *map(math.log, factors)])
    if log_odds < 0:
        odds = math.exp(log_odds)
        return odds / (1 + odds)
    return 1 / (1 + math.exp(-log_odds))


def entropy(probability: float) -> float:
    """Return the uncertainty whether a disease is present, in bits: 1 at 0.5, 0 at 0 and 1."""
    parts = (probability, 1 - probability)
    return -sum(part * math.log2(part) for part in parts if part > 0)


def information_gain(probability: float, with_disease: float, without: float) -> float:
    """Return by how many bits a test is expected to lower the entropy (mutual information).

    Args:
        probability: The probability of the disease before the test.
        with_disease: How often the test is positive with the disease (sensitivity).
        without: How often it is positive without the disease (1 - specificity).
    """
    positive = probability * with_disease + (1 - probability) * without
    after = 0.0
    for share, rate in ((positive, with_disease), (1 - positive, 1 - with_disease)):
        if share > 0:
            after += share * entropy(min(1.0, probability * rate / share))
    return max(0.0, entropy(probability) - after)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Probabilities of a disease between which testing is better than to treat or to leave.

    Below `test` neither test nor treatment is worth its harm; above `treatment` one treats at once.
    If `test` is above `treatment`, the test is never worth its harm.
    """

    test: float
    treatment: float


def thresholds(
    benefit: float, harm: float, test_harm: float, sensitivity: float, specificity: float
) -> Thresholds:
    """Return the thresholds for a test, after Pauker and Kassirer, N Engl J Med 1980;302:1109-17.

    Args:
        benefit: Net benefit of treating a patient with the disease, in any unit of utility.
        harm: Net harm of treating one without it, in the same unit.
        test_harm: Harm of the test itself, in the same unit.
        sensitivity: Of the test.
        specificity: Of the test.
    """
    false_positive, false_negative = 1 - specificity, 1 - sensitivity
    return Thresholds(
        test=(false_positive * harm + test_harm) / (false_positive * harm + sensitivity * benefit),
        treatment=(specificity * harm - test_harm)
        / (specificity * harm + false_negative * benefit),
    )


def treatment_threshold(benefit: float, harm: float) -> float:
    """Return the probability above which treating is better than not, if no test can be had.

    Pauker and Kassirer, N Engl J Med 1975;293:229-34: harm / (harm + benefit).
    """
    return harm / (harm + benefit)
