"""Names made from content, where a file has none of its own or its name proves nothing."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


def content_uid(data: bytes) -> str:
    """A SOP Instance UID made from content (PS3.5 B.2: 2.25 and a 128-bit number)."""
    return f"2.25.{int.from_bytes(hashlib.sha256(data).digest()[:16], 'big')}"


def pixel_sha256(stored: NDArray[Any]) -> str:
    """Digest of stored values: C order, little endian, whatever the file's own encoding."""
    plain = np.ascontiguousarray(stored, stored.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.reshape(-1).view(np.uint8).data).hexdigest()
