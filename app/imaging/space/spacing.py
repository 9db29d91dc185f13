"""Pixel spacing and its source (PS3.3 10.7.1.3). Zero or absurd values count as unknown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.imaging.space.regions import UltrasoundRegion
from app.imaging.types import Spacing, SpacingSource

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
    """Return a non-DICOM file's spacing; unknown if a value is 0 (not given) or impossible."""
    pair = (row_mm, column_mm)
    if not all(math.isfinite(mm) for mm in pair) or min(pair) <= 0:
        return Spacing(note="the file gives no spacing")
    if _valid_pair(pair, "", []) is None:
        return Spacing(note=f"a spacing of {row_mm:g} x {column_mm:g} mm ignored as impossible")
    return Spacing(row_mm, column_mm, source, row_mm / column_mm, note)
