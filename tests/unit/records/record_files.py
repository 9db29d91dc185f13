"""FHIR bundles made for tests: a patient as Synthea writes one, from a seed."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import Any

from tests.conformance.files import SHARED

Json = dict[str, Any]

BUNDLES = SHARED / "records"
"""The twelve bundles that a Synthea of 2019 wrote; not part of the project."""

LOINC, SNOMED = "http://loinc.org", "http://snomed.info/sct"
UCUM, RXNORM = "http://unitsofmeasure.org", "http://www.nlm.nih.gov/research/umls/rxnorm"
CATEGORY = "http://terminology.hl7.org/CodeSystem/observation-category"

CONDITIONS = [
    ("59621000", "Hypertension"),
    ("44054006", "Diabetes"),
    ("10509002", "Acute bronchitis (disorder)"),
    ("444814009", "Viral sinusitis (disorder)"),
    ("162864005", "Body mass index 30+ - obesity (finding)"),
    ("195662009", "Acute viral pharyngitis (disorder)"),
]
_LABS = [
    ("2339-0", "Glucose", "mg/dL", 65, 140),
    ("38483-4", "Creatinine", "mg/dL", 0.6, 1.4),
    ("2947-0", "Sodium", "mmol/L", 135, 146),
    ("718-7", "Hemoglobin [Mass/volume] in Blood", "g/dL", 11, 17),
    ("777-3", "Platelets [#/volume] in Blood by Automated count", "10*3/uL", 150, 450),
]
_VITALS = [
    ("8302-2", "Body Height", "cm", 150, 195),
    ("29463-7", "Body Weight", "kg", 50, 120),
    ("39156-5", "Body Mass Index", "kg/m2", 18, 40),
]
_DRUGS = [
    ("314076", "lisinopril 10 MG Oral Tablet"),
    ("860975", "24 HR Metformin hydrochloride 500 MG Extended Release Oral Tablet"),
    ("308182", "Amoxicillin 250 MG Oral Capsule"),
]
_GIVEN = ["Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gina", "Hugo"]
_FAMILY = ["Archer", "Baker", "Cooper", "Dyer", "Fletcher", "Mason", "Potter", "Weaver"]


def coding(system: str, code: str, display: str) -> Json:
    """Return a CodeableConcept with one coding."""
    return {"coding": [{"system": system, "code": code, "display": display}], "text": display}


def patient_bundle(seed: int, visits: int = 8) -> Json:
    """Return a transaction bundle of one patient: a visit gives about 12 resources."""
    return _Maker(seed).bundle(visits)


def write_bundles(folder: Path, count: int, visits: int = 8) -> list[Path]:
    """Write the bundles of the seeds 0 to `count` - 1, a file each, and return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for seed in range(count):
        paths.append(folder / f"patient_{seed:04}.json")
        paths[-1].write_text(json.dumps(patient_bundle(seed, visits)), encoding="utf-8")
    return paths


class _Maker:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._entries: list[Json] = []

    def _id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _add(self, kind: str, **fields: Any) -> str:
        own = self._id()
        resource = {"resourceType": kind, "id": own, **fields}
        self._entries.append(
            {
                "fullUrl": f"urn:uuid:{own}",
                "resource": resource,
                "request": {"method": "POST", "url": kind},
            }
        )
        return f"urn:uuid:{own}"

    def bundle(self, visits: int) -> Json:
        rng = self._random
        given, family = rng.choice(_GIVEN), rng.choice(_FAMILY)
        self.patient = self._add(
            "Patient",
            identifier=[
                {"system": "https://github.com/synthetichealth/synthea", "value": self._id()},
                {
                    "type": coding("http://terminology.hl7.org/CodeSystem/v2-0203", "MR", "MRN"),
                    "system": "http://hospital.smarthealthit.org",
                    "value": f"MRN{self._seed:06}",
                },
            ],
            name=[{"use": "official", "family": family, "given": [given]}],
            gender=rng.choice(["male", "female"]),
            birthDate=f"{rng.randint(1930, 2005)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
            address=[{"line": [f"{rng.randint(1, 999)} Mill Lane"], "city": "Springfield"}],
        )
        place = self._add("Organization", name="GENERAL HOSPITAL", active=True)
        self.doctor = self._add(
            "Practitioner", name=[{"family": "Grey", "given": ["Ann"], "prefix": ["Dr."]}]
        )
        for number in range(visits):
            day = f"{2010 + number % 12}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
            self._visit(day, place, number)
        return {"resourceType": "Bundle", "type": "transaction", "entry": self._entries}

    def _visit(self, day: str, place: str, number: int) -> None:
        rng, patient = self._random, {"reference": self.patient}
        when = f"{day}T{rng.randint(8, 16):02}:{rng.randint(0, 59):02}:00-05:00"
        visit = {
            "reference": self._add(
                "Encounter",
                status="finished",
                **{"class": {"system": "urn:x", "code": "AMB"}},
                type=[coding(SNOMED, "185345009", "Encounter for symptom")],
                subject=patient,
                period={"start": when, "end": when},
                serviceProvider={"reference": place},
            )
        }
        common: Json = {"subject": patient, "encounter": visit}
        code, name = rng.choice(CONDITIONS)
        ended = {"abatementDateTime": when} if rng.random() < 0.5 else {}
        clinical = "resolved" if ended else "active"
        condition = self._add(
            "Condition",
            clinicalStatus=_status("condition-clinical", clinical),
            verificationStatus=_status("condition-ver-status", "confirmed"),
            code=coding(SNOMED, code, name),
            onsetDateTime=when,
            **common,
            **ended,
        )
        results = [
            {"reference": self._measured(one, "laboratory", when, common)}
            for one in rng.sample(_LABS, 3)
        ]
        for one in _VITALS:
            self._measured(one, "vital-signs", when, common)
        self._pressure(when, common)
        self._add(
            "DiagnosticReport",
            status="final",
            code=coding(LOINC, "51990-0", "Basic Metabolic Panel"),
            effectiveDateTime=when,
            result=results,
            **common,
        )
        drug, label = rng.choice(_DRUGS)
        self._add(
            "MedicationRequest",
            status="active" if number % 2 else "stopped",
            intent="order",
            medicationCodeableConcept=coding(RXNORM, drug, label),
            authoredOn=when,
            requester={"reference": self.doctor},
            reasonReference=[{"reference": condition}],
            **common,
        )
        self._add(
            "Immunization",
            status="completed",
            vaccineCode=coding("http://hl7.org/fhir/sid/cvx", "140", "Influenza"),
            patient=patient,
            encounter=visit,
            occurrenceDateTime=when,
        )

    def _measured(self, one: tuple[Any, ...], category: str, when: str, common: Json) -> str:
        code, name, unit, low, high = one
        return self._add(
            "Observation",
            status="final",
            category=[coding(CATEGORY, category, category)],
            code=coding(LOINC, code, name),
            effectiveDateTime=when,
            valueQuantity={
                "value": self._random.uniform(low, high),
                "unit": unit,
                "system": UCUM,
                "code": unit,
            },
            **common,
        )

    def _pressure(self, when: str, common: Json) -> None:
        parts = [("8462-4", "Diastolic Blood Pressure", 80), ("8480-6", "Systolic", 120)]
        self._add(
            "Observation",
            status="final",
            category=[coding(CATEGORY, "vital-signs", "vital-signs")],
            code=coding(LOINC, "55284-4", "Blood Pressure"),
            effectiveDateTime=when,
            component=[
                {
                    "code": coding(LOINC, code, name),
                    "valueQuantity": {
                        "value": self._random.gauss(mean, 8),
                        "unit": "mm[Hg]",
                        "system": UCUM,
                        "code": "mm[Hg]",
                    },
                }
                for code, name, mean in parts
            ],
            **common,
        )


def _status(system: str, code: str) -> Json:
    url = f"http://terminology.hl7.org/CodeSystem/{system}"
    return {"coding": [{"system": url, "code": code}]}
