"""The embedded chest segmentation: right lung, left lung and heart on a frontal chest radiograph.

Imported only in the model process, since it imports torch.  The network was trained on synthetic
radiographs (``training/thorax``); ``resources/models/thorax-net/CARD.md`` says what it can't do.
Not for diagnosis.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load as load_tensors
from torch.nn import functional

from app.tools.chest.thorax_arch import INPUT_SIZE, STRUCTURES, VIEWS, ThoraxNet, standardised
from app.tools.chest.thorax_masks import BoolImage, FloatImage, Judgement, cleaned, judge

View: TypeAlias = Literal["frontal", "lateral", "unknown"]

CARD = "card.json"
_SMALLEST = 32  # pixels a side; anything smaller shows no anatomy
_EDGE = 2  # coarse pixels kept around masks in any case, for their smooth edges
_MARGIN = 0.12  # of the thorax, kept around it in the second look
_LATERAL, _OTHER = 0.5, 0.6  # view probabilities from which an image is refused
_REFUSALS = {
    "lateral": "this looks like a lateral view; only frontal chest films can be segmented",
    "unknown": "this does not look like a frontal chest film",
}


class ThoraxNetError(Exception):
    """The weights can't be used; the message names the file, the reason and what to do."""


@dataclass(frozen=True)
class ThoraxSegmentation:
    """Masks of one image.

    Attributes:
        masks: "Right Lung", "Left Lung", "Heart" -> bool [rows, columns] of the input, disjoint;
            the patient's own right and left.  The lungs leave out what lies behind the heart.
            Empty when refused.
        confidence: The same names -> mean probability inside the structure's own mask, 0 if it has
            none.
        inverted: Whether the image had to be inverted (bright air) to be read.
        view: What kind of view the image seems to be.
        warnings: What makes the masks less reliable, in plain words.
        refused: Why no masks are given, or None.
    """

    masks: dict[str, BoolImage] = field(default_factory=dict[str, BoolImage])
    confidence: dict[str, float] = field(default_factory=dict[str, float])
    inverted: bool = False
    view: View = "unknown"
    warnings: tuple[str, ...] = ()
    refused: str | None = None


def load(weights_path: Path | str) -> ThoraxNet:
    """Loads the network, once the weights' sha256 equals that in the model card beside them.

    Raises:
        ThoraxNetError: The weights or their card are missing, altered or of another network.
    """
    path = Path(weights_path)
    hint = "reinstall Sightline, or run `sightline models verify`"
    try:
        blob = path.read_bytes()
        card = json.loads((path.parent / CARD).read_text(encoding="utf-8"))
        expected = str(card["sha256"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ThoraxNetError(f"{path}: weights or {CARD} unreadable ({error}); {hint}") from error
    found = hashlib.sha256(blob).hexdigest()
    if found != expected:
        raise ThoraxNetError(f"{path}: sha256 is {found}, the card says {expected}; {hint}")
    net = ThoraxNet()
    try:
        net.load_state_dict(load_tensors(blob))
    except RuntimeError as error:
        raise ThoraxNetError(f"{path}: not the weights of this network; {hint}") from error
    return net.eval().to(memory_format=torch.channels_last)


@dataclass(frozen=True)
class _Look:
    """What the network said of a crop: probabilities of classes [4, 128, 128] and views [4]."""

    classes: torch.Tensor
    views: torch.Tensor


def _letterboxed(image: torch.Tensor) -> torch.Tensor:
    """Returns [1, 1, rows, columns] centred in a black square and scaled to the network's input."""
    rows, columns = image.shape[2:]
    side = max(rows, columns)
    top, left = (side - rows) // 2, (side - columns) // 2
    square = functional.pad(image, (left, side - columns - left, top, side - rows - top))
    return functional.interpolate(
        square, (INPUT_SIZE, INPUT_SIZE), mode="bilinear", antialias=True, align_corners=False
    )


def _looks(net: ThoraxNet, batch: torch.Tensor) -> list[_Look]:
    """Returns one answer for each of the letterboxed images [n, 1, 256, 256]."""
    x = standardised(batch).contiguous(memory_format=torch.channels_last)
    structure, view = net(x)
    return [_Look(s, v) for s, v in zip(structure.softmax(1), view.softmax(1), strict=True)]


def _certainty(look: _Look) -> float:
    """Returns the mean winning probability over all that was taken for lung or heart."""
    best, which = look.classes.max(dim=0)
    inside = which > 0
    return float(best[inside].mean()) if bool(inside.any()) else 0.0


def _is_inverted(upright: _Look, flipped: _Look) -> bool:
    """Decides the polarity from the view head, which was shown both.

    And from how sure the masks are.
    """
    frontal, inverted = VIEWS.index("frontal"), VIEWS.index("inverted")
    as_shown = float(upright.views[frontal] + flipped.views[inverted]) / 2 + _certainty(upright)
    other = float(flipped.views[frontal] + upright.views[inverted]) / 2 + _certainty(flipped)
    return other > as_shown


def _view(views: torch.Tensor) -> View:
    lateral = float(views[VIEWS.index("lateral")])
    other = float(views[VIEWS.index("other")])
    if lateral >= _LATERAL:
        return "lateral"
    return "unknown" if lateral + other >= _OTHER else "frontal"


@dataclass(frozen=True)
class _Window:
    """A part of the image in pixels: rows top..bottom, columns left..right, the ends left out."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.bottom - self.top, self.right - self.left


def _unboxed(classes: torch.Tensor, shape: tuple[int, int], size: tuple[int, int]) -> torch.Tensor:
    """Cuts the letterbox of a part of `shape` off [c, 128, 128]; samples it at `size` pixels."""
    grid, side = classes.shape[-1], max(shape)
    # Pixel centres of the wanted grid in the square's coordinates, -1..1 from edge to edge.
    axes: list[torch.Tensor] = []
    for extent, count in zip(shape, size, strict=True):
        centre = (torch.arange(count, dtype=torch.float32) + 0.5) / count
        offset = (side - extent) // 2
        axes.append((centre * extent + offset) / side * 2 - 1)
    y, x = torch.meshgrid(axes[0], axes[1], indexing="ij")
    where = torch.stack([x, y], dim=-1)[None]
    mode = "bicubic" if max(size) > grid else "bilinear"
    return functional.grid_sample(
        classes[None], where, mode=mode, padding_mode="border", align_corners=False
    )[0]


def _thorax(masks: list[BoolImage], shape: tuple[int, int], margin: float) -> _Window | None:
    """Returns a window around `masks`, or None if all are empty.

    Args:
        masks: On one grid, coarser than the image or equal to it.
        shape: Rows and columns of the image.
        margin: Kept on each side, as a share of what the masks span.
    """
    rows, columns = np.nonzero(np.logical_or.reduce(masks))
    if len(rows) == 0:
        return None
    scale = np.array(shape) / np.array(masks[0].shape)
    low = np.array([rows.min() - _EDGE, columns.min() - _EDGE]) * scale
    high = np.array([rows.max() + 1 + _EDGE, columns.max() + 1 + _EDGE]) * scale
    margin *= float((high - low).max())
    low, high = np.maximum(low - margin, 0), np.minimum(high + margin, shape)
    return _Window(int(low[0]), int(high[0]), int(low[1]), int(high[1]))


def _coarse(shape: tuple[int, int]) -> tuple[int, int]:
    """Returns the working grid for masks: the image's aspect, long side 384 pixels at most."""
    scale = min(1.0, 384 / max(shape))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def _second_look(net: ThoraxNet, image: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    """Looks again at the thorax alone, and averages it with the first look.

    Args:
        net: The network.
        image: [1, 1, rows, columns].
        first: Class probabilities on the coarse grid [4, h, w].

    Returns:
        Probabilities on the same coarse grid.
    """
    rows, columns = image.shape[2:]
    margins = cleaned(first.numpy())
    window = _thorax([m > 0 for m in margins], (rows, columns), _MARGIN)
    if window is None or min(window.shape) < _SMALLEST:
        return first
    part = image[:, :, window.top : window.bottom, window.left : window.right]
    look = _looks(net, _letterboxed(part))[0]
    scale = first.shape[1] / rows, first.shape[2] / columns
    top, bottom = round(window.top * scale[0]), round(window.bottom * scale[0])
    left, right = round(window.left * scale[1]), round(window.right * scale[1])
    near = _unboxed(look.classes, window.shape, (bottom - top, right - left))
    both = first.clone()
    both[:, top:bottom, left:right] = (first[:, top:bottom, left:right] + near) / 2
    return both


def _enlarged(margins: FloatImage, shape: tuple[int, int]) -> list[BoolImage]:
    """Cuts margins [n, h, w] at 0 after enlarging them to `shape`, so that edges are smooth.

    Only each structure's own part of the image is enlarged: on a large film that is most of the
    time.
    """
    taken = np.zeros(shape, np.bool_)
    masks: list[BoolImage] = []
    for margin in margins:
        mask = np.zeros(shape, np.bool_)
        window = _thorax([margin > 0], shape, 0.0)
        if window is not None:
            rows, columns = slice(window.top, window.bottom), slice(window.left, window.right)
            mask[rows, columns] = (_sampled(margin, shape, window) > 0) & ~taken[rows, columns]
            taken |= mask
        masks.append(mask)
    return masks


def _sampled(margin: FloatImage, shape: tuple[int, int], window: _Window) -> FloatImage:
    """Returns `margin`, a coarse map of an image of `shape`, at `window`'s pixels (bilinear)."""
    grown = margin
    for axis, (low, high) in enumerate(((window.top, window.bottom), (window.left, window.right))):
        scale = margin.shape[axis] / shape[axis]
        at = np.clip((np.arange(low, high) + 0.5) * scale - 0.5, 0, margin.shape[axis] - 1)
        first = np.minimum(at.astype(np.intp), max(margin.shape[axis] - 2, 0))
        share = (at - first).astype(np.float32)
        share = share[:, None] if axis == 0 else share[None, :]
        after = np.minimum(first + 1, margin.shape[axis] - 1)
        grown = grown.take(first, axis) * (1 - share) + grown.take(after, axis) * share
    return grown


def _checked(pixels: NDArray[np.float32]) -> str | None:
    if pixels.ndim != 2:
        raise ValueError(f"pixels must be [rows, columns], not {pixels.shape}")
    if min(pixels.shape) < _SMALLEST:
        return f"the image is too small ({pixels.shape[1]} x {pixels.shape[0]} pixels)"
    if not bool(np.isfinite(pixels).all()):
        raise ValueError("pixels must be finite")
    if float(np.ptp(pixels)) < 1e-3:
        return "the image is blank"
    return None


@torch.inference_mode()
def segment(pixels: NDArray[np.float32], weights: ThoraxNet) -> ThoraxSegmentation:
    """Segments lungs and heart.

    Args:
        pixels: [rows, columns] in 0..1 as displayed (bright = dense, MONOCHROME1 already
            inverted), any size and aspect; for anisotropic pixels, resample to square ones first.
        weights: The network from `load`.

    Returns:
        Masks at the input's own size, or a refusal.

    Raises:
        ValueError: Not a finite 2-D array.
    """
    problem = _checked(pixels)
    if problem is not None:
        return ThoraxSegmentation(refused=problem)
    shape = (pixels.shape[0], pixels.shape[1])
    shown = torch.from_numpy(np.ascontiguousarray(pixels, np.float32))[None, None]
    box = _letterboxed(shown)
    upright, flipped = _looks(weights, torch.cat([box, 1 - box]))
    inverted = _is_inverted(upright, flipped)
    look = flipped if inverted else upright
    view = _view(look.views)
    if view != "frontal":
        return ThoraxSegmentation(inverted=inverted, view=view, refused=_REFUSALS[view])
    coarse = _unboxed(look.classes, shape, _coarse(shape))
    classes = _second_look(weights, 1 - shown if inverted else shown, coarse)
    margins = cleaned(classes.numpy())
    confidence, judgement = _judged(classes.numpy(), margins)
    if judgement.refused is not None:
        return ThoraxSegmentation({}, confidence, inverted, "unknown", (), judgement.refused)
    notes = ("the image is shown inverted (bright air)",) if inverted else ()
    cut = zip(STRUCTURES, _enlarged(margins, shape), strict=True)
    masks: dict[str, BoolImage] = dict(cut)
    return ThoraxSegmentation(masks, confidence, inverted, view, notes + judgement.warnings)


def _judged(classes: FloatImage, margins: FloatImage) -> tuple[dict[str, float], Judgement]:
    """Returns each structure's confidence and what the shapes say, on the coarse grid."""
    regions = {name: margins[i] > 0 for i, name in enumerate(STRUCTURES)}
    confidence = {
        name: round(float(classes[i + 1][regions[name]].mean()), 4) if regions[name].any() else 0.0
        for i, name in enumerate(STRUCTURES)
    }
    return confidence, judge(regions, confidence)


@torch.inference_mode()
def view_of(pixels: NDArray[np.float32], weights: ThoraxNet) -> tuple[str, float]:
    """What kind of picture this is, without looking for lungs.

    Args:
        pixels: [rows, columns] in 0..1 as displayed, bright = dense.
        weights: The network from `load`.

    Returns:
        "frontal", "lateral", "other" or "inverted", and the network's share for it in 0..1.
    """
    box = _letterboxed(torch.from_numpy(np.ascontiguousarray(pixels, np.float32))[None, None])
    upright, flipped = _looks(weights, torch.cat([box, 1 - box]))
    frontal, inverted = VIEWS.index("frontal"), VIEWS.index("inverted")
    as_shown = float(upright.views[frontal] + flipped.views[inverted]) / 2
    negative = float(flipped.views[frontal] + upright.views[inverted]) / 2
    view = _view((flipped if negative > as_shown else upright).views)
    if view == "frontal":
        return ("inverted", negative) if negative > as_shown else ("frontal", as_shown)
    both = (upright.views + flipped.views) / 2
    if view == "lateral":
        return view, float(both[VIEWS.index("lateral")])
    return "other", float(both[VIEWS.index("lateral")] + both[VIEWS.index("other")])


def look_entry(payload: dict[str, object]) -> dict[str, object]:
    """Runs in the model process: the view alone.

    Args:
        payload: As of `entry`.

    Returns:
        "view" and "certainty"; see `view_of`.
    """
    image, net = _given(payload)
    view, certainty = view_of(image, net)
    return {"view": view, "certainty": certainty}


_loaded: dict[str, ThoraxNet] = {}


def _given(payload: dict[str, object]) -> tuple[NDArray[np.float32], ThoraxNet]:
    """Pixels in 0..1 and the network, loaded once."""
    pixels = payload["pixels"]
    if not isinstance(pixels, np.ndarray):
        raise ValueError("pixels must be an array")
    image = cast("NDArray[np.float32]", pixels.astype(np.float32))
    if pixels.dtype == np.uint8:
        image /= 255
    path = str(payload["weights"])
    if path not in _loaded:
        _loaded[path] = load(path)
    return image, _loaded[path]


def entry(payload: dict[str, object]) -> dict[str, object]:
    """Runs in the model process: only arrays and JSON-able values cross.

    Args:
        payload: "pixels", uint8 or float32 [rows, columns] as displayed, and "weights", the file's
            path.

    Returns:
        "masks" (name -> uint8 0/1), "confidence", "inverted", "view", "warnings" and "refused".

    Raises:
        ValueError: Pixels of another type or shape.
        ThoraxNetError: The weights can't be used.
    """
    found = segment(*_given(payload))
    return {
        "masks": {name: mask.astype(np.uint8) for name, mask in found.masks.items()},
        "confidence": found.confidence,
        "inverted": found.inverted,
        "view": found.view,
        "warnings": list(found.warnings),
        "refused": found.refused,
    }
