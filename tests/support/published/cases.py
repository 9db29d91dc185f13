"""The models that are compared, and the tiny folders of each."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from tests.support.published.alike import redraw, redraw_files

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "medsam2": ("medsam2_segment", {}),
    "chexagent": ("chest_xray_expert", {"says": ()}),
    "maira": ("xray_phrase_grounding", {"says": ""}),
    "llava": ("llava_med_qa", {"says": ""}),
    "medgemma": ("medgemma_qa", {"says": ""}),
    "report": ("chest_xray_report_generator", {"says": "", "swin": True}),
    "densenet": ("chest_xray_classifier", {}),
    "pspnet": ("chest_xray_segmentation", {}),
}
"""Name -> module in `tests.support.tiny` that writes its folder, with options of `build`."""
_FILES = {
    "medsam2": "MedSAM2_latest.pt",
    "densenet": "densenet.pt",
    "pspnet": "pspnet.pth",
}


def place(which: str, folder: Path) -> Path:
    """Return where a model lies in a folder: a folder of its own, or a single file."""
    return folder / _FILES.get(which, which)


def build(which: str, folder: Path) -> Path:
    """Write a tiny model in its published layout with values of `drawn`; return where it lies."""
    tool, options = MODELS[which]
    tiny: Any = import_module(f"tests.support.tiny.{tool}")
    path = place(which, folder)
    if which == "medsam2":
        path.parent.mkdir(parents=True, exist_ok=True)
        # 2048 is written into the published program.
        state = {name: torch.empty(shape) for name, shape in tiny.shapes(16, 32, 2048).items()}
        torch.save({"model": redraw(state)}, path)
        return path
    tiny.build(path, **options)
    if which == "densenet":
        model: Any = torch.load(path, weights_only=False)
        model.load_state_dict(redraw(model.state_dict()))
        torch.save(model, path, _use_new_zipfile_serialization=False)
    elif which == "pspnet":
        torch.save(redraw(torch.load(path, weights_only=True)), path)
    elif which == "medgemma":
        # As Google's files have it; transformers 5 writes shorter names.
        redraw_files(path, ("vision_tower.", "vision_tower.vision_model."))
    else:
        redraw_files(path)
    return path
