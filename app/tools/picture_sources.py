"""Records, in an output folder, from which image each picture was made.

An output folder serves a whole conversation, even when it is opened again another day. Without this
record, a picture of a CT slice would have no modality, spacing, orientation or identity for the
next question. Results that are based on synthetic images are marked here, too.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.imaging.files import synthetic
from app.imaging.findings import Finding
from app.imaging.pixels.regions import PixelRegion
from app.imaging.types import ImageRef, VoiFunction, Window
from app.tools.api import (
    Artifact,
    CancelToken,
    Images,
    ImageSnapshot,
    ImageVolume,
    RegistrationTarget,
    ToolResult,
)
from app.user_files import open_regular, read_regular

FILE = ".sources.jsonl"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Origin:
    """The image from which a picture was made, its window, and any registration target's image."""

    ref: ImageRef
    window: Window | None
    target: ImageRef | None = None
    scale: float | None = None


def record(folder: Path, name: str, origin: Origin) -> None:
    """Store the origin of the picture `folder / name` in its folder; a failure is only logged."""
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
    """Return the origin last stored for the picture `folder / name`; None if none can be read."""
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


class CallImages:
    """A call's images; collects in `models` which models made the synthetic images among them."""

    def __init__(self, images: Images) -> None:
        self._images = images
        self.models: list[str] = []

    def resolve(
        self,
        name: str,
        frame: int | None = None,
        *,
        channel: int | str | None = None,
        z: int | None = None,
        time: int | None = None,
    ) -> ImageSnapshot:
        """Return an image; if a model made it, add that to `models`. See `app.tools.api.Images`."""
        snapshot = self._images.resolve(name, frame, channel=channel, z=z, time=time)
        model = snapshot.instance.get(synthetic.ATTRIBUTE)
        if not model and snapshot.derived:  # a patient's image with a synthetic one in it
            model = synthetic.file_model_title(snapshot.path)
        if model and model not in self.models:
            self.models.append(model)
        return snapshot

    def add_derived(
        self, path: Path, source: ImageSnapshot | None, *, target: RegistrationTarget | None = None
    ) -> None:
        """Record a picture, marked if it shows a synthetic image; see `app.tools.api.Images`."""
        if source is None:  # it may show any of the images that were read
            model = next(iter(self.models), "")
        else:
            model = source.instance.get(synthetic.ATTRIBUTE)
        if model:
            _mark(path, model)
        self._images.add_derived(path, source, target=target)

    def volume(
        self,
        name: str,
        *,
        channel: int | str | None = None,
        time: int | None = None,
        cancel: CancelToken | None = None,
    ) -> ImageVolume:
        """Return a volume; if a model made its image, add that to `models`."""
        self.resolve(name)
        return self._images.volume(name, channel=channel, time=time, cancel=cancel)

    def region(
        self, name: str, x: int, y: int, width: int, height: int, level: int | None = None
    ) -> PixelRegion:
        """Return a part of an image; if a model made it, add that to `models`."""
        self.resolve(name)
        return self._images.region(name, x, y, width, height, level)

    def __getattr__(self, name: str) -> Any:
        # The other methods of a run's images stay reachable.
        return getattr(self._images, name)


def warning(models: Sequence[str]) -> str:
    """Return the warning that a result is based on synthetic images made by these models."""
    return (
        f"a synthetic image, made by {' and '.join(models)}: this result says nothing of any "
        "patient"
    )


def mark_synthetic(result: ToolResult, models: Sequence[str]) -> ToolResult:
    """Return a call's result, marked as synthetic if `models` made images that it is based on.

    All tools' results pass through here, so that no tool can leave the mark out: a synthetic image
    shows no patient. The summary, metadata["warnings"] and each finding get a warning; pictures get
    the mark in their files and in `Artifact.options`. Without models, nothing is changed.
    """
    if not models:
        return result
    said = warning(models)
    told = result.metadata.get("warnings")
    warnings = [str(item) for item in told] if isinstance(told, list | tuple) else []
    if said not in warnings:
        warnings.append(said)
    return replace(
        result,
        summary=f"{result.summary} Note: {said}.",
        metadata={**result.metadata, "warnings": warnings, "synthetic": True},
        findings=tuple(_finding(finding, models) for finding in result.findings),
        artifacts=tuple(_artifact(artifact, models) for artifact in result.artifacts),
    )


def _finding(finding: Finding, models: Sequence[str]) -> Finding:
    said = f"Synthetic image, made by {' and '.join(models)}: no patient."
    return replace(finding, description=f"{said} {finding.description}".strip())


def _artifact(artifact: Artifact, models: Sequence[str]) -> Artifact:
    _mark(artifact.path, models[0])
    return replace(artifact, options={**artifact.options, "synthetic": True, "model": models[0]})


def _mark(path: Path, model: str) -> None:
    # A file that is no PNG, or gone, still has the mark in the artifact's options.
    with suppress(OSError, ValueError):
        synthetic.mark(path, model)
