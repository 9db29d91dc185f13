"""Short numbers that identify the state of a file, or a UID."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

MODULUS = 2**128


def file_mark(path: str, stamp: Sequence[int]) -> int:
    """Return a hash, below `MODULUS`, of a file's path and its `stamp` (see `FileStatus.stamp`).

    The sum of the hashes of many files, modulo `MODULUS`, identifies the set in any order.
    """
    text = f"{path}\0{stamp[0]}\0{stamp[1]}\0{stamp[2]}"
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest())


def uid_marks(uids: Iterable[str]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each UID; collisions are practically impossible."""
    digests = (blake2b(uid.encode("utf-8", "surrogatepass"), digest_size=8) for uid in uids)
    return np.frombuffer(b"".join(one.digest() for one in digests), "<u8")
