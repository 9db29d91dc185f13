"""DICOM images: what the catalogue knows of one, and its frames. Runs in a worker process."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from app.imaging import guards, sources
from app.imaging.cine import first_number, frame_time, frame_times, time_of, vector_note
from app.imaging.codecs import decode_words, stored_values
from app.imaging.colour import icc_note, to_rgb
from app.imaging.describe import (
    FrameAttributes,
    frame_regions,
    lossy_text,
    luts_of,
    modality_of,
    orientation_of,
    padding_of,
    spacing_and_calibration,
    voi_of,
)
from app.imaging.dicom_file import Header, read_header
from app.imaging.dicom_objects import content_of, object_instance, references_of
from app.imaging.instance_attributes import attribute_texts, cached_header
from app.imaging.overlays import overlays_of, visible_overlays
from app.imaging.palette import has_palette, palette_of
from app.imaging.pictures import content_uid
from app.imaging.pixel_layout import Layout, complete_frames, cut_short, layout_of
from app.imaging.reading_types import IndexFile, pixel_sha256
from app.imaging.real_world import real_world_of
from app.imaging.shutters import shutter_of
from app.imaging.types import Content, Frame, ImageRef, Instance

Array = NDArray[Any]

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
        number=int(first_number(header, "InstanceNumber") or 0),
        attributes=attribute_texts(header),
        frame_time_ms=frame_time(header) if layout.frames > 1 else None,
        size_bytes=status.size,
        mtime_ns=status.mtime_ns,
        content=content,
        references=references_of(header) if content is Content.SEGMENTATION else (),
        frame_times_ms=frame_times(header, layout.frames),
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
    return _frame(header, layout, index)


def _frame(header: Header, layout: Layout, index: int) -> Frame:
    attributes = FrameAttributes(header, index)
    words, photometric = decode_words(header, layout, index)
    stored = _stored(header, layout, words, photometric)
    photometric = "RGB" if layout.samples > 1 else photometric
    spacing, calibration = spacing_and_calibration(attributes)
    uid = header.text("SOPInstanceUID") or content_uid(str(header.path).encode("utf-8", "replace"))
    overlays = overlays_of(header, index, lambda: words)
    shutter = shutter_of(FrameAttributes(header, index), overlays)
    notes = (vector_note(header, index), icc_note(header) if layout.samples > 1 else "")
    frame = Frame(
        stored=stored,
        ref=ImageRef(uid, index, pixel_sha256(stored)),
        photometric=photometric,
        spacing=spacing,
        calibration=calibration,
        orientation=orientation_of(attributes),
        regions=frame_regions(attributes),
        bits=min(layout.stored, 8 * stored.dtype.itemsize),
        lossy=lossy_text(header),
        overlays=visible_overlays(header, overlays),
        shutter=shutter,
        time_ms=time_of(attributes, layout.frames),
        note="; ".join(note for note in notes if note),
    )
    return frame if layout.samples > 1 else _with_greys(frame, attributes)


def _stored(header: Header, layout: Layout, words: Array, photometric: str) -> Array:
    if layout.samples == 1:
        return stored_values(header, layout, words)
    unsigned = replace(layout, signed=False)
    return to_rgb(header, layout, stored_values(header, unsigned, words), photometric)


def _with_greys(frame: Frame, attributes: FrameAttributes) -> Frame:
    """The frame with what its greys, or its palette, rest on."""
    header = attributes.header
    if frame.photometric == "PALETTE COLOR":
        found = palette_of(header)
        if found is None:
            raise guards.problem(header.path, "its colour palette is missing or damaged")
        return replace(frame, palette=found[0], palette_first=found[1])
    coloured = header.text("PixelPresentation").upper() in ("COLOR", "MIXED")
    supplemental = palette_of(header) if coloured and has_palette(header) else None
    rescale, modality_lut = modality_of(attributes)
    presentation_luts = luts_of(attributes, "PresentationLUTSequence")
    return replace(
        frame,
        rescale=rescale,
        modality_lut=modality_lut,
        voi=voi_of(attributes),
        padding=padding_of(header),
        inverse=header.text("PresentationLUTShape").upper() == "INVERSE",
        presentation_lut=presentation_luts[0] if presentation_luts else None,
        palette=supplemental[0] if supplemental else None,
        palette_first=supplemental[1] if supplemental else 0,
        supplemental=supplemental is not None,
        real_world=real_world_of(attributes),
    )
