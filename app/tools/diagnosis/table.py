"""The published figures of each presentation: pre-test probabilities, likelihood ratios, sources.

One TOML file a presentation in resources/tables/diagnosis (see its README.md); a site's file of the
same name replaces the shipped one. A likelihood ratio compares patients with a disease to those of
the same population without it, so each disease is weighed against its own absence.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from app.errors import FileProblem
from app.paths import config_dir, resources_dir

_REMEDY = "Correct the file; resources/tables/diagnosis/README.md says what belongs into it."


class _Part(BaseModel):
    # Built when the first table is read, not when the program starts.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Estimate(_Part):
    """A published figure with its 95% confidence interval, if the source gives one."""

    value: float = Field(ge=0)
    low: float | None = Field(default=None, ge=0)
    high: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        low, high = self.bounds
        if not low <= self.value <= high:
            raise ValueError("an interval has to contain its figure: [figure, low, high]")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The interval; the figure twice where the source gives none."""
        low = self.value if self.low is None else self.low
        return low, self.value if self.high is None else self.high


def _from_list(value: Any) -> Any:
    """Read `[figure]` or `[figure, low, high]`."""
    if isinstance(value, list):
        figures: list[Any] = value
        if len(figures) not in (1, 3):
            raise ValueError("write [figure] or [figure, low, high]")
        return dict(zip(("value", "low", "high"), figures, strict=False))
    return value


Figure = Annotated[Estimate, BeforeValidator(_from_list)]
Level = Literal["none", "low", "medium", "high"]


class Source(_Part):
    """A citation: authors, title, journal, year; and how a reader finds it."""

    text: str
    doi: str = ""
    pmid: str = ""
    url: str = ""


class _Cited(_Part):
    """A figure's origin.

    Attributes:
        source: Key of the table `sources`.
        place: Where in the source ("Table 2").
        looked_up: Address of the page on which the figure was read while the table was made; "" if
            it was written from knowledge of the source, and nobody looked it up.
        population: Whom the figure is about, where that differs from the presentation's.
    """

    source: str
    place: str = ""
    looked_up: str = ""
    population: str = ""


class Threshold(_Cited):
    """A published probability at which one tests or treats, from 0 to 1."""

    value: float = Field(gt=0, lt=1)


class Hypothesis(_Cited):
    """A disease, and its probability among patients with this presentation before any finding.

    Attributes:
        prior: Probability from 0 to 1; source, place and population are about it.
        test_threshold: Below it, one stops testing for the disease.
        treatment_threshold: Above it, one treats without further tests.
    """

    name: str
    other_names: tuple[str, ...] = ()
    prior: Figure
    test_threshold: Threshold | None = None
    treatment_threshold: Threshold | None = None

    @model_validator(mode="after")
    def _is_probability(self) -> Self:
        if not 0 < self.prior.value < 1 or self.prior.bounds[1] > 1:
            raise ValueError("a prior is a probability between 0 and 1")
        return self


class Finding(_Part):
    """Something that can be present or absent: an answer, a sign, the result of a test.

    Attributes:
        name: The finding when present: "Pain radiating to both arms".
        kind: "history" and "symptom" are asked for, "sign" is examined, the others are requested.
        question: What to ask the patient, for "history" and "symptom".
        request: The examination or test that shows it, for the others ("Chest X-ray").
        words: Phrases that say that it is present, in lower case; see `said_findings` for " ... "
            and "*".
        absent_words: Phrases that say that it is absent, apart from "no" before one of `words`.
        either: Any one of several signs makes it ("nausea or vomiting"): the absence of one does
            not contradict the presence of another.
        group: Findings with the same group depend on each other (signs of one mechanism, cut-offs
            of the same test): of them, only the strongest counts for a disease.
        cost: Relative cost of finding out.
        harm: Relative harm of finding out; `harm_note` says what it is (radiation, bleeding).
        loinc: LOINC codes of the measurement in a record that decides it, by `above` or `below` in
            `unit` (UCUM). `above` means greater than or equal to, `below` means less than.
        labels: Labels of findings on images that are this finding, in lower case.
    """

    name: str
    kind: Literal["history", "symptom", "sign", "lab", "imaging", "test", "score"]
    question: str = ""
    request: str = ""
    words: tuple[str, ...] = ()
    absent_words: tuple[str, ...] = ()
    either: bool = False
    group: str = ""
    cost: Level = "none"
    harm: Level = "none"
    harm_note: str = ""
    loinc: tuple[str, ...] = ()
    above: float | None = None
    below: float | None = None
    unit: str = ""
    labels: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _can_be_found_out(self) -> Self:
        asked = self.kind in ("history", "symptom")
        if not (self.question if asked else self.request):
            raise ValueError("needs a question" if asked else "needs a request")
        if self.loinc and ((self.above is None) == (self.below is None) or not self.unit):
            raise ValueError("a measurement needs either above or below, and its unit")
        return self


class Ratio(_Cited):
    """The likelihood ratios of one finding for one disease.

    Given either as ratios (`positive` if present, `negative` if absent; one may be missing) or as
    sensitivity and specificity, from which both follow.
    """

    finding: str
    hypothesis: str
    positive: Figure | None = None
    negative: Figure | None = None
    sensitivity: Figure | None = None
    specificity: Figure | None = None
    note: str = ""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        sensitivity, specificity = self.sensitivity, self.specificity
        if (sensitivity is None) != (specificity is None):
            raise ValueError("sensitivity and specificity go together")
        if (self.positive is None and self.negative is None) == (sensitivity is None):
            raise ValueError("give either ratios, or sensitivity and specificity")
        if sensitivity and specificity and max(sensitivity.bounds[1], specificity.bounds[1]) > 1:
            raise ValueError("sensitivity and specificity lie between 0 and 1")
        positive, negative = self.when_present, self.when_absent
        if positive and negative and (positive.value - 1) * (negative.value - 1) > 1e-12:
            raise ValueError("one ratio has to be below 1 if the other is above it")
        return self

    @property
    def when_present(self) -> Estimate | None:
        """The ratio if the finding is present; None if the source gives none."""
        if self.sensitivity and self.specificity:
            return _quotient(self.sensitivity, _complement(self.specificity))
        return self.positive

    @property
    def when_absent(self) -> Estimate | None:
        """The ratio if the finding is absent; None if the source gives none."""
        if self.sensitivity and self.specificity:
            return _quotient(_complement(self.sensitivity), self.specificity)
        return self.negative

    @property
    def rates(self) -> tuple[float, float] | None:
        """Share of patients with the finding, with and without the disease; None if not known.

        From both ratios p and n: with the disease p(1 - n) / (p - n), without it (1 - n) / (p - n).
        """
        if self.sensitivity and self.specificity:
            return self.sensitivity.value, 1 - self.specificity.value
        if not self.positive or not self.negative:
            return None
        positive, negative = self.positive.value, self.negative.value
        if positive == negative:
            return None
        without = (1 - negative) / (positive - negative)
        return positive * without, without


def _complement(figure: Estimate) -> Estimate:
    low, high = figure.bounds
    return Estimate(value=1 - figure.value, low=1 - high, high=1 - low)


def _quotient(above: Estimate, below: Estimate) -> Estimate:
    low, high = above.bounds[0], above.bounds[1]
    return Estimate(
        value=_divide(above.value, below.value),
        low=_divide(low, below.bounds[1]),
        high=_divide(high, below.bounds[0]),
    )


def _divide(above: float, below: float) -> float:
    if below == 0:
        return math.inf if above else 1.0
    return above / below


class Presentation(_Part):
    """A complaint and the diseases that are weighed for it, with the ratios of their findings.

    Attributes:
        id: The file's name without its suffix.
        words: Phrases by which a question or a complaint names it, in lower case.
        population: Whom the figures are about.
        note: What a reader must know about the table.
    """

    id: str
    title: str
    words: tuple[str, ...]
    population: str
    note: str = ""
    hypotheses: dict[str, Hypothesis] = Field(min_length=1)
    findings: dict[str, Finding] = Field(min_length=1)
    ratios: tuple[Ratio, ...] = Field(min_length=1)
    sources: dict[str, Source]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        cited: list[_Cited] = [*self.ratios, *self.hypotheses.values()]
        for hypothesis in self.hypotheses.values():
            thresholds = (hypothesis.test_threshold, hypothesis.treatment_threshold)
            cited += [item for item in thresholds if item]
        if unknown := {item.source for item in cited} - set(self.sources):
            raise ValueError(f"no such source: {', '.join(sorted(unknown))}")
        pairs = [(ratio.finding, ratio.hypothesis) for ratio in self.ratios]
        for finding, hypothesis in pairs:
            if finding not in self.findings or hypothesis not in self.hypotheses:
                raise ValueError(f"no such finding or hypothesis: {finding}, {hypothesis}")
            if pairs.count((finding, hypothesis)) > 1:
                raise ValueError(f"{finding} has two ratios for {hypothesis}")
        if unused := set(self.findings) - {finding for finding, _ in pairs}:
            raise ValueError(f"findings without a ratio: {', '.join(sorted(unused))}")
        return self

    def ratio(self, finding: str, hypothesis: str) -> Ratio | None:
        """Return the ratios of a finding for a disease, or None if the table has none."""
        for ratio in self.ratios:
            if (ratio.finding, ratio.hypothesis) == (finding, hypothesis):
                return ratio
        return None


def site_folder() -> Path:
    """Return the folder of the site's own tables, which replace shipped ones of the same name."""
    return config_dir() / "diagnosis"


def read_presentation(path: Path) -> Presentation:
    """Return the presentation in a file.

    Raises:
        FileProblem: It cannot be read, or breaks a rule of the table; the text says where.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
        return Presentation.model_validate({"id": path.stem, **table})
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise FileProblem(f"{path}: cannot be read as TOML: {error}", remedy=_REMEDY) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise FileProblem(f"{path}: {where or 'table'}: {first['msg']}", remedy=_REMEDY) from error


@cache
def _shipped() -> tuple[Presentation, ...]:
    folder = resources_dir() / "tables" / "diagnosis"
    return tuple(read_presentation(path) for path in sorted(folder.glob("*.toml")))


def presentations(extra: Sequence[Path] | None = None) -> dict[str, Presentation]:
    """Return all presentations by id: the shipped ones, replaced or joined by the site's.

    Args:
        extra: Files of a site; None for those in `site_folder()`.

    Raises:
        FileProblem: A site's file is wrong.
    """
    files = sorted(site_folder().glob("*.toml")) if extra is None else extra
    found = {item.id: item for item in _shipped()}
    return found | {item.id: item for item in map(read_presentation, files)}
