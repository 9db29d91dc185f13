"""FHIR resources to what is kept of them: patients, entries, and names that others refer to.

A resource here has passed the library's check, so its fields have the types of FHIR R4. References
stay as they are written; `record_index` resolves them when all files are known.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser
from typing import Any, cast

from app.records.fhir_json import NumberText
from app.records.types import UCUM, EntryKind

Json = dict[str, Any]

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
_NAMES = (
    "code",
    "medicationCodeableConcept",
    "vaccineCode",
    "type",
    "category",
    "productCodeableConcept",
    "procedureCode",
    "serviceType",
    "scope",
    "description",
    "title",
    "name",
)
"""Fields that say what a resource is, the best first."""
_STARTS = (
    "onsetDateTime",
    "onsetPeriod",
    "effectiveDateTime",
    "effectivePeriod",
    "effectiveInstant",
    "effectiveTiming",
    "performedDateTime",
    "performedPeriod",
    "occurrenceDateTime",
    "occurrencePeriod",
    "occurredDateTime",
    "occurredPeriod",
    "started",
    "period",
    "billablePeriod",
    "servicedDate",
    "servicedPeriod",
    "startDate",
    "collectedDateTime",
    "whenHandedOver",
    "whenPrepared",
    "authoredOn",
    "recordedDate",
    "dateAsserted",
    "date",
    "issued",
    "created",
    "recorded",
    "sent",
    "start",
)
"""Fields for the start, the best first; of a period its start."""
_REFERENCES = (
    "result",
    "reasonReference",
    "basedOn",
    "partOf",
    "hasMember",
    "derivedFrom",
    "imagingStudy",
    "addresses",
    "specimen",
    "evidence",
    "diagnosis",
    "condition",
    "problem",
    "medicationReference",
    "procedureReference",
    "prescription",
    "claim",
    "report",
    "focus",
    "supportingInformation",
    "goal",
    "careTeam",
)
_ACTORS = ("performer", "requester", "author", "recorder", "asserter", "participant", "provider")


def subject_of(resource: Json) -> str:
    """Return the reference to the patient, "" if there is none.

    A logical reference without `reference` is given as "?system|value".
    """
    for name in _SUBJECTS:
        for one in _list(resource.get(name)):
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
    codes = _codes(resource)
    fields: Json = {
        "kind": str(kind),
        "name": _name(resource, codes),
        "codes": codes,
        "start": _start(resource),
        "end": _end(resource),
        "status": _status(resource),
        "value": _value(resource),
        "components": [_component(one) for one in _objects(resource.get("component"))],
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
        for concept in _objects(resource.get("category"))
        for code in _codings(concept)
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
    return _name(resource, _codes(resource))


def shared_codes(resource: Json) -> list[list[str]]:
    """Return the codes of a resource that belongs to no patient, such as a Medication."""
    return _codes(resource)


# Patients


def patient_fields(resource: Json) -> Json:
    """Return the fields of a `Patient` as JSON values."""
    names = _objects(resource.get("name"))
    identifiers = [
        [str(one.get("system", "")), str(one["value"])]
        for one in _objects(resource.get("identifier"))
        if one.get("value")
    ]
    deceased = resource.get("deceasedDateTime", "")
    if resource.get("deceasedBoolean") is True:
        deceased = deceased or "true"
    return {
        "name": human_name(names),
        "identifiers": identifiers,
        "birth_date": str(resource.get("birthDate", "")),
        "gender": str(resource.get("gender", "")),
        "deceased": str(deceased),
        "civil": [
            str(one["value"])
            for one in _objects(resource.get("identifier"))
            if one.get("value") and _is_civil(one)
        ],
        "names": _unique(part for one in names for part in _name_parts(one)),
        "private": _unique(_private(resource)),
        "details": {key: text for key, text in _patient_details(resource).items() if text},
    }


_CIVIL = frozenset(("DL", "PPN", "SS", "SB", "NIIP", "TAX"))
"""Types of identifiers that no hospital gives: driver's licence, passport, social security, ...
(HL7 table 0203)."""


def _is_civil(identifier: Json) -> bool:
    types = _objects(identifier.get("type"))
    return any(code.get("code") in _CIVIL for one in types for code in _codings(one))


def human_name(names: Sequence[Json]) -> str:
    """Return the name that people use of a list of FHIR HumanNames: "Louis Erdman"."""
    order = {"official": 0, "usual": 1, "": 2, "nickname": 4, "anonymous": 5, "maiden": 6, "old": 7}
    chosen = min(names, key=lambda one: order.get(str(one.get("use", "")), 3), default=None)
    if chosen is None:
        return ""
    parts = [*map(str, _list(chosen.get("given"))), str(chosen.get("family", ""))]
    return " ".join(filter(None, parts)) or str(chosen.get("text", ""))


def _name_parts(name: Json) -> Iterable[str]:
    yield str(name.get("text", ""))
    yield str(name.get("family", ""))
    yield from map(str, _list(name.get("given")))
    yield human_name([name])


_PRIVATE_EXTENSIONS = ("mothersMaidenName", "birthPlace")


def _private(resource: Json) -> Iterable[str]:
    for place in _objects(resource.get("address")):
        yield from _address_parts(place)
    for contact in _objects(resource.get("telecom")):
        yield str(contact.get("value", ""))
    for relative in _objects(resource.get("contact")):
        for name in _objects(relative.get("name")):
            yield from _name_parts(name)
        for place in _objects(relative.get("address")):
            yield from _address_parts(place)
        for contact in _objects(relative.get("telecom")):
            yield str(contact.get("value", ""))
    for extension in _objects(resource.get("extension")):
        if str(extension.get("url", "")).endswith(_PRIVATE_EXTENSIONS):
            yield str(extension.get("valueString", ""))
            for place in _objects(extension.get("valueAddress")):
                yield from _address_parts(place)


def _address_parts(place: Json) -> Iterable[str]:
    yield str(place.get("text", ""))
    yield from map(str, _list(place.get("line")))
    for part in ("city", "district", "postalCode"):
        yield str(place.get(part, ""))


def _patient_details(resource: Json) -> dict[str, str]:
    found = {
        "marital_status": _concept_text(resource.get("maritalStatus")),
        "language": ", ".join(
            filter(
                None,
                (
                    _concept_text(one.get("language"))
                    for one in _objects(resource.get("communication"))
                ),
            )
        ),
        "active": _plain(resource.get("active")),
        "multiple_birth": _plain(
            resource.get("multipleBirthInteger", resource.get("multipleBirthBoolean"))
        ),
    }
    for extension in _objects(resource.get("extension")):
        url = str(extension.get("url", "")).rpartition("/")[2]
        name = {
            "us-core-race": "race",
            "us-core-ethnicity": "ethnicity",
            "us-core-birthsex": "birth_sex",
        }.get(url)
        if name:
            parts = {str(one.get("url")): one for one in _objects(extension.get("extension"))}
            text = str(parts.get("text", {}).get("valueString", ""))
            found[name] = text or str(extension.get("valueCode", ""))
    return found


# What a resource is


def _codes(resource: Json) -> list[list[str]]:
    for name in _NAMES:
        codes = [
            [str(one.get("system", "")), str(one.get("code", "")), str(one.get("display", ""))]
            for concept in _objects(resource.get(name))
            for one in _codings(concept)
            if one.get("code") or one.get("display")
        ]
        if codes:
            return codes
    return []


def _name(resource: Json, codes: Sequence[Sequence[str]]) -> str:
    for name in _NAMES:
        for one in _list(resource.get(name)):
            if isinstance(one, str) and one.strip():
                return one
            if isinstance(one, dict):
                text = _concept_text(cast("Json", one))
                if text:
                    return text
    del codes
    return str(resource["resourceType"])


def _concept_text(concept: Any) -> str:
    """Return a CodeableConcept's text, else its first display, else its first code."""
    if not isinstance(concept, dict):
        return ""
    found = cast("Json", concept)
    codes = _codings(found)
    texts = [found.get("text"), *(one.get("display") for one in codes)]
    texts += [one.get("code") for one in codes]
    return next((one for one in texts if isinstance(one, str) and one), "")


def _codings(concept: Json) -> list[Json]:
    """Return the codings of a CodeableConcept, or a Coding itself."""
    if "coding" in concept:
        return _objects(concept["coding"])
    return [concept] if isinstance(concept.get("code"), str) else []


def _start(resource: Json) -> str:
    for name in _STARTS:
        found = resource.get(name)
        if isinstance(found, str) and found:
            return found
        if isinstance(found, dict):
            period = cast("Json", found)
            start = period.get("start") or next(iter(_list(period.get("event"))), "")
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
    return status if isinstance(status, str) else _concept_code(status)


def _concept_code(concept: Any) -> str:
    """Return a CodeableConcept's first code, else its text."""
    if not isinstance(concept, dict):
        return ""
    found = cast("Json", concept)
    return next((str(one["code"]) for one in _codings(found) if one.get("code")), "") or (
        _concept_text(found)
    )


def _encounter(resource: Json) -> str:
    direct = resource.get("encounter", resource.get("context"))
    if isinstance(direct, dict):
        inner = cast("Json", direct)
        if inner.get("reference"):
            return str(inner["reference"])
        direct = inner.get("encounter")
    items = [one.get("encounter") for one in _objects(resource.get("item"))]
    for one in (*_objects(direct), *(each for item in items for each in _objects(item))):
        if one.get("reference"):
            return str(one["reference"])
    return ""


def _links(resource: Json) -> list[str]:
    found: list[str] = []
    for name in _REFERENCES:
        for one in _objects(resource.get(name)):
            inner = one if "reference" in one else {}
            for part in ("detail", "condition", "itemReference", "diagnosisReference"):
                for deeper in _objects(one.get(part)):
                    inner = inner or deeper
            if inner.get("reference"):
                found.append(str(inner["reference"]))
    return _unique(found)


def _actors(resource: Json) -> list[list[str]]:
    """Return (role, reference, display) of those who did or ordered it."""
    found: list[list[str]] = []
    for name in _ACTORS:
        for one in _objects(resource.get(name)):
            inner = one
            for part in ("actor", "individual"):
                inner = next(iter(_objects(one.get(part))), inner)
            reference, display = inner.get("reference", ""), inner.get("display", "")
            if isinstance(reference, str) and isinstance(display, str) and (reference or display):
                found.append([name, reference, display])
    return found


# Values


def _value(resource: Mapping[str, Any]) -> list[Any] | None:
    """Return the fields of an Observation's or component's `Value`, or None."""
    ranges = _objects(resource.get("referenceRange"))
    found: list[Any] | None = None
    for name, value in resource.items():
        if not name.startswith("value") or name == "value":
            continue
        found = _one_value(name, value)
        if found is not None:
            break
    if found is None:
        return None
    for one in ranges:
        low, high = one.get("low"), one.get("high")
        units = {_unit(limit) for limit in (low, high) if isinstance(limit, dict)}
        if units <= {found[2]} or units == {""}:
            found[4:6] = [_number_of(low), _number_of(high)]
            break
    return found


def _one_value(name: str, value: Any) -> list[Any] | None:
    number: float | None = None
    text, unit, comparator = "", "", ""
    if name in ("valueQuantity", "valueMoney", "valueAge", "valueDuration"):
        text, unit = _plain(value.get("value")), _unit(value)
        number, comparator = _number_of(value), str(value.get("comparator", ""))
    elif name == "valueCodeableConcept":
        text = _concept_text(value)
    elif name == "valueInteger":
        number, text = float(value), _plain(value)
    elif name == "valueRange":
        low, high = value.get("low") or {}, value.get("high") or {}
        text, unit = f"{_plain(low.get('value'))} - {_plain(high.get('value'))}", _unit(low or high)
    elif name == "valueRatio":
        parts = [value.get("numerator") or {}, value.get("denominator") or {}]
        text = " / ".join(
            f"{one.get('comparator', '')}{_plain(one.get('value'))} {_unit(one)}".strip()
            for one in parts
        )
    elif name == "valuePeriod":
        text = f"{value.get('start', '')} - {value.get('end', '')}"
    elif name == "valueSampledData":
        text = str(value.get("data", ""))
    elif isinstance(value, str | bool | int | NumberText):
        text = _plain(value)
    else:
        return None
    return [number, text, unit, comparator, None, None]


def _unit(quantity: Any) -> str:
    if not isinstance(quantity, dict):
        return ""
    found = cast("Json", quantity)
    if found.get("system") == UCUM and found.get("code"):
        return str(found["code"])
    return str(found.get("unit", "") or found.get("code", "") or found.get("currency", ""))


def _number_of(quantity: Any) -> float | None:
    if not isinstance(quantity, dict):
        return None
    value = cast("Json", quantity).get("value")
    if value is None or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _plain(value: Any) -> str:
    """Return a FHIR primitive as the file writes it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.text if isinstance(value, NumberText) else str(value)


def _component(one: Json) -> Json:
    value = _value(one)
    absent = _concept_text(one.get("dataAbsentReason"))
    return {
        "name": _name({**one, "resourceType": ""}, ()),
        "codes": _codes(one),
        "value": value or [None, absent, "", "", None, None],
    }


# Details by kind


def _details(resource: Json) -> dict[str, str]:
    found = {
        "verification": _concept_code(resource.get("verificationStatus")),
        "category": _joined(
            one if isinstance(one, str) else _concept_text(one)
            for one in _list(resource.get("category"))
        ),
        "interpretation": _joined(map(_concept_text, _list(resource.get("interpretation")))),
        "absent": _concept_text(resource.get("dataAbsentReason")),
        "reason": _joined(map(_concept_text, _list(resource.get("reasonCode")))),
        "severity": _concept_text(resource.get("severity")),
        "body_site": _joined(map(_concept_text, _list(resource.get("bodySite")))),
        "method": _concept_text(resource.get("method")),
        "note": "\n".join(str(one.get("text", "")) for one in _objects(resource.get("note"))),
        "intent": _plain(resource.get("intent")),
    }
    found["sampled_data"] = _sampled_scales(resource)
    ranges = [str(one.get("text", "")) for one in _objects(resource.get("referenceRange"))]
    found["reference_range"] = _joined(ranges)
    identifiers = [
        str(one["value"]) for one in _objects(resource.get("identifier")) if one.get("value")
    ]
    found["identifiers"] = ", ".join(identifiers)
    for name in ("onset", "abatement"):
        for key, value in resource.items():
            if key.startswith(name) and not key.endswith(("DateTime", "Period")):
                text = _one_value("value" + key.removeprefix(name), value)
                if text is not None:
                    found[name] = f"{text[1]} {text[2]}".strip()
    return found


def _sampled_scales(resource: Json) -> str:
    """Return the scales of an Observation's SampledData as JSON, "" if it has none.

    A list with, for the value itself ("part" -1) and each component (its number from 0): "period"
    in ms, "origin" with its "unit", "factor" and "dimensions". The samples are the value's text.
    """
    scales: list[Json] = []
    for part, holder in enumerate((resource, *_objects(resource.get("component"))), -1):
        data = holder.get("valueSampledData")
        if not isinstance(data, dict):
            continue
        sampled = cast("Json", data)
        origin, period = _number_of(sampled.get("origin")), _float(sampled.get("period"))
        if origin is not None and period:
            scales.append(
                {
                    "part": part,
                    "period": period,
                    "origin": origin,
                    "unit": _unit(sampled.get("origin")),
                    "factor": _float(sampled.get("factor")) or 1.0,
                    "dimensions": int(_float(sampled.get("dimensions")) or 1),
                }
            )
    return json.dumps(scales) if scales else ""


def _float(value: Any) -> float | None:
    return _number_of({"value": value})


def _encounter_fields(resource: Json, fields: Json) -> None:
    fields["encounter"] = ""
    place = resource.get("class")
    if isinstance(place, dict):
        found = cast("Json", place)
        fields["details"]["class"] = str(found.get("code", "") or found.get("display", ""))
    hospital = resource.get("hospitalization")
    if isinstance(hospital, dict):
        found = cast("Json", hospital)
        fields["details"]["discharge"] = _concept_text(found.get("dischargeDisposition"))


def _medication_fields(resource: Json, fields: Json) -> None:
    reference = resource.get("medicationReference")
    if isinstance(reference, dict):
        found = cast("Json", reference)
        fields["medication"] = str(found.get("reference", ""))
        held = _contained(resource, fields["medication"])
        label = str(found.get("display", ""))
        if held is not None:
            fields["codes"], fields["medication"] = _codes(held), ""
            label = label or _name(held, ())
        if label:
            fields["name"] = label
    doses = _objects(resource.get("dosageInstruction", resource.get("dosage")))
    fields["text"] = "; ".join(filter(None, map(_dosage, doses)))
    fields["details"]["dosage"] = fields["text"]


def _contained(resource: Json, reference: str) -> Json | None:
    if not reference.startswith("#"):
        return None
    for one in _objects(resource.get("contained")):
        if one.get("id") == reference[1:]:
            return one
    return None


def _dosage(dose: Json) -> str:
    """Return a dosage as the file words it, else put together from its parts."""
    if dose.get("text"):
        return str(dose["text"])
    parts: list[str] = []
    for rate in _objects(dose.get("doseAndRate")):
        quantity = rate.get("doseQuantity")
        if isinstance(quantity, dict):
            found = cast("Json", quantity)
            parts.append(f"{_plain(found.get('value'))} {_unit(found)}".strip())
    timing = dose.get("timing")
    repeat = cast("Json", timing).get("repeat") if isinstance(timing, dict) else None
    if isinstance(repeat, dict):
        times = cast("Json", repeat)
        if times.get("frequency") and times.get("period"):
            period = f"{_plain(times['period'])} {times.get('periodUnit', '')}".strip()
            parts.append(f"{_plain(times['frequency'])} times per {period}")
    elif isinstance(timing, dict):
        parts.append(_concept_text(cast("Json", timing).get("code")))
    parts.append(_concept_text(dose.get("route")))
    parts += map(_concept_text, _list(dose.get("additionalInstruction")))
    if dose.get("asNeededBoolean") is True or dose.get("asNeededCodeableConcept"):
        parts.append("as needed")
    return ", ".join(filter(None, parts))


def _allergy_fields(resource: Json, fields: Json) -> None:
    fields["details"]["criticality"] = _plain(resource.get("criticality"))
    fields["details"]["type"] = _plain(resource.get("type"))
    fields["details"]["reaction"] = _joined(
        _concept_text(sign)
        for one in _objects(resource.get("reaction"))
        for sign in _list(one.get("manifestation"))
    )


def _care_plan_fields(resource: Json, fields: Json) -> None:
    activities = [
        _concept_text(cast("Json", one["detail"]).get("code"))
        for one in _objects(resource.get("activity"))
        if isinstance(one.get("detail"), dict)
    ]
    fields["details"]["activities"] = _joined(activities)
    fields["text"] = _plain(resource.get("description"))


def _imaging_fields(resource: Json, fields: Json) -> None:
    details, series = fields["details"], _objects(resource.get("series"))
    uids = [
        str(one["value"])[len("urn:oid:") :]
        for one in _objects(resource.get("identifier"))
        if str(one.get("value", "")).startswith("urn:oid:")
    ]
    details["study_instance_uid"] = uids[0] if uids else ""
    details["accession_number"] = next(
        (
            str(one["value"])
            for one in _objects(resource.get("identifier"))
            if one.get("value") and any(c.get("code") == "ACSN" for c in _type_codings(one))
        ),
        "",
    )
    modalities = [one.get("modality") for one in series] + _list(resource.get("modality"))
    codes = [str(cast("Json", one).get("code", "")) for one in modalities if isinstance(one, dict)]
    details["modality"] = _joined(codes)
    sites = [_concept_text(one.get("bodySite")) for one in series]
    details["body_site"] = _joined(sites) or details.get("body_site", "")
    details["series_instance_uids"] = _joined(str(one.get("uid", "")) for one in series)
    details["series"] = _plain(resource.get("numberOfSeries")) or str(len(series) or "")
    details["instances"] = _plain(resource.get("numberOfInstances"))
    displays = [
        str(cast("Json", one).get("display", "")) for one in modalities if isinstance(one, dict)
    ]
    named = resource.get("description") or _joined(
        map(_concept_text, _list(resource.get("procedureCode")))
    )
    made = " ".join(filter(None, (_joined(displays) or details["modality"], details["body_site"])))
    fields["name"] = str(named or made or "ImagingStudy")


def _type_codings(identifier: Json) -> list[Json]:
    kind = identifier.get("type")
    return _codings(cast("Json", kind)) if isinstance(kind, dict) else []


def _report_fields(resource: Json, fields: Json) -> None:
    texts = [_attachment(one, fields) for one in _objects(resource.get("presentedForm"))]
    texts.append(_plain(resource.get("conclusion")))
    texts += map(_concept_text, _list(resource.get("conclusionCode")))
    fields["text"] = "\n\n".join(_unique(texts)) or _narrative(resource)


def _document_fields(resource: Json, fields: Json) -> None:
    texts = [
        _attachment(cast("Json", one["attachment"]), fields)
        for one in _objects(resource.get("content"))
        if isinstance(one.get("attachment"), dict)
    ]
    described = _plain(resource.get("description"))
    fields["text"] = "\n\n".join(_unique(texts)) or described or _narrative(resource)
    fields["details"]["description"] = described
    context = resource.get("context")
    if isinstance(context, dict) and not fields["start"]:
        period = cast("Json", context).get("period")
        if isinstance(period, dict):
            fields["start"] = str(cast("Json", period).get("start", ""))


def _impression_fields(resource: Json, fields: Json) -> None:
    texts = [_plain(resource.get("description")), _plain(resource.get("summary"))]
    fields["text"] = "\n\n".join(_unique(texts)) or _narrative(resource)


def _composition_fields(resource: Json, fields: Json) -> None:
    parts: list[str] = []

    def add(sections: Any, depth: int) -> None:
        for one in _objects(sections):
            head, text = _plain(one.get("title")), _narrative(one)
            parts.append("\n".join(filter(None, (head, text))))
            if depth < 8:
                add(one.get("section"), depth + 1)

    add(resource.get("section"), 0)
    fields["name"] = _plain(resource.get("title")) or fields["name"]
    fields["text"] = "\n\n".join(filter(None, parts)) or _narrative(resource)


def _other_fields(resource: Json, fields: Json) -> None:
    total = resource.get("total")
    if isinstance(total, dict):
        found = cast("Json", total)
        fields["details"]["total"] = f"{_plain(found.get('value'))} {_unit(found)}".strip()
    payload = [_plain(one.get("contentString")) for one in _objects(resource.get("payload"))]
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

# Texts


def _attachment(attachment: Json, fields: Json) -> str:
    """Return an attachment's text; what is no text is named in the details."""
    kind = str(attachment.get("contentType", "")) or "text/plain"
    data = attachment.get("data")
    if not data:
        url = str(attachment.get("url", ""))
        if url:
            fields["details"]["attachment"] = url
            fields.setdefault("binaries", []).append(url)
        return ""
    text = attachment_text(str(data), kind)
    if text is None:
        fields["details"]["attachment"] = f"{kind}, cannot be shown as text"
        return ""
    return text


def attachment_text(data: str, content_type: str) -> str | None:
    """Return the text of base64 `data`; None if it is no text."""
    kind, _, rest = content_type.lower().partition(";")
    kind = kind.strip()
    if not (kind.startswith("text/") or kind in ("application/xhtml+xml", "application/json")):
        return None
    charset = rest.partition("charset=")[2].strip().strip('"') or "utf-8"
    try:
        raw = base64.b64decode(data, validate=False)
        text = raw.decode(charset)
    except (binascii.Error, UnicodeDecodeError, LookupError, ValueError):
        return None
    return _html_text(text) if kind in ("text/html", "application/xhtml+xml") else text


def _narrative(resource: Json) -> str:
    text = resource.get("text")
    if not isinstance(text, dict):
        return ""
    return _html_text(str(cast("Json", text).get("div", "")))


class _HtmlText(HTMLParser):
    """Collects the text of HTML, with a line for each block."""

    _BREAKS = frozenset(("br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "table"))

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        del attrs
        self._hidden += tag in ("script", "style")
        if tag in self._BREAKS:
            self.parts.append("\n")
        elif tag in ("td", "th"):
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._hidden = max(self._hidden - 1, 0)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(re.sub(r"\s+", " ", data))


def _html_text(html: str) -> str:
    parser = _HtmlText()
    parser.feed(html)
    parser.close()
    lines = ("".join(parser.parts)).split("\n")
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


# JSON


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _objects(value: Any) -> list[Json]:
    return [cast("Json", one) for one in _list(value) if isinstance(one, dict)]


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _joined(texts: Iterable[str]) -> str:
    return ", ".join(_unique(texts))
