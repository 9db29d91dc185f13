"""DICOM images: their catalogue entries and their frames. Runs in a worker process.

Colour models are converted to RGB by PS3.3 C.7.6.3.1.2. ICC profiles are not applied.
"""

from __future__ import annotations

import importlib
import itertools
import math
import struct
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.uid import MediaStorageDirectoryStorage

from app.errors import FileProblem
from app.imaging import guards
from app.imaging.dicom import describe
from app.imaging.dicom.codecs import decode_words, stored_values
from app.imaging.dicom.dicom_file import Header, IndexFile, read_header, value_of
from app.imaging.dicom.dicom_items import first_item, number_of, whole_number
from app.imaging.dicom.frame_attributes import FrameAttributes, numbers
from app.imaging.dicom.instance_attributes import attribute_texts, cached_header, uid_of
from app.imaging.dicom.overlays import frame_shutter, overlays_of, visible_overlays
from app.imaging.dicom.palette import has_palette, is_supplemented, palette_of
from app.imaging.dicom.pixel_layout import (
    Layout,
    complete_frames,
    cut_short_note,
    layout_of,
    pixel_header_notes,
    truncation_problem,
)
from app.imaging.dicom.placement import frame_regions, orientation_of, spacing_and_calibration
from app.imaging.dicom.whole_slide import (
    Slide,
    covers_matrix,
    region_of,
    sections_of,
    slide_of,
    stitch,
    tile_note,
)
from app.imaging.files import sources
from app.imaging.files.identity import pixel_sha256
from app.imaging.pixels.regions import Box, PixelRegion, clipped, cropped
from app.imaging.reading import dicom_objects
from app.imaging.space.stacks import STACK_KEYWORD
from app.imaging.types import MISSING_ROWS, Content, Frame, ImageRef, Instance
from app.paths import shipped_table

Array = NDArray[Any]


def read_instances(path: Path) -> tuple[Instance, ...]:
    """Return the one `Instance` that describes a DICOM file; pixels are not decoded.

    Raises:
        FileProblem: The file is unreadable or damaged.
        IndexFile: The file is a DICOMDIR.
    """
    status = sources.status(path)
    header = read_header(path)
    if (
        "DirectoryRecordSequence" in header.dataset
        or header.sop_class == MediaStorageDirectoryStorage
    ):
        raise IndexFile
    content = dicom_objects.content_of(header)
    if content not in (Content.IMAGE, Content.SEGMENTATION):
        return (dicom_objects.object_instance(header, status, content),)
    layout = layout_of(header)
    rows, columns, frames = layout.rows, layout.columns, complete_frames(header, layout)
    # One of several would pass for an image of one frame, over which the others' masks are drawn.
    if frames < (min(layout.frames, 2) if content is Content.IMAGE else 1):
        raise truncation_problem(header, layout)
    attributes = attribute_texts(header)
    if frames < layout.frames:
        attributes.pop(STACK_KEYWORD, None)  # what is there is not the volume that it describes
    if layout.missing_rows:
        attributes[MISSING_ROWS] = str(layout.missing_rows)
    slide = slide_of(header, layout)
    if slide is not None and slide.stitched:
        rows, columns, frames = slide.rows, slide.columns, len(slide.sections)
    instance = Instance(
        path=path,
        sop_instance_uid=uid_of(header),
        kind="dicom",
        rows=rows,
        columns=columns,
        frames=frames,
        number=whole_number(header.dataset, "InstanceNumber") or 0,
        attributes=attributes,
        frame_time_ms=frame_time(header) if frames > 1 else None,
        size_bytes=status.size,
        mtime_ns=status.mtime_ns,
        changed_ns=status.changed_ns,
        content=content,
        references=dicom_objects.references_of(header) if content is Content.SEGMENTATION else {},
        frame_times_ms=frame_times(header, layout.frames)[:frames],
        note=cut_short_note(header, layout),
    )
    return (instance,)


def read_frame(path: Path, part: int, index: int) -> Frame:
    """Decode frame `index` (from 0) of a DICOM file, or raise FileProblem; `part` is not used."""
    header = cached_header(path, sources.status(path))
    reader = dicom_objects.FRAME_READERS.get(dicom_objects.content_of(header))
    if reader is not None:
        return importlib.import_module(reader).read_frame(header, index)
    layout = layout_of(header)
    slide = slide_of(header, layout)
    if slide is None or not slide.stitched:
        words, photometric = decode_words(header, layout, index)
        stored = _stored(header, layout, words, photometric)
        frame = _frame(header, layout, index, stored, photometric, words)
        return frame if slide is None else _noted(frame, tile_note(slide, header, index))
    if not 0 <= index < len(slide.sections):
        count = len(slide.sections)
        raise guards.problem(path, f"it has {count} frames; there is no {index + 1}th")
    return _slide_frame(header, layout, slide, index, index)


def read_region(path: Path, part: int, index: int, level: int | None, box: Box) -> PixelRegion:
    """Return a part of frame `index`: of a slide, only the tiles that it touches are decoded.

    A file holds one level of a slide, 0. Of a slide too large to be stitched, whose frames are
    tiles, the part is one of the whole slide with the optical path and focal plane of that tile.

    Raises:
        FileProblem: There is no such frame or place, or it cannot be decoded.
    """
    header = cached_header(path, sources.status(path))
    layout = layout_of(header)
    slide = slide_of(header, layout)
    sections = sections_of(slide, header, layout) if slide is not None else ()
    if slide is None or not sections:
        frame = read_frame(path, part, index)
        sizes = ((frame.columns, frame.rows),)
        box = clipped(path, box, level or 0, sizes)
        return PixelRegion(cropped(frame, box), box[0], box[1], 0, sizes)
    sizes = ((slide.columns, slide.rows),)
    box = clipped(path, box, level or 0, sizes)
    if not slide.stitched:
        holding = (
            number
            for number, one in enumerate(sections)
            if any(tile.index == index for tile in one.tiles)
        )
        index = next(holding, 0)
    if not 0 <= index < len(sections):
        raise guards.problem(path, f"it has {len(sections)} frames; there is no {index + 1}th")
    piece, _ = region_of(slide, sections[index], box, layout)
    return PixelRegion(_slide_frame(header, layout, piece, 0, index), box[0], box[1], 0, sizes)


def _slide_frame(header: Header, layout: Layout, slide: Slide, place: int, index: int) -> Frame:
    """Stitch all tiles of section `place` of a slide, which is frame `index`."""
    section = slide.sections[place]
    models: list[str] = []
    lost: list[FileProblem] = []

    def tile_of(number: int) -> Array | None:
        try:
            words, photometric = decode_words(header, layout, number)
            models.append(photometric)
            return _stored(header, layout, words, photometric)
        except FileProblem as error:
            lost.append(error)
            return None

    stored = stitch(slide, section, header, tile_of)
    if stored is None:
        raise lost[0]
    frame = _frame(header, layout, section.tiles[0].index, stored, models[0], None)
    frame = replace(frame, ref=replace(frame.ref, frame=index), time_ms=None)
    note = ""
    if lost:
        note = f"{len(lost)} of {len(section.tiles)} tiles are damaged and left empty"
    elif not covers_matrix(slide, section, layout):
        note = "the file has no tiles for parts of the slide"
    return _noted(frame, section.name, note)


def _noted(frame: Frame, *notes: str) -> Frame:
    return replace(frame, note="; ".join(part for part in (frame.note, *notes) if part))


def _frame(
    header: Header,
    layout: Layout,
    index: int,
    stored: Array,
    photometric: str,
    words: Array | None,
) -> Frame:
    """Describe frame `index` of the file; `words` keep the unused bits, which hold overlays."""
    attributes = FrameAttributes(header, index)
    planes = overlays_of(header, index, words) if words is not None else ()
    return replace(
        frame_without_pixels(header, layout, index, photometric, stored.dtype),
        stored=stored,
        ref=ImageRef(uid_of(header), index, pixel_sha256(stored)),
        overlays=visible_overlays(header, planes),
        shutter=frame_shutter(attributes, planes),
        time_ms=time_of(attributes, layout.frames),
    )


def frame_without_pixels(
    header: Header, layout: Layout, index: int, photometric: str, dtype: np.dtype[Any]
) -> Frame:
    """Return frame `index` (from 0) with all fields but pixels, digest, overlays, shutter and time.

    `photometric` and `dtype` are those of its decoded pixels.
    """
    attributes, colour = FrameAttributes(header, index), layout.samples > 1
    spacing, calibration = spacing_and_calibration(attributes)
    icc = icc_note(header) if colour else ""
    notes = (vector_note(header, index), icc, header.note, *pixel_header_notes(header, layout))
    frame = Frame(
        stored=np.empty((0, 0), dtype),
        ref=ImageRef(uid_of(header), index, ""),
        photometric="RGB" if colour else photometric,
        spacing=spacing,
        calibration=calibration,
        orientation=orientation_of(attributes),
        regions=frame_regions(attributes),
        bits=min(layout.stored, 8 * dtype.itemsize),
        lossy=describe.lossy_text(header),
        note="; ".join(note for note in notes if note),
    )
    return frame if colour else _with_greys(frame, attributes)


def decode_stored(header: Header, layout: Layout, index: int) -> tuple[Array, str]:
    """Return (values, photometric interpretation after decoding) of frame `index`, from 0.

    Colour values are converted to RGB, whatever the photometric interpretation.
    """
    words, photometric = decode_words(header, layout, index)
    return _stored(header, layout, words, photometric), photometric


def _stored(header: Header, layout: Layout, words: Array, photometric: str) -> Array:
    if layout.samples == 1:
        return stored_values(layout, words)
    unsigned = replace(layout, signed=False)
    return to_rgb(header, layout, stored_values(unsigned, words), photometric)


def _with_greys(frame: Frame, attributes: FrameAttributes) -> Frame:
    """Add the rescale, LUTs, windows and palette to a grey or palette frame."""
    header = attributes.header
    if frame.photometric == "PALETTE COLOR":
        found = palette_of(header)
        if found is None:
            raise guards.problem(header.path, "its colour palette is missing or damaged")
        return replace(frame, palette=found[0], palette_first=found[1])
    coloured = has_palette(header) and is_supplemented(attributes)
    supplemental = palette_of(header) if coloured else None
    rescale, modality_lut = describe.modality_of(attributes)
    presentation_luts = describe.luts_of(attributes, "PresentationLUTSequence")
    return replace(
        frame,
        rescale=rescale,
        modality_lut=modality_lut,
        voi=describe.voi_of(attributes),
        padding=describe.padding_of(header),
        inverse=header.text("PresentationLUTShape").upper() == "INVERSE",
        presentation_lut=presentation_luts[0] if presentation_luts else None,
        palette=supplemental[0] if supplemental else None,
        palette_first=supplemental[1] if supplemental else 0,
        supplemental=supplemental is not None,
        real_world=describe.real_world_of(attributes),
    )


MAX_STEP_MS = 60_000.0
_VECTORS = {int(tag, 16): names for tag, names in shipped_table("dicom", "frame_vectors").items()}


def frame_time(header: Header) -> float | None:
    """Return the time between frames in ms (PS3.3 C.7.6.5), or None if it is unknown."""
    dataset = header.dataset
    time = number_of(dataset, "FrameTime")
    if time is None:
        times = [t for t in numbers(header.value("FrameTimeVector"))[1:] if math.isfinite(t)]
        time = sum(times) / len(times) if times else None
    if time is None:
        rate = number_of(dataset, "RecommendedDisplayFrameRate") or number_of(dataset, "CineRate")
        time = 1000 / rate if rate else None
    return time if time is not None and 0 < time < MAX_STEP_MS else None


def frame_times(header: Header, frames: int) -> tuple[float, ...]:
    """Return the time of each frame in ms after the first one, by FrameTimeVector; () if unusable.

    The vector holds an increment per frame, of which the first is 0 (PS3.3 C.7.6.5.1.2); it is
    unusable if their number is not `frames` or one is impossible.
    """
    steps = numbers(header.value("FrameTimeVector"))[1:]
    if frames < 2 or len(steps) != frames - 1 or not all(0 <= step < MAX_STEP_MS for step in steps):
        return ()
    return tuple(itertools.accumulate(steps, initial=0.0))


def time_of(attributes: FrameAttributes, frames: int) -> float | None:
    """Return a frame's time in ms after the first of all `frames`, or None if it is unknown."""
    if frames < 2:
        return None
    header, index = attributes.header, attributes.index
    times = frame_times(header, frames)
    if times:
        return times[index]
    step = number_of(header.dataset, "FrameTime")
    if step is not None and 0 < step < MAX_STEP_MS:
        return step * index
    offset = attributes.number("TemporalPositionTimeOffset")
    if offset is not None:
        return offset * 1000
    for keyword in ("FrameReferenceDateTime", "FrameAcquisitionDateTime"):
        start = _moment(FrameAttributes(header, 0).text(keyword))
        now = _moment(attributes.text(keyword))
        if start is not None and now is not None:
            return (now - start).total_seconds() * 1000
    return None


def _moment(text: str) -> datetime | None:
    """Parse a DICOM date and time; the offset from UTC is dropped, as only differences matter."""
    digits = text.split("+")[0].split("-")[0].strip()
    whole, _, fraction = digits.partition(".")
    try:
        moment = datetime.strptime(whole[:14], "%Y%m%d%H%M%S")  # noqa: DTZ007
        return moment.replace(microsecond=int(fraction[:6].ljust(6, "0")) if fraction else 0)
    except ValueError:
        return None


def vector_note(header: Header, index: int) -> str:
    """Return what NM frame `index` (from 0) shows, e.g. "detector 2, phase 1"; "" if not stated."""
    pointer = header.value("FrameIncrementPointer")
    tags: list[Any] = [pointer] if isinstance(pointer, int) else list(pointer or ())
    parts: list[str] = []
    for tag in tags:
        keyword, name = _VECTORS.get(int(tag), ("", "")) if isinstance(tag, int) else ("", "")
        values = numbers(header.value(keyword)) if keyword else ()
        if index < len(values) and len(set(values)) > 1 and math.isfinite(values[index]):
            parts.append(f"{name} {values[index]:g}")
    return ", ".join(parts)


_MAX_BITS = 16
_AS_RGB = frozenset({"RGB", "YBR_RCT", "YBR_ICT"})
"""Photometric interpretations that need no conversion; the JPEG 2000 library undoes its own
transforms."""
_FULL = frozenset({"YBR_FULL", "YBR_FULL_422"})
_PARTIAL = frozenset({"YBR_PARTIAL_422", "YBR_PARTIAL_420"})
_RETIRED = frozenset({"ARGB", "CMYK", "HSV"})
_TO_PARTIAL = np.array(
    [[0.2568, 0.5041, 0.0979], [-0.1482, -0.2910, 0.4392], [0.4392, -0.3678, -0.0714]]
)
"""Matrix from RGB to YBR_PARTIAL of the standard; 16, 128 and 128 are added to the result."""


def to_rgb(header: Header, layout: Layout, stored: Array, photometric: str) -> Array:
    """Convert unsigned colour pixels [rows, columns, samples] to RGB with at most 16 bits a sample.

    Raises:
        FileProblem: The colour model is not supported.
    """
    if photometric in _RETIRED or layout.samples != 3:
        raise guards.problem(
            header.path,
            f"its colour model ({photometric[:20]} with {layout.samples} samples a pixel) "
            "cannot be shown",
            "Ask for an export in RGB",
        )
    bits = layout.stored
    if stored.dtype.itemsize > 2:
        down = max(bits - _MAX_BITS, 0)
        stored, bits = (stored >> down).astype(np.uint16), min(bits, _MAX_BITS)
    if photometric in _AS_RGB:
        return stored
    if photometric in _FULL:
        return _full_to_rgb(stored, bits)
    if photometric in _PARTIAL:
        return _partial_to_rgb(stored, bits)
    raise guards.problem(
        header.path,
        f"its colour model ({photometric[:20]}) cannot be shown",
        "Ask for an export in RGB",
    )


def _full_to_rgb(ybr: Array, bits: int) -> Array:
    """Convert YBR_FULL to RGB; float32 is exact enough for 16 bits."""
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


def _partial_to_rgb(ybr: Array, bits: int) -> Array:
    """Convert YBR_PARTIAL to RGB; luminance spans 16 to 235 of 255, chrominance 16 to 240."""
    scale = 2.0 ** (bits - 8)
    offset = np.array([16.0, 128.0, 128.0]) * scale
    rgb = (ybr.astype(np.float64) - offset) @ np.linalg.inv(_TO_PARTIAL).T
    return np.clip(np.rint(rgb), 0, 2**bits - 1).astype(ybr.dtype)


def icc_note(header: Header) -> str:
    """Return a note that an ICC profile is not applied; "" if there is none or it is sRGB."""
    profile: Any = header.value("ICCProfile")
    path = first_item(header.dataset, "OpticalPathSequence")
    if profile is None and path is not None:
        profile = value_of(path, "ICCProfile")
    if not isinstance(profile, bytes) or len(profile) < 132:
        return ""
    name = _description(profile)
    if "srgb" in name.lower():
        return ""
    return f"colours shown without the file's ICC profile{f' ({name})' if name else ''}"


def _description(profile: bytes) -> str:
    """Return an ICC profile's own name (ICC.1:2010, 7.3 tag table and desc)."""
    try:
        (count,) = struct.unpack_from(">L", profile, 128)
        for number in range(min(count, 100)):
            tag, offset, size = struct.unpack_from(">4sLL", profile, 132 + 12 * number)
            if tag != b"desc":
                continue
            data = profile[offset : offset + size]
            if data[:4] == b"desc":
                (length,) = struct.unpack_from(">L", data, 8)
                return data[12 : 12 + length].decode("latin-1").rstrip("\0")[:80]
            if data[:4] == b"mluc":
                length, start = struct.unpack_from(">LL", data, 20)
                return data[start : start + length].decode("utf-16-be", "replace")[:80]
    except struct.error:
        pass
    return ""
