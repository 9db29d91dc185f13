"""What is to be written as a DICOM object; the writers in `objects` run in worker processes."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.imaging.findings import Finding, Heatmap, Instances, Mask, State
from app.imaging.types import Instance, Window

SR, SEG, GSPS, KO, SC = "sr", "seg", "gsps", "ko", "sc"
KINDS = (SR, SEG, GSPS, KO, SC)

OTHER_PIXELS = "it was made on another version of the image, with other pixels"
"""The reason why a mark is not written that was drawn on other pixels."""

TITLES = {
    "113000": "Of Interest",
    "113002": "For Referring Provider",
    "113003": "For Surgery",
    "113004": "For Teaching",
    "113005": "For Conference",
    "113006": "For Therapy",
    "113007": "For Patient",
    "113008": "For Peer Review",
    "113009": "For Research",
    "113013": "Best In Set",
}
"""Document titles of a key object selection: codes of DCM, PS3.16 CID 7010."""


@dataclass(frozen=True, slots=True)
class View:
    """How one frame is shown.

    Attributes:
        frame: Frame of the image, from 0.
        window: Window in modality units; None for the image's own.
        inverse: Whether greys are inverted with respect to the image's own.
        area: Outer edges (x0, y0, x1, y1) of what is shown, in pixels with integer centres, within
            the image; None for all of it.
        flip_h: Whether left and right are exchanged, before the rotation.
        quarter_turns: Clockwise quarter turns, after the flip.
        pixel_sha256: Hash of the pixels that are meant, as in `ImageRef`; "" for any.
    """

    sop_instance_uid: str
    frame: int = 0
    window: Window | None = None
    inverse: bool = False
    area: tuple[float, float, float, float] | None = None
    flip_h: bool = False
    quarter_turns: int = 0
    pixel_sha256: str = ""


@dataclass(frozen=True, slots=True)
class DicomExport:
    """One DICOM object to write.

    Attributes:
        kind: One of `KINDS`.
        images: The images that it refers to; for 3-D findings, an image of their series.
        findings: What it holds; their images are among `images`.
        verifier: Name (PN) of the person who answers for the content; "" leaves it UNVERIFIED.
        organization: That person's organisation.
        description: Description of a key object selection or presentation state.
        title: Code of `TITLES`, of a key object selection.
        views: Frames that a presentation state, key object selection or capture shows.
        picture: A capture's pixels, uint8 [rows, columns, 3].
        marked: Whether marks or names are drawn into `picture`.
    """

    kind: str
    images: tuple[Instance, ...]
    findings: tuple[Finding, ...] = ()
    verifier: str = ""
    organization: str = ""
    description: str = ""
    title: str = "113000"
    views: tuple[View, ...] = ()
    picture: NDArray[np.uint8] | None = field(default=None)
    marked: bool = True


@dataclass(frozen=True, slots=True)
class WrittenObject:
    """A DICOM object that was made.

    Attributes:
        data: The file (PS3.10).
        left_out: (label, reason) of each finding that is not in it.
    """

    data: bytes
    left_out: tuple[tuple[str, str], ...] = ()


def reason_against(kind: str, finding: Finding, images: Container[str]) -> str:
    """Return why a finding cannot be in an object of `kind`; "" if nothing speaks against it.

    `images` are the SOP Instance UIDs of the images that the object may refer to. Whether the
    image has the pixels that the finding was made on is not looked at.
    """
    shape = finding.geometry
    if isinstance(shape, Heatmap):
        return "a heatmap has no form in it"
    if kind == GSPS and isinstance(shape, Mask | Instances):
        return "masks are written as a segmentation"
    if finding.plane is not None:
        if kind != SR:
            return "it lies on a section of a volume, to which only a structured report can refer"
        if not finding.plane.frame_of_reference:
            return "it lies on a section of a volume without a frame of reference"
        if isinstance(shape, Mask | Instances):
            return "it is a mask on a section of a volume"
        return ""
    return "" if finding.image.sop_instance_uid in images else "its image is not open"


def by_hand(finding: Finding) -> bool:
    """Return whether a person drew the finding; what a tool found has a version or a model.

    What is only proposed is no person's either: their marks are accepted from the start.
    """
    origin = finding.provenance
    return finding.state is not State.PROPOSED and not (
        origin.tool_version or origin.model or origin.run_id or origin.call_id
    )


def chosen(
    findings: tuple[Finding, ...],
    *,
    hand: bool = True,
    accepted: bool = True,
    proposed: bool = False,
) -> tuple[Finding, ...]:
    """Return the findings that go into an export; rejected ones never do."""
    return tuple(
        one
        for one in findings
        if one.state is not State.REJECTED
        and (hand if by_hand(one) else proposed if one.state is State.PROPOSED else accepted)
    )
