r"""LLaVA-Med v1.5 answers a question, with an image or without (torch; model process only).

Prompt and preprocessing are the original's (microsoft/LLaVA-Med, `conv_mistral_instruct` and
`process_images`): "[INST] <image>\nquestion [/INST]", where the image's features stand in place of
`<image>`; a picture is padded to a square with the mean colour and resampled by CLIP's processor.
MedRAX prompts this model in the words of another one (Vicuna), and cannot go without an image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from transformers import CLIPImageProcessorPil

from app.tools.chest import llava_layout, llava_words
from app.tools.chest.decoding import Ids, embedded_inputs, rgb, write
from app.tools.chest.llava_layout import Habits
from app.tools.chest.llava_words import Words
from app.tools.chest.published_weights import checked
from app.tools.chest.questions import harmless, room
from app.tools.model_process.serving import Work, serve

Progress = Callable[[float, str], None]

_SIGNS = ("<image>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>")


@dataclass(frozen=True, slots=True)
class Llava:
    """The loaded model."""

    model: Any
    words: Words
    processor: Any
    habits: Habits


def load(path: Path, work: Work) -> Llava:
    """The model of a folder, ready to run.

    Raises:
        ToolFailed: It is damaged, or of another model.
    """
    words = llava_words.read(path)
    model, habits = llava_layout.load(path, work)
    return Llava(model, words, _processor(path, model), habits)


def _processor(path: Path, model: Any) -> Any:
    """CLIP's processor: the folder's own settings, or the class's with the tower's size."""
    kind: Any = CLIPImageProcessorPil
    if (path / "preprocessor_config.json").is_file():
        return kind.from_pretrained(path, local_files_only=True)
    side = int(model.config.vision_config.image_size)
    return kind(size={"shortest_edge": side}, crop_size={"height": side, "width": side})


def squared(pixels: NDArray[np.uint8], mean: list[float]) -> Image.Image:
    """The picture in the middle of a square of the mean colour, RGB.

    Args:
        pixels: uint8 [rows, columns] or [rows, columns, 3].
        mean: Of red, green and blue, 0..1. A grey picture is padded with their mean.
    """
    image = Image.fromarray(np.ascontiguousarray(pixels))
    width, height = image.size
    side = max(width, height)
    if width == height:
        return image.convert("RGB")
    if image.mode == "L":
        square = Image.new("L", (side, side), int(255 * sum(mean) / len(mean)))
    else:
        red, green, blue = (int(255 * part) for part in mean)
        square = Image.new("RGB", (side, side), (red, green, blue))
    # The original adds half a pixel at random where the difference is odd.
    square.paste(image, ((side - width) // 2, (side - height) // 2))
    return square.convert("RGB")


def prepared(llava: Llava, pixels: NDArray[np.uint8]) -> Tensor:
    """Pixels as the vision tower takes them: float32 [1, 3, side, side]."""
    processor = llava.processor
    if llava.habits.pad:
        image = squared(pixels, list(processor.image_mean))
    else:
        image = rgb(pixels)
    return processor(image, return_tensors="pt")["pixel_values"]


def prompt(llava: Llava, question: str, *, image: bool) -> tuple[list[int], list[int]]:
    """Token ids before the image and after it; all in the first where there is none.

    The text before the image and the text after it are cut into tokens one by one, as the original
    does. Nothing in the question is taken for a sign of the prompt's own.
    """
    words = llava.words
    asked = harmless(question, _SIGNS)
    if not image:
        return [words.begin, *words.ids(f"[INST] {asked} [/INST]")], []
    before = [words.begin, *words.ids("[INST] ")]
    after = words.ids(f"\n{asked} [/INST]")
    if llava.habits.marks:
        before.append(words.added("<im_start>"))
        after.insert(0, words.added("<im_end>"))
    return before, after


def embedded(llava: Llava, ids: tuple[list[int], list[int]], values: Tensor | None) -> Tensor:
    """What the language model reads: [1, tokens, width], the image's features in their place."""
    model = llava.model
    table = model.get_input_embeddings()
    device = table.weight.device
    parts = [table(torch.tensor(ids[0], device=device))]
    if values is not None:
        seen = model.get_image_features(
            pixel_values=values.to(device, table.weight.dtype), return_dict=True
        )
        parts.append(seen.pooler_output[0].to(table.weight.dtype))
    if ids[1]:
        parts.append(table(torch.tensor(ids[1], device=device)))
    return torch.cat(parts)[None]


def entry(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Answer a question.

    Args:
        payload: "question"; "pixels" uint8 [rows, columns] or [rows, columns, 3], or None; "most",
            tokens of the answer at most; "model", "device".
        progress: Told of each token.

    Returns:
        "text", "finished", "most", and what `serve` adds.

    Raises:
        ToolRetry: The question is too long.
    """
    pixels: NDArray[np.uint8] | None = payload.get("pixels")

    def work(llava: Llava, doing: Work) -> dict[str, Any]:
        ids = prompt(llava, str(payload["question"]), image=pixels is not None)
        with torch.inference_mode():
            doing.progress(0.15, "Reading the question" if pixels is None else "Looking at it")
            values = None if pixels is None else prepared(llava, pixels)
            read = embedded(llava, ids, values)
        limit, wanted = llava.habits.limit, int(payload["most"])
        most = room(read.shape[1], limit, wanted, images="the image", shorter="ask it shorter")
        words = llava.words
        inputs = embedded_inputs(read)
        tokens = write(llava.model, inputs, Ids.of(words.end), doing, most=most)
        text = words.text(tokens.ids)
        return {"text": text, "finished": tokens.finished, "most": most}

    return serve(payload, progress, load=load, work=work)


def check(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Whether `models install` may take a folder: its vocabulary, and its weights' headers.

    Raises:
        ToolFailed: It may not.
    """
    llava_words.read(Path(payload["weights"]))
    return checked(payload, llava_layout.on, llava_layout.now)
