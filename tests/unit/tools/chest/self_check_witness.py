"""What test_self_check.py compares with, called in the model process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import skimage.io
import torch
import torchvision
import torchxrayvision as xrv
from safetensors.torch import load_file

TOWER = "model.vision_tower.vision_tower."


def scores(payload: dict[str, Any]) -> dict[str, Any]:
    """The scores that torchxrayvision's scripts/process_image.py prints with -resize."""
    published = xrv.models.model_urls["densenet121-res224-all"]
    model = torch.load(payload["path"], weights_only=False)
    model.op_threshs = torch.tensor(published["op_threshs"])
    image = xrv.datasets.normalize(skimage.io.imread(payload["film"]), 255)[None]
    resize = [xrv.datasets.XRayCenterCrop(), xrv.datasets.XRayResizer(224)]
    image = torchvision.transforms.Compose(resize)(image)
    with torch.no_grad():
        out = model(torch.from_numpy(image)[None])[0]
    return dict(zip(published["labels"], out.tolist(), strict=True))


def write_clip(payload: dict[str, Any]) -> dict[str, Any]:
    """Write CLIP's pytorch_model.bin with the tower of a LLaVA folder, and parts beside it."""
    state = {"text_model.embeddings.position_ids": torch.arange(77)}
    for path in Path(payload["folder"]).glob("*.safetensors"):
        for name, tensor in load_file(path).items():
            if name.startswith(TOWER):
                state[name.removeprefix(TOWER)] = tensor.float()
    if payload["changed"]:
        name = sorted(name for name in state if name.endswith("fc1.weight"))[0]
        state[name] = state[name] + 0.25
    torch.save(state, payload["file"])
    return {"count": len(state) - 1}
