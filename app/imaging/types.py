"""The central types: images, frames, studies, and the figures needed to interpret pixels.

Coordinates: arrays are indexed (row, column); geometry uses (x, y) = (column, row). Pixel centres
have integer coordinates, so the image covers [-0.5, columns - 0.5] x [-0.5, rows - 0.5].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ImageRef:
    """An exact reference to the pixels of one frame.

    Attributes:
        sop_instance_uid: SOP Instance UID; for a PNG or JPEG a 2.25 UID made from its content.
        frame: Frame index from 0.
        pixel_sha256: Hex digest of the decoded stored values (C order, little endian).
    """

    sop_instance_uid: str
    frame: int
    pixel_sha256: str


class SpacingSource(StrEnum):
    """The source of a length in mm."""

    PATIENT = "patient"  # PixelSpacing of a cross-sectional image
    CALIBRATED = "calibrated"  # PixelSpacing with a calibration, or corrected for magnification
    DETECTOR = "detector plane"  # ImagerPixelSpacing: at the detector, not in the patient
    REGION = "region"  # ultrasound region calibration
    STANDARD = "standard space"  # true there (MNI, an atlas): the patient was warped into it
    SPECIMEN = "specimen"  # on a microscope's slide: true, but no patient's
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distance between pixel centres.

    Attributes:
        row_mm: Distance between rows (vertical), mm; None when unknown.
        column_mm: Distance between columns (horizontal), mm; None when unknown.
        source: Origin of the figures.
        aspect: Height of a pixel divided by its width; 1.0 when unknown.
        note: Reason why it is unknown or doubtful, for the corner text and warnings.
    """

    row_mm: float | None = None
    column_mm: float | None = None
    source: SpacingSource = SpacingSource.NONE
    aspect: float = 1.0
    note: str = ""

    @property
    def known(self) -> bool:
        """Whether lengths may be given in mm."""
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
        lut: Index of a VOI LUT (`Frame.voi.luts`) that is used instead of the function, -1 for
            none; centre and width are then the range that it maps.
    """

    center: float
    width: float
    function: VoiFunction = VoiFunction.LINEAR
    explanation: str = ""
    lut: int = -1


@dataclass(frozen=True, slots=True)
class Rescale:
    """Modality rescale: output = stored * slope + intercept."""

    slope: float = 1.0
    intercept: float = 0.0
    units: str = ""


@dataclass(frozen=True, slots=True)
class Lut:
    """A LUT Sequence item: `data[clip(value - first, 0, len - 1)]`, with data as in the file."""

    first: int
    bits: int
    data: NDArray[np.uint16]
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Voi:
    """The grey windows and VOI LUTs of the file, in file order."""

    windows: tuple[Window, ...] = ()
    luts: tuple[Lut, ...] = ()


@dataclass(frozen=True, slots=True)
class Orientation:
    """How the image lies in the patient; empty parts are unknown.

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
class RealWorldMap:
    """An item of the Real World Value Mapping Sequence, PS3.3 C.7.6.16.2.11.

    Attributes:
        first: Lowest stored value that it maps.
        last: Highest stored value that it maps.
        slope: Real World Value Slope; unused with a LUT.
        intercept: Real World Value Intercept; unused with a LUT.
        lut: [last - first + 1] real values of the stored values from `first` on, or None.
        units: UCUM code, e.g. "mm2/s", "{SUVbw}g/ml"; "" for none or dimensionless.
        label: LUT Label or the quantity's name, e.g. "ADC".
    """

    first: float
    last: float
    slope: float = 1.0
    intercept: float = 0.0
    lut: NDArray[np.float64] | None = None
    units: str = ""
    label: str = ""


@dataclass(frozen=True, slots=True)
class OverlayPlane:
    """An overlay bitmap of the image file, group 60xx (PS3.3 C.9.2).

    Attributes:
        pixels: [overlay rows, overlay columns] bool.
        row: Row of the image (from 0, may be negative) at which the overlay's first row lies.
        column: Column of the image at which the overlay's first column lies.
        group: Its group number, 0x6000 to 0x601E.
        kind: "G" graphics or "R" region of interest.
        label: Overlay Label or Description, or "".
    """

    pixels: NDArray[np.bool_]
    row: int = 0
    column: int = 0
    group: int = 0x6000
    kind: str = "G"
    label: str = ""


@dataclass(frozen=True, slots=True)
class Shutter:
    """The visible part of an image: inside every given shape (PS3.3 C.7.6.11, C.7.6.15).

    Attributes:
        rectangle: Inclusive pixel edges (left, right, top, bottom) as columns and rows from 0.
        circle: (centre x, centre y, radius) in pixels from 0.
        polygon: Corners (x, y) in pixels from 0.
        bitmap: [rows, columns] bool, True where the image is hidden, or None.
        level: Grey of hidden pixels: 0.0 black to 1.0 white.
        color: The same for a colour image or display, RGB 0..255, or None.
    """

    rectangle: tuple[int, int, int, int] | None = None
    circle: tuple[float, float, float] | None = None
    polygon: tuple[tuple[float, float], ...] = ()
    bitmap: NDArray[np.bool_] | None = None
    level: float = 0.0
    color: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A part of an image with its own scale: an ultrasound region or the grid of a plot.

    PS3.3 C.8.5.5. Pixels are columns and rows from 0, edges inclusive.

    Attributes:
        x0: Left column.
        y0: Top row.
        x1: Right column.
        y1: Bottom row.
        dx: Physical units per column, signed as in the file; never 0.
        dy: Physical units per row, signed as in the file; never 0.
        x_units: "mm" (cm are converted), "s", "Hz", "mm/s", "mV", "%", ...
        y_units: The same for rows.
        kind: "2D", "M-mode", "spectral", "waveform", "graph" or "".
    """

    x0: int
    y0: int
    x1: int
    y1: int
    dx: float
    dy: float
    x_units: str
    y_units: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """One decoded frame: stored values and the figures needed to interpret them.

    Attributes:
        stored: [rows, columns] integer or float stored values; [rows, columns, 3] uint8/uint16 RGB
            for colour (YBR already converted to RGB, palette not applied).
        ref: Reference to exactly these pixels.
        rescale: Modality rescale (identity for colour).
        photometric: PhotometricInterpretation of `stored`: MONOCHROME1, MONOCHROME2,
            PALETTE COLOR or RGB.
        voi: The file's windows and VOI LUTs.
        spacing: Pixel spacing with its source.
        calibration: Text on how the spacing was calibrated, or "".
        orientation: Orientation and position in the patient.
        bits: BitsStored.
        modality_lut: Modality LUT Sequence, or None.
        palette: [entries, 3] uint8 palette with `palette_first` mapped to entry 0, or None.
        palette_first: First stored value mapped by the palette.
        padding: Inclusive stored-value range of PixelPaddingValue, or None.
        lossy: Text such as "Lossy JPEG 10:1" when the pixels were compressed with loss, else "".
        inverse: Whether PresentationLUTShape INVERSE applies.
        presentation_lut: P-LUT of the Presentation LUT Sequence (C.11.4), or None.
        supplemental: Whether `palette` colours only stored values from `palette_first` on (a
            Supplemental Palette, C.7.6.19); the others are grey and have a window.
        real_world: Maps from stored to real world values, for the readout at the cursor.
        overlays: The file's own bitmaps, drawn over the image.
        shutter: The visible part of the image, or None for all of it.
        regions: Parts with their own scale; `spacing` then holds for none of them alone.
        time_ms: Time of this frame from the start of its cine, or None.
        note: Remark that is shown with the image, e.g. "resampled".
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
    padding: tuple[float, float] | None = None
    lossy: str = ""
    inverse: bool = False
    presentation_lut: Lut | None = None
    supplemental: bool = False
    real_world: tuple[RealWorldMap, ...] = ()
    overlays: tuple[OverlayPlane, ...] = ()
    shutter: Shutter | None = None
    regions: tuple[Region, ...] = ()
    time_ms: float | None = None
    note: str = ""

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
        """Whether it has no grey window, being RGB or palette colour."""
        return self.stored.ndim == 3 or (self.palette is not None and not self.supplemental)


class Content(StrEnum):
    """The content of a file, as far as display is concerned."""

    IMAGE = "image"
    SEGMENTATION = "segmentation"  # drawn over its source; its frames can be shown by themselves
    STRUCTURES = "structures"  # contours over images: RT structure sets, microscopy annotations
    PRESENTATION = "presentation"  # a presentation state, applied to its images
    KEY_OBJECTS = "key objects"  # a selection of images, with a reason
    REPORT = "report"  # a structured report: a tree of text
    DOCUMENT = "document"  # an encapsulated PDF: its pages are frames
    WAVEFORM = "waveform"  # an ECG and its kin: its plot is a frame
    OTHER = "other"  # listed with its name, not displayable


_WITH_FRAMES = frozenset({Content.IMAGE, Content.SEGMENTATION, Content.DOCUMENT, Content.WAVEFORM})


@dataclass(frozen=True, slots=True)
class Instance:
    """One image or other object in the catalogue: header data, no pixels.

    Attributes:
        path: The file; for a member of a zip archive the archive's path and the member's name,
            as if the archive were a folder (`sources` opens both).
        sop_instance_uid: See `ImageRef`.
        kind: Reader of the file: "dicom", "picture" (PNG, JPEG), "tiff", "volume" (NIfTI,
            NRRD, MetaImage) or "reformat" (a plane through a volume, made here).
        rows: Rows; 0 for an object without frames.
        columns: Columns; 0 for an object without frames.
        frames: Number of frames, at least 1.
        number: InstanceNumber or 0.
        attributes: DICOM keyword -> text of the attributes that lists, corner texts and tools
            need (Modality, ViewPosition, BodyPartExamined, PatientName, PatientID, StudyDate,
            SeriesDescription, ...). They identify the patient and never leave the machine.
        frame_time_ms: Time between frames of a cine, or None.
        size_bytes: Size of the file when it was scanned; 0 when unknown.
        mtime_ns: Its time of modification then, ns; 0 when unknown. A file that has changed since
            is not decoded, because findings would be drawn on other pixels.
        content: Kind of content.
        part: Number of the image in its file, from 0 (time points of a 4-D NIfTI).
        references: SOP Instance UIDs of the images that a segmentation or an object without
            pixels refers to, in file order.
        note: Reason why it cannot be displayed, or a remark for the reader, or "".
        frame_times_ms: Time of every frame from the start of the cine where they are not evenly
            spread (FrameTimeVector), else empty.
        changed_ns: Time of the last change of file or metadata (ctime) when it was scanned, ns; 0
            when unknown. Part of cache keys, since another file may replace this one with the same
            name, UID, size and modification time.
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
    content: Content = Content.IMAGE
    part: int = 0
    references: tuple[str, ...] = ()
    note: str = ""
    frame_times_ms: tuple[float, ...] = ()
    changed_ns: int = 0

    @property
    def has_frames(self) -> bool:
        """Whether `Decoder.frame` returns something to show."""
        return self.content in _WITH_FRAMES

    @property
    def is_image(self) -> bool:
        """Whether it is an image of a patient or specimen, on which tools may run."""
        return self.content is Content.IMAGE

    def get(self, keyword: str) -> str:
        """Return an attribute's text, or ""."""
        return self.attributes.get(keyword, "")


@dataclass(frozen=True, slots=True)
class Series:
    """Instances that form one stack, in display order.

    One Series Instance UID may be split into several series: localisers, phases, echoes.

    Attributes:
        uid: Series Instance UID.
        description: SeriesDescription or what the list shows instead.
        modality: Modality.
        number: SeriesNumber or 0.
        instances: Instances of one kind of content in display order: a tuple, or a sequence that
            makes them on access (`studies.instance_lists`), which should not be iterated in vain.
        part: Number among the series that share `uid`, from 0.
        split: Reason of the split, e.g. "b-value 800", "orientation"; "" when the series is whole.
        order: Sort criterion of the instances, e.g. "position along the normal".
        warnings: Warnings for the reader, e.g. "the slice distance changes from 1.08 to 7 mm".
    """

    uid: str
    description: str
    modality: str
    number: int
    instances: Sequence[Instance]
    part: int = 0
    split: str = ""
    order: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """A key that is unique among the series of a study."""
        return f"{self.uid}/{self.part}" if self.part else self.uid

    @property
    def content(self) -> Content:
        """The content of its instances."""
        return self.instances[0].content if self.instances else Content.OTHER


@dataclass(frozen=True, slots=True)
class Study:
    """Series of one Study Instance UID and one patient.

    Attributes:
        uid: StudyInstanceUID; for pictures one made from the folder.
        title: Title in the list: StudyDescription, or modality and body part.
        patient: PatientName as the file gives it, for display on this machine only.
        patient_id: PatientID.
        date: StudyDate as YYYYMMDD or "".
        series: Series in order of SeriesNumber.
        key: Unique among open studies: `uid`, extended where two patients share a Study UID.
        warnings: Warnings for the reader, e.g. "another patient has the same Study Instance UID".
    """

    uid: str
    title: str
    patient: str
    patient_id: str
    date: str
    series: tuple[Series, ...]
    key: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """A message about a file that the user must see.

    Attributes:
        path: The file or folder.
        reason: Reason why it is not shown, or a remark.
        remedy: Advice to the user.
        remark: Whether it is only a remark and nothing is missing, e.g. for a copy.
    """

    path: Path
    reason: str
    remedy: str = ""
    remark: bool = False


@dataclass(frozen=True, slots=True)
class ScanResult:
    """The studies and problems that a scan found."""

    studies: tuple[Study, ...]
    problems: tuple[Problem, ...]
