"""Items of Modality, VOI and Presentation LUT Sequences (PS3.3 C.11.1.1, C.11.2.1.1, C.11.4).

Many files write descriptors and data in ways that the standard does not allow; they are accepted
where only one meaning is possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydicom.dataset import Dataset

from app.imaging.dicom.dicom_file import value_of, value_text
from app.imaging.pixels.lut_ranges import ANY, Range, signed_first
from app.imaging.types import Lut


def lut_of_item(item: Dataset, inputs: Range = ANY, *, little: bool = True) -> Lut | None:
    """Return the table in a LUT Sequence item, or None if it cannot be used.

    Args:
        item: Sequence item with LUT Descriptor and LUT Data.
        inputs: Lowest and highest possible input; they tell whether the first input is signed.
        little: Whether the file is little endian.
    """
    descriptor = _descriptor(item)
    if descriptor is None:
        return None
    entries, first, bits = descriptor
    data = lut_data(value_of(item, "LUTData"), entries, bits, little=little)
    if data is None:
        return None
    used = max(int(data.max()).bit_length(), 1)
    bits = max(bits, used) if 0 < bits <= 16 else used
    explanation = value_text(value_of(item, "LUTExplanation"))
    return Lut(signed_first(first, inputs), bits, data, explanation)


def _descriptor(item: Dataset) -> tuple[int, int, int] | None:
    try:
        entries, first, bits = (int(part) for part in item["LUTDescriptor"].value)
    except Exception:
        return None  # absent, too short or not numbers
    return entries % 65536 or 65536, first, bits


def lut_data(
    value: Any, entries: int, bits: int, *, little: bool = True
) -> NDArray[np.uint16] | None:
    """Return at most `entries` 16-bit numbers of LUT data; None if half or more are missing.

    `entries` and `bits` are those of the descriptor. `value` is bytes (OW, OB) or numbers (US, SS);
    two 8-bit entries may be packed into one word.
    """
    if value is None:
        return None
    if isinstance(value, bytes):
        words = np.frombuffer(value[: len(value) & ~1], "<u2" if little else ">u2")
        words = words.astype(np.uint16)
        tail = value[len(value) & ~1 :]
    else:
        try:
            words = (np.atleast_1d(np.asarray(value)).astype(np.int64) & 0xFFFF).astype(np.uint16)
        except (TypeError, ValueError):
            return None
        tail = b""
    if words.size >= entries:
        return words[:entries]
    # Packed: the first entry in a word's low byte.
    packed = np.concatenate((words.astype("<u2").view(np.uint8), np.frombuffer(tail, np.uint8)))
    if entries <= packed.size <= entries + 1 or (bits <= 8 and packed.size >= entries):
        return packed[:entries].astype(np.uint16)
    # A truncated table continues with its last entry, as inputs beyond its end do.
    return words if 2 * words.size > entries else None
