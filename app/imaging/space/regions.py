"""Regions of an ultrasound image with a scale of their own (PS3.3 C.8.5.5).

`Frame.regions` lists the most specific first: regions may overlap, and each has a priority
(Region Flags, C.8.5.5.1.3, bit 0: 0 is high, 1 is low). Within one priority the smaller region
comes first, since it was drawn over the larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.imaging.findings import XY
from app.imaging.types import Region
from app.paths import shipped_table

_UNITS: dict[int, tuple[str, float]] = {
    int(code): (units, factor) for code, (units, factor) in shipped_table("region_units").items()
}
"""Physical Units X and Y Direction (PS3.3 C.8.5.5.1.15) -> units shown, and the factor to them."""

_KINDS = {1: "2D", 2: "M-mode", 3: "spectral", 4: "waveform", 5: "graph"}
"""Region Spatial Format (PS3.3 C.8.5.5.1.1) -> name."""

_SAME_SCALE = 1e-3
_SLACK = 2
"""Pixels by which a region may exceed the image: many devices count its edges from 1."""

MAX_REGIONS = 64
_MAX_MM = 100.0


@dataclass(frozen=True, slots=True)
class UltrasoundRegion:
    """An item in the Sequence of Ultrasound Regions (PS3.3 C.8.5.5), as stored in the file.

    Attributes:
        spatial_format: Region Spatial Format; 1 is 2-D.
        units: Physical Units X and Y Direction; 3 is cm.
        delta: Physical Delta X and Y: units per pixel.
        box: Region Location Min X0, Min Y0, Max X1, Max Y1 in pixels from 0; () if not given.
        low_priority: Whether bit 0 of the Region Flags is set.
    """

    spatial_format: int
    units: tuple[int, int]
    delta: tuple[float, float]
    box: tuple[int, ...] = ()
    low_priority: bool = False


def image_regions(
    items: Sequence[UltrasoundRegion], rows: int, columns: int
) -> tuple[tuple[Region, ...], str]:
    """Return an image's regions, most specific first, and ""; or () and why they are unusable.

    Regions that extend beyond the image were drawn when it had another size. If the image has been
    cropped since, their scale is still valid; if it has been scaled down, lengths in mm would be
    wrong, so no regions are returned, and the text says why.
    """
    given = [item for item in items[:MAX_REGIONS] if len(item.box) == 4]
    if _is_rescaled([item.box for item in given], rows, columns):
        return (), "the ultrasound regions do not fit the image: it was scaled, mm are unknown"
    found: list[tuple[bool, int, Region]] = []
    for item in given:
        x0, y0, x1, y1 = item.box
        x0, y0, x1, y1 = max(x0, 0), max(y0, 0), min(x1, columns - 1), min(y1, rows - 1)
        if x0 > x1 or y0 > y1:
            continue
        dx, x_units = _axis_scale(item.delta[0], item.units[0])
        dy, y_units = _axis_scale(item.delta[1], item.units[1])
        kind = _KINDS.get(item.spatial_format, "")
        region = Region(x0, y0, x1, y1, dx, dy, x_units, y_units, kind)
        found.append((item.low_priority, (x1 - x0 + 1) * (y1 - y0 + 1), region))
    # Position breaks ties, so that the order does not depend on the file's.
    found.sort(key=lambda one: (one[0], one[1], one[2].y0, one[2].x0))
    return tuple(region for _, _, region in found), ""


def _is_rescaled(boxes: Sequence[tuple[int, ...]], rows: int, columns: int) -> bool:
    """Return whether the image seems to be scaled since the regions were drawn.

    It counts as cropped if regions exceed it on one side only and reach its very edge in the
    other direction: a scaled image would do so only by chance.
    """
    if not boxes:
        return False
    right = max(box[2] for box in boxes) - (columns - 1)
    bottom = max(box[3] for box in boxes) - (rows - 1)
    if right <= _SLACK and bottom <= _SLACK:
        return False
    return not (abs(right) <= _SLACK or abs(bottom) <= _SLACK)


def _axis_scale(delta: float, code: int) -> tuple[float, str]:
    """Return units per pixel and their name; 1 and "" if the file gives no usable scale."""
    units, factor = _UNITS.get(code, ("", 1.0))
    value = delta * factor
    if not units or not math.isfinite(value) or value == 0 or abs(value) < 1e-9:
        return 1.0, ""
    if units == "mm" and abs(value) > _MAX_MM:
        return 1.0, ""
    return value, units


def contains(region: Region, point: XY) -> bool:
    """Return whether a point lies on a pixel in the region, including its edge pixels."""
    x, y = point
    return region.x0 - 0.5 <= x <= region.x1 + 0.5 and region.y0 - 0.5 <= y <= region.y1 + 0.5


def region_at(regions: Sequence[Region], point: XY) -> Region | None:
    """Return the region whose scale applies at a point, or None if there is none."""
    return next((region for region in regions if contains(region, point)), None)


def common_region(regions: Sequence[Region], points: Sequence[XY]) -> Region | None:
    """Return the region whose scale applies to all of the points, or None if there is none.

    The region contains all points, and any more specific region that covers one of the points must
    have the same scale. This is true for a colour box inside the B-mode image, but not for a colour
    bar or a Doppler trace.
    """
    own = [region_at(regions, point) for point in points]
    for region in regions:
        if not all(contains(region, point) for point in points):
            continue
        if all(one is not None and same_scale(one, region) for one in own):
            return region
    return None


def same_scale(first: Region, second: Region) -> bool:
    """Return whether two regions have the same units per pixel."""
    return (
        (first.x_units, first.y_units) == (second.x_units, second.y_units)
        and math.isclose(abs(first.dx), abs(second.dx), rel_tol=_SAME_SCALE)
        and math.isclose(abs(first.dy), abs(second.dy), rel_tol=_SAME_SCALE)
    )
