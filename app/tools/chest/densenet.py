"""torchxrayvision's DenseNet-121 classifier, run in the model process (torch).

Preprocessing is torchxrayvision's own: 8-bit grey to [-1024, 1024], a centred square crop, and
bilinear resampling with antialiasing to 224 x 224. Outputs are scaled for each label so that 0.5 is
the operating point (Cohen et al., "TorchXRayVision", MIDL 2022): they are no probabilities.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchxrayvision as xrv
from numpy.typing import NDArray
from torch.nn import functional

from app.tools.chest.checkpoint import load_into, load_state
from app.tools.chest.devices import LoadedModels, pick_device

Progress = Callable[[float, str], None]

NAME = "densenet121-res224-all"
INPUT_SIZE = 224
_PUBLISHED: dict[str, Any] = xrv.models.model_urls[NAME]
_CLASSES = (
    xrv.models.DenseNet,
    xrv.models._DenseLayer,  # pyright: ignore[reportPrivateUsage]
    xrv.models._DenseBlock,  # pyright: ignore[reportPrivateUsage]
    xrv.models._Transition,  # pyright: ignore[reportPrivateUsage]
)
_models = LoadedModels[Any]()
# torchxrayvision guesses once from an image's range whether it was normalised, and prints; it was.
xrv.utils.warning_log["norm_check"] = True


def load(path: Path) -> Any:
    """The classifier with the weights of a file, on the CPU, ready to run.

    Raises:
        ToolFailed: The file is damaged or of another model.
    """
    state = load_state(path, _CLASSES)
    # A state dict of a loaded model carries its own operating points; the published file none.
    thresholds = state.pop("op_threshs", None)
    model = xrv.models.DenseNet(weights=None, num_classes=len(_PUBLISHED["labels"]))
    load_into(model, state, path)
    model.op_threshs = (
        torch.tensor(_PUBLISHED["op_threshs"]) if thresholds is None else thresholds.float()
    )
    model.input_resolution = INPUT_SIZE
    return model.eval()


def prepared(pixels: NDArray[np.uint8]) -> torch.Tensor:
    """Pixels as the model takes them.

    Args:
        pixels: uint8 [rows, columns] as displayed, bright = dense.

    Returns:
        float32 [1, 1, 224, 224] in [-1024, 1024].
    """
    grey = xrv.datasets.normalize(pixels, 255)[None]
    square = torch.from_numpy(xrv.datasets.XRayCenterCrop()(grey))[None]
    # Resampled here as `forward` would (xrv.utils.fix_resolution), which also prints a warning.
    size = (INPUT_SIZE, INPUT_SIZE)
    if square.shape[2:] != size:
        square = functional.interpolate(square, size=size, mode="bilinear", antialias=True)
    return square


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Scores of one image.

    Args:
        payload: "pixels" uint8 [rows, columns]; "weights" path; "device".
        progress: Told before each step.

    Returns:
        "scores" label -> 0..1, and "device".
    """
    device = pick_device(payload.get("device", "auto"))
    progress(0.1, "Loading DenseNet-121")
    model = _models.get(payload["weights"], device, load)
    progress(0.6, "Classifying")
    with torch.inference_mode():
        scores = model(prepared(payload["pixels"]).to(device))[0].float().cpu().tolist()
    labels: list[str] = _PUBLISHED["labels"]
    return {"scores": dict(zip(labels, scores, strict=True)), "device": device}


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Load a file and forget it: whether `models install` may take it."""
    model = load(Path(payload["weights"]))
    return {"parameters": sum(p.numel() for p in model.parameters())}
