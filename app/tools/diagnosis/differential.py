"""A differential diagnosis: diseases with their probabilities, and the evidence that moved them.

Each disease is weighed against its own absence, since that is what likelihood ratios in the
literature compare. The probabilities of a differential need not add up to 1: two diseases may be
present, or none of them. Evidence without a published ratio for a disease does not move it.

Findings that depend on each other share a group; for each disease, of a group only the strongest
evidence for it and the strongest against it count. That understates what is known, never the
opposite. Findings of different groups are taken as independent given the disease.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from app.errors import SightlineError
from app.tools.diagnosis.bayes import ImpossibleEvidence, entropy, information_gain, posterior
from app.tools.diagnosis.table import Estimate, Presentation, Ratio


class WrongEvidence(SightlineError):
    """The error for evidence that the presentation's table does not know, or that contradicts."""


@dataclass(frozen=True, slots=True)
class OwnRatio:
    """A likelihood ratio that evidence brings along, such as that of an image model's card."""

    ratio: Estimate
    source: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """A finding that is known to be present or absent.

    Attributes:
        finding: Its key in the presentation's table, or any name if the table does not have it.
        origin: Where it is known from, for people: "said in the question", "Observation of ...".
        link: What it rests on: the id of a finding on an image or of a record's entry; "" for none.
        own: Ratios that come with it, by disease; they take precedence over the table's.
    """

    finding: str
    present: bool = True
    origin: str = ""
    link: str = ""
    own: Mapping[str, OwnRatio] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Weight:
    """The effect of one piece of evidence on one disease.

    Attributes:
        ratio: Its likelihood ratio.
        cited: The row of the table; None for a ratio that the evidence brought along.
        stronger: The finding of the same group that counts in its place; "" if this one counts.
    """

    evidence: Evidence
    ratio: Estimate
    cited: Ratio | None
    stronger: str = ""


@dataclass(frozen=True, slots=True)
class Probability:
    """The probability of a disease.

    Attributes:
        low: The probability if the prior and each ratio lay at the lower end of its interval; a
            figure without an interval is taken as it is.
        high: The same for the upper end.
        weights: The evidence with a ratio for this disease, in its order.
        silent: Evidence without a ratio for this disease, which did not move it.
    """

    hypothesis: str
    prior: float
    value: float
    low: float
    high: float
    weights: tuple[Weight, ...]
    silent: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class InformationGain:
    """The information expected from finding out about one finding.

    Attributes:
        bits: Expected drop of the entropy, summed over the diseases.
        present: The probabilities if it is present, by disease; only those that would change.
        absent: The same if it is absent.
    """

    finding: str
    bits: float
    present: dict[str, float]
    absent: dict[str, float]


_COSTS = {"none": 0, "low": 1, "medium": 2, "high": 3}


@dataclass(frozen=True)
class Differential:
    """The diseases of a presentation, weighed by evidence.

    Attributes:
        presentation: The table of ratios.
        evidence: What is known, in the order in which it became known.
        priors: Priors that replace the table's, by disease.

    Raises:
        WrongEvidence: The same finding is said to be present and absent.
        ImpossibleEvidence: The evidence proves a disease and excludes it.
    """

    presentation: Presentation
    evidence: tuple[Evidence, ...] = ()
    priors: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        """Check the evidence."""
        if unknown := set(self.priors) - set(self.presentation.hypotheses):
            raise WrongEvidence(f"{', '.join(sorted(unknown))}: no such disease in this table")
        states: dict[str, bool] = {}
        for item in self.evidence:
            if states.setdefault(item.finding, item.present) != item.present:
                raise WrongEvidence(
                    f"{self.name(item.finding)} is said to be both present and absent",
                    remedy="Take one of the two back.",
                )
        _ = self.probabilities

    def name(self, finding: str) -> str:
        """Return a finding's name for people."""
        known = self.presentation.findings.get(finding)
        return known.name if known else finding

    def add(self, *evidence: Evidence) -> Differential:
        """Return the differential with further evidence."""
        return replace(self, evidence=(*self.evidence, *evidence))

    def without(self, finding: str) -> Differential:
        """Return the differential without what is known of a finding."""
        kept = tuple(item for item in self.evidence if item.finding != finding)
        return replace(self, evidence=kept)

    @cached_property
    def probabilities(self) -> tuple[Probability, ...]:
        """The diseases, the likeliest first."""
        found = [self._probability(hypothesis) for hypothesis in self.presentation.hypotheses]
        return tuple(sorted(found, key=lambda item: -item.value))

    def probability(self, hypothesis: str) -> Probability:
        """Return the probability of a disease by its key in the table."""
        return next(item for item in self.probabilities if item.hypothesis == hypothesis)

    @property
    def entropy(self) -> float:
        """Uncertainty in bits, summed over the diseases."""
        return math.fsum(entropy(item.value) for item in self.probabilities)

    def prefixes(self) -> tuple[Differential, ...]:
        """Return the differential before any evidence, and after each piece of it."""
        return tuple(
            replace(self, evidence=self.evidence[:n]) for n in range(len(self.evidence) + 1)
        )

    def steps(self) -> tuple[dict[str, float], ...]:
        """Return the probabilities by disease before any evidence, and after each piece of it."""
        return tuple(
            {item.hypothesis: item.value for item in prefix.probabilities}
            for prefix in self.prefixes()
        )

    def next_findings(self) -> tuple[InformationGain, ...]:
        """Return what is not known yet, by expected information, the most telling first.

        Among findings that tell the same, the cheaper and less harmful comes first. Left out is
        what the sources give no rates for (only one of the two ratios), and what depends on
        evidence that is there already.
        """
        known = {item.finding for item in self.evidence}
        gains = [self._gain(key) for key in self.presentation.findings if key not in known]
        return tuple(
            sorted((gain for gain in gains if gain.bits > 0), key=lambda gain: self._order(gain))
        )

    def _order(self, gain: InformationGain) -> tuple[float, int, str]:
        finding = self.presentation.findings[gain.finding]
        burden = _COSTS[finding.cost] + _COSTS[finding.harm]
        return -round(gain.bits, 9), burden, gain.finding

    def _group(self, finding: str) -> str:
        known = self.presentation.findings.get(finding)
        return (known.group if known else "") or f"\0{finding}"

    def _weight(self, evidence: Evidence, hypothesis: str) -> Weight | None:
        if own := evidence.own.get(hypothesis):
            return Weight(evidence, own.ratio, None)
        row = self.presentation.ratio(evidence.finding, hypothesis)
        ratio = (row.when_present if evidence.present else row.when_absent) if row else None
        return Weight(evidence, ratio, row) if ratio else None

    def _probability(self, hypothesis: str) -> Probability:
        table = self.presentation.hypotheses[hypothesis].prior
        weights: list[Weight] = []
        silent: list[Evidence] = []
        seen: set[str] = set()
        for evidence in self.evidence:
            if evidence.finding in seen:
                continue
            seen.add(evidence.finding)
            weight = self._weight(evidence, hypothesis)
            if weight is None:
                silent.append(evidence)
            else:
                weights.append(weight)
        weights = self._strongest(weights)
        counted = [weight.ratio for weight in weights if not weight.stronger]
        own = self.priors.get(hypothesis)
        low, high = table.bounds if own is None else (own, own)
        prior = table.value if own is None else own
        return Probability(
            hypothesis,
            prior,
            posterior(prior, (ratio.value for ratio in counted)),
            _bound(low, [ratio.bounds[0] for ratio in counted], 0.0),
            _bound(high, [ratio.bounds[1] for ratio in counted], 1.0),
            tuple(weights),
            tuple(silent),
        )

    def _strongest(self, weights: Sequence[Weight]) -> list[Weight]:
        """Mark the evidence of each group that gives way to a stronger one of its direction."""
        best: dict[tuple[str, bool], Weight] = {}
        for weight in weights:
            key = (self._group(weight.evidence.finding), weight.ratio.value > 1)
            if key not in best or _strength(weight) > _strength(best[key]):
                best[key] = weight
        marked: list[Weight] = []
        for weight in weights:
            top = best[self._group(weight.evidence.finding), weight.ratio.value > 1]
            stronger = "" if top is weight else top.evidence.finding
            marked.append(replace(weight, stronger=stronger))
        return marked

    def _gain(self, finding: str) -> InformationGain:
        group = self._group(finding)
        bits = 0.0
        changed: dict[bool, dict[str, float]] = {True: {}, False: {}}
        for item in self.probabilities:
            row = self.presentation.ratio(finding, item.hypothesis)
            if row is None or any(
                self._group(weight.evidence.finding) == group for weight in item.weights
            ):
                continue
            for present, ratio in ((True, row.when_present), (False, row.when_absent)):
                if ratio and 0 < item.value < 1:
                    changed[present][item.hypothesis] = posterior(item.value, (ratio.value,))
            if row.rates:
                bits += information_gain(item.value, *row.rates)
        return InformationGain(finding, bits, changed[True], changed[False])


def _strength(weight: Weight) -> tuple[float, str]:
    """Return how far a ratio is from 1, and the finding's name, so that no order decides."""
    value = weight.ratio.value
    return abs(math.log(value)) if 0 < value < math.inf else math.inf, weight.evidence.finding


def _bound(prior: float, ratios: Sequence[float], extreme: float) -> float:
    """Return the posterior at one end of all intervals; the extreme if these contradict."""
    try:
        return posterior(prior, ratios)
    except ImpossibleEvidence:
        return extreme
