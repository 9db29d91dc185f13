"""Trains the linear classifiers of `app.tools.text_classifier`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from app.tools.text_classifier import checksum

_FEWEST = 2
"""Texts with a feature that is worth a weight."""


def fit(
    features: Sequence[Sequence[str]], answers: Sequence[str], penalty: float
) -> dict[str, NDArray[Any]]:
    """Return a classifier's arrays, fitted to the right answers of texts with these features.

    `penalty` is the C of logistic regression. "classes" are the answers, in the weights' order.
    """
    rows = [np.unique(np.array([checksum(f) for f in one], np.uint32)) for one in features]
    counts = Counter(int(number) for row in rows for number in row)
    known = np.array(sorted(n for n, count in counts.items() if count >= _FEWEST), np.uint32)
    rarity = np.array(
        [np.log((1 + len(rows)) / (1 + counts[int(n)])) + 1 for n in known], np.float32
    )
    data, columns, starts = [], [], [0]
    for row in rows:
        places = np.searchsorted(known, row)
        places = places[known[np.minimum(places, len(known) - 1)] == row]
        values = rarity[places]
        data.append(values / max(float(np.linalg.norm(values)), 1e-9))
        columns.append(places)
        starts.append(starts[-1] + len(places))
    matrix = sparse.csr_matrix(
        (np.concatenate(data), np.concatenate(columns), np.array(starts)),
        shape=(len(rows), len(known)),
    )
    fitted = LogisticRegression(C=penalty, max_iter=1000, tol=1e-4).fit(matrix, list(answers))
    weights, bias = fitted.coef_.T, fitted.intercept_
    if len(bias) == 1:  # one column tells the second answer from the first
        weights, bias = np.hstack([-weights, weights]) / 2, np.append(-bias, bias) / 2
    scale = np.abs(weights).max(axis=0) / 127
    return {
        "known": known,
        "rarity": rarity,
        "weights": np.rint(weights / scale).astype(np.int8),
        "scale": scale.astype(np.float32),
        "bias": bias.astype(np.float32),
        "classes": np.array(fitted.classes_),
    }
