"""MAIRA-2 finds a phrase on a frontal chest radiograph, run in the model process (torch).

Two ways lead to an answer (`two_ways`): our own reader of the published weights, `maira_net`, or
the model's own program through the interface that its authors publish.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoModelForCausalLM, AutoProcessor

from app.tools.chest import maira_net, remote_code, two_ways
from app.tools.chest.boxes import Grounded, Reading, Seen, centre_crop, read_maira, whole
from app.tools.chest.decoding import Ids, Tokens, embedded_inputs, rgb, write
from app.tools.chest.maira_net import Maira
from app.tools.chest.published_weights import checked
from app.tools.chest.two_ways import OWN, PUBLISHED
from app.tools.model_process.serving import Progress, Work, serve


class Published:
    """The model through its own program."""

    def __init__(self, folder: Path, work: Work) -> None:
        self.processor = remote_code.loaded(AutoProcessor, folder, work)
        self.model = remote_code.loaded_model(AutoModelForCausalLM, folder, work)

    def ask(
        self, grey: NDArray[np.uint8], phrase: str, most: int, work: Work
    ) -> tuple[Reading, Tokens, list[int]]:
        """What it wrote, read by its own reader, its tokens, and the input's size."""
        given = self.processor.format_and_preprocess_phrase_grounding_input(
            frontal_image=rgb(grey), phrase=phrase, return_tensors="pt"
        )
        given = {key: value.to(self.model.device) for key, value in given.items()}
        given["pixel_values"] = given["pixel_values"].to(self.model.dtype)
        end = Ids.of(int(self.processor.tokenizer.eos_token_id))
        written = write(self.model, given, end, work, most=most)
        text = self.processor.decode(written.ids, skip_special_tokens=True)
        return self._read(text), written, list(given["pixel_values"].shape[-2:])

    def seen(self, rows: int, columns: int) -> Seen:
        """What the model saw: by its image processor, else by its own conversion of a box."""
        images = getattr(self.processor, "image_processor", None)
        if images is not None and getattr(images, "size", None):
            return seen_by(images, rows, columns)
        left, top, right, bottom = self.processor.adjust_box_for_original_image_size(
            (0.0, 0.0, 1.0, 1.0), width=columns, height=rows
        )
        return Seen(left * columns, top * rows, right * columns, bottom * rows)

    def _read(self, text: str) -> Reading:
        strict = read_maira(text)
        if strict.refused:
            return strict  # the published reader raises on these
        found = self.processor.convert_output_to_plaintext_or_grounded_sequence(text)
        if isinstance(found, str):
            return Reading((), found, ())
        groups = tuple(Grounded(phrase, _corners(boxes)) for phrase, boxes in found)
        return Reading(groups, strict.text, ())


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Where a phrase is seen on an image.

    Args:
        payload: As of `InstalledModel.payload`, with "grey" uint8 [rows, columns], "phrase" and
            "max_new_tokens".
        progress: Told each token.

    Returns:
        "groups" of [phrase, boxes in fractions of what was seen], "text", "refused", "seen" in
        pixel edges of the original, "input_size", "cut", "engine", and what `serve` adds.
    """
    grey: NDArray[np.uint8] = payload["grey"]
    phrase, most = str(payload["phrase"]), int(payload["max_new_tokens"])

    def work_with(model: Maira | Published, work: Work) -> dict[str, Any]:
        work.progress(0.2, "Looking at the image")
        if isinstance(model, Published):
            reading, written, size = model.ask(grey, phrase, most, work)
            seen = model.seen(*grey.shape)
        else:
            reading, written, size = _own(model, grey, phrase, most, work)
            seen = seen_by(model.images, *grey.shape)
        return {
            "groups": [
                [group.phrase, [list(box) for box in group.boxes]] for group in reading.groups
            ],
            "text": reading.text,
            "refused": list(reading.refused),
            "seen": [seen.left, seen.top, seen.right, seen.bottom],
            "input_size": size,
            "cut": not written.finished,
            "engine": PUBLISHED if isinstance(model, Published) else OWN,
        }

    return serve(payload, progress, load=_load, work=work_with)


def seen_by(images: Any, rows: int, columns: int) -> Seen:
    """What an image processor of transformers leaves of an image."""
    size = dict(images.size)
    shortest = size.get("shortest_edge")
    if not shortest:  # resized to a fixed size: squeezed, nothing is lost
        return whole(rows, columns)
    if not images.do_center_crop:
        return whole(rows, columns)
    crop = dict(images.crop_size)
    return centre_crop(rows, columns, int(shortest), int(crop["height"]), int(crop["width"]))


def _load(folder: Path, work: Work) -> Maira | Published:
    dtype = work.placement.torch_dtype
    return two_ways.loaded(maira_net.load, Published, folder, work, dtype, "MAIRA-2")


def _own(
    model: Maira, grey: NDArray[np.uint8], phrase: str, most: int, work: Work
) -> tuple[Reading, Tokens, list[int]]:
    with torch.inference_mode():
        embedded = model.embedded(phrase, grey)
    inputs = embedded_inputs(embedded)
    written = write(model.language, inputs, Ids.of(model.end), work, most=most)
    text = model.tokenizer.decode(written.ids, skip_special_tokens=True)
    crop = dict(model.images.crop_size)
    return read_maira(text), written, [int(crop["height"]), int(crop["width"])]


def _corners(
    boxes: Sequence[Sequence[float]] | None,
) -> tuple[tuple[float, float, float, float], ...]:
    return tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in boxes or ())


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Whether the published reader can load a folder, without loading it: `models verify`.

    Raises:
        ToolFailed: A file is missing, damaged or does not fit.
    """
    return checked(payload, maira_net.made, maira_net.renamed)
