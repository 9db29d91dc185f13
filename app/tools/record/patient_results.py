"""What the record's tools share: whose record is meant, entries as JSON, tables and trends."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, cast

from pydantic import BaseModel, Field

from app.records.types import Component, Entry, Patient, Value, as_read
from app.tools.api import (
    Approval,
    Artifact,
    JsonDict,
    ToolContext,
    ToolFailed,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.files import plain
from app.tools.plots import Plot, write_plot
from app.tools.result_wording import one_line
from app.tools.tables import Value as Cell
from app.tools.tables import table_of, write_table

MOST_CANDIDATES = 10
UNLINKED = "You chose this record; it is not linked to the shown study."
_MOST_PLOTS = 6
_LONGEST = 2000
"""Characters of a value that a result has."""
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d(T.+)?)?)?")
_DAYS_A_YEAR = 365.2425


class PatientInput(ToolInput):
    """Arguments of a tool about one patient."""

    patient_id: str | None = Field(
        default=None,
        description="Id or full name of the patient, as in list_patients. Leave it out for the "
        "patient whose record is in use.",
    )


class DatedInput(PatientInput):
    """Arguments of a tool about entries of one patient."""

    since: str | None = Field(
        default=None, description='Only entries on or after this date: "2012", "2012-05-31".'
    )
    until: str | None = Field(default=None, description="Only entries on or before this date.")
    limit: int = Field(
        default=50, ge=1, le=1000, description="At most so many entries, the latest."
    )


class PatientOutput(BaseModel):
    """The part of a result that says whose record it is."""

    patient: dict[str, str] = Field(description="Id and name of the record's patient.")


class EntriesOutput(PatientOutput):
    """Entries of a record, the latest first."""

    entries: list[JsonDict] = Field(
        description="Each with `entry` (its id, to be cited in brackets), name, date, codes."
    )
    total: int = Field(description="Entries that fit the arguments.")
    left_out: int = Field(description="Those of them that are not in `entries`, for their number.")


class RecordTool:
    """A tool of the record pack: the function that does its work, and the fields of its spec."""

    def __init__(self, work: Callable[[Any, ToolContext], ToolResult], **spec: Any) -> None:
        self.work = work
        usual: dict[str, Any] = {"approval": Approval.READ, "pack": "record"}
        self.spec = ToolSpec(**(usual | spec))

    def run(self, args: Any, context: ToolContext) -> ToolResult:
        """Run the tool; for errors see `app.tools.api.Tool.run`."""
        return self.work(args, context)


def require_record(context: ToolContext) -> None:
    """Raise ToolFailed if no record is open."""
    if not context.records.count():
        raise ToolFailed(
            "no patient's record is open",
            remedy="Open a folder or file of FHIR bundles as the record (on the command line: "
            "--record PATH), then ask again.",
        )


def patient_of(context: ToolContext, wanted: str | None) -> Patient:
    """Return the patient that a call is about: the one named, else the one whose record is in use.

    Without either, the only patient of the record is taken if no image is open, which could be
    another patient's.

    Raises:
        ToolFailed: No record is open.
        ToolRetry: Nobody is named or in use, or the name fits nobody or several patients; the
            message lists at most ten of them.
    """
    require_record(context)
    records = context.records
    name = (wanted or "").strip() or context.record_patient
    if not name:
        if records.count() == 1 and not context.images.names():
            return records.patients(limit=1)[0]
        why = (
            "no open record is linked to the shown study"
            if context.images.names()
            else "the records of several patients are open"
        )
        raise _which(f"it is not clear whose record is meant: {why}", *_offer(context, ""))
    found = records.patient(name)
    if found is not None:
        return found
    words = [name, *sorted(re.findall(r"\w+", name), key=len)[-1:]]  # "Erdman, Louis"
    like = {one.id: one for word in words for one in records.patients(word)}
    fitting = [one for one in like.values() if _is_called(one, name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        reason = f"{len(fitting)} patients of the record fit that name or number"
        raise _which(reason, fitting, len(fitting))
    raise _which("the record has no patient with that id or full name", *_offer(context, name))


def _is_called(patient: Patient, wanted: str) -> bool:
    """Return whether a patient has an identifier, or all words of a name that are wanted."""
    if any(value == wanted for _, value in patient.identifiers):
        return True
    words = re.findall(r"\w+", wanted.casefold())
    own = {part for name in (patient.name, *patient.names) for part in name.casefold().split()}
    own |= {part for name in own for part in re.findall(r"\w+", name)}
    return len(words) > 1 and set(words) <= own


def _offer(context: ToolContext, text: str) -> tuple[Sequence[Patient], int]:
    """Return patients that may be meant by a text, and how many there are."""
    like = list(context.records.patients(text, limit=MOST_CANDIDATES)) if text else []
    for word in re.findall(r"\w{3,}", text):
        like += context.records.patients(word, limit=MOST_CANDIDATES)
    unique = list({one.id: one for one in like}.values())
    if unique:
        return unique, len(unique)
    some = context.records.patients(limit=MOST_CANDIDATES)
    return some, context.records.count()


def _which(reason: str, patients: Sequence[Patient], count: int) -> ToolRetry:
    """Return the error that asks which of some patients is meant; only the model sees their ids."""
    shown = patients[:MOST_CANDIDATES]
    more = f", and {count - len(shown)} more" if count > len(shown) else ""
    people = ", ".join(
        f"{one.name or 'no name'} (born {one.birth_date or 'unknown'})" for one in shown
    )
    ids = ", ".join(f"{one.name or 'no name'} ({one.id})" for one in shown)
    return ToolRetry(
        reason,
        remedy="Choose the patient in the record panel, or name the patient in the question: "
        f"{people}{more}.",
        for_model=f"Give patient_id as one of: {ids}{f'{more} (list_patients)' if more else ''}.",
    )


def whose(patient: Patient) -> dict[str, str]:
    """Return whose record a result is about, for `PatientOutput.patient`."""
    return {"id": patient.id, "name": patient.name}


def named(patient: Patient) -> str:
    """Return "Louis Erdman (born 1989-07-27)", for summaries; without a birth date the id."""
    known = f"born {patient.birth_date}" if patient.birth_date else patient.id
    return f"{patient.name or 'Patient without a name'} ({known})"


def checked_date(text: str | None, argument: str) -> str:
    """Return a FHIR date that was given as an argument, "" for None.

    Raises:
        ToolRetry: It is no such date.
    """
    if text is None or not text.strip():
        return ""
    if not _DATE.fullmatch(text.strip()):
        raise ToolRetry(f"{argument} is not a date of the form 2012, 2012-05 or 2012-05-31")
    return text.strip()


def today() -> date:
    """Return today's date."""
    return datetime.now(UTC).astimezone().date()


def day_of(text: str) -> date | None:
    """Return the first day that a FHIR date means: 2012-01-01 for "2012"; None if it is none."""
    match = re.match(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", text)
    if match is None:
        return None
    try:
        year, month, day = (int(part or 1) for part in match.groups())
        return date(year, month, day)
    except ValueError:
        return None


def age_on(patient: Patient, moment: date | None) -> int | None:
    """Return a patient's age in years at a date; None if it is not known from full dates."""
    born = day_of(patient.birth_date)
    if born is None or moment is None or len(patient.birth_date) < 10 or moment < born:
        return None
    return moment.year - born.year - ((moment.month, moment.day) < (born.month, born.day))


def age_at_entry(patient: Patient, entry: Entry) -> int | None:
    """Return a patient's age in years at the start of an entry, None if it is not known."""
    return age_on(patient, day_of(entry.start) if len(entry.start) >= 10 else None)


def codes_json(entry: Entry | Component) -> list[str]:
    """Return codes as "http://loinc.org|2160-0"."""
    return [f"{one.system}|{one.code}" for one in entry.codes if one.code]


def value_json(value: Value | None) -> JsonDict:
    """Return a value as the file writes it, with unit, comparator and reference range."""
    if value is None:
        return {}
    found: JsonDict = {"value": value.text}
    if len(value.text) > _LONGEST:  # samples of an ECG, or a picture in base64
        found = {"value_left_out": f"{len(value.text)} characters"}
    if value.comparator:
        found["comparator"] = value.comparator
    if value.unit:
        found["unit"] = value.unit
    if value.low is not None or value.high is not None:
        found["reference_range"] = [value.low, value.high]
    return found


def entry_json(entry: Entry) -> JsonDict:
    """Return an entry for a result; what it does not say is left out."""
    found: JsonDict = {"entry": entry.id, "name": entry.name, "date": entry.start or None}
    if entry.end:
        found["end"] = entry.end
    if entry.status:
        found["status"] = entry.status
    found["codes"] = codes_json(entry)
    found |= value_json(entry.value)
    if entry.components:
        found["components"] = [
            {"name": one.name, "codes": codes_json(one), **value_json(one.value)}
            for one in entry.components
        ]
    return found


def said_value(value: Value | None) -> str:
    """Return a value for a sentence: "<0.5 mg/dL".

    Decimals are said to four digits; the table and the output have all that the record has.
    """
    if value is None:
        return ""
    text = value.text if len(value.text) <= _LONGEST else f"({len(value.text)} characters)"
    if value.number is not None and "." in text and len(text.strip("-0.")) > 5:
        whole = abs(value.number) >= 1000
        text = f"{value.number:.0f}" if whole else f"{value.number:.4g}"
    return f"{value.comparator}{text} {value.unit}".strip()


_NOT_DONE_OR_FINAL = frozenset(
    ("cancelled", "preliminary", "registered", "not-done", "planned", "preparation", "stopped")
)


def said_entry(entry: Entry) -> str:
    """Return an entry for a sentence, cited: "Glucose 90 mg/dL (2012-02-09) [Observation/1]"."""
    inner = [f"{one.name} {said_value(one.value)}".strip() for one in as_read(entry.components)]
    texts = (entry.name, said_value(entry.value), ", ".join(inner))
    parts = [one_line(text, 200) for text in texts]
    when = entry.start[:10] or "no date"
    if entry.start[:10] > today().isoformat():
        when += ", in the future"
    if entry.status in _NOT_DONE_OR_FINAL:
        when += f", {entry.status}"
    if entry.details.get("verification", "").casefold() == "refuted":
        when += ", refuted"
    parts.append(f"({when})")
    return f"{' '.join(filter(None, parts))} [{entry.id}]"


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return "1 entry", "2 entries", "no entries"."""
    many = plural or f"{noun}s"
    return f"{count} {noun}" if count == 1 else f"{count or 'no'} {many}"


def entries_output(
    patient: Patient, entries: Sequence[Entry], limit: int, form: Callable[[Entry], JsonDict]
) -> JsonDict:
    """Return the output of `EntriesOutput` for entries, the latest first."""
    return {
        "patient": whose(patient),
        "entries": [form(one) for one in entries[:limit]],
        "total": len(entries),
        "left_out": max(len(entries) - limit, 0),
    }


def left_out_text(output: Mapping[str, Any]) -> str:
    """Return a sentence on entries that are left out of a result for their number, "" for none."""
    count = output["left_out"]
    if not count:
        return ""
    return f" {counted(count, 'earlier entry', 'earlier entries')} not listed: raise `limit`."


def problems_warnings(context: ToolContext) -> list[str]:
    """Return a warning if parts of the records could not be read."""
    count = sum(not one.note for one in context.records.problems())
    if not count:
        return []
    return [
        f"{counted(count, 'part')} of the opened records could not be read; what they say is "
        "missing here"
    ]


def result(
    context: ToolContext,
    summary: str,
    output: JsonDict,
    artifacts: Iterable[Artifact] = (),
    warnings: Iterable[str] = (),
) -> ToolResult:
    """Return a tool's result; what could not be read of the records is among its warnings.

    The summary begins by saying so if the record is not that of the shown study's patient.
    """
    told = [*warnings, *problems_warnings(context)]
    of = output.get("patient")
    is_in_use = isinstance(of, Mapping) and of.get("id") == context.record_patient
    link = [UNLINKED] if context.record_unlinked and is_in_use else []
    return ToolResult(
        summary=" ".join([*link, summary, *(f"Note: {one}." for one in told)]),
        output=plain(output),
        metadata={"status": "completed", "warnings": told},
        artifacts=tuple(artifacts),
    )


def new_name(stem: str) -> str:
    """Return a file name's stem that no other file of the run has; it says nothing of anyone."""
    return f"{stem}-{uuid.uuid4().hex[:8]}"


def entries_table(
    context: ToolContext, patient: Patient, entries: Sequence[Entry], title: str, stem: str
) -> list[Artifact]:
    """Write all entries as a table, with a row for each value; [] for no entries."""
    rows: list[dict[str, Cell]] = []
    for entry in entries:
        common: dict[str, Cell] = {
            "patient": patient.name or patient.id,
            "date": entry.start,
            "end": entry.end,
            "name": entry.name,
        }
        codes = " ".join(codes_json(entry))
        last: dict[str, Cell] = {"status": entry.status, "entry": entry.id}
        if entry.value is not None or not entry.components:
            rows.append({**common, "part": "", **_cells(entry.value), "codes": codes, **last})
        for part in entry.components:
            own = " ".join(codes_json(part))
            rows.append({**common, "part": part.name, **_cells(part.value), "codes": own, **last})
    if not rows:
        return []
    empty = [name for name in rows[0] if all(row[name] in ("", None) for row in rows)]
    kept = [{key: cell for key, cell in row.items() if key not in empty} for row in rows]
    path = context.out_dir / f"{new_name(stem)}.csv"
    return [write_table(path, table_of(kept), title)]


def _cells(value: Value | None) -> dict[str, Cell]:
    found = value or Value()
    return {
        "value": found.text[:_LONGEST],
        "number": found.number,
        "unit": found.unit,
        "comparator": found.comparator,
        "reference_low": found.low,
        "reference_high": found.high,
    }


@dataclass(frozen=True, slots=True)
class _Series:
    """Numbers of one kind over time: (year, date, value, entry) of each."""

    name: str
    unit: str
    points: tuple[tuple[float, str, Value, str], ...]

    @property
    def column(self) -> str:
        return f"{self.name} ({self.unit})" if self.unit else self.name


def trend_plots(
    context: ToolContext, patient: Patient, entries: Sequence[Entry], stem: str
) -> list[Artifact]:
    """Draw each value that was measured at least twice over time, with its reference limits.

    At most six plots are made, of the values that were measured most often. Values in different
    units, or below or above a limit of detection, are never joined.
    """
    found: dict[tuple[str, str], list[tuple[float, str, Value, str]]] = {}
    for entry in entries:
        year = decimal_year(entry.start)
        if year is None:
            continue
        parts = [(entry.name, entry.value)]
        parts += [(f"{entry.name}: {one.name}", one.value) for one in entry.components]
        for name, value in parts:
            if value is not None and value.number is not None and not value.comparator:
                key = (name, value.unit)
                found.setdefault(key, []).append((year, entry.start, value, entry.id))
    series = [
        _Series(*key, tuple(sorted(points, key=lambda point: point[0])))
        for key, points in found.items()
        if len({point[0] for point in points}) > 1
    ]
    series.sort(key=lambda one: -len(one.points))
    if not series:
        return []
    # One table for all plots: each file written costs a wait for the disk.
    name = new_name(f"{stem}-trends")
    rows = [row for one in series[:_MOST_PLOTS] for row in _trend_rows(one)]
    write_table(context.out_dir / f"{name}.csv", table_of(rows), "Values over time")
    return [
        _trend_plot(context, patient, one, f"{name}.csv", number)
        for number, one in enumerate(series[:_MOST_PLOTS], 1)
    ]


_LIMITS = (("lower reference limit", "low"), ("upper reference limit", "high"))


def _trend_rows(series: _Series) -> list[dict[str, Cell]]:
    rows: list[dict[str, Cell]] = []
    for line, side in (("measured", "number"), *_LIMITS):
        for year, start, value, entry in series.points:
            row: dict[str, Cell] = {"year": year, "line": line, "date": start, "entry": entry}
            row[series.column] = cast("float | None", getattr(value, side))
            if row[series.column] is not None:
                rows.append(row)
    return rows


def _trend_plot(
    context: ToolContext, patient: Patient, series: _Series, table: str, number: int
) -> Artifact:
    values = [value for _, _, value, _ in series.points]
    has_limits = any(one.low is not None or one.high is not None for one in values)
    note = "" if has_limits else " The record gives no reference range."
    plot = Plot(
        kind="line",
        title=series.name,
        table=table,
        x="year",
        y=series.column,
        color="line" if has_limits else "",
        x_title="Year",
        y_title=series.column,
        note=f"Record of {named(patient)}.{note}",
    )
    return write_plot(context.out_dir / f"{table.removesuffix('.csv')}-{number}.json", plot)


def decimal_year(text: str) -> float | None:
    """Return a FHIR date as a year with decimals, for the axis of a plot; None if it is none."""
    day = day_of(text)
    if day is None:
        return None
    match = re.match(r"\d{4}-\d\d-\d\dT(\d\d):(\d\d)", text)
    hours = int(match[1]) + int(match[2]) / 60 if match else 0.0
    days = (day - date(day.year, 1, 1)).days + hours / 24
    return day.year + days / _DAYS_A_YEAR
