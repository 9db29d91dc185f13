"""torchxrayvision's DenseNet-121 classifier (torch; model process only).

Preprocessing is torchxrayvision's own: 8-bit grey to [-1024, 1024], a central square crop, and
bilinear resampling with antialiasing to 224 x 224. Each label's output is rescaled so that its
decision threshold becomes 0.5 (Cohen et al., "TorchXRayVision", MIDL 2022): scores are no
probabilities.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchxrayvision as xrv
from numpy.typing import NDArray
from PIL import Image
from torch.nn import functional

from app.tools.api import Progress
from app.tools.chest.checkpoint import load_into, load_state
from app.tools.model_process.serving import Work, serve

NAME = "densenet121-res224-all"
INPUT_SIZE = 224
_PUBLISHED: dict[str, Any] = xrv.models.model_urls[NAME]
LABELS: list[str] = _PUBLISHED["labels"]
MARGIN = 16
"""Pixels cut off at two sides for each corner variant: a fifteenth of the width."""
# Skip torchxrayvision's check of the first image's range, which prints a warning.
xrv.utils.warning_log["norm_check"] = True


def load(path: Path) -> Any:
    """Return the classifier loaded from a weights file, on the CPU and ready for inference.

    Raises:
        ToolFailed: The file is damaged or belongs to a different model.
    """
    state = load_state(path)
    # The state dict of a loaded model contains operating points, the published file does not.
    thresholds = state.pop("op_threshs", None)
    model = xrv.models.DenseNet(weights=None, num_classes=len(_PUBLISHED["labels"]))
    load_into(model, state, path)
    model.op_threshs = (
        torch.tensor(_PUBLISHED["op_threshs"]) if thresholds is None else thresholds.float()
    )
    model.input_resolution = INPUT_SIZE
    return model.eval()


def preprocess(pixels: NDArray[np.uint8], side: int = INPUT_SIZE) -> torch.Tensor:
    """Return the image's central square as float32 [1, 1, side, side], grey levels -1024..1024."""
    central = torch.from_numpy(xrv.datasets.XRayCenterCrop()(pixels[None]))[None].float()
    # Resampled here as `forward` would (xrv.utils.fix_resolution), which also prints a warning.
    if central.shape[2:] != (side, side):
        central = functional.interpolate(
            central, size=(side, side), mode="bilinear", antialias=True
        )
    # Normalise after resampling: both steps are linear, so the values are the same and there are
    # fewer of them. Resampling may round to above 255, which `normalize` refuses.
    return torch.from_numpy(xrv.datasets.normalize(central.clamp(0, 255).numpy(), 255))


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Classify one image.

    `payload` has "pixels" uint8 [rows, columns]; "model" and "device" for `serve`; "labels" to
    compute activation maps for; "flagged", of how many labels that score above 0.5 besides, the
    highest first; "spread", True to classify the image's `variants` as well.

    Returns:
        "scores", label -> 0..1; "cells", label -> float32 [7, 7] activation map without negative
        values; "spread", label -> [standard deviation, minimum, maximum] of the scores of the image
        and its variants, empty unless requested; and "device", "dtype" and "notes" of `serve`.
    """

    def ready(path: Path, doing: Work) -> Any:
        # This memory layout is about 20% faster on a CPU.
        return load(path).to(doing.placement.device, memory_format=torch.channels_last)

    def classify(model: Any, doing: Work) -> dict[str, Any]:
        doing.progress(0.6, "Classifying")
        return evaluate(model, payload, doing.placement.device)

    return serve(payload, progress, load=ready, work=classify, exact=True)


def evaluate(model: Any, payload: dict[str, Any], device: str) -> dict[str, Any]:
    """Return the "scores", "cells" and "spread" that `entry` describes, from one forward pass."""
    whole = preprocess(payload["pixels"])
    batch = (
        torch.cat([whole, *variants(payload["pixels"], whole)]) if payload.get("spread") else whole
    )
    kept: list[torch.Tensor] = []
    hook = model.features.register_forward_hook(lambda _module, _given, out: kept.append(out))
    try:
        with torch.inference_mode():
            scores = model(batch.to(device)).float().cpu().numpy()
            named = payload.get("labels", ())
            order = [LABELS[at] for at in (-scores[0]).argsort() if scores[0][at] > 0.5]
            flagged = [label for label in order if label not in named]
            chosen = {*named, *flagged[: payload.get("flagged", 0)]}
            wanted = [label for label in LABELS if label in chosen]
            cells = _activation_maps(model, kept[0][0], wanted) if wanted else {}
    finally:
        hook.remove()
    return {
        "scores": dict(zip(LABELS, scores[0].tolist(), strict=True)),
        "cells": cells,
        "spread": _spread(scores) if payload.get("spread") else {},
    }


def variants(pixels: NDArray[np.uint8], whole: torch.Tensor) -> list[torch.Tensor]:
    """Return five inputs made from an image by changes that should hardly alter a score.

    They are the mirror image and four corner crops. `whole` is the result of `preprocess` for
    `pixels`; each variant has the same shape as `whole`.
    """
    wide = preprocess(pixels, INPUT_SIZE + MARGIN)
    ends = (slice(0, INPUT_SIZE), slice(MARGIN, None))
    corners = [wide[..., down, across] for down in ends for across in ends]
    return [whole.flip(-1), *corners]


def _activation_maps(
    model: Any, features: torch.Tensor, wanted: list[str]
) -> dict[str, NDArray[np.float32]]:
    """Return the last layer's class activation maps, with negative values set to 0."""
    rows = [LABELS.index(label) for label in wanted]
    weights = model.classifier.weight[rows]
    maps = torch.einsum("lc,cyx->lyx", weights, functional.relu(features)).clamp(min=0)
    return dict(zip(wanted, maps.float().cpu().numpy(), strict=True))


def _spread(scores: NDArray[np.float32]) -> dict[str, list[float]]:
    """Return for each label the standard deviation, minimum and maximum over the variants."""
    figures = np.stack([scores.std(0), scores.min(0), scores.max(0)], 1).tolist()
    return dict(zip(LABELS, figures, strict=True))


def self_check(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Check that the model gives a film the scores that torchxrayvision's README states for it.

    The film is prepared as torchxrayvision's scripts/process_image.py does with `-resize`, since
    the scores depend on it. `payload` and the result are as for `installation.self_check`.
    """

    def work(model: Any, doing: Work) -> dict[str, Any]:
        doing.progress(0.6, "Classifying a known film")
        with Image.open(payload["file"]) as film:
            grey = np.asarray(film.convert("L"))
        central = xrv.datasets.XRayCenterCrop()(xrv.datasets.normalize(grey, 255)[None])
        small = torch.from_numpy(xrv.datasets.XRayResizer(INPUT_SIZE)(central))[None]
        with torch.inference_mode():
            found = dict(zip(LABELS, model(small)[0].tolist(), strict=True))
        off = {label: abs(found[label] - score) for label, score in payload["expected"].items()}
        worst = max(off, key=lambda label: off[label])
        return {
            "outcome": f"{'passed' if off[worst] <= payload['tolerance'] else 'failed'}: "
            f"{len(off)} published scores of {Path(payload['file']).name} met to {off[worst]:.4f} "
            f"({worst}); {payload['tolerance']:g} is allowed"
        }

    return serve(payload, progress, load=lambda path, _doing: load(path), work=work, exact=True)


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Load the weights file payload["weights"] as a check; return {"parameters": their number}."""
    model = load(Path(payload["weights"]))
    return {"parameters": sum(p.numel() for p in model.parameters())}
