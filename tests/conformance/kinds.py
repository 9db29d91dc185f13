"""One example of every kind of file, made from what packages ship; nothing is copied into here."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pydicom.data
from PIL import Image, ImageDraw
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import UID, ExplicitVRLittleEndian, generate_uid

from tests.conformance.files import data_store

TEST_FILES = Path(pydicom.data.__file__).parent / "test_files"


@dataclass(frozen=True, slots=True)
class Kind:
    """A picture of the contact sheet.

    Attributes:
        title: Under the picture.
        make: Puts the example into a folder and returns what to open.
        options: Further arguments of `render`.
    """

    title: str
    make: Callable[[Path], Path]
    options: tuple[str, ...] = ()


def _shipped(name: str) -> Callable[[Path], Path]:
    def make(_folder: Path) -> Path:
        own = TEST_FILES / name
        return own if own.exists() else data_store() / name

    return make


def new_object(sop_class: str, modality: str, like: Dataset) -> FileDataset:
    """An empty object of the same patient, study and frame of reference as an image."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = UID(sop_class)
    meta.MediaStorageSOPInstanceUID = generate_uid()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made = FileDataset("", {}, file_meta=meta, preamble=b"\0" * 128)
    made.SOPClassUID = sop_class
    made.SOPInstanceUID = meta.MediaStorageSOPInstanceUID
    for keyword in (
        "PatientName",
        "PatientID",
        "PatientBirthDate",
        "StudyInstanceUID",
        "StudyDate",
    ):
        setattr(made, keyword, like.get(keyword, ""))
    made.FrameOfReferenceUID = like.get("FrameOfReferenceUID", generate_uid())
    made.SeriesInstanceUID = generate_uid()
    made.SeriesNumber = 99
    made.InstanceNumber = 1
    made.Modality = modality
    return made


def _reference(image: Dataset) -> Dataset:
    item = Dataset()
    item.ReferencedSOPClassUID = image.SOPClassUID
    item.ReferencedSOPInstanceUID = image.SOPInstanceUID
    return item


def _ct(folder: Path) -> Dataset:
    """CT_small in a folder, with a position that contours can be given in."""
    path = folder / "ct.dcm"
    shutil.copyfile(TEST_FILES / "CT_small.dcm", path)
    return pydicom.dcmread(path)


def structure_set(folder: Path) -> Path:
    """CT_small with an RTSTRUCT: a circle of 12 mm radius round the middle of the image."""
    image = _ct(folder)
    origin = np.array([float(v) for v in image.ImagePositionPatient])
    row, column = np.array([float(v) for v in image.ImageOrientationPatient]).reshape(2, 3)
    spacing = [float(v) for v in image.PixelSpacing]
    center = origin + row * spacing[1] * 64 + column * spacing[0] * 64
    angles = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    points = [center + 12 * (np.cos(a) * row + np.sin(a) * column) for a in angles]
    made = new_object("1.2.840.10008.5.1.4.1.1.481.3", "RTSTRUCT", image)
    made.StructureSetLabel = "Example"
    roi = Dataset()
    roi.ROINumber, roi.ROIName = 1, "Circle of 12 mm"
    roi.ReferencedFrameOfReferenceUID = image.FrameOfReferenceUID
    roi.ROIGenerationAlgorithm = "MANUAL"
    made.StructureSetROISequence = [roi]
    contour = Dataset()
    contour.ContourGeometricType = "CLOSED_PLANAR"
    contour.NumberOfContourPoints = len(points)
    contour.ContourData = [f"{v:.5f}" for point in points for v in point]
    contour.ContourImageSequence = [_reference(image)]
    drawn = Dataset()
    drawn.ReferencedROINumber, drawn.ROIDisplayColor = 1, [0, 220, 120]
    drawn.ContourSequence = [contour]
    made.ROIContourSequence = [drawn]
    made.save_as(folder / "structures.dcm", enforce_file_format=True)
    return folder


def presentation_state(folder: Path) -> Path:
    """CT_small with a GSPS: another window, a circular shutter, a line and a text."""
    image = _ct(folder)
    made = new_object("1.2.840.10008.5.1.4.1.1.11.1", "PR", image)
    made.ContentLabel = "EXAMPLE"
    made.ContentDescription = "A narrow window, a shutter and a note"
    series = Dataset()
    series.SeriesInstanceUID = image.SeriesInstanceUID
    series.ReferencedImageSequence = [_reference(image)]
    made.ReferencedSeriesSequence = [series]
    # Without a modality transformation of its own a state takes stored values as they are.
    made.RescaleIntercept, made.RescaleSlope = image.RescaleIntercept, image.RescaleSlope
    made.RescaleType = "HU"
    voi = Dataset()
    voi.WindowCenter, voi.WindowWidth = "40", "350"
    made.SoftcopyVOILUTSequence = [voi]
    made.PresentationLUTShape = "IDENTITY"
    area = Dataset()
    area.DisplayedAreaTopLeftHandCorner = [1, 1]
    area.DisplayedAreaBottomRightHandCorner = [int(image.Columns), int(image.Rows)]
    area.PresentationSizeMode = "SCALE TO FIT"
    area.PresentationPixelAspectRatio = [1, 1]
    made.DisplayedAreaSelectionSequence = [area]
    made.ShutterShape = "CIRCULAR"
    made.CenterOfCircularShutter = [64, 64]
    made.RadiusOfCircularShutter = 60
    made.ShutterPresentationValue = 0
    layer = Dataset()
    layer.GraphicLayer, layer.GraphicLayerOrder = "NOTES", 1
    made.GraphicLayerSequence = [layer]
    line = Dataset()
    line.GraphicAnnotationUnits, line.GraphicDimensions = "PIXEL", 2
    line.NumberOfGraphicPoints, line.GraphicType, line.GraphicFilled = 2, "POLYLINE", "N"
    line.GraphicData = [30.0, 40.0, 60.0, 62.0]
    text = Dataset()
    text.AnchorPointAnnotationUnits, text.AnchorPointVisibility = "PIXEL", "N"
    text.AnchorPoint, text.UnformattedTextValue = [28.0, 30.0], "Look here"
    note = Dataset()
    note.GraphicLayer = "NOTES"
    note.ReferencedImageSequence = [_reference(image)]
    note.GraphicObjectSequence, note.TextObjectSequence = [line], [text]
    made.GraphicAnnotationSequence = [note]
    made.save_as(folder / "state.dcm", enforce_file_format=True)
    return folder


def encapsulated_pdf(folder: Path) -> Path:
    """A page of text as an encapsulated PDF."""
    page = Image.new("RGB", (620, 440), "white")
    draw = ImageDraw.Draw(page)
    draw.text((60, 60), "Encapsulated PDF", fill="black", font_size=40)
    draw.text((60, 130), "Its pages are frames.", fill="black", font_size=26)
    page.save(folder / "page.pdf", resolution=100)
    made = new_object("1.2.840.10008.5.1.4.1.1.104.1", "DOC", pydicom.dcmread(
        TEST_FILES / "CT_small.dcm", stop_before_pixels=True
    ))  # fmt: skip
    data = (folder / "page.pdf").read_bytes()
    (folder / "page.pdf").unlink()
    made.DocumentTitle = "Example"
    made.MIMETypeOfEncapsulatedDocument = "application/pdf"
    made.EncapsulatedDocument = data + b"\0" * (len(data) % 2)
    path = folder / "document.dcm"
    made.save_as(path, enforce_file_format=True)
    return path


def key_objects(folder: Path) -> Path:
    """CT_small and a key object selection that names it."""
    from highdicom import ko
    from highdicom.sr import CodedConcept

    image = _ct(folder)
    image.StudyID, image.AccessionNumber = image.get("StudyID", ""), ""
    content = ko.KeyObjectSelection(
        document_title=CodedConcept("113000", "DCM", "Of Interest"),
        referenced_objects=[image],
        description="The slice with the finding",
    )
    made: Any = ko.KeyObjectSelectionDocument(
        evidence=[image],
        content=content,
        series_instance_uid=generate_uid(),
        series_number=7,
        sop_instance_uid=generate_uid(),
        instance_number=1,
        manufacturer="Sightline's tests",
        institution_name="",
    )
    made.save_as(folder / "key.dcm")
    return folder


def volume_file(suffix: str) -> Callable[[Path], Path]:
    """A ball in a box as NIfTI, NRRD or MetaImage, 1 x 1 x 3 mm."""

    def make(folder: Path) -> Path:
        import SimpleITK

        k, j, i = np.mgrid[0:20, 0:64, 0:64]
        ball = ((i - 32) ** 2 + (j - 32) ** 2 + (3 * (k - 10)) ** 2 < 22**2) * 600
        image = SimpleITK.GetImageFromArray((ball + i * 4).astype(np.int16))
        image.SetSpacing((1.0, 1.0, 3.0))
        path = folder / f"ball{suffix}"
        SimpleITK.WriteImage(image, str(path))
        return path

    return make


def ome_tiff(folder: Path) -> Path:
    """Cells drawn at 0.5 um a pixel."""
    import tifffile

    y, x = np.mgrid[0:256, 0:256]
    cells = sum(
        np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2 * r * r)) * 3000
        for a, b, r in ((60, 70, 14), (150, 90, 20), (190, 190, 16), (80, 180, 24))
    )
    path = folder / "cells.ome.tif"
    metadata = {"axes": "YX", "PhysicalSizeX": 0.5, "PhysicalSizeXUnit": "µm"}
    metadata |= {"PhysicalSizeY": 0.5, "PhysicalSizeYUnit": "µm"}
    tifffile.imwrite(path, np.asarray(cells, np.uint16), metadata=metadata)
    return path


def zipped(folder: Path) -> Path:
    """An archive with an MR image in a folder."""
    path = folder / "study.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(TEST_FILES / "MR_small.dcm", "series/IM0001")
    return path


KINDS = (
    Kind("CT", _shipped("CT_small.dcm")),
    Kind("MR", _shipped("MR_small.dcm")),
    Kind("Radiograph, MONOCHROME1", _shipped("RG3_UNCR.dcm")),
    Kind("JPEG 2000", _shipped("JPEG2000.dcm")),
    Kind("JPEG-LS", _shipped("MR_small_jpeg_ls_lossless.dcm")),
    Kind("JPEG, 12 bits", _shipped("JPEG-lossy.dcm")),
    Kind("RLE", _shipped("MR_small_RLE.dcm")),
    Kind("Palette colour", _shipped("examples_palette.dcm")),
    Kind("YBR colour", _shipped("examples_ybr_color.dcm")),
    Kind("Enhanced CT, supplemental palette", _shipped("eCT_Supplemental.dcm")),
    Kind("Enhanced MR, frame 5", _shipped("emri_small.dcm"), ("--frame", "5")),
    Kind("RT dose", _shipped("rtdose.dcm"), ("--frame", "7")),
    Kind("Ultrasound cine", _shipped("color3d_jpeg_baseline.dcm"), ("--frame", "60")),
    Kind("Overlays 60xx", _shipped("examples_overlay.dcm"), ("--annotated",)),
    Kind("Segmentation", _shipped("liver.dcm"), ("--frame", "1")),
    Kind("RT structure set", structure_set, ("--annotated",)),
    Kind("Presentation state", presentation_state, ("--annotated", "--series", "99")),
    Kind("Structured report", _shipped("test-SR.dcm")),
    Kind("Key objects", key_objects, ("--series", "7")),
    Kind("Encapsulated PDF", encapsulated_pdf),
    Kind("ECG", _shipped("waveform_ecg.dcm")),
    Kind("DICOMDIR", _shipped("dicomdirtests/DICOMDIR")),
    Kind("zip", zipped),
    Kind("NIfTI", volume_file(".nii.gz"), ("--frame", "10")),
    Kind("NRRD, coronal", volume_file(".nrrd"), ("--plane", "coronal", "--frame", "32")),
    Kind("MetaImage", volume_file(".mha"), ("--frame", "10")),
    Kind("OME-TIFF", ome_tiff, ("--annotated",)),
)
