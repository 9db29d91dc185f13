"""The worker's side of decoding: header -> Instance, frame -> Frame, attributes, thumbnails.

The `*_entry` functions are called by name in a worker process (`app.imaging.decode`); the others
may be called anywhere that a crash of a codec is acceptable.
"""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.attribute_reading import read_attributes
from app.imaging.codecs import Layout, complete_frames, cut_short, decode, layout_of
from app.imaging.describe import (
    FrameAttributes,
    lossy_text,
    luts_of,
    numbers,
    orientation_of,
    padding_of,
    rescale_of,
    spacing_and_calibration,
    voi_of,
)
from app.imaging.dicom_file import Header, be_quiet, looks_like_dicom, read_header
from app.imaging.palette import palette_of
from app.imaging.pictures import (
    content_uid,
    decode_picture,
    other_format,
    picture_format,
    picture_size,
    read_bytes,
)
from app.imaging.pipeline import render
from app.imaging.records import pack, unpack
from app.imaging.thumbnails import shrink
from app.imaging.types import Frame, ImageRef, Instance, Rescale, Spacing, Voi

Array = NDArray[Any]
Message = dict[str, Any]

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
    """.split()  # noqa: SIM905 - a list of 70 literals reads worse
)
"""Attributes that an Instance carries (`Instance.attributes`), and TransferSyntaxUID."""

_PIXEL_LIMIT_FOR_COLOUR = 16
_NOT_IMAGES = {
    "SR": "a structured report",
    "PR": "a presentation state",
    "KO": "a key object selection",
    "RTSTRUCT": "a structure set",
    "RTPLAN": "a radiotherapy plan",
    "ECG": "a waveform (ECG)",
    "ANN": "annotations",
    "DOC": "a document",
    "REG": "a registration",
}


class IndexFile(Exception):
    """The file is a DICOMDIR: it names images and holds none."""


def read_instance(path: Path) -> Instance:
    """What the catalogue knows of an image file; pixels are not decoded.

    Raises:
        FileProblem: It is unreadable, damaged, no image, or of a kind that is not displayable.
        IndexFile: It is a DICOMDIR.
    """
    guards.check_regular(path)
    status = path.stat()
    kind = _sniff(path)
    if kind in ("PNG", "JPEG"):
        return _picture_instance(path, kind, status.st_mtime_ns)
    header = read_header(path)
    if "DirectoryRecordSequence" in header.dataset:
        raise IndexFile
    if header.pixels is None and "Rows" not in header.dataset:
        raise _not_an_image(header)
    layout = layout_of(header)
    if complete_frames(header, layout) == 0:
        raise cut_short(header, layout)
    uid = header.text("SOPInstanceUID") or content_uid(str(path).encode("utf-8", "replace"))
    return Instance(
        path=path,
        sop_instance_uid=uid,
        kind="dicom",
        rows=layout.rows,
        columns=layout.columns,
        frames=layout.frames,
        number=int(_first(header, "InstanceNumber") or 0),
        attributes=_attribute_texts(header),
        frame_time_ms=_frame_time(header) if layout.frames > 1 else None,
        size_bytes=status.st_size,
        mtime_ns=status.st_mtime_ns,
    )


def read_frame(path: Path, index: int) -> Frame:
    """Decode one frame.

    Raises:
        FileProblem: It cannot be decoded.
    """
    guards.check_regular(path)
    if _sniff(path) in ("PNG", "JPEG"):
        return _picture_frame(path, index)
    header = _cached_header(path, *_stamp(path))
    layout = layout_of(header)
    stored, photometric = decode(header, layout, index)
    if layout.samples > 1:
        stored, photometric = _to_rgb(path, stored, photometric, layout), "RGB"
    attributes = FrameAttributes(header, index)
    spacing, calibration = spacing_and_calibration(attributes)
    palette, first = None, 0
    if photometric == "PALETTE COLOR":
        found = palette_of(header)
        if found is None:
            raise guards.problem(path, "its colour palette is missing or damaged")
        palette, first = found
    grey = layout.samples == 1 and palette is None
    modality_luts = luts_of(attributes, "ModalityLUTSequence")
    uid = header.text("SOPInstanceUID") or content_uid(str(path).encode("utf-8", "replace"))
    return Frame(
        stored=stored,
        ref=ImageRef(uid, index, pixel_sha256(stored)),
        rescale=rescale_of(attributes) if grey else Rescale(),
        photometric=photometric,
        voi=voi_of(attributes) if grey else Voi(),
        spacing=spacing,
        calibration=calibration,
        orientation=orientation_of(attributes),
        bits=min(layout.stored, 8 * stored.dtype.itemsize),
        modality_lut=modality_luts[0] if grey and modality_luts else None,
        palette=palette,
        palette_first=first,
        padding=padding_of(header) if grey else None,
        lossy=lossy_text(header),
        inverse=grey and header.text("PresentationLUTShape").upper() == "INVERSE",
    )


def pixel_sha256(stored: Array) -> str:
    """Digest of stored values: C order, little endian, whatever the file's own encoding."""
    plain = np.ascontiguousarray(stored, stored.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.reshape(-1).view(np.uint8).data).hexdigest()


def instances_entry(payload: Message) -> Message:
    """Headers of `payload["paths"]`: per path an instance, a problem, or "index" for a DICOMDIR."""
    be_quiet()
    answers: list[Message] = []
    for text in payload["paths"]:
        try:
            answers.append({"instance": pack(read_instance(Path(text)))})
        except IndexFile:
            answers.append({"index": True})
        except FileProblem as error:
            answers.append({"problem": {"reason": error.reason, "remedy": error.remedy}})
    return {"answers": answers}


def frame_entry(payload: Message) -> Message:
    """Frame `payload["index"]` of `payload["instance"]`."""
    be_quiet()
    instance = unpack(Instance, payload["instance"])
    _check_unchanged(instance)
    return {"frame": pack(read_frame(instance.path, payload["index"]))}


def attributes_entry(payload: Message) -> Message:
    """All attributes of `payload["path"]`."""
    be_quiet()
    return {"rows": pack(read_attributes(Path(payload["path"])))}


def thumbnail_entry(payload: Message) -> Message:
    """A small picture of `payload["instance"]`, its longer side `payload["size"]` pixels."""
    be_quiet()
    instance = unpack(Instance, payload["instance"])
    frame = read_frame(instance.path, instance.frames // 2)
    return {"pixels": shrink(render(frame), payload["size"], frame.spacing.aspect)}


def _sniff(path: Path) -> str:
    """What a file is by its content: "PNG", "JPEG" or "DICOM".

    Raises:
        FileProblem: It is something else; says what, as far as that can be told.
    """
    try:
        with path.open("rb") as file:
            start = file.read(512)
    except OSError as error:
        raise guards.unreadable(path, error) from None
    kind = picture_format(start)
    if kind or looks_like_dicom(start):
        return kind or "DICOM"
    other = other_format(start)
    remedy = "Unpack it first" if "zip" in other else "Open DICOM, PNG or JPEG files"
    reason = f"it is {other}, not an image that can be shown" if other else "it is no image"
    raise guards.problem(path, reason, remedy)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=4)
def _cached_header(path: Path, mtime_ns: int, size: int) -> Header:
    """The header, kept while the frames of one cine are asked for one by one."""
    return read_header(path)


def _check_unchanged(instance: Instance) -> None:
    guards.check_regular(instance.path)
    known = (instance.mtime_ns, instance.size_bytes)
    if instance.size_bytes and known != _stamp(instance.path):
        raise guards.problem(
            instance.path, "the file has changed since it was opened", "Open it again"
        )


def _picture_instance(path: Path, kind: str, mtime_ns: int) -> Instance:
    data = read_bytes(path)
    rows, columns = picture_size(path, data)
    return Instance(
        path=path,
        sop_instance_uid=content_uid(data),
        kind="picture",
        rows=rows,
        columns=columns,
        attributes={"Format": kind},
        size_bytes=len(data),
        mtime_ns=mtime_ns,
    )


def _picture_frame(path: Path, index: int) -> Frame:
    if index != 0:
        raise guards.problem(path, "a picture has one frame only")
    data = read_bytes(path)
    stored, bits = decode_picture(path, data)
    return Frame(
        stored=stored,
        ref=ImageRef(content_uid(data), 0, pixel_sha256(stored)),
        photometric="MONOCHROME2" if stored.ndim == 2 else "RGB",
        spacing=Spacing(note="a picture has no patient scale"),
        bits=bits,
        lossy="Lossy JPEG" if picture_format(data[:16]) == "JPEG" else "",
    )


def _to_rgb(path: Path, stored: Array, photometric: str, layout: Layout) -> Array:
    """Colour as RGB of at most 16 bits."""
    if layout.samples != 3:
        raise guards.problem(path, f"colour with {layout.samples} samples is not displayable yet")
    if layout.allocated > _PIXEL_LIMIT_FOR_COLOUR:
        stored = (stored >> (layout.stored - 16)).astype(np.uint16)
    # openjpeg undoes the transforms of JPEG 2000 itself.
    if photometric in ("RGB", "YBR_RCT", "YBR_ICT"):
        return stored
    if photometric in ("YBR_FULL", "YBR_FULL_422"):
        return _ybr_to_rgb(stored, layout.stored)
    raise guards.problem(path, f"the colour model {photometric[:20]} is not displayable yet")


def _ybr_to_rgb(ybr: Array, bits: int) -> Array:
    """YBR_FULL to RGB, PS3.3 C.7.6.3.1.2; float32 is exact enough for 16 bits."""
    bits = min(bits, 16)
    full, middle = float(2**bits - 1), float(2 ** (bits - 1))
    y, cb, cr = (ybr[..., channel].astype(np.float32) for channel in range(3))
    cb -= middle
    cr -= middle
    rgb = np.empty(ybr.shape, np.float32)
    rgb[..., 0] = y + np.float32(1.402) * cr
    rgb[..., 1] = y - np.float32(0.344136) * cb - np.float32(0.714136) * cr
    rgb[..., 2] = y + np.float32(1.772) * cb
    np.rint(rgb, out=rgb)
    np.clip(rgb, 0, full, out=rgb)
    return rgb.astype(ybr.dtype)


def _first(header: Header, keyword: str) -> float | None:
    values = numbers(header.value(keyword))
    return values[0] if values and math.isfinite(values[0]) else None


def _attribute_texts(header: Header) -> dict[str, str]:
    texts = {keyword: header.text(keyword) for keyword in ATTRIBUTES}
    attributes = FrameAttributes(header, 0)
    for keyword in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing"):
        texts[keyword] = texts[keyword] or attributes.text(keyword)
    texts["TransferSyntaxUID"] = str(header.syntax)
    return {keyword: text[:1024] for keyword, text in texts.items() if text}


def _frame_time(header: Header) -> float | None:
    """Milliseconds between frames, PS3.3 C.7.6.5."""
    time = _first(header, "FrameTime")
    if time is None:
        times = [t for t in numbers(header.value("FrameTimeVector"))[1:] if math.isfinite(t)]
        time = sum(times) / len(times) if times else None
    if time is None:
        rate = _first(header, "RecommendedDisplayFrameRate") or _first(header, "CineRate")
        time = 1000 / rate if rate else None
    return time if time is not None and 0 < time < 60_000 else None


def _not_an_image(header: Header) -> FileProblem:
    modality = header.text("Modality").upper()
    sop_class = str(getattr(header.value("SOPClassUID"), "name", ""))
    what = _NOT_IMAGES.get(modality) or sop_class.removesuffix(" Storage")
    if modality not in _NOT_IMAGES and "Image" in what:
        return guards.problem(header.path, "it holds no pixels, only a header", guards.COPY_AGAIN)
    if not what or what[0].isdigit():
        what = "a DICOM object of an unknown class"
    return guards.problem(header.path, f"{what}: not displayable yet", detail=sop_class)
