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
from app.tools.chest.thorax_arch import INPUT_SIZE, VIEWS, ThoraxNet, standardised
from app.tools.chest.thorax_masks import (
    HEART,
    LEFT_LUNG,
    RIGHT_LUNG,
    BoolImage,
    FloatImage,
    cleaned,
)
from app.tools.chest.thorax_masks import largest as largest_part
from app.tools.chest.thorax_windows import Window, around

NAMES = (RIGHT_LUNG, LEFT_LUNG, HEART)
LOW_AGREEMENT = 0.85
"""A structure whose mean Dice coefficient over the passes is lower gets a warning."""
WIDE_RATIO = 0.05
"""A cardiothoracic ratio that varies more over the passes gets a warning."""
_STEP = 2  # use every second row and column of the coarse grid, for speed


@dataclass(frozen=True, slots=True)
class Spread:
    """The variation of the results over the network's passes.

    Attributes:
        agreement: Structure -> mean Dice coefficient, 0..1, of each pass's mask with the result's;
            only structures that were found.
        ratio: Range (maximum - minimum) of the cardiothoracic ratio over the passes; None if a pass
            has no ratio or there is only one pass.
        warnings: Sentences for the user.
    """

    agreement: dict[str, float]
    ratio: float | None
    warnings: tuple[str, ...]

    def told(self) -> dict[str, object]:
        """Return agreement and ratio as JSON values."""
        return {"agreement": self.agreement, "ratio": self.ratio}


def spread_of(parts: Sequence[FloatImage], margins: FloatImage) -> Spread:
    """Compare the network's passes with the result.

    Args:
        parts: Class probabilities [4, rows, columns] of each pass, on the coarse grid.
        margins: The result's margins [3, rows, columns] on the same grid, above 0 inside.
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
        f"outlined again on the film cut and turned a little, the {name.lower()} comes out "
        f"differently (agreement {agreement[name]:.2f})"
        for name in agreement
        if agreement[name] < LOW_AGREEMENT
    ]
    if ratio is not None and ratio > WIDE_RATIO:
        notes.append(
            f"measured again on the film cut and turned a little, the cardiothoracic ratio varies "
            f"by {ratio:.2f}"
        )
    return Spread(agreement, ratio, tuple(notes))


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
TURNS = (0.0, 5.0, -5.0)
"""Rotations of the thorax in degrees for the later passes; difficult films vary more under them."""
_MARGIN = 0.12  # around the thorax in the later passes, as a fraction of its extent
_LATERAL, _OTHER = 0.5, 0.6  # least view probabilities for refusing an image
_FRONTAL, _INVERTED = VIEWS.index("frontal"), VIEWS.index("inverted")
_MIRRORED, _IN_THE_MIRROR = 0.5, 0.4
"""A film that does not look frontal counts as mirrored if the network's probability for "mirrored"
reaches the first value, and that for "frontal" of its mirror image the second.
"""


@dataclass(frozen=True)
class Look:
    """The network's output for one image.

    Attributes:
        classes: Probabilities of background, right lung, left lung, heart [4, 128, 128].
        views: Probabilities of the views [4].
        mirrored: Probability that the film is shown mirrored, 0..1.
    """

    classes: torch.Tensor
    views: torch.Tensor
    mirrored: float


def letterboxed(image: torch.Tensor) -> torch.Tensor:
    """Return [1, 1, rows, columns] centred in a black square, scaled to [1, 1, 256, 256]."""
    rows, columns = image.shape[2:]
    side = max(rows, columns)
    top, left = (side - rows) // 2, (side - columns) // 2
    square = functional.pad(image, (left, side - columns - left, top, side - rows - top))
    return functional.interpolate(
        square, (INPUT_SIZE, INPUT_SIZE), mode="bilinear", antialias=True, align_corners=False
    )


def looks(net: ThoraxNet, batch: torch.Tensor) -> list[Look]:
    """Return the network's output for each of the letterboxed images [n, 1, 256, 256]."""
    x = standardised(batch).contiguous(memory_format=torch.channels_last)
    structure, view, side = net(x)
    told = zip(structure.softmax(1), view.softmax(1), side.sigmoid().tolist(), strict=True)
    return [Look(*answer) for answer in told]


def glances(net: ThoraxNet, batch: torch.Tensor) -> list[tuple[torch.Tensor, float]]:
    """Return views [4] and `Look.mirrored` for each of the letterboxed images [n, 1, 256, 256]."""
    view, side = net.told(standardised(batch).contiguous(memory_format=torch.channels_last))
    return list(zip(view.softmax(1), side.sigmoid().tolist(), strict=True))


@dataclass(frozen=True)
class Glance:
    """The view classifier's result for an image and its negative.

    Attributes:
        view: View of whichever looks more like a film.
        inverted: True if this is the negative.
        frontal: Probability of a frontal film with these grey levels.
        lateral: Mean probability of a lateral film.
        other: Mean probability of any other picture.
        mirrored: `Look.mirrored` of whichever looks more like a film.
    """

    view: View
    inverted: bool
    frontal: float
    lateral: float
    other: float
    mirrored: float


def glance(net: ThoraxNet, box: torch.Tensor) -> Glance:
    """Classify the view of a letterboxed image [1, 1, 256, 256] and its negative."""
    (upright, side), (negative, negative_side) = glances(net, torch.cat([box, 1 - box]))
    as_shown, inverted = polarities(upright, negative)
    is_negative = inverted > as_shown
    both = (upright + negative) / 2
    return Glance(
        view_of(negative if is_negative else upright),
        is_negative,
        max(as_shown, inverted),
        float(both[VIEWS.index("lateral")]),
        float(both[VIEWS.index("other")]),
        negative_side if is_negative else side,
    )


def in_the_mirror(net: ThoraxNet, box: torch.Tensor, mirrored: float) -> Glance | None:
    """Return the view of the mirrored image if only mirroring makes it a frontal film, else None.

    The heart on the wrong side makes a frontal film look unusual, even more if it is rotated. A
    lateral film looks lateral from either side.

    Args:
        net: The network.
        box: The letterboxed image [1, 1, 256, 256].
        mirrored: The image's own probability of being mirrored, 0..1.
    """
    if mirrored < _MIRRORED:
        return None
    seen = glance(net, box.flip(3))
    return seen if seen.view == "frontal" and seen.frontal >= _IN_THE_MIRROR else None


def view_of(views: torch.Tensor) -> View:
    """Return the view for the view classifier's probabilities [4]."""
    lateral = float(views[VIEWS.index("lateral")])
    other = float(views[VIEWS.index("other")])
    if lateral >= _LATERAL:
        return "lateral"
    return "unknown" if lateral + other >= _OTHER else "frontal"


def polarities(upright: torch.Tensor, negative: torch.Tensor) -> tuple[float, float]:
    """Return the probabilities of "as shown" and "inverted" from the views [4] of both images."""
    as_shown = float(upright[_FRONTAL] + negative[_INVERTED]) / 2
    return as_shown, float(negative[_FRONTAL] + upright[_INVERTED]) / 2


def is_inverted(upright: Look, negative: Look) -> bool:
    """Return True if the negative is the right polarity, by the views and the masks' certainty."""
    as_shown, inverted = polarities(upright.views, negative.views)
    return inverted + _certainty(negative) > as_shown + _certainty(upright)


def _certainty(look: Look) -> float:
    """Return the mean probability of the winning class over lungs and heart.

    0 if none was found.
    """
    best, which = look.classes.max(dim=0)
    inside = which > 0
    return float(best[inside].mean()) if bool(inside.any()) else 0.0


def turned(images: torch.Tensor, degrees: float, padding: str = "zeros") -> torch.Tensor:
    """Return square images [n, c, s, s] rotated about their centre by degrees."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    theta = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]]).expand(len(images), -1, -1)
    grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode=padding, align_corners=False)


def unboxed(classes: torch.Tensor, shape: tuple[int, int], size: tuple[int, int]) -> torch.Tensor:
    """Return [c, 128, 128] without the letterbox of an image of `shape`, resampled to `size`."""
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


def looked_closer(
    net: ThoraxNet, image: torch.Tensor, first: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Repeat the segmentation on the thorax alone, upright and rotated, and average with the first.

    Args:
        net: The network.
        image: [1, 1, rows, columns].
        first: Class probabilities of the first pass on the coarse grid [4, h, w].

    Returns:
        Averaged probabilities on the same coarse grid, and those of each single pass.
    """
    shape = (image.shape[2], image.shape[3])
    window = around([margin > 0 for margin in cleaned(first.numpy())], shape, _MARGIN)
    if window is None or min(window.shape) < SMALLEST:
        return first, [first]
    box = letterboxed(image[:, :, window.top : window.bottom, window.left : window.right])
    batch = torch.cat([turned(box, degrees) if degrees else box for degrees in TURNS])
    place = window.on(shape, (first.shape[1], first.shape[2]))
    near: list[torch.Tensor] = []
    for look, degrees in zip(looks(net, batch), TURNS, strict=True):
        classes = turned(look.classes[None], -degrees, "border")[0] if degrees else look.classes
        near.append(unboxed(classes, window.shape, place.shape))
    # The first pass has less weight if the thorax was small in it.
    share = 0.5 * (max(window.shape) / max(shape)) ** 2
    mean = torch.stack(near).mean(dim=0)
    parts = [first, *(_placed(first, place, part) for part in near)]
    return _placed(first, place, share * _cut(first, place) + (1 - share) * mean), parts


def _cut(classes: torch.Tensor, place: Window) -> torch.Tensor:
    return classes[:, place.top : place.bottom, place.left : place.right]


def _placed(first: torch.Tensor, place: Window, part: torch.Tensor) -> torch.Tensor:
    """Return the first pass's probabilities with a window replaced by `part`."""
    whole = first.clone()
    whole[:, place.top : place.bottom, place.left : place.right] = part
    return whole
