"""What PNG and GIF files are made of, counted before a library takes it apart block by block.

Millions of blocks that hold nothing cost a decoder, and us, many seconds and gigabytes.
"""

from __future__ import annotations

MAX_CHUNKS = 150_000
"""Of a PNG: a gigabyte of pixels in pieces of 8 kB, as encoders write them."""
MAX_OTHER_CHUNKS = 5_000
MAX_PIECES = 50_000
"""Of a GIF, beside one for every 64 bytes: blocks, and the parts of at most 255 bytes of each."""

_PNG_HEAD = 8
_GIF_HEAD = 13
_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B


def png_is_absurd(data: bytes) -> bool:
    """Whether a PNG consists of far more chunks than a picture needs."""
    at, others = _PNG_HEAD, 0
    for _ in range(MAX_CHUNKS):
        head = data[at : at + 8]
        if len(head) < 8:
            return False
        others += head[4:] != b"IDAT"
        if others > MAX_OTHER_CHUNKS:
            return True
        at += 12 + int.from_bytes(head[:4], "big")
    return True


def gif_is_absurd(data: bytes, most_frames: int) -> bool:
    """Whether a GIF has more frames than are shown, or far more pieces than it needs."""
    at = _GIF_HEAD + _colours(data[10:11])
    frames, left = 0, MAX_PIECES + len(data) // 64
    while at < len(data) and data[at] != _END:
        frames += data[at] == _IMAGE
        left -= 1
        if frames > most_frames or left < 0:
            return True
        if data[at] not in (_IMAGE, _EXTENSION):  # decoders pass over it
            at += 1
            continue
        at += 11 + _colours(data[at + 9 : at + 10]) if data[at] == _IMAGE else 2
        while at < len(data) and data[at] and left >= 0:
            left -= 1
            at += 1 + data[at]
        at += 1
    return False


def _colours(flags: bytes) -> int:
    """Bytes of a colour table, by the flags of a screen or an image."""
    return 3 << (flags[0] & 7) + 1 if flags and flags[0] & 0x80 else 0
