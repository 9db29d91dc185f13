"""Tools on clinical notes: progress notes, SOAP notes, discharge summaries. Texts stay verbatim."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from app.records.types import Entry, EntryKind, Patient
from app.tools.api import JsonDict, ToolContext, ToolResult, ToolRetry
from app.tools.record.patient_results import (
    DatedInput,
    EntriesOutput,
    PatientInput,
    PatientOutput,
    RecordTool,
    checked_date,
    codes_json,
    counted,
    entries_output,
    left_out_text,
    named,
    patient_of,
    result,
    whose,
)

MOST_CHARACTERS = 8000
"""Characters of a note that a result has; a note asked for by its id is whole."""

_DISCHARGE = frozenset(("18842-5", "28655-9", "34105-7", "11490-0"))
_DISCHARGE_NAMES = re.compile(r"discharge (summary|letter|note)|entlassungsbrief", re.IGNORECASE)


class NotesInput(DatedInput):
    """Arguments of `get_clinical_notes`."""

    note_type: str = Field(
        default="", description='Only notes whose type contains this: "progress", "consult".'
    )
    text: str = Field(default="", description='Only notes that contain this text: "fall".')
    entry: str = Field(default="", description="Id of one note, to get all of its text.")
    limit: int = Field(default=5, ge=1, le=100, description="At most so many notes, the latest.")


class NotesOutput(EntriesOutput):
    """Notes of a record, the latest first."""

    types: dict[str, int] = Field(description="All types of notes of this record, and how many.")


class SoapInput(DatedInput):
    """Arguments of `get_soap_notes`."""

    limit: int = Field(default=5, ge=1, le=100, description="At most so many notes, the latest.")


class SoapOutput(EntriesOutput):
    """Notes with their SOAP sections, the latest first."""

    not_soap: int = Field(description="Notes that do not have these sections.")


class DischargeInput(PatientInput):
    """Arguments of `get_discharge_summary`."""

    until: str | None = Field(default=None, description="The latest one on or before this date.")


class DischargeOutput(PatientOutput):
    """A patient's latest discharge summary."""

    discharge_summary: JsonDict | None = Field(
        description="entry, date, text; None if the record has none."
    )
    earlier: list[JsonDict] = Field(description="Ids and dates of earlier ones.")
    types: dict[str, int] = Field(description="Types of all notes of this record, if none fits.")


def _notes(
    context: ToolContext, patient: Patient, since: str | None, until: str | None
) -> list[Entry]:
    found = context.records.entries(
        patient.id,
        (EntryKind.NOTE,),
        since=checked_date(since, "since"),
        until=checked_date(until, "until"),
    )
    return list(found)


def _types(entries: Sequence[Entry]) -> dict[str, int]:
    return dict(Counter(one.name for one in entries).most_common(40))


def note_json(entry: Entry, most: int = MOST_CHARACTERS) -> JsonDict:
    """Return a note with its text, cut after `most` characters, which is then said."""
    found: JsonDict = {
        "entry": entry.id,
        "name": entry.name,
        "date": entry.start or None,
        "codes": codes_json(entry),
        "text": entry.text[:most],
    }
    if entry.status:
        found["status"] = entry.status
    if entry.encounter:
        found["encounter"] = entry.encounter
    if len(entry.text) > most:
        found["characters_left_out"] = len(entry.text) - most
    if not entry.text:
        found["no_text"] = entry.details.get("attachment") or "the record holds no text of it"
    return found


def _get_clinical_notes(args: NotesInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    every = _notes(context, patient, args.since, args.until)
    if args.entry.strip():
        wanted = args.entry.strip().strip("[]")
        one = next((note for note in every if note.id == wanted), None)
        if one is None:
            raise ToolRetry(
                "the record has no note with that id",
                remedy=f"Its notes: {', '.join(note.id for note in every[:10]) or 'none'}.",
            )
        found, most = [one], len(one.text) or 1
    else:
        found = [one for one in every if _fits(one, args.note_type, args.text)]
        most = MOST_CHARACTERS
    output = entries_output(patient, found, args.limit, lambda one: note_json(one, most))
    output["types"] = _types(every)
    told = "; ".join(
        f"{one.name} ({one.start[:10] or 'no date'}) [{one.id}]" for one in found[: args.limit]
    )
    summary = f"Record of {named(patient)}: {counted(len(found), 'note')}"
    summary += f": {told}" if told else f" that fit, of {len(every)}" if every else ""
    return result(context, f"{summary}.{left_out_text(output)}", output)


def _fits(entry: Entry, kind: str, text: str) -> bool:
    said = (
        f"{entry.name} {entry.details.get('category', '')} {entry.details.get('description', '')}"
    )
    return kind.strip().casefold() in said.casefold() and (
        text.strip().casefold() in entry.text.casefold()
    )


_SUBJECTIVE = """subjective, s, chief complaint, cc, reason for visit, history of present illness,
hpi, history, interval history, past medical history, pmh, social history, family history,
surgical history, allergies, medications, current medications, review of systems, ros"""
_OBJECTIVE = """objective, o, vital signs, vitals, physical exam, physical examination, exam,
examination, laboratory, labs, laboratory results, results, imaging, data, ecg"""
_ASSESSMENT = "assessment, a, impression, diagnosis, diagnoses, problems, problem list"
_PLAN = "plan, p, treatment, treatment plan, follow-up, follow up, recommendations, disposition"
_BOTH = """assessment and plan, assessment & plan, assessment/plan, a/p, a&p, impression and plan,
impression/plan"""
_SECTIONS = {
    heading.strip(): section
    for section, headings in (
        ("subjective", _SUBJECTIVE),
        ("objective", _OBJECTIVE),
        ("assessment", _ASSESSMENT),
        ("plan", _PLAN),
        ("assessment_and_plan", _BOTH),
    )
    for heading in " ".join(headings.split()).split(",")
}
_HEADING = re.compile(
    r"^\s*(?:#{1,6}\s*(?P<marked>[^:#]{1,60}?)\s*(?::(?P<after>.*))?"
    r"|(?P<plain>[A-Za-z][A-Za-z /&-]{0,40}?)\s*:(?P<rest>.*)"
    r"|(?P<alone>[A-Za-z][A-Za-z /&-]{2,40}?)\s*)$"
)


def soap_sections(text: str) -> dict[str, str]:
    """Return the text under SOAP headings, verbatim; what stands before the first is "preamble".

    Keys are "subjective", "objective", "assessment", "plan" and "assessment_and_plan". A heading
    is a line of its own ("# Chief Complaint", "PLAN") or the words before a colon ("S: ..."). Lines
    under several headings of one section are joined, each with its heading.
    """
    found: dict[str, list[str]] = {}
    section = "preamble"
    for line in text.splitlines():
        match = _HEADING.match(line)
        if match is not None:
            words = match["marked"] or match["plain"] or match["alone"]
            name = _SECTIONS.get(" ".join(words.casefold().split()))
            # A single letter is a heading only before a colon: "A" may start a sentence.
            if name is not None and (len(words.strip()) > 1 or match["plain"]):
                section = name
        found.setdefault(section, []).append(line)
    joined = {name: "\n".join(lines).strip() for name, lines in found.items()}
    return {name: text for name, text in joined.items() if text}


def is_soap(sections: dict[str, str]) -> bool:
    """Return whether a note has both findings (S or O) and conclusions (A or P)."""
    findings = sections.keys() & {"subjective", "objective"}
    return bool(findings and sections.keys() & {"assessment", "plan", "assessment_and_plan"})


def _get_soap_notes(args: SoapInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    every = _notes(context, patient, args.since, args.until)
    parted = {one.id: soap_sections(one.text) for one in every}
    found = [one for one in every if is_soap(parted[one.id])]

    def form(entry: Entry) -> JsonDict:
        note = note_json(entry)
        del note["text"]
        sections = parted[entry.id]
        missing = [
            name
            for name in ("subjective", "objective", "assessment", "plan")
            if name not in sections
            and not (name in ("assessment", "plan") and "assessment_and_plan" in sections)
        ]
        cut = {name: text[:MOST_CHARACTERS] for name, text in sections.items()}
        return {**note, **cut, "missing": missing}

    output = entries_output(patient, found, args.limit, form)
    output["not_soap"] = len(every) - len(found)
    told = "; ".join(
        f"{one.name} ({one.start[:10] or 'no date'}) [{one.id}]" for one in found[: args.limit]
    )
    summary = (
        f"Record of {named(patient)}: {counted(len(found), 'SOAP note')} of {len(every)} notes"
    )
    summary += f": {told}" if told else ""
    return result(context, f"{summary}.{left_out_text(output)}", output)


def is_discharge_summary(entry: Entry) -> bool:
    """Return whether a note is a discharge summary, by its LOINC code or its name."""
    if any(code.code in _DISCHARGE for code in entry.codes):
        return True
    said = " ".join(
        (entry.name, entry.details.get("description", ""), entry.details.get("category", ""))
    )
    return bool(_DISCHARGE_NAMES.search(said))


def _get_discharge_summary(args: DischargeInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    every = _notes(context, patient, None, args.until)
    found = [one for one in every if is_discharge_summary(one)]
    output: JsonDict = {
        "patient": whose(patient),
        "discharge_summary": note_json(found[0], max(len(found[0].text), 1)) if found else None,
        "earlier": [{"entry": one.id, "date": one.start or None} for one in found[1:]],
        "types": {} if found else _types(every),
    }
    if not found:
        summary = (
            f"Record of {named(patient)}: no discharge summary among {counted(len(every), 'note')}."
        )
        return result(context, summary, output)
    one = found[0]
    summary = f"Record of {named(patient)}: {one.name} of {one.start[:10] or 'no date'} [{one.id}]"
    summary += "" if one.text else ", of which the record holds no text"
    more = f"; {counted(len(found) - 1, 'earlier one')}" if len(found) > 1 else ""
    return result(context, f"{summary}{more}.", output)


TOOLS = (
    RecordTool(
        _get_clinical_notes,
        name="get_clinical_notes",
        title="Clinical notes",
        icon="file-text",
        description=(
            "Returns a patient's clinical notes from the record (progress notes, history and "
            "physical, consultations, ...), verbatim, the latest first; by type, text or date."
        ),
        Input=NotesInput,
        Output=NotesOutput,
        phrases=("clinical notes", "progress notes", "what did the doctor write"),
    ),
    RecordTool(
        _get_soap_notes,
        name="get_soap_notes",
        title="SOAP notes",
        icon="file-text",
        description=(
            "Returns a patient's notes that are written in SOAP form, by section (subjective, "
            "objective, assessment, plan), verbatim; missing sections are named."
        ),
        Input=SoapInput,
        Output=SoapOutput,
        phrases=("soap notes", "subjective objective assessment plan"),
    ),
    RecordTool(
        _get_discharge_summary,
        name="get_discharge_summary",
        title="Discharge summary",
        icon="file-text",
        description=(
            "Returns a patient's latest discharge summary from the record, verbatim; None if "
            "the record has none."
        ),
        Input=DischargeInput,
        Output=DischargeOutput,
        phrases=("discharge summary", "discharge letter"),
    ),
)
