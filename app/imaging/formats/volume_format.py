"""Which volume format a file has, told from its first bytes."""

from __future__ import annotations

import re
import zlib

NIFTI, NRRD, META_IMAGE = "NIfTI", "NRRD", "MetaImage"

_META_IMAGE = re.compile(rb"^[A-Za-z]+ *= ?[^\n]*\r?\n")


def volume_format(start: bytes) -> str:
    """NIFTI, NRRD, META_IMAGE or "", by the first bytes (1 KiB at least where there is as much)."""
    if start.startswith(b"\x1f\x8b"):
        start = _inflated(start)
        return NIFTI if _is_nifti(start) else ""
    if _is_nifti(start):
        return NIFTI
    if re.match(rb"NRRD000[1-5]\r?\n", start):
        return NRRD
    known = (b"NDims", b"ObjectType", b"DimSize")
    if _META_IMAGE.match(start) and any(key in start for key in known):
        return META_IMAGE
    return ""


def _is_nifti(start: bytes) -> bool:
    if start[344:348] in (b"n+1\0", b"ni1\0"):
        return start[:4] in (b"\x5c\x01\0\0", b"\0\0\x01\x5c")
    return start[4:8] in (b"n+2\0", b"ni2\0") and start[:4] in (b"\x1c\x02\0\0", b"\0\0\x02\x1c")


def _inflated(start: bytes) -> bytes:
    """The first bytes inside a gzip file, as far as its own first bytes tell them."""
    try:
        return zlib.decompressobj(wbits=31).decompress(start, 1024)
    except zlib.error:
        return b""
