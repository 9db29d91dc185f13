"""A study with 60 planted canaries, and the search for them in the raw bytes of a folder.

Each canary is a word of its own ("ZQ07VLK"). It is planted as its place allows: as text in several
encodings, as bytes, as a UID, a number or a date that is looked for in the forms it may take.
"""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from pydicom import dcmread
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate
from pydicom.uid import (
    UID,
    CTImageStorage,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEGBaseline8Bit,
)

WORDS = [f"ZQ{number:02d}VLK" for number in range(60)]
UIDS = {number: f"1.2.3.777{number}.424242" for number in (0, 1, 2, 3)}
DATES = ["19370211", "19370212", "19370213"]


def image(number: int = 1) -> Dataset:
    """Return a valid CT image of 8 x 8 pixels without canaries."""
    made = Dataset()
    made.file_meta = FileMetaDataset()
    made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    made.SpecificCharacterSet = "ISO_IR 192"
    made.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    made.SOPClassUID, made.SOPInstanceUID = CTImageStorage, f"1.2.3.4.5.{number}"
    made.StudyInstanceUID, made.SeriesInstanceUID = "1.2.3.4.1", "1.2.3.4.2"
    made.FrameOfReferenceUID = "1.2.3.4.3"
    made.Modality, made.Manufacturer, made.PatientName = "CT", "Acme", "Doe^Jane"
    made.PatientID, made.PatientBirthDate, made.PatientSex = "4711", "19500102", "F"
    made.StudyID, made.AccessionNumber, made.SeriesNumber, made.InstanceNumber = "7", "9", 1, number
    made.StudyDate = made.SeriesDate = made.AcquisitionDate = made.ContentDate = "20240310"
    made.StudyTime = made.SeriesTime = made.AcquisitionTime = made.ContentTime = "101500"
    made.ReferringPhysicianName, made.PositionReferenceIndicator = "Roe^Jim", ""
    made.PatientPosition, made.KVP, made.AcquisitionNumber = "HFS", "120", 1
    made.ImagePositionPatient = [0, 0, number]
    made.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
    made.PixelSpacing, made.SliceThickness = [0.5, 0.5], 1
    made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
    made.Rows = made.Columns = 8
    made.BitsAllocated, made.BitsStored, made.HighBit, made.PixelRepresentation = 16, 12, 11, 0
    made.RescaleIntercept, made.RescaleSlope, made.RescaleType = -1024, 1, "HU"
    made.PixelData = np.arange(64, dtype="<u2").tobytes()
    return made


def save(dataset: Dataset, path: Path, syntax: UID = ExplicitVRLittleEndian) -> Path:
    dataset.file_meta.TransferSyntaxUID = syntax
    dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID
    dataset.file_meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.save_as(path, enforce_file_format=True)
    return path


def _item(**values: object) -> Dataset:
    made = Dataset()
    for keyword, value in values.items():
        setattr(made, keyword, value)
    return made


def code(value: str, scheme: str, meaning: str) -> Dataset:
    return _item(CodeValue=value, CodingSchemeDesignator=scheme, CodeMeaning=meaning)


def planted_image() -> Dataset:
    w = WORDS
    made = image()
    made.PatientName = f"{w[0]}^{w[1]}=王{w[2]}^小東"
    made.PatientID, made.AccessionNumber, made.StudyID = w[3], w[4], w[5]
    made.InstitutionName, made.InstitutionAddress = w[6], f"Street 1\n{w[7]}"
    made.StudyDescription, made.SeriesDescription = f"CT chest {w[8]}", f"axial lung {w[9]}"
    made.ImageComments, made.PatientComments = f"long text {w[10]}", f"{w[11]} ward"
    made.StationName, made.DeviceSerialNumber, made.RetrieveAETitle = w[12], w[13], w[14]
    made.BodyPartExamined, made.ImageType = w[15], ["ORIGINAL", "PRIMARY", "AXIAL", w[16]]
    made.WindowCenterWidthExplanation, made.WindowCenter = w[17], 40
    made.WindowWidth = 400
    made.add_new(0x00091001, "LO", "")
    del made[0x00091001]
    block = made.private_block(0x0009, f"ACME {w[18]}", create=True)
    block.add_new(1, "LO", w[19])
    block.add_new(2, "OB", w[20].encode())
    block.add_new(3, "UN", w[21].encode("utf-16-le"))
    block.add_new(4, "SQ", [_item(PatientName=w[22])])
    safe = made.private_block(0x0019, "GEMS_ACQU_01", create=True)
    safe.add_new(0x23, "DS", "1.25")
    safe.add_new(0x24, "LO", w[23])
    safe.add_new(0x9E, "LO", w[24])
    made.add_new(0x50000000 | 0x0022, "LO", w[25])
    made.add_new(0x50003000, "OW", w[26].encode() + b"\0")
    made.add_new(0x60000010, "US", 8)
    made.add_new(0x60000011, "US", 8)
    made.add_new(0x60004000, "LT", w[27])
    made.add_new(0x60001500, "LO", w[28])
    made.add_new(0x60003000, "OW", w[29].encode() + b"\0")
    made.add_new(0x00091099, "UN", w[30].encode() + b"\0")
    made.add_new(0x0008FFF0, "LO", w[31])  # in no dictionary
    made.add_new(0xFFFCFFFC, "OB", w[32].encode() + b"\0")
    made.IconImageSequence = [
        _item(Rows=8, Columns=8, BitsAllocated=8, PixelData=w[33].encode() + b"\0")
    ]
    made.ProcedureCodeSequence = [code("1", "99LOCAL", w[34]), code("T-D1100", "SRT", w[35])]
    made.AnatomicRegionSequence = [code("51185008", "SCT", w[36])]
    made.RequestAttributesSequence = [
        _item(RequestedProcedureDescription=w[37], ScheduledProcedureStepID=w[38])
    ]
    made.ReferencedImageSequence = [
        _item(
            ReferencedSOPClassUID=CTImageStorage,
            ReferencedSOPInstanceUID="1.2.3.4.5.2",
            PurposeOfReferenceCodeSequence=[code("121322", "DCM", w[39])],
        )
    ]
    made.StudyInstanceUID, made.SeriesInstanceUID = UIDS[0], UIDS[1]
    made.SOPInstanceUID, made.FrameOfReferenceUID = UIDS[2], UIDS[3]
    made.PatientBirthDate, made.StudyDate = DATES[0], DATES[1]
    made.AcquisitionDateTime = DATES[2] + "101112.5"
    made.OperatorsName = [w[40], w[41]]
    made.ContrastBolusAgent = f"Iodine {w[42]}"
    made.PixelDataProviderURL = f"http://{w[43]}/x"
    made.TextString = w[44]
    made.PatientTelephoneNumbers, made.EthnicGroup = w[45], w[46]
    made.AdditionalPatientHistory = f"pain {w[47]}"
    made.OriginalAttributesSequence = [
        _item(ModifiedAttributesSequence=[_item(PatientName=w[48], PatientID=w[49])])
    ]
    made.AcquisitionDeviceProcessingDescription = w[50]
    made.LossyImageCompressionMethod = w[51]
    made.PixelData = made.PixelData + w[52].encode() + b"\0"
    made.file_meta.SourceApplicationEntityTitle = w[53]
    made.file_meta.PrivateInformationCreatorUID = UID("1.2.3.4")
    made.file_meta.PrivateInformation = w[54].encode() + b"\0"
    made.preamble = w[55].encode().ljust(128, b"\0")
    return made


def plant(folder: Path) -> Path:
    """Write the study: images in six encodings, a compressed one and files named by a canary."""
    base = folder / WORDS[56] / f"{UIDS[0]}"
    save(planted_image(), base / f"{WORDS[57]}.dcm")
    for number, (syntax, charset) in enumerate(
        [
            (ImplicitVRLittleEndian, "ISO_IR 100"),
            (ExplicitVRBigEndian, "ISO_IR 192"),
            (DeflatedExplicitVRLittleEndian, "ISO_IR 192"),
            (ExplicitVRLittleEndian, ["", "ISO 2022 IR 87"]),
            (ExplicitVRLittleEndian, "GB18030"),
        ]
    ):
        made = planted_image()
        made.SOPInstanceUID = f"{UIDS[2]}.{number}"
        made.SpecificCharacterSet = charset
        if "GB" not in str(charset) and "192" not in str(charset):
            made.PatientName = f"{WORDS[0]}^{WORDS[1]}"
        save(made, base / f"{number} {WORDS[57]}.dcm", syntax)
    made = planted_image()
    made.SOPInstanceUID = f"{UIDS[2]}.9"
    made.BitsAllocated = made.BitsStored = 8
    made.HighBit = 7
    made.PixelData = encapsulate([jpeg_with_texts(WORDS[58], WORDS[59])])
    made["PixelData"].VR = "OB"
    made["PixelData"].is_undefined_length = True
    save(made, base / "jpeg.dcm", JPEGBaseline8Bit)
    return folder


def jpeg_with_texts(comment: str, exif: str) -> bytes:
    """Return a grey JPEG of 8 x 8 pixels with a comment, Exif and bytes behind its end."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray((np.arange(64).reshape(8, 8) * 4).astype(np.uint8)).save(file, "JPEG")
    data = file.getvalue()

    def segment(marker: int, body: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    texts = segment(0xFE, comment.encode()) + segment(0xE1, b"Exif\0\0" + exif.encode())
    return data[:2] + texts + data[2:] + comment.encode()


def raw_bytes(folder: Path) -> bytes:
    """Return all names and contents below a folder, deflated parts also inflated."""
    found: list[bytes] = []
    for path in sorted(folder.rglob("*")):
        found.append(str(path.relative_to(folder)).encode())
        if not path.is_file():
            continue
        data = path.read_bytes()
        found.append(data)
        at = data.find(b"1.2.840.10008.1.2.1.99")
        if at >= 0:
            meta = dcmread(path, stop_before_pixels=True).file_meta
            start = 144 + int(meta.FileMetaInformationGroupLength)
            found.append(zlib.decompress(data[start:], -zlib.MAX_WBITS))
    return b"\n".join(found)


def leaks(folder: Path, words: list[str]) -> list[str]:
    """Return the words found anywhere below a folder in any usual encoding."""
    data = raw_bytes(folder)
    data += data.upper()
    codecs = ("ascii", "utf-16-le", "utf-16-be", "utf-32-le")
    return [one for one in words if any(one.encode(codec) in data for codec in codecs)]
