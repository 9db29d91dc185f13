"""Formats values from files and findings as plain text, and names the kinds of content."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import QDate, QLocale

from app import paths
from app.errors import SightlineError
from app.imaging.findings import Finding, Instances, State
from app.imaging.pixels.windows import AUTO, CT_WINDOW, FITTED, MANUAL, PROTOCOL, REGION
from app.imaging.studies.instance_lists import frame_count
from app.imaging.types import Content, Instance, Plane, Series, Spacing, Window
from app.views.translation import tr, tr_n, tr_report, translatable
from app.workspace import drawing

if TYPE_CHECKING:
    from app.tools.api import ToolSpec
    from app.tools.pack_plan import Plans

NOT_FOR_DIAGNOSIS = translatable("AI results: not for diagnosis")
VOI_LUT = "VOI LUT"
BY_HAND = translatable("Measured by hand")
MARKED = translatable("Marked by hand")
CORRECTED = translatable("corrected by hand")
DOT = " · "  # between the parts of a line; a line that is too long is broken there
UNKNOWN_SPACING = translatable("Pixel spacing unknown: lengths in px")
REGION_SPACING = translatable("Each region has its own scale: lengths across regions in px")
_SHORT_FORMS = {
    NOT_FOR_DIAGNOSIS: translatable("AI: not for diagnosis"),
    UNKNOWN_SPACING: translatable("Lengths in px"),
    REGION_SPACING: translatable("Each region has its own scale"),
}
"""Short forms of texts that must never be cut off, for use where there is little room."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def short_form(line: str) -> str:
    """Return the short form of a shown text that must never be cut off; other texts unchanged."""
    return next((tr(short) for text, short in _SHORT_FORMS.items() if tr(text) == line), line)


def error_text(error: SightlineError) -> str:
    """Return an error as `SightlineError.text`, in the language of the window where it can be."""
    reason, remedy = tr_report(error.reason), tr_report(error.remedy)
    return SightlineError(reason, subject=error.subject, remedy=remedy).text


@lru_cache(maxsize=256)
def one_line(text: str) -> str:
    """Return a text on one line, without control characters and direction-changing characters."""
    return " ".join(_CONTROL.sub(" ", text).split())


def opening_text(opening: Sequence[Path]) -> str:
    """Return what was opened for a menu: the name of its file or folder, and how many more."""
    first = opening[0].name or str(opening[0])
    more = len(opening) - 1
    return (
        tr_n("{name} and %n more", "{name} and %n more", more).format(name=first) if more else first
    )


def person_name(text: str) -> str:
    """Return a DICOM person name (PS3.5, 6.2 PN) as "Family, Given Middle", no prefix or suffix."""
    first_form = one_line(text).split("=")[0] or one_line(text).strip("=")
    parts = [part.strip() for part in first_form.split("^")]
    family, given = parts[0], " ".join(part for part in parts[1:3] if part)
    return ", ".join(part for part in (family, given) if part)


def date(text: str) -> str:
    """Return a DICOM date YYYYMMDD as YYYY-MM-DD; any other text is returned unchanged."""
    text = one_line(text)
    if re.fullmatch(r"\d{8}", text):
        return f"{text[:4]}-{text[4:6]}-{text[6:]}"
    return text


def number(value: float) -> str:
    """Return a number as text: whole from 100 on, else with at most three significant digits."""
    if abs(value) >= 100 or float(value).is_integer():
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def window_name(window: Window) -> str:
    """Return the name of a window; "" if it has none."""
    return tr(one_line(window.explanation))


def window_text(window: Window | None) -> str:
    """Return the window (width, centre, name) or VOI LUT as text; "" for a colour image."""
    if window is None:
        return ""
    text = window_values(window)
    name = window_name(window)
    if window.lut >= 0:
        return name if name.startswith(VOI_LUT) else f"{VOI_LUT}: {name}"
    return f"{text}  ({name})" if name else text


_SOURCES = {
    AUTO: translatable("automatic"),
    MANUAL: translatable("by hand"),
    REGION: translatable("from a region"),
    FITTED: translatable("fitted to the image"),
    PROTOCOL: translatable("hanging protocol"),
}
_FILE_NAME = re.compile(r"File( \d+)?|")
"""Names that `windows.frame_presets` gives to a file's windows without one."""


def window_source(window: Window, of_file: Sequence[Window]) -> str:
    """Return where a window comes from: a file, the name of a preset, a region, the user.

    `of_file` are the windows in the image's file. "" for a VOI LUT, whose name says it.
    """
    name = one_line(window.explanation)
    if window.lut >= 0 or name in _SOURCES:
        return tr(_SOURCES.get(name, ""))
    if name == CT_WINDOW.explanation:  # sections have it from the acquired image, as if from a file
        return name
    values = window.center, window.width, window.function
    for own in of_file:
        called = one_line(own.explanation)
        unnamed = not called and _FILE_NAME.fullmatch(name)
        if (own.center, own.width, own.function) == values and (called == name or unnamed):
            return tr("file: {name}").format(name=called) if called else tr("file")
    return name


def window_values(window: Window) -> str:
    """Return width and centre of a window as text; the width first, as radiologists say them."""
    return f"W {number(window.width)}  C {number(window.center)}"


_MICROSCOPE_MM = 0.01  # spacing below which it is told in µm


def spacing_text(spacing: Spacing) -> str:
    """Return spacing (mm, or µm under a microscope) and source as text, or that it's unknown."""
    row, column = spacing.row_mm, spacing.column_mm
    if row is None or column is None:
        return tr(UNKNOWN_SPACING)
    unit, factor = ("µm", 1e3) if max(row, column) < _MICROSCOPE_MM else ("mm", 1.0)
    size = f"{row * factor:.3g}"
    if abs(row - column) >= 1e-6:
        size = f"{size} × {column * factor:.3g}"
    return f"{size} {unit}/px{DOT}{tr(spacing.source.value)}"


def sentence(text: str) -> str:
    """Return a text on one line, starting with a capital letter."""
    line = one_line(text)
    return line[:1].upper() + line[1:]


def patient_parts(point: Sequence[float], quadruped: bool = False) -> list[str]:
    """Return (x, y, z) mm LPS as texts "L 12.3"; a `quadruped` has PS3.3 C.7.6.1.1.1's."""
    biped = (("L", "R"), ("P", "A"), ("H", "F"))
    letters = (("LE", "RT"), ("D", "V"), ("CR", "CD")) if quadruped else biped
    return [
        f"{pair[round(value, 1) < 0]} {abs(round(value, 1)):.1f}"
        for value, pair in zip(point, letters, strict=True)
    ]


def patient_text(point: Sequence[float], quadruped: bool = False) -> str:
    """Return a point in the patient as text, e.g. "L 12.3  P 45.6  H 102.0 mm"."""
    return f"{'  '.join(patient_parts(point, quadruped))} mm"


def age_text(age: tuple[int, str] | None) -> str:
    """Return an age from `priors.age_of` as text, such as "2 y before"; "" for None."""
    match age:
        case (years, "years"):
            return tr_n("%n y before", "%n y before", years)
        case (months, "months"):
            return tr_n("%n month before", "%n months before", months)
        case (days, _):
            return tr_n("%n day before", "%n days before", days)
        case _:
            return ""


def time_text(time_ms: float | None) -> str:
    """Return a frame's time since the start of its cine, e.g. "0.83 s"; "" for None."""
    return "" if time_ms is None else f"{time_ms / 1000:.2f} s"


_UNMEASURED = {
    drawing.MEASURED_AGAIN: translatable("being measured again"),
    drawing.UNREADABLE: translatable("not measured: its image cannot be read"),
}


def _unmeasured_text(finding: Finding) -> str:
    why = _UNMEASURED.get(finding.description.partition(";")[0], "")
    return tr(why) if why and drawing.by_hand(finding) else ""


def value_text(finding: Finding) -> str:
    """Return a measurement with units, "≈" if estimated, "" for none, or that it is outdated."""
    if finding.value is None:
        return _unmeasured_text(finding)
    if isinstance(finding.geometry, Instances):
        return number(finding.value)  # the label says of what: "Nuclei 125"
    units = one_line(finding.units)
    if drawing.is_measurement(finding):
        # Long lines too have tenths of a millimetre, as callipers do.
        figures = f"{finding.value:.2f}" if finding.value < 10 else f"{finding.value:.1f}"
        return f"{figures}{'' if units == '°' else ' '}{units}"
    if units == "ratio":
        text = f"{finding.value:.2f}"
    else:
        text = f"{number(finding.value)} {units}".strip()
    return f"≈ {text}" if finding.approximate else text


def label_text(finding: Finding) -> str:
    """Return a finding's label; only labels that are not from a file are translated."""
    label = one_line(finding.label)
    made_here = finding.provenance.tool_version or drawing.by_hand(finding)
    return tr(label) if made_here else label


def chip_text(finding: Finding) -> str:
    """Return the text beside a finding on the canvas: its label and its measurement.

    A length or angle drawn by hand has only its value, since the line shows what it is; a box drawn
    by hand has its size and mean.
    """
    if text := _unmeasured_text(finding) or drawing.headline(finding):
        return text
    if drawing.is_measurement(finding) and finding.value is not None:
        return value_text(finding)
    return " ".join(part for part in (label_text(finding), value_text(finding)) if part)


_STATES = {
    State.PROPOSED: translatable("proposed"),
    State.ACCEPTED: translatable("accepted"),
    State.EDITED: translatable("edited"),
    State.REJECTED: translatable("rejected"),
}
_DECISIONS = {
    State.ACCEPTED: translatable("Accepted by {name} on {time}"),
    State.EDITED: translatable("Edited and accepted by {name} on {time}"),
    State.REJECTED: translatable("Rejected by {name} on {time}"),
}
UNVERIFIED = translatable("Proposed by AI, not for diagnosis")


def state_name(state: State) -> str:
    """Return a state as a word."""
    return tr(_STATES[state])


def state_text(finding: Finding) -> str:
    """Return the state of a tool's finding, by whom and when (UTC); "" for a drawing."""
    if drawing.by_hand(finding):
        return ""
    if finding.state is State.PROPOSED:
        return tr(UNVERIFIED)
    time = f"{finding.reviewed[:16].replace('T', ' ')} UTC"
    name = one_line(finding.reviewer) or tr("an unnamed user")
    return tr(_DECISIONS[finding.state]).format(name=name, time=time)


def maker_text(finding: Finding, title_of: Callable[[str], str]) -> str:
    """Return tool and model of a finding, or that it is drawn; `title_of` tool names."""
    if drawing.by_hand(finding):
        measured = drawing.is_measurement(finding)
        return tr(BY_HAND if measured else MARKED)
    made = finding.provenance
    parts = (title_of(made.tool), made.model, tr(CORRECTED) if finding.corrected else "")
    return DOT.join(one_line(part) for part in parts if part.strip())


def maker_details(finding: Finding) -> str:
    """Return tool name, tool version and model of a finding as text; "" if it was drawn by hand."""
    made = finding.provenance
    parts = () if drawing.by_hand(finding) else (f"{made.tool} {made.tool_version}", made.model)
    return DOT.join(one_line(part) for part in parts if part.strip())


@dataclass(frozen=True, slots=True)
class ContentName:
    """A kind of content: icon, noun (to be translated), and whether its series have thumbnails."""

    icon: str  # where there is no thumbnail
    one: str
    thumbnail: bool = False


CONTENT_NAMES = {
    Content.IMAGE: ContentName("image", translatable("image"), thumbnail=True),
    Content.SEGMENTATION: ContentName("shapes", translatable("segmentation")),
    Content.STRUCTURES: ContentName("spline", translatable("set of contours")),
    Content.PRESENTATION: ContentName("pen-line", translatable("presentation state")),
    Content.KEY_OBJECTS: ContentName("star", translatable("selection of key images")),
    Content.REPORT: ContentName("file-text", translatable("report")),
    Content.DOCUMENT: ContentName("file-text", translatable("document"), thumbnail=True),
    Content.WAVEFORM: ContentName("activity", translatable("waveform")),
    Content.OTHER: ContentName("file-question-mark", translatable("not displayable")),
}


def _axes_text(instance: Instance) -> str:
    """Return e.g. "4 channels, 10 depths" for an image with several channels or times, or ""."""
    axes = instance.axes
    if axes is None or len(axes.channels) * axes.times == 1:
        return ""
    channels, depths, times = len(axes.channels), axes.depths, axes.times
    parts = (
        tr_n("%n channel", "%n channels", channels) if channels > 1 else "",
        tr_n("%n depth", "%n depths", depths) if depths > 1 else "",
        tr_n("%n time point", "%n time points", times) if times > 1 else "",
    )
    return ", ".join(part for part in parts if part)


def amount(series: Series) -> str:
    """Return the size of a series as text, e.g. "135 images", "2 images, 40 frames", "3 pages"."""
    count, frames = len(series.instances), frame_count(series.instances)
    one = tr(CONTENT_NAMES[series.content].one)
    images = tr_n("%n image", "%n images", count)
    all_frames = tr_n("%n frame", "%n frames", frames)
    match series.content:
        case Content.IMAGE if count == 1 and frames > 1:
            return _axes_text(series.instances[0]) or all_frames
        case Content.IMAGE if frames > count:
            return f"{images}, {all_frames}"
        case Content.IMAGE:
            return images
        case Content.DOCUMENT:
            pages = tr_n("%n page", "%n pages", frames)
            documents = tr_n("%n document", "%n documents", count)
            return pages if count == 1 else f"{documents}, {pages}"
        case Content.SEGMENTATION:
            segmentations = tr_n("%n segmentation", "%n segmentations", count)
            return f"{one if count == 1 else segmentations}, {all_frames}"
        case Content.KEY_OBJECTS:
            marked = len({uid for one in series.instances for uid in one.references})
            return tr_n("%n key image", "%n key images", marked)
        case _ if count == 1:
            return one
        case Content.STRUCTURES:
            return tr_n("%n set of contours", "%n sets of contours", count)
        case Content.PRESENTATION:
            return tr_n("%n presentation state", "%n presentation states", count)
        case Content.REPORT:
            return tr_n("%n report", "%n reports", count)
        case Content.WAVEFORM:
            return tr_n("%n waveform", "%n waveforms", count)
        case _:
            objects = tr_n("%n object", "%n objects", count)
            return f"{objects}, {one}"


_PLANES = {
    Plane.ACQUIRED: translatable("As acquired"),
    Plane.AXIAL: translatable("Axial"),
    Plane.CORONAL: translatable("Coronal"),
    Plane.SAGITTAL: translatable("Sagittal"),
}


def plane_name(plane: Plane) -> str:
    """Return the name of a plane, as a menu lists it."""
    return tr(_PLANES[plane])


DEFAULT_ICON = "wrench"
_WORD = re.compile(r"(?<![\w./-])[A-Za-z_]\w*(?![\w/-])")


class PackTexts:
    """Titles and icons of the installed tools, and the questions that their packs suggest."""

    def __init__(self, specs: Iterable[ToolSpec] = (), plans: Plans | None = None) -> None:
        from app.tools.pack_plan import NO_PLANS

        plans = NO_PLANS if plans is None else plans
        self._specs = {spec.name: spec for spec in specs}
        # Each question with the images that it suits; those for few images come first.
        packs = sorted(plans.packs, key=lambda pack: not pack.suggested_for.modalities)
        self.suggestions = tuple(
            (text, pack.suggested_for) for pack in packs for text in pack.suggestions
        )
        # What people call each tool's results, by the tool's name.
        self.result_titles = {
            name: tr(plans.wording(name).title) or self.title(name) for name in self._specs
        }
        # Asks to outline what the user has marked on the image; "" if no pack can do that.
        self.marked_question = next(
            (pack.marked_question for pack in plans.packs if pack.marked_question), ""
        )

    def title(self, tool: str) -> str:
        """Return a tool's title; if it declares none, its name written as words."""
        spec = self._specs.get(tool)
        declared = sentence(tr(spec.title)) if spec is not None else ""
        return declared or words_of(tool) or tr("Tool")

    def icon(self, tool: str) -> str:
        """Return the name of a tool's icon, or "wrench" if it is not declared or not found."""
        spec = self._specs.get(tool)
        name = PurePath(spec.icon).name if spec is not None else ""
        known = bool(name) and (paths.resources_dir() / "icons" / f"{name}.svg").is_file()
        return name if known else DEFAULT_ICON

    def with_titles(self, text: str, tools: Iterable[str] = ()) -> str:
        """Return `text` with the names of tools replaced by their titles.

        Args:
            text: A sentence that names tools as the language model does.
            tools: Names to replace in addition to those of the installed tools. A name without an
                underscore ("crop") may be an ordinary word, so it is not replaced.
        """
        # English, as the sentence is.
        declared = {name: sentence(spec.title) for name, spec in self._specs.items()}
        titles = {
            name: declared.get(name) or words_of(name)
            for name in (*self._specs, *tools)
            if "_" in name
        }
        return _WORD.sub(lambda found: titles.get(found[0], found[0]), text)


def words_of(key: str) -> str:
    """Return an identifier written as words: "area_pixels" becomes "Area pixels"."""
    return sentence(key.replace("_", " "))[:60]


def day_text(moment: str) -> str:
    """Return the day of a time (ISO 8601) as in "12 Nov", with the year if it is not this one."""
    try:
        then = datetime.fromisoformat(moment).astimezone()
    except ValueError:
        return moment
    form = "d MMM" if then.year == datetime.now().astimezone().year else "d MMM yyyy"
    return QLocale().toString(QDate(then.year, then.month, then.day), form)
