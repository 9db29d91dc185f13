"""What the readers of the several file formats share."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray


class IndexFile(Exception):
    """The file is a DICOMDIR: it names images and holds none."""


def pixel_sha256(stored: NDArray[Any]) -> str:
    """Digest of stored values: C order, little endian, whatever the file's own encoding."""
    plain = np.ascontiguousarray(stored, stored.dtype.newbyteorder("<"))
    return hashlib.sha256(plain.reshape(-1).view(np.uint8).data).hexdigest()
