"""The mark in a PNG that a generative model made: it shows no patient.

A tEXt chunk before the pixels (PNG specification, 3rd edition, 11.3.3.2), so that it survives
copying and is found without decoding anything.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

KEYWORD = "Sightline-Synthetic"
"""Keyword of the chunk; its text is the model's title."""
ATTRIBUTE = "SyntheticBy"
"""Under this name an `Instance` carries the model's title (`Instance.get`)."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEAD_BYTES = 1 << 16  # the mark stands right behind the header
_MAX_TEXT = 200


def made_by(data: bytes) -> str:
    """Title of the model that made a picture; "" for any other picture.

    Args:
        data: A file's content, or its first 64 KiB.
    """
    for kind, body in _chunks(data):
        if kind == b"IDAT":
            break
        keyword, found, text = body.partition(b"\0")
        if kind == b"tEXt" and found and keyword == KEYWORD.encode():
            shown = "".join(c for c in text.decode("latin-1") if c.isprintable())
            return shown.strip()[:_MAX_TEXT] or "a model"
    return ""


def file_made_by(path: Path) -> str:
    """`made_by` of a file; "" also for one that cannot be read."""
    try:
        with path.open("rb") as stream:
            return made_by(stream.read(_HEAD_BYTES))
    except OSError:
        return ""


def mark(path: Path, model: str, more: Mapping[str, str] | None = None) -> None:
    """Put the mark into a PNG that has none; its pixels stay as they are. Atomic.

    Args:
        path: A PNG of ours.
        model: Title of the model that made it.
        more: Further keywords (1 to 79 characters) and texts.

    Raises:
        OSError: It cannot be read or written.
        ValueError: It is no PNG.
    """
    data = path.read_bytes()
    first = next(_chunks(data), None)
    if first is None or first[0] != b"IHDR":
        raise ValueError("no PNG")
    if made_by(data):
        return
    texts = {KEYWORD: model.strip() or "a model", **(more or {})}
    chunks = b"".join(_text_chunk(keyword, text) for keyword, text in texts.items())
    end = len(_SIGNATURE) + 12 + len(first[1])
    _replace(path, data[:end] + chunks + data[end:])


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each whole chunk; nothing of what is no PNG."""
    if not data.startswith(_SIGNATURE):
        return
    at = len(_SIGNATURE)
    while at + 12 <= len(data):
        (size,) = struct.unpack_from(">I", data, at)
        if at + 12 + size > len(data):
            return
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size


def _text_chunk(keyword: str, text: str) -> bytes:
    body = keyword.encode("latin-1") + b"\0" + text.encode("latin-1", "replace")
    kind = b"tEXt" + body
    return struct.pack(">I", len(body)) + kind + struct.pack(">I", zlib.crc32(kind))


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(path.stat().st_mode & 0o777)
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
