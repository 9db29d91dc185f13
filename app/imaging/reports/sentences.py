"""Words findings as sentences, and drafts the report of a study from its accepted findings.

All that a sentence says comes from its findings, all that "Technique" says from the images'
headers; nothing is concluded, and a region without a finding stays empty.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from app.imaging.findings import Finding, Measurement
from app.imaging.reports.report_draft import (
    COMPARISON,
    FINDINGS,
    IMPRESSION,
    TECHNIQUE,
    ReportDraft,
    ReportSubject,
    Section,
    Sentence,
)
from app.imaging.reports.templates import Template, TemplateSection
from app.paths import shipped_table

LANGUAGES = ("en", "de")
_MOST_VALUES = 4
_MANY = 12
"""Findings with one label above which they are told in one sentence, with least and most."""
_IN_PATIENT = ("patient", "patient plane")


def text(key: str, language: str) -> str:
    """Return a text of the report's language."""
    return shipped_table("report", "text")[language][key]


def name_in(language: str, name: str) -> str:
    """Return a label or quantity in the report's language; an unknown one is unchanged."""
    known: dict[str, str] = shipped_table("report", "names")[language]
    one_line = " ".join(name.split())
    side, _, rest = one_line.lower().partition(" ")
    if one_line.lower() not in known and side in ("left", "right") and rest in known:
        return f"{known[rest]} {known.get(side, side)}"  # in German the side stands behind
    return known.get(one_line.lower()) or one_line


@dataclass(frozen=True, slots=True)
class Statement:
    """What one sentence tells: findings of one kind or one group, and their figures.

    Attributes:
        measurements: The figures to tell; several findings of one group may give a ratio.
        approximate: Whether figures are estimates.
        count: How many findings of one kind it sums up.
    """

    findings: tuple[Finding, ...]
    label: str
    measurements: tuple[Measurement, ...] = ()
    approximate: bool = False
    count: int = 1

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of its findings."""
        return tuple(one.id for one in self.findings)

    @property
    def partners(self) -> tuple[str, ...]:
        """Ids of the findings whose change it tells (`Finding.partners`)."""
        return tuple(key for one in self.findings for key in one.partners)

    @property
    def compares(self) -> bool:
        """Whether it compares a region with one of an earlier study."""
        return any(one.date for one in self.measurements)


def measurements_of(finding: Finding) -> tuple[Measurement, ...]:
    """Return all figures of a finding that are finite; its score is none of them."""
    found = list(finding.measurements)
    if not found and finding.value is not None:
        units, _, basis = finding.units.partition(" (")
        found = [Measurement("", finding.value, units, basis.rstrip(")"))]
    return tuple(one for one in found if math.isfinite(one.value))


def ratio_of(findings: Iterable[Finding]) -> Measurement | None:
    """Return the ratio of two lines of one group (`Finding.ratio`), or None."""
    known = [one for one in findings if one.value is not None]
    upper = next((one for one in known if one.ratio), None)
    lower = next((one for one in known if not one.ratio), None)
    if upper is None or lower is None or not upper.value or not lower.value:
        return None
    return Measurement(upper.ratio, upper.value / lower.value, "ratio")


def statements(findings: Sequence[Finding]) -> list[Statement]:
    """Return what there is to tell: each finding, those of one group that give a ratio together.

    The mere outline of a normal structure, with nothing measured, is nothing to tell. Very many
    findings with one label are summed up.
    """
    grouped: dict[str, list[Finding]] = {}
    for one in findings:
        grouped.setdefault(one.group or f"alone {one.id}", []).append(one)
    made: list[Statement] = []
    for group in grouped.values():
        ratio = ratio_of(group) if len(group) == 2 else None
        if ratio is not None:
            parts = [
                replace(measurements_of(one)[0], name=one.label)
                for one in group
                if measurements_of(one)
            ]
            about = any(one.approximate for one in group)
            made.append(Statement(tuple(group), ratio.name, (ratio, *parts), about))
        else:
            made += [_alone(one) for one in group]
    made = [one for one in made if one.measurements or not is_structure(one.label)]
    same: dict[str, list[Statement]] = {}
    for one in made:
        alone = len(one.findings) == 1 and not one.compares
        same.setdefault(one.label.lower() if alone else one.ids[0], []).append(one)
    return [
        one for group in same.values() for one in ([_sum(group)] if len(group) > _MANY else group)
    ]


def _sum(group: Sequence[Statement]) -> Statement:
    """Return one statement for many: their number, and least and most if all have one figure."""
    figures = [one.measurements[0] for one in group if len(one.measurements) == 1]
    kinds = {(one.name, one.units, one.rests_on) for one in figures}
    found = tuple(finding for one in group for finding in one.findings)
    told: tuple[Measurement, ...] = ()
    if len(figures) == len(group) and len(kinds) == 1:
        figures.sort(key=lambda one: one.value)
        ends = ("Minimum", figures[0]), ("Maximum", figures[-1])
        told = tuple(replace(one, name=name) for name, one in ends)
    about = any(one.approximate for one in group)
    return Statement(found, group[0].label, told, about, len(group))


def _alone(finding: Finding) -> Statement:
    out: list[str] = shipped_table("report", "measures")["left_out"]
    told = [one for one in measurements_of(finding) if one.name.lower() not in out]
    return Statement(
        (finding,),
        label_of(finding),
        tuple(told[:_MOST_VALUES]),
        finding.approximate,
    )


def label_of(finding: Finding) -> str:
    """Return what a report calls a finding; a pair with another study by the paired region."""
    if finding.rests_on and any(one.date for one in finding.measurements):
        return finding.rests_on[0]
    return finding.label or (finding.code.meaning if finding.code else "") or "Finding"


def figure(value: float, units: str) -> str:
    """Return a number as a report tells it, with a point: ratios 0.52, lengths 9.53, 12.3."""
    if units in ("objects", "px", "px²") or (float(value).is_integer() and not units):
        return f"{value:.0f}"
    if units == "ratio" or abs(value) < 10:
        return f"{value:.2f}"
    return f"{value:.1f}" if abs(value) < 1000 else f"{value:.0f}"


def rounded(one: Measurement) -> float:
    """Return a value as the report's text rounds it, for the files that hold it as a number."""
    return float(figure(one.value, one.units))


def basis_of(one: Measurement) -> str:
    """Return the plane that a length is told with ("detector plane"); "" for one in the patient."""
    return "" if one.rests_on in _IN_PATIENT else one.rests_on


def value_text(one: Measurement, language: str) -> str:
    """Return a figure with its units and what it rests on, e.g. "143.2 mm (detector plane)"."""
    shown = figure(one.value, one.units).replace(".", text("decimal", language))
    units = "" if one.units in ("ratio", "objects") else one.units
    shown += units if units in ("°", "") else f" {units}"
    if basis := basis_of(one):
        shown += f" ({name_in(language, basis)})"
    return shown


def sentence_of(statement: Statement, subject: ReportSubject, language: str) -> Sentence:
    """Return the sentence that tells a statement in the section of its region."""
    label = name_in(language, statement.label)
    site = next((one.site.meaning for one in statement.findings if one.site), "")
    if site and site.lower() not in label.lower():
        label = f"{label}, {name_in(language, site)}"
    if statement.count > 1:
        label = text("count", language).format(label=label, count=statement.count)
    date = subject.date if _is_changed_ratio(statement) else ""
    values = _figures(statement, language, date)
    place = _place(statement, subject, language)
    form = text("label_values" if values else "label_only", language)
    return Sentence(
        form.format(label=_upper(label), values=", ".join(values), place=place), statement.ids
    )


def _figures(statement: Statement, language: str, date: str = "") -> list[str]:
    """Return the figures of a statement as its sentence tells them.

    With `date`, that of the reported study, its own figures are dated, too.
    """
    values: list[str] = []
    for one in statement.measurements:
        shown = value_text(one, language)
        if statement.approximate:
            shown = text("about", language).format(value=shown)
        if when := one.date or date:
            form = text("then", language) if when != "unknown" else text("before", language)
            shown = form.format(value=shown, date=date_text(when, language))
        named = one.name and one.name.lower() != statement.label.lower() and not statement.compares
        if named and len(statement.measurements) + (one.name != "Length") > 1:
            name = name_in(language, one.name)
            shown = text("value", language).format(name=_lower(name, language), value=shown)
        values.append(shown)
    if all(one.date for one in statement.measurements) and values:
        values.append(text("unmarked", language))
    return values


def _place(statement: Statement, subject: ReportSubject, language: str) -> str:
    found = subject.places.get(statement.findings[0].image.sop_instance_uid)
    if found is None or statement.count > 1 or statement.findings[0].plane is not None:
        return ""
    return text("place", language).format(series=found[0], image=found[1])


def _upper(words: str) -> str:
    return words[:1].upper() + words[1:]


def _lower(words: str, language: str) -> str:
    """Return a quantity with a small initial, unless it is a German noun."""
    noun = language == "de" and words in shipped_table("report", "names")["de"].values()
    return words if noun else words[:1].lower() + words[1:]


def _impression(told: Sequence[Statement], language: str) -> list[Sentence]:
    """Return one line for each label and change; ratios and changes with their figures.

    A finding and its change are one line. Bare measurements are none.
    """
    named = [one for one in told if not is_structure(one.label) and not is_measure(one.label)]
    partners = {key for one in named if one.compares for key in one.partners}
    lines: dict[str, list[Statement]] = {}
    for one in named:
        rest = one if one.compares else _without(one, partners)
        if rest is not None:
            lines.setdefault(one.label.lower(), []).append(rest)
    made: list[Sentence] = []
    for same in lines.values():
        label = _upper(name_in(language, same[0].label))
        compared = [one for one in same if one.compares]
        own = [one for one in same if not one.compares]
        single = bool(own) and len(own) == len(compared) == own[0].count == 1
        still = single and not all(one.date for one in compared[0].measurements)
        if still and not compared[0].partners:  # it does not say which finding it is the change of
            made.append(_line(label, _figures(compared[0], language), own + compared, language))
            continue
        if own:
            ratios = [one for one in own[0].measurements if one.units == "ratio"][:1]
            shown = _figures(replace(own[0], measurements=tuple(ratios)), language)
            count = sum(one.count for one in own)
            counted = text("count", language).format(label=label, count=count)
            made.append(_line(counted if count > 1 else label, shown[: count == 1], own, language))
        for one in compared:
            found = [f for each in named for f in each.findings if f.id in one.partners]
            whole = replace(one, findings=(*found, *one.findings))
            made.append(_line(label, _figures(one, language), [whole], language))
    return made


def _without(told: Statement, partners: Collection[str]) -> Statement | None:
    """Return a statement without the findings that are told with their change; None for none."""
    rest = tuple(one for one in told.findings if one.id not in partners)
    left = len(told.findings) - len(rest)
    return replace(told, findings=rest, count=max(1, told.count - left)) if rest else None


def _line(label: str, figures: Sequence[str], told: Iterable[Statement], language: str) -> Sentence:
    form = text("label_values" if figures else "label_only", language)
    ids = tuple(key for one in told for key in one.ids)
    return Sentence(form.format(label=label, values=", ".join(figures), place=""), ids)


def is_structure(label: str) -> bool:
    """Return whether a label only names a normal structure, e.g. "Left Lung"."""
    words = set(shipped_table("report", "structures")["words"].split())
    own = label.lower().replace("_", " ").split()
    return bool(own) and words.issuperset(own)


def is_measure(label: str) -> bool:
    """Return whether a label is that of a drawing tool, e.g. "Length"."""
    return label.lower() in shipped_table("report", "measures")["labels"]


def _section_for(statement: Statement, template: Template) -> TemplateSection:
    """Return the section of findings that a statement belongs to; the last one for the rest."""
    sections = [one for one in template.sections if one.kind == FINDINGS]
    told = [statement.label, *(one.label for one in statement.findings)]
    told += [code.meaning for one in statement.findings for code in (one.site, one.code) if code]
    words = " ".join(told).lower().replace("_", " ")
    found = (one for one in sections if any(term in words for term in one.terms))
    return next(found, sections[-1])


def draft_report(
    subject: ReportSubject, findings: Sequence[Finding], template: Template, language: str
) -> ReportDraft:
    """Return the draft of a study's report.

    Args:
        subject: The study.
        findings: What a person accepted, and the user's own measurements; nothing else.
        template: The template; one without a section of findings tells none of them.
        language: One of LANGUAGES.
    """
    every = statements(findings)
    told = [one for one in every if not one.compares]
    # A ratio with its earlier value is a measurement of this study, unless it stands there anyway.
    known = {one.label for one in told}
    told += [one for one in every if _is_changed_ratio(one) and one.label not in known]
    pairs = [
        sentence_of(one, subject, language) for one in every if one.compares and one not in told
    ]
    by_section: dict[str, list[Sentence]] = {}
    if any(one.kind == FINDINGS for one in template.sections):
        for one in told:
            key = _section_for(one, template).key
            by_section.setdefault(key, []).append(sentence_of(one, subject, language))
    lines = {
        TECHNIQUE: [Sentence(one) for one in technique_lines(subject, language)],
        COMPARISON: [*(Sentence(one) for one in comparison_lines(subject, language)), *pairs],
        IMPRESSION: _impression(every, language),
    }
    sections = tuple(
        Section(
            one.key,
            one.kind,
            one.title(language),
            tuple(by_section.get(one.key, ()) if one.kind == FINDINGS else lines.get(one.kind, ())),
        )
        for one in template.sections
    )
    return ReportDraft(template.name, template.title(language), language, sections)


def _is_changed_ratio(statement: Statement) -> bool:
    return statement.compares and all(one.units == "ratio" for one in statement.measurements)


def technique_lines(subject: ReportSubject, language: str) -> list[str]:
    """Return what the images' headers say of the acquisition, a line each."""
    forms: dict[str, str] = shipped_table("report", "technique")[language]
    made: list[str] = []
    for key, value in subject.technique:
        if key == "views":
            parts = value.split(", ")
            value = ", ".join(
                " ".join(name_in(language, word) for word in one.split()) for one in parts
            )
        elif key in ("slice", "field", "tube"):
            value = value.replace(".", text("decimal", language))
        made.append(forms[key].format(value=value.rstrip(".")))
    return made


def comparison_lines(subject: ReportSubject, language: str) -> list[str]:
    """Return the earlier studies that are open, a line each, or that none was compared."""
    return [
        text("prior" if date else "undated", language).format(
            title=title, date=date_text(date, language)
        )
        for title, date in subject.priors
    ] or [text("no_prior", language)]


def date_text(date: str, language: str) -> str:
    """Return a DICOM date as 2024-01-31, or 31.01.2024 in German; other texts unchanged."""
    if len(date) != 8 or not date.isdecimal():
        return date
    year, month, day = date[:4], date[4:6], date[6:]
    return f"{day}.{month}.{year}" if language == "de" else f"{year}-{month}-{day}"
