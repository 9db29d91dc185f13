"""Clean masks from the chest network's probabilities, and checks of their shapes.

Needs only numpy, scipy and scikit-image, so it can be tested without a network. Arrays are (row,
column); right and left are the patient's, so the right lung is on the viewer's left of a film
displayed the usual way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.morphology import convex_hull_image

from app.tools.chest import ctr_geometry
from app.tools.chest.model_pictures import MIRRORED_NOTE, MIRRORED_SHARE

BoolImage = NDArray[np.bool_]
FloatImage = NDArray[np.float32]

RIGHT_LUNG, LEFT_LUNG, HEART = "Right Lung", "Left Lung", "Heart"

# Shape limits, as fractions of the image's area or of the thorax; set from anatomy, not fitted.
TINY_LUNG = 0.012
SMALL_LUNGS = 0.10
ASYMMETRY = 0.5
HEIGHT_ASYMMETRY = 0.68
_LUNG_SPUR, _HEART_SPUR = 0.006, 0.022  # half-widths of spurs to remove, per long side
_HULL_GAIN = 1.25
_ROUNDING = 0.012  # sigma of the smoothing, as a fraction of the image's long side
_CONTACT = 0.012  # largest gap that counts as contact, as a fraction of the image's long side
_BELOW_DOME = (
    0.1  # largest extent below the contact in the synthetic hearts, per height of the lungs
)
LEAST_LEFT = 0.025
"""Least distance of the heart's centre to the patient's left of the midline, in thoracic widths.

Set on 22 public frontal films without the four of the lung-mask benchmark: 21 lie above it. Of the
same films mirrored, one is refused and 19 of the other 21 lie below it.
"""
LOW_CONFIDENCE = 0.80
REFUSE_CONFIDENCE = 0.60


def label(mask: BoolImage) -> tuple[NDArray[np.int32], int]:
    """Label the 4-connected components of a mask.

    Returns:
        The labels, numbered from 1, with 0 outside the mask; and the number of components.
    """
    return cast("tuple[NDArray[np.int32], int]", ndimage.label(mask))


def largest_component(mask: BoolImage) -> BoolImage:
    """Return the largest component of `mask` with its holes filled; an empty mask stays empty."""
    labels, count = label(mask)
    if count == 0:
        return mask.copy()
    keep = labels == 1 + int(np.argmax(np.bincount(labels.ravel())[1:]))
    return cast("BoolImage", ndimage.binary_fill_holes(keep))


def _open(mask: BoolImage, radius: float) -> BoolImage:
    """Return `mask` without parts narrower than a disc of `radius` pixels."""
    padded = np.pad(mask, 1)
    core = cast("FloatImage", ndimage.distance_transform_edt(padded)) > radius
    if not core.any():
        return np.zeros_like(mask)
    grown = cast("FloatImage", ndimage.distance_transform_edt(~core)) <= radius
    return (grown & padded)[1:-1, 1:-1]


def _last_contact(heart: BoolImage, lung: BoolImage, sign: int) -> tuple[int, int] | None:
    """Return (row, column) of the lowest point of the heart's edge that borders on a lung, or None.

    Args:
        heart: Heart mask.
        lung: Mask of the lung on that side.
        sign: -1 for the viewer's left edge of the heart, 1 for the right.
    """
    gap = max(2, round(_CONTACT * max(heart.shape)))
    for row in np.nonzero(heart.any(axis=1) & lung.any(axis=1))[0][::-1]:
        columns = np.nonzero(heart[row])[0]
        edge = int(columns[-1] if sign > 0 else columns[0])
        near = (
            lung[row, edge + 1 : edge + 1 + gap]
            if sign > 0
            else lung[row, max(0, edge - gap) : edge]
        )
        if near.any():
            return int(row), edge
    return None


def _cut_at_diaphragm(heart: BoolImage, right: BoolImage, left: BoolImage) -> BoolImage:
    """Return the heart cut off by an arc below the lowest point where each lung borders on it.

    The heart rests on the diaphragm; anything below or beside this arc is stomach, spleen or liver.
    """
    contacts = (_last_contact(heart, right, -1), _last_contact(heart, left, 1))
    found = [c for c in contacts if c is not None]
    lung_rows = np.nonzero((right | left).any(axis=1))[0]
    if not found or not heart.any():
        return heart
    bottom = max(row for row, _ in found) + _BELOW_DOME * float(np.ptp(lung_rows))
    middle = float(np.median(np.nonzero(heart)[1]))
    rows = np.arange(heart.shape[0], dtype=np.float32)[:, None]
    columns = np.arange(heart.shape[1], dtype=np.float32)[None, :]
    kept = heart & (rows <= bottom)
    for contact, sign in zip(contacts, (-1, 1), strict=True):
        if contact is not None:
            row, edge = contact
            share = np.clip((rows - row) / max(bottom - row, 1.0), 0, 1)
            reach = abs(edge - middle) * np.sqrt(1 - share**2)
            kept &= (rows <= row) | (sign * (columns - middle) <= reach)
    return largest_component(kept)


def _rounded_heart(heart: BoolImage, lungs: BoolImage) -> BoolImage:
    """Return the heart with dents filled where it does not border on a lung.

    Below the diaphragm a film does not show the heart's edge and the network's outline is ragged.
    The convex hull is a better estimate, unless it would add a large area.
    """
    if not heart.any():
        return heart
    hull = cast("BoolImage", convex_hull_image(heart, offset_coordinates=False))
    rounding = _ROUNDING * max(heart.shape)
    round_hull = cast("FloatImage", ndimage.gaussian_filter(hull.astype(np.float32), rounding))
    whole = largest_component((round_hull > 0.5) & ~lungs)
    return whole if int(whole.sum()) < _HULL_GAIN * int(heart.sum()) else heart


def clean_margins(probabilities: FloatImage) -> FloatImage:
    """Convert class probabilities to margins in which each structure is one compact region.

    Args:
        probabilities: [4, rows, columns], for background, right lung, left lung and heart; they add
            up to 1.

    Returns:
        Margins [3, rows, columns] in -1..1, above 0 inside a structure and smooth across its edge,
        so that they can be enlarged before they are cut at 0. At most one is above 0 at each pixel.
    """
    extent = max(probabilities.shape[1:])
    margins: list[FloatImage] = []
    for i in range(1, len(probabilities)):
        others = np.delete(probabilities, i, axis=0).max(axis=0)
        smooth = ndimage.gaussian_filter(probabilities[i] - others, 0.7)
        margins.append(cast("FloatImage", smooth))
    lungs = [largest_component(_open(m > 0, _LUNG_SPUR * extent)) for m in margins[:2]]
    both = lungs[0] | lungs[1]
    heart = largest_component(_open((margins[2] > 0) & ~both, _HEART_SPUR * extent))
    heart = _cut_at_diaphragm(heart, lungs[0], lungs[1])
    heart = _rounded_heart(heart, both | (margins[0] > 0) | (margins[1] > 0))
    regions = (lungs[0] & ~heart, lungs[1] & ~heart & ~lungs[0], heart & ~both)
    return np.stack([_match_region(m, r) for m, r in zip(margins, regions, strict=True)])


def _match_region(margin: FloatImage, region: BoolImage) -> FloatImage:
    """Return `margin` with its sign changed to agree with `region`, with smooth transitions."""
    soft = cast("FloatImage", ndimage.gaussian_filter(region.astype(np.float32), 1.2)) * 2 - 1
    agrees = (margin > 0) == region
    blend = cast("FloatImage", ndimage.gaussian_filter(agrees.astype(np.float32), 1.0))
    mixed = np.where(agrees, blend * margin + (1 - blend) * soft, soft)
    return np.where(region, np.maximum(mixed, 0.02), np.minimum(mixed, -0.02)).astype(np.float32)


@dataclass(frozen=True)
class ShapeCheck:
    """The result of checking the masks' shapes.

    Attributes:
        refused: The reason why the masks cannot belong to a frontal chest film, or None.
        warnings: Sentences on what makes the masks less reliable.
    """

    refused: str | None
    warnings: tuple[str, ...]


def _span(mask: BoolImage, axis: int) -> tuple[int, int]:
    """Return the first and last index of `mask` along rows (axis 0) or columns (axis 1)."""
    hit = np.nonzero(mask.any(axis=1 - axis))[0]
    return (int(hit[0]), int(hit[-1])) if len(hit) else (0, -1)


def _centre(mask: BoolImage, axis: int) -> float:
    return float(np.nonzero(mask)[axis].mean()) if mask.any() else float("nan")


def check_shapes(
    masks: Mapping[str, BoolImage], confidence: Mapping[str, float], mirrored: float = 0.0
) -> ShapeCheck:
    """Check the shapes of masks on a grid without padding.

    Args:
        masks: RIGHT_LUNG, LEFT_LUNG and HEART -> mask, all with the same shape.
        confidence: The same names -> confidence, 0..1.
        mirrored: Probability that the film is shown mirrored, 0..1.
    """
    side = (MIRRORED_NOTE,) if mirrored >= MIRRORED_SHARE else ()
    right, left, heart = masks[RIGHT_LUNG], masks[LEFT_LUNG], masks[HEART]
    areas = [float(m.mean()) for m in (right, left)]
    sure = max(confidence[RIGHT_LUNG], confidence[LEFT_LUNG])
    if max(areas) < 2 * TINY_LUNG:
        return ShapeCheck("no lung was found: this does not look like a frontal chest film", ())
    if sure < REFUSE_CONFIDENCE:
        return ShapeCheck(f"the lungs were found with a confidence of only {sure:.2f}", ())
    missing = [
        n for n, area in zip((RIGHT_LUNG, LEFT_LUNG), areas, strict=True) if area < TINY_LUNG
    ]
    if missing:
        note = (
            f"the {missing[0].lower()} was not found: white-out, large effusion, absent or cut off"
        )
        return ShapeCheck(None, (note, *side))
    problem = _position_problem(right, left)
    return (
        ShapeCheck(problem, ())
        if problem
        else ShapeCheck(
            None,
            side + _shape_warnings(right, left, heart, confidence, mirrored_reported=bool(side)),
        )
    )


def _position_problem(right: BoolImage, left: BoolImage) -> str | None:
    """Return why the two lungs cannot lie side by side in a frontal film, or None if they can."""
    if _centre(right, 1) >= _centre(left, 1):
        return "the lungs lie the wrong way round: no frontal film hung the usual way"
    r_top, r_base = _span(right, 0)
    l_top, l_base = _span(left, 0)
    shared = min(r_base, l_base) - max(r_top, l_top)
    if shared < 0.3 * min(r_base - r_top, l_base - l_top):
        return "the lungs do not lie side by side: not a frontal chest film"
    width = _span(left, 1)[1] - _span(right, 1)[0]
    height = max(r_base, l_base) - min(r_top, l_top)
    if not 0.45 < height / max(width, 1) < 2.0:
        return "the lungs together have no chest's proportions: not a frontal chest film"
    return None


def _shape_warnings(
    right: BoolImage,
    left: BoolImage,
    heart: BoolImage,
    confidence: Mapping[str, float],
    *,
    mirrored_reported: bool,
) -> tuple[str, ...]:
    """Return warnings on the masks' shapes; skip that of a mirrored film if `mirrored_reported`."""
    notes: list[str] = []
    areas = np.array([right.sum(), left.sum()], float)
    heights = np.array([b - a for a, b in (_span(right, 0), _span(left, 0))], float)
    names = (RIGHT_LUNG.lower(), LEFT_LUNG.lower())
    if areas.min() < ASYMMETRY * areas.max() or heights.min() < HEIGHT_ASYMMETRY * heights.max():
        small = names[int(np.argmin(areas / areas.max() + heights / heights.max()))]
        notes.append(
            f"the {small} is much smaller than the other: effusion, collapse or a wrong mask"
        )
    if areas.sum() / right.size < SMALL_LUNGS:
        notes.append("the lungs are small in the image: opacified, poorly inspired or a wrong mask")
    if not heart.any():
        notes.append("the heart was not found")
    elif not mirrored_reported and not _heart_is_left(right, left, heart):
        notes.append(
            "the heart does not lie to the patient's left: a mirrored image, rotation, shift or "
            "dextrocardia. Left and right rest on how the image hangs: compare its side marker"
        )
    cut = [n for n, m in zip(names, (right, left), strict=True) if _touches_border(m)]
    if cut:
        notes.append(f"the {' and the '.join(cut)} reaches the image border and may be cut off")
    notes += [
        f"low confidence for the {name.lower()} ({confidence[name]:.2f})"
        for name in (RIGHT_LUNG, LEFT_LUNG, HEART)
        if 0 < confidence[name] < LOW_CONFIDENCE
    ]
    return tuple(notes)


def _heart_is_left(right: BoolImage, left: BoolImage, heart: BoolImage) -> bool:
    thorax = ctr_geometry.thoracic_width(right, left)
    if thorax is None or thorax.length <= 0:
        return True
    offset = _centre(heart, 1) - ctr_geometry.midline(right, left, thorax)
    return offset >= LEAST_LEFT * thorax.length


def _touches_border(mask: BoolImage) -> bool:
    """Return True if more than 3% of the mask's rows or columns end at the image border."""
    sides = (mask[0], mask[-1], mask[:, 0], mask[:, -1])
    return max(int(s.sum()) for s in sides) > 0.03 * max(mask.shape)
