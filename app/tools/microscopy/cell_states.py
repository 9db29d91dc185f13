"""Finds states of cropped cells: features or an embedding, clusters, UMAP (model process only).

UMAP (McInnes et al., arXiv:1802.03426) only draws the map: clusters are found in the principal
components, since distances in the map are distorted.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import ToolFailed
from app.tools.microscopy import cell_features
from app.tools.microscopy.cell_clusters import Clusters, cluster, components, standardised
from app.tools.microscopy.cell_pictures import CellPictures, read_cells, squares

Floats = NDArray[np.float32]
Tell = Callable[[float, str], None]

_MIN_DISTANCE = 0.1


@dataclass(frozen=True, slots=True)
class Embedding:
    """The values by which cells are grouped.

    Attributes:
        values: float32 [cells, values].
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
    """Return weighted z-scores; raise ToolFailed if all cells are the same."""
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
    return Embedding(features, cell_features.feature_names(cells.channels), "features")


def small_network(payload: Mapping[str, Any]) -> Embed:
    """Return the function that trains a small network on the cells themselves.

    Its embedding is joined with the measured features, each with half of the weight: alone, it
    splits states in small experiments (tests/bench/bench_cell_states.py).
    """

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
            names + cell_features.feature_names(cells.channels),
            "network",
            made.losses,
            weights,
        )

    return embed


def project(points: Floats, neighbours: int, seed: int) -> Floats:
    """Return each cell's place in a UMAP: float32 [cells, 2]; the same seed gives the same map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm import tqdm
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

    features = cell_features.measure(cells, part(0.05, 0.2, "Measuring cells"))

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
    names = cell_features.feature_names(cells.channels)
    shown = [name for name in names if name in cell_features.SHOWN or "intensity" in name]
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
        # Untyped, since their stubs know fewer types than the libraries take.
        pd: Any = import_module("pandas")
        ad: Any = import_module("anndata")
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
