"""`python -m training.reader.train [--encoder] [--check]`: train a reader and score it.

Without `--check` the thresholds are chosen by cross-validation over the phrasings that the rules
were written for; with it the reader is scored once on the two parts that nobody wrote rules by.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from tests.routing.table import (
    HELD_OUT,
    REGRESSION,
    STRANGERS,
    Row,
    judge,
    plan,
    rows,
    rows_in,
    score,
)
from training.reader.features import Features, sentence_encoder
from training.reader.reader import Reader, Thresholds

_PHRASINGS = Path(__file__).with_name("phrasings.toml")
_FIRST = (-0.6, -0.4, -0.2)
_OTHER = (-0.3, -0.2, -0.1, 0.0)
_NOTHING = (-0.1, 0.0, 0.1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m training.reader.train", description=__doc__)
    parser.add_argument("--encoder", action="store_true", help="add sentence embeddings")
    parser.add_argument("--penalty", type=float, default=1.0)
    parser.add_argument("--first", type=float, default=Thresholds().first)
    parser.add_argument("--other", type=float, default=Thresholds().other)
    parser.add_argument("--nothing", type=float, default=Thresholds().nothing)
    parser.add_argument("--check", action="store_true", help="score the parts kept apart")
    options = parser.parse_args(arguments)
    encoder = sentence_encoder() if options.encoder else None

    def make() -> Reader:
        thresholds = Thresholds(options.first, options.other, options.nothing)
        return Reader(Features(encoder), thresholds, penalty=options.penalty)

    known = [*rows(REGRESSION), *rows_in(_PHRASINGS)]
    if options.check:
        _check(make(), known)
    else:
        _choose(make, known)


def _check(reader: Reader, known: Sequence[Row]) -> None:
    """Print the scores of the parts kept apart, by the reader and by the rules."""
    reader.fit(known)
    for part in (HELD_OUT, STRANGERS):
        begun = time.perf_counter()
        learned = [judge(row, reader.plan) for row in rows(part)]
        each = (time.perf_counter() - begun) / len(learned)
        ruled = [judge(row, plan) for row in rows(part)]
        right = sum(item.right for item in learned)
        print(
            f"{part}: learned {right} of {len(learned)} ({100 * score(learned):.1f}%), "
            f"rules {100 * score(ruled):.1f}%; {1000 * each:.1f} ms a row"
        )
    print(f"weights: {reader.weights.shape}, {reader.weights.size * 4 / 1e6:.1f} MB as float32")


def _choose(make: Callable[[], Reader], known: Sequence[Row], folds: int = 5) -> None:
    """Print the score of each set of thresholds over stratified folds, the best one last."""
    fold = _folds(known, folds)
    totals: Counter[Thresholds] = Counter()
    for number in range(folds):
        reader = make()
        reader.fit([row for row, place in zip(known, fold, strict=True) if place != number])
        left_out = [row for row, place in zip(known, fold, strict=True) if place == number]
        for thresholds in itertools.starmap(
            Thresholds, itertools.product(_FIRST, _OTHER, _NOTHING)
        ):
            reader.thresholds = thresholds
            totals[thresholds] += sum(judge(row, reader.plan).right for row in left_out)
    for thresholds, right in sorted(totals.items(), key=lambda item: item[1]):
        print(f"{thresholds}: {right} of {len(known)} ({100 * right / len(known):.1f}%)")


def _folds(known: Sequence[Row], folds: int) -> list[int]:
    """The fold of each row: rows with the same answer are spread over all of them."""
    order = np.random.default_rng(0).permutation(len(known))
    ranked = sorted(order, key=lambda number: known[number].answers[0])
    place = dict(zip(ranked, (rank % folds for rank in range(len(ranked))), strict=True))
    return [place[number] for number in range(len(known))]


if __name__ == "__main__":
    main()
