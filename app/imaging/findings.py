"""Findings: geometry on an image with a label, a score and its provenance.

All coordinates are (x, y) = (column, row) in pixels of the image that `Finding.image` names; pixel
centres are integers.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import ImageRef

XY = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Point:
    """A point on an image, as (x, y) in pixels."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Polyline:
    """An open line through two or more points (x, y) in pixels; a measured line has exactly two."""

    points: tuple[XY, ...]


@dataclass(frozen=True, slots=True)
class Polygon:
    """A closed outline, given by its corners (x, y) in pixels."""

    points: tuple[XY, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box whose edges are the outer edges of its pixels: x0 < x1, y0 < y1."""

    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """A binary mask: a bool array [rows, columns] with exactly the image's size."""

    pixels: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Heatmap:
    """A map of values 0..1: a float32 array [rows, columns] with exactly the image's size."""

    values: NDArray[np.float32]


Geometry = Point | Polyline | Polygon | Box | Mask | Heatmap


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a finding: tool, model, run, tool call and time of creation (ISO 8601, UTC)."""

    tool: str
    tool_version: str
    model: str
    weights_sha256: str
    run_id: str
    call_id: str
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))


@dataclass(frozen=True, slots=True)
class Finding:
    """An observation on an image.

    Attributes:
        image: The frame that the finding belongs to; it is not drawn on any other frame.
        label: Short name in radiological terms, e.g. "Right Lung".
        score: The score that the tool reported, or None; `description` explains what it means.
        units: Units of `value`, e.g. "px", "mm (detector plane)", "ratio".
        value: A measurement computed from the geometry and the image's spacing, or None.
        description: A sentence for the findings list and tooltips.
        approximate: Whether `value` is to be marked as approximate.
        group: Findings with the same non-empty group belong together, e.g. the two lines of the
            cardiothoracic ratio.
        corrected: Whether the user has changed the outline or points that a tool found.
        ratio: Name of the value that results if this line's length is divided by that of the other
            line in its group, e.g. "Cardiothoracic ratio"; "" for none.
        rests_on: Labels of the outlines on the same image from which this finding was computed.
    """

    id: str
    image: ImageRef
    geometry: Geometry
    label: str
    score: float | None
    units: str
    provenance: Provenance
    value: float | None = None
    description: str = ""
    approximate: bool = False
    group: str = ""
    corrected: bool = False
    ratio: str = ""
    rests_on: tuple[str, ...] = ()


def new_id() -> str:
    """Return a new random id, unique to one finding."""
    return uuid.uuid4().hex
