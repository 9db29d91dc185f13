"""Groups cells by their features: principal components, a neighbour graph, Leiden (model process).

The graph joins each cell with its nearest ones; an edge weighs what the two share of their
neighbours (Levine et al., Cell 2015, doi:10.1016/j.cell.2015.05.047). Communities are found by the
Leiden algorithm (Traag et al., Sci Rep 2019, doi:10.1038/s41598-019-41695-z) with modularity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from graspologic_native import leiden  # pyright: ignore[reportAttributeAccessIssue]
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

Floats = NDArray[np.float32]

RESOLUTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2)
_VARIANCE = 0.95
_ROUNDING = 1e-5
"""Relative spread of a feature below which its values differ by rounding only."""
_MOST_COMPONENTS = 30
_SCORED = 3_000  # cells by which a clustering is scored


@dataclass(frozen=True, slots=True)
class Clusters:
    """A clustering of cells.

    Attributes:
        labels: Number of each cell's cluster, int [cells]; 1 is the largest cluster.
        resolution: The resolution of the Leiden algorithm.
        silhouette: Mean silhouette (Rousseeuw 1987): near 1 if clusters are far apart, near 0 if
            they overlap; None for a single cluster.
    """

    labels: NDArray[np.int64]
    resolution: float
    silhouette: float | None

    @property
    def count(self) -> int:
        """Number of clusters."""
        return int(self.labels.max())


def standardised(features: Floats) -> Floats:
    """Return z-scores of features [cells, features]; a feature that is the same everywhere is 0."""
    exact = features.astype(np.float64)
    mean, spread = exact.mean(0), exact.std(0)
    same = spread <= _ROUNDING * np.abs(mean) + 1e-9
    return ((exact - mean) / np.where(same, np.inf, spread)).astype(np.float32)


def components(scores: Floats, seed: int) -> Floats:
    """Return the first principal components of z-scores that hold 95% of their variance."""
    most = min(_MOST_COMPONENTS, *scores.shape)
    fitted = PCA(most, random_state=seed, svd_solver="full")
    found = fitted.fit_transform(scores)
    kept = int(np.searchsorted(np.cumsum(fitted.explained_variance_ratio_), _VARIANCE)) + 1
    return np.ascontiguousarray(found[:, : max(2, min(kept, most))], np.float32)


def neighbour_graph(points: Floats, neighbours: int) -> list[tuple[str, str, float]]:
    """Return the edges (cell, cell, weight) between neighbours; cells are numbered from 0."""
    count = min(neighbours, len(points) - 1)
    near = NearestNeighbors(n_neighbors=count).fit(points).kneighbors(return_distance=False)
    sets = [frozenset([number, *map(int, row)]) for number, row in enumerate(near)]
    edges: list[tuple[str, str, float]] = []
    for number, row in enumerate(near):
        for other in map(int, row):
            if other > number or number not in sets[other]:
                shared = len(sets[number] & sets[other]) / len(sets[number] | sets[other])
                edges.append((str(number), str(other), max(shared, 1e-3)))
    return edges


def cluster(
    points: Floats,
    *,
    neighbours: int,
    resolution: float | None,
    seed: int,
    tell: Callable[[float], None] = lambda fraction: None,
) -> Clusters:
    """Group cells by their principal components [cells, components].

    Without a resolution, each of `RESOLUTIONS` is tried, and the clustering with the largest mean
    silhouette is taken: the one whose clusters are the most distinct.
    """
    edges = neighbour_graph(points, neighbours)
    tried: Sequence[float] = RESOLUTIONS if resolution is None else (resolution,)
    best: Clusters | None = None
    known: dict[bytes, Clusters] = {}
    for number, value in enumerate(tried):
        tell(number / len(tried))
        labels = _leiden(edges, len(points), value, seed)
        if labels.tobytes() in known:
            continue
        made = Clusters(labels, value, _silhouette(points, labels, seed))
        known[labels.tobytes()] = made
        if best is None or (made.silhouette or 0.0) > (best.silhouette or 0.0):
            best = made
    if best is None:  # RESOLUTIONS is not empty
        raise ValueError("no resolution was given")
    return best


def _leiden(
    edges: list[tuple[str, str, float]], count: int, resolution: float, seed: int
) -> NDArray[np.int64]:
    _quality, found = leiden(edges, resolution=resolution, seed=seed, trials=3)
    # Numbered by size; by the first cell where two are equally large.
    raw = np.array([found[str(number)] for number in range(count)])
    names, first, sizes = np.unique(raw, return_index=True, return_counts=True)
    order = sorted(range(len(names)), key=lambda place: (-sizes[place], first[place]))
    number_of = {names[place]: number for number, place in enumerate(order, 1)}
    return np.array([number_of[name] for name in raw], np.int64)


def _silhouette(points: Floats, labels: NDArray[np.int64], seed: int) -> float | None:
    if not 1 < len(np.unique(labels)) < len(labels):
        return None
    size = _SCORED if len(points) > _SCORED else None
    try:
        return float(silhouette_score(points, labels, sample_size=size, random_state=seed))
    except ValueError:  # the sample missed all but one cluster
        return None
