"""Probabilities mean what they say: of patients given 30%, 30% have the disease.

Patients are drawn from the tables themselves: the disease by its prior, then each finding by how
often it is present with the disease and without it.
"""

from __future__ import annotations

import numpy as np
import pytest

from app.tools.diagnosis.differential import Differential, Evidence
from app.tools.diagnosis.table import Presentation, presentations

SHIPPED = presentations([])
FEW = sorted(SHIPPED, key=lambda key: -len(SHIPPED[key].ratios))[:3]


def drawn(
    table: Presentation, hypothesis: str, patients: int, seed: int
) -> tuple[list[tuple[Evidence, ...]], np.ndarray]:
    """Return the evidence of patients, and whether each has the disease.

    Of each group of dependent findings one is known; each finding is known in half the patients.
    """
    random = np.random.default_rng(seed)
    disease = table.hypotheses[hypothesis]
    ill = random.random(patients) < disease.prior.value
    groups: dict[str, list[str]] = {}
    for key, finding in table.findings.items():
        row = table.ratio(key, hypothesis)
        if row and row.rates:
            groups.setdefault(finding.group or key, []).append(key)
    evidence: list[list[Evidence]] = [[] for _ in range(patients)]
    for members in groups.values():
        chosen = random.integers(len(members), size=patients)
        known = random.random(patients) < 0.5
        luck = random.random(patients)
        for patient in np.flatnonzero(known):
            key = members[chosen[patient]]
            row = table.ratio(key, hypothesis)
            assert row
            assert row.rates
            rate = row.rates[0 if ill[patient] else 1]
            evidence[patient].append(Evidence(key, bool(luck[patient] < rate)))
    return [tuple(item) for item in evidence], ill


def calibration_error(probabilities: np.ndarray, ill: np.ndarray, bins: int = 10) -> float:
    """Return the expected calibration error: |mean probability - rate| over bins, weighted."""
    place = np.minimum((probabilities * bins).astype(int), bins - 1)
    error = 0.0
    for number in range(bins):
        here = place == number
        if here.any():
            error += here.mean() * abs(probabilities[here].mean() - ill[here].mean())
    return float(error)


def check(key: str, patients: int) -> None:
    table = SHIPPED[key]
    for number, hypothesis in enumerate(table.hypotheses):
        evidence, ill = drawn(table, hypothesis, patients, seed=number)
        known: dict[frozenset[tuple[str, bool]], float] = {}
        values: list[float] = []
        for items in evidence:
            state = frozenset((item.finding, item.present) for item in items)
            if state not in known:
                found = Differential(table, items).probability(hypothesis)
                known[state] = found.value
            values.append(known[state])
        assert calibration_error(np.array(values), ill) < 0.02, hypothesis


def test_patients_of_three_tables_are_calibrated() -> None:
    check(FEW[0], 10_000)
    for key in FEW[1:]:
        check(key, 3_000)


@pytest.mark.slow
@pytest.mark.parametrize("key", SHIPPED)
def test_patients_of_every_table_are_calibrated(key: str) -> None:
    check(key, 10_000)


def test_a_wrong_ratio_is_noticed() -> None:
    table = SHIPPED[FEW[0]]
    hypothesis = next(iter(table.hypotheses))
    evidence, ill = drawn(table, hypothesis, 3_000, seed=5)
    values = [Differential(table, items).probability(hypothesis).value for items in evidence]
    wrong = np.array(values)
    wrong = wrong * 3 / (wrong * 3 + 1 - wrong)  # as if all odds were three times as high
    assert calibration_error(np.array(values), ill) < 0.03 < calibration_error(wrong, ill)
