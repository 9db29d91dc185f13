"""The cardiothoracic ratio from masks of the lungs and the heart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolImage: TypeAlias = NDArray[np.bool_]
Point: TypeAlias = tuple[float, float]
Position: TypeAlias = Literal["PA", "AP", "lateral", "unknown"]

RIGHT_LUNG, LEFT_LUNG, HEART = "Right Lung", "Left Lung", "Heart"

LOW_CONFIDENCE = 0.80
"""Mean probability inside the heart's mask below which the width is doubted."""
REFUSE_CONFIDENCE = 0.60
PLAUSIBLE = (0.30, 0.75)
"""Range of credible ratios; outside it faulty masks are more likely than such a heart."""
ROTATION = 0.08
"""Distance of the midline from the thorax's centre, in thoracic widths, that suggests rotation."""
BASE_STEP = 0.22
"""Difference of the two lung bases, in lung heights, that suggests fluid or collapse."""
BORDER_GAP = 0.05
"""Gap between the heart's edge and lung, in thoracic widths, that suggests a hidden border."""


@dataclass(frozen=True)
class Line:
    """A horizontal line between two points (x, y) in pixels, from the viewer's left to right."""

    start: Point
    end: Point

    @property
    def length(self) -> float:
        """The length in columns (pixels)."""
        return self.end[0] - self.start[0]


@dataclass(frozen=True)
class CardiothoracicRatio:
    """The measured ratio, or the reason that there is none.

    Attributes:
        ratio: Width of the heart divided by width of the thorax, or None if refused.
        heart: The heart's full width, at a height midway between its leftmost and rightmost points.
        thorax: The inner width of the thorax in the row where it is largest.
        heart_mm: Width of the heart in mm; None if no column spacing was given.
        thorax_mm: Width of the thorax in mm; None if no column spacing was given.
        warnings: Reasons that make the ratio less reliable.
        refused: The reason that there is no ratio, or None.
    """

    ratio: float | None = None
    heart: Line | None = None
    thorax: Line | None = None
    heart_mm: float | None = None
    thorax_mm: float | None = None
    warnings: tuple[str, ...] = ()
    refused: str | None = None


def _edges(mask: BoolImage) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows that contain `mask`, and the x of its left and right outer edges there."""
    rows = np.nonzero(mask.any(axis=1))[0]
    left = np.argmax(mask[rows], axis=1) - 0.5
    right = mask.shape[1] - 1 - np.argmax(mask[rows, ::-1], axis=1) + 0.5
    return rows, left, right


def thoracic_width(right_lung: BoolImage, left_lung: BoolImage) -> Line | None:
    """Return the longest row from one lung's outer edge to the other's; None if no row has both."""
    r_rows, outer_right, _ = _edges(right_lung)
    l_rows, _, outer_left = _edges(left_lung)
    rows, r_at, l_at = np.intersect1d(r_rows, l_rows, return_indices=True)
    if len(rows) == 0:
        return None
    widths = outer_left[l_at] - outer_right[r_at]
    best = np.nonzero(widths == widths.max())[0]
    k = best[len(best) // 2]  # the middle one of equally wide rows
    y = float(rows[k])
    return Line((float(outer_right[r_at][k]), y), (float(outer_left[l_at][k]), y))


def midline(right_lung: BoolImage, left_lung: BoolImage, thorax: Line) -> float:
    """Return the x coordinate, in pixels, of the line midway between the lungs' inner edges.

    Only the upper third of the rows that contain both lungs is used, because further down the heart
    pushes the edges aside. If no row contains both lungs, the middle of `thorax` is returned.
    """
    r_rows, _, inner_right = _edges(right_lung)
    l_rows, inner_left, _ = _edges(left_lung)
    rows, r_at, l_at = np.intersect1d(r_rows, l_rows, return_indices=True)
    upper = slice(0, max(1, len(rows) // 3))
    middle = (inner_right[r_at][upper] + inner_left[l_at][upper]) / 2
    return float(np.median(middle)) if len(rows) else (thorax.start[0] + thorax.end[0]) / 2


def _heart_lines(heart: BoolImage, middle: float) -> tuple[Line, tuple[Line, Line]]:
    rows, left, right = _edges(heart)
    leftmost, rightmost = float(left.min()), float(right.max())
    y_left = float(np.median(rows[left == left.min()]))
    y_right = float(np.median(rows[right == right.max()]))
    y = (y_left + y_right) / 2
    middle = min(max(middle, leftmost), rightmost)
    halves = (
        Line((leftmost, y_left), (middle, y_left)),
        Line((middle, y_right), (rightmost, y_right)),
    )
    return Line((leftmost, y), (rightmost, y)), halves


def _refusal(
    masks: Mapping[str, BoolImage], confidence: Mapping[str, float], position: Position
) -> str | None:
    if position == "lateral":
        return "a lateral view has no cardiothoracic ratio"
    absent = [n for n in (RIGHT_LUNG, LEFT_LUNG, HEART) if n not in masks or not masks[n].any()]
    if absent:
        return f"not found in the image: {', '.join(n.lower() for n in absent)}"
    if len({masks[n].shape for n in (RIGHT_LUNG, LEFT_LUNG, HEART)}) != 1:
        raise ValueError("the masks differ in shape")
    if confidence.get(HEART, 1.0) < REFUSE_CONFIDENCE:
        return f"the heart's outline is too uncertain (confidence {confidence[HEART]:.2f})"
    return None


def _border_hidden(lung: BoolImage, x: float, y: float, outwards: int, reach: float) -> bool:
    """Return True if no lung lies within `reach` columns beyond the heart's edge (x, y)."""
    near = round(x + outwards * 0.5)
    far = near + outwards * max(1, round(reach))
    low, high = sorted((near, far))
    row = lung[min(max(round(y), 0), lung.shape[0] - 1)]
    return not bool(row[max(low, 0) : high + 1].any())


def _shape_warnings(
    masks: Mapping[str, BoolImage], thorax: Line, halves: tuple[Line, Line], middle: float
) -> list[str]:
    notes: list[str] = []
    right, left = masks[RIGHT_LUNG], masks[LEFT_LUNG]
    centre = (thorax.start[0] + thorax.end[0]) / 2
    if abs(middle - centre) > ROTATION * thorax.length:
        notes.append("the midline is off centre: the patient may be rotated")
    rows = [np.nonzero(m.any(axis=1))[0] for m in (right, left)]
    height = max(r[-1] for r in rows) - min(r[0] for r in rows)
    if abs(int(rows[0][-1]) - int(rows[1][-1])) > BASE_STEP * height:
        notes.append("the lung bases differ in height: an effusion may hide the heart's border")
    reach = BORDER_GAP * thorax.length
    r_half, l_half = halves
    hidden = [
        side
        for side, lung, (x, y), outwards in (
            ("right", right, r_half.start, -1),
            ("left", left, l_half.end, 1),
        )
        if _border_hidden(lung, x, y, outwards, reach)
    ]
    if hidden:
        notes.append(f"no lung borders the heart's {' and '.join(hidden)} edge: it may be hidden")
    return notes


def measure(
    masks: Mapping[str, BoolImage],
    *,
    confidence: Mapping[str, float] | None = None,
    position: Position = "unknown",
    column_spacing_mm: float | None = None,
) -> CardiothoracicRatio:
    """Measure the cardiothoracic ratio.

    Args:
        masks: "Right Lung", "Left Lung" and "Heart" -> bool [rows, columns]; right and left are the
            patient's. The patient's right must be on the viewer's left, with the head up.
        confidence: The same names -> mean probability in 0..1, if known.
        position: The view. "lateral" is refused; every other view but "PA" adds a warning.
        column_spacing_mm: Distance between neighbouring columns, if known; used only for the widths
            in mm.

    Returns:
        The ratio with its lines and warnings; or, with `refused`, the reason that there is none.

    Raises:
        ValueError: The masks differ in shape.
    """
    sure = confidence or {}
    refused = _refusal(masks, sure, position)
    if refused is not None:
        return CardiothoracicRatio(refused=refused)
    right, left = masks[RIGHT_LUNG], masks[LEFT_LUNG]
    thorax = thoracic_width(right, left)
    if thorax is None or thorax.length <= 0:
        return CardiothoracicRatio(refused="the lungs do not lie side by side")
    if thorax.start[0] <= 0.5 or thorax.end[0] >= right.shape[1] - 1.5:
        return CardiothoracicRatio(
            thorax=thorax,
            refused="the thorax is cut off at the image border, so its width is unknown",
        )
    middle = midline(right, left, thorax)
    heart, halves = _heart_lines(masks[HEART], middle)
    ratio = heart.length / thorax.length
    notes = _view_warnings(position) + _shape_warnings(masks, thorax, halves, middle)
    if sure.get(HEART, 1.0) < LOW_CONFIDENCE:
        notes.append(f"low confidence in the heart's outline ({sure[HEART]:.2f})")
    if masks[HEART][[0, -1]].any() or masks[HEART][:, [0, -1]].any():
        notes.append("the heart reaches the image border and may be cut off")
    if not PLAUSIBLE[0] <= ratio <= PLAUSIBLE[1]:
        notes.append(f"a ratio of {ratio:.2f} is unusual: check the outlines")
    scale = column_spacing_mm
    return CardiothoracicRatio(
        ratio=ratio,
        heart=heart,
        thorax=thorax,
        heart_mm=None if scale is None else heart.length * scale,
        thorax_mm=None if scale is None else thorax.length * scale,
        warnings=tuple(notes),
    )


def _view_warnings(position: Position) -> list[str]:
    if position == "PA":
        return []
    if position == "AP":
        return ["AP view: the heart is magnified, the ratio comes out too large"]
    return ["the view (PA or AP) is unknown: on AP films the ratio is too large"]
