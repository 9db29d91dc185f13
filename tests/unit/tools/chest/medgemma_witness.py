"""What test_medgemma.py looks at, called in the model process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from app.tools.chest import medgemma_net
from app.tools.model_process.memory import Placement
from app.tools.model_process.published_weights import cpu_work
from app.tools.model_process.serving import Work
from tests.support.tiny import medgemma_qa


def given(payload: dict[str, Any]) -> dict[str, Any]:
    """The prompt as text, the pixels, and the scores of the first token of the answer."""
    gemma = medgemma_net.load(Path(payload["path"]), cpu_work())
    locate = bool(payload.get("locate"))
    asked, images = payload["question"], payload["images"]
    made = medgemma_net.prepare_inputs(gemma, asked, images, locate=locate)
    with torch.inference_mode():
        scores = gemma.model(**made).logits[0, -1]
    values = made.get("pixel_values")
    return {
        "prompt": gemma.processor.tokenizer.decode(made["input_ids"][0]),
        "values": np.zeros(0) if values is None else values.numpy(),
        "scores": scores.float().numpy(),
        "ends": [gemma.processor.tokenizer.convert_ids_to_tokens(end) for end in gemma.ids.end],
    }


def theirs(payload: dict[str, Any]) -> dict[str, Any]:
    """RGB, bilinear by PIL, 0..255 -> -1..1."""
    side = payload["side"]
    small = Image.fromarray(payload["pixels"]).convert("RGB")
    small = small.resize((side, side), Image.Resampling.BILINEAR)
    values = np.asarray(small, np.float32) / 127.5 - 1
    return {"values": values.transpose(2, 0, 1)}


def thoughts(payload: dict[str, Any]) -> dict[str, Any]:
    """Which ids of an answer are left, for a vocabulary with MedGemma 1.5's marks of thoughts."""
    tokenizer = medgemma_net.load(Path(payload["path"]), cpu_work()).processor.tokenizer
    tokenizer.add_tokens(["<unused94>", "<unused95>"])
    ids = tokenizer(payload["text"], add_special_tokens=False)["input_ids"]
    left = medgemma_net.without_thoughts(tokenizer, ids)
    return {"text": tokenizer.decode(left, skip_special_tokens=True)}


def in_half(payload: dict[str, Any]) -> dict[str, Any]:
    """The precision it is loaded in where its place says float16."""
    work = Work(Placement("cpu", "float16"), lambda fraction, text: None)
    return {"dtype": str(medgemma_net.load(Path(payload["path"]), work).model.dtype)}


def full_size(payload: dict[str, Any]) -> dict[str, Any]:
    """How many weights there are at full size; nothing is allocated for them."""
    del payload
    with torch.device("meta"):
        return {"count": medgemma_qa.weights_at_full_size()}


def without(payload: dict[str, Any]) -> dict[str, Any]:
    """Take away every weight whose name has a part."""
    file = Path(payload["path"]) / "model.safetensors"
    state = load_file(file)
    save_file({k: v for k, v in state.items() if payload["part"] not in k}, file, {"format": "pt"})
    return {}
