"""Whether a safetensors file is whole, from its header alone (no torch).

Format: https://github.com/huggingface/safetensors#format: eight bytes with the header's length, the
header as JSON (name -> dtype, shape, [begin, end] in what follows), then the tensors.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from app.errors import SightlineError

_LONGEST_HEADER = 100_000_000  # the format's own limit
_NO_HEADER = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""What reading a header raises that means no harm or some."""


def check_tensors(path: Path) -> None:
    """Look at a file's header and length.

    Raises:
        SightlineError: It is cut off, damaged, or no safetensors file.
    """
    try:
        end = _end_of_tensors(path)
    except _NO_HEADER as error:
        raise SightlineError(
            "this is no safetensors file, or a damaged one",
            subject=path.name,
            remedy="Copy or download it again.",
            detail=f"{type(error).__name__}: {error}",
        ) from error
    size = path.stat().st_size
    if end != size:
        raise SightlineError(
            f"this file is cut off or damaged: {size:,} bytes, its header says {end:,}",
            subject=path.name,
            remedy="Copy or download it again.",
        )


def _end_of_tensors(path: Path) -> int:
    """Bytes that the file should have."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if not 2 <= length <= _LONGEST_HEADER:
            raise ValueError("no header")
        header: Any = json.loads(stream.read(length))
    ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name[:2] != "__"]
    return 8 + length + max(ends, default=0)
