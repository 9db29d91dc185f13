"""Types of volumes: voxels with their position in the patient."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import Frame


class Plane(StrEnum):
    """The plane in which sections lie: the acquired one or an anatomical one."""

    ACQUIRED = "acquired"
    AXIAL = "axial"
    CORONAL = "coronal"
    SAGITTAL = "sagittal"


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """Voxels on a regular grid.

    Attributes:
        voxels: Array [k, j, i]: slice, row, column. It holds stored values if all slices share one
            rescale, otherwise modality values as float32.
        affine: [4, 4] float64 matrix that maps (i, j, k, 1) to patient coordinates in mm, LPS.
            Voxel centres have integer coordinates.
        template: A frame that provides rescale, windows and names; its pixels are not used.
        slices: For each k, the index of its frame among all frames of the series; () if the volume
            was resampled.
        warnings: Warnings for the user, e.g. "resampled to a slice distance of 1.08 mm: the
            acquired one changes".
    """

    voxels: NDArray[Any]
    affine: NDArray[np.float64]
    template: Frame
    warnings: tuple[str, ...] = ()
    slices: tuple[int, ...] = ()

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Distances between voxel centres along i, j and k in mm, as in SimpleITK's GetSpacing."""
        x, y, z = (float(np.linalg.norm(self.affine[:3, axis])) for axis in range(3))
        return x, y, z

    @property
    def direction(self) -> NDArray[np.float64]:
        """[3, 3] matrix with columns i, j and k (unit vectors), as in SimpleITK's GetDirection."""
        return self.affine[:3, :3] / np.asarray(self.spacing)
