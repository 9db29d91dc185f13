"""Scale and position of one frame: spacing, orientation and ultrasound regions.

Dose grids, reconstructed NM volumes and ultrasound images each state their frames' positions in a
special way (PS3.3 C.8.8.3.2, C.8.4.15, C.8.5.5). Runs in a worker process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import Header, value_of
from app.imaging.dicom.dicom_items import finite_numbers, first_item, items_of, whole_number
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.space.geometry import UNLABELLED, direction_letters
from app.imaging.space.planes import is_position, is_rotation
from app.imaging.space.spacing import (
    SpacingAttributes,
    UltrasoundRegion,
    image_regions,
    image_spacing,
)
from app.imaging.types import Orientation, Region, Spacing
from app.paths import shipped_table

_BIPED = (frozenset("LR"), frozenset("AP"), frozenset("HF"))
_QUADRUPED: dict[str, str] = shipped_table("dicom", "quadruped")
_QUADRUPED_LETTER = re.compile("LE|RT|CR|CD|PR|DI|PA|PL|D|V|M|L|R")
_SAME_Z_MM = 0.01
_TRUNK = frozenset(shipped_table("dicom", "quadruped_trunk")["parts"].split())
"""Body parts of a quadruped whose y axis is dorsal and z axis cranial; in the head the z axis is
rostral, and the limbs differ (PS3.3 C.7.6.2.1.1)."""

_PLANAR_CLASSES = frozenset(
    f"1.2.840.10008.5.1.4.1.1.{tail}"
    for tail in (
        *("2", "2.1", "2.2", "4", "4.1", "4.3", "4.4", "128", "128.1", "130", "481.2"),
        *("6.2", "13.1.1", "13.1.2", "13.1.3", "14.1", "14.2", "77.1.5.4"),
    )
)
"""SOP Classes whose Pixel Spacing is a distance in the patient: CT, MR, PET and their enhanced
forms, RT dose (C.7.6.2), enhanced ultrasound volumes, X-ray 3D, tomosynthesis, OCT."""

_PROJECTION_CLASSES = frozenset(
    f"1.2.840.10008.5.1.4.1.1.{tail}"
    for tail in ("1", "1.1", "1.1.1", "1.2", "1.2.1", "1.3", "1.3.1", "481.1")
)
"""SOP Classes of projections (CR, DX, MG, intra-oral, RT images): scale is that of the detector,
even where a file adds a direction in the patient (PS3.3 10.7.1.3)."""


def orientation_of(attributes: FrameAttributes) -> Orientation:
    """Return a frame's direction letters, cosines and position in the patient (mm, LPS)."""
    cosines = attributes.numbers("ImageOrientationPatient")
    position = attributes.numbers("ImagePositionPatient")
    detector = _nm_detector(attributes)
    if detector is not None:
        cosines = cosines or numbers(value_of(detector, "ImageOrientationPatient"))
        position = position or numbers(value_of(detector, "ImagePositionPatient"))
    quadruped = attributes.text("AnatomicalOrientationType").upper() == "QUADRUPED"
    place = None
    if is_position(position):
        place = (position[0], position[1], position[2])
    if is_rotation(cosines):
        a, b, c, d, e, f = cosines
        row = direction_letters(cosines[:3], quadruped)
        column = direction_letters(cosines[3:], quadruped)
        if quadruped and attributes.text("BodyPartExamined").upper() not in _TRUNK:
            row = column = UNLABELLED
        if place is not None:
            place = _frame_position(attributes, place, cosines)
        return Orientation(row, column, (a, b, c, d, e, f), place)
    letters = _letters(attributes.text("PatientOrientation"), quadruped)
    return Orientation(letters[0], letters[1], None, place)


def _letters(text: str, quadruped: bool) -> tuple[str, str]:
    """Return the directions of PatientOrientation in our letters; empty where it is invalid."""
    parts = [part.strip() for part in text.upper().split("\\")]
    if len(parts) != 2:
        return "", ""
    if quadruped:
        row, column = (_quadruped(part) for part in parts)
        return row, column
    if not all(_is_direction(part) for part in parts) or set(parts[0]) & set(parts[1]):
        return "", ""
    if parts[0] and parts[1] and _axis(parts[0][0]) == _axis(parts[1][0]):
        return "", ""  # rows and columns cannot run the same way
    return parts[0], parts[1]


def _is_direction(letters: str) -> bool:
    axes = [_axis(letter) for letter in letters]
    return -1 not in axes and len(set(axes)) == len(axes)


def _axis(letter: str) -> int:
    return next((axis for axis, pair in enumerate(_BIPED) if letter in pair), -1)


def _quadruped(text: str) -> str:
    found = _QUADRUPED_LETTER.findall(text)
    if "".join(found) != text:
        return ""
    return "".join(_QUADRUPED[letter] for letter in found)


def _frame_position(
    attributes: FrameAttributes, first: tuple[float, float, float], cosines: Sequence[float]
) -> tuple[float, float, float] | None:
    """Return a frame's position in mm, computed for doses and NM; None if contradictory."""
    a, b, c, d, e, f = cosines
    normal = (b * f - c * e, c * d - a * f, a * e - b * d)
    if attributes.header.value("GridFrameOffsetVector") is not None:
        offset = _dose_offset(attributes, first[2])
    elif _nm_detector(attributes) is not None:
        offset = _nm_offset(attributes)
    else:
        return first
    if offset is None:
        return first if attributes.index == 0 else None
    x, y, z = (start + offset * part for start, part in zip(first, normal, strict=True))
    return (x, y, z) if is_position((x, y, z)) else None


def _dose_offset(attributes: FrameAttributes, z: float) -> float | None:
    """Return the distance of a dose frame from the first along the normal, mm (PS3.3 C.8.8.3.2).

    Offsets are relative when the first is 0; otherwise they are z coordinates of axial frames, the
    first of which equals the position.
    """
    offsets = attributes.numbers("GridFrameOffsetVector")
    if attributes.index >= len(offsets):
        return None
    own, start = offsets[attributes.index], offsets[0]
    consistent = start == 0 or abs(start - z) <= _SAME_Z_MM
    return own - start if consistent and math.isfinite(own) else None


def _nm_detector(attributes: FrameAttributes) -> Any:
    """Return the item that places a reconstructed NM volume; None for any other image."""
    if attributes.text("Modality") not in ("NM", "PT"):
        return None
    if not any("RECON" in part for part in attributes.text("ImageType").upper().split("\\")):
        return None
    return first_item(attributes.header.dataset, "DetectorInformationSequence")


def _nm_offset(attributes: FrameAttributes) -> float | None:
    """Return an NM slice's distance in mm; only there may spacing be negative (PS3.3 C.8.4.15)."""
    distance = attributes.number("SpacingBetweenSlices")
    slices = attributes.numbers("SliceVector")
    if distance is None or attributes.index >= len(slices):
        return None
    number = slices[attributes.index]
    return (number - 1) * distance if math.isfinite(number) else None


def spacing_and_calibration(attributes: FrameAttributes) -> tuple[Spacing, str]:
    """Return the frame's pixel spacing, and a text on how it was calibrated ("" if not stated)."""
    kind = attributes.text("PixelSpacingCalibrationType").upper()
    header = attributes.header
    sop_class = attributes.text("SOPClassUID")
    oriented = (
        len(attributes.numbers("ImageOrientationPatient")) == 6
        and sop_class not in _PROJECTION_CLASSES
    )
    planar = sop_class in _PLANAR_CLASSES or _nm_detector(attributes)
    specimen = (
        attributes.text("Modality") == "SM" or header.value("ImageOrientationSlide") is not None
    )
    items, problem = _ultrasound(attributes), ""
    if items:
        _, problem = _placed(header, items)
    spacing = image_spacing(
        SpacingAttributes(
            pixel=attributes.numbers("PixelSpacing"),
            imager=attributes.numbers("ImagerPixelSpacing"),
            nominal=attributes.numbers("NominalScannedPixelSpacing"),
            image_plane=attributes.numbers("ImagePlanePixelSpacing"),
            magnification=attributes.number("EstimatedRadiographicMagnificationFactor"),
            calibration=kind,
            aspect=attributes.numbers("PixelAspectRatio"),
            cross_sectional=oriented or bool(planar),
            specimen=specimen,
            object=attributes.numbers("ObjectPixelSpacingInCenterOfBeam"),
            regions=() if problem else items,
            problem=problem,
        )
    )
    description = attributes.text("PixelSpacingCalibrationDescription")
    return spacing, " ".join(part for part in (kind, description) if part)


def frame_regions(attributes: FrameAttributes) -> tuple[Region, ...]:
    """Return the ultrasound regions in the order of `image_regions`; () if it refuses them."""
    items = _ultrasound(attributes)
    return _placed(attributes.header, items)[0] if items else ()


def _placed(header: Header, items: Sequence[UltrasoundRegion]) -> tuple[tuple[Region, ...], str]:
    rows, columns = (whole_number(header.dataset, keyword) for keyword in ("Rows", "Columns"))
    if rows is None or columns is None:
        return (), ""
    return image_regions(items, rows, columns)


def _ultrasound(attributes: FrameAttributes) -> tuple[UltrasoundRegion, ...]:
    dataset = attributes.header.dataset
    return tuple(map(_region, items_of(dataset, "SequenceOfUltrasoundRegions")))


def _region(item: Dataset) -> UltrasoundRegion:
    def whole(keyword: str) -> int:
        return whole_number(item, keyword) or 0

    def delta(axis: str) -> float:
        return (finite_numbers(item, f"PhysicalDelta{axis}", 1) or (0.0,))[0]

    ends = ("MinX0", "MinY0", "MaxX1", "MaxY1")
    box = (whole_number(item, f"RegionLocation{end}") for end in ends)
    return UltrasoundRegion(
        spatial_format=whole("RegionSpatialFormat"),
        units=(whole("PhysicalUnitsXDirection"), whole("PhysicalUnitsYDirection")),
        delta=(delta("X"), delta("Y")),
        box=tuple(edge for edge in box if edge is not None),
        low_priority=bool(whole("RegionFlags") & 1),
    )
