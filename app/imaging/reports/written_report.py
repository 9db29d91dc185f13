"""A report as it is written to files: only what stands, with its status; and as plain text."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from app.errors import SightlineError
from app.imaging.findings import Finding
from app.imaging.reports.report_draft import (
    ReportDraft,
    ReportSubject,
    Section,
    Sentence,
    Signature,
    is_struck,
    standing,
)
from app.imaging.reports.sentences import date_text, label_of, name_in, text
from app.imaging.types import Instance
from app.paths import shipped_table

_WIDTH = 92


@dataclass(frozen=True, slots=True)
class WrittenReport:
    """A report for a file.

    Attributes:
        heading: (name, value) of patient and study, as shown.
        sections: Those that have sentences.
        findings: The accepted findings that sentences rest on.
        addenda: Signed texts, each with a head line.
        sources: Who or what found the findings, a line each.
    """

    title: str
    language: str
    study: str
    heading: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...]
    findings: tuple[Finding, ...]
    signature: Signature | None
    addenda: tuple[tuple[Signature, str], ...]
    sources: tuple[str, ...]

    @property
    def status(self) -> str:
        """FHIR status: "preliminary", "final" or "appended"."""
        if self.signature is None:
            return "preliminary"
        return "appended" if self.addenda else "final"

    @property
    def status_line(self) -> str:
        """Whether it is signed, by whom and when, in the report's language."""
        if self.signature is None:
            return text("draft", self.language)
        return _signed(self.signature, self.language)

    @property
    def conclusion(self) -> str:
        """The text of the impression, a line each; "" if there is none."""
        lines = [s.text for one in self.sections if one.kind == "impression" for s in one.sentences]
        return "\n".join(lines)


TEXT, PDF, ENCAPSULATED = "report-text", "report-pdf", "encapsulated-pdf"
SR, FHIR = "report-sr", "diagnostic-report"
REPORT_FORMS = (TEXT, PDF, ENCAPSULATED, SR, FHIR)
"""The forms of a report's file."""


@dataclass(frozen=True, slots=True)
class ReportExport:
    """A report to write as a DICOM object.

    Attributes:
        form: SR or ENCAPSULATED.
        images: The images that its findings are on, of one study; at least one.
        organization: Of the person who signed.
        pdf: The bytes of the PDF to encapsulate, uint8.
    """

    form: str
    images: tuple[Instance, ...]
    report: WrittenReport
    organization: str = ""
    pdf: NDArray[np.uint8] | None = None


def _signed(signature: Signature, language: str) -> str:
    when = moment_text(signature.signed, language)
    return text("signed", language).format(name=signature.name, when=when)


def moment_text(moment: str, language: str) -> str:
    """Return a moment (ISO 8601) as date, time and zone."""
    found = datetime.fromisoformat(moment)
    day = found.strftime("%d.%m.%Y" if language == "de" else "%Y-%m-%d")
    zone = found.strftime("%z")
    return f"{day} {found:%H:%M}" + (f" (UTC{zone[:3]}:{zone[3:]})" if zone else "")


def written_report(
    draft: ReportDraft, subject: ReportSubject, accepted: Mapping[str, Finding]
) -> WrittenReport:
    """Return what files hold of a report: no sentence whose finding is not accepted.

    Raises:
        SightlineError: A finding of a signed report is not accepted any more, or is not what it
            was; a signed text is not changed.
    """
    if draft.signature is not None and any(is_struck(s, accepted) for _, _, s in draft.told()):
        raise SightlineError(
            "a finding that the signed report rests on is no longer accepted",
            remedy="Take the signature back and remove the struck sentence, or accept the finding.",
        )
    if draft.changed_since(accepted):
        raise SightlineError(
            "a finding of the signed report has changed since it was signed",
            remedy="Take the signature back, look at the sentence and sign again; or undo it.",
        )
    kept = standing(draft, accepted)
    sections = tuple(
        replace(one, sentences=tuple(s for s in map(_clean, one.sentences) if s.text))
        for one in kept.sections
    )
    cited = [accepted[key] for key in kept.cited() if key in accepted]
    names: dict[str, str] = shipped_table("report", "heading")[draft.language]
    return WrittenReport(
        draft.title,
        draft.language,
        subject.study,
        tuple(
            (names[keyword], _shown(keyword, value, draft.language))
            for keyword, value in subject.heading
        ),
        tuple(one for one in sections if one.sentences),
        tuple(cited),
        draft.signature,
        tuple(
            (one.signature, "\n".join(map(_one_line, one.text.splitlines())))
            for one in draft.addenda
            if one.signature
        ),
        tuple(map(_one_line, _sources(cited, draft.language))),
    )


def _clean(sentence: Sentence) -> Sentence:
    return replace(sentence, text=_one_line(sentence.text))


def _one_line(words: str) -> str:
    """Return a text without what no file may hold: control characters, halves of surrogates."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", " ", words).split())


def _shown(keyword: str, value: str, language: str) -> str:
    if keyword.endswith("Date"):
        return date_text(value, language)
    if keyword == "PatientSex":
        known = {"F": "female", "M": "male", "O": "other"}.get(value.upper(), value)
        return name_in(language, known)
    if keyword.endswith("Name"):
        family, _, given = value.split("=")[0].partition("^")
        return ", ".join(filter(None, (family.strip(), given.replace("^", " ").strip())))
    return value


def _sources(findings: Sequence[Finding], language: str) -> list[str]:
    made: dict[tuple[str, str], list[str]] = {}
    for one in findings:
        origin = one.provenance
        by_tool = origin.tool_version or origin.model or origin.run_id
        tool = origin.tool.replace("_", " ") if by_tool else ""
        if tool and origin.model:
            tool = f"{tool} ({origin.model})"
        reviewer = one.reviewer if tool else ""
        made.setdefault((tool, reviewer), []).append(name_in(language, label_of(one)))
    lines: list[str] = []
    for (tool, reviewer), labels in made.items():
        key = "by_hand" if not tool else "found_by" if reviewer else "found_by_nobody"
        told = ", ".join(dict.fromkeys(labels))
        lines.append(text(key, language).format(tool=tool, reviewer=reviewer, labels=told))
    if any("mm" in f"{one.units}{''.join(m.units for m in one.measurements)}" for one in findings):
        lines.append(text("basis", language))
    return lines


def report_text(report: WrittenReport) -> str:
    """Return a report as plain text, its status first."""
    lines = [report.title, "=" * len(report.title), report.status_line, ""]
    width = max((len(name) for name, _ in report.heading), default=0) + 2
    lines += [f"{name + ':':<{width}}{value}" for name, value in report.heading]
    for section in report.sections:
        lines += ["", section.title.upper()]
        lines += [line for one in section.sentences for line in _wrapped(one.text)]
    for signature, added in report.addenda:
        title = text("addendum", report.language)
        lines += ["", title.upper(), _signed(signature, report.language)]
        lines += [line for part in added.splitlines() for line in _wrapped(part)]
    if report.sources:
        lines += ["", text("sources", report.language).upper()]
        lines += [line for one in report.sources for line in _wrapped(one)]
    return "\n".join([*lines, "", report.status_line, text("footer", report.language), ""])


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, break_long_words=False) or [""]
