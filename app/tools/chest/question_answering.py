"""Shared parts of the tools whose models answer questions in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.studies.catalogue import are_different_patients
from app.tools.api import ImageSnapshot, ToolContext, ToolResult
from app.tools.chest import image_suitability
from app.tools.chest.model_pictures import ModelInput, model_pixels
from app.tools.chest.model_results import (
    NOTE,
    call_model,
    model_metadata,
    usable_text,
    with_warnings,
)
from app.tools.files import plain
from app.tools.models.store import InstalledModel
from app.tools.prior_pair import is_newer

MOST_TOKENS = 1024
LONGEST_QUESTION = 4000
"""Longest question, in characters."""
TIMEOUT_S = 1800.0
_ENTRY_TIMEOUT_S = TIMEOUT_S - 10


@dataclass(frozen=True, slots=True)
class ModelPicture:
    """The picture of an image as it is sent to a model, with warnings.

    Attributes:
        pixels: uint8 [rows, columns] or [rows, columns, 3], bright = dense.
        warnings: Reasons to doubt an answer about the picture, in plain words.
    """

    pixels: NDArray[np.uint8]
    warnings: tuple[str, ...]


def model_picture(snapshot: ImageSnapshot, model: str) -> ModelPicture:
    """Return the picture to send to a model that accepts any medical image, with warnings.

    A radiograph is shown upright and in the window set in its file. Any other image is shown as in
    the viewer, since on a CT the window decides which structures are visible. `model` is the
    model's title, used in warnings.

    Raises:
        ToolFailed: The image is blank.
    """
    display = snapshot.display
    image_suitability.refuse_blank(display)
    modality = snapshot.instance.get("Modality").strip().upper()
    warnings: list[str] = []
    if snapshot.derived and display.ndim == 3:
        warnings.append("a picture that a tool made: the model may describe what is drawn into it")
    if modality and modality not in image_suitability.RADIOGRAPHY:
        warnings.append(f"this image is {modality}: {model} was not tried on such images here")
    if modality not in image_suitability.RADIOGRAPHY:
        return ModelPicture(display, tuple(warnings))
    # Derived pictures are turned too: a picture made from a mirrored film is mirrored as well.
    shown = ModelInput.of(snapshot, display if display.ndim == 3 else model_pixels(snapshot))
    return ModelPicture(shown.pixels, (*warnings, *shown.hanging.warnings))


def answer_question(
    entry: str,
    model: InstalledModel,
    arguments: Mapping[str, Any],
    images: Mapping[str, Any],
    warnings: Sequence[str],
    context: ToolContext,
) -> ToolResult:
    """Ask a model a question and return its answer, with warnings, as a tool result.

    Args:
        entry: The model's entry function in the model process.
        model: The installed model.
        arguments: The call's arguments, "question" and "max_new_tokens" among them.
        images: Payload entries with the images: "pixels" or "images", as `entry` expects.
        warnings: Warnings about the images.
        context: The context of the tool call.

    Raises:
        ToolFailed: The model wrote no usable text.
    """
    title = model.card.title
    payload = {"question": arguments["question"], **images, "most": arguments["max_new_tokens"]}
    answer = call_model(entry, model, payload, context, _ENTRY_TIMEOUT_S)
    written = usable_text(answer, title)
    notes = [str(note) for note in answer.get("notes", ())]
    all_warnings = list(dict.fromkeys([*warnings, *written.faults, *model.warnings, *notes]))
    metadata = {
        **arguments,
        **model_metadata(model, answer),
        "finished": bool(answer.get("finished", True)),
        "note": NOTE,
        "warnings": all_warnings,
        "status": "completed",
    }
    summary = with_warnings(f"{title} answers: {written.text}\n\n{NOTE}", all_warnings)
    return ToolResult(summary, {"answer": written.text}, plain(metadata))


def multi_image_warnings(snapshots: Sequence[ImageSnapshot]) -> list[str]:
    """Return warnings if a question's images show different patients or are in reversed order.

    Images are numbered from 1. A model is told neither the patients nor the dates, so it would
    readily describe a change between two patients, or a change that runs backwards.
    """
    instances = [snapshot.instance for snapshot in snapshots]
    texts = [
        f"image {number} and image {other_number} belong to different patients: what the model "
        "says about a change is meaningless"
        for (number, one), (other_number, other) in combinations(enumerate(instances, 1), 2)
        if are_different_patients(one, other)
    ]
    for number, (one, other) in enumerate(pairwise(instances), 1):
        # Slices of one series belong to one examination, so their order is no reason to warn.
        series = "SeriesInstanceUID"
        if one.get(series) != other.get(series) and is_newer(one, other):
            texts.append(
                f"image {number} was taken after image {number + 1}: a change that it reports "
                "may run the other way"
            )
    return texts
