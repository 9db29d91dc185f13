"""MAIRA-2 finds a phrase on a frontal chest radiograph, run in the model process (torch).

Two ways lead to an answer, as for CheXagent-2 (`chexagent`): our own reader of the published
weights, or, for any other layout and after the user's yes, the model's own program through its
published interface.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from transformers import AutoModelForCausalLM, AutoProcessor

from app.tools.chest import maira_net, remote_code
from app.tools.chest.boxes import Grounded, Reading, Seen, centre_crop, read_maira, whole
from app.tools.chest.chexagent import OWN, PUBLISHED
from app.tools.chest.maira_net import Maira
from app.tools.chest.published_weights import OtherLayout, checked
from app.tools.chest.writing import Written, told, write
from app.tools.model_process.serving import Progress, Work, serve


class Published:
    """The model through its own program."""

    def __init__(self, folder: Path, work: Work) -> None:
        self.processor = remote_code.loaded(AutoProcessor, folder, work)
        self.model = remote_code.loaded_model(AutoModelForCausalLM, folder, work)

    def ask(
        self, grey: NDArray[np.uint8], phrase: str, most: int, work: Work
    ) -> tuple[Reading, Written, list[int]]:
        """What it wrote, read by its own reader, its tokens, and the input's size."""
        given = self.processor.format_and_preprocess_phrase_grounding_input(
            frontal_image=Image.fromarray(grey).convert("RGB"), phrase=phrase, return_tensors="pt"
        )
        given = {key: value.to(self.model.device) for key, value in given.items()}
        given["pixel_values"] = given["pixel_values"].to(self.model.dtype)
        end = self.processor.tokenizer.eos_token_id
        written = write(self.model, most, [end], work, **given)
        text = self.processor.decode(written.tokens, skip_special_tokens=True)
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
            "cut": written.cut,
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
    place = work.placement
    try:
        return maira_net.load(
            folder, place.device, place.torch_dtype, told(work, 0.02, 0.18, "Loading MAIRA-2")
        )
    except OtherLayout as error:
        if not work.source.get("trust_remote_code"):
            work.notes.append(f"not the published layout: {error}")
        return Published(folder, work)


def _own(
    model: Maira, grey: NDArray[np.uint8], phrase: str, most: int, work: Work
) -> tuple[Reading, Written, list[int]]:
    with torch.inference_mode():
        embedded = model.embedded(phrase, grey)
    written = write(
        model.language,
        most,
        [model.end],
        work,
        inputs_embeds=embedded,
        attention_mask=torch.ones(embedded.shape[:2], dtype=torch.long, device=embedded.device),
    )
    text = model.tokenizer.decode(written.tokens, skip_special_tokens=True)
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
