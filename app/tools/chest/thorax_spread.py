"""How far several looks of the network at the same film differ: a plain measure of doubt.

Numpy, scipy only. The looks see the whole film, the thorax alone, and the thorax turned a little;
on an easy film they agree. Not calibrated: agreement is no probability of being right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.tools.chest import ctr
from app.tools.chest.thorax_masks import HEART, LEFT_LUNG, RIGHT_LUNG, BoolImage, FloatImage
from app.tools.chest.thorax_masks import largest as largest_part

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
        found = ctr.measure(masks)
        if found.ratio is None:
            return None
        ratios.append(found.ratio)
    return round(max(ratios) - min(ratios), 4) if len(ratios) > 1 else None
