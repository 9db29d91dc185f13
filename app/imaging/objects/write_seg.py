"""Masks as DICOM segmentations (PS3.3 A.51), BINARY. Runs in a worker process."""

from __future__ import annotations

from typing import Any

import numpy as np
from highdicom import AlgorithmIdentificationSequence, seg
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.pixels.utils import pack_bits
from pydicom.sr.coding import Code as DicomCode

from app.errors import FileProblem
from app.imaging.findings import Finding, Mask
from app.imaging.objects.writing import (
    MAKER,
    Sources,
    algorithm,
    cielab,
    coded,
    colors_of,
    label_code,
    state_text,
    uid_of_id,
)

_CATEGORY = DicomCode("49755003", "SCT", "Morphologically Altered Structure")
_ANATOMY = DicomCode("123037004", "SCT", "Anatomical Structure")
_FAMILY = DicomCode("123109", "DCM", "Artificial Intelligence")
_SINGLE_FRAME = "1.2.840.10008.5.1.4.1.1.7"
Place = tuple[str, int]


def make(sources: Sources) -> Dataset:
    """Return a segmentation with a segment for each label of each tool.

    Raises:
        FileProblem: There is no mask, or the masks lie on different series or sizes of images.
    """
    masks = [one for one in sources.export.findings if isinstance(one.geometry, Mask)]
    path = str(sources.export.images[0].path)
    if not masks:
        raise FileProblem(
            "there is no mask to write",
            subject=path,
            remedy="Accept or draw a mask; other marks go into a structured report.",
        )
    used = {one.image.sop_instance_uid for one in masks}
    images = [one for one in sources.datasets if one.SOPInstanceUID in used]
    if len({(one.SeriesInstanceUID, one.Rows, one.Columns) for one in images}) > 1:
        raise FileProblem(
            "the masks lie on images of several series or sizes",
            subject=path,
            remedy="Write one segmentation for each series.",
        )
    several = any(int(one.get("NumberOfFrames") or 1) > 1 for one in images)
    if several and len(images) > 1:
        raise FileProblem(
            "the masks lie on several multi-frame images",
            subject=path,
            remedy="Write one segmentation for each image.",
        )
    places: list[Place] = [
        (one.SOPInstanceUID, frame)
        for one in images
        for frame in range(int(one.get("NumberOfFrames") or 1))
    ]
    for one in images:
        if "FrameOfReferenceUID" in one and "SliceThickness" not in one:
            one.SliceThickness = None  # highdicom expects it
    segments = _segments(masks)
    rows, columns = int(images[0].Rows), int(images[0].Columns)
    pixels = np.zeros((len(places), rows, columns, len(segments)), np.uint8)
    for number, parts in enumerate(segments):
        for place, finding in parts.items():
            assert isinstance(finding.geometry, Mask)
            pixels[places.index(place), :, :, number] = finding.geometry.pixels
    colors = colors_of(masks)
    firsts = [next(iter(parts.values())) for parts in segments]
    settings: dict[str, Any] = {
        "segmentation_type": seg.SegmentationTypeValues.BINARY,
        "segment_descriptions": [
            _description(number, one, colors[one.label]) for number, one in enumerate(firsts, 1)
        ],
        "content_label": "SIGHTLINE",
        "content_description": state_text(firsts[0])[:64],
        **MAKER,
        **sources.new,
    }
    if several and "SharedFunctionalGroupsSequence" not in images[0]:
        made = _frame_by_frame(images[0], pixels, settings)
    else:
        made = seg.Segmentation(source_images=images, pixel_array=pixels, **settings)
    shared = made.SharedFunctionalGroupsSequence[0]
    measures = shared.get("PixelMeasuresSequence") or [Dataset()]
    placed = "PlanePositionSequence" in made.PerFrameFunctionalGroupsSequence[0]
    if not (placed and made.get("FrameOfReferenceUID")) and not measures[0].get("SliceThickness"):
        # It is needed in space only, and readers refuse it when it is incomplete.
        shared.pop("PixelMeasuresSequence", None)
    if not placed and "PatientOrientation" not in made:
        made.PatientOrientation = images[0].get("PatientOrientation") or ""
    if any(one.state == "proposed" and algorithm(one) for one in masks):
        made.SeriesDescription = "Sightline: Segmentation, unverified"
    return made


def _frame_by_frame(image: Dataset, pixels: NDArray[np.uint8], settings: dict[str, Any]) -> Dataset:
    """Return a segmentation of a multi-frame image without functional groups, as of ultrasound.

    highdicom writes those of single frames only (0.28); here they are joined.
    """
    made: Dataset | None = None
    groups: list[Dataset] = []
    planes: list[NDArray[np.uint8]] = []
    for frame in np.flatnonzero(pixels.any(axis=(1, 2, 3))):
        single = Dataset()
        single.update(image)
        single.file_meta = image.file_meta
        del single.NumberOfFrames, single.SOPClassUID  # a change would be the image's, too
        single.NumberOfFrames, single.SOPClassUID = 1, _SINGLE_FRAME
        one = seg.Segmentation([single], pixels[frame : frame + 1], **settings)
        made = made if made is not None else one
        planes.append(one.pixel_array.reshape(-1, *pixels.shape[1:3]))
        for group in one.PerFrameFunctionalGroupsSequence:
            for derivation in group.DerivationImageSequence:
                for source in derivation.SourceImageSequence:
                    source.ReferencedSOPClassUID = image.SOPClassUID
                    source.ReferencedFrameNumber = int(frame) + 1
            groups.append(group)
    if made is None:
        raise FileProblem("the masks are empty", remedy="Draw or accept a mask.")
    for series in made.ReferencedSeriesSequence:
        for instance in series.ReferencedInstanceSequence:
            instance.ReferencedSOPClassUID = image.SOPClassUID
    made.PerFrameFunctionalGroupsSequence = groups
    made.NumberOfFrames = len(groups)
    made.PixelData = pack_bits(np.concatenate(planes).ravel())
    return made


def _segments(masks: list[Finding]) -> list[dict[Place, Finding]]:
    """Return the segments: findings of one label and origin, each on another frame."""
    found: dict[object, list[dict[Place, Finding]]] = {}
    for one in masks:
        key = (one.label, one.code, one.site, algorithm(one), state_text(one))
        place = (one.image.sop_instance_uid, one.image.frame)
        known = found.setdefault(key, [])
        free = next((parts for parts in known if place not in parts), None)
        if free is None:
            known.append(free := {})
        free[place] = one
    return [parts for known in found.values() for parts in known]


def _description(number: int, one: Finding, color: tuple[int, int, int]) -> seg.SegmentDescription:
    tool = algorithm(one)
    kind = seg.SegmentAlgorithmTypeValues
    how = kind.MANUAL
    if tool:
        how = kind.SEMIAUTOMATIC if one.state == "edited" or one.corrected else kind.AUTOMATIC
    return seg.SegmentDescription(
        segment_number=number,
        segment_label=(one.label or f"Segment {number}")[:64],
        segmented_property_category=_CATEGORY if one.site else _ANATOMY,
        segmented_property_type=label_code(one),
        algorithm_type=how,
        algorithm_identification=(
            AlgorithmIdentificationSequence(name=tool[0][:64], family=_FAMILY, version=tool[1][:64])
            if tool
            else None
        ),
        tracking_uid=uid_of_id(one.id),
        tracking_id=(one.label or "Segment")[:64],
        anatomic_regions=[coded(one.site)] if one.site else None,
        display_color=cielab(color),
    )
