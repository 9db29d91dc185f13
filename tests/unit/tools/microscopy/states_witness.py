"""What the model process finds of a synthetic experiment; scikit-learn says how right it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from skimage.measure import regionprops_table
from sklearn.metrics import adjusted_rand_score

from app.tools.microscopy import cell_states
from app.tools.microscopy.cell_pictures import read_cells
from app.tools.microscopy.cell_states import cluster, components, measured, scores, small_network


def states(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Group cells as the analyser does, without the map; compare with payload["truth"]."""
    cells = read_cells(payload)
    features = cell_states.measure(cells, lambda fraction: None)
    embed = small_network(payload) if payload["method"] == "network" else measured
    embedding = embed(cells, features, lambda fraction, text: None)
    points = components(scores(embedding), payload["seed"])
    found = cluster(
        points, neighbours=15, resolution=payload.get("resolution"), seed=payload["seed"]
    )
    return {
        "rand": float(adjusted_rand_score(payload["truth"], found.labels)),
        "count": found.count,
        "silhouette": found.silhouette,
        "labels": found.labels,
        "losses": embedding.losses,
        "embedding": embedding.values,
    }


def features(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return our features, and scikit-image's own of the same masks."""
    cells = read_cells(payload)
    ours = cell_states.measure(cells, lambda fraction: None)
    names = cell_states.feature_names(cells.channels)
    wanted = ("area", "eccentricity", "solidity")
    theirs = [regionprops_table(mask.astype(np.uint8), properties=wanted) for mask in cells.masks]
    means = [float(p[..., 0][m].mean()) for p, m in zip(cells.pixels, cells.masks, strict=True)]
    return {
        "ours": {name: ours[:, names.index(name)] for name in (*wanted, "mean_intensity")},
        "theirs": {
            **{name: np.array([one[name][0] for one in theirs]) for name in wanted},
            "mean_intensity": np.array(means),
        },
        "names": names,
        "columns": int(ours.shape[1]),
    }


def agreement(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the adjusted Rand index of payload["truth"] and payload["found"]."""
    return {"rand": float(adjusted_rand_score(payload["truth"], payload["found"]))}
