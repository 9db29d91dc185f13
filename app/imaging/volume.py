"""Types of volumes: voxels with their position in the patient."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Frame


class Plane(StrEnum):
    """The anatomical plane of sections."""

    ACQUIRED = "acquired"
    AXIAL = "axial"
    CORONAL = "coronal"
    SAGITTAL = "sagittal"


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """Voxels on a regular grid.

    Attributes:
        voxels: [k, j, i]: slice, row, column. Stored values when all slices share one rescale,
            else modality values as float32.
        affine: [4, 4] float64: (i, j, k, 1) -> patient mm, LPS. Voxel centres have integer
            coordinates.
        template: One of its frames, for rescale, windows and names; its pixels are not used.
        slices: Position in the series of the frame at each k; () where it was resampled.
        warnings: For example "resampled to a slice distance of 1.08 mm: the acquired one
            changes".
    """

    voxels: NDArray[Any]
    affine: NDArray[np.float64]
    template: Frame
    warnings: tuple[str, ...] = ()
    slices: tuple[int, ...] = ()

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Distance of voxel centres along i, j and k in mm, as SimpleITK's GetSpacing."""
        x, y, z = (float(np.linalg.norm(self.affine[:3, axis])) for axis in range(3))
        return x, y, z

    @property
    def direction(self) -> NDArray[np.float64]:
        """[3, 3] unit vectors of i, j and k as columns, as SimpleITK's GetDirection."""
        return self.affine[:3, :3] / np.asarray(self.spacing)

    @property
    def origin(self) -> tuple[float, float, float]:
        """Patient coordinates (LPS, mm) of voxel (0, 0, 0)."""
        x, y, z = (float(part) for part in self.affine[:3, 3])
        return x, y, z
