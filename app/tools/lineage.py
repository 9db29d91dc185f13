"""Which open image each picture of an output folder shows, kept beside the pictures.

An output folder serves a whole conversation, also one that is opened again another day. Without
this note a picture of a CT slice would be a nameless picture to the next question: without its
modality, spacing, orientation and identity.
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

FILE = ".sources.jsonl"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a picture was made from.

    Attributes:
        ref: The pixels.
        window: The window they were shown with; None for colour and pictures.
        laid_on: The pixels that they were moved to lie on; None where the picture shows them as
            they are.
        scale: As of `app.tools.api.LaidOn`.
    """

    ref: ImageRef
    window: Window | None
    laid_on: ImageRef | None = None
    scale: float | None = None


def record(folder: Path, name: str, origin: Origin) -> None:
    """Note that `folder / name` shows `origin`. A failure is logged and never raised."""
    entry: dict[str, Any] = {
        "picture": name,
        "ref": _ref_json(origin.ref),
        "window": window_json(origin.window),
    }
    if origin.laid_on is not None:
        entry["laid_on"], entry["scale"] = _ref_json(origin.laid_on), origin.scale
    try:
        with (folder / FILE).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        _log.warning("a picture's source could not be noted (%s)", type(error).__name__)


def find(folder: Path, name: str) -> Origin | None:
    """What `folder / name` shows, by its latest note; None when there is none to be read."""
    try:
        lines = (folder / FILE).read_text("utf-8").splitlines()
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
    """A window as a list for JSON."""
    if window is None:
        return None
    return [window.center, window.width, str(window.function), window.explanation, window.lut]


def window_of(parts: Any) -> Window | None:
    """The window of `window_json`.

    Raises:
        ValueError: It is none.
        TypeError: It is none.
    """
    if not parts:
        return None
    center, width, function, explanation, *lut = parts  # older entries name no VOI LUT
    kind = VoiFunction(function)
    return Window(float(center), float(width), kind, str(explanation), *map(int, lut))
