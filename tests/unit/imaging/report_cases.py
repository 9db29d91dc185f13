"""Findings and subjects for the tests of reports."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.imaging.findings import (
    Box,
    Finding,
    Measurement,
    Polyline,
    Provenance,
    Segments,
    State,
)
from app.imaging.reports.report_draft import ReportDraft, ReportSubject
from app.imaging.reports.sentences import draft_report
from app.imaging.reports.templates import template_for, templates
from app.imaging.types import ImageRef

REF = ImageRef("1.2.3.4", 0, "sha")
SUBJECT = ReportSubject(
    "1.2.3",
    "CT Thorax",
    "20240102",
    "CT",
    "ct thorax chest",
    (("study", "CT Thorax"), ("slice", "1.25"), ("tube", "120")),
    (("CT Thorax", "20230405"),),
    {"1.2.3.4": (3, 45)},
    (("PatientName", "Müller^Änne"), ("PatientBirthDate", "19500102"), ("PatientSex", "F")),
)


def tool_finding(label: str = "Right Nodule", **fields: Any) -> Finding:
    """Return a finding of a tool, accepted by Dr Roe."""
    known: dict[str, Any] = {
        "id": label.lower().replace(" ", "-"),
        "image": REF,
        "geometry": Box(10.5, 10.5, 20.5, 22.5),
        "score": 0.87,
        "units": "mm (patient)",
        "value": 12.34,
        "provenance": Provenance("find_nodules", "1.0", "net-1", "", "run", "call"),
        "state": State.ACCEPTED,
        "reviewer": "Dr Roe",
    }
    return Finding(label=label, **(known | fields))


def own_length(value: float = 23.04, **fields: Any) -> Finding:
    """Return a length that the user drew."""
    found = Measurement("Length", value, "mm", "detector plane")
    known: dict[str, Any] = {
        "id": "length",
        "label": "Length",
        "geometry": Polyline(((1.0, 2.0), (30.0, 2.0))),
        "value": value,
        "units": "mm (detector plane)",
        "score": None,
        "measurements": (found,),
        "provenance": Provenance("ruler", "", "", "", "", ""),
        "reviewer": "",
    }
    return replace(tool_finding(), **(known | fields))


def ratio_lines(heart: float = 143.0, thorax: float = 275.0) -> tuple[Finding, Finding]:
    """Return the two lines of a cardiothoracic ratio, as the chest pack gives them."""
    line = Segments(((1.0, 1.0), (9.0, 1.0)))
    common = {"geometry": line, "group": "ctr-1", "units": "mm (detector plane)"}
    return (
        tool_finding("Heart width", value=heart, ratio="Cardiothoracic ratio", **common),
        tool_finding("Thorax width", value=thorax, **common),
    )


def drafted(
    *findings: Finding, language: str = "en", subject: ReportSubject = SUBJECT
) -> ReportDraft:
    """Return the draft by the template that fits."""
    known, problems = templates()
    assert problems == []
    return draft_report(subject, findings, template_for(subject, known), language)
