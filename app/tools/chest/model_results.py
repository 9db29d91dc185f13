"""Calls of models in the model process, and the parts that their tools' results share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.imaging.findings import Finding, Geometry, Provenance, new_id
from app.imaging.types import ImageRef
from app.tools.api import Need, ToolContext
from app.tools.models.store import InstalledModel, ModelStore
from app.tools.needs import require_packages


def needs_of(name: str, packages: tuple[str, ...]) -> tuple[Need, ...]:
    """For the spec: the packages that run the model of that name, and its weights."""
    return (*(Need("package", package) for package in packages), Need("weights", name))


def required(
    name: str, feature: str, packages: tuple[str, ...], context: ToolContext
) -> InstalledModel:
    """The installed model of that name, with the packages that run it.

    Args:
        name: Its card's.
        feature: What needs it, for the message ("The report generator").
        packages: By their import names.
        context: The call's.

    Raises:
        ToolFailed: It or a package is not installed, or its terms are not accepted.
    """
    model = ModelStore(context.models_dir).require(name, feature)
    require_packages(feature, *packages)
    return model


def ask(
    entry: str,
    model: InstalledModel,
    payload: Mapping[str, Any],
    context: ToolContext,
    timeout_s: float,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """The answer of a model's entry in the model process.

    Args:
        entry: "app.tools.chest.maira:entry".
        model: Which model; the entry is told where it lies.
        payload: What else it is given.
        context: The call's, whose cancel stops it.
        timeout_s: After this it is stopped and has failed.
        progress: Told how far it is; None for the call's own.

    Raises:
        Cancelled: The run was stopped.
        ToolFailed: It failed; see `app.tools.api.ModelHost.call`.
    """
    return context.host.call(
        entry,
        {**model.payload(context.device), **payload},
        cancel=context.cancel,
        timeout_s=timeout_s,
        progress=progress or context.progress,
    )


def with_warnings(text: str, warnings: Sequence[str]) -> str:
    """A summary, and behind it what makes it doubtful."""
    return f"{text} Warnings: {'; '.join(warnings)}." if warnings else text


def by_image(warnings: Sequence[Sequence[str]]) -> list[str]:
    """Warnings about each of several images, with its number; about a single one as they are."""
    return [
        f"image {number}: {text}" if len(warnings) > 1 else text
        for number, texts in enumerate(warnings, 1)
        for text in texts
    ]


def made_by(model: InstalledModel, answer: Mapping[str, Any]) -> dict[str, Any]:
    """For the metadata: which model answered, read by which program, and on what."""
    engine = {"engine": answer["engine"]} if "engine" in answer else {}
    return {
        "model": model.card.title,
        "weights_sha256": model.sha256,
        **engine,
        "device": answer.get("device", ""),
    }


def placed(
    shapes: Iterable[tuple[str, Geometry]],
    image: ImageRef,
    provenance: Provenance,
    description: str,
    group: str,
) -> tuple[Finding, ...]:
    """Findings of one group from shapes that have a label and no score.

    Args:
        shapes: Label and geometry.
        image: What they lie on.
        provenance: What made them.
        description: Of each.
        group: What they are shown and hidden by.
    """
    return tuple(
        Finding(
            id=new_id(),
            image=image,
            geometry=geometry,
            label=label,
            score=None,
            units="",
            provenance=provenance,
            description=description,
            group=group,
        )
        for label, geometry in shapes
    )


NOTE = "Written by a model, checked by nobody. Not for diagnosis."

MOST_REPEATS = 4
"""A phrase that follows itself so often is a loop."""
_SAME_SENTENCES = 3
_LONGEST_PHRASE = 30
_LEAST_LETTERS = 0.5
"""Share of letters and digits among what is no space, below which text is no language."""


@dataclass(frozen=True, slots=True)
class Written:
    """A text of a model, fit to be passed on.

    Attributes:
        text: What it wrote; of a loop only what came before it went round. "" for nothing usable.
        doubts: What is wrong with it, in plain words, a clause each.
    """

    text: str
    doubts: tuple[str, ...] = ()


def judged(answer: Mapping[str, Any]) -> Written:
    """The text of an entry's answer.

    Args:
        answer: "text"; "finished", whether the model ended it by itself; "most", how many tokens
            it was allowed.
    """
    text = re.sub(r"[ \t]+\n", "\n", str(answer.get("text", ""))).strip()
    if not text:
        return Written("", ("the model wrote nothing",))
    signs = re.sub(r"\s", "", text)
    if sum(sign.isalnum() for sign in signs) < _LEAST_LETTERS * len(signs):
        return Written("", ("what the model wrote is no text",))
    kept = _before_loop(text)
    if kept != text:
        return Written(kept, ("the model repeated itself; the repetition is left out",))
    if not answer.get("finished", True):
        most = answer.get("most")
        limit = f"the limit of {most} tokens" if most else "its limit"
        return Written(text, (f"the text was cut off at {limit}",))
    return Written(text)


def _before_loop(text: str) -> str:
    """The text up to the first round of a loop, or all of it."""
    return _before_same_sentences(_before_same_phrases(text))


def _before_same_phrases(text: str) -> str:
    """Cut where a phrase of words follows itself `MOST_REPEATS` times."""
    words = [(match.group().lower(), match.end()) for match in re.finditer(r"\S+", text)]
    plain = [word for word, _ in words]
    for start in range(len(plain)):
        for length in range(1, min(_LONGEST_PHRASE, (len(plain) - start) // MOST_REPEATS) + 1):
            phrase = plain[start : start + length]
            rounds = plain[start : start + length * MOST_REPEATS]
            if rounds == phrase * MOST_REPEATS:
                return text[: words[start + length - 1][1]]
    return text


def _before_same_sentences(text: str) -> str:
    """Cut where a sentence comes for the third time, also with others between."""
    seen: dict[str, int] = {}
    for match in re.finditer(r"[^.!?\n]+[.!?]*", text):
        sentence = re.sub(r"\W+", " ", match.group()).strip().lower()
        if len(sentence.split()) < _SAME_SENTENCES:
            continue
        seen[sentence] = seen.get(sentence, 0) + 1
        if seen[sentence] == _SAME_SENTENCES:
            return text[: match.start()].rstrip()
    return text
