"""The report of one study as data: sections of sentences, each with the findings it rests on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from app.imaging.findings import Finding, Heatmap, Instances, Mask

INFORMATION, TECHNIQUE, COMPARISON = "information", "technique", "comparison"
FINDINGS, IMPRESSION = "findings", "impression"
KINDS = (INFORMATION, TECHNIQUE, COMPARISON, FINDINGS, IMPRESSION)
"""Kinds of sections; all that is said in FINDINGS and IMPRESSION is about findings."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One statement, a line in the pane; `findings` are the ids of the findings it rests on."""

    text: str
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report; `kind` is one of KINDS."""

    key: str
    kind: str
    title: str
    sentences: tuple[Sentence, ...] = ()

    @property
    def tells_findings(self) -> bool:
        """Whether its sentences are about findings, and are checked against them."""
        return self.kind in (FINDINGS, IMPRESSION)


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signed, in words, and when (ISO 8601 with the zone of the place)."""

    name: str
    signed: str


@dataclass(frozen=True, slots=True)
class Addendum:
    """A text added to a signed report; without a signature it is in no file."""

    text: str
    signature: Signature | None = None


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """The report of a study.

    Attributes:
        template: Name of the template that it was drafted by.
        language: "en" or "de".
        edited: Whether a person has changed it; until then it follows the findings.
        signature: Who answers for it; None for a draft.
        signed_findings: (id, figures) of the findings that were accepted when it was signed, as
            `figures_of` gives them.
    """

    template: str
    title: str
    language: str
    sections: tuple[Section, ...] = ()
    edited: bool = False
    signature: Signature | None = None
    addenda: tuple[Addendum, ...] = ()
    signed_findings: tuple[tuple[str, str], ...] = ()

    def section(self, key: str) -> Section | None:
        """Return the section with a key, or None."""
        return next((one for one in self.sections if one.key == key), None)

    def with_sentences(self, key: str, sentences: Sequence[Sentence]) -> ReportDraft:
        """Return the draft, edited, with other sentences in one section."""
        sections = tuple(
            replace(one, sentences=tuple(sentences)) if one.key == key else one
            for one in self.sections
        )
        return replace(self, sections=sections, edited=True)

    def signed(self, signature: Signature, accepted: Mapping[str, Finding]) -> ReportDraft:
        """Return the draft with a signature, which holds for the findings accepted now."""
        known = tuple((key, figures_of(one)) for key, one in accepted.items())
        return replace(self, signature=signature, signed_findings=known, edited=True)

    def changed_since(self, accepted: Mapping[str, Finding]) -> list[str]:
        """Return the ids of findings that sentences rest on, other now than when it was signed."""
        known = dict(self.signed_findings)
        return [
            key
            for key in (self.cited() if self.signature is not None else ())
            if key in accepted and key in known and known[key] != figures_of(accepted[key])
        ]

    def told(self) -> Iterator[tuple[Section, int, Sentence]]:
        """Yield the sentences about findings, each with its section and place in it."""
        for section in self.sections:
            for place, sentence in enumerate(section.sentences):
                if section.tells_findings or sentence.findings:
                    yield section, place, sentence

    def cited(self) -> list[str]:
        """Return the ids of all findings that sentences rest on, in order, each once."""
        return list(dict.fromkeys(key for _, _, one in self.told() for key in one.findings))


def figures_of(finding: Finding) -> str:
    """Return a digest of what a report says of a finding: label, figures, codes, place."""
    shape: Any = finding.geometry
    if isinstance(shape, Mask | Heatmap | Instances):
        array = next(getattr(shape, name) for name in type(shape).__slots__)
        shape = (type(shape).__name__, int(np.count_nonzero(array)))
    parts = (finding.label, finding.value, finding.units, finding.measurements, finding.approximate)
    told = repr(_plain((*parts, finding.code, finding.site, finding.plane, shape)))
    return hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:32]


def _plain(value: Any) -> Any:
    """Return a value whose numbers are the same text whatever their type, as files give them."""
    if isinstance(value, int | float | np.number):
        return f"{float(value):.9g}"
    if isinstance(value, tuple | list):
        return [_plain(one) for one in cast("tuple[Any, ...]", value)]
    if is_dataclass(value):
        return [_plain(getattr(value, one.name)) for one in fields(value)]
    return str(value)


def is_struck(sentence: Sentence, accepted: Mapping[str, Finding]) -> bool:
    """Return whether a sentence rests on a finding that is not accepted (any more)."""
    return any(key not in accepted for key in sentence.findings)


def standing(draft: ReportDraft, accepted: Mapping[str, Finding]) -> ReportDraft:
    """Return the draft without the sentences whose findings are not accepted."""
    sections = tuple(
        replace(
            section,
            sentences=tuple(one for one in section.sentences if not is_struck(one, accepted)),
        )
        for section in draft.sections
    )
    return replace(draft, sections=sections)


@dataclass(frozen=True, slots=True)
class ReportSubject:
    """What is known of the reported study, apart from findings.

    Attributes:
        study: Study Instance UID.
        title: Study Description, or modality and body part.
        date: Study Date as YYYYMMDD; "" if unknown.
        modality: Modality of its first image series.
        words: Body part and descriptions in lower case, by which a template is chosen.
        technique: (name, value) of what the images' headers say of the acquisition; the names are
            keys of `[technique]` in resources/tables/report.toml.
        priors: (title, date) of the open earlier studies of the same patient, the latest first.
        places: Series Number and image number (from 1) of the images that findings are on, by SOP
            Instance UID; no entry where the study has one image only.
        heading: (attribute keyword, value) for the head of the document.
    """

    study: str
    title: str = ""
    date: str = ""
    modality: str = ""
    words: str = ""
    technique: tuple[tuple[str, str], ...] = ()
    priors: tuple[tuple[str, str], ...] = ()
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    heading: tuple[tuple[str, str], ...] = ()
