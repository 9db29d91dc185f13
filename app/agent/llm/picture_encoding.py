"""Encodes the pictures of a message for an endpoint: base64 of a PNG, or a note in its place."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

from app.agent.messages import Picture

MEDIA_TYPE = "image/png"
MAX_BYTES = 8 * 2**20

_DIGEST = re.compile(r"[0-9a-f]{24}")
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
"""The first bytes of every PNG (ISO/IEC 15948, 5.2)."""


def encoded(picture: Picture) -> str:
    """Return the PNG as base64; "" if the file is missing, too large, not a PNG, or was replaced.

    A file named by its digest (`privacy.model_pictures`) must have that digest, so that only the
    picture that the user was shown and allowed is sent.
    """
    try:
        with Path(picture.path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return ""
    # Another file (DICOM, say) must not be sent as a PNG.
    if not data.startswith(_SIGNATURE) or len(data) > MAX_BYTES:
        return ""
    name = Path(picture.path).stem
    if _DIGEST.fullmatch(name) and not hashlib.sha256(data).hexdigest().startswith(name):
        return ""
    return base64.b64encode(data).decode("ascii")


def missing(picture: Picture, sees: bool) -> str:
    """Return the note that replaces a picture; `sees` says whether the model accepts pictures."""
    why = "it is not there any more" if sees else "this model takes no pictures"
    return f"[A picture is not shown, {why}: {picture.caption}]"
