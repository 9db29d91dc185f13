"""Medications in use, interactions with their sources, and what is not checked."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from app.records.types import Entry, EntryKind
from app.tools.api import ToolRetry
from app.tools.record.medications import drug_of, interactions_of, use_of
from tests.conftest import REPO
from tests.unit.records.record_files import RXNORM, SNOMED, coding
from tests.unit.tools.record.charts import Json
from tests.unit.tools.record.conftest import Opens

TABLE: dict[str, Any] = tomllib.loads(
    (REPO / "resources" / "tables" / "drug_interactions.toml").read_text("utf-8")
)


def drug(own: str, name: str, status: str = "active", code: str = "1", **more: object) -> Json:
    return {
        "resourceType": "MedicationRequest",
        "id": own,
        "status": status,
        "intent": "order",
        "medicationCodeableConcept": coding(RXNORM, code, name),
        "authoredOn": "2020-01-01",
        **more,
    }


def allergy(own: str, name: str, **more: object) -> Json:
    return {
        "resourceType": "AllergyIntolerance",
        "id": own,
        "code": coding(SNOMED, "1", name),
        **more,
    }


def pair(one: str, other: str) -> str:
    """Return the severity of the most severe rule on two drugs, "" for none."""
    found, _ = interactions_of([drug_of(one), drug_of(other)])
    return found[0]["severity"] if found else ""


# From the labels, as a pharmacist would ask.
@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("Simvastatin 20 MG Oral Tablet", "Clarithromycin 500 MG Oral Tablet", "contraindicated"),
        ("simvastatin", "amlodipine", "major"),
        ("Viagra", "Nitroglycerin 0.4 MG Sublingual Tablet", "contraindicated"),
        ("warfarin", "amiodarone", "major"),
        ("warfarin", "Ibuprofen 200 MG Oral Tablet", "major"),
        ("Sulfamethoxazole 800 MG / Trimethoprim 160 MG Oral Tablet", "methotrexate", "major"),
        ("Meperidine Hydrochloride 50 MG Oral Tablet", "phenelzine", "contraindicated"),
        ("oxycodone", "Clonazepam [Klonopin]", "major"),
        ("lisinopril 10 MG Oral Tablet", "spironolactone", "major"),
        ("ibuprofen", "naproxen", "moderate"),
        ("Carbamazepine[Tegretol]", "Clonazepam [Klonopin]", "moderate"),
        ("metformin", "iohexol 300 MG/ML", "major"),
        ("acetaminophen", "amoxicillin", ""),
        ("ibuprofen", "Ibuprofen 200 MG Oral Tablet", ""),
    ],
)
def test_well_known_pairs(one: str, other: str, severity: str):
    assert pair(one, other) == severity == pair(other, one)


def test_every_row_has_a_source_and_known_drugs():
    known = set(TABLE["drugs"]) | set(TABLE["classes"])
    members = {name for names in TABLE["classes"].values() for name in names}
    assert members <= set(TABLE["drugs"])
    rows = TABLE["interactions"]["rows"]
    assert len(rows) >= 60
    for row in rows:
        assert {row["a"], row["b"]} <= known
        assert row["severity"] in ("contraindicated", "major", "moderate")
        assert len(row["source"]) > 20
        assert row["effect"]
    codes = [one["rxcui"] for one in TABLE["drugs"].values() if "rxcui" in one]
    assert len(codes) == len(set(codes))
    names = [name for one in TABLE["drugs"].values() for name in one["names"]]
    shared = {name for name in names if names.count(name) > 1}
    assert shared <= {"bactrim", "co-trimoxazole"}  # two ingredients under one name


@pytest.mark.parametrize(
    ("name", "ingredients", "unknown"),
    [
        ("Amoxicillin 250 MG / Clavulanate 125 MG Oral Tablet", {"amoxicillin", "clavulanate"}, 0),
        (
            "Acetaminophen 21 MG/ML / doxylamine 0.417 MG/ML Solution",
            {"acetaminophen"},
            1,
        ),
        ("NDA020800 0.3 ML Epinephrine 1 MG/ML Auto-Injector", {"epinephrine"}, 0),
        ("norepinephrine", set(), 1),
        ("Foomycin", set(), 1),
        ("esomeprazole", {"esomeprazole"}, 0),
    ],
)
def test_ingredients_are_found_part_by_part(name: str, ingredients: set[str], unknown: int):
    found = drug_of(name)
    assert (set(found.ingredients), len(found.unknown)) == (ingredients, unknown)


def test_the_records_current_drugs_are_checked_and_the_rest_is_listed(opens: Opens):
    charts = opens(
        drug("d1", "Simvastatin 20 MG Oral Tablet"),
        drug("d2", "Foomycin 1 MG Oral Tablet"),
        drug("d3", "Amiodarone 200 MG", "stopped"),
        drug("d4", "Mystery brand", code="21212"),  # RxNorm ingredient clarithromycin
    )
    result = charts.run("check_drug_interactions")
    (one,) = result.output["interactions"]
    assert one["severity"] == "contraindicated"
    assert set(one["entries"]) == {"MedicationRequest/d1", "MedicationRequest/d4"}
    assert "Zocor" in one["source"]
    assert [found["name"] for found in result.output["not_checked"]] == [
        "Foomycin 1 MG Oral Tablet"
    ]
    assert "NOT CHECKED" in result.summary
    assert "Foomycin" in result.summary
    assert "Not covered" in result.output["coverage"]
    past = charts.run("check_drug_interactions", include_past=True).output["interactions"]
    assert {tuple(sorted(found["drugs"])) for found in past} == {
        ("clarithromycin", "simvastatin"),
        ("amiodarone", "simvastatin"),
    }


def test_safe_is_never_said(opens: Opens):
    charts = opens(drug("d1", "Acetaminophen"), drug("d2", "Amoxicillin"), drug("d3", "Foomycin"))
    summary = charts.run("check_drug_interactions").summary.casefold()
    assert "no interaction" not in summary
    assert "does not prove" in summary
    assert "does not mean that there are none" in summary  # of allergies


def test_named_drugs_are_checked_with_the_records_or_alone(opens: Opens):
    charts = opens(drug("d1", "Simvastatin 20 MG Oral Tablet"))
    found = charts.run("check_drug_interactions", drugs=["clarithromycin"]).output
    assert found["interactions"][0]["severity"] == "contraindicated"
    assert found["patient"]["id"] == "p1"
    alone = charts.run(
        "check_drug_interactions", drugs=["warfarin", "amiodarone"], only_named=True
    ).output
    assert (alone["patient"], len(alone["interactions"])) == (None, 1)
    with pytest.raises(ToolRetry, match="at least two"):
        charts.run("check_drug_interactions", drugs=["warfarin"], only_named=True)


def test_allergies_meet_drugs_of_their_class(opens: Opens):
    charts = opens(
        drug("d1", "Amoxicillin 500 MG Oral Tablet"),
        drug("d2", "Cephalexin 250 MG"),
        drug("d3", "Naproxen sodium 220 MG Oral Tablet"),
        allergy("a1", "Allergy to penicillin"),
        allergy("a2", "Allergy to fish"),
        allergy("a3", "Allergy to aspirin", clinicalStatus={"coding": [{"code": "resolved"}]}),
    )
    output = charts.run("check_drug_interactions").output
    met = {(one["allergy_entry"][-2:], one["drug_entry"][-2:]) for one in output["allergies"]}
    assert met == {("a1", "d1"), ("a1", "d2")}
    assert [one["allergy"] for one in output["allergies_not_checked"]] == ["Allergy to fish"]


@pytest.mark.parametrize(
    ("status", "end", "group"),
    [
        ("active", "", "current"),
        ("active", "2001-01-01", "past"),
        ("active", "2999-01-01", "current"),
        ("stopped", "", "past"),
        ("completed", "", "past"),
        ("on-hold", "", "unclear"),
        ("unknown", "", "unclear"),
        ("entered-in-error", "", "past"),
    ],
)
def test_a_medication_is_in_use_by_status_and_dates(status: str, end: str, group: str):
    one = Entry("M/1", "p1", EntryKind.MEDICATION, "Drug", start="2000", end=end, status=status)
    assert use_of(one) == group
