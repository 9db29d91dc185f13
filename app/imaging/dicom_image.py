"""DICOM images: what the catalogue knows of one, and its frames. Runs in a worker process."""

from __future__ import annotations

import importlib
import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging import guards, sources
from app.imaging.codecs import decode
from app.imaging.describe import (
    FrameAttributes,
    frame_regions,
    lossy_text,
    luts_of,
    numbers,
    orientation_of,
    padding_of,
    rescale_of,
    spacing_and_calibration,
    voi_of,
)
from app.imaging.dicom_file import Header, read_header
from app.imaging.dicom_objects import content_of, object_instance, references_of
from app.imaging.instance_attributes import attribute_texts, cached_header
from app.imaging.palette import palette_of
from app.imaging.pictures import content_uid
from app.imaging.pixel_layout import Layout, complete_frames, cut_short, layout_of
from app.imaging.reading_types import IndexFile, pixel_sha256
from app.imaging.types import Content, Frame, ImageRef, Instance, Rescale, Voi

Array = NDArray[Any]


_PIXEL_LIMIT_FOR_COLOUR = 16
_FRAMES_BY_CONTENT = {
    Content.DOCUMENT: "app.imaging.documents",
    Content.WAVEFORM: "app.imaging.waveforms",
}
"""Objects whose frames are made here: modules with `read_frame(header, index)`."""


def read_instances(path: Path) -> tuple[Instance, ...]:
    """What the catalogue knows of a DICOM file; pixels are not decoded.

    Raises:
        FileProblem: It is unreadable, damaged, no image, or of a kind that is not displayable.
        IndexFile: It is a DICOMDIR.
    """
    status = sources.status(path)
    header = read_header(path)
    if "DirectoryRecordSequence" in header.dataset:
        raise IndexFile
    content = content_of(header)
    if content not in (Content.IMAGE, Content.SEGMENTATION):
        return (object_instance(header, status, content),)
    layout = layout_of(header)
    if complete_frames(header, layout) == 0:
        raise cut_short(header, layout)
    uid = header.text("SOPInstanceUID") or content_uid(str(path).encode("utf-8", "replace"))
    instance = Instance(
        path=path,
        sop_instance_uid=uid,
        kind="dicom",
        rows=layout.rows,
        columns=layout.columns,
        frames=layout.frames,
        number=int(_first(header, "InstanceNumber") or 0),
        attributes=attribute_texts(header),
        frame_time_ms=_frame_time(header) if layout.frames > 1 else None,
        size_bytes=status.size,
        mtime_ns=status.mtime_ns,
        content=content,
        references=references_of(header) if content is Content.SEGMENTATION else (),
        frame_times_ms=_frame_times(header, layout.frames),
    )
    return (instance,)


def read_frame(path: Path, part: int, index: int) -> Frame:
    """Decode one frame.

    Raises:
        FileProblem: It cannot be decoded.
    """
    header = cached_header(path, sources.status(path))
    reader = _FRAMES_BY_CONTENT.get(content_of(header))
    if reader is not None:
        return importlib.import_module(reader).read_frame(header, index)
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
        regions=frame_regions(attributes),
        bits=min(layout.stored, 8 * stored.dtype.itemsize),
        modality_lut=modality_luts[0] if grey and modality_luts else None,
        palette=palette,
        palette_first=first,
        padding=padding_of(header) if grey else None,
        lossy=lossy_text(header),
        inverse=grey and header.text("PresentationLUTShape").upper() == "INVERSE",
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


def _frame_times(header: Header, frames: int) -> tuple[float, ...]:
    """Time of every frame from the first by FrameTimeVector, ms; () where it gives none.

    The vector holds the increments, the first of them 0 (PS3.3 C.7.6.5.1.2).
    """
    steps = numbers(header.value("FrameTimeVector"))[1:]
    if frames < 2 or len(steps) != frames - 1 or not all(0 <= step < 60_000 for step in steps):
        return ()
    return tuple(itertools.accumulate(steps, initial=0.0))
