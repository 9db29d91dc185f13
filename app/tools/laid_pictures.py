"""A picture that shows one open image moved to lie on another: whose it is, and how it lies.

What it shows is the first's: patient, date, view, synthetic mark. How it hangs is the other's, in
whose pixels it was made; and so are its pixels' sizes, by the scale of the movement.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.imaging.files import synthetic
from app.imaging.types import Frame, Orientation, Spacing
from app.tools.api import ImageSnapshot, LaidOn

_OF_THE_PIXELS = frozenset(
    """
    PhotometricInterpretation BitsAllocated BitsStored PixelRepresentation
    SamplesPerPixel NumberOfFrames PixelSpacing ImagerPixelSpacing NominalScannedPixelSpacing
    EstimatedRadiographicMagnificationFactor ImagePositionPatient ImageOrientationPatient
    PatientOrientation WindowCenter WindowWidth RescaleSlope RescaleIntercept RescaleType
    LossyImageCompression LossyImageCompressionRatio LossyImageCompressionMethod
    """.split()  # noqa: SIM905 - a list of 20 literals reads worse
)
"""Attributes that a moved picture has none of, or others. That it is a capture, or has text burnt
into it, it still is and has."""


def laid_snapshot(
    path: Path, frame: Frame, display: NDArray[np.uint8], source: ImageSnapshot, laid: LaidOn
) -> ImageSnapshot:
    """The picture at `path` as a tool sees it.

    Args:
        path: The picture.
        frame: Its own pixels.
        display: The same as uint8.
        source: What it shows.
        laid: In whose pixels, and how much larger.
    """
    lies = laid.image.frame.orientation
    instance = source.instance
    kept = {k: v for k, v in instance.attributes.items() if k not in _OF_THE_PIXELS}
    if lies.row and lies.column:
        kept["PatientOrientation"] = f"{lies.row}\\{lies.column}"
    model = kept.get(synthetic.ATTRIBUTE) or synthetic.file_model_title(path)
    if model:
        kept[synthetic.ATTRIBUTE] = model
    shown = replace(
        instance,
        path=path,
        sop_instance_uid=frame.ref.sop_instance_uid,
        rows=frame.rows,
        columns=frame.columns,
        frames=1,
        attributes=kept,
        part=0,
    )
    spacing, orientation = _spacing(source, laid), Orientation(lies.row, lies.column)
    frame = replace(frame, spacing=spacing, orientation=orientation)
    return ImageSnapshot(frame.ref, path, shown, frame, display, None, derived=True)


def _spacing(source: ImageSnapshot, laid: LaidOn) -> Spacing:
    """Millimetres of what is shown, which was made larger or smaller to fit.

    They rest on what the source's own do: by these the scale was found.
    """
    own, other = source.frame.spacing, laid.image.frame.spacing
    rows, columns = other.row_mm, other.column_mm
    if laid.scale is None or rows is None or columns is None or not own.known:
        note = "the spacing of an image that it was made from is unknown"
        return Spacing(aspect=other.aspect, note=note)
    return Spacing(rows * laid.scale, columns * laid.scale, own.source, other.aspect, own.note)
