"""How the embedded network looks at an image: whole, then at the thorax alone, turned a little.

Imported only in the model process, since it imports torch. Images are [n, 1, rows, columns] in
0..1, bright = dense; probabilities of background, right lung, left lung, heart [4, rows, columns].
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
"""Mean Dice of the looks' own masks with the result below which a structure is doubted."""
WIDE_RATIO = 0.05
"""Spread of the cardiothoracic ratio over the looks from which it is doubted."""
_STEP = 2  # every second row and column of the coarse grid is enough


@dataclass(frozen=True, slots=True)
class Spread:
    """How far the looks differ.

    Attributes:
        agreement: Structure -> mean Dice in 0..1 of each look's mask with the result's; only
            structures that were found.
        ratio: Greatest less least cardiothoracic ratio over the looks, or None if not all have one.
        warnings: What of it the user should know.
    """

    agreement: dict[str, float]
    ratio: float | None
    warnings: tuple[str, ...]

    def told(self) -> dict[str, object]:
        """As JSON values."""
        return {"agreement": self.agreement, "ratio": self.ratio}


def spread_of(parts: Sequence[FloatImage], margins: FloatImage) -> Spread:
    """Compares looks with the result.

    Args:
        parts: Class probabilities [4, rows, columns] of each look, on the coarse grid.
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
"""Pixels a side; anything smaller shows no anatomy."""
TURNS = (0.0, 5.0, -5.0)
"""Degrees by which the thorax is turned in the later looks; they differ more where it is hard."""
_MARGIN = 0.12  # of the thorax, kept around it in the later looks
_LATERAL, _OTHER = 0.5, 0.6  # view probabilities from which an image is refused
_FRONTAL, _INVERTED = VIEWS.index("frontal"), VIEWS.index("inverted")
_MIRRORED, _IN_THE_MIRROR = 0.5, 0.4
"""Shares for "shown mirrored" and, seen in the mirror, for "frontal" from which what looks like no
frontal film is taken for one that hangs the wrong way round."""


@dataclass(frozen=True)
class Look:
    """What the network said of a picture.

    Attributes:
        classes: Probabilities of background, right lung, left lung, heart [4, 128, 128].
        views: Of the views [4].
        mirrored: Its share for "this film is shown mirrored", 0..1.
    """

    classes: torch.Tensor
    views: torch.Tensor
    mirrored: float


def letterboxed(image: torch.Tensor) -> torch.Tensor:
    """Returns [1, 1, rows, columns] centred in a black square and scaled to the network's input."""
    rows, columns = image.shape[2:]
    side = max(rows, columns)
    top, left = (side - rows) // 2, (side - columns) // 2
    square = functional.pad(image, (left, side - columns - left, top, side - rows - top))
    return functional.interpolate(
        square, (INPUT_SIZE, INPUT_SIZE), mode="bilinear", antialias=True, align_corners=False
    )


def looks(net: ThoraxNet, batch: torch.Tensor) -> list[Look]:
    """Returns one answer for each of the letterboxed images [n, 1, 256, 256]."""
    x = standardised(batch).contiguous(memory_format=torch.channels_last)
    structure, view, side = net(x)
    told = zip(structure.softmax(1), view.softmax(1), side.sigmoid().tolist(), strict=True)
    return [Look(*answer) for answer in told]


def glances(net: ThoraxNet, batch: torch.Tensor) -> list[tuple[torch.Tensor, float]]:
    """Returns only views [4] and `Look.mirrored` of each letterboxed image [n, 1, 256, 256]."""
    view, side = net.told(standardised(batch).contiguous(memory_format=torch.channels_last))
    return list(zip(view.softmax(1), side.sigmoid().tolist(), strict=True))


@dataclass(frozen=True)
class Glance:
    """What the view head made of a picture and its negative.

    Attributes:
        view: Of the one that looks more like a film.
        inverted: Whether that is the negative.
        frontal: The share for a frontal film shown so.
        lateral: The share for a lateral, of both.
        other: The share for anything else, of both.
        mirrored: `Look.mirrored` of the one that looks more like a film.
    """

    view: View
    inverted: bool
    frontal: float
    lateral: float
    other: float
    mirrored: float


def glance(net: ThoraxNet, box: torch.Tensor) -> Glance:
    """Looks at a letterboxed image [1, 1, 256, 256] and its negative."""
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
    """What a picture that looks like no frontal film is once it is turned, if it is one then.

    The heart on the wrong side makes a film look odd, the more so where it is turned a little too.
    A lateral looks like a lateral from either side.

    Args:
        net: The network.
        box: The letterboxed image [1, 1, 256, 256].
        mirrored: Its own share for "shown mirrored".
    """
    if mirrored < _MIRRORED:
        return None
    seen = glance(net, box.flip(3))
    return seen if seen.view == "frontal" and seen.frontal >= _IN_THE_MIRROR else None


def view_of(views: torch.Tensor) -> View:
    """Returns what the view head's shares [4] mean."""
    lateral = float(views[VIEWS.index("lateral")])
    other = float(views[VIEWS.index("other")])
    if lateral >= _LATERAL:
        return "lateral"
    return "unknown" if lateral + other >= _OTHER else "frontal"


def polarities(upright: torch.Tensor, negative: torch.Tensor) -> tuple[float, float]:
    """Returns the shares for "as shown" and for "inverted" of views [4] seen both ways."""
    as_shown = float(upright[_FRONTAL] + negative[_INVERTED]) / 2
    return as_shown, float(negative[_FRONTAL] + upright[_INVERTED]) / 2


def is_inverted(upright: Look, negative: Look) -> bool:
    """Decides the polarity from the view head, which was shown both.

    And from how sure the masks are.
    """
    as_shown, inverted = polarities(upright.views, negative.views)
    return inverted + _certainty(negative) > as_shown + _certainty(upright)


def _certainty(look: Look) -> float:
    """Returns the mean winning probability over all that was taken for lung or heart."""
    best, which = look.classes.max(dim=0)
    inside = which > 0
    return float(best[inside].mean()) if bool(inside.any()) else 0.0


def turned(images: torch.Tensor, degrees: float, padding: str = "zeros") -> torch.Tensor:
    """Returns square images [n, c, s, s] turned about their middle; the opposite turns back."""
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    theta = torch.tensor([[[cos, -sin, 0.0], [sin, cos, 0.0]]]).expand(len(images), -1, -1)
    grid = functional.affine_grid(theta, list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode=padding, align_corners=False)


def unboxed(classes: torch.Tensor, shape: tuple[int, int], size: tuple[int, int]) -> torch.Tensor:
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


def looked_closer(
    net: ThoraxNet, image: torch.Tensor, first: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Looks again at the thorax alone, upright and turned, and averages with the first look.

    Args:
        net: The network.
        image: [1, 1, rows, columns].
        first: Class probabilities on the coarse grid [4, h, w].

    Returns:
        Probabilities on the same coarse grid, and what each look said by itself.
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
    # The first look counts for less where the chest was small in it.
    share = 0.5 * (max(window.shape) / max(shape)) ** 2
    mean = torch.stack(near).mean(dim=0)
    parts = [first, *(_placed(first, place, part) for part in near)]
    return _placed(first, place, share * _cut(first, place) + (1 - share) * mean), parts


def _cut(classes: torch.Tensor, place: Window) -> torch.Tensor:
    return classes[:, place.top : place.bottom, place.left : place.right]


def _placed(first: torch.Tensor, place: Window, part: torch.Tensor) -> torch.Tensor:
    """Returns the first look with a part of it replaced."""
    whole = first.clone()
    whole[:, place.top : place.bottom, place.left : place.right] = part
    return whole
