"""Inference with the embedded chest network: on the whole image, then on the rotated thorax.

Imported only in the model process, since it imports torch. Images are [n, 1, rows, columns] in
0..1, bright = dense; probabilities are [4, rows, columns]: background, right lung, left lung,
heart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch.nn import functional

from app.tools.chest import ctr_geometry
from app.tools.chest.thorax_arch import INPUT_SIZE, VIEWS, ThoraxNet, standardise
from app.tools.chest.thorax_masks import (
    HEART,
    LEFT_LUNG,
    RIGHT_LUNG,
    BoolImage,
    FloatImage,
    clean_margins,
)
from app.tools.chest.thorax_masks import largest_component as largest_part
from app.tools.chest.thorax_windows import Window, window_around

NAMES = (RIGHT_LUNG, LEFT_LUNG, HEART)
LOW_AGREEMENT = 0.85
"""A structure whose mean Dice coefficient over the passes is lower gets a warning."""
WIDE_RATIO = 0.05
"""A cardiothoracic ratio that varies more over the passes gets a warning."""
_STEP = 2  # use every second row and column of the coarse grid, for speed


@dataclass(frozen=True, slots=True)
class PassVariation:
    """How much the results vary over the network's passes.

    Attributes:
        agreement: Structure -> Dice coefficient (0..1) between the mask from a pass and the result,
            averaged over the passes; only structures that were found.
        ratio: Range (maximum - minimum) of the cardiothoracic ratio over the passes; None if a pass
            has no ratio or there is only one pass.
        warnings: Sentences for the user.
    """

    agreement: dict[str, float]
    ratio: float | None
    warnings: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """Return the agreement and the ratio as JSON values."""
        return {"agreement": self.agreement, "ratio": self.ratio}


def pass_variation(parts: Sequence[FloatImage], margins: FloatImage) -> PassVariation:
    """Compare the network's passes with the result.

    Args:
        parts: The class probabilities [4, rows, columns] from each pass, on the coarse grid.
        margins: The result's margins [3, rows, columns] on the same grid; a margin is above 0
            inside its structure.
    """
    result = [margin[::_STEP, ::_STEP] > 0 for margin in margins]
    winners = [part[:, ::_STEP, ::_STEP].argmax(axis=0) for part in parts]
    agreement = {
        name: round(float(np.mean([_dice(w == i, mask) for w in winners])), 4)
        for i, (name, mask) in enumerate(zip(NAMES, result, strict=True), start=1)
        if mask.any()
    }
    ratio = _ratio_spread(winners)
    notes = [
        f"on cropped and slightly rotated copies of the film, the {name.lower()} comes out "
        f"differently (agreement {agreement[name]:.2f})"
        for name in agreement
        if agreement[name] < LOW_AGREEMENT
    ]
    if ratio is not None and ratio > WIDE_RATIO:
        notes.append(
            f"on cropped and slightly rotated copies of the film, the cardiothoracic ratio varies "
            f"by {ratio:.2f}"
        )
    return PassVariation(agreement, ratio, tuple(notes))


def _dice(one: BoolImage, other: BoolImage) -> float:
    total = int(one.sum()) + int(other.sum())
    return 2 * int((one & other).sum()) / total if total else 1.0


def _ratio_spread(winners: Sequence[BoolImage]) -> float | None:
    ratios: list[float] = []
    for winner in winners:
        masks = {name: largest_part(winner == i) for i, name in enumerate(NAMES, start=1)}
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
        views: Probabilities [4] of the views.
        mirrored: Probability that the film is shown mirrored, 0..1.
    """

    classes: torch.Tensor
    views: torch.Tensor
    mirrored: float


def letterbox(image: torch.Tensor) -> torch.Tensor:
    """Return an image [1, 1, rows, columns] in a black square, scaled to [1, 1, 256, 256]."""
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
    """The view classifier's result, from an image and its negative.

    Attributes:
        view: The view shown by the image or its negative, whichever looks more like a film.
        inverted: True if the negative looks more like a film.
        frontal: Probability of a frontal film with those grey levels.
        lateral: Probability of a lateral film, averaged over the image and its negative.
        other: Probability of any other picture, averaged over the image and its negative.
        mirrored: `NetworkOutput.mirrored` of the image or its negative, whichever looks more like a
            film.
    """

    view: View
    inverted: bool
    frontal: float
    lateral: float
    other: float
    mirrored: float


def estimate_view(net: ThoraxNet, box: torch.Tensor) -> ViewEstimate:
    """Classify the view of a letterboxed image [1, 1, 256, 256] and its negative."""
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
    """Return the view of the mirrored image if it looks frontal only when mirrored, else None.

    The heart on the wrong side makes a frontal film look unusual, even more if it is rotated. A
    lateral film looks lateral from either side.

    Args:
        net: The network.
        box: The letterboxed image [1, 1, 256, 256].
        mirrored: The probability, 0..1, that the image itself is mirrored.
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
    """Return the probabilities of "as shown" and "inverted".

    Args:
        upright: View probabilities [4] of the image as shown.
        negative: View probabilities [4] of its negative.
    """
    as_shown = float(upright[_FRONTAL] + negative[_INVERTED]) / 2
    return as_shown, float(negative[_FRONTAL] + upright[_INVERTED]) / 2


def is_inverted(upright: NetworkOutput, negative: NetworkOutput) -> bool:
    """Return True if the negative, not the image as shown, has the correct grey levels.

    The views and the certainty of the masks decide.
    """
    as_shown, inverted = polarity_probabilities(upright.views, negative.views)
    return inverted + _certainty(negative) > as_shown + _certainty(upright)


def _certainty(output: NetworkOutput) -> float:
    """Return the mean probability of the winning class over lungs and heart.

    0 if none was found.
    """
    best, which = output.classes.max(dim=0)
    inside = which > 0
    return float(best[inside].mean()) if bool(inside.any()) else 0.0


def rotate(images: torch.Tensor, degrees: float, padding: str = "zeros") -> torch.Tensor:
    """Return square images [n, c, s, s] rotated about their centre by `degrees`."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    theta = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]]).expand(len(images), -1, -1)
    grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode=padding, align_corners=False)


def remove_letterbox(
    classes: torch.Tensor, shape: tuple[int, int], size: tuple[int, int]
) -> torch.Tensor:
    """Remove the letterbox of an image from maps [c, 128, 128], and resample the rest.

    Args:
        classes: The maps.
        shape: (rows, columns) of the image.
        size: (rows, columns) of the result.
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
    """Repeat the segmentation on the thorax alone, upright and rotated, and average with the first.

    Args:
        net: The network.
        image: [1, 1, rows, columns].
        first: Class probabilities [4, h, w] from the first pass, on the coarse grid.

    Returns:
        The averaged probabilities, and the probabilities from each pass, all on the same grid.
    """
    shape = (image.shape[2], image.shape[3])
    window = window_around([margin > 0 for margin in clean_margins(first.numpy())], shape, _MARGIN)
    if window is None or min(window.shape) < SMALLEST:
        return first, [first]
    box = letterbox(image[:, :, window.top : window.bottom, window.left : window.right])
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
    return _with_part(first, place, share * _window_part(first, place) + (1 - share) * mean), parts


def _window_part(classes: torch.Tensor, place: Window) -> torch.Tensor:
    return classes[:, place.top : place.bottom, place.left : place.right]


def _with_part(first: torch.Tensor, place: Window, part: torch.Tensor) -> torch.Tensor:
    """Return the first pass's probabilities with a window replaced by `part`."""
    whole = first.clone()
    whole[:, place.top : place.bottom, place.left : place.right] = part
    return whole
