"""Makes masks from the chest network's probabilities, checks their shapes, and crops images.

Needs only numpy, scipy and scikit-image, so it can be tested without a network. Arrays are (row,
column); right and left are the patient's, so the right lung is on the viewer's left of a film
displayed the usual way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from skimage.morphology import convex_hull_image

from app.tools.chest import ctr_geometry
from app.tools.chest.ctr_geometry import HEART, LEFT_LUNG, RIGHT_LUNG, BoolImage
from app.tools.chest.model_pictures import MIRRORED_NOTE, MIRRORED_SHARE

FloatImage = NDArray[np.float32]

# Shape limits, as fractions of the image's area or of the thorax; set from anatomy, not fitted.
TINY_LUNG = 0.012
SMALL_LUNGS = 0.10
ASYMMETRY = 0.5
HEIGHT_ASYMMETRY = 0.68
_LUNG_SPUR, _HEART_SPUR = 0.006, 0.022  # half-widths of spurs to remove, per long side
_HULL_GAIN = 1.25
_ROUNDING = 0.012  # sigma of the smoothing, as a fraction of the image's long side
_CONTACT = 0.012  # largest gap that counts as contact, as a fraction of the image's long side
# Largest extent below the contact in the synthetic hearts, per height of the lungs.
_BELOW_DOME = 0.1
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
    """Return the largest connected region of a mask, with holes filled; empty for an empty mask."""
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

    `sign` is -1 for the viewer's left edge of the heart, 1 for the right.
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
        Margins [3, rows, columns] in -1..1: roughly each structure's probability minus the largest
        other one. They are above 0 inside a structure (at most one at each pixel) and smooth across
        its edge, so that `enlarge_masks` can enlarge them before it compares them with 0.
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
    """Check if masks have the shapes and positions of lungs and a heart on a frontal film.

    Args:
        masks: RIGHT_LUNG, LEFT_LUNG and HEART -> mask, all with the same shape, without padding.
        confidence: The same names -> mean probability inside the mask, 0..1.
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
    if problem:
        return ShapeCheck(problem, ())
    notes = _shape_warnings(right, left, heart, confidence, mirrored_reported=bool(side))
    return ShapeCheck(None, side + notes)


def _position_problem(right: BoolImage, left: BoolImage) -> str | None:
    """Return why the two lungs cannot lie side by side in a frontal film, or None if they can."""
    if _centre(right, 1) >= _centre(left, 1):
        return "the lungs are on the wrong sides: not a frontal film displayed the usual way"
    r_top, r_base = _span(right, 0)
    l_top, l_base = _span(left, 0)
    shared = min(r_base, l_base) - max(r_top, l_top)
    if shared < 0.3 * min(r_base - r_top, l_base - l_top):
        return "the lungs do not lie side by side: not a frontal chest film"
    width = _span(left, 1)[1] - _span(right, 1)[0]
    height = max(r_base, l_base) - min(r_top, l_top)
    if not 0.45 < height / max(width, 1) < 2.0:
        return "the lungs together do not have a chest's proportions: not a frontal chest film"
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
            "dextrocardia. Left and right are those displayed: check its side marker"
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


_EDGE = 2  # least margin around masks in coarse pixels, for their smooth edges
_ONE_GREY = 0.03  # largest range of values in a border's row or column, due to JPEG noise
_LEAST_FILM = 0.2  # least side of the part to keep, as a fraction of the image's long side
_COARSE = 384  # pixels of the working grid's long side


@dataclass(frozen=True)
class Window:
    """A rectangle in pixels: `bottom` and `right` are the first row and column beyond it."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def shape(self) -> tuple[int, int]:
        """The window's size as (rows, columns)."""
        return self.bottom - self.top, self.right - self.left

    @property
    def slices(self) -> tuple[slice, slice]:
        """The window's rows and columns, to index an array."""
        return slice(self.top, self.bottom), slice(self.left, self.right)

    def on_grid(self, shape: tuple[int, int], grid: tuple[int, int]) -> Window:
        """Return this window in cells of a coarser or finer grid over the same image.

        `shape` is the image's (rows, columns), `grid` those of the grid.
        """
        rows, columns = grid[0] / shape[0], grid[1] / shape[1]
        return Window(
            round(self.top * rows),
            round(self.bottom * rows),
            round(self.left * columns),
            round(self.right * columns),
        )


def film_window(pixels: FloatImage) -> Window:
    """Return the window of an image [rows, columns] without its uniform borders, such as padding.

    If it is narrower than 20 % of the image's longer side, the whole image's window is returned.
    """
    rows, columns = (np.nonzero(np.ptp(pixels, axis=axis) > _ONE_GREY)[0] for axis in (1, 0))
    whole = Window(0, pixels.shape[0], 0, pixels.shape[1])
    if len(rows) == 0 or len(columns) == 0:
        return whole
    part = Window(int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1)
    return part if min(part.shape) >= _LEAST_FILM * max(pixels.shape) else whole


def coarse_shape(shape: tuple[int, int]) -> tuple[int, int]:
    """Return the (rows, columns) of the grid on which masks are computed for an image of `shape`.

    The grid has the image's aspect ratio and at most 384 pixels a side.
    """
    scale = min(1.0, _COARSE / max(shape))
    return max(1, round(shape[0] * scale)), max(1, round(shape[1] * scale))


def window_around(
    masks: Sequence[BoolImage], shape: tuple[int, int], margin: float
) -> Window | None:
    """Return a window around the union of masks, in pixels of the image; None if all are empty.

    Args:
        masks: Masks on a common grid, which may be coarser than the image.
        shape: (rows, columns) of the image.
        margin: Margin on each side, as a fraction of the longer side of the union.
    """
    rows, columns = np.nonzero(np.logical_or.reduce(masks))
    if len(rows) == 0:
        return None
    scale = np.array(shape) / np.array(masks[0].shape)
    low = np.array([rows.min() - _EDGE, columns.min() - _EDGE]) * scale
    high = np.array([rows.max() + 1 + _EDGE, columns.max() + 1 + _EDGE]) * scale
    margin *= float((high - low).max())
    low, high = np.maximum(low - margin, 0), np.minimum(high + margin, shape)
    return Window(int(low[0]), int(high[0]), int(low[1]), int(high[1]))


def enlarge_masks(margins: FloatImage, shape: tuple[int, int]) -> list[BoolImage]:
    """Return masks of `shape`, without overlaps, from the margins that `clean_margins` returns.

    The margins are enlarged first; then each mask is where its margin is above 0, which gives
    smooth edges. Only the part around each structure is enlarged, to save time on a large film.
    """
    taken = np.zeros(shape, np.bool_)
    masks: list[BoolImage] = []
    for margin in margins:
        mask = np.zeros(shape, np.bool_)
        window = window_around([margin > 0], shape, 0.0)
        if window is not None:
            inside = _sample(margin, shape, window) > 0
            mask[window.slices] = inside & ~taken[window.slices]
            taken |= mask
        masks.append(mask)
    return masks


def _sample(margin: FloatImage, shape: tuple[int, int], window: Window) -> NDArray[np.float32]:
    """Return `margin`, a coarse map of an image of `shape`, at the window's pixels (bilinear)."""
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
