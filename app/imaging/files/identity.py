"""Identifiers derived from file content, and short hashes of UIDs and of files' states."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.imaging.files import sources
from app.imaging.files.sources import FileStatus

_WHOLE_DIGEST = 2**28
"""Bytes up to which the whole of a file is digested; of larger files samples are."""


def content_uid(data: bytes) -> str:
    """Return a SOP Instance UID derived from `data`: "2.25." and a 128-bit number (PS3.5 B.2)."""
    return f"2.25.{int.from_bytes(hashlib.sha256(data).digest()[:16], 'big')}"


@lru_cache(maxsize=64)
def file_digest(*files: tuple[Path, FileStatus]) -> str:
    """Return one hexadecimal SHA-256 of files' sizes and contents; huge files are only sampled."""
    digest = hashlib.sha256()
    for path, status in files:
        digest.update(f"{status.size}/".encode())
        with sources.open_file(path) as file:
            if status.size <= _WHOLE_DIGEST:
                while chunk := file.read(2**20):
                    digest.update(chunk)
                continue
            for step in range(256):
                file.seek(status.size * step // 256)
                digest.update(file.read(2**18))
    return digest.hexdigest()


def pixel_sha256(stored: NDArray[Any]) -> str:
    """Return the hexadecimal SHA-256 of stored values in C order and little endian."""
    # One digest for equal pixels, however the file encodes them.
    plain = np.ascontiguousarray(stored, stored.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.reshape(-1).view(np.uint8).data).hexdigest()


MODULUS = 2**128


def file_hash(path: str, stamp: Sequence[int]) -> int:
    """Return a 128-bit hash of a file's path and of its size and times, as in `FileStatus.stamp`.

    The sum of the hashes of many files, modulo `MODULUS`, identifies the set of these files.
    """
    text = f"{path}\0{stamp[0]}\0{stamp[1]}\0{stamp[2]}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest())


def uid_hashes(uids: Iterable[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each UID; collisions are practically impossible."""
    digests = (blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=8) for uid in uids)
    return np.frombuffer(b"".join(one.digest() for one in digests), "<u8")
