"""What a compressed picture says besides its pixels: comments, Exif, bytes behind its end.

All are taken out; nothing that a decoder uses is changed, so that every pixel stays as it was.
"""

from __future__ import annotations

import struct

_ITEM, _END = 0xFFFEE000, 0xFFFEE0DD
_JPEG_KEPT = frozenset({0xE2, 0xE8, 0xEE})
"""Application segments that change the meaning of pixels: ICC profile, JPEG-LS, Adobe's colours."""
_ICC_NUMBERS = frozenset(
    (b"curv", b"para", b"XYZ ", b"mft1", b"mft2", b"mAB ", b"mBA ", b"sf32", b"meas", b"chrm")
)
_SOC = b"\xff\x4f\xff\x51"


def clean_encapsulated(value: bytes) -> bytes:
    """Return encapsulated pixel data (PS3.5 A.4) without texts in its JPEG or JPEG 2000 streams.

    Raises:
        ValueError: The fragments are damaged.
    """
    items = _items(value)
    if len(items) < 2:
        return value
    table, *fragments = items
    cleaned = [clean_stream(one) for one in fragments]
    if cleaned == fragments:
        return b"".join(map(_item, items))
    return b"".join(map(_item, (_moved(table, fragments, cleaned), *cleaned)))


def fragment_count(value: bytes) -> int:
    """Return the number of fragments of encapsulated pixel data, without the offset table."""
    return max(0, len(_items(value)) - 1)


def _items(value: bytes) -> list[bytes]:
    found: list[bytes] = []
    at = 0
    while at + 8 <= len(value):
        group, element, length = struct.unpack_from("<HHL", value, at)
        tag = group << 16 | element
        if tag == _END:
            break
        if tag != _ITEM or at + 8 + length > len(value):
            raise ValueError("damaged fragments")
        found.append(value[at + 8 : at + 8 + length])
        at += 8 + length
    return found


def _item(data: bytes) -> bytes:
    data += b"\0" * (len(data) % 2)
    return struct.pack("<HHL", 0xFFFE, 0xE000, len(data)) + data


def _moved(table: bytes, before: list[bytes], after: list[bytes]) -> bytes:
    """Return the basic offset table for fragments of other lengths."""
    places: dict[int, int] = {}
    old = new = 0
    for one, other in zip(before, after, strict=True):
        places[old] = new
        old += 8 + len(one) + len(one) % 2
        new += 8 + len(other) + len(other) % 2
    offsets = struct.unpack(f"<{len(table) // 4}L", table[: len(table) // 4 * 4])
    if not all(one in places for one in offsets):
        return b""  # an empty table is always valid
    return struct.pack(f"<{len(offsets)}L", *(places[one] for one in offsets))


def clean_stream(data: bytes) -> bytes:
    """Return a JPEG, JPEG-LS or JPEG 2000 stream without comments; anything else as it is."""
    if data[:2] == b"\xff\xd8":
        return _clean_jpeg(data)
    if data[:4] == _SOC:
        return _clean_jpeg_2000(data)
    return data


def _cut(data: bytes, end: bytes) -> bytes:
    """Cut what lies behind the end marker, if there is one."""
    at = data.rfind(end)
    return data if at < 0 else data[: at + 2]


def _clean_jpeg(data: bytes) -> bytes:
    parts = [data[:2]]
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:
            at += 1
            continue
        length = struct.unpack_from(">H", data, at + 2)[0]
        segment = data[at : at + 2 + length]
        if marker == 0xDA:
            parts.append(_without_later_comments(data[at:]))
            return b"".join(parts)
        if marker == 0xE0:
            keep = segment[4:9] == b"JFIF\0"
            segment = b"\xff\xe0\0\x10" + segment[4:16] + b"\0\0" if keep else segment
        else:
            keep = marker != 0xFE and (not 0xE0 <= marker <= 0xEF or marker in _JPEG_KEPT)
        if keep:
            parts.append(segment)
        at += 2 + length
    return data  # no scan: a fragment of a frame that goes on, or damage


def _without_later_comments(data: bytes) -> bytes:
    """Return scans without comments between them and without what follows the end."""
    parts: list[bytes] = []
    start = at = 0
    while (at := data.find(b"\xff", at)) >= 0 and at + 1 < len(data):
        marker = data[at + 1]
        if marker == 0xD9:
            return b"".join((*parts, data[start : at + 2]))
        if marker == 0xFE and at + 4 <= len(data):
            parts.append(data[start:at])
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
            start = at
        elif marker in (0xDA, 0xC4, 0xDB, 0xDD) and at + 4 <= len(data):
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
        else:
            at += 2 if marker != 0xFF else 1
    return b"".join((*parts, data[start:]))


def _clean_jpeg_2000(data: bytes) -> bytes:
    parts = [data[:2]]
    at = 2
    while at + 4 <= len(data):
        marker, length = struct.unpack_from(">HH", data, at)
        if marker == 0xFF90:  # the first tile: the main header is over
            return b"".join((*parts, _cut(data[at:], b"\xff\xd9")))
        if marker != 0xFF64:
            parts.append(data[at : at + 2 + length])
        at += 2 + length
    return data


def clean_icc(data: bytes) -> bytes | None:
    """Return an ICC profile of the same length without its texts; None if it is no profile."""
    if len(data) < 132 or data[36:40] != b"acsp":
        return None
    count = struct.unpack_from(">L", data, 128)[0]
    if count > 200 or 132 + 12 * count > len(data):
        return None
    made = bytearray(len(data))
    made[: 132 + 12 * count] = data[: 132 + 12 * count]
    made[48:64], made[80:128] = bytes(16), bytes(48)  # device model, creator, the profile's hash
    for index in range(count):
        offset, size = struct.unpack_from(">LL", data, 132 + 12 * index + 4)
        if data[offset : offset + 4] in _ICC_NUMBERS and offset + size <= len(data):
            made[offset : offset + size] = data[offset : offset + size]
        elif 132 + 12 * count <= offset <= len(data) - 4:
            made[offset : offset + 4] = data[offset : offset + 4]
    return bytes(made)
