"""The embedded chest segmentation: right lung, left lung and heart on frontal radiographs.

Imported only in the model process, since it imports torch. The network was trained on synthetic
radiographs (``training/thorax``); ``resources/models/thorax-net/CARD.md`` describes its limits.
Not for diagnosis.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load as load_tensors

from app.tools.api import Progress
from app.tools.chest.thorax_arch import STRUCTURES, ThoraxNet
from app.tools.chest.thorax_inference import (
    SMALLEST,
    PassVariation,
    View,
    estimate_view,
    evaluate,
    is_inverted,
    letterbox,
    likeliest_view,
    mirrored_view,
    pass_variation,
    refine_on_thorax,
    remove_letterbox,
)
from app.tools.chest.thorax_masks import (
    BoolImage,
    FloatImage,
    ShapeCheck,
    check_shapes,
    clean_margins,
)
from app.tools.chest.thorax_windows import Window, coarse_shape, enlarge_masks, film_window
from app.tools.model_process.serving import Work, serve

CARD = "card.json"
_REFUSALS = {
    "lateral": "this looks like a lateral view; only frontal chest films can be segmented",
    "unknown": "this does not look like a frontal chest film",
}


class ThoraxNetError(Exception):
    """The weights cannot be used; the message names the file, the reason and the remedy."""


@dataclass(frozen=True)
class ThoraxSegmentation:
    """The segmentation of one image.

    Attributes:
        masks: "Right Lung", "Left Lung", "Heart" -> bool [rows, columns] at the input's size,
            without overlaps; right and left are the patient's. The lungs exclude the part behind
            the heart. Empty if the image is refused.
        confidence: Structure -> mean probability inside its mask, 0 if the mask is empty.
        inverted: True if the image was inverted (bright air) before segmentation.
        view: The image's estimated view.
        warnings: Sentences on what makes the masks less reliable.
        refused: The reason why there are no masks, or None.
        spread: Variation over the network's passes; None if the image is refused.
    """

    masks: dict[str, BoolImage] = field(default_factory=dict[str, BoolImage])
    confidence: dict[str, float] = field(default_factory=dict[str, float])
    inverted: bool = False
    view: View = "unknown"
    warnings: tuple[str, ...] = ()
    refused: str | None = None
    spread: PassVariation | None = None


def load(weights_path: Path | str) -> ThoraxNet:
    """Load the network after checking the weights' SHA-256 against the model card beside them.

    Raises:
        ThoraxNetError: The weights or their card are missing, altered or from a different network.
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


def _pixel_problem(pixels: NDArray[np.float32]) -> str | None:
    if pixels.ndim != 2:
        raise ValueError(f"pixels must be [rows, columns], not {pixels.shape}")
    if min(pixels.shape) < SMALLEST:
        return f"the image is too small ({pixels.shape[1]} x {pixels.shape[0]} pixels)"
    if not bool(np.isfinite(pixels).all()):
        raise ValueError("pixels must be finite")
    if float(np.ptp(pixels)) < 1e-3:
        return "the image is blank"
    return None


@torch.inference_mode()
def segment(pixels: NDArray[np.float32], weights: ThoraxNet) -> ThoraxSegmentation:
    """Segment lungs and heart.

    Args:
        pixels: [rows, columns] in 0..1 as displayed (bright = dense, MONOCHROME1 already
            inverted), of any size. Pixels that are not square must be resampled to square ones
            first.
        weights: The network from `load`.

    Returns:
        Masks at the input's own size, or a refusal.

    Raises:
        ValueError: The pixels are not a 2-D array of finite numbers.
    """
    problem = _pixel_problem(pixels)
    if problem is not None:
        return ThoraxSegmentation(refused=problem)
    part = film_window(pixels)
    found = _segment_film(pixels[part.top : part.bottom, part.left : part.right], weights)
    if part.shape == pixels.shape:
        return found
    return replace(
        found, masks={n: _in_whole_image(m, part, pixels) for n, m in found.masks.items()}
    )


def _in_whole_image(mask: BoolImage, part: Window, pixels: NDArray[np.float32]) -> BoolImage:
    """Return the mask of a part of the image as a mask of the whole image."""
    whole = np.zeros(pixels.shape, np.bool_)
    whole[part.top : part.bottom, part.left : part.right] = mask
    return whole


def _segment_film(pixels: NDArray[np.float32], weights: ThoraxNet) -> ThoraxSegmentation:
    """Segment a film without borders."""
    shape = (pixels.shape[0], pixels.shape[1])
    shown = torch.from_numpy(np.ascontiguousarray(pixels, np.float32))[None, None]
    box = letterbox(shown)
    upright, negative = evaluate(weights, torch.cat([box, 1 - box]))
    inverted = is_inverted(upright, negative)
    output = negative if inverted else upright
    view = likeliest_view(output.views)
    as_mirrored = None if view == "frontal" else mirrored_view(weights, box, output.mirrored)
    if as_mirrored is not None:
        inverted, view = as_mirrored.inverted, as_mirrored.view
        output = negative if inverted else upright
    if view != "frontal":
        return ThoraxSegmentation(inverted=inverted, view=view, refused=_REFUSALS[view])
    first = remove_letterbox(output.classes, shape, coarse_shape(shape))
    classes, parts = refine_on_thorax(weights, 1 - shown if inverted else shown, first)
    margins = clean_margins(classes.numpy())
    confidence, shape_check = _check_masks(classes.numpy(), margins, output.mirrored)
    if shape_check.refused is not None:
        return ThoraxSegmentation({}, confidence, inverted, "unknown", (), shape_check.refused)
    spread = pass_variation([part.numpy() for part in parts], margins)
    notes = ("the image is shown inverted (bright air)",) if inverted else ()
    notes += shape_check.warnings + spread.warnings
    masks = dict(zip(STRUCTURES, enlarge_masks(margins, shape), strict=True))
    return ThoraxSegmentation(masks, confidence, inverted, view, notes, spread=spread)


def _check_masks(
    classes: FloatImage, margins: FloatImage, mirrored: float
) -> tuple[dict[str, float], ShapeCheck]:
    """Return each structure's confidence, and the result of the shape checks on the coarse grid."""
    regions = {name: margins[i] > 0 for i, name in enumerate(STRUCTURES)}
    confidence = {
        name: round(float(classes[i + 1][regions[name]].mean()), 4) if regions[name].any() else 0.0
        for i, name in enumerate(STRUCTURES)
    }
    return confidence, check_shapes(regions, confidence, mirrored)


@dataclass(frozen=True)
class PictureView:
    """The view that an image shows.

    Attributes:
        view: "frontal", "lateral", "other" or "inverted".
        certainty: Probability of that view, 0..1.
        mirrored: Probability that a frontal film is shown mirrored, 0..1; 0 for "lateral" and
            "other".
    """

    view: str
    certainty: float
    mirrored: float = 0.0


@torch.inference_mode()
def classify_view(pixels: NDArray[np.float32], weights: ThoraxNet) -> PictureView:
    """Classify the view of an image without segmenting it.

    Args:
        pixels: [rows, columns] in 0..1 as displayed, bright = dense.
        weights: The network from `load`.
    """
    part = film_window(pixels)
    shown = np.ascontiguousarray(pixels[part.top : part.bottom, part.left : part.right], np.float32)
    box = letterbox(torch.from_numpy(shown)[None, None])
    seen = estimate_view(weights, box)
    film_seen = seen if seen.view == "frontal" else mirrored_view(weights, box, seen.mirrored)
    if film_seen is not None:
        view = "inverted" if film_seen.inverted else "frontal"
        return PictureView(view, film_seen.frontal, seen.mirrored)
    if seen.view == "lateral":
        return PictureView("lateral", seen.lateral)
    return PictureView("other", seen.lateral + seen.other)


def _ignore_progress(fraction: float, text: str) -> None:
    """Ignore the progress."""


def look_entry(payload: dict[str, Any], progress: Progress = _ignore_progress) -> dict[str, Any]:
    """Classify the view of an image; called in the model process.

    Args:
        payload: As for `entry`.
        progress: Called before each step.

    Returns:
        "view", "certainty" and "mirrored" as in `PictureView`, and the keys that `serve` adds.
    """

    def look(net: ThoraxNet, doing: Work) -> dict[str, Any]:
        seen = classify_view(_payload_pixels(payload), net)
        return {"view": seen.view, "certainty": seen.certainty, "mirrored": seen.mirrored}

    return _serve_on_cpu(payload, progress, look)


def entry(payload: dict[str, Any], progress: Progress = _ignore_progress) -> dict[str, Any]:
    """Segment lungs and heart; called in the model process.

    Args:
        payload: "pixels", uint8 or float32 [rows, columns] as displayed, and "model" for `serve`.
        progress: Called before each step.

    Returns:
        "masks" (name -> uint8 0/1 [rows, columns]), "confidence", "inverted", "view", "warnings",
        "refused" and "spread" as in `ThoraxSegmentation`, and the keys that `serve` adds.

    Raises:
        ValueError: The pixels have an unsupported type or shape.
        ThoraxNetError: The weights cannot be used.
    """

    def outline(net: ThoraxNet, doing: Work) -> dict[str, Any]:
        doing.progress(0.2, "Segmenting")
        found = segment(_payload_pixels(payload), net)
        return {
            "masks": {name: mask.astype(np.uint8) for name, mask in found.masks.items()},
            "confidence": found.confidence,
            "inverted": found.inverted,
            "view": found.view,
            "warnings": list(found.warnings),
            "refused": found.refused,
            "spread": found.spread.to_json() if found.spread is not None else {},
        }

    return _serve_on_cpu(payload, progress, outline)


def _serve_on_cpu(
    payload: dict[str, Any], progress: Progress, work: Callable[[ThoraxNet, Work], dict[str, Any]]
) -> dict[str, Any]:
    """Run the work on the CPU, which is fastest for a small network with numpy between passes."""
    here = {**payload, "device": "cpu"}
    return serve(here, progress, load=lambda path, _doing: load(path), work=work, exact=True)


def _payload_pixels(payload: dict[str, Any]) -> NDArray[np.float32]:
    """Return the payload's pixels as float32 in 0..1."""
    pixels = payload["pixels"]
    if not isinstance(pixels, np.ndarray):
        raise ValueError("pixels must be an array")
    image = cast("NDArray[np.float32]", pixels.astype(np.float32))
    if pixels.dtype == np.uint8:
        image /= 255
    return image
