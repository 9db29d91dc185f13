"""Evidence from words, from a record and from findings on images."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.imaging.findings import Box, Finding, Provenance, State
from app.imaging.types import ImageRef
from app.records.types import LOINC, Code, Entry, EntryKind, NoRecords, Value
from app.tools.diagnosis.differential import Differential
from app.tools.diagnosis.evidence_sources import image_evidence, record_evidence, text_evidence
from app.tools.diagnosis.table import Presentation, presentations
from app.tools.models.cards import ModelCard, OperatingPoint, cards
from tests.unit.tools.diagnosis.small_table import TABLE, small_table


def states(text: str) -> dict[str, bool]:
    found = text_evidence(small_table(), text).evidence
    return {item.finding: item.present for item in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fever for two days", {"fever": True}),
        ("FEVER!", {"fever": True}),
        ("no fever", {"fever": False}),
        ("No fever, cough for a week", {"fever": False, "cough": True}),
        ("no fever or cough", {"fever": False, "cough": False}),
        ("no fever, chills, or cough", {"fever": False, "cough": False}),
        ("denies chills, fever and cough", {"fever": False, "cough": False}),
        ("The patient denies fever. Cough is bad.", {"fever": False, "cough": True}),
        ("without cough", {"cough": False}),
        ("no cough but fever", {"fever": True, "cough": False}),
        ("afebrile", {"fever": False}),
        ("fever: absent", {"fever": False}),
        ("fever, no cough", {"fever": True, "cough": False}),
        ("fever: no", {"fever": False}),
        ("cough is not present", {"cough": False}),
        ("coughing", {}),
        ("hay-fever", {}),
        ("positive swab, kein Fieber", {"swab": True}),
        ("high fever", {"fever": True, "high_fever": True}),
        ("CRP 12 mg/L", {"crp": True}),
        ("CRP: 9,5 mg/l", {"crp": False}),
        ("crp 10 mg/L", {"crp": True}),
        ("CRP 12 mg/dL", {"crp": True}),
        ("CRP 0.9 mg/dL", {"crp": False}),
        ("CRP 12000 ug/L", {"crp": True}),
        ("CRP 12 nmol/L", {}),
        ("CRP 12", {}),
        ("", {}),
    ],
)
def test_what_a_text_says(text: str, expected: dict[str, bool]) -> None:
    assert states(text) == expected


def test_what_cannot_be_used_is_told() -> None:
    said = text_evidence(small_table(), "CRP 12 nmol/L. Fever. Later no fever.")
    assert said.evidence == ()
    assert said.unused == (
        "Fever: said to be present and absent",
        "12 nmol/L (CRP): the unit nmol/L, not mg/L",
    )


class OneRecord(NoRecords):
    def __init__(self, value: Value) -> None:
        self._value = value

    def entries(self, patient_id: str, *args: object, **more: object) -> list[Entry]:
        codes = more["codes"]
        assert codes == [Code(LOINC, "1988-5")]
        entry = Entry("Observation/1", patient_id, EntryKind.LAB, "C reactive protein")
        return [replace(entry, start="2020-03-04", value=self._value)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Value(12.0, "12", "mg/L"), True),
        (Value(10.0, "10", "mg/L"), True),
        (Value(3.0, "3", "mg/L"), False),
        (Value(3.0, "3", "mg/L", "<"), False),
        (Value(30.0, "30", "mg/L", "<"), None),
        (Value(30.0, "30", "mg/L", ">"), True),
        (Value(5.0, "5", "mg/L", ">"), None),
        (Value(12.0, "12", "nmol/L"), None),
        (Value(0.5, "0.5", "mg/dL"), False),
        (Value(None, "raised", ""), None),
    ],
)
def test_what_a_record_decides(value: Value, expected: bool | None) -> None:
    found = record_evidence(small_table(), OneRecord(value), "p1")
    if expected is None:
        assert found == ()
        return
    (evidence,) = found
    assert (evidence.finding, evidence.present) == ("crp", expected)
    assert evidence.link == "Observation/1"
    assert "2020-03-04" in evidence.origin
    assert record_evidence(small_table(), OneRecord(value), "") == ()  # nobody's record


def on_image(label: str, state: State, model: str = "some-net") -> Finding:
    provenance = Provenance("finder", "1", model, "", "run", "call", datetime.now(UTC).isoformat())
    ref = ImageRef("1.2.3", 0, "0" * 64)
    return Finding(
        label, ref, Box(0, 0, 1, 1), label, 0.9, "", provenance, state=state, reviewer="Dr A"
    )


def with_labels() -> Presentation:
    findings = {**TABLE["findings"], "swab": {**TABLE["findings"]["swab"], "labels": ["opacity"]}}
    return Presentation.model_validate(TABLE | {"findings": findings})


def test_only_what_a_person_accepted_is_evidence() -> None:
    all_states = [on_image(f"Finding {state}", state) for state in State]
    found = image_evidence(with_labels(), all_states, {})
    assert {item.finding for item in found} == {
        f"Finding {State.ACCEPTED}",
        f"Finding {State.EDITED}",
    }
    before = Differential(with_labels())
    after = before.add(*found)  # labels without a number move nothing
    values = [(item.hypothesis, item.value) for item in after.probabilities]
    assert values == [(item.hypothesis, item.value) for item in before.probabilities]


def test_an_accepted_label_is_the_table_s_finding() -> None:
    (found,) = image_evidence(with_labels(), [on_image("Opacity", State.ACCEPTED)], {})
    assert (found.finding, found.present, found.link) == ("swab", True, "Opacity")
    assert "Opacity, found by finder, accepted by Dr A" in found.origin


def test_a_card_s_operating_point_counts_for_the_disease_of_that_name() -> None:
    shipped = next(iter(cards().values()))
    points = {"flu": OperatingPoint(0.8, 0.95, "Somebody 2020")}
    card: ModelCard = replace(shipped, operating_points=points)
    (found,) = image_evidence(with_labels(), [on_image("Flu", State.ACCEPTED)], {"some-net": card})
    differential = Differential(with_labels(), (found,))
    # Odds 0.25 x 0.8 / 0.05
    assert differential.probability("flu").value == pytest.approx(4 / 5)
    assert differential.probability("cold").value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("D-dimer 1,200 ng/mL", None),  # 1200 in English, 1.2 in German
        ("D-Dimer 1.200 ng/ml", None),
        ("D-dimer 1,200,000 ng/mL", True),
        ("D-dimer 2.345,6 ng/mL", True),
        ("D-dimer 1,250 ug/mL", True),  # above the limit either way
        ("D-Dimer 0,300 mg/l", False),
        ("D-dimer <200 ng/mL", False),
        ("D-dimer <1000 ng/mL", None),
        ("D-dimer > 500 ng/mL", True),
        ("D-dimer > 200 ng/mL", None),
        ("D-dimer 12.3.2026", None),
    ],
)
def test_a_number_that_leaves_a_finding_open_decides_nothing(text: str, state: bool | None) -> None:
    table = presentations([])["suspected-pulmonary-embolism"]
    read = text_evidence(table, text)
    found = {item.finding: item.present for item in read.evidence}
    assert found.get("d_dimer_500") is state
    assert state is not None or read.unused or "2026" in text
