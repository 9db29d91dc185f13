"""The central types of an image: which pixels, and what is needed to interpret them.

Coordinates: arrays are indexed (row, column); geometry uses (x, y) = (column, row). Pixel centres
have integer coordinates, so the image covers [-0.5, columns - 0.5] x [-0.5, rows - 0.5].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ImageRef:
    """Which pixels exactly.

    Attributes:
        sop_instance_uid: SOP Instance UID; for a PNG or JPEG a 2.25 UID made from its content.
        frame: Frame index from 0.
        pixel_sha256: Hex digest of the decoded stored values (C order, little endian).
    """

    sop_instance_uid: str
    frame: int
    pixel_sha256: str


class SpacingSource(StrEnum):
    """What a length in mm rests on."""

    PATIENT = "patient"  # PixelSpacing of a cross-sectional image
    CALIBRATED = "calibrated"  # PixelSpacing with a calibration, or corrected for magnification
    DETECTOR = "detector plane"  # ImagerPixelSpacing: at the detector, not in the patient
    REGION = "region"  # ultrasound region calibration
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distance between pixel centres.

    Attributes:
        row_mm: Between rows (vertical), mm; None when unknown.
        column_mm: Between columns (horizontal), mm; None when unknown.
        source: What the figures rest on.
        aspect: Height of a pixel divided by its width; 1.0 when unknown.
        note: Why it is unknown or doubtful, for the corner text and warnings.
    """

    row_mm: float | None = None
    column_mm: float | None = None
    source: SpacingSource = SpacingSource.NONE
    aspect: float = 1.0
    note: str = ""

    @property
    def known(self) -> bool:
        """Whether lengths in mm may be given at all."""
        return self.row_mm is not None and self.column_mm is not None


class VoiFunction(StrEnum):
    """VOI LUT Function, PS3.3 C.11.2.1.2 and C.11.2.1.3."""

    LINEAR = "LINEAR"
    LINEAR_EXACT = "LINEAR_EXACT"
    SIGMOID = "SIGMOID"


@dataclass(frozen=True, slots=True)
class Window:
    """A VOI window in modality units (after rescale).

    Attributes:
        center: Window Center (0028,1050).
        width: Window Width (0028,1051); at least 1 for LINEAR, above 0 otherwise.
        function: VOI LUT Function (0028,1056).
        explanation: The file's or preset's name for it, or "auto".
    """

    center: float
    width: float
    function: VoiFunction = VoiFunction.LINEAR
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Rescale:
    """Modality rescale: output = stored * slope + intercept."""

    slope: float = 1.0
    intercept: float = 0.0
    units: str = ""


@dataclass(frozen=True, slots=True)
class Lut:
    """A LUT Sequence item: `data[clip(value - first, 0, len - 1)]`, data as read (not scaled)."""

    first: int
    bits: int
    data: NDArray[np.uint16]
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Voi:
    """What the file says about its grey window: windows in file order, then LUTs."""

    windows: tuple[Window, ...] = ()
    luts: tuple[Lut, ...] = ()


@dataclass(frozen=True, slots=True)
class Orientation:
    """How the image lies in the patient; empty parts mean unknown.

    Attributes:
        row: Patient direction letters of increasing column (right edge), e.g. "L" or "LA".
        column: Patient direction letters of increasing row (bottom edge), e.g. "F".
        cosines: ImageOrientationPatient (row direction xyz, column direction xyz), LPS, or None.
        position: ImagePositionPatient, mm, LPS, or None.
    """

    row: str = ""
    column: str = ""
    cosines: tuple[float, float, float, float, float, float] | None = None
    position: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded frame: stored values and what is needed to interpret them.

    Attributes:
        stored: [rows, columns] integer or float stored values; [rows, columns, 3] uint8/uint16 RGB
            for colour (YBR already converted to RGB, palette not applied).
        ref: Which pixels these are.
        rescale: Modality rescale (identity for colour).
        photometric: PhotometricInterpretation of `stored`: MONOCHROME1, MONOCHROME2,
            PALETTE COLOR or RGB.
        voi: The file's windows and VOI LUTs.
        spacing: Pixel spacing with its source.
        calibration: Text on how the spacing was calibrated, or "".
        orientation: How it lies in the patient.
        bits: BitsStored.
        modality_lut: Modality LUT Sequence, or None.
        palette: [entries, 3] uint8 palette with `palette_first` mapped to entry 0, or None.
        palette_first: First stored value mapped by the palette.
        padding: Inclusive stored-value range of PixelPaddingValue, or None.
        lossy: Text such as "Lossy JPEG 10:1" when the pixels were compressed with loss, else "".
        inverse: Whether PresentationLUTShape INVERSE applies.
    """

    stored: NDArray[np.generic]
    ref: ImageRef
    rescale: Rescale = Rescale()
    photometric: str = "MONOCHROME2"
    voi: Voi = Voi()
    spacing: Spacing = Spacing()
    calibration: str = ""
    orientation: Orientation = Orientation()
    bits: int = 8
    modality_lut: Lut | None = None
    palette: NDArray[np.uint8] | None = None
    palette_first: int = 0
    padding: tuple[int, int] | None = None
    lossy: str = ""
    inverse: bool = False

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.stored.shape[0])

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.stored.shape[1])

    @property
    def is_color(self) -> bool:
        """Whether it has no grey window: RGB or palette colour."""
        return self.stored.ndim == 3 or self.palette is not None


@dataclass(frozen=True, slots=True)
class Instance:
    """One image file as the catalogue knows it: headers only, no pixels.

    Attributes:
        path: The file.
        sop_instance_uid: See `ImageRef`.
        kind: "dicom" or "picture" (PNG, JPEG).
        rows: Rows.
        columns: Columns.
        frames: Number of frames, at least 1.
        number: InstanceNumber or 0.
        attributes: DICOM keyword -> text of the attributes that lists, corner texts and tools
            need (Modality, ViewPosition, BodyPartExamined, PatientName, PatientID, StudyDate,
            SeriesDescription, ...). Identifying ones included: they never leave the machine.
        frame_time_ms: Time between frames of a cine, or None.
        size_bytes: Size of the file when it was scanned; 0 when unknown.
        mtime_ns: Its time of modification then, ns; 0 when unknown. A file that has changed since
            is not decoded: findings would land on other pixels.
    """

    path: Path
    sop_instance_uid: str
    kind: str
    rows: int
    columns: int
    frames: int = 1
    number: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    frame_time_ms: float | None = None
    size_bytes: int = 0
    mtime_ns: int = 0

    def get(self, keyword: str) -> str:
        """The attribute's text, or ""."""
        return self.attributes.get(keyword, "")


@dataclass(frozen=True, slots=True)
class Series:
    """Instances of one Series Instance UID, in display order."""

    uid: str
    description: str
    modality: str
    number: int
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class Study:
    """Series of one Study Instance UID.

    Attributes:
        uid: StudyInstanceUID; for pictures one made from the folder.
        title: What the list shows: StudyDescription or the modality and body part.
        patient: PatientName as the file gives it, for display on this machine only.
        patient_id: PatientID.
        date: StudyDate as YYYYMMDD or "".
        series: In order of SeriesNumber.
    """

    uid: str
    title: str
    patient: str
    patient_id: str
    date: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be read: never dropped silently."""

    path: Path
    reason: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What a scan of paths found."""

    studies: tuple[Study, ...]
    problems: tuple[Problem, ...]
