"""What a compressed picture says besides its pixels: comments, Exif, bytes behind its end.

All are taken out; nothing that a decoder uses is changed, so that every pixel stays as it was.
"""

from __future__ import annotations

import struct

_ITEM, _END = 0xFFFEE000, 0xFFFEE0DD
_JPEG_KEPT = frozenset((*range(0xC0, 0xD0), 0xDB, 0xDC, 0xDD, 0xDE, 0xDF, 0xF7, 0xF8))
"""Segments that a decoder needs: frames, tables, restarts, and those of JPEG-LS."""
_ICC_NUMBERS = frozenset(
    (b"curv", b"para", b"XYZ ", b"mft1", b"mft2", b"mAB ", b"mBA ", b"sf32", b"meas", b"chrm")
)
_SOC = b"\xff\x4f\xff\x51"
_JP2 = b"\0\0\0\x0cjP  "
_RLE_HEADER = 64


def clean_encapsulated(value: bytes, frames: int = 1, rle_bytes: int = 0) -> bytes:
    """Return encapsulated pixel data (PS3.5 A.4) without texts in its streams.

    Args:
        value: The pixel data.
        frames: Number of frames; a frame that lies in several fragments becomes one.
        rle_bytes: Bytes that a segment of RLE unpacks to (rows x columns); 0 if it is not RLE.

    Raises:
        ValueError: The fragments are damaged.
    """
    items = _items(value)
    if len(items) < 2:
        return value
    table, *fragments = items
    table, fragments = _joined(table, fragments, frames)
    if rle_bytes:
        cleaned = [_clean_rle(one, rle_bytes) for one in fragments]
    else:
        cleaned = [clean_stream(one) for one in fragments]
    if cleaned == fragments:
        return b"".join(map(_item, (table, *fragments)))
    return b"".join(map(_item, (_moved(table, fragments, cleaned), *cleaned)))


def _joined(table: bytes, fragments: list[bytes], frames: int) -> tuple[bytes, list[bytes]]:
    """Return the offset table and the fragments, one a frame if JPEG frames lie in several."""
    if len(fragments) == frames or not fragments[0].startswith((b"\xff\xd8", _SOC, _JP2)):
        return table, fragments
    made: list[bytes] = []
    for one in fragments:
        if not made or (frames > 1 and one.startswith((b"\xff\xd8", _SOC, _JP2))):
            made.append(one)
        else:
            made[-1] += one
    if len(made) != frames:
        raise ValueError("it is unknown which fragments are a frame")
    return b"", made


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
    """Return a JPEG, JPEG-LS or JPEG 2000 stream without comments; anything else as it is.

    Of a JP2 file the code stream is returned: DICOM allows no boxes around it (PS3.5 A.4.4).

    Raises:
        ValueError: It is damaged, or its boxes change the meaning of its pixels.
    """
    if data[:2] == b"\xff\xd8":
        return _clean_jpeg(data)
    if data[:8] == _JP2:
        start = data.find(_SOC)
        if start < 0 or b"pclr" in data[:start] or b"cdef" in data[:start]:
            raise ValueError("a JP2 file with colours of its own")
        data = data[start:]
    if data[:4] == _SOC:
        return _clean_jpeg_2000(data)
    return data


def _clean_rle(data: bytes, unpacked: int) -> bytes:
    """Return a frame in RLE (PS3.5 annex G) without what lies between and behind its segments."""
    if len(data) < _RLE_HEADER:
        raise ValueError("damaged RLE header")
    count, *offsets = struct.unpack_from("<16L", data)
    if not 0 < count < 16:
        raise ValueError("damaged RLE header")
    segments: list[bytes] = []
    for start in offsets[:count]:
        at, done = start, 0
        while done < unpacked and at < len(data):
            step = data[at]
            if step < 128:
                at, done = at + step + 2, done + step + 1
            elif step > 128:
                at, done = at + 2, done + 257 - step
            else:
                at += 1
        segment = data[start:at]
        segments.append(segment + b"\0" * (len(segment) % 2))
    places = [_RLE_HEADER]
    for one in segments[:-1]:
        places.append(places[-1] + len(one))
    header = struct.pack("<16L", count, *places, *[0] * (15 - count))
    return header + b"".join(segments)


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
        elif marker == 0xEE:  # Adobe's colours
            keep = segment[4:9] == b"Adobe" and len(segment) >= 16
            segment = b"\xff\xee\0\x0e" + segment[4:16] if keep else segment
        elif marker == 0xE8:  # the colour transform of JPEG-LS
            keep = segment[4:8] == b"mrfx" and len(segment) == 9
        else:
            keep = marker in _JPEG_KEPT
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
        if (marker == 0xFE or 0xE0 <= marker <= 0xEF) and at + 4 <= len(data):
            parts.append(data[start:at])
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
            start = at
        elif marker in (0xDA, 0xC4, 0xDB, 0xDD) and at + 4 <= len(data):
            at += 2 + struct.unpack_from(">H", data, at + 2)[0]
        else:
            at += 2 if marker != 0xFF else 1
    return b"".join((*parts, data[start:]))


def _clean_jpeg_2000(data: bytes) -> bytes:
    """Return a code stream without comments, and without what follows its end (ISO 15444-1 A)."""
    parts = [data[:2]]
    at = 2
    while at + 4 <= len(data):
        marker, length = struct.unpack_from(">HH", data, at)
        if marker == 0xFF90:  # the first tile: the main header is over
            return b"".join((*parts, *_clean_tiles(data, at)))
        if marker not in (0xFF64, 0xFF55):  # comments, and lengths of tiles, which may change
            parts.append(data[at : at + 2 + length])
        at += 2 + length
    return data


def _clean_tiles(data: bytes, at: int) -> list[bytes]:
    """Return the tiles of a code stream without comments in their headers, and its end marker."""
    parts: list[bytes] = []
    while data[at : at + 2] == b"\xff\x90" and at + 12 <= len(data):
        (size,) = struct.unpack_from(">L", data, at + 6)
        end = at + size if size else max(data.rfind(b"\xff\xd9"), at)
        kept, place = [data[at + 10 : at + 12]], at + 12
        while data[place : place + 2] != b"\xff\x93":
            if place + 4 > end:
                raise ValueError("a damaged tile")
            marker, length = struct.unpack_from(">HH", data, place)
            if marker != 0xFF64:
                kept.append(data[place : place + 2 + length])
            place += 2 + length
        body = b"".join((*kept, data[place:end]))
        told = struct.pack(">L", len(body) + 10 if size else 0)
        parts += [data[at : at + 6], told, body]
        at = end
    return [*parts, b"\xff\xd9"]


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
