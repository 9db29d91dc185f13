"""Registrations of open series to earlier ones: where a place of one lies in the other."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import XYZ, Instance
from app.workspace.signals import Signal

_Space = tuple[str, str]


class Alignments:
    """Rigid matrices between the patient coordinates (LPS, mm) of two studies' series.

    Attributes:
        changed: Emitted when there is one more, or one less.
    """

    def __init__(self) -> None:
        self._matrices: dict[tuple[_Space, _Space], NDArray[np.float64]] = {}
        self.changed: Signal[()] = Signal()

    def add(self, current: Instance, prior: Instance, to_prior: Sequence[Sequence[float]]) -> None:
        """Take over the [4, 4] matrix from places of the current series to those of the prior."""
        matrix = np.array(to_prior, np.float64)
        one, other = _space(current), _space(prior)
        self._matrices[one, other] = matrix
        self._matrices[other, one] = np.linalg.inv(matrix).astype(np.float64)
        self.changed.emit()

    def moved(self, one: Instance, other: Instance, place: XYZ) -> XYZ | None:
        """Return where a place (mm) of one series lies in another; None if they aren't aligned."""
        matrix = self._matrices.get((_space(one), _space(other)))
        if matrix is None:
            return None
        x, y, z = (matrix @ (*place, 1.0))[:3].tolist()
        return x, y, z

    def forget(self, studies: Container[str]) -> None:
        """Forget those of closed studies, by Study Instance UID."""
        gone = [pair for pair in self._matrices if any(one in studies for one, _ in pair)]
        for pair in gone:
            del self._matrices[pair]
        if gone:
            self.changed.emit()


def _space(one: Instance) -> _Space:
    """Return what places of an image are told apart by: the study, and its frame of reference."""
    frame = one.get("FrameOfReferenceUID") or one.get("SeriesInstanceUID")
    return one.get("StudyInstanceUID"), frame
