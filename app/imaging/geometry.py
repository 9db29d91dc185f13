"""Scale and direction: pixel spacing with its source, lengths, areas, side letters.

Coordinates are (x, y) = (column, row), pixel centres are integers. Directions are DICOM's patient
letters (PS3.3 C.7.6.1.1.1): L, R, A, P, H, F for the direction in which x or y grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.imaging.findings import XY
from app.imaging.types import Frame, Orientation, Spacing, SpacingSource

MIN_SPACING_MM = 1e-6
MAX_SPACING_MM = 100.0
MAX_ANISOTROPY = 100.0
_SAME = 1e-3
_OBLIQUE = 0.05
"""Cosine below which a direction does not earn a letter (about 3 degrees)."""

_OPPOSITE = {"L": "R", "R": "L", "A": "P", "P": "A", "H": "F", "F": "H"}
_CENTIMETRE = 3
_TISSUE_2D = 1


@dataclass(frozen=True, slots=True)
class UltrasoundRegion:
    """An item of the Sequence of Ultrasound Regions, PS3.3 C.8.5.5.

    Attributes:
        spatial_format: Region Spatial Format; 1 is 2-D.
        units: Physical units of x and y; 3 is cm.
        delta: Physical delta of x and y: units per pixel.
    """

    spatial_format: int
    units: tuple[int, int]
    delta: tuple[float, float]


@dataclass(frozen=True, slots=True)
class SpacingAttributes:
    """What a file says about its scale; pairs are (between rows, between columns) in mm.

    Attributes:
        pixel: PixelSpacing.
        imager: ImagerPixelSpacing.
        nominal: NominalScannedPixelSpacing.
        magnification: EstimatedRadiographicMagnificationFactor.
        calibration: PixelSpacingCalibrationType: GEOMETRY, FIDUCIAL or "".
        aspect: PixelAspectRatio (vertical, horizontal).
        cross_sectional: Whether the pixels lie on a plane in the patient (it has a position or
            orientation there), not on a detector.
        regions: Ultrasound regions.
    """

    pixel: Sequence[float] = ()
    imager: Sequence[float] = ()
    nominal: Sequence[float] = ()
    magnification: float | None = None
    calibration: str = ""
    aspect: Sequence[float] = ()
    cross_sectional: bool = False
    regions: tuple[UltrasoundRegion, ...] = ()


def spacing_of(attributes: SpacingAttributes) -> Spacing:
    """Decide on the spacing, and on what it rests (PS3.3 10.7.1.3).

    A zero, negative or absurd value means unknown, never a default.
    """
    a = attributes
    bad: list[str] = []
    pixel = _valid(a.pixel, "PixelSpacing", bad)
    imager = _valid(a.imager, "ImagerPixelSpacing", bad)
    nominal = _valid(a.nominal, "NominalScannedPixelSpacing", bad)
    if pixel and a.cross_sectional:
        return _spacing(pixel, SpacingSource.PATIENT)
    if pixel and (a.calibration or (imager and not _same(pixel, imager))):
        return _spacing(pixel, SpacingSource.CALIBRATED)
    if imager and a.magnification is not None and a.magnification != 1.0:
        if 1.0 < a.magnification < 10.0:
            row, column = (mm / a.magnification for mm in imager)
            note = f"corrected for an estimated magnification of {a.magnification:g}"
            return _spacing((row, column), SpacingSource.CALIBRATED, note)
        bad.append(f"magnification {a.magnification:g}")
    if imager:
        return _spacing(imager, SpacingSource.DETECTOR, _ignored(bad))
    if pixel:
        return _spacing(pixel, SpacingSource.DETECTOR, "the file does not say where it holds")
    if nominal:
        return _spacing(nominal, SpacingSource.DETECTOR, "of the film scanner")
    if a.regions:
        return _region_spacing(a.regions)
    return Spacing(aspect=_aspect(a.aspect), note=_ignored(bad) or "the file gives no spacing")


def _spacing(pair: tuple[float, float], source: SpacingSource, note: str = "") -> Spacing:
    return Spacing(pair[0], pair[1], source, pair[0] / pair[1], note)


def _valid(pair: Sequence[float], name: str, bad: list[str]) -> tuple[float, float] | None:
    """The pair when it is a possible spacing; else None, and the reason in `bad`."""
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


def _ignored(bad: list[str]) -> str:
    return f"{', '.join(bad)} ignored as impossible" if bad else ""


def _same(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return all(math.isclose(a, b, rel_tol=_SAME) for a, b in zip(first, second, strict=True))


def _aspect(ratio: Sequence[float]) -> float:
    """Height of a pixel divided by its width, from PixelAspectRatio (vertical, horizontal)."""
    if len(ratio) == 2 and all(math.isfinite(part) and part > 0 for part in ratio):
        aspect = ratio[0] / ratio[1]
        return aspect if 1 / MAX_ANISOTROPY <= aspect <= MAX_ANISOTROPY else 1.0
    return 1.0


def _region_spacing(regions: Sequence[UltrasoundRegion]) -> Spacing:
    """One spacing when all 2-D regions in cm agree; several scales cannot be told apart here."""
    scales: set[tuple[float, float]] = set()
    for region in regions:
        if region.spatial_format == _TISSUE_2D and region.units == (_CENTIMETRE, _CENTIMETRE):
            x, y = (abs(delta) * 10 for delta in region.delta)
            pair = _valid((y, x), "", [])
            if pair:
                scales.add((round(pair[0], 6), round(pair[1], 6)))
    if len(scales) == 1:
        note = "holds inside the ultrasound image, not in scales or traces beside it"
        return _spacing(scales.pop(), SpacingSource.REGION, note)
    if scales:
        return Spacing(note="several ultrasound regions with different scales")
    return Spacing(note="no ultrasound region is calibrated in cm")


@dataclass(frozen=True, slots=True)
class Length:
    """A measured length or area.

    Attributes:
        value: In `units`.
        units: "mm", "mm²" or "px".
        source: What mm rest on; NONE for px.
        text: With units and source, as it is to be shown.
    """

    value: float
    units: str
    source: SpacingSource
    text: str


def length(frame: Frame, p0: XY, p1: XY) -> Length:
    """Distance of two points: mm only with a real spacing, else pixels.

    Args:
        frame: The image the points are on.
        p0: (x, y).
        p1: (x, y).
    """
    spacing = frame.spacing
    dx, dy = p1[0] - p0[0], p1[1] - p0[1]
    if spacing.row_mm is None or spacing.column_mm is None:
        value = math.hypot(dx, dy)
        return Length(value, "px", SpacingSource.NONE, f"{value:.1f} px")
    value = math.hypot(dx * spacing.column_mm, dy * spacing.row_mm)
    return Length(value, "mm", spacing.source, f"{value:.1f} mm ({spacing.source.value})")


def area(frame: Frame, pixels: float) -> Length:
    """Area of a number of pixels: mm² only with a real spacing, else pixels."""
    spacing = frame.spacing
    if spacing.row_mm is None or spacing.column_mm is None:
        return Length(pixels, "px", SpacingSource.NONE, f"{pixels:.0f} px")
    value = pixels * spacing.column_mm * spacing.row_mm
    shown = f"{value / 100:.1f} cm²" if value >= 100 else f"{value:.1f} mm²"
    return Length(value, "mm²", spacing.source, f"{shown} ({spacing.source.value})")


def polygon_area(frame: Frame, points: Sequence[XY]) -> Length:
    """Area inside a closed outline that does not cross itself (shoelace formula)."""
    following = [*points[1:], *points[:1]]
    doubled = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, following, strict=True))
    return area(frame, abs(doubled) / 2)


def direction_letters(direction: Sequence[float]) -> str:
    """Patient letters of a direction in LPS, the strongest first, e.g. "LA"; "" for none."""
    if len(direction) != 3 or not all(math.isfinite(part) for part in direction):
        return ""
    pairs = zip(direction, ("LR", "PA", "HF"), strict=True)
    strong = [(abs(part), pair[part < 0]) for part, pair in pairs if abs(part) > _OBLIQUE]
    return "".join(letter for _, letter in sorted(strong, key=lambda item: -item[0]))


def opposite(letters: str) -> str:
    """Letters of the opposite direction; "" when one is not a patient direction we know."""
    turned = [_OPPOSITE.get(letter, "") for letter in letters]
    return "".join(turned) if all(turned) else ""


def edge_letters(
    orientation: Orientation, flip_h: bool = False, flip_v: bool = False, quarter_turns: int = 0
) -> tuple[str, str, str, str]:
    """Letters at the edges of an image as it is shown.

    Args:
        orientation: How the image lies in the patient.
        flip_h: Left and right are exchanged (before the rotation).
        flip_v: Top and bottom are exchanged (before the rotation).
        quarter_turns: Rotation after the flips, in clockwise quarter turns.

    Returns:
        (left, right, top, bottom); "" where the file does not say.
    """
    row, column = orientation.row, orientation.column
    if orientation.cosines is not None and not (row or column):
        row = direction_letters(orientation.cosines[:3])
        column = direction_letters(orientation.cosines[3:])
    left, right, top, bottom = opposite(row), row, opposite(column), column
    if flip_h:
        left, right = right, left
    if flip_v:
        top, bottom = bottom, top
    for _ in range(quarter_turns % 4):
        left, right, top, bottom = bottom, top, left, right
    return left, right, top, bottom
