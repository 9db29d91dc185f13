"""Texts of the diagnosis panel on a differential, without any widget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from app.tools.diagnosis.differential import Differential, Evidence, InformationGain, Weight
from app.tools.diagnosis.differential_tool import percent
from app.tools.diagnosis.session import DiagnosisSession
from app.tools.diagnosis.table import (
    Estimate,
    Hypothesis,
    Presentation,
    Ratio,
    Source,
    Threshold,
)
from app.views.diagnosis.lists import Row
from app.views.translation import tr, translatable
from app.views.wording import DOT
from app.workspace.diagnosis import BY_HAND

_LEVELS = {
    "low": translatable("low"),
    "medium": translatable("medium"),
    "high": translatable("high"),
}

_MOST_NAMED = 3  # in a sentence


def state_text(name: str, present: bool) -> str:
    """Return a finding with its state."""
    text = tr("{finding}: present") if present else tr("{finding}: absent")
    return text.format(finding=name)


def origin_text(evidence: Evidence) -> str:
    """Return where a finding is known from."""
    if evidence.origin == BY_HAND:
        return tr("set by hand")
    return tr("said in the chat") if evidence.origin == "said" else evidence.origin


def range_text(value: float, low: float, high: float) -> str:
    """Return a probability with its range."""
    shown, least, most = percent(value), percent(low), percent(high)
    if (least, most) == (shown, shown):
        return shown
    return f"{shown}  ({least} – {most})"


def ratio_text(ratio: Estimate) -> str:
    """Return a likelihood ratio with its interval."""
    shown = f"×{_number(ratio.value)}"
    if ratio.low is None:
        return shown
    low, high = ratio.bounds
    return f"{shown} ({_number(low)} – {_number(high)})"


def _number(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3g}"


def presentation_rows(tables: Iterable[Presentation], text: str) -> list[Row]:
    """Return the presentations whose title, words or diseases contain all words of a text.

    Those with the text in their title come first.
    """
    words = text.casefold().split()
    rows: list[Row] = []
    for one in tables:
        diseases = [disease.name for disease in one.hypotheses.values()]
        others = (name for disease in one.hypotheses.values() for name in disease.other_names)
        searched = " ".join((one.title, *one.words, *diseases, *others)).casefold()
        if all(word in searched for word in words):
            rows.append(Row(one.id, one.title, ", ".join(diseases)))
    wanted = " ".join(words)
    return sorted(rows, key=lambda row: (wanted not in row.title.casefold(), row.title.casefold()))


def finding_rows(
    table: Presentation, evidence: Iterable[Evidence], differential: Differential | None, text: str
) -> list[Row]:
    """Return a presentation's findings, those of no table last; only those that contain `text`.

    Without a differential (its evidence is impossible), none is marked as not counted.
    """
    known = {one.finding: one for one in evidence}
    weaker = not_counted(differential) if differential is not None else {}
    silent = without_number(differential) if differential is not None else []
    mute = {one.finding for one in silent}
    names = {key: one.name for key, one in table.findings.items()}
    names |= {key: key for key in known if key not in names}
    rows: list[Row] = []
    for key, name in names.items():
        item = known.get(key)
        about = [origin_text(item)] if item else []
        if key in weaker:
            about.append(tr("not counted, it depends on: {finding}").format(finding=weaker[key]))
        if key in mute:
            about.append(tr("no published ratio: moves nothing"))
        if all(word in name.casefold() for word in text.casefold().split()):
            rows.append(Row(key, name, DOT.join(about), item.present if item else None))
    return rows


def unused_text(table: Presentation, unused: Iterable[Evidence]) -> list[str]:
    """Return sentences on what images and the record say, against what a person told."""
    lines: list[str] = []
    for one in unused:
        known = table.findings.get(one.finding)
        name = known.name if known else one.finding
        text = tr("Not used, since you set it otherwise: {finding} ({origin}).")
        lines.append(text.format(finding=state_text(name, one.present), origin=origin_text(one)))
    return lines


def not_counted(differential: Differential) -> dict[str, str]:
    """Return findings that count for no disease since a stronger one of their group does.

    By finding, the name of the stronger one.
    """
    weights = [weight for one in differential.probabilities for weight in one.weights]
    counted = {weight.evidence.finding for weight in weights if not weight.stronger}
    return {
        weight.evidence.finding: differential.name(weight.stronger)
        for weight in weights
        if weight.evidence.finding not in counted
    }


def without_number(differential: Differential) -> list[Evidence]:
    """Return the evidence for which no disease has a ratio, so that it moves nothing."""
    silent = [one.silent for one in differential.probabilities]
    return [one for one in differential.evidence if all(one in those for those in silent)]


def moves_nothing_text(differential: Differential) -> str:
    """Return a sentence that names the evidence without a number; "" if there is none."""
    found = without_number(differential)
    if not found:
        return ""
    names = [state_text(differential.name(one.finding), one.present) for one in found]
    more = [f"+{len(names) - _MOST_NAMED}"] if len(names) > _MOST_NAMED else []
    text = tr("Without a published ratio here, so moving nothing: {findings}")
    return text.format(findings=", ".join([*names[:_MOST_NAMED], *more]))


def step_rows(prefixes: Sequence[Differential]) -> list[Row]:
    """Return the steps of a differential, each with what its evidence did to each disease."""
    whole = prefixes[-1]
    names = {key: one.name for key, one in whole.presentation.hypotheses.items()}
    first = [
        f"{names[one.hypothesis]}: {range_text(one.value, one.low, one.high)}"
        for one in prefixes[0].probabilities
    ]
    rows = [Row("", tr("Before any finding"), "\n".join(first))]
    for number, (before, after) in enumerate(pairwise(prefixes), start=1):
        evidence = after.evidence[-1]
        lines = [origin_text(evidence)]
        for one in after.probabilities:
            earlier = before.probability(one.hypothesis).value
            weight = next((w for w in one.weights if w.evidence is evidence), None)
            lines.append(_moved(names[one.hypothesis], weight, earlier, one.value, after))
        title = f"{number}  {state_text(after.name(evidence.finding), evidence.present)}"
        rows.append(Row(evidence.finding, title, "\n".join(lines)))
    return rows


def _moved(
    disease: str, weight: Weight | None, before: float, after: float, differential: Differential
) -> str:
    if weight is None:
        return tr("{disease}: no published ratio, not moved").format(disease=disease)
    ratio = ratio_text(weight.ratio)
    if weight.stronger:
        text = tr("{disease}: {ratio} not counted, it depends on: {finding}")
        stronger = differential.name(weight.stronger)
        return text.format(disease=disease, ratio=ratio, finding=stronger)
    return f"{disease}: {ratio}, {percent(before)} → {percent(after)}"


def gain_rows(differential: Differential, gains: Iterable[InformationGain]) -> list[Row]:
    """Return the tests by what they are expected to tell, with what either result would mean."""
    table = differential.presentation
    rows: list[Row] = []
    for gain in gains:
        finding = table.findings[gain.finding]
        lines = [finding.question or finding.request]
        for key, disease in table.hypotheses.items():
            states = (
                (tr("present {percent}"), gain.present.get(key)),
                (tr("absent {percent}"), gain.absent.get(key)),
            )
            told = [text.format(percent=percent(at)) for text, at in states if at is not None]
            if told:
                lines.append(f"{disease.name}: {DOT.join(told)}")
        lines.append(_burden(table, gain.finding))
        bits = tr("{bits} bits").format(bits=f"{gain.bits:.2g}")
        about = "\n".join(filter(None, lines))
        rows.append(Row(gain.finding, f"{finding.name}{DOT}{bits}", about))
    return rows


def _burden(table: Presentation, key: str) -> str:
    finding = table.findings[key]
    parts: list[str] = []
    if finding.cost != "none":
        parts.append(tr("cost {level}").format(level=tr(_LEVELS[finding.cost])))
    if finding.harm != "none":
        harm = tr("harm {level}").format(level=tr(_LEVELS[finding.harm]))
        parts.append(f"{harm} ({finding.harm_note})" if finding.harm_note else harm)
    return DOT.join(parts)


def sources_text(differential: Differential, hypothesis: str) -> str:
    """Return what the probability of a disease rests on, each figure with its citation."""
    table = differential.presentation
    disease, found = table.hypotheses[hypothesis], differential.probability(hypothesis)
    parts = [_prior_text(differential, hypothesis, disease)]
    for title, threshold in (
        (tr("Below {percent} one stops testing"), disease.test_threshold),
        (tr("Above {percent} one treats"), disease.treatment_threshold),
    ):
        if threshold is not None:
            head = title.format(percent=percent(threshold.value))
            parts.append(f"{head}\n{_citation(table, threshold)}")
    for weight in found.weights:
        name = state_text(differential.name(weight.evidence.finding), weight.evidence.present)
        lines = [f"{name}  {ratio_text(weight.ratio)}"]
        if weight.stronger:
            stronger = differential.name(weight.stronger)
            lines.append(tr("Not counted: it depends on: {finding}").format(finding=stronger))
        if weight.ratio.low is None:
            lines.append(tr("No interval published: taken as it is"))
        row = weight.cited
        lines.append(_citation(table, row) if row else weight.evidence.own[hypothesis].source)
        if row is not None and row.note:
            lines.append(row.note)
        parts.append("\n".join(lines))
    if found.silent:
        names = [differential.name(one.finding) for one in found.silent]
        text = tr("Without a published ratio for it, so moving nothing: {findings}")
        parts.append(text.format(findings=", ".join(names)))
    if table.note:
        parts.append(table.note)
    return "\n\n".join(parts)


def _prior_text(differential: Differential, hypothesis: str, disease: Hypothesis) -> str:
    table = differential.presentation
    if hypothesis in differential.priors:
        text = tr("Before any finding: {percent}, set by hand; the table has {table}")
        own = percent(differential.priors[hypothesis])
        head = text.format(percent=own, table=percent(disease.prior.value))
    else:
        low, high = disease.prior.bounds
        shown = range_text(disease.prior.value, low, high)
        head = tr("Before any finding: {percent}").format(percent=shown)
    return f"{head}\n{_citation(table, disease)}"


def _citation(table: Presentation, cited: Threshold | Hypothesis | Ratio) -> str:
    source: Source = table.sources[cited.source]
    population = cited.population or table.population
    lines = [source.text, cited.place]
    lines.append(tr("Population: {population}").format(population=population))
    lines += [f"{name} {text}" for name, text in _addresses(source) if text]
    if cited.looked_up:
        lines.append(tr("Figure looked up: {address}").format(address=cited.looked_up))
    else:
        lines.append(tr("Figure not looked up"))
    return "\n".join(filter(None, lines))


def _addresses(source: Source) -> tuple[tuple[str, str], ...]:
    return ("DOI", source.doi), ("PMID", source.pmid), ("URL", source.url)


def session_text(session: DiagnosisSession) -> str:
    """Return a doctor's session: its steps, what is uncertain, and the final diagnosis."""
    parts: list[str] = []
    for step in session.steps:
        lines = [
            tr("Step {number}").format(number=step.step_number),
            tr("Learned: {text}").format(text=step.new_information),
            tr("Uncertain: {text}").format(text=", ".join(step.current_uncertainties)),
            tr("Next: {text}").format(text=step.next_step_action),
        ]
        parts.append("\n".join(lines))
    final = session.end
    if final is not None:
        text = tr("Final diagnosis: {diagnosis}").format(diagnosis=final.diagnosis)
        why = tr("Reason: {text}").format(text=final.reason_ready)
        by = tr("Written by {model}").format(model=final.model) if final.model else ""
        parts.append("\n".join(filter(None, (text, why, by))))
    else:
        parts.append(tr("No final diagnosis yet."))
    if session.accumulated_notes:
        parts.append(tr("Notes") + "\n" + session.accumulated_notes)
    return "\n\n".join(parts)
