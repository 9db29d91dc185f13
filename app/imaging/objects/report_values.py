"""Values of SR content items as text (PS3.3 C.17.3.2, C.18). Runs in a worker process."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from pydicom.config import IGNORE
from pydicom.dataset import Dataset
from pydicom.uid import UID

from app.imaging.dicom.dicom_file import value_of
from app.imaging.dicom.dicom_items import first_item, frames_of, items_of, text_of, whole_number
from app.imaging.dicom.frame_attributes import numbers
from app.paths import shipped_table

NO_VALUE = "(no value)"
MAX_POINTS = 12
MAX_CELLS = 2000

_UNITS: dict[str, str] = shipped_table("dicom", "ucum")
_UNIT = re.compile(r"[A-Za-zµ%°'\[\]_]+-?[1-6]?([./][A-Za-zµ%°'\[\]_]+-?[1-6]?)*|[A-Za-z]{1,3}")
_MAYBE_TILED = frozenset(
    f"1.2.840.10008.5.1.4.1.1.{end}" for end in ("77.1.6", "77.1.8", "66.4", "66.7", "30")
)
"""SOP Classes of whole-slide and confocal microscopy images, segmentations, parametric maps."""
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_WELL_KNOWN = frozenset({"mm", "cm", "mm2", "cm2", "mm3", "cm3", "ml", "s", "ms", "%"})


def code_meaning(code: Dataset | None) -> str:
    """Return a code's meaning, else "value (coding scheme)" (PS3.3 8.8); "" if it has neither."""
    value, scheme = code_value(code), text_of(code, "CodingSchemeDesignator")
    coded = f"{value} ({scheme})" if value and scheme else value
    return text_of(code, "CodeMeaning") or coded


def code_value(code: Dataset | None) -> str:
    """Return a code's value, stored as a short code, long code or URN; "" if there is none."""
    return _first_text(code, ("CodeValue", "LongCodeValue", "URNCodeValue"))


def _first_text(item: Dataset | None, keywords: Sequence[str]) -> str:
    """Return the first of these values that an item has."""
    return next(filter(None, (text_of(item, keyword) for keyword in keywords)), "")


def unit_text(code: Dataset | None) -> str:
    """Return a unit in its usual notation, e.g. "mm²" or "HU"; "" if there is no unit.

    UCUM codes are converted; the common ones are recognised even under another coding scheme. For
    all other codes the Code Meaning is returned.
    """
    value = code_value(code)
    if value in _UNITS:
        return _UNITS[value]
    if value and (text_of(code, "CodingSchemeDesignator") == "UCUM" or value in _WELL_KNOWN):
        return _ucum_text(value)
    return code_meaning(code)


def _ucum_text(value: str) -> str:
    """Return a UCUM code in the usual notation, e.g. "mm²" for "mm2"."""
    # A UCUM annotation such as {count} is a unit by itself.
    if re.fullmatch(r"\{[^{}]*\}", value):
        return value[1:-1]
    text = re.sub(r"\{[^{}]*\}", "", value) if not value.startswith("{") else value
    text = text.rstrip("/") or value
    if _UNIT.fullmatch(text):
        text = re.sub(r"(?<=[A-Za-z\]])-?\d", lambda match: match[0].translate(_RAISED), text)
        text = re.sub(r"\bu(?=[a-zA-Z])", "µ", text)
        text = text.replace(".", "·")
    return text


def person_text(name: str) -> str:
    """Return a person name (PN) for display, e.g. "Doe, Jane"; other scripts follow after " = "."""
    groups = (
        ", ".join(part.strip() for part in group.split("^") if part.strip())
        for group in name.split("=")
    )
    return " = ".join(group for group in groups if group)


def date_text(text: str) -> str:
    """Return a DA value in the form 2001-02-13; any other text unchanged."""
    match = re.fullmatch(r"(\d{4})\.?(\d{2})\.?(\d{2})", text)
    return "-".join(match.groups()) if match else text


def time_text(text: str) -> str:
    """Return a TM value as 18:47:46, with a fraction unless it is 0; other text unchanged."""
    match = re.fullmatch(r"(\d{2}):?(\d{2})?:?(\d{2})?(?:\.(\d+))?", text)
    if match is None:
        return text
    hours, minutes, seconds, fraction = match.groups()
    shown = ":".join(part for part in (hours, minutes or "00", seconds) if part)
    fraction = (fraction or "").rstrip("0")
    return f"{shown}.{fraction}" if fraction else shown


def datetime_text(text: str) -> str:
    """Return a DT value as 2001-02-13 18:47:46, then any UTC offset; other text unchanged."""
    match = re.fullmatch(r"(\d{8})(\d{2,6}(?:\.\d+)?)?([+-]\d{4})?", text)
    if match is None:
        return text
    day, time, offset = match.groups()
    return " ".join(filter(None, (date_text(day), time_text(time or ""), offset)))


def content_text(item: Dataset, kind: str) -> str:
    """Return the value of a content item of Value Type `kind` as text; "(no value)" if missing."""
    reader = _READERS.get(kind)
    if reader is None:
        return f"(content of the unknown type {kind[:16] or 'without a name'})"
    return reader(item) or NO_VALUE


def _number_text(item: Dataset) -> str:
    measured = first_item(item, "MeasuredValueSequence")
    value = text_of(measured, "NumericValue").replace("\\", ", ")
    unit = unit_text(first_item(measured, "MeasurementUnitsCodeSequence"))
    qualifier = code_meaning(first_item(item, "NumericValueQualifierCodeSequence"))
    if not value:
        return f"{NO_VALUE}: {qualifier}" if qualifier else ""
    joined = f"{value}{unit}" if unit == "°" else f"{value} {unit}".strip()
    return f"{joined} ({qualifier})" if qualifier else joined


def _coordinates_text(item: Dataset, size: int) -> str:
    kind = text_of(item, "GraphicType").lower() or "graphic of no type"
    data = numbers(value_of(item, "GraphicData"))
    points = [data[start : start + size] for start in range(0, len(data), size)]
    return f"{kind} {_point_list(points)}" if points else ""


def _point_list(points: Sequence[Sequence[float]]) -> str:
    shown = " ".join(
        "(" + ", ".join(f"{part:.6g}" for part in point) + ")" for point in points[:MAX_POINTS]
    )
    return shown if len(points) <= MAX_POINTS else f"{shown} … {len(points)} points"


def _spatial_text(item: Dataset) -> str:
    text = _coordinates_text(item, 2)
    return f"{text}, in pixels of the whole slide" if text and is_on_whole_slide(item) else text


def is_on_whole_slide(item: Dataset) -> bool:
    """Return whether an SCOORD's pixels are those of a whole slide (C.18.6), not of one frame.

    Pixel Origin Interpretation VOLUME counts only if the image may be tiled, since some writers
    state it for every image.
    """
    if text_of(item, "PixelOriginInterpretation").upper() != "VOLUME":
        return False
    for child in items_of(item, "ContentSequence"):
        reference = first_item(child, "ReferencedSOPSequence")
        if text_of(reference, "ReferencedSOPClassUID") in _MAYBE_TILED:
            return True
    return False


def _temporal_text(item: Dataset) -> str:
    kind = text_of(item, "TemporalRangeType").lower()
    for keyword, words in (
        ("ReferencedSamplePositions", "samples"),
        ("ReferencedTimeOffsets", "seconds"),
        ("ReferencedDateTime", ""),
    ):
        values = [part.strip() for part in text_of(item, keyword).split("\\") if part.strip()]
        if values:
            if not words:
                values = [datetime_text(value) for value in values]
            return f"{kind} {_listed(values)} {words}".strip()
    return kind


def _listed(values: Sequence[object]) -> str:
    more = f" … {len(values)} in all" if len(values) > MAX_POINTS else ""
    return f"{', '.join(map(str, values[:MAX_POINTS]))}{more}"


def _reference_text(item: Dataset) -> str:
    """Return the class of the object, its frames, segments or channels, and how to show it."""
    reference = first_item(item, "ReferencedSOPSequence")
    if reference is None:
        return ""
    parts = [class_name(text_of(reference, "ReferencedSOPClassUID"))]
    for words, values in (
        ("frame", [frame + 1 for frame in frames_of(reference)]),
        ("segment", _whole_numbers(reference, "ReferencedSegmentNumber")),
    ):
        if values:
            parts.append(f"{words}{'s' if len(values) > 1 else ''} {_listed(values)}")
    channels = _whole_numbers(reference, "ReferencedWaveformChannels")
    if len(channels) > 1:
        pairs = zip(channels[0::2], channels[1::2], strict=False)
        listed = ", ".join(f"{group}/{channel}" for group, channel in pairs)
        parts.append(f"channels {listed}")
    shown_in = first_item(reference, "ReferencedSOPSequence")
    if shown_in is not None:
        parts.append(f"with {class_name(text_of(shown_in, 'ReferencedSOPClassUID'))}")
    return ", ".join(part for part in parts if part)


def _whole_numbers(item: Dataset, keyword: str) -> list[int]:
    return [int(value) for value in numbers(value_of(item, keyword)) if 0 <= value < 2**32]


def class_name(uid: str) -> str:
    """Return the name of a SOP Class, e.g. "CT Image", or "object of class 1.2.3" if unknown."""
    if not uid:
        return "object of an unknown class"
    name = UID(uid, IGNORE).name
    return f"object of class {uid}" if name == uid else name.removesuffix(" Storage")


def _table_text(item: Dataset) -> str:
    """Return a TABLE item (PS3.3 C.18.10) as lines of cells."""
    rows, columns = (whole_number(item, f"NumberOfTable{part}") for part in ("Rows", "Columns"))
    heads: dict[int, str] = {}
    for head in items_of(item, "TableColumnDefinitionSequence"):
        name = code_meaning(first_item(head, "ConceptNameCodeSequence"))
        unit = unit_text(first_item(head, "MeasurementUnitsCodeSequence"))
        heads[whole_number(head, "TableColumnNumber") or 0] = f"{name} ({unit})" if unit else name
    lines: dict[int, list[tuple[int, str]]] = {}
    cells = items_of(item, "CellValuesSequence")
    for cell in cells[:MAX_CELLS]:
        row = whole_number(cell, "TableRowNumber") or 0
        column = whole_number(cell, "TableColumnNumber") or 0
        value = _first_text(cell, _CELL_VALUES)
        value = value or code_meaning(first_item(cell, "ConceptCodeSequence"))
        lines.setdefault(row, []).append((column, value))
    text = [f"{rows or '?'} rows, {columns or '?'} columns"]
    if heads:
        text.append(" | ".join(heads[column] for column in sorted(heads)))
    text += [" | ".join(value for _, value in sorted(lines[row])) for row in sorted(lines)]
    if len(cells) > MAX_CELLS:
        text.append(f"… {len(cells):,} cells")
    return "\n".join(text)


_SELECTORS = "AS AT CS DA DS DT FD FL IS LO LT OB PN SH SL SS ST TM UC UI UL UR US UT"
_CELL_VALUES = (
    *("NumericValue", "TextValue", "Date", "Time", "DateTime", "UID", "PersonName"),
    *(f"Selector{vr}Value" for vr in _SELECTORS.split()),
)

_READERS: dict[str, Callable[[Dataset], str]] = {
    "TEXT": lambda item: text_of(item, "TextValue"),
    "NUM": _number_text,
    "CODE": lambda item: code_meaning(first_item(item, "ConceptCodeSequence")),
    "DATETIME": lambda item: datetime_text(text_of(item, "DateTime")),
    "DATE": lambda item: date_text(text_of(item, "Date")),
    "TIME": lambda item: time_text(text_of(item, "Time")),
    "UIDREF": lambda item: text_of(item, "UID"),
    "PNAME": lambda item: person_text(text_of(item, "PersonName")),
    "COMPOSITE": _reference_text,
    "IMAGE": _reference_text,
    "WAVEFORM": _reference_text,
    "SCOORD": _spatial_text,
    "SCOORD3D": lambda item: _coordinates_text(item, 3),
    "TCOORD": _temporal_text,
    "TABLE": _table_text,
}
