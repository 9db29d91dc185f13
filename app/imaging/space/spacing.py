"""Pixel spacing and its source (PS3.3 10.7.1.3). Zero or absurd values count as unknown.

An ultrasound image has regions with a scale of their own (PS3.3 C.8.5.5). They may overlap:
`Frame.regions` lists them by priority, and within one priority the smaller first, since it was
drawn over the larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.imaging.types import XY, Region, Spacing, SpacingSource
from app.paths import shipped_table

_UNITS: dict[int, tuple[str, float]] = {
    int(code): (units, factor)
    for code, (units, factor) in shipped_table("dicom", "region_units").items()
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
        low_priority: Whether bit 0 of the Region Flags is set: others are drawn over it.
    """

    spatial_format: int
    units: tuple[int, int]
    delta: tuple[float, float]
    box: tuple[int, ...] = ()
    low_priority: bool = False


def image_regions(
    items: Sequence[UltrasoundRegion], rows: int, columns: int
) -> tuple[tuple[Region, ...], str]:
    """Return an image's regions and ""; if they are refused, () and the reason.

    High priority comes before low, then small before large. Regions that extend beyond the image
    were drawn when it had another size. If the image has been cropped since, their scale is still
    valid; if it has been scaled down, lengths in mm would be wrong, so they are refused.
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
    """Return the first of `regions` that contains a point, or None if none does."""
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
    """Return whether two regions have equal units per pixel along both axes."""
    return (
        (first.x_units, first.y_units) == (second.x_units, second.y_units)
        and math.isclose(abs(first.dx), abs(second.dx), rel_tol=_SAME_SCALE)
        and math.isclose(abs(first.dy), abs(second.dy), rel_tol=_SAME_SCALE)
    )


MIN_SPACING_MM = 1e-6
MAX_SPACING_MM = 100.0
MAX_ANISOTROPY = 100.0
_SAME = 1e-3
_CENTIMETRE = 3
_TISSUE_2D = 1


@dataclass(frozen=True, slots=True)
class SpacingAttributes:
    """The attributes in which a file states its scale; pairs are (row, column) distances in mm.

    Attributes:
        pixel: PixelSpacing.
        imager: ImagerPixelSpacing.
        nominal: NominalScannedPixelSpacing.
        image_plane: ImagePlanePixelSpacing of an RT image, at its RTImageSID.
        magnification: EstimatedRadiographicMagnificationFactor.
        calibration: PixelSpacingCalibrationType: GEOMETRY, FIDUCIAL or "".
        aspect: PixelAspectRatio (vertical, horizontal).
        cross_sectional: Whether the pixels lie in a plane in the patient (with a position or
            orientation) and not on a detector.
        specimen: Whether the pixels lie on a slide, so that measurements are not of a patient.
        object: ObjectPixelSpacingInCenterOfBeam of an enhanced X-ray image.
        regions: Ultrasound regions.
        problem: Why the file's regions are not used; "" if they are.
    """

    pixel: Sequence[float] = ()
    imager: Sequence[float] = ()
    nominal: Sequence[float] = ()
    image_plane: Sequence[float] = ()
    magnification: float | None = None
    calibration: str = ""
    aspect: Sequence[float] = ()
    cross_sectional: bool = False
    specimen: bool = False
    object: Sequence[float] = ()
    regions: tuple[UltrasoundRegion, ...] = ()
    problem: str = ""


def image_spacing(attributes: SpacingAttributes) -> Spacing:
    """Return the most reliable spacing that a file states, with its source (PS3.3 10.7.1.3).

    A zero, negative or implausible value counts as unknown; there is no default.
    """
    a = attributes
    bad: list[str] = []
    pixel = _valid_pair(a.pixel, "PixelSpacing", bad)
    imager = _valid_pair(a.imager, "ImagerPixelSpacing", bad)
    nominal = _valid_pair(a.nominal, "NominalScannedPixelSpacing", bad)
    beam = _valid_pair(a.object, "ObjectPixelSpacingInCenterOfBeam", bad)
    portal = _valid_pair(a.image_plane, "ImagePlanePixelSpacing", bad)
    if pixel and a.specimen:
        return _spacing(pixel, SpacingSource.SPECIMEN, "on the slide, not in a patient")
    if pixel and a.cross_sectional:
        return _spacing(pixel, SpacingSource.PATIENT)
    # PixelSpacing that differs from ImagerPixelSpacing was calibrated (10.7.1.3).
    if pixel and (a.calibration or (imager and not _is_same_spacing(pixel, imager))):
        return _spacing(pixel, SpacingSource.CALIBRATED)
    if beam:
        return _spacing(beam, SpacingSource.CALIBRATED, "in the centre of the beam")
    if imager and a.magnification is not None and a.magnification != 1.0:
        if 1.0 < a.magnification < 10.0:
            row, column = (mm / a.magnification for mm in imager)
            note = f"corrected for an estimated magnification of {a.magnification:g}"
            return _spacing((row, column), SpacingSource.CALIBRATED, note)
        bad.append(f"magnification {a.magnification:g}")
    if imager:
        return _spacing(imager, SpacingSource.DETECTOR, _ignored_note(bad))
    if portal:
        return _spacing(portal, SpacingSource.DETECTOR, "in the plane of the RT image")
    if a.regions:  # before PixelSpacing, which cannot hold for all of them
        return _region_spacing(a.regions, _aspect(a.aspect))
    # Without a type of calibration PixelSpacing is taken at the detector, the safe choice.
    if pixel and not a.problem:
        return _spacing(
            pixel, SpacingSource.DETECTOR, "detector-plane scale, not corrected for magnification"
        )
    if nominal:
        return _spacing(nominal, SpacingSource.DETECTOR, "of the film scanner")
    note = a.problem or _ignored_note(bad) or "the file gives no spacing"
    return Spacing(aspect=_aspect(a.aspect), note=note)


def _spacing(pair: tuple[float, float], source: SpacingSource, note: str = "") -> Spacing:
    return Spacing(pair[0], pair[1], source, pair[0] / pair[1], note)


def _valid_pair(pair: Sequence[float], name: str, bad: list[str]) -> tuple[float, float] | None:
    """Return a possible spacing, else None and add the reason to `bad`."""
    if not pair:
        return None
    possible = (
        len(pair) == 2
        and all(math.isfinite(mm) and MIN_SPACING_MM <= mm <= MAX_SPACING_MM for mm in pair)
        and max(pair) <= MAX_ANISOTROPY * min(pair)
    )
    if possible:
        return pair[0], pair[1]
    text = " x ".join(f"{mm:g}" for mm in pair)
    bad.append(f"{name} of {text}")
    return None


def _ignored_note(bad: list[str]) -> str:
    return f"{', '.join(bad)} ignored as impossible" if bad else ""


def _is_same_spacing(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return all(math.isclose(a, b, rel_tol=_SAME) for a, b in zip(first, second, strict=True))


def _aspect(ratio: Sequence[float]) -> float:
    """Return height / width of a pixel, from PixelAspectRatio (vertical, horizontal)."""
    if len(ratio) == 2 and all(math.isfinite(part) and part > 0 for part in ratio):
        aspect = ratio[0] / ratio[1]
        return aspect if 1 / MAX_ANISOTROPY <= aspect <= MAX_ANISOTROPY else 1.0
    return 1.0


def _region_spacing(regions: Sequence[UltrasoundRegion], aspect: float) -> Spacing:
    """Return one spacing if all 2-D regions in cm agree; `Frame.regions` has each of them."""
    scales: set[tuple[float, float]] = set()
    for region in regions:
        if region.spatial_format == _TISSUE_2D and region.units == (_CENTIMETRE, _CENTIMETRE):
            x, y = (abs(delta) * 10 for delta in region.delta)
            pair = _valid_pair((y, x), "", [])
            if pair:
                # Rounded to nm: devices repeat one scale with noise in the last digits.
                scales.add((round(pair[0], 6), round(pair[1], 6)))
    if len(scales) == 1:
        note = "valid inside the ultrasound image, not in scales or traces next to it"
        return _spacing(scales.pop(), SpacingSource.REGION, note)
    if scales:
        return Spacing(aspect=aspect, note="several ultrasound regions with different scales")
    return Spacing(aspect=aspect, note="no ultrasound region is calibrated in cm")


def stated_spacing(row_mm: float, column_mm: float, source: SpacingSource, note: str) -> Spacing:
    """Return a non-DICOM file's spacing; if 0 or impossible, an unknown one whose note says so."""
    pair = (row_mm, column_mm)
    if not all(math.isfinite(mm) for mm in pair) or min(pair) <= 0:
        return Spacing(note="the file gives no spacing")
    if _valid_pair(pair, "", []) is None:
        return Spacing(note=f"a spacing of {row_mm:g} x {column_mm:g} mm ignored as impossible")
    return Spacing(row_mm, column_mm, source, row_mm / column_mm, note)
