"""Notes beside the pictures of an output folder: which open image each of them shows.

An output folder serves a whole conversation, even when it is opened again another day. Without a
note, a picture of a CT slice would have no modality, spacing, orientation or identity for the next
question.
"""

from __future__ import annotations

import json
import logging
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.imaging.types import ImageRef, VoiFunction, Window
from app.settings import open_regular, read_regular

FILE = ".sources.jsonl"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Origin:
    """A picture's source: its pixels and window, and the target it was registered to, if any."""

    ref: ImageRef
    window: Window | None
    target: ImageRef | None = None
    scale: float | None = None


def record(folder: Path, name: str, origin: Origin) -> None:
    """Store `origin` as the source of the picture `folder / name`; a failure is only logged."""
    entry: dict[str, Any] = {
        "picture": name,
        "ref": _ref_json(origin.ref),
        "window": window_json(origin.window),
    }
    if origin.target is not None:
        entry["laid_on"], entry["scale"] = _ref_json(origin.target), origin.scale
    try:
        # The new line first: the entry before may have been cut off by a full disk.
        with open_regular(folder / FILE, append=True) as stream:
            stream.write(f"\n{json.dumps(entry)}\n".encode())
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        _log.warning("a picture's source could not be noted (%s)", type(error).__name__)


def find(folder: Path, name: str) -> Origin | None:
    """Return the source last stored for the picture `folder / name`; None if none is readable."""
    try:
        lines = read_regular(folder / FILE).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    for line in reversed(lines):
        origin = _origin(line, name)
        if origin is not None:
            return origin
    return None


def _origin(line: str, name: str) -> Origin | None:
    try:
        entry: Any = json.loads(line)
        if entry["picture"] != name:
            return None
        ref, window, on = _ref_of(entry["ref"]), window_of(entry["window"]), entry.get("laid_on")
        if on is None:
            return Origin(ref, window)
        return Origin(ref, window, _ref_of(on), _scale_of(entry["scale"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None  # half a line that a crash left


def _ref_json(ref: ImageRef) -> list[Any]:
    return [ref.sop_instance_uid, ref.frame, ref.pixel_sha256]


def _ref_of(parts: Any) -> ImageRef:
    uid, frame, digest = parts
    return ImageRef(str(uid), int(frame), str(digest))


def _scale_of(value: Any) -> float | None:
    if value is None:
        return None
    scale = float(value)
    if not 0 < scale < math.inf:
        raise ValueError("a scale is above 0")
    return scale


def window_json(window: Window | None) -> list[Any] | None:
    """Return a window as a list for JSON; None stays None."""
    if window is None:
        return None
    return [window.center, window.width, str(window.function), window.explanation, window.lut]


def window_of(parts: Any) -> Window | None:
    """Return the window that `window_json` turned into a list; None for an empty value.

    Raises:
        ValueError: `parts` does not have the form that `window_json` returns.
        TypeError: `parts` is not a list.
    """
    if not parts:
        return None
    center, width, function, explanation, *lut = parts  # older entries name no VOI LUT
    kind = VoiFunction(function)
    return Window(float(center), float(width), kind, str(explanation), *map(int, lut))
