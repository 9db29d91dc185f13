"""Images and objects that draw over them, made by tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.uid import generate_uid

from app.imaging.layers import LayerFrame
from app.imaging.objects.layer_reading import read_layer_frame
from app.imaging.reading.image_entries import read_instance
from app.imaging.types import Instance
from tests.unit.imaging.files import item, make_dicom

SPACE = "1.2.826.0.1.5.1"
AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
CT = "1.2.840.10008.5.1.4.1.1.2"
SEG = "1.2.840.10008.5.1.4.1.1.66.4"
LABEL_MAP = "1.2.840.10008.5.1.4.1.1.66.7"
RTSTRUCT = "1.2.840.10008.5.1.4.1.1.481.3"
ANNOTATIONS = "1.2.840.10008.5.1.4.1.1.91.1"

Array = NDArray[Any]


def make_slice(path: Path, z: float = 0.0, shape: tuple[int, ...] = (10, 12), **over: Any) -> Path:
    """A CT slice at z mm, 2 mm between rows and 0.5 mm between columns."""
    elements: dict[str, Any] = {
        "SOPClassUID": CT,
        "SOPInstanceUID": generate_uid(),
        "FrameOfReferenceUID": SPACE,
        "ImagePositionPatient": [-30.0, 40.0, z],
        "ImageOrientationPatient": list(AXIAL),
        "PixelSpacing": [2.0, 0.5],
        "SliceThickness": 3.0,
    }
    return make_dicom(path, np.zeros(shape, np.uint16), **(elements | over))


def frame_group(
    segment: int | None = 1,
    position: tuple[float, float, float] | None = None,
    names: Sequence[tuple[str, int | None]] | None = None,
) -> Dataset:
    """An item of the Per-frame Functional Groups Sequence."""
    group = item()
    if segment is not None:
        group.SegmentIdentificationSequence = [item(ReferencedSegmentNumber=segment)]
    if position is not None:
        group.PlanePositionSequence = [item(ImagePositionPatient=list(position))]
    if names:
        images: list[Dataset] = []
        for uid, frame in names:
            image = item(ReferencedSOPClassUID=CT, ReferencedSOPInstanceUID=uid)
            if frame is not None:
                image.ReferencedFrameNumber = frame
            images.append(image)
        group.DerivationImageSequence = [item(SourceImageSequence=images)]
    return group


def make_seg(path: Path, frames: Array, groups: list[Dataset], **over: Any) -> Path:
    """A segmentation of 8 bits a pixel: [frames, rows, columns] uint8; FRACTIONAL by default."""
    numbers = sorted(
        {
            int(group.SegmentIdentificationSequence[0].ReferencedSegmentNumber)
            for group in groups
            if "SegmentIdentificationSequence" in group
        }
    )
    shared = item(
        PlaneOrientationSequence=[item(ImageOrientationPatient=list(AXIAL))],
        PixelMeasuresSequence=[item(PixelSpacing=[2.0, 0.5], SliceThickness=3.0)],
    )
    elements: dict[str, Any] = {
        "SOPClassUID": SEG,
        "SOPInstanceUID": generate_uid(),
        "FrameOfReferenceUID": SPACE,
        "NumberOfFrames": len(frames),
        "SegmentationType": "FRACTIONAL",
        "MaximumFractionalValue": 255,
        "SegmentSequence": [item(SegmentNumber=n, SegmentLabel=f"part {n}") for n in numbers],
        "PerFrameFunctionalGroupsSequence": groups,
        "SharedFunctionalGroupsSequence": [shared],
    }
    return make_dicom(path, frames.astype(np.uint8), **(elements | over))


def contour(
    points: Array, kind: str = "CLOSED_PLANAR", names: list[str] | None = None, **over: Any
) -> Dataset:
    """An item of the Contour Sequence from [n, 3] mm."""
    one = item(
        ContourGeometricType=kind,
        NumberOfContourPoints=len(points),
        ContourData=[f"{value:.10g}" for value in np.ravel(points)],
    )
    if names:
        one.ContourImageSequence = [
            item(ReferencedSOPClassUID=CT, ReferencedSOPInstanceUID=uid) for uid in names
        ]
    for keyword, value in over.items():
        setattr(one, keyword, value)
    return one


def make_structures(path: Path, regions: dict[int, list[Dataset]], **over: Any) -> Path:
    """An RT structure set: ROI Number -> its contours."""
    elements: dict[str, Any] = {
        "SOPClassUID": RTSTRUCT,
        "SOPInstanceUID": generate_uid(),
        "Modality": "RTSTRUCT",
        "Rows": None,
        "Columns": None,
        "PixelData": None,
        "StructureSetLabel": "plan 1",
        "StructureSetROISequence": [
            item(ROINumber=n, ROIName=f"organ {n}", ReferencedFrameOfReferenceUID=SPACE)
            for n in regions
        ],
        "ROIContourSequence": [
            item(ReferencedROINumber=n, ROIDisplayColor=[255, n, 0], ContourSequence=contours)
            for n, contours in regions.items()
        ],
    }
    return make_dicom(path, **(elements | over))


def drawn(layer: Path | Instance, image: Path | Instance, index: int = 0) -> LayerFrame:
    """What a file draws on a frame of another."""
    one = layer if isinstance(layer, Instance) else read_instance(layer)
    target = image if isinstance(image, Instance) else read_instance(image)
    return read_layer_frame(one, target, index)
