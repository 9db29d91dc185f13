"""The tool `calculate_patient_score`: fills a score's inputs from the patient's record.

An entry gives an input its value with date and unit. What the record does not say is missing, never
"no": a list of diagnoses that lacks one says nothing about it, unless the user confirms that it is
complete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from pydantic import Field

from app.records.types import LOINC, RXNORM, SNOMED, Code, Entry, EntryKind, Patient
from app.records.types import Value as RecordValue
from app.tools.api import JsonDict, ToolContext, ToolResult, ToolRetry
from app.tools.record.clinical_score import (
    NAMES,
    ScoreOutput,
    checked_inputs,
    checked_result,
    grounds_of,
    output_of,
    said_json,
    said_text,
    score_named,
    statement_of,
)
from app.tools.record.medications import use_of
from app.tools.record.patient_results import (
    PatientInput,
    RecordTool,
    age_on,
    checked_date,
    day_of,
    named,
    patient_of,
    result,
    said_value,
    today,
    whose,
)
from app.tools.record.scores.engine import Score, shown
from app.tools.record.scores.inputs import Input, Value, WrongInput, read_value
from app.tools.record.scores.record_codes import (
    MADE_FOR,
    REMARKS,
    SMOKING_STATUS,
    Condition,
    Measured,
    Medication,
    Smoking,
    fills_of,
)
from app.tools.record.scores.typed_values import typed_values

_OBSERVED = (EntryKind.LAB, EntryKind.VITAL, EntryKind.OBSERVATION)
_NOT_VALID = frozenset(("entered-in-error", "cancelled", "not-done"))
_NO_LONGER = frozenset(("resolved", "inactive", "remission"))
_REFUTED = frozenset(("refuted", "entered-in-error"))
_SUSPECTED = frozenset(("unconfirmed", "provisional", "differential"))
_NEVER_SMOKED = re.compile(r"never|nonsmoker|non-smoker", re.IGNORECASE)
_FORMER_SMOKER = re.compile(r"former|ex-smoker|ex smoker|quit", re.IGNORECASE)
_SMOKES = re.compile(r"current|every ?day|some ?days?|daily|smokes|heavy|light", re.IGNORECASE)


class PatientScoreInput(PatientInput):
    """Arguments of `calculate_patient_score`."""

    score_name: str = Field(description=f"One of {NAMES}.")
    inputs: dict[str, Any] = Field(
        default_factory=dict,
        description="Values that the record does not have, as in calculate_clinical_score; they "
        "go before those of the record.",
    )
    text: str = Field(
        default="",
        max_length=5_000,
        description="Values in words instead, as the user wrote them; they go before the record's.",
    )
    as_of: str | None = Field(
        default=None,
        description="The day for which the score is calculated (2020-05-31); by default today, of "
        "a dead patient the day of death. Later entries are left out.",
    )
    max_days: int | None = Field(
        default=None,
        ge=0,
        le=36500,
        description="Oldest measurement that counts, in days before that day; by default the "
        "score's own (1 in acute illness, 30 for liver scores, else 365).",
    )
    unrecorded_means_absent: bool = Field(
        default=False,
        description="True only if the user confirms that the record is complete: conditions and "
        "medication that are not recorded then count as absent.",
    )


class PatientScoreOutput(ScoreOutput):
    """Output of `calculate_patient_score`.

    Attributes:
        patient: Id and name of the record's patient.
        as_of: The day for which the score is calculated.
        max_days: Oldest measurement that counts, in days.
        filled: Inputs with value, unit, date, and the entry that gave it.
        not_recorded: Inputs that the record does not give, with the reason.
        unrecorded_means_absent: Whether what is not recorded counts as absent.
        assumed_absent: Inputs that count as absent for that.
        remarks: What the entries leave open.
    """

    patient: dict[str, str] = Field(default_factory=dict[str, str])
    as_of: str = ""
    max_days: int = 0
    filled: list[JsonDict] = Field(default_factory=list[JsonDict])
    not_recorded: list[JsonDict] = Field(default_factory=list[JsonDict])
    unrecorded_means_absent: bool = False
    assumed_absent: list[str] = Field(default_factory=list[str])
    remarks: list[str] = Field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class _Found:
    """What the record says about an input: a value with its entry, or why there is none."""

    value: Value | None = None
    entry: Entry | None = None
    why: str = ""
    note: str = ""
    can_be_absent: bool = False


@dataclass(slots=True)
class _Reading:
    """Reads a patient's record for one score."""

    context: ToolContext
    patient: Patient
    score: Score
    day: date
    days: int
    entries: dict[str, list[Entry]] = field(default_factory=dict[str, "list[Entry]"])

    def find(self, item: Input) -> _Found:
        """Return what the record says about an input."""
        if item.name == "age":
            return self._age(item)
        if item.name == "sex":
            return self._sex(item)
        fills = fills_of(self.score.name, item.name)
        if not fills:
            return _Found(why="not looked for in the record: to be judged or asked")
        found: list[_Found] = []
        for fill in fills:
            if isinstance(fill, Measured):
                found.append(self._measured(item, fill))
            elif isinstance(fill, Condition):
                found.append(self.condition(fill))
            elif isinstance(fill, Medication):
                found.append(self._medication(fill))
            else:
                found.append(self._smoking(fill))
        with_entry = [one for one in found if one.entry is not None]
        if not with_entry:
            return found[0]
        # Of several quantities (urea, urea nitrogen) the most recent measurement counts.
        return max(with_entry, key=lambda one: one.entry.start if one.entry else "")

    def _age(self, item: Input) -> _Found:
        age = age_on(self.patient, self.day)
        if age is None:
            return _Found(why="the record has no full birth date")
        return _Found(read_value(item, {"value": age, "unit": "years"}), why="birth date")

    def _sex(self, item: Input) -> _Found:
        birth_sex = self.patient.details.get("birth_sex", "").casefold()
        told = birth_sex or self.patient.gender.casefold()
        if told not in ("m", "f", "male", "female"):
            return _Found(why=f"sex recorded as {told or 'nothing'}")
        return _Found(read_value(item, told), why="birth sex" if birth_sex else "gender")

    def _coded(self, system: str, codes: Sequence[str], kinds: Sequence[EntryKind]) -> list[Entry]:
        """Return valid entries with one of these codes up to the day, the latest first."""
        if not codes:
            return []
        return self._entries(kinds, [Code(system, code) for code in codes])

    def _entries(self, kinds: Sequence[EntryKind], codes: Sequence[Code] = ()) -> list[Entry]:
        """Return valid entries up to the day, those without a date last."""
        found = self.context.records.entries(self.patient.id, kinds, codes=codes)
        return [
            one
            for one in found
            if one.status not in _NOT_VALID
            and ((start := day_of(one.start)) is None or start <= self.day)
        ]

    def _age_in_days(self, entry: Entry) -> int | None:
        start = day_of(entry.start)
        return None if start is None else (self.day - start).days

    def _measured(self, item: Input, fill: Measured) -> _Found:
        entries = self._coded(LOINC, fill.loinc, _OBSERVED)
        values = [(one, value) for one in entries if (value := _value_in(one, fill.loinc))]
        if not values:
            return _Found(why="no such measurement in the record")
        entry, value = values[0]
        days = self._age_in_days(entry)
        told = f"{entry.name} {said_value(value)} of {entry.start[:10] or 'no date'}"
        if days is None:
            return _Found(why=f"{told}: its date is not known")
        if days > self.days and not (fill.lasting and self._grown_up_at(entry)):
            return _Found(why=f"{told} is older than {self.days} days (max_days)")
        if value.number is None or value.comparator:
            return _Found(why=f"{told} is no number that can be counted")
        raw: Any = value.number
        if item.kind == "number":
            raw = {"value": value.number, "unit": value.unit}
        try:
            read = read_value(item, raw, fill.other_way)
        except WrongInput as error:
            return _Found(why=f"{told}: {error}")
        return _Found(read, entry, f"most recent measurement, {entry.start[:10]}")

    def _grown_up_at(self, entry: Entry) -> bool:
        age = age_on(self.patient, day_of(entry.start))
        return age is not None and age >= 20

    def condition(self, fill: Condition) -> _Found:
        """Return whether the record has one of the conditions or procedures."""
        recorded = [
            (one, one.details.get("verification", "").casefold())
            for one in self._coded(SNOMED, tuple(fill.snomed), (EntryKind.CONDITION,))
        ]
        suspected = [one for one, verified in recorded if verified in _SUSPECTED]
        confirmed = [one for one, verified in recorded if verified not in _SUSPECTED | _REFUTED]
        counted = [one for one in confirmed if fill.ever or not self._is_over(one)]
        counted = [one for one in counted if self._is_old_enough(one, fill.at_least_days)]
        if counted:
            entry = counted[-1] if fill.ever else counted[0]
            state = f", {entry.status}" if entry.status else ""
            return _Found(True, entry, f"recorded{state}", fill.note)
        procedures = self._coded(SNOMED, fill.procedures, (EntryKind.PROCEDURE,))
        if fill.within_days:
            procedures = [
                one
                for one in procedures
                if (days := self._age_in_days(one)) is not None and days <= fill.within_days
            ]
        if len(procedures) >= fill.count:
            return _Found(True, procedures[0], "procedure recorded", fill.note)
        if suspected:
            told = f"{suspected[0].name} [{suspected[0].id}]"
            return _Found(why=f"{told} is only suspected: to be judged")
        if confirmed and fill.at_least_days:
            told = f"{confirmed[0].name} [{confirmed[0].id}]"
            return _Found(
                why=f"{told} did not begin at least {fill.at_least_days} days ago, or its date is "
                "not known: to be judged"
            )
        if similar := self._similar(fill):
            told = f"{similar.name} [{similar.id}]"
            return _Found(why=f"{told} may be it, but has none of the known codes: to be judged")
        if confirmed:
            over = f"{confirmed[0].name} [{confirmed[0].id}] is recorded as {confirmed[0].status}"
            return _Found(why=f"{over or 'over'}, and nothing active", can_be_absent=True)
        return _Found(why="not recorded, which is not the same as absent", can_be_absent=True)

    def _similar(self, fill: Condition) -> Entry | None:
        """Return a condition that is called like one of those looked for, whatever its code."""
        names = [_plain(name) for name in fill.snomed.values()]
        for entry in self._entries((EntryKind.CONDITION,)):
            known = any(one.system == SNOMED and one.code in fill.snomed for one in entry.codes)
            if not known and any(name in _plain(entry.name) for name in names):
                return entry
        return None

    def _is_over(self, entry: Entry) -> bool:
        """Return whether a condition was over on the day."""
        end = day_of(entry.end)
        if end is not None:
            return end <= self.day
        return entry.status in _NO_LONGER

    def _is_old_enough(self, entry: Entry, days: int) -> bool:
        began = self._age_in_days(entry)
        return not days or (began is not None and began >= days)

    def _medication(self, fill: Medication) -> _Found:
        names = re.compile(
            rf"(?<!\w)({'|'.join(map(re.escape, fill.ingredients.values()))})(?!\w)", re.IGNORECASE
        )
        fitting = [
            one
            for one in self._entries((EntryKind.MEDICATION,))
            if any(code.system == RXNORM and code.code in fill.ingredients for code in one.codes)
            or names.search(" ".join((one.name, *(code.display for code in one.codes))))
        ]
        for entry in fitting:
            if self._is_in_use(entry):
                return _Found(True, entry, "current medication", fill.note)
        if fitting:
            why = f"{fitting[0].name} [{fitting[0].id}] is not current, and nothing else is"
            return _Found(why=why, can_be_absent=True)
        return _Found(why="not recorded, which is not the same as absent", can_be_absent=True)

    def _is_in_use(self, entry: Entry) -> bool:
        """Return whether a medication was in use on the day, by its end, else by its status."""
        end = day_of(entry.end)
        return use_of(entry) == "current" if end is None else end >= self.day

    def _smoking(self, fill: Smoking) -> _Found:
        entries = [
            one
            for one in self._coded(LOINC, (SMOKING_STATUS,), _OBSERVED)
            if one.value is not None and one.value.text
        ]
        if not entries:
            return _Found(why="no smoking status in the record")
        entry = entries[0]
        text = entry.value.text if entry.value else ""
        told = f'"{text}" of {entry.start[:10] or "no date"}'
        days = self._age_in_days(entry)
        if days is None or days > max(self.days, 365):
            return _Found(why=f"smoking status {told} is too old")
        if _NEVER_SMOKED.search(text):
            return _Found(False, entry, f"smoking status {told}")
        if _FORMER_SMOKER.search(text):
            if fill.former == "open":
                return _Found(why=f"smoking status {told}: when the patient stopped is not known")
            return _Found(False, entry, f"smoking status {told}")
        if _SMOKES.search(text):
            return _Found(True, entry, f"smoking status {told}")
        return _Found(why=f"smoking status {told} is not understood")


def _plain(name: str) -> str:
    """Return a name without the differences between British and American spelling."""
    return name.casefold().replace("ae", "e").replace("oe", "e")


def _value_in(entry: Entry, codes: Sequence[str]) -> RecordValue | None:
    """Return the value that has one of these LOINC codes: a component's, else the entry's own."""
    for part in entry.components:
        if any(code.system == LOINC and code.code in codes for code in part.codes):
            return part.value
    if any(code.system == LOINC and code.code in codes for code in entry.codes):
        return entry.value
    return None


def _day_of_score(args: PatientScoreInput, patient: Patient) -> date:
    if text := checked_date(args.as_of, "as_of"):
        day = day_of(text)
        if day is None or len(text) < 10:
            raise ToolRetry("as_of is a whole date, such as 2020-05-31")
        return day
    death = day_of(patient.deceased)
    return death if death is not None and len(patient.deceased) >= 10 else today()


def _calculate_patient_score(args: PatientScoreInput, context: ToolContext) -> ToolResult:
    score = score_named(args.score_name)
    patient = patient_of(context, args.patient_id)
    day = _day_of_score(args, patient)
    days = score.days if args.max_days is None else args.max_days
    given, said = checked_inputs(score, args.inputs), typed_values(score, args.text)
    values = said.values | given
    reading = _Reading(context, patient, score, day, days)
    filled: list[JsonDict] = [
        {
            "input": name,
            "value": shown(value),
            "from": "given in the call" if name in given else "said in the question",
        }
        for name, value in values.items()
    ]
    not_recorded: list[JsonDict] = []
    assumed: list[str] = []
    remarks: list[str] = []
    sources: dict[str, Entry] = {}
    for item in score.accepted:
        if item.name in values:
            continue
        found = reading.find(item)
        if found.value is not None:
            values[item.name] = found.value
            if any(one.name == item.name for one in score.inputs):
                filled.append(_filled(item, found))
            if found.entry is not None:
                sources[item.name] = found.entry
            if found.note:
                remarks.append(f"{item.name}: {found.note}")
        elif args.unrecorded_means_absent and found.can_be_absent:
            values[item.name] = False
            assumed.append(item.name)
        elif any(one.name == item.name for one in score.inputs):
            not_recorded.append({"input": item.name, "label": item.label, "why": found.why})
    remarks += [*_made_for(reading), *REMARKS.get(score.name, ())]
    outcome = checked_result(score, values)
    output = output_of(outcome, values)
    _cite(output["items"], sources)
    still_open = [one for one in not_recorded if _matters(one["input"], outcome.missing, score)]
    output |= PatientScoreOutput(
        **output,
        patient=whose(patient),
        as_of=day.isoformat(),
        max_days=days,
        filled=filled,
        not_recorded=still_open,
        unrecorded_means_absent=args.unrecorded_means_absent,
        assumed_absent=assumed,
        remarks=remarks,
    ).model_dump() | said_json(said)
    text = _summary(named(patient), output, statement_of(outcome), grounds_of(score))
    return result(context, " ".join(filter(None, (text, said_text(said)))), output)


def _matters(name: str, missing: Sequence[str], score: Score) -> bool:
    """Return whether an input that is not recorded leaves the score open, or hangs on one."""
    return name in missing or score.input(name).after in missing


def _filled(item: Input, found: _Found) -> JsonDict:
    assert found.value is not None
    told: JsonDict = {"input": item.name, "value": shown(found.value), "from": found.why}
    if found.entry is not None:
        told |= {
            "entry": found.entry.id,
            "name": found.entry.name,
            "date": found.entry.start or None,
        }
    return told


def _made_for(reading: _Reading) -> list[str]:
    """Return a remark if the record lacks the condition that the score is made for."""
    made = MADE_FOR.get(reading.score.name)
    if made is None:
        return []
    found = reading.condition(Condition(made[1], ever=True))
    if found.entry is not None or not found.can_be_absent:
        return []
    return [f"the score is made for patients with {made[0]}, which is not recorded"]


def _cite(items: Sequence[JsonDict], sources: Mapping[str, Entry]) -> None:
    """Add to each item the entries that gave its inputs."""
    for item in items:
        used = [sources[name] for name in item["input"].split(", ") if name in sources]
        if used:
            item["entries"] = [
                {"entry": one.id, "name": one.name, "date": one.start or None} for one in used
            ]


def _summary(who: str, output: Mapping[str, Any], statement: str, grounds: str) -> str:
    parts = [f"Record of {who}, {output['as_of']}."]
    parts.append(statement)
    told = [
        f"{_words(one['input'])} {one['value']}"
        + (f" ({(one['date'] or 'no date')[:10]}) [{one['entry']}]" if "entry" in one else "")
        + (" (given)" if one["from"] == "given in the call" else "")
        for one in output["filled"]
    ]
    if told:
        parts.append(f"From: {'; '.join(told)}.")
    reasons: dict[str, list[str]] = {}
    for one in output["not_recorded"]:
        reasons.setdefault(one["why"], []).append(_words(one["input"]))
    if reasons:
        open_ones = "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items())
        parts.append(f"Missing: {open_ones}.")
    if output["assumed_absent"]:
        names = ", ".join(map(_words, output["assumed_absent"]))
        parts.append(f"Counted as absent because not recorded, as you confirmed: {names}.")
    parts += [f"Note: {remark}." for remark in output["remarks"]]
    return " ".join((*parts, grounds))


def _words(name: str) -> str:
    return name.replace("_", " ")


CALCULATE_PATIENT_SCORE = RecordTool(
    _calculate_patient_score,
    name="calculate_patient_score",
    title="Calculate a score from the record",
    icon="list",
    description="Calculates a published clinical score from the patient's record: fills the inputs "
    "from the most recent measurements, conditions and medication, shows which entry gave "
    "which point, and lists what is not recorded, which is not the same as absent. "
    f"Scores: {NAMES}.",
    Input=PatientScoreInput,
    Output=PatientScoreOutput,
    timeout_s=30.0,
    phrases=("score of the patient", "patient score"),
)
