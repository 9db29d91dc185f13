"""What the tools share that let a model answer a question in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import ImageSnapshot, ToolContext, ToolFailed, ToolResult
from app.tools.chest import gate
from app.tools.chest.asking import ask
from app.tools.chest.pictures import model_pixels
from app.tools.chest.results import made_by, with_warnings
from app.tools.chest.shown import Shown
from app.tools.chest.written import NOTE, judged
from app.tools.files import plain
from app.tools.models.store import InstalledModel

MOST_TOKENS = 1024
LONGEST_QUESTION = 4000
"""Characters."""
TIMEOUT_S = 1800.0
_ENTRY_TIMEOUT_S = TIMEOUT_S - 10


@dataclass(frozen=True, slots=True)
class Seen:
    """What a model sees of an image, and how far that can be trusted.

    Attributes:
        pixels: uint8 [rows, columns] or [rows, columns, 3], bright = dense.
        warnings: What makes an answer about it doubtful, in plain words.
    """

    pixels: NDArray[np.uint8]
    warnings: tuple[str, ...]


def seen(snapshot: ImageSnapshot, model: str) -> Seen:
    """What a model that takes any medical picture is shown of an image.

    A radiograph as its file has it, hung the usual way; of anything else what the viewer shows,
    since on a CT the window decides what can be seen.

    Args:
        snapshot: The image.
        model: Title of the model, for the warnings.

    Raises:
        ToolFailed: There is nothing to see on it.
    """
    display = snapshot.display
    if int(display.max()) == int(display.min()):
        raise ToolFailed(
            "the image is blank: all of its pixels have the same value",
            remedy="Look whether it was exposed and sent correctly, or open another image.",
        )
    modality = snapshot.instance.get("Modality").strip().upper()
    warnings: list[str] = []
    if snapshot.derived and display.ndim == 3:
        warnings.append("a picture that a tool made: the model may describe what is drawn into it")
    if modality and modality not in gate.RADIOGRAPHY:
        warnings.append(f"this image is {modality}: {model} was not tried on such images here")
    if modality not in gate.RADIOGRAPHY:
        return Seen(display, tuple(warnings))
    # Also of a picture that a tool made of it: one of a mirrored film is mirrored as well.
    shown = Shown.of(snapshot, display if display.ndim == 3 else model_pixels(snapshot))
    return Seen(shown.pixels, (*warnings, *shown.hanging.warnings))


def answered(
    entry: str,
    model: InstalledModel,
    arguments: Mapping[str, Any],
    images: Mapping[str, Any],
    warnings: Sequence[str],
    context: ToolContext,
) -> ToolResult:
    """A model's answer as a result: text, whose it is, and what is doubtful about it.

    Args:
        entry: The model's, in the model process.
        model: What answers.
        arguments: The call's: "question", "max_new_tokens", and how the images are named.
        images: The images, as the entry takes them.
        warnings: About the images.
        context: The call's.

    Raises:
        ToolFailed: It wrote nothing that could be passed on.
    """
    title = model.card.title
    asked = {"question": arguments["question"], **images, "most": arguments["max_new_tokens"]}
    answer = ask(entry, model, asked, context, _ENTRY_TIMEOUT_S)
    written = judged(answer)
    if not written.text:
        raise ToolFailed(
            f"{title} gave no usable answer: {'; '.join(written.doubts)}",
            remedy="Ask in other words, or another tool.",
        )
    notes = [str(note) for note in answer.get("notes", ())]
    said = list(dict.fromkeys([*warnings, *written.doubts, *model.warnings, *notes]))
    metadata = {
        **arguments,
        **made_by(model, answer),
        "finished": bool(answer.get("finished", True)),
        "note": NOTE,
        "warnings": said,
        "status": "completed",
    }
    summary = with_warnings(f"{title} answers: {written.text}\n\n{NOTE}", said)
    return ToolResult(summary, {"answer": written.text}, plain(metadata))
