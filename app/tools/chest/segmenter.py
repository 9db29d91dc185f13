"""Segments chest radiographs for all tools that need masks: one run per image, then cached.

Two tools need the same masks (segmentation and cardiothoracic ratio), so they share a `Segmenter`.
If PSPNet's weights are installed, it outlines 14 structures; otherwise the embedded network
outlines both lungs and the heart.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from app.tools.api import ImageSnapshot, ToolContext, ToolFailed
from app.tools.chest import organs
from app.tools.chest.model_pictures import ModelInput, model_pixels
from app.tools.chest.model_results import call_model
from app.tools.models.store import InstalledModel, ModelStore
from app.tools.needs import require_packages

PSPNET = "pspnet-chestx-det"
THORAX_NET = "thorax-net"
_TIMEOUT_S = 110.0
_CACHE_SIZE = 8
_EMBEDDED_SIZE = (256, 256)

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Segmentation:
    """The masks found on one image.

    Attributes:
        masks: Name -> bool [rows, columns] at the size of the whole image; only structures that
            were found.
        confidence: Name -> mean probability inside that structure's own mask.
        missing: Requested structures that were not found.
        model: Name of the weights; `weights_sha256` is their digest.
        model_size: (rows, columns) of the model's input.
        warnings: Reasons to doubt the masks.
        agreement: Name -> mean Dice coefficient of this mask with those from each single pass of
            the network; empty if the model makes only one pass.
        ratio_spread: Largest minus smallest cardiothoracic ratio over those passes, or None if
            there is only one pass or a pass has no ratio.
    """

    masks: dict[str, Mask]
    confidence: dict[str, float]
    missing: tuple[str, ...]
    model: str
    weights_sha256: str
    model_size: tuple[int, int]
    warnings: tuple[str, ...]
    agreement: dict[str, float] = field(default_factory=dict[str, float])
    ratio_spread: float | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """A model's masks of all its structures, packed as bits to an eighth of their size."""

    found: Segmentation
    bits: dict[str, NDArray[np.uint8]]
    shape: tuple[int, int]

    @classmethod
    def of(cls, found: Segmentation, shape: tuple[int, int]) -> _Answer:
        bits = {name: np.packbits(mask) for name, mask in found.masks.items()}
        return cls(replace(found, masks={}), bits, shape)

    def only(self, wanted: Sequence[str]) -> Segmentation:
        """Return the answer reduced to the wanted structures."""
        names = [name for name in wanted if name in self.bits]
        size = self.shape[0] * self.shape[1]
        masks = {
            name: np.unpackbits(self.bits[name], count=size).reshape(self.shape).astype(bool)
            for name in names
        }
        return replace(
            self.found,
            masks=masks,
            confidence={name: self.found.confidence[name] for name in names},
            agreement={n: self.found.agreement[n] for n in names if n in self.found.agreement},
            missing=tuple(name for name in wanted if name not in self.bits),
        )


def organs_of(model: InstalledModel) -> tuple[str, ...]:
    """Return the names of the structures that a segmentation model can outline."""
    return organs.ALL if model.card.name == PSPNET else organs.EMBEDDED


class Segmenter:
    """Segments chest radiographs in the model process; the last few results are cached."""

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[str, str], _Answer] = OrderedDict()
        self._lock = threading.Lock()

    def choose(self, context: ToolContext) -> InstalledModel:
        """Return the model to use: PSPNet if its weights are installed, else the embedded network.

        Raises:
            ToolFailed: The AI packages or the embedded weights are missing.
        """
        require_packages("The chest segmentation", "torch", "safetensors")
        store = ModelStore(context.models_dir)
        if not store.has(PSPNET):
            return store.require(THORAX_NET, "The chest segmentation")
        require_packages("The PSPNet segmentation", "torchvision", "torchxrayvision")
        return store.require(PSPNET, "The PSPNet segmentation")

    def segment(
        self,
        snapshot: ImageSnapshot,
        model: InstalledModel,
        wanted: Sequence[str],
        context: ToolContext,
    ) -> Segmentation:
        """Return the masks of the structures named in `wanted`, in that order.

        Structures that were not found are listed in `Segmentation.missing`.

        Raises:
            ToolFailed: The model refused the image, or the call failed.
            Cancelled: The run was stopped.
        """
        pixels = model_pixels(snapshot)
        key = (_digest(pixels, snapshot), model.sha256)
        with self._lock:
            known = self._answers.get(key)
        if known is None:
            # A network finds all its structures in one run, which then serves every later request.
            found = self._run(pixels, snapshot, model, context)
            known = _Answer.of(found, (pixels.shape[0], pixels.shape[1]))
            with self._lock:
                self._answers[key] = known
                while len(self._answers) > _CACHE_SIZE:
                    self._answers.popitem(last=False)
        return known.only(wanted)

    def _run(
        self,
        pixels: NDArray[np.uint8],
        snapshot: ImageSnapshot,
        model: InstalledModel,
        context: ToolContext,
    ) -> Segmentation:
        shown = ModelInput.of(snapshot, pixels)
        payload = {"pixels": shown.pixels, "organs": list(organs_of(model))}
        module = "psp_net" if model.card.name == PSPNET else "thorax_net"
        entry = f"app.tools.chest.{module}:entry"
        answer = call_model(entry, model, payload, context, _TIMEOUT_S)
        if answer.get("refused"):
            raise ToolFailed(
                str(answer["refused"]),
                remedy="Open a frontal chest radiograph (PA or AP) and ask again.",
            )
        warnings = [*model.warnings, *shown.hanging.warnings]
        warnings += [*answer.get("warnings", ()), *answer.get("notes", ())]
        resized = {
            name: _resized(shown.hanging.turned(mask), pixels.shape)
            for name, mask in answer["masks"].items()
        }
        found = {name: mask for name, mask in resized.items() if mask.any()}
        size = answer.get("model_size", _EMBEDDED_SIZE)
        spread: dict[str, Any] = answer.get("spread", {})
        return Segmentation(
            masks=found,
            confidence={name: float(answer["confidence"][name]) for name in found},
            missing=(),
            model=model.card.name,
            weights_sha256=model.sha256,
            model_size=(int(size[0]), int(size[1])),
            warnings=tuple(dict.fromkeys(warnings)),
            agreement=dict(spread.get("agreement", {})),
            ratio_spread=spread.get("ratio"),
        )


def _digest(pixels: NDArray[np.uint8], snapshot: ImageSnapshot) -> str:
    """Return a digest of everything but the model that determines the masks."""
    orientation = snapshot.frame.orientation
    rest = (pixels.shape, orientation.row, orientation.column, snapshot.frame.spacing.aspect)
    digest = hashlib.sha256(np.ascontiguousarray(pixels).data)
    digest.update(repr(rest).encode())
    return digest.hexdigest()


def _resized(mask: NDArray[Any], shape: tuple[int, ...]) -> Mask:
    """Return the mask resampled to the image's own rows and columns."""
    if mask.shape == shape:
        return mask.astype(bool)
    picture = Image.fromarray(mask.astype(np.uint8) * 255)
    size = (shape[1], shape[0])
    return np.asarray(picture.resize(size, Image.Resampling.BILINEAR)) >= 128
