"""Functions that call models in the model process, and parts common to their tools' results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.imaging.findings import Finding, Geometry, Provenance, new_id
from app.imaging.types import ImageRef
from app.tools.api import Need, ToolContext, ToolFailed
from app.tools.models.store import InstalledModel, ModelStore
from app.tools.needs import require_packages


def needs_of(name: str, packages: tuple[str, ...]) -> tuple[Need, ...]:
    """Return `ToolSpec.needs` for a tool that needs these packages and the weights of `name`."""
    return (*(Need("package", package) for package in packages), Need("weights", name))


def required_model(
    name: str, feature: str, packages: tuple[str, ...], context: ToolContext
) -> InstalledModel:
    """Return an installed model, after checking that the packages that run it are installed.

    `name` is the name on the model's card; `feature` names what needs the model, for the error
    message ("The report generator").

    Raises:
        ToolFailed: The model or a package is not installed, or the model's terms are not accepted.
    """
    model = ModelStore(context.models_dir).require(name, feature)
    require_packages(feature, *packages)
    return model


def call_model(
    entry: str,
    model: InstalledModel,
    payload: Mapping[str, Any],
    context: ToolContext,
    timeout_s: float,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Call a model's entry function in the model process and return its answer.

    Args:
        entry: Module and function, for example "app.tools.chest.maira:entry".
        model: The model; its folder and the device are added to the payload.
        payload: Further arguments for the entry.
        context: The context of the tool call; cancelling the call stops the entry.
        timeout_s: Seconds after which the entry is stopped and counts as failed.
        progress: Receives the progress; None to use `context.progress`.

    Raises:
        Cancelled: The run was stopped.
        ToolFailed: The entry failed; see `app.tools.api.ModelHost.call`.
    """
    return context.host.call(
        entry,
        {**model.payload(context.device), **payload},
        cancel=context.cancel,
        timeout_s=timeout_s,
        progress=progress or context.progress,
    )


def with_warnings(text: str, warnings: Sequence[str]) -> str:
    """Return the text of a summary, followed by the warnings if there are any."""
    return f"{text} Warnings: {'; '.join(warnings)}." if warnings else text


def numbered_warnings(warnings: Sequence[Sequence[str]]) -> list[str]:
    """Join the warnings about each image into one list; `warnings` has one sequence per image.

    If there are several images, each warning begins with the number of its image.
    """
    return [
        f"image {number}: {text}" if len(warnings) > 1 else text
        for number, texts in enumerate(warnings, 1)
        for text in texts
    ]


def model_metadata(model: InstalledModel, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts on the model that answered: title, weights' SHA-256, device, engine if given."""
    engine = {"engine": answer["engine"]} if "engine" in answer else {}
    return {
        "model": model.card.title,
        "weights_sha256": model.sha256,
        **engine,
        "device": answer.get("device", ""),
    }


def labelled_findings(
    shapes: Iterable[tuple[str, Geometry]],
    image: ImageRef,
    provenance: Provenance,
    description: str,
    group: str,
) -> tuple[Finding, ...]:
    """Return a finding for each (label, geometry) in `shapes`; the user hides a `group` as one."""
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


NOTE = "Written by a model, unchecked."

MOST_REPEATS = 4
"""Number of repeats in a row that make a phrase a loop."""
_SAME_SENTENCES = 3
_LONGEST_PHRASE = 30
_LEAST_LETTERS = 0.5
"""Share of letters and digits among non-blank characters below which a text is unusable."""


@dataclass(frozen=True, slots=True)
class CheckedText:
    """The text of a model after checking.

    Attributes:
        text: The usable text, without what the model repeated in a loop; "" if nothing is usable.
        faults: The text's faults in plain words, one clause each; empty if there are none.
    """

    text: str
    faults: tuple[str, ...] = ()


def check_text(answer: Mapping[str, Any]) -> CheckedText:
    """Return the text of a model's answer with its faults: empty, repeated or cut off.

    The answer has "text"; "finished", False if the token limit "most" stopped the model.
    """
    text = re.sub(r"[ \t]+\n", "\n", str(answer.get("text", ""))).strip()
    if not text:
        return CheckedText("", ("the model wrote nothing",))
    signs = re.sub(r"\s", "", text)
    if sum(sign.isalnum() for sign in signs) < _LEAST_LETTERS * len(signs):
        return CheckedText("", ("what the model wrote is not text",))
    kept = _before_same_sentences(_before_same_phrases(text))
    if kept != text:
        return CheckedText(kept, ("the model repeated itself; the repetition is left out",))
    if not answer.get("finished", True):
        most = answer.get("most")
        limit = f"the limit of {most} tokens" if most else "its limit"
        return CheckedText(text, (f"the text was cut off at {limit}",))
    return CheckedText(text)


def usable_text(answer: Mapping[str, Any], title: str) -> CheckedText:
    """Return the checked text in a model's answer; see `check_text`.

    Raises:
        ToolFailed: Nothing in the text is usable; the message names the model by `title`.
    """
    written = check_text(answer)
    if not written.text:
        raise ToolFailed(
            f"{title} gave no usable answer: {'; '.join(written.faults)}",
            remedy="Ask in other words, or another tool.",
        )
    return written


def _before_same_phrases(text: str) -> str:
    """Cut the text after a phrase that is repeated `MOST_REPEATS` times in a row."""
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
    """Cut the text before a sentence that occurs for the third time, not necessarily in a row."""
    counts: dict[str, int] = {}
    for match in re.finditer(r"[^.!?\n]+[.!?]*", text):
        sentence = re.sub(r"\W+", " ", match.group()).strip().lower()
        if len(sentence.split()) < _SAME_SENTENCES:
            continue
        counts[sentence] = counts.get(sentence, 0) + 1
        if counts[sentence] == _SAME_SENTENCES:
            return text[: match.start()].rstrip()
    return text
