"""A drawn body in patient mm, and CT series of it as DICOM files: wherever, however it is turned.

The body is a function of the place (mm), so that a series of any spacing, orientation and place
shows the very same thing, and where everything lies is known without the program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, generate_uid

Array = NDArray[np.float64]
Sphere = tuple[tuple[float, float, float], float]
"""Centre and diameter in mm."""

AXIAL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))
CORONAL = ((1.0, 0.0, 0.0), (0.0, 0.0, -1.0))


def rigid(degrees: Sequence[float], shift: Sequence[float]) -> Array:
    """[4, 4]: turns about x, y and z, one after another, about the body's middle, then a shift."""
    a, b, c = (math.radians(one) for one in degrees)
    about_x = [[1, 0, 0], [0, math.cos(a), -math.sin(a)], [0, math.sin(a), math.cos(a)]]
    about_y = [[math.cos(b), 0, math.sin(b)], [0, 1, 0], [-math.sin(b), 0, math.cos(b)]]
    about_z = [[math.cos(c), -math.sin(c), 0], [math.sin(c), math.cos(c), 0], [0, 0, 1]]
    matrix = np.eye(4)
    matrix[:3, :3] = np.array(about_z) @ np.array(about_y) @ np.array(about_x)
    matrix[:3, 3] = shift
    return matrix


def at(matrix: Array, point: Sequence[float]) -> tuple[float, float, float]:
    """Where a point lies after a [4, 4] matrix."""
    x, y, z = (matrix @ (*point, 1.0))[:3].tolist()
    return x, y, z


def trunk(points: Array, spheres: Sequence[Sphere] = ()) -> Array:
    """HU of a trunk with two hollows, a spine, ribs and small strands, with `spheres` of 60 HU."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    values = np.full(x.shape, -1000.0)

    def ellipsoid(centre: Sequence[float], radii: Sequence[float], value: float) -> None:
        away = sum(
            ((one - middle) / radius) ** 2
            for one, middle, radius in zip((x, y, z), centre, radii, strict=True)
        )
        values[np.asarray(away) < 1] = value

    values[((x / 105) ** 2 + (y / 75) ** 2 < 1) & (abs(z) < 400)] = 40
    ellipsoid((-48, -5, 0), (40, 55, 95), -850)
    ellipsoid((48, 0, 8), (36, 52, 85), -850)
    ellipsoid((12, -22, -28), (34, 32, 38), 45)
    ellipsoid((-40, 5, -105), (55, 50, 45), 70)
    values[(x / 15) ** 2 + ((y - 50) / 13) ** 2 < 1] = 400
    for number in range(-5, 6):
        for side in (-1, 1):
            ellipsoid((side * 90, 10 + 2 * number, number * 20 + 3 * side), (9, 30, 5), 500)
    places = np.random.default_rng(3)
    for _ in range(40):
        centre, radius = places.uniform((-80, -45, -80), (80, 45, 80)), places.uniform(2.5, 5)
        away = (x - centre[0]) ** 2 + (y - centre[1]) ** 2 + ((z - centre[2]) / 3) ** 2
        values[(away < radius**2) & (values < -800)] = 20
    for centre, diameter in spheres:
        ellipsoid(centre, [diameter / 2] * 3, 60)
    return values


def skull(points: Array) -> Array:
    """HU of a head: another body part."""
    x, y, z = points[..., 0], points[..., 1], points[..., 2]
    values = np.full(x.shape, -1000.0)
    away = (x / 72) ** 2 + (y / 90) ** 2 + (z / 85) ** 2
    values[away < 1] = 900
    values[away < 0.86] = 35
    values[(x / 15) ** 2 + ((y + 5) / 30) ** 2 + (z / 15) ** 2 < 1] = 5
    return values


@dataclass(frozen=True)
class Grid:
    """How a series is cut: columns, rows and slices, mm between them, directions, first pixel."""

    size: tuple[int, int, int]
    spacing: tuple[float, float, float]
    origin: tuple[float, float, float]
    directions: tuple[tuple[float, float, float], tuple[float, float, float]] = AXIAL

    @property
    def affine(self) -> Array:
        row, column = (np.array(one) for one in self.directions)
        matrix = np.eye(4)
        matrix[:3, 0], matrix[:3, 1] = row * self.spacing[0], column * self.spacing[1]
        matrix[:3, 2] = np.cross(row, column) * self.spacing[2]
        matrix[:3, 3] = self.origin
        return matrix

    def pixel(self, point: Sequence[float]) -> tuple[float, float, float]:
        """Column, row and slice of a place in mm."""
        x, y, z = (np.linalg.inv(self.affine) @ (*point, 1.0))[:3].tolist()
        return x, y, z


def write_series(
    folder: Path,
    grid: Grid,
    body: Callable[[Array], Array],
    *,
    date: str,
    moved: Array | None = None,
    seed: int = 0,
    **attributes: Any,
) -> list[Path]:
    """Write a CT series of a body that `moved` takes to its place; the files in slice order.

    `attributes` replace those of each file, None leaves one out.
    """
    folder.mkdir(parents=True)
    columns, rows, slices = grid.size
    k, j, i = np.mgrid[:slices, :rows, :columns]
    points = np.stack([i, j, k], -1) @ grid.affine[:3, :3].T + grid.affine[:3, 3]
    if moved is not None:
        back = np.linalg.inv(moved)
        points = points @ back[:3, :3].T + back[:3, 3]
    values = body(points) + np.random.default_rng(seed).normal(0, 12, points.shape[:-1])
    stored = np.clip(np.rint(values + 1024), 0, 4095).astype("<u2")
    study = attributes.pop("StudyInstanceUID", f"1.2.3.{date}")
    paths: list[Path] = []
    for number in range(slices):
        made = Dataset()
        made.file_meta = FileMetaDataset()
        made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        made.file_meta.MediaStorageSOPClassUID = made.SOPClassUID = CTImageStorage
        made.SOPInstanceUID = generate_uid(entropy_srcs=[study, str(folder.name), str(number)])
        made.file_meta.MediaStorageSOPInstanceUID = made.SOPInstanceUID
        made.StudyInstanceUID, made.SeriesInstanceUID = study, f"{study}.1"
        made.FrameOfReferenceUID = f"{study}.9"
        made.PatientName, made.PatientID = "Doe^Jane", "4711"
        made.PatientBirthDate, made.PatientSex = "19600101", "F"
        made.Modality, made.InstanceNumber, made.SeriesNumber = "CT", number + 1, 1
        made.StudyDate, made.SeriesDescription, made.StudyDescription = date, "Axial", "CT"
        made.Rows, made.Columns = rows, columns
        made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
        made.BitsAllocated, made.BitsStored, made.HighBit, made.PixelRepresentation = 16, 12, 11, 0
        made.RescaleSlope, made.RescaleIntercept, made.RescaleType = 1, -1024, "HU"
        made.WindowCenter, made.WindowWidth = 40, 400
        made.PixelSpacing = [grid.spacing[1], grid.spacing[0]]
        made.SliceThickness = grid.spacing[2]
        made.ImageOrientationPatient = [*grid.directions[0], *grid.directions[1]]
        place = (grid.affine @ (0, 0, number, 1))[:3]
        made.ImagePositionPatient = [round(float(one), 4) for one in place]
        made.PixelData = stored[number].tobytes()
        for name, value in attributes.items():
            if value is None:
                delattr(made, name)
            else:
                setattr(made, name, value)
        path = folder / f"{number:03}.dcm"
        made.save_as(path, enforce_file_format=True)
        paths.append(path)
    return paths
