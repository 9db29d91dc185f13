"""References to open images: how texts and tool arguments name them, and which images suit a tool.

An argument takes an image if it is declared so (`app.tools.api.takes`). In packs that declare no
resources, it does if it has one of these names: image_path, image_paths, image, images, image_id
and dicom_path.

An open image is described by its note, a mapping with `id`, `path`, `kind`, `modality` and more,
as in `RunRequest.image_notes`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.agent.llm.base import ToolSchema
from app.tools.api import RESOURCE_KEY, Resource
from app.tools.pack_plan import Accepts, Plans

_IMAGE_ARGUMENTS = ("image_path", "dicom_path", "image_paths", "image", "image_id", "images")
_IMAGES = (Resource.IMAGE, Resource.IMAGES)

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


def names_of(notes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return `name_of` each image, in the time of one pass: a study may have thousands."""
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for note in notes:
        alike.setdefault(_file(note), []).append(note)
    return [name_of(note, alike[_file(note)][:2]) for note in notes]


def named_with_id(note: Mapping[str, Any]) -> str:
    """Return "NAME (ID)" of an image, for a text that asks the user which image is meant."""
    own, name = str(note.get("id") or ""), name_of(note)
    return name if name == own or not own else f"{name} ({own})"


def _file(note: Mapping[str, Any]) -> str:
    path = str(note.get("path") or "")
    return path[max(path.rfind("/"), path.rfind("\\")) + 1 :]


def image_reference(note: Mapping[str, Any]) -> str:
    """Return the reference by which tools identify an image: its path, or its id if it has none.

    The reference stays the same while other images are opened and closed.
    """
    return str(note.get("path") or note.get("id") or "")


def image_argument(schema: ToolSchema) -> str:
    """Return the name of the tool's main image argument, or "" if it has none."""
    return next(iter(image_arguments(schema)), "")


def image_arguments(schema: ToolSchema) -> list[str]:
    """Return the names of all arguments of a tool that take images, the main one first."""
    properties: Mapping[str, Any] = schema.parameters.get("properties", {})
    found = [name for name in _IMAGE_ARGUMENTS if _takes_image(name, properties.get(name))]
    declared = (name for name, field in properties.items() if resource_of(field) in _IMAGES)
    return list(dict.fromkeys([*found, *declared]))


def resource_of(field: Mapping[str, Any]) -> Resource | None:
    """Return what an argument takes, by its JSON schema; None if that is not declared."""
    parts = (field, *field.get("anyOf", ()), field.get("items", {}))
    kind = next((part[RESOURCE_KEY] for part in parts if RESOURCE_KEY in part), None)
    return Resource(kind) if kind in tuple(Resource) else None


_MADE = (Resource.MASK, Resource.TABLE, Resource.RECORD)


def made_arguments(schema: ToolSchema) -> dict[str, Resource]:
    """Return the arguments that take a file that another tool made: a mask, a table, a record."""
    fields: Mapping[str, Any] = schema.parameters.get("properties", {})
    kinds = {name: resource_of(field) for name, field in fields.items()}
    return {name: kind for name, kind in kinds.items() if kind in _MADE and kind is not None}


def made_by(tool: str, argument: str, kind: Resource, plans: Plans) -> str:
    """Return what an argument takes and which tools make it, by the feeds of its pack's rule."""
    feeds = (feed for feed in plans.rule(tool).feeds if feed.argument == argument)
    makers = list(dict.fromkeys(name for feed in feeds for name in feed.tools))
    by = f"{' or '.join(makers)} makes one" if makers else "an earlier tool makes one"
    return f"a {kind.value}; {by}"


def takes_list(field: Mapping[str, Any]) -> bool:
    """Return whether an argument takes a list, or a list or null, by its JSON schema."""
    kinds = {item.get("type") for item in (field, *field.get("anyOf", ()))} - {None, "null"}
    return kinds == {"array"}


def as_value(schema: ToolSchema, argument: str, value: Any) -> Any:
    """Return a value in the form that an argument takes: as it is, or as a list of one."""
    field = schema.parameters.get("properties", {}).get(argument, {})
    return [value] if takes_list(field) and not isinstance(value, list) else value


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


def _takes_image(name: str, field: Mapping[str, Any] | None) -> bool:
    """Return whether an argument with one of the plain names takes an image."""
    if field is None:
        return False
    declared = resource_of(field)
    if declared is not None:
        return declared in _IMAGES
    return field.get("type") not in ("boolean", "integer", "number")
