"""Finds states of cropped cells: features or an embedding, clusters, UMAP (model process only).

UMAP (McInnes et al., arXiv:1802.03426) only draws the map: clusters are found in the principal
components, since distances in the map are distorted.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from graspologic_native import leiden  # pyright: ignore[reportAttributeAccessIssue]
from numpy.typing import NDArray
from skimage.feature import graycomatrix, graycoprops, local_binary_pattern
from skimage.measure import regionprops
from sklearn.decomposition import PCA
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors

from app.paths import cache_dir
from app.tools.api import ToolFailed
from app.tools.microscopy.cell_pictures import CellPictures, grey_limits, read_cells, squares

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


_LEVELS = 16  # grey levels of the co-occurrence matrices; level 0 is the background
_TEXTURE = ("contrast", "homogeneity", "energy", "correlation")
_ANGLES = (0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4)
_PATTERNS = 10  # uniform patterns of 8 neighbours

SHOWN = ("area", "eccentricity", "solidity", "form_factor")
"""Features that are written into the analysis' table, with the mean intensities."""


def feature_names(channels: int) -> list[str]:
    """Return the names of the columns of `measure`, in order."""
    names = ["area", "eccentricity", "solidity", "extent", "form_factor", "axis_ratio", "diameter"]
    for c in range(1, channels + 1):
        end = f"_{c}" if channels > 1 else ""
        names += [f"{part}{end}" for part in ("mean_intensity", "std_intensity", "edge_to_centre")]
        names += [f"{part}{end}" for part in _TEXTURE]
        names += [f"pattern_{number}{end}" for number in range(_PATTERNS)]
    return names


def measure(cells: CellPictures, tell: Callable[[float], None]) -> Floats:
    """Return float32 [cells, features] (`feature_names`): px, stored values; `tell` may raise."""
    limits = grey_limits(cells)
    rows: list[list[float]] = []
    for number, (pixels, mask) in enumerate(zip(cells.pixels, cells.masks, strict=True)):
        if number % 16 == 0:
            tell(number / len(cells))
        found = regionprops(mask.astype(np.uint8))[0]
        form = _form(found)
        for c, (low, high) in enumerate(limits):
            grey = pixels[..., c].astype(np.float64)
            level = np.clip((grey - low) / (high - low), 0, 1)
            form += [float(grey[mask].mean()), float(grey[mask].std())]
            form += [_edge_to_centre(level, mask), *_texture(level, mask)]
        rows.append(form)
    return np.nan_to_num(np.array(rows, np.float32))


def _form(found: object) -> list[float]:
    area, perimeter = float(found.area), float(found.perimeter)  # pyright: ignore
    major, minor = float(found.axis_major_length), float(found.axis_minor_length)  # pyright: ignore
    return [
        area,
        float(found.eccentricity),  # pyright: ignore
        float(found.solidity) if area > 2 else 1.0,  # pyright: ignore
        float(found.extent),  # pyright: ignore
        min(4 * np.pi * area / perimeter**2, 1.5) if perimeter else 1.0,
        minor / major if major else 1.0,
        float(found.equivalent_diameter_area),  # pyright: ignore
    ]


def _edge_to_centre(level: NDArray[np.float64], mask: NDArray[np.bool_]) -> float:
    """Return the mean intensity of the cell's outer half by its mean intensity; 1 if it is even."""
    rows, columns = np.nonzero(mask)
    distance = np.hypot(rows - rows.mean(), columns - columns.mean())
    values = level[rows, columns]
    outer = values[distance >= np.median(distance)]
    return float((outer.mean() + 0.01) / (values.mean() + 0.01))


def _texture(level: NDArray[np.float64], mask: NDArray[np.bool_]) -> list[float]:
    steps = np.where(mask, 1 + np.minimum((level * (_LEVELS - 1)).astype(np.uint8), _LEVELS - 2), 0)
    # Pairs with the background are taken out: they would measure the outline, not the texture.
    counts = graycomatrix(steps.astype(np.uint8), [1, 2], _ANGLES, levels=_LEVELS, symmetric=True)[
        1:, 1:
    ].astype(np.float64)
    counts /= np.maximum(counts.sum((0, 1), keepdims=True), 1)
    found = [float(np.nanmean(graycoprops(counts, name))) for name in _TEXTURE]
    coded = local_binary_pattern((level * 255).astype(np.uint8), 8, 1, "uniform")[mask]
    share = np.bincount(coded.astype(int), minlength=_PATTERNS)[:_PATTERNS] / max(len(coded), 1)
    return [*found, *map(float, share)]


Floats = NDArray[np.float32]
Tell = Callable[[float, str], None]

_MIN_DISTANCE = 0.1


@dataclass(frozen=True, slots=True)
class Embedding:
    """The values by which cells are grouped.

    Attributes:
        values: float32 [cells, values].
        names: Their names.
        method: How they were made: "dinov3", "network" or "features".
        losses: Mean loss of each epoch of training.
        weights: Weight of each value once all have the same spread; None for 1.
    """

    values: Floats
    names: list[str]
    method: str
    losses: list[float] = field(default_factory=list[float])
    weights: Floats | None = None


Embed = Callable[[CellPictures, Floats, Tell], Embedding]
"""Makes an embedding of cells, given their measured features too."""


def scores(embedding: Embedding) -> Floats:
    """Return the z-scores of an embedding, weighted.

    Raises:
        ToolFailed: All cells are the same.
    """
    made = standardised(embedding.values)
    if not made.any():
        raise ToolFailed(
            "all cells are exactly alike, so there are no states to tell apart",
            remedy="Check that the crops show cells: the image may be blank, or the channel wrong.",
        )
    return made if embedding.weights is None else made * embedding.weights


def usual_epochs(cells: int) -> int:
    """Return the epochs for which the small network is trained: fewer for many cells."""
    return max(4, min(20, 10_000 // max(cells, 1)))


def measured(cells: CellPictures, features: Floats, tell: Tell) -> Embedding:
    """Return the measured features themselves."""
    del tell
    return Embedding(features, feature_names(cells.channels), "features")


def small_network(payload: Mapping[str, Any]) -> Embed:
    """Return the trainer of a small network, joined half and half with measured features."""

    def embed(cells: CellPictures, features: Floats, tell: Tell) -> Embedding:
        # torch is installed with the AI packages only, and is imported where it is used.
        from app.tools.microscopy.contrastive import SIDE, train_small

        made = train_small(
            squares(cells, SIDE),
            epochs=int(payload.get("epochs") or usual_epochs(len(cells))),
            seed=int(payload["seed"]),
            tell=tell,
        )
        width, count = made.embedding.shape[1], features.shape[1]
        names = [f"network_{number}" for number in range(1, width + 1)]
        weights = np.repeat(np.sqrt([count / width, 1.0]), [width, count]).astype(np.float32)
        return Embedding(
            np.hstack([made.embedding, features]),
            names + feature_names(cells.channels),
            "network",
            made.losses,
            weights,
        )

    return embed


def _keep_compiled_code_in(folder: Path) -> None:
    """Let numba keep what it compiles in a folder, rather than in ~/.cache/numba.

    Its own setting for that (CACHE_DIR) needs the packages' sources, which a frozen program lacks.
    """
    caching: Any = import_module("numba.core.caching")

    class OwnFolder(caching.UserWideCacheLocator):
        def __init__(self, function: object, source: str) -> None:
            super().__init__(function, source)
            self._cache_path = str(folder / self.get_suitable_cache_subpath(source))

    caching.CacheImpl._locator_classes = [OwnFolder]


def project(points: Floats, neighbours: int, seed: int) -> Floats:
    """Return each cell's place in a UMAP: float32 [cells, 2]; the same seed gives the same map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm import tqdm

        _keep_compiled_code_in(cache_dir() / "numba")
        from umap import UMAP  # compiles for half a minute at its first use

        # Its own lock is a semaphore of the system, which outlives the end of this process.
        tqdm.set_lock(threading.RLock())
        made = UMAP(
            n_neighbors=min(neighbours, len(points) - 1),
            min_dist=_MIN_DISTANCE,
            random_state=seed,
            n_jobs=1,
        )
        return np.asarray(made.fit_transform(points), np.float32)


def analyse(payload: Mapping[str, Any], progress: Tell, embed: Embed) -> dict[str, Any]:
    """Group cells by an embedding; see `entry` for the payload and what is returned."""
    seed, neighbours = int(payload["seed"]), int(payload["neighbours"])
    progress(0.02, "Reading cells")
    cells = read_cells(payload)

    def part(low: float, high: float, text: str) -> Callable[[float], None]:
        return lambda fraction: progress(low + (high - low) * fraction, text)

    features = measure(cells, part(0.05, 0.2, "Measuring cells"))

    def training(fraction: float, text: str) -> None:
        progress(0.2 + 0.4 * fraction, text)

    embedding = embed(cells, features, training)
    points = components(scores(embedding), seed)
    found = cluster(
        points,
        neighbours=neighbours,
        resolution=payload.get("resolution"),
        seed=seed,
        tell=part(0.6, 0.7, "Finding clusters"),
    )
    progress(0.7, "Drawing the map; the first time takes half a minute")
    places = project(points, neighbours, seed)
    progress(0.95, "Writing")
    names = feature_names(cells.channels)
    shown = [name for name in names if name in SHOWN or "intensity" in name]
    columns = {name: features[:, names.index(name)] for name in shown}
    if payload.get("h5ad_file"):
        _write_h5ad(payload, embedding, found, places, columns)
    return {
        "umap": places,
        "clusters": found.labels,
        "resolution": found.resolution,
        "silhouette": found.silhouette,
        "losses": embedding.losses,
        "method": embedding.method,
        "components": int(points.shape[1]),
        "features": columns,
    }


def entry(payload: Mapping[str, Any], progress: Tell) -> dict[str, Any]:
    """Group cells by measured features or a small network; called in the model process.

    `payload` has what `cell_pictures.read_cells` needs, "method" ("features" or "network"),
    "seed", "neighbours", "resolution" (or None), "epochs" (or None), "h5ad_file" (a path to write)
    and "obs" (columns of that file's table of cells) with "parameters".

    Returns:
        "umap" [cells, 2], "clusters" [cells] from 1, "resolution", "silhouette" (or None),
        "losses" (one per epoch), "method", "components" and "features" (name -> [cells]).
    """
    embed = small_network(payload) if payload["method"] == "network" else measured
    return analyse(payload, progress, embed)


def _write_h5ad(
    payload: Mapping[str, Any],
    embedding: Embedding,
    found: Clusters,
    places: Floats,
    columns: Mapping[str, NDArray[Any]],
) -> None:
    """Write an AnnData file: X the embedding, obs the cells, obsm X_umap, uns the parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import anndata
        import pandas  # noqa: ICN001

        # Untyped, since their stubs know fewer types than the libraries take.
        pd: Any = pandas
        ad: Any = anndata
        index = [f"cell-{number}" for number in range(1, len(found.labels) + 1)]
        obs = pd.DataFrame({**payload["obs"], **columns}, index=index)
        obs["cluster"] = pd.Categorical([str(number) for number in found.labels])
        parameters = {
            name: value for name, value in payload["parameters"].items() if value is not None
        }
        parameters |= {"method": embedding.method, "resolution": found.resolution}
        data = ad.AnnData(
            X=embedding.values,
            obs=obs,
            var=pd.DataFrame(index=embedding.names),
            obsm={"X_umap": places},
            uns={"parameters": parameters, "loss": np.array(embedding.losses)},
        )
        path = Path(payload["h5ad_file"])
        part = path.with_name(f"{path.name}.part")
        try:
            data.write_h5ad(part, compression="gzip")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
