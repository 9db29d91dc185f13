"""The tool on the rest of a patient's history: immunizations, procedures, visits, habits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from app.records.types import Entry, EntryKind
from app.tools.api import JsonDict, ToolContext, ToolResult
from app.tools.record.patient_results import (
    DatedInput,
    EntriesOutput,
    RecordTool,
    checked_date,
    counted,
    entries_output,
    entries_table,
    entry_json,
    left_out_text,
    named,
    patient_of,
    result,
    said_entry,
)

Topic = Literal["immunizations", "procedures", "visits", "smoking", "alcohol", "pregnancy"]


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries that belong to a topic: those of some kinds, whose name has one of some words."""

    kinds: tuple[EntryKind, ...]
    words: tuple[str, ...] = ("",)


_SAID_OF_PATIENT = (EntryKind.OBSERVATION, EntryKind.CONDITION, EntryKind.LAB, EntryKind.PROCEDURE)
_TOPICS: Mapping[Topic, _Entries] = {
    "immunizations": _Entries((EntryKind.IMMUNIZATION,)),
    "procedures": _Entries((EntryKind.PROCEDURE,)),
    "visits": _Entries((EntryKind.ENCOUNTER,)),
    "smoking": _Entries(_SAID_OF_PATIENT, ("smok", "tobacco", "nicotine")),
    "alcohol": _Entries(_SAID_OF_PATIENT, ("alcohol",)),
    "pregnancy": _Entries(
        _SAID_OF_PATIENT, ("pregnan", "gravid", "gestation", "gonadotropin", "obstetric")
    ),
}
_SAID = 12
"""Names of entries that a summary gives for a topic."""


class HistoryInput(DatedInput):
    """Arguments of `get_patient_history`."""

    topics: list[Topic] | None = Field(default=None, description="All if left out.")
    text: str = Field(default="", description='Only entries whose name contains this: "tetanus".')


class HistoryOutput(EntriesOutput):
    """Entries of a patient's history, the latest first."""

    by_topic: dict[str, int] = Field(
        description="Entries of each topic; 0 says that the record has none, not that there is "
        "nothing."
    )


def _get_patient_history(args: HistoryInput, context: ToolContext) -> ToolResult:
    patient = patient_of(context, args.patient_id)
    since, until = checked_date(args.since, "since"), checked_date(args.until, "until")
    wanted = args.text.strip().casefold()
    by_topic: dict[str, list[Entry]] = {}
    for topic in dict.fromkeys(args.topics or _TOPICS):
        of = _TOPICS[topic]
        found = {
            one.id: one
            for word in of.words
            for one in context.records.entries(
                patient.id, of.kinds, text=word, since=since, until=until
            )
            if wanted in one.name.casefold()
        }
        by_topic[topic] = sorted(found.values(), key=lambda one: one.start, reverse=True)
    every = {one.id: one for found in by_topic.values() for one in found}
    entries = sorted(every.values(), key=lambda one: one.start, reverse=True)
    output: JsonDict = entries_output(patient, entries, args.limit, entry_json)
    output["by_topic"] = {topic: len(found) for topic, found in by_topic.items()}
    told = " ".join(_said_of(topic, found, args.text) for topic, found in by_topic.items())
    artifacts = entries_table(context, patient, entries, "History", "history")
    summary = f"Record of {named(patient)}. {told}{left_out_text(output)}"
    return result(context, summary, output, artifacts)


def _said_of(topic: str, entries: Sequence[Entry], text: str) -> str:
    """Return a sentence on a topic: each name once, with how often it is there and the latest."""
    like = f' called "{text.strip()}"' if text.strip() else ""
    if not entries:
        return (
            f"The record has no entry on {topic}{like}, which does not mean that there is nothing."
        )
    latest: dict[tuple[str, bool], Entry] = {}
    times: dict[tuple[str, bool], int] = {}
    for one in entries:  # a refused shot is no later one of those that were given
        key = (one.name, one.status in ("not-done", "cancelled"))
        latest.setdefault(key, one)
        times[key] = times.get(key, 0) + 1
    said = [
        said_entry(one) + (f" and {times[key] - 1} earlier" if times[key] > 1 else "")
        for key, one in latest.items()
    ]
    more = f"; and {len(said) - _SAID} more" if len(said) > _SAID else ""
    count = counted(len(entries), "entry", "entries")
    return f"{topic.capitalize()}, {count}{like}: {'; '.join(said[:_SAID])}{more}."


TOOLS = (
    RecordTool(
        _get_patient_history,
        name="get_patient_history",
        title="History",
        icon="clock",
        description=(
            "Returns what a patient's record says of immunizations, procedures (operations), "
            "visits (encounters, admissions), smoking, alcohol and pregnancy. Diagnoses, "
            "allergies and medication have tools of their own."
        ),
        Input=HistoryInput,
        Output=HistoryOutput,
        phrases=("vaccinations", "previous operations", "last visit", "smoking status"),
    ),
)
