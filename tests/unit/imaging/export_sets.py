"""Random images and findings for the tests of DICOM objects that the program writes."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

from app.imaging.findings import (
    Box,
    Code,
    Ellipse,
    Finding,
    Geometry,
    Mask,
    Measurement,
    Point,
    Polygon,
    Polyline,
    Provenance,
    Segments,
    State,
)
from app.imaging.types import ImageRef

CT, MR, CR = (f"1.2.840.10008.5.1.4.1.1.{end}" for end in ("2", "4", "1"))
US, US_MULTI = "1.2.840.10008.5.1.4.1.1.6.1", "1.2.840.10008.5.1.4.1.1.3.1"
IMAGE_KINDS = ("CT", "MR", "CR", "US", "multi")
LABELS = ("Right Lung", "Nodule", "Länge der Läsion", "Pleural effusion of the right side", "Herz")


def source_files(folder: Path, kind: str, seed: int) -> list[Path]:
    """Write images of a kind of `IMAGE_KINDS`: slices, a radiograph, colour or frames."""
    rng = np.random.default_rng(seed)
    rows, columns = (int(rng.integers(24, 90)) for _ in range(2))
    study, series, space = (generate_uid() for _ in range(3))
    count = 3 if kind in ("CT", "MR") else 1
    paths: list[Path] = []
    for place in range(count):
        one = Dataset()
        one.SpecificCharacterSet = "ISO_IR 100"
        one.SOPClassUID = {"CT": CT, "MR": MR, "CR": CR, "US": US, "multi": US_MULTI}[kind]
        one.SOPInstanceUID = generate_uid()
        one.StudyInstanceUID, one.SeriesInstanceUID = study, series
        one.PatientName, one.PatientID = "Müller^Änne", "4711"
        one.PatientBirthDate, one.PatientSex = "19500102", "F"
        one.StudyDate, one.StudyTime, one.StudyID = "20240102", "101112", "7"
        one.AccessionNumber, one.ReferringPhysicianName = "A1", "House^Gregory"
        one.Modality = "US" if kind == "multi" else kind
        one.SeriesNumber, one.InstanceNumber = 3, place + 1
        one.Rows, one.Columns = rows, columns
        one.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
        one.PixelSpacing = ["0.7", "0.9"]
        color = kind == "US"
        depth = 8 if kind in ("US", "multi") else 16
        one.SamplesPerPixel = 3 if color else 1
        one.PhotometricInterpretation = "RGB" if color else "MONOCHROME2"
        if color:
            one.PlanarConfiguration = 0
        one.BitsAllocated, one.BitsStored, one.HighBit = depth, depth, depth - 1
        one.PixelRepresentation = 0
        frames = 1
        if kind == "multi":
            frames = one.NumberOfFrames = 5
            one.FrameTime = "40"
            one.FrameIncrementPointer = 0x00181063
        if kind in ("CT", "MR"):
            one.FrameOfReferenceUID = space
            one.PositionReferenceIndicator = ""
            one.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
            one.ImagePositionPatient = [-20.5, 3.25, 5.0 * place]
            one.SliceThickness = "5"
        if kind == "CT":
            one.RescaleSlope, one.RescaleIntercept, one.RescaleType = "1", "-1024", "HU"
        shape = (frames, rows, columns, 3) if color else (frames, rows, columns)
        pixels = rng.integers(0, 250, shape).astype(np.uint8 if depth == 8 else np.uint16)
        data = pixels.tobytes()
        one.PixelData = data + b"\0" * (len(data) % 2)
        one["PixelData"].VR = "OB" if depth == 8 else "OW"
        meta = one.file_meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = one.SOPClassUID  # pyright: ignore[reportAttributeAccessIssue]
        meta.MediaStorageSOPInstanceUID = one.SOPInstanceUID
        meta.TransferSyntaxUID = ExplicitVRLittleEndian
        paths.append(folder / f"{kind}-{place}.dcm")
        one.save_as(paths[-1], enforce_file_format=True)
    return paths


def _geometry(rng: random.Random, rows: int, columns: int) -> Geometry:
    def point() -> tuple[float, float]:
        return rng.uniform(0, columns - 1), rng.uniform(0, rows - 1)

    x0, y0 = rng.uniform(0, columns / 2 - 1), rng.uniform(0, rows / 2 - 1)
    x1, y1 = x0 + rng.uniform(1, columns / 2 - 1), y0 + rng.uniform(1, rows / 2 - 1)
    whole = [float(int(part)) for part in (x0, y0, x1 + 2, y1 + 2)]
    return rng.choice(
        (
            Point(*point()),
            Polyline((point(), point())),
            Polyline(tuple(point() for _ in range(rng.randint(3, 6)))),
            Segments(tuple(point() for _ in range(4))),
            Polygon(tuple(point() for _ in range(rng.randint(3, 9)))),
            Box(whole[0] - 0.5, whole[1] - 0.5, whole[2] - 0.5, whole[3] - 0.5),
            Ellipse(x0, y0, x1, y1),
        )
    )


def random_findings(
    seed: int, refs: list[ImageRef], rows: int, columns: int, *, masks: bool
) -> tuple[Finding, ...]:
    """Return 1 to 6 findings on the frames; with `masks` some are masks (at least one)."""
    rng, grid = random.Random(seed), np.random.default_rng(seed)
    made: list[Finding] = []
    for number in range(rng.randint(1, 6)):
        shape = _geometry(rng, rows, columns)
        if masks and (number == 0 or rng.random() < 0.4):
            shape = Mask(grid.random((rows, columns)) < 0.4)
        tool = rng.random() < 0.5
        origin = Provenance("chest_xray_segment", "1.2", "psp net", "ab" * 32, "r", "c")
        by_hand = Provenance("ruler", "", "", "", "", "")
        one = Finding(
            id=f"{seed}-{number}",
            image=rng.choice(refs),
            geometry=shape,
            label=rng.choice(LABELS),
            score=rng.choice((None, round(rng.random(), 6))) if tool else None,
            units="",
            provenance=origin if tool else by_hand,
            description=rng.choice(("", "Größer als früher: 3 mm", "A note")),
            state=State.ACCEPTED,
            reviewer="Roe^Jane",
        )
        if tool:
            one = replace(one, state=rng.choice((State.PROPOSED, State.ACCEPTED, State.EDITED)))
        if rng.random() < 0.5:
            one = replace(one, code=Code("27550009", "SCT", "Vascular lesion"))
        if rng.random() < 0.5:
            one = replace(one, site=Code("39607008", "SCT", "Lung"))
        values = (
            Measurement("Area", rng.uniform(1, 500), "mm²", "patient"),
            Measurement("Mean", rng.uniform(-900, 900), "HU"),
            Measurement("Standard deviation", rng.uniform(0, 90), "HU"),
            Measurement("Length", rng.uniform(1, 99), "px"),
            Measurement("Cardiothoracic ratio", rng.random(), ""),
            Measurement("Angle", rng.uniform(1, 170), "°"),
        )
        one = replace(one, measurements=tuple(rng.sample(values, rng.randint(0, 4))))
        made.append(one)
    return tuple(made)
