"""Mark PNG pictures that a generative model made: they show no patient.

The mark is a tEXt chunk before the pixels (PNG specification, 3rd edition, 11.3.3), so that it
survives copying and is found without decoding. Programs that rewrite a picture put texts behind
the pixels or into other kinds of chunks: those are read too.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

KEYWORD = "Sightline-Synthetic"
"""Keyword of the chunk; its text is the model's title."""
ATTRIBUTE = "SyntheticBy"
"""Name under which an `Instance` carries the model's title (`Instance.get`)."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_END_OF_IHDR = len(_SIGNATURE) + 25
_MAX_TEXT = 200
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_LONGEST = 1 << 16  # bytes of the longest text chunk that is read


def model_title(data: bytes) -> str:
    """Return the title of the model that made this PNG, from its text chunks; "" if not stated."""
    return _maker(BytesIO(data))


def file_model_title(path: Path) -> str:
    """Return `model_title` of the file at `path`; "" also if it cannot be read."""
    try:
        with path.open("rb") as stream:
            return _maker(stream)
    except OSError:
        return ""


def _maker(stream: BinaryIO) -> str:
    if stream.read(len(_SIGNATURE)) != _SIGNATURE:
        return ""
    while len(head := stream.read(8)) == 8:
        size, kind = struct.unpack(">I4s", head)
        if kind not in _TEXTS or size > _LONGEST:
            stream.seek(size + 4, os.SEEK_CUR)
            continue
        body = stream.read(size)
        if len(body) < size or len(stream.read(4)) < 4:
            return ""
        keyword, found, text = body.partition(b"\0")
        if found and keyword == KEYWORD.encode():
            shown = "".join(c for c in _text(kind, text) if c.isprintable())
            return shown.strip()[:_MAX_TEXT] or "a model"
    return ""


def _text(kind: bytes, data: bytes) -> str:
    """Return the text of a chunk behind its keyword; "" if it is compressed and damaged."""
    if kind == b"tEXt":
        return data.decode("latin-1")
    packed = kind == b"zTXt" or data[:1] == b"\1"
    data = data[1:] if kind == b"zTXt" else data[2:].split(b"\0", 2)[-1]
    try:
        data = zlib.decompressobj().decompress(data, _MAX_TEXT) if packed else data
    except zlib.error:
        return ""
    return data.decode("latin-1" if kind == b"zTXt" else "utf-8", "replace")


def mark(path: Path, model: str, more: Mapping[str, str] | None = None) -> None:
    """Mark a PNG that has no mark yet as made by a model, atomically and without changing pixels.

    Args:
        path: A PNG written by this program.
        model: Title of the model that made it.
        more: Further text chunks to add: maps keywords (1 to 79 characters) to texts.

    Raises:
        OSError: The file cannot be read or written.
        ValueError: The file is not a PNG.
    """
    data = path.read_bytes()
    if not data.startswith(_SIGNATURE) or data[12:16] != b"IHDR":
        raise ValueError("no PNG")
    if model_title(data):
        return
    texts = {KEYWORD: model.strip() or "a model", **(more or {})}
    chunks = b"".join(_text_chunk(keyword, text) for keyword, text in texts.items())
    from app.user_files import write_atomic  # not needed where pictures are read

    write_atomic(path, data[:_END_OF_IHDR] + chunks + data[_END_OF_IHDR:])


def _text_chunk(keyword: str, text: str) -> bytes:
    body = keyword.encode("latin-1") + b"\0" + text.encode("latin-1", "replace")
    kind = b"tEXt" + body
    return struct.pack(">I", len(body)) + kind + struct.pack(">I", zlib.crc32(kind))
