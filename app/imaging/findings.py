"""Findings: geometry on an image with a label, a score and its provenance.

All coordinates are (x, y) = (column, row) in pixels of the image that `Finding.image` names; pixel
centres are integers.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from app.imaging.types import XY as XY
from app.imaging.types import FramePlane, ImageRef


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


@dataclass(frozen=True, slots=True)
class Segments:
    """Separate straight lines: each pair of points (x, y) in pixels is one, 0-1, 2-3 and so on.

    Cobb angles, bidirectional diameters and ratios of two lengths have this geometry.
    """

    points: tuple[XY, ...]


@dataclass(frozen=True, slots=True)
class Ellipse:
    """An ellipse within the given edges, in pixels (not rounded): x0 < x1, y0 < y1."""

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


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """Objects of one kind, such as all nuclei of an image: an array that numbers them.

    `labels` is a uint16 or uint32 array [rows, columns] with exactly the image's size: 0 is
    background, and each object's pixels hold its number, from 1. No two objects overlap.
    """

    labels: NDArray[np.uint16] | NDArray[np.uint32]


Geometry = Point | Polyline | Segments | Polygon | Box | Ellipse | Mask | Heatmap | Instances


class State(StrEnum):
    """What a person has made of a finding; see `Finding.state`."""

    PROPOSED = "proposed"  # by a tool; nobody has looked at it
    ACCEPTED = "accepted"
    EDITED = "edited"  # accepted with changes
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Code:
    """A coded concept as in DICOM's Code Sequence (PS3.3 8.8).

    Attributes:
        scheme: Coding Scheme Designator, e.g. "SCT" (SNOMED CT), "DCM", "RADLEX", "UCUM".
    """

    value: str
    scheme: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value computed from a finding's geometry and the pixels inside.

    Attributes:
        name: The quantity, e.g. "Area", "Mean", "Standard deviation", "Long axis".
        units: Units for display, e.g. "mm²", "HU", "px".
        rests_on: What the value rests on, e.g. "patient", "detector plane"; "" where units have no
            scale.
        date: Study Date (YYYYMMDD, or "unknown") of the other study of the patient that the value
            was measured on; "" for a value of the finding's own image.
    """

    name: str
    value: float
    units: str
    rests_on: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class ComparedRegion:
    """A region of one of two compared images, by its box (x0, y0, x1, y1) in that image's pixels.

    The edges are those of `Box`.
    """

    image: ImageRef
    box: tuple[float, float, float, float]


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
        ratio: Name of the value that results if this line's length is divided by that of the other
            line in its group, e.g. "Cardiothoracic ratio"; "" for none.
        rests_on: Labels of the outlines on the same image from which this finding was computed.
        compared: Where a comparison of two images found it: the region on its own image, if it is
            marked there, and that on the other one.
        partners: Ids of the findings of its own study that a comparison has paired with what is
            marked on the other one.
        measurements: All values of a mark, `value` among them, for lists, tables and DICOM.
        state: What a person has made of a tool's finding; marks drawn by a person are accepted.
        reviewer: Who set the state; "" while proposed.
        reviewed: When the state was set (ISO 8601, UTC); "" while proposed.
        original: The finding as the tool made it, if a person has changed it since; it has no
            original itself.
        code: Coded label, or None.
        site: Coded anatomical site, or None.
        plane: The plane in the patient, if the mark was drawn on a section of a volume. It is shown
            on images in this plane of the same frame of reference; `image` names the section.
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
    ratio: str = ""
    rests_on: tuple[str, ...] = ()
    compared: tuple[ComparedRegion, ...] = ()
    partners: tuple[str, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    state: State = State.PROPOSED
    reviewer: str = ""
    reviewed: str = ""
    original: Finding | None = None
    code: Code | None = None
    site: Code | None = None
    plane: FramePlane | None = None

    @property
    def corrected(self) -> bool:
        """Whether a person has changed what a tool found."""
        return self.original is not None


def array_size(geometry: Geometry) -> tuple[int, int] | None:
    """Return the rows and columns of a mask or other array of pixels; None for other shapes."""
    match geometry:
        case Mask(array) | Heatmap(array) | Instances(array):
            return array.shape[0], array.shape[1]
        case _:
            return None


def new_id() -> str:
    """Return a new random id, unique to one finding."""
    return uuid.uuid4().hex
