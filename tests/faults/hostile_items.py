"""Objects with real items in great number: contours, frames, report lines, channels, records."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.faults.hostile_dicom import (
    ITEM,
    ITEM_END,
    SEQUENCE_END,
    UNDEFINED,
    element,
    with_data_set,
)

CT = "1.2.840.10008.5.1.4.1.1.2"


def short(tag: int, vr: bytes, value: str | bytes) -> bytes:
    """An element of a short form VR."""
    data = value.encode() if isinstance(value, str) else value
    data += (b"\0" if vr == b"UI" else b" ") * (len(data) % 2)
    return struct.pack("<HH", tag >> 16, tag & 0xFFFF) + vr + struct.pack("<H", len(data)) + data


def sequence(tag: int, items: list[bytes], *, undefined: bool) -> bytes:
    """A sequence of items with content."""
    if undefined:
        body = b"".join(ITEM + UNDEFINED + one + ITEM_END + bytes(4) for one in items)
        return element(tag, b"SQ", body, undefined=True) + SEQUENCE_END + bytes(4)
    return element(tag, b"SQ", b"".join(ITEM + struct.pack("<L", len(o)) + o for o in items))


def _reference(number: int) -> bytes:
    return short(0x00081150, b"UI", CT) + short(0x00081155, b"UI", f"1.2.3.{number}")


def _code() -> bytes:
    return short(0x00080100, b"SH", "121071") + short(0x00080104, b"LO", "Finding")


def contours(count: int, *, undefined: bool) -> bytes:
    """Of an RT structure set, each with the image that it was drawn on."""
    shape = short(0x30060042, b"CS", "CLOSED_PLANAR") + short(
        0x30060050, b"DS", "0\\0\\1\\1\\0\\1\\1\\1\\1"
    )
    image = [sequence(0x30060016, [_reference(n)], undefined=undefined) for n in range(count)]
    drawn = sequence(0x30060040, [one + shape for one in image], undefined=undefined)
    region = short(0x30060022, b"IS", "1") + short(0x30060026, b"LO", "Liver")
    return sequence(0x30060020, [region], undefined=undefined) + sequence(
        0x30060039, [drawn + short(0x30060084, b"IS", "1")], undefined=undefined
    )


def report_lines(count: int, *, undefined: bool) -> bytes:
    """Of a structured report."""
    name = sequence(0x0040A043, [_code()], undefined=undefined)
    head = short(0x0040A010, b"CS", "CONTAINS") + short(0x0040A040, b"CS", "TEXT") + name
    lines = [head + short(0x0040A160, b"LO", f"line {n}") for n in range(count)]
    body = sequence(0x0040A730, lines, undefined=undefined)
    return short(0x0040A040, b"CS", "CONTAINER") + name + body


def named_images(count: int, *, undefined: bool) -> bytes:
    """Of a key object selection."""
    kind = short(0x0040A010, b"CS", "CONTAINS") + short(0x0040A040, b"CS", "IMAGE")
    items = [
        sequence(0x00081199, [_reference(n)], undefined=undefined) + kind for n in range(count)
    ]
    return short(0x0040A040, b"CS", "CONTAINER") + sequence(0x0040A730, items, undefined=undefined)


def graphics(count: int, *, undefined: bool) -> bytes:
    """Of a presentation state."""
    line = short(0x00700005, b"CS", "PIXEL") + short(0x00700020, b"US", b"\2\0")
    line += short(0x00700021, b"US", b"\2\0")
    line += short(0x00700022, b"FL", struct.pack("<4f", 1, 1, 9, 9))
    line += short(0x00700023, b"CS", "POLYLINE")
    layer = short(0x00700002, b"CS", "L") + sequence(
        0x00700009, [line] * count, undefined=undefined
    )
    return sequence(0x00700001, [layer], undefined=undefined)


def groups_of_annotations(count: int, *, undefined: bool) -> bytes:
    """Of microscopy bulk annotations."""
    group = sequence(0x006A0009, [_code()], undefined=undefined) + short(0x006A0005, b"LO", "g")
    return sequence(0x006A0002, [group] * count, undefined=undefined)


def channels(count: int, *, undefined: bool) -> bytes:
    """Of a waveform."""
    one = sequence(0x003A0208, [_code()], undefined=undefined)
    group = short(0x003A0005, b"US", struct.pack("<H", count))
    group += short(0x003A0010, b"UL", struct.pack("<L", 1)) + short(0x003A001A, b"DS", "100")
    group += sequence(0x003A0200, [one] * count, undefined=undefined)
    return sequence(0x54000100, [group], undefined=undefined)


def frame_groups(count: int, *, undefined: bool) -> bytes:
    """Of an enhanced image or segmentation."""
    frames: list[bytes] = []
    for number in range(count):
        place = short(0x00200032, b"DS", f"0\\0\\{number}")
        index = short(0x00209157, b"UL", struct.pack("<2L", 1, number + 1))
        frame = sequence(0x00209111, [index], undefined=undefined)
        frames.append(frame + sequence(0x00209113, [place], undefined=undefined))
    return sequence(0x52009230, frames, undefined=undefined)


Maker = Callable[..., bytes]
KINDS: dict[str, tuple[Maker, str, int]] = {
    "contours": (contours, "1.2.840.10008.5.1.4.1.1.481.3", 200_000),
    "report lines": (report_lines, "1.2.840.10008.5.1.4.1.1.88.33", 200_000),
    "key objects": (named_images, "1.2.840.10008.5.1.4.1.1.88.59", 200_000),
    "graphics": (graphics, "1.2.840.10008.5.1.4.1.1.11.1", 200_000),
    "annotations": (groups_of_annotations, "1.2.840.10008.5.1.4.1.1.91.1", 200_000),
    "channels": (channels, "1.2.840.10008.5.1.4.1.1.9.1.3", 65_535),
    "frames": (frame_groups, "1.2.840.10008.5.1.4.1.1.2.1", 200_000),
    "frames of a segmentation": (frame_groups, "1.2.840.10008.5.1.4.1.1.66.4", 200_000),
}
"""Name -> what makes it, its SOP Class, how many are too many."""


def with_items(path: Path, kind: str, *, count: int = 0, undefined: bool) -> Path:
    """A file of one kind with so many items, by default too many."""
    make, sop_class, many = KINDS[kind]
    elements: dict[str, Any] = {"SOPClassUID": sop_class}
    if make is not frame_groups:
        elements |= {"Rows": None, "Columns": None}
    return with_data_set(path, make(count or many, undefined=undefined), **elements)


def directory(path: Path, count: int, *, undefined: bool) -> Path:
    """A DICOMDIR of so many images, none below another."""
    head = short(0x00041400, b"UL", bytes(4)) + short(0x00041410, b"US", b"\xff\xff")
    head += short(0x00041420, b"UL", bytes(4)) + short(0x00041430, b"CS", "IMAGE")
    records = [
        head + short(0x00041500, b"CS", f"IMAGES\\I{n:07}") + _reference(n) for n in range(count)
    ]
    body = sequence(0x00041220, records, undefined=undefined)
    meta = short(0x00020002, b"UI", "1.2.840.10008.1.3.10")
    meta += short(0x00020010, b"UI", "1.2.840.10008.1.2.1")
    length = short(0x00020000, b"UL", struct.pack("<L", len(meta)))
    path.write_bytes(bytes(128) + b"DICM" + length + meta + body)
    return path
