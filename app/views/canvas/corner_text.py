"""What stands in the corners of an image: plain text, made from the frame that is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.imaging import geometry
from app.imaging.findings import Finding
from app.imaging.types import Frame, Instance, Window
from app.views import wording

Lines = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The pixel under the cursor: x (column), y (row), and its value in words."""

    x: int
    y: int
    value: str


@dataclass(frozen=True, slots=True)
class Corners:
    """The text of the four corners, top line first."""

    top_left: Lines = ()
    top_right: Lines = ()
    bottom_left: Lines = ()
    bottom_right: Lines = ()
    warning: Lines = ()  # above bottom_right, in the warning colour


@dataclass(frozen=True, slots=True)
class Sides:
    """Patient direction letters at the edges; "" where the file does not tell."""

    left: str = ""
    right: str = ""
    top: str = ""
    bottom: str = ""


def patient_lines(instance: Instance) -> Lines:
    """Top left: who and which examination."""
    get = instance.get
    born = wording.date(get("PatientBirthDate"))
    person = [f"born {born}" if born else "", wording.one_line(get("PatientSex"))]
    ident = wording.one_line(get("PatientID"))
    study = [wording.one_line(get("StudyDescription")), wording.date(get("StudyDate"))]
    return _kept(
        wording.person_name(get("PatientName")),
        f"ID {ident}" if ident else "",
        "  ".join(part for part in person if part),
        "  ".join(part for part in study if part),
    )


def series_lines(instance: Instance, frame_index: int, position: tuple[int, int]) -> Lines:
    """Top right: which image.

    Args:
        instance: The image file.
        frame_index: Frame from 0.
        position: (place from 0, number) of the instance in its series.
    """
    get = instance.get
    series = [wording.one_line(get("Modality")), wording.one_line(get("SeriesDescription"))]
    view = [wording.one_line(get("BodyPartExamined")), wording.one_line(get("ViewPosition"))]
    place, count = position
    return _kept(
        "  ".join(part for part in series if part),
        "  ".join(part for part in view if part),
        f"Image {place + 1} / {count}" if count > 1 else "",
        f"Frame {frame_index + 1} / {instance.frames}" if instance.frames > 1 else "",
        "" if instance.kind == "dicom" else wording.one_line(instance.path.name),
    )


def display_lines(
    window: Window | None,
    *,
    lut: str = "",
    inverted: bool = False,
    zoom: float | None = None,
    place: Place | None = None,
) -> Lines:
    """Bottom left: how it is shown, and the value under the cursor.

    Args:
        window: The window, or None for colour.
        lut: Name of the VOI LUT that is applied instead of it, or "".
        inverted: Whether the user exchanged black and white.
        zoom: Screen pixels of one image pixel, or None to leave it out.
        place: The pixel under the cursor.
    """
    grey = f"VOI LUT: {wording.one_line(lut)}" if lut else wording.window_text(window)
    shown = [grey, "INVERTED" if inverted else ""]
    return _kept(
        f"x {place.x}  y {place.y}   {place.value}" if place else "",
        f"Zoom {zoom * 100:.0f}%" if zoom is not None else "",
        "   ".join(part for part in shown if part),
    )


def frame_lines(frame: Frame) -> Lines:
    """Bottom right: what to be careful about."""
    return _kept(
        wording.one_line(frame.lossy),
        wording.one_line(frame.calibration),
        wording.spacing_text(frame.spacing),
    )


def warning_lines(findings: Sequence[Finding]) -> Lines:
    """The mark of AI results with the tools and models that made them; empty without findings."""
    if not findings:
        return ()
    makers = dict.fromkeys(wording.maker_text(finding) for finding in findings)
    return (wording.NOT_FOR_DIAGNOSIS, *(maker for maker in makers if maker))


def side_letters(frame: Frame) -> Sides:
    """The letters of the four edges of an image that is neither turned nor flipped."""
    return Sides(*geometry.edge_letters(frame.orientation))


def _kept(*lines: str) -> Lines:
    return tuple(line for line in lines if line)
