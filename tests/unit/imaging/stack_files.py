"""Stacks of slices that tests make themselves, as frames in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
from numpy.typing import NDArray

from app.imaging.files.identity import pixel_sha256
from app.imaging.space.volumes import Assembly
from app.imaging.types import Frame, ImageRef, Orientation, Spacing, SpacingSource, Volume
from tests.unit.imaging.files import item, make_dicom

Array = NDArray[Any]
Field = Callable[[Array], Array]


def place(cosines: Sequence[float], position: Sequence[float]) -> Orientation:
    a, b, c, d, e, f = (float(v) for v in cosines)
    x, y, z = (float(v) for v in position)
    return Orientation(cosines=(a, b, c, d, e, f), position=(x, y, z))


def slice_frame(
    stored: Array,
    cosines: Sequence[float],
    position: Sequence[float],
    spacing: tuple[float, float] = (1.0, 1.0),
    **changes: Any,
) -> Frame:
    """A slice; spacing is (between rows, between columns)."""
    return Frame(
        stored,
        ImageRef("1", 0, pixel_sha256(stored)),
        spacing=Spacing(*spacing, SpacingSource.PATIENT, spacing[0] / spacing[1]),
        orientation=place(cosines, position),
        **changes,
    )


def sampled_slice(
    field: Field,
    shape: tuple[int, int],
    cosines: Sequence[float],
    position: Sequence[float],
    spacing: tuple[float, float] = (1.0, 1.0),
) -> Frame:
    """A slice that samples a function of patient coordinates ([..., 3] mm -> values)."""
    row, column = np.array(cosines[:3], float), np.array(cosines[3:], float)
    y, x = np.mgrid[: shape[0], : shape[1]].astype(float)
    points = (
        np.array(position, float)
        + x[..., None] * spacing[1] * row
        + y[..., None] * spacing[0] * column
    )
    return slice_frame(field(points), cosines, position, spacing)


def enhanced_mr(
    path: Path, order: Sequence[int], cosines: Sequence[float], step: float = 3.0, phases: int = 1
) -> Path:
    """An enhanced MR whose frames lie in their own places; frame n is slice `order[n]`.

    Pixels are 0.5 mm high and 0.75 mm wide; the values of slice k start at 1000 * k, those of
    later phases are higher by 1.
    """
    normal = np.cross(np.array(cosines[:3]), np.array(cosines[3:]))
    first = np.arange(16 * 20, dtype=np.uint16).reshape(16, 20)
    wanted = [(phase, k) for phase in range(phases) for k in order]
    pixels = np.stack([first + np.uint16(1000 * k + phase) for phase, k in wanted])
    frames = [
        item(
            PlanePositionSequence=[
                item(ImagePositionPatient=[float(v) for v in (10, 20, 30) + step * k * normal])
            ],
            FrameContentSequence=[
                item(StackID="1", InStackPositionNumber=k + 1, TemporalPositionIndex=phase + 1)
            ],
        )
        for phase, k in wanted
    ]
    shared = item(
        PixelMeasuresSequence=[item(PixelSpacing=[0.5, 0.75], SliceThickness=step)],
        PlaneOrientationSequence=[item(ImageOrientationPatient=list(cosines))],
    )
    make_dicom(
        path,
        pixels,
        Modality="MR",
        SOPClassUID="1.2.840.10008.5.1.4.1.1.4.1",
        NumberOfFrames=len(frames),
        FrameOfReferenceUID="1.2.9",
        SharedFunctionalGroupsSequence=[shared],
        PerFrameFunctionalGroupsSequence=frames,
    )
    dataset = pydicom.dcmread(path)
    dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID
    dataset.save_as(path)
    return path


def assemble(frames: Sequence[Frame], path: Path | None = None) -> Volume:
    """The volume of frames that are at hand, in any order."""
    assembly = Assembly(path or Path(), len(frames))
    for place, frame in enumerate(frames):
        assembly.put(place, frame)
    return assembly.volume()
