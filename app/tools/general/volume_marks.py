"""Marks of two volumes in patient mm: what they measure, which belong together, what has changed.

Everything is computed from geometry in the patient (LPS, mm); where a mark has none, it has no
figures. The changes are sums and say nothing about growth.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import Box, Ellipse, Finding, Geometry, Mask, Polygon, Polyline, Segments
from app.imaging.types import XY, FramePlane

Points = NDArray[np.float64]

LENGTH, AXES, REGION = "length", "axes", "region"
"""Kinds of marks; only those of one kind are paired."""

MOST_DEGREES = 20.0
"""Angle between two marks' planes above which lengths and areas in them are not compared."""
_SIDES = 72  # corners of the polygon that stands for an ellipse
_NEXT = 1.5  # slice distances between the outlines of two neighbouring slices


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """A mark on one of the two studies.

    Attributes:
        name: What it is called.
        kind: `LENGTH`, `AXES` or `REGION`.
        centre: [3] its middle in patient coordinates (mm).
        plane: The plane that it is drawn on; of several, that of the greatest area.
        outline: (x, y) of its points on `plane`, in pixels.
        figures: Its values by (name, unit), e.g. ("Long axis", "mm").
        findings: The findings that it consists of: one for each slice that it is outlined on.
        by_tool: Whether a tool found it and a person accepted it.
    """

    name: str
    kind: str
    centre: Points
    plane: FramePlane
    outline: tuple[XY, ...]
    figures: dict[tuple[str, str], float]
    findings: tuple[Finding, ...]
    by_tool: bool = False

    @property
    def in_mm(self) -> Points:
        """[n, 3] the points of `outline` in patient coordinates (mm)."""
        return np.array([self.plane.point(x, y) for x, y in self.outline])


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of a mark on both studies; see `chest.comparison.Row` for the common fields.

    Attributes:
        mark: The mark's name with its number: "Nodule 1".
        what: The figure: "Long axis", "Area", "Volume", "Mean".
        change: current - prior; None where the two cannot be compared.
        percent: `change` in percent of the prior value; None too where that is not above 0.
        why: Why the two cannot be compared, or "".
    """

    mark: str
    what: str
    unit: str
    current: float | None
    prior: float | None
    change: float | None
    percent: float | None
    comparable: bool
    why: str = ""


def kind_of(finding: Finding) -> str:
    """Return a finding's kind, or "" for one that is not compared: a point, an angle, a note."""
    named, made = {one.name for one in finding.measurements}, finding.provenance.tool
    match finding.geometry:
        case Polyline() if (
            made in ("ruler", "polyline") or "Length" in named or finding.units.startswith("mm")
        ):
            return LENGTH
        case Segments() if made == "bidirectional" or "Long axis" in named:
            return AXES
        case Box() | Ellipse() | Polygon() | Mask():
            return REGION
        case _:
            return ""


def measured(
    finding: Finding, plane: FramePlane, name: str, mean: tuple[float, str] | None = None
) -> Mark | None:
    """Return a mark on `plane` with what it measures; None if nothing of it can be measured.

    `mean` is the mean of the values inside with its unit, where it is known.
    """
    kind = kind_of(finding)
    outline = outline_of(finding.geometry)
    if not kind or len(outline) < 2:
        return None
    points = np.array([plane.point(x, y) for x, y in outline])
    figures: dict[tuple[str, str], float] = {}
    if kind == LENGTH:
        figures["Length", "mm"] = sum(math.dist(a, b) for a, b in pairwise(points.tolist()))
        centre = points.mean(axis=0)
    elif kind == AXES:
        axes = sorted((math.dist(*points[:2]), math.dist(*points[2:4])), reverse=True)
        figures["Long axis", "mm"], figures["Short axis", "mm"] = axes
        centre = points.mean(axis=0)
    else:
        pixels, (x, y) = _extent(finding.geometry, outline)
        if not pixels:
            return None
        centre = np.array(plane.point(x, y))
        figures["Long axis", "mm"] = _long_axis(finding.geometry, plane, points)
        figures["Area", "mm²"] = pixels * plane.spacing[0] * plane.spacing[1]
        if mean is not None:
            figures["Mean", mean[1]] = mean[0]
    return Mark(name, kind, centre, plane, outline, figures, (finding,))


def outline_of(shape: Geometry) -> tuple[XY, ...]:
    """Return the points (x, y) of a line or around a region, in pixels; () for other shapes."""
    match shape:
        case Polyline(points) | Segments(points) | Polygon(points):
            return points
        case Box(x0, y0, x1, y1):
            return (x0, y0), (x1, y0), (x1, y1), (x0, y1)
        case Ellipse(x0, y0, x1, y1):
            turn = np.linspace(0, 2 * np.pi, _SIDES, endpoint=False)
            x = (x0 + x1) / 2 + (x1 - x0) / 2 * np.cos(turn)
            y = (y0 + y1) / 2 + (y1 - y0) / 2 * np.sin(turn)
            return tuple(zip(x.tolist(), y.tolist(), strict=True))
        case Mask(pixels):
            return _around(pixels)
        case _:
            return ()


def _around(pixels: NDArray[np.bool_]) -> tuple[XY, ...]:
    """Return the outer corners of the first and last pixel of each row of a mask, in a circle."""
    rows = np.flatnonzero(pixels.any(axis=1))
    if not rows.size:
        return ()
    first = pixels[rows].argmax(axis=1)
    last = pixels.shape[1] - 1 - pixels[rows, ::-1].argmax(axis=1)
    left: list[XY] = []
    right: list[XY] = []
    for row, start, end in zip(rows.tolist(), first.tolist(), last.tolist(), strict=True):
        left += [(start - 0.5, row - 0.5), (start - 0.5, row + 0.5)]
        right += [(end + 0.5, row - 0.5), (end + 0.5, row + 0.5)]
    return (*right, *reversed(left))


def _extent(shape: Geometry, outline: Sequence[XY]) -> tuple[float, XY]:
    """Return the area of a region in pixels, and its middle (x, y)."""
    match shape:
        case Mask(pixels):
            rows, columns = np.nonzero(pixels)
            if not rows.size:
                return 0.0, (0.0, 0.0)
            return float(rows.size), (float(columns.mean()), float(rows.mean()))
        case Box(x0, y0, x1, y1) | Ellipse(x0, y0, x1, y1):
            share = math.pi / 4 if isinstance(shape, Ellipse) else 1.0
            return share * (x1 - x0) * (y1 - y0), ((x0 + x1) / 2, (y0 + y1) / 2)
        case _:
            points = np.array(outline)
            middle = points.mean(axis=0)  # from here, so that no digits are lost
            x, y = (points - middle).T
            cross = x * np.roll(y, -1) - np.roll(x, -1) * y
            twice = float(cross.sum())
            if not twice:
                return 0.0, (float(middle[0]), float(middle[1]))
            cx, cy = (float(((v + np.roll(v, -1)) @ cross) / (3 * twice)) for v in (x, y))
            return abs(twice) / 2, (float(middle[0]) + cx, float(middle[1]) + cy)


def _long_axis(shape: Geometry, plane: FramePlane, points: Points) -> float:
    """Return the longest extent of a region in mm; of a box, its longer side."""
    if isinstance(shape, Box | Ellipse):
        down, across = plane.spacing
        return max((shape.x1 - shape.x0) * across, (shape.y1 - shape.y0) * down)
    steps = points[:, None] - points[None] if len(points) <= _MANY else _thinned(points)
    return float(np.sqrt((steps**2).sum(axis=-1)).max())


_MANY = 1200  # points of which each two are compared


def _thinned(points: Points) -> Points:
    """Return the differences between the outermost of many points in each direction."""
    turn = np.linspace(0, np.pi, 180, endpoint=False)
    flat = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(flat, full_matrices=False)
    along = (flat @ axes[:2].T) @ np.stack((np.cos(turn), np.sin(turn)))
    chosen = points[np.unique(np.concatenate((along.argmin(axis=0), along.argmax(axis=0))))]
    return chosen[:, None] - chosen[None]


def joined(marks: Iterable[Mark], step: float) -> list[Mark]:
    """Return marks with the outlines of one thing on neighbouring slices made one mark.

    They have one name and lie over each other. Its volume is the sum of their areas times the
    distance of the slices, its long axis and area are those of the slice where it is greatest.

    Args:
        marks: The marks of one study.
        step: Distance between slices in mm; 0 where it is unknown, then none are joined.
    """
    parts: list[list[Mark]] = []
    for mark in marks:
        near = [part for part in parts if step and any(_adjoins(mark, one, step) for one in part)]
        parts = [part for part in parts if part not in near]
        parts.append([*(one for part in near for one in part), mark])
    return [part[0] if len(part) == 1 else _as_one(part, step) for part in parts]


def _adjoins(one: Mark, other: Mark, step: float) -> bool:
    if (one.kind, other.kind) != (REGION, REGION) or one.name.casefold() != other.name.casefold():
        return False
    if abs(float(np.dot(one.plane.normal, other.plane.normal))) < math.cos(math.radians(1)):
        return False
    theirs = np.array([one.plane.pixel((x, y, z)) for x, y, z in other.in_mm.tolist()])
    if not 0.1 * step < abs(theirs[:, 2].mean()) < _NEXT * step:
        return False
    mine = np.array(one.outline)
    low, high = mine.min(axis=0), mine.max(axis=0)
    return bool(
        (theirs[:, :2].min(axis=0) < high).all() and (theirs[:, :2].max(axis=0) > low).all()
    )


def _as_one(part: Sequence[Mark], step: float) -> Mark:
    area = ("Area", "mm²")
    widest = max(part, key=lambda one: one.figures[area])
    areas = np.array([one.figures[area] for one in part])
    figures = {**widest.figures, ("Volume", "mm³"): float(areas.sum() * step)}
    figures["Long axis", "mm"] = max(one.figures["Long axis", "mm"] for one in part)
    for key in [key for key in figures if key[0] == "Mean"]:
        if all(key in one.figures for one in part):
            means = np.array([one.figures[key] for one in part])
            figures[key] = float(means @ areas / areas.sum())
        else:
            del figures[key]
    centre = areas @ np.array([one.centre for one in part]) / areas.sum()
    findings = tuple(finding for one in part for finding in one.findings)
    by_tool = any(one.by_tool for one in part)
    return replace(widest, figures=figures, centre=centre, findings=findings, by_tool=by_tool)


def pairs_of(
    current: Sequence[Mark], prior: Sequence[Mark], to_prior: Points, tolerance: float
) -> list[tuple[int | None, int | None, float | None]]:
    """Return which marks belong together: those of one kind that are nearest to each other.

    Args:
        current: Marks on the current study.
        prior: Marks on the prior one.
        to_prior: [4, 4] rigid matrix from patient mm of the current study to those of the prior.
        tolerance: Greatest distance in mm of the middles of two that belong together.

    Returns:
        (index in `current`, index in `prior`, distance in mm); then those left alone, with None.
    """
    away = np.full((len(current), len(prior)), np.inf)
    for i, one in enumerate(current):
        place = moved(one.centre, to_prior)
        for j, other in enumerate(prior):
            if one.kind == other.kind:
                away[i, j] = float(np.linalg.norm(place - other.centre))
    found: list[tuple[int | None, int | None, float | None]] = []
    if away.size:
        for i in range(len(current)):
            j = int(away[i].argmin())
            if away[i, j] <= tolerance and int(away[:, j].argmin()) == i:
                found.append((i, j, float(away[i, j])))
    now, then = ({pair[side] for pair in found} for side in (0, 1))
    found += [(i, None, None) for i in range(len(current)) if i not in now]
    return [*found, *((None, j, None) for j in range(len(prior)) if j not in then)]


def moved(points: Points, matrix: Points) -> Points:
    """Return points [..., 3] (mm) after a rigid [4, 4] matrix."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def rows_of(name: str, now: Mark | None, then: Mark | None, to_prior: Points) -> list[Row]:
    """Return a row for each figure of a pair of marks, or of one that is alone."""
    keys = list(dict.fromkeys(key for one in (now, then) if one for key in one.figures))
    against = ""
    if now is not None and then is not None:
        turned = to_prior[:3, :3] @ np.array(now.plane.normal)
        cosine = min(1.0, abs(float(turned @ np.array(then.plane.normal))))
        degrees = math.degrees(math.acos(cosine))
        if degrees > MOST_DEGREES:
            against = f"the two are drawn in planes {degrees:.0f} degrees apart"
    rows: list[Row] = []
    for what, unit in keys:
        mine, theirs = (one.figures.get((what, unit)) if one else None for one in (now, then))
        why = ""
        if mine is None or theirs is None:
            alone = now is None or then is None
            which = "current" if mine is None else "prior"
            why = "" if alone else f"not measured on the {which} study"
        elif what not in ("Volume", "Mean"):
            why = against
        if why or mine is None or theirs is None:
            row = Row(name, what, unit, _round(mine), _round(theirs), None, None, False, why)
        else:
            percent = None if theirs <= 0 or what == "Mean" else 100 * (mine - theirs) / theirs
            row = Row(
                *(name, what, unit, _round(mine), _round(theirs), _round(mine - theirs)),
                None if percent is None else round(percent, 1),
                True,
            )
        rows.append(row)
    return rows


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 2)
