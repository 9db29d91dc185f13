"""What volumes ask of the worker processes: where plain pixels lie, or the pixels decoded.

Both answer with descriptions as `SliceDescriber` gives them: `space.volume_store` reads them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.dicom.dicom_file import Header, be_quiet
from app.imaging.dicom.pixel_layout import Layout, complete_frames, cut_short
from app.imaging.files import sources
from app.imaging.processes.records import pack
from app.imaging.reading.dicom_image import decode_stored
from app.imaging.reading.image_entries import read_frame
from app.imaging.reading.slice_describing import Described, SliceDescriber, check_known
from app.imaging.space.plain_slices import PlainLayout
from app.imaging.types import Frame

Message = dict[str, Any]
Array = NDArray[Any]

_WHOLE_BYTES = (8, 16, 32, 64)
_describer = SliceDescriber()
"""Requests of one volume come one after the other, and their slices are alike."""


class _Answer:
    """The slices of one request; descriptions that several share are sent once."""

    def __init__(self) -> None:
        self._frames: list[Frame] = []
        self._numbers: dict[int, int] = {}
        self._layouts: dict[PlainLayout, int] = {}
        self._slices: list[list[Any]] = []
        self._pixels: list[Array] = []

    def add_plain(self, described: Described, layout: PlainLayout, offset: int) -> None:
        number = self._layouts.setdefault(layout, len(self._layouts))
        self._slices.append([*self._described(described), number, offset])

    def add_pixels(self, described: Described, stored: Array) -> None:
        self._slices.append(self._described(described))
        self._pixels.append(stored)

    def add_unknown(self) -> None:
        """A slice that must be decoded here."""
        self._slices.append([])

    def message(self) -> Message:
        return {
            "frames": [pack(frame) for frame in self._frames],
            "layouts": [pack(layout) for layout in self._layouts],
            "slices": self._slices,
            "pixels": self._pixels,
        }

    def _described(self, described: Described) -> list[Any]:
        number = self._numbers.setdefault(id(described.frame), len(self._frames))
        if number == len(self._frames):
            self._frames.append(described.frame)
        return [number, described.uid, described.position]


def plain_entry(payload: Message) -> Message:
    """Where the uncompressed pixels of `payload["slices"]` lie, which are not read.

    Each slice is [path, size, time (ns), part, frame, kind], of DICOM files.
    """
    be_quiet()
    answer = _Answer()
    for text, size, time_ns, _part, index, _kind in payload["slices"]:
        path = Path(text)
        opened = _describer.open(path, (size, time_ns), index)
        layout = _plain_layout(opened.header, opened.layout) if opened is not None else None
        # The members of an archive lie packed in it.
        if opened is None or layout is None or _in_archive(path, in_file=opened.plain is not None):
            answer.add_unknown()
            continue
        if index >= complete_frames(opened.header, opened.layout):
            raise cut_short(opened.header, opened.layout)
        described = _describer.describe(opened, opened.layout.photometric, np.dtype(layout.dtype))
        span = opened.header.pixels
        assert span is not None
        answer.add_plain(described, layout, span.offset + index * opened.layout.frame_bits // 8)
    return answer.message()


def frames_entry(payload: Message) -> Message:
    """The pixels of `payload["slices"]`, decoded."""
    be_quiet()
    answer = _Answer()
    for text, size, time_ns, part, index, kind in payload["slices"]:
        path = Path(text)
        known = (size, time_ns)
        opened = _describer.open(path, known, index) if kind == "dicom" else None
        if opened is None:
            check_known(path, known, sources.status(path))
            frame = read_frame(path, index, part)
            answer.add_pixels(Described(_bare(frame), frame.ref.sop_instance_uid), frame.stored)
        else:
            stored, photometric = decode_stored(opened.header, opened.layout, index)
            described = _describer.describe(opened, photometric, stored.dtype)
            answer.add_pixels(described, stored)
    return answer.message()


def _bare(frame: Frame) -> Frame:
    """A frame without what its volume does not have."""
    return replace(frame, stored=np.empty((0, 0), frame.stored.dtype), overlays=(), shutter=None)


def _in_archive(path: Path, *, in_file: bool) -> bool:
    return not in_file and sources.status(path).archive_size != 0


def _plain_layout(header: Header, layout: Layout) -> PlainLayout | None:
    """How a frame's pixels lie in the file, where they only need to be read."""
    span, bits = header.pixels, layout.allocated
    if span is None or header.encapsulated or header.inflated is not None:
        return None
    if layout.samples != 1 or bits not in _WHOLE_BYTES:
        return None
    swapped = not header.little_endian and bits > 8
    if not header.little_endian and not layout.floating:
        # Bytes are exchanged in words of 16 bits, whose order in 32 is anyone's guess.
        plain = bits == 16 or (bits == 8 and span.vr == "OB")
        if not plain:
            return None
    kind = "f" if layout.floating else ("i" if layout.signed else "u")
    up, down = (0, 0) if layout.floating else (bits - 1 - layout.high, bits - layout.stored)
    return PlainLayout(layout.rows, layout.columns, f"{kind}{bits // 8}", swapped, up, down)
