"""Tools on medications: what a patient takes and took, and interactions that a table knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from app.paths import shipped_table
from app.records.types import RXNORM, Entry, EntryKind, Patient
from app.tools.api import JsonDict, ToolContext, ToolResult, ToolRetry
from app.tools.record.patient_results import (
    DatedInput,
    PatientInput,
    PatientOutput,
    RecordTool,
    checked_date,
    counted,
    day_of,
    entries_table,
    entry_json,
    named,
    patient_of,
    result,
    today,
    whose,
)

_CURRENT = frozenset(("active", "in-progress"))
_UNCLEAR = frozenset(("", "on-hold", "unknown", "draft", "intended", "preparation"))
_SAID = 10
_SEVERITIES = ("contraindicated", "major", "moderate")
_NO_ALLERGY = frozenset(("refuted", "entered-in-error"))


class MedicationsInput(DatedInput):
    """Arguments of `get_medication_list`."""

    text: str = Field(default="", description='Only medications whose name contains this: "ibu".')
    status: Literal["all", "current", "past"] = Field(
        default="all", description="Current ones, past ones, or all."
    )


class MedicationsOutput(PatientOutput):
    """A patient's medications, the latest first, by what the record says of their status."""

    current: list[JsonDict] = Field(description="Active, and not ended by date.")
    unclear: list[JsonDict] = Field(description="On hold, planned, or without a status.")
    past: list[JsonDict] = Field(description="Completed, stopped, cancelled, ended by date, ...")
    total: int
    left_out: int = Field(description="Past ones that are not listed, for their number.")


def use_of(entry: Entry) -> Literal["current", "unclear", "past"]:
    """Return whether a medication is in use, by its status and the date of its end."""
    end = day_of(entry.end)
    if end is not None and len(entry.end) >= 10 and end < today():
        return "past"
    if entry.status in _CURRENT:
        return "current"
    return "unclear" if entry.status in _UNCLEAR else "past"


def _get_medication_list(args: MedicationsInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    found = context.records.entries(
        patient.id,
        (EntryKind.MEDICATION,),
        text=args.text.strip(),
        since=checked_date(args.since, "since"),
        until=checked_date(args.until, "until"),
    )
    groups: dict[str, list[Entry]] = {"current": [], "unclear": [], "past": []}
    for one in found:
        groups[use_of(one)].append(one)
    wanted = tuple(groups) if args.status == "all" else (args.status,)
    if args.status == "current":
        wanted = ("current", "unclear")
    shown = [one for name in wanted for one in groups[name]]
    allowed = {one.id for one in shown[: args.limit]}
    output: JsonDict = {"patient": whose(patient)}
    for name, entries in groups.items():
        output[name] = [_form(one) for one in entries if name in wanted and one.id in allowed]
    output |= {"total": len(found), "left_out": len(shown) - len(allowed)}
    parts = [f"Record of {named(patient)}: {counted(len(groups['current']), 'current medication')}"]
    parts[0] += _said(groups["current"]) if "current" in wanted else ""
    if groups["unclear"] and "unclear" in wanted:
        count = counted(len(groups["unclear"]), "medication")
        parts.append(f"{count} of unclear status{_said(groups['unclear'])}")
    count = counted(len(groups["past"]), "past medication")
    parts.append(count + (_said(groups["past"]) if "past" in wanted else ""))
    artifacts = entries_table(context, patient, shown, "Medications", "medications")
    return result(context, f"{'. '.join(parts)}.", output, artifacts)


def _form(entry: Entry) -> JsonDict:
    kept = {key: entry.details[key] for key in ("dosage", "reason") if entry.details.get(key)}
    return {**entry_json(entry), **kept}


def _said(entries: Sequence[Entry]) -> str:
    if not entries:
        return ""
    told = [
        f"{one.name}, {one.status or 'no status'}, {one.start[:10] or 'no date'} [{one.id}]"
        for one in entries[:_SAID]
    ]
    more = f"; and {len(entries) - _SAID} more" if len(entries) > _SAID else ""
    return f": {'; '.join(told)}{more}"


class InteractionsInput(PatientInput):
    """Arguments of `check_drug_interactions`."""

    drugs: list[str] | None = Field(
        default=None,
        description='Further drugs to check, one name each: ["warfarin", "clarithromycin"].',
    )
    only_named: bool = Field(
        default=False, description="Check `drugs` with each other only, not with a record's."
    )
    include_past: bool = Field(
        default=False, description="Also check medications that the record says are past."
    )


class InteractionsOutput(BaseModel):
    """What the table of interactions says, and what it says nothing of."""

    patient: dict[str, str] | None = Field(description="None if no record's drugs were checked.")
    interactions: list[JsonDict] = Field(
        description="Each with drugs, entries, severity, effect and source."
    )
    allergies: list[JsonDict] = Field(description="Drugs that meet an allergy of the record.")
    checked: list[JsonDict] = Field(description="Drugs of the table, with their ingredients.")
    not_checked: list[JsonDict] = Field(
        description="Drugs, or parts of them, that the table does not know: nothing is said of "
        "them, neither that they interact nor that they do not."
    )
    allergies_not_checked: list[JsonDict]
    pairs_without_row: int = Field(
        description="Pairs of known drugs for which the table has no row: not known to be safe."
    )
    coverage: str = Field(description="What the table covers.")


@dataclass(frozen=True, slots=True)
class Drug:
    """A medication, or a drug that was named, and the ingredients that the table knows.

    Attributes:
        name: As the record or the question has it.
        entry: Id of the record's entry, "" for a drug that was named.
        ingredients: Names in the table.
        unknown: Parts of the name in which no ingredient was recognised.
    """

    name: str
    entry: str
    ingredients: tuple[str, ...]
    unknown: tuple[str, ...]


@cache
def _names() -> tuple[tuple[str, re.Pattern[str]], ...]:
    drugs: dict[str, Any] = shipped_table("drug_interactions", "drugs")
    found: list[tuple[str, re.Pattern[str]]] = []
    for ingredient, facts in drugs.items():
        words = "|".join(re.escape(name) for name in facts["names"])
        found.append((ingredient, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)))
    return tuple(found)


@cache
def _by_rxcui() -> dict[str, str]:
    drugs: dict[str, Any] = shipped_table("drug_interactions", "drugs")
    return {facts["rxcui"]: name for name, facts in drugs.items() if "rxcui" in facts}


@cache
def _members() -> dict[str, frozenset[str]]:
    """Return the ingredients of each class, and of each ingredient itself."""
    drugs: dict[str, Any] = shipped_table("drug_interactions", "drugs")
    classes: dict[str, list[str]] = shipped_table("drug_interactions", "classes")
    found = {name: frozenset((name,)) for name in drugs}
    return found | {name: frozenset(members) for name, members in classes.items()}


def drug_of(name: str, entry: Entry | None = None) -> Drug:
    """Return a drug with the ingredients that the table knows.

    The parts of a combination ("Amoxicillin 250 MG / Clavulanate 125 MG Oral Tablet") are looked up
    one by one, so that an unknown part is noticed.
    """
    texts = [name]
    codes: list[str] = []
    if entry is not None:
        texts += [code.display for code in entry.codes if code.display]
        codes = [code.code for code in entry.codes if code.system == RXNORM]
    ingredients = [_by_rxcui()[code] for code in codes if code in _by_rxcui()]
    unknown: list[str] = []
    for part in _parts(name):
        found = [one for one, pattern in _names() if pattern.search(part)]
        ingredients += found
        if not found:
            unknown.append(part)
    if len(unknown) == len(_parts(name)):  # a brand name, say, whose display says more
        for text in texts[1:]:
            parts = {
                part: [n for n, pattern in _names() if pattern.search(part)]
                for part in _parts(text)
            }
            if any(parts.values()):
                ingredients += [one for found in parts.values() for one in found]
                unknown = [part for part, found in parts.items() if not found]
                break
        if ingredients and len(_parts(name)) == 1 and len(unknown) == 1 and codes:
            unknown = []  # the code itself names the ingredient
    return Drug(name, entry.id if entry else "", tuple(dict.fromkeys(ingredients)), tuple(unknown))


def _parts(name: str) -> list[str]:
    return [part.strip() for part in re.split(r"\s/\s|\s\+\s", name) if part.strip()] or [name]


def interactions_of(drugs: Sequence[Drug]) -> tuple[list[JsonDict], int]:
    """Return the table's rows that apply to pairs of drugs, the most severe first.

    Also the number of pairs of known ingredients, of different drugs, without a row.
    """
    rows: list[dict[str, str]] = shipped_table("drug_interactions", "interactions")["rows"]
    members = _members()
    found: dict[tuple[int, str, str], JsonDict] = {}
    missing: set[tuple[str, str]] = set()
    for first, second in combinations(drugs, 2):
        for one, other in _ingredient_pairs(first, second):
            fitting = [
                number
                for number, row in enumerate(rows)
                if (one in members[row["a"]] and other in members[row["b"]])
                or (one in members[row["b"]] and other in members[row["a"]])
            ]
            if not fitting:
                missing.add((min(one, other), max(one, other)))
            for number in fitting:
                row = rows[number]
                key = (number, min(one, other), max(one, other))
                held = found.setdefault(
                    key,
                    {
                        "drugs": [one, other],
                        "severity": row["severity"],
                        "effect": row["effect"],
                        "rule": f"{row['a']} with {row['b']}",
                        "source": row["source"],
                        "entries": [],
                    },
                )
                entries = cast("list[str]", held["entries"])
                entries += [e for e in (first.entry, second.entry) if e and e not in entries]
    ranked = sorted(found.values(), key=lambda one: _SEVERITIES.index(one["severity"]))
    return ranked, len(missing)


def _ingredient_pairs(first: Drug, second: Drug) -> Iterable[tuple[str, str]]:
    for one in first.ingredients:
        for other in second.ingredients:
            if one != other:
                yield one, other


def _check_drug_interactions(args: InteractionsInput, context: ToolContext) -> ToolResult:
    asked = [name.strip() for name in args.drugs or () if name.strip()]
    patient = _patient(args, context, asked)
    drugs: list[Drug] = []
    allergies: list[Entry] = []
    if patient is not None:
        records = context.records
        taken = records.entries(patient.id, (EntryKind.MEDICATION,))
        if not args.include_past:
            taken = [one for one in taken if use_of(one) != "past"]
        drugs += [drug_of(one.name, one) for one in taken]
        allergies = list(records.entries(patient.id, (EntryKind.ALLERGY,)))
    drugs += [drug_of(name) for name in asked]
    found, missing = interactions_of(drugs)
    met, unmatched = allergy_conflicts(drugs, allergies)
    output: JsonDict = {
        "patient": whose(patient) if patient else None,
        "interactions": found,
        "allergies": met,
        "checked": [
            {"name": one.name, "entry": one.entry or None, "ingredients": list(one.ingredients)}
            for one in drugs
            if one.ingredients
        ],
        "not_checked": [
            {"name": one.name, "entry": one.entry or None, "part": part}
            for one in drugs
            for part in one.unknown
        ],
        "allergies_not_checked": unmatched,
        "pairs_without_row": missing,
        "coverage": _coverage(),
    }
    summary = _interaction_summary(patient, drugs, allergies, output, args)
    return result(context, summary, output)


def _patient(args: InteractionsInput, context: ToolContext, asked: Sequence[str]) -> Patient | None:
    """Return whose medications are checked; None for the named drugs alone.

    Raises:
        ToolFailed: No record is open, and fewer than two drugs are named.
        ToolRetry: It is not clear whose record is meant.
    """
    if args.only_named:
        if len(asked) < 2:
            raise ToolRetry("name at least two drugs in `drugs`, or set only_named to false")
        return None
    known = args.patient_id or context.record_patient
    if len(asked) > 1 and not known:
        return None
    return patient_of(context, args.patient_id)


def _coverage() -> str:
    rows = len(shipped_table("drug_interactions", "interactions")["rows"])
    drugs = len(shipped_table("drug_interactions", "drugs"))
    return (
        f"A selection of {rows} rules on {drugs} ingredients from US prescribing information and "
        "FDA communications. Not covered: all other drugs, doses, routes, foods, herbs, and "
        "conditions such as kidney failure or pregnancy."
    )


def allergy_conflicts(
    drugs: Sequence[Drug], allergies: Sequence[Entry]
) -> tuple[list[JsonDict], list[JsonDict]]:
    """Return drugs that meet an allergy, and active allergies to nothing that the table knows."""
    rules: list[dict[str, Any]] = shipped_table("drug_interactions", "allergies")["rows"]
    members = _members()
    met: list[JsonDict] = []
    unmatched: list[JsonDict] = []
    for allergy in allergies:
        status, sure = allergy.status, allergy.details.get("verification", "")
        if status in ("inactive", "resolved") or sure.casefold() in _NO_ALLERGY:
            continue
        reasons = _allergy_reasons(allergy, rules, members)
        if not reasons:
            unmatched.append({"allergy": allergy.name, "entry": allergy.id})
        for drug in drugs:
            for ingredient in drug.ingredients:
                if ingredient in reasons:
                    says, source = reasons[ingredient]
                    met.append(
                        {
                            "allergy": allergy.name,
                            "allergy_entry": allergy.id,
                            "drug": drug.name,
                            "drug_entry": drug.entry or None,
                            "says": says,
                            "source": source,
                        }
                    )
    return met, unmatched


def _allergy_reasons(
    allergy: Entry, rules: Sequence[Mapping[str, Any]], members: Mapping[str, frozenset[str]]
) -> dict[str, tuple[str, str]]:
    """Return the ingredients that an allergy concerns, with why and the source."""
    reasons: dict[str, tuple[str, str]] = {}
    own = drug_of(allergy.name, allergy).ingredients
    for ingredient in own:
        reasons[ingredient] = ("the record has an allergy to this drug", f"[{allergy.id}]")
    texts = " ".join((allergy.name, *(code.display for code in allergy.codes))).casefold()
    for rule in rules:
        if any(re.search(rf"\b{re.escape(word)}\b", texts) for word in rule["words"]):
            for name in rule["drugs"]:
                for ingredient in members[name]:
                    reasons.setdefault(ingredient, (rule["says"], rule["source"]))
    return reasons


def _interaction_summary(
    patient: Patient | None,
    drugs: Sequence[Drug],
    allergies: Sequence[Entry],
    output: JsonDict,
    args: InteractionsInput,
) -> str:
    which = "current and past" if args.include_past else "current"
    if patient is None:
        parts = [f"Checked with each other: {', '.join(one.name for one in drugs)}."]
    else:
        of_record = [one for one in drugs if one.entry]
        parts = [
            f"Record of {named(patient)}: {counted(len(of_record), f'{which} medication')}"
            + (f", and asked: {', '.join(args.drugs)}." if args.drugs else ".")
        ]
    for one in output["interactions"]:
        cited = "".join(f" [{entry}]" for entry in one["entries"])
        parts.append(
            f"{one['severity'].capitalize()}: {' with '.join(one['drugs'])}{cited}: "
            f"{one['effect']} ({one['source']})."
        )
    for one in output["allergies"]:
        drug = f"{one['drug']} [{one['drug_entry']}]" if one["drug_entry"] else one["drug"]
        parts.append(
            f"Allergy: {one['allergy']} [{one['allergy_entry']}] and {drug}: {one['says']} "
            f"({one['source']})."
        )
    known = output["checked"]
    if not output["interactions"] and len(known) > 1:
        names = ", ".join(dict.fromkeys(one["name"] for one in known))
        parts.append(
            f"The table has no rule on any pair of {names}; that does not prove that they do not "
            "interact."
        )
    if args.include_past and patient is not None:
        parts.append("Past and current medications were not all taken at the same time.")
    if output["not_checked"]:
        parts.append(
            "NOT CHECKED, since the table does not know them: "
            f"{', '.join(dict.fromkeys(one['part'] for one in output['not_checked']))}."
        )
    if patient is not None and not allergies:
        parts.append(
            "The record has no entry on allergies, which does not mean that there are none."
        )
    if output["allergies_not_checked"]:
        names = ", ".join(
            f"{one['allergy']} [{one['entry']}]" for one in output["allergies_not_checked"]
        )
        parts.append(f"Allergies that are to no drug of the table: {names}.")
    return f"{' '.join(parts)} {output['coverage']}"


TOOLS = (
    RecordTool(
        _get_medication_list,
        name="get_medication_list",
        title="Medications",
        icon="list",
        description=(
            "Returns a patient's current and past medications from the record, by status and "
            "dates, with dosage and codes."
        ),
        Input=MedicationsInput,
        Output=MedicationsOutput,
        phrases=("medication list", "medications", "current meds", "what drugs"),
    ),
    RecordTool(
        _check_drug_interactions,
        name="check_drug_interactions",
        title="Drug interactions",
        icon="triangle-alert",
        description=(
            "Checks a patient's current medications, and drugs that are named, against a table "
            "of interactions with sources, and against the record's allergies. Drugs that the "
            "table does not know are listed as not checked: say so in the answer."
        ),
        Input=InteractionsInput,
        Output=InteractionsOutput,
        phrases=("drug interactions", "interact", "interaction check"),
    ),
)
