"""What the record panel lists: a patient's entries in sections, without any widget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from app.records.types import Entry, EntryKind, Patient, Value, as_read
from app.views.translation import tr, translatable
from app.views.wording import DOT

_DAY = 10  # letters of a date without its time
_TITLES: tuple[tuple[str, tuple[EntryKind, ...]], ...] = (
    (translatable("Problems"), (EntryKind.CONDITION,)),
    (translatable("Allergies"), (EntryKind.ALLERGY,)),
    (translatable("Medications"), (EntryKind.MEDICATION,)),
    (translatable("Labs"), (EntryKind.LAB,)),
    (translatable("Vital signs"), (EntryKind.VITAL,)),
    (translatable("Other observations"), (EntryKind.OBSERVATION,)),
    (translatable("Notes"), (EntryKind.NOTE,)),
    (translatable("Reports"), (EntryKind.REPORT,)),
    (translatable("Imaging"), (EntryKind.IMAGING,)),
    (translatable("Procedures"), (EntryKind.PROCEDURE,)),
    (translatable("Immunizations"), (EntryKind.IMMUNIZATION,)),
    (translatable("Encounters"), (EntryKind.ENCOUNTER,)),
    (translatable("Care plans"), (EntryKind.CARE_PLAN,)),
    (translatable("Other entries"), (EntryKind.OTHER,)),
)
_SERIES = (EntryKind.LAB, EntryKind.VITAL, EntryKind.OBSERVATION)
"""Kinds of which each test is one row, with its earlier values below."""

_CURRENT = frozenset(("active", "recurrence", "relapse", "in-progress", "on-hold"))
_OPEN_FIRST = (EntryKind.CONDITION, EntryKind.MEDICATION, EntryKind.ALLERGY, EntryKind.CARE_PLAN)


@dataclass(frozen=True, slots=True)
class Line:
    """One row: its texts, the entry that it shows, and rows below it."""

    name: str
    value: str = ""
    date: str = ""
    entry: Entry | None = None
    flag: str = ""  # "high" or "low" by the reference range of the record, "" for neither
    below: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the panel: its title, the number of entries, and its rows."""

    title: str
    count: int
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordContents:
    """A patient and all sections of the record; `entries` by id."""

    patient: Patient
    sections: tuple[Section, ...]
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])


def contents_of(patient: Patient, entries: Sequence[Entry]) -> RecordContents:
    """Return a patient's record in sections; `entries` with the latest first."""
    sections = [_person(patient)]
    for title, kinds in _TITLES:
        own = [entry for entry in entries if entry.kind in kinds]
        if not own:
            continue
        if kinds[0] in _SERIES:
            lines = _by_test(own)
        else:
            if kinds[0] in _OPEN_FIRST:
                own.sort(key=lambda entry: entry.status not in _CURRENT or _is_refuted(entry))
            lines = [_line(entry) for entry in own]
        sections.append(Section(tr(title), len(own), tuple(lines)))
    sections.append(Section(tr("Timeline"), len(entries), tuple(_by_year(entries))))
    return RecordContents(patient, tuple(sections), {entry.id: entry for entry in entries})


def filtered(sections: Iterable[Section], text: str) -> tuple[Section, ...]:
    """Return the sections with only the rows whose texts contain every word of `text`."""
    words = text.casefold().split()
    if not words:
        return tuple(sections)

    def fits(line: Line) -> bool:
        searched = f"{line.name} {line.value} {line.date}".casefold()
        return all(word in searched for word in words)

    def kept(lines: Iterable[Line]) -> list[Line]:
        found: list[Line] = []
        for line in lines:
            below = line.below if fits(line) else tuple(kept(line.below))
            if below or fits(line):
                found.append(Line(line.name, line.value, line.date, line.entry, line.flag, below))
        return found

    chosen = [(section, tuple(kept(section.lines))) for section in sections]
    return tuple(Section(one.title, len(lines), lines) for one, lines in chosen if lines)


def value_text(value: Value | None) -> str:
    """Return a value as the record has it, with comparator and unit."""
    if value is None:
        return ""
    text = value.text or ("" if value.number is None else f"{value.number:g}")
    return " ".join(part for part in (value.comparator + text, value.unit) if part)


def short_value(value: Value | None) -> str:
    """Return a value for a narrow column: a number with at most five digits."""
    if value is None or value.number is None:
        return value_text(value)
    number = value.text if len(value.text) <= 7 else f"{value.number:.5g}"
    return " ".join(part for part in (value.comparator + number, value.unit) if part)


def flag_of(value: Value | None) -> str:
    """Return "high" or "low" where a value lies outside the record's own reference range."""
    if value is None or value.number is None:
        return ""
    if value.high is not None and value.number > value.high and value.comparator != "<":
        return "high"
    if value.low is not None and value.number < value.low and value.comparator != ">":
        return "low"
    return ""


_DETAILS = (
    *(translatable("Verification"), translatable("Category"), translatable("Interpretation")),
    *(translatable("Absent"), translatable("Reason"), translatable("Severity")),
    *(translatable("Body site"), translatable("Method"), translatable("Note")),
    *(translatable("Intent"), translatable("Reference range"), translatable("Identifiers")),
    *(translatable("Class"), translatable("Discharge"), translatable("Dosage")),
    *(translatable("Criticality"), translatable("Type"), translatable("Reaction")),
    *(translatable("Activities"), translatable("Accession number"), translatable("Modality")),
    *(translatable("Series"), translatable("Instances"), translatable("Description")),
    *(translatable("Total"), translatable("Onset"), translatable("Abatement")),
    *(translatable("Race"), translatable("Ethnicity"), translatable("Birth sex")),
    *(translatable("Marital status"), translatable("Language"), translatable("Multiple birth")),
)
"""Names of details that are translated; others are shown as the record's own fields are called."""
_STATUSES = (
    *(translatable("active"), translatable("inactive"), translatable("resolved")),
    *(translatable("recurrence"), translatable("relapse"), translatable("remission")),
    *(translatable("final"), translatable("amended"), translatable("corrected")),
    *(translatable("preliminary"), translatable("registered"), translatable("cancelled")),
    *(translatable("completed"), translatable("stopped"), translatable("on-hold")),
    *(translatable("finished"), translatable("in-progress"), translatable("planned")),
    *(translatable("not-done"), translatable("current"), translatable("superseded")),
    *(translatable("draft"), translatable("available"), translatable("confirmed")),
    translatable("refuted"),
)
"""Statuses of FHIR resources that are translated."""


def _detail_name(key: str) -> str:
    return tr(key.replace("_", " ").capitalize())


def details_of(entry: Entry, entries: dict[str, Entry]) -> str:
    """Return all that the record says of an entry, a line each, as plain text."""
    rows: list[tuple[str, str]] = []
    if entry.value is not None:
        rows.append((tr("Value"), value_text(entry.value)))
        rows.append((tr("Reference range"), _range_text(entry.value)))
    for part in as_read(entry.components):
        rows.append((part.name, value_text(part.value)))
        rows.append((tr("Reference range"), _range_text(part.value)))
    rows.append((tr("Date"), " – ".join(part for part in (entry.start, entry.end) if part)))
    rows.append((tr("Status"), tr(entry.status) if entry.status else ""))
    rows += [(_detail_name(name), text) for name, text in entry.details.items()]
    if entry.encounter in entries:
        rows.append((tr("Encounter"), entries[entry.encounter].name))
    for code in entry.codes:
        rows.append((tr("Code"), DOT.join(part for part in (code.code, code.system) if part)))
    for link in entry.links:
        there = entries.get(link)
        if there is not None:
            rows.append((there.name, short_value(there.value) or there.start[:_DAY]))
    rows.append((tr("Entry"), entry.id))
    lines = [f"{name}: {text}" for name, text in rows if text]
    return "\n".join([*lines, *(["", entry.text] if entry.text else [])])


def trend_of(entry: Entry, entries: Iterable[Entry]) -> list[tuple[float, float, str, str]]:
    """Return the values of a test over time: (POSIX time, value, entry's id, name of a component).

    Only values in the unit of `entry` (or of its component) and with a full date are returned, the
    earliest first. A day without a time is taken at its noon.
    """
    wanted = {(name, value.unit) for name, value in _values(entry) if value.number is not None}
    found: list[tuple[float, float, str, str]] = []
    for other in entries:
        if _test(other) != _test(entry):
            continue
        when = moment_of(other.start)
        for name, value in _values(other):
            number = value.number
            if when is not None and number is not None and (name, value.unit) in wanted:
                found.append((when, number, other.id, name))
    return sorted(found)


def moment_of(text: str) -> float | None:
    """Return the POSIX time of a FHIR dateTime with at least a day, or None."""
    if len(text) < _DAY:
        return None
    try:
        when = datetime.fromisoformat(text if len(text) > _DAY else f"{text}T12:00:00+00:00")
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


def age_text(patient: Patient, today: date) -> str:
    """Return the age in years, at death if the patient has died; "" without a full birth date."""
    try:
        born = date.fromisoformat(patient.birth_date)
        end = (
            date.fromisoformat(patient.deceased[:_DAY]) if patient.deceased[:1].isdigit() else today
        )
    except ValueError:
        return ""
    years = end.year - born.year - ((end.month, end.day) < (born.month, born.day))
    return tr("{years} y").format(years=years)


def who_text(patient: Patient, today: date) -> str:
    """Return sex, birth date, age and death of a patient in one line."""
    age = age_text(patient, today)
    born = tr("born {date}").format(date=patient.birth_date) if patient.birth_date else ""
    died = ""
    if patient.deceased:
        day = patient.deceased[:_DAY] if patient.deceased[:1].isdigit() else ""
        died = tr("died {date}").format(date=day).strip()
    return DOT.join(part for part in (tr(patient.gender), born, age, died) if part)


GENDERS = (
    translatable("male"),
    translatable("female"),
    translatable("other"),
    translatable("unknown"),
)


def _person(patient: Patient) -> Section:
    rows = [
        (tr("Name"), patient.name),
        (tr("Sex"), tr(patient.gender)),
        (tr("Birth date"), patient.birth_date),
        (tr("Died"), patient.deceased),
        *((_detail_name(name), text) for name, text in patient.details.items()),
        *((tr("Identifier"), f"{value}{DOT}{system}") for system, value in patient.identifiers),
        *((tr("Contact"), text) for text in patient.private),
    ]
    lines = tuple(Line(name, text) for name, text in rows if text)
    return Section(tr("Patient"), len(lines), lines)


def _is_refuted(entry: Entry) -> bool:
    return entry.details.get("verification", "").casefold() == "refuted"


def _line(entry: Entry) -> Line:
    status = "refuted" if _is_refuted(entry) else entry.status
    value = _short(entry) or (tr(status) if status else "")
    return Line(entry.name, value, entry.start[:_DAY], entry, _flag(entry))


def _by_test(entries: Sequence[Entry]) -> list[Line]:
    """Return a row for each test with its latest value, and rows of all its values below."""
    tests: dict[str, list[Entry]] = {}
    for entry in entries:
        tests.setdefault(_test(entry), []).append(entry)
    lines: list[Line] = []
    for own in sorted(tests.values(), key=lambda one: one[0].name.casefold()):
        valid = [entry for entry in own if entry.status != "cancelled"]
        last = _line((valid or own)[0])
        below = tuple(_dated(entry) for entry in own) if len(own) > 1 else ()
        lines.append(Line(last.name, last.value, last.date, last.entry, last.flag, below))
    return lines


def _dated(entry: Entry) -> Line:
    """Return the row of a value below its test, which is named there."""
    line = _line(entry)
    return Line(line.date or tr("No date"), line.value, "", entry, line.flag)


def _by_year(entries: Sequence[Entry]) -> list[Line]:
    years: dict[str, list[Line]] = {}
    for entry in entries:
        years.setdefault(entry.start[:4] or tr("No date"), []).append(_line(entry))
    return [
        Line(year, tr("{count} entries").format(count=len(lines)), below=tuple(lines))
        for year, lines in years.items()
    ]


def _test(entry: Entry) -> str:
    code = next(iter(entry.codes), None)
    return f"{code.system}|{code.code}" if code is not None and code.code else entry.name


def _values(entry: Entry) -> list[tuple[str, Value]]:
    own = [("", entry.value)] if entry.value is not None else []
    return [*own, *((part.name, part.value) for part in entry.components)]


def _each(entry: Entry, text: Callable[[Value], str]) -> list[str]:
    return [found for _name, value in _values(entry) if (found := text(value))]


def _short(entry: Entry) -> str:
    units = {value.unit for _name, value in _values(entry)}
    if entry.value is None and len(entry.components) > 1 and len(units) == 1:
        numbers = [_shortest(part.value) for part in as_read(entry.components)]
        return f"{' / '.join(numbers)} {units.pop()}".strip()
    return ", ".join(_each(entry, short_value))


def _shortest(value: Value) -> str:
    """Return a value without its unit, so that two of them fit a column."""
    if value.number is not None and len(value.text) > 5 and abs(value.number) < 1000:
        return f"{value.comparator}{value.number:.3g}"
    return short_value(value).removesuffix(value.unit).strip()


def _flag(entry: Entry) -> str:
    return next(iter(_each(entry, flag_of)), "")


def _range_text(value: Value) -> str:
    low = "" if value.low is None else f"{value.low:g}"
    high = "" if value.high is None else f"{value.high:g}"
    if low and high:
        return f"{low} – {high}"
    return f"≥ {low}" if low else f"≤ {high}" if high else ""
