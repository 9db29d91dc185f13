"""Writes one section of a draft report, with an image encoder and a BERT decoder (model process).

The models are IAMJB's baselines for CheXpert and MIMIC-CXR (Chambon et al., "CheXpert Plus", 2024),
one for the findings and one for the impression. Preprocessing is the folder's own
`ViTImageProcessor`, on RGB; the text begins with the tokenizer's [CLS] and ends with its [SEP], 128
tokens in all, as in the authors' example. Two beams are used, as the example asks for, although it
decodes greedily itself, because transformers does not know its name for that option.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from transformers import BertTokenizer, VisionEncoderDecoderModel, ViTImageProcessorPil

from app.tools.api import Progress
from app.tools.chest.decoding import SpecialIds, generate_tokens, rgb
from app.tools.model_process.published_weights import cpu_work, load_model
from app.tools.model_process.serving import Work, serve

MOST_TOKENS = 127  # without [CLS]
_BEAMS = 2


@dataclass(frozen=True, slots=True)
class Section:
    """The loaded model that writes one section, with its tokenizer and image processor."""

    model: Any
    tokenizer: Any
    processor: Any


def load(path: Path, work: Work) -> Section:
    """Load the model of one section from a folder, on the device and in the precision of `work`.

    Raises:
        ToolFailed: The folder is damaged, or contains a different model.
    """
    model = load_model(VisionEncoderDecoderModel, path, work, unused=("encoder.pooler.",))
    tokenizer = BertTokenizer.from_pretrained(path, local_files_only=True)
    # The model was trained with images resampled by PIL, not by torchvision.
    processor = ViTImageProcessorPil.from_pretrained(path, local_files_only=True)
    return Section(model, tokenizer, processor)


def preprocess(section: Section, pixels: NDArray[np.uint8]) -> Tensor:
    """Return an image, grey or RGB, as the model's input: float32 [1, 3, side, side]."""
    values: Tensor = section.processor(rgb(pixels), return_tensors="pt")["pixel_values"]
    wanted = section.model.config.encoder.image_size
    side = wanted if isinstance(wanted, int) else int(wanted[0])
    if values.shape[-1] != side:
        values = functional.interpolate(
            values, size=(side, side), mode="bilinear", align_corners=False
        )
    return values


def entry(payload: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Write one section of the report on an image.

    `payload` has "pixels" uint8 [rows, columns] or [rows, columns, 3]; "model" and "device" for
    `serve`.

    Returns:
        "text"; "finished", False if the text was cut off; "most", the maximum number of tokens; and
        "device", "dtype" and "notes" of `serve`.
    """

    def work(section: Section, doing: Work) -> dict[str, Any]:
        doing.progress(0.15, "Looking at the image")
        values = preprocess(section, payload["pixels"])
        inputs = {"pixel_values": values.to(doing.placement.device, doing.placement.torch_dtype)}
        names = section.tokenizer
        ids = SpecialIds((names.sep_token_id,), names.pad_token_id, names.cls_token_id)
        tokens = generate_tokens(section.model, inputs, ids, doing, most=MOST_TOKENS, beams=_BEAMS)
        text = names.decode(tokens.ids, skip_special_tokens=True, clean_up_tokenization_spaces=True)
        return {"text": text, "finished": tokens.finished, "most": MOST_TOKENS + 1}

    return serve(payload, progress, load=load, work=work, exact=True)


def check(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Load the model in payload["weights"] as a check; return {"parameters": their number}."""
    section = load(Path(payload["weights"]), cpu_work())
    return {"parameters": sum(p.numel() for p in section.model.parameters())}
