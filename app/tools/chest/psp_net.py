"""torchxrayvision's PSPNet (ChestX-Det) for 14 structures (torch; model process only).

Preprocessing is torchxrayvision's: 8-bit grey to [-1024, 1024], bilinear resampling with
antialiasing to 512 x 512. The network expects a square, which the library's examples crop from the
centre. Here the image is padded to a square instead, so the masks cover the whole image.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
import torchvision
import torchxrayvision as xrv
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torchxrayvision.baseline_models import chestx_det

from app.tools.api import Progress
from app.tools.chest.checkpoint import load_into, load_state
from app.tools.model_process.serving import Work, serve

INPUT_SIZE = 512
STRUCTURES: tuple[str, ...] = tuple(chestx_det.PSPNet.targets)
_THRESHOLD = 0.5
_BLACK = -1024.0
# Skip torchxrayvision's check of the first image's range, which prints a warning.
xrv.utils.warning_log["norm_check"] = True


class OfflinePSPNet(chestx_det.PSPNet):
    """torchxrayvision's PSPNet class without its constructor, which would download the weights.

    The inherited `forward` preprocesses as torchxrayvision does.
    """

    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.transform = torchvision.transforms.Normalize(
            [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        )
        self.model = chestx_det.pspnet(len(STRUCTURES))


def load(path: Path) -> OfflinePSPNet:
    """Return the network loaded from a weights file, on the CPU.

    Raises:
        ToolFailed: The file is damaged or belongs to a different model.
    """
    net = OfflinePSPNet()
    load_into(cast("nn.Module", net.model), load_state(path), path)
    return net.eval()


def letterbox(pixels: NDArray[np.uint8]) -> tuple[Tensor, tuple[int, int]]:
    """Return the image centred in a black square of the network's size.

    Returns:
        The square, float32 [1, 1, 512, 512] in [-1024, 1024]; and the (top, left) padding around
        the image, in pixels of the image.
    """
    grey = torch.from_numpy(xrv.datasets.normalize(pixels, 255))[None, None]
    rows, columns = pixels.shape
    side = max(rows, columns)
    top, left = (side - rows) // 2, (side - columns) // 2
    around = (left, side - columns - left, top, side - rows - top)
    square = functional.pad(grey, around, value=_BLACK)
    # Resampled here as `forward` would (xrv.utils.fix_resolution), which also prints a warning.
    size = (INPUT_SIZE, INPUT_SIZE)
    if side != INPUT_SIZE:
        square = functional.interpolate(square, size=size, mode="bilinear", antialias=True)
    return square, (top, left)


def remove_letterbox(
    probability: Tensor, shape: tuple[int, int], corner: tuple[int, int]
) -> Tensor:
    """Resample a structure's probabilities [512, 512] to the image's [rows, columns], `shape`.

    The padding is cut off. `corner` is the padding (top, left) that `letterbox` returned.
    """
    side = max(shape)
    grown = functional.interpolate(
        probability[None, None], (side, side), mode="bilinear", align_corners=False
    )[0, 0]
    top, left = corner
    return grown[top : top + shape[0], left : left + shape[1]]


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Segment the requested structures on one image.

    `payload` has "pixels" uint8 [rows, columns]; "model" and "device" for `serve`; "organs", names
    from `STRUCTURES`.

    Returns:
        "masks" name -> uint8 0/1 [rows, columns]; "confidence" name -> mean probability inside the
        mask, 0 if it is empty; "model_size", [rows, columns] of the input; and
        "device", "dtype" and "notes" of `serve`.
    """

    def ready(path: Path, doing: Work) -> OfflinePSPNet:
        return load(path).to(doing.placement.device)

    def segment(net: OfflinePSPNet, doing: Work) -> dict[str, Any]:
        doing.progress(0.3, "Segmenting")
        return _segment(net, payload["pixels"], payload["organs"], doing)

    return serve(payload, progress, load=ready, work=segment, exact=True)


def _segment(
    net: OfflinePSPNet, pixels: NDArray[np.uint8], organs: list[str], doing: Work
) -> dict[str, Any]:
    shape = (pixels.shape[0], pixels.shape[1])
    square, corner = letterbox(pixels)
    masks: dict[str, NDArray[np.uint8]] = {}
    confidence: dict[str, float] = {}
    with torch.inference_mode():
        probabilities = torch.sigmoid(net(square.to(doing.placement.device))[0].float()).cpu()
        for number, organ in enumerate(organs):
            doing.progress(0.8 + 0.2 * number / len(organs), organ)
            full = remove_letterbox(probabilities[STRUCTURES.index(organ)], shape, corner)
            mask = full > _THRESHOLD
            masks[organ] = mask.to(torch.uint8).numpy()
            confidence[organ] = float(full[mask].mean()) if bool(mask.any()) else 0.0
    return {"masks": masks, "confidence": confidence, "model_size": [INPUT_SIZE, INPUT_SIZE]}


def check(payload: dict[str, Any]) -> dict[str, Any]:
    """Load the weights file payload["weights"] as a check; return {"parameters": their number}."""
    net = load(Path(payload["weights"]))
    return {"parameters": sum(p.numel() for p in net.parameters())}
