"""The tools `compute_differential` and `list_presentations`."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from app.tools.api import (
    Approval,
    JsonDict,
    ToolContext,
    ToolInput,
    ToolResult,
    ToolRetry,
    ToolSpec,
)
from app.tools.diagnosis.differential import (
    Differential,
    Evidence,
    InformationGain,
    Probability,
    Weight,
)
from app.tools.diagnosis.evidence_sources import image_evidence, record_evidence, text_evidence
from app.tools.diagnosis.table import Hypothesis, Presentation, Source, presentations
from app.tools.diagnosis.table_matching import match_tables, tells_of_child
from app.tools.models.cards import cards

COMPUTE, LIST = "compute_differential", "list_presentations"
NOT_FOR_DIAGNOSIS = "Not for diagnosis: the figures are published averages; a physician decides."
_KEPT = "differential"
_MOST_NEXT = 5


class DifferentialInput(ToolInput):
    """Arguments of `compute_differential`."""

    presentation: str = Field(
        default="",
        description="The complaint or the suspected disease, or an id of list_presentations; left "
        "out, it is found in `text`, or is that of the conversation so far.",
    )
    text: str = Field(
        default="",
        max_length=20_000,
        description="What is known, in words: symptoms, signs, results with values and units.",
    )
    present: list[str] = Field(default=[], description="Findings that are present, by name or id.")
    absent: list[str] = Field(default=[], description="Findings that are absent.")
    priors: dict[str, float] = Field(
        default={}, description="Probabilities before any finding that replace the table's."
    )
    fresh: bool = Field(
        default=False, description="Whether to forget what the conversation told before."
    )


class DifferentialOutput(BaseModel):
    """A differential with all that it rests on."""

    presentation: JsonDict = Field(description="id, title and population.")
    evidence: list[JsonDict] = Field(description="finding, name, present, origin, link; in order.")
    hypotheses: list[JsonDict] = Field(
        description="The likeliest first: id, name, prior, probability, low and high (all figures "
        "at one end of their intervals), weights (each with its ratio and source), silent."
    )
    steps: list[dict[str, float]] = Field(description="Probabilities before and after each step.")
    entropy_bits: float
    next: list[JsonDict] = Field(
        description="What would tell most: finding, name, bits, cost, harm, and the probabilities "
        "if it is present or absent."
    )
    unused: list[str] = Field(description="What was read and could not be used, and why.")


class ListPresentationsInput(ToolInput):
    """Arguments of `list_presentations`."""

    text: str = Field(default="", description="Only those whose title or disease contains this.")


class ListPresentationsOutput(BaseModel):
    """The presentations for which there are published ratios."""

    presentations: list[JsonDict] = Field(
        description="id, title, diseases, and how many findings and ratios."
    )


def find_finding(presentation: Presentation, name: str) -> str | None:
    """Return the key of a finding by its key, name or one of its words, else None."""
    wanted = name.casefold().strip()
    for key, finding in presentation.findings.items():
        if wanted in (key.casefold(), finding.name.casefold(), *finding.words):
            return key
    return None


class ComputeDifferential:
    """Computes a differential and keeps it for the conversation."""

    spec = ToolSpec(
        name=COMPUTE,
        description=(
            "Computes how likely each disease of a presentation is, from published likelihood "
            "ratios: of what is said, of findings on the images that a person accepted, and of the "
            "record's latest values. Says what would tell most next, with cost and harm, and what "
            "has no number. Not for diagnosis."
        ),
        Input=DifferentialInput,
        Output=DifferentialOutput,
        approval=Approval.COMPUTE,
        pack="diagnosis",
        title="Differential diagnosis",
        icon="git-branch",
        phrases=("differential diagnosis", "likelihood ratio", "post-test probability"),
    )

    def run(self, args: DifferentialInput, context: ToolContext) -> ToolResult:
        """Compute the differential; for errors see `app.tools.api.Tool.run`."""
        known = presentations()
        kept: JsonDict = {} if args.fresh else context.store.get(_KEPT) or {}
        unused: list[str] = []
        image, record_id = _shown_patient(context), context.record_patient
        if kept and not _is_same_patient(kept, image, record_id):
            kept = {}
            unused.append("what was said before: it may be about another patient")
        presentation, others = _chosen(args, known, kept)
        unused += others
        if tells_of_child(args.text) and presentation.population.startswith("Adults"):
            unused.append("that the patient is a child: the figures are of adults")
        told = kept if kept.get("presentation") == presentation.id else {}
        evidence = {item["finding"]: Evidence(**item) for item in told.get("evidence", ())}
        given: dict[str, bool] = {}
        for item in _given(args, presentation, unused):
            if given.setdefault(item.finding, item.present) != item.present:
                finding = presentation.findings.get(item.finding)
                name = finding.name if finding else item.finding
                raise ToolRetry(f"{name} is said to be both present and absent")
            evidence[item.finding] = item
        said = list(evidence.values())
        images = image_evidence(presentation, context.images.accepted_findings(), cards())
        record = record_evidence(presentation, context.records, context.record_patient)
        for item in (*images, *record):
            earlier = evidence.get(item.finding)
            if earlier is None or earlier.present == item.present:
                evidence[item.finding] = item  # with its link, and a card's ratio
            else:
                name = presentation.findings[item.finding].name
                unused.append(f"{name}: {item.origin}, but it was said otherwise")
        if told and not unused and _says_nothing(args, given):
            unused.append(f"{args.text.strip()!r}: this table has no finding for it")
        priors = {**told.get("priors", {}), **_priors(args.priors, presentation)}
        differential = Differential(presentation, tuple(evidence.values()), priors)
        context.store.put(
            _KEPT,
            {
                "image": image,
                "record": record_id,
                "presentation": presentation.id,
                "evidence": [_plain_evidence(item) for item in said],
                "priors": priors,
            },
        )
        output = differential_json(differential) | {"unused": unused}
        metadata: JsonDict = {"note": NOT_FOR_DIAGNOSIS}
        lines = said_lines(output)
        patient = context.records.patient(context.record_patient) if record else None
        if patient is not None:
            metadata["patient"] = {"id": patient.id, "name": patient.name}
            chosen = "; it is not linked to the shown study" if context.record_unlinked else ""
            lines.append(f"Measurements are from the record of {patient.name}{chosen}.")
        text = "\n".join([*lines, NOT_FOR_DIAGNOSIS])
        return ToolResult(text, output, metadata)


def _says_nothing(args: DifferentialInput, given: Mapping[str, bool]) -> bool:
    """Return whether what was told, and no question, held no finding of the table."""
    return not given and bool(args.text.strip()) and "?" not in args.text


def _shown_patient(context: ToolContext) -> str:
    """Return a digest of whose image is shown, "" without one."""
    names, open_files = context.images.names(), context.images.instances()
    shown = open_files.get(names[0]) if names else None
    if shown is None:
        return ""
    keywords = ("PatientID", "IssuerOfPatientID", "PatientName", "PatientBirthDate")
    who = [shown.get(keyword) for keyword in keywords]
    who = who if any(who) else [shown.get("StudyInstanceUID")]
    return hashlib.sha256(repr(who).encode()).hexdigest()[:16]


def _is_same_patient(kept: JsonDict, image: str, record: str) -> bool:
    """Return whether what was said before is of the patient whose image or record is in use now.

    A conversation goes on when another study is opened. A record that is opened later to the same
    patient's image changes nothing.
    """
    before = kept.get("record", "")
    if image and image == kept.get("image"):
        return not (record and before) or record == before
    return image == kept.get("image") and record == before


def _plain_evidence(item: Evidence) -> JsonDict:
    return {
        "finding": item.finding,
        "present": item.present,
        "origin": item.origin,
        "link": item.link,
    }


def _chosen(
    args: DifferentialInput, known: Mapping[str, Presentation], kept: JsonDict
) -> tuple[Presentation, list[str]]:
    """Return the presentation that is meant, and what the text asks for that it does not answer.

    Raises:
        ToolRetry: None or several are named, or a disease that no table has.
    """
    earlier = known.get(str(kept.get("presentation")))
    meant = match_tables(args.presentation or args.text, known)
    if meant.unknown and not args.presentation:
        raise _no_table(f"there is no table of published ratios for {meant.unknown}", known)
    others = [f"the question about {name}, which has a table of its own" for name in meant.others]
    if earlier and not args.presentation:
        # "And hemoptysis": what names a complaint may also be a finding of this one.
        told = bool(text_evidence(earlier, args.text).evidence)
        own = told and not meant.asked and bool(text_evidence(earlier, meant.name).evidence)
        if not meant.tables or own or earlier in meant.tables:
            return earlier, others
    if len(meant.tables) == 1:
        return meant.tables[0], others
    if meant.tables:
        names = ", ".join(f"{one.title} ({one.id})" for one in meant.tables)
        raise ToolRetry(f"several tables fit: {names}", remedy="Say which one is meant.")
    raise _no_table("there is no table of published ratios for that complaint", known)


def _no_table(reason: str, known: Mapping[str, Presentation]) -> ToolRetry:
    titles = ", ".join(one.title for one in known.values())
    return ToolRetry(
        reason,
        remedy='Ask "Which complaints do you have tables for?" for the list.',
        for_model=f"There are tables for: {titles}.",
    )


def _given(
    args: DifferentialInput, presentation: Presentation, unused: list[str]
) -> Sequence[Evidence]:
    said = text_evidence(presentation, args.text)
    unused += said.unused
    found = list(said.evidence)
    for names, state in ((args.present, True), (args.absent, False)):
        for name in names:
            key = find_finding(presentation, name)
            found.append(Evidence(key or name.strip(), state, "said"))
    return found


def _priors(given: Mapping[str, float], presentation: Presentation) -> dict[str, float]:
    """Return priors by the key of their disease.

    Raises:
        ToolRetry: There is no such disease, or it is no probability.
    """
    names = {
        name.casefold(): key
        for key, item in presentation.hypotheses.items()
        for name in (key, item.name, *item.other_names)
    }
    found: dict[str, float] = {}
    for name, value in given.items():
        key = names.get(name.casefold().strip())
        if key is None:
            diseases = ", ".join(presentation.hypotheses)
            raise ToolRetry(f"{name!r} is no disease of this table", for_model=f"One of {diseases}")
        if not 0 < value < 1:
            raise ToolRetry(f"a prior lies between 0 and 1, not {value:g}")
        found[key] = value
    return found


def differential_json(differential: Differential) -> JsonDict:
    """Return a differential in the form of `DifferentialOutput`, without `unused`."""
    table = differential.presentation
    return {
        "presentation": {"id": table.id, "title": table.title, "population": table.population},
        "evidence": [
            {"name": differential.name(item.finding), **_plain_evidence(item)}
            for item in differential.evidence
        ],
        "hypotheses": [_disease_json(differential, item) for item in differential.probabilities],
        "steps": [
            {key: round(value, 6) for key, value in step.items()} for step in differential.steps()
        ],
        "entropy_bits": round(differential.entropy, 4),
        "next": [_gain_json(differential, gain) for gain in differential.next_findings()],
    }


def _disease_json(differential: Differential, item: Probability) -> JsonDict:
    table = differential.presentation
    disease = table.hypotheses[item.hypothesis]
    data: JsonDict = {
        "id": item.hypothesis,
        "name": disease.name,
        "prior": item.prior,
        "probability": round(item.value, 6),
        "low": round(item.low, 6),
        "high": round(item.high, 6),
        "prior_source": citation(table.sources[disease.source], disease.place, disease.looked_up),
        "weights": [_weight_json(differential, weight, item.hypothesis) for weight in item.weights],
        "silent": [differential.name(one.finding) for one in item.silent],
    }
    for key, threshold in _thresholds(disease).items():
        data[key] = threshold
    return data


def _thresholds(disease: Hypothesis) -> dict[str, float]:
    pairs = (
        ("test_threshold", disease.test_threshold),
        ("treatment_threshold", disease.treatment_threshold),
    )
    return {key: item.value for key, item in pairs if item is not None}


def citation(source: Source, place: str, looked_up: str) -> JsonDict:
    """Return a citation as a reader needs it; `looked_up` is "" if nobody checked the figure."""
    return {
        "text": source.text,
        "doi": source.doi,
        "pmid": source.pmid,
        "url": source.url,
        "place": place,
        "looked_up": looked_up,
    }


def _weight_json(differential: Differential, weight: Weight, hypothesis: str) -> JsonDict:
    row, ratio = weight.cited, weight.ratio
    data: JsonDict = {
        "finding": weight.evidence.finding,
        "name": differential.name(weight.evidence.finding),
        "present": weight.evidence.present,
        "ratio": _finite(ratio.value),
        "low": None if ratio.low is None else _finite(ratio.low),
        "high": None if ratio.high is None else _finite(ratio.high),
        "counts": not weight.stronger,
    }
    if weight.stronger:
        data["depends_on"] = differential.name(weight.stronger)
    if row is not None:
        source = differential.presentation.sources[row.source]
        data["source"] = citation(source, row.place, row.looked_up)
        data["population"] = row.population or differential.presentation.population
    else:
        data["source"] = {"text": weight.evidence.own[hypothesis].source}
    return data


def _finite(value: float) -> float | str:
    return "infinite" if math.isinf(value) else round(value, 6)


def _gain_json(differential: Differential, gain: InformationGain) -> JsonDict:
    finding = differential.presentation.findings[gain.finding]
    return {
        "finding": gain.finding,
        "name": finding.name,
        "kind": finding.kind,
        "how": finding.question or finding.request,
        "bits": round(gain.bits, 4),
        "cost": finding.cost,
        "harm": finding.harm,
        "harm_note": finding.harm_note,
        "if_present": {key: round(value, 6) for key, value in gain.present.items()},
        "if_absent": {key: round(value, 6) for key, value in gain.absent.items()},
    }


def percent(value: float) -> str:
    """Return a probability as people read it: "12%", "0.4%", "99.8%"; never 0% or 100%."""
    shown = 100 * value
    if value in (0, 1):
        return f"{shown:.0f}%"
    if shown < 0.1:
        return "<0.1%"
    if shown > 99.9:
        return ">99.9%"
    return f"{shown:.0f}%" if 2 <= shown <= 98 else f"{shown:.1f}%"


def said_lines(output: Mapping[str, Any]) -> list[str]:
    """Return a differential (`DifferentialOutput` as JSON) in sentences, one a line."""
    diseases: list[JsonDict] = output["hypotheses"]
    names = {item["id"]: item["name"] for item in diseases}
    table = output["presentation"]
    lines = [f"{table['title']} ({table['population']})."]
    for item in diseases:
        weights = [one for one in item["weights"] if one["counts"]]
        moved = f"; {', '.join(map(_weight_text, weights))}" if weights else ""
        lines.append(
            f"{item['name']}: {percent(item['probability'])} ({_range_text(item)}), before any "
            f"finding {percent(item['prior'])}{moved}."
        )
    dependent = {
        (one["name"], one["depends_on"])
        for item in diseases
        for one in item["weights"]
        if not one["counts"]
    }
    for name, stronger in sorted(dependent):
        lines.append(f"Not counted beside {stronger}, on which it depends: {name}.")
    silent = [set(item["silent"]) for item in diseases]
    mute = sorted(set.intersection(*silent))
    if mute:
        lines.append(f"Without a published ratio here, so moving nothing: {', '.join(mute)}.")
    lines += [f"Not used: {one}." for one in output.get("unused", ())]
    for number, gain in enumerate(output["next"][:_MOST_NEXT], start=1):
        head = "Would tell most next" if number == 1 else "Then"
        lines.append(f"{head}: {_gain_text(gain, names)}.")
    return lines


def _range_text(disease: JsonDict) -> str:
    low, high = disease["low"], disease["high"]
    if low == high:
        return "its sources give no interval"
    return f"range {percent(low)} to {percent(high)}"


def _weight_text(weight: JsonDict) -> str:
    state = "" if weight["present"] else " absent"
    ratio, low, high = weight["ratio"], weight["low"], weight["high"]
    shown = ratio if isinstance(ratio, str) else f"{ratio:.3g}"
    between = "" if low is None or isinstance(high, str) else f" ({low:.3g} to {high:.3g})"
    unchecked = "" if weight["source"].get("looked_up", "card") else ", figure not looked up"
    return f"{weight['name']}{state} x{shown}{between}{unchecked}"


def _gain_text(gain: JsonDict, names: Mapping[str, str]) -> str:
    states: list[str] = []
    for word in ("present", "absent"):
        after = gain[f"if_{word}"].items()
        if after:
            to = ", ".join(f"{names[key]} {percent(value)}" for key, value in after)
            states.append(f"{word}: {to}")
    burden = [f"cost {gain['cost']}"] if gain["cost"] != "none" else []
    if gain["harm"] != "none":
        why = f" ({gain['harm_note']})" if gain["harm_note"] else ""
        burden.append(f"harm {gain['harm']}{why}")
    parts = [f"{gain['bits']:.2g} bits", *states, *burden]
    return f"{gain['name']} ({'; '.join(parts)})"


class ListPresentations:
    """Lists the presentations with published ratios."""

    spec = ToolSpec(
        name=LIST,
        description="Lists the complaints for which compute_differential has published ratios.",
        Input=ListPresentationsInput,
        Output=ListPresentationsOutput,
        approval=Approval.READ,
        pack="diagnosis",
        title="Tables of likelihood ratios",
        icon="list",
    )

    def run(self, args: ListPresentationsInput, context: ToolContext) -> ToolResult:
        """List them; for errors see `app.tools.api.Tool.run`."""
        del context
        wanted = args.text.casefold().strip()
        rows: list[dict[str, Any]] = []
        for one in presentations().values():
            diseases = [item.name for item in one.hypotheses.values()]
            if wanted and not any(wanted in text.casefold() for text in (one.title, *diseases)):
                continue
            counts = {"findings": len(one.findings), "ratios": len(one.ratios)}
            rows.append({"id": one.id, "title": one.title, "diseases": diseases, **counts})
        names = "\n".join(f"- {row['title']}: {', '.join(row['diseases'])}" for row in rows)
        text = f"{len(rows)} tables of published likelihood ratios:\n{names}"
        return ToolResult(text if rows else "No table fits that.", {"presentations": rows}, {})


TOOLS = (ComputeDifferential(), ListPresentations())
