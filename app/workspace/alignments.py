"""Registrations of open series to earlier ones: where a place of one lies in the other."""

from __future__ import annotations

from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import XYZ, FramePlane, Instance
from app.workspace.signals import Signal

_Space = tuple[str, str]
_Places = Sequence[Sequence[float]]


class Alignments:
    """Rigid matrices between the patient coordinates (LPS, mm) of two studies' series.

    Attributes:
        changed: Emitted when there is one more, or one less.
    """

    def __init__(self) -> None:
        self._matrices: dict[tuple[_Space, _Space], NDArray[np.float64]] = {}
        self._pairs: dict[tuple[_Space, _Space], list[NDArray[np.float64]]] = {}
        self.changed: Signal[()] = Signal()

    def add(
        self, current: Instance, prior: Instance, to_prior: _Places, pairs: Sequence[_Places] = ()
    ) -> None:
        """Take over the [4, 4] matrix from places of the current series to those of the prior.

        `pairs` are places (mm) of one thing, such as a mark, on the current and the prior series.
        """
        matrix = np.array(to_prior, np.float64)
        one, other = _space(current), _space(prior)
        self._matrices[one, other] = matrix
        self._matrices[other, one] = np.linalg.inv(matrix).astype(np.float64)
        self._pairs[one, other] = [np.array(pair, np.float64) for pair in pairs]
        self._pairs[other, one] = [np.array(pair[::-1], np.float64) for pair in pairs]
        self.changed.emit()

    def moved(self, one: Instance, other: Instance, place: XYZ) -> XYZ | None:
        """Return where a place (mm) of one series lies in another; None if they aren't aligned."""
        matrix = self._matrices.get((_space(one), _space(other)))
        if matrix is None:
            return None
        x, y, z = (matrix @ (*place, 1.0))[:3].tolist()
        return x, y, z

    def beside(self, one: Instance, other: Instance, plane: FramePlane, middle: XYZ) -> XYZ | None:
        """Return the place (mm) of another series that is shown beside a slice of one.

        The slices are matched at the pair of marks nearest to that slice, so that those of a pair
        stand beside each other though the registration is some mm off there; without pairs at
        `middle`, the slice's middle. None if the two aren't aligned.
        """
        pairs = self._pairs.get((_space(one), _space(other)))
        if not pairs:
            return self.moved(one, other, middle)
        own, theirs = min(pairs, key=lambda pair: abs(plane.pixel(_xyz(pair[0]))[2]))
        x, y, _ = plane.pixel(_xyz(own))
        there, expected = (
            self.moved(one, other, place) for place in (plane.point(x, y), _xyz(own))
        )
        if there is None or expected is None:
            return None
        return _xyz(np.array(there) + theirs - np.array(expected))

    def forget(self, studies: Container[str]) -> None:
        """Forget those of closed studies, by Study Instance UID."""
        gone = [pair for pair in self._matrices if any(one in studies for one, _ in pair)]
        for pair in gone:
            del self._matrices[pair], self._pairs[pair]
        if gone:
            self.changed.emit()


def _space(one: Instance) -> _Space:
    """Return what places of an image are told apart by: the study, and its frame of reference."""
    frame = one.get("FrameOfReferenceUID") or one.get("SeriesInstanceUID")
    return one.get("StudyInstanceUID"), frame


def _xyz(place: NDArray[np.float64]) -> XYZ:
    x, y, z = place.tolist()
    return x, y, z
