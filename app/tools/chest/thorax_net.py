"""The embedded chest segmentation: right lung, left lung and heart on frontal radiographs.

Imported only in the model process, since it imports torch. The network makes several passes: on the
whole image, then on the thorax alone, unrotated and rotated by 5 degrees both ways. It was trained
on synthetic radiographs (``training/thorax``); ``resources/models/thorax-net/CARD.md`` describes
its limits. Not for diagnosis.

Image tensors are [n, 1, rows, columns] in 0..1, bright = dense; class probabilities are [4, rows,
columns]: background, right lung, left lung, heart.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load as load_tensors
from torch.nn import functional

from app.tools.api import Progress
from app.tools.chest import ctr_geometry
from app.tools.chest.model_pictures import NEGATIVE_NOTE
from app.tools.chest.thorax_arch import INPUT_SIZE, STRUCTURES, VIEWS, ThoraxNet, standardise
from app.tools.chest.thorax_masks import (
    BoolImage,
    FloatImage,
    ShapeCheck,
    Window,
    check_shapes,
    clean_margins,
    coarse_shape,
    enlarge_masks,
    film_window,
    largest_component,
    window_around,
)
from app.tools.model_process.serving import Work, serve

LOW_AGREEMENT = 0.85
"""A structure whose mean Dice coefficient over the passes is lower gets a warning."""
_STEP = 2  # use every second row and column of the coarse grid, for speed


@dataclass(frozen=True, slots=True)
class PassVariation:
    """The variation of the results between the network's passes on one image.

    Attributes:
        agreement: Structure -> Dice coefficient (0..1) between the mask from a pass and the result,
            averaged over the passes; only structures that were found.
        ratio: Range (maximum - minimum) of the cardiothoracic ratio over the passes; None if a pass
            has no ratio or there is only one pass.
        warnings: One sentence for each structure whose outline changes much between the passes.
    """

    agreement: dict[str, float]
    ratio: float | None
    warnings: tuple[str, ...]


def pass_variation(parts: Sequence[FloatImage], margins: FloatImage) -> PassVariation:
    """Return how much the network's passes differ from the result.

    Args:
        parts: The class probabilities [4, rows, columns] from each pass, on the coarse grid.
        margins: The result, as `clean_margins` returns it: [3, rows, columns] on the same grid.
    """
    result = [margin[::_STEP, ::_STEP] > 0 for margin in margins]
    winners = [part[:, ::_STEP, ::_STEP].argmax(axis=0) for part in parts]
    agreement = {
        name: round(float(np.mean([_dice(w == i, mask) for w in winners])), 4)
        for i, (name, mask) in enumerate(zip(STRUCTURES, result, strict=True), start=1)
        if mask.any()
    }
    ratio = _ratio_spread(winners)
    notes = [
        f"unstable: the outline of the {name.lower()} changes when the image is cropped or rotated "
        f"slightly (agreement {agreement[name]:.2f})"
        for name in agreement
        if agreement[name] < LOW_AGREEMENT
    ]
    return PassVariation(agreement, ratio, tuple(notes))


def _dice(one: BoolImage, other: BoolImage) -> float:
    total = int(one.sum()) + int(other.sum())
    return 2 * int((one & other).sum()) / total if total else 1.0


def _ratio_spread(winners: Sequence[BoolImage]) -> float | None:
    ratios: list[float] = []
    for winner in winners:
        masks = {name: largest_component(winner == i) for i, name in enumerate(STRUCTURES, start=1)}
        found = ctr_geometry.measure(masks)
        if found.ratio is None:
            return None
        ratios.append(found.ratio)
    return round(max(ratios) - min(ratios), 4) if len(ratios) > 1 else None


View: TypeAlias = Literal["frontal", "lateral", "unknown"]

SMALLEST = 32
"""Smallest side of an image in pixels; anything smaller shows no anatomy."""
ROTATIONS = (0.0, 5.0, -5.0)
"""Rotations of the thorax in degrees for the later passes; difficult films vary more under them."""
_MARGIN = 0.12  # around the thorax in the later passes, as a fraction of its extent
_LATERAL, _OTHER = 0.5, 0.6  # least view probabilities for refusing an image
_FRONTAL, _INVERTED = VIEWS.index("frontal"), VIEWS.index("inverted")
_MIRRORED, _FRONTAL_IN_MIRROR = 0.5, 0.4
"""A film that does not look frontal counts as mirrored if the network's probability for "mirrored"
reaches the first value, and that for "frontal" of its mirror image the second.
"""


@dataclass(frozen=True)
class NetworkOutput:
    """The network's output for one image.

    Attributes:
        classes: Probabilities [4, 128, 128] of background, right lung, left lung and heart.
        views: Probabilities [4] of frontal, lateral, other and inverted.
        mirrored: Probability that the film is shown mirrored, 0..1.
    """

    classes: torch.Tensor
    views: torch.Tensor
    mirrored: float


def letterbox(image: torch.Tensor) -> torch.Tensor:
    """Return an image [1, 1, rows, columns], padded with black to a square, as [1, 1, 256, 256]."""
    rows, columns = image.shape[2:]
    side = max(rows, columns)
    top, left = (side - rows) // 2, (side - columns) // 2
    square = functional.pad(image, (left, side - columns - left, top, side - rows - top))
    return functional.interpolate(
        square, (INPUT_SIZE, INPUT_SIZE), mode="bilinear", antialias=True, align_corners=False
    )


def evaluate(net: ThoraxNet, batch: torch.Tensor) -> list[NetworkOutput]:
    """Return the network's output for each of the letterboxed images [n, 1, 256, 256]."""
    x = standardise(batch).contiguous(memory_format=torch.channels_last)
    structure, view, side = net(x)
    outputs = zip(structure.softmax(1), view.softmax(1), side.sigmoid().tolist(), strict=True)
    return [NetworkOutput(*output) for output in outputs]


@dataclass(frozen=True)
class ViewEstimate:
    """The view of an image, estimated from both the image and its negative.

    Attributes:
        view: "frontal", "lateral" or "unknown", for the image or, if `inverted`, for its negative.
        inverted: True if the negative looks more like a frontal film than the image itself.
        frontal: Probability that the image is a frontal film, inverted or not as `inverted` says.
        lateral: Probability of a lateral film, averaged over the image and its negative.
        other: Probability of any other picture, averaged over the image and its negative.
        mirrored: Probability that the film is mirrored, for the image or its negative like `view`.
    """

    view: View
    inverted: bool
    frontal: float
    lateral: float
    other: float
    mirrored: float


def estimate_view(net: ThoraxNet, box: torch.Tensor) -> ViewEstimate:
    """Return the view of a letterboxed image [1, 1, 256, 256], from the image and its negative."""
    batch = standardise(torch.cat([box, 1 - box])).contiguous(memory_format=torch.channels_last)
    views, mirrored = net.classify_view(batch)
    upright, negative = views.softmax(1)
    side, negative_side = mirrored.sigmoid().tolist()
    as_shown, inverted = polarity_probabilities(upright, negative)
    is_negative = inverted > as_shown
    both = (upright + negative) / 2
    return ViewEstimate(
        likeliest_view(negative if is_negative else upright),
        is_negative,
        max(as_shown, inverted),
        float(both[VIEWS.index("lateral")]),
        float(both[VIEWS.index("other")]),
        negative_side if is_negative else side,
    )


def mirrored_view(net: ThoraxNet, box: torch.Tensor, mirrored: float) -> ViewEstimate | None:
    """Return the view of an image flipped left to right, or None if it is not clearly frontal.

    This recognises films that are shown mirrored: they may not look frontal, since the heart is on
    the wrong side. `box` is the letterboxed image [1, 1, 256, 256]. `mirrored` is the probability
    that it is shown mirrored; below 0.5, nothing is flipped and None is returned.
    """
    if mirrored < _MIRRORED:
        return None
    seen = estimate_view(net, box.flip(3))
    return seen if seen.view == "frontal" and seen.frontal >= _FRONTAL_IN_MIRROR else None


def likeliest_view(views: torch.Tensor) -> View:
    """Return the most likely view for the view classifier's probabilities [4]."""
    lateral = float(views[VIEWS.index("lateral")])
    other = float(views[VIEWS.index("other")])
    if lateral >= _LATERAL:
        return "lateral"
    return "unknown" if lateral + other >= _OTHER else "frontal"


def polarity_probabilities(upright: torch.Tensor, negative: torch.Tensor) -> tuple[float, float]:
    """Return the probabilities (of a frontal film with normal greys, of one with inverted greys).

    The arguments are the view probabilities [4] of the image as shown and of its negative.
    """
    as_shown = float(upright[_FRONTAL] + negative[_INVERTED]) / 2
    return as_shown, float(negative[_FRONTAL] + upright[_INVERTED]) / 2


def is_inverted(upright: NetworkOutput, negative: NetworkOutput) -> bool:
    """Return True if an image is inverted, so that its negative has the correct grey levels.

    This is judged by the probabilities of the views and the certainty of the masks of both.
    """
    as_shown, inverted = polarity_probabilities(upright.views, negative.views)
    return inverted + _certainty(negative) > as_shown + _certainty(upright)


def _certainty(output: NetworkOutput) -> float:
    """Return the mean probability of the winning class over lungs and heart; 0 without any."""
    best, which = output.classes.max(dim=0)
    inside = which > 0
    return float(best[inside].mean()) if bool(inside.any()) else 0.0


def rotate(images: torch.Tensor, degrees: float, padding: str = "zeros") -> torch.Tensor:
    """Return square images [n, c, s, s] rotated anticlockwise; `padding` fills the corners.

    It is a `padding_mode` of torch's `grid_sample`: "zeros", "border" or "reflection".
    """
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    theta = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]]).expand(len(images), -1, -1)
    grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode=padding, align_corners=False)


def remove_letterbox(
    classes: torch.Tensor, shape: tuple[int, int], size: tuple[int, int]
) -> torch.Tensor:
    """Resample class probabilities [4, 128, 128] of a letterboxed image without its padding.

    `shape` is the image's (rows, columns); the result is [4, rows, columns] with those of `size`.
    """
    grid, side = classes.shape[-1], max(shape)
    # Pixel centres of the result in coordinates of the square, -1..1 from edge to edge.
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


def refine_on_thorax(
    net: ThoraxNet, image: torch.Tensor, first: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Repeat the segmentation on the thorax alone, unrotated and rotated, and average all passes.

    `image` is [1, 1, rows, columns]; `first` are the first pass's class probabilities [4, h, w] on
    the grid of `coarse_shape`.

    Returns:
        The averaged probabilities, and the probabilities from each pass, all on the same grid.
    """
    shape = (image.shape[2], image.shape[3])
    window = window_around([margin > 0 for margin in clean_margins(first.numpy())], shape, _MARGIN)
    if window is None or min(window.shape) < SMALLEST:
        return first, [first]
    box = letterbox(image[..., *window.slices])
    batch = torch.cat([rotate(box, degrees) if degrees else box for degrees in ROTATIONS])
    place = window.on_grid(shape, (first.shape[1], first.shape[2]))
    near: list[torch.Tensor] = []
    for output, degrees in zip(evaluate(net, batch), ROTATIONS, strict=True):
        classes = rotate(output.classes[None], -degrees, "border")[0] if degrees else output.classes
        near.append(remove_letterbox(classes, window.shape, place.shape))
    # The first pass has less weight if the thorax was small in it.
    share = 0.5 * (max(window.shape) / max(shape)) ** 2
    mean = torch.stack(near).mean(dim=0)
    parts = [first, *(_with_part(first, place, part) for part in near)]
    return _with_part(first, place, share * first[:, *place.slices] + (1 - share) * mean), parts


def _with_part(first: torch.Tensor, place: Window, part: torch.Tensor) -> torch.Tensor:
    """Return the first pass's probabilities with a window replaced by `part`."""
    whole = first.clone()
    whole[:, *place.slices] = part
    return whole


CARD = "card.json"
_REFUSALS = {
    "lateral": "this looks like a lateral view; only frontal chest films can be segmented",
    "unknown": "this does not look like a frontal chest film",
}


class ThoraxNetError(Exception):
    """The error for weights that cannot be used; it names the file, the reason and the remedy."""


@dataclass(frozen=True)
class ThoraxSegmentation:
    """The segmentation of one image.

    Attributes:
        masks: "Right Lung", "Left Lung", "Heart" -> bool [rows, columns] at the input's size,
            without overlaps; right and left are the patient's. The lungs exclude the part behind
            the heart. Empty if the image is refused.
        confidence: Structure -> mean probability inside its mask, 0 if the mask is empty.
        inverted: True if air is bright in the image; its negative was then segmented.
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
    """Segment the lungs and the heart on a frontal chest radiograph.

    Args:
        pixels: [rows, columns] in 0..1 as displayed (bright = dense), of any size, square pixels.
        weights: The network from `load`.

    Returns:
        Masks at the input's own size; or, with `refused`, the reason why there are none.

    Raises:
        ValueError: The pixels are not a 2-D array of finite numbers.
    """
    problem = _pixel_problem(pixels)
    if problem is not None:
        return ThoraxSegmentation(refused=problem)
    part = film_window(pixels)
    found = _segment_film(pixels[part.slices], weights)
    if part.shape == pixels.shape:
        return found
    return replace(
        found, masks={n: _in_whole_image(m, part, pixels) for n, m in found.masks.items()}
    )


def _in_whole_image(mask: BoolImage, part: Window, pixels: NDArray[np.float32]) -> BoolImage:
    """Return the mask of a part of the image as a mask of the whole image."""
    whole = np.zeros(pixels.shape, np.bool_)
    whole[part.slices] = mask
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
    notes = (NEGATIVE_NOTE,) if inverted else ()
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
    """Return the view of an image [rows, columns], values 0..1, without segmenting it."""
    part = film_window(pixels)
    shown = np.ascontiguousarray(pixels[part.slices], np.float32)
    box = letterbox(torch.from_numpy(shown)[None, None])
    seen = estimate_view(weights, box)
    film_seen = seen if seen.view == "frontal" else mirrored_view(weights, box, seen.mirrored)
    if film_seen is not None:
        view = "inverted" if film_seen.inverted else "frontal"
        return PictureView(view, film_seen.frontal, seen.mirrored)
    if seen.view == "lateral":
        return PictureView("lateral", seen.lateral)
    return PictureView("other", seen.lateral + seen.other)


def look_entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Classify the view of an image; `payload` is as for `entry`.

    Returns:
        The attributes of `PictureView`, and "device", "dtype" and "notes" of `serve`.
    """

    def look(net: ThoraxNet, doing: Work) -> dict[str, Any]:
        return asdict(classify_view(_payload_pixels(payload), net))

    return _serve_on_cpu(payload, progress, look)


def entry(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Segment the lungs and the heart; the host calls this in the model process.

    `payload` has "pixels", uint8 or float32 [rows, columns] as displayed, and "model" for `serve`.

    Returns:
        "masks" (name -> uint8 0/1 [rows, columns]), "confidence", "inverted", "view", "warnings",
        "refused" and "spread" as in `ThoraxSegmentation`; "device", "dtype", "notes" of `serve`.

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
            "spread": {"agreement": found.spread.agreement, "ratio": found.spread.ratio}
            if found.spread
            else {},
        }

    return _serve_on_cpu(payload, progress, outline)


def _serve_on_cpu(
    payload: dict[str, Any], progress: Progress, work: Callable[[ThoraxNet, Work], dict[str, Any]]
) -> dict[str, Any]:
    """Run the work on the CPU, which is fastest for a small network with numpy between passes."""
    here = {**payload, "device": "cpu"}
    return serve(here, progress, load=lambda path, _doing: load(path), work=work, exact=True)


def _payload_pixels(payload: dict[str, Any]) -> NDArray[np.float32]:
    pixels: NDArray[Any] = payload["pixels"]
    image = pixels.astype(np.float32)
    return image / np.float32(255) if pixels.dtype == np.uint8 else image
