"""What test_report.py compares with and spoils, called in the model process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from safetensors.torch import load_file, save_file

from app.tools.chest import report_net
from app.tools.model_process.published_weights import cpu_work


def ours(payload: dict[str, Any]) -> dict[str, Any]:
    section = report_net.load(Path(payload["path"]), cpu_work())
    return {"values": report_net.preprocess(section, payload["pixels"]).numpy()}


def theirs(payload: dict[str, Any]) -> dict[str, Any]:
    """PIL and arithmetic only."""
    image = Image.fromarray(payload["pixels"]).convert("RGB")
    side = payload["side"]
    small = image.resize((side, side), Image.Resampling.BILINEAR)
    values = (np.asarray(small, np.float32) / 255 - 0.5) / 0.5
    return {"values": values.transpose(2, 0, 1)[None]}


def missing(payload: dict[str, Any]) -> dict[str, Any]:
    """Take one weight away."""
    file = Path(payload["path"]) / "model.safetensors"
    state = load_file(file)
    del state["decoder.bert.encoder.layer.0.output.dense.weight"]
    save_file(state, file, {"format": "pt"})
    return {}


def other_shape(payload: dict[str, Any]) -> dict[str, Any]:
    """Give one weight another shape."""
    file = Path(payload["path"]) / "model.safetensors"
    state = load_file(file)
    name = "decoder.bert.encoder.layer.0.output.dense.weight"
    state[name] = state[name][:, :-1].contiguous()
    save_file(state, file, {"format": "pt"})
    return {}
