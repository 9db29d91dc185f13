"""A report as FHIR R4 DiagnosticReport: its findings as contained Observations of ImagingStudy."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from app.imaging.findings import Code, Finding, Measurement
from app.imaging.reports.report_draft import ReportSubject
from app.imaging.reports.sentences import rounded, statements
from app.imaging.reports.written_report import WrittenReport, report_text
from app.imaging.types import Instance

_SYSTEMS = {
    "SCT": "http://snomed.info/sct",
    "DCM": "http://dicom.nema.org/resources/ontology/DCM",
    "LN": "http://loinc.org",
    "RADLEX": "http://radlex.org",
    "UCUM": "http://unitsofmeasure.org",
}
_UCUM = {
    "°": "deg",
    "mm²": "mm2",
    "cm²": "cm2",
    "mm³": "mm3",
    "cm³": "cm3",
    "µm": "um",
    "ml": "mL",
    "ratio": "{ratio}",
    "px": "{px}",
    "objects": "{objects}",
    "HU": "[hnsf'U]",
    "": "1",
}
_DICOM = "urn:dicom:uid"
_URI = "urn:ietf:rfc:3986"


def diagnostic_report(
    report: WrittenReport, subject: ReportSubject, images: Sequence[Instance]
) -> bytes:
    """Return the resource as JSON (UTF-8).

    Args:
        report: The report.
        subject: Its study; only patient's number and name are taken of its heading.
        images: The images that its findings are on.
    """
    patient = _patient(subject)
    text = report_text(report)
    observed = _observations(report, patient)
    made: dict[str, Any] = {
        "resourceType": "DiagnosticReport",
        "language": report.language,
        "text": {"status": "generated", "div": _div(text)},
        "contained": [_imaging_study(report, subject, images, patient), *observed],
        "identifier": [{"system": _URI, "value": f"urn:uuid:{_uuid(text)}"}],
        "status": report.status,
        "category": [
            {
                "coding": [
                    {
                        "system": "http://terminology.hl7.org/CodeSystem/v2-0074",
                        "code": "RAD",
                        "display": "Radiology",
                    }
                ]
            }
        ],
        "code": {
            "coding": [
                {
                    "system": _SYSTEMS["LN"],
                    "code": "18748-4",
                    "display": "Diagnostic imaging study",
                }
            ],
            "text": report.title,
        },
        "subject": patient,
        "imagingStudy": [{"reference": "#study"}],
    }
    if day := _day(subject.date):
        made["effectiveDateTime"] = day
    if report.signature is not None:
        last = report.addenda[-1][0] if report.addenda else report.signature
        made["issued"] = last.signed
        made["resultsInterpreter"] = [
            {"display": one}
            for one in dict.fromkeys(
                (report.signature.name, *(signature.name for signature, _ in report.addenda))
            )
        ]
    if observed:
        made["result"] = [
            {"reference": f"#{one['id']}", "display": one["code"]["text"]} for one in observed
        ]
    if report.conclusion:
        made["conclusion"] = report.conclusion
    made["presentedForm"] = [
        {
            "contentType": "text/plain; charset=utf-8",
            "language": report.language,
            "data": base64.b64encode(text.encode()).decode(),
            "title": f"{report.title}: {report.status_line}",
        }
    ]
    return json.dumps(made, ensure_ascii=False, indent=2).encode()


def _uuid(text: str) -> uuid.UUID:
    return uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)


def _patient(subject: ReportSubject) -> dict[str, Any]:
    heading = dict(subject.heading)
    made: dict[str, Any] = {"type": "Patient"}
    if number := heading.get("PatientID", ""):
        made["identifier"] = {"value": number}
    family, _, given = heading.get("PatientName", "").split("=")[0].partition("^")
    if name := " ".join(filter(None, (given.replace("^", " ").strip(), family.strip()))):
        made["display"] = name
    if len(made) == 1:
        made["display"] = "unknown"
    return made


def _day(date: str) -> str:
    return f"{date[:4]}-{date[4:6]}-{date[6:]}" if len(date) == 8 and date.isdecimal() else ""


def _div(text: str) -> str:
    shown = html.escape(text, quote=False)
    return f'<div xmlns="http://www.w3.org/1999/xhtml"><pre>{shown}</pre></div>'


def _oid(uid: str) -> str:
    return f"urn:oid:{uid}"


def _imaging_study(
    report: WrittenReport,
    subject: ReportSubject,
    images: Sequence[Instance],
    patient: dict[str, Any],
) -> dict[str, Any]:
    made: dict[str, Any] = {
        "resourceType": "ImagingStudy",
        "id": "study",
        "identifier": [{"system": _DICOM, "value": _oid(report.study)}],
        "status": "available",
        "subject": patient,
    }
    if day := _day(subject.date):
        made["started"] = day
    if subject.title:
        made["description"] = subject.title
    series: dict[str, list[Instance]] = {}
    for one in images:
        uid = one.get("SeriesInstanceUID")
        if uid and one.get("SOPClassUID"):
            series.setdefault(uid, []).append(one)
    if series:
        made["series"] = [
            {
                "uid": uid,
                "modality": {
                    "system": _SYSTEMS["DCM"],
                    "code": members[0].get("Modality") or "OT",
                },
                "instance": [
                    {
                        "uid": one.sop_instance_uid,
                        "sopClass": {"system": _URI, "code": _oid(one.get("SOPClassUID"))},
                    }
                    for one in members
                ],
            }
            for uid, members in series.items()
        ]
    return made


def _observations(report: WrittenReport, patient: dict[str, Any]) -> list[dict[str, Any]]:
    status = "preliminary" if report.signature is None else "final"
    made: list[dict[str, Any]] = []
    for number, statement in enumerate(statements(report.findings), 1):
        first = statement.findings[0]
        one: dict[str, Any] = {
            "resourceType": "Observation",
            "id": f"finding-{number}",
            "status": status,
            "category": [
                {
                    "coding": [
                        {
                            "system": "http://terminology.hl7.org/CodeSystem/observation-category",
                            "code": "imaging",
                        }
                    ]
                }
            ],
            "code": _concept(statement.label, first.code),
            "subject": patient,
            "derivedFrom": [{"reference": "#study"}, *_images(statement.findings)],
        }
        if first.site is not None:
            one["bodySite"] = _concept(first.site.meaning, first.site)
        figures = statement.measurements
        if len(figures) == 1:
            one["valueQuantity"] = _quantity(figures[0])
        elif figures:
            one["component"] = [
                {
                    "code": {
                        "text": f"{value.name or statement.label} {_day(value.date)}".rstrip()
                    },
                    "valueQuantity": _quantity(value),
                }
                for value in figures
            ]
        else:
            one["valueBoolean"] = True
        basis = {value.rests_on for value in figures if value.rests_on}
        if basis:
            one["note"] = [{"text": f"Lengths on: {', '.join(sorted(basis))}"}]
        made.append(one)
    return made


def _images(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Return references to the SOP instances that findings are on, frames counted from 1."""
    refs = dict.fromkeys((one.image.sop_instance_uid, one.image.frame) for one in findings)
    return [
        {
            "type": "ImagingStudy",
            "identifier": {"system": _DICOM, "value": _oid(uid)},
            "display": f"SOP Instance UID {uid}, frame {frame + 1}",
        }
        for uid, frame in refs
    ]


def _concept(text: str, code: Code | None) -> dict[str, Any]:
    made: dict[str, Any] = {"text": text}
    if code is not None and code.scheme in _SYSTEMS:
        made["coding"] = [
            {"system": _SYSTEMS[code.scheme], "code": code.value, "display": code.meaning}
        ]
    return made


def _quantity(one: Measurement) -> dict[str, Any]:
    made: dict[str, Any] = {"value": rounded(one)}
    made["unit"] = one.units or "1"
    code = _UCUM.get(one.units, one.units)
    if code.isascii() and " " not in code:
        made["system"], made["code"] = _SYSTEMS["UCUM"], code
    return made
