"""What holds for every score, whatever the values: ranges, missing inputs, direction, units."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.tools.record.scores.catalogue import SCORES, NoSuchScore, find_score, read_inputs
from app.tools.record.scores.engine import Score, evaluate
from app.tools.record.scores.inputs import (
    Input,
    Quantity,
    Value,
    WrongInput,
    read_value,
    shared_inputs,
)
from app.tools.record.scores.nodules import OUTSIDE

NAMES = [score.name for score in SCORES]
SPANS = {
    "wells_dvt": (-2, 9), "wells_pe": (0, 12.5), "perc": (0, 8), "revised_geneva": (0, 22),
    "cha2ds2_vasc": (0, 9), "has_bled": (0, 9), "timi": (0, 7), "heart": (0, 10),
    "curb_65": (0, 5), "qsofa": (0, 3), "sofa": (0, 24), "centor": (0, 4), "mcisaac": (-1, 5),
    "gcs": (3, 15), "nihss": (0, 42), "meld": (6, 40), "meld_na": (6, 40), "meld_3": (6, 40),
    "child_pugh": (5, 15),
}  # fmt: skip
"""Least and greatest totals, as the papers give them."""
FALLING = {
    ("wells_dvt", "alternative_diagnosis"), ("centor", "cough"), ("mcisaac", "cough"),
    ("mcisaac", "age"), ("perc", "spo2"), ("qsofa", "systolic_bp"), ("qsofa", "gcs"),
    ("curb_65", "systolic_bp"), ("curb_65", "diastolic_bp"), ("sofa", "pao2"),
    ("sofa", "platelets"), ("sofa", "mean_arterial_pressure"), ("sofa", "gcs"),
    ("sofa", "urine_output"), ("child_pugh", "albumin"), ("child_pugh", "biliary_cirrhosis"),
    ("meld_na", "sodium"), ("egfr", "creatinine"), ("egfr", "age"), ("bmi", "height"),
}  # fmt: skip
"""Inputs that lower the total as they rise, all others raise it."""
NEITHER = {("meld_3", "sodium"), ("meld_3", "albumin"), ("egfr", "sex")}
"""Inputs whose direction hangs on another one (interaction terms), or that have none."""

unhurried = settings(deadline=None, max_examples=60)


def value_of(item: Input, score: Score) -> st.SearchStrategy[Value]:
    """Values of an input; numbers are often at the limits of its items."""
    if item.kind == "yes/no":
        return st.booleans()
    if item.kind == "choice":
        return st.sampled_from([value for value, _ in item.choices])
    cuts = {
        cut for each in (*score.items, score) for cut in each.cuts.get(item.name, ())
    } | {item.low, item.high}  # fmt: skip
    low = max(item.low, score.youngest) if item.name == "age" else item.low
    near = st.sampled_from(sorted(cuts)).flatmap(
        lambda cut: st.sampled_from((cut, math.nextafter(cut, -1e9), math.nextafter(cut, 1e9)))
    )
    numbers = st.one_of(st.floats(low, item.high), near).filter(
        lambda number: low <= number <= item.high
    )
    return numbers.map(lambda number: Quantity(number, number, item.unit))


@st.composite
def whole_inputs(draw: st.DrawFn) -> tuple[Score, dict[str, Value]]:
    """A score with values for all of its inputs, without contradictions."""
    score = find_score(draw(st.sampled_from(NAMES)))
    values = {item.name: draw(value_of(item, score)) for item in score.inputs}
    for item in score.inputs:
        values.pop(item.instead, None)
    if score.name == "sofa" and not values["vasopressors"]:
        values |= {item.name: Quantity(0, 0, item.unit) for item in score.inputs if item.after}
    try:
        evaluate(score, values)
    except WrongInput:
        assume(False)
    return score, values


@unhurried
@given(whole_inputs(), st.data())
def test_a_missing_input_never_counts_as_any_value(
    drawn: tuple[Score, dict[str, Value]], data: st.DataObject
):
    score, values = drawn
    whole = evaluate(score, values)
    kept = data.draw(st.sets(st.sampled_from(sorted(values))))
    part = evaluate(score, {name: values[name] for name in values if name in kept})
    if whole.low is not None and whole.high is not None:
        assert whole.total is not None
        assert (part.low or 0) <= whole.total <= (part.high or 0)
        assert part.total is None or part.total == whole.total
    assert whole.band in part.possible_bands
    assert part.band is None or part.band == whole.band
    assert part.meaning in ("", whole.meaning) or whole.band == OUTSIDE
    assert (part.missing == ()) == (part.total is not None or part.low is None) or (
        part.low is None and part.band is None
    )
    assert not set(part.missing) & set(kept)


@unhurried
@given(whole_inputs())
def test_totals_stay_within_the_published_span(drawn: tuple[Score, dict[str, Value]]):
    score, values = drawn
    result = evaluate(score, values)
    if score.name in SPANS:
        low, high = SPANS[score.name]
        assert low <= (result.total or 0) <= high


@pytest.mark.parametrize("name", sorted(SPANS))
def test_without_any_input_the_range_is_the_published_span(name: str):
    result = evaluate(find_score(name), {})
    assert (result.low, result.high) == SPANS[name]
    assert (result.total, result.band, result.meaning) == (None, None, "")
    assert result.missing


@pytest.mark.parametrize("name", NAMES)
def test_each_item_of_an_empty_score_is_open_and_says_so(name: str):
    score = find_score(name)
    for item in evaluate(score, {}).items:
        assert item.points is None
        assert item.why.startswith("not known: ")


@unhurried
@given(whole_inputs(), st.data())
def test_more_of_a_risk_never_gives_less(
    drawn: tuple[Score, dict[str, Value]], data: st.DataObject
):
    score, values = drawn
    name = data.draw(st.sampled_from(sorted(values)))
    assume((score.name, name) not in NEITHER)
    other = data.draw(value_of(score.input(name), score))
    try:
        one, two = evaluate(score, values).total, evaluate(score, {**values, name: other}).total
    except WrongInput:
        assume(False)
        return
    if one is None or two is None:
        return
    rises = _size(score, name, other) >= _size(score, name, values[name])
    if (score.name, name) in FALLING:
        rises = not rises or _size(score, name, other) == _size(score, name, values[name])
    if _size(score, name, other) == _size(score, name, values[name]):
        assert one == two
    else:
        assert two >= one if rises else two <= one


def _size(score: Score, name: str, value: Value) -> float:
    """Return a value's place in its order: yes after no, a later choice after an earlier one."""
    if isinstance(value, Quantity):
        return value.number
    if isinstance(value, bool):
        return float(value)
    choices = [choice for choice, _ in score.input(name).choices]
    return 0.0 if value == "UN" else float(choices.index(value))


@pytest.mark.parametrize("name", NAMES)
def test_no_input_is_counted_by_two_items(name: str):
    read = [each for item in find_score(name).items for each in item.inputs]
    assert len(read) == len(set(read))
    known = {one.name for one in find_score(name).inputs}
    assert not find_score(name).items or set(read) == known


@pytest.mark.parametrize("name", NAMES)
def test_each_score_says_its_source_and_its_limits(name: str):
    score = find_score(name)
    assert any(paper.doi.startswith("10.") for paper in score.papers)
    assert score.limits.endswith(".")
    for scheme in score.schemes:
        limits = [band.at_least for band in scheme.bands]
        assert limits == sorted(set(limits))
        assert not limits or limits[0] == -math.inf


@unhurried
@given(st.floats(0.11, 39))
def test_the_unit_of_creatinine_does_not_change_the_value(number: float):
    there = read_value(shared_inputs()["creatinine"], {"value": number, "unit": "mg/dL"})
    back = read_value(
        shared_inputs()["creatinine"], {"value": number * 88.4016973, "unit": "umol/L"}
    )
    assert isinstance(there, Quantity)
    assert isinstance(back, Quantity)
    assert back.number == pytest.approx(there.number, rel=1e-7)


@pytest.mark.parametrize(
    ("score", "given", "expected"),
    [
        # Molar masses by IUPAC atomic weights, and the definitions of pound, inch, kPa and °F.
        ("meld", {"bilirubin": {"value": 17.104, "unit": "umol/L"}}, 1.0),
        ("child_pugh", {"albumin": {"value": 35, "unit": "g/L"}}, 3.5),
        ("curb_65", {"urea": {"value": 60.056, "unit": "mg/dL"}}, 10.0),
        ("curb_65", {"bun": {"value": 28.014, "unit": "mg/dL"}}, 10.0),
        ("bmi", {"weight": {"value": 100, "unit": "[lb_av]"}}, 45.359237),
        ("bmi", {"height": {"value": 100, "unit": "[in_i]"}}, 254.0),
        ("bmi", {"height": {"value": 1.8, "unit": "m"}}, 180.0),
        ("mcisaac", {"temperature": {"value": 100.4, "unit": "[degF]"}}, 38.0),
        ("sofa", {"pao2": {"value": 13.3322, "unit": "kPa"}}, 100.0),
        ("sofa", {"fio2": {"value": 40, "unit": "%"}}, 0.4),
        ("sofa", {"platelets": {"value": 150, "unit": "10*9/L"}}, 150.0),
        ("sofa", {"platelets": {"value": 150000, "unit": "/uL"}}, 150.0),
        ("sofa", {"urine_output": {"value": 0.5, "unit": "L/d"}}, 500.0),
        ("bmi", {"weight_kg": 80}, 80.0),
        ("egfr", {"creatinine_umol_l": 106}, 106 / 88.4016973),
        ("curb_65", {"systolic_bp": {"value": 90, "unit": "mm[Hg]"}}, 90.0),
        ("timi", {"age": "65 years"}, 65.0),
    ],
)
def test_units_are_converted_exactly(score: str, given: dict[str, Any], expected: float):
    value = next(iter(read_inputs(find_score(score), given).values()))
    assert isinstance(value, Quantity)
    assert value.number == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("score", "given", "told"),
    [
        ("egfr", {"creatinine": 106}, "it would fit µmol/L"),
        ("egfr", {"creatinine": 12}, "could be mg/dL or µmol/L"),
        ("egfr", {"creatinine": {"value": 1, "unit": "mmol/L"}}, "mg/dL or µmol/L"),
        ("egfr", {"creatinine": {"value": 0, "unit": "mg/dL"}}, "outside the plausible range"),
        ("egfr", {"creatinine": True}, "a number in mg/dL"),
        ("egfr", {"creatinine": float("nan")}, "a number in mg/dL"),
        ("sofa", {"urine_output": "1,200 mL/day"}, "separator of thousands"),
        ("sofa", {"platelets": "1.500.000 /uL"}, "separator of thousands"),
        ("egfr", {"age": -1}, "outside the plausible range"),
        ("egfr", {"sex": "x"}, "one of male"),
        ("egfr", {"weight": 80}, "has no input 'weight'"),
        ("child_pugh", {"albumin": 35}, "it would fit g/L"),
        ("curb_65", {"urea": {"value": 5, "unit": "mmol/L"}, "bun": "20 mg/dL"}, "given twice"),
        ("centor", {"cough": "maybe"}, "yes or no"),
        ("gcs", {"eye": 5}, "one of 1"),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_be_right(
    score: str, given: dict[str, Any], told: str
):
    with pytest.raises(WrongInput, match=told):
        read_inputs(find_score(score), given)


@pytest.mark.parametrize(("name", "age"), [("egfr", 17), ("bmi", 12), ("wells_pe", 15), ("gcs", 3)])
def test_a_patient_who_is_too_young_is_refused(name: str, age: int):
    with pytest.raises(WrongInput, match="does not hold below"):
        evaluate(find_score(name), {"age": Quantity(age, age, "years")})


def test_contradicting_inputs_are_refused():
    values = read_inputs(find_score("sofa"), {"vasopressors": False, "norepinephrine": 0.2})
    with pytest.raises(WrongInput, match="contradict"):
        evaluate(find_score("sofa"), values)


@pytest.mark.parametrize("said", [None, "unknown", "not recorded", {"value": None}])
def test_what_is_said_to_be_unknown_is_missing(said: Any):
    score = find_score("egfr")
    values = read_inputs(score, {"creatinine": said, "age": 50, "sex": "f"})
    assert evaluate(score, values).missing == ("creatinine",)


_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(("value", "unit", "x")), inner)
    ),
    max_leaves=4,
)


@unhurried
@given(st.sampled_from(NAMES), st.data())
def test_whatever_a_model_gives_is_a_value_or_is_refused(name: str, data: st.DataObject):
    score = find_score(name)
    names = st.one_of(st.sampled_from([one.name for one in score.inputs]), st.text(max_size=6))
    try:
        values = read_inputs(score, data.draw(st.dictionaries(names, _JSON, max_size=4)))
    except WrongInput:
        return
    for key, value in values.items():
        item = score.input(key)
        if isinstance(value, Quantity):
            assert item.low <= value.number <= item.high


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("CHA2DS2-VASc", "cha2ds2_vasc"), ("CHA₂DS₂-VASc", "cha2ds2_vasc"),
        ("CURB-65", "curb_65"), ("MELD", "meld"), ("MELD 3.0", "meld_3"), ("MELD-Na", "meld_na"),
        ("Wells' Criteria for PE", "wells_pe"), ("wells_dvt", "wells_dvt"),
        ("Child-Pugh", "child_pugh"), ("qSOFA", "qsofa"), ("Geneva", "revised_geneva"),
        ("HEART", "heart"), ("TIMI", "timi"), ("Lung-RADS", "lung_rads"), ("eGFR", "egfr"),
        ("Fleischner", "fleischner"), ("PERC", "perc"), ("Centor", "centor"), ("BMI", "bmi"),
        ("HAS-BLED", "has_bled"), ("GCS", "gcs"), ("NIHSS", "nihss"), ("McIsaac", "mcisaac"),
        ("CKD-EPI 2021", "egfr"),
    ],
)  # fmt: skip
def test_scores_are_found_by_their_usual_names(said: str, name: str):
    assert find_score(said).name == name


def test_the_seeds_wells_criteria_can_be_two_scores():
    with pytest.raises(NoSuchScore, match="wells_dvt or wells_pe"):
        find_score("Wells' Criteria")
