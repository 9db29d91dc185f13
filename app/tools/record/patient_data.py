"""Tools on patients, laboratory results, vital signs and conditions of the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from app.records.types import Code, Entry, EntryKind, Patient
from app.tools.api import JsonDict, ToolContext, ToolInput, ToolResult
from app.tools.plots import Plot, write_plot
from app.tools.record.critical_values import ADULT, codes_named, flag_of, is_judged
from app.tools.record.patient_results import (
    DatedInput,
    EntriesOutput,
    PatientInput,
    PatientOutput,
    RecordTool,
    age_at_entry,
    age_on,
    checked_date,
    counted,
    day_of,
    entries_output,
    entries_table,
    entry_json,
    left_out_text,
    named,
    new_name,
    patient_of,
    require_record,
    result,
    said_entry,
    today,
    trend_plots,
    whose,
)
from app.tools.tables import table_of, write_table

_SAID = 8
"""Entries that a summary names one by one."""
_MOST_NAMES = 40


class ListPatientsInput(ToolInput):
    """Arguments of `list_patients`."""

    text: str = Field(default="", description="Only patients whose name or id contains this.")
    limit: int = Field(default=50, ge=1, le=1000, description="At most so many patients.")
    offset: int = Field(default=0, ge=0, description="Patients to pass over, by name.")


class ListPatientsOutput(BaseModel):
    """The patients of the record."""

    patients: list[JsonDict] = Field(description="Each with id, name, birth_date and gender.")
    total: int = Field(description="All patients of the record.")


def _list_patients(args: ListPatientsInput, context: ToolContext) -> ToolResult:
    require_record(context)
    found = context.records.patients(args.text.strip(), limit=args.limit, offset=args.offset)
    total = context.records.count()
    rows = [
        {
            "id": one.id,
            "name": one.name,
            "birth_date": one.birth_date,
            "gender": one.gender,
            "deceased": one.deceased,
        }
        for one in found
    ]
    names = ", ".join(named(one) for one in found[:_SAID])
    more = ", ..." if len(found) > _SAID else ""
    like = f' that contain "{args.text.strip()}"' if args.text.strip() else ""
    summary = f"{counted(len(found), 'patient')}{like} of {total} in the record: {names}{more}."
    if not found:
        summary = f"The record has {counted(total, 'patient')}, none{like or ' after that place'}."
    artifacts = []
    if rows:
        path = context.out_dir / f"{new_name('patients')}.csv"
        artifacts = [write_table(path, table_of(rows), "Patients of the record")]
    return result(context, summary, {"patients": rows, "total": total}, artifacts)


class DemographicsOutput(PatientOutput):
    """A patient's demographics, as the record has them."""

    birth_date: str
    age: int | None = Field(description="Years at `age_on`; None without a full date of birth.")
    age_on: str | None = Field(description="Today, or the date of death.")
    gender: str
    deceased: str
    identifiers: list[JsonDict]
    details: dict[str, str] = Field(description="Race, marital status, language, ...")
    contact: list[str] = Field(description="Addresses, phones and the like.")


def _get_demographics(args: PatientInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    dead = bool(patient.deceased) and patient.deceased != "false"
    moment = day_of(patient.deceased) if dead else today()
    age = age_on(patient, moment)
    parts = [f"born {patient.birth_date or 'on an unknown date'}"]
    if age is not None and moment is not None:
        when = f"at death on {patient.deceased[:10]}" if dead else f"on {moment.isoformat()}"
        parts.append(f"{age} years old {when}")
    elif dead:
        parts.append("deceased")
    parts.append(f"gender {patient.gender or 'not recorded'}")
    parts += [f"{key.replace('_', ' ')} {text}" for key, text in patient.details.items() if text]
    output = {
        "patient": whose(patient),
        "birth_date": patient.birth_date,
        "age": age,
        "age_on": moment.isoformat() if age is not None and moment else None,
        "gender": patient.gender,
        "deceased": patient.deceased,
        "identifiers": [{"system": one, "value": value} for one, value in patient.identifiers],
        "details": dict(patient.details),
        "contact": list(patient.private),
    }
    cited = f"[Patient/{patient.id}]"
    return result(context, f"{named(patient)}: {', '.join(parts)} {cited}.", output)


class ObservationsInput(DatedInput):
    """Arguments of `get_patient_labs` and `get_vital_signs`."""

    tests: list[str] | None = Field(
        default=None,
        description='Only these, by name, part of the name or LOINC code: ["creatinine"], '
        '["hba1c"], ["2160-0"]. Leave it out for all.',
    )
    latest_only: bool = Field(default=False, description="Only the latest value of each test.")
    abnormal_only: bool = Field(
        default=False, description="Only values outside a reference range or critical limit."
    )


class ObservationsOutput(EntriesOutput):
    """Measured values of a patient."""

    critical: list[JsonDict] = Field(description="Critical values among all that fit.")
    not_found: list[str] = Field(description="Asked tests of which the record has no value.")
    recorded: dict[str, int] = Field(
        description="All tests that this record has and how often, if something was not found."
    )
    not_judged: int = Field(
        description="Values that were looked at and have no critical limit or reference range: "
        "neither normal nor not."
    )


def _labs(args: ObservationsInput, context: ToolContext) -> ToolResult:
    return _observations(args, context, EntryKind.LAB)


def _vitals(args: ObservationsInput, context: ToolContext) -> ToolResult:
    return _observations(args, context, EntryKind.VITAL)


_WORDS = {
    EntryKind.LAB: ("laboratory result", "Laboratory results", "labs"),
    EntryKind.VITAL: ("vital sign", "Vital signs", "vitals"),
}
_MEASURED = (EntryKind.LAB, EntryKind.VITAL, EntryKind.OBSERVATION)


def _observations(args: ObservationsInput, context: ToolContext, kind: EntryKind) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    noun, title, stem = _WORDS[kind]
    wanted = [name.strip() for name in args.tests or () if name.strip()]
    found, missing = _wanted(args, context, patient, kind, wanted)
    flagged = {one.id: _flags(patient, one) for one in found}
    children = [one for one in found if _is_child(patient, one)]
    not_judged = sum(1 for one in found if not flagged[one.id] and not _has_limits(one))
    if args.abnormal_only:
        found = [one for one in found if flagged[one.id]]
    if args.latest_only:
        found = _latest(found)

    def form(entry: Entry) -> JsonDict:
        flags = flagged[entry.id]
        return {**entry_json(entry), **({"flags": flags} if flags else {})}

    output = entries_output(patient, found, args.limit, form)
    output["critical"] = [
        form(one) for one in found if any("critical" in flag["level"] for flag in flagged[one.id])
    ]
    output["flagged"] = [form(one) for one in found if flagged[one.id]]
    output["not_found"] = missing
    output["recorded"] = {}
    if missing or not found:
        every = context.records.entries(patient.id, (kind,))
        output["recorded"] = dict(Counter(one.name for one in every).most_common(_MOST_NAMES))
    output["not_judged"] = not_judged
    warnings = []
    if children:
        warnings.append(
            f"critical limits are for adults: {counted(len(children), 'value')} from before the "
            f"age of {ADULT} were not compared with them"
        )
    artifacts = entries_table(context, patient, found, title, stem)
    artifacts += trend_plots(context, patient, found, stem)
    summary = _observation_summary(patient, found, output, noun, args.abnormal_only)
    del output["flagged"]  # they are in the entries
    return result(context, summary, output, artifacts, warnings)


def _wanted(
    args: ObservationsInput,
    context: ToolContext,
    patient: Patient,
    kind: EntryKind,
    wanted: Sequence[str],
) -> tuple[list[Entry], list[str]]:
    """Return the entries that fit, the latest first, and the asked tests without any."""
    records, since = context.records, checked_date(args.since, "since")
    until = checked_date(args.until, "until")
    if not wanted:
        return list(records.entries(patient.id, (kind,), since=since, until=until)), []
    chosen: dict[str, Entry] = {}
    missing: list[str] = []
    for name in wanted:
        # Some sources give no category, so that what is asked for by name is looked for in all.
        codes, own = codes_named(name), list[Entry]()
        for kinds in ((kind,), _MEASURED):
            if codes and not own:
                own += records.entries(patient.id, kinds, codes=codes, since=since, until=until)
            if not own:  # no such codes, or a name that the table does not know
                own += records.entries(patient.id, kinds, text=name, since=since, until=until)
        if not own:
            missing.append(name)
        chosen |= {one.id: one for one in own}
    every = records.entries(patient.id, _MEASURED, since=since, until=until)
    return [one for one in every if one.id in chosen], missing


def _latest(entries: Sequence[Entry]) -> list[Entry]:
    """Return the first entry of each name that was not cancelled; the latest come first."""
    found: dict[str, Entry] = {}
    for one in entries:
        if one.status != "cancelled":
            found.setdefault(one.name, one)
    return list(found.values())


def _flags(patient: Patient, entry: Entry) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for part in (None, *entry.components):
        flag = flag_of(patient, entry, part)
        if flag is not None:
            of = {"of": part.name} if part is not None else {}
            found.append({"level": flag.level, **of, "limit": flag.limit, "source": flag.source})
    return found


def _has_limits(entry: Entry) -> bool:
    values = [entry.value, *(one.value for one in entry.components)]
    own = any(one is not None and (one.low is not None or one.high is not None) for one in values)
    return own or bool(entry.details.get("interpretation")) or is_judged(entry)


def _is_child(patient: Patient, entry: Entry) -> bool:
    age = age_at_entry(patient, entry)
    return age is not None and age < ADULT and is_judged(entry)


def _observation_summary(
    patient: Patient, found: Sequence[Entry], output: JsonDict, noun: str, abnormal: bool
) -> str:
    what = f"abnormal {noun}" if abnormal else noun
    parts = [f"Record of {named(patient)}: {counted(len(found), what)}."]
    if output["critical"]:
        ids = {one["entry"]: one["flags"] for one in output["critical"]}
        told = [
            f"{said_entry(one)} is {ids[one.id][0]['level']} (limit {ids[one.id][0]['limit']}, "
            f"{ids[one.id][0]['source']})"
            for one in found
            if one.id in ids
        ]
        parts.append(f"CRITICAL: {'; '.join(told[:_SAID])}.")
    latest = _latest(found)
    if latest:
        levels = {one["entry"]: one["flags"][0]["level"] for one in output["flagged"]}
        said = "; ".join(
            said_entry(one) + (f" ({levels[one.id]})" if one.id in levels else "")
            for one in latest[:_SAID]
        )
        more = f"; and {len(latest) - _SAID} more" if len(latest) > _SAID else ""
        parts.append(f"Latest: {said}{more}.")
    if output["not_found"]:
        parts.append(f"The record has no value of: {', '.join(output['not_found'])}.")
    if abnormal and output["not_judged"]:
        parts.append(
            f"{counted(output['not_judged'], 'value')} could not be judged: the record gives no "
            "reference range, and there is no critical limit to compare with."
        )
    return " ".join(parts) + left_out_text(output)


class ConditionsInput(DatedInput):
    """Arguments of `get_patient_conditions`."""

    text: str = Field(default="", description='Only conditions whose name contains this: "asthma".')
    status: Literal["all", "active", "past"] = Field(
        default="all", description="Active ones, past ones (resolved, inactive, remission) or all."
    )


class ConditionsOutput(EntriesOutput):
    """A patient's conditions."""

    active: int
    past: int
    recorded: dict[str, int] = Field(description="All conditions of this record, if none fits.")
    allergies: list[JsonDict] = Field(
        description="All allergies of the record; none recorded does not mean that there are none."
    )


_ACTIVE = frozenset(("active", "recurrence", "relapse"))


def is_active(entry: Entry) -> bool:
    """Return whether a condition is active by its clinical status, or without one has no end.

    One that was refuted is not.
    """
    if entry.details.get("verification", "").casefold() in _NOT_SO:
        return False
    return entry.status in _ACTIVE if entry.status else not entry.end


def _get_patient_conditions(args: ConditionsInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    found = list(
        context.records.entries(
            patient.id,
            (EntryKind.CONDITION,),
            text=args.text.strip(),
            since=checked_date(args.since, "since"),
            until=checked_date(args.until, "until"),
        )
    )
    if args.status != "all":
        found = [one for one in found if is_active(one) == (args.status == "active")]
    active = [one for one in found if is_active(one)]

    def form(entry: Entry) -> JsonDict:
        details = {
            key: entry.details[key]
            for key in ("verification", "severity", "category", "onset", "abatement")
            if entry.details.get(key)
        }
        return {**entry_json(entry), "active": is_active(entry), **details}

    output = entries_output(patient, found, args.limit, form)
    output |= {"active": len(active), "past": len(found) - len(active), "recorded": {}}
    if not found:
        every = context.records.entries(patient.id, (EntryKind.CONDITION,))
        output["recorded"] = dict(Counter(one.name for one in every).most_common(_MOST_NAMES))
    allergies = context.records.entries(patient.id, (EntryKind.ALLERGY,))
    output["allergies"] = [
        {**entry_json(one), "verification": one.details.get("verification", "")}
        for one in allergies
    ]
    told = [
        f"{one.name}, {one.status or ('active' if is_active(one) else 'past')}, since "
        f"{one.start[:10] or 'an unknown date'}{_unsure(one)} [{one.id}]"
        for one in (*active, *(one for one in found if not is_active(one)))
    ]
    like = f' called "{args.text.strip()}"' if args.text.strip() else ""
    which = "" if args.status == "all" else f"{args.status} "
    summary = f"Record of {named(patient)}: {counted(len(found), f'{which}condition')}{like}"
    summary += f" ({len(active)} active, {len(found) - len(active)} past)" if found else ""
    summary += f": {'; '.join(told[:_SAID])}" if told else ""
    summary += "; ..." if len(told) > _SAID else ""
    artifacts = entries_table(context, patient, found, "Conditions", "conditions")
    said = f"{summary}. {_allergies_text(allergies)}{left_out_text(output)}"
    return result(context, said, output, artifacts)


def _allergies_text(allergies: Sequence[Entry]) -> str:
    told = [
        f"{one.name}{f', {one.status}' if one.status else ''}{_unsure(one)} [{one.id}]"
        for one in allergies
    ]
    if not told:
        return "The record has no entry on allergies, which does not mean that there are none."
    return f"Allergies: {'; '.join(told)}."


def _unsure(entry: Entry) -> str:
    said = entry.details.get("verification", "")
    return f" ({said})" if said and said != "confirmed" else ""


class BatchConditionsInput(ToolInput):
    """Arguments of `analyze_batch_conditions`."""

    condition: str = Field(
        default="", description='Only conditions whose name contains this: "diabetes".'
    )
    codes: list[str] | None = Field(
        default=None, description='Only conditions with one of these codes: ["44054006"].'
    )
    patient_limit: int | None = Field(
        default=None, ge=1, description="Look at no more than so many patients; all if left out."
    )


class BatchConditionsOutput(BaseModel):
    """How many patients have which conditions."""

    patients_analyzed: int
    patients_in_record: int
    patients_with_any: int | None = Field(
        description="Patients with at least one of the conditions that were asked for."
    )
    conditions: list[JsonDict] = Field(
        description="Each with name, patients (who have it, once each) and prevalence (0 to 1)."
    )
    left_out: int = Field(description="Rarer conditions that are not listed.")


_MOST_CONDITIONS = 100
_NOT_SO = frozenset(("refuted", "entered-in-error", "entered in error"))


def _analyze_batch_conditions(args: BatchConditionsInput, context: ToolContext) -> ToolResult:
    require_record(context)
    codes = tuple(Code("", code.strip()) for code in args.codes or () if code.strip())
    seen, counts = context.records.condition_counts(
        args.condition.strip(), codes=codes, patient_limit=args.patient_limit
    )
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = [
        {"name": name, "patients": count, "prevalence": count / seen if seen else 0.0}
        for name, count in ranked
    ]
    asked = bool(args.condition.strip() or codes)
    any_of = _patients_with_any(args, codes, context) if asked and len(rows) > 1 else None
    if asked and len(rows) < 2:
        any_of = sum(counts.values())
    output: JsonDict = {
        "patients_analyzed": seen,
        "patients_with_any": any_of,
        "patients_in_record": context.records.count(),
        "conditions": rows[:_MOST_CONDITIONS],
        "left_out": max(len(rows) - _MOST_CONDITIONS, 0),
    }
    like = f' called "{args.condition.strip()}"' if args.condition.strip() else ""
    told = "; ".join(
        f"{row['name']}: {row['patients']} of {seen} ({row['prevalence']:.1%})"
        for row in rows[:_SAID]
    )
    summary = f"{counted(seen, 'patient')} looked at, {counted(len(rows), 'condition')}{like}"
    summary += f": {told}" if told else ""
    if any_of is not None and len(rows) > 1:
        summary += f". {any_of} of {seen} patients ({any_of / seen:.1%}) have at least one of them"
    warnings = list[str]()
    artifacts = []
    if rows:
        name = new_name("conditions")
        table = write_table(context.out_dir / f"{name}.csv", table_of(rows), "Conditions")
        common = table_of(rows[:20])
        write_table(context.out_dir / f"{name}-common.csv", common, "Conditions")
        plot = Plot(
            kind="bar",
            title="Patients with each condition",
            table=f"{name}-common.csv",
            x="name",
            y="patients",
            x_title="Condition",
            y_title="Patients",
            note=f"{counted(seen, 'patient')} looked at.",
        )
        artifacts = [table, write_plot(context.out_dir / f"{name}.json", plot)]
    return result(context, f"{summary}.", output, artifacts, warnings)


def _patients_with_any(
    args: BatchConditionsInput, codes: tuple[Code, ...], context: ToolContext
) -> int:
    """Return how many patients have at least one condition that fits; refuted ones do not count."""
    count = 0
    for one in context.records.patients(limit=args.patient_limit):
        context.cancel.check()
        found = context.records.entries(
            one.id, (EntryKind.CONDITION,), codes=codes, text=args.condition.strip()
        )
        count += any(
            entry.details.get("verification", "").casefold() not in _NOT_SO for entry in found
        )
    return count


LIST_PATIENTS = RecordTool(
    _list_patients,
    name="list_patients",
    title="List patients",
    icon="list",
    description="Lists the patients of the open record: id, name, birth date and gender.",
    Input=ListPatientsInput,
    Output=ListPatientsOutput,
    phrases=("list patients", "which patients", "who is in the record"),
)
GET_DEMOGRAPHICS = RecordTool(
    _get_demographics,
    name="get_demographics",
    title="Demographics",
    icon="user",
    description=(
        "Returns a patient's demographics from the record: birth date, age, gender, "
        "identifiers, address, language and the like."
    ),
    Input=PatientInput,
    Output=DemographicsOutput,
    phrases=("demographics", "date of birth", "how old is the patient"),
)
GET_PATIENT_LABS = RecordTool(
    _labs,
    name="get_patient_labs",
    title="Laboratory results",
    icon="activity",
    description=(
        "Returns a patient's laboratory results from the record with date, unit, codes and "
        "reference range, flags critical ones by published limits, and plots their course. "
        "What was not measured is listed as not found."
    ),
    Input=ObservationsInput,
    Output=ObservationsOutput,
    phrases=("lab results", "laboratory results", "labs", "blood tests"),
)
GET_VITAL_SIGNS = RecordTool(
    _vitals,
    name="get_vital_signs",
    title="Vital signs",
    icon="activity",
    description=(
        "Returns a patient's vital signs from the record (blood pressure, heart rate, "
        "temperature, weight, ...) with date, unit and codes, flags critical ones by NEWS2, "
        "and plots their course."
    ),
    Input=ObservationsInput,
    Output=ObservationsOutput,
    phrases=("vital signs", "vitals", "blood pressure"),
)
GET_PATIENT_CONDITIONS = RecordTool(
    _get_patient_conditions,
    name="get_patient_conditions",
    title="Conditions",
    icon="stethoscope",
    description=(
        "Returns a patient's conditions (diagnoses, problem list) from the record with onset, "
        "status and codes."
    ),
    Input=ConditionsInput,
    Output=ConditionsOutput,
    phrases=("problem list", "diagnoses", "past medical history", "conditions"),
)
ANALYZE_BATCH_CONDITIONS = RecordTool(
    _analyze_batch_conditions,
    name="analyze_batch_conditions",
    title="Conditions of many patients",
    icon="chart-scatter",
    description=(
        "Counts how many patients of the record have each condition, or those that contain a "
        "text, in one call for all patients or the first `patient_limit`. Do not list the "
        "patients first."
    ),
    Input=BatchConditionsInput,
    Output=BatchConditionsOutput,
    phrases=("prevalence", "most common conditions", "how many patients have"),
)
TOOLS = (
    LIST_PATIENTS,
    GET_DEMOGRAPHICS,
    GET_PATIENT_LABS,
    GET_VITAL_SIGNS,
    GET_PATIENT_CONDITIONS,
    ANALYZE_BATCH_CONDITIONS,
)
