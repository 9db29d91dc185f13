"""How well cell states and differences between groups are found, on experiments of known truth.

    python -m tests.bench.bench_cell_states [--seeds 3] [--nulls 200] [--cells 1000]

Prints for each method and seed the adjusted Rand index (scikit-learn) of the clusters with the two
true morphologies, and whether the difference in composition was found (adjusted p < 0.05); for
experiments without an effect the share in which one was found; and seconds, in this process.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from scipy import ndimage
from sklearn.metrics import adjusted_rand_score

from app.tools.microscopy import cell_states
from app.tools.microscopy.cell_pictures import CellPictures
from app.tools.microscopy.cell_states import (
    cluster,
    components,
    measured,
    project,
    scores,
    small_network,
)
from app.tools.microscopy.composition import entry as compare
from tests.support.cell_states import Micrograph, experiment


def cells_of(images: list[Micrograph]) -> tuple[CellPictures, list[str], list[str], list[str]]:
    """Return the cells cut out by the true masks, with state, group and replicate of each."""
    pixels: list[Any] = []
    masks: list[Any] = []
    states: list[str] = []
    groups: list[str] = []
    replicates: list[str] = []
    for image in images:
        for number, place in enumerate(ndimage.find_objects(image.labels), 1):
            pixels.append(image.pixels[place][..., np.newaxis])
            masks.append(image.labels[place] == number)
            states.append(image.states[number - 1])
            groups.append(image.group)
            replicates.append(image.replicate)
    return CellPictures(pixels, masks), states, groups, replicates


def found(method: str, cells: CellPictures, seed: int) -> tuple[Any, Any, dict[str, float]]:
    """Return the clusters, the components and the seconds of each step."""
    seconds: dict[str, float] = {}
    began = time.perf_counter()
    features = cell_states.measure(cells, lambda fraction: None)
    seconds["measuring"] = time.perf_counter() - began
    began = time.perf_counter()
    embed = small_network({"seed": seed}) if method == "network" else measured
    embedding = embed(cells, features, lambda fraction, text: None)
    seconds["embedding"] = time.perf_counter() - began
    began = time.perf_counter()
    points = components(scores(embedding), seed)
    clusters = cluster(points, neighbours=15, resolution=None, seed=seed)
    seconds["clustering"] = time.perf_counter() - began
    return clusters, points, seconds


def is_different(groups: list[str], replicates: list[str], labels: Any) -> bool:
    """Return whether a cluster's share differs between the groups at an adjusted p below 0.05."""
    answer = compare(
        {
            "groups": groups,
            "replicates": replicates,
            "clusters": [str(label) for label in labels],
            "features": {},
        }
    )
    p = [one["p_adjusted"] for one in answer["clusters"]]
    return any(value is not None and value < 0.05 for value in p)


def told(seconds: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--nulls", type=int, default=200)
    parser.add_argument("--cells", type=int, default=1000)
    asked = parser.parse_args()
    for method in ("features", "network"):
        for seed in range(asked.seeds):
            cells, states, groups, replicates = cells_of(experiment(seed))
            clusters, _points, seconds = found(method, cells, seed)
            rand = adjusted_rand_score(states, clusters.labels)
            different = is_different(groups, replicates, clusters.labels)
            print(
                f"{method}, seed {seed}: {len(cells)} cells, {clusters.count} clusters, adjusted "
                f"Rand index {rand:.3f}, difference found: {different} ({told(seconds)})"
            )
    wrong = 0
    began = time.perf_counter()
    for seed in range(asked.nulls):
        images = experiment(10_000 + seed, control=0.4, treated=0.4, side=4)
        cells, _states, groups, replicates = cells_of(images)
        clusters, _points, _seconds = found("features", cells, seed)
        wrong += is_different(groups, replicates, clusters.labels)
    if asked.nulls:
        print(
            f"{asked.nulls} experiments without an effect, from pixels: {wrong} found "
            f"({wrong / asked.nulls:.1%}; 5% stated) in {time.perf_counter() - began:.0f} s"
        )
    side = int(np.ceil(np.sqrt(asked.cells / 6)))
    cells, *_rest = cells_of(experiment(0, side=side))
    clusters, points, seconds = found("network", cells, 0)
    for turn in ("first map", "second map"):
        began = time.perf_counter()
        project(points, 15, 0)
        seconds[turn] = time.perf_counter() - began
    print(f"{len(cells)} cells: {told(seconds)}")


if __name__ == "__main__":
    main()
