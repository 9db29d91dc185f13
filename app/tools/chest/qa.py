"""What the tools share that let a model answer a question in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.tools.api import ImageSnapshot, ToolContext, ToolFailed, ToolResult
from app.tools.chest import gate
from app.tools.chest.pictures import Hanging, model_pixels, squared
from app.tools.chest.written import NOTE, judged
from app.tools.files import plain
from app.tools.models.store import InstalledModel

MOST_TOKENS = 1024
LONGEST_QUESTION = 4000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An image as a model is shown it.

    Attributes:
        pixels: uint8 [rows, columns] or [rows, columns, 3], bright = dense.
        warnings: What makes an answer about it doubtful, in plain words.
    """

    pixels: NDArray[np.uint8]
    warnings: tuple[str, ...]


def shown(snapshot: ImageSnapshot, model: str) -> Shown:
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
        return Shown(display, tuple(warnings))
    # Also of a picture that a tool made of it: one of a mirrored film is mirrored as well.
    hanging = Hanging.of(snapshot.frame.orientation)
    pixels = display if display.ndim == 3 else model_pixels(snapshot)
    pixels = squared(pixels, snapshot.frame.spacing.aspect)
    return Shown(hanging.turned(pixels), (*warnings, *hanging.warnings))


def asked(
    entry: str,
    model: InstalledModel,
    payload: Mapping[str, Any],
    context: ToolContext,
    timeout_s: float,
) -> dict[str, Any]:
    """The answer of a model's entry in the model process."""
    return context.host.call(
        entry,
        {**model.payload(context.device), **payload},
        cancel=context.cancel,
        timeout_s=timeout_s,
        progress=context.progress,
    )


def answered(
    model: InstalledModel,
    answer: Mapping[str, Any],
    arguments: Mapping[str, Any],
    warnings: Sequence[str],
) -> ToolResult:
    """A model's answer as a result: text, whose it is, and what is doubtful about it.

    Args:
        model: What answered.
        answer: Its entry's.
        arguments: The call's, for the metadata.
        warnings: About the images.

    Raises:
        ToolFailed: It wrote nothing that could be passed on.
    """
    title = model.card.title
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
        "model": title,
        "weights_sha256": model.sha256,
        "device": answer.get("device", ""),
        "finished": bool(answer.get("finished", True)),
        "note": NOTE,
        "warnings": said,
        "status": "completed",
    }
    summary = f"{title} answers: {written.text}\n\n{NOTE}"
    if said:
        summary += f" Warnings: {'; '.join(said)}."
    return ToolResult(summary, {"answer": written.text}, plain(metadata))
