"""Compares groups of images: shares of cell clusters, and means of features (model process only).

The unit is the replicate (an image, a well, an animal), never the cell: cells of one replicate are
alike, and counting them as independent finds differences where there are none (Lazic et al., PLoS
Biology 2018, doi:10.1371/journal.pbio.2005282). The share of a cluster is compared between two
groups by Welch's t test on the replicates' logits, as in propeller (Phipson et al., Bioinformatics
2022, doi:10.1093/bioinformatics/btac582), with 1/2 added to each count. With 3 replicates a group
it holds 5% (tests/unit/tools/microscopy/test_composition.py); an exact permutation test does too,
but its smallest p-value is then 0.1, so it could never find anything. All tests of a table are
corrected together by Benjamini and Hochberg (J R Stat Soc B 1995).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

LEAST_REPLICATES = 2
LEVEL = 0.95
"""Level of the confidence intervals."""
_SAME = 1e-9
"""Relative spread below which values differ by rounding only."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison of two groups.

    Attributes:
        subject: The cluster, or the feature.
        group, reference: The groups' names; differences are `group` minus `reference`.
        replicates: Numbers of replicates of the two groups.
        cells: Numbers of cells of the two groups (of all clusters).
        means: Means over the replicates of the two groups: of the cluster's share (0..1), or of the
            feature.
        difference: Difference of these means, None if a group has no replicate.
        interval: Its confidence interval at `LEVEL` (Welch), or None.
        hedges_g: Difference in pooled standard deviations of the replicates, corrected for small
            numbers (Hedges 1981), on the scale that is tested; None if not defined.
        p: The two-sided p-value, or None with the reason in `note`.
        p_adjusted: `p` after correction over all comparisons made together.
    """

    subject: str
    group: str
    reference: str
    replicates: tuple[int, int]
    cells: tuple[int, int]
    means: tuple[float, float]
    difference: float
    interval: tuple[float, float] | None = None
    hedges_g: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Share:
    """The cells of one replicate in one cluster: `cells` of `total`."""

    group: str
    replicate: str
    cluster: str
    cells: int
    total: int

    @property
    def share(self) -> float:
        """The fraction of the replicate's cells that are in the cluster."""
        return self.cells / self.total


def adjusted(p: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected by Benjamini and Hochberg; None stays None and does not count."""
    known = [value for value in p if value is not None]
    if not known:
        return list(p)
    corrected = iter(stats.false_discovery_control(known))
    return [None if value is None else float(next(corrected)) for value in p]


def logits(cells: Floats, totals: Floats) -> Floats:
    """Return the logits of shares, with 1/2 added to both counts so that 0 and 1 are finite."""
    return np.log((cells + 0.5) / (totals - cells + 0.5))


def hedges_g(one: Floats, other: Floats) -> float | None:
    """Return Hedges' g of two samples, or None without any spread or with too few values."""
    free = len(one) + len(other) - 2
    if len(one) < 2 or len(other) < 2:
        return None
    pooled = ((len(one) - 1) * one.var(ddof=1) + (len(other) - 1) * other.var(ddof=1)) / free
    if pooled <= 0:
        return None
    return float((one.mean() - other.mean()) / np.sqrt(pooled) * (1 - 3 / (4 * free - 1)))


def welch(one: Floats, other: Floats) -> tuple[float, tuple[float, float]] | None:
    """Return (two-sided p, confidence interval of the difference of means); None without spread."""
    parts = one.var(ddof=1) / len(one), other.var(ddof=1) / len(other)
    error = float(np.sqrt(sum(parts)))
    difference = float(one.mean() - other.mean())
    if error <= _SAME * max(1.0, abs(float(one.mean())), abs(float(other.mean()))):
        return None
    free = sum(parts) ** 2 / (parts[0] ** 2 / (len(one) - 1) + parts[1] ** 2 / (len(other) - 1))
    half = float(stats.t.ppf(0.5 + LEVEL / 2, free)) * error
    p = 2 * float(stats.t.sf(abs(difference) / error, free))
    return p, (difference - half, difference + half)


def pairs(groups: Sequence[str], reference: str = "") -> list[tuple[str, str]]:
    """Return the pairs (group, reference) to compare: with `reference`, or else each with each."""
    names = sorted(set(groups))
    if reference:
        return [(name, reference) for name in names if name != reference]
    return [(later, first) for first, later in itertools.combinations(names, 2)]


def _compare(
    subject: str,
    pair: tuple[str, str],
    cells: tuple[int, int],
    shown: tuple[Floats, Floats],
    tested: tuple[Floats, Floats],
) -> Comparison:
    """Compare two samples of replicates: `shown` for means and interval, `tested` for the test."""
    one, other = shown
    made = Comparison(
        subject,
        *pair,
        replicates=(len(one), len(other)),
        cells=cells,
        means=(float(one.mean()), float(other.mean())),
        difference=float(one.mean() - other.mean()),
    )
    for name, values in zip(pair, shown, strict=True):
        if len(values) < LEAST_REPLICATES:
            why = (
                f"not tested: group {name} has {len(values)} replicate, and without at least "
                f"{LEAST_REPLICATES} per group the spread between replicates is not known"
            )
            return replace(made, note=why)
    result, plain = welch(*tested), welch(*shown)
    interval = plain[1] if plain else None
    if result is None:
        same = np.allclose(tested[0].mean(), tested[1].mean())
        return replace(
            made, interval=interval, p=1.0 if same else None, note="" if same else _NO_SPREAD
        )
    return replace(made, interval=interval, hedges_g=hedges_g(*tested), p=result[0])


_NO_SPREAD = "not tested: the replicates within each group are all the same"


def _corrected(made: Sequence[Comparison]) -> list[Comparison]:
    values = adjusted([one.p for one in made])
    return [replace(one, p_adjusted=value) for one, value in zip(made, values, strict=True)]


def shares(
    groups: Sequence[str], replicates: Sequence[str], clusters: Sequence[str]
) -> list[Share]:
    """Return each replicate's cells in each cluster, 0 included; one value per cell is given.

    Replicates with the same name in different groups are different replicates.
    """
    names = sorted(set(clusters))
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for group, replicate, cluster in zip(groups, replicates, clusters, strict=True):
        own = counts.setdefault((group, replicate), dict.fromkeys(names, 0))
        own[cluster] += 1
    return [
        Share(group, replicate, cluster, cells, sum(own.values()))
        for (group, replicate), own in sorted(counts.items())
        for cluster, cells in own.items()
    ]


def compare_shares(made: Sequence[Share], reference: str = "") -> list[Comparison]:
    """Compare the share of each cluster between groups; p-values are corrected over all."""
    found: list[Comparison] = []
    for pair in pairs([one.group for one in made], reference):
        for cluster in sorted({one.cluster for one in made}):
            samples = [
                [one for one in made if one.group == group and one.cluster == cluster]
                for group in pair
            ]
            cells = [np.array([one.cells for one in part], float) for part in samples]
            totals = [np.array([one.total for one in part], float) for part in samples]
            found.append(
                _compare(
                    cluster,
                    pair,
                    (int(totals[0].sum()), int(totals[1].sum())),
                    (cells[0] / totals[0], cells[1] / totals[1]),
                    (logits(cells[0], totals[0]), logits(cells[1], totals[1])),
                )
            )
    return _corrected(found)


def compare_features(
    groups: Sequence[str],
    replicates: Sequence[str],
    features: Mapping[str, Sequence[float | None]],
    reference: str = "",
) -> list[Comparison]:
    """Compare the replicates' means of features between groups; one value per cell is given.

    p-values are corrected over all features and pairs of groups. Missing values are left out.
    """
    units = list(zip(groups, replicates, strict=True))
    found: list[Comparison] = []
    for pair in pairs(groups, reference):
        for name, given in features.items():
            values: dict[tuple[str, str], list[float]] = {}
            for unit, value in zip(units, given, strict=True):
                if value is not None and np.isfinite(value):
                    values.setdefault(unit, []).append(value)
            parts = [
                [own for (group, _), own in sorted(values.items()) if group == wanted]
                for wanted in pair
            ]
            if not all(parts):
                continue
            means = [np.array([float(np.mean(own)) for own in part], np.float64) for part in parts]
            cells = [sum(len(own) for own in part) for part in parts]
            sample = (means[0], means[1])
            found.append(_compare(name, pair, (cells[0], cells[1]), sample, sample))
    return _corrected(found)


def entry(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Compare shares of clusters and features; the host calls this in the model process.

    `payload` has "groups", "replicates" and "clusters" (texts, one per cell; "clusters" may be
    empty), "features" (name -> a number or None per cell) and "reference".

    Returns:
        "shares" (as `Share`, with "share"), "clusters" and "features" (as `Comparison`).
    """
    groups, replicates = payload["groups"], payload["replicates"]
    reference = str(payload.get("reference") or "")
    made = shares(groups, replicates, payload["clusters"]) if payload["clusters"] else []
    by_feature = compare_features(groups, replicates, payload["features"], reference)
    return {
        "shares": [{**asdict(one), "share": one.share} for one in made],
        "clusters": [asdict(one) for one in compare_shares(made, reference)],
        "features": [asdict(one) for one in by_feature],
    }
