"""A patient's record with a canary in every kind of field, as a FHIR bundle.

`CANARIES` are the texts by their field. Each identifies a made-up person, and must never leave the
machine. What may leave is beside them: coded terms, values, units.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.unit.records.record_files import LOINC, RXNORM, SNOMED, UCUM, coding

Json = dict[str, Any]

CANARIES: dict[str, str] = {
    "given name": "Quistella",
    "second given name": "Bramhilde",
    "family name": "Vorontzak",
    "maiden name": "Tremblikov",
    "nickname": "Quizzi",
    "mother's maiden name": "Ostrengard",
    "MRN": "MRN-7730518842",
    "SSN": "999-41-8877",
    "driver's licence": "S99931742",
    "passport": "X48190277X",
    "national id": "53071948213",
    "phone": "+1 555 730 4419",
    "mobile": "(555) 918-2276",
    "e-mail": "quistella.v@mailbox.example",
    "street": "417 Wexenholt Terrace",
    "city": "Marlowhaven",
    "district": "Trunkshire",
    "postal code": "49821",
    "work place": "Hexlow Foundry",
    "birth date": "1953-07-19",
    "death date": "2021-11-03",
    "birth place": "Grenzhafen",
    "relative's name": "Ottokar Finsterbusch",
    "relative's phone": "555-662-9031",
    "general practitioner": "Dr. Ingolf Prezwalski",
    "practitioner in contained": "Amundi Kessleroth",
    "practitioner of an encounter": "Wendeline Sturmhart",
    "practitioner's number": "NPI 9941184207",
    "organization": "Sankt Ulfried Klinikum Bergwacht",
    "organization's phone": "0471-9382715",
    "location": "Pavillon Zirbelkamm",
    "ward": "Station Haselnusz 4b",
    "encounter number": "VN-20448817",
    "encounter's reason": "collapsed at Rosenquill bakery",
    "condition's text": "known to the Blarney-Kuvasz family",
    "condition's note": "neighbour Mr Plunketto called",
    "onset as text": "since her wedding to Giselbert",
    "onset date": "2014-03-08",
    "observation's text value": "carpenter at Jorvikson Ltd",
    "observation's note": "taken by nurse Xanthippe-Lou",
    "observation's performer": "Lab Krummbacher",
    "observation date": "2019-05-23",
    "medication's dosage": "give to daughter Yolandrine",
    "medication's note": "collected at Apotheke Zum Schwanenhals",
    "procedure's note": "assisted by Thorvaldur Einkamp",
    "allergy's reaction": "told by aunt Wilgefortisa",
    "immunization's lot": "LOT-88QX7731",
    "device's serial number": "SN7719KLM42",
    "device's UDI": "(01)00844588003288(21)A1234567",
    "note": "Frau Vorontzak lives with cousin Ulfhildur in Nebelheim",
    "note's date in words": "23rd of August 2017",
    "note's author": "Pfleger Dietmut Angerbauer",
    "note's description": "letter to Advokat Lindwurmer",
    "report's conclusion": "compare with films of Praxis Mondstein",
    "report's date in figures": "14/06/2018",
    "imaging description": "CHEST for Dr Quackenbuschel",
    "study instance UID": "1.2.840.99999.7731.42.55.8811",
    "accession number": "ACC-5519-QV",
    "extension text": "member of the Orakelverein",
    "care plan": "walks with Hund Bellofant",
    "family history": "brother Kunibertus died",
    "claim number": "CLM-6620913385",
    "insurance number": "KV-K482917730",
    "name in a SNOMED display": "Melchiorina",
    "names in an RxNorm display": "Brunnquell Adalgunde",
    "nurse in a LOINC display": "Hildegundis",
    "number in a display": "881-33-2077",
    "photo's address": "https://pics.example/vorontzak.jpg",
}
"""What must not leave, by the field in which it stands."""

ALLOWED = ("creatinine", "3.71", "mg/dL", "diabetes", "simvastatin", "2160-0", "metformin")
"""What may leave, so that an empty answer does not pass."""

PATIENT_ID = "p-4f81c7d2-0b3e-4c6a-9d55-aa10c0ffee01"


_BY_PATIENT = ("AllergyIntolerance", "Immunization", "Claim", "FamilyMemberHistory")


def _note(text: str) -> list[Json]:
    return [{"text": text, "authorString": CANARIES["note's author"]}]


def _text(text: str) -> Json:
    return {"contentType": "text/plain", "data": base64.b64encode(text.encode()).decode()}


def _entry(kind: str, own: str, **fields: Any) -> Json:
    resource = {"resourceType": kind, "id": own, **fields}
    if kind not in ("Patient", "Practitioner", "Organization", "Location", "Device"):
        whose = {"reference": f"Patient/{PATIENT_ID}", "display": "Quistella Vorontzak"}
        resource |= {
            "patient"
            if kind in ("AllergyIntolerance", "Immunization", "Claim", "FamilyMemberHistory")
            else "subject": whose
        }
    return {"fullUrl": f"urn:uuid:{own}", "resource": resource}


def bundle() -> Json:
    """Return the bundle."""
    c = CANARIES
    patient = _entry(
        "Patient",
        PATIENT_ID,
        name=[
            {
                "use": "official",
                "family": c["family name"],
                "given": [c["given name"], c["second given name"]],
                "prefix": ["Frau"],
            },
            {"use": "maiden", "family": c["maiden name"]},
            {"use": "nickname", "text": c["nickname"]},
        ],
        identifier=[
            {"type": {"coding": [{"code": "MR"}]}, "system": "urn:mrn", "value": c["MRN"]},
            {"system": "http://hl7.org/fhir/sid/us-ssn", "value": c["SSN"]},
            {"system": "urn:licence", "value": c["driver's licence"]},
            {"system": "urn:passport", "value": c["passport"]},
            {"system": "urn:national", "value": c["national id"]},
        ],
        telecom=[
            {"system": "phone", "value": c["phone"]},
            {"system": "phone", "value": c["mobile"]},
            {"system": "email", "value": c["e-mail"]},
        ],
        address=[
            {
                "line": [c["street"], c["work place"]],
                "city": c["city"],
                "district": c["district"],
                "postalCode": c["postal code"],
            }
        ],
        birthDate=c["birth date"],
        deceasedDateTime=f"{c['death date']}T04:15:00+00:00",
        gender="female",
        photo=[{"url": c["photo's address"]}],
        contact=[
            {
                "name": {"text": c["relative's name"]},
                "telecom": [{"system": "phone", "value": c["relative's phone"]}],
            }
        ],
        generalPractitioner=[{"display": c["general practitioner"]}],
        extension=[
            {"url": "urn:mother", "valueString": c["mother's maiden name"]},
            {"url": "urn:club", "valueString": c["extension text"]},
            {"url": "urn:place", "valueAddress": {"city": c["birth place"]}},
        ],
    )
    creatinine = _entry(
        "Observation",
        "o-1",
        status="final",
        category=[{"coding": [{"code": "laboratory"}]}],
        code=coding(LOINC, "2160-0", "Creatinine [Mass/volume] in Serum or Plasma"),
        effectiveDateTime=f"{c['observation date']}T08:12:00+02:00",
        valueQuantity={"value": 3.71, "unit": "mg/dL", "system": UCUM, "code": "mg/dL"},
        performer=[{"display": c["observation's performer"]}],
        device={"reference": "Device/d-1", "display": c["device's serial number"]},
        note=_note(c["observation's note"]),
    )
    work = _entry(
        "Observation",
        "o-2",
        status="final",
        category=[{"coding": [{"code": "social-history"}]}],
        code=coding(LOINC, "11341-5", "History of Occupation"),
        effectiveDateTime=c["observation date"],
        valueString=c["observation's text value"],
    )
    others = [
        _entry(
            "Practitioner",
            "pr-1",
            name=[{"text": c["practitioner of an encounter"]}],
            identifier=[{"value": c["practitioner's number"]}],
        ),
        _entry(
            "Organization",
            "or-1",
            name=c["organization"],
            telecom=[{"system": "phone", "value": c["organization's phone"]}],
        ),
        _entry("Location", "lo-1", name=c["location"]),
        _entry(
            "Device",
            "d-1",
            serialNumber=c["device's serial number"],
            udiCarrier=[{"carrierHRF": c["device's UDI"]}],
            patient={"reference": f"Patient/{PATIENT_ID}"},
        ),
        _entry(
            "Encounter",
            "en-1",
            status="finished",
            identifier=[{"value": c["encounter number"]}],
            type=[coding(SNOMED, "185345009", "Encounter for symptom")],
            reasonCode=[{"text": c["encounter's reason"]}],
            participant=[
                {
                    "individual": {
                        "reference": "urn:uuid:pr-1",
                        "display": c["practitioner of an encounter"],
                    }
                }
            ],
            serviceProvider={"reference": "urn:uuid:or-1", "display": c["organization"]},
            location=[{"location": {"display": f"{c['location']} {c['ward']}"}}],
            period={"start": "2019-05-23T07:00:00+02:00"},
        ),
        _entry(
            "Condition",
            "co-1",
            clinicalStatus={"coding": [{"code": "active"}]},
            code={
                "coding": [{"system": SNOMED, "code": "44054006", "display": "Diabetes"}],
                "text": "Diabetes, " + c["condition's text"],
            },
            onsetDateTime=c["onset date"],
            note=_note(c["condition's note"]),
        ),
        _entry(
            "Condition",
            "co-2",
            code=coding(SNOMED, "38341003", "Hypertension"),
            onsetString=c["onset as text"],
        ),
        # A code may stand beside any text in place of its term.
        _entry(
            "Condition",
            "co-3",
            code=coding(
                SNOMED,
                "73211009",
                f"Diabetes of {c['given name']} {c['family name']}, {c['street']} {c['city']}, "
                f"born {c['birth date']}, tel {c['number in a display']}, seen by "
                f"{c['practitioner of an encounter']}, lives with {c['name in a SNOMED display']}",
            ),
            recorder={"display": c["practitioner of an encounter"]},
        ),
        _entry(
            "Observation",
            "o-3",
            status="final",
            category=[{"coding": [{"code": "laboratory"}]}],
            code=coding(
                LOINC,
                "2345-7",
                f"Glucose taken by nurse {c['nurse in a LOINC display']} from {c['SSN']}",
            ),
            effectiveDateTime=c["observation date"],
            valueQuantity={"value": 5.1, "unit": "mmol/L", "system": UCUM, "code": "mmol/L"},
        ),
        _entry(
            "MedicationRequest",
            "me-2",
            status="active",
            intent="order",
            medicationCodeableConcept=coding(
                RXNORM, "860975", f"Metformin for {c['names in an RxNorm display']}"
            ),
        ),
        _entry(
            "MedicationRequest",
            "me-1",
            status="active",
            intent="order",
            authoredOn="2020-01-02",
            medicationCodeableConcept=coding(RXNORM, "312961", "Simvastatin 20 MG Oral Tablet"),
            dosageInstruction=[{"text": c["medication's dosage"]}],
            note=_note(c["medication's note"]),
        ),
        _entry(
            "Procedure",
            "pc-1",
            status="completed",
            code=coding(SNOMED, "73761001", "Colonoscopy"),
            performedDateTime="2018-02-02",
            note=_note(c["procedure's note"]),
        ),
        _entry(
            "AllergyIntolerance",
            "al-1",
            code=coding(SNOMED, "300916003", "Latex allergy"),
            reaction=[
                {
                    "manifestation": [{"text": c["allergy's reaction"]}],
                    "description": c["allergy's reaction"],
                }
            ],
        ),
        _entry(
            "Immunization",
            "im-1",
            status="completed",
            occurrenceDateTime="2018-10-10",
            vaccineCode=coding("http://hl7.org/fhir/sid/cvx", "140", "Influenza"),
            lotNumber=c["immunization's lot"],
        ),
        _entry(
            "DocumentReference",
            "do-1",
            status="current",
            type=coding(LOINC, "11506-3", "Progress note"),
            date="2017-08-23T10:00:00Z",
            description=c["note's description"],
            author=[{"display": c["note's author"]}],
            content=[
                {
                    "attachment": _text(
                        "Subjective: cough.\n"
                        + c["note"]
                        + ", seen on "
                        + c["note's date in words"]
                        + "."
                    )
                }
            ],
            contained=[
                {
                    "resourceType": "Practitioner",
                    "id": "x",
                    "name": [{"text": c["practitioner in contained"]}],
                }
            ],
        ),
        _entry(
            "DiagnosticReport",
            "dr-1",
            status="final",
            code=coding(LOINC, "30746-2", "Chest X-ray"),
            effectiveDateTime="2018-06-14",
            conclusion="No effusion; "
            + c["report's conclusion"]
            + " of "
            + c["report's date in figures"],
            presentedForm=[_text(c["report's conclusion"])],
        ),
        _entry(
            "ImagingStudy",
            "is-1",
            status="available",
            description=c["imaging description"],
            identifier=[
                {"system": "urn:dicom:uid", "value": f"urn:oid:{c['study instance UID']}"},
                {"type": {"coding": [{"code": "ACSN"}]}, "value": c["accession number"]},
            ],
            started="2018-06-14",
            series=[{"uid": c["study instance UID"] + ".1", "modality": {"code": "DX"}}],
        ),
        _entry(
            "CarePlan",
            "cp-1",
            status="active",
            intent="plan",
            description=c["care plan"],
            category=[coding(SNOMED, "698360004", "Diabetes self management plan")],
        ),
        _entry(
            "FamilyMemberHistory",
            "fh-1",
            status="completed",
            note=_note(c["family history"]),
            relationship=coding(SNOMED, "70924004", "Brother"),
        ),
        _entry(
            "Claim",
            "cl-1",
            status="active",
            use="claim",
            identifier=[{"value": c["claim number"]}],
            insurance=[
                {"sequence": 1, "focal": True, "coverage": {"display": c["insurance number"]}}
            ],
        ),
    ]
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [patient, creatinine, work, *others],
    }


def write_bundle(folder: Path) -> Path:
    """Write the bundle to a file of a folder, and return it."""
    path = folder / "record.json"
    path.write_text(json.dumps(bundle()), "utf-8")
    return path
