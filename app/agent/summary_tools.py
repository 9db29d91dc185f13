"""One tool's result in words: rounded figures with units, and the tool they rest on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.agent.evidence import cite
from app.agent.messages import Message
from app.agent.planning.steps import (
    CLASSIFIER,
    DICOM,
    GENERATOR,
    RATIO,
    REPORT,
    SEGMENTATION,
    VISUALIZER,
)

OPERATING_POINT = 0.5
_TEXT_LIMIT = 4000
_MOST_FIGURES = 12
_TEXTS = ("response", "text", "answer")
_IDENTIFYING = re.compile(r"patient|birth|accession|physician|operator|institution", re.IGNORECASE)

LABEL_ALIASES: Mapping[str, str] = {
    "Effusion": r"effusions?",
    "Pneumonia": r"pneumonias?",
    "Pneumothorax": r"pneumothora(?:x|ces)",
    "Atelectasis": r"atelectas[ie]s|collapse\w*",
    "Consolidation": r"consolidations?",
    "Infiltration": r"infiltrat\w+",
    "Edema": r"o?edema",
    "Nodule": r"nodules?",
    "Mass": r"mass(?:es)?",
    "Hernia": r"hernias?",
    "Fracture": r"fractures?",
    "Lung Opacity": r"opacit(?:y|ies)",
    "Cardiomegaly": r"cardiomegaly|enlarged\s+heart",
    "Enlarged Cardiomediastinum": r"enlarged\s+cardiomediastinum|widen\w*\s+mediastinum|"
    r"mediastin\w+\s+(?:\w+\s+)?widen\w*",
}
"""How a user may write a label."""

Data = Mapping[str, Any]


def render_result(message: Message) -> list[str]:
    """The lines on one successful call, each with its evidence."""
    output = message.data.get("output") or {}
    metadata = message.data.get("metadata") or {}
    summary = one_line(str(message.data.get("summary") or ""), limit=1000)
    renderer = _RENDERERS.get(message.tool)
    lines = renderer(output, metadata) if renderer else []
    if not lines:
        lines = _generic(output, summary)
    return [heading(message.tool), *(f"- {cite(line, message.evidence)}" for line in lines)]


def heading(tool: str) -> str:
    """What the lines below it are about, and the tool that they rest on."""
    title = _TITLES.get(tool)
    return f"**{title}** ({tool})" if title else f"**{tool}**"


def warnings_of(data: Data) -> list[str]:
    """The warnings that a result carries, wherever the tool put them."""
    found: list[str] = []
    for part in (data.get("output") or {}, data.get("metadata") or {}):
        value = part.get("warnings") if isinstance(part, Mapping) else None
        items = value if isinstance(value, list) else [value]
        found += [one_line(item) for item in items if isinstance(item, str) and item.strip()]
    return list(dict.fromkeys(found))


def one_line(text: str, limit: int = 300) -> str:
    """`text` on one line without control characters, cut at `limit`."""
    line = " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def number(value: Any, digits: int = 2) -> str:
    """A number for reading: thousands separated, `digits` decimals, none for whole ones."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return one_line(str(value))
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.{digits}f}"


def _dicom(output: Data, metadata: Data) -> list[str]:
    lines: list[str] = []
    for keys in _FILE_LINES:
        parts = [_attribute(key, metadata[key]) for key in keys if _given(metadata.get(key))]
        if parts:
            lines.append(f"{'; '.join(parts)}.")
    if "PixelSpacing" in metadata and not metadata["PixelSpacing"]:
        why = one_line(str(metadata.get("PixelSpacingNote") or ""))
        lines.append(f"Pixel spacing unknown{f': {why}' if why else ''}.")
    if output.get("image_path"):
        lines.append("Converted to a PNG of what the viewer shows.")
    return lines + _notes(metadata)


def _given(value: Any) -> bool:
    return value not in (None, "", [], {})


def _attribute(key: str, value: Any) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key)
    return f"{words} {_compact(value)}"


def _classifier(output: Data, metadata: Data) -> list[str]:
    scores = [
        (str(label), float(score))
        for label, score in output.items()
        if isinstance(score, (int, float)) and not isinstance(score, bool)
    ]
    if not scores:
        return []
    scores.sort(key=lambda item: -item[1])
    above = [f"{_label(name)} {score:.2f}" for name, score in scores if score > OPERATING_POINT]
    below = [f"{_label(name)} {score:.2f}" for name, score in scores if score <= OPERATING_POINT]
    lines = [
        f"Above the operating point 0.5: {', '.join(above)}."
        if above
        else "No label is above the operating point 0.5."
    ]
    if below:
        lines.append(f"At or below it: {', '.join(below)}.")
    lines.append(
        "These are scores, not probabilities and not diagnoses: 0.5 is where the model's authors "
        "balanced hits and false alarms for each label."
    )
    del metadata
    return lines


def _segmentation(output: Data, metadata: Data) -> list[str]:
    metrics = output.get("metrics")
    if not isinstance(metrics, Mapping):
        return []
    basis = str(metadata.get("area_note") or metadata.get("spacing_note") or "")
    lines = [
        _organ(str(name), values, basis)
        for name, values in metrics.items()
        if isinstance(values, Mapping)
    ]
    wanted = metadata.get("not_found", metadata.get("requested_organs"))
    missing = [str(name) for name in wanted or () if name not in metrics]
    if missing:
        lines.append(f"Asked for but not found: {', '.join(missing)}.")
    if lines and basis:
        lines.append(f"Areas: {one_line(basis)}.")
    return lines


def _organ(name: str, values: Data, basis: str) -> str:
    parts: list[str] = []
    if values.get("area_pixels") is not None:
        parts.append(f"area {number(values['area_pixels'])} px")
    if values.get("area_cm2") is not None:
        mark = " (see below for what this rests on)" if basis else ""
        parts[-1:] = [f"{''.join(parts[-1:])} = {number(values['area_cm2'], 1)} cm²{mark}"]
    if values.get("confidence_score") is not None:
        parts.append(f"mean probability {number(values['confidence_score'])}")
    return f"**{one_line(name)}:** outlined; {', '.join(parts)}." if parts else f"**{name}**."


def _ratio(output: Data, metadata: Data) -> list[str]:
    ratio = output.get("ratio")
    if not isinstance(ratio, (int, float)):
        return []
    widths = [output.get("heart_width_px"), output.get("thorax_width_px")]
    measured = ""
    if None not in widths:
        measured = f": heart {number(widths[0], 0)} px / thorax {number(widths[1], 0)} px"
    in_mm = [output.get("heart_width_mm"), output.get("thorax_width_mm")]
    if None not in in_mm:
        basis = one_line(str(metadata.get("spacing_source") or "source of the spacing not given"))
        measured += f" ({number(in_mm[0], 0)} mm / {number(in_mm[1], 0)} mm, {basis})"
    lines = [f"Cardiothoracic ratio about {ratio:.2f} (approximate){measured}."]
    if output.get("reliable") is False:
        lines.append("Marked as unreliable by the tool; see the warnings.")
    return lines


def _report(output: Data, metadata: Data) -> list[str]:
    del metadata
    lines = [
        f"{key.capitalize()} in the model's words: “{one_line(value, _TEXT_LIMIT)}”."
        for key, value in output.items()
        if isinstance(value, str) and value.strip() and not key.endswith("path")
    ]
    return [*lines, "This text is a draft by a model; nobody has checked it."] if lines else []


def _generator(output: Data, metadata: Data) -> list[str]:
    del metadata
    made = output.get("image_path")
    return ["A synthetic image was made; it shows no patient."] if made else []


def _grounding(output: Data, metadata: Data) -> list[str]:
    del metadata
    lines: list[str] = []
    for item in output.get("predictions") or ():
        boxes = item.get("bounding_boxes") or {} if isinstance(item, Mapping) else {}
        for box in boxes.get("image_coordinates") or ():
            phrase = one_line(str(item.get("phrase", "")))
            lines.append(
                f"“{phrase}”: box from {_point(box[:2])} to {_point(box[2:])}, x to the right and "
                "y down from the top left corner."
            )
    if not lines and "predictions" in output:
        lines.append("The phrase was not found in the image.")
    return lines


def _shown(output: Data, metadata: Data) -> list[str]:
    del output
    title = metadata.get("title")
    named = f": “{one_line(str(title), 80)}”" if title else ""
    return [f"Shown in a pane{named}."]


def _generic(output: Data, summary: str) -> list[str]:
    """Any other tool: its own summary and texts, else the figures it gave."""
    lines = [summary] if summary else []
    lines += [
        f"{key}: “{one_line(value, _TEXT_LIMIT)}”"
        for key, value in output.items()
        if isinstance(value, str) and value.strip() and key in _TEXTS
    ]
    return lines or _figures(output) or ["Done; the tool gave no summary."]


def _figures(output: Data) -> list[str]:
    """What a tool without a summary returned: a line a value, lists and tables counted."""
    lines: list[str] = []
    for key, value in output.items():
        if not _given(value) or _IDENTIFYING.search(key):
            continue
        words = one_line(key.replace("_", " "), 60)
        if isinstance(value, bool):
            lines.append(f"{words}: {'yes' if value else 'no'}")
        elif isinstance(value, (int, float)):
            lines.append(f"{words}: {number(value, 4)}")
        elif isinstance(value, (list, tuple, Mapping)):
            count = len(value)
            lines.append(f"{words}: {count:,} {'entry' if count == 1 else 'entries'}")
        elif key.endswith(("path", "file")):
            lines.append(f"{words}: a file was made")
        else:
            lines.append(f"{words}: {one_line(str(value), 200)}")
    rest = len(lines) - _MOST_FIGURES
    return lines if rest <= 0 else [*lines[:_MOST_FIGURES], f"and {rest:,} more values"]


def _notes(metadata: Data) -> list[str]:
    values = [metadata.get(key) for key in ("note", "notes")]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [one_line(item) for item in flat if isinstance(item, str)]


def _compact(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " \\ ".join(number(item, 4) for item in value[:6])
    return number(value, 4) if isinstance(value, float) else one_line(str(value), 80)


def _label(name: str) -> str:
    return one_line(name.replace("_", " "))


def _point(values: Sequence[Any]) -> str:
    return f"({', '.join(number(value, 0) for value in values)})"


_FILE_LINES = (
    ("Modality", "BodyPartExamined", "ViewPosition"),
    ("Columns", "Rows", "NumberOfFrames", "BitsStored", "PhotometricInterpretation"),
    ("WindowCenter", "WindowWidth", "PixelSpacing", "PixelSpacingSource"),
)
"""The attributes that an answer repeats, a line each; none of them identifies a patient."""

_TITLES: Mapping[str, str] = {
    DICOM: "File",
    CLASSIFIER: "Scores",
    SEGMENTATION: "Outlines",
    RATIO: "Heart and thorax",
    REPORT: "Draft report",
    VISUALIZER: "Display",
}

_RENDERERS: Mapping[str, Callable[[Data, Data], list[str]]] = {
    DICOM: _dicom,
    CLASSIFIER: _classifier,
    SEGMENTATION: _segmentation,
    RATIO: _ratio,
    REPORT: _report,
    GENERATOR: _generator,
    VISUALIZER: _shown,
    "xray_phrase_grounding": _grounding,
}
