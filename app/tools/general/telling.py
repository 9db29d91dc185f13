"""How the general tools' results are told without a language model."""

from __future__ import annotations

import re
from typing import Any

from app.tools.telling import Data, Said, Teller, number, one_line, said

_FILE_LINES = (
    ("Modality", "BodyPartExamined", "ViewPosition"),
    ("Columns", "Rows", "NumberOfFrames", "BitsStored", "PhotometricInterpretation"),
    ("WindowCenter", "WindowWidth", "PixelSpacing", "PixelSpacingSource"),
)
"""The attributes that an answer repeats, a line each; none of them identifies a patient."""


def _file(output: Data, metadata: Data) -> list[Said]:
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
    return said(lines + _notes(metadata))


def _shown(output: Data, metadata: Data) -> list[Said]:
    del output
    title = metadata.get("title")
    named = f": “{one_line(str(title), 80)}”" if title else ""
    return [Said(f"Shown in a pane{named}.")]


def _given(value: Any) -> bool:
    return value not in (None, "", [], {})


def _attribute(key: str, value: Any) -> str:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key)
    return f"{words} {_compact(value)}"


def _compact(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return " \\ ".join(number(item, 4) for item in value[:6])
    return number(value, 4) if isinstance(value, float) else one_line(str(value), 80)


def _notes(metadata: Data) -> list[str]:
    values = [metadata.get(key) for key in ("note", "notes")]
    flat = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return [one_line(item) for item in flat if isinstance(item, str)]


TELLERS = (
    Teller("dicom_processor", "File", _file),
    Teller("image_visualizer", "Display", _shown),
)
