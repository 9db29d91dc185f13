"""The texts in the corners of an image, as plain text."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from app.imaging.presentation import PresentationState
from app.imaging.space import geometry, planes, projections
from app.imaging.types import Content, Frame, Instance, Orientation, Series, Window
from app.paths import shipped_table
from app.views import wording
from app.views.canvas import colormaps
from app.views.canvas.orientation import UPRIGHT
from app.views.translation import tr, tr_n, tr_report, translatable
from app.workspace.viewport import Display
from app.workspace.workspace import REFORMAT

Lines = tuple[str, ...]

BRIEF = 48  # length of a warning up to which it is shown whole
MOST_WARNINGS = 12  # in the unfolded list
KEY_SIGN = "\N{BLACK STAR}"
SIGN = "\N{WARNING SIGN}"
TOOLS_IN_LIST = translatable("Tools: see findings")
LONGEST_TITLE = 32  # characters of the title of a presentation state
_ALIGNED = 0.9999  # cosine from which a normal counts as a patient axis (under 1 degree)


@dataclass(frozen=True, slots=True)
class Place:
    """The pixel under the cursor: its column, row, value as text, and position in the patient."""

    x: int
    y: int
    value: str
    point: str = ""  # its place in the patient


@dataclass(frozen=True, slots=True)
class Corners:
    """Lines for an image's corners. Only risks have the warning colour.

    Attributes:
        warning: Above `bottom_right`: that AI made what is seen, which is a risk, and which tools.
        scale: Below `bottom_right`, risks: that lengths are in px, or why they are doubtful.
        series_warning: Below `top_right`, risks, the most serious one first; all but the first are
            folded behind a sign.
        state: Below `bottom_left`: presentation state, and what is told where texts are hidden.
        mark: Below `state`, a risk: flipped, turned.
        place: Those of `top_right` that say which image of the series it is.
        zoom: The line of `bottom_left` that gives the zoom.
        grave: Whether the first of the warnings about the series is never folded: a rejected
            image, or doubts whose image it is.
        small: Whether there is room for grave warnings and the sign only.
    """

    top_left: Lines = ()
    top_right: Lines = ()
    bottom_left: Lines = ()
    bottom_right: Lines = ()
    warning: Lines = ()
    scale: Lines = ()
    series_warning: Lines = ()
    state: Lines = ()
    mark: Lines = ()
    place: Lines = ()
    zoom: str = ""
    grave: bool = False
    small: bool = False

    def folded(self) -> Lines:
        """Return the warnings about the series as they are shown folded: the first, and a sign."""
        first, rest = self.series_warning[:1], self.series_warning[1:]
        if self.small and not self.grave:
            first, rest = (), self.series_warning
        if not rest:
            return first
        count = len(rest)
        told = tr_n("%n warning", "%n warnings", count)
        if first:
            told = tr_n("%n more warning", "%n more warnings", count)
        return (*first, f"{SIGN} {told}")


@dataclass(frozen=True, slots=True)
class Sides:
    """Patient directions (letters) at the image's edges; "" if the file does not give them."""

    left: str = ""
    right: str = ""
    top: str = ""
    bottom: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """An image and how it is displayed: the input for its corner text.

    Attributes:
        position: (position from 0, count) of the instance in its series.
        window: The window or VOI LUT that is applied; None for colour.
        inverted: Whether the user has exchanged black and white.
        turn: The flips and rotation on the screen.
        makers: Titles of the tools that made the visible findings; drawings by hand have none.
        zoom: Screen pixels per image pixel, or None to leave the zoom out of the text.
        place: The pixel under the cursor, or None.
        presentation: The applied presentation state as text; see `presentation_text`.
        rate: Frames per second that a running cine is to show; 0 if none is running.
        measured_rate: Frames per second that it has shown lately; 0 if unknown.
        rejection: Why a key object selection withdraws the image, or "".
        link: How scrolling is linked to that of other viewports, or "".
        colormap: Name of the colour map in which greys are shown, or "".
        true_size: Whether 1 mm of the object is 1 mm on the screen.
        key: Whether it is a key image.
        doubts: Warnings about whose images the study holds.
    """

    instance: Instance
    frame: Frame
    frame_index: int = 0
    position: tuple[int, int] = (0, 1)
    series: Series | None = None
    window: Window | None = None
    inverted: bool = False
    turn: Display = UPRIGHT
    makers: Sequence[str] = ()
    zoom: float | None = None
    place: Place | None = None
    presentation: str = ""
    rate: float = 0.0
    measured_rate: float = 0.0
    rejection: str = ""
    link: str = ""
    colormap: str = ""
    true_size: bool = False
    doubts: Sequence[str] = ()
    key: bool = False


class Detail(StrEnum):
    """How much text is shown in the corners; warnings and side letters always are."""

    ALL = "Texts with names"
    NO_NAMES = "Texts without names"
    NONE = "Warnings only"


def corners_of(shown: Shown, detail: Detail = Detail.ALL) -> Corners:
    """Return the texts in the four corners of a shown image."""
    named, quiet = detail is Detail.ALL, detail is Detail.NONE
    if not named:
        shown = _nameless(shown)
    instance, frame, makers = shown.instance, shown.frame, shown.makers
    place = () if quiet else place_lines(shown)
    return Corners(
        () if quiet else patient_lines(instance),
        () if quiet else series_lines(instance, place, file_name=named),
        () if quiet else display_lines(shown),
        frame_lines(frame, instance),
        (tr(wording.NOT_FOR_DIAGNOSIS), *dict.fromkeys(makers)) if makers else (),
        scale_lines(frame, instance),
        (
            *_kept(_withdrawn(shown.rejection)),
            *series_warnings(shown.series, instance, shown.doubts),
        ),
        _kept(
            f"{KEY_SIGN} {tr('Key image')}" if shown.key else "",
            shown.presentation,
            tr("INVERTED") if quiet and shown.inverted else "",
            _colours(shown.colormap) if quiet else "",
            shown.link if quiet else "",
        ),
        _kept(tr_report(shown.turn.turn_text)),
        place,
        "" if quiet else _zoom_text(shown),
        bool(shown.rejection or shown.doubts),
    )


def compact(corners: Corners) -> Corners:
    """Return what a small viewport has room for: whose image, which, window, grave warnings."""
    return replace(
        corners,
        top_left=(*corners.top_left[:2], *corners.top_left[2:][-1:]),
        top_right=corners.place or corners.top_right[:1],
        bottom_left=tuple(text for text in corners.bottom_left if text != corners.zoom),
        small=True,
    )


_NAMES = (
    *("PatientName", "PatientID", "PatientBirthDate", "PatientSex"),
    *("StudyDescription", "SeriesDescription"),
)


def _nameless(shown: Shown) -> Shown:
    """Return an image without texts of its files that may name the patient."""
    window = shown.window
    typed = {one.explanation for one in shown.frame.voi.windows}
    if window is not None and (window.lut >= 0 or window.explanation in typed):
        window = replace(window, explanation=wording.VOI_LUT if window.lut >= 0 else "")
    titled = tr("Presentation state") if shown.presentation else ""
    instance = _without_names(shown.instance)
    return replace(shown, instance=instance, window=window, presentation=titled)


@cache
def _code_words() -> frozenset[str]:
    """Return the words that codes (VR CS) of the standard are made of, in capitals."""
    return frozenset(shipped_table("deidentify", "codes")["words"].split())


def _without_names(instance: Instance) -> Instance:
    """Return an instance without the attributes that may name the patient."""
    kept = {key: value for key, value in instance.attributes.items() if key not in _NAMES}
    for name in ("BodyPartExamined", "Modality"):  # codes, but some devices let them be typed
        if not _code_words().issuperset(re.findall(r"[^\W_]+", kept.get(name, "").upper())):
            kept.pop(name)
    return replace(instance, attributes=kept)


def picture_corners(instance: Instance, detail: Detail) -> Corners:
    """Return the texts in the corners of a tool's picture that was made of an image."""
    named = instance if detail is Detail.ALL else _without_names(instance)
    return Corners(() if detail is Detail.NONE else patient_lines(named))


def patient_lines(instance: Instance) -> Lines:
    """Return the lines at the top left: patient and study."""
    get = instance.get
    born = wording.date(get("PatientBirthDate"))
    person = [
        tr("born {born}").format(born=born) if born else "",
        wording.one_line(get("PatientSex")),
    ]
    ident = wording.one_line(get("PatientID"))
    study = [wording.one_line(get("StudyDescription")), wording.date(get("StudyDate"))]
    return _kept(
        wording.person_name(get("PatientName")),
        tr("ID {ident}").format(ident=ident) if ident else "",
        "  ".join(part for part in person if part),
        "  ".join(part for part in study if part),
    )


_PARTS = {
    Content.DOCUMENT: translatable("Page {number} / {count}"),
    Content.WAVEFORM: translatable("Plot {number} / {count}"),
}
"""What a frame is called for kinds of content that do not show a body."""


def series_lines(instance: Instance, place: Lines, *, file_name: bool = True) -> Lines:
    """Return the lines at the top right, which identify the image; `place` is of `place_lines`."""
    get = instance.get
    series = [wording.one_line(get("Modality")), wording.one_line(get("SeriesDescription"))]
    name = wording.one_line(instance.path.name)
    view = [
        wording.one_line(get("BodyPartExamined")),
        wording.one_line(projections.projection_name(instance)),
    ]
    return _kept(
        "  ".join(part for part in series if part),
        "  ".join(part for part in view if part),
        *place,
        name
        if file_name and instance.kind not in ("dicom", REFORMAT) and name not in series
        else "",
    )


def place_lines(shown: Shown) -> Lines:
    """Return the lines that say which image of the series, frame and slice is shown."""
    instance, frame = shown.instance, shown.frame
    place, count = shown.position
    number = ""
    axes = instance.axes
    if instance.frames > 1 and (axes is None or len(axes.channels) * axes.times == 1):
        section = instance.kind == REFORMAT
        what = tr("Section {number} / {count}") if section else tr("Frame {number} / {count}")
        what = tr(_PARTS[instance.content]) if instance.content in _PARTS else what
        number = what.format(number=shown.frame_index + 1, count=instance.frames)
    # The note of a microscope's image names the time and its unit.
    at = _time_of(instance, shown.frame_index, frame) if axes is None else None
    time = wording.time_text(at)
    return _kept(
        tr("Image {number} / {count}").format(number=place + 1, count=count) if count > 1 else "",
        "   ".join(part for part in (number, time) if part),
        slice_text(frame.orientation, instance.get("SliceThickness")),
    )


def _time_of(instance: Instance, frame_index: int, frame: Frame) -> float | None:
    """Return the time of a frame from the start of its cine in ms, or None."""
    if frame.time_ms is not None:
        return frame.time_ms
    times = instance.frame_times_ms
    return times[frame_index] if frame_index < len(times) else None


def slice_text(orientation: Orientation, thickness: str) -> str:
    """Return a slice's position and thickness, in mm, as text; leave out what is unknown."""
    parts: list[str] = []
    if orientation.cosines is not None and orientation.position is not None:
        a, b, c, d, e, f = orientation.cosines
        normal = (b * f - c * e, c * d - a * f, a * e - b * d)
        along = sum(n * p for n, p in zip(normal, orientation.position, strict=True))
        axis = max(range(3), key=lambda one: abs(normal[one]))
        if abs(normal[axis]) > _ALIGNED:
            point = [0.0, 0.0, 0.0]
            point[axis] = along if normal[axis] > 0 else -along
            named = wording.patient_parts(point, geometry.is_quadruped(orientation))
            parts.append(tr("Slice {place} mm").format(place=named[axis]))
        else:
            parts.append(tr("Oblique slice at {along:.1f} mm").format(along=along))
    with contextlib.suppress(ValueError):
        if math.isfinite(width := float(thickness)) and width > 0:
            parts.append(tr("{width} mm thick").format(width=wording.number(width)))
    return wording.DOT.join(parts)


def point_text(frame: Frame, x: float, y: float) -> str:
    """Return the patient position of column `x`, row `y` as text; "" if it is unknown."""
    point = planes.patient_point(frame, x, y)
    animal = geometry.is_quadruped(frame.orientation)
    return wording.patient_text(point, animal) if point else ""


def series_warnings(series: Series | None, instance: Instance, doubts: Sequence[str] = ()) -> Lines:
    """Return shortened warnings, gravest first; `doubts` are about whose images these are."""
    warnings = [*doubts, *(series.warnings if series else ()), *instance.note.split("; ")]
    lines = _kept(*(wording.sentence(_brief(tr_report(text))) for text in warnings))
    if len(lines) > MOST_WARNINGS:
        rest = len(lines) - MOST_WARNINGS + 1
        return (
            *lines[: MOST_WARNINGS - 1],
            tr_n("%n more warning in the study list", "%n more warnings in the study list", rest),
        )
    return lines


def _brief(text: str) -> str:
    """Return a warning; a long one without the explanation after its first colon."""
    return text if len(text) <= BRIEF else text.split(": ")[0]


def _withdrawn(rejection: str) -> str:
    return (
        tr("WITHDRAWN, not to be used: {rejection}").format(rejection=wording.one_line(rejection))
        if rejection
        else ""
    )


def presentation_text(
    state: PresentationState | None, *, applies: bool, changed: bool = False
) -> str:
    """Return a line that names the chosen presentation state; "" if `state` is None.

    `applies`: whether the state affects this frame. `changed`: whether the user has since changed
    window, inversion, flip or rotation.
    """
    if state is None:
        return ""
    title = wording.one_line(state.layer.title)
    title = title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"
    if not applies:
        return tr("Presentation {title}: does not apply to this frame").format(title=title)
    notes = [tr("changed by hand")] if changed else []
    notes += [tr("partly applied")] if state.warnings else []
    return tr("Presentation: {title}").format(title=title) + (
        f" ({', '.join(notes)})" if notes else ""
    )


def display_lines(shown: Shown) -> Lines:
    """Return the lines at the bottom left: pixel under the cursor, cine rate, zoom and window."""
    place = shown.place
    window = shown.window
    if window is not None and window.lut < 0:
        # With a presentation state the frame has the state's windows in place of the file's.
        of_file = () if shown.presentation else shown.frame.voi.windows
        window = replace(window, explanation=wording.window_source(window, of_file))
    grey = [wording.window_text(window), tr("INVERTED") if shown.inverted else ""]
    return _kept(
        f"x {place.x}  y {place.y}   {place.value}" if place else "",
        place.point if place else "",
        shown.link,
        _cine_text(shown),
        _zoom_text(shown),
        _colours(shown.colormap),
        "   ".join(part for part in grey if part),
    )


def _cine_text(shown: Shown) -> str:
    """Return the rate of a running cine, and the one that was measured, which may be lower."""
    if not shown.rate:
        return ""
    text = tr("Cine {rate} frames/s")
    if shown.measured_rate:
        text = tr("Cine {rate} frames/s (measured {measured})")
    rate = wording.number(round(shown.rate, 1))
    measured = wording.number(round(shown.measured_rate, 1))
    return text.format(rate=rate, measured=measured)


def _zoom_text(shown: Shown) -> str:
    if shown.zoom is None:
        return ""
    text = tr("Zoom {percent}%  (true size)") if shown.true_size else tr("Zoom {percent}%")
    return text.format(percent=f"{shown.zoom * 100:.0f}")


def _colours(name: str) -> str:
    title = tr(colormaps.TITLES.get(name, name))
    return tr("Colour map: {name}").format(name=title) if name else ""


def frame_lines(frame: Frame, instance: Instance) -> Lines:
    """Return the lines at the bottom right: lossy compression, remarks, calibration, spacing."""
    return _kept(
        wording.one_line(frame.lossy),
        wording.sentence(tr_report(frame.note)) if frame.note != instance.note else "",
        wording.one_line(frame.calibration),
        _scale_text(frame) if frame.spacing.known else "",
    )


def scale_lines(frame: Frame, instance: Instance) -> Lines:
    """Return that lengths are in px, or why the spacing is doubtful; () if neither is so."""
    spacing = frame.spacing
    if spacing.known:
        return _kept(wording.sentence(tr_report(spacing.note)))
    # Without spacing one line suffices; the reason is in the attribute panel.
    return _kept(_scale_text(frame)) if instance.content not in _PARTS else ()


def _scale_text(frame: Frame) -> str:
    """Return the scale that lengths are measured with."""
    scaled = any(region.x_units or region.y_units for region in frame.regions)
    if scaled and not frame.spacing.known:
        return tr(wording.REGION_SPACING)
    return wording.spacing_text(frame.spacing)


def side_letters(frame: Frame, display: Display) -> Sides:
    """Return the patient direction letters at the edges of the image as turned by `display`."""
    return Sides(
        *geometry.edge_letters(
            frame.orientation, display.flip_h, display.flip_v, display.quarter_turns
        )
    )


def _kept(*lines: str) -> Lines:
    return tuple(line for line in lines if line)
