"""`python -m training.sentence_reader.train [--check]`: train the reader of answers' sentences.

With `--check` each writer's sentences are read by a model that was trained on the others', which
tells what to expect of somebody new. Without it, the model is trained on all and written to
`resources/models/sentence_reader.npz`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.agent.answers import sentence_reader as reader
from app.agent.answers.facts import ABSENT, FINDING, NEITHER, PRESENT
from app.agent.answers.sentence_reader import MEDICAL, TALK
from app.paths import resources_dir
from app.tools.text_classifier import PARTS
from training.text_classifier import fit

_HERE = Path(__file__).parent
_OF_FINDING = (PRESENT, ABSENT, NEITHER)
_OF_ALL = (MEDICAL, TALK)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its answer; `FINDING` stands in those that are about one."""

    answer: str
    text: str
    writer: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m training.sentence_reader.train", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="read each writer by the others")
    parser.add_argument("--penalty", type=float, default=10.0, help="C of logistic regression")
    options = parser.parse_args(arguments)
    every = list(sentences())
    if options.check:
        _check(every, options.penalty)
    else:
        path = resources_dir() / "models" / "sentence_reader.npz"
        np.savez_compressed(path, allow_pickle=False, **train(every, options.penalty))
        print(f"{len(every)} sentences, {path.stat().st_size / 1e6:.2f} MB")


def sentences() -> Iterator[Sentence]:
    """Yield the sentences of all writers."""
    for path in sorted(_HERE.glob("*.tsv")):
        for line in path.read_text("utf-8").splitlines():
            answer, _language, text = line.split("\t")
            yield Sentence(answer, text.replace("{X}", FINDING), path.stem)


def train(every: Sequence[Sentence], penalty: float) -> dict[str, NDArray[Any]]:
    """Return the arrays of a model that is trained on sentences.

    A finding that is told to be there or not is asserted; one of which neither is told may be talk.
    """
    found = [one for one in every if one.answer in _OF_FINDING]
    plain = [one for one in every if one.answer in _OF_ALL]
    presence = fit(
        [list(reader.presence_features(one.text)) for one in found],
        [one.answer for one in found],
        penalty,
    )
    asserts = fit(
        [list(reader.asserts_features(one.text)) for one in plain],
        [one.answer for one in plain],
        penalty,
    )
    return {
        **{f"presence_{part}": presence[part] for part in PARTS},
        **{f"asserts_{part}": asserts[part] for part in PARTS},
        "presence_answers": presence["classes"],
        "asserts_answers": asserts["classes"],
    }


def _check(every: Sequence[Sentence], penalty: float) -> None:
    for writer in sorted({one.writer for one in every}):
        model = reader.loaded(train([one for one in every if one.writer != writer], penalty))
        own = [one for one in every if one.writer == writer]
        for name, of in (("presence", _OF_FINDING), ("asserts", _OF_ALL)):
            features = getattr(reader, f"{name}_features")
            answers = model.answers[name]
            told = [one for one in own if one.answer in of]
            if not told:
                continue
            read = [getattr(model, name).probabilities(features(one.text)) for one in told]
            right = np.array([one.answer for one in told]) == np.array(
                [answers[int(np.argmax(chances))] for chances in read]
            )
            sure = np.array([chances.max() for chances in read])
            print(f"{writer} {name}: {right.mean():.3f} of {len(told)}", end="")
            for limit in (0.7, 0.8, 0.9):
                kept = right[sure >= limit]
                print(f", at {limit} {kept.mean():.3f} of {len(kept) / len(told):.2f}", end="")
            print()


if __name__ == "__main__":
    main()
