"""`compute_differential`: what is said, remembered, taken from the image and the record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from app.imaging.findings import Box, Finding, Provenance, State
from app.imaging.types import ImageRef
from app.records.types import Entry, EntryKind, NoRecords, Patient, Value
from app.tools.api import CancelToken, ToolContext, ToolResult, ToolRetry
from app.tools.diagnosis.differential_tool import (
    NOT_FOR_DIAGNOSIS,
    ComputeDifferential,
    DifferentialInput,
    DifferentialOutput,
    ListPresentations,
    ListPresentationsInput,
    percent,
)
from app.tools.diagnosis.table import presentations
from app.tools.diagnosis.table_matching import find_presentation

TOOL = ComputeDifferential()
PE = "suspected-pulmonary-embolism"


class Film:
    """Images of which only the accepted findings count."""

    def __init__(self, *findings: Finding, patient: str = "") -> None:
        self._findings, self._patient = findings, patient

    def names(self) -> tuple[str, ...]:
        return ("image-1",) if self._patient else ()

    def instances(self) -> dict[str, dict[str, str]]:
        return {"image-1": {"PatientID": self._patient}}

    def accepted_findings(self) -> tuple[Finding, ...]:
        return self._findings


class Record(NoRecords):
    """A record with one D-dimer."""

    def patient(self, patient_id: str) -> Patient | None:
        return Patient(patient_id, "Ada Test")

    def entries(self, patient_id: str, *args: object, **more: object) -> list[Entry]:
        codes = {code.code for code in cast("list[Any]", more["codes"])}
        if not codes & {"48065-7", "30240-6", "48066-5", "7799-0", "71427-9"}:
            return []
        entry = Entry("Observation/7", patient_id, EntryKind.LAB, "D-dimer", start="2020-01-02")
        return [replace(entry, value=Value(200.0, "200", self.unit))]

    unit = "ng/mL"


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    made: Any = ToolContext(
        run_id="run",
        call_id="call",
        images=cast("Any", Film()),
        out_dir=tmp_path,
        host=cast("Any", None),
        models_dir=tmp_path,
        device="cpu",
        cancel=CancelToken(),
        progress=lambda fraction, text: None,
    )
    return made


def ask(context: ToolContext, **arguments: Any) -> ToolResult:
    result = TOOL.run(DifferentialInput(**arguments), context)
    DifferentialOutput.model_validate(result.output)
    return result


def disease(result: ToolResult, name: str) -> dict[str, Any]:
    return next(item for item in result.output["hypotheses"] if item["id"] == name)


def leading(result: ToolResult) -> dict[str, Any]:
    return result.output["hypotheses"][0]


def test_words_are_weighed_and_every_figure_has_its_source(context: ToolContext) -> None:
    result = ask(context, presentation=PE, text="Unilateral leg swelling, no sudden dyspnea.")
    first = leading(result)
    odds = first["prior"] / (1 - first["prior"])
    for weight in first["weights"]:
        if weight["counts"]:
            odds *= weight["ratio"]
        assert weight["source"]["text"]
        assert weight["population"]
    assert {weight["present"] for weight in first["weights"]} == {True, False}
    assert first["probability"] == pytest.approx(odds / (1 + odds), abs=1e-5)
    assert first["low"] <= first["probability"] <= first["high"]
    assert NOT_FOR_DIAGNOSIS in result.summary
    assert result.output["next"][0]["bits"] > 0


def test_a_conversation_adds_to_what_was_said(context: ToolContext) -> None:
    first = ask(context, presentation=PE, text="Unilateral leg swelling")
    second = ask(context, text="and hemoptysis")
    names = [item["finding"] for item in second.output["evidence"]]
    assert names[: len(first.output["evidence"])] == [
        item["finding"] for item in first.output["evidence"]
    ]
    assert len(names) == len(first.output["evidence"]) + 1
    assert len(second.output["steps"]) == len(names) + 1
    # What is said later counts.
    third = ask(context, text="no hemoptysis")
    states = {item["finding"]: item["present"] for item in third.output["evidence"]}
    assert states[names[-1]] is False
    fresh = ask(context, presentation=PE, fresh=True)
    assert fresh.output["evidence"] == []


def test_another_complaint_is_not_answered_from_the_table_of_the_first(
    context: ToolContext,
) -> None:
    ask(context, text="crushing chest pain in the emergency department, sweaty")
    kept = ask(context, text="and no vomiting")
    assert kept.output["presentation"]["id"] == "acute-chest-pain-emergency"
    other = ask(context, text="How likely is pulmonary embolism with sweating and leg swelling?")
    assert other.output["presentation"]["id"] == PE
    assert "sweaty" not in str(other.output["evidence"])
    with pytest.raises(ToolRetry, match="several tables fit"):
        ask(context, text="How likely is stroke with vomiting and sweating?")


def test_what_was_said_of_one_patient_never_counts_for_another(context: ToolContext) -> None:
    first = replace(context, images=cast("Any", Film(patient="a")))
    other = replace(context, images=cast("Any", Film(patient="b")))
    ask(first, presentation=PE, text="hemoptysis")
    assert len(ask(first, text="leg swelling").output["evidence"]) == 2
    told = ask(other, presentation=PE, text="leg swelling")
    assert [item["finding"] for item in told.output["evidence"]] == ["leg_swelling"]
    assert "it may be about another patient" in told.summary
    linked = replace(other, record_patient="p1")  # the same patient's record, opened later
    assert len(ask(linked, presentation=PE).output["evidence"]) == 1
    assert ask(replace(other, record_patient="p2"), presentation=PE).output["evidence"] == []
    with pytest.raises(ToolRetry, match="no table"):
        ask(first, text="which test next?")


def accepted(label: str, state: State = State.ACCEPTED) -> Finding:
    provenance = Provenance("finder", "1", "", "", "run", "call", "2026-01-01T00:00:00Z")
    ref = ImageRef("1.2.3", 0, "0" * 64)
    return Finding("f1", ref, Box(0, 0, 1, 1), label, None, "", provenance, state=state)


def test_an_accepted_finding_counts_and_is_linked(context: ToolContext) -> None:
    tables = presentations([])
    name, key, label = next(
        (table.id, key, finding.labels[0])
        for table in tables.values()
        for key, finding in table.findings.items()
        if finding.labels
    )
    film = replace(context, images=cast("Any", Film(accepted(label.title()))))
    result = ask(film, presentation=name)
    (item,) = result.output["evidence"]
    assert (item["finding"], item["present"], item["link"]) == (key, True, "f1")
    # Said otherwise: what the user says stands, and the difference is told.
    told = ask(film, presentation=name, absent=[tables[name].findings[key].name])
    (item,) = told.output["evidence"]
    assert item["present"] is False
    assert "it was said otherwise" in told.output["unused"][0]
    # A finding that is taken back is evidence no longer.
    assert ask(context, presentation=name, fresh=True).output["evidence"] == []


def test_the_record_s_value_counts_and_its_patient_is_named(context: ToolContext) -> None:
    table = presentations([])[PE]
    dimers = [f for f in table.findings.values() if "48065-7" in f.loinc or "48066-5" in f.loinc]
    assert dimers, "the table has a D-dimer"
    records = Record()
    records.unit = dimers[0].unit
    own = replace(context, records=records, record_patient="p1", record_unlinked=True)
    result = ask(own, presentation=PE)
    linked = [item for item in result.output["evidence"] if item["link"] == "Observation/7"]
    assert linked
    assert "record of Ada Test; it is not linked to the shown study" in result.summary
    assert result.metadata["patient"]["id"] == "p1"


def test_what_cannot_be_answered_says_what_can(context: ToolContext) -> None:
    with pytest.raises(ToolRetry, match="no table of published ratios"):
        ask(context, text="purple ears")
    with pytest.raises(ToolRetry, match="no disease of this table"):
        ask(context, presentation=PE, priors={"plague": 0.1})
    with pytest.raises(ToolRetry, match="both present and absent"):
        ask(context, presentation=PE, present=["hemoptysis"], absent=["hemoptysis"])
    with pytest.raises(ToolRetry, match="between 0 and 1"):
        ask(context, presentation=PE, priors={next(iter(presentations([])[PE].hypotheses)): 1})


def test_a_finding_that_the_table_lacks_stays_words(context: ToolContext) -> None:
    before = ask(context, presentation=PE)
    after = ask(context, presentation=PE, present=["a bad feeling"])
    assert leading(after)["probability"] == leading(before)["probability"]
    assert "moving nothing: a bad feeling" in after.summary


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (PE, PE),
        ("pulmonary embolism", PE),
        ("how likely is a pulmonary embolism here", PE),
        ("Suspected PE, no leg swelling: which test next?", PE),
        ("how likely is PE with a swollen calf?", PE),
        ("chest pain in the emergency department, had a stroke", "acute-chest-pain-emergency"),
        ("Sudden dyspnoea, swollen calf: PE?", PE),
        ("sudden vertigo, skew deviation: stroke?", "acute-vertigo"),
        ("?PE, breathless since this morning", PE),
        ("Pt denies chest pain. Cough with sputum. Pneumonia?", "suspected-pneumonia"),
        ("Mother had a stroke. Sore throat, no cough", "sore-throat-adult"),
        ("headache, neck stiffness - SAH?", "thunderclap-headache"),
        ("suspected pulmonray embolsim, hemoptysis", PE),
        ("8 year old with fever. Appendicitis?", "suspected-appendicitis-child"),
        ("Kind mit Loslassschmerz. Appendizitis?", "suspected-appendicitis-child"),
        ("28 year old with fever. Appendicitis?", "suspected-appendicitis"),
        ("How likely is it that she has pneumonia with a sore throat?", "suspected-pneumonia"),
        ("Thoraxschmerz verneint. Lungenembolie ausgeschlossen?", PE),
    ],
)
def test_a_presentation_is_found_by_its_names(text: str, name: str) -> None:
    assert [item.id for item in find_presentation(text, presentations([]))] == [name]


def test_a_disease_without_a_table_is_not_answered_from_another_s(context: ToolContext) -> None:
    with pytest.raises(ToolRetry, match="for sarcoidosis"):
        ask(context, text="How likely is sarcoidosis with cough and fever?")
    with pytest.raises(ToolRetry, match="for a kidney stone"):
        ask(context, text="fever; what is the probability of a kidney stone?")
    assert ask(context, presentation=PE, text="How likely is it now?").output["hypotheses"]


def test_what_the_table_does_not_answer_is_said(context: ToolContext) -> None:
    both = ask(context, text="Dyspnoea, S3 gallop, raised JVP. Heart failure or PE?")
    assert both.output["presentation"]["id"] == "acute-dyspnea-heart-failure"
    assert "Pulmonary embolism, which has a table of its own" in both.summary
    child = ask(context, text="6 year old boy with cough and fever: pneumonia?", fresh=True)
    assert "that the patient is a child: the figures are of adults" in child.summary
    ask(context, presentation=PE, text="hemoptysis", fresh=True)
    later = ask(context, text="and his tongue is blue")
    assert "'and his tongue is blue': this table has no finding for it" in later.summary


def test_no_range_is_claimed_where_no_source_gives_an_interval(context: ToolContext) -> None:
    assert "20% (its sources give no interval)" in ask(context, presentation=PE).summary


def test_the_list_has_every_table(context: ToolContext) -> None:
    result = ListPresentations().run(ListPresentationsInput(), context)
    assert {row["id"] for row in result.output["presentations"]} == set(presentations([]))
    one = ListPresentations().run(ListPresentationsInput(text="embolism"), context)
    assert PE in {row["id"] for row in one.output["presentations"]}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.5, "50%"),
        (0.004, "0.4%"),
        (0.0001, "<0.1%"),
        (0.9999, ">99.9%"),
        (0.987, "98.7%"),
        (0.0, "0%"),
        (1.0, "100%"),
    ],
)
def test_no_probability_is_rounded_to_certainty(value: float, text: str) -> None:
    assert percent(value) == text
