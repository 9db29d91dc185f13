"""The general pack's plan: the words that request its tools, and the wording of their results."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from app.paths import shipped_table
from app.tools.api import REPEATING_TOOL
from app.tools.general.for_each_image import WORDING as FOR_EACH_WORDING
from app.tools.general.volume_wording import MODALITIES, prior_open
from app.tools.general.volume_wording import TARGETS as MARKED
from app.tools.general.volume_wording import WORDING as VOLUME_WORDING
from app.tools.pack_plan import (
    Accepts,
    Feed,
    NumberWords,
    PackPlan,
    QuestionKind,
    ToolRule,
    ValueWords,
    phrases,
    value_lists,
    word_lists,
)
from app.tools.result_wording import (
    AnswerContext,
    Data,
    ResultWording,
    Sentence,
    cited,
    number,
    one_line,
)

_FILE_LINES = (
    ("Modality", "BodyPartExamined", "ViewPosition"),
    ("Columns", "Rows", "NumberOfFrames", "BitsStored", "PhotometricInterpretation"),
    ("WindowCenter", "WindowWidth", "PixelSpacing", "PixelSpacingSource"),
)
"""The attributes that an answer repeats, one per line; none of them identifies a patient."""


def _file(output: Data, metadata: Data) -> list[Sentence]:
    lines: list[str] = []
    for keys in _FILE_LINES:
        parts = [_attribute(key, metadata[key]) for key in keys if _given(metadata.get(key))]
        if parts:
            lines.append(f"{'; '.join(parts)}.")
    if "PixelSpacing" in metadata and not metadata["PixelSpacing"]:
        why = one_line(str(metadata.get("PixelSpacingNote") or ""))
        lines.append(f"Pixel spacing unknown{f': {why}' if why else ''}.")
    if metadata.get("WindowAsked"):
        lines.append(f"Converted to a PNG with this window. {_KEPT}")
    elif output.get("image_path"):
        lines.append("Converted to a PNG of what the viewer shows.")
    rest = Sentence("The whole header is listed under Attributes (Ctrl+2).", cites=False)
    return [*cited(lines), rest] if lines else []


_KEPT = (
    "The image in the viewer keeps its own: choose another under Window in the toolbar, or drag on "
    "the image."
)
_NOT_READ = "I do not read this from the file. All that it says is under Attributes (Ctrl+2)."

_FACTS: dict[str, str] = shipped_table("header_facts", "names")
_UNITS: dict[str, str] = shipped_table("header_facts", "units")
_SEQUENCES: dict[str, str] = shipped_table("header_facts", "sequences")
_AGE_UNITS = {"Y": "years", "M": "months", "W": "weeks", "D": "days"}


def _facts(data: Data, targets: frozenset[str]) -> list[list[Sentence]]:
    """Return a line for each attribute that the question asks for, or one that says it has none.

    The list is empty for a question for all of them.
    """
    told = {"WindowCenter"} if data.get("WindowAsked") else set[str]()
    asked = targets - told
    found = [
        [Sentence(f"**{_FACTS[key]}:** {_fact(key, data)}.")] for key in _FACTS if key in asked
    ]
    if told:
        return [[Sentence(f"A PNG with {_fact('WindowCenter', data)} was made. {_KEPT}")], *found]
    return found if found or _HEADER in targets else [[Sentence(_NOT_READ, cites=False)]]


def _fact(key: str, data: Data) -> str:
    value = data.get(key)
    if not _given(value):
        return "not in the part of the header that I read; see Attributes (Ctrl+2)"
    text = _compact(value)
    match key:
        case "PatientAge":
            age = re.fullmatch(r"(\d{1,3})([YMWD])", text)
            return (
                f"{int(age[1])} {_AGE_UNITS[age[2]]}, at the time of the study"
                if age
                else f"{text} (without a unit)"
            )
        case "StudyDate" if re.fullmatch(r"\d{8}", text):
            return f"{text[:4]}-{text[4:6]}-{text[6:]}"
        case "ScanningSequence":
            return " + ".join(_SEQUENCES.get(term, term) for term in text.split("\\"))
        case "Manufacturer":
            return f"{text} {data.get('ManufacturerModelName') or ''}".strip()
        case "PixelSpacing":
            note = data.get("PixelSpacingNote")
            text = " x ".join(f"{item:.5g}" for item in value or ())
            return f"{text} mm (rows x columns){f', {one_line(str(note))}' if note else ''}"
        case "Rows":
            return f"{data.get('Columns')} x {value} pixels (columns x rows)"
        case "ImageOrientation":
            return _plane(value or ())
        case "WindowCenter":
            return f"centre {text}, width {_compact(data.get('WindowWidth'))}"
        case _:
            if re.fullmatch(r"[+-]?\d+\.\d{5,}", text):
                text = f"{float(text):.5g}"
            return f"{text} {_UNITS.get(key, '')}".strip()


def _unanswered(told: AnswerContext) -> list[str]:
    if "SliceNumber" not in told.targets or not told.ran:
        return []
    return ["A slice by its number: the shown one was used. Go to that slice, then ask again."]


def _plane(cosines: Sequence[float]) -> str:
    """Return the plane nearest to that of the direction cosines, with the tilt against it."""
    normal = [abs(part) for part in np.cross(cosines[:3], cosines[3:])]
    tilt = math.degrees(math.acos(min(1.0, max(normal))))
    plane = ("sagittal", "coronal", "axial")[normal.index(max(normal))]
    return f"{plane}, tilted by {tilt:.0f} degrees" if tilt >= 1 else plane


def _shown(output: Data, metadata: Data) -> list[Sentence]:
    del output
    title = metadata.get("title")
    named = f", titled “{one_line(str(title), 80)}” by the assistant" if title else ""
    return [Sentence(f"Shown beside the image{named}.")]


def _given(value: Any) -> bool:
    return value not in (None, "", [], {})


def _attribute(key: str, value: Any) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key)
    return f"{words} {_compact(value)}"


def _compact(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " \\ ".join(number(item, 4) for item in value[:6])
    return number(value, 4) if isinstance(value, float) else one_line(str(value), 80)


WORDINGS = (
    FOR_EACH_WORDING,
    ResultWording(
        "dicom_processor",
        "File",
        _file,
        frozenset({"metadata", "metadata_alone"}),
        lambda _: "what the file says",
        answer=_facts,
        aside=True,
    ),
    ResultWording("image_visualizer", "Display", _shown, aside=True),
    VOLUME_WORDING,
)


_DICOM = "dicom_processor"
_SHOW = "image_visualizer"
_COMPARE = "volume_compare"
_SCANS = Accepts(kinds=("dicom",), modalities=MODALITIES, what="a CT or MR series")

_TEXTS = word_lists("general")


def _words(section: str) -> tuple[str, ...]:
    return phrases(_TEXTS[section])


_NOUNS = _words("NOUNS")
_NOMEN = _words("NOMEN")
_HEADER = "Header"  # the target of a question for all attributes
_ACQUISITION = tuple(value_lists(_TEXTS["ACQUISITION"]).items())
"""Attributes of how the image was made, each with the words that ask for it."""
_TARGETS = (*value_lists(_TEXTS["TARGETS"]).items(), *_ACQUISITION)
"""The attributes that a question asks for, each with the words for it."""
_PICTURE = (
    *(
        f"{verb} {noun}"
        for verb in ("show", "display", "visualise", "visualize", "view", "see", "open")
        for noun in _NOUNS
    ),
    *(
        f"{verb} {noun}"
        for verb in ("zeig", "zeige", "zeigen", "anzeigen", "oeffne")
        for noun in _NOMEN
    ),
    *(f"{noun} {verb}" for verb in ("anzeigen", "zeigen", "darstellen") for noun in _NOMEN),
    *phrases(
        """
        pull up image, bring up image, pane, stell .. dar, stelle .. dar, in colour, in color,
        grauwert*
        """
    ),
)
_THEN_SHOW = (
    *(
        f"{lead} {verb} {noun}"
        for lead in ("then", "and", "finally")
        for verb in ("show", "display", "visualise", "visualize", "view")
        for noun in _NOUNS
    ),
    *(f"{lead} zeige {noun}" for lead in ("dann", "und") for noun in _NOMEN),
)
_DESCRIBE = tuple(
    f"describe {noun}"
    for noun in ("image", "picture", "film", "x-ray", "xray", "radiograph", "scan", "study")
)
_ANALYSE = (
    *(
        f"{verb} {noun}"
        for verb in ("analyse", "analyze")
        for noun in ("image", "picture", "film", "x-ray", "xray", "radiograph", "scan", "study")
    ),
)


def _preset(center: str, width: str, *words: str) -> tuple[ValueWords, ValueWords]:
    return (ValueWords("window_center", center, words), ValueWords("window_width", width, words))


PLAN = PackPlan(
    "general",
    title="General",
    icon="layers",
    kinds=(
        QuestionKind("everything", _words("EVERYTHING"), tools=(_DICOM,)),
        QuestionKind("visible", _words("VISIBLE"), tools=(_DICOM,), by_eye=True),
        QuestionKind("describe", _DESCRIBE, tools=(_DICOM,), fallback=True, by_eye=True),
        QuestionKind("all", ("everything", "alles"), tools=(_DICOM,), bare=True),
        QuestionKind("analyse", _ANALYSE, tools=(_DICOM,), fallback=True),
        QuestionKind(
            "metadata",
            (*_words("METADATA"), *(words for _, asked in _ACQUISITION for words in asked)),
            tools=(_DICOM,),
            certain=True,
        ),
        QuestionKind("metadata_alone", _words("METADATA_ALONE"), tools=(_DICOM,), fallback=True),
        QuestionKind("what", _words("WHAT"), tools=(_DICOM,), unless=_words("PART_OF_IMAGE")),
        QuestionKind("convert", _words("CONVERT"), tools=(_DICOM,)),
        QuestionKind("show", _PICTURE, tools=(_SHOW,), fallback=True),
        QuestionKind(
            "recolour", _words("RECOLOUR"), tools=(_SHOW,), unless=_words("OF_THE_WINDOW")
        ),
        QuestionKind("then_show", _THEN_SHOW, tools=(_SHOW,)),
        # Whatever is shown: what no kind lists is offered to a model with every question.
        QuestionKind("register", _words("REGISTER"), tools=(_COMPARE,)),
        QuestionKind(
            "volume change",
            _words("GROWTH"),
            tools=(_COMPARE,),
            only_for=_SCANS,
            greedy=True,
        ),
    ),
    tools=(
        ToolRule(
            _DICOM,
            why="reads the file and makes a PNG of what the viewer shows",
            leave_out=(
                "convert*",
                "dicom",
                "metadata",
                "header*",
                "tags",
                "konvertier*",
                "metadaten",
            ),
            accepts=Accepts(kinds=("dicom",), what="a DICOM file"),
            makes="image_path",
            made=tuple(
                f"{made} {noun}"
                for made in ("converted", "processed", "exported")
                for noun in (*_NOUNS[:-2], "jpeg", "jpg", "images", "dicom image", "dicom png")
            ),
            converts=True,
            stage=-1,
            # As `imaging.pixels.windows` has them, in HU.
            values=(
                *_preset("-600", "1500", "lung window*", "lungenfenster*"),
                *_preset("480", "2500", "bone window*", "knochenfenster*"),
                *_preset("40", "400", "mediastinal window*", "mediastinum window*"),
                *_preset("40", "400", "soft tissue window*", "weichteilfenster*"),
                *_preset("40", "80", "brain window*", "hirnfenster*"),
                *_preset("50", "400", "abdomen window*", "abdominal window*"),
            ),
            numbers=(
                NumberWords(
                    ("window_center", "window_width"), ("window*", "window of", "fenster*")
                ),
                NumberWords(
                    ("window_center",),
                    (
                        *("center", "centre", "level", "center of", "centre of", "level of"),
                        *("zentrum", "l", "c", "wl", "wc"),
                    ),
                ),
                NumberWords(("window_width",), ("width", "width of", "weite", "breite", "w", "ww")),
            ),
        ),
        ToolRule(REPEATING_TOOL, why="runs a tool on each image"),
        ToolRule(
            _COMPARE,
            why="registers the prior scan and compares the marks",
            leave_out=("compar*", "vergleich*"),
            accepts=_SCANS,
        ),
        ToolRule(
            _SHOW,
            why="shows the picture",
            leave_out=("show*", "visuali*", "display*", "anzeig*", "zeig*"),
            feeds=(Feed("image_path", (), "", title="title"),),
            makes="image_path",
            stage=1,
        ),
    ),
    targets=(*_TARGETS, *MARKED),
    unanswered=_unanswered,
    not_looked_for=prior_open,
    wordings=WORDINGS,
    suggestions=("When was this image taken, and what is its pixel spacing?",),
    suggested_for=Accepts(kinds=("dicom",)),
)
