"""One section of a draft report, written by an image encoder and a BERT decoder (transformers).

IAMJB's baselines for CheXpert and MIMIC-CXR (Chambon et al., "CheXpert Plus", 2024): a model for
the findings, another for the impression. Preprocessing is the folder's own `ViTImageProcessor`, on
RGB; the text begins with the tokenizer's [CLS] and ends with its [SEP], 128 tokens in all, as in
the authors' example. Their example asks for two beams by a name that transformers does not know,
so it runs greedily; here there are two beams. Model process only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from transformers import BertTokenizer, VisionEncoderDecoderModel, ViTImageProcessorPil

from app.tools.chest.decoding import Ids, rgb, write
from app.tools.chest.folders import loaded_whole, unplaced
from app.tools.model_process.serving import Work, serve

Progress = Callable[[float, str], None]

MOST_TOKENS = 127  # 128 with [CLS]
_BEAMS = 2


@dataclass(frozen=True, slots=True)
class Section:
    """A loaded model of one section."""

    model: Any
    tokenizer: Any
    processor: Any


def load(path: Path, work: Work) -> Section:
    """The model of a folder, ready to run.

    Raises:
        ToolFailed: It is damaged, or of another model.
    """
    model = loaded_whole(VisionEncoderDecoderModel, path, work, unused=("encoder.pooler.",))
    tokenizer = cast("Any", BertTokenizer).from_pretrained(path, local_files_only=True)
    # Resampled by PIL as when the model was trained, not by torchvision.
    processor = cast("Any", ViTImageProcessorPil).from_pretrained(path, local_files_only=True)
    return Section(model, tokenizer, processor)


def prepared(section: Section, pixels: NDArray[np.uint8]) -> Tensor:
    """Pixels as the encoder takes them.

    Args:
        section: The model, whose processor it is.
        pixels: uint8 [rows, columns] or [rows, columns, 3], bright = dense.

    Returns:
        float32 [1, 3, side, side].
    """
    values: Tensor = section.processor(rgb(pixels), return_tensors="pt")["pixel_values"]
    wanted = section.model.config.encoder.image_size
    side = wanted if isinstance(wanted, int) else int(wanted[0])
    if values.shape[-1] != side:
        values = functional.interpolate(
            values, size=(side, side), mode="bilinear", align_corners=False
        )
    return values


def entry(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """One section of one image.

    Args:
        payload: "pixels" uint8 [rows, columns] or [rows, columns, 3]; "model", "device".
        progress: Told of each token.

    Returns:
        "text", "finished", "most", and what `serve` adds.
    """

    def work(section: Section, doing: Work) -> dict[str, Any]:
        doing.progress(0.15, "Looking at the image")
        values = prepared(section, payload["pixels"])
        inputs = {
            "pixel_values": values.to(doing.placement.device, doing.placement.torch_dtype),
        }
        names = section.tokenizer
        ids = Ids((names.sep_token_id,), names.pad_token_id, names.cls_token_id)
        tokens = write(section.model, inputs, ids, doing, most=MOST_TOKENS, beams=_BEAMS)
        text = names.decode(tokens.ids, skip_special_tokens=True, clean_up_tokenization_spaces=True)
        return {"text": text, "finished": tokens.finished, "most": MOST_TOKENS + 1}

    return serve(payload, progress, load=load, work=work, exact=True)


def check(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Load a folder and forget it: whether `models install` may take it."""
    section = load(Path(payload["weights"]), unplaced())
    return {"parameters": sum(p.numel() for p in section.model.parameters())}
