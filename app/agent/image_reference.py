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


_ID = re.compile(r"(?<![\w/\\.-])image-(\d+)(?![\w-]|\.\w)")
_RADIOGRAPHS = ("CR", "DX", "RG", "XR", "DR")


def with_image_names(text: str, notes: Sequence[Mapping[str, Any]], *, german: bool = False) -> str:
    """Return a text with what a user calls the open images in place of their ids."""
    if _ID.search(text) is None:
        return text
    known = {str(note.get("id")): note for note in notes}

    def called(found: re.Match[str]) -> str:
        name = _called(known.get(found[0]) or {"id": found[0]})
        return name.replace("image", "Bild", 1) if german else name

    return _ID.sub(called, text)


def title_of(note: Mapping[str, Any]) -> str:
    """Return what an image is: "Chest radiograph, PA, 2024-03-01"; "" if it has no modality."""
    modality = str(note.get("modality") or "").strip()
    if not modality:
        return ""
    kind = "radiograph" if modality.upper() in _RADIOGRAPHS else modality
    part = " ".join(str(note.get("body_part") or "").split()).lower()
    named = f"{part} {kind}" if part else kind
    return ", ".join((named[:1].upper() + named[1:], *_view_and_date(note)))


def _view_and_date(note: Mapping[str, Any]) -> list[str]:
    values = (str(note.get(key) or "").strip() for key in ("view", "study_date"))
    return [value for value in values if value]


def _called(note: Mapping[str, Any]) -> str:
    """Return an image's number, modality, view and date: "image 2 (CR, PA, 2024-03-01)"."""
    number, told = _numbered(note) or "the open image", _described(note)
    return f"{number} ({', '.join(told)})" if told else number


def _described(note: Mapping[str, Any]) -> list[str]:
    modality = str(note.get("modality") or "").strip()
    return [modality, *_view_and_date(note)] if modality else []


def _numbered(note: Mapping[str, Any]) -> str:
    """Return "image 2" for the id "image-2", as a question may name it, too."""
    return _ID.sub(r"image \1", str(note.get("id") or ""))


def name_of(note: Mapping[str, Any], notes: Sequence[Mapping[str, Any]] = ()) -> str:
    """Return the name of an image's file, or what else a user calls it if that is unusual.

    The image's number is added to the name if another image in `notes` has the same file name.
    """
    number = _numbered(note)
    name = _file(note)
    if not name or not _PLAIN.fullmatch(name):
        return _called(note)
    alike = any(_file(other) == name and other.get("id") != note.get("id") for other in notes)
    return f"{name} ({number})" if alike and number else name


def names_of(notes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return `name_of` each image, in the time of one pass: a study may have thousands."""
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for note in notes:
        alike.setdefault(_file(note), []).append(note)
    return [name_of(note, alike[_file(note)][:2]) for note in notes]


def named_with_number(note: Mapping[str, Any]) -> str:
    """Return "NAME (image 2, CR, PA)", for a text that asks the user which image is meant."""
    name, number = name_of(note), _numbered(note)
    if name.startswith(number):
        return name
    return f"{name} ({', '.join([number, *_described(note)])})"


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
