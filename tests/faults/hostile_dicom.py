"""DICOM files made to harm: absurd figures, bombs, sequences without end."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults.seeds import a_picture, encode, packed
from tests.unit.imaging.files import make_dicom

ITEM, ITEM_END, SEQUENCE_END = b"\xfe\xff\x00\xe0", b"\xfe\xff\x0d\xe0", b"\xfe\xff\xdd\xe0"
UNDEFINED = b"\xff\xff\xff\xff"
BIG = 65535
NATIVE = "1.2.840.10008.1.2.1"
DEFLATED = "1.2.840.10008.1.2.1.99"
WIDE_ONLY = "1.2.840.10008.1.2.4.51"
_J2K = (*(f"1.2.840.10008.1.2.4.{n}" for n in (90, 91, 92, 201, 202, 203)),)
_XL = ("1.2.840.10008.1.2.4.110", "1.2.840.10008.1.2.4.112")
_JPEG = (*(f"1.2.840.10008.1.2.4.{n}" for n in (50, 51, 57, 70, 80, 81)),)
WITH_SIZES = (*_JPEG, *_J2K, *_XL)
"""Syntaxes whose code streams say how large they are."""


def code_of(syntax: str) -> tuple[np.ndarray[Any, Any], bytes]:
    """A small picture and its code stream."""
    pixels = a_picture("<u2" if syntax == WIDE_ONLY else "<u1")
    return pixels, encode(syntax, pixels)


def claiming(syntax: str, code: bytes, rows: int, columns: int) -> bytes:
    """The code stream with other figures in its own header."""
    data = bytearray(code)
    if syntax in _XL:
        bits = 0 | 2 << 1 | (rows - 1) << 3 | 0 << 21 | 2 << 24 | (columns - 1) << 26
        return b"\xff\x0a" + bits.to_bytes(6, "little") + code[5:]
    if syntax in _J2K:
        data[8:16] = struct.pack(">LL", columns, rows)
        data[24:32] = struct.pack(">LL", columns, rows)
        return bytes(data)
    for marker in (0xC0, 0xC1, 0xC2, 0xC3, 0xF7):
        at = data.find(bytes((0xFF, marker)))
        if at > 0:
            data[at + 5 : at + 9] = struct.pack(">HH", rows, columns)
            return bytes(data)
    raise ValueError(syntax)


def compressed(path: Path, syntax: str, code: bytes, **elements: Any) -> Path:
    """A file of one frame with this code stream and these elements."""
    pixels = a_picture("<u2" if syntax == WIDE_ONLY else "<u1")
    more: dict[str, Any] = {"BitsStored": 12, "HighBit": 11} if syntax == WIDE_ONLY else {}
    return packed(path, pixels, syntax, [code + b"\0" * (len(code) % 2)], **(more | elements))


def zeros_deflated(megabytes: int) -> bytes:
    """A raw deflate stream of so many megabytes of zeros, made without making them."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * megabytes + packer.flush()


def with_data_set(path: Path, body: bytes, syntax: str = NATIVE, **elements: Any) -> Path:
    """A file whose data set is followed by these bytes, in front of no pixels."""
    make_dicom(path, PixelData=None, **elements)
    return _renamed(path, path.read_bytes() + body, syntax)


def _renamed(path: Path, data: bytes, syntax: str) -> Path:
    if syntax != NATIVE:
        old = b"\x02\0\x10\0UI\x14\0" + NATIVE.encode() + b"\0"
        name = syntax.encode() + b"\0" * (len(syntax) % 2)
        new = b"\x02\0\x10\0UI" + struct.pack("<H", len(name)) + name
        assert old in data
        data = data.replace(old, new, 1)
    path.write_bytes(data)
    return path


def deflated_bomb(path: Path, **elements: Any) -> Path:
    """A deflated data set whose pixels never end."""
    make_dicom(path, PixelData=None, **elements)
    data = path.read_bytes()
    end = data.find(b"\x08\0\x16\0")
    packer = zlib.compressobj(9, wbits=-15)
    pixels = b"\xe0\x7f\x10\0OW\0\0" + struct.pack("<L", 0xFFFFFFF0)
    head = packer.compress(data[end:] + pixels) + packer.flush(zlib.Z_FULL_FLUSH)
    return _renamed(path, data[:end] + head + zeros_deflated(4096), DEFLATED)


def element(tag: int, vr: bytes, value: bytes, *, undefined: bool = False) -> bytes:
    """An element of a long form VR."""
    length = UNDEFINED if undefined else struct.pack("<L", len(value))
    return struct.pack("<HH", tag >> 16, tag & 0xFFFF) + vr + b"\0\0" + length + value


def nested(depth: int, tag: int, *, undefined: bool) -> bytes:
    """Sequences in sequences."""
    if undefined:
        begin = element(tag, b"SQ", b"", undefined=True) + ITEM + UNDEFINED
        return begin * depth + (ITEM_END + bytes(4) + SEQUENCE_END + bytes(4)) * depth
    body = b""
    for _ in range(depth):
        body = element(tag, b"SQ", ITEM + struct.pack("<L", len(body)) + body)
    return body


def empty_items(count: int, tag: int, *, undefined: bool) -> bytes:
    """A sequence of items that hold nothing."""
    if undefined:
        return element(tag, b"SQ", (ITEM + bytes(4)) * count, undefined=True) + (
            SEQUENCE_END + bytes(4)
        )
    return element(tag, b"SQ", (ITEM + bytes(4)) * count)


def fragments(path: Path, count: int) -> Path:
    """Compressed pixels in very many fragments that hold nothing."""
    pixels, code = code_of("1.2.840.10008.1.2.4.90")
    del pixels
    compressed(path, "1.2.840.10008.1.2.4.90", code)
    data = path.read_bytes()
    end = data.rfind(SEQUENCE_END)
    path.write_bytes(data[:end] + (ITEM + bytes(4)) * count + data[end:])
    return path


def offset_table(path: Path, count: int) -> Path:
    """A Basic Offset Table of millions of frames."""
    _, code = code_of("1.2.840.10008.1.2.4.90")
    compressed(path, "1.2.840.10008.1.2.4.90", code, NumberOfFrames=count)
    data = path.read_bytes()
    at = data.find(ITEM, data.find(b"\xe0\x7f\x10\0OB"))
    after = at + 8 + struct.unpack("<L", data[at + 4 : at + 8])[0]
    table = ITEM + struct.pack("<L", 4 * count) + bytes(4 * count)
    path.write_bytes(data[:at] + table + data[after:])
    return path


def siz(change: Callable[[bytearray], None]) -> bytes:
    """A JPEG 2000 code stream whose main header is changed."""
    data = bytearray(code_of("1.2.840.10008.1.2.4.90")[1])
    change(data)
    return bytes(data)


def tiny_tiles(data: bytearray) -> None:
    """65535 x 65535 pixels' worth of tiles of one pixel would be; here 4096 x 4096 of them."""
    data[8:16] = struct.pack(">LL", 4096, 4096)
    data[24:32] = struct.pack(">LL", 1, 1)


def many_components(data: bytearray) -> None:
    """16,384 components are declared."""
    data[40:42] = struct.pack(">H", 16384)


def absurd_coding(data: bytearray) -> None:
    """COD: 255 levels, code blocks of 2^257, 65535 layers."""
    at = data.find(b"\xff\x52")
    data[at + 6 : at + 8] = b"\xff\xff"
    data[at + 9 : at + 12] = b"\xff\xff\xff"


def jpeg_with(body: bytes) -> bytes:
    """A JPEG with these bytes behind its start."""
    code = code_of("1.2.840.10008.1.2.4.50")[1]
    return code[:2] + body + code[2:]


def scans(count: int, side: int) -> bytes:
    """A progressive JPEG of many scans over a large image."""
    from PIL import Image

    from tests.faults.seeds import _saved  # pyright: ignore[reportPrivateUsage]

    code = _saved(np.asarray(Image.new("L", (side, side))), "JPEG", progressive=True)
    first = code.find(b"\xff\xda")
    second = code.find(b"\xff\xda", first + 2)
    end = code.find(b"\xff\xda", second + 2)
    return code[:second] + code[second:end] * count + code[end:]
