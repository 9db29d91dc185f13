"""`python -m training.viewer_commands.train [--check]`: train the reader of commands to the viewer.

With `--check` each writer's sentences are read by a model that was trained on the others', which
tells what to expect of somebody new. Without it, the model is trained on all and written to
`resources/models/viewer_commands.npz`.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.paths import resources_dir
from app.tools.text_classifier import PARTS, folded, tokens
from app.tools.viewer import intents
from app.tools.viewer.intents import NONE, text_features, word_features
from training.text_classifier import fit

_HERE = Path(__file__).parent
_SLOT = re.compile(r"\{(\w+)=([^}]*)\}")
QUESTIONS = "questions"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its intent and the places of its slots.

    Attributes:
        slots: Name, first and last character of each.
    """

    intent: str
    text: str
    slots: tuple[tuple[str, int, int], ...]
    writer: str


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m training.viewer_commands.train", description=__doc__
    )
    parser.add_argument("--check", action="store_true", help="read each writer by the others")
    parser.add_argument("--penalty", type=float, default=100.0, help="C of logistic regression")
    options = parser.parse_args(arguments)
    every = list(sentences())
    if options.check:
        _check(every, options.penalty)
    else:
        model = train(every, options.penalty)
        path = resources_dir() / "models" / "viewer_commands.npz"
        np.savez_compressed(path, allow_pickle=False, **model)
        print(f"{len(every)} sentences, {path.stat().st_size / 1e6:.2f} MB")


def sentences() -> Iterator[Sentence]:
    """Yield the sentences of all writers, and questions to other packs, which are no commands."""
    for path in sorted(_HERE.glob("*.tsv")):
        for line in path.read_text("utf-8").splitlines():
            intent, _language, marked = line.split("\t")
            yield _sentence(intent, folded(marked), path.stem)
    for row in tomllib.loads((_HERE / "questions.toml").read_text("utf-8"))["rows"]:
        if row["tools"] and not {"dicom_processor", "image_visualizer"} & {*row["tools"]}:
            yield Sentence(NONE, folded(row["text"]), (), QUESTIONS)


def _sentence(intent: str, marked: str, writer: str) -> Sentence:
    text, slots, end = "", [], 0
    for match in _SLOT.finditer(marked):
        text += marked[end : match.start()]
        slots.append((match[1], len(text), len(text) + len(match[2])))
        text += match[2]
        end = match.end()
    return Sentence(intent, text + marked[end:], tuple(slots), writer)


def train(every: Sequence[Sentence], penalty: float) -> dict[str, NDArray[Any]]:
    """Return the arrays of a model that is trained on sentences."""
    names = sorted({one.intent for one in every})
    slots_of = {
        name: sorted({s for o in every if o.intent == name for s, _, _ in o.slots})
        for name in names
    }
    found = [[token.text for token in tokens(one.text)] for one in every]
    text = fit(
        [list(text_features(words)) for words in found], [one.intent for one in every], penalty
    )
    features: list[list[str]] = []
    labels: list[str] = []
    for one in every:
        if not slots_of[one.intent]:
            continue
        said = tokens(one.text)
        words = [token.text for token in said]
        for place, token in enumerate(said):
            features.append(list(word_features(words, place, one.intent)))
            inside = (s for s, start, end in one.slots if start <= token.start < end)
            labels.append(next(inside, ""))
    word = fit(features, labels, penalty)
    assert text["classes"].tolist() == names
    return {
        **{f"text_{part}": text[part] for part in PARTS},
        **{f"word_{part}": word[part] for part in PARTS},
        "intents": np.array(names),
        "slots": np.array([" ".join(slots_of[name]) for name in names]),
        "labels": word["classes"],
    }


def _check(every: Sequence[Sentence], penalty: float) -> None:
    for writer in sorted({one.writer for one in every} - {QUESTIONS}):
        others = [one for one in every if one.writer != writer]
        model = intents.loaded(train(others, penalty))
        own = [one for one in every if one.writer == writer]
        read = [(one, intents.guess(one.text, model)) for one in own]
        right = [(one, said) for one, said in read if said.intent == one.intent]
        slots = sum(_said(one) != said.slots for one, said in right)
        print(f"{writer}: {len(right) / len(own):.3f} of {len(own)}, slots of {slots} differ")
        commands = sum(one.intent != NONE for one in own)
        for limit in (0.2, 0.35, 0.5, 0.8):
            sure = [
                (one, said)
                for one, said in read
                if said.intent != NONE and said.probability >= limit
            ]
            done = sum(one.intent == said.intent for one, said in sure)
            idle = sum(one.intent == NONE for one, _ in sure)
            print(
                f"  at least {limit}: {done / commands:.3f} of the commands, {idle} texts that are"
                f" none, {len(sure) - done - idle} taken for another"
            )


def _said(sentence: Sentence) -> dict[str, str]:
    return {slot: sentence.text[start:end] for slot, start, end in sentence.slots}


if __name__ == "__main__":
    main()
