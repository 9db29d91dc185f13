"""Masks as DICOM segmentations (PS3.3 A.51), BINARY; numbered objects as label maps.

Runs in a worker process.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from highdicom import AlgorithmIdentificationSequence, seg
from numpy.typing import NDArray
from pydicom.dataset import Dataset
from pydicom.pixels.utils import pack_bits
from pydicom.sr.coding import Code as DicomCode

from app.errors import FileProblem
from app.imaging.findings import Finding, Instances, Mask
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

    Without masks, the first finding of numbered objects becomes a label map, with a segment for
    each object; other such findings are left out.

    Raises:
        FileProblem: There is no mask, or the masks lie on different series or sizes of images.
    """
    every = sources.export.findings
    numbered = [one for one in every if isinstance(one.geometry, Instances)]
    masks = [one for one in every if isinstance(one.geometry, Mask)] or numbered[:1]
    for one in numbered:
        if one is not masks[0]:
            sources.leave_out(one, "numbered objects need a segmentation of their own")
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
    shape = len(places), int(images[0].Rows), int(images[0].Columns)
    filled = _label_map if masks[0] in numbered else _binary
    pixels, kind, descriptions = filled(masks, places, shape)
    settings: dict[str, Any] = {
        "segmentation_type": kind,
        "segment_descriptions": descriptions,
        "content_label": "SIGHTLINE",
        "content_description": state_text(masks[0])[:64],
        **MAKER,
        **sources.new,
    }
    if several and "SharedFunctionalGroupsSequence" not in images[0]:
        if pixels.ndim == 3:
            raise FileProblem(
                "numbered objects on such a multi-frame image have no form in a segmentation",
                subject=path,
                remedy="Export them as a table or a picture.",
            )
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


_Content = tuple[NDArray[Any], seg.SegmentationTypeValues, list[seg.SegmentDescription]]


def _binary(masks: list[Finding], places: list[Place], shape: tuple[int, int, int]) -> _Content:
    """Return a plane for each segment [places, rows, columns, segments], and what they are."""
    segments = _segments(masks)
    pixels = np.zeros((*shape, len(segments)), np.uint8)
    for number, parts in enumerate(segments):
        for place, finding in parts.items():
            assert isinstance(finding.geometry, Mask)
            pixels[places.index(place), :, :, number] = finding.geometry.pixels
    colors = colors_of(masks)
    firsts = [next(iter(parts.values())) for parts in segments]
    described = [
        _description(number, one, colors[one.label]) for number, one in enumerate(firsts, 1)
    ]
    return pixels, seg.SegmentationTypeValues.BINARY, described


def _label_map(masks: list[Finding], places: list[Place], shape: tuple[int, int, int]) -> _Content:
    """Return segment numbers [places, rows, columns] from 1; labels keep objects' numbers."""
    finding = masks[0]
    assert isinstance(finding.geometry, Instances)
    labels = finding.geometry.labels
    numbers = np.unique(labels[labels > 0])
    if len(numbers) > np.iinfo(np.uint16).max:
        raise FileProblem(
            f"{len(numbers):,} objects are too many for a segmentation",
            remedy="Export them as a table or a picture.",
        )
    pixels = np.zeros(shape, np.uint16)
    at = places.index((finding.image.sop_instance_uid, finding.image.frame))
    pixels[at] = np.where(labels > 0, np.searchsorted(numbers, labels) + 1, 0)
    color = colors_of(masks)[finding.label]
    described: list[seg.SegmentDescription] = []
    for segment, number in enumerate(numbers.tolist(), 1):
        one = replace(finding, id=f"{finding.id}-{number}", label=f"{finding.label} {number}")
        described.append(_description(segment, one, color))
    return pixels, seg.SegmentationTypeValues.LABELMAP, described


def _frame_by_frame(image: Dataset, pixels: NDArray[Any], settings: dict[str, Any]) -> Dataset:
    """Return a SEG of a multi-frame image without groups; highdicom 0.28 writes single frames."""
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
