"""What a volume needs of a slice beside its pixels, quickly where the slices of a series are alike.

The first slice is described in full. Another whose header is the same, byte by byte, in all that
its description rests on, differs in its place, and at most in rescale and windows; whatever else
differs, and be it unknown, has it described in full too. Runs in a worker process.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydicom.datadict import dictionary_VR, tag_for_keyword
from pydicom.dataelem import RawDataElement
from pydicom.dataset import Dataset
from pydicom.tag import BaseTag
from pydicom.uid import UID

from app.imaging import guards
from app.imaging.dicom.describe import modality_of, voi_of
from app.imaging.dicom.dicom_file import Header, PixelSpan
from app.imaging.dicom.frame_attributes import FrameAttributes
from app.imaging.dicom.instance_attributes import cached_header
from app.imaging.dicom.pixel_layout import Layout, layout_of
from app.imaging.dicom.plain_header import PlainHeader, plain_header
from app.imaging.dicom.whole_slide import slide_of
from app.imaging.files import sources
from app.imaging.reading.dicom_image import frame_without_pixels
from app.imaging.reading.dicom_objects import content_of
from app.imaging.space.planes import is_position
from app.imaging.types import Content, Frame

Position = tuple[float, float, float]


def _tags(keywords: str) -> frozenset[int]:
    return frozenset(tag for word in keywords.split() if (tag := tag_for_keyword(word)) is not None)


_UID = 0x00080018
_POSITION = 0x00200032
_SCALE = tuple(sorted(_tags("RescaleSlope RescaleIntercept WindowCenter WindowWidth")))
_FREE_GROUPS = frozenset({0x0008, 0x0010, 0x0012, 0x0018, 0x0020, 0x0032, 0x0038, 0x0040, 0x0054})
"""Groups of which only the elements of `READ` bear on a frame: identity, acquisition, relations."""
READ = _tags(
    """
    SpecificCharacterSet SOPClassUID ImageType Modality InstitutionName ReferringPhysicianName
    StudyDescription SeriesDescription PerformingPhysicianName OperatorsName
    PatientName PatientComments AnatomicalOrientationType
    BodyPartExamined ProtocolName SpacingBetweenSlices FrameTime FrameTimeVector
    EstimatedRadiographicMagnificationFactor ImagerPixelSpacing NominalScannedPixelSpacing
    SequenceOfUltrasoundRegions ObjectPixelSpacingInCenterOfBeam
    PatientOrientation ImageOrientationPatient FrameOfReferenceUID ImageComments
    RealWorldValueMappingSequence Units DetectorInformationSequence
    EnergyWindowVector DetectorVector PhaseVector RotationVector RRIntervalVector TimeSlotVector
    SliceVector AngularViewVector TimeSliceVector
    """
)
"""Elements of those groups that a frame's description rests on; the names and texts, because the
encoding of all texts is guessed from them (`charsets`)."""
_FREE = _tags("SmallestImagePixelValue LargestImagePixelValue") | {_UID, _POSITION, *_SCALE}
_OVERLAYS = range(0x6000, 0x6100)
_NUMBER = re.compile(rb" *([+-]?\d{1,15}(?:\.\d{0,15})?(?:[eE][+-]?\d{1,2})?) *")


@lru_cache(maxsize=8192)
def bears(tag: int) -> bool:
    """Whether a frame's description, as a volume needs it, rests on an element.

    Not on private ones, nor on overlays, which volumes do not have.
    """
    group = tag >> 16
    if group % 2 or tag in _FREE or group in _OVERLAYS:
        return False
    return group not in _FREE_GROUPS or tag in READ


@dataclass(frozen=True, slots=True)
class Described:
    """A slice's description.

    Attributes:
        frame: Without pixels; that of another slice where all but place and UID is the same.
        uid: Its own SOP Instance UID.
        position: Its own position, or None where `frame` is its own altogether.
    """

    frame: Frame
    uid: str
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class _Model:
    """A slice that was described in full."""

    header: Header
    layout: Layout
    syntax: str
    elements: dict[int, bytes]
    span: tuple[str, str, int]
    scale: tuple[bytes | None, ...]
    photometric: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class OpenedSlice:
    """A slice's header, parsed or taken to be another's."""

    header: Header
    layout: Layout
    index: int
    plain: PlainHeader | None
    model: _Model | None


class SliceDescriber:
    """Describes slices, and remembers the last one that it described in full.

    Not thread-safe: a worker process runs one call at a time.
    """

    def __init__(self) -> None:
        self._model: _Model | None = None

    def open(self, path: Path, known: tuple[int, int], index: int) -> OpenedSlice | None:
        """Read a slice's header.

        Args:
            path: A DICOM file.
            known: Its size and time (ns) when it was scanned.
            index: Frame from 0.

        Returns:
            None where the frame is not one of the file's own images: a document, a stitched slide.

        Raises:
            FileProblem: The file has changed, or is unreadable or damaged.
        """
        plain = plain_header(path) if index == 0 else None
        if plain is not None and known == (plain.status.size, plain.status.mtime_ns):
            model = self._model
            if model is not None and _alike(plain, model):
                header = _header_like(plain, model)
                # The layout rests on the header, and on compressed pixels themselves.
                layout = layout_of(header) if plain.encapsulated else model.layout
                if layout == model.layout:
                    return OpenedSlice(header, layout, index, plain, model)
        status = sources.status(path)
        check_known(path, known, status)
        header = cached_header(path, status)
        if content_of(header) not in (Content.IMAGE, Content.SEGMENTATION):
            return None
        layout = layout_of(header)
        if slide_of(header, layout) is not None:
            return None
        return OpenedSlice(header, layout, index, plain, None)

    def describe(self, opened: OpenedSlice, photometric: str, dtype: np.dtype[Any]) -> Described:
        """All that a volume needs of a slice beside its pixels.

        Args:
            opened: The slice.
            photometric: Of its pixels.
            dtype: Of its stored values.
        """
        plain, model = opened.plain, opened.model
        if plain is not None and model is not None:
            uid, position = _uid(plain), _position(plain)
            same = (photometric, dtype) == (model.photometric, model.frame.stored.dtype)
            if same and uid and position is not None:
                if _scale(plain) == model.scale:
                    return Described(model.frame, uid, position)
                return Described(_scaled(model.frame, opened.header), uid, position)
        header, layout, index = opened.header, opened.layout, opened.index
        frame = frame_without_pixels(header, layout, index, photometric, dtype)
        if plain is not None and model is None and layout.frames == 1:
            self._remember(plain, opened, photometric, frame)
        return Described(frame, frame.ref.sop_instance_uid)

    def _remember(
        self, plain: PlainHeader, opened: OpenedSlice, photometric: str, frame: Frame
    ) -> None:
        # Some place their frames in ways of their own: what is read off the header must be it.
        if 0x00080016 not in plain.elements or frame.orientation.position != _position(plain):
            return
        if _uid(plain) != frame.ref.sop_instance_uid:
            return
        self._model = _Model(
            opened.header,
            opened.layout,
            plain.syntax,
            _bearing(plain),
            _kind(plain.pixels, plain),
            _scale(plain),
            photometric,
            frame,
        )


def check_known(path: Path, known: tuple[int, int], status: sources.FileStatus) -> None:
    """Refuse a file that is not the one that was scanned.

    Raises:
        FileProblem: It has changed.
    """
    if known[0] and known != (status.size, status.mtime_ns):
        raise guards.changed(path)


def _alike(plain: PlainHeader, model: _Model) -> bool:
    return (
        plain.syntax == model.syntax
        and _kind(plain.pixels, plain) == model.span
        and _bearing(plain) == model.elements
    )


def _bearing(plain: PlainHeader) -> dict[int, bytes]:
    return {tag: element for tag, element in plain.elements.items() if bears(tag)}


def _kind(span: PixelSpan, plain: PlainHeader) -> tuple[str, str, int]:
    """What of the pixel element the layout rests on; how long code streams are tells nothing."""
    return span.keyword, span.vr, 0 if plain.encapsulated else span.length


def _scale(plain: PlainHeader) -> tuple[bytes | None, ...]:
    return tuple(plain.raw(tag) for tag in _SCALE)


def _header_like(plain: PlainHeader, model: _Model) -> Header:
    """The header of a slice that is like another, without a parser."""
    elements: dict[Any, Any] = dict(model.header.dataset.items())
    for tag in (_UID, _POSITION, *_SCALE):
        elements.pop(tag, None)
        raw = plain.raw(tag)
        if raw is not None:
            key, vr = BaseTag(tag), plain.vr(tag) or dictionary_VR(tag)
            elements[key] = RawDataElement(key, vr, len(raw), raw, 0, plain.implicit, True)
    return Header(plain.path, Dataset(elements), UID(plain.syntax), plain.pixels)


def _scaled(frame: Frame, header: Header) -> Frame:
    """The frame with the rescale and windows of another slice, whose header is like its own."""
    attributes = FrameAttributes(header, 0)
    rescale, modality_lut = modality_of(attributes)
    return replace(frame, rescale=rescale, modality_lut=modality_lut, voi=voi_of(attributes))


def _uid(plain: PlainHeader) -> str:
    raw = plain.raw(_UID) or b""
    return raw.rstrip(b"\0 ").decode("ascii").strip() if raw.isascii() else ""


def _position(plain: PlainHeader) -> Position | None:
    """Image Position (Patient) where it is three plain numbers."""
    parts = (plain.raw(_POSITION) or b"").rstrip(b"\0 ").split(b"\\")
    numbers = [_NUMBER.fullmatch(part) for part in parts]
    if len(numbers) != 3:
        return None
    x, y, z = (float(number[1]) if number is not None else np.nan for number in numbers)
    return (x, y, z) if is_position((x, y, z)) else None
