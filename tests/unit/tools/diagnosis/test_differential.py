"""A differential: what moves it, by how much, what depends on what, and what to find out next."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from pydantic import ValidationError

from app.tools.diagnosis.bayes import ImpossibleEvidence, information_gain
from app.tools.diagnosis.differential import Differential, Evidence, OwnRatio, WrongEvidence
from app.tools.diagnosis.table import Estimate, Presentation
from tests.unit.tools.diagnosis.small_table import TABLE, small_table


def differential(*evidence: Evidence, **priors: float) -> Differential:
    return Differential(small_table(), evidence, priors)


def flu(*evidence: Evidence) -> float:
    return differential(*evidence).probability("flu").value


def test_priors_stand_without_evidence() -> None:
    found = differential()
    assert [item.hypothesis for item in found.probabilities] == ["cold", "flu"]
    assert found.probability("flu").value == pytest.approx(0.2)
    # h(0.5) + h(0.2)
    assert found.entropy == pytest.approx(1 + 0.7219280948873623)


def test_evidence_multiplies_the_odds() -> None:
    # Odds of flu 0.25 x 2 x 0.5 = 0.25.
    found = differential(Evidence("fever"), Evidence("cough", present=False))
    assert found.probability("flu").value == pytest.approx(0.2)
    # Sensitivity 0.8, specificity 0.9: 0.25 x 8 = 2.
    assert flu(Evidence("swab")) == pytest.approx(2 / 3)
    # 0.25 x 0.2 / 0.9
    assert flu(Evidence("swab", present=False)) == pytest.approx(0.25 / 4.5 / (1 + 0.25 / 4.5))


def test_evidence_without_a_number_moves_nothing_and_is_told() -> None:
    found = differential(
        Evidence("fever"), Evidence("cough", present=False), Evidence("an odd smell")
    )
    cold = found.probability("cold")
    assert cold.value == pytest.approx(0.5)
    assert [item.finding for item in cold.silent] == ["fever", "cough", "an odd smell"]


def test_of_dependent_findings_only_the_strongest_counts() -> None:
    found = differential(Evidence("fever"), Evidence("high_fever")).probability("flu")
    assert found.value == pytest.approx(0.75 / 1.75)  # 0.25 x 3, without the 2 of any fever
    assert [weight.stronger for weight in found.weights] == ["high_fever", ""]


def test_the_order_changes_no_bit() -> None:
    evidence = [
        Evidence("fever"),
        Evidence("high_fever"),
        Evidence("cough"),
        Evidence("swab", present=False),
    ]
    values = {flu(*some) for some in permutations(evidence)}
    assert len(values) == 1
    assert flu(*evidence, Evidence("cough")) in values  # said twice counts once


def test_the_range_takes_every_figure_at_one_end() -> None:
    found = differential(Evidence("fever"), Evidence("high_fever"), Evidence("swab"))
    flu = found.probability("flu")
    # Low: odds 1/9 x 3 (no interval) x 0.7 / 0.1; high: 3/7 x 3 x 0.9 / 0.1.
    assert flu.low == pytest.approx(21 / 9 / (1 + 21 / 9))
    assert flu.high == pytest.approx(81 / 7 / (1 + 81 / 7))
    assert flu.low < flu.value < flu.high


def test_steps_show_how_each_piece_moved_it() -> None:
    steps = differential(Evidence("cough"), Evidence("fever")).steps()
    assert [round(step["flu"], 6) for step in steps] == [0.2, round(1 / 3, 6), 0.5]
    assert [round(step["cold"], 6) for step in steps] == [0.5, 0.8, 0.8]


def test_what_to_find_out_next_is_what_tells_most() -> None:
    gains = differential().next_findings()
    assert gains[0].finding == "swab"
    assert gains[0].bits == pytest.approx(information_gain(0.2, 0.8, 0.1))
    assert gains[0].present["flu"] == pytest.approx(2 / 3)
    # A ratio for one state only tells no rates: nothing can be expected of it.
    assert "high_fever" not in [gain.finding for gain in gains]


def test_what_depends_on_known_findings_is_not_proposed() -> None:
    left = [gain.finding for gain in differential(Evidence("high_fever")).next_findings()]
    assert "fever" not in left
    assert "swab" in left


def test_of_equal_gains_the_cheaper_comes_first() -> None:
    table: dict[str, Any] = TABLE | {
        "findings": TABLE["findings"] | {"scan": TABLE["findings"]["swab"] | {"cost": "high"}},
        "ratios": [
            *TABLE["ratios"],
            TABLE["ratios"][4] | {"finding": "scan"},
        ],
    }
    gains = Differential(Presentation.model_validate(table)).next_findings()
    assert [gain.finding for gain in gains[:2]] == ["swab", "scan"]


def test_evidence_can_bring_its_own_ratio() -> None:
    own = {"cold": OwnRatio(Estimate(value=9), "card of a model")}
    found = differential(Evidence("opacity on the film", own=own))
    assert found.probability("cold").value == pytest.approx(0.9)
    assert found.probability("flu").value == pytest.approx(0.2)


def test_contradictions_are_errors() -> None:
    with pytest.raises(WrongEvidence, match="Fever is said to be both present and absent"):
        differential(Evidence("fever"), Evidence("fever", present=False))
    with pytest.raises(WrongEvidence, match="no such disease"):
        differential(plague=0.1)
    sure = {"flu": OwnRatio(Estimate(value=float("inf")), "a")}
    never = {"flu": OwnRatio(Estimate(value=0), "b")}
    with pytest.raises(ImpossibleEvidence):
        differential(Evidence("x", own=sure), Evidence("y", own=never))


def test_evidence_can_be_taken_back() -> None:
    found = differential(Evidence("fever"), Evidence("swab"))
    assert found.without("swab").probabilities == differential(Evidence("fever")).probabilities


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"positive": [2, 3, 4]}, "interval"),
        ({"positive": [2], "negative": [1.5]}, "below 1"),
        ({"positive": [-1]}, "greater than or equal to 0"),
        ({"positive": [2], "sensitivity": [0.5], "specificity": [0.5]}, "either ratios"),
        ({"sensitivity": [0.5]}, "go together"),
        ({"sensitivity": [1.5], "specificity": [0.5]}, "between 0 and 1"),
        ({"positive": [2], "source": "nobody"}, "no such source"),
        ({"positive": [2], "hypothesis": "plague"}, "no such finding or hypothesis"),
        ({"positive": [2], "finding": "cough"}, "two ratios"),
        ({}, "either ratios"),
    ],
)
def test_a_wrong_row_is_refused(change: dict[str, Any], reason: str) -> None:
    row = {"finding": "high_fever", "hypothesis": "cold", "source": "us"} | change
    if reason == "two ratios":
        row["hypothesis"] = "flu"
    with pytest.raises(ValidationError, match=reason):
        Presentation.model_validate(TABLE | {"ratios": [*TABLE["ratios"], row]})
