"""The attributes that an instance carries from its header. Runs in a worker process."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydicom.datadict import dictionary_VR, tag_for_keyword
from pydicom.dataelem import RawDataElement
from pydicom.tag import BaseTag

from app.imaging.dicom.dicom_file import Header, read_header
from app.imaging.dicom.frame_attributes import FrameAttributes
from app.imaging.dicom.frame_places import frames_geometry, private_b_value
from app.imaging.dicom.view_codes import view_code
from app.imaging.files import sources
from app.imaging.space import projections
from app.imaging.space.stacks import STACK_KEYWORD

ATTRIBUTES = tuple(
    """
    SpecificCharacterSet ImageType SOPClassUID StudyInstanceUID SeriesInstanceUID
    FrameOfReferenceUID PatientName PatientID PatientBirthDate PatientSex PatientAge StudyDate
    StudyTime StudyDescription StudyID AccessionNumber ReferringPhysicianName InstitutionName
    Modality SeriesNumber SeriesDescription SeriesDate SeriesTime AcquisitionNumber
    AcquisitionDate AcquisitionTime ContentDate ContentTime InstanceNumber BodyPartExamined
    ViewPosition Laterality ImageLaterality PatientOrientation PatientPosition ProtocolName
    Manufacturer ManufacturerModelName PhotometricInterpretation BitsAllocated BitsStored
    PixelRepresentation SamplesPerPixel NumberOfFrames PixelSpacing ImagerPixelSpacing
    NominalScannedPixelSpacing EstimatedRadiographicMagnificationFactor SliceThickness
    SpacingBetweenSlices SliceLocation ImagePositionPatient ImageOrientationPatient WindowCenter
    WindowWidth RescaleSlope RescaleIntercept RescaleType Units KVP ExposureTime
    XRayTubeCurrent Exposure EchoTime RepetitionTime LossyImageCompression
    LossyImageCompressionRatio LossyImageCompressionMethod BurnedInAnnotation
    PixelIntensityRelationship PresentationLUTShape DerivationDescription
    ContentLabel ContentDescription StructureSetLabel DocumentTitle
    IssuerOfPatientID AnatomicalOrientationType GantryDetectorTilt TemporalPositionIdentifier
    TriggerTime NominalPercentageOfCardiacPhase EchoNumbers DiffusionBValue InversionTime FlipAngle
    ConvolutionKernel ContrastBolusAgent
    """.split()  # noqa: SIM905 - a list of 70 literals reads worse
)
"""Attributes that an Instance carries (`Instance.attributes`), and TransferSyntaxUID."""
MAX_TEXT = 1024
"""Letters of one that are kept."""

READ = tuple(
    (keyword, BaseTag(tag), dictionary_VR(tag))
    for keyword in ATTRIBUTES
    if (tag := tag_for_keyword(keyword)) is not None
)
"""Keyword, tag and VR of each of `ATTRIBUTES`."""


def attribute_texts(header: Header) -> dict[str, str]:
    """The texts of `ATTRIBUTES` that the file has, and TransferSyntaxUID."""
    texts = _texts(header)
    attributes = FrameAttributes(header, 0)
    for keyword in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing"):
        texts[keyword] = texts.get(keyword) or attributes.text(keyword)
    texts["DiffusionBValue"] = texts.get("DiffusionBValue") or private_b_value(header)
    texts[STACK_KEYWORD] = frames_geometry(header)
    texts[projections.KEYWORD] = view_code(header.dataset)
    texts["TransferSyntaxUID"] = str(header.syntax)
    return {keyword: text[:MAX_TEXT] for keyword, text in texts.items() if text}


def _texts(header: Header) -> dict[str, str]:
    """`header.text` of each of `ATTRIBUTES`; codes, UIDs, dates and times without a parser.

    Reading headers takes most of the time in which a large folder opens, and most of that were
    values made of plain text only to be made text again.
    """
    elements = dict(header.dataset.items())
    texts: dict[str, str] = {}
    for keyword, tag, vr in READ:
        element = elements.get(tag)
        if element is None:
            continue
        plain = None
        if isinstance(element, RawDataElement) and element.VR in (vr, None):
            plain = plain_text(vr, element.value)
        texts[keyword] = header.text(keyword) if plain is None else plain
    return texts


def plain_text(vr: str, raw: Any) -> str | None:
    """A value's text where it is that of the file; None where a parser must have its say."""
    looks_right = _PLAIN.get(vr)
    if looks_right is None or not isinstance(raw, bytes) or not raw.isascii() or b"\x1b" in raw:
        return None
    parts = [part.strip() for part in raw.decode("ascii").rstrip(" \0").split("\\")]
    return "\\".join(parts) if all(map(looks_right, parts)) else None


def _any(part: str) -> bool:
    return "\0" not in part


def _is_name(part: str) -> bool:
    return "\0" not in part and "=" not in part


def _is_decimal(part: str) -> bool:
    return _DECIMAL.fullmatch(part) is not None


def _is_whole(part: str) -> bool:
    return _WHOLE.fullmatch(part) is not None


_DECIMAL = re.compile(r"[+-]?\d{1,20}(\.\d{0,20})?([eE][+-]?\d{1,2})?")
_WHOLE = re.compile(r"[+-]?\d{1,9}")
_PLAIN = dict.fromkeys(("AS", "CS", "DA", "LO", "SH", "TM", "UI"), _any) | {
    "DS": _is_decimal,
    "IS": _is_whole,
    "PN": _is_name,
}
"""VRs whose values are the text that stands in the file -> how such a value looks. All character
sets agree on what is ASCII (PS3.5 6.1.2)."""


@lru_cache(maxsize=4)
def cached_header(path: Path, status: sources.FileStatus) -> Header:
    """The header, kept while the frames of one cine are asked for one by one."""
    return read_header(path)
