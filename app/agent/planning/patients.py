"""Finds the patient of the open records whom a question names: "meds for John Okafor"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from app.agent.image_reference import resource_of
from app.agent.planning.plan import Decision, Reply, Scene, Step, ToolPlan
from app.agent.planning.vocabulary import DETERMINERS, folded
from app.records.types import Patient, Records
from app.tools.api import Resource

_WORD = re.compile(r"[^\W_][\w'’-]*")
_INTRODUCED = re.compile(
    r"\b(?:[Pp]atient|[Oo]f|[Ff]or|[Aa]bout|[Ff]rom|[Vv]on|[Ff]ür|[Mm]rs?\.?|[Ff]rau|[Hh]errn?)\s+"
    r"((?:[A-ZÀ-Þ][a-zß-ÿ'’-]+\s+){1,2}[A-ZÀ-Þ][a-zß-ÿ'’-]+)"
)
_LEAST = 3  # letters of a part of a name
_FOUND = 20  # patients looked at for one word


@dataclass(frozen=True, slots=True)
class NamedPatients:
    """The patients whom a question may mean.

    Attributes:
        patients: Those whose names fit best; () if none is named.
        unknown: A name in the question that no open record has; "" for none.
        spans: Where the names stand in the question.
    """

    patients: tuple[Patient, ...] = ()
    unknown: str = ""
    spans: tuple[tuple[int, int], ...] = ()

    def without_names(self, text: str) -> str:
        """Return the question with "patient" in place of names, which may be ordinary words.

        Its length stays the same.
        """
        whole: list[tuple[int, int]] = []
        for start, end in sorted(self.spans):
            if whole and not text[whole[-1][1] : start].strip():
                whole[-1] = (whole[-1][0], end)
            else:
                whole.append((start, end))
        for start, end in whole:
            said = "patient" if end - start >= len("patient") else "pt"
            text = f"{text[:start]}{said.ljust(end - start)}{text[end:]}"
        return text


def named_patients(question: str, records: Records, known: Sequence[str] = ()) -> NamedPatients:
    """Return the patients whom a question names by name, id or another identifier.

    Two parts of a name must fit, or one alone that is written with a capital within a sentence.
    `known` are words that are no names although they are written with capitals ("Chest").
    """
    if not records.count():
        return NamedPatients()
    words = list(_words(question))
    fits: dict[str, tuple[int, Patient, list[tuple[int, int]]]] = {}
    for word, start, end, capital in words:
        if len(word) < _LEAST or word in DETERMINERS:
            continue
        for patient in records.patients(word, limit=_FOUND):
            whole = word in _identifiers(patient)
            if not whole and not (word in _names(patient) and (capital or len(words) > 1)):
                continue
            weight = 10 if whole else 2 if capital else 1
            count, _, spans = fits.get(patient.id, (0, patient, []))
            fits[patient.id] = (count + weight, patient, [*spans, (start, end)])
    best = max((weight for weight, _, _ in fits.values()), default=0)
    if best >= 2:
        found = [(patient, spans) for weight, patient, spans in fits.values() if weight == best]
        taken = tuple(dict.fromkeys(span for _, spans in found for span in spans))
        return NamedPatients(tuple(patient for patient, _ in found), spans=taken)
    unknown = _INTRODUCED.search(question)
    if unknown and not any(word.casefold() in known for word in unknown[1].split()):
        return NamedPatients(unknown=unknown[1])
    return NamedPatients()


def _words(question: str) -> Iterator[tuple[str, int, int, bool]]:
    """Yield each word folded, its place, and whether its capital is not that of a sentence."""
    for found in _WORD.finditer(question):
        begins = not question[: found.start()].strip() or question[: found.start()].rstrip()[
            -1
        ] in (".?!:\n")
        word = re.sub(r"['’]s$", "", found[0])
        yield (
            folded(word)[0],
            found.start(),
            found.start() + len(word),
            (word[0].isupper() and not begins),
        )


def _names(patient: Patient) -> set[str]:
    texts = (patient.name, *patient.names)
    parts = (part for text in texts for part in _WORD.findall(text))
    return {folded(re.sub(r"\d+$", "", part) or part)[0] for part in parts if len(part) >= _LEAST}


def _identifiers(patient: Patient) -> set[str]:
    return {folded(value)[0] for value in (patient.id, *(one for _, one in patient.identifiers))}


def for_patient(plan: Decision, named: NamedPatients, scene: Scene) -> Decision:
    """Return the plan with the patient whom the question means, or a reply that asks which one.

    A question that names nobody is about the patient whose record is in use.
    """
    if not isinstance(plan, ToolPlan):
        return plan
    slots = {step.tool: _patient_slot(step.tool, scene) for step in plan.steps}
    if not any(_lacks_patient(step, slots[step.tool]) for step in plan.steps):
        return plan
    if named.unknown:
        return Reply(
            f'No patient called "{named.unknown}" is in the open record. Ask for the list of '
            "patients, or open another record (File > Open patient record)."
        )
    if len(named.patients) > 1:
        listed = "; ".join(_described(patient) for patient in named.patients[:_LISTED])
        return Reply(f"Which patient do you mean? {listed}. Ask again with the id.")
    meant = named.patients[0].id if named.patients else scene.record_patient
    if not meant:
        if any(_requires_patient(step, scene) for step in plan.steps):
            return Reply(
                "Whose record do you mean? Several are open and none is in use: name the patient, "
                "or choose one in the record panel."
            )
        return plan
    steps = (
        replace(step, arguments={slots[step.tool]: meant, **step.arguments})
        if _lacks_patient(step, slots[step.tool])
        else step
        for step in plan.steps
    )
    return replace(plan, steps=tuple(steps))


_LISTED = 8


def _described(patient: Patient) -> str:
    born = f"born {patient.birth_date}, " if patient.birth_date else ""
    return f"{patient.name} ({born}id {patient.id})"


def _patient_slot(tool: str, scene: Scene) -> str:
    """Return the argument by which a tool takes a patient; "" if it takes none."""
    schema = scene.tools.get(tool)
    fields = schema.parameters.get("properties", {}) if schema else {}
    named = (name for name, field in fields.items() if resource_of(field) is Resource.RECORD)
    return next(named, "patient_id" if "patient_id" in fields else "")


def _lacks_patient(step: Step, slot: str) -> bool:
    return bool(slot) and slot not in step.arguments and not step.skip


def _requires_patient(step: Step, scene: Scene) -> bool:
    schema = scene.tools.get(step.tool)
    needed = schema.parameters.get("required", ()) if schema else ()
    return _patient_slot(step.tool, scene) in needed
