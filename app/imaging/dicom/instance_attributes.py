"""The attributes that an instance carries from its header. Runs in a worker process."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

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


def attribute_texts(header: Header) -> dict[str, str]:
    """The texts of `ATTRIBUTES` that the file has, and TransferSyntaxUID."""
    texts = {keyword: header.text(keyword) for keyword in ATTRIBUTES}
    attributes = FrameAttributes(header, 0)
    for keyword in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing"):
        texts[keyword] = texts.get(keyword) or attributes.text(keyword)
    texts["DiffusionBValue"] = texts.get("DiffusionBValue") or private_b_value(header)
    texts[STACK_KEYWORD] = frames_geometry(header)
    texts[projections.KEYWORD] = view_code(header.dataset)
    texts["TransferSyntaxUID"] = str(header.syntax)
    return {keyword: text[:MAX_TEXT] for keyword, text in texts.items() if text}


@lru_cache(maxsize=4)
def cached_header(path: Path, status: sources.FileStatus) -> Header:
    """The header, kept while the frames of one cine are asked for one by one."""
    return read_header(path)
