"""References to open images: how texts and tool arguments name them, and which images suit a tool.

An open image is described by its note, a mapping with `id`, `path`, `kind`, `modality` and more,
as in `RunRequest.image_notes`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.agent.llm.base import ToolSchema
from app.tools.pack_plan import Accepts

_IMAGE_ARGUMENTS = ("image_path", "dicom_path", "image_paths", "image", "image_id", "images")
_IMAGE_ENDINGS = ("_path", "_paths", "_image", "_image_id")
_OTHER_FILES = ("output", "out_", "save", "model", "weights", "config", "log")

_PLAIN = re.compile(r"(?=.{4})[\w,()+=@#^~&'-][\w .,()+=@#^~&'-]{0,70}\.\w{1,8}")
"""A file name, with its suffix, that can be shown in a text unchanged.

A changed name, or one without a suffix, would not be recognised where file names are removed from
what is sent to a remote model.
"""


def name_of(note: Mapping[str, Any], notes: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the name of an image's file, or the image's id if the name has unusual characters.

    The id is added to the name if another image in `notes` has the same file name.
    """
    own = str(note.get("id") or "")
    name = _file(note)
    if not name or not _PLAIN.fullmatch(name):
        return own or "the open image"
    alike = any(_file(other) == name and other.get("id") != note.get("id") for other in notes)
    return f"{name} ({own})" if alike and own else name


def named_with_id(note: Mapping[str, Any]) -> str:
    """Return "NAME (ID)" of an image, for a text that asks the user which image is meant."""
    own, name = str(note.get("id") or ""), name_of(note)
    return name if name == own or not own else f"{name} ({own})"


def _file(note: Mapping[str, Any]) -> str:
    return re.split(r"[/\\]", str(note.get("path") or ""))[-1]


def image_reference(note: Mapping[str, Any]) -> str:
    """Return the reference by which tools identify an image: its path, or its id if it has none.

    The reference stays the same while other images are opened and closed.
    """
    return str(note.get("path") or note.get("id") or "")


def image_argument(schema: ToolSchema) -> str:
    """Return the name of the tool's main image argument, or "" if it has none."""
    return next(iter(image_arguments(schema)), "")


def image_arguments(schema: ToolSchema) -> list[str]:
    """Return the names of all image arguments of a tool, the main one first."""
    properties: Mapping[str, Any] = {
        name: field
        for name, field in schema.parameters.get("properties", {}).items()
        if field.get("type") not in ("boolean", "integer", "number")
    }
    found = [name for name in _IMAGE_ARGUMENTS if name in properties]
    found += [name for name in properties if name not in found and _takes_path(name)]
    return found


def unsuitable_image(accepts: Accepts, note: Mapping[str, Any]) -> str:
    """Return a clause saying why an image is not what a tool `accepts`; "" if it is suitable."""
    name = name_of(note)
    what = accepts.what or "an image that this tool is for"
    kind = str(note.get("kind") or "").strip()
    if accepts.kinds and kind and kind not in accepts.kinds:
        return f"{name} is {'DICOM' if kind == 'dicom' else f'a {kind}'}, not {what}"
    modality = str(note.get("modality") or "").strip().upper()
    if accepts.modalities and modality and modality not in accepts.modalities:
        return f"{name} is {modality}, not {what}"
    part = str(note.get("body_part") or "").strip().upper()
    if accepts.body_parts and part and not any(piece in part for piece in accepts.body_parts):
        return f"the file of {name} says that it shows the {part.lower()}: it is not {what}"
    return ""


def _takes_path(name: str) -> bool:
    return name.endswith(_IMAGE_ENDINGS) and not name.startswith(_OTHER_FILES)
