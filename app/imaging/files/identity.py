"""Identifiers made from content, for files without reliable UIDs."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def content_uid(data: bytes) -> str:
    """Derive a SOP Instance UID from content (PS3.5 B.2: "2.25." and a 128-bit number)."""
    return f"2.25.{int.from_bytes(hashlib.sha256(data).digest()[:16], 'big')}"


def pixel_sha256(stored: NDArray[Any]) -> str:
    """Return the hexadecimal SHA-256 of stored values in C order and little endian."""
    # One digest for equal pixels, however the file encodes them.
    plain = np.ascontiguousarray(stored, stored.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.reshape(-1).view(np.uint8).data).hexdigest()
