"""FHIR resources of a patient to the fields of entries, and names that others refer to.

A resource here has passed the library's check, so its fields have the types of FHIR R4. References
stay as they are written; `record_index` resolves them when all files are known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from app.paths import shipped_table
from app.records.fhir_fields import (
    Json,
    as_list,
    codings,
    concept_code,
    concept_text,
    joined,
    number_of,
    objects,
    plain,
    unique,
    unit_of,
    value_fields,
    value_parts,
)
from app.records.fhir_patients import human_name
from app.records.fhir_texts import narrative, read_attachment
from app.records.types import EntryKind

_KINDS = {
    "Condition": EntryKind.CONDITION,
    "AllergyIntolerance": EntryKind.ALLERGY,
    "MedicationRequest": EntryKind.MEDICATION,
    "MedicationStatement": EntryKind.MEDICATION,
    "MedicationAdministration": EntryKind.MEDICATION,
    "MedicationDispense": EntryKind.MEDICATION,
    "Procedure": EntryKind.PROCEDURE,
    "Immunization": EntryKind.IMMUNIZATION,
    "Encounter": EntryKind.ENCOUNTER,
    "CarePlan": EntryKind.CARE_PLAN,
    "DocumentReference": EntryKind.NOTE,
    "ClinicalImpression": EntryKind.NOTE,
    "Composition": EntryKind.NOTE,
    "DiagnosticReport": EntryKind.REPORT,
    "ImagingStudy": EntryKind.IMAGING,
}
_SUBJECTS = ("subject", "patient", "beneficiary", "for", "individual")
_FIELDS = shipped_table("fhir", "fields")
_NAMES = _FIELDS["names"].split()
"""Fields that say what a resource is, the best first."""
_STARTS = _FIELDS["starts"].split()
"""Fields for the start, the best first; of a period its start."""
_REFERENCES = _FIELDS["references"].split()
ACTORS = ("performer", "requester", "author", "recorder", "asserter", "participant", "provider")
"""Fields of resources that name people and organizations, and the keys of them in `details`."""


def subject_of(resource: Json) -> str:
    """Return the reference to the patient, "" if there is none.

    A logical reference without `reference` is given as "?system|value".
    """
    for name in _SUBJECTS:
        for one in as_list(resource.get(name)):
            if isinstance(one, dict):
                reference = _reference(cast("Json", one))
                if reference:
                    return reference
    return ""


def _reference(one: Mapping[str, Any]) -> str:
    if one.get("reference"):
        return str(one["reference"])
    identifier = one.get("identifier")
    if isinstance(identifier, dict) and one.get("type", "Patient") == "Patient":
        found = cast("Json", identifier)
        return f"?{found.get('system', '')}|{found.get('value', '')}" if found.get("value") else ""
    return ""


def entry_fields(resource: Json) -> Json:
    """Return the fields of an `Entry`, still with references as they are written, as JSON values.

    Besides those of `Entry`, "encounter" and "links" hold references, "medication" one to a
    Medication, and "actors" those to people and organizations by their role.
    """
    kind = entry_kind(resource)
    codes = codes_of(resource)
    fields: Json = {
        "kind": str(kind),
        "name": _name(resource),
        "codes": codes,
        "start": _start(resource),
        "end": _end(resource),
        "status": _status(resource),
        "value": value_fields(resource),
        "components": [_component(one) for one in objects(resource.get("component"))],
        "text": "",
        "encounter": _encounter(resource),
        "links": _links(resource),
        "actors": _actors(resource),
        "details": _details(resource),
    }
    special = _SPECIAL.get(resource["resourceType"])
    if special is not None:
        special(resource, fields)
    fields["details"] = {key: text for key, text in fields["details"].items() if text}
    return fields


def entry_kind(resource: Json) -> EntryKind:
    """Return the kind of a patient's resource."""
    kind = resource["resourceType"]
    if kind != "Observation":
        return _KINDS.get(kind, EntryKind.OTHER)
    categories = {
        code["code"]
        for concept in objects(resource.get("category"))
        for code in codings(concept)
        if code.get("code")
    }
    if "laboratory" in categories:
        return EntryKind.LAB
    if "vital-signs" in categories:
        return EntryKind.VITAL
    return EntryKind.OBSERVATION


def shared_label(resource: Json) -> str:
    """Return the name of a resource that belongs to no patient: a person, a place, a medication."""
    names = resource.get("name")
    if isinstance(names, list):
        return human_name(cast("list[Json]", names))
    if isinstance(names, str):
        return names
    return _name(resource)


# What a resource is


def codes_of(resource: Json) -> list[list[str]]:
    """Return (system, code, display) of what a resource is."""
    for name in _NAMES:
        codes = [
            [str(one.get("system", "")), str(one.get("code", "")), str(one.get("display", ""))]
            for concept in objects(resource.get(name))
            for one in codings(concept)
            if one.get("code") or one.get("display")
        ]
        if codes:
            return codes
    return []


def _name(resource: Json) -> str:
    for name in _NAMES:
        for one in as_list(resource.get(name)):
            if isinstance(one, str) and one.strip():
                return one
            if isinstance(one, dict):
                text = concept_text(cast("Json", one))
                if text:
                    return text
    return str(resource["resourceType"])


def _start(resource: Json) -> str:
    for name in _STARTS:
        found = resource.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, dict):
            period = cast("Json", found)
            start = period.get("start") or next(iter(as_list(period.get("event"))), "")
            if start:
                return str(start)
    return ""


def _end(resource: Json) -> str:
    for name in ("abatementDateTime", "ended", "end"):
        if isinstance(resource.get(name), str):
            return str(resource[name])
    for name in ("abatementPeriod", *_STARTS):
        found = resource.get(name)
        if isinstance(found, dict) and cast("Json", found).get("end"):
            return str(cast("Json", found)["end"])
    return ""


def _status(resource: Json) -> str:
    status = resource.get("clinicalStatus", resource.get("status", ""))
    return status if isinstance(status, str) else concept_code(status)


def _encounter(resource: Json) -> str:
    direct = resource.get("encounter", resource.get("context"))
    if isinstance(direct, dict):
        inner = cast("Json", direct)
        if inner.get("reference"):
            return str(inner["reference"])
        direct = inner.get("encounter")
    items = [one.get("encounter") for one in objects(resource.get("item"))]
    for one in (*objects(direct), *(each for item in items for each in objects(item))):
        if one.get("reference"):
            return str(one["reference"])
    return ""


def _links(resource: Json) -> list[str]:
    found: list[str] = []
    for name in _REFERENCES:
        for one in objects(resource.get(name)):
            inner = one if "reference" in one else {}
            for part in ("detail", "condition", "itemReference", "diagnosisReference"):
                for deeper in objects(one.get(part)):
                    inner = inner or deeper
            if inner.get("reference"):
                found.append(str(inner["reference"]))
    return unique(found)


def _actors(resource: Json) -> list[list[str]]:
    """Return (role, reference, display) of those who did or ordered it."""
    found: list[list[str]] = []
    for name in ACTORS:
        for one in objects(resource.get(name)):
            inner = one
            for part in ("actor", "individual"):
                inner = next(iter(objects(one.get(part))), inner)
            reference, display = inner.get("reference", ""), inner.get("display", "")
            if isinstance(reference, str) and isinstance(display, str) and (reference or display):
                found.append([name, reference, display])
    return found


def _component(one: Json) -> Json:
    value = value_fields(one)
    absent = concept_text(one.get("dataAbsentReason"))
    return {
        "name": _name({**one, "resourceType": ""}),
        "codes": codes_of(one),
        "value": value or [None, absent, "", "", None, None],
    }


# Details by kind


def _details(resource: Json) -> dict[str, str]:
    found = {
        "verification": concept_code(resource.get("verificationStatus")),
        "category": joined(
            one if isinstance(one, str) else concept_text(one)
            for one in as_list(resource.get("category"))
        ),
        "interpretation": joined(map(concept_text, as_list(resource.get("interpretation")))),
        "absent": concept_text(resource.get("dataAbsentReason")),
        "reason": joined(map(concept_text, as_list(resource.get("reasonCode")))),
        "severity": concept_text(resource.get("severity")),
        "body_site": joined(map(concept_text, as_list(resource.get("bodySite")))),
        "method": concept_text(resource.get("method")),
        "note": "\n".join(str(one.get("text", "")) for one in objects(resource.get("note"))),
        "intent": plain(resource.get("intent")),
    }
    found["sampled_data"] = _sampled_scales(resource)
    ranges = [str(one.get("text", "")) for one in objects(resource.get("referenceRange"))]
    found["reference_range"] = joined(ranges)
    identifiers = [
        str(one["value"]) for one in objects(resource.get("identifier")) if one.get("value")
    ]
    found["identifiers"] = ", ".join(identifiers)
    for name in ("onset", "abatement"):
        for key, value in resource.items():
            if key.startswith(name) and not key.endswith(("DateTime", "Period")):
                text = value_parts("value" + key.removeprefix(name), value)
                if text is not None:
                    found[name] = f"{text[1]} {text[2]}".strip()
    return found


def _sampled_scales(resource: Json) -> str:
    """Return the scales of an Observation's SampledData as JSON, "" if it has none.

    A list with, for the value itself ("part" -1) and each component (its number from 0): "period"
    in ms, "origin" with its "unit", "factor" and "dimensions". The samples are the value's text.
    """
    scales: list[Json] = []
    for part, holder in enumerate((resource, *objects(resource.get("component"))), -1):
        data = holder.get("valueSampledData")
        if not isinstance(data, dict):
            continue
        sampled = cast("Json", data)
        origin, period = number_of(sampled.get("origin")), _float(sampled.get("period"))
        if origin is not None and period:
            scales.append(
                {
                    "part": part,
                    "period": period,
                    "origin": origin,
                    "unit": unit_of(sampled.get("origin")),
                    "factor": _float(sampled.get("factor")) or 1.0,
                    "dimensions": int(_float(sampled.get("dimensions")) or 1),
                }
            )
    return json.dumps(scales) if scales else ""


def _float(value: Any) -> float | None:
    return number_of({"value": value})


def _encounter_fields(resource: Json, fields: Json) -> None:
    fields["encounter"] = ""
    place = resource.get("class")
    if isinstance(place, dict):
        found = cast("Json", place)
        fields["details"]["class"] = str(found.get("code", "") or found.get("display", ""))
    hospital = resource.get("hospitalization")
    if isinstance(hospital, dict):
        found = cast("Json", hospital)
        fields["details"]["discharge"] = concept_text(found.get("dischargeDisposition"))


def _medication_fields(resource: Json, fields: Json) -> None:
    reference = resource.get("medicationReference")
    if isinstance(reference, dict):
        found = cast("Json", reference)
        fields["medication"] = str(found.get("reference", ""))
        held = _contained(resource, fields["medication"])
        label = str(found.get("display", ""))
        if held is not None:
            fields["codes"], fields["medication"] = codes_of(held), ""
            label = label or _name(held)
        if label:
            fields["name"] = label
    doses = objects(resource.get("dosageInstruction", resource.get("dosage")))
    fields["text"] = "; ".join(filter(None, map(_dosage, doses)))
    fields["details"]["dosage"] = fields["text"]


def _contained(resource: Json, reference: str) -> Json | None:
    if not reference.startswith("#"):
        return None
    for one in objects(resource.get("contained")):
        if one.get("id") == reference[1:]:
            return one
    return None


def _dosage(dose: Json) -> str:
    """Return a dosage as the file words it, else put together from its parts."""
    if dose.get("text"):
        return str(dose["text"])
    parts: list[str] = []
    for rate in objects(dose.get("doseAndRate")):
        quantity = rate.get("doseQuantity")
        if isinstance(quantity, dict):
            found = cast("Json", quantity)
            parts.append(f"{plain(found.get('value'))} {unit_of(found)}".strip())
    timing = dose.get("timing")
    repeat = cast("Json", timing).get("repeat") if isinstance(timing, dict) else None
    if isinstance(repeat, dict):
        times = cast("Json", repeat)
        if times.get("frequency") and times.get("period"):
            period = f"{plain(times['period'])} {times.get('periodUnit', '')}".strip()
            parts.append(f"{plain(times['frequency'])} times per {period}")
    elif isinstance(timing, dict):
        parts.append(concept_text(cast("Json", timing).get("code")))
    parts.append(concept_text(dose.get("route")))
    parts += map(concept_text, as_list(dose.get("additionalInstruction")))
    if dose.get("asNeededBoolean") is True or dose.get("asNeededCodeableConcept"):
        parts.append("as needed")
    return ", ".join(filter(None, parts))


def _allergy_fields(resource: Json, fields: Json) -> None:
    fields["details"]["criticality"] = plain(resource.get("criticality"))
    fields["details"]["type"] = plain(resource.get("type"))
    fields["details"]["reaction"] = joined(
        concept_text(sign)
        for one in objects(resource.get("reaction"))
        for sign in as_list(one.get("manifestation"))
    )


def _care_plan_fields(resource: Json, fields: Json) -> None:
    activities = [
        concept_text(cast("Json", one["detail"]).get("code"))
        for one in objects(resource.get("activity"))
        if isinstance(one.get("detail"), dict)
    ]
    fields["details"]["activities"] = joined(activities)
    fields["text"] = plain(resource.get("description"))


def _imaging_fields(resource: Json, fields: Json) -> None:
    details, series = fields["details"], objects(resource.get("series"))
    uids = [
        str(one["value"])[len("urn:oid:") :]
        for one in objects(resource.get("identifier"))
        if str(one.get("value", "")).startswith("urn:oid:")
    ]
    details["study_instance_uid"] = uids[0] if uids else ""
    details["accession_number"] = next(
        (
            str(one["value"])
            for one in objects(resource.get("identifier"))
            if one.get("value") and any(c.get("code") == "ACSN" for c in _type_codings(one))
        ),
        "",
    )
    modalities = [one.get("modality") for one in series] + as_list(resource.get("modality"))
    codes = [str(cast("Json", one).get("code", "")) for one in modalities if isinstance(one, dict)]
    details["modality"] = joined(codes)
    sites = [concept_text(one.get("bodySite")) for one in series]
    details["body_site"] = joined(sites) or details.get("body_site", "")
    details["series_instance_uids"] = joined(str(one.get("uid", "")) for one in series)
    details["series"] = plain(resource.get("numberOfSeries")) or str(len(series) or "")
    details["instances"] = plain(resource.get("numberOfInstances"))
    displays = [
        str(cast("Json", one).get("display", "")) for one in modalities if isinstance(one, dict)
    ]
    named = resource.get("description") or joined(
        map(concept_text, as_list(resource.get("procedureCode")))
    )
    made = " ".join(filter(None, (joined(displays) or details["modality"], details["body_site"])))
    fields["name"] = str(named or made or "ImagingStudy")


def _type_codings(identifier: Json) -> list[Json]:
    kind = identifier.get("type")
    return codings(cast("Json", kind)) if isinstance(kind, dict) else []


def _report_fields(resource: Json, fields: Json) -> None:
    texts = [read_attachment(one, fields) for one in objects(resource.get("presentedForm"))]
    texts.append(plain(resource.get("conclusion")))
    texts += map(concept_text, as_list(resource.get("conclusionCode")))
    fields["text"] = "\n\n".join(unique(texts)) or narrative(resource)


def _document_fields(resource: Json, fields: Json) -> None:
    texts = [
        read_attachment(cast("Json", one["attachment"]), fields)
        for one in objects(resource.get("content"))
        if isinstance(one.get("attachment"), dict)
    ]
    described = plain(resource.get("description"))
    fields["text"] = "\n\n".join(unique(texts)) or described or narrative(resource)
    fields["details"]["description"] = described
    context = resource.get("context")
    if isinstance(context, dict) and not fields["start"]:
        period = cast("Json", context).get("period")
        if isinstance(period, dict):
            fields["start"] = str(cast("Json", period).get("start", ""))


def _impression_fields(resource: Json, fields: Json) -> None:
    texts = [plain(resource.get("description")), plain(resource.get("summary"))]
    fields["text"] = "\n\n".join(unique(texts)) or narrative(resource)


def _composition_fields(resource: Json, fields: Json) -> None:
    parts: list[str] = []

    def add(sections: Any, depth: int) -> None:
        for one in objects(sections):
            head, text = plain(one.get("title")), narrative(one)
            parts.append("\n".join(filter(None, (head, text))))
            if depth < 8:
                add(one.get("section"), depth + 1)

    add(resource.get("section"), 0)
    fields["name"] = plain(resource.get("title")) or fields["name"]
    fields["text"] = "\n\n".join(filter(None, parts)) or narrative(resource)


def _other_fields(resource: Json, fields: Json) -> None:
    total = resource.get("total")
    if isinstance(total, dict):
        found = cast("Json", total)
        fields["details"]["total"] = f"{plain(found.get('value'))} {unit_of(found)}".strip()
    payload = [plain(one.get("contentString")) for one in objects(resource.get("payload"))]
    fields["text"] = "\n\n".join(filter(None, payload))


_SPECIAL = {
    "Encounter": _encounter_fields,
    "MedicationRequest": _medication_fields,
    "MedicationStatement": _medication_fields,
    "MedicationAdministration": _medication_fields,
    "MedicationDispense": _medication_fields,
    "AllergyIntolerance": _allergy_fields,
    "CarePlan": _care_plan_fields,
    "ImagingStudy": _imaging_fields,
    "DiagnosticReport": _report_fields,
    "DocumentReference": _document_fields,
    "ClinicalImpression": _impression_fields,
    "Composition": _composition_fields,
    "Claim": _other_fields,
    "Communication": _other_fields,
}
