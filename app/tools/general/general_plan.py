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
from app.tools.pack_plan import (
    Accepts,
    Feed,
    NumberWords,
    PackPlan,
    QuestionKind,
    ToolRule,
    ValueWords,
    phrases,
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
)


_DICOM = "dicom_processor"
_SHOW = "image_visualizer"

_NOUNS = phrases(
    """
    image, picture, film, x-ray, xray, radiograph, scan, dicom, png, slice, slices, file,
    photo, it, micrograph
    """
)
_NOMEN = phrases("bild, aufnahme, roentgenbild, schicht, datei, es")

_STUDY = (
    "image|images|picture|pictures|film|xray|ray|radiograph|radiography|scan|study|exam|"
    "examination|slice|exposure|photo|cxr|it|this|file|that|micrograph|patient"
)
_TAKEN = (
    "taken|made|shot|acquired|performed|recorded|done|obtained|created|carried|captured|exposed|"
    "produced|rayed|xrayed|imaged|scanned|take|make|shoot|date|dates|dated|from"
)
_BILD = (
    "bild|*aufnahme|*roentgenbild|untersuchung|studie|roentgenthorax|datei|foto|es|das|film|scan"
)
_GEMACHT = (
    "gemacht|erstellt|durchgefuehrt|entstanden|angefertigt|aufgenommen|*geroentgt|stammt|erfolgt|"
    "erfolgte|entstand|datiert|ausgeloest|gefahren"
)

_DATES = (
    f"when was|were|is|did|exactly|been .. {_TAKEN}",
    f"when .. was|were .. {_TAKEN}",
    f"day|date|year|month|clock|hour .. {_STUDY} .. {_TAKEN}",
    f"day|date|year|month|time|hour .. {_TAKEN} .. {_STUDY}",
    f"from when|what|which .. {_STUDY}",
    f"wann .. {_GEMACHT}",
    f"wann|datum|tag|jahr|monat|uhrzeit .. {_BILD} .. {_GEMACHT}",
    f"welch*|welchem tag|jahr|monat|datum|uhrzeit .. {_GEMACHT}",
    f"von wann .. {_BILD}",
    *phrases(
        """
        when .. taken|shot|acquired|performed|recorded|created, when was it,
        how long ago .. taken|made|done|acquired|shot|recorded, when it was, when this was,
        when that was, since when .. picture|film,
        day|date|year|month|time .. was|were|did .. taken|acquired|recorded|shot|made|performed,
        how old is|be|this .. image|picture|film|ray|xray|radiograph|scan,
        taken|acquired|recorded|made|shot when|today|yesterday|recently|year|month|week,
        image|picture|film|radiograph|scan dated, acquisition time, date taken, date stamp,
        time stamp, timestamp,
        wie alt .. bild|aufnahme|roentgenbild|thoraxaufnahme|roentgenaufnahme, aufnahmezeit*,
        aufnahmetag, aufnahmejahr, zeitstempel, uhrzeit
        """
    ),
)
"""Words that ask when the image was taken."""
_METADATA = (
    *_DATES,
    *phrases(
        """
        window width, window center, window centre, wl, ww, software version, w0 .. l0|c0,
        l0|c0 .. w0, w 0 .. l|c 0, l|c 0 .. w 0, wl0, ww0, w0, w l 0,
        sex|gender|age|birth .. recorded|stored|patient, which hospital, what hospital,
        which institution, institution, which department, metadata, meta data, metadatum, window,
        windows, windowing, window level, what level, which level, level setting*, level value*,
        window and level, modality, attribute, attributes, tag, tags, header, headers,
        pixel spacing, pixelspacing, spacing, voxel size, voxelgroesse, bits, bit depth,
        which view, what view, pixel size, pixel .. mm|millimet*, mm|millimet* .. pixel,
        resolution, matrix, acquired, acquisition*,
        study date, dimensions, rows and columns, photometric*, manufacturer, scanner, kvp, kv,
        exposure time, dicom info*, dicom data, dicom, slice thickness, which projection,
        what projection, ap or pa, pa or ap, frontal or lateral, laterality, image size,
        size of image, image dimensions, how large .. image, how big .. image,
        how old .. patient, patient age, age of patient, patient sex, sex of patient, body part,
        study description, series description, transfer syntax, date, lung window*, bone window*,
        thick .. slices, how many|number of frames, soft tissue window*, mm per pixel, rows,
        columns, hounsfield, which machine,
        what machine, machine was, machine used, scan machine, imaging machine,
        is ap|pa|lateral|frontal film|view|projection|image|picture|radiograph|xray|ray|shot,
        is it ap|pa|lateral|frontal, male|maennlich or|oder female|weiblich,
        female|weiblich or|oder male|maennlich, man|mann or|oder woman|frau,
        woman|frau or|oder man|mann, ist|war es|das ap|pa, how many pixels, number of pixels,
        monochrom*, how many bits, private tags, dicom tag*, dicom header*, metadaten, fenster*,
        modalitaet, attribut*, kopfdaten, pixelabstand*, pixelgroesse*, bildmatrix, aufgenommen,
        aufnahmedatum, studiendatum, untersuchungsdatum, aufloesung, bittiefe, dicom kopf,
        dicom header, dicomheader, schichtdicke, geraet, hersteller, welche ansicht, projektion,
        strahlengang, lungenfenster, knochenfenster, weichteilfenster, wann .. gemacht,
        wann .. erstellt, wann .. durchgefuehrt, wann .. entstanden, bildgroesse,
        dick .. schichten, wie gross .. bild, wie alt .. patient*, datum, gefenstert,
        fensterung, welches geraet,
        wie viele bits
        """
    ),
)
_ACQUISITION = (
    (
        "SpacingBetweenSlices",
        phrases("slice spacing|gap|distance|interval, spacing|gap between slices, schichtabstand*"),
    ),
    (
        "ContrastBolusAgent",
        phrases(
            """
            contrast agent|medium|enhanced|given|used|administered,
            is|was .. contrast, with|without contrast, kontrastmittel, mit|ohne kontrast
            """
        ),
    ),
    ("KVP", phrases("kvp, kv, tube voltage, roehrenspannung")),
    (
        "XRayTubeCurrent",
        phrases("tube current, kv|kvp .. ma|mas, ma|mas .. kv|kvp|time, roehrenstrom"),
    ),
    ("ExposureTime", phrases("exposure|rotation time, kv|kvp .. mas, mas .. kv|kvp")),
    ("Exposure", phrases("kv|kvp .. mas, mas .. kv|kvp")),
    ("ConvolutionKernel", phrases("kernel, reconstruction filter|algorithm, faltungskern")),
    ("GantryDetectorTilt", phrases("gantry tilt|angle, gantrykippung")),
    (
        "ImageOrientation",
        phrases("which|what plane, is it|this axial|coronal|sagittal, schnittebene"),
    ),
    ("CTDIvol", phrases("ctdi*, radiation dose, ct dose, dose index, strahlendosis")),
    (
        "MagneticFieldStrength",
        phrases("field strength, tesla, how many tesla, feldstaerke"),
    ),
    (
        "ScanningSequence",
        phrases(
            """
            which|what sequence, type|kind of sequence, scanning sequence, pulse sequence,
            is it|this t1|t2|flair|dwi, t1 or t2, t2 or t1, welche sequenz
            """
        ),
    ),
    ("EchoTime", phrases("echo time, te, echozeit")),
    ("RepetitionTime", phrases("repetition time, tr, repetitionszeit")),
    ("InversionTime", phrases("inversion time, inversionszeit")),
    ("FlipAngle", phrases("flip angle, flipwinkel")),
    (
        "SeriesDescription",
        phrases(
            """
            series description|name, which|what series, which|what sequence, type|kind of sequence,
            is it|this t1|t2|flair|dwi, t1 or t2, t2 or t1, welche serie|sequenz
            """
        ),
    ),
    ("ProtocolName", phrases("which|what protocol, protocol name, welches protokoll")),
    ("Manufacturer", phrases("manufacturer, scanner, hersteller")),
)
"""Attributes of how the image was made, each with the words that ask for it."""
_HEADER = "Header"  # the target of a question for all attributes
_TARGETS = (
    (
        _HEADER,
        phrases("meta*, attribut*, tag, tags, header*, dicom*, kopfdaten, bit*, photometric*"),
    ),
    (_HEADER, ("monochrom*",)),
    (
        "PatientAge",
        phrases(
            """
            age, how old .. patient|he|she|man|woman|person|child, patientenalter, alter des,
            wie alt .. patient*|er|sie
            """
        ),
    ),
    ("PatientSex", phrases("sex, gender, male, female, man or, woman or, geschlecht, mann, frau")),
    (
        "StudyDate",
        (
            *_DATES,
            *phrases("study date, date, datum, studiendatum, aufnahmedatum, untersuchungsdatum"),
        ),
    ),
    (
        "SliceThickness",
        phrases(
            "slice thickness, thick .. slices, voxel*, schichtdicke, dick .. schichten|schicht"
        ),
    ),
    *_ACQUISITION,
    (
        "PixelSpacing",
        phrases(
            """
            spacing, pixelspacing, pixel size, mm per pixel, pixelabstand*, pixelgroesse*,
            voxel size, voxelgroesse, pixel .. mm|millimet*, mm|millimet* .. pixel, resolution,
            aufloesung
            """
        ),
    ),
    (
        "Rows",
        phrases(
            """
            matrix, image size, size of image, image dimensions, dimensions, rows, columns,
            how many pixels, number of pixels, how large|big .. image, bildmatrix, bildgroesse,
            wie gross .. bild, resolution, aufloesung
            """
        ),
    ),
    ("NumberOfFrames", phrases("how many|number of frames, wie viele frames")),
    ("Modality", phrases("modality, modalitaet, machine, geraet")),
    (
        "ViewPosition",
        phrases(
            """
            which|what view|projection, view position, ap or pa, pa or ap, frontal or lateral,
            lateral or frontal, welche ansicht, projektion, strahlengang, is ap|pa|lateral|frontal,
            is it|this ap|pa|lateral|frontal, ist|war es|das ap|pa, projection
            """
        ),
    ),
    ("BodyPartExamined", phrases("body part, koerperteil")),
    ("SliceNumber", phrases("slice|frame|schicht 0")),
    (
        "WindowCenter",
        phrases("window, windowing, what|which level, wl*, ww*, w0, fenster*, gefenstert"),
    ),
)
"""The attributes that a question asks for, each with the words for it."""
_METADATA_ALONE = phrases("projection, exposure, patient position, view")
"""Words that ask for the file's attributes only if nothing else is asked: "on this projection"."""
_WHAT = phrases(
    """
    what is this, what is it, what kind of image, what type of image, what image is,
    what file is, what study is, what am i seeing, what am i looking at, what's this,
    was ist das, was sehe ich, was fuer ein bild
    """
)
_PART_OF_IMAGE = ("spot|thing|line|shadow|opacity|density|area|bump|structure|region",)
"""Words by which "what is this" asks about a part of the image and not about the file."""
_CONVERT = phrases(
    """
    convert*, conversion, export .. png, save .. png, as png, to png, into png, konvertier*,
    umwandel*, wandle .. um, wandel .. um, umgewandelt, in png, als png, turn .. png,
    make .. png, export .. as, exportier*, png export, png daraus, umwandlung, png version
    """
)
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
_COLOURS = (
    "colour|colours|color|colors|palette|tint|tints|colouring|coloring|hues|tones|shades|"
    "colourscale|colormap|colourmap|lut"
)
_OTHER = (
    "other|another|different|new|nicer|warmer|warm|cold|cooler|false|changed|alternative|"
    "brighter|bright|vivid|pseudo|various|fancy"
)
_HUES = (
    "sepia|hot|cool|copper|blue|red|green|rainbow|ocean|autumn|viridis|magma|inferno|plasma|jet|"
    "cividis|turbo|bluish|reddish|pink|spectral|winter|summer|spring|purple|orange|yellow"
)
_SHOW_VERBS = (
    "show|see|display|view|render|redraw|draw|paint|present|bring|give|switch|turn|look|have|get|"
    "redisplay|reshow|open"
)
_CHANGE = "change|alter|swap|switch|vary|adjust|modify"
_AGAIN = "again|anew|afresh|once"
_PICTURES = "image|picture|film|radiograph|xray|ray|scan|photo|slice|micrograph|radiography"
_BILDER = "bild|*aufnahme|*roentgenbild|thoraxbild|schicht|film|foto"
_OF_THE_WINDOW = phrases(
    """
    toolbar*, menu*, font*, wall*, interface, button*, icon*, theme, letters, annotation*,
    cursor, crosshair*, schrift*, hintergrund*, oberflaeche
    """
)
"""Other things that have colours, so that a question about them is not one for a colour map."""
_RECOLOUR = (
    f"{_OTHER} {_COLOURS}",
    f"in|with|using|into|of|to .. {_OTHER} .. {_COLOURS}",
    f"in|with|using {_HUES} {_COLOURS}|tones|shades|tints|hue|hues",
    f"{_AGAIN} .. {_PICTURES} .. {_COLOURS}",
    f"{_PICTURES} .. {_AGAIN} .. {_COLOURS}",
    f"{_SHOW_VERBS} .. {_HUES}",
    f"{_CHANGE} .. {_COLOURS}",
    f"{_PICTURES} .. {_COLOURS}",
    f"{_SHOW_VERBS} .. {_PICTURES} .. {_AGAIN}",
    f"{_SHOW_VERBS} {_AGAIN} .. {_PICTURES}",
    f"{_PICTURES} {_AGAIN}",
    f"{_PICTURES} up|back again|up",
    f"recolo*|redraw*|repaint*|redisplay*|recolour* .. {_PICTURES}",
    f"{_HUES} coloured|colored|version|look|palette|scale|map",
    f"negative of {_PICTURES}",
    f"{_PICTURES} as|in negative|colour|color",
    f"noch|nochmal|nochmals|erneut|wieder .. {_BILDER}",
    f"{_BILDER} nochmal|nochmals|erneut|wieder",
    f"{_SHOW_VERBS} .. bone colours|colors|tones|tints|palette",
    f"{_BILDER} noch mal|einmal",
    *phrases(
        """
        colour map, color map, colourmap, colormap, farbtabelle, farbskala, farbpalette,
        falschfarb*, false colour*, false color*, pseudo colour*, pseudo color*, pseudocolour*,
        pseudocolor*, pseudofarb*, palette, colour scheme, color scheme, viridis, inferno, magma,
        plasma, jet, cividis, turbo, rainbow, gray map, hot colour*, hot color*, in hot,
        hot palette, bone colour*, bone palette, graustufen, grayscale, greyscale, in gray,
        in grey, black and white, other colours, other colors, different colours,
        different colors, andere farben, anderen farben, in farbe, regenbogen*, invert*,
        negative image, as negative, title, titled, heading, headline, ueberschrift, titel,
        betitel*, recolour*, recolor*, repaint*, look up table, lookup table, lut, tinted,
        einfaerb*, umfaerb*, *farbdarstellung, farbschema, bunt, in bunten farben,
        anders|andere|anderen|anderer|neuen|neue|bunte|bunten|warmen|kalten
        farbe|farben|farbskala|farbtabelle|farbschema|farbpalette|farbgebung|farbton|farbtoenen|faerbung,
        colours|colors|tones|tints of bone,
        show|see|display|view|have .. image|picture|film|radiograph|xray|ray|it .. again|more,
        image again, picture again, film again, radiograph again, x ray again, bild .. noch,
        noch mal .. bild, nochmal .. bild, noch einmal .. bild, nochmal .. aufnahme,
        noch mal .. aufnahme, bild erneut, noch einmal .. aufnahme, erneut .. bild, bild nochmal,
        wieder .. bild
        """
    ),
)
"""Words that ask for another colour map, a title, or to show the image again."""
_THEN_SHOW = (
    *(
        f"{lead} {verb} {noun}"
        for lead in ("then", "and", "finally")
        for verb in ("show", "display", "visualise", "visualize", "view")
        for noun in _NOUNS
    ),
    *(f"{lead} zeige {noun}" for lead in ("dann", "und") for noun in _NOMEN),
)
_EVERYTHING = phrases(
    """
    all available tools, all tools, every tool, full analysis, complete analysis,
    full work up, full workup, alle werkzeuge, vollstaendige analyse, komplette analyse
    """
)
_VISIBLE = ("what do you see", "what can you see")
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
        QuestionKind("everything", _EVERYTHING, tools=(_DICOM,)),
        QuestionKind("visible", _VISIBLE, tools=(_DICOM,), by_eye=True),
        QuestionKind("describe", _DESCRIBE, tools=(_DICOM,), fallback=True, by_eye=True),
        QuestionKind("all", ("everything", "alles"), tools=(_DICOM,), bare=True),
        QuestionKind("analyse", _ANALYSE, tools=(_DICOM,), fallback=True),
        QuestionKind(
            "metadata",
            (*_METADATA, *(words for _, asked in _ACQUISITION for words in asked)),
            tools=(_DICOM,),
            certain=True,
        ),
        QuestionKind("metadata_alone", _METADATA_ALONE, tools=(_DICOM,), fallback=True),
        QuestionKind("what", _WHAT, tools=(_DICOM,), unless=_PART_OF_IMAGE),
        QuestionKind("convert", _CONVERT, tools=(_DICOM,)),
        QuestionKind("show", _PICTURE, tools=(_SHOW,), fallback=True),
        QuestionKind("recolour", _RECOLOUR, tools=(_SHOW,), unless=_OF_THE_WINDOW),
        QuestionKind("then_show", _THEN_SHOW, tools=(_SHOW,)),
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
            _SHOW,
            why="shows the picture",
            leave_out=("show*", "visuali*", "display*", "anzeig*", "zeig*"),
            feeds=(Feed("image_path", (), "", title="title"),),
            makes="image_path",
            stage=1,
        ),
    ),
    targets=_TARGETS,
    unanswered=_unanswered,
    wordings=WORDINGS,
    suggestions=("When was this image taken, and what is its pixel spacing?",),
    suggested_for=Accepts(kinds=("dicom",)),
)
