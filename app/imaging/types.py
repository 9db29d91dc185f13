"""The central types: images, frames, studies, and all that is needed to interpret pixels.

Coordinates: arrays are indexed (row, column); geometry uses (x, y) = (column, row). Pixel centres
have integer coordinates, so the image covers [-0.5, columns - 0.5] x [-0.5, rows - 0.5].
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.axes import Axes

XY = tuple[float, float]
"""A point (x, y) in pixels."""

XYZ = tuple[float, float, float]
"""A point (x, y, z) in mm: patient coordinates, LPS (PS3.3 C.7.6.2.1.1)."""


@dataclass(frozen=True, slots=True)
class ImageRef:
    """An exact reference to the pixels of one frame (from 0).

    Attributes:
        sop_instance_uid: SOP Instance UID; for a PNG or JPEG, a UID under 2.25 derived from the
            file's content.
        pixel_sha256: Hex digest of the decoded stored values (C order, little endian).
    """

    sop_instance_uid: str
    frame: int
    pixel_sha256: str


class SpacingSource(StrEnum):
    """The source of an image's scale in mm."""

    PATIENT = "patient"  # PixelSpacing of a cross-sectional image
    CALIBRATED = "calibrated"  # PixelSpacing with a calibration, or corrected for magnification
    DETECTOR = "detector plane"  # ImagerPixelSpacing: at the detector, not in the patient
    REGION = "region"  # ultrasound region calibration
    STANDARD = "standard space"  # true there (MNI, an atlas): the patient was warped into it
    MANUAL = "calibrated by hand"  # by a line of known length that the user drew
    SPECIMEN = "specimen"  # on a microscope's slide: true, but no patient's
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Spacing:
    """Distance between pixel centres.

    Attributes:
        row_mm: Distance between rows (vertical) in mm; None if unknown.
        column_mm: Distance between columns (horizontal) in mm; None if unknown.
        aspect: Height of a pixel divided by its width; 1.0 if unknown.
        note: Why the spacing is unknown or doubtful, for the corner text and warnings.
    """

    row_mm: float | None = None
    column_mm: float | None = None
    source: SpacingSource = SpacingSource.NONE
    aspect: float = 1.0
    note: str = ""

    @property
    def known(self) -> bool:
        """True if both distances are known, so that lengths can be given in mm."""
        return self.row_mm is not None and self.column_mm is not None


class VoiFunction(StrEnum):
    """How a window maps values to greys: VOI LUT Function (PS3.3 C.11.2.1.2, C.11.2.1.3)."""

    LINEAR = "LINEAR"
    LINEAR_EXACT = "LINEAR_EXACT"
    SIGMOID = "SIGMOID"


@dataclass(frozen=True, slots=True)
class Window:
    """A VOI window in modality units, after rescale.

    Attributes:
        center: Window Center (0028,1050).
        width: Window Width (0028,1051); at least 1 for LINEAR, otherwise above 0.
        function: VOI LUT Function (0028,1056).
        explanation: Name of the window in the file or of the preset, or "auto".
        lut: Index into `Frame.voi.luts` of a VOI LUT that is used instead of the function, or -1.
            With a LUT, centre and width give the range of values that it maps.
    """

    center: float
    width: float
    function: VoiFunction = VoiFunction.LINEAR
    explanation: str = ""
    lut: int = -1


@dataclass(frozen=True, slots=True)
class Rescale:
    """A linear Modality rescale to real units (HU, ...): output = stored * slope + intercept."""

    slope: float = 1.0
    intercept: float = 0.0
    units: str = ""


@dataclass(frozen=True, slots=True)
class Lut:
    """A lookup table: an item of a Modality, VOI or Presentation LUT Sequence.

    A value maps to `data[clip(value - first, 0, len - 1)]`; entries are as stored, of `bits` bits.
    """

    first: int
    bits: int
    data: NDArray[np.uint16]
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Voi:
    """The windows and VOI LUTs that the file contains, in file order."""

    windows: tuple[Window, ...] = ()
    luts: tuple[Lut, ...] = ()


@dataclass(frozen=True, slots=True)
class Orientation:
    """How the image is oriented in the patient; unknown parts are empty or None.

    Attributes:
        row: Letters of the patient direction in which columns increase (right edge), e.g. "L" or
            "LA".
        column: Letters of the patient direction in which rows increase (bottom edge), e.g. "F".
        cosines: ImageOrientationPatient (row direction xyz, column direction xyz) in LPS, or None.
        position: ImagePositionPatient in mm, LPS, or None.
    """

    row: str = ""
    column: str = ""
    cosines: tuple[float, float, float, float, float, float] | None = None
    position: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class FramePlane:
    """The plane of an image in the patient.

    Attributes:
        origin: Patient coordinates (mm) of the centre of pixel (0, 0).
        row: Unit vector of increasing column (along a row).
        column: Unit vector of increasing row (down a column).
        spacing: (between rows, between columns) in mm, as PixelSpacing.
        frame_of_reference: FrameOfReferenceUID, or "" if unknown; coordinates in two planes can be
            compared only if these UIDs are equal.
    """

    origin: XYZ
    row: XYZ
    column: XYZ
    spacing: tuple[float, float]
    frame_of_reference: str = ""

    @property
    def normal(self) -> XYZ:
        """Unit normal of the plane: the cross product of `row` and `column`."""
        (a, b, c), (d, e, f) = self.row, self.column
        x, y, z = b * f - c * e, c * d - a * f, a * e - b * d
        size = math.sqrt(x * x + y * y + z * z)
        return x / size, y / size, z / size

    def point(self, x: float, y: float) -> XYZ:
        """Return the patient coordinates (mm, LPS) of pixel (x, y) by equation C.7.6.2.1-1."""
        right, down = x * self.spacing[1], y * self.spacing[0]
        p, q, r = (
            o + u * right + v * down
            for o, u, v in zip(self.origin, self.row, self.column, strict=True)
        )
        return p, q, r

    def pixel(self, point: XYZ) -> XYZ:
        """Convert a point in patient coordinates to (x, y, distance).

        (x, y) is the point's projection onto the plane in pixels, not rounded and possibly outside
        the image. The distance from the plane is in mm, positive on the side of the normal.
        """
        away = tuple(p - o for p, o in zip(point, self.origin, strict=True))
        along, down = _dot(away, self.row), _dot(away, self.column)
        skew = _dot(self.row, self.column)
        # Directions in a file are perpendicular only within their rounding.
        x = (along - skew * down) / (1 - skew * skew)
        y = (down - skew * along) / (1 - skew * skew)
        return x / self.spacing[1], y / self.spacing[0], _dot(away, self.normal)

    @property
    def affine(self) -> NDArray[np.float64]:
        """The [4, 4] matrix from (x, y, mm along the normal, 1) to patient coordinates in mm."""
        matrix = np.eye(4)
        matrix[:3, 0] = np.array(self.row) * self.spacing[1]
        matrix[:3, 1] = np.array(self.column) * self.spacing[0]
        matrix[:3, 2] = self.normal
        matrix[:3, 3] = self.origin
        return matrix


def _dot(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return sum(p * q for p, q in zip(a, b, strict=True))


@dataclass(frozen=True, slots=True)
class RealWorldMap:
    """An item of the Real World Value Mapping Sequence, PS3.3 C.7.6.16.2.11.

    Attributes:
        first: Lowest stored value that the item maps.
        last: Highest stored value that the item maps.
        slope: Real World Value Slope; like the intercept, not used if there is a LUT.
        lut: One real world value for each stored value from `first` to `last`, or None.
        units: UCUM code, e.g. "mm2/s", "{SUVbw}g/ml"; "" if the value has no units.
        label: LUT Label or the name of the quantity, e.g. "ADC".
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
    """An overlay bitmap stored in the image file, group 60xx (PS3.3 C.9.2).

    Attributes:
        pixels: Bool array [overlay rows, overlay columns].
        row: Image row (from 0, may be negative) of the overlay's first row.
        column: Image column (from 0, may be negative) of the overlay's first column.
        group: Group number, 0x6000 to 0x601E.
        kind: "G" for graphics or "R" for a region of interest.
        label: Overlay Label or Overlay Description, or "".
    """

    pixels: NDArray[np.bool_]
    row: int = 0
    column: int = 0
    group: int = 0x6000
    kind: str = "G"
    label: str = ""


@dataclass(frozen=True, slots=True)
class Shutter:
    """The visible part of an image: the pixels inside all given shapes (PS3.3 C.7.6.11, C.7.6.15).

    Attributes:
        rectangle: Edges (left, right, top, bottom) as columns and rows from 0; the edges
            themselves are visible. None if there is no rectangle.
        circle: (centre x, centre y, radius) in pixels with integer centres, or None.
        polygon: Corners (x, y) in pixels with integer centres; () if there is no polygon.
        bitmap: Bool array [rows, columns], True where the image is hidden, or None.
        level: Grey level of hidden pixels, from 0.0 (black) to 1.0 (white).
        color: Colour of hidden pixels on a colour image or display, RGB 0..255, or None.
    """

    rectangle: tuple[int, int, int, int] | None = None
    circle: tuple[float, float, float] | None = None
    polygon: tuple[tuple[float, float], ...] = ()
    bitmap: NDArray[np.bool_] | None = None
    level: float = 0.0
    color: tuple[int, int, int] | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A part of an image with its own scale: an ultrasound region or the plot area of a graph.

    See PS3.3 C.8.5.5. Edges are columns and rows counted from 0; they belong to the region.

    Attributes:
        dx: Physical units per column, with the sign from the file; never 0.
        dy: Physical units per row, with the sign from the file; never 0.
        x_units: Units of `dx`: "mm", "s", "Hz", "mm/s", "mV", "%", ...; "" if unknown (`dx` is 1).
        y_units: Units of `dy`, with the same values.
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
    """One decoded frame: stored values and all that is needed to interpret them.

    Attributes:
        stored: Stored values: an integer or float array [rows, columns]; for colour, RGB as uint8
            or uint16 [rows, columns, 3] (YBR is already converted, a palette is not applied).
        ref: Reference to exactly these pixels.
        rescale: Modality rescale (identity for colour).
        photometric: Photometric interpretation of `stored`: MONOCHROME1, MONOCHROME2, PALETTE COLOR
            or RGB.
        calibration: Text on how the spacing was calibrated, or "".
        bits: BitsStored.
        modality_lut: Item of the Modality LUT Sequence, or None.
        palette: uint8 [entries, 3], or None. The stored value `palette_first` maps to entry 0.
        padding: Lowest and highest stored value that mark padding, or None.
        lossy: Text such as "Lossy JPEG 10:1" if the pixels were compressed with loss, else "".
        inverse: Whether PresentationLUTShape is INVERSE.
        presentation_lut: Item of the Presentation LUT Sequence (C.11.4), or None.
        supplemental: Whether `palette` colours only stored values from `palette_first` on (a
            Supplemental Palette, C.7.6.19); other values are grey and have a window.
        real_world: Maps from stored to real world values, for the readout at the cursor.
        shutter: The visible part of the image; None if all of it is visible.
        regions: Parts with their own scale, which may differ from `spacing`.
        time_ms: Time of this frame in ms from the start of its cine, or None.
        note: Remark shown with the image, e.g. "resampled", or "".
        same_grid: Numbers of the frames of this instance that show the same place at the same time:
            all channels at this depth and time, this frame included; () if it has no others.
        channels: For channels that are shown together, the frame of each of them (without
            `channels` of its own); all other fields are those of the selected channel.
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
    same_grid: tuple[int, ...] = ()
    channels: tuple[Frame, ...] = ()

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
        """True for RGB and palette colour, which have no grey window."""
        return self.stored.ndim == 3 or (self.palette is not None and not self.supplemental)

    def of(self, ref: ImageRef) -> Frame | None:
        """Return this frame, or that of another channel shown with it, by its pixels; or None."""
        if ref == self.ref:
            return self
        return next((one for one in self.channels if one.ref == ref), None)

    def shows(self, ref: ImageRef) -> bool:
        """Return whether findings on the pixels `ref` belong on this frame.

        They are its own, or those of another channel at the same place and time.
        """
        if ref == self.ref:
            return True
        if ref.frame not in self.same_grid or ref.sop_instance_uid != self.ref.sop_instance_uid:
            return False
        known = [one.ref for one in self.channels if one.ref.frame == ref.frame]
        # The UID of these images comes from the file's bytes, so it speaks for their pixels.
        return ref.frame != self.ref.frame and (not known or ref in known)


MISSING_ROWS = "MissingRows"
"""Key of `Instance.attributes` (no DICOM keyword): how many rows of a file that is cut short are
not there. The rows that are there are shown; tools are not run on a part of an image."""


class Content(StrEnum):
    """The kind of content in a file (image, report, ...), which decides how it is displayed."""

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
    """One image or other object in the catalogue: header data without pixels.

    Attributes:
        path: Path of the file. For a member of a zip archive, the path of the archive followed by
            the name of the member, as if the archive were a folder (`sources` opens both).
        kind: Name of the file's reader: "dicom", "picture" (PNG, JPEG, ...), "tiff", "pdf",
            "volume" (NIfTI, NRRD, MetaImage) or "reformat" (sections of a volume, by this app).
        rows: Number of rows; like the columns, 0 for an object without frames.
        frames: Number of frames, at least 1.
        number: InstanceNumber, or 0.
        attributes: Maps DICOM keywords to text, for the attributes that lists, corner texts and
            tools need (Modality, ViewPosition, BodyPartExamined, PatientName, PatientID, StudyDate,
            SeriesDescription, ...). They identify the patient and never leave the machine.
        frame_time_ms: Time between the frames of a cine in ms, or None.
        size_bytes: Size of the file when it was scanned; 0 if unknown.
        mtime_ns: Modification time in ns when the file was scanned; 0 if unknown. A file that has
            changed since is not decoded, because findings would be drawn on other pixels.
        part: Index of the image in its file, from 0 (time points of a 4-D NIfTI).
        references: SOP Instance UIDs of the images that a segmentation or an object without pixels
            refers to, in file order. They are keys of a mapping, since each image
            shown is looked up among up to 20,000 of them.
        note: Why the object cannot be displayed, or a remark for the user, or "".
        frame_times_ms: Time of each frame in ms from the start of the cine, if the frames are not
            evenly spaced in time (FrameTimeVector); otherwise empty.
        changed_ns: Time in ns of the last change to the file or its metadata (ctime) when it was
            scanned; 0 if unknown. It is part of cache keys, since another file may replace this one
            with the same name, UID, size and modification time.
        axes: Channels, depths and times along which the frames are counted; None if unknown.
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
    references: Mapping[str, None] = field(default_factory=dict[str, None])
    note: str = ""
    frame_times_ms: tuple[float, ...] = ()
    changed_ns: int = 0
    axes: Axes | None = None

    @property
    def has_frames(self) -> bool:
        """Whether there are frames that `Decoder.frame` can return."""
        return self.content in _WITH_FRAMES

    @property
    def is_image(self) -> bool:
        """Whether the instance is an image of a patient or specimen, on which tools may run."""
        return self.content is Content.IMAGE

    def get(self, keyword: str) -> str:
        """Return the text of attribute `keyword`, or "" if there is none."""
        return self.attributes.get(keyword, "")


@dataclass(frozen=True, slots=True)
class Series:
    """Instances that form one stack, in display order.

    Instances with the same Series Instance UID may be split into several series: localisers,
    phases, echoes.

    Attributes:
        description: SeriesDescription, else ProtocolName; for pictures, first and last file name.
        number: SeriesNumber, or 0.
        instances: Instances with the same kind of content in display order. This is a tuple, or a
            sequence that creates them on access (`studies.instance_lists`), so avoid needless
            iteration.
        part: Index among the series that share `uid`, from 0.
        split: How the series differs from others of that `uid`, e.g. "b-value 800"; "" if alone.
        order: Sort criterion of the instances, e.g. "position along the normal".
        warnings: Warnings for the user, e.g. "the slice distance changes from 1.08 to 7 mm".
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
        """Text that is unique among the series of a study (`uid`, and `part` if split)."""
        return f"{self.uid}/{self.part}" if self.part else self.uid

    @property
    def content(self) -> Content:
        """The kind of content that the instances have."""
        return self.instances[0].content if self.instances else Content.OTHER


@dataclass(frozen=True, slots=True)
class Study:
    """The series with the same Study Instance UID and patient, in order of SeriesNumber.

    Attributes:
        uid: StudyInstanceUID; for pictures, a UID derived from the folder.
        title: Title in the list: StudyDescription, or modality and body part.
        patient: PatientName as written in the file, for display on this machine only.
        date: StudyDate as YYYYMMDD, or "".
        key: Key that is unique among open studies: `uid`, extended if two patients share it.
        warnings: Warnings for the user, e.g. "another patient has the same Study Instance UID".
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
    """A message about a file or folder that the user must see: a reason and a remedy.

    If `remark` is true, nothing was lost, e.g. if only a copy of a file was left out.
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


class Plane(StrEnum):
    """The plane in which sections lie: the acquired one or an anatomical one."""

    ACQUIRED = "acquired"
    AXIAL = "axial"
    CORONAL = "coronal"
    SAGITTAL = "sagittal"


@dataclass(frozen=True, slots=True, eq=False)
class Volume:
    """Voxels on a regular grid.

    Attributes:
        voxels: Array [k, j, i]: slice, row, column. It holds stored values if all slices share one
            rescale, otherwise modality values as float32.
        affine: [4, 4] float64 matrix that maps (i, j, k, 1) to patient coordinates in mm, LPS.
            Voxel centres have integer coordinates.
        template: A frame whose rescale, windows, etc. hold for all voxels; its pixels are not used.
        slices: For each k, the index of its frame among all frames of the series; () if the volume
            was resampled.
        warnings: Warnings for the user, e.g. "resampled to a slice distance of 1.08 mm: the
            acquired one changes".
    """

    voxels: NDArray[Any]
    affine: NDArray[np.float64]
    template: Frame
    warnings: tuple[str, ...] = ()
    slices: tuple[int, ...] = ()

    @property
    def spacing(self) -> tuple[float, float, float]:
        """Distances between voxel centres along i, j and k in mm, as in SimpleITK's GetSpacing."""
        x, y, z = (float(np.linalg.norm(self.affine[:3, axis])) for axis in range(3))
        return x, y, z

    @property
    def direction(self) -> NDArray[np.float64]:
        """[3, 3] matrix with columns i, j and k (unit vectors), as in SimpleITK's GetDirection."""
        return self.affine[:3, :3] / np.asarray(self.spacing)
